//! `create ignition-configs` from end to end against its floor: the time that `openssl genrsa`
//! takes for as many keys on as many cores. Prints a ratio; below 1.3 is the aim.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use muster_assets::pki::rows::{PLAIN_KEYS, ROWS, When};
use muster_assets::plan::Extras;
use muster_assets::profiles::Release;
use muster_assets::workdir::{Request, Target, run};
use muster_documents::install_config::FipsHost;

const ROUNDS: usize = 5;
const CONFIG: &[u8] = include_bytes!("../tests/cases/none-highly-available.yaml");

fn main() {
    let keys = ROWS.iter().filter(|row| row.when == When::Always).count() + PLAIN_KEYS.len();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let ours: Vec<Duration> = (0..ROUNDS).map(create).collect();
    let floor: Vec<Duration> = (0..ROUNDS).map(|_| genrsa(keys, cores)).collect();
    let (ours, floor) = (median(ours), median(floor));
    let mut out = std::io::stdout().lock();
    let _ = writeln!(
        out,
        "create ignition-configs: {ours:.2?} for {keys} keys on {cores} cores; openssl genrsa alone: \
         {floor:.2?}; ratio {:.2} (aim: at most 1.3); memory at most {}",
        ours.as_secs_f64() / floor.as_secs_f64(),
        peak_memory(),
    );
}

fn create(round: usize) -> Duration {
    let request = Request {
        target: Target::IgnitionConfigs,
        on_disk: BTreeMap::from([("install-config.yaml".to_owned(), CONFIG.to_vec())]),
        state: None,
        release: Some(Release {
            version: "4.20.3".to_owned(),
            image: "registry.example.org/release@sha256:0".to_owned(),
        }),
        fresh_seed: [round as u8; 32],
        now: Timestamp::UNIX_EPOCH,
        lenient: false,
        fips_host: FipsHost::No,
        force: false,
        load_certificates: false,
        extras: Extras::default(),
        lookup: &|_| None,
    };
    let start = Instant::now();
    run(&request).expect("the install-config of the tests is good");
    start.elapsed()
}

fn genrsa(keys: usize, cores: usize) -> Duration {
    let next = AtomicUsize::new(0);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while next.fetch_add(1, Ordering::Relaxed) < keys {
                    let status = Command::new("openssl")
                        .args(["genrsa", "2048"])
                        .stdout(Stdio::null())
                        .stderr(Stdio::null())
                        .status();
                    assert!(
                        status.is_ok_and(|s| s.success()),
                        "openssl is needed for comparison"
                    );
                }
            });
        }
    });
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or_else(|| "unknown".to_owned(), |line| line.trim().to_owned())
}
