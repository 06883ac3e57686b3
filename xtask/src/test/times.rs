//! Breaks down the time of a test run: adds up nextest's durations by test binary, and keeps the longest
//! tests.

use std::collections::BTreeMap;
use std::fmt;

use super::counts::without_colour;

/// Number of binaries and tests to print.
const SHOWN: usize = 12;

/// Durations of tests, in seconds.
#[derive(Debug, Default)]
pub(super) struct Times {
    binaries: BTreeMap<String, (f64, u32)>,
    tests: Vec<(f64, String)>,
}

impl Times {
    /// Takes a line of nextest's output, if it is the result of a test.
    pub(super) fn add(&mut self, line: &str) {
        let Some((seconds, binary, test)) = result(line) else { return };
        let sum = self.binaries.entry(binary.clone()).or_default();
        *sum = (sum.0 + seconds, sum.1 + 1);
        self.tests.push((seconds, format!("{binary} {test}")));
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.tests.is_empty() {
            return Ok(());
        }
        let mut binaries: Vec<_> = self.binaries.iter().collect();
        binaries.sort_by(|a, b| b.1.0.total_cmp(&a.1.0));
        writeln!(f, "    seconds by test binary, of {}:", binaries.len())?;
        for (binary, (seconds, count)) in binaries.iter().take(SHOWN) {
            writeln!(f, "    {seconds:>8.1}  {binary} ({count} tests)")?;
        }
        let mut tests: Vec<_> = self.tests.iter().collect();
        tests.sort_by(|a, b| b.0.total_cmp(&a.0));
        writeln!(f, "    longest tests, of {}:", tests.len())?;
        for (seconds, test) in tests.iter().take(SHOWN) {
            writeln!(f, "    {seconds:>8.1}  {test}")?;
        }
        Ok(())
    }
}

/// Parses `PASS [   1.234s] (3/9) acquit::relay outcomes::a_test` into seconds, binary and test.
fn result(line: &str) -> Option<(f64, String, String)> {
    let plain = without_colour(line);
    let rest = plain.trim_start();
    let rest = ["PASS [", "FAIL [", "LEAK ["].iter().find_map(|start| rest.strip_prefix(start))?;
    let (seconds, rest) = rest.split_once("s]")?;
    let rest = rest.trim_start();
    let rest = match rest.strip_prefix('(') {
        Some(counted) => counted.split_once(')')?.1.trim_start(),
        None => rest,
    };
    let (binary, test) = rest.split_once(' ')?;
    Some((seconds.trim().parse().ok()?, binary.to_owned(), test.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seconds_of_tests_are_added_up_by_binary() {
        let mut times = Times::default();
        times.add("        PASS [   1.250s] (  3/900) acquit::relay outcomes::a_test");
        times.add(
            "\u{1b}[32;1m        PASS\u{1b}[0m [   0.750s] acquit::relay \u{1b}[36mkeys::b_test\u{1b}[0m\n",
        );
        times.add("        FAIL [  60.000s] acquit-run::hostile_git user::c_test");
        times.add("        SLOW [> 30.000s] acquit::web fuzz::d_test");
        times.add("     Summary [   2.0s] 3 tests run: 3 passed, 0 skipped");
        let shown = times.to_string();
        let lines: Vec<&str> = shown.lines().map(str::trim).collect();
        assert_eq!(lines[1], "60.0  acquit-run::hostile_git (1 tests)", "{shown}");
        assert_eq!(lines[2], "2.0  acquit::relay (2 tests)", "{shown}");
        assert_eq!(lines[4], "60.0  acquit-run::hostile_git user::c_test", "{shown}");
        assert_eq!(lines.len(), 7, "{shown}");
    }
}
