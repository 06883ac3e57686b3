//! What is dilution and what is not.

mod promised;
mod settings;
mod silent;
mod tests;

use acquit_core::check::Finding;
use acquit_core::check::diff::Diff;
use acquit_core::check::dilution::{BadPermit, Outlines, Permits, Promise, RULES};
use std::collections::BTreeMap;

use crate::kit::{Edit, change, renamed};

/// By the text alone, as files are looked at that no grammar reads.
fn dilution(diff: &Diff, permits: &Permits) -> Vec<Finding> {
    acquit_core::check::dilution::dilution(diff, &Outlines::default(), &[], Promise::Nothing, permits)
        .findings
}

fn look(edits: &[Edit<'_>]) -> Vec<Finding> {
    dilution(&change(edits), &Permits::default())
}

/// The rules that a change of one file breaks, with the lines.
fn rules(path: &str, before: &str, after: &str) -> Vec<(&'static str, Option<u32>)> {
    look(&[(path, Some(before), Some(after))])
        .into_iter()
        .map(|finding| (finding.rule, finding.line))
        .collect()
}

/// A change of one file breaks exactly this rule, once.
#[track_caller]
fn breaks(path: &str, before: &str, after: &str, rule: &str, line: u32) {
    assert_eq!(
        rules(path, before, after),
        [(rule, Some(line))],
        "{path}\n--- before\n{before}\n--- after\n{after}"
    );
}

#[track_caller]
fn honest(path: &str, before: &str, after: &str) {
    let found = look(&[(path, Some(before), Some(after))]);
    assert!(
        found.is_empty(),
        "{path}: {}",
        found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    );
}

#[test]
fn a_permit_lifts_its_rule_in_its_place_and_nothing_else() {
    let diff = change(&[
        ("tests/a.rs", Some("#[test]\nfn a() { assert!(x); }\n"), None),
        ("src/b.rs", Some("fn b() {}\n"), Some("#[allow(dead_code)]\nfn b() {}\n")),
    ]);
    let found = |permits: &Permits| -> Vec<&'static str> {
        dilution(&diff, permits).iter().map(|finding| finding.rule).collect()
    };
    assert_eq!(found(&Permits::default()), ["test-removed", "suppressed"]);
    assert_eq!(found(&Permits::read(&["test-removed"]).unwrap()), ["suppressed"]);
    assert_eq!(found(&Permits::read(&["suppressed:src/**"]).unwrap()), ["test-removed"]);
    assert_eq!(found(&Permits::read(&["suppressed:lib/**"]).unwrap()).len(), 2);

    let none = BTreeMap::new();
    let task = |tags: &[&str], metadata: &BTreeMap<String, String>| {
        let tags: Vec<String> = tags.iter().map(ToString::to_string).collect();
        found(&Permits::default().of_task(&tags, metadata))
    };
    assert_eq!(task(&["allow-dilution"], &none), [""; 0]);
    assert_eq!(task(&["allow-dilution:test-removed"], &none), ["suppressed"]);
    assert_eq!(task(&["allow-dilution:nonsense", "other"], &none).len(), 2);
    let row = "#[test]\nfn a() {\n    assert_eq!(f(1), 2);\n    assert_eq!(f(2), 3);\n}\n";
    let less = change(&[("tests/a.rs", Some(row), Some(&row.replace("    assert_eq!(f(2), 3);\n", "")))]);
    let of_less = |permits: &Permits| dilution(&less, permits).len();
    assert_eq!(of_less(&Permits::default()), 1, "a row is gone");
    assert_eq!(of_less(&Permits::read(&["test-removed"]).unwrap()), 0, "who lets a test go lets a row go");
    let metadata = BTreeMap::from([("allow-dilution".to_owned(), "suppressed, test-removed".to_owned())]);
    assert_eq!(task(&[], &metadata), [""; 0]);
}

#[test]
fn a_permit_for_a_rule_that_does_not_exist_is_a_mistake() {
    let error = Permits::read(&["tests-removed"]).unwrap_err();
    assert!(matches!(&error, BadPermit::Rule { word, .. } if word == "tests-removed"), "{error}");
    assert!(RULES.iter().all(|(name, _)| error.to_string().contains(name)));
    assert!(matches!(Permits::read(&["all:a[", "all"]), Err(BadPermit::Glob { .. })));
}

