//! Checks whether rewritten tests detect as much as those that they replace. It breaks single places of the code, one
//! at a time; what the old tests detect, the new ones must detect too.
//!
//! A test may become a table row, a property, or a test of another framework. A comparison of texts cannot tell that
//! from a loss; running both can.

use std::collections::BTreeSet;

use super::broken;
use super::earlier::Edited;
use super::is_fault_of_test;
use super::noticed::{applied, of_line};
use super::turned::TestFile;
use crate::check::functions::functions;
use crate::check::outline::literals;
use crate::check::source::{Language, Source};
use crate::results::{Known, Merged, TestId};

/// Maximum number of places to break.
const MOST: usize = 16;

/// Number of places after which the search stops if it has a conclusion.
const ENOUGH: usize = 10;

/// Minimum number of places that the old tests must detect for a conclusion.
const FEWEST: usize = 2;

/// Lines that only the old tests have, and lines that only the new ones have.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    /// Removed lines.
    pub lost: String,
    /// Number of removed lines.
    gone: usize,
    /// Number of added lines.
    added: usize,
    /// Numbers and texts in the new tests.
    values: BTreeSet<String>,
}

impl Lines {
    /// Compares files of tests and helpers.
    pub fn of(files: &[TestFile]) -> Self {
        let all = |text: fn(&TestFile) -> &str| -> BTreeSet<&str> {
            let lines = files.iter().flat_map(|file| text(file).lines()).map(str::trim);
            lines.filter(|line| line.chars().any(char::is_alphanumeric)).collect()
        };
        let (before, after) = (all(|file| &file.old), all(|file| &file.new));
        let lost: Vec<&str> = before.difference(&after).copied().collect();
        let values = files.iter().flat_map(|file| told(&file.new)).collect();
        Self { gone: lost.len(), lost: lost.join("\n"), added: after.difference(&before).count(), values }
    }

    /// Returns whether there is a replacement for the removed lines. Without one there is nothing to run.
    pub fn is_rewritten(&self) -> bool {
        self.added >= 1 && self.added * 3 >= self.gone
    }

    /// Returns whether the new tests have the values of the removed lines: all of them, or most.
    pub fn keeps_values(&self, all: bool) -> bool {
        let lost: BTreeSet<String> = told(&self.lost).collect();
        let kept = lost.iter().filter(|value| self.values.contains(*value)).count();
        if all { kept == lost.len() } else { 2 * kept >= lost.len() }
    }
}

/// Returns the significant numbers and texts of a piece of code: without zero, one and single letters.
fn told(text: &str) -> impl Iterator<Item = String> {
    text.lines().flat_map(literals).filter(|value| value.len() > 1).collect::<Vec<_>>().into_iter()
}

/// A code file that is broken in one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Path.
    pub path: String,
    /// Line, from 1.
    pub line: u32,
    /// Broken text.
    pub text: String,
}

/// Returns places of the code to break: first in functions that `lost` names, then anywhere, spread evenly.
pub fn places(code: &[(String, String)], lost: &str) -> Vec<Place> {
    let (mut near, mut far) = (Vec::new(), Vec::new());
    for (path, text) in code {
        let Some(language) = Language::of(path) else { continue };
        let source = Source::new(language, text.clone());
        let last = source.line_of(text.len());
        let named: Vec<(u32, u32)> = functions(language, &source)
            .into_iter()
            .filter(|function| has_word(lost, &function.name))
            .map(|function| {
                (source.line_of(function.at), source.line_of(function.body.end.saturating_sub(1)))
            })
            .collect();
        let is_near = |line: u32| named.iter().any(|(first, last)| *first <= line && line <= *last);
        for place in of_file(language, path, &source, last) {
            if is_near(place.line) { near.push(place) } else { far.push(place) }
        }
    }
    let mut places = spread(near, MOST);
    let left = MOST - places.len();
    // Places in named functions suffice, if there are enough.
    if places.len() < MOST / 2 {
        places.extend(spread(far, left.min(MOST / 2)));
    }
    places
}

