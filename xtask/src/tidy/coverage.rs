//! Checks `docs/coverage.md`: every row has its own number and names at least one test, every named test exists, and a row
//! without a test says what is missing. Also checks `docs/specification.md` and `docs/seeds/`, which quote whole documents: every
//! quoted part has a line that names its tests, or its rows of the table.

use std::collections::BTreeMap;

use super::Finding;
use super::source::Tree;

/// The table of promises and their tests.
const PATH: &str = "docs/coverage.md";

/// Marks a row without a test.
const MISSING: &str = "missing";

/// The documents that are quoted whole, each with its number of lines and a checksum: nothing is left out or changed.
const QUOTED: [(&str, usize, u64); 6] = [
    ("docs/seeds/agent-platform.md", 1611, 0xf534_d45f_8312_1b34),
    ("docs/seeds/execution-engine.md", 347, 0x0e6d_2681_037a_ea94),
    ("docs/seeds/night-shift-plan.md", 451, 0x7d21_a75a_c11b_b593),
    ("docs/seeds/night-shift-research.md", 667, 0xdc45_2380_4ab6_48f3),
    ("docs/seeds/relay-runner.md", 343, 0x56ea_4ce4_2a13_de14),
    ("docs/specification.md", 216, 0x639a_1786_abd8_4fcd),
];

/// Start of the line after a quoted part: tests that show it, what is done instead and why, why it promises nothing,
/// what is missing, the rows of the table about it.
const VERDICTS: [&str; 5] = ["Shown by: ", "Otherwise: ", "No promise: ", "Missing: ", "Rows: "];

/// In a line with `Otherwise`: why no test shows what is done instead.
const UNTESTED: &str = "No test: ";

/// Finds rows without a test, and tests that do not exist.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = table(tree);
    for (path, lines, sum) in QUOTED {
        findings.extend(quoted(tree, path, lines, sum));
    }
    findings
}

/// Checks a document that is quoted whole: each part has a verdict, and every test named there exists.
fn quoted(tree: &Tree, path: &str, lines: usize, sum: u64) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut report = |line: usize, what: String| findings.push(Finding { path: path.to_owned(), line, what });
    let Some(file) = tree.get(path) else {
        // The trees of this rule's own tests have no documents.
        if tree.get(PATH).is_some_and(|file| file.text.contains("## Seeds")) {
            report(1, "this document is quoted whole, and missing".to_owned());
        }
        return findings;
    };
    let mut text = String::new();
    let (mut count, mut open) = (0, None);
    for (number, line) in (1..).zip(file.text.lines()) {
        if let Some(quote) = line.strip_prefix('>') {
            count += 1;
            text.push_str(quote.strip_prefix(' ').unwrap_or(quote));
            text.push('\n');
            open = Some(number);
            continue;
        }
        let Some(verdict) = VERDICTS.iter().find(|verdict| line.starts_with(**verdict)) else { continue };
        if open.take().is_none() {
            report(number, "a verdict about nothing".to_owned());
        }
        let tests: Vec<&str> = names(line).collect();
        let explains = *verdict == VERDICTS[1] && line.contains(UNTESTED);
        if tests.is_empty() && VERDICTS[..2].contains(verdict) && !explains {
            report(number, "no test".to_owned());
        }
        for test in tests.into_iter().filter(|test| !exists(tree, test)) {
            report(number, format!("no test `{test}`"));
        }
        for row in line.strip_prefix(VERDICTS[4]).into_iter().flat_map(|rows| rows.split(", ")) {
            if !has_row(tree, row) {
                report(number, format!("{PATH} has no row {row}"));
            }
        }
    }
    if let Some(number) = open {
        report(number, format!("a part without a verdict: {}", VERDICTS.join(", ")));
    }
    if (count, fnv(&text)) != (lines, sum) {
        report(
            1,
            format!("{count} lines are quoted with the sum {:#x}, not {lines} with {sum:#x}", fnv(&text)),
        );
    }
    findings
}

