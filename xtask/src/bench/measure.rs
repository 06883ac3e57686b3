//! Shared by the benchmarks: wall and CPU time of work that spawns processes, medians, and the table of figures and
//! targets.
#![allow(
    unsafe_code,
    reason = "the CPU time of ended children is told by getrusage(2) alone, which has no safe form"
)]

use std::fmt;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::Stop;
use crate::scratch::Medium;

/// Repetitions of each measurement: odd, so that the median is an actual run.
pub(super) const ROUNDS: usize = 5;

/// The cost of some work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cost {
    pub(super) wall: Duration,
    /// User and system time of this process and of all descendants that ended and were waited for.
    pub(super) cpu: Duration,
}

impl Cost {
    /// Divides the cost by `count`.
    pub(super) fn per(self, count: u32) -> Self {
        Self { wall: self.wall / count, cpu: self.cpu / count }
    }
}

/// Runs `work` and measures it. Processes that it spawns must be waited for, else their CPU time is not counted.
pub(super) fn cost<T>(work: impl FnOnce() -> Result<T, Stop>) -> Result<(T, Cost), Stop> {
    let before = cpu();
    let begun = Instant::now();
    let result = work()?;
    let wall = begun.elapsed();
    Ok((result, Cost { wall, cpu: cpu().saturating_sub(before) }))
}

/// Something to measure: runs once and returns its cost.
pub(super) type Round<'a> = &'a mut dyn FnMut() -> Result<Cost, Stop>;

/// Returns the median cost of each thing. Alternates between them, so that a slow minute affects all.
pub(super) fn in_turns<const THINGS: usize>(
    rounds: usize,
    mut things: [Round<'_>; THINGS],
) -> Result<[Cost; THINGS], Stop> {
    let mut costs = [const { Vec::new() }; THINGS];
    for _ in 0..rounds {
        for (thing, costs) in things.iter_mut().zip(&mut costs) {
            costs.push(thing()?);
        }
    }
    Ok(costs.map(|costs| median(&costs)))
}

/// Returns the medians of wall and CPU time, independently.
fn median(costs: &[Cost]) -> Cost {
    let middle = |mut times: Vec<Duration>| {
        times.sort_unstable();
        times.get(times.len() / 2).copied().unwrap_or_default()
    };
    Cost {
        wall: middle(costs.iter().map(|cost| cost.wall).collect()),
        cpu: middle(costs.iter().map(|cost| cost.cpu).collect()),
    }
}

fn cpu() -> Duration {
    [libc::RUSAGE_SELF, libc::RUSAGE_CHILDREN].into_iter().map(rusage).sum()
}

fn rusage(who: libc::c_int) -> Duration {
    // SAFETY: an all-zero `rusage` is valid, as it has only numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to our own live `rusage`, and `who` is one of the two constants above.
    let answer = unsafe { libc::getrusage(who, &raw mut usage) };
    if answer != 0 {
        return Duration::ZERO;
    }
    let time = |time: libc::timeval| {
        let seconds = Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or_default());
        seconds + Duration::from_micros(u64::try_from(time.tv_usec).unwrap_or_default())
    };
    time(usage.ru_utime) + time(usage.ru_stime)
}

/// Runs a program to its end. Returns the peak memory of it or of one of its descendants.
pub(super) fn peak_memory(command: &mut std::process::Command) -> Result<u64, Stop> {
    let child = command.spawn().map_err(Stop::doing("start a program"))?;
    let pid = libc::pid_t::try_from(child.id()).map_err(Stop::doing("understand a process id"))?;
    // SAFETY: an all-zero `rusage` is valid, as it has only numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    let mut status = 0;
    // SAFETY: both pointers are to our own live values, and nothing else waits for this child.
    let answer = unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) };
    if answer != pid {
        return Err(Stop("waiting for a program failed".to_owned()));
    }
    Ok(u64::try_from(usage.ru_maxrss).unwrap_or_default() * 1024)
}

/// A figure with its unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Quantity {
    Time(Duration),
    Bytes(u64),
    Count(u64),
}

impl Quantity {
    /// Returns the value in seconds, bytes or pieces.
    #[allow(clippy::cast_precision_loss, reason = "figures for people; 52 bits are plenty")]
    fn number(self) -> f64 {
        match self {
            Self::Time(time) => time.as_secs_f64(),
            Self::Bytes(number) | Self::Count(number) => number as f64,
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Time(time) => format!("{:.2} ms", time.as_secs_f64() * 1e3),
            Self::Bytes(_) => format!("{:.1} MB", self.number() / 1e6),
            Self::Count(count) => count.to_string(),
        };
        f.pad(&text)
    }
}

/// A line of a report: our figure, the limit, and the maximum acceptable ratio of the two.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) thing: String,
    pub(super) ours: Quantity,
    pub(super) limit: Quantity,
    /// `None` if the figure is for information only.
    pub(super) target: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Pass,
    Fail,
    Shown,
}

