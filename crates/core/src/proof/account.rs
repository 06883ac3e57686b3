//! Accounts for tests that a change removes from their place: each exists under another name or elsewhere, or it is
//! gone.
//!
//! A test still exists where its content is. The same name with fewer assertions or an empty body is not the same test.

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use regex::Regex;

use super::pieces::only_declares;
use crate::check::cases::cases;
use crate::check::outline;
use crate::check::source::{Language, Source};
use crate::pattern::pattern;

/// Minimum percentage of a test's words that another test must contain to count as the same test.
const FOUND_AGAIN: usize = 60;

/// Maximum number of pairs of tests to compare.
const MOST_COMPARED: usize = 200_000;

/// Maximum number of bytes of a body to compare.
const COMPARED: usize = 32 * 1024;

/// A file before and after a change.
#[derive(Clone, Debug, Default)]
pub struct Sides {
    /// Path.
    pub path: String,
    /// Text before.
    pub old: Option<String>,
    /// Text after.
    pub new: Option<String>,
}

/// What happened to a test that is no longer in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Another test with this name has its content.
    Moved(String),
    /// No test has its content.
    Removed,
    /// It was not a test but a helper file, which a runner ran because of its folder.
    Helper,
}

/// Tests that a change removes from their place, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account(BTreeMap<String, Fate>);

/// A test on one side of the change.
#[derive(Clone)]
struct Found {
    name: String,
    asserts: usize,
    /// Its lines with assertions, without blanks.
    asserted: Vec<String>,
    essence: String,
    words: HashMap<String, usize>,
    /// Its number and text literals.
    literals: Vec<String>,
    /// Functions that it calls, without assertions.
    called: Vec<String>,
}

impl Found {
    /// Returns the number of its words, including attributes and parameters.
    fn size(&self) -> usize {
        self.words.values().sum()
    }
}

impl Account {
    /// Creates an account in which these tests are removed.
    pub fn removed(names: &[&str]) -> Self {
        Self(names.iter().map(|name| ((*name).to_owned(), Fate::Removed)).collect())
    }

    /// Compares the tests of the changed files.
    pub fn of(files: &[Sides]) -> Self {
        let (mut gone, mut fresh) = (Vec::new(), Vec::new());
        for file in files {
            let before = found(&file.path, file.old.as_deref());
            let after = found(&file.path, file.new.as_deref());
            let is_gone = |one: &&Found| after.iter().all(|new| new.name != one.name);
            gone.extend(before.iter().filter(is_gone).cloned());
            // A test that still exists and has grown may have absorbed another one: in its body, or as a row of a table
            // in front of it.
            let grew = |one: &Found| {
                let old = before.iter().find(|old| old.name == one.name);
                old.is_none_or(|old| one.essence.len() > old.essence.len() || one.size() > old.size())
            };
            fresh.extend(after.into_iter().filter(grew));
        }
        let mut left = MOST_COMPARED;
        let mut fates = BTreeMap::new();
        for file in files.iter().filter(|file| file.new.is_none()) {
            // node:test runs every file in some folders and names it by its path.
            let old = file.old.as_deref().unwrap_or_default();
            if Language::of(&file.path) == Some(Language::Script) && only_declares(Language::Script, old) {
                fates.insert(file.path.clone(), Fate::Helper);
            }
        }
        for old in gone {
            left = left.saturating_sub(fresh.len());
            let fate = if left == 0 { Fate::Removed } else { fate(&old, &fresh) };
            // For two tests of the same name in two files, the worse result counts.
            match fates.get(&old.name) {
                Some(Fate::Removed) => {}
                Some(Fate::Moved(_) | Fate::Helper) | None => drop(fates.insert(old.name, fate)),
            }
        }
        Self(fates)
    }

    /// Returns what happened to the test with this name in a report. Returns `None` if its source is in its place or
    /// unknown.
    pub fn fate(&self, called: &str) -> Option<&Fate> {
        self.0.iter().find(|(name, _)| is_called(called, name)).map(|(_, fate)| fate)
    }

