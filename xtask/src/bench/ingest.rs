//! A burst of stream JSON: no line lost, and memory that does not grow with it.
//!
//! The burst is written line by line from a counter, so that its hash is known without keeping it.

use std::hash::{DefaultHasher, Hasher};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::measure::{Quantity, ROUNDS, Row, cost, median};
use crate::Stop;

/// Size of the burst: 1 GB.
const BURST: u64 = 1_000_000_000;
/// About a line of an agent's stream.
const LINE: usize = 720;
/// How much the harness may grow.
const MEMORY: u64 = 32 * 1024 * 1024;
/// The burst's size in the unmeasured rounds of the limit: enough to outgrow every buffer.
const PROBE: u64 = 100_000_000;

/// What a burst consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Burst {
    pub(super) lines: u64,
    pub(super) bytes: u64,
    /// Over every byte, line ends included.
    pub(super) hash: u64,
}

pub(super) fn run(_acquit: &Path, dir: &Path) -> Result<Vec<Row>, Stop> {
    let path = dir.join("burst");
    let write = || {
        let file = std::fs::File::create(&path).map_err(Stop::doing("make a burst"))?;
        let (burst, cost) = cost(|| burst(file, PROBE).map_err(Stop::doing("write a burst")))?;
        // As if the whole had been written, so that the figure stands beside ours.
        Ok((burst, cost.wall * u32::try_from(BURST / PROBE).unwrap_or(1), cost))
    };
    let mut costs = Vec::new();
    for _ in 0..ROUNDS {
        let (_, wall, mut cost) = write()?;
        cost.wall = wall;
        costs.push(cost);
    }
    let row = |thing: &str, limit, target| Row { thing: thing.to_owned(), ours: None, limit, target };
    Ok(vec![
        row("lines lost of 1 GB", Quantity::Count(0), 0.0),
        row("memory grown", Quantity::Bytes(MEMORY), 1.0),
        row("wall, beside writing it to a file", Quantity::Time(median(&costs).wall), 3.0),
    ])
}

/// Writes at least `size` bytes of stream JSON, in whole lines.
pub(super) fn burst(to: impl Write, size: u64) -> io::Result<Burst> {
    let mut to = BufWriter::with_capacity(1 << 20, to);
    let mut hasher = DefaultHasher::new();
    let mut burst = Burst { lines: 0, bytes: 0, hash: 0 };
    let padding = "x".repeat(LINE);
    let mut line = Vec::with_capacity(2 * LINE);
    while burst.bytes < size {
        line.clear();
        write!(line, r#"{{"type":"text","line":{},"text":""#, burst.lines)?;
        let rest = LINE.saturating_sub(line.len() + 3);
        line.extend_from_slice(&padding.as_bytes()[..rest]);
        line.extend_from_slice(b"\"}\n");
        to.write_all(&line)?;
        hasher.write(&line);
        burst.lines += 1;
        burst.bytes += line.len() as u64;
    }
    to.flush()?;
    burst.hash = hasher.finish();
    Ok(burst)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_whole_lines_of_json_and_the_same_every_time() {
        let mut written = Vec::new();
        let first = burst(&mut written, 10_000).expect("a burst");
        assert_eq!(first, burst(io::sink(), 10_000).expect("a burst"));
        assert_eq!(first.bytes, written.len() as u64);
        let lines: Vec<_> = written.split_inclusive(|&byte| byte == b'\n').collect();
        assert_eq!(lines.len() as u64, first.lines);
        for line in lines {
            assert_eq!(line.len(), LINE);
            serde_json::from_slice::<serde_json::Value>(line).expect("JSON");
        }
    }
}
