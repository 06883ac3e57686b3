//! Decides whether tests prove a change: red without it, green with it, and nothing else broken.
//!
//! The harness runs the tests on three trees (the base, the base with the tests of the change, and the change), and
//! this module draws the conclusion. It is a pure function of the results, so tests can cover each case in a table.

use std::collections::BTreeSet;

use crate::failure::Location;
use crate::gate::check::{Red, Weak};
use crate::gate::{Evidence, Runs, TestRuns, Weight, rule};
use crate::results::{Broken, Case, Known, Merged, Outcome, Results, TestId};

pub mod account;
pub mod broken;
mod compare;
pub mod depends;
pub mod earlier;
pub mod hunks;
mod independent;
pub mod inline;
pub mod judge;
pub mod loosened;
pub mod neighbours;
pub mod noticed;
pub mod phases;
mod pieces;
pub mod replaced;
mod reproduced;
pub mod turned;
pub mod words;

pub use compare::{Accounts, Allowed, compare, misses};
pub use independent::{independent, red_by_judge};
pub use reproduced::{reproduced, reproduced_by_exit, unlike, without_files};

/// The result of building and testing a tree.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "there are a handful of them, and most are of the large kind")]
pub enum Tree {
    /// It was built and its tests ran.
    Ran(Ran),
    /// It could not be built; the compiler's output.
    NotBuilt(String),
}

/// The result of running the tests of a tree.
#[derive(Clone, Debug, Default)]
pub struct Ran {
    /// Test results.
    pub merged: Merged,
    /// Why a run did not end well, if not because of tests: its exit, or a limit.
    pub trouble: Option<String>,
    /// How a run ended with an exit code other than 0, even if failed tests explain it.
    pub exit: Option<String>,
    /// Output, as far as it can explain why something could not be loaded.
    pub said: String,
    /// Time limit of a run, if one was stopped by it.
    pub hung: Option<String>,
    /// Why a run that ended well reported no test: no report, an empty one, or another format.
    pub unread: Option<String>,
}

impl Ran {
    /// Returns what killed the runner, as far as that is visible. Then tests that it had not reached are missing.
    fn died(&self) -> Option<&'static str> {
        const SIGNS: [(&str, &str); 11] = [
            ("overflowed its stack", "a stack overflow"),
            ("stack overflow", "a stack overflow"),
            ("heap out of memory", "lack of memory"),
            ("SIGSEGV", "SIGSEGV"),
            ("SIGABRT", "SIGABRT"),
            ("SIGILL", "SIGILL"),
            ("SIGBUS", "SIGBUS"),
            ("SIGKILL", "SIGKILL"),
            ("Fatal Python error", "a fatal error"),
            ("fatal error: ", "a fatal error"),
            ("forked VM terminated", "the end of its process"),
        ];
        let exit = self.exit.as_deref()?;
        let shown = |sign: &str| self.said.contains(sign) || exit.contains(sign);
        SIGNS.iter().find(|(sign, _)| shown(sign)).map(|(_, words)| *words)
    }
}

/// The runs behind a verdict on a change.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The base, as it is.
    pub base: Tree,
    /// The base with the tests of the change.
    pub red: Tree,
    /// The change.
    pub green: Tree,
    /// Names that the change adds outside of tests.
    pub added: BTreeSet<String>,
    /// Names whose declaration the change alters: functions with different parameters or types.
    pub reshaped: BTreeSet<String>,
    /// Tests that the change declares: name and file.
    pub declared: Vec<(String, String)>,
    /// What is known about tests that no longer exist.
    pub accounts: Accounts,
    /// Files that the change adds with tests inside; without the change they don't exist.
    pub new_files: Vec<String>,
}

impl Seen {
    /// Returns whether a test that is known to have passed before passes in no run with the change.
    pub fn blames_the_change(&self) -> bool {
        let (Tree::Ran(base), Tree::Ran(green)) = (&self.base, &self.green) else { return false };
        let is_new_failure =
            |id: &TestId| matches!((base.merged.of(id), green.merged.of(id)), (Known::Passed, Known::Red(_)));
        green.merged.results.tests.keys().any(is_new_failure) || misses(&base.merged, &green.merged)
    }
}

/// The result of a test of the change without the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// Red by an assertion.
    AssertRed,
    /// Red by an exception or panic in the code under test, or by a crash of the runner.
    CrashRed,
    /// The tests did not end in time.
    TimeoutRed,
    /// It reached no assertion, because something that the change adds was missing.
    Weak,
    /// It broke for a reason unrelated to what the change adds.
    ErrorRed,
    /// It did not compile, for a reason unrelated to what the change adds.
    CompileRed,
    /// It passed.
    NeverRed,
    /// It did not run: without the change, or at all.
    NotRun,
    /// With the change, it passes in one run and fails in another.
    Flaky,
}

