//! Checks whether tests reproduce a defect: they fail by an assertion on unchanged code, every time.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::{Ran, Tree, is_missing_file};
use crate::gate::{Evidence, Weight, rule};
use crate::pattern::pattern;
use crate::results::{Case, Known, Merged, Outcome, TestId};

/// Draws the conclusions from runs on the base, and on the base with the tests of the change. `constant` are tests
/// whose failed assertion depends on no code.
pub fn reproduced(base: &Tree, now: &Tree, constant: &BTreeSet<TestId>) -> Evidence {
    let mut evidence = Evidence::default();
    let now = match now {
        Tree::Ran(now) => now,
        Tree::NotBuilt(said) => {
            let what = format!("the tests do not build, and what does not build shows no defect:\n{said}");
            evidence.find(Weight::Fails, rule::BUILD, &what, None);
            return evidence;
        }
    };
    let none = Merged::default();
    let before = match base {
        Tree::Ran(base) => &base.merged,
        Tree::NotBuilt(_) => &none,
    };
    evidence.figure("tests", now.merged.results.executed());
    evidence.figure("runs", now.merged.runs);
    unsound(before, now, &mut evidence);
    let mut shown = 0_usize;
    for id in now.merged.results.tests.keys() {
        let (weight, rule, what, location) = match (before.of(id), now.merged.of(id)) {
            // It was red without this test, so this test does not show the defect.
            (Known::Red(_), Known::Red(_)) => continue,
            (_, Known::Red(case)) if constant.contains(id) => {
                let what = format!(
                    "{id} fails whatever the code does, so it shows no defect: {}\nassert what the code should return or raise",
                    case.message
                );
                (Weight::Fails, "not-about-code", what, case.location.clone())
            }
            (_, Known::Red(case)) if case.outcome == Outcome::Failed => {
                shown += 1;
                let what = format!("{id} fails by an assertion: {}", case.message);
                (Weight::Noted, "assert-red", what, case.location.clone())
            }
            (_, Known::Red(case)) => match &case.raised {
                Some(place) => {
                    shown += 1;
                    let what = format!("{id} crashes in the code under test: {}", case.message);
                    (Weight::Noted, "crash-red", what, Some(place.clone()))
                }
                None if is_about_value(&case.message) => {
                    shown += 1;
                    let what = format!("{id} cannot go on with what the code returned: {}", case.message);
                    (Weight::Noted, "assert-red", what, case.location.clone())
                }
                None => {
                    let what = format!(
                        "{id} is broken itself, so it shows no defect: {}\nmake it run, call the code and assert what it should \
                         return or raise",
                        case.message
                    );
                    (Weight::Fails, "error-red", what, case.location.clone())
                }
            },
            (Known::Absent, Known::Flaky) => {
                let what = format!("{id} passes in one run and fails in another");
                (Weight::Fails, "flaky", what, None)
            }
            (_, Known::Flaky | Known::Passed | Known::Skipped | Known::Absent) => continue,
        };
        evidence.find(weight, rule, &what, location);
    }
    evidence.figure("assert-red", shown);
    let base_ended = matches!(base, Tree::Ran(ran) if ran.hung.is_none() && ran.died().is_none());
    if let (0, Some(limit), true) = (shown, &now.hung, base_ended) {
        let what =
            format!("with the tests of the change the run does not end ({limit}), and without them it does");
        evidence.find(Weight::Noted, "timeout-red", &what, None);
        return evidence;
    }
    if let (0, Some(why), true) = (shown, now.died(), base_ended) {
        let what =
            format!("with the tests of the change the runner dies by {why}, and without them it does not");
        evidence.find(Weight::Noted, "crash-red", &what, None);
        return evidence;
    }
    if shown == 0 {
        let what = "no test of the change fails by an assertion: write one that does, because of the defect";
        evidence.find(Weight::Fails, "not-reproduced", what, None);
    }
    evidence
}

/// Returns tests that compare a list with a text, or the reverse: no result of the code makes them pass. A task about
/// the type of a value is an exception.
pub fn unlike(now: &Tree, task: &str) -> BTreeSet<TestId> {
    static KINDS: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?i)\b(str|strings?|texts?|lists?|arrays?|tuples?|dict|objects?|maps?|types?|int|numbers?|json|instead of|iterable)\b",
        )
    });
    let Tree::Ran(now) = now else { return BTreeSet::new() };
    if KINDS.is_match(task) {
        return BTreeSet::new();
    }
    now.merged.results.red().filter(|(_, case)| is_unlike(&case.message)).map(|(id, _)| id.clone()).collect()
}