#[test]
fn a_finding_shows_the_line_that_proves_it() {
    let before = "#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n    assert_eq!(add(2, 2), 4);\n}\n";
    let after = "#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n}\n";
    let found = look(&[("src/lib.rs", Some(before), Some(after))]);
    assert_eq!(
        found[0].to_string(),
        "src/lib.rs:2: the test `adds` asserts 2 things before and 1 after: restore what is missing [assertions-removed]\n    -     assert_eq!(add(2, 2), 4);"
    );
}

#[test]
fn expected_outputs_are_not_to_be_written_anew() {
    let long = |word: &str| (0..30).map(|line| format!("{word} {line}")).collect::<Vec<_>>().join("\n");
    breaks("src/__snapshots__/a.test.js.snap", &long("old"), &long("new"), "snapshot-rewritten", 1);
    honest("tests/snapshots/a.snap", &long("old"), &long("old").replace("old 7\n", "new 7\n"));
    let gone = look(&[("testdata/a.golden", Some("x\n"), None)]);
    assert_eq!(gone[0].rule, "snapshot-rewritten");
    let names: Vec<String> = (0..25).map(|number| format!("tests/{number}.snap")).collect();
    let many: Vec<Edit<'_>> =
        names.iter().map(|name| (name.as_str(), Some("a\nb\n"), Some("a\nc\n"))).collect();
    assert_eq!(look(&many).len(), 1);
    assert_eq!(look(&many[..5]).len(), 0);
}

#[test]
fn tests_may_move_and_change_their_names() {
    let one = "import { add } from './add';\ntest('adds', () => {\n  expect(add(1, 2)).toBe(3);\n});\n";
    let moved = look(&[("src/add.test.js", Some(one), None), ("test/sum.test.js", None, Some(one))]);
    assert!(moved.is_empty(), "{moved:?}");
    let other_name = one.replace("'adds'", "'adds two numbers'");
    honest("src/add.test.js", one, &other_name);
    let with_its_subject = one.replace("add", "sum");
    honest("src/add.test.js", one, &with_its_subject);
    // The same file under a name that no runner looks at.
    for (old, new) in [
        ("src/add.test.js", "src/add.js"),
        ("tests/test_add.py", "tests/old_add.py"),
        ("add_test.go", "add_test.go.bak"),
        ("src/test/java/AddTest.java", "src/test/java/Add.java.disabled"),
        ("tests/add.rs", "tests/add.rs.txt"),
    ] {
        let found = dilution(
            &acquit_core::check::diff::Diff { files: vec![renamed(old, new, one, one)] },
            &Permits::default(),
        );
        assert_eq!(
            found.first().map(|finding| finding.rule),
            Some("test-hidden"),
            "{old} → {new}: {found:?}"
        );
    }
    for (old, new) in
        [("src/add.test.js", "test/add.test.ts"), ("test_a.py", "tests/test_b.py"), ("a/x.rs", "b/y.rs")]
    {
        let diff = acquit_core::check::diff::Diff { files: vec![renamed(old, new, one, one)] };
        assert!(dilution(&diff, &Permits::default()).is_empty(), "{old} → {new}");
    }
}

#[test]
fn a_change_that_is_made_to_take_long_does_not() {
    let nested = "it('x', () => { expect(f()).toBe(1); it.each(".repeat(20_000);
    let renamed = (0..2_000)
        .map(|n| format!("test('a{n}', () => {{ expect({n}).toBe(x); }});\n"))
        .collect::<Vec<_>>()
        .concat();
    let other =
        renamed.replace("test('a", "test('b").replace("toBe", "toEqual").replace("expect(", "expect(g, ");
    let settings = |value: &str| {
        (0..3_000).map(|n| format!("  \"rule-{n}\": \"{value}\",\n")).collect::<Vec<_>>().concat()
    };
    let began = std::time::Instant::now();
    look(&[("a.test.js", Some("x\n"), Some(&nested)), ("b.py", Some(&"def test_a(".repeat(50_000)), None)]);
    look(&[("c.test.js", None, Some(&other)), ("d.test.js", Some(&renamed), None)]);
    look(&[("e.test.js", Some(&renamed), Some(&other))]);
    let found = look(&[(".eslintrc.json", Some(&settings("error")), None)]);
    assert!(!found.is_empty());
    assert!(began.elapsed().as_secs() < 20, "it took {:?}", began.elapsed());
}
