//! A burst of stream JSON: no line may be lost, and memory must not grow with it.
//!
//! Every line of the burst has a number, and its size determines the content. So the output is compared, byte by
//! byte, with a burst generated again.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;

use super::Setting;
use super::measure::{Quantity, Row, cost, in_turns, peak_memory};
use super::project::Project;
use crate::{Stop, shell};

/// Size of the burst: 1 GB.
const BURST: u64 = 1_000_000_000;
/// Roughly the length of a line in an agent's stream.
const LINE: usize = 720;
/// Buffer size, large enough to make system calls cheap.
const BLOCK: usize = 1 << 20;
/// Maximum growth of the harness.
const MEMORY: u64 = 32 * 1024 * 1024;

/// Text before and after the number of a line.
const BEFORE: &[u8] = br#"{"type":"text","line":"#;
const AFTER: &[u8] = br#","text":""#;
/// Width of a line's number, so that all lines have the same length. JSON allows no leading zeros, so it starts with
/// a 1.
const DIGITS: usize = 12;

/// Receives a burst and compares it with what it reads: a line in the wrong place counts as lost.
struct Against<R> {
    arrived: R,
    block: Vec<u8>,
    lost: u64,
}

impl<R: Read> Write for Against<R> {
    fn write(&mut self, expected: &[u8]) -> io::Result<usize> {
        self.block.clear();
        self.arrived.by_ref().take(expected.len() as u64).read_to_end(&mut self.block)?;
        // Comparing whole blocks first keeps the good case at memory speed.
        if self.block != expected {
            let mut arrived = self.block.chunks(LINE);
            let lost = expected.chunks(LINE).filter(|&line| arrived.next() != Some(line)).count();
            self.lost += lost as u64;
        }
        Ok(expected.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A scripted agent execs the program that prints the burst.
const CONFIG: &str = "agent = \"bench\"\n[agents.bench]\nadapter = \"scripted\"\nscript = \"script.toml\"\n";
const WORKFLOW: &str = r#"
[budgets]
outcome = 0
[stages.say]
mode = "design"
output = "2GiB"
on = { said = "done" }
"#;

/// Runs a leg whose agent prints a burst, and compares the output with it. Returns the time, the harness's peak
/// memory, and the lines that the store counted.
fn ingest(acquit: &Path, template: &Path, dir: &Path, own: &Path, size: u64) -> Result<Ingested, Stop> {
    let config =
        format!("{CONFIG}\n[access]\nread = [{}]\n", toml::Value::from(own.to_string_lossy().as_ref()));
    let project = Project::new(acquit, template, dir, &config, WORKFLOW)?;
    let line = toml::Value::from(format!("{} burst {size}", own.display()));
    project.write(".acquit/script.toml", &format!("[[say]]\n[[say.step]]\nbecome = {line}\n"))?;
    let id = project.add("a burst")?;
    let (peak, cost) = cost(|| peak_memory(&mut project.acquit(&["leg", "--once", "--task", &id])))?;
    let mut stores =
        std::fs::read_dir(project.home().join("tasks")).map_err(Stop::doing("look for the task"))?;
    let store = stores.next().and_then(Result::ok).map(|store| store.path()).unwrap_or_default();
    let arrived = File::open(store.join(format!("{id}/legs/1/output.log")))
        .map_err(Stop::doing("open what arrived"))?;
    let mut lost = lost_lines(arrived, size).map_err(Stop::doing("check a burst"))?;
    let (lines, whole) = project.transcript()?;
    lost += size.div_ceil(LINE as u64).abs_diff(lines) + u64::from(!whole);
    Ok(Ingested { wall: cost.wall, peak, lost })
}

struct Ingested {
    wall: std::time::Duration,
    peak: u64,
    lost: u64,
}

pub(super) fn run(setting: Setting<'_>) -> Result<Vec<Row>, Stop> {
    let Setting { acquit, dir, size, .. } = setting;
    let burst = size.pick(BURST, 1_000_000);
    let path = dir.join("burst");
    let own = std::env::current_exe().map_err(Stop::doing("find this program"))?;
    let mut write = || {
        let file = File::create(&path).map_err(Stop::doing("make a burst"))?;
        let mut agent = shell::program(&own);
        agent.args(["burst", &burst.to_string()]).stdout(file);
        Ok(cost(|| shell::succeeds(&mut agent))?.1)
    };
    let [limit] = in_turns(setting.rounds(), [&mut write])?;
    let arrived = File::open(&path).map_err(Stop::doing("open a burst"))?;
    if lost_lines(arrived, burst).map_err(Stop::doing("check a burst"))? > 0 {
        return Err(Stop("the burst did not even reach a plain file".to_owned()));
    }
    std::fs::remove_file(&path).map_err(Stop::doing("remove a burst"))?;
    let template = dir.join("template");
    super::leg::repository(&template)?;
    // Baseline of a harness, so that the rest is the cost of the burst.
    let small = ingest(acquit, &template, &dir.join("small"), &own, 100_000)?;
    let large = ingest(acquit, &template, &dir.join("large"), &own, burst)?;
    let row = |thing: &str, ours, limit, target| Row { thing: thing.to_owned(), ours, limit, target };
    let grown = large.peak.saturating_sub(small.peak);
    Ok(vec![
        row(
            &format!("lines lost of {} MB, in the file and in the store", burst / 1_000_000),
            Quantity::Count(large.lost),
            Quantity::Count(0),
            Some(0.0),
        ),
        row("memory grown", Quantity::Bytes(grown), Quantity::Bytes(MEMORY), Some(1.0)),
        row(
            "wall, beside writing it to a file",
            Quantity::Time(large.wall),
            Quantity::Time(limit.wall),
            None,
        ),
    ])
}

/// The agent of this benchmark, in a separate process: prints a burst to stdout.
pub(crate) fn agent(size: &str) -> Result<(), Stop> {
    let size = size.parse().map_err(Stop::doing("read the size of the burst"))?;
    let out = io::stdout().as_fd().try_clone_to_owned().map_err(Stop::doing("open standard output"))?;
    burst(File::from(out), size).map_err(Stop::doing("write a burst"))
}

/// Counts the lines of a burst that are missing or in the wrong place; extra output counts as one.
pub(super) fn lost_lines(arrived: impl Read, size: u64) -> io::Result<u64> {
    let mut against = Against { arrived, block: Vec::with_capacity(BLOCK), lost: 0 };
    burst(&mut against, size)?;
    let beyond = against.arrived.read(&mut [0])? as u64;
    Ok(against.lost + beyond)
}

/// Writes at least `size` bytes of stream JSON, in complete, numbered lines.
pub(super) fn burst(to: impl Write, size: u64) -> io::Result<()> {
    let mut to = BufWriter::with_capacity(BLOCK, to);
    let mut line = [BEFORE, &[b'1'; DIGITS], AFTER].concat();
    line.resize(LINE - 3, b'x');
    line.extend_from_slice(b"\"}\n");
    for number in 0..size.div_ceil(LINE as u64) {
        let mut rest = number;
        // The first digit stays 1. Written by hand: formatting would be slower than what is measured.
        for digit in line[BEFORE.len() + 1..BEFORE.len() + DIGITS].iter_mut().rev() {
            *digit = b'0' + u8::try_from(rest % 10).unwrap_or_default();
            rest /= 10;
        }
        to.write_all(&line)?;
    }
    to.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_whole_numbered_lines_of_json() {
        let mut written = Vec::new();
        burst(&mut written, 10_000).expect("a burst");
        let lines: Vec<_> = written.split_inclusive(|&byte| byte == b'\n').collect();
        assert_eq!(lines.len(), 14);
        for (number, line) in lines.into_iter().enumerate() {
            assert_eq!(line.len(), LINE);
            let line: serde_json::Value = serde_json::from_slice(line).expect("JSON");
            assert_eq!(line["line"], 100_000_000_000 + number);
        }
    }

    #[test]
    fn a_lost_swapped_or_changed_line_is_seen() {
        let mut whole = Vec::new();
        burst(&mut whole, 10_000).expect("a burst");
        let lost = |bytes: &[u8]| lost_lines(bytes, 10_000).expect("a check");
        assert_eq!(lost(&whole), 0);
        assert_eq!(lost(&whole[..whole.len() - 2 * LINE]), 2, "two lines are lost");
        assert_eq!(lost(&[&whole[..], &whole[..LINE]].concat()), 1, "a line came twice");
        let (first, rest) = whole.split_at(LINE);
        assert_eq!(lost(&[&rest[..LINE], first, &rest[LINE..]].concat()), 2, "two lines are swapped");
        let mut changed = whole.clone();
        changed[LINE / 2] = b'y';
        assert_eq!(lost(&changed), 1, "a letter is changed");
    }
}
