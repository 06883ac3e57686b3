//! The tests before and after, paired one by one: in their file by name, then in any file by name, then by what they do. What
//! the tests of a pair lost is looked for in the rest of the change before it is held against it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::balance::{Balance, Open, is_implied, settle, weigh};
use super::files::{hidden, is_collected, is_of_tests, loses_tests};
use super::words::{self, Place, Side};
use super::{Examined, Outlines, Promise, TEST_HIDDEN, texts};
use crate::check::Finding;
use crate::check::diff::{Diff, FileChange, Origin, Side as Mark};
use crate::check::outline::{Check, Outline, Strength, Test, from_text};
use crate::check::source::{Language, Source};

/// Pairs of tests that are compared by what they do, in all: enough for an afternoon of renaming, little enough for a second.
const MOST_COMPARED: usize = 20_000;
/// From this share of common words on, two tests are the same one under another name.
const ALIKE: f64 = 0.7;

/// What was done to tests.
pub(super) fn tests(diff: &Diff, outlines: &Outlines, promise: Promise) -> Examined {
    let mut examined = Examined::default();
    let (mut old, mut new) = (HashMap::new(), HashMap::new());
    for (index, file) in diff.files.iter().enumerate() {
        examined.findings.extend(hidden(file));
        let Some(language) = Language::of(file.path()).or_else(|| Language::of(file.old.as_deref()?)) else {
            continue;
        };
        let Some((before, after)) = texts(file) else {
            if is_collected(language, file.path()) {
                let what = "this test file is too large to be looked at: split it";
                examined.findings.push(Finding::new(TEST_HIDDEN, file.path(), None, what));
            }
            continue;
        };
        let sides = sides(file, outlines, index, before, after);
        // A copy leaves its original where it was.
        if file.origin != Origin::Copied {
            old.extend(sides.0.map(|side| (index, side)));
        }
        if !loses_tests(file) {
            new.extend(sides.1.map(|side| (index, side)));
        }
    }
    resolve(&mut old);
    resolve(&mut new);
    let only_tests = diff
        .files
        .iter()
        .enumerate()
        .all(|(index, file)| is_test_change(file, old.get(&index), new.get(&index)));
    examined.findings.extend(super::examples::by_heart(&old, &new));
    let pairs = Pairs::find(&old, &new, diff.files.len());
    pairs.examine(only_tests || promise == Promise::Same, &mut examined);
    if only_tests {
        examined.findings.extend(pairs.executes_only());
    }
    examined
}

/// Both sides of a file, by their trees if there are trees of both, else by their texts.
fn sides(
    file: &FileChange,
    outlines: &Outlines,
    index: usize,
    before: String,
    after: String,
) -> (Option<Side>, Option<Side>) {
    let known = outlines.of(index);
    let whole = |path: Option<&str>, outline: &Option<Outline>| path.is_none() || outline.is_some();
    let trees = known.filter(|known| {
        whole(file.old.as_deref(), &known.before) && whole(file.new.as_deref(), &known.after)
    });
    let side = |path: Option<&str>, text: String, outline: Option<&Outline>| -> Option<Side> {
        let path = path?;
        let language = Language::of(path)?;
        let outline = match outline {
            Some(outline) => outline.clone(),
            None => from_text(language, &Source::new(language, text.clone())),
        };
        Some(Side { path: path.to_owned(), lines: text.lines().map(str::to_owned).collect(), outline })
    };
    (
        side(file.old.as_deref(), before, trees.and_then(|trees| trees.before.as_ref())),
        side(file.new.as_deref(), after, trees.and_then(|trees| trees.after.as_ref())),
    )
}

