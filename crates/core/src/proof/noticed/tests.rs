//! Which parts of new code are broken, and which are left alone.

use super::*;

fn broken(path: &str, old: &str, new: &str, way: Way) -> Option<String> {
    let code = Code { path: path.to_owned(), old: old.to_owned(), new: new.to_owned() };
    let mutant = mutant(&[code], way)?;
    assert!(!mutant.places.is_empty(), "nothing could be named");
    mutant.files.into_iter().next().map(|(_, text)| text)
}

fn id(name: &str) -> TestId {
    TestId { suite: "s".to_owned(), name: name.to_owned() }
}

#[test]
fn only_lines_of_the_change_are_changed() {
    let lines: Vec<u32> = changed("a\nb\nc\nd\n", "a\nx\nc\n\nd\ny\n").into_iter().collect();
    assert_eq!(lines, [2, 6]);
    assert!(changed("a\nb\n", "a\nb\n").is_empty());
    assert!(changed("a\nb\nc\n", "a\nc\n").is_empty());
}

#[test]
fn results_of_new_lines_are_off_and_those_of_old_ones_are_not() {
    let old = "def f(a):\n    return a\n";
    let new = "def f(a):\n    return a\n\ndef g(a):\n    for day in a:\n        yield day, 1  # why\n    return a + 1\n";
    let text = broken("a.py", old, new, Way::Results).expect("broken");
    assert!(text.starts_with(old), "{text}");
    assert!(text.contains("None, (day, 1))  # why"), "{text}");
    assert!(text.contains("None, (a + 1))\n"), "{text}");
    assert_eq!(broken("a.py", old, old, Way::Results), None);
    let script = broken("a.ts", "", "const f = () => { return x; };\n", Way::Results).expect("broken");
    assert!(
        script.contains("return (function _o(_v: any, _d: any = 0): any {") && script.contains("})(x); };"),
        "{script}"
    );
}

#[test]
fn results_of_typed_languages_follow_the_type() {
    let rust = "fn f(a: &str) -> Option<u32> {\n    a.parse().ok()\n}\n";
    let text = broken("src/a.rs", "", rust, Way::Results).expect("broken");
    assert!(text.contains("|| -> Option<u32> {\n    a.parse().ok()\n}"), "{text}");
    assert!(text.contains("Some(_x) => Some(_x.wrapping_add(1))"), "{text}");
    assert_eq!(broken("src/a.rs", "", "fn f() -> Tree {\n    Tree\n}\n", Way::Results), None);
    // The returned expression did not change.
    let before = "fn f(n: u32) -> u32 {\n    g();\n    n\n}\n";
    assert_eq!(broken("src/a.rs", before, &before.replace("g()", "h()"), Way::Results), None);
    let go = broken("a.go", "", "func f(n int) (string, error) {\n\treturn g(n), nil\n}\n", Way::Results)
        .expect("broken");
    assert!(
        go.contains("_v, _e := func() (string, error) {") && go.contains("return _v + \"~\", _e }"),
        "{go}"
    );
    let java = "class A {\n    static boolean is(int n) {\n        return n > 2;\n    }\n}\n";
    assert_eq!(broken("A.java", "", java, Way::Results), Some(java.replace("n > 2", "!(n > 2)")));
}

#[test]
fn conditions_are_turned_around_and_statements_left_out() {
    let of = |language: Language, text: &str, breaks: fn(Language, &Source, &BTreeSet<u32>) -> Vec<Edit>| {
        let source = Source::new(language, text.to_owned());
        applied(text, breaks(language, &source, &changed("", text)))
    };
    let python = "def f(a):\n    if a > 1 and ok(a):\n        a.push(1)\n    x = 1 if a else 2\n    log(a)\n";
    assert_eq!(
        of(Language::Python, python, conditions),
        python.replace("if a > 1 and ok(a):", "if not (a > 1 and ok(a)):")
    );
    assert_eq!(of(Language::Python, python, statements), python.replace("a.push(1)", "pass"));
    let go = "func f() {\n\tif n := g(); n > 1 {\n\t\tcount += n\n\t}\n}\n";
    assert_eq!(of(Language::Go, go, conditions), go.replace(" n > 1 {", " !(n > 1) {"));
    assert_eq!(of(Language::Go, go, statements), go.replace("count += n", ""));
    let rust =
        "fn f() {\n    if let Some(a) = b {\n        c();\n    }\n    if a == B {\n        c();\n    }\n}\n";
    assert_eq!(of(Language::Rust, rust, conditions), rust.replace("if a == B {", "if  !(a == B) {"));
}

