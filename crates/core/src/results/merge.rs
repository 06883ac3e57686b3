//! Several runs of the same tests as one: what they agree on, and which tests changed their mind.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Broken, Case, Outcome, Results, TestId};

/// What several runs say of the same tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Merged {
    /// How many runs.
    pub runs: u32,
    /// What they agree on; of a flaky test its worst end.
    pub results: Results,
    /// The tests that passed in one run and failed in another.
    pub flaky: BTreeSet<TestId>,
}

/// What is known of a test after all runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known<'a> {
    /// It passed in each.
    Passed,
    /// It failed in each.
    Red(&'a Case),
    /// It was never run.
    Skipped,
    /// It passed in one and failed in another.
    Flaky,
    /// There is no such test.
    Absent,
}

impl Merged {
    /// Adds a run.
    pub fn add(&mut self, run: Results) {
        let first = self.runs == 0;
        self.runs += 1;
        self.results.cut |= run.cut;
        self.flaky.extend(run.flaky.iter().cloned());
        let mut broken: BTreeMap<String, Broken> =
            self.results.broken.drain(..).map(|it| (it.what.clone(), it)).collect();
        broken.extend(run.broken.into_iter().map(|it| (it.what.clone(), it)));
        self.results.broken = broken.into_values().collect();
        if !first {
            let red = |case: Option<&Case>| case.map(|case| case.outcome.is_red());
            let all = self.results.tests.keys().chain(run.tests.keys());
            // A test that is there in one run only has changed its mind as well, unless it was never run.
            let changed = all.filter(|id| {
                let (before, now) = (self.results.tests.get(*id), run.tests.get(*id));
                let unrun = |case: Option<&Case>| case.is_none_or(|case| case.outcome == Outcome::Skipped);
                red(before) != red(now) && !(unrun(before) && unrun(now))
            });
            let changed: Vec<TestId> = changed.cloned().collect();
            self.flaky.extend(changed);
        }
        for (id, case) in run.tests {
            self.results.add(id, case);
        }
    }

    /// What is known of a test.
    pub fn of(&self, id: &TestId) -> Known<'_> {
        if self.flaky.contains(id) {
            return Known::Flaky;
        }
        match self.results.tests.get(id) {
            None => Known::Absent,
            Some(case) => match case.outcome {
                Outcome::Passed => Known::Passed,
                Outcome::Skipped => Known::Skipped,
                Outcome::Failed | Outcome::Error => Known::Red(case),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(tests: &[(&str, Outcome)]) -> Results {
        let mut results = Results::default();
        for (name, outcome) in tests {
            let case = Case { outcome: *outcome, message: String::new(), location: None };
            results.add(TestId::new("s", name), case);
        }
        results
    }

    #[test]
    fn a_test_that_changes_its_mind_is_flaky_and_the_others_are_not() {
        let mut merged = Merged::default();
        merged.add(run(&[("a", Outcome::Passed), ("b", Outcome::Passed), ("c", Outcome::Failed)]));
        merged.add(run(&[("a", Outcome::Error), ("b", Outcome::Passed), ("c", Outcome::Error)]));
        merged.add(run(&[("a", Outcome::Passed), ("b", Outcome::Passed), ("c", Outcome::Failed)]));
        let of = |name: &str| merged.of(&TestId::new("s", name));
        assert_eq!((merged.runs, of("a"), of("b"), of("d")), (3, Known::Flaky, Known::Passed, Known::Absent));
        assert!(matches!(of("c"), Known::Red(_)));
    }
}
