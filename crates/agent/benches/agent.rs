//! What the agent weighs and what a look around costs, beside the tools the reference calls.
//!
//! Needs root, `ip`, `ping`, `arping` and a static agent (`make agents`). The machines are two
//! network namespaces; twenty peers are twenty addresses of the second.

use std::{
    error::Error,
    fs,
    io::Write,
    net::TcpListener,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

type Outcome<T> = Result<T, Box<dyn Error>>;

const PEERS: usize = 20;
/// Goals of this project, in MB and MiB.
const SIZE_GOAL: f64 = 10.0;
const MEMORY_GOAL: f64 = 12.0;
/// As measured on a machine like this: file size, and agent and runner at rest together.
const REFERENCE_SIZE: f64 = 53.3;
const REFERENCE_MEMORY: f64 = 86.0;

fn main() -> Outcome<()> {
    let agent = format!(
        "{}/../../target/agents/{}/muster-agent",
        env!("CARGO_MANIFEST_DIR"),
        std::env::consts::ARCH
    );
    if fs::metadata(&agent).is_err() {
        return Err(format!("{agent} is missing; run `make agents` first").into());
    }
    let mut out = std::io::stdout();
    let size = fs::metadata(&agent)?.len() as f64 / 1e6;
    writeln!(
        out,
        "agent: size            {size:6.1} MB   goal {SIZE_GOAL} MB, reference {REFERENCE_SIZE} MB ({:.1} times)",
        REFERENCE_SIZE / size
    )?;
    let memory = memory_at_rest(&agent)?;
    writeln!(
        out,
        "agent: memory at rest  {memory:6.1} MiB  goal {MEMORY_GOAL} MiB, reference {REFERENCE_MEMORY} MB ({:.1} times)",
        REFERENCE_MEMORY / memory
    )?;
    let lab = Lab::new()?;
    let (our_wall, our_cpu) = timed(|| lab.ours(&agent))?;
    let (their_wall, their_cpu) = timed(|| lab.theirs())?;
    writeln!(
        out,
        "agent: {PEERS} peers, wall   {our_wall:6.2} s    ping and arping {their_wall:.2} s ({:.1} times)",
        their_wall / our_wall
    )?;
    writeln!(
        out,
        "agent: {PEERS} peers, CPU    {our_cpu:6.2} s    ping and arping {their_cpu:.2} s ({:.1} times)",
        their_cpu / our_cpu.max(0.01)
    )?;
    Ok(())
}

/// Resident memory of an agent that has registered and waits for the next poll.
fn memory_at_rest(agent: &str) -> Outcome<f64> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}", listener.local_addr()?);
    let id = "00000000-0000-0000-0000-0000000000e1";
    let mut child = Running(
        Command::new(agent)
            .args(["--url", &url, "--infra-env-id", id, "--host-id", id])
            .stderr(Stdio::null())
            .spawn()?,
    );
    for body in [
        "{}",
        r#"{"instructions":null,"next_instruction_seconds":60}"#,
    ] {
        let (mut stream, _) = listener.accept()?;
        stream.set_read_timeout(Some(Duration::from_millis(500)))?;
        let mut buffer = [0; 8192];
        // One small request; what is behind it does not matter here.
        let _ = std::io::Read::read(&mut stream, &mut buffer)?;
        let head = format!(
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all((head + body).as_bytes())?;
    }
    std::thread::sleep(Duration::from_secs(2));
    let status = fs::read_to_string(format!("/proc/{}/status", child.0.id()))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib: f64 = line
        .and_then(|line| line.split_whitespace().next())
        .ok_or("no VmRSS")?
        .parse()?;
    child.0.kill()?;
    Ok(kib / 1024.0)
}

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Two machines and a cable.
struct Lab {
    a: String,
    b: String,
}

impl Lab {
    fn new() -> Outcome<Self> {
        let id = std::process::id() % 10_000;
        let lab = Self {
            a: format!("bench{id}a"),
            b: format!("bench{id}b"),
        };
        let (a, b) = (&lab.a, &lab.b);
        ip(&format!("netns add {a}"))?;
        ip(&format!("netns add {b}"))?;
        ip(&format!(
            "link add eth0 netns {a} type veth peer name eth0 netns {b}"
        ))?;
        ip(&format!("-n {a} address add 192.0.2.1/24 dev eth0"))?;
        for address in lab.peers() {
            ip(&format!("-n {b} address add {address}/24 dev eth0"))?;
        }
        for space in [a, b] {
            ip(&format!("-n {space} link set eth0 up"))?;
        }
        Ok(lab)
    }

    fn peers(&self) -> impl Iterator<Item = String> {
        (0..PEERS).map(|peer| format!("192.0.2.{}", peer + 2))
    }

    fn inside(&self) -> Command {
        let mut command = Command::new("ip");
        command
            .args(["netns", "exec", &self.a])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    fn ours(&self, agent: &str) -> Outcome<()> {
        let peer = |(number, address): (usize, String)| {
            format!(
                r#"{{"host_id":"00000000-0000-0000-0000-{number:012}","nics":[{{"name":"eth0","mac":"02:00:00:00:00:01","ip_addresses":["{address}"]}}]}}"#
            )
        };
        let peers: Vec<String> = self.peers().enumerate().map(peer).collect();
        let hide = "mount -t tmpfs none /sys/class/net && exec \"$@\"";
        let done = self
            .inside()
            .args(["sh", "-c", hide, "sh", agent, "step", "connectivity-check"])
            .arg(format!("[{}]", peers.join(",")))
            .status()?;
        done.success()
            .then_some(())
            .ok_or_else(|| "the agent failed".into())
    }

    fn theirs(&self) -> Outcome<()> {
        let mut children = Vec::new();
        for address in self.peers() {
            let ping = self
                .inside()
                .args(["ping", "-c", "10", "-W", "3", "-q", &address])
                .spawn()?;
            let arping = self
                .inside()
                .args(["arping", "-c", "10", "-w", "5", "-I", "eth0", &address])
                .spawn()?;
            children.extend([ping, arping]);
        }
        for mut child in children {
            child.wait()?;
        }
        Ok(())
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for space in [&self.a, &self.b] {
            let _ = ip(&format!("netns delete {space}"));
        }
    }
}

fn ip(words: &str) -> Outcome<()> {
    let done = Command::new("ip").args(words.split(' ')).output()?;
    if done.status.success() {
        return Ok(());
    }
    Err(format!("ip {words}: {}", String::from_utf8_lossy(&done.stderr)).into())
}

/// Wall time, and processor time of the programs it started, in seconds.
fn timed(work: impl FnOnce() -> Outcome<()>) -> Outcome<(f64, f64)> {
    let (begun, cpu) = (Instant::now(), children_cpu()?);
    work()?;
    Ok((begun.elapsed().as_secs_f64(), children_cpu()? - cpu))
}

/// The kernel counts in hundredths of seconds.
fn children_cpu() -> Outcome<f64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let (_, rest) = stat.rsplit_once(')').ok_or("unreadable /proc/self/stat")?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let ticks: f64 = fields
        .get(13..15)
        .ok_or("short /proc/self/stat")?
        .iter()
        .filter_map(|field| field.parse::<f64>().ok())
        .sum();
    Ok(ticks / 100.0)
}
