//! What is said about a test that became weaker, and what to do about it.

use std::collections::{BTreeSet, HashMap};

use super::balance::{Conditional, Open, is_blunt};
use super::{
    ASSERTION_DEAD, ASSERTION_WEAKENED, ASSERTIONS_REMOVED, EXPECTATION_CHANGED, FEATURE_REMOVED,
    RETRIES_ADDED, SUBJECT_REPLACED, TEST_REMOVED, TEST_SKIPPED,
};
use crate::check::outline::{Check, Deed, Double, Helper, Mark, Outline, Strength, Test};
use crate::check::{Doubt, Finding};

/// Lines of evidence that are shown of one test.
const SHOWN: usize = 5;

/// One side of a file.
pub(super) struct Side {
    pub(super) path: String,
    pub(super) lines: Vec<String>,
    pub(super) outline: Outline,
}

impl Side {
    pub(super) fn line(&self, number: u32) -> &str {
        let at = (number as usize).saturating_sub(1);
        self.lines.get(at).map_or("", String::as_str)
    }
}

/// A test, by its file's place in the list and its place in that file.
pub(super) type Place = (usize, usize);

pub(super) fn test(sides: &HashMap<usize, Side>, (file, test): Place) -> &Test {
    &sides[&file].outline.tests[test]
}

fn finding(rule: &'static str, side: &Side, line: u32, what: String) -> Finding {
    Finding::new(rule, &side.path, Some(line), what)
}

