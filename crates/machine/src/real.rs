//! This computer.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::{
        fs::{FileTypeExt, OpenOptionsExt, PermissionsExt},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant, SystemTime},
};

use rustix::process::{Pid, Signal, kill_process_group};
use tracing::{debug, warn};

use crate::{Finished, Kernel, Kind, Machine, Network, Task, TaskError, device_read};

/// Nothing the kernel reports about a machine is larger.
const LARGEST_FILE: u64 = 16 << 20;
/// A disk that is well answers in milliseconds, one that has to spin up in seconds.
const DEVICE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a program that was asked to stop may tidy up before it is killed, and then take to be gone.
const GRACE: Duration = Duration::from_secs(2);
/// How long to wait for output that a program's own children still hold open.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// This computer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Real;

impl Machine for Real {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(path)?
            .take(LARGEST_FILE)
            .read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn read_start(&self, path: &Path, length: usize) -> io::Result<Vec<u8>> {
        if self.kind(path)? != Kind::File {
            return device_read::read_start(path, length, DEVICE_TIMEOUT);
        }
        let mut bytes = Vec::new();
        File::open(path)?
            .take(length as u64)
            .read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(path)? {
            // A name that is no UTF-8 is none of the kernel's.
            if let Ok(name) = entry?.file_name().into_string() {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn link(&self, path: &Path) -> io::Result<PathBuf> {
        fs::read_link(path)
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        fs::canonicalize(path)
    }

    fn kind(&self, path: &Path) -> io::Result<Kind> {
        let kind = fs::metadata(path)?.file_type();
        Ok(if kind.is_dir() {
            Kind::Directory
        } else if kind.is_file() {
            Kind::File
        } else if kind.is_block_device() {
            Kind::Block
        } else {
            Kind::Other
        })
    }

    fn write(&self, path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("{} names no file", path.display()),
            ));
        };
        let draft = folder.join(format!(".{}.{}", name.display(), std::process::id()));
        let written = (|| {
            let mut file = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(true)
                .mode(mode)
                .open(&draft)?;
            // The mode of `open` is cut by the umask and ignored for a draft left behind.
            file.set_permissions(fs::Permissions::from_mode(mode))?;
            file.write_all(content)?;
            file.sync_all()?;
            fs::rename(&draft, path)?;
            // Its new name is in the folder, and outlives a power cut only with that.
            fs::File::open(folder)?.sync_all()
        })();
        if written.is_err() {
            let _ = fs::remove_file(&draft);
        }
        written
    }

    fn make_directory(&self, path: &Path, mode: u32) -> io::Result<()> {
        fs::create_dir_all(path)?;
        fs::set_permissions(path, fs::Permissions::from_mode(mode))
    }

    fn make_link(&self, path: &Path, target: &Path) -> io::Result<()> {
        match fs::remove_file(path) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => return Err(cause),
            Ok(()) | Err(_) => {}
        }
        std::os::unix::fs::symlink(target, path)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    #[cfg(target_os = "linux")]
    fn network(&self) -> io::Result<Network> {
        crate::netlink::network()
    }