/// Breaks the same line in a file of other code: the one with the same path, or the only one that has the line. Returns
/// `None` if the line does not exist there, or not as often.
pub fn carried(place: &Place, was: &str, code: &[(String, String)]) -> Option<(String, String)> {
    let index = (place.line as usize).checked_sub(1)?;
    let (old, new) = (was.lines().nth(index)?, place.text.lines().nth(index)?);
    // Exactly one line differs.
    let others = was.lines().zip(place.text.lines()).filter(|(was, is)| was != is).count();
    if others != 1 || old == new || was.lines().count() != place.text.lines().count() {
        return None;
    }
    let count = |text: &str| text.lines().filter(|line| *line == old).count();
    let nth = was.lines().take(index).filter(|line| *line == old).count();
    let has = |(_, text): &&(String, String)| count(text) == count(was);
    let here = code.iter().find(|(path, _)| *path == place.path);
    let (path, text) = if let Some(here) = here {
        Some(here).filter(has)?
    } else {
        let mut all = code.iter().filter(has);
        all.next().filter(|_| all.next().is_none())?
    };
    let mut seen = 0;
    let lines = text.split_inclusive('\n').map(|line| {
        let bare = line.trim_end_matches(['\n', '\r']);
        if bare != old {
            return line.to_owned();
        }
        seen += 1;
        if seen == nth + 1 { line.replacen(old, new, 1) } else { line.to_owned() }
    });
    Some((path.clone(), lines.collect()))
}

/// Returns `most` items at equal distances.
fn spread(all: Vec<Place>, most: usize) -> Vec<Place> {
    let count = all.len();
    if count <= most {
        return all;
    }
    let wanted: BTreeSet<usize> = (0..most).map(|number| number * count / most).collect();
    all.into_iter().enumerate().filter(|(index, _)| wanted.contains(index)).map(|(_, place)| place).collect()
}

fn of_file(language: Language, path: &str, source: &Source, last: u32) -> Vec<Place> {
    let tests = if language == Language::Rust { super::inline::test_items(&source.text) } else { Vec::new() };
    let mut places: Vec<Place> = Vec::new();
    let mut add = |line: u32, text: String| {
        if text != source.text && !places.iter().any(|known| known.text == text) {
            places.push(Place { path: path.to_owned(), line, text });
        }
    };
    for line in 1..=last {
        for edits in of_line(language, path, source, line) {
            if !edits.is_empty() {
                add(line, applied(&source.text, edits));
            }
        }
    }
    for way in [broken::Way::Texts, broken::Way::Numbers, broken::Way::Bounds] {
        for (at, new) in broken::values(language, source, way) {
            if tests.iter().any(|test| test.contains(&at.start)) {
                continue;
            }
            add(source.line_of(at.start), applied(&source.text, vec![(at, new)]));
        }
    }
    places.sort_by_key(|place| place.line);
    places
}

fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    word.len() > 1
        && text.match_indices(word).any(|(at, _)| {
            !text[..at].chars().next_back().is_some_and(is_part)
                && !text[at + word.len()..].chars().next().is_some_and(is_part)
        })
}

/// The old and new tests to compare, of those that pass on unbroken code.
#[derive(Clone, Debug, Default)]
pub struct Rewritten {
    /// Old tests that were rewritten or removed.
    old: BTreeSet<TestId>,
    /// New tests that were rewritten or added.
    new: BTreeSet<TestId>,
    /// Tests with the same text, if something beside them changed.
    same: BTreeSet<TestId>,
}

impl Rewritten {
    /// Collects the tests. `before` are the results of the base's tests on the new code, `now` those of the change's.
    pub fn of(edited: &Edited, before: &Merged, now: &Merged) -> Self {
        let (mut old, mut new) = (before.passing(), now.passing());
        let is_same = |id: &&TestId| !edited.names(id) && new.contains(*id) && edited.touches_helpers();
        let same = old.iter().filter(is_same).cloned().collect();
        old.retain(|id| edited.names(id) || now.of(id) == Known::Absent);
        new.retain(|id| edited.names(id) || before.of(id) == Known::Absent);
        Self { old, new, same }
    }

    /// Returns whether these contain all rewritten or removed tests of `of_base`, so that none of them fails on the new
    /// code.
    pub fn has_all(&self, of_base: &Self) -> bool {
        of_base.old.is_subset(&self.old)
    }

    /// Returns whether there is anything to compare.
    pub fn is_comparable(&self) -> bool {
        !self.old.is_empty() && !self.new.is_empty() || !self.same.is_empty()
    }

    /// Returns the old tests that detect broken code.
    pub fn noticing(&self, before: &Merged) -> BTreeSet<TestId> {
        self.old.iter().chain(&self.same).filter(|id| fails(before, id)).cloned().collect()
    }