/// Lets calls of functions that other changed files define count for what those functions assert.
fn resolve(sides: &mut HashMap<usize, Side>) {
    let mut helpers: HashMap<String, Vec<Check>> = HashMap::new();
    for side in sides.values() {
        for helper in &side.outline.helpers {
            helpers.entry(helper.name.clone()).or_insert_with(|| helper.checks.clone());
        }
    }
    for side in sides.values_mut() {
        for test in &mut side.outline.tests {
            for (call, times) in &test.calls {
                let checks = helpers.get(call).into_iter().flatten();
                test.checks.extend(checks.map(|check| Check {
                    line: test.line,
                    times: check.times.saturating_mul(*times),
                    ..check.clone()
                }));
            }
            // A call that counts by its name is worth what the function of that name is worth.
            let mut more = Vec::new();
            test.checks.retain(|check| {
                // `golden.Check(t, …)`: a package or object before the name says where it is, not what it asserts.
                let callee = check.text.split('(').next().unwrap_or_default();
                let is_path = callee.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | ':'));
                let name = callee.rsplit(['.', ':']).next().unwrap_or_default();
                let known = helpers.get(name).filter(|_| is_path && callee.len() < check.text.len());
                match known {
                    Some(known) => {
                        more.extend(known.iter().map(|inner| Check {
                            line: check.line,
                            times: check.times,
                            ..inner.clone()
                        }));
                        false
                    }
                    None => true,
                }
            });
            test.checks.extend(more);
        }
    }
}

/// Whether a file's change touches nothing but tests and words.
fn is_test_change(file: &FileChange, old: Option<&Side>, new: Option<&Side>) -> bool {
    let path = file.path();
    let words = [".md", ".txt", ".rst", ".adoc"].iter().any(|end| path.ends_with(end));
    if words || is_of_tests(path) {
        return true;
    }
    let inside = |side: Option<&Side>, line: u32| {
        side.is_some_and(|side| {
            side.outline.spans.iter().any(|(first, last)| *first <= line && line <= *last)
        })
    };
    !file.lines.is_empty()
        && file.lines.iter().all(|line| match line.side {
            Mark::Both => true,
            Mark::Removed => inside(old, line.number),
            Mark::Added => inside(new, line.number),
        })
}

/// Whether a test calls only what it called before: a new helper may assert for it.
fn calls_nothing_new(before: &Test, after: &Test) -> bool {
    let known = words::bag(&before.body);
    after.calls.iter().all(|(name, _)| known.contains_key(name))
}

struct Pairs<'a> {
    old: &'a HashMap<usize, Side>,
    new: &'a HashMap<usize, Side>,
    found: Vec<(Place, Place)>,
    gone: Vec<Place>,
    fresh: Vec<Place>,
}

impl<'a> Pairs<'a> {
    fn find(old: &'a HashMap<usize, Side>, new: &'a HashMap<usize, Side>, files: usize) -> Self {
        let places = |sides: &HashMap<usize, Side>| -> Vec<Place> {
            (0..files)
                .filter_map(|file| Some((file, sides.get(&file)?)))
                .flat_map(|(file, side)| (0..side.outline.tests.len()).map(move |test| (file, test)))
                .collect()
        };
        let (gone, fresh) = (places(old), places(new));
        let mut pairs = Self { old, new, found: Vec::new(), gone, fresh };
        pairs.pair_by(|place, test| Some((Some(place.0), format!("{}/{}", test.path.join("/"), test.name))));
        pairs.pair_by(|place, test| Some((Some(place.0), test.name.clone())));
        pairs.pair_by(|_, test| Some((None, test.name.clone())));
        // One that does next to nothing is like many.
        pairs.pair_by(|_, test| (test.body.len() > 8).then(|| (None, test.body.clone())));
        pairs.pair_alike();
        pairs
    }

