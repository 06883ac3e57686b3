//! Parses how many tests passed, failed and were skipped from the output of the test runners.

use std::fmt;

/// Test counts by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) passed: u64,
    pub(super) failed: u64,
    pub(super) skipped: u64,
    /// Of those that passed, how many passed only on a retry.
    pub(super) flaky: u64,
}

impl Counts {
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
            skipped: self.skipped + other.skipped,
            flaky: self.flaky + other.flaky,
        }
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)?;
        match self.flaky {
            0 => Ok(()),
            flaky => write!(f, "; {flaky} passed only at another try (FLAKY above)"),
        }
    }
}

/// Whose summary to parse. The output of a failed test, which nextest shows, may contain a summary of cargo test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Runner {
    /// Prints one summary for all tests.
    Nextest,
    /// Prints one summary for each binary.
    CargoTest,
}

/// Parses the counts in a line, if it is a summary of this runner.
pub(super) fn in_line(line: &str, runner: Runner) -> Option<Counts> {
    let plain = without_colour(line);
    let rest = match runner {
        Runner::Nextest => plain.trim_start().strip_prefix("Summary [")?.split_once(" run:")?.1,
        Runner::CargoTest => plain.strip_prefix("test result: ")?.split_once(". ")?.1,
    };
    let mut counts = Counts { flaky: flaky(rest), ..Counts::default() };
    // "3 passed (1 slow), 1 timed out, 2 skipped" and "3 passed; 0 failed; 2 ignored; …".
    for part in outside_parentheses(rest).split([',', ';']) {
        let Some((number, kind)) = part.trim().split_once(' ') else { continue };
        let Ok(number) = number.parse::<u64>() else { continue };
        match kind.trim() {
            "passed" => counts.passed += number,
            "skipped" | "ignored" | "filtered out" => counts.skipped += number,
            "failed" | "timed out" | "exec failed" => counts.failed += number,
            // "measured" and the time taken.
            _ => {}
        }
    }
    Some(counts)
}

/// Parses the number of flaky tests, which nextest prints in parentheses: "6 passed (2 slow, 1 flaky)".
fn flaky(text: &str) -> u64 {
    let words: Vec<&str> = text.split([' ', '(', ')', ',']).filter(|word| !word.is_empty()).collect();
    words.windows(2).find(|pair| pair[1] == "flaky").and_then(|pair| pair[0].parse().ok()).unwrap_or(0)
}

pub(super) fn without_colour(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        if character == '\u{1b}' {
            // A colour is ESC [ … m.
            characters.by_ref().find(|&end| end == 'm');
        } else {
            plain.push(character);
        }
    }
    plain
}

fn outside_parentheses(text: &str) -> String {
    let mut depth = 0_u32;
    text.chars()
        .filter(|&character| {
            match character {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => return depth == 0,
            }
            false
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(runner: Runner, line: &str, expected: Option<(u64, u64, u64)>) {
        let expected = expected.map(|(passed, failed, skipped)| Counts { passed, failed, skipped, flaky: 0 });
        assert_eq!(in_line(line, runner), expected, "{line}");
    }

    #[test]
    fn the_runners_summaries_are_understood() {
        check(
            Runner::Nextest,
            "     Summary [   0.012s] 3 tests run: 3 passed, 0 skipped\n",
            Some((3, 0, 0)),
        );
        check(
            Runner::Nextest,
            "     Summary [   1.5s] 1 test run: 0 passed, 1 failed, 7 skipped",
            Some((0, 1, 7)),
        );
        check(
            Runner::Nextest,
            "     Summary [ 2s] 9 tests run: 6 passed (2 slow, 1 leaky), 1 failed, 2 timed out, 1 skipped",
            Some((6, 3, 1)),
        );
        check(
            Runner::Nextest,
            "     Summary [ 2s] 2/5 tests run: 1 passed, 1 exec failed, 0 skipped",
            Some((1, 1, 0)),
        );
        check(
            Runner::Nextest,
            "\u{1b}[32;1m     Summary\u{1b}[0m [   0.1s] \u{1b}[1m4\u{1b}[0m tests run: \u{1b}[1m4\u{1b}[0m \u{1b}[32;1mpassed\u{1b}[0m, \u{1b}[1m0\u{1b}[0m \u{1b}[33;1mskipped\u{1b}[0m",
            Some((4, 0, 0)),
        );
        check(
            Runner::CargoTest,
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.01s",
            Some((3, 0, 3)),
        );
        check(
            Runner::CargoTest,
            "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out",
            Some((1, 2, 0)),
        );
    }

    #[test]
    fn tests_that_passed_at_another_try_are_counted() {
        let line = "     Summary [ 2s] 9 tests run: 9 passed (2 slow, 3 flaky), 1 skipped";
        assert_eq!(in_line(line, Runner::Nextest).map(|counts| counts.flaky), Some(3));
        let line = "     Summary [ 2s] 9 tests run: 9 passed (1 flaky), 1 skipped";
        let words = in_line(line, Runner::Nextest).map(|counts| counts.to_string()).unwrap_or_default();
        assert!(words.contains("1 passed only at another try"), "{words}");
    }

    #[test]
    fn other_lines_are_no_summary() {
        check(Runner::Nextest, "        PASS [   0.010s] xtask tests::three_passed", None);
        check(Runner::Nextest, "    test result: FAILED. 0 passed; 1 failed; 0 ignored", None);
        check(Runner::CargoTest, "    test result: FAILED. 0 passed; 1 failed; 0 ignored", None);
        check(Runner::CargoTest, "test a::b ... ok", None);
        check(Runner::Nextest, "Summary of the changes: 3 passed", None);
    }
}
