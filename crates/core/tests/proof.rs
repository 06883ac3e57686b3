//! What follows from three runs of tests, as a table: each line a change, each with the one thing that is to be said of it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use acquit_core::gate::Evidence;
use acquit_core::gate::Format;
use acquit_core::gate::check::{Red, Weak};
use acquit_core::proof::{Ran, Seen, Tree, judge};
use acquit_core::results::{Merged, Results};

/// Runs of tests, written as `name` and a sign: `+` passed, `-` failed by an assertion, `!` broke, `~` skipped. Several runs are
/// set apart by `|`, what cannot be loaded is `?name`.
fn ran(text: &str) -> Tree {
    let mut merged = Merged::default();
    for run in text.split('|') {
        let mut results = Results::default();
        let mut xml = "<testsuite name='s'>".to_owned();
        for word in run.split_whitespace() {
            let (sign, name) = word.split_at(1);
            xml += &match sign {
                "+" => format!("<testcase name='{name}'/>"),
                "-" => format!("<testcase name='{name}'><failure message='assert {name}'/></testcase>"),
                "!" => format!("<testcase name='{name}'><error message='KeyError: {name}'/></testcase>"),
                "~" => format!("<testcase name='{name}'><skipped/></testcase>"),
                _ => format!(
                    "<testcase name='{name}'><error message='collection failure'>NameError: double is not there</error></testcase>"
                ),
            };
        }
        results.read(Format::Junit, &(xml + "</testsuite>"));
        merged.add(results);
    }
    Tree::Ran(Ran { merged, ..Ran::default() })
}

fn tree(text: &str) -> Tree {
    match text.strip_prefix("not built: ") {
        Some(said) => Tree::NotBuilt(said.to_owned()),
        None => ran(text),
    }
}

fn seen(base: &str, red: &str, green: &str) -> Seen {
    let added = ["double".to_owned()].into();
    let (base, red, green) = (tree(base), tree(red), tree(green));
    let removed = ["taken".to_owned()].into();
    Seen { base, red, green, added, declared: Vec::new(), removed, new_files: Vec::new() }
}

fn failing(evidence: &Evidence) -> Vec<&str> {
    let mut rules: Vec<&str> = evidence.failing().map(|finding| finding.rule.as_str()).collect();
    rules.dedup();
    rules
}

#[test]
fn what_follows_from_three_trees() {
    let table = [
        // Base, base with the tests of the change, change; what is held against it.
        ("+old", "+old -new", "+old +new", &[][..]),
        ("+old", "+old +new", "+old +new", &["unproven", "never-red"]),
        ("+old", "+old !new", "+old +new", &["unproven", "error-red"]),
        ("+old", "+old -new", "-old +new", &["new-failure"]),
        ("+old", "+old -new", "+old -new", &["new-failure", "unproven"]),
        ("-old", "-old -new", "-old +new", &[]),
        ("-old", "-old -new", "+old +new", &[]),
        ("+old", "-old", "+old", &[]),
        ("+old", "+old", "+old", &["unproven"]),
        ("+old", "+old", "", &["nothing-ran"]),
        ("+old", "+old ~new", "+old ~new", &["unproven", "not-run"]),
        ("+old", "+old -new", "+old +new | +old -new", &["unproven"]),
        ("+old", "+old -new -sure", "+old +new +sure | +old -new +sure", &[]),
        ("+old", "+old -new", "+old +new | -old +new", &[]),
        ("+old", "+old ?s", "+old +new", &[]),
        ("+old", "+old -a ?s", "+old +a +new", &[]),
        ("+old", "?s", "+old", &[]),
        ("-old", "?s", "-old", &["unproven"]),
        ("-old", "not built: error: cannot find `double`", "-old", &["unproven"]),
        ("+old ?s", "+old ?s", "+old", &["unproven"]),
        ("+old", "+old", "+old +new", &["unproven", "not-run"]),
        ("+old", "+old -new", "+old ?s", &["broken"]),
        ("+old", "not built: error: cannot find `double`", "+old +new", &[]),
        ("+old", "not built: error: expected `;`", "+old +new", &["unproven", "compile-red"]),
        ("+old", "not built: error: cannot find `double`", "+old", &[]),
        ("not built: error: x", "not built: error: x", "+old +new", &[]),
        ("+old", "+old -new", "not built: error: x", &["build"]),
    ];
    for (base, red, green, expected) in table {
        let evidence = judge(&seen(base, red, green), Red::Every, Weak::Allow);
        assert_eq!(failing(&evidence), expected, "{base} / {red} / {green}\n{evidence:#?}");
    }
}

