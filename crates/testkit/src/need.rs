//! External requirements of tests: if one is missing, the test is skipped with a message, or fails when strict.
//!
//! `cargo xtask test` installs what tests need and sets [`STRICT`], so that nothing is skipped silently there. A plain
//! `cargo test` on a machine without, say, PostgreSQL prints which test was skipped and why.
#![allow(
    clippy::disallowed_methods,
    reason = "how strict a run is stands in the environment, like all test settings"
)]

use std::io::Write;
use std::path::PathBuf;

/// If this variable is `1`, a missing requirement is a failure.
pub const STRICT: &str = "ACQUIT_TEST_STRICT";

/// What to do about a missing requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Fail the test.
    Fails,
    /// Skip the test with a message.
    Skips,
}

impl Missing {
    /// Reads the choice from the environment.
    pub fn from_environment() -> Self {
        if std::env::var_os(STRICT).is_some_and(|value| value == "1") { Self::Fails } else { Self::Skips }
    }
}

/// Returns the found value. Otherwise fails the test when strict, else prints that it is skipped. A test starts with
/// `let Some(thing) = need::or_skip(find(), "a thing", "what for") else { return };`.
#[track_caller]
pub fn or_skip<T>(found: Option<T>, requirement: &str, reason: &str) -> Option<T> {
    decide(found, requirement, reason, Missing::from_environment())
}

/// Finds a program in `PATH`.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|dir| dir.join(name)).find(|candidate| candidate.is_file())
}

/// Finds a program in `PATH`; otherwise the test fails or is skipped.
#[track_caller]
pub fn program(name: &str, reason: &str) -> Option<PathBuf> {
    or_skip(find(name), &format!("the program `{name}`"), reason)
}

/// Prints that a test is skipped, strict or not: for privileges that only some users have and that cannot be
/// installed.
pub fn skip(requirement: &str, reason: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test").to_owned();
    // Bypass the test harness, which shows a test's output only when it fails.
    let line = format!("skipped: {test}: {requirement} is missing, needed for: {reason}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}

#[track_caller]
fn decide<T>(found: Option<T>, requirement: &str, reason: &str, missing: Missing) -> Option<T> {
    if found.is_none() {
        match missing {
            Missing::Fails => panic!("{requirement} is missing, needed for: {reason}"),
            Missing::Skips => skip(requirement, reason),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_is_given_either_way() {
        assert_eq!(decide(Some(1), "one", "counting", Missing::Fails), Some(1));
        assert_eq!(decide(Some(1), "one", "counting", Missing::Skips), Some(1));
    }

    #[test]
    fn what_is_missing_skips() {
        assert_eq!(
            decide(None::<u8>, "nothing (an example, nothing was skipped)", "testing", Missing::Skips),
            None
        );
    }

    #[test]
    #[should_panic(expected = "a unicorn is missing, needed for: riding")]
    fn what_is_missing_fails_when_strict() {
        decide(None::<u8>, "a unicorn", "riding", Missing::Fails);
    }

    #[test]
    fn programs_are_found_in_path() {
        assert!(program("sh", "a shell").is_some());
    }
}