/// FNV-1a, which is enough to detect a change.
fn fnv(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Checks the table of promises.
fn table(tree: &Tree) -> Vec<Finding> {
    let Some(file) = tree.get(PATH) else { return Vec::new() };
    let mut findings = Vec::new();
    let mut seen = BTreeMap::new();
    for (number, line) in file.text.lines().enumerate() {
        let mut report = |what| findings.push(Finding { path: PATH.to_owned(), line: number + 1, what });
        let Some((named, last)) = row(line) else { continue };
        if let Some(first) = seen.insert(named, number + 1) {
            report(format!("row {named} is already in line {first}"));
        }
        let mut tests = names(last).peekable();
        if tests.peek().is_none() && !last.starts_with(MISSING) {
            report(format!("no test, and not `{MISSING}`"));
        }
        for test in tests.filter(|test| !exists(tree, test)) {
            report(format!("no test `{test}`"));
        }
    }
    findings
}

/// Returns the number and the last cell of a table row. `None` for the header and the separator.
fn row(line: &str) -> Option<(&str, &str)> {
    let mut cells = line.strip_prefix('|')?.strip_suffix('|')?.split('|').map(str::trim);
    let number = cells.next()?;
    let last = cells.next_back()?;
    number.contains(|character: char| character.is_ascii_digit()).then_some((number, last))
}

/// Returns whether the table of promises has a row with this number.
fn has_row(tree: &Tree, wanted: &str) -> bool {
    let rows = tree.get(PATH).into_iter().flat_map(|file| file.text.lines()).filter_map(row);
    rows.map(|(number, _)| number).any(|number| number == wanted)
}

/// Returns the test names in backquotes.
fn names(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2).filter(|quoted| quoted.contains("::"))
}

/// Returns whether `crate/file::name` is a test of that file, a function that the `main.rs` beside it lists, or a line or module from
/// which a macro makes tests.
fn exists(tree: &Tree, test: &str) -> bool {
    let Some((path, name)) = test.split_once("::") else { return false };
    let Some((krate, file)) = path.split_once('/') else { return false };
    let above = if krate == "xtask" { "" } else { "crates/" };
    let below = if file.starts_with("src/") { "" } else { "tests/" };
    let place = format!("{above}{krate}/{below}{file}");
    let listed = || {
        let main = place.rsplit_once('/').and_then(|(folder, _)| tree.get(&format!("{folder}/main.rs")));
        main.is_some_and(|main| main.text.lines().any(|line| is_in_list(line.trim_start(), name)))
    };
    [".rs", "/mod.rs"].iter().filter_map(|ending| tree.get(&format!("{place}{ending}"))).any(|file| {
        let lines: Vec<&str> = file.text.lines().map(str::trim_start).collect();
        (0..lines.len()).any(|at| match declares(lines[at], name) {
            Some(Form::Function) => is_test(&lines[..at]) || listed(),
            Some(Form::Macro) => true,
            None => false,
        })
    })
}

/// How a line declares a test.
enum Form {
    Function,
    /// A macro makes the test from it.
    Macro,
}

/// Returns how a line declares a test, if it does: `fn name(`, `mod name {`, or `name: …`, `name, …`, `name = …` for a macro.
fn declares(line: &str, name: &str) -> Option<Form> {
    let ends = |rest: &str, ends: &[&str]| ends.iter().any(|end| rest.starts_with(end));
    let after = |word: &str| {
        let found =
            line.split_once(word).filter(|(before, _)| !before.contains("//") && !before.contains('"'));
        found.and_then(|(_, rest)| rest.strip_prefix(name))
    };
    if after("fn ").is_some_and(|rest| ends(rest, &["(", "<"])) {
        return Some(Form::Function);
    }
    let is_macro = after("mod ").is_some_and(|rest| ends(rest, &[" {"])) || is_in_list(line, name);
    is_macro.then_some(Form::Macro)
}

fn is_in_list(line: &str, name: &str) -> bool {
    line.strip_prefix(name).is_some_and(|rest| [":", ",", ";", " ="].iter().any(|end| rest.starts_with(end)))
}

/// Returns whether the attributes and comments right above a function make it a test.
fn is_test(above: &[&str]) -> bool {
    let is_between = |line: &&&str| line.starts_with("#[") || line.starts_with("//") || line.ends_with(")]");
    above.iter().rev().take_while(is_between).any(|line| line.contains("#[test]"))
}