/// Returns tests that fail because of a missing file, which shows nothing about the code. A task about files is an
/// exception.
pub fn without_files(now: &Tree, task: &str) -> BTreeSet<TestId> {
    static FILES: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"(?i)\b(files?|paths?|folders?|director(y|ies)|exist\w*|missing|not found|ENOENT)\b")
    });
    let Tree::Ran(now) = now else { return BTreeSet::new() };
    if FILES.is_match(task) {
        return BTreeSet::new();
    }
    let fails = |case: &Case| case.raised.is_none() && is_missing_file(&case.message);
    now.merged.results.red().filter(|(_, case)| fails(case)).map(|(id, _)| id.clone()).collect()
}

/// Returns whether a message compares a text with a list or a table.
fn is_unlike(message: &str) -> bool {
    static BOTH: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?m)^(?:E\s+)?(?:\w*Error: )?(?:assert )?(\S.*?) (?:!=|==|!==|===) (\S.*)$|[Ee]xpected:?\s+(\S.*)\n\s*[Rr]eceived:?\s+(\S.*)|expected (\S.*?) to (?:be|equal|deeply equal|strictly equal) (\S.*?)(?: //.*)?$",
        )
    });
    #[derive(PartialEq, Eq)]
    enum Kind {
        Text,
        Many,
    }
    let kind = |text: &str| match text.trim().chars().next() {
        Some('"' | '\'') => Some(Kind::Text),
        Some('[' | '{' | '(') => Some(Kind::Many),
        _ => None,
    };
    let Some(found) = BOTH.captures(message) else { return false };
    let mut sides = found.iter().skip(1).flatten().map(|side| kind(side.as_str()));
    match (sides.next().flatten(), sides.next().flatten()) {
        (Some(one), Some(other)) => one != other,
        _ => false,
    }
}

/// Returns whether a test could not use what the code returned: an error that it unwraps, a field or an element of a
/// null value.
fn is_about_value(message: &str) -> bool {
    const SIGNS: [&str; 12] = [
        "called `Result::unwrap()` on an `Err` value",
        "called `Option::unwrap()` on a `None` value",
        ": Err(",
        "'NoneType' object",
        "Cannot read properties of undefined",
        "Cannot read properties of null",
        "is not iterable",
        "nil pointer dereference",
        "NullPointerException",
        "not subscriptable",
        "index out of range",
        "IndexOutOfBounds",
    ];
    !super::is_fault_of_test(message) && SIGNS.iter().any(|sign| message.contains(sign))
}

/// Adds reasons why the runs are meaningless, unless they also apply to the base.
fn unsound(before: &Merged, now: &Ran, evidence: &mut Evidence) {
    let results = &now.merged.results;
    if results.cut {
        let what = "the report of the tests is incomplete or too large to be read";
        evidence.find(Weight::Fails, rule::REPORT, what, None);
    }
    for broken in &results.broken {
        if before.results.broken.iter().all(|known| known.what != broken.what) {
            let what = format!("{} cannot be loaded: {}", broken.what, broken.message);
            evidence.find(Weight::Fails, rule::BROKEN, &what, None);
        }
    }
    let explained = now.hung.is_some() || now.died().is_some();
    if let (0, Some(trouble), false) = (results.executed(), &now.trouble, explained) {
        let what = format!("no test was executed: {trouble}\n{}", now.said);
        evidence.find(Weight::Fails, rule::NOTHING_RAN, &what, None);
    }
}

