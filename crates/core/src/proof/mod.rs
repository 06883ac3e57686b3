//! Whether a change is shown to do what its tests say: red without it, green with it, and nothing else broken.
//!
//! The harness runs the tests on three trees — the base, the base with the tests of the change, the change — and this module
//! says what follows from what it saw. It is a pure function of the results, so that each case can be shown in a table.

use std::collections::BTreeSet;

use crate::failure::Location;
use crate::gate::check::{Red, Weak};
use crate::gate::{Evidence, Weight};
use crate::results::{Broken, Known, Merged, Outcome, TestId};

mod compare;
pub mod inline;
pub mod phases;
mod reproduced;
pub mod words;

pub use compare::compare;
pub use reproduced::{reproduced, reproduced_by_exit};

/// What a tree came to.
#[derive(Clone, Debug)]
pub enum Tree {
    /// It was built, and its tests were run.
    Ran(Ran),
    /// It could not be built: what the compiler said.
    NotBuilt(String),
}

/// What running the tests of a tree came to.
#[derive(Clone, Debug, Default)]
pub struct Ran {
    /// How the tests ended.
    pub merged: Merged,
    /// Why a run did not end well, if that is not because of tests: its exit, or a limit.
    pub trouble: Option<String>,
    /// How a run ended that did not end with code 0, also where tests that failed are reason enough.
    pub exit: Option<String>,
    /// What was printed, as far as it can say why something could not be loaded.
    pub said: String,
}

/// What was seen of a change.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The base, as it is.
    pub base: Tree,
    /// The base with the tests of the change.
    pub red: Tree,
    /// The change.
    pub green: Tree,
    /// The names that the change adds to what is not a test.
    pub added: BTreeSet<String>,
    /// The tests that the change declares, by name, each with its file.
    pub declared: Vec<(String, String)>,
    /// The tests that the change takes away, by name.
    pub removed: BTreeSet<String>,
    /// Files that the change adds with tests inside: without the change they are not there at all.
    pub new_files: Vec<String>,
}

impl Seen {
    /// Whether a test failed in every run with the change that is known to have passed before it.
    pub fn blames_the_change(&self) -> bool {
        let (Tree::Ran(base), Tree::Ran(green)) = (&self.base, &self.green) else { return false };
        let is_new_failure =
            |id: &TestId| matches!((base.merged.of(id), green.merged.of(id)), (Known::Passed, Known::Red(_)));
        green.merged.results.tests.keys().any(is_new_failure)
    }
}

/// What a test of the change was without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// Red by an assertion.
    AssertRed,
    /// It did not come to an assertion, because something that the change adds was missing.
    Weak,
    /// It broke for a reason that has nothing to do with what the change adds.
    ErrorRed,
    /// It could not be compiled, for a reason that has nothing to do with what the change adds.
    CompileRed,
    /// It passed.
    NeverRed,
    /// It was not run: neither then nor now, or not then.
    NotRun,
    /// With the change it passes in one run and fails in another.
    Flaky,
}

impl How {
    /// By which findings call it.
    pub fn rule(self) -> &'static str {
        match self {
            Self::AssertRed => "assert-red",
            Self::Weak => "weak-red",
            Self::ErrorRed => "error-red",
            Self::CompileRed => "compile-red",
            Self::NeverRed => "never-red",
            Self::NotRun => "not-run",
            Self::Flaky => "flaky",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::AssertRed => "fails without the change, as it should",
            Self::Weak => "cannot run without the change, because what it uses is new",
            Self::ErrorRed => "breaks without the change before it comes to an assertion",
            Self::CompileRed => {
                "does not compile without the change, and not because of something that the change adds"
            }
            Self::NeverRed => "passes without the change too, so it does not test it",
            Self::NotRun => "was not run",
            Self::Flaky => "passes in one run and fails in another",
        }
    }
}

/// A test of the change.
struct Judged {
    name: String,
    how: How,
    detail: String,
    location: Option<Location>,
}

/// What follows from what was seen. The change stands if nothing in the evidence fails it.
pub fn judge(seen: &Seen, red: Red, weak: Weak) -> Evidence {
    let mut evidence = Evidence::default();
    let Tree::Ran(green) = &seen.green else {
        if let Tree::NotBuilt(said) = &seen.green {
            evidence.find(Weight::Fails, "build", &format!("the change does not build:\n{said}"), None);
        }
        return evidence;
    };
    evidence.figure("tests", green.merged.results.executed());
    evidence.figure("runs", green.merged.runs);
    if !is_sound(green, &mut evidence) {
        return evidence;
    }
    if let Tree::Ran(base) = &seen.base {
        compare(&base.merged, green, &seen.removed, &mut evidence);
    } else {
        evidence.find(
            Weight::Noted,
            "base",
            "the base does not build, so nothing is known of its tests",
            None,
        );
        compare(&Merged::default(), green, &seen.removed, &mut evidence);
    }
    let judged = tests_of_the_change(seen, green);
    conclude(&judged, red, weak, &mut evidence);
    evidence
}

