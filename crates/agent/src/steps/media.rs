//! Is the boot medium still there? A machine that runs from an ISO over a bad line must say so
//! before it fails in odd ways.

use std::{fs, io::Read, path::Path, time::Duration};

use super::Outcome;

/// Where a full ISO is mounted.
const ISO: &str = "/run/media/iso";
/// What the service takes for lost media.
const LOST: i64 = 256;
const TIMEOUT: Duration = Duration::from_secs(20);

/// The failure to report if the medium is gone. Machines without one lose none, and trouble
/// with the question itself is no loss. A medium that does not even refuse counts as gone.
pub(super) async fn lost() -> Option<Outcome> {
    if !Path::new(ISO).exists() {
        return None;
    }
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let device = device_of(&mounts, ISO)?.to_owned();
    let read = {
        let device = device.clone();
        tokio::task::spawn_blocking(move || {
            let mut start = [0; 2];
            fs::File::open(device).and_then(|mut file| file.read_exact(&mut start))
        })
    };
    let cause = match tokio::time::timeout(TIMEOUT, read).await {
        Ok(Ok(result)) => result.err()?.to_string(),
        Ok(Err(_)) => return None,
        Err(_) => format!("no answer for {} s", TIMEOUT.as_secs()),
    };
    Some(Outcome::failed(
        LOST,
        format!("the boot medium {device} cannot be read: {cause}"),
    ))
}

/// The device mounted at exactly that place.
fn device_of<'a>(mounts: &'a str, place: &str) -> Option<&'a str> {
    let mut lines = mounts.lines().rev();
    lines.find_map(|line| {
        let mut words = line.split(' ');
        let (device, target) = (words.next()?, words.next()?);
        (target == place && device.starts_with("/dev")).then_some(device)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_device_mounted_at_that_very_place_counts() {
        let mounts =
            "/dev/sr0 /run/media/iso iso9660 ro 0 0\n/dev/sda1 /run/media/iso2 ext4 rw 0 0\n";
        assert_eq!(device_of(mounts, ISO), Some("/dev/sr0"));
        assert_eq!(device_of("tmpfs /run/media/iso tmpfs rw 0 0\n", ISO), None);
        assert_eq!(device_of("", ISO), None);
    }
}
