//! Verdicts on the tests of the base, from fixed results.

use super::*;
use crate::results::{Case as Result, Results};

fn file(path: &str, old: &str, new: &str) -> TestFile {
    TestFile { path: path.to_owned(), old: old.to_owned(), new: new.to_owned() }
}

fn ran(tests: &[(&str, Outcome, &str)]) -> Ran {
    let mut results = Results::default();
    for (name, outcome, message) in tests {
        let id = TestId { suite: String::new(), name: (*name).to_owned() };
        results.tests.insert(id, Result::plain(*outcome, message));
    }
    let mut ran = Ran::default();
    ran.merged.add(results);
    ran
}

const HELPER: &str = "from shop import run\n\n\ndef check(got, want):\n    assert got == want\n\n\ndef test_a():\n    check(run(1), 2)\n";

#[test]
fn what_a_change_only_adds_edits_nothing() {
    let more = format!(
        "import os\n{HELPER}\n\nLIMIT = 3\n\n\ndef other(x):\n    return x\n\n\ndef test_b():\n    check(run(2), 3)\n"
    );
    assert!(Edited::of(&[file("tests/test_a.py", HELPER, &more)]).is_nothing());
    for new in [
        HELPER.replace("got == want", "got"),
        HELPER.replace("    assert", "    got = want\n    assert"),
        HELPER.replace("run(1), 2", "run(1), 3"),
        format!("{HELPER}\n\n@pytest.fixture(autouse=True)\ndef quiet():\n    pass\n"),
        format!("{HELPER}\n\nrun.limit = 3\n"),
    ] {
        assert!(!Edited::of(&[file("tests/test_a.py", HELPER, &new)]).is_nothing(), "{new}");
    }
}

#[test]
fn a_new_file_edits_something_only_if_it_acts_by_itself() {
    let tests = "package a\n\nimport \"testing\"\n\nfunc TestNew(t *testing.T) {\n\tcheck(t, 1)\n}\n";
    assert!(Edited::of(&[file("new_test.go", "", tests)]).is_nothing());
    let acts = "package a\n\nfunc init() {\n\tos.WriteFile(\"testdata/day.txt\", nil, 0o644)\n}\n";
    assert!(!Edited::of(&[file("fixtures_test.go", "", acts)]).is_nothing());
}

#[test]
fn paths_tell_tests_from_their_data_and_from_code() {
    for path in
        ["tests/helpers.py", "test/setup.ts", "a/b_test.go", "src/test/java/A.java", "internal/testutil/a.go"]
    {
        assert_eq!(part(path), Part::Tests, "{path}");
    }
    for path in
        ["tests/data/a.json", "render/testdata/a.golden", "src/__snapshots__/a.snap", "tests/a.approved.txt"]
    {
        assert_eq!(part(path), Part::Data, "{path}");
    }
    for path in ["src/a.py", "README.md", "package.json", "contest/a.go"] {
        assert_eq!(part(path), Part::Other, "{path}");
    }
}

const SAME: &str = "Speed up run(). Same results.";

fn rules(edited: &Edited, task: &str, earlier: &Ran, new_data: Option<&Ran>) -> Vec<(Weight, String)> {
    let base = ran(&[("test_a", Outcome::Passed, "")]);
    let mut evidence = Evidence::default();
    let runs = Runs { base: &base.merged, now: &base.merged, earlier, new_data };
    runs.conclude(edited, &[], (task, &Replaced::default()), &mut evidence);
    evidence.findings.into_iter().map(|finding| (finding.weight, finding.rule)).collect()
}

#[test]
fn a_test_that_is_the_same_does_not_pass_by_a_changed_helper() {
    let helper =
        Edited::of(&[file("tests/test_a.py", HELPER, &HELPER.replace("got == want", "got or want"))]);
    let expected = Edited::of(&[file("tests/test_a.py", HELPER, &HELPER.replace("run(1), 2", "run(1), 3"))]);
    let (red, green) =
        (ran(&[("test_a", Outcome::Failed, "assert 3 == 2")]), ran(&[("test_a", Outcome::Passed, "")]));
    let fails = [(Weight::Fails, "judge-changed".to_owned())];
    assert_eq!(rules(&helper, "run() must add one more.", &red, None), fails);
    // The data made the difference, not the helper.
    let noted = [(Weight::Noted, "expectation-changed".to_owned())];
    assert_eq!(rules(&helper, "run() must add one more.", &red, Some(&green)), noted);
    assert_eq!(rules(&expected, "run() must add one more.", &red, None), noted);
    assert_eq!(rules(&expected, SAME, &red, None), [(Weight::Fails, "expectation-changed".to_owned())]);
    assert_eq!(rules(&helper, SAME, &green, None), []);
    let elsewhere = "The command line must accept long options.";
    assert_eq!(rules(&expected, elsewhere, &red, None), [(Weight::Fails, "expectation-changed".to_owned())]);
}