/// A test that is gone, and whose assertions are nowhere else.
pub(super) fn gone(
    side: &Side,
    test: &Test,
    left: &[Open<'_>],
    removed: &BTreeSet<String>,
    names: &[String],
) -> Finding {
    let about = left.iter().flat_map(|open| &open.check.about).find(|name| removed.contains(*name));
    let other = names.iter().find(|name| {
        let bare =
            test.name.trim_start_matches("test_").trim_start_matches("test").trim_start_matches("Test");
        !bare.is_empty() && name.contains(bare) && **name != test.name
    });
    let (rule, what) = match (about, other) {
        (Some(name), _) => (
            FEATURE_REMOVED,
            format!(
                "the test `{}` is gone together with `{name}`, which it tests: if the task is to remove that, allow it with the tag allow-dilution:{FEATURE_REMOVED}, else restore both",
                test.name
            ),
        ),
        (None, Some(other)) => (
            TEST_REMOVED,
            format!(
                "the test `{}` is gone; `{other}` has a name that the test runner does not run: restore the name",
                test.name
            ),
        ),
        (None, None) => (
            TEST_REMOVED,
            format!(
                "the test `{}` is gone, and nothing else asserts what it asserted: restore it",
                test.name
            ),
        ),
    };
    let gone = finding(rule, side, test.line, what).with('-', side.line(test.line));
    if rule == TEST_REMOVED { gone.unless(Doubt::Strength) } else { gone }
}

/// A test that runs no more.
pub(super) fn newly_skipped(side: &Side, before: &Test, after: &Test) -> Option<Finding> {
    let skip = after.skip.as_ref()?;
    let new = match &before.skip {
        None => true,
        Some(old) => old.conditional && (!skip.conditional || old.text != skip.text),
    };
    new.then(|| {
        let how = if skip.conditional {
            "runs only under a condition now"
        } else {
            "does not run, or is not expected to pass"
        };
        let what = format!("the test `{}` {how}: take the skip away and make the test pass", after.name);
        finding(TEST_SKIPPED, side, skip.line, what).with('+', side.line(skip.line))
    })
}

/// A new test that is worth nothing.
pub(super) fn fresh(side: &Side, test: &Test) -> Option<Finding> {
    if let Some(skip) = &test.skip {
        // A test that is only announced, or that runs where it can, takes nothing away.
        let real = !skip.conditional && !test.body.is_empty();
        return real.then(|| {
            let what = format!(
                "the new test `{}` does not run, or is not expected to pass: let it run, or leave it out",
                test.name
            );
            finding(TEST_SKIPPED, side, skip.line, what).with('+', side.line(skip.line))
        });
    }
    if let Some(check) = only_by_result(test) {
        let what = format!(
            "the new test `{}` asserts nothing unless `{}`, which is for the code to decide: assert it always",
            test.name,
            brief(check.only_if.as_deref().unwrap_or_default())
        );
        return Some(finding(ASSERTION_DEAD, side, check.line, what).with('+', side.line(check.line)));
    }
    let dead = test.dead.first().filter(|_| test.checks.is_empty())?;
    let what = format!("the new test `{}` cannot fail: {}; assert what the code gives", test.name, dead.why);
    Some(finding(ASSERTION_DEAD, side, dead.line, what).with('+', side.line(dead.line)))
}

/// The first assertion of a test that asserts something only if the code under test does something: one that it need not do.
fn only_by_result(test: &Test) -> Option<&Check> {
    let first = test.checks.first()?;
    test.checks.iter().all(|check| check.only_if.is_some() && check.by_result).then_some(first)
}

/// A test that asserted something always, and now asserts only if the code under test does something.
pub(super) fn left_to_code(side: &Side, before: &Test, after: &Test) -> Option<Finding> {
    if before.counted && !after.counted {
        let may_be_left_out = |check: &&Check| check.called_back || check.only_if.is_some();
        if let Some(check) = after.checks.iter().find(may_be_left_out) {
            let what = format!(
                "the test `{}` does not count its assertions any more, and passes if this one is never made: count them again",
                after.name
            );
            return Some(
                finding(ASSERTION_WEAKENED, side, check.line, what).with('+', side.line(check.line)),
            );
        }
    }
    let check = only_by_result(after)?;
    let always = before.checks.iter().any(|check| check.only_if.is_none());
    always.then(|| {
        let what = format!(
            "the test `{}` asserts nothing any more unless `{}`, which is for the code to decide: assert it always",
            after.name,
            brief(check.only_if.as_deref().unwrap_or_default())
        );
        let finding = finding(ASSERTION_WEAKENED, side, check.line, what);
        finding.with('+', side.line(check.line)).unless(Doubt::StrengthAndValues)
    })
}

/// An assertion that is there as it was, and is never made any more.
pub(super) fn died(side: &Side, before: &Test, after: &Test) -> Option<Finding> {
    let dead = after.dead.iter().find(|dead| {
        let made = |test: &Test| test.checks.iter().any(|check| check.text == dead.text);
        made(before) && !made(after)
    })?;
    let what = format!(
        "an assertion of the test `{}` proves nothing any more: {}; restore it where it was",
        after.name, dead.why
    );
    Some(finding(ASSERTION_DEAD, side, dead.line, what).with('+', side.line(dead.line)))
}

/// A new test that calls something new and asserts nothing of it. One that calls what was there before may show that it does not
/// crash any more; of something new that is no news.
pub(super) fn idle(side: &Side, test: &Test, added: &BTreeSet<String>) -> Option<Finding> {
    let words = bag(&test.body);
    let weak = |check: &Check| check.strength == Strength::Shape;
    let bare = if test.checks.is_empty() { is_bare(test) } else { test.checks.iter().all(weak) };
    let bare = bare && !test.body.contains('?');
    let of_it = |name: &&String| test.checks.iter().any(|check| check.about.contains(*name));
    let name = added.iter().find(|name| words.contains_key(*name) && !of_it(name)).filter(|_| bare)?;
    let what = format!(
        "the new test `{}` calls `{name}`, which is new, and asserts nothing: assert what it gives",
        test.name
    );
    Some(finding(ASSERTION_DEAD, side, test.line, what).with('+', side.line(test.line)))
}

/// Whether a test asserts nothing, as far as its words tell: helpers that stand elsewhere are called by what they do.
pub(super) fn is_bare(test: &Test) -> bool {
    const ASSERTING: [&str; 10] =
        ["assert", "expect", "check", "verify", "should", "must", "unwrap", "fail", "ensure", "raises"];
    let asserts = |word: &String| ASSERTING.iter().any(|part| word.to_lowercase().contains(part));
    test.checks.is_empty() && test.dead.is_empty() && !bag(&test.body).keys().any(asserts)
}

/// The first test of a change that adds nothing but tests, none of which asserts anything: it proves nothing, whatever it executes.
pub(super) fn executes_only(side: &Side, test: &Test) -> Finding {
    let what = format!(
        "the change adds only tests, and none of them asserts anything: `{}` must say what the code gives",
        test.name
    );
    finding(ASSERTION_DEAD, side, test.line, what).with('+', side.line(test.line))
}

/// A test that says less than before.
pub(super) fn weaker(
    (old_side, before): (&Side, &Test),
    (new_side, after): (&Side, &Test),
    left: &[Open<'_>],
) -> Vec<Finding> {
    let show = |finding: Finding| {
        left.iter()
            .take(SHOWN)
            .fold(finding, |finding, open| finding.with('-', old_side.line(open.check.line)))
    };
    let was_dead = |text: &str| before.dead.iter().any(|dead| dead.text == text);
    if let Some(dead) = after.dead.iter().find(|dead| !was_dead(&dead.text)) {
        let what = format!(
            "an assertion of the test `{}` proves nothing: {}; restore what it asserted",
            after.name, dead.why
        );
        let finding = show(finding(ASSERTION_DEAD, new_side, dead.line, what));
        return vec![finding.with('+', new_side.line(dead.line))];
    }
    if let Some((open, weaker)) = left.iter().find_map(|open| Some((open, open.weaker?))) {
        let what = format!(
            "the test `{}` demands less of `{}`: restore the stronger assertion",
            after.name,
            brief(&open.check.subject)
        );
        let finding = show(finding(ASSERTION_WEAKENED, new_side, weaker.line, what));
        let finding = finding.with('+', new_side.line(weaker.line));
        // What is broken on purpose is off by more than a tolerance, and an error is an error by any name.
        let blunt = weaker.strength == Strength::Shape || is_blunt(&open.check.text, &weaker.text);
        return vec![if blunt { finding } else { finding.unless(Doubt::StrengthAndValues) }];
    }
    let count = |test: &Test| test.checks.iter().map(|check| check.times.max(1)).sum::<u32>();
    let (was, is) = (count(before), count(after));
    let what = if is < was {
        format!(
            "the test `{}` asserts {was} things before and {is} after: restore what is missing",
            before.name
        )
    } else {
        format!("the test `{}` does not assert what it did: restore what is missing", before.name)
    };
    vec![show(finding(ASSERTIONS_REMOVED, new_side, after.line, what)).unless(Doubt::Strength)]
}

pub(super) fn conditional(side: &Side, test: &Test, one: &Conditional<'_>) -> Finding {
    let condition = one.after.only_if.clone().unwrap_or_default();
    let what = format!(
        "an assertion of the test `{}` is made only if `{}`, and was made always: make it always",
        test.name,
        brief(&condition)
    );
    let _ = one.before;
    let finding = finding(ASSERTION_WEAKENED, side, one.after.line, what);
    finding.with('+', side.line(one.after.line)).unless(Doubt::StrengthAndValues)
}

pub(super) fn other_value(
    (old_side, was): (&Side, &Check),
    (new_side, is): (&Side, &Check),
    test: &Test,
) -> Finding {
    let what = format!(
        "the test `{}` expects another value of `{}` than before: if the task does not ask for that, restore the value and make the code give it",
        test.name,
        brief(&is.subject)
    );
    finding(EXPECTATION_CHANGED, new_side, is.line, what)
        .with('-', old_side.line(was.line))
        .with('+', new_side.line(is.line))
        .unless(Doubt::Results)
}

pub(super) fn helper(
    old_side: &Side,
    before: &Helper,
    side: &Side,
    after: &Helper,
    left: &[Open<'_>],
) -> Finding {
    let what = format!(
        "`{}` asserts less than before for the tests that call it: restore what is missing",
        before.name
    );
    let finding = finding(ASSERTIONS_REMOVED, side, after.line, what).unless(Doubt::Strength);
    left.iter().take(SHOWN).fold(finding, |finding, open| finding.with('-', old_side.line(open.check.line)))
}

pub(super) fn mark(side: &Side, mark: &Mark) -> Finding {
    let (rule, what) = match mark.deed {
        Deed::Skips => (TEST_SKIPPED, "tests do not run because of this, or not as they did: take it away"),
        Deed::Disarms => (
            ASSERTION_DEAD,
            "assertions cannot fail because of this, in whichever file they stand: take it away",
        ),
        Deed::Retries => (RETRIES_ADDED, "a test that fails is tried again: make it pass the first time"),
    };
    finding(rule, side, mark.line, what.to_owned()).with('+', side.line(mark.line))
}

pub(super) fn doubled(side: &Side, test: &Test, double: &Double, name: &str) -> Finding {
    let what = format!(
        "the test `{}` replaces `{name}`, which it is about, by a double: test the real one",
        test.name
    );
    finding(SUBJECT_REPLACED, side, double.line, what).with('+', side.line(double.line))
}

/// A test whose assertions are all about functions that its own file came to have, and that use nothing of the project.
pub(super) fn copied(side: &Side, test: &Test, new: &BTreeSet<&str>) -> Option<Finding> {
    let of_copy =
        |check: &Check| !check.about.is_empty() && check.about.iter().all(|name| new.contains(name.as_str()));
    let check = test.checks.first().filter(|_| test.checks.iter().all(of_copy))?;
    let what = format!(
        "the test `{}` is about `{}`, which the test file defines itself without the project's code: test the project's",
        test.name, check.about[0]
    );
    Some(finding(SUBJECT_REPLACED, side, check.line, what).with('+', side.line(check.line)))
}

pub(super) fn redefined(side: &Side, test: &Test, name: &str) -> Finding {
    let what = format!(
        "the test `{}` is about a `{name}` that the test file defines itself, and no more about the project's: import it again",
        test.name
    );
    finding(SUBJECT_REPLACED, side, test.line, what)
}

fn brief(text: &str) -> String {
    crate::agent::shorten(text, 60)
}

/// The words of a text, counted.
pub(super) fn bag(text: &str) -> HashMap<String, usize> {
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
pub(super) fn alike(a: &HashMap<String, usize>, b: &HashMap<String, usize>) -> f64 {
    let common: usize = a.iter().map(|(word, count)| (*count).min(b.get(word).copied().unwrap_or(0))).sum();
    let all: usize = a.values().sum::<usize>() + b.values().sum::<usize>();
    if all == 0 { 0.0 } else { 2.0 * common as f64 / all as f64 }
}
