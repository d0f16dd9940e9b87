//! Is the boot medium still there? A machine that runs from an ISO over a bad line must say so
//! before it fails in odd ways.

use std::{
    io,
    path::Path,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use muster_machine::{Machine, mounts};

use super::Outcome;

/// Where a full ISO is mounted.
const ISO: &str = "/run/media/iso";
/// What the service takes for lost media.
const LOST: i64 = 256;
const TIMEOUT: Duration = Duration::from_secs(20);
/// Between two questions to a medium that has not answered the first yet.
const PAUSE: Duration = Duration::from_millis(500);

/// The failure to report if the medium is gone. Machines without one lose none, and trouble
/// with the question itself is no loss. A medium that does not even refuse counts as gone.
pub(super) async fn lost(machine: &Arc<dyn Machine>) -> Option<Outcome> {
    let machine = Arc::clone(machine);
    let read = tokio::task::spawn_blocking(move || {
        let device = device(&*machine)?;
        let cause = read(&*machine, &device).err()?;
        Some((device, cause))
    });
    let (device, cause) = read.await.ok()??;
    Some(Outcome::failed(
        LOST,
        format!("the boot medium {device} cannot be read: {cause}"),
    ))
}

/// The device mounted at exactly that place.
fn device(machine: &dyn Machine) -> Option<String> {
    let mounts = mounts(machine);
    let mut newest_first = mounts.into_iter().rev();
    newest_first
        .find(|mount| mount.target == ISO && mount.source.starts_with("/dev"))
        .map(|mount| mount.source)
}

/// Whether the device gives its first bytes. A slow one gets longer than a single read takes.
fn read(machine: &dyn Machine, device: &str) -> io::Result<()> {
    let asked = Instant::now();
    loop {
        match machine.read_start(Path::new(device), 2) {
            Ok(start) if start.len() == 2 => return Ok(()),
            Ok(_) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Err(cause) if is_no_answer(&cause) && asked.elapsed() < TIMEOUT => thread::sleep(PAUSE),
            Err(cause) => return Err(cause),
        }
    }
}

/// As opposed to an answer that it cannot be read.
fn is_no_answer(cause: &io::Error) -> bool {
    matches!(
        cause.kind(),
        io::ErrorKind::TimedOut | io::ErrorKind::ResourceBusy
    )
}

#[cfg(test)]
mod tests {
    use muster_machine::{Node, Simulated};

    use super::*;

    fn machine(mounted: &str, medium: &[u8]) -> Arc<dyn Machine> {
        let machine = Simulated::default();
        machine.change(|tree| {
            let line = format!("36 25 11:0 / {mounted} ro shared:1 - iso9660 /dev/sr0 ro\n");
            tree.insert("/proc/1/mountinfo", Node::File(line.into_bytes()));
            tree.insert("/dev/sr0", Node::File(medium.to_vec()));
        });
        Arc::new(machine)
    }

    #[tokio::test]
    async fn a_medium_that_cannot_be_read_is_named() {
        assert!(lost(&machine(ISO, b"medium")).await.is_none());
        let outcome = lost(&machine(ISO, b"")).await.unwrap();
        assert_eq!(outcome.exit_code, LOST);
        assert!(outcome.error.contains("/dev/sr0"), "{}", outcome.error);
    }

    #[tokio::test]
    async fn only_a_device_mounted_at_that_very_place_counts() {
        assert!(lost(&machine("/run/media/iso2", b"")).await.is_none());
        let none: Arc<dyn Machine> = Arc::new(Simulated::default());
        assert!(lost(&none).await.is_none());
    }
}
