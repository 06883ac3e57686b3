//! Decides whether a test failed by an assertion or reached none, and where. Runners report this in different ways,
//! mostly in their output.

use super::Outcome;
use crate::failure::Location;

/// Signs of assertions in all languages.
const ASSERTIONS: [&str; 22] = [
    "AssertionError",
    "AssertionFailedError",
    "ERR_ASSERTION",
    "ComparisonFailure",
    "AssertionFailure",
    "MultipleFailuresError",
    "WantedButNotInvoked",
    "JestAssertionError",
    "assertion `",
    "assertion failed",
    "assertion left",
    "did not panic as expected",
    "panic did not contain expected string",
    "expect(",
    "Failed: ",
    "Expectation failed",
    "Test failed. Expected",
    "Snapshot `",
    "snapshot assertion",
    "Error Trace:",
    "Not equal:",
    "Condition not satisfied",
];

/// Signs of errors at the start of a line.
const ERRORS: [&str; 5] = ["Error", "Exception", "Interrupt", "Exit", "Iteration"];

/// Classifies a failure by the runner's name for it (`type`), its headline (`message`) and its output.
pub(super) fn judge(typed: &str, headline: &str, body: &str) -> Outcome {
    let sounds = |text: &str| ASSERTIONS.iter().any(|sign| text.contains(sign));
    if sounds(typed) || sounds(headline) || headline.starts_with("assert ") {
        return Outcome::Failed;
    }
    // The name says that it is an error. Earlier output, such as other tests' assertions, does not count.
    if names_error(typed) || names_error(headline) {
        return Outcome::Error;
    }
    if let Some(cause) = body.lines().find_map(|line| line.trim_start().strip_prefix("cause: ")) {
        return if sounds(cause) { Outcome::Failed } else { Outcome::Error };
    }
    if let Some((_, said)) = panic(body) {
        let said = said.lines().next().unwrap_or_default();
        return if sounds(said) { Outcome::Failed } else { Outcome::Error };
    }
    if sounds(body) { Outcome::Failed } else { Outcome::Error }
}

/// Returns the first Rust panic in a text: its printed location and its message. Skips headlines without a message.
pub(super) fn panic(text: &str) -> Option<(&str, &str)> {
    const SIGN: &str = " panicked at ";
    let all = text.match_indices(SIGN).filter_map(|(at, _)| text[at + SIGN.len()..].split_once('\n'));
    let mut told = all.filter(|(_, said)| !said.lines().next().is_some_and(|line| line.contains(SIGN)));
    told.next()
}

/// Returns whether someone wrote the message of a panic, as in an assertion. Messages of the language, such as for an
/// index, don't count.
pub(super) fn is_written(said: &str) -> bool {
    const LANGUAGE: [&str; 12] = [
        "called `",
        "index out of bounds",
        "attempt to ",
        "not implemented",
        "not yet implemented",
        "internal error: entered unreachable",
        "range ",
        "byte index",
        "slice index",
        "already borrowed",
        "already mutably borrowed",
        "explicit panic",
    ];
    !LANGUAGE.iter().any(|sign| said.starts_with(sign)) && !said.contains(": Err(")
}

/// Returns whether a text starts with the name of an error other than an assertion's: `NameError: …`,
/// `java.lang.RuntimeException`.
fn names_error(text: &str) -> bool {
    let word = text.split([':', ' ', '[']).next().unwrap_or_default();
    let last = word.rsplit('.').next().unwrap_or_default();
    // Runners use `Error` alone for any failure.
    last != "Error" && ERRORS.iter().any(|end| last.ends_with(end)) && last.starts_with(char::is_uppercase)
}

/// Returns the first location that a message names. The test controls it, so callers check that the file exists.
pub(super) fn location(text: &str) -> Option<Location> {
    const MOST_LINES: usize = 200;
    text.lines().take(MOST_LINES).find_map(|line| {
        let breaks = |c: char| c.is_whitespace() || "()[]{}<>\"'`,;=".contains(c);
        line.split(breaks).find_map(|word| {
            let word = word.strip_prefix("file://").unwrap_or(word);
            let mut parts = word.split(':');
            let (path, number) = (parts.next()?, parts.next()?);
            let line = number.parse().ok().filter(|number| *number > 0)?;
            let named = path.rsplit('/').next()?.contains('.') && !path.contains("node:");
            named.then(|| Location { path: path.to_owned(), line })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assertions_are_told_from_errors_as_runners_write_them() {
        let cases = [
            // pytest
            ("", "AssertionError: one\nassert 1 == 2", "", Outcome::Failed),
            ("", "assert 1 == 2", "", Outcome::Failed),
            ("", "Failed: DID NOT RAISE <class 'ValueError'>", "", Outcome::Failed),
            ("", "NameError: name 'f' is not defined", "E NameError", Outcome::Error),
            ("", "failed on setup with \"RuntimeError: x\"", "E RuntimeError: x", Outcome::Error),
            // vitest
            ("AssertionError", "expected 1 to be 2", "AssertionError: expected 1", Outcome::Failed),
            ("ReferenceError", "nope is not defined", "", Outcome::Error),
            // jest
            ("", "", "Error: expect(received).toBe(expected)", Outcome::Failed),
            ("", "", "TypeError: f is not a function", Outcome::Error),
            // node
            (
                "testCodeFailure",
                "Expected values",
                "x\n  cause: AssertionError [ERR_ASSERTION]: E",
                Outcome::Failed,
            ),
            ("testCodeFailure", "f is not", "x\n  cause: ReferenceError [Error]: f", Outcome::Error),
            // nextest
            (
                "test failure",
                "thread 't' panicked at a.rs:1:2",
                "x panicked at a.rs:1:2:\nassertion `left == right` failed",
                Outcome::Failed,
            ),
            (
                "test failure",
                "thread 't' panicked",
                "x panicked at a.rs:1:2:\ncalled `Option::unwrap()` on a `None` value",
                Outcome::Error,
            ),
            // JUnit
            ("org.opentest4j.AssertionFailedError", "expected: <1>", "", Outcome::Failed),
            ("java.lang.NullPointerException", "x", "", Outcome::Error),
        ];
        for (typed, headline, body, expected) in cases {
            assert_eq!(judge(typed, headline, body), expected, "{typed} {headline} {body}");
        }
    }

    #[test]
    fn the_first_place_is_found() {
        let at = |text: &str| location(text).map(|place| (place.path, place.line));
        assert_eq!(at("panicked at src/lib.rs:9:42:\nx"), Some(("src/lib.rs".to_owned(), 9)));
        assert_eq!(at("    a_test.go:4: got 3"), Some(("a_test.go".to_owned(), 4)));
        assert_eq!(at("at x (file:///w/a.test.mjs:2:25)"), Some(("/w/a.test.mjs".to_owned(), 2)));
        assert_eq!(at("at node:internal/x.js:1:1 12:30 a:0"), None);
    }
}
