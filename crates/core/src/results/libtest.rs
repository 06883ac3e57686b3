//! What `cargo test` prints: for each binary a line that names it, a line for each test, and a block for each that failed.

use super::{Case, Outcome, Results, TestId, kind};

/// How many lines of a failure's block are kept.
const BLOCK: usize = 60;

/// Adds what the output says.
pub(super) fn read(text: &str, results: &mut Results) {
    let mut binary = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let trimmed = line.trim_start();
        if let Some(rest) = trimmed.strip_prefix("Running ") {
            binary = binary_of(rest);
        } else if let Some(rest) = trimmed.strip_prefix("Doc-tests ") {
            binary = format!("doc {rest}");
        } else if let Some(rest) = line.strip_prefix("test ") {
            one(rest, &binary, results);
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
            // Only of a test whose own line said that it failed: anybody can print such a block.
            if results.tests.get(&id).is_some_and(|case| case.outcome.is_red()) {
                let case = Case::red(judge(&block), said(&block));
                results.tests.insert(id, case);
            }
        }
    }
}

/// `unittests src/lib.rs (target/debug/deps/sample-0a1b)` without the hash, which differs from build to build. The file alone
/// is the same in every package.
fn binary_of(rest: &str) -> String {
    let (file, path) = rest.split_once(" (").unwrap_or((rest, ""));
    let program = path.trim_end_matches(')').rsplit('/').next().unwrap_or_default();
    let name = program.rsplit_once('-').map_or(program, |(name, _)| name);
    if name.is_empty() { file.to_owned() } else { format!("{name}: {file}") }
}

/// A line `name ... ok`, whatever the test printed in between.
fn one(rest: &str, binary: &str, results: &mut Results) {
    let Some((name, end)) = rest.rsplit_once(" ... ") else { return };
    let end = end.trim();
    let case = if end == "ok" || end.starts_with("ok <") {
        Case::passed()
    } else if let Some(why) = end.strip_prefix("ignored") {
        Case::skipped(why.trim_start_matches([',', ' ']))
    } else if end.starts_with("FAILED") {
        Case::red(Outcome::Error, "")
    } else {
        return;
    };
    results.add(TestId::new(binary, plain(name)), case);
}

/// The name without what is no part of it: how it is expected to end, and the line of a documentation test, which moves.
fn plain(name: &str) -> &str {
    let name = name.strip_suffix(" - should panic").unwrap_or(name);
    name.split_once(" (line ").map_or(name, |(before, _)| before)
}

/// From the panic on.
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
    // A panic that a test itself raises says what does not hold, as an assertion does; one of the language does not.
    let Some((_, rest)) = said.split_once(" panicked at ") else { return outcome };
    let (place, words) = rest.split_once('\n').unwrap_or((rest, ""));
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
    let in_tests = place.starts_with("tests/") || place.contains("/tests/") || place.contains("tests.rs");
    let by_language = LANGUAGE.iter().any(|sign| words.starts_with(sign)) || words.contains(": Err(");
    if in_tests && !by_language { Outcome::Failed } else { outcome }
}