    #[cfg(not(target_os = "linux"))]
    fn network(&self) -> io::Result<Network> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "the network of a machine is read from a Linux kernel only",
        ))
    }

    fn kernel(&self) -> Kernel {
        let uname = rustix::system::uname();
        Kernel {
            hostname: uname.nodename().to_string_lossy().into_owned(),
            architecture: uname.machine().to_string_lossy().into_owned(),
            release: uname.release().to_string_lossy().into_owned(),
        }
    }

    fn run(&self, task: &Task) -> Result<Finished, TaskError> {
        debug!(program = task.program, reason = task.reason, "running");
        let not_started = |source| TaskError::NotStarted {
            program: task.program.clone(),
            reason: task.reason.clone(),
            source,
        };
        let mut child = Command::new(&task.program)
            .args(&task.args)
            .envs(task.environment.iter().map(|(name, value)| (name, value)))
            .stdin(match task.input.is_empty() {
                true => Stdio::null(),
                false => Stdio::piped(),
            })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A group of its own, so that stopping it stops what it started.
            .process_group(0)
            .spawn()
            .map_err(not_started)?;
        if let Some(mut stdin) = child.stdin.take() {
            let input = task.input.clone();
            // A program that does not read must not stop us; its deadline ends this thread.
            thread::spawn(move || stdin.write_all(&input));
        }
        let stdout = Listener::new(child.stdout.take(), task);
        let stderr = Listener::new(child.stderr.take(), task);
        let ending = wait(&mut child, task).map_err(not_started)?;
        let (stdout, cut_out) = stdout.heard();
        let (stderr, cut_err) = stderr.heard();
        let mut finished = Finished {
            code: None,
            stdout,
            stderr,
            cut: cut_out || cut_err,
        };
        match ending {
            Ending::Itself(code) => {
                finished.code = code;
                Ok(finished)
            }
            Ending::Deadline => Err(TaskError::Deadline {
                program: task.program.clone(),
                reason: task.reason.clone(),
                deadline: task.deadline,
                so_far: Box::new(finished),
            }),
            Ending::Cancelled => Err(TaskError::Cancelled {
                program: task.program.clone(),
                reason: task.reason.clone(),
            }),
        }
    }

    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

enum Ending {
    Itself(Option<i32>),
    Deadline,
    Cancelled,
}

fn wait(child: &mut Child, task: &Task) -> io::Result<Ending> {
    let started = Instant::now();
    let mut nap = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Ending::Itself(status.code()));
        }
        if task
            .cancel
            .as_ref()
            .is_some_and(|cancel| cancel.is_cancelled())
        {
            stop(child)?;
            return Ok(Ending::Cancelled);
        }
        let Some(left) = task.deadline.checked_sub(started.elapsed()) else {
            stop(child)?;
            return Ok(Ending::Deadline);
        };
        thread::sleep(nap.min(left.max(Duration::from_millis(1))));
        nap = (nap * 2).min(Duration::from_millis(50));
    }
}

/// Asks the program and all it started to end, then makes them.
fn stop(child: &mut Child) -> io::Result<()> {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let signal = |signal| {
        if let Some(group) = group {
            // It fails only if the receiver is gone.
            let _ = kill_process_group(group, signal);
        }
    };
    signal(Signal::TERM);
    ends_within(child, GRACE)?;
    signal(Signal::KILL);
    // One that waits for a device in the kernel is gone only when the device answers, if ever.
    if !ends_within(child, GRACE)? {
        warn!(id = child.id(), "a program was killed and is not gone yet");
    }
    Ok(())
}

fn ends_within(child: &mut Child, limit: Duration) -> io::Result<bool> {
    let began = Instant::now();
    while child.try_wait()?.is_none() {
        if began.elapsed() >= limit {
            return Ok(false);
        }
        thread::sleep(Duration::from_millis(10));
    }
    Ok(true)
}

/// Listens to one output of a program, keeps the beginning and lets the rest pass.
struct Listener {
    heard: Arc<Mutex<(Vec<u8>, bool)>>,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    fn new(from: Option<impl Read + Send + 'static>, task: &Task) -> Self {
        let heard = Arc::new(Mutex::new((Vec::new(), false)));
        let (keep, observer) = (task.keep, task.observer.clone());
        let thread = from.map(|mut from| {
            let heard = Arc::clone(&heard);
            thread::spawn(move || {
                let mut buffer = [0; 8192];
                while let Ok(length @ 1..) = from.read(&mut buffer) {
                    if let Some(observer) = &observer {
                        observer(&buffer[..length]);
                    }
                    let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
                    let room = keep.saturating_sub(heard.0.len()).min(length);
                    heard.0.extend_from_slice(&buffer[..room]);
                    heard.1 |= room < length;
                }
            })
        });
        Self { heard, thread }
    }