/// Whether the runs on the change say anything at all.
fn is_sound(green: &Ran, evidence: &mut Evidence) -> bool {
    let results = &green.merged.results;
    let before = evidence.findings.len();
    if results.cut {
        let what = "the report of the tests is incomplete or too large to be read";
        evidence.find(Weight::Fails, "report", what, None);
    }
    for broken in &results.broken {
        let what = format!("{} could not be loaded: {}", broken.what, broken.message);
        evidence.find(Weight::Fails, "broken", &what, None);
    }
    if results.executed() == 0 && results.broken.is_empty() {
        let why = green.trouble.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        let what = format!("no test was executed{why}\n{}", green.said);
        evidence.find(Weight::Fails, "nothing-ran", &what, None);
    } else if let Some(trouble) = &green.trouble {
        let what = format!("the tests that are reported do not explain it: {trouble}\n{}", green.said);
        evidence.find(Weight::Fails, "exit", &what, None);
    }
    evidence.findings.len() == before
}

/// Each test of the change: those that the base does not have, and those that turned red with the change's tests alone.
fn tests_of_the_change(seen: &Seen, green: &Ran) -> Vec<Judged> {
    let mut judged = Vec::new();
    let base = match &seen.base {
        Tree::Ran(base) => Some(&base.merged),
        Tree::NotBuilt(_) => None,
    };
    for id in green.merged.results.tests.keys() {
        let now = green.merged.of(id);
        let is_new =
            base.is_none_or(|base| base.of(id) == Known::Absent && !is_moved(id, base, &green.merged));
        let (how, detail, location) = match now {
            Known::Passed => match without(seen, id, is_new) {
                Some(found) => found,
                None => continue,
            },
            Known::Skipped if is_new => (How::NotRun, "it is skipped".to_owned(), None),
            Known::Flaky if is_new => (How::Flaky, String::new(), None),
            // What fails is told by the comparison.
            Known::Skipped | Known::Flaky | Known::Red(_) | Known::Absent => continue,
        };
        judged.push(Judged { name: id.to_string(), how, detail, location });
    }
    for (name, file) in &seen.declared {
        let is_it = |id: &TestId| {
            leaf(&id.name) == name
                || id.name.ends_with(name.as_str())
                || id.name.contains(&format!("{name}["))
        };
        if !green.merged.results.tests.keys().any(is_it) {
            let detail = "no run with the change has it".to_owned();
            let location = Some(Location { path: file.clone(), line: 1 });
            judged.push(Judged { name: name.clone(), how: How::NotRun, detail, location });
        }
    }
    let lost = |id: &&TestId| match &seen.red {
        Tree::NotBuilt(_) => true,
        Tree::Ran(red) => red.merged.of(id) == Known::Absent,
    };
    let now_passing = || green.merged.results.tests.keys().filter(|id| green.merged.of(id) == Known::Passed);
    if judged.is_empty() && now_passing().any(|id| lost(&id)) {
        // Tests that were there before and now use something new: without the change none of them can be run.
        let unusable = match &seen.red {
            Tree::NotBuilt(said) => Some(not_built(seen, said)),
            Tree::Ran(red) => {
                let before = base.map_or(&[][..], |base| &base.results.broken);
                let is_new = |it: &&Broken| before.iter().all(|known| known.what != it.what);
                let broken = red.merged.results.broken.iter().find(is_new);
                broken.map(|broken| not_loaded(seen, red, broken))
            }
        };
        judged.extend(unusable.map(|(how, detail)| {
            let name = "the changed tests".to_owned();
            Judged { name, how, detail, location: None }
        }));
    }
    judged
}

/// What a test that passes with the change is without it. `None` if it is an old test that always passed.
fn without(seen: &Seen, id: &TestId, is_new: bool) -> Option<(How, String, Option<Location>)> {
    let red = match &seen.red {
        Tree::NotBuilt(said) if is_new => {
            let (how, detail) = not_built(seen, said);
            return Some((how, detail, None));
        }
        Tree::NotBuilt(_) => return None,
        Tree::Ran(red) => red,
    };
    match red.merged.of(id) {
        Known::Red(case) if case.outcome == Outcome::Failed => {
            Some((How::AssertRed, case.message.clone(), case.location.clone()))
        }
        Known::Red(case) => {
            let is_weak = words::named(&case.message, &seen.added).is_some() || is_stub(&case.message);
            let how = if is_weak { How::Weak } else { How::ErrorRed };
            Some((how, case.message.clone(), case.location.clone()))
        }
        Known::Passed if is_new => Some((How::NeverRed, String::new(), None)),
        Known::Flaky if is_new => Some((How::Flaky, String::new(), None)),
        Known::Passed | Known::Flaky => None,
        Known::Skipped | Known::Absent if !is_new => None,
        Known::Skipped => Some((How::NotRun, "without the change it is skipped".to_owned(), None)),
        Known::Absent => Some(absent(seen, red, id)),
    }
}

