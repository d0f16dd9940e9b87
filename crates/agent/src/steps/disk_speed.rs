//! `installation-disk-speed-check`: how long does the disk take to really write?
//!
//! The reference writes 22 MB of rubbish over the beginning of the disk, 2300 bytes at a time,
//! each made durable, twice at once, and takes the slower 99th percentile. Here the same writes
//! are made with the bytes that are there already, so nothing is destroyed: the disk is opened
//! for us alone (it is neither mounted nor in use meanwhile), and whatever happens in between, each
//! byte written is the byte that was there.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use muster_machine::{Cancel, Kind};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::{
    Context, OUT_OF_TIME, Outcome,
    args::{Device, Unusable, exactly, json},
    web::about,
};

const BLOCK: usize = 2300;
const TOTAL: usize = 22 << 20;
const RUNS: usize = 2;
const PERCENTILE: usize = 99;
const LONGEST: Duration = Duration::from_secs(3600);

#[derive(Debug, Deserialize)]
struct Request {
    path: Device,
}

#[derive(Debug, Serialize)]
struct Reply<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    io_sync_duration: Option<u64>,
    path: &'a str,
}

pub(super) async fn run(context: &Context, args: Vec<String>) -> Result<Outcome, Unusable> {
    let (path, limit) = request(args)?;
    let failed = |problem: String| {
        let reply = Reply {
            io_sync_duration: None,
            path: &path,
        };
        Outcome::refused(problem).and_output(&reply)
    };
    match context.machine.kind(Path::new(&*path)) {
        Ok(Kind::Block) => {}
        Ok(Kind::File | Kind::Directory | Kind::Other) => {
            return Ok(failed(format!("{path:?} is no disk")));
        }
        Err(cause) => return Ok(failed(about(Path::new(&*path), &cause))),
    }
    let cancel = Switch::default();
    let measured = tokio::time::timeout(limit, measure(&path, &cancel.0)).await;
    Ok(match measured {
        Ok(Ok(slowest)) => Outcome::json(&Reply {
            io_sync_duration: Some(slowest.as_millis() as u64).filter(|ms| *ms > 0),
            path: &path,
        }),
        Ok(Err(problem)) => failed(problem),
        Err(_) => Outcome::failed(OUT_OF_TIME, format!("not done after {} s", limit.as_secs())),
    })
}

/// The disk, and the seconds it may take, written with a fraction.
fn request(args: Vec<String>) -> Result<(Device, Duration), Unusable> {
    let [request, seconds] = exactly(args)?;
    let Request { path } = json(&request)?;
    let limit = seconds
        .parse::<f64>()
        .ok()
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .filter(|limit| *limit > Duration::ZERO && *limit <= LONGEST)
        .ok_or_else(|| Unusable(format!("{seconds:?} is not a number of seconds up to 3600")))?;
    Ok((path, limit))
}

/// Stops the writing when the step is given up.
#[derive(Default)]
struct Switch(Cancel);