    /// Returns whether no test was removed from its place.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Returns whether a test's name in a report, with module, group and parameters, matches its name in the source.
pub(crate) fn is_called(called: &str, name: &str) -> bool {
    let bare = called.split('[').next().unwrap_or(called).split('(').next().unwrap_or(called).trim();
    if name.contains(['%', '$']) {
        return is_filled_in(called, name);
    }
    let behind = |sep: &str| bare.strip_suffix(name).is_some_and(|rest| rest.ends_with(sep));
    bare == name
        || ["::", " ", ".", "/", ">", "›"].iter().any(|sep| behind(sep))
        || called == name
        || called.ends_with(&format!(" {name}"))
        || called.ends_with(&format!("> {name}"))
        // Subtests in Go, cases of rstest.
        || called.split(['/', ':']).any(|part| part == name)
}

/// Returns whether a name is that of a table row: `%s refuses %s` or `$path is refused` with values filled in.
fn is_filled_in(called: &str, name: &str) -> bool {
    static PLACE: LazyLock<Regex> = LazyLock::new(|| pattern(r"%[a-zA-Z#]|\$\{[^}]*\}|\$[\w.]+"));
    let mut rest = called;
    let fixed: Vec<&str> = PLACE.split(name).map(str::trim).filter(|part| !part.is_empty()).collect();
    // A name that consists only of placeholders would match anything.
    !fixed.is_empty()
        && fixed.iter().all(|part| match rest.find(part) {
            Some(at) => {
                rest = rest.get(at + part.len()..).unwrap_or_default();
                true
            }
            None => false,
        })
}

fn found(path: &str, text: Option<&str>) -> Vec<Found> {
    let (Some(language), Some(text)) = (Language::of(path), text) else { return Vec::new() };
    let source = Source::new(language, text.to_owned());
    let of = |case: crate::check::cases::Case| {
        let end = case.whole.end.min(case.body.start + COMPARED);
        // Parameters and attributes come before the body and belong to the content of a test.
        let essence = source.essence(case.body.start..end);
        let all = source.text.get(case.whole.start..case.whole.end.min(case.whole.start + COMPARED));
        let bare = |line: &u32| -> String {
            let text: String = source.line_text(*line).split_whitespace().collect();
            text.trim_end_matches([';', ',']).to_owned()
        };
        let asserted: Vec<String> = case.asserts.iter().map(bare).collect();
        let all = all.unwrap_or(&essence);
        let (words, called) = (words(all), called(all));
        let mut literals = outline::literals(all);
        // The name of a test says nothing about its assertions.
        literals.retain(|literal| *literal != case.name);
        if case.name.contains("${") {
            // Tests that are generated in a loop have their values before the loop.
            let before = case.whole.start.saturating_sub(COMPARED);
            literals.extend(outline::literals(source.text.get(before..case.whole.start).unwrap_or_default()));
        }
        Found { name: case.name, asserts: asserted.len(), asserted, words, essence, literals, called }
    };
    cases(language, &source).into_iter().map(of).collect()
}

fn fate(old: &Found, fresh: &[Found]) -> Fate {
    let moved = |new: &Found| Fate::Moved(new.name.clone());
    let strong = |new: &&Found| new.asserts >= old.asserts;
    if let Some(new) = fresh.iter().find(|new| new.essence == old.essence && !new.essence.is_empty()) {
        return moved(new);
    }
    if let Some(new) = fresh.iter().filter(strong).find(|new| new.name == old.name) {
        return moved(new);
    }
    // A split test: several tests together have every line with an assertion.
    let has = |new: &Found| old.asserted.iter().filter(|line| new.asserted.contains(line)).count();
    let kept = |line: &String| fresh.iter().any(|new| new.asserted.contains(line));
    if !old.asserted.is_empty()
        && old.asserted.iter().all(kept)
        && let Some(most) = fresh.iter().max_by_key(|new| has(new))
    {
        return moved(most);
    }
    // A test that became rows of a table, or a table whose rows became tests: the tests that call the same functions
    // together have all of its values.
    let parts: Vec<&Found> = fresh.iter().filter(|new| new.asserts > 0 && calls_same(old, new)).collect();
    let has_value = |value: &String| parts.iter().any(|new| new.literals.contains(value));
    let telling = old.literals.len() > 1 && old.literals.iter().any(|value| value.len() > 1);
    if telling
        && old.literals.iter().all(has_value)
        && called(&old.asserted.join("\n"))
            .iter()
            .all(|name| parts.iter().any(|new| new.called.contains(name)))
        && let Some(new) = parts.first()
    {
        return moved(new);
    }
    // A test with a single value in another notation, such as `assertRaises` as `pytest.raises`: one test has the same
    // calls and values.
    let same = |new: &&&Found| {
        strong(new)
            && old.literals.iter().all(|value| new.literals.contains(value))
            && old.called.iter().all(|name| new.called.contains(name))
    };
    let tells = old.literals.iter().any(|value| value.len() > 1);
    if tells && let Some(new) = parts.iter().find(same) {
        return moved(new);
    }
    // A rewritten test: a test that calls the same functions has most of its values. Whether it asserts as much is
    // checked by `dilution`.
    let mut values = old.literals.clone();
    values.retain(|value| value.len() > 1);
    let kept = |new: &Found| values.iter().filter(|value| new.literals.contains(value)).count() * 100;
    if let Some(new) = parts.iter().filter(|new| strong(new)).max_by_key(|new| kept(new))
        && values.len() > 1
        && kept(new) >= FOUND_AGAIN * values.len()
    {
        return moved(new);
    }
    let total: usize = old.words.values().sum();
    let share = |new: &Found| {
        let common =
            old.words.iter().map(|(word, count)| (*count).min(new.words.get(word).copied().unwrap_or(0)));
        common.sum::<usize>() * 100 / total.max(1)
    };
    // A test that became a table row has no assertion of its own there.
    let best = fresh.iter().filter(|new| new.asserts > 0 || old.asserts == 0).max_by_key(|new| share(new));
    match best {
        Some(new) if share(new) >= FOUND_AGAIN => moved(new),
        Some(_) | None => Fate::Removed,
    }
}

/// Returns whether two tests assert about the same function, one that both call and that is not from a library.
fn calls_same(old: &Found, new: &Found) -> bool {
    old.called.iter().any(|name| new.called.contains(name))
}

/// Returns the functions that a text calls, except assertions.
fn called(text: &str) -> Vec<String> {
    static CALL: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(\b(?:assert|expect|require|Assert|Assertions|chai|t|is)(?:\.\w+)*\.)?\b([A-Za-z_]\w*)\s*\(",
        )
    });
    static MATCHER: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"^(to[A-Z]|is[A-Z]\w*To$|not|deep|strict|ok$)"));
    const OTHERS: [&str; 30] = [
        "assert",
        "expect",
        "test",
        "it",
        "describe",
        "equal",
        "tobe",
        "toequal",
        "tostrictequal",
        "throws",
        "raises",
        "match",
        "list",
        "dict",
        "set",
        "len",
        "str",
        "int",
        "range",
        "run",
        "errorf",
        "fatalf",
        "error",
        "fatal",
        "func",
        "of",
        "new",
        "vec",
        "parametrize",
        "if",
    ];
    // Calls of an assertion library don't show what is tested.
    let names =
        CALL.captures_iter(text).filter(|found| found.get(1).is_none()).map(|found| found[2].to_owned());
    names
        .filter(|name| !MATCHER.is_match(name))
        .filter(|name| {
            let lower = name.to_lowercase();
            !OTHERS.contains(&lower.as_str()) && !lower.starts_with("assert") && !lower.starts_with("test")
        })
        .collect()
}

