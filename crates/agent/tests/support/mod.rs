//! A service that says what a test wants it to say, and keeps what it hears.

#![allow(dead_code, reason = "each test file uses its part of it")]

use std::{
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpListener,
};

pub const INFRA_ENV: &str = "00000000-0000-0000-0000-0000000000e1";
pub const HOST: &str = "00000000-0000-0000-0000-0000000000a1";

/// How to answer.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Status line and body.
    Say(&'static str, String),
    /// A body that does not end for a long time: as many megabytes.
    Flood(usize),
    /// Sends the caller to itself.
    Circle,
    /// Begins an answer and hangs up.
    HangUp,
    /// Begins an answer and goes on with a blank now and then, for ever.
    Drip,
}

impl Answer {
    pub fn ok(body: impl Into<String>) -> Self {
        Self::Say("200 OK", body.into())
    }

    pub fn status(status: &'static str) -> Self {
        Self::Say(
            status,
            r#"{"code":"x","kind":"Error","reason":"no"}"#.to_owned(),
        )
    }
}

/// A registration as the reference answers it.
pub fn hello() -> Answer {
    let inner = serde_json::json!({
        "agent_version": "quay.io/x/agent:9", "host_id": HOST, "infra_env_id": INFRA_ENV,
    });
    let body = serde_json::json!({
        "id": HOST, "status": "discovering",
        "next_step_runner_command": {"args": [inner.to_string()]},
    });
    Answer::Say("201 Created", body.to_string())
}

/// An answer to a poll.
pub fn steps(instructions: serde_json::Value) -> Answer {
    let body = serde_json::json!({
        "instructions": instructions, "next_instruction_seconds": 1, "post_step_action": "continue",
    });
    Answer::ok(body.to_string())
}

/// One request as it came in.
#[derive(Clone, Debug)]
pub struct Heard {
    pub line: String,
    pub head: String,
    pub body: String,
}

impl Heard {
    pub fn is_hello(&self) -> bool {
        self.line.starts_with("POST") && self.line.contains("/hosts HTTP")
    }
    pub fn is_poll(&self) -> bool {
        self.line.starts_with("GET") && self.line.contains("/instructions?timestamp=")
    }
    pub fn is_reply(&self) -> bool {
        self.line.starts_with("POST") && self.line.contains("/instructions HTTP")
    }
}

/// What the service says to each kind of request, and what it heard.
#[derive(Clone, Debug)]
pub struct Service {
    address: std::net::SocketAddr,
    script: Arc<Mutex<(Answer, Answer, Answer)>>,
    heard: Arc<Mutex<Vec<Heard>>>,
}

impl Service {
    /// A service on a free port of the loopback.
    pub async fn start(hello: Answer, poll: Answer) -> Self {
        Self::start_on("127.0.0.1:0", hello, poll).await
    }

    /// The same on an address of choice.
    pub async fn start_on(address: &str, hello: Answer, poll: Answer) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let service = Self {
            address: listener.local_addr().unwrap(),
            script: Arc::new(Mutex::new((
                hello,
                poll,
                Answer::Say("204 No Content", String::new()),
            ))),
            heard: Arc::default(),
        };
        let serving = service.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let service = serving.clone();
                tokio::spawn(async move { service.serve(stream).await });
            }
        });
        service
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn say(&self, hello: Answer, poll: Answer) {
        let mut script = self.script.lock().unwrap();
        script.0 = hello;
        script.1 = poll;
    }

    pub fn say_to_replies(&self, answer: Answer) {
        self.script.lock().unwrap().2 = answer;
    }

    pub fn heard(&self) -> Vec<Heard> {
        self.heard.lock().unwrap().clone()
    }

    pub fn forget(&self) {
        self.heard.lock().unwrap().clear();
    }

    pub fn count(&self, which: impl Fn(&Heard) -> bool) -> usize {
        self.heard().iter().filter(|heard| which(heard)).count()
    }

    /// Waits until something was heard; fails the test if it never is.
    pub async fn until(&self, what: &str, done: impl Fn(&[Heard]) -> bool) {
        for _ in 0..3000 {
            if done(&self.heard()) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{what} never happened; heard: {:#?}", self.heard());
    }

    pub async fn serve(&self, mut stream: impl AsyncRead + AsyncWrite + Unpin) {
        let mut bytes = Vec::new();
        let mut buffer = [0; 16_384];
        loop {
            let Ok(length) = stream.read(&mut buffer).await else {
                return;
            };
            if length == 0 {
                return;
            }
            bytes.extend_from_slice(&buffer[..length]);
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let Some((head, body)) = text.split_once("\r\n\r\n") else {
                continue;
            };
            let wanted = head
                .to_lowercase()
                .lines()
                .find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok())
                .unwrap_or(0);
            if body.len() < wanted {
                continue;
            }
            let heard = Heard {
                line: head.lines().next().unwrap_or_default().to_owned(),
                head: head.to_owned(),
                body: body.to_owned(),
            };
            let answer = {
                let script = self.script.lock().unwrap();
                if heard.is_hello() {
                    script.0.clone()
                } else if heard.is_poll() {
                    script.1.clone()
                } else {
                    script.2.clone()
                }
            };
            self.heard.lock().unwrap().push(heard);
            self.answer(&mut stream, answer).await;
            let _ = stream.shutdown().await;
            return;
        }
    }

    async fn answer(&self, stream: &mut (impl AsyncWrite + Unpin), answer: Answer) {
        let head = |status: &str, more: &str| {
            format!("HTTP/1.1 {status}\r\nConnection: close\r\n{more}\r\n")
        };
        // The other side may hang up at any moment; that is its right.
        match answer {
            Answer::Say(status, body) => {
                let length = format!("Content-Length: {}\r\n", body.len());
                let text = head(status, &length) + &body;
                let _ = stream.write_all(text.as_bytes()).await;
            }
            Answer::Flood(megabytes) => {
                let _ = stream.write_all(head("200 OK", "").as_bytes()).await;
                let piece = vec![b' '; 1 << 20];
                for _ in 0..megabytes {
                    if stream.write_all(&piece).await.is_err() {
                        return;
                    }
                }
            }
            Answer::Circle => {
                let to = format!("Location: {}/again\r\nContent-Length: 0\r\n", self.url());
                let _ = stream
                    .write_all(head("307 Temporary Redirect", &to).as_bytes())
                    .await;
            }
            Answer::Drip => {
                let _ = stream.write_all(head("200 OK", "").as_bytes()).await;
                while stream.write_all(b" ").await.is_ok() && stream.flush().await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
            }
            Answer::HangUp => {
                let _ = stream
                    .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"instr")
                    .await;
            }
        }
    }
}

/// A running agent that ends with the test.
#[derive(Debug)]
pub struct Agent(Child);

impl Agent {
    pub fn start(url: &str, more: &[&str]) -> Self {
        Self::start_with(url, more, &[])
    }

    pub fn start_with(url: &str, more: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_muster-agent"));
        command
            .args(["--url", url, "--infra-env-id", INFRA_ENV, "--host-id", HOST])
            .args(more)
            .env("PULL_SECRET_TOKEN", "token-of-the-machine")
            .stderr(Stdio::null());
        for name in ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"] {
            command.env_remove(name).env_remove(name.to_lowercase());
        }
        command.envs(environment.iter().copied());
        Self(command.spawn().unwrap())
    }

    pub fn is_running(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