#[test]
fn a_row_of_a_table_that_has_another_name_now_expects_something_else() {
    let table = "ROWS = (\n    (1, 2),\n    (2, 4),\n)\n";
    let edited = Edited::of(&[file("tests/test_a.py", table, &table.replace("2, 4", "2, 5"))]);
    let passed = |names: &[&'static str]| {
        let rows: Vec<_> = names.iter().map(|name| (*name, Outcome::Passed, "")).collect();
        ran(&rows).merged
    };
    let base = passed(&["test_a[1-2]", "test_a[2-4]"]);
    let earlier =
        ran(&[("test_a[1-2]", Outcome::Passed, ""), ("test_a[2-4]", Outcome::Failed, "assert 5 == 4")]);
    let told = |now: &Merged, task: &str| {
        let mut evidence = Evidence::default();
        let runs = Runs { base: &base, now, earlier: &earlier, new_data: None };
        runs.conclude(&edited, &[], (task, &Replaced::default()), &mut evidence);
        evidence.findings.into_iter().map(|finding| (finding.weight, finding.rule)).collect::<Vec<_>>()
    };
    let now = passed(&["test_a[1-2]", "test_a[2-5]"]);
    assert_eq!(told(&now, "prove"), [(Weight::Noted, "expectation-changed".to_owned())]);
    assert_eq!(told(&now, SAME), [(Weight::Fails, "expectation-changed".to_owned())]);
    // The whole table is gone, which the check that reads the change reports.
    assert_eq!(told(&passed(&["test_b"]), "prove"), []);
}

#[test]
fn a_test_that_does_not_fit_the_code_any_more_says_nothing() {
    let helper =
        Edited::of(&[file("tests/test_a.py", HELPER, &HELPER.replace("got == want", "got.value == want"))]);
    for (outcome, message) in [
        (Outcome::Error, "boom"),
        (Outcome::Failed, "TypeError: run() missing 1 required positional argument"),
        (Outcome::Failed, "ImportError: cannot import name 'run'"),
    ] {
        assert_eq!(rules(&helper, SAME, &ran(&[("test_a", outcome, message)]), None), [], "{message}");
    }
}

#[test]
fn a_test_is_blinded_that_noticed_broken_code_and_does_not_any_more() {
    let id = |name: &str| TestId { suite: String::new(), name: name.to_owned() };
    let sound: BTreeSet<TestId> = [id("test_a"), id("test_b")].into();
    let before = ran(&[("test_a", Outcome::Failed, "assert 3 == 2"), ("test_b", Outcome::Passed, "")]);
    let after = ran(&[("test_a", Outcome::Passed, ""), ("test_b", Outcome::Passed, "")]);
    let by_helper = Edited::default();
    assert_eq!(blinded(&sound, &by_helper, &before.merged, &after.merged), [id("test_a")]);
    assert_eq!(blinded(&sound, &by_helper, &before.merged, &before.merged), []);
    // Its assertion moved to another test.
    let moved =
        Edited::of(&[file("tests/test_a.py", HELPER, &HELPER.replace("run(1), 2", "run(1) > 0, True"))]);
    let split = ran(&[("test_a", Outcome::Passed, ""), ("test_c", Outcome::Failed, "assert 3 == 2")]);
    assert_eq!(blinded(&sound, &moved, &before.merged, &split.merged), []);
    assert_eq!(blinded(&sound, &moved, &before.merged, &after.merged), [id("test_a")]);
    // The rows of a table have new names.
    let rows: BTreeSet<TestId> = [id("test_t[1-2]")].into();
    let before = ran(&[("test_t[1-2]", Outcome::Failed, "assert 3 == 2")]);
    let after = |last| ran(&[("test_t[a-b]", Outcome::Passed, ""), ("test_t[b-c]", last, "")]);
    assert_eq!(
        blinded(&rows, &by_helper, &before.merged, &after(Outcome::Passed).merged),
        [id("test_t[1-2]")]
    );
    assert_eq!(blinded(&rows, &by_helper, &before.merged, &after(Outcome::Failed).merged), []);
}