impl How {
    /// Returns the rule of its findings.
    pub fn rule(self) -> &'static str {
        match self {
            Self::AssertRed => "assert-red",
            Self::CrashRed => "crash-red",
            Self::TimeoutRed => "timeout-red",
            Self::Weak => "weak-red",
            Self::ErrorRed => "error-red",
            Self::CompileRed => "compile-red",
            Self::NeverRed => rule::NEVER_RED,
            Self::NotRun => "not-run",
            Self::Flaky => "flaky",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::AssertRed => "fails without the change, as it should",
            Self::CrashRed => "crashes in the code under test without the change, as it should",
            Self::TimeoutRed => "does not end without the change",
            Self::Weak => {
                "fails without the change, but not by an assertion and not by a crash of the code under test"
            }
            Self::ErrorRed => {
                "fails without the change because the test itself is broken there, so it shows nothing about the change; make it \
                 run on the base, call the code and assert what it returns or raises"
            }
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
    /// Whether the source declares it and no runner finds it.
    is_unfound: bool,
    /// Its runs without the change and with it.
    runs: [Runs; 2],
}

/// Draws the conclusions from the runs. The change is accepted if nothing in the evidence fails it.
pub fn judge(seen: &Seen, red: Red, weak: Weak) -> Evidence {
    let mut evidence = Evidence::default();
    let Tree::Ran(green) = &seen.green else {
        if let Tree::NotBuilt(said) = &seen.green {
            evidence.find(Weight::Fails, rule::BUILD, &format!("the change does not build:\n{said}"), None);
        }
        return evidence;
    };
    evidence.figure("tests", green.merged.results.executed());
    evidence.figure("runs", green.merged.runs);
    if !is_sound(green, &mut evidence) {
        return evidence;
    }
    if let Tree::Ran(base) = &seen.base {
        compare(&base.merged, green, &seen.accounts, &mut evidence);
    } else {
        evidence.find(
            Weight::Noted,
            "base",
            "the base does not build, so nothing is known of its tests",
            None,
        );
        compare(&Merged::default(), green, &seen.accounts, &mut evidence);
    }
    let judged = tests_of_the_change(seen, green);
    conclude(&judged, red, weak, &mut evidence);
    evidence
}

/// Rejects a report that contradicts itself or other output of the runner.
pub fn refuse(results: &Results, evidence: &mut Evidence) {
    for doubt in &results.doubts {
        let what =
            format!("the report of the tests cannot be believed: {doubt}. Only the runner may write it");
        evidence.find(Weight::Fails, "forged", &what, None);
    }
}

/// Returns whether the runs on the change are meaningful.
fn is_sound(green: &Ran, evidence: &mut Evidence) -> bool {
    let results = &green.merged.results;
    let before = evidence.findings.len();
    if results.cut {
        let what = "the report of the tests is incomplete or too large to be read";
        evidence.find(Weight::Fails, rule::REPORT, what, None);
    }
    for broken in &results.broken {
        let what = format!("{} could not be loaded: {}", broken.what, broken.message);
        evidence.find(Weight::Fails, rule::BROKEN, &what, None);
    }
    refuse(results, evidence);
    if results.executed() == 0 && results.broken.is_empty() {
        let why = green.trouble.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        let what = format!("no test was executed{why}\n{}", green.said);
        evidence.find(Weight::Fails, rule::NOTHING_RAN, &what, None);
    } else if let Some(trouble) = &green.trouble {
        let what = format!("the tests that are reported do not explain it: {trouble}\n{}", green.said);
        evidence.find(Weight::Fails, rule::EXIT, &what, None);
    }
    evidence.findings.len() == before
}

/// Returns the tests of the change: those that the base does not have, and those that turned red with only the change's
/// tests.
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
            // The comparison reports failures.
            Known::Skipped | Known::Flaky | Known::Red(_) | Known::Absent => continue,
        };
        let before = match &seen.red {
            Tree::Ran(red) => runs(&red.merged, id),
            Tree::NotBuilt(_) => Runs::default(),
        };
        let runs = [before, runs(&green.merged, id)];
        judged.push(Judged { name: id.to_string(), how, detail, location, is_unfound: false, runs });
    }
    for (name, file) in &seen.declared {
        let is_it = |id: &TestId| {
            account::is_called(&id.name, name)
                || leaf(&id.name) == name
                || id.name.ends_with(name.as_str())
                || id.name.contains(&format!("{name}["))
        };
        if !green.merged.results.tests.keys().any(is_it) {
            let detail = "no run with the change has it".to_owned();
            let location = Some(Location { path: file.clone(), line: 1 });
            let (name, how, runs) = (name.clone(), How::NotRun, [Runs::default(); 2]);
            judged.push(Judged { name, how, detail, location, is_unfound: true, runs });
        }
    }
    let lost = |id: &&TestId| match &seen.red {
        Tree::NotBuilt(_) => true,
        Tree::Ran(red) => red.merged.of(id) == Known::Absent,
    };
    let now_passing = || green.merged.results.tests.keys().filter(|id| green.merged.of(id) == Known::Passed);
    if judged.is_empty() && now_passing().any(|id| lost(&id)) {
        // Existing tests that now use something new cannot run without the change.
        let unusable = match &seen.red {
            Tree::NotBuilt(said) => Some(not_built(seen, said)),
            Tree::Ran(red) => {
                let before = base.map_or(&[][..], |base| &base.results.broken);
                let is_new = |it: &&Broken| before.iter().all(|known| known.what != it.what);
                let broken = red.merged.results.broken.iter().find(is_new);
                broken.map(|broken| not_loaded(seen, red, broken)).or_else(|| not_compiled(seen, red))
            }
        };
        judged.extend(unusable.map(|(how, detail)| {
            let name = "the changed tests".to_owned();
            Judged { name, how, detail, location: None, is_unfound: false, runs: [Runs::default(); 2] }
        }));
    }
    judged
}