fn words(text: &str) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    for word in text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()) {
        *counts.entry(word.to_owned()).or_insert(0) += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sides(path: &str, old: &str, new: &str) -> Sides {
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Sides { path: path.to_owned(), old: text(old), new: text(new) }
    }

    #[test]
    fn a_test_lives_on_where_its_content_does() {
        let old = "def test_two():\n    assert total([1, 2]) == 3\n\n\ndef test_big():\n    assert total([9, 9]) == 18\n";
        let fate = |path: &str, new: &str| {
            let files = [sides("test_a.py", old, ""), sides(path, "", new)];
            Account::of(&files).fate("test_two").cloned()
        };
        assert_eq!(fate("test_b.py", old), Some(Fate::Moved("test_two".to_owned())));
        let renamed = old.replace("test_two", "test_adds_two");
        assert_eq!(fate("test_b.py", &renamed), Some(Fate::Moved("test_adds_two".to_owned())));
        assert_eq!(fate("test_b.py", "def test_two():\n    pass\n"), Some(Fate::Removed));
        assert_eq!(fate("test_b.py", "def test_x():\n    assert other(7)\n"), Some(Fate::Removed));
        let table = "@pytest.mark.parametrize('values, sum', [([1, 2], 3), ([9, 9], 18)])\ndef test_total(values, sum):\n    assert total(values) == sum\n";
        assert_eq!(fate("test_b.py", table), Some(Fate::Moved("test_total".to_owned())));
        assert_eq!(Account::of(&[sides("test_a.py", old, old)]), Account::default());
    }

    #[test]
    fn a_test_that_was_split_lives_on_only_if_all_that_it_asserted_does() {
        let old = "describe('sum', () => {\n  it('adds', () => {\n    const cart = make();\n    expect(cart.total(1, 2)).toBe(3);\n    \
                   expect(cart.discount('winter')).toEqual([5, 'percent']);\n    expect(cart.isEmpty()).toBe(false);\n  });\n});\n";
        let split = "describe('totals', () => {\n  it('of two', () => {\n    expect(cart.total(1, 2)).toBe(3);\n  });\n});\n\
                     describe('others', () => {\n  it('has a discount', () => {\n    expect(cart.discount('winter')).toEqual([5, 'percent']);\n  });\n  \
                     it('is filled', () => {\n    expect(cart.isEmpty()).toBe(false);\n  });\n});\n";
        let fate = |new: &str| Account::of(&[sides("a.test.js", old, new)]).fate("sum adds").cloned();
        assert!(matches!(fate(split), Some(Fate::Moved(_))), "{:?}", fate(split));
        let less = split.replace("expect(cart.isEmpty()).toBe(false);", "expect(cart).toBeDefined();");
        assert_eq!(fate(&less), Some(Fate::Removed));
    }

    #[test]
    fn a_table_lives_on_in_tests_that_have_all_of_its_values() {
        let old = "class FormatTest(TestCase):\n    def test_table(self):\n        for n, text in [(0, '00:00'), (570, '09:30'), (1439, '23:59')]:\n            \
                   with self.subTest(n=n):\n                self.assertEqual(format_time(n), text)\n";
        let one = |name: &str, n: u32, text: &str| {
            format!("    def test_{name}(self):\n        self.assertEqual(format_time({n}), '{text}')\n\n")
        };
        let all = format!(
            "class FormatTest(TestCase):\n{}{}{}",
            one("midnight", 0, "00:00"),
            one("morning", 570, "09:30"),
            one("last", 1439, "23:59")
        );
        let fate = |new: &str| Account::of(&[sides("test_a.py", old, new)]).fate("test_table").cloned();
        assert!(matches!(fate(&all), Some(Fate::Moved(_))), "{:?}", fate(&all));
        assert_eq!(fate(&all.replace("1439", "1438")), Some(Fate::Removed));
        assert_eq!(fate(&all.replace("format_time", "parse")), Some(Fate::Removed));
    }

    #[test]
    fn a_test_lives_on_as_a_row_of_a_table_in_other_words() {
        let old = "class ParseTest(TestCase):\n    def test_morning(self):\n        self.assertEqual(parse_time('9:30'), 570)\n";
        let new = "@pytest.mark.parametrize('text, minutes', [('9:30', 570), ('0:00', 0)])\ndef test_parse(text, minutes):\n    \
                   assert parse_time(text) == minutes\n";
        let fate = |new: &str| Account::of(&[sides("test_a.py", old, new)]).fate("test_morning").cloned();
        assert_eq!(fate(new), Some(Fate::Moved("test_parse".to_owned())));
        assert_eq!(fate(&new.replace("570", "571")), Some(Fate::Removed));
        // The test became a row; the body of the remaining test of its name is shorter.
        let old = "def test_max():\n    assert max_ver('3.4.5', '4.0.2') == '4.0.2'\n\n\n\
                   def test_max_same():\n    assert max_ver('3.4.5', '3.4.5') == '3.4.5'\n";
        let new = "@pytest.mark.parametrize('a, b, best', [('3.4.5', '4.0.2', '4.0.2'), ('3.4.5', '3.4.5', '3.4.5')])\n\
                   def test_max(a, b, best):\n    assert max_ver(a, b) == best\n";
        let fate = |new: &str| Account::of(&[sides("test_a.py", old, new)]).fate("test_max_same").cloned();
        assert_eq!(fate(new), Some(Fate::Moved("test_max".to_owned())));
        assert_eq!(fate("def test_max(a, b, best):\n    pass\n"), Some(Fate::Removed));
        let old = "test('reads a price', () => {\n  assert.equal(parsePrice('12.50'), 1250);\n});\n";
        let loops = "for (const { text, cents } of [\n  { text: '12.50', cents: 1250 },\n  { text: '1.15', cents: 115 },\n]) {\n  \
                     test(`reads ${text}`, () => {\n    assert.equal(parsePrice(text), cents);\n  });\n}\n";
        let fate = |new: &str| Account::of(&[sides("a.test.js", old, new)]).fate("reads a price").cloned();
        assert!(matches!(fate(loops), Some(Fate::Moved(_))), "{:?}", fate(loops));
        assert_eq!(fate(&loops.replace("12.50", "12.51")), Some(Fate::Removed));
    }

    #[test]
    fn a_test_with_one_value_lives_on_in_another_notation() {
        let old = "class ParseTest(TestCase):\n    def test_nonsense(self):\n        with self.assertRaises(ValueError):\n            \
                   parse_time('noon')\n";
        let new =
            "def test_parse_nonsense():\n    with pytest.raises(ValueError):\n        parse_time('noon')\n";
        let fate = |new: &str| {
            let files = [sides("test_a.py", old, new)];
            Account::of(&files).fate("test_nonsense").cloned()
        };
        assert_eq!(fate(new), Some(Fate::Moved("test_parse_nonsense".to_owned())));
        for other in [
            new.replace("noon", "12:00"),
            new.replace("parse_time", "format_time"),
            new.replace("    with pytest.raises(ValueError):\n    ", ""),
        ] {
            assert_eq!(fate(&other), Some(Fate::Removed), "{other}");
        }
    }

    #[test]
    fn runners_call_tests_by_more_than_their_name() {
        for called in [
            "a",
            "tests::a",
            "group > a",
            "group a",
            "a[1-2]",
            "TestX.a",
            "a(int)[1]",
            "a/sub",
            "m::a::case_1",
        ] {
            assert!(is_called(called, "a"), "{called}");
        }
        assert!(is_called("match > /a refuses /a/b", "%s refuses %s"));
        assert!(is_called("match > path /a is long", "path $path is long"));
        assert!(!is_called("match > /a accepts /a/b", "%s refuses %s"));
        assert!(!is_called("anything", "%s"));
        for called in ["ab", "ba", "tests::ab", "x[a]"] {
            assert!(!is_called(called, "a"), "{called}");
        }
    }

    #[test]
    fn a_file_that_only_helps_tests_is_none() {
        let helper = "import assert from 'node:assert';\nexport const NOON = 12;\nexport function order(a) {\n  assert.ok(a);\n  return a;\n}\n";
        let fate = |old: &str| {
            let sides =
                Sides { path: "test/helpers/kiosk.js".to_owned(), old: Some(old.to_owned()), new: None };
            Account::of(&[sides]).fate("test/helpers/kiosk.js").cloned()
        };
        assert_eq!(fate(helper), Some(Fate::Helper));
        assert_eq!(fate(&format!("{helper}assert.equal(order(1), 1);\n")), None);
        assert_eq!(fate(&format!("{helper}const same = assert.equal(order(1), 1);\n")), None);
        assert_ne!(fate(&format!("{helper}test('a', () => {{\n  assert.ok(1);\n}});\n")), Some(Fate::Helper));
    }
}