    /// What was heard, waiting for the end of it, but not for a child's child that never ends.
    fn heard(self) -> (Vec<u8>, bool) {
        let since = Instant::now();
        if let Some(thread) = self.thread {
            while !thread.is_finished() && since.elapsed() < LAST_WORDS {
                thread::sleep(Duration::from_millis(1));
            }
        }
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *heard)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cancel;

    #[test]
    fn a_program_gets_its_arguments_unread_by_any_shell() {
        let task = Task::new("printf", "test").args(["%s|", "$(id)", "; rm -rf /", "*"]);
        let finished = Real.run(&task).unwrap();
        assert!(finished.succeeded());
        assert_eq!(finished.out(), "$(id)|; rm -rf /|*|");
    }

    #[test]
    fn status_input_environment_and_both_outputs_arrive() {
        let task = Task::new("sh", "test")
            .args(["-c", "cat; echo \"$WORD\" >&2; exit 3"])
            .env("WORD", "heard")
            .input("read me");
        let finished = Real.run(&task).unwrap();
        assert_eq!(finished.code, Some(3));
        assert_eq!(
            (finished.out(), finished.err()),
            ("read me".into(), "heard\n".into())
        );
    }

    #[test]
    fn output_beyond_the_limit_is_dropped_and_said_so() {
        let task = Task::new("head", "test")
            .args(["-c", "100000", "/dev/zero"])
            .keep(10);
        let finished = Real.run(&task).unwrap();
        assert_eq!(finished.stdout.len(), 10);
        assert!(finished.cut);
    }

    #[test]
    fn a_program_past_its_deadline_is_stopped_with_all_it_started() {
        let task = Task::new("sh", "test")
            .args(["-c", "echo begun; sleep 1000 & sleep 1000"])
            .deadline(Duration::from_millis(300));
        match Real.run(&task) {
            Err(TaskError::Deadline { so_far, .. }) => assert_eq!(so_far.out(), "begun\n"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_program_that_is_not_gone_is_not_waited_for_without_end() {
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let began = Instant::now();
        assert!(!ends_within(&mut child, Duration::from_millis(50)).unwrap());
        assert!(began.elapsed() < Duration::from_secs(100));
        child.kill().unwrap();
        assert!(ends_within(&mut child, Duration::from_secs(100)).unwrap());
    }

    #[test]
    fn an_observer_reads_output_before_the_program_ends() {
        let cancel = Cancel::default();
        let stop = cancel.clone();
        // The program would run for ever: only what it has written already can end it.
        let task = Task::new("sh", "test")
            .args(["-c", "printf '50%%'; sleep 1000"])
            .cancelled_by(&cancel)
            .observed_by(move |piece| {
                assert_eq!(piece, b"50%");
                stop.cancel();
            });
        assert!(matches!(Real.run(&task), Err(TaskError::Cancelled { .. })));
    }

    #[test]
    fn a_cancelled_program_ends() {
        let cancel = Cancel::default();
        cancel.cancel();
        let task = Task::new("sleep", "test").arg("1000").cancelled_by(&cancel);
        assert!(matches!(Real.run(&task), Err(TaskError::Cancelled { .. })));
    }

    #[test]
    fn a_missing_program_is_reported_by_name_and_reason() {
        let error = Real
            .run(&Task::new("no-such-tool", "asking the BMC"))
            .unwrap_err();
        assert!(error.is_missing());
        assert!(error.to_string().contains("no-such-tool (asking the BMC)"));
    }

    #[test]
    fn a_written_file_has_its_mode_and_leaves_no_draft() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        Real.write(&path, b"one", 0o600).unwrap();
        Real.write(&path, b"two", 0o600).unwrap();
        assert_eq!(Real.read(&path).unwrap(), b"two");
        assert_eq!(Real.read_start(&path, 1).unwrap(), b"t");
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(Real.list(folder.path()).unwrap(), ["token"]);
        Real.remove(&path).unwrap();
        assert!(Real.kind(&path).is_err());
    }
}