    /// Returns whether the new tests detect it as well.
    pub fn notices(&self, before: &Merged, after: &Merged) -> bool {
        let rewritten = !self.old.iter().any(|id| fails(before, id))
            || self.new.iter().any(|id| after.of(id) != Known::Passed);
        rewritten && self.same.iter().all(|id| !fails(before, id) || after.of(id) != Known::Passed)
    }

    /// Returns tests whose new version fails on broken code that the old version passed.
    pub fn gaining(&self, before: &Merged, after: &Merged) -> BTreeSet<TestId> {
        let all = self.old.intersection(&self.new);
        all.filter(|id| before.of(id) == Known::Passed && fails(after, id)).cloned().collect()
    }

    /// Returns whether a rewritten test of the same name has not detected anything yet in either version.
    pub fn may_gain(&self, found: &Noticed) -> bool {
        self.old.intersection(&self.new).any(|id| !found.by.contains(id) && !found.gained.contains(id))
    }

    /// Returns whether there is enough data: each rewritten or removed test detected something, or its new version
    /// detects more.
    pub fn is_told(&self, found: &Noticed) -> bool {
        found.places.len() >= FEWEST
            && self.old.iter().all(|id| found.by.contains(id) || found.gained.contains(id))
    }
}

/// What tests detected in broken code.
#[derive(Clone, Debug, Default)]
pub struct Noticed {
    /// Number of broken places.
    pub tried: usize,
    /// Numbers of the places that a test detected.
    pub places: BTreeSet<usize>,
    /// Tests of the base that detected one.
    pub by: BTreeSet<TestId>,
    /// Tests of which only the new version detected one.
    pub gained: BTreeSet<TestId>,
}

impl Noticed {
    /// Returns whether enough places were tried for a conclusion.
    pub fn is_enough(&self) -> bool {
        self.tried >= ENOUGH
    }
}

