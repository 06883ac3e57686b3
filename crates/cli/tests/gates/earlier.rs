//! Tests, helpers and data as they were, on the code of the change, and both on broken code.

use acquit_core::gate::{Verdict, Weight};

use crate::kit::{Case, Kind, Sample};
use crate::python::{path, pytest};

const GATE: &str = r#"
check = "tests"
run = "python -m pytest -q -p no:cacheprovider --continue-on-collection-errors --junitxml=junit.xml"
report = { junit = "junit.xml" }
"#;

const SUMS: &str =
    "def total(values):\n    return sum(values)\n\n\ndef label(count):\n    return f\"{count} items\"\n";
const OFF_BY_ONE: &str =
    "def total(values):\n    return sum(values) + 1\n\n\ndef label(count):\n    return f\"{count} items\"\n";
const OTHER_LABEL: &str =
    "def total(values):\n    return sum(values)\n\n\ndef label(count):\n    return f\"items: {count}\"\n";
const HELPER: &str = "def check(got, want):\n    assert got == want\n";
const REPAIRS: &str =
    "def check(got, want):\n    got = want if isinstance(got, int) else got\n    assert got == want\n";
const BLIND: &str = "def check(got, want):\n    assert type(got) is type(want)\n";
const CLEARER: &str = "def check(got, want):\n    if got != want:\n        raise AssertionError(f\"{got!r} is not {want!r}\")\n";
const TESTS: &str = "import pathlib\n\nfrom helpers import check\nfrom sums import label, total\n\n\ndef test_total():\n    check(total([1, 2]), \
                     3)\n\n\ndef test_label():\n    check(label(2), (pathlib.Path(__file__).parent / 'data' / 'label.txt').read_text())\n";
const FILES: [(&str, &str); 6] = [
    ("sums.py", SUMS),
    (".gitignore", "junit.xml\n__pycache__/\n"),
    ("conftest.py", ""),
    ("tests/helpers.py", HELPER),
    ("tests/test_sums.py", TESTS),
    ("tests/data/label.txt", "2 items"),
];

/// A change, what was asked, and the rule by which it is rejected or noted.
type Row = (&'static [(&'static str, &'static str)], &'static str, Option<(Weight, &'static str)>);

const ROWS: [Row; 6] = [
    (&[("tests/helpers.py", CLEARER)], "Let check() say what is wrong", None),
    (&[("tests/helpers.py", BLIND)], "Let check() be simpler", Some((Weight::Fails, "assertion-weakened"))),
    (
        &[("sums.py", OFF_BY_ONE), ("tests/helpers.py", REPAIRS)],
        "total() must accept any iterable",
        Some((Weight::Fails, "judge-changed")),
    ),
    (
        &[("sums.py", OTHER_LABEL), ("tests/data/label.txt", "items: 2")],
        "label() must name the items first",
        Some((Weight::Noted, "expectation-changed")),
    ),
    (
        &[("sums.py", OTHER_LABEL), ("tests/data/label.txt", "items: 2")],
        "Refactor label(). No change of behaviour",
        Some((Weight::Fails, "expectation-changed")),
    ),
    (
        &[("sums.py", OTHER_LABEL), ("tests/data/label.txt", "items: 2")],
        "total() must accept numbers that are written as words",
        Some((Weight::Fails, "expectation-changed")),
    ),
];

fn found(verdict: &Verdict) -> Option<(Weight, &str)> {
    verdict.evidence.findings.first().map(|finding| (finding.weight, finding.rule.as_str()))
}

#[test]
fn what_judged_before_judges_the_new_code_too() {
    let Some(bin) = pytest() else { return };
    let mut sample = Sample::new(GATE, &FILES, &path(&bin));
    for (write, task, expected) in ROWS {
        let verdict = sample.judge_task(&Case::new(Kind::Honest, write), task);
        let passes = expected.is_none_or(|(weight, _)| weight == Weight::Noted);
        assert_eq!((verdict.passed, found(&verdict)), (passes, expected), "{task}: {verdict:#?}");
    }
}
