//! Further runs of a tree, to see whether its tests end the same way each time.
//!
//! Only the tests of the change must agree. If acquit knows how to run only these, a repeated run leaves out the
//! others. If such a run does not agree with the whole one, or lacks one of these tests, the whole suite decides: tests
//! may depend on each other.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use acquit_core::gate::Command;
use acquit_core::proof::{Ran, Tree};
use acquit_core::results::{Known, Merged, TestId};

use super::runs::Runs;
use super::suite::{Spent, Suite};
use crate::git::CommitId;
use crate::leg::{Job, LegAbort, LegContext, WorkingTree};
use crate::workspace::LockedWorkspace;

/// Further runs of a tree.
pub(super) struct Repeat<'a> {
    pub(super) suite: &'a Suite<'a>,
    /// Runs only the tests of the change.
    pub(super) part: Option<&'a Command>,
    /// The tests that count.
    pub(super) tests: &'a BTreeSet<TestId>,
    pub(super) workspace: &'a LockedWorkspace,
    /// The tree that is shown.
    pub(super) shown: &'a CommitId,
    pub(super) working_tree: &'a WorkingTree,
    /// Its runs.
    pub(super) kept: &'a Runs,
    /// Whether it is built.
    pub(super) built: bool,
}

impl Repeat<'_> {
    /// Adds the runs with these numbers to what is known of the tree.
    pub(super) fn add(
        &self,
        ctx: &mut LegContext<'_>,
        job: &Job<'_>,
        (phase, numbers): (&str, RangeInclusive<u32>),
        known: &mut Ran,
        spent: &mut Spent,
    ) -> Result<(), LegAbort> {
        let mut built = self.built;
        for number in numbers {
            if self.kept.find(number).is_none()
                && let Some(part) = self.part(ctx, job, (phase, number), &mut built, known, spent)?
            {
                known.merged.join_part(part);
                continue;
            }
            let whole = self.suite.in_tree(built).runs(
                ctx,
                job,
                self.working_tree,
                (phase, number..=number),
                Some(self.kept),
                spent,
            )?;
            built |= spent.built;
            if let Tree::Ran(more) = whole {
                known.merged.join(more.merged);
                known.trouble = known.trouble.take().or(more.trouble);
                known.exit = known.exit.take().or(more.exit);
                known.hung = known.hung.take().or(more.hung);
                if known.said.is_empty() {
                    known.said = more.said;
                }
            }
        }
        Ok(())
    }

    /// Runs only the tests of the change. `None` if that does not answer the question.
    fn part(
        &self,
        ctx: &mut LegContext<'_>,
        job: &Job<'_>,
        (phase, number): (&str, u32),
        built: &mut bool,
        known: &Ran,
        spent: &mut Spent,
    ) -> Result<Option<Merged>, LegAbort> {
        let Some(run) = self.part.filter(|_| !self.tests.is_empty()) else { return Ok(None) };
        let suite = Suite { run, ..*self.suite };
        let kept = suite.kept(ctx, job, self.workspace, self.shown)?;
        let suite = suite.in_tree(*built);
        let phase = format!("{phase}-part");
        let runs = (phase.as_str(), number..=number);
        let tree = suite.runs(ctx, job, self.working_tree, runs, Some(&kept), spent)?;
        *built |= spent.built;
        Ok(match tree {
            Tree::Ran(part) if agrees(self.tests, &known.merged, &part) => Some(part.merged),
            Tree::Ran(_) | Tree::NotBuilt(_) => None,
        })
    }
}

/// Returns whether a run of some tests has all that count, and each of its tests ended as in the whole run.
fn agrees(tests: &BTreeSet<TestId>, whole: &Merged, part: &Ran) -> bool {
    let red = |merged: &Merged, id: &TestId| matches!(merged.of(id), Known::Red(_));
    let results = &part.merged.results;
    let same = |id: &TestId| whole.results.tests.contains_key(id) && red(whole, id) == red(&part.merged, id);
    part.trouble.is_none()
        && results.broken.is_empty()
        && results.doubts.is_empty()
        && tests.iter().all(|id| results.tests.contains_key(id))
        && results.tests.keys().all(same)
}

#[cfg(test)]
mod tests {
    use super::*;
    use acquit_core::results::{Case, Outcome, Results};

    fn id(name: &str) -> TestId {
        TestId { suite: "s".to_owned(), name: name.to_owned() }
    }

    fn merged(tests: &[(&str, Outcome)]) -> Merged {
        let mut results = Results::default();
        for (name, outcome) in tests {
            results.tests.insert(id(name), Case::plain(*outcome, ""));
        }
        let mut merged = Merged::default();
        merged.add(results);
        merged
    }

    #[test]
    fn some_tests_decide_only_if_they_end_as_among_all() {
        use Outcome::{Failed, Passed};
        let whole = merged(&[("new", Passed), ("old", Passed), ("red", Failed)]);
        let counts: BTreeSet<TestId> = [id("new")].into();
        let part = |tests: &[(&str, Outcome)]| Ran { merged: merged(tests), ..Ran::default() };
        assert!(agrees(&counts, &whole, &part(&[("new", Passed)])));
        assert!(agrees(&counts, &whole, &part(&[("new", Passed), ("red", Failed)])));
        // The test that counts is missing, or its result differs from that in the whole suite, or it did not exist.
        for other in [&[("old", Passed)][..], &[("new", Failed)], &[("new", Passed), ("lost", Passed)]] {
            assert!(!agrees(&counts, &whole, &part(other)), "{other:?}");
        }
        let trouble = Ran { trouble: Some("exit 3".to_owned()), ..part(&[("new", Passed)]) };
        assert!(!agrees(&counts, &whole, &trouble));
    }
}