/// Returns whether a test fails by an assertion.
fn fails(merged: &Merged, id: &TestId) -> bool {
    match merged.of(id) {
        Known::Red(case) => !is_fault_of_test(&case.message),
        Known::Passed | Known::Skipped | Known::Flaky | Known::Absent => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Case, Outcome, Results};

    fn id(name: &str) -> TestId {
        TestId { suite: "s".to_owned(), name: name.to_owned() }
    }

    fn ran(tests: &[(&str, Outcome)]) -> Merged {
        let mut results = Results::default();
        for (name, outcome) in tests {
            results.tests.insert(id(name), Case::plain(*outcome, "assert 1 == 2"));
        }
        let mut merged = Merged::default();
        merged.add(results);
        merged
    }

    #[test]
    fn functions_that_tests_name_are_broken_first_and_one_place_at_a_time() {
        let code = "def price(a):\n    if a > 3:\n        return a\n    return a * 2\n\ndef other(a):\n    return a\n";
        let places = places(&[("app/price.py".to_owned(), code.to_owned())], "assert price(3) == 3");
        let lines: Vec<u32> = places.iter().map(|place| place.line).collect();
        assert!(lines.contains(&2) && lines.contains(&3) && lines.contains(&4), "{lines:?}");
        assert!(places.iter().all(|place| place.text != code));
        assert!(places.len() <= MOST);
    }

    #[test]
    fn tests_that_only_lost_lines_are_not_written_anew() {
        let lines = |old: &str, new: &str| {
            let file =
                TestFile { path: "tests/test_a.py".to_owned(), old: old.to_owned(), new: new.to_owned() };
            Lines::of(&[file])
        };
        let two = "def test_a():\n    assert f(1) == 2\n    assert f(2) == 3\n";
        let less = lines(two, "def test_a():\n    assert f(1) == 2\n");
        assert_eq!((less.lost.as_str(), less.is_rewritten()), ("assert f(2) == 3", false));
        let rows = "@rows([(1, 2), (2, 3)])\ndef test_a(a, b):\n    assert f(a) == b\n";
        assert!(lines(two, rows).is_rewritten());
    }

    #[test]
    fn a_broken_line_is_broken_in_other_code_that_has_it() {
        let was = "def f(a):\n    if a > 3:\n        return a\n    return a\n";
        let place = Place { path: "a.py".to_owned(), line: 2, text: was.replace("a > 3", "a > 4") };
        let code = |path: &str, text: &str| vec![(path.to_owned(), text.to_owned())];
        let new = format!("import re\n{was}\n\ndef g():\n    return 1\n");
        let broken = new.replace("a > 3", "a > 4");
        assert_eq!(carried(&place, was, &code("a.py", &new)), Some(("a.py".to_owned(), broken.clone())));
        // A moved file is the only one that has the line.
        assert_eq!(carried(&place, was, &code("b.py", &new)), Some(("b.py".to_owned(), broken)));
        let two = [code("b.py", &new), code("c.py", &new)].concat();
        assert_eq!(carried(&place, was, &two), None);
        assert_eq!(carried(&place, was, &code("a.py", &new.replace("a > 3", "a > 5"))), None);
    }

    #[test]
    fn values_of_lines_that_are_gone_are_looked_for_in_the_tests() {
        let lines = |new: &str| {
            let old = "def test_a():\n    assert f(\"ab\") == 100\n".to_owned();
            Lines::of(&[TestFile { path: "tests/test_a.py".to_owned(), old, new: new.to_owned() }])
        };
        let kept = lines("ROWS = [(\"ab\", 100)]\n");
        assert!(kept.keeps_values(true) && kept.keeps_values(false));
        let half = lines("ROWS = [(\"ab\", 10)]\n");
        assert!(!half.keeps_values(true) && half.keeps_values(false));
        assert!(!lines("def test_a():\n    assert f(1)\n").keeps_values(false));
    }

    #[test]
    fn what_the_old_tests_notice_the_new_ones_must_notice() {
        use Outcome::{Failed, Passed};
        let old = "def test_a():\n    assert f(1) == 2\n\n\ndef test_c():\n    assert f(3) == 4\n";
        let new = "def test_rows(a):\n    assert f(a) == a + 1\n\n\ndef test_c():\n    assert f(3) == 4\n";
        let file = TestFile { path: "tests/test_a.py".to_owned(), old: old.to_owned(), new: new.to_owned() };
        let edited = Edited::of(&[file]);
        let before = ran(&[("test_a", Passed), ("test_c", Passed)]);
        let now = ran(&[("test_rows[1]", Passed), ("test_c", Passed)]);
        let tests = Rewritten::of(&edited, &before, &now);
        assert!(tests.is_comparable());
        let by = tests.noticing(&ran(&[("test_a", Failed), ("test_c", Passed)]));
        assert_eq!(by, [id("test_a")].into());
        let noticed = |places: usize, by: &BTreeSet<TestId>| Noticed {
            places: (0..places).collect(),
            by: by.clone(),
            ..Noticed::default()
        };
        assert!(tests.is_told(&noticed(2, &by)) && !tests.is_told(&noticed(1, &by)));
        assert!(!tests.is_told(&noticed(2, &BTreeSet::new())));
        let red = ran(&[("test_a", Failed), ("test_c", Failed)]);
        assert!(tests.notices(&red, &ran(&[("test_rows[1]", Failed), ("test_c", Passed)])));
        // An unchanged test that detects something does not make up for a loss.
        assert!(tests.noticing(&ran(&[("test_a", Passed), ("test_c", Failed)])).is_empty());
        assert!(!tests.notices(&red, &ran(&[("test_rows[1]", Passed), ("test_c", Failed)])));
    }

    #[test]
    fn a_test_that_noticed_nothing_is_no_weaker_if_it_notices_something_now() {
        use Outcome::{Failed, Passed};
        let old =
            "def test_wait():\n    assert took() < 500\n\n\ndef test_gone():\n    assert took() < 500\n";
        let new = "def test_wait():\n    assert clock.now == 3\n";
        let file = TestFile { path: "tests/test_a.py".to_owned(), old: old.to_owned(), new: new.to_owned() };
        let one = TestFile { old: old.split("\n\n\n").next().unwrap_or_default().to_owned(), ..file.clone() };
        let passes = ran(&[("test_wait", Passed)]);
        let tests = Rewritten::of(&Edited::of(&[one]), &passes, &passes);
        let gained = tests.gaining(&passes, &ran(&[("test_wait", Failed)]));
        assert_eq!(gained, [id("test_wait")].into());
        let mut found = Noticed { places: [0, 1].into(), ..Noticed::default() };
        assert!(tests.may_gain(&found) && !tests.is_told(&found));
        found.gained = gained;
        assert!(!tests.may_gain(&found) && tests.is_told(&found));
        // A removed test has no new version.
        let before = ran(&[("test_wait", Passed), ("test_gone", Passed)]);
        let tests = Rewritten::of(&Edited::of(&[file]), &before, &passes);
        assert!(!tests.may_gain(&found) && !tests.is_told(&found));
    }
}
