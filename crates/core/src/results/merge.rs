//! Merges several runs of the same tests: what they agree on, and which tests are flaky.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Broken, Case, Outcome, Results, TestId};

/// The merged results of several runs of the same tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Merged {
    /// Number of runs.
    pub runs: u32,
    /// Common results; for a flaky test its worst result.
    pub results: Results,
    /// Tests that passed in one run and failed in another.
    pub flaky: BTreeSet<TestId>,
    /// Tests that failed in any run, with the number of failed runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<(TestId, u32)>,
}

/// The result of a test over all runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known<'a> {
    /// Passed in every run.
    Passed,
    /// Failed in every run.
    Red(&'a Case),
    /// Never ran.
    Skipped,
    /// Passed in one run and failed in another.
    Flaky,
    /// Does not exist.
    Absent,
}

impl Merged {
    /// Adds a run.
    pub fn add(&mut self, run: Results) {
        let first = self.runs == 0;
        self.runs += 1;
        self.results.cut |= run.cut;
        self.flaky.extend(run.flaky.iter().cloned());
        if self.results.doubts.is_empty() {
            self.results.doubts.clone_from(&run.doubts);
        }
        let mut broken: BTreeMap<String, Broken> =
            self.results.broken.drain(..).map(|it| (it.what.clone(), it)).collect();
        broken.extend(run.broken.into_iter().map(|it| (it.what.clone(), it)));
        self.results.broken = broken.into_values().collect();
        if !first {
            let red = |case: Option<&Case>| case.map(|case| case.outcome.is_red());
            let all = self.results.tests.keys().chain(run.tests.keys());
            // A test that exists in only one run is flaky too, unless it never ran.
            let changed = all.filter(|id| {
                let (before, now) = (self.results.tests.get(*id), run.tests.get(*id));
                let unrun = |case: Option<&Case>| case.is_none_or(|case| case.outcome == Outcome::Skipped);
                red(before) != red(now) && !(unrun(before) && unrun(now))
            });
            let changed: Vec<TestId> = changed.cloned().collect();
            self.flaky.extend(changed);
        }
        for (id, _) in run.tests.iter().filter(|(_, case)| case.outcome.is_red()) {
            match self.failed.binary_search_by(|(known, _)| known.cmp(id)) {
                Ok(at) => self.failed[at].1 += 1,
                Err(at) => self.failed.insert(at, (id.clone(), 1)),
            }
        }
        for (id, case) in run.tests {
            self.results.add(id, case);
        }
    }

    /// Adds the runs of another result, of the same tests.
    pub fn join(&mut self, other: Self) {
        let Self { runs, results, flaky, failed } = other;
        let alone = runs.saturating_sub(1);
        self.add(results);
        self.runs += alone;
        self.flaky.extend(flaky);
        // The results of several runs contain each failure once; the counts have the rest.
        for (id, times) in failed {
            if let Ok(at) = self.failed.binary_search_by(|(known, _)| known.cmp(&id)) {
                self.failed[at].1 += times.saturating_sub(1);
            }
        }
    }

    /// Adds runs of only some of the tests. The results of the others stay.
    pub fn join_part(&mut self, mut part: Self) {
        for (id, case) in &self.results.tests {
            part.results.tests.entry(id.clone()).or_insert_with(|| case.clone());
        }
        self.join(part);
    }

    /// Returns in how many of how many runs a test failed.
    pub fn odds(&self, id: &TestId) -> (u32, u32) {
        let times =
            self.failed.binary_search_by(|(known, _)| known.cmp(id)).map_or(0, |at| self.failed[at].1);
        (times, self.runs)
    }

    /// Returns the tests that passed in every run.
    pub fn passing(&self) -> BTreeSet<TestId> {
        self.results.tests.keys().filter(|id| self.of(id) == Known::Passed).cloned().collect()
    }

    /// Returns the result of a test.
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
            let case = Case::plain(*outcome, "");
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

    #[test]
    fn a_run_of_some_tests_says_nothing_of_the_others() {
        let mut merged = Merged::default();
        merged.add(run(&[("a", Outcome::Passed), ("b", Outcome::Passed), ("c", Outcome::Failed)]));
        let mut part = Merged::default();
        part.add(run(&[("a", Outcome::Failed), ("c", Outcome::Failed)]));
        merged.join_part(part);
        let of = |name: &str| merged.of(&TestId::new("s", name));
        assert_eq!((merged.runs, of("a"), of("b")), (2, Known::Flaky, Known::Passed));
        assert!(matches!(of("c"), Known::Red(_)));
    }
}