impl Verdict {
    fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "FAIL",
            Self::Shown => "shown",
        }
    }
}

impl Row {
    /// Returns our figure divided by the limit. Zero is within every limit, also within zero.
    fn ratio(&self) -> f64 {
        let ours = self.ours.number();
        if ours == 0.0 { 0.0 } else { ours / self.limit.number() }
    }

    fn verdict(&self) -> Verdict {
        match self.target {
            None => Verdict::Shown,
            Some(target) if self.ratio() <= target => Verdict::Pass,
            Some(_) => Verdict::Fail,
        }
    }
}

/// A benchmark's figures, and where they were measured.
pub(super) struct Report {
    pub(super) name: String,
    pub(super) medium: Medium,
    /// Number of repetitions.
    pub(super) rounds: usize,
    pub(super) rows: Vec<Row>,
}

impl Report {
    pub(super) fn holds(&self) -> bool {
        self.rows.iter().all(|row| row.verdict() != Verdict::Fail)
    }

    pub(super) fn json(&self) -> serde_json::Value {
        let rows: Vec<_> = self
            .rows
            .iter()
            .map(|row| {
                json!({
                    "thing": row.thing,
                    "ours": row.ours.number(),
                    "limit": row.limit.number(),
                    "ratio": row.ratio(),
                    "target": row.target,
                    "verdict": row.verdict().name().to_lowercase(),
                })
            })
            .collect();
        json!({ "bench": self.name, "on": self.medium.name(), "median_of": self.rounds, "rows": rows })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "bench {}, on {}, median of {}", self.name, self.medium.name(), self.rounds)?;
        let wide = self.rows.iter().map(|row| row.thing.chars().count()).max().unwrap_or(0).max(5);
        writeln!(
            f,
            "{:<wide$} | {:>11} | {:>11} | {:>6} | {:>6} |",
            "thing", "ours", "limit", "ratio", "target"
        )?;
        for row in &self.rows {
            let target = row.target.map_or_else(|| "-".to_owned(), |target| format!("{target:.2}"));
            let (ours, limit, ratio, verdict) = (row.ours, row.limit, row.ratio(), row.verdict().name());
            writeln!(
                f,
                "{:<wide$} | {ours:>11} | {limit:>11} | {ratio:>6.2} | {target:>6} | {verdict}",
                row.thing
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(ours: Quantity, limit: Quantity, target: impl Into<Option<f64>>) -> Row {
        Row { thing: "a thing".to_owned(), ours, limit, target: target.into() }
    }

    #[test]
    fn the_median_ignores_one_slow_round() {
        let costs = [9, 1, 500, 2, 3].map(|ms| Cost { wall: Duration::from_millis(ms), cpu: Duration::ZERO });
        assert_eq!(median(&costs).wall, Duration::from_millis(3));
    }

    #[test]
    fn things_are_measured_in_turns() {
        let order = std::cell::RefCell::new(String::new());
        let round = |name: char| {
            order.borrow_mut().push(name);
            Ok(Cost::default())
        };
        in_turns(ROUNDS, [&mut || round('a'), &mut || round('b')]).expect("costs");
        assert_eq!(order.into_inner(), "ab".repeat(ROUNDS));
    }

    #[test]
    fn cpu_time_of_children_is_seen() {
        let work = || {
            crate::shell::succeeds(
                crate::shell::program("sh").args(["-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"]),
            )
        };
        let (_, cost) = cost(work).expect("sh runs");
        assert!(cost.cpu > Duration::from_millis(5), "{cost:?}");
    }

    #[test]
    fn a_target_is_met_or_missed_and_a_figure_without_one_is_only_shown() {
        let (one, two) = (Quantity::Count(1), Quantity::Count(2));
        assert_eq!(row(one, two, 0.5).verdict(), Verdict::Pass);
        assert_eq!(row(two, one, 1.5).verdict(), Verdict::Fail);
        assert_eq!(row(two, one, None).verdict(), Verdict::Shown);
        assert_eq!(row(Quantity::Count(0), Quantity::Count(0), 0.0).verdict(), Verdict::Pass);
        assert_eq!(row(one, Quantity::Count(0), 0.0).verdict(), Verdict::Fail);
    }

    #[test]
    fn the_table_says_where_it_ran_and_what_held() {
        let ours = Quantity::Time(Duration::from_millis(5));
        let limit = Quantity::Time(Duration::from_millis(20));
        let rows = vec![row(ours, limit, 0.5)];
        let report = Report { name: "leg".to_owned(), medium: Medium::Disk, rounds: ROUNDS, rows };
        let text = report.to_string();
        assert!(text.contains("on disk"), "{text}");
        assert!(text.contains("a thing |     5.00 ms |    20.00 ms |   0.25 |   0.50 | pass"), "{text}");
        assert!(report.holds());
    }
}
