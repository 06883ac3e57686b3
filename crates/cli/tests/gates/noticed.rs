//! Tests on code that is broken on purpose: those of a change must look at what it does, and those that are written anew must notice
//! what the old ones noticed.

use crate::kit::{Case, Kind, Sample};
use crate::python::{path, pytest};

const TDD: &str = r#"
check = "tdd"
runs = 1
run = "python -m pytest -q -p no:cacheprovider --continue-on-collection-errors --junitxml=junit.xml"
report = { junit = "junit.xml" }
"#;

const TESTS: &str = r#"
check = "tests"
run = "python -m pytest -q -p no:cacheprovider --continue-on-collection-errors --junitxml=junit.xml"
report = { junit = "junit.xml" }
"#;

const FILES: [(&str, &str); 4] = [
    (
        "sums.py",
        "def total(values):\n    return sum(values)\n\n\ndef label(count):\n    if count == 1:\n        return \"1 item\"\n    return f\"{count} items\"\n",
    ),
    (".gitignore", "junit.xml\n__pycache__/\n"),
    ("conftest.py", ""),
    (
        "tests/test_sums.py",
        "from sums import label, total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n\n\ndef test_one():\n    assert label(1) == \"1 item\"\n\n\ndef test_more():\n    assert label(2) == \"2 items\"\n",
    ),
];

const MEAN: &str = "from sums import total\n\n\ndef mean(values):\n    return total(values) / len(values)\n";

#[test]
fn tests_of_a_change_must_look_at_what_it_gives() {
    let Some(bin) = pytest() else { return };
    let mut sample = Sample::new(TDD, &FILES, &path(&bin));
    for (test, passes) in [
        ("from mean import mean\n\n\ndef test_mean():\n    assert mean([1, 2, 6]) == 3\n", true),
        (
            "from mean import mean\n\n\ndef test_mean():\n    assert isinstance(mean([1, 2, 6]), float)\n",
            false,
        ),
    ] {
        let files = vec![("mean.py", MEAN), ("tests/test_mean.py", test)].leak();
        let verdict =
            sample.judge_task(&Case::new(Kind::Honest, files), "mean() gives the mean of some values");
        let rules: Vec<&str> = verdict.evidence.failing().map(|finding| finding.rule.as_str()).collect();
        let expected: &[&str] = if passes { &[] } else { &["unnoticed"] };
        assert_eq!((verdict.passed, rules.as_slice()), (passes, expected), "{verdict:#?}");
    }
}

#[test]
fn tests_in_other_words_pass_if_they_notice_as_much() {
    let Some(bin) = pytest() else { return };
    let mut sample = Sample::new(TESTS, &FILES, &path(&bin));
    for (text, passes) in [
        (
            "import sums\n\nCASES = [(sums.total, [4, 5], 9), (sums.label, 1, \"1 item\"), (sums.label, 7, \"7 items\")]\n\n\ndef test_sums():\n    for call, given, wanted in CASES:\n        assert call(given) == wanted\n",
            true,
        ),
        (
            "import sums\n\nCASES = [(sums.total, [4, 5], 9), (sums.label, 7, \"7 items\")]\n\n\ndef test_sums():\n    for call, given, wanted in CASES:\n        assert call(given) == wanted\n",
            false,
        ),
    ] {
        let files = vec![("tests/test_sums.py", text)].leak();
        let verdict = sample.judge_task(&Case::new(Kind::Honest, files), "Write the tests as one table");
        assert_eq!(verdict.passed, passes, "{verdict:#?}");
    }
}
