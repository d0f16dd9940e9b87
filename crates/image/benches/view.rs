//! How fast is a customized image read, compared with a plain file of the same length?
//!
//! Prints the ratio of both in the same run, since absolute figures depend on the machine.

use std::{
    fs::File,
    io::{self, Read, Write},
    time::{Duration, Instant},
};

use muster_image::{Source, View};

const LEN: u64 = 512 * 1024 * 1024;
const ROUNDS: usize = 5;

fn main() -> io::Result<()> {
    let file = sample()?;
    let view = patched(View::of(Source::file(file.try_clone()?)?));
    let (mut plain, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        io::Seek::rewind(&mut &file)?;
        plain.push(timed(&file)?);
        ours.push(timed(view.reader())?);
    }
    let (plain, ours) = (median(plain), median(ours));
    let ratio = plain.as_secs_f64() / ours.as_secs_f64();
    let rate = |took: Duration| LEN as f64 / took.as_secs_f64() / 1e9;
    writeln!(
        io::stdout(),
        "read {} MiB: plain file {:.2} GB/s, view with patches {:.2} GB/s, ratio {ratio:.2}",
        LEN >> 20,
        rate(plain),
        rate(ours),
    )?;
    // Someone with a BMC reads sectors here and there.
    let start = Instant::now();
    let mut sector = [0; 2048];
    let reads = 200_000u64;
    for number in 0..reads {
        let at = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % (LEN / 2048) * 2048;
        view.read_at(&mut sector, at)?;
    }
    let each = start.elapsed().as_nanos() / u128::from(reads);
    writeln!(io::stdout(), "read a sector anywhere: {each} ns")
}

fn sample() -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    let chunk: Vec<u8> = (0..1 << 20)
        .map(|number: u32| (number >> 3) as u8)
        .collect();
    for _ in 0..LEN >> 20 {
        file.write_all(&chunk)?;
    }
    Ok(file)
}

/// As many patches as a customized image has, and then some.
fn patched(view: View) -> View {
    (1..64).fold(view, |view, number| {
        let at = number * (LEN / 64);
        view.patched(at, vec![0xaa; 4096]).unwrap_or(view)
    })
}

fn timed(mut reader: impl Read) -> io::Result<Duration> {
    let start = Instant::now();
    let mut buffer = vec![0; 256 * 1024];
    while reader.read(&mut buffer)? > 0 {}
    Ok(start.elapsed())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