/// The same for a command without a report, of which only the exit is known, if it failed.
pub fn reproduced_by_exit(base: Option<&str>, now: Option<&str>) -> Evidence {
    let mut evidence = Evidence::default();
    let (weight, rule, what) = match (base, now) {
        (Some(why), _) => {
            let what = format!(
                "the tests end with {why} without the change too, so that they fail shows nothing; with a `report` each test \
                 would be looked at by itself"
            );
            (Weight::Fails, "base-red", what)
        }
        (None, None) => {
            let what = "the tests pass: write one that fails because of the defect".to_owned();
            (Weight::Fails, "not-reproduced", what)
        }
        (None, Some(why)) => (Weight::Noted, "red", format!("with the change the tests end with {why}")),
    };
    evidence.find(weight, rule, &what, None);
    evidence
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Results;

    fn tree(tests: &[(&str, Outcome)]) -> Tree {
        let mut results = Results::default();
        for (name, outcome) in tests {
            let id = TestId { suite: String::new(), name: (*name).to_owned() };
            results.tests.insert(id, Case::plain(*outcome, "left: 1"));
        }
        let mut ran = Ran::default();
        ran.merged.add(results);
        Tree::Ran(ran)
    }

    fn rules(evidence: &Evidence) -> Vec<(Weight, &str)> {
        evidence.findings.iter().map(|finding| (finding.weight, finding.rule.as_str())).collect()
    }

    #[test]
    fn a_test_that_lacks_its_file_shows_no_defect() {
        let id = TestId { suite: String::new(), name: "long".to_owned() };
        let said = "long line is not read: open testdata/long.csv: no such file or directory";
        let mut ran = Ran::default();
        let mut results = Results::default();
        results.tests.insert(id.clone(), Case::plain(Outcome::Failed, said));
        ran.merged.add(results);
        let now = Tree::Ran(ran);
        assert_eq!(without_files(&now, "Long lines are lost."), BTreeSet::from([id]));
        assert_eq!(without_files(&now, "A missing file must be an empty feed."), BTreeSet::new());
    }

    #[test]
    fn a_defect_is_shown_by_an_assertion_that_fails_and_by_nothing_else() {
        use Outcome::{Error, Failed, Passed, Skipped};
        let base = [("old", Passed), ("red", Failed)];
        type Case<'a> = (&'a [(&'a str, Outcome)], &'a [(Weight, &'a str)]);
        let cases: [Case<'_>; 7] = [
            (&[("old", Passed), ("red", Failed), ("new", Failed)], &[(Weight::Noted, "assert-red")]),
            // An existing test that asserts more now.
            (&[("old", Failed), ("red", Failed)], &[(Weight::Noted, "assert-red")]),
            (&[("old", Passed), ("red", Failed)], &[(Weight::Fails, "not-reproduced")]),
            (&[("old", Passed), ("red", Failed), ("new", Passed)], &[(Weight::Fails, "not-reproduced")]),
            (&[("old", Passed), ("new", Skipped)], &[(Weight::Fails, "not-reproduced")]),
            (
                &[("old", Passed), ("new", Error)],
                &[(Weight::Fails, "error-red"), (Weight::Fails, "not-reproduced")],
            ),
            (&[("a", Failed), ("b", Error)], &[(Weight::Noted, "assert-red"), (Weight::Fails, "error-red")]),
        ];
        for (now, expected) in cases {
            assert_eq!(rules(&reproduced(&tree(&base), &tree(now), &BTreeSet::new())), expected, "{now:?}");
        }
        let not_built = Tree::NotBuilt("cannot find function".to_owned());
        assert_eq!(
            rules(&reproduced(&tree(&base), &not_built, &BTreeSet::new())),
            [(Weight::Fails, "build")]
        );
        assert_eq!(
            rules(&reproduced(&not_built, &tree(&[("new", Failed)]), &BTreeSet::new())),
            [(Weight::Noted, "assert-red")]
        );
    }

    #[test]
    fn a_test_that_changes_its_mind_shows_nothing() {
        let (Tree::Ran(mut now), Tree::Ran(again)) =
            (tree(&[("new", Outcome::Failed)]), tree(&[("new", Outcome::Passed)]))
        else {
            unreachable!()
        };
        now.merged.add(again.merged.results);
        let found = reproduced(&tree(&[]), &Tree::Ran(now), &BTreeSet::new());
        assert_eq!(rules(&found), [(Weight::Fails, "flaky"), (Weight::Fails, "not-reproduced")]);
    }

    #[test]
    fn a_list_that_is_compared_with_a_text_shows_nothing() {
        for message in [
            "AssertionError: [(540, 570)] != 'not reproduced yet'",
            "E       assert [] == 'x'",
            "Expected values to be strictly equal:\n\n[] !== 'x'",
            "expected [ 1 ] to deeply equal 'x'",
            "Expected: \"x\"\nReceived: [1, 2]",
        ] {
            assert!(is_unlike(message), "{message}");
        }
        for message in [
            "assert 3 == 4",
            "assert '3' == 3",
            "AssertionError: [1] != [2]",
            "KeyError not raised",
            "assert None == 'a'",
        ] {
            assert!(!is_unlike(message), "{message}");
        }
        let mut now = Ran::default();
        let mut results = Results::default();
        results.tests.insert(
            TestId { suite: String::new(), name: "a".to_owned() },
            Case::plain(Outcome::Failed, "assert [] == 'x'"),
        );
        now.merged.add(results);
        let now = Tree::Ran(now);
        assert_eq!(unlike(&now, "cancel() must raise KeyError").len(), 1);
        assert_eq!(unlike(&now, "tags() must give a text").len(), 0);
    }

    #[test]
    fn an_exit_code_shows_a_defect_only_where_it_was_another_before() {
        let bad = Some("exit code 1");
        assert_eq!(rules(&reproduced_by_exit(None, bad)), [(Weight::Noted, "red")]);
        assert_eq!(rules(&reproduced_by_exit(None, None)), [(Weight::Fails, "not-reproduced")]);
        assert_eq!(rules(&reproduced_by_exit(bad, bad)), [(Weight::Fails, "base-red")]);
    }
}
