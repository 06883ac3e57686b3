//! Mutants of changed lines.

use acquit_core::check::mutation::{Fate, Unreadable, read, score};
use globset::GlobSet;

use crate::kit::change;

const CARGO: &str = r#"{"outcomes": [
    {"scenario": "Baseline", "summary": "Success"},
    {"scenario": {"Mutant": {"name": "src/a.rs:2:5: replace a -> i32 with 0", "file": "src/a.rs",
        "span": {"start": {"line": 2, "column": 5}, "end": {"line": 2, "column": 9}}}}, "summary": "MissedMutant"},
    {"scenario": {"Mutant": {"name": "x", "file": "src/a.rs",
        "span": {"start": {"line": 3, "column": 5}, "end": {"line": 3, "column": 9}}}}, "summary": "CaughtMutant"},
    {"scenario": {"Mutant": {"name": "y", "file": "src/a.rs",
        "span": {"start": {"line": 3, "column": 5}, "end": {"line": 3, "column": 9}}}}, "summary": "Timeout"},
    {"scenario": {"Mutant": {"name": "z", "file": "src/a.rs",
        "span": {"start": {"line": 3, "column": 5}, "end": {"line": 3, "column": 9}}}}, "summary": "Unviable"},
    {"scenario": {"Mutant": {"name": "untouched neighbour", "file": "src/a.rs",
        "span": {"start": {"line": 1, "column": 5}, "end": {"line": 1, "column": 9}}}}, "summary": "MissedMutant"}
], "total_mutants": 5}"#;

const SCHEMA: &str = r#"{"schemaVersion": "1", "files": {"src/a.rs": {"language": "rust", "source": "", "mutants": [
    {"id": "1", "mutatorName": "Arithmetic", "replacement": "a - b", "status": "Survived",
     "location": {"start": {"line": 2, "column": 1}, "end": {"line": 2, "column": 4}}},
    {"id": "2", "mutatorName": "Block", "status": "NoCoverage", "location": {"start": {"line": 1, "column": 1}, "end": {"line": 9, "column": 4}}},
    {"id": "3", "mutatorName": "Block", "status": "Killed", "location": {"start": {"line": 3, "column": 1}, "end": {"line": 3, "column": 4}}},
    {"id": "4", "mutatorName": "Block", "status": "CompileError", "location": {"start": {"line": 3, "column": 1}, "end": {"line": 3, "column": 4}}}
]}}}"#;

const COSMIC: &str = r#"[{"job_id": "1", "mutations": [{"module_path": "./src/a.rs", "operator_name": "core/NumberReplacer", "start_pos": [2, 13], "end_pos": [2, 14]}]}, {"worker_outcome": "normal", "test_outcome": "survived"}]
[{"job_id": "2", "mutations": [{"module_path": "src/a.rs", "operator_name": "core/AddNot", "start_pos": [3, 1], "end_pos": [3, 4]}]}, {"worker_outcome": "normal", "test_outcome": "killed"}]
[{"job_id": "3", "mutations": [{"module_path": "src/a.rs", "operator_name": "core/AddNot", "start_pos": [3, 1], "end_pos": [3, 4]}]}, null]
[{"job_id": "4", "mutations": [{"module_path": "src/a.rs", "operator_name": "core/AddNot", "start_pos": [3, 1], "end_pos": [3, 4]}]}, {"worker_outcome": "normal", "test_outcome": "incompetent"}]
"#;

#[test]
fn reports_of_three_tools_are_read_and_only_changed_lines_count() {
    let diff = change(&[("src/a.rs", Some("one\n"), Some("one\ntwo\nthree\n"))]);
    for (text, mutants, caught, first) in [
        (CARGO, 3, 2, "src/a.rs:2: no test notices this mutant: replace a -> i32 with 0 [survivor]"),
        (SCHEMA, 3, 1, "src/a.rs:2: no test notices this mutant: Arithmetic: a - b [survivor]"),
        (COSMIC, 2, 1, "src/a.rs:2: no test notices this mutant: core/NumberReplacer [survivor]"),
    ] {
        let score = score(&read(text).unwrap(), &diff, "/repo", 3, &GlobSet::empty());
        assert_eq!((score.mutants, score.caught), (mutants, caught), "{text}");
        assert_eq!(score.survivors[0].to_string(), first);
        assert_eq!(score.percent(), Some(caught * 100 / mutants));
    }
    let nothing = score(&read(CARGO).unwrap(), &change(&[]), "/repo", 3, &GlobSet::empty());
    assert_eq!((nothing.mutants, nothing.percent()), (0, None));
}

#[test]
fn a_survivor_is_excused_by_a_reason_and_only_a_few_are() {
    let with = |comment: &str| format!("one\n{comment}\ntwo\nthree\n");
    let mutant = |line: u32| CARGO.replace("\"line\": 2", &format!("\"line\": {line}"));
    for (comment, most, excused) in [
        ("// acquit:equivalent both branches give the same", 1, 1),
        ("// acquit:equivalent both branches give the same", 0, 0),
        ("// acquit:equivalent", 3, 0),
        ("// acquit:equivalent trust me", 3, 0),
        ("// equivalent because I say so", 3, 0),
    ] {
        let after = with(comment);
        let diff = change(&[("src/a.rs", Some("one\n"), Some(&after))]);
        let mutants = read(&mutant(3)).unwrap();
        let score = score(&mutants, &diff, "/repo", most, &GlobSet::empty());
        assert_eq!(score.equivalent.len(), excused, "{comment}");
        assert_eq!(score.survivors.len() + excused, 1, "{comment}: {score:?}");
        let expected = if excused == 1 { 100 } else { 66 };
        assert_eq!(score.percent(), Some(expected), "{comment}");
    }
}

#[test]
fn what_is_no_report_is_an_error_and_no_pass() {
    assert_eq!(read("{}"), Err(Unreadable::Form));
    assert!(matches!(read("[1, 2"), Err(Unreadable::Json(_))));
    assert!(matches!(read("hello"), Err(Unreadable::Json(_))));
    assert_eq!(read("[]"), Err(Unreadable::Form));
    let odd = r#"{"files": {"a": {"mutants": [{"status": "Killed"}, 3, null]}, "b": 4}}"#;
    assert_eq!(read(odd), Ok(Vec::new()));
    assert!(read(CARGO).unwrap().iter().any(|mutant| mutant.fate == Fate::Void));
}
