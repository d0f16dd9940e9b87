//! The remote control of a virtual machine (QEMU's machine protocol).

use std::{
    io::{BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    path::Path,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

/// A connection to a machine's monitor.
#[derive(Debug)]
pub struct Qmp {
    stream: BufReader<UnixStream>,
}

impl Qmp {
    /// Connects and says hello.
    ///
    /// # Errors
    /// When there is no answer.
    pub fn connect(socket: &Path) -> Result<Self> {
        let stream = UnixStream::connect(socket)
            .with_context(|| format!("no monitor at {}", socket.display()))?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        let mut qmp = Self {
            stream: BufReader::new(stream),
        };
        qmp.line()?;
        qmp.ask("qmp_capabilities", json!({}))?;
        Ok(qmp)
    }

    /// Runs a command and returns its answer; events in between are passed over.
    ///
    /// # Errors
    /// When the machine refuses or is gone.
    pub fn ask(&mut self, what: &str, arguments: Value) -> Result<Value> {
        let request = json!({"execute": what, "arguments": arguments});
        self.stream
            .get_mut()
            .write_all(format!("{request}\n").as_bytes())
            .with_context(|| format!("the machine does not take {what}"))?;
        loop {
            let mut answer = self.line()?;
            if let Some(error) = answer.get("error") {
                bail!("{what}: {error}");
            }
            if answer.get("return").is_some() {
                return Ok(answer["return"].take());
            }
        }
    }

    fn line(&mut self) -> Result<Value> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            bail!("the machine is off");
        }
        Ok(serde_json::from_str(&line)?)
    }
}