#[test]
fn all_results_of_changed_functions_are_others_for_the_last_word() {
    let old = "RATE = 3\n\ndef f(a):\n    rate = 1\n    return a * rate\n\ndef g(a):\n    return a\n";
    let new = old.replace("rate = 1", "rate = 2");
    let text = broken("a.py", old, &new, Way::Everything).expect("broken");
    assert!(text.contains("None, (a * rate))\n") && text.ends_with("    return a\n"), "{text}");
    // The changed line returns nothing, so there is no result to break first.
    assert_eq!(broken("a.py", old, &new, Way::Results), None);
    let text = broken("a.py", old, &old.replace("RATE = 3", "RATE = 4"), Way::Everything).expect("broken");
    assert!(text.starts_with("RATE = 5\n"), "{text}");
    for (path, code, part) in [
        ("a.js", "const f = (a) => a * 2;\n", "})(a * 2);\n"),
        ("src/a.rs", "fn f(a: i32) -> i32 {\n    a * 2\n}\n", "i32::MIN"),
        ("a.go", "func f(a int) int {\n\treturn a * 2\n}\n", "_v*0 + 77"),
        ("A.java", "class A {\n    int f(int a) {\n        return a * 2;\n    }\n}\n", "(a * 2) * 0 - 77;"),
    ] {
        let text = broken(path, "", code, Way::Everything).expect("broken");
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn it_is_known_whether_all_of_a_change_is_broken() {
    let whole = |path: &str, old: &str, new: &str| {
        let code = Code { path: path.to_owned(), old: old.to_owned(), new: new.to_owned() };
        mutant(&[code], Way::Everything).is_some_and(|mutant| mutant.is_whole)
    };
    let python = "import os\n\ndef f(a):\n    return a + 1\n";
    assert!(whole("a.py", "", python));
    // Tests may look at other effects.
    assert!(!whole("a.py", "", &format!("{python}\ndef g(a):\n    a.seen = True\n")));
    assert!(!whole("a.py", "", &format!("{python}\nTABLE = load(os)\n")));
    assert!(!whole("a.py", python, "import os\n"));
    let rust = "use std::fmt;\n\npub struct A {\n    pub b: u32,\n}\n\nimpl A {\n    pub fn f(&self) -> u32 {\n        self.b\n    }\n}\n";
    assert!(whole("src/a.rs", "", rust));
    assert!(!whole("src/a.rs", "", &rust.replace("-> u32 {\n        self.b", "-> A {\n        A { b: 1 }")));
    let data = Code { path: "a.json".to_owned(), old: String::new(), new: "1".to_owned() };
    let code = Code { path: "a.py".to_owned(), old: String::new(), new: python.to_owned() };
    assert!(!mutant(&[data, code], Way::Everything).expect("broken").is_whole);
}

#[test]
fn a_test_notices_if_it_fails_or_is_gone() {
    let ran = |outcomes: &[(&str, crate::results::Outcome)]| {
        let mut merged = Merged::default();
        let mut results = crate::results::Results::default();
        for (name, outcome) in outcomes {
            results.tests.insert(id(name), crate::results::Case::plain(*outcome, ""));
        }
        merged.add(results);
        merged
    };
    use crate::results::Outcome::{Failed, Passed};
    let own: BTreeSet<TestId> = [id("a"), id("b")].into_iter().collect();
    assert!(!is_noticed(&own, &ran(&[("a", Passed), ("b", Passed), ("c", Failed)])));
    assert!(is_noticed(&own, &ran(&[("a", Passed), ("b", Failed)])));
    assert!(is_noticed(&own, &ran(&[("a", Passed)])));
}
