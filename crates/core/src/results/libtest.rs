//! Parses the output of `cargo test`: for each binary a line with its name, a line per test, and a block per failure.

use std::collections::BTreeSet;

use super::{Case, Outcome, Results, TestId, kind};

/// Maximum number of lines to keep of a failure's block.
const BLOCK: usize = 120;

/// Adds the results in the output.
pub(super) fn read(text: &str, results: &mut Results) {
    let mut binary = String::new();
    // Number of tests that the binary announced, number that it reported, and whether they were compared.
    let mut running = 0_usize;
    let mut reported: BTreeSet<String> = BTreeSet::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let trimmed = line.trim_start();
        if let Some(rest) = trimmed.strip_prefix("Running ") {
            binary = binary_of(rest);
        } else if let Some(rest) = trimmed.strip_prefix("Doc-tests ") {
            binary = format!("doc {rest}");
        } else if let Some(number) =
            line.strip_prefix("running ").and_then(|rest| rest.split(' ').next()?.parse().ok())
        {
            running = number;
            reported.clear();
        } else if let Some(result) = line.strip_prefix("test result: ") {
            totals(result, &binary, running, reported.len(), results);
            reported.clear();
        } else if let Some(rest) = line.strip_prefix("test ") {
            if let Some(name) = one(rest, &binary, results)
                && !reported.insert(name.clone())
            {
                results.doubt(format!("`{name}` ended twice in one run of {binary}"));
            }
        } else if let Some(name) = line.strip_prefix("---- ").and_then(|it| it.strip_suffix(" stdout ----")) {
            let mut block = String::new();
            for _ in 0..BLOCK {
                match lines.peek() {
                    Some(next) if !next.starts_with("---- ") && *next != "failures:" => {
                        block.push_str(next);
                        block.push('\n');
                        lines.next();
                    }
                    Some(_) | None => break,
                }
            }
            let id = TestId::new(&binary, plain(name));
            // Only for a test whose own line reported a failure, because any test can print such a block.
            if results.tests.get(&id).is_some_and(|case| case.outcome.is_red()) {
                let mut case = Case::red(judge(&block), said(&block));
                // The backtrace is not part of the message; it shows where the panic came from.
                case.frames = super::frames::frames(&block);
                results.tests.insert(id, case);
            }
        }
    }
}

/// Returns `unittests src/lib.rs (target/debug/deps/sample-0a1b)` without the hash, which differs between builds. The
/// file alone is the same in every package.
fn binary_of(rest: &str) -> String {
    let (file, path) = rest.split_once(" (").unwrap_or((rest, ""));
    let program = path.trim_end_matches(')').rsplit('/').next().unwrap_or_default();
    let name = program.rsplit_once('-').map_or(program, |(name, _)| name);
    if name.is_empty() { file.to_owned() } else { format!("{name}: {file}") }
}

/// Compares `ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out` with the lines before it.
fn totals(result: &str, binary: &str, running: usize, reported: usize, results: &mut Results) {
    let count = |word: &str| -> usize {
        let part = result.split("; ").find(|part| part.trim_end().ends_with(word));
        part.and_then(|part| part.rsplit_once(' ')?.0.rsplit(' ').next()?.parse().ok()).unwrap_or(0)
    };
    let ended = count("passed") + count("failed") + count("ignored") + count("measured");
    // A test's output can hide lines of others, so fewer lines prove nothing. Additional lines were printed by
    // something else.
    if reported > ended || ended > running {
        results.doubt(format!("{binary} has {reported} lines of tests, and counts {ended} of {running}"));
    }
    let fine = result.starts_with("ok");
    if fine && results.tests.iter().any(|(id, case)| id.suite == binary && case.outcome.is_red()) {
        results.doubt(format!("{binary} says that all is well, and has a test that failed"));
    }
}

/// Parses a line `name ... ok`, whatever the test printed in between. Returns the printed name.
fn one(rest: &str, binary: &str, results: &mut Results) -> Option<String> {
    let (name, end) = rest.rsplit_once(" ... ")?;
    let end = end.trim();
    let case = if end == "ok" || end.starts_with("ok <") {
        Case::passed()
    } else if let Some(why) = end.strip_prefix("ignored") {
        Case::skipped(why.trim_start_matches([',', ' ']))
    } else if end.starts_with("FAILED") {
        Case::red(Outcome::Error, "")
    } else {
        return None;
    };
    results.add(TestId::new(binary, plain(name)), case);
    Some(name.to_owned())
}

/// Returns the name without annotations: the expected end, and the line of a documentation test, which moves.
fn plain(name: &str) -> &str {
    let name = name.strip_suffix(" - should panic").unwrap_or(name);
    name.split_once(" (line ").map_or(name, |(before, _)| before)
}

/// Returns the text from the panic on.
fn said(block: &str) -> &str {
    let end = block.find("stack backtrace:").unwrap_or(block.len());
    let block = &block[..end];
    match block.find("\nthread '") {
        Some(at) => block[at..].trim(),
        None => block.trim(),
    }
}

fn judge(block: &str) -> Outcome {
    let said = said(block);
    let outcome = kind::judge("", "", said);
    if outcome == Outcome::Failed || said.contains("note: test did not panic") {
        return Outcome::Failed;
    }
    // A panic that a test itself raises describes a failed condition, like an assertion; a panic of the language does
    // not.
    let Some((place, words)) = kind::panic(said) else { return outcome };
    let in_tests = place.starts_with("tests/") || place.contains("/tests/") || place.contains("tests.rs");
    if in_tests && kind::is_written(words) { Outcome::Failed } else { outcome }
}