/// In how many of how many runs a test failed; none if it was not executed.
fn runs(merged: &Merged, id: &TestId) -> Runs {
    match merged.of(id) {
        Known::Skipped | Known::Absent => Runs::default(),
        Known::Passed | Known::Red(_) | Known::Flaky => {
            let (failed, of) = merged.odds(id);
            Runs { of, failed }
        }
    }
}

/// Returns the result of a passing test without the change; `None` if it is an old test that always passed.
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
        Known::Red(case) => {
            let (how, detail) = of_red(seen, case);
            Some((how, detail, case.raised.clone().or_else(|| case.location.clone())))
        }
        Known::Passed if is_new => Some((How::NeverRed, String::new(), None)),
        Known::Flaky if is_new => Some((How::Flaky, String::new(), None)),
        Known::Passed | Known::Flaky => None,
        Known::Skipped | Known::Absent if !is_new => None,
        Known::Skipped => Some((How::NotRun, "without the change it is skipped".to_owned(), None)),
        Known::Absent => Some(absent(seen, red, id)),
    }
}

/// Classifies a test that is red without the change.
fn of_red(seen: &Seen, case: &Case) -> (How, String) {
    let said = &case.message;
    if is_stub(said) {
        return (How::Weak, format!("it stops at a stub: {said}"));
    }
    match (case.outcome, &case.raised) {
        (Outcome::Failed, _) => (How::AssertRed, said.clone()),
        (_, Some(place)) => (How::CrashRed, format!("raised at {}:{}: {said}", place.path, place.line)),
        // A missing file that only the change adds says nothing about the code, whatever its name.
        (_, None) if is_missing_file(said) => (How::ErrorRed, said.clone()),
        (_, None) if words::named(said, &seen.added).is_some() => {
            (How::Weak, format!("what it uses is new: {said}"))
        }
        (_, None) if is_fault_of_test(said) => (How::ErrorRed, said.clone()),
        // The test ran and could not use what the code returned: unwrap on an error, a field of a null value.
        (_, None) => (How::Weak, format!("it broke at what the code returned: {said}")),
    }
}

/// Returns whether an error means that the test itself is broken, whatever the code under test does.
pub(crate) fn is_fault_of_test(message: &str) -> bool {
    const SIGNS: [&str; 15] = [
        "NameError",
        "UnboundLocalError",
        "ImportError",
        "ModuleNotFoundError",
        "SyntaxError",
        "IndentationError",
        "ReferenceError",
        "ERR_MODULE_NOT_FOUND",
        "Cannot find module",
        "failed on setup",
        "failed at setup",
        "fixture '",
        "NoClassDefFoundError",
        "ClassNotFoundException",
        "has no attribute 'assert",
    ];
    is_missing_file(message) || SIGNS.iter().any(|sign| message.contains(sign))
}

fn is_missing_file(message: &str) -> bool {
    const SIGNS: [&str; 5] = [
        "FileNotFoundError",
        "No such file or directory",
        "no such file or directory",
        "ENOENT",
        "NoSuchFileException",
    ];
    SIGNS.iter().any(|sign| message.contains(sign))
}

/// Returns whether a test reached something that is declared but not implemented.
fn is_stub(message: &str) -> bool {
    ["not yet implemented", "not implemented", "NotImplementedError", "unimplemented"]
        .iter()
        .any(|sign| message.contains(sign))
}

