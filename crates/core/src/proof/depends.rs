//! Checks whether a failed assertion can depend on the code under test.
//!
//! A test that fails with `assert False`, or because `1` is not `2`, fails with any code. This check follows the names
//! in an assertion through the local variables of its test. If only constants and keywords remain, the assertion
//! depends on no code.

use std::collections::BTreeSet;

use crate::check::cases::cases;
use crate::check::source::{Language, Source};

/// Keywords of the languages and names of assertions, which are not code under test.
const OWN: &[&str] = &[
    "assert",
    "assertEqual",
    "assertEquals",
    "assertTrue",
    "assertFalse",
    "assert_eq",
    "assert_ne",
    "debug_assert",
    "panic",
    "unreachable",
    "todo",
    "expect",
    "toBe",
    "toEqual",
    "toStrictEqual",
    "toBeTruthy",
    "toBeFalsy",
    "not",
    "strictEqual",
    "deepStrictEqual",
    "deepEqual",
    "equal",
    "ok",
    "fail",
    "fails",
    "failed",
    "Fail",
    "FailNow",
    "Fatal",
    "Fatalf",
    "Error",
    "Errorf",
    "AssertionError",
    "AssertionFailedError",
    "pytest",
    "unittest",
    "self",
    "this",
    "True",
    "False",
    "None",
    "true",
    "false",
    "null",
    "nil",
    "undefined",
    "raise",
    "throw",
    "new",
    "return",
    "if",
    "else",
    "for",
    "in",
    "is",
    "and",
    "or",
    "let",
    "const",
    "var",
    "mut",
    "await",
    "async",
    "def",
    "fn",
    "func",
    "void",
    "int",
    "str",
    "float",
    "bool",
    "Assertions",
    "Assert",
    "vec",
    "String",
    "Integer",
    "List",
    "Some",
    "Err",
    "Ok",
    "float64",
];

/// Returns whether the assertion at this line of a test file uses only constants. Returns `false` whenever that is not
/// certain.
pub fn is_constant(path: &str, text: &str, line: u32) -> bool {
    let Some(language) = Language::of(path) else { return false };
    let source = Source::new(language, text.to_owned());
    let all = cases(language, &source);
    let holds = |first: usize, last: usize| (source.line_of(first)..=source.line_of(last)).contains(&line);
    // The innermost of nested tests.
    let found =
        all.iter().filter(|case| holds(case.whole.start, case.whole.end)).min_by_key(|case| case.whole.len());
    let Some(case) = found else { return false };
    let (first, last) = (source.line_of(case.body.start), source.line_of(case.body.end));
    let bare: Vec<(u32, &str)> = (first..=last)
        .map(|number| (number, source.bare.get(source.line(number)).unwrap_or_default()))
        .collect();
    let head = source.bare.get(case.whole.start..case.body.start).unwrap_or_default();
    let inner: Vec<&(u32, &str)> =
        bare.iter().filter(|(number, text)| *number > first && !is_closing(text)).collect();
    // A one-line test is one statement.
    let Some(base) = inner.iter().map(|(_, text)| indent(text)).min() else {
        return bare.iter().all(|(_, text)| names(text).is_empty())
            && names(head.rsplit(['(', '{', '>']).next().unwrap_or_default()).is_empty();
    };
    let mut used: BTreeSet<String> = BTreeSet::new();
    for (_, text) in statement(&bare, line, base) {
        used.extend(names(text));
    }
    // Follow local variables until no new ones appear.
    let mut local: BTreeSet<String> = BTreeSet::new();
    loop {
        let before = used.len();
        for (_, text) in &bare {
            let Some((left, right)) = assignment(text) else { continue };
            let targets = names(left);
            if targets.iter().any(|name| used.contains(name)) {
                local.extend(targets);
                used.extend(names(right));
            }
        }
        if used.len() == before {
            break;
        }
    }
    used.iter().all(|name| local.contains(name))
}