    fn pair_by(&mut self, key: impl Fn(Place, &Test) -> Option<(Option<usize>, String)>) {
        let mut by_key: HashMap<(Option<usize>, String), Vec<Place>> = HashMap::new();
        for place in self.fresh.iter().rev() {
            if let Some(key) = key(*place, words::test(self.new, *place)) {
                by_key.entry(key).or_default().push(*place);
            }
        }
        let (mut taken, mut gone) = (HashSet::new(), std::mem::take(&mut self.gone));
        gone.retain(|old| {
            let partner = key(*old, words::test(self.old, *old)).and_then(|key| by_key.get_mut(&key)?.pop());
            if let Some(new) = partner {
                self.found.push((*old, new));
                taken.insert(new);
            }
            partner.is_none()
        });
        self.gone = gone;
        self.fresh.retain(|place| !taken.contains(place));
    }

    /// Pairs those of one file that share most of their words: renamed together with what they are about.
    fn pair_alike(&mut self) {
        let mut by_file: BTreeMap<usize, (Vec<Place>, Vec<Place>)> = BTreeMap::new();
        for place in &self.gone {
            by_file.entry(place.0).or_default().0.push(*place);
        }
        for place in &self.fresh {
            by_file.entry(place.0).or_default().1.push(*place);
        }
        let mut taken = HashSet::new();
        let mut left = MOST_COMPARED;
        for (gone, fresh) in by_file.values() {
            let Some(rest) = left.checked_sub(gone.len().saturating_mul(fresh.len())) else { continue };
            left = rest;
            let bags = |sides, places: &[Place]| -> Vec<_> {
                places.iter().map(|place| words::bag(&words::test(sides, *place).body)).collect()
            };
            let (before, after) = (bags(self.old, gone), bags(self.new, fresh));
            for (old, before) in gone.iter().zip(&before) {
                let free = fresh.iter().zip(&after).filter(|(new, _)| !taken.contains(*new));
                let scored = free.map(|(new, after)| (words::alike(before, after), *new));
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

    /// What is said of a change of tests alone whose new tests assert nothing.
    fn executes_only(&self) -> Option<Finding> {
        let bare = |place: &&Place| words::is_bare(words::test(self.new, **place));
        let first =
            self.fresh.first().filter(|_| self.fresh.iter().filter(bare).count() == self.fresh.len())?;
        let test = words::test(self.new, *first);
        (!test.body.is_empty() && test.skip.is_none())
            .then(|| words::executes_only(&self.new[&first.0], test))
    }

    /// Functions that were there before and are nowhere now.
    fn removed(&self) -> BTreeSet<String> {
        let names = |sides: &HashMap<usize, Side>| -> BTreeSet<String> {
            sides.values().flat_map(|side| side.outline.defines.iter().cloned()).collect()
        };
        names(self.old).difference(&names(self.new)).cloned().collect()
    }

    /// Functions that are there now, outside of tests, and were nowhere before.
    fn added(&self) -> BTreeSet<String> {
        let names = |sides: &HashMap<usize, Side>| -> BTreeSet<String> {
            let code = sides.values().filter(|side| !is_of_tests(&side.path));
            code.flat_map(|side| side.outline.defines.iter().cloned()).collect()
        };
        names(self.new).difference(&names(self.old)).cloned().collect()
    }

    fn examine(&self, same_expected: bool, examined: &mut Examined) {
        let removed = self.removed();
        let mut lost: Vec<(usize, Open<'a>)> = Vec::new();
        let mut spare: Vec<(usize, Open<'a>)> = Vec::new();
        let mut balances: Vec<(Place, Place, Balance<'a>)> = Vec::new();
        for (old, new) in &self.found {
            let (before, after) = (words::test(self.old, *old), words::test(self.new, *new));
            let mut balance = weigh(&before.checks, &after.checks);
            if before.skip.as_ref().is_some_and(|skip| !skip.conditional) {
                // It did not run before either: nothing is lost with it.
                balance = Balance { spare: balance.spare, ..Balance::default() };
            }
            if after.skip.is_none() {
                spare.extend(balance.spare.iter().map(|open| (new.0, *open)));
            }
            lost.extend(balance.lost.iter().map(|open| (old.0, *open)));
            balances.push((*old, *new, balance));
        }
        for place in &self.fresh {
            let test = words::test(self.new, *place);
            if test.skip.is_none() {
                let nothing: &[Check] = &[];
                spare.extend(weigh(nothing, &test.checks).spare.into_iter().map(|open| (place.0, open)));
            }
        }
        for place in &self.gone {
            let test = words::test(self.old, *place);
            let nothing: &[Check] = &[];
            let all = weigh(&test.checks, nothing).lost;
            lost.extend(all.into_iter().map(|open| (place.0, open)));
        }
        settle(&mut lost, &mut spare, &removed);
        let still: HashMap<*const Check, Open<'a>> =
            lost.iter().map(|(_, open)| (std::ptr::from_ref(open.check), *open)).collect();
        let is_lost = |check: &Check| still.get(&std::ptr::from_ref(check)).copied();
        let report = &mut examined.findings;
        for place in &self.gone {
            let test = words::test(self.old, *place);
            let left: Vec<Open<'_>> = test.checks.iter().filter_map(is_lost).collect();
            // What it asserted is asserted by others now.
            if !left.is_empty() || test.checks.is_empty() {
                report.push(words::gone(
                    &self.old[&place.0],
                    test,
                    &left,
                    &removed,
                    &self.new_names(place.0),
                ));
            }
        }
        for (old, new, balance) in &balances {
            let (old_side, new_side) = (&self.old[&old.0], &self.new[&new.0]);
            let (before, after) = (words::test(self.old, *old), words::test(self.new, *new));
            if let Some(finding) = words::newly_skipped(new_side, before, after) {
                report.push(finding);
                continue;
            }
            let left: Vec<Open<'_>> = balance.lost.iter().filter_map(|open| is_lost(open.check)).collect();
            // A test that stays and asserts nothing any more is no test, whatever another one asserts.
            let emptied = before.name == after.name
                && words::is_bare(after)
                && calls_nothing_new(before, after)
                && balance.lost.iter().any(|open| open.check.strength > Strength::Shape);
            if !left.is_empty() || emptied {
                let shown = if left.is_empty() { &balance.lost } else { &left };
                report.extend(words::weaker((old_side, before), (new_side, after), shown));
            } else if balance.conditional.is_empty() {
                let died = words::died(new_side, before, after);
                report.extend(died.or_else(|| words::left_to_code(new_side, before, after)));
            }
            report.extend(balance.conditional.iter().map(|one| words::conditional(new_side, after, one)));
            let changed = balance
                .other_value
                .iter()
                .map(|(was, is)| words::other_value((old_side, was), (new_side, is), after));
            if same_expected { report.extend(changed) } else { examined.notes.extend(changed) }
        }
        let added = self.added();
        for place in &self.fresh {
            let test = words::test(self.new, *place);
            report.extend(words::copied(&self.new[&place.0], test, &self.own(place.0)));
            let found = words::fresh(&self.new[&place.0], test);
            report.extend(found.or_else(|| words::idle(&self.new[&place.0], test, &added)));
        }
        self.helpers(report);
        self.marks(report);
        self.doubles(report);
        examined.findings.sort_by(|a, b| (&a.file, a.line, a.rule).cmp(&(&b.file, b.line, b.rule)));
        examined.findings.dedup();
    }

    /// Functions that a file of tests came to have, and that use nothing of the project.
    fn own(&self, file: usize) -> BTreeSet<&str> {
        let Some(side) = self.new.get(&file).filter(|side| is_of_tests(&side.path)) else {
            return BTreeSet::new();
        };
        let old = self.old.get(&file);
        let is_new = |name: &&String| !old.is_some_and(|old| old.outline.defines.contains(*name));
        side.outline.own.iter().filter(is_new).map(String::as_str).collect()
    }

    fn new_names(&self, file: usize) -> Vec<String> {
        let Some(side) = self.new.get(&file) else { return Vec::new() };
        let is_test = |name: &&String| side.outline.tests.iter().any(|test| test.name == **name);
        side.outline.defines.iter().filter(|name| !is_test(name)).cloned().collect()
    }

    /// Functions that assert for tests in files that did not change.
    fn helpers(&self, report: &mut Vec<Finding>) {
        let mut after: HashMap<&str, (&Side, &crate::check::outline::Helper)> = HashMap::new();
        for side in self.new.values() {
            after.extend(side.outline.helpers.iter().map(|helper| (helper.name.as_str(), (side, helper))));
        }
        for side in self.old.values().filter(|side| is_of_tests(&side.path)) {
            for helper in &side.outline.helpers {
                let Some((new_side, now)) = after.get(helper.name.as_str()) else { continue };
                let mut left = weigh(&helper.checks, &now.checks).lost;
                let all: Vec<&Check> = now.checks.iter().collect();
                left.retain(|open| !is_implied(open.check, &all));
                let known =
                    report.iter().any(|finding| finding.file.as_deref() == Some(new_side.path.as_str()));
                let fewer = now.checks.iter().map(|check| check.times).sum::<u32>()
                    < helper.checks.iter().map(|check| check.times).sum::<u32>();
                if !left.is_empty() && !known && (fewer || left.iter().any(|open| open.weaker.is_some())) {
                    report.push(words::helper(side, helper, new_side, now, &left));
                }
            }
        }
    }

    /// What keeps more than one test from running, and was not there before.
    fn marks(&self, report: &mut Vec<Finding>) {
        let mut known: Vec<(&str, crate::check::outline::Deed)> = Vec::new();
        for side in self.old.values() {
            known.extend(side.outline.marks.iter().map(|mark| (mark.text.as_str(), mark.deed)));
        }
        for side in self.new.values() {
            for mark in &side.outline.marks {
                match known.iter().position(|(text, deed)| *text == mark.text && *deed == mark.deed) {
                    Some(at) => drop(known.swap_remove(at)),
                    None => report.push(words::mark(side, mark)),
                }
            }
        }
    }

    /// Doubles in place of what a test is about.
    fn doubles(&self, report: &mut Vec<Finding>) {
        for (old, new) in &self.found {
            let (old_side, new_side) = (&self.old[&old.0], &self.new[&new.0]);
            let (before, after) = (words::test(self.old, *old), words::test(self.new, *new));
            let about: BTreeSet<&str> =
                before.checks.iter().flat_map(|check| check.about.iter().map(String::as_str)).collect();
            let doubled = |side: &Side, name: &str| {
                side.outline.doubles.iter().any(|double| double.names.iter().any(|other| other == name))
            };
            for double in &new_side.outline.doubles {
                // One that stands in another test is not this test's.
                let elsewhere = new_side.outline.tests.iter().any(|other| {
                    other.line <= double.line && double.line <= other.last && other.line != after.line
                });
                let name = double
                    .names
                    .iter()
                    .find(|name| about.contains(name.as_str()) && !doubled(old_side, name));
                if let Some(name) = name.filter(|_| !elsewhere) {
                    report.push(words::doubled(new_side, after, double, name));
                }
            }
            let own = |name: &&&str| {
                let name = (**name).to_owned();
                old_side.outline.imports.contains(&name)
                    && !old_side.outline.defines.contains(&name)
                    && new_side.outline.defines.contains(&name)
                    && !new_side.outline.imports.contains(&name)
                    && is_of_tests(&new_side.path)
            };
            if about.iter().any(|name| !old_side.outline.defines.iter().any(|known| known == name)) {
                report.extend(words::copied(new_side, after, &self.own(new.0)));
            }
            if let Some(name) = about.iter().find(own) {
                report.push(words::redefined(new_side, after, name));
            }
        }
    }
}