#[test]
fn tests_that_were_red_and_are_green_are_named() {
    let named = |base, red, green| judge(&seen(base, red, green), Red::Some, Weak::Allow).red;
    assert_eq!(named("+old", "+old -new -more +same", "+old +new +more +same"), ["s › more", "s › new"]);
    assert_eq!(named("+old", "+old !broke ?s", "+old +broke"), [""; 0], "not by an assertion");
    assert_eq!(named("+old", "+old -new", "+old +new | +old -new"), [""; 0], "not surely green");
    assert_eq!(named("+old", "-old", "+old"), ["s › old"], "an old test that now asks for more");
}

#[test]
fn a_test_that_was_flaky_before_the_change_is_not_held_against_it() {
    let blamed = seen("+old", "+old -new", "-old +new");
    assert!(blamed.blames_the_change());
    let flaky = seen("+old | -old", "+old -new", "-old +new");
    assert!(!flaky.blames_the_change());
    assert_eq!(failing(&judge(&flaky, Red::Every, Weak::Allow)), [""; 0]);
}

#[test]
fn one_red_test_is_enough_where_that_is_wanted() {
    let seen = seen("+old", "+old -new +same", "+old +new +same");
    assert_eq!(failing(&judge(&seen, Red::Every, Weak::Allow)), ["never-red"]);
    assert_eq!(failing(&judge(&seen, Red::Some, Weak::Allow)), [""; 0]);
}

#[test]
fn weak_proofs_are_named_and_can_be_refused() {
    let seen = seen("+old", "not built: error: cannot find `double`", "+old +new");
    let allowed = judge(&seen, Red::Every, Weak::Allow);
    assert!(allowed.findings.iter().any(|finding| finding.rule == "weak-red"), "{allowed:#?}");
    assert_eq!(failing(&judge(&seen, Red::Every, Weak::Reject)), ["unproven", "weak-red"]);
}

#[test]
fn a_declared_test_that_no_run_has_is_told() {
    let mut seen = seen("+old", "+old -new", "+old +new");
    seen.declared = vec![("new".to_owned(), "a.py".to_owned()), ("lost".to_owned(), "b.py".to_owned())];
    let evidence = judge(&seen, Red::Every, Weak::Allow);
    assert_eq!(failing(&evidence), ["not-run"]);
    assert_eq!(evidence.failing().next().unwrap().location.as_ref().unwrap().path, "b.py");
}

#[test]
fn tests_that_a_crash_took_away_are_missed_and_those_that_the_change_took_away_are_not() {
    let mut seen = seen("+old +lost +taken -bad", "+old +lost +taken -bad -new", "+old -bad +new");
    assert_eq!(failing(&judge(&seen, Red::Every, Weak::Allow)), [""; 0]);
    let Tree::Ran(green) = &mut seen.green else { panic!() };
    green.exit = Some("killed by SIGSEGV".to_owned());
    let evidence = judge(&seen, Red::Every, Weak::Allow);
    assert_eq!(failing(&evidence), ["lost"]);
    assert!(evidence.failing().all(|finding| finding.message.contains("lost")), "{evidence:#?}");
}

#[test]
fn an_exit_code_without_a_failed_test_is_not_overruled() {
    let mut seen = seen("+old", "+old -new", "+old +new");
    let Tree::Ran(green) = &mut seen.green else { panic!() };
    green.trouble = Some("`run`: exit 1".to_owned());
    assert_eq!(failing(&judge(&seen, Red::Every, Weak::Allow)), ["exit"]);
}
