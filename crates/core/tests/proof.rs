//! What follows from three runs of tests, as a table: each line a change, each with the one thing that is to be said of it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use acquit_core::gate::Evidence;
use acquit_core::gate::Format;
use acquit_core::gate::check::{Red, Weak};
use acquit_core::proof::account::Account;
use acquit_core::proof::{Accounts, Allowed, Ran, Seen, Tree, compare, judge};
use acquit_core::results::{Merged, Origin, Results};

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
                "!" => format!("<testcase name='{name}'><error message='NameError: {name}'/></testcase>"),
                "v" => format!("<testcase name='{name}'><error message='KeyError: {name}'/></testcase>"),
                "*" => format!(
                    "<testcase name='{name}'><error message='KeyError: {name}'>tests/a.py:3: \n\ncode.py:2: KeyError</error></testcase>"
                ),
                "~" => format!("<testcase name='{name}'><skipped/></testcase>"),
                _ => format!(
                    "<testcase name='{name}'><error message='collection failure'>NameError: double is not there</error></testcase>"
                ),
            };
        }
        results.read(Format::Junit, &(xml + "</testsuite>"));
        results.locate(|frame| {
            let origin = if frame.path.starts_with("tests/") { Origin::Test } else { Origin::Code };
            Some((origin, frame.clone()))
        });
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
    let accounts = Accounts { source: Account::removed(&["taken"]), allowed: Allowed::default() };
    let reshaped = ["total".to_owned()].into();
    Seen { base, red, green, added, reshaped, declared: Vec::new(), accounts, new_files: Vec::new() }
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
        ("+old", "+old *new", "+old +new", &[]),
        ("+old", "+old vnew", "+old +new", &[]),
        ("+old", "not built: error: too many arguments in call to total", "+old +new", &[]),
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
    assert_eq!(named("+old", "+old *new", "+old +new"), ["s › new"], "by a crash of the code");
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

/// What the comparison of a base with a change holds against it.
fn compared(base: &str, now: &str, allowed: Allowed) -> Vec<String> {
    let (Tree::Ran(base), Tree::Ran(now)) = (ran(base), ran(now)) else { panic!() };
    let mut evidence = Evidence::default();
    let accounts = Accounts { source: Account::removed(&["taken"]), allowed };
    compare(&base.merged, &now, &accounts, &mut evidence);
    evidence.failing().map(|finding| finding.rule.clone()).collect()
}

#[test]
fn a_test_that_passed_on_the_base_passes_now_or_is_accounted_for() {
    let table = [
        ("+a +b", "+a +b +c", &[][..]),
        ("+a +b", "+a", &["vanished"]),
        ("+a +taken", "+a", &["vanished"]),
        ("+a +b", "+a ~b", &["now-skipped"]),
        ("+a -b ~c", "+a", &[]),
        ("+a | -a", "", &[]),
        // Other parameters, other numbers, other times: as many cases as before.
        ("+p[1] +p[2]", "+p[3] +p[4]", &[]),
        ("+p[1] +p[2]", "+p[3]", &["vanished"]),
        ("+TestA/x +TestA/y +TestA", "+TestA/x +TestA/z +TestA", &[]),
        ("+TestA/x +TestA/y +TestA", "+TestA/x +TestA", &["vanished"]),
        ("+run-0x3fa9c1 +at_12_30", "+run-0x99b7d2 +at_12_31", &[]),
        ("+m::a", "+n::m::a", &[]),
        ("+m::a +n::a", "+k::a", &["vanished"]),
    ];
    for (base, now, expected) in table {
        assert_eq!(compared(base, now, Allowed::default()), expected, "{base} / {now}");
    }
    let removing = Allowed { removing: true, skipping: false };
    assert_eq!(compared("+a +taken +b", "+a ~b", removing), ["now-skipped"]);
    let skipping = Allowed { removing: false, skipping: true };
    assert_eq!(compared("+a +taken +b", "+a ~b", skipping), ["vanished"]);
}

