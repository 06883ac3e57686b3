//! What real runners wrote is read as what happened, and whatever else is put in its place breaks nothing.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fmt::Write as _;

use acquit_core::gate::Format;
use acquit_core::results::{Known, Merged, Outcome, Results};
use proptest::prelude::*;

const REPORTS: [(&str, Format, &str); 8] = [
    ("nextest", Format::Junit, include_str!("fixtures/results/nextest.xml")),
    ("node:test", Format::Junit, include_str!("fixtures/results/node.xml")),
    ("pytest", Format::Junit, include_str!("fixtures/results/pytest.xml")),
    ("vitest", Format::Junit, include_str!("fixtures/results/vitest.xml")),
    ("jest-junit", Format::Junit, include_str!("fixtures/results/jest.xml")),
    ("surefire", Format::Junit, include_str!("fixtures/results/surefire.xml")),
    ("cargo test", Format::Libtest, include_str!("fixtures/results/libtest.txt")),
    ("go test", Format::GoTest, include_str!("fixtures/results/gotest.txt")),
];

fn read(format: Format, text: &str) -> Results {
    let mut results = Results::default();
    results.read(format, text);
    results
}

#[test]
fn what_real_runners_write_is_read_test_by_test() {
    let mut out = String::new();
    for (runner, format, text) in REPORTS {
        let results = read(format, text);
        assert!(!results.cut, "{runner}");
        writeln!(out, "# {runner}: {} executed", results.executed()).unwrap();
        for (id, case) in &results.tests {
            let place = case.location.as_ref().map(|place| format!(" at {}:{}", place.path, place.line));
            writeln!(out, "{:?} {id}{}", case.outcome, place.unwrap_or_default()).unwrap();
        }
        for broken in &results.broken {
            let last = broken.message.lines().last().unwrap_or_default();
            writeln!(out, "Broken {}: {last}", broken.what).unwrap();
        }
    }
    insta::assert_snapshot!(out);
}

#[test]
fn a_report_that_ends_early_says_so() {
    let (_, format, text) = REPORTS[2];
    let half = &text[..text.find("</testcase>").unwrap()];
    assert!(read(format, half).cut);
}

#[test]
fn a_name_that_is_there_twice_ends_as_its_worst() {
    let text = "<testsuite name='s'><testcase name='a'/><testcase name='a'><failure message='assert 0'/></testcase>\
                <testcase name='a'/></testsuite>";
    let results = read(Format::Junit, text);
    assert_eq!(results.tests.len(), 1);
    assert_eq!(results.red().next().unwrap().1.outcome, Outcome::Failed);
}

#[test]
fn a_panic_with_words_is_an_assertion_where_tests_stand() {
    let text = "     Running unittests src/lib.rs (x)\nrunning 3 tests\ntest a ... FAILED\ntest b ... FAILED\ntest c ... FAILED\n\
                ---- a stdout ----\n\nthread 'a' panicked at src/lib.rs:9:5:\nAfter split: expected [], actual [a]\n\
                ---- b stdout ----\n\nthread 'b' panicked at src/lib.rs:2:5:\nthe code gives up\n\
                ---- c stdout ----\n\nthread 'c' panicked at src/lib.rs:9:5:\nindex out of bounds: the len is 0\nfailures:\n";
    let mut results = read(Format::Libtest, text);
    let outcomes =
        |results: &Results| -> Vec<Outcome> { results.tests.values().map(|case| case.outcome).collect() };
    assert_eq!(outcomes(&results), [Outcome::Error; 3]);
    results.assert_panics(|place| place.path == "src/lib.rs" && place.line > 5);
    assert_eq!(outcomes(&results), [Outcome::Failed, Outcome::Error, Outcome::Error]);
    let text = "<testsuite name='s'><testcase name='a'><failure message=\"thread 'a' panicked at src/lib.rs:9:5\">thread 'a' \
                panicked at src/lib.rs:9:5:\nAfter split: wrong</failure></testcase></testsuite>";
    let mut results = read(Format::Junit, text);
    assert_eq!(outcomes(&results), [Outcome::Error]);
    results.assert_panics(|place| place.line == 9);
    assert_eq!(outcomes(&results), [Outcome::Failed]);
}

#[test]
fn a_block_that_a_test_prints_for_another_one_changes_nothing() {
    let text = "     Running tests/a.rs (x)\ntest good ... ok\n---- good stdout ----\npanicked at a.rs:1:1:\nassertion failed\n";
    assert_eq!(read(Format::Libtest, text).red().count(), 0);
}

#[test]
fn a_package_that_fails_outside_of_its_tests_is_broken() {
    let text = "{\"Action\":\"pass\",\"Package\":\"a\",\"Test\":\"TestA\"}\n{\"Action\":\"fail\",\"Package\":\"a\"}\n";
    let results = read(Format::GoTest, text);
    assert_eq!((results.executed(), results.broken.len()), (1, 1));
}

#[test]
fn the_same_file_of_two_packages_holds_two_tests() {
    let text = "     Running unittests src/lib.rs (target/debug/deps/a-0123)\ntest t ... ok\n\
                     Running unittests src/lib.rs (target/debug/deps/b-4567)\ntest t ... FAILED\n";
    assert_eq!(read(Format::Libtest, text).executed(), 2);
}

#[test]
fn a_test_that_the_runner_tried_again_is_flaky_though_it_passed() {
    let text = "<testsuite name='s'><testcase name='a'><flakyFailure message='assert 0'/></testcase><testcase name='b'/></testsuite>";
    let mut merged = Merged::default();
    merged.add(read(Format::Junit, text));
    let known: Vec<Known<'_>> = merged.results.tests.keys().map(|id| merged.of(id)).collect();
    assert_eq!(known, [Known::Flaky, Known::Passed]);
}

#[test]
fn results_survive_being_stored() {
    let results = read(REPORTS[2].1, REPORTS[2].2);
    let stored = serde_json::to_string(&results).unwrap();
    assert_eq!(serde_json::from_str::<Results>(&stored).unwrap(), results);
}

proptest! {
    #[test]
    fn no_text_breaks_a_reader(text in "(<[a-z/!?]|>|='|testcase|failure|name|--|\\]\\]>|&#|;|\\{\"Action\":|test a \\.\\.\\. |---- | stdout ----|\n|.){0,80}") {
        for format in Format::OF_TESTS {
            read(format, &text);
        }
        acquit_core::results::sarif::read(&text);
    }

    #[test]
    fn no_damage_to_a_real_report_breaks_a_reader(which in 0..REPORTS.len(), at in 0_usize..20_000, cut in 0_usize..2_000, junk in ".{0,8}") {
        let (_, format, text) = REPORTS[which];
        let mut from = at.min(text.len());
        while !text.is_char_boundary(from) { from -= 1; }
        let mut to = (from + cut).min(text.len());
        while !text.is_char_boundary(to) { to -= 1; }
        let to = to.max(from);
        read(format, &format!("{}{junk}{}", &text[..from], &text[to..]));
    }
}