/// Classifies a new test that does not exist without the change: its file did not load, or is new.
fn absent(seen: &Seen, red: &Ran, id: &TestId) -> (How, String, Option<Location>) {
    let of_it = |what: &str| {
        id.suite == what || id.suite.starts_with(&format!("{what}.")) || what.ends_with(&id.suite)
    };
    if let Some(limit) = &red.hung {
        return (How::TimeoutRed, limit.clone(), None);
    }
    if let Some(why) = red.died() {
        return (How::CrashRed, format!("the runner died by {why}"), None);
    }
    // In Go, a panic ends its package, including tests that come after it.
    let ends_package =
        |(other, case): &(&TestId, &Case)| other.suite == id.suite && case.message.contains("panic: ");
    if let Some((other, case)) = red.merged.results.red().find(ends_package) {
        let how = if case.raised.is_some() { How::CrashRed } else { How::Weak };
        return (how, format!("{other} panics before it: {}", case.message), None);
    }
    let broken = &red.merged.results.broken;
    let found = broken.iter().find(|it| of_it(&it.what)).or_else(|| broken.first());
    if let Some(broken) = found {
        let (how, detail) = not_loaded(seen, red, broken);
        return (how, detail, None);
    }
    if let Some((how, detail)) = not_compiled(seen, red) {
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
    let how = if is_explained(seen, &all) { How::Weak } else { How::ErrorRed };
    (how, format!("{} cannot be loaded: {}", broken.what, broken.message))
}

/// Classifies a run of a command that compiles and tests in one, if it got no further than a compiler error about
/// something that the change adds.
fn not_compiled(seen: &Seen, red: &Ran) -> Option<(How, String)> {
    let none_ran = red.exit.is_some() && red.merged.results.tests.is_empty();
    (none_ran && is_explained(seen, &red.said)).then(|| (How::Weak, red.said.clone()))
}

fn not_built(seen: &Seen, said: &str) -> (How, String) {
    let base_broken = matches!(seen.base, Tree::NotBuilt(_));
    let how = if base_broken || is_explained(seen, said) { How::Weak } else { How::CompileRed };
    (how, said.to_owned())
}

/// Returns whether an error mentions something that the change adds, or a function whose parameters or types it
/// changes.
fn is_explained(seen: &Seen, errors: &str) -> bool {
    words::named(errors, &seen.added).is_some() || words::mismatched(errors, &seen.reshaped).is_some()
}

/// Returns whether only the suite of a test changed, because its file was renamed.
fn is_moved(id: &TestId, base: &Merged, green: &Merged) -> bool {
    let same =
        |old: &&TestId| leaf(&old.name) == leaf(&id.name) && (old.name != id.name || old.suite != id.suite);
    base.results.tests.keys().filter(same).any(|old| green.of(old) == Known::Absent)
}

fn leaf(name: &str) -> &str {
    name.rsplit("::").next().unwrap_or(name)
}

/// Draws the verdict on the tests of the change as a whole.
fn conclude(judged: &[Judged], red: Red, weak: Weak, evidence: &mut Evidence) {
    let count = |how: How| judged.iter().filter(|test| test.how == how).count();
    evidence.figure("of the change", judged.len());
    for how in [
        How::AssertRed,
        How::CrashRed,
        How::TimeoutRed,
        How::Weak,
        How::ErrorRed,
        How::CompileRed,
        How::NeverRed,
        How::NotRun,
        How::Flaky,
    ] {
        if count(how) > 0 {
            evidence.figure(how.rule(), count(how));
        }
    }
    for test in judged.iter().filter(|test| matches!(test.how, How::AssertRed | How::CrashRed)) {
        evidence.turned(&test.name);
    }
    for test in judged {
        let [without, with] = test.runs;
        let (name, rule, said) = (test.name.clone(), test.how.rule().to_owned(), test.detail.clone());
        evidence.ran(TestRuns { test: name, rule, without, with, said });
    }
    let proves = |how: How| match (how, weak) {
        (How::AssertRed | How::CrashRed | How::TimeoutRed, _) | (How::Weak, Weak::Allow) => true,
        (How::Weak, Weak::Reject)
        | (How::ErrorRed | How::CompileRed | How::NeverRed | How::NotRun | How::Flaky, _) => false,
    };
    let proven = judged.iter().filter(|test| proves(test.how)).count();
    if proven == 0 {
        let what = "no test of the change fails without it: write one that does, and that passes with it";
        evidence.find(Weight::Fails, rule::UNPROVEN, what, None);
    }
    for test in judged {
        let weight = match (test.how, red) {
            // A flaky test neither rejects nor accepts a change; the comparison has reported it.
            (How::AssertRed | How::Flaky, _) => continue,
            (How::CrashRed | How::TimeoutRed, _) => Weight::Noted,
            // A test that nothing runs is worse than one that was never red.
            (How::NotRun, Red::Some) if test.is_unfound => Weight::Fails,
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