#[test]
fn an_exit_code_without_a_failed_test_is_not_overruled() {
    let mut seen = seen("+old", "+old -new", "+old +new");
    let Tree::Ran(green) = &mut seen.green else { panic!() };
    green.trouble = Some("`run`: exit 1".to_owned());
    assert_eq!(failing(&judge(&seen, Red::Every, Weak::Allow)), ["exit"]);
}

#[test]
fn a_test_that_hangs_or_kills_the_runner_without_the_change_was_red() {
    let rules = |seen: &Seen| -> Vec<String> {
        let evidence = judge(seen, Red::Every, Weak::Reject);
        evidence.findings.iter().map(|finding| finding.rule.clone()).collect()
    };
    let mut seen = seen("+old", "", "+old +new");
    let Tree::Ran(red) = &mut seen.red else { panic!() };
    red.hung = Some("timed out after 10m".to_owned());
    assert_eq!(rules(&seen), ["timeout-red"]);
    let Tree::Ran(red) = &mut seen.red else { panic!() };
    red.hung = None;
    assert_eq!(rules(&seen), ["unproven", "not-run"]);
    let Tree::Ran(red) = &mut seen.red else { panic!() };
    red.exit = Some("exit 101".to_owned());
    red.said = "thread 'new' has overflowed its stack\nfatal runtime error".to_owned();
    assert_eq!(rules(&seen), ["crash-red"]);
}

#[test]
fn tests_that_one_command_compiles_and_runs_may_need_what_is_new() {
    let rules = |base: &str, said: &str, green: &str| -> Vec<String> {
        let mut seen = seen(base, "", green);
        let Tree::Ran(red) = &mut seen.red else { panic!() };
        red.exit = Some("exit 1".to_owned());
        red.said = said.to_owned();
        let evidence = judge(&seen, Red::Some, Weak::Allow);
        evidence.findings.iter().map(|finding| finding.rule.clone()).collect()
    };
    let symbol = |name: &str| {
        format!("ATest.java:3: error: cannot find symbol\n  symbol:   method {name}(int)\n1 error")
    };
    assert_eq!(rules("+old", &symbol("double"), "+old +new"), ["weak-red"]);
    // Tests that were there before use it now.
    assert_eq!(rules("+old", &symbol("double"), "+old"), ["weak-red"]);
    assert_eq!(rules("+old", &symbol("triple"), "+old +new"), ["unproven", "not-run"]);
    assert_eq!(rules("+old", "", "+old +new"), ["unproven", "not-run"]);
}

#[test]
fn a_crash_below_the_outermost_frame_of_a_test_is_the_codes() {
    let raised = |lines: &str| {
        let mut results = Results::default();
        results.read(
            Format::Junit,
            &format!("<testsuite name='s'><testcase name='a'><error message='KeyError: 1'>{lines}</error></testcase></testsuite>"),
        );
        results.locate(|frame| {
            let origin = match frame.path.split('/').next() {
                Some("tests") => Origin::Test,
                Some("lib") => return None,
                _ => Origin::Code,
            };
            Some((origin, frame.clone()))
        });
        results.tests.values().next().unwrap().raised.as_ref().map(|place| place.path.clone())
    };
    assert_eq!(raised("tests/a.py:3: \n\ncode.py:2: \n\nlib/x.py:9: KeyError"), Some("code.py".to_owned()));
    // The test gave the code something to call, which broke.
    assert_eq!(raised("tests/a.py:3: \n\ncode.py:2: \n\ntests/a.py:9: KeyError"), Some("code.py".to_owned()));
    // What runs the tests is no code under test.
    assert_eq!(raised("runner.py:1: \n\ntests/a.py:3: KeyError"), None);
    assert_eq!(raised("tests/a.py:3: \n\nlib/x.py:9: KeyError"), None);
}
