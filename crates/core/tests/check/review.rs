//! What a review may find, and where.

use acquit_core::check::diff::Diff;
use acquit_core::check::review::{Lines, Severity, findings, pointed};
use serde_json::{Value, json};

use crate::kit::{change, renamed};

/// Forty lines; line 20 is changed, line 30 is gone.
fn diff() -> Diff {
    let before = (1..=40).map(|number| format!("line {number}")).collect::<Vec<_>>().join("\n") + "\n";
    let after = before.replace("line 20\n", "line twenty\n").replace("line 30\n", "");
    let mut diff = change(&[("src/a.txt", Some(&before), Some(&after)), ("gone.txt", Some("x\n"), None)]);
    diff.files.push(renamed("old.txt", "new.txt", "a\nb\n", "a\nc\n"));
    diff.files.push(renamed("here.txt", "there.txt", "same\n", "same\n"));
    diff.narrowed(3)
}

fn at(file: &str, line: u32) -> Value {
    json!({ "severity": "nit", "file": file, "line": line, "problem": "odd" })
}

fn gone(file: &str, line: u32) -> Value {
    let mut one = at(file, line);
    one["side"] = json!("before");
    one
}

fn check(list: Value) -> Result<usize, Vec<String>> {
    pointed(&json!({ "findings": list }), &Lines::of(&diff())).map(|found| found.len())
}

#[test]
fn a_finding_points_to_a_line_that_the_diff_shows() {
    for fine in [
        at("src/a.txt", 20),
        at("src/a.txt", 17),
        at("src/a.txt", 23),
        gone("src/a.txt", 30),
        gone("gone.txt", 1),
        at("new.txt", 2),
        gone("old.txt", 2),
        gone("new.txt", 2),
        at("there.txt", 1),
    ] {
        assert_eq!(check(json!([fine])), Ok(1), "{fine}");
    }
    for (astray, words) in [
        (
            at("src/a.txt", 16),
            "at /findings/0: the change does not show src/a.txt:16; there it shows lines 17-23, 27-32",
        ),
        (
            at("src/b.txt", 1),
            "at /findings/0: the change does not show src/b.txt:1; it does not touch this file",
        ),
        (
            gone("src/a.txt", 31),
            "at /findings/0: the change takes no line 31 out of src/a.txt; if you mean the line after the change, set `side` to \"after\"",
        ),
        (
            at("gone.txt", 1),
            "at /findings/0: the change does not show gone.txt:1; if you mean the line before the change, set `side` to \"before\"",
        ),
        (
            at("old.txt", 1),
            "at /findings/0: the change does not show old.txt:1; there are no such lines in this file",
        ),
    ] {
        assert_eq!(check(json!([astray])), Err(vec![words.to_owned()]), "{astray}");
    }
}

#[test]
fn every_finding_that_points_nowhere_is_named_up_to_a_bound() {
    let list: Vec<Value> =
        (100..150).map(|line| at("src/a.txt", line)).chain([at("src/a.txt", 20)]).collect();
    let wrong = check(Value::Array(list)).unwrap_err();
    assert_eq!(wrong.len(), 9);
    assert!(
        wrong[7].contains("/findings/7") && wrong[8] == "and 42 more findings that point nowhere",
        "{wrong:?}"
    );
}

#[test]
fn a_finding_has_its_form_or_the_mistake_is_named() {
    assert_eq!(check(json!([])), Ok(0));
    assert!(findings(&json!({ "summary": "fine" })).unwrap().is_empty());
    let whole = json!({ "findings": [{
        "severity": "critical", "file": "a", "line": 1, "problem": "p", "suggestion": "s", "why": "more is allowed",
    }] });
    assert_eq!(findings(&whole).unwrap()[0].severity, Severity::Critical);
    for (key, value, words) in [
        ("severity", json!("blocker"), "at /findings/0/severity: \"blocker\" is not one of"),
        ("line", json!(0), "at /findings/0/line: 0 is less than the minimum"),
        ("line", json!(u64::MAX), "at /findings/0/line: 18446744073709551615 is greater than"),
        ("line", json!("12"), "at /findings/0/line: \"12\" is not of type"),
        ("problem", json!(""), "at /findings/0/problem: \"\" is shorter than 1 character"),
        ("file", json!(null), "at /findings/0/file: null is not of type"),
        ("side", json!("left"), "at /findings/0/side: \"left\" is not one of"),
    ] {
        let mut one = at("src/a.txt", 20);
        one[key] = value;
        let wrong = check(json!([one])).unwrap_err();
        assert!(wrong.len() == 1 && wrong[0].starts_with(words), "{wrong:?}");
    }
    let wrong = check(json!("none")).unwrap_err();
    assert!(wrong[0].starts_with("at /findings: \"none\" is not of type"), "{wrong:?}");
    let many = Value::Array(vec![at("src/a.txt", 20); 201]);
    assert!(check(many).unwrap_err()[0].starts_with("at /findings: 201 findings; 200 are allowed"));
}