impl Drop for Switch {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

async fn measure(path: &str, cancel: &Cancel) -> Result<Duration, String> {
    let path = path.to_owned();
    let disk = tokio::task::spawn_blocking(move || {
        // Exclusive: the kernel refuses if any of it is mounted or part of something.
        let flags = (OFlags::EXCL | OFlags::CLOEXEC).bits() as i32;
        OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(flags)
            .open(&path)
            .map_err(|cause| about(Path::new(&path), &cause))
    });
    let disk = Arc::new(disk.await.map_err(|cause| cause.to_string())??);
    let runs: Vec<_> = (0..RUNS)
        .map(|_| {
            let (disk, cancel) = (Arc::clone(&disk), cancel.clone());
            tokio::task::spawn_blocking(move || rewrite(&disk, TOTAL, &cancel))
        })
        .collect();
    let mut slowest = None;
    let mut problem = String::new();
    for run in runs {
        match run.await {
            Ok(Ok(times)) => slowest = slowest.max(percentile(times)),
            Ok(Err(cause)) => problem = format!("the disk cannot be written: {cause}"),
            Err(cause) => problem = cause.to_string(),
        }
    }
    slowest.ok_or(problem)
}

/// Writes every block with its own content, each made durable; how long each took.
fn rewrite(disk: &File, total: usize, cancel: &Cancel) -> io::Result<Vec<Duration>> {
    let mut times = Vec::with_capacity(total / BLOCK);
    let mut block = [0; BLOCK];
    for at in (0..total).step_by(BLOCK) {
        if cancel.is_cancelled() {
            break;
        }
        let length = disk.read_at(&mut block, at as u64)?;
        if length == 0 {
            break;
        }
        let begun = Instant::now();
        disk.write_all_at(&block[..length], at as u64)?;
        disk.sync_data()?;
        times.push(begun.elapsed());
    }
    Ok(times)
}

fn percentile(mut times: Vec<Duration>) -> Option<Duration> {
    times.sort();
    let at = (times.len() * PERCENTILE).div_ceil(100).checked_sub(1)?;
    times.get(at).copied()
}

#[cfg(test)]
mod tests {
    use muster_machine::{Node, Simulated};

    use super::*;
    use crate::steps::tests::on;

    #[test]
    fn every_byte_stays_what_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("disk");
        let content: Vec<u8> = (0..100_000u32).map(|n| (n * 7 % 251) as u8).collect();
        std::fs::write(&path, &content).unwrap();
        let disk = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&path)
            .unwrap();
        let times = rewrite(&disk, 1 << 20, &Cancel::default()).unwrap();
        assert_eq!(times.len(), content.len().div_ceil(BLOCK));
        assert!(std::fs::read(&path).unwrap() == content);
    }

    #[test]
    fn a_cancelled_run_stops() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("disk");
        std::fs::write(&path, vec![1; 50_000]).unwrap();
        let disk = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&path)
            .unwrap();
        let cancel = Cancel::default();
        cancel.cancel();
        assert!(rewrite(&disk, 1 << 20, &cancel).unwrap().is_empty());
    }

    #[test]
    fn the_percentile_is_the_time_that_99_of_100_stay_below() {
        let times = (1..=200).rev().map(Duration::from_millis).collect();
        assert_eq!(percentile(times), Some(Duration::from_millis(198)));
        assert_eq!(percentile(vec![]), None);
    }

    #[test]
    fn arguments_are_a_device_and_seconds() {
        let args = |path: &str, seconds: &str| {
            vec![
                serde_json::json!({"path": path}).to_string(),
                seconds.to_owned(),
            ]
        };
        let (_, limit) = request(args("/dev/disk/by-id/wwn-0x5", "480.00")).unwrap();
        assert_eq!(limit, Duration::from_secs(480));
        for (path, seconds) in [
            ("/etc/passwd", "480.00"),
            ("/dev/../etc/passwd", "480.00"),
            ("/dev/sda", "-1"),
            ("/dev/sda", "inf"),
            ("/dev/sda", "5; reboot"),
        ] {
            assert!(request(args(path, seconds)).is_err(), "{path} {seconds}");
        }
        assert!(request(vec!["{}".into()]).is_err());
    }

    #[tokio::test]
    async fn what_is_no_disk_is_not_written_to() {
        let machine = Simulated::default();
        machine.change(|tree| tree.insert("/dev/notes", Node::File(b"precious".to_vec())));
        let (context, _) = on(machine);
        for path in ["/dev/notes", "/dev/missing"] {
            let args = vec![
                serde_json::json!({"path": path}).to_string(),
                "5.00".to_owned(),
            ];
            let outcome = run(&context, args).await.unwrap();
            assert_eq!(outcome.exit_code, -1);
            let read: muster_engine::reports::DiskSpeedReply =
                serde_json::from_str(&outcome.output).unwrap();
            assert_eq!(read.path, path);
        }
    }
}
