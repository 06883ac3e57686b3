//! The tests before and after, paired one by one: in their file by name, then in any file by name, then by what they do.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::{ASSERTIONS_REMOVED, TEST_HIDDEN, TEST_REMOVED, TEST_SKIPPED, texts};
use crate::check::Finding;
use crate::check::cases::{Case, cases};
use crate::check::diff::{Diff, FileChange, Origin};
use crate::check::source::{Language, Source};

/// Lines of evidence that are shown of one test.
const SHOWN: usize = 5;
/// Tests without a partner that are compared by what they do, in one file: each with each.
const MOST_COMPARED: usize = 200;
/// What is compared of a test's body.
const COMPARED: usize = 32 * 1024;
/// From this share of common words on, two tests are the same one under another name.
const ALIKE: f64 = 0.7;

/// One side of a file that has tests.
struct Side {
    path: String,
    source: Source,
    cases: Vec<Case>,
}

/// A test, by its file's place in the list and its place in that file.
type Place = (usize, usize);

/// What was done to tests.
pub(super) fn tests(diff: &Diff) -> Vec<Finding> {
    let mut findings = Vec::new();
    let (mut old, mut new) = (Vec::new(), Vec::new());
    for (index, file) in diff.files.iter().enumerate() {
        findings.extend(hidden(file));
        let Some(language) = Language::of(file.path()).or_else(|| Language::of(file.old.as_deref()?)) else {
            continue;
        };
        let Some((before, after)) = texts(file) else {
            if is_collected(language, file.path()) {
                let what = "this file of tests is too large to be looked at";
                findings.push(Finding::new(TEST_HIDDEN, file.path(), None, what));
            }
            continue;
        };
        // A copy leaves its original where it was.
        if file.origin != Origin::Copied {
            old.push((index, side(file.old.as_deref(), before)));
        }
        let lost = file.old.as_deref().is_some_and(|old| is_lost(old, file.path()));
        new.push((index, if lost { None } else { side(file.new.as_deref(), after) }));
    }
    let keep = |sides: Vec<(usize, Option<Side>)>| -> HashMap<usize, Side> {
        sides.into_iter().filter_map(|(index, side)| Some((index, side?))).collect()
    };
    let pairs = Pairs::find(keep(old), keep(new), diff.files.len());
    findings.extend(pairs.findings());
    findings
}

fn side(path: Option<&str>, text: String) -> Option<Side> {
    let path = path?;
    let language = Language::of(path)?;
    let source = Source::new(language, text);
    let cases = cases(language, &source);
    Some(Side { path: path.to_owned(), source, cases })
}

/// A file of tests that is one no more: by its name, or by having become something that is not text.
fn hidden(file: &FileChange) -> Option<Finding> {
    let (old, new) = (file.old.as_deref()?, file.new.as_deref()?);
    let language = Language::of(old)?;
    if file.origin == Origin::Renamed && is_lost(old, new) {
        let what = format!("the tests of {old} are here now, where no runner looks for them");
        return Some(Finding::new(TEST_HIDDEN, new, None, what));
    }
    let what = "this file of tests is not text any more";
    (file.binary && is_collected(language, old)).then(|| Finding::new(TEST_HIDDEN, new, None, what))
}

/// Whether a runner that finds tests in `old` would find none in `new`.
fn is_lost(old: &str, new: &str) -> bool {
    match (Language::of(old), Language::of(new)) {
        (Some(before), Some(after)) => is_collected(before, old) && !is_collected(after, new),
        (Some(before), None) => is_collected(before, old),
        (None, _) => false,
    }
}