/// Whether a test came to something that is declared and not done yet.
fn is_stub(message: &str) -> bool {
    ["not yet implemented", "not implemented", "NotImplementedError", "unimplemented"]
        .iter()
        .any(|sign| message.contains(sign))
}

/// A new test that is not there without the change: its file could not be loaded, or is new as a whole.
fn absent(seen: &Seen, red: &Ran, id: &TestId) -> (How, String, Option<Location>) {
    let of_it = |what: &str| {
        id.suite == what || id.suite.starts_with(&format!("{what}.")) || what.ends_with(&id.suite)
    };
    let broken = &red.merged.results.broken;
    let found = broken.iter().find(|it| of_it(&it.what)).or_else(|| broken.first());
    if let Some(broken) = found {
        let (how, detail) = not_loaded(seen, red, broken);
        return (how, detail, None);
    }
    let stem = |path: &str| {
        let file = path.rsplit('/').next().unwrap_or(path);
        file.split('.').next().unwrap_or(file).to_owned()
    };
    let parts: Vec<&str> = id.name.split("::").collect();
    if let Some(file) = seen.new_files.iter().find(|file| parts.contains(&stem(file).as_str())) {
        let location = Some(Location { path: file.clone(), line: 1 });
        return (How::Weak, format!("{file} is new"), location);
    }
    (How::NotRun, "without the change the runner does not find it".to_owned(), None)
}

fn not_loaded(seen: &Seen, red: &Ran, broken: &Broken) -> (How, String) {
    let all = format!("{}\n{}", broken.message, red.said);
    let how = if words::named(&all, &seen.added).is_some() { How::Weak } else { How::ErrorRed };
    (how, format!("{} cannot be loaded: {}", broken.what, broken.message))
}

fn not_built(seen: &Seen, said: &str) -> (How, String) {
    let base_broken = matches!(seen.base, Tree::NotBuilt(_));
    let how =
        if base_broken || words::named(said, &seen.added).is_some() { How::Weak } else { How::CompileRed };
    (how, said.to_owned())
}

/// Whether a test only has another suite than before: its file was renamed.
fn is_moved(id: &TestId, base: &Merged, green: &Merged) -> bool {
    let same =
        |old: &&TestId| leaf(&old.name) == leaf(&id.name) && (old.name != id.name || old.suite != id.suite);
    base.results.tests.keys().filter(same).any(|old| green.of(old) == Known::Absent)
}

fn leaf(name: &str) -> &str {
    name.rsplit("::").next().unwrap_or(name)
}

/// The verdict on the tests of the change as a whole.
fn conclude(judged: &[Judged], red: Red, weak: Weak, evidence: &mut Evidence) {
    let count = |how: How| judged.iter().filter(|test| test.how == how).count();
    evidence.figure("of the change", judged.len());
    for how in
        [How::AssertRed, How::Weak, How::ErrorRed, How::CompileRed, How::NeverRed, How::NotRun, How::Flaky]
    {
        if count(how) > 0 {
            evidence.figure(how.rule(), count(how));
        }
    }
    for test in judged.iter().filter(|test| test.how == How::AssertRed) {
        evidence.turned(&test.name);
    }
    let proves = |how: How| match (how, weak) {
        (How::AssertRed, _) | (How::Weak, Weak::Allow) => true,
        (How::Weak, Weak::Reject)
        | (How::ErrorRed | How::CompileRed | How::NeverRed | How::NotRun | How::Flaky, _) => false,
    };
    let proven = judged.iter().filter(|test| proves(test.how)).count();
    if proven == 0 {
        let what = "no test of the change fails without it: write one that does, and that passes with it";
        evidence.find(Weight::Fails, "unproven", what, None);
    }
    for test in judged {
        let weight = match (test.how, red) {
            // A flaky test is never the reason to reject, as it is never one to accept; the comparison has named it.
            (How::AssertRed | How::Flaky, _) => continue,
            (How::Weak, _) if weak == Weak::Allow => Weight::Noted,
            (_, Red::Every) => Weight::Fails,
            (_, Red::Some) => Weight::Noted,
        };
        let detail = test.detail.trim();
        let detail = if detail.is_empty() { String::new() } else { format!(": {detail}") };
        let what = format!("{} {}{detail}", test.name, test.how.words());
        evidence.find(weight, test.how.rule(), &what, test.location.clone());
    }
}
