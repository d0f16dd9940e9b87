//! A program to run: what, why and how long at most.
//!
//! Arguments are a list and never meet a shell. Output is kept up to a limit, because a runaway
//! program must not fill the memory of a machine that runs from memory.

use std::{
    fmt, io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde::{Deserialize, Serialize};

/// A program to run.
#[derive(Clone)]
pub struct Task {
    /// The program: a path, or a name looked up in `PATH`.
    pub program: String,
    /// Its arguments, passed without a shell.
    pub args: Vec<String>,
    /// Why it is run, for the log and for error messages.
    pub reason: String,
    /// When it is stopped, however far it is.
    pub deadline: Duration,
    /// Bytes kept of standard output and of standard error, each.
    pub keep: usize,
    /// What it reads on standard input.
    pub input: Vec<u8>,
    /// Variables added to its environment. Secrets go here: values are never shown.
    pub environment: Vec<(String, String)>,
    /// Stops it from outside.
    pub cancel: Option<Cancel>,
    /// Gets both outputs while they are written, for programs that report progress.
    pub observer: Option<Observer>,
}

/// Gets pieces of a program's output as they arrive; a piece may end in the middle of a line.
pub type Observer = Arc<dyn Fn(&[u8]) + Send + Sync>;

impl Task {
    /// A program without arguments, with a minute to run and a mebibyte of output.
    pub fn new(program: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            reason: reason.into(),
            deadline: Duration::from_secs(60),
            keep: 1 << 20,
            input: Vec::new(),
            environment: Vec::new(),
            cancel: None,
            observer: None,
        }
    }

    /// With one more argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<String>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// With more arguments.
    #[must_use]
    pub fn args<T: Into<String>>(mut self, args: impl IntoIterator<Item = T>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// With another deadline.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// With another limit for each of the two outputs.
    #[must_use]
    pub fn keep(mut self, bytes: usize) -> Self {
        self.keep = bytes;
        self
    }

    /// With something to read.
    #[must_use]
    pub fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    /// With a variable in its environment.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// With a way to stop it.
    #[must_use]
    pub fn cancelled_by(mut self, cancel: &Cancel) -> Self {
        self.cancel = Some(cancel.clone());
        self
    }

    /// With a reader of its output while it runs. The reader must be quick: the program waits
    /// for it.
    #[must_use]
    pub fn observed_by(mut self, observer: impl Fn(&[u8]) + Send + Sync + 'static) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// Program and arguments in one list, as a script of a simulated machine names them.
    pub fn command(&self) -> Vec<String> {
        let mut command = vec![self.program.clone()];
        command.extend(self.args.iter().cloned());
        command
    }
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let variables: Vec<&str> = self
            .environment
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        f.debug_struct("Task")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("reason", &self.reason)
            .field("deadline", &self.deadline)
            .field("environment", &variables)
            .finish_non_exhaustive()
    }
}

/// Stops running tasks; copies are one and the same switch.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Stops every task that carries this switch, now and later.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was thrown.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// How a program ended by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finished {
    /// Exit status; none if a signal ended it.
    pub code: Option<i32>,
    /// What it wrote to standard output, as far as kept.
    #[serde(with = "text")]
    pub stdout: Vec<u8>,
    /// What it wrote to standard error, as far as kept.
    #[serde(with = "text")]
    pub stderr: Vec<u8>,
    /// Whether it wrote more than was kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

impl Finished {
    /// A success with this output; for scripts of simulated machines.
    pub fn with_output(stdout: impl Into<Vec<u8>>) -> Self {
        Self {
            code: Some(0),
            stdout: stdout.into(),
            ..Self::default()
        }
    }

    /// A failure with this status and message.
    pub fn failed(code: i32, stderr: impl Into<Vec<u8>>) -> Self {
        Self {
            code: Some(code),
            stderr: stderr.into(),
            ..Self::default()
        }
    }

    /// Whether it ended with status 0.
    pub fn succeeded(&self) -> bool {
        self.code == Some(0)
    }

    /// Standard output as text; what is no UTF-8 is replaced.
    pub fn out(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Standard error as text; what is no UTF-8 is replaced.
    pub fn err(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }
}

/// Outputs are texts in records, so that people can read them.
mod text {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&String::from_utf8_lossy(bytes))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        String::deserialize(from).map(String::into_bytes)
    }
}

/// Why a program gave no result of its own.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// It is not installed, or may not be run.
    #[error("cannot start {program} ({reason}): {source}")]
    NotStarted {
        /// The program.
        program: String,
        /// What it was for.
        reason: String,
        /// What the system said.
        source: io::Error,
    },
    /// It ran longer than allowed and was stopped.
    #[error("{program} ({reason}) was stopped after {} s, its deadline", deadline.as_secs_f64())]
    Deadline {
        /// The program.
        program: String,
        /// What it was for.
        reason: String,
        /// How long it was allowed to run.
        deadline: Duration,
        /// What it had written until then.
        so_far: Box<Finished>,
    },
    /// It was stopped because its result is no longer needed.
    #[error("{program} ({reason}) was cancelled")]
    Cancelled {
        /// The program.
        program: String,
        /// What it was for.
        reason: String,
    },
}

impl TaskError {
    /// Whether the program is not installed on this machine.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::NotStarted { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_of_a_task_shows_names_and_no_values() {
        let task = Task::new("podman", "pull").env("TOKEN", "hush");
        let shown = format!("{task:?}");
        assert!(
            shown.contains("TOKEN") && !shown.contains("hush"),
            "{shown}"
        );
    }
}