/// Returns the lines of the statement at a line. Within a block, that is the whole block with its head.
fn statement<'a>(bare: &'a [(u32, &'a str)], line: u32, base: usize) -> Vec<&'a (u32, &'a str)> {
    let at = bare.iter().position(|(number, _)| *number == line).unwrap_or(0);
    let outer = |entry: &(u32, &str)| indent(entry.1) <= base && !is_closing(entry.1);
    let from = (0..=at).rev().find(|index| bare.get(*index).is_some_and(outer)).unwrap_or(0);
    let continues = |text: &str| {
        let word = text.trim_start_matches(['}', ' ', '\t']);
        ["else", "except", "catch", "finally", "elif"].iter().any(|next| word.starts_with(next))
    };
    // Lines after a `try` at the same depth belong to it, and so does the `try` before an `except`.
    let from = (0..=from)
        .rev()
        .find(|index| bare.get(*index).is_some_and(|entry| outer(entry) && !continues(entry.1)))
        .unwrap_or(from);
    let end = (at + 1..bare.len())
        .find(|index| bare.get(*index).is_some_and(|entry| outer(entry) && !continues(entry.1)));
    bare.get(from..end.unwrap_or(bare.len())).unwrap_or_default().iter().collect()
}

fn indent(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

/// Returns whether a line is empty or only closes something.
fn is_closing(text: &str) -> bool {
    text.trim().trim_matches(['}', ')', ']', ';', ',']).is_empty()
}

/// Returns the names in a text. Unlike words of a message, they may be single letters.
fn names(text: &str) -> BTreeSet<String> {
    const LIBRARIES: [&str; 5] =
        ["org.junit.jupiter.api.", "org.junit.", "junit.framework.", "org.testng.", "org.assertj.core.api."];
    // Assertion classes may be qualified with their package.
    let text = LIBRARIES.iter().fold(text.to_owned(), |text, library| text.replace(library, ""));
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let all = text.split(|c| !is_part(c)).filter(|word| !word.is_empty() && *word != "_" && *word != "t");
    all.filter(|word| !word.starts_with(|c: char| c.is_ascii_digit()) && !OWN.contains(word))
        .map(str::to_owned)
        .collect()
}

/// Splits `a = b`, `a := b`, `let a = b`, `for a in b`, `with b as a` into both sides.
fn assignment(text: &str) -> Option<(&str, &str)> {
    if let Some((left, right)) = text.split_once(" in ").filter(|_| text.trim_start().starts_with("for ")) {
        return Some((left, right));
    }
    if let Some((left, right)) = text.split_once(" as ").filter(|_| text.trim_start().starts_with("with ")) {
        return Some((right, left));
    }
    let at = text.match_indices('=').map(|(at, _)| at).find(|at| {
        let (before, after) = (text[..*at].chars().next_back(), text[at + 1..].chars().next());
        // `page(books, size=2)` sets a parameter, not a variable.
        let depth = text[..*at].chars().fold(0_i32, |depth, sign| match sign {
            '(' | '[' | '{' => depth + 1,
            ')' | ']' | '}' => depth - 1,
            _ => depth,
        });
        depth <= 0 && !matches!(before, Some('=' | '!' | '<' | '>')) && !matches!(after, Some('=' | '>'))
    })?;
    Some((&text[..at], &text[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_assertion_about_constants_is_about_no_code() {
        let constant = [
            ("test_a.py", "def test_a():\n    assert False\n", 2),
            ("test_a.py", "def test_a():\n    total([1])\n    assert 1 == 2\n", 3),
            ("test_a.py", "def test_a():\n    got = 1\n    assert got == 2, 'no'\n", 3),
            ("test_a.py", "def test_a():\n    raise AssertionError('broken')\n", 2),
            ("a_test.go", "package a\n\nfunc TestA(t *testing.T) {\n\tt.Fatal(\"broken\")\n}\n", 4),
            ("tests/a.rs", "#[test]\nfn a() {\n    panic!(\"broken\");\n}\n", 3),
            ("tests/a.rs", "#[test]\nfn a() {\n    assert_eq!(1, 2);\n}\n", 3),
            ("a.test.js", "test('a', () => {\n  assert.fail('broken');\n});\n", 2),
            (
                "ATest.java",
                "class ATest {\n    @Test\n    void a() {\n        fail(\"broken\");\n    }\n}\n",
                4,
            ),
            (
                "ATest.java",
                "class ATest {\n    @Test\n    void a() {\n        new Parcel(1);\n        org.junit.jupiter.api.Assertions.fail(\"broken\");\n    }\n}\n",
                5,
            ),
        ];
        for (path, text, line) in constant {
            assert!(is_constant(path, text, line), "{path}: {text}");
        }
        let real = [
            ("test_a.py", "def test_a():\n    assert total([1]) == 1\n", 2),
            (
                "test_a.py",
                "def test_a(all):\n    assert [one.name for one in page(all, 1, size=2)] == ['a']\n",
                2,
            ),
            ("test_a.py", "def test_a():\n    got = total([1])\n    assert got == 2\n", 3),
            ("test_a.py", "def test_a(cash):\n    assert cash == 1\n", 2),
            (
                "test_a.py",
                "def test_a():\n    try:\n        total([])\n        assert False\n    except ValueError:\n        pass\n",
                4,
            ),
            (
                "a_test.go",
                "package a\n\nfunc TestA(t *testing.T) {\n\tif err := Total(nil); err == nil {\n\t\tt.Fatal(\"no error\")\n\t}\n}\n",
                5,
            ),
            (
                "a_test.go",
                "package a\n\nfunc TestA(t *testing.T) {\n\tgot, err := Total(nil)\n\tif err != nil {\n\t\tt.Fatal(err)\n\t}\n\t_ = got\n}\n",
                6,
            ),
            (
                "tests/a.rs",
                "#[test]\nfn a() {\n    let Some(x) = total(&[]) else { panic!(\"none\") };\n    assert_eq!(x, 2);\n}\n",
                4,
            ),
            ("a.test.js", "test('a', () => {\n  const got = sum([1]);\n  assert.equal(got, 2);\n});\n", 3),
        ];
        for (path, text, line) in real {
            assert!(!is_constant(path, text, line), "{path}: {text}");
        }
    }
}
