//! A machine for servers: this one, or one with a network of its own, so that they have the ports
//! and names they will have in a cluster, and an `/etc/hosts` of its own.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// Lives as long as the thread that started it.
#[derive(Debug)]
pub struct Machine {
    holder: Option<Child>,
    folder: PathBuf,
}

impl Machine {
    /// This computer; servers work in this folder.
    #[must_use]
    pub fn here(folder: &Path) -> Self {
        Self {
            holder: None,
            folder: folder.to_owned(),
        }
    }

    /// A machine with these addresses and the names of each.
    ///
    /// # Panics
    /// Without the rights to make one.
    #[must_use]
    pub fn start(folder: &Path, names: &[(&str, String)]) -> Self {
        let mut hosts = String::from("127.0.0.1 localhost\n::1 localhost\n");
        let mut steps = String::from("set -e\nip link set lo up\n");
        for (address, names) in names {
            hosts.push_str(&format!("{address} {names}\n"));
            steps.push_str(&format!("ip address add {address}/32 dev lo\n"));
        }
        fs::write(folder.join("hosts"), hosts).unwrap();
        steps.push_str("mount --bind hosts /etc/hosts\ntouch up\nexec sleep infinity\n");
        let mut command = mortal("unshare");
        command.args(["--net", "--mount", "bash", "-c", &steps]);
        command.current_dir(folder);
        let mut holder = command.spawn().unwrap();
        while !folder.join("up").exists() {
            let ended = holder.try_wait().unwrap();
            assert!(ended.is_none(), "no network namespace: {ended:?}");
            thread::sleep(Duration::from_millis(20));
        }
        Self {
            holder: Some(holder),
            folder: folder.to_owned(),
        }
    }

    /// A program to run there, with nothing of our own environment.
    #[must_use]
    pub fn command(&self, program: &str) -> Command {
        let mut command = match &self.holder {
            Some(holder) => {
                let mut command = mortal("nsenter");
                command
                    .arg(format!("--target={}", holder.id()))
                    .arg(format!("--wd={}", self.folder.display()))
                    .args(["--net", "--mount", program]);
                command
            }
            None => {
                let mut command = mortal(program);
                command.current_dir(&self.folder);
                command
            }
        };
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.folder);
        command
    }

    /// Starts a server that writes to a log.
    ///
    /// # Panics
    /// It cannot be started.
    pub fn serve(&self, name: &str, program: &str, arguments: &[&str]) -> Child {
        let log = fs::File::create(self.log_path(name)).unwrap();
        let mut command = self.command(program);
        command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .process_group(0);
        command.spawn().unwrap()
    }

    /// The end of what a server wrote.
    #[must_use]
    pub fn log(&self, name: &str) -> String {
        let text = fs::read_to_string(self.log_path(name)).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }

    fn log_path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.log"))
    }
}

/// A program that is killed when the thread that started it ends.
fn mortal(program: &str) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", program]);
    command
}
