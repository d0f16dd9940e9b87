//! What one inventory costs, side by side with the programs others start for it.
//!
//! Each row is run as often as the others, as separate processes, as an agent would. CPU time is
//! that of all children by the kernel's own count.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints what its clock says"
)]

use std::{
    fs,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

const ROUNDS: u32 = 20;
/// Ticks of the clock in which the kernel counts processor time.
const TICKS_PER_SECOND: u64 = 100;

/// What the reference agent starts for one inventory on a machine without a BMC, one disk.
const REFERENCE: &[&str] = &[
    "lscpu -J",
    "dmidecode -t 17",
    "systemd-detect-virt --vm",
    "findmnt --noheadings --output SOURCE /sysroot",
    "grep -m1 vendor_id /proc/cpuinfo",
    "cat /sys/class/tpm/tpm0/tpm_version_major",
    "file -s /dev/null",
    "sg_inq -p 0x83 /dev/null",
];
const CHANNELS: u32 = 12;

/// What a person would start to see the same.
const TOOLS: &[&str] = &[
    "lshw -json -quiet",
    "lsblk -J -b -O",
    "lscpu -J",
    "dmidecode",
    "ip -j -d addr",
    "ip -j -4 route",
    "ip -j -6 route",
];

struct Cost {
    wall: Duration,
    cpu: Duration,
    processes: usize,
    missing: Vec<String>,
}

fn main() {
    let agent = format!("{} inventory", env!("CARGO_BIN_EXE_muster-agent"));
    let mut reference: Vec<String> = REFERENCE.iter().map(|line| (*line).to_owned()).collect();
    for channel in 1..=CHANNELS {
        reference.push(format!("ipmitool lan print {channel}"));
        reference.push(format!("ipmitool lan6 print {channel} enables"));
    }
    let tools: Vec<String> = TOOLS.iter().map(|line| (*line).to_owned()).collect();

    println!("One inventory of this machine, mean of {ROUNDS}");
    println!(
        "{:<44} {:>9} {:>10} {:>10} {:>8} {:>8}",
        "", "processes", "wall", "cpu", "wall", "cpu"
    );
    let ours = measure(&[agent]);
    row("muster-agent inventory", &ours, &ours);
    row(
        "programs the reference agent starts",
        &measure(&reference),
        &ours,
    );
    row("lshw, lsblk, lscpu, dmidecode, ip", &measure(&tools), &ours);
}

fn measure(commands: &[String]) -> Cost {
    let mut missing: Vec<String> = Vec::new();
    let (started, cpu) = (Instant::now(), children_time());
    let mut processes = 0;
    for _ in 0..ROUNDS {
        processes = 0;
        for command in commands {
            let mut words = command.split(' ');
            let program = words.next().unwrap();
            // Whether a program finds what it looks for does not matter here.
            let ran = Command::new(program)
                .args(words)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
            match ran {
                Ok(_) => processes += 1,
                Err(_) if missing.iter().any(|name| name == program) => {}
                Err(_) => missing.push(program.to_owned()),
            }
        }
    }
    Cost {
        wall: started.elapsed() / ROUNDS,
        cpu: (children_time() - cpu) / ROUNDS,
        processes,
        missing,
    }
}

/// Processor time of all children that have ended.
fn children_time() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    // The name of the program may hold blanks; fields are counted behind it.
    let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    let ticks: u64 = fields[13].parse::<u64>().unwrap() + fields[14].parse::<u64>().unwrap();
    Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND)
}

fn row(name: &str, cost: &Cost, ours: &Cost) {
    let ratio = |theirs: Duration, ours: Duration| match ours.as_secs_f64() {
        0.0 => "-".to_owned(),
        ours => format!("{:.1}x", theirs.as_secs_f64() / ours),
    };
    println!(
        "{name:<44} {:>9} {:>7.1} ms {:>7.1} ms {:>8} {:>8}",
        cost.processes,
        cost.wall.as_secs_f64() * 1e3,
        cost.cpu.as_secs_f64() * 1e3,
        ratio(cost.wall, ours.wall),
        ratio(cost.cpu, ours.cpu),
    );
    if !cost.missing.is_empty() {
        println!(
            "  (not installed, so not counted: {})",
            cost.missing.join(", ")
        );
    }
}