/// Whether runners look for tests in a file of this name, by the conventions of the language.
fn is_collected(language: Language, path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let in_folder = |names: &[&str]| folder.split('/').any(|part| names.contains(&part));
    match language {
        Language::Rust => true,
        Language::Script => {
            matches!(stem.rsplit_once('.'), Some((_, "test" | "spec")))
                || stem.ends_with("_test")
                || stem.ends_with("-test")
                || stem.starts_with("test-")
                || stem == "test"
                || in_folder(&["__tests__", "test", "tests", "spec"])
        }
        Language::Python => stem.starts_with("test_") || stem.ends_with("_test") || stem == "tests",
        Language::Go => stem.ends_with("_test"),
        Language::Java => {
            stem.ends_with("Test")
                || stem.ends_with("Tests")
                || stem.ends_with("TestCase")
                || stem.ends_with("IT")
                || stem.starts_with("Test")
        }
    }
}

struct Pairs {
    old: HashMap<usize, Side>,
    new: HashMap<usize, Side>,
    found: Vec<(Place, Place)>,
    gone: Vec<Place>,
    fresh: Vec<Place>,
}

impl Pairs {
    fn find(old: HashMap<usize, Side>, new: HashMap<usize, Side>, files: usize) -> Self {
        let places = |sides: &HashMap<usize, Side>| -> Vec<Place> {
            let of = |file: usize| sides.get(&file).map_or(0, |side| side.cases.len());
            (0..files).flat_map(|file| (0..of(file)).map(move |case| (file, case))).collect()
        };
        let (gone, fresh) = (places(&old), places(&new));
        let mut pairs = Self { old, new, found: Vec::new(), gone, fresh };
        pairs.pair(
            |pairs, place| Some((place.0, pairs.old_case(place).name.clone())),
            |pairs, place| Some((place.0, pairs.new_case(place).name.clone())),
        );
        pairs.pair(
            |pairs, place| Some((pairs.old_case(place).name.clone(), essence(&pairs.old, place)?)),
            |pairs, place| Some((pairs.new_case(place).name.clone(), essence(&pairs.new, place)?)),
        );
        pairs.pair(|pairs, place| essence(&pairs.old, place), |pairs, place| essence(&pairs.new, place));
        pairs.pair(
            |pairs, place| Some(pairs.old_case(place).name.clone()),
            |pairs, place| Some(pairs.new_case(place).name.clone()),
        );
        pairs.pair_alike();
        pairs
    }

    fn old_case(&self, (file, case): Place) -> &Case {
        &self.old[&file].cases[case]
    }

    fn new_case(&self, (file, case): Place) -> &Case {
        &self.new[&file].cases[case]
    }

    /// Pairs those without a partner that have the same key, in order.
    fn pair<K: Eq + std::hash::Hash>(
        &mut self,
        old_key: impl Fn(&Self, Place) -> Option<K>,
        new_key: impl Fn(&Self, Place) -> Option<K>,
    ) {
        let mut by_key: HashMap<K, Vec<Place>> = HashMap::new();
        for place in self.fresh.iter().rev() {
            if let Some(key) = new_key(self, *place) {
                by_key.entry(key).or_default().push(*place);
            }
        }
        let mut taken = HashSet::new();
        let mut found = Vec::new();
        let mut gone = std::mem::take(&mut self.gone);
        gone.retain(|old| {
            let partner = old_key(self, *old).and_then(|key| by_key.get_mut(&key)?.pop());
            found.extend(partner.map(|new| (*old, new)));
            taken.extend(partner);
            partner.is_none()
        });
        self.gone = gone;
        self.found.extend(found);
        self.fresh.retain(|place| !taken.contains(place));
    }

    /// Pairs those of one file that share most of their words: renamed together with what they are about.
    fn pair_alike(&mut self) {
        let mut by_file: HashMap<usize, (Vec<Place>, Vec<Place>)> = HashMap::new();
        for place in &self.gone {
            by_file.entry(place.0).or_default().0.push(*place);
        }
        for place in &self.fresh {
            by_file.entry(place.0).or_default().1.push(*place);
        }
        let mut taken = HashSet::new();
        for (gone, fresh) in by_file.values() {
            if gone.len() > MOST_COMPARED || fresh.len() > MOST_COMPARED {
                continue;
            }
            let words_of = |sides, places: &[Place]| -> Vec<_> {
                places.iter().map(|place| words(&essence(sides, *place).unwrap_or_default())).collect()
            };
            let (before, after) = (words_of(&self.old, gone), words_of(&self.new, fresh));
            for (old, before) in gone.iter().zip(&before) {
                let free = fresh.iter().zip(&after).filter(|(new, _)| !taken.contains(*new));
                let scored = free.map(|(new, after)| (alike(before, after), *new));
                if let Some((score, new)) = scored.max_by(|a, b| a.0.total_cmp(&b.0))
                    && score >= ALIKE
                {
                    taken.insert(new);
                    self.found.push((*old, new));
                }
            }
        }
        let paired: HashSet<Place> = self.found.iter().map(|(old, _)| *old).collect();
        self.gone.retain(|place| !paired.contains(place));
        self.fresh.retain(|place| !taken.contains(place));
    }

    fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for place in &self.gone {
            let (side, case) = (&self.old[&place.0], self.old_case(*place));
            let what = format!("the test `{}` is gone", case.name);
            let line = side.source.line_text(case.line);
            findings.push(Finding::new(TEST_REMOVED, &side.path, Some(case.line), what).with('-', line));
        }
        for (old, new) in &self.found {
            let (before, after) = (self.old_case(*old), self.new_case(*new));
            let (old_side, new_side) = (&self.old[&old.0], &self.new[&new.0]);
            if before.skipped.is_none() {
                findings.extend(skipped(new_side, after));
            }
            if after.asserts.len() < before.asserts.len() {
                findings.push(fewer(old_side, before, new_side, after));
            }
        }
        for place in &self.fresh {
            findings.extend(skipped(&self.new[&place.0], self.new_case(*place)));
        }
        findings.sort_by(|a, b| (&a.file, a.line, a.rule).cmp(&(&b.file, b.line, b.rule)));
        findings
    }
}

fn skipped(side: &Side, case: &Case) -> Option<Finding> {
    let line = case.skipped?;
    let what = format!("the test `{}` does not run, or is not expected to pass", case.name);
    Some(Finding::new(TEST_SKIPPED, &side.path, Some(line), what).with('+', side.source.line_text(line)))
}

fn fewer(old_side: &Side, before: &Case, new_side: &Side, after: &Case) -> Finding {
    let (was, is) = (before.asserts.len(), after.asserts.len());
    let what = format!("the test `{}` asserts {was} things before and {is} after", before.name);
    let left: HashSet<&str> =
        after.asserts.iter().map(|line| new_side.source.line_text(*line).trim()).collect();
    let gone = before.asserts.iter().map(|line| old_side.source.line_text(*line));
    let gone = gone.filter(|text| !left.contains(text.trim())).take(SHOWN);
    let finding = Finding::new(ASSERTIONS_REMOVED, &new_side.path, Some(after.line), what);
    gone.fold(finding, |finding, text| finding.with('-', text))
}

/// What a test does, without its name, its comments and its blanks. Nothing for one that does next to nothing: many do.
fn essence(sides: &HashMap<usize, Side>, (file, case): Place) -> Option<String> {
    let side = sides.get(&file)?;
    let Range { start, end } = side.cases[case].body;
    let text = side.source.essence(start..end.min(start + COMPARED));
    (text.len() > 8).then_some(text)
}

fn words(text: &str) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    for word in
        text.split(|char: char| !char.is_alphanumeric() && char != '_').filter(|word| !word.is_empty())
    {
        *counts.entry(word.to_owned()).or_insert(0) += 1;
    }
    counts
}

/// The share of words that two have in common, from 0 to 1.
#[expect(
    clippy::cast_precision_loss,
    reason = "a share of a few thousand words needs no more than a float has"
)]
fn alike(a: &HashMap<String, usize>, b: &HashMap<String, usize>) -> f64 {
    let common: usize = a.iter().map(|(word, count)| (*count).min(b.get(word).copied().unwrap_or(0))).sum();
    let all: usize = a.values().sum::<usize>() + b.values().sum::<usize>();
    if all == 0 { 0.0 } else { 2.0 * common as f64 / all as f64 }
}
