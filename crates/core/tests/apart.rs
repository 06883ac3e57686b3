//! Functions of a change, broken alone.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use acquit_core::proof::noticed::{Alone, Apart, Code, apart};

fn alone(path: &str, new: &str, task: &str) -> Vec<Apart> {
    apart(&[Code { path: path.to_owned(), old: String::new(), new: new.to_owned() }], task)
}

#[test]
fn what_is_true_or_false_is_always_the_same() {
    for (path, code, is, is_not) in [
        ("a.py", "def has(a):\n    return a in ALL\n", "(lambda _v: True if", "(lambda _v: False if"),
        ("a.js", "function has(a) {\n  return all.has(a);\n}\n", "? true :", "? false :"),
        (
            "src/a.rs",
            "fn has(a: u32) -> bool {\n    a > 1\n}\n",
            "{ let _ = _v; true }",
            "{ let _ = _v; false }",
        ),
        ("a.go", "func has(a int) bool {\n\treturn a > 1\n}\n", "return _v || true", "return _v && false"),
        (
            "A.java",
            "class A {\n    boolean has(int a) {\n        return a > 1;\n    }\n}\n",
            "return (a > 1) || true;",
            "return (a > 1) && false;",
        ),
    ] {
        let found = alone(path, code, "");
        let ways: Vec<Alone> = found.iter().map(|it| it.alone).collect();
        assert_eq!(ways, [Alone::Always(true), Alone::Always(false)], "{path}");
        assert!(found[0].text.contains(is) && found[1].text.contains(is_not), "{}", found[0].text);
    }
    // What may be anything is only a little off.
    for code in ["def fun(a):\n    return a or 1\n", "def fun(a):\n    return [b for b in a if b in ALL]\n"] {
        let ways: Vec<Alone> =
            alone("a.py", code, "fun() is wrong.").into_iter().map(|it| it.alone).collect();
        assert_eq!(ways, [Alone::Wrong], "{code}");
        assert!(alone("a.py", code, "").is_empty(), "nobody asked for it: {code}");
    }
}

#[test]
fn functions_that_the_task_names_are_broken_first() {
    let code = "def total(a):\n    return sum(a) > 1\n\n\ndef in_all(a):\n    return sum(a) > 1\n";
    let named = |task: &str| -> Vec<String> {
        let mut all: Vec<String> = alone("a.py", code, task).into_iter().map(|it| it.function).collect();
        all.dedup();
        all
    };
    assert_eq!(named("The total in_allocation is wrong."), ["total", "in_all"]);
    assert_eq!(named("in_all is wrong."), ["in_all", "total"]);
    let is_named = |task: &str| alone("a.py", code, task)[0].is_named;
    assert!(
        is_named("Let `total` add up.") && is_named("total() is wrong.") && !is_named("The total is wrong.")
    );
}

#[test]
fn a_hash_that_is_off_is_one_of_its_own() {
    let java = "class A {\n    @Override\n    public int hashCode() {\n        return 3;\n    }\n}\n";
    let found = alone("A.java", java, "Let hashCode fit.");
    assert!(found[0].alone == Alone::OwnHash && found[0].is_named, "{found:?}");
    assert!(found[0].text.contains("return (3) * 0 + System.identityHashCode(this);"), "{}", found[0].text);
    let python = "class A:\n    def __hash__(self):\n        return hash(self.a)\n";
    assert!(
        alone("a.py", python, "`__hash__` is wrong.")[0]
            .text
            .contains("(lambda _v: id(self))((hash(self.a)))")
    );
}

#[test]
fn only_functions_that_the_change_touches_are_broken_alone() {
    let old = "def f(a):\n    return a > 1\n\n\ndef g(a):\n    return a > 1\n";
    let new = old.replace("def g(a):\n    return a > 1", "def g(a):\n    return a > 2");
    let code = Code { path: "a.py".to_owned(), old: old.to_owned(), new };
    assert!(apart(&[code], "").iter().all(|it| it.function == "g"));
}

#[test]
fn a_function_that_always_says_the_same_is_not_broken_into_itself() {
    let always = |path: &str, code: &str| -> Vec<bool> {
        let found = alone(path, code, "").into_iter();
        found.filter_map(|it| if let Alone::Always(is) = it.alone { Some(is) } else { None }).collect()
    };
    for (path, code) in [
        ("a.py", "def validate(x):\n    if x < 0:\n        raise ValueError\n    return True\n"),
        ("a.js", "function ok(a) {\n  if (!a) throw new Error();\n  return true;\n}\n"),
        ("src/a.rs", "impl Form for Json {\n    fn supports_json(&self) -> bool {\n        true\n    }\n}\n"),
        ("src/a.rs", "fn ok(a: u32) -> bool {\n    if a > 1 {\n        return true;\n    }\n    true\n}\n"),
        ("a.go", "func (j Json) Supports() bool {\n\treturn true\n}\n"),
        ("A.java", "class A {\n    boolean supports() {\n        return true;\n    }\n}\n"),
    ] {
        assert_eq!(always(path, code), [false], "{code}");
        let opposite = code.replace("true", "false").replace("True", "False");
        assert_eq!(always(path, &opposite), [true], "{opposite}");
    }
    // One branch of several says nothing about the others.
    for (path, code) in [
        ("a.py", "def validate(x):\n    if x < 0:\n        return False\n    return True\n"),
        ("src/a.rs", "fn ok(a: u32) -> bool {\n    if a > 1 { true } else { false }\n}\n"),
        ("src/a.rs", "fn ok(a: u32) -> bool {\n    if a > 1 {\n        return true;\n    }\n    a < 3\n}\n"),
        ("a.go", "func ok(a int) bool {\n\tif a > 1 {\n\t\treturn true\n\t}\n\treturn a < 3\n}\n"),
    ] {
        assert_eq!(always(path, code), [true, false], "{code}");
    }
}
