//! The result of a judgement: one claim per gate, whether it holds, and the evidence for that.

use std::collections::BTreeMap;
use std::time::Duration;

use acquit_core::event::SetupAgain;
use acquit_core::failure::Location;
use acquit_core::gate::complaints::{self, Unit};
use acquit_core::gate::{Check, Evidence, Gate, Severity, Verdict, Weight, rule};
use acquit_core::ids::Name;
use acquit_core::time::Span;
use serde::Serialize;

use super::rules::{Origin, Rules};
use super::subject::Subject;
use super::trial::Round;
use crate::check::problem::{self, Problem};

/// Version of the report format.
pub const FORM: u32 = 1;

/// Advice if detected rules do not work.
const INIT: &str =
    "run `acquit init`: it writes .acquit/acquit.toml, tries setup and gates, and suggests repairs";

/// Checks for which detected rules have no gate, because only the project knows its requirements for them.
const NOT_DETECTED: &str = "scope, coverage, mutants";
const NO_GATE: &str =
    "no gate without .acquit/; `acquit prove --save` writes it, and docs/gates.md shows the gates to add";

/// Claims that a test command without a report per test cannot prove.
const SINGLE_TESTS: &str = "single tests, and whether those of the change fail without it";

/// Advice if the runner finds no tests, with and without the change.
const NO_TESTS: &str =
    "the runner finds no tests: run `acquit prove --save` and correct the command in .acquit/acquit.toml";

/// Result of a judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Every claim that counts was shown to hold.
    Acquitted,
    /// A claim does not hold.
    Guilty,
    /// No evidence against the change, but something required could not be run.
    Unjudged,
}

impl Decision {
    /// Returns the decision as one word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Acquitted => "acquitted",
            Self::Guilty => "guilty",
            Self::Unjudged => "could not judge",
        }
    }
}

/// Whether a claim holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Shown to hold.
    Holds,
    /// Does not hold, which counts against the change.
    Broken,
    /// Does not hold, but the rules only warn about it.
    Warned,
    /// Could not be shown, which does not count against the change.
    Unshown,
    /// Fails on the base as well.
    BrokenBefore,
    /// Could not be judged.
    Unjudged,
}

/// Output of a gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Log {
    /// Hash of the complete output.
    pub sha256: String,
    /// Size of the output.
    pub bytes: u64,
    /// File name of the copy, if one is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// A claim about the change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Claim {
    /// Name of the gate.
    pub gate: Name,
    /// Kind of check: `tests`, `tdd`, `command`.
    pub check: &'static str,
    /// The claim, as a sentence without a full stop.
    pub claim: String,
    /// Whether it holds.
    pub status: Status,
    /// The command that ran, or what was inspected.
    pub command: String,
    /// How it ended, as text.
    pub ended: String,
    /// Duration.
    pub took: Span,
    /// Whether the verdict is reused from an earlier judgement on the same content.
    pub reused: bool,
    /// Counts and findings.
    pub evidence: Evidence,
    /// The problem, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Location of the problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
    /// How to fix the problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// End of the output.
    pub tail: String,
    /// The complete output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<Log>,
}

/// Something that was not checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unchecked {
    /// What was not checked.
    pub what: String,
    /// Why it was not checked.
    pub why: String,
}

/// Result of a judgement with all claims.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Version of the report format.
    pub form: u32,
    /// The decision.
    pub decision: Decision,
    /// The judged change.
    pub change: Subject,
    /// Where the rules come from.
    pub rules: Origin,
    /// What was detected, if the project has no rules.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub detected: Vec<String>,
    /// One claim per gate, in the order in which they finished.
    pub claims: Vec<Claim>,
    /// Setups that ran because the change has other lock files than its base, with their network access and hosts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub setups: Vec<SetupAgain>,
    /// What was not checked.
    pub unchecked: Vec<Unchecked>,
    /// Why nothing could be judged, and how to fix it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Problem>,
    /// Whether the user cancelled it.
    pub cancelled: bool,
    /// Duration.
    pub took: Span,
    #[serde(skip)]
    gates: Vec<Gate>,
    #[serde(skip)]
    nothing_to_test: bool,
    #[serde(skip)]
    config: Box<acquit_core::config::Config>,
}

impl Report {
    /// Returns the configuration the rules came from.
    pub(super) fn config(&self) -> &acquit_core::config::Config {
        &self.config
    }

    /// Creates the report of a judgement that was cancelled before it started.
    pub(super) fn cancelled(change: Subject, rules: &Rules) -> Self {
        let mut report = Self::empty(change, rules);
        report.cancelled = true;
        report
    }

    /// Creates the report of a machine that cannot judge.
    pub(super) fn of_machine(change: Subject, rules: &Rules, problem: Problem) -> Self {
        let mut report = Self::empty(change, rules);
        let silent = report
            .gates
            .iter()
            .map(|gate| Unchecked { what: gate.name.to_string(), why: "it was not reached".to_owned() });
        report.unchecked.extend(silent);
        report.stopped = Some(problem);
        report
    }

    /// Creates the report of a change that changes nothing, if that needs no judgement.
    pub(super) fn of_nothing(change: Subject) -> Self {
        Self {
            form: FORM,
            decision: Decision::Acquitted,
            change,
            rules: Origin::Project,
            detected: Vec::new(),
            claims: Vec::new(),
            setups: Vec::new(),
            unchecked: Vec::new(),
            stopped: None,
            cancelled: false,
            took: Span::secs(0),
            gates: Vec::new(),
            nothing_to_test: true,
            config: Box::default(),
        }
    }

    fn empty(change: Subject, rules: &Rules) -> Self {
        let mut unchecked: Vec<Unchecked> = rules
            .left_out
            .iter()
            .map(|(gate, why)| Unchecked { what: gate.to_string(), why: why.clone() })
            .collect();
        unchecked.extend(
            change
                .left_out
                .iter()
                .map(|what| Unchecked { what: "part of the checkout".to_owned(), why: what.clone() }),
        );
        unchecked.extend(rules.reduced.iter().map(|lacking| Unchecked {
            what: "the whole sandbox".to_owned(),
            why: format!("this machine has it only in part: {lacking}"),
        }));
        if matches!(rules.origin, Origin::Detected | Origin::DetectedInChange) {
            unchecked.push(Unchecked { what: NOT_DETECTED.to_owned(), why: NO_GATE.to_owned() });
            let tells_each = |gate: &Gate| matches!(gate.check, Check::Tests(_) | Check::Tdd(_));
            let plain = rules.gates.iter().find(|gate| runs_tests(gate) && !tells_each(gate));
            if let Some(gate) = plain.filter(|_| !rules.gates.iter().any(tells_each)) {
                let why = format!("`{}` tells only whether all tests pass", gate.check);
                unchecked.push(Unchecked { what: SINGLE_TESTS.to_owned(), why });
            }
        }
        Self {
            form: FORM,
            decision: Decision::Unjudged,
            change,
            rules: rules.origin,
            detected: rules.seen.clone(),
            claims: Vec::new(),
            setups: Vec::new(),
            unchecked,
            stopped: None,
            cancelled: false,
            took: Span::secs(0),
            gates: rules.gates.clone(),
            nothing_to_test: rules.nothing_to_test,
            config: Box::new(rules.config.clone()),
        }
    }

    /// Creates the report of the first round.
    pub(super) fn of(change: Subject, rules: &Rules, round: &Round) -> Self {
        let config = &rules.config;
        let mut report = Self::empty(change, rules);
        report.cancelled = round.cancelled;
        report.add_setups(round);
        report.stopped = round.stopped.as_ref().map(|reason| problem::of_setup(config, reason, &round.told));
        let detected = matches!(rules.origin, Origin::Detected | Origin::DetectedInChange);
        if let Some(stopped) = report.stopped.as_mut().filter(|it| detected && it.missing.is_none()) {
            // There is no file yet that the usual advice could be about.
            stopped.advice = Some(INIT.to_owned());
        }
        for verdict in &round.told.verdicts {
            let Some(gate) = report.gates.iter().find(|gate| gate.name == verdict.gate).cloned() else {
                continue;
            };
            let claim = claim(&gate, verdict, round, report.rules, config);
            report.claims.push(claim);
        }
        let spoke = |gate: &&Gate| report.claims.iter().any(|claim| claim.gate == gate.name);
        let silent: Vec<Unchecked> = report
            .gates
            .iter()
            .filter(|gate| !spoke(gate))
            .map(|gate| Unchecked { what: gate.name.to_string(), why: "it was not reached".to_owned() })
            .collect();
        report.unchecked.extend(silent);
        report
    }

    /// Adds the setups of a round, without duplicates.
    fn add_setups(&mut self, round: &Round) {
        for setup in &round.told.setups {
            if !self.setups.iter().any(|known| known.is_same(setup)) {
                self.setups.push(setup.clone());
            }
        }
    }

    /// Adds the results of the existing tests for a change that has no tests of its own.
    pub(super) fn add_regressions(&mut self, round: &Round) {
        self.add_setups(round);
        for verdict in &round.told.verdicts {
            let Some(gate) = self.gates.iter().find(|gate| gate.name == verdict.gate) else { continue };
            let compared = Gate {
                check: match &gate.check {
                    Check::Tdd(tdd) => Check::Tests(acquit_core::gate::check::Tests::of(tdd)),
                    other => other.clone(),
                },
                ..gate.clone()
            };
            let config = acquit_core::config::Config::default();
            let mut claim = claim(&compared, verdict, round, self.rules, &config);
            claim.command = compared.check.to_string();
            self.claims.push(claim);
        }
    }

    /// Marks claims that also fail on the base as broken before, unless the change introduces complaints.
    pub(super) fn compare_with_base(&mut self, round: &Round) {
        for verdict in round.told.verdicts.iter().filter(|verdict| !verdict.passed) {
            let failed = |claim: &&mut Claim| {
                claim.gate == verdict.gate && matches!(claim.status, Status::Broken | Status::Warned)
            };
            let Some(claim) = self.claims.iter_mut().find(failed) else { continue };
            let gate = self.gates.iter().find(|gate| gate.name == claim.gate);
            if gate.is_some_and(|gate| brings_its_own(claim, gate, verdict, &self.change)) {
                continue;
            }
            claim.status = Status::BrokenBefore;
            let nothing_ran = claim.evidence.failing().any(|finding| finding.rule == rule::NOTHING_RAN);
            let mend = "mend it on the base first: until then it says little about a change";
            claim.advice = Some(if nothing_ran { NO_TESTS } else { mend }.to_owned());
        }
    }

    /// Sets the decision.
    pub(super) fn finish(&mut self, took: Duration) {
        self.took = Span::from(u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
        let guilty = self.claims.iter().any(|claim| claim.status == Status::Broken);
        // A claim that fails before the change or cannot be run leaves a gap. A gap in tests decides the judgement.
        let gap = |claim: &Claim| {
            let tests = self.gates.iter().any(|gate| gate.name == claim.gate && is_about_tests(gate));
            match claim.status {
                Status::Unjudged => true,
                Status::BrokenBefore => tests,
                Status::Holds | Status::Broken | Status::Warned | Status::Unshown => false,
            }
        };
        let tested = self.claims.iter().any(|claim| {
            claim.status == Status::Holds
                && self.gates.iter().any(|gate| gate.name == claim.gate && runs_tests(gate))
        });
        let tested = tested || self.nothing_to_test;
        let unjudged = self.stopped.is_some() || self.cancelled || !tested || self.claims.iter().any(gap);
        self.decision = match (guilty, unjudged) {
            (true, _) => Decision::Guilty,
            (false, true) => Decision::Unjudged,
            (false, false) => Decision::Acquitted,
        };
        for claim in &mut self.claims {
            claim.evidence.complaints.clear();
            let why = match claim.status {
                Status::BrokenBefore if claim.evidence.figures.iter().any(|it| it.what == NEW) => {
                    "it fails on the base as well, with the same complaints"
                }
                Status::BrokenBefore => "it fails on the base as well",
                Status::Unshown if claim.evidence.findings.iter().any(|it| it.rule == rule::NEVER_RED) => {
                    "the tests of the change pass without it too"
                }
                Status::Unshown => "the change has no test that could show it",
                Status::Unjudged | Status::Holds | Status::Broken | Status::Warned => continue,
            };
            self.unchecked.push(Unchecked { what: claim.gate.to_string(), why: why.to_owned() });
        }
        if !tested && self.stopped.is_none() && !guilty {
            let why = "no gate that runs tests came to a verdict".to_owned();
            self.unchecked.push(Unchecked { what: "tests".to_owned(), why });
        }
    }
}

/// Figure of complaints that the base does not have.
const NEW: &str = "new complaints";

/// Compares the complaints of a command with those on the base, and returns whether the change introduces any. Leaves
/// out test commands: their output about files is not a complaint.
fn brings_its_own(claim: &mut Claim, gate: &Gate, on_base: &Verdict, change: &Subject) -> bool {
    if gate.is_test() || !matches!(gate.check, Check::Command(_)) {
        return false;
    }
    let unit = if gate.kind.as_str() == "format" { Unit::File } else { Unit::Each };
    let complaints = std::mem::take(&mut claim.evidence.complaints);
    let touched = |path: &str| change.paths.is_empty() || change.paths.iter().any(|it| it == path);
    let Some(new) = complaints::brought(&on_base.evidence.complaints, &complaints, unit, &touched) else {
        return false;
    };
    claim.evidence.figure("complaints", complaints.len());
    claim.evidence.figure(NEW, new.len());
    for complaint in &new {
        let location = Location { path: complaint.path.clone(), line: complaint.line.max(1) };
        claim.evidence.find(Weight::Fails, rule::NEW_COMPLAINT, &complaint.words, Some(location));
    }
    if let Some(first) = claim.evidence.failing().find(|it| it.rule == rule::NEW_COMPLAINT) {
        claim.problem = Some(first.to_string());
        claim.location.clone_from(&first.location);
        claim.advice = Some("mend what the change adds; the rest is on the base as well".to_owned());
    }
    !new.is_empty()
}

fn is_about_tests(gate: &Gate) -> bool {
    gate.severity == Severity::Error && runs_tests(gate)
}

/// Returns whether a gate runs tests.
fn runs_tests(gate: &Gate) -> bool {
    match &gate.check {
        Check::Tests(_) | Check::Tdd(_) => true,
        Check::Command(_) => gate.is_test(),
        _ => false,
    }
}

fn claim(
    gate: &Gate,
    verdict: &Verdict,
    round: &Round,
    rules: Origin,
    config: &acquit_core::config::Config,
) -> Claim {
    let mut evidence = verdict.evidence.clone();
    // A task can say that a program's behavior is meant to change. Here no task says so, so expected values of tests
    // must stay.
    for finding in evidence.findings.iter_mut().filter(|it| it.rule == EXPECTATION && verdict.passed) {
        finding.weight = Weight::Fails;
    }
    let passed = verdict.passed && evidence.failing().next().is_none();
    let mut status = match (passed, verdict.severity == Severity::Error) {
        (true, _) => Status::Holds,
        (false, true) => Status::Broken,
        (false, false) => Status::Warned,
    };
    let failing = || evidence.failing();
    let told = || failing().map(ToString::to_string).next();
    let problem = verdict.failure.as_ref().map(|failure| failure.message.clone()).or_else(told);
    let mut advice = None;
    if status == Status::Broken
        && failing().next().is_some()
        && failing().all(|it| it.weight == Weight::Person)
    {
        status = Status::Unjudged;
    }
    // Detected rules do not require tests for every change: report that there are none, but do not fail.
    let detected = matches!(rules, Origin::Detected | Origin::DetectedInChange);
    if detected && failing().next().is_some() && failing().all(|it| UNTESTED.contains(&it.rule.as_str())) {
        status = Status::Unshown;
    }
    if !passed {
        let refused: Vec<_> =
            round.told.refused.iter().filter(|(name, _)| *name == gate.name.as_str()).cloned().collect();
        let known = problem::of_gate(config, gate, verdict, &refused);
        if let Some(program) = &known.missing {
            status = Status::Unjudged;
            advice = Some(format!("install {program}, or show it to the sandbox with `[access] read`"));
        } else if known.unrecognised {
            status = Status::Unjudged;
            advice = Some(
                "run `acquit init` and write the command that runs the tests into .acquit/acquit.toml"
                    .to_owned(),
            );
        }
        advice = advice.or_else(|| advise(&evidence));
    }
    Claim {
        gate: gate.name.clone(),
        check: gate.check.word(),
        claim: words(gate),
        status,
        command: verdict.command.clone(),
        ended: verdict.ended.clone(),
        took: verdict.took,
        reused: verdict.reused.is_some(),
        problem,
        location: verdict.failure.as_ref().and_then(|failure| failure.location.clone()),
        advice,
        tail: verdict.tail.clone(),
        log: round.logs.get(&gate.name).cloned(),
        evidence,
    }
}

/// Rule about expected values of tests.
const EXPECTATION: &str = "expectation-changed";

/// Rules that only report that a change has no tests of its own.
const UNTESTED: [&str; 2] = [rule::UNTESTED, rule::UNPROVEN];

/// Returns the claim of a gate as a sentence.
fn words(gate: &Gate) -> String {
    let text = match &gate.check {
        Check::Command(_) => match gate.kind.as_str() {
            "build" => "it builds",
            "lint" => "the linter accepts it",
            "format" => "it is formatted",
            "types" => "its types fit",
            "test" => "the test command passes",
            _ => return format!("`{}` passes", gate.name),
        },
        other => other.claim(),
    };
    text.to_owned()
}

/// Returns advice for the findings of a verdict, for the first rule that has advice.
fn advise(evidence: &Evidence) -> Option<String> {
    const ADVICE: [(&str, &str); 26] = [
        ("new-failure", "mend the code; the test passed before this change"),
        ("now-skipped", "let the test run again"),
        ("test-removed", "restore the test; if it is meant to go, add `--allow test-removed`"),
        ("test-skipped", "let the test run again, and mend what makes it fail"),
        ("test-hidden", "let the runner find the test again"),
        ("assertions-removed", "restore the assertions"),
        ("assertion-weakened", "restore the assertion, and mend the code instead"),
        ("assertion-dead", "make the assertion reachable"),
        (
            "expectation-changed",
            "restore the expected value; if the change is meant to give another one, add `--allow expectation-changed`",
        ),
        ("snapshot-rewritten", "restore the snapshot, or review the difference by hand"),
        ("settings-loosened", "restore the setting"),
        ("failure-ignored", "let the failure count again"),
        ("retries-added", "remove the retries, and mend what is flaky"),
        ("special-cased", "mend the code for all inputs, not for those of the test"),
        ("test-detected", "remove what tells whether a test runs"),
        ("task-unasserted", "assert the result that the task asks for"),
        ("input-unread", "let the input count, or remove it"),
        ("unawaited", "wait for the work that was started"),
        ("unnoticed", "assert the values that the change gives"),
        ("subject-replaced", "test the real thing"),
        (rule::NEVER_RED, "write a test that fails without the change"),
        ("weak-red", "assert what the change does, not only that it exists"),
        (rule::UNTESTED, "add a test that fails without the change and passes with it"),
        (rule::UNPROVEN, "add the code that the tests are about, or configure the check `mutation`"),
        (rule::NOTHING_RAN, "see that the runner finds the tests"),
        ("build", "make it build; the first error is above"),
    ];
    let has = |rule: &&(&str, &str)| evidence.failing().any(|finding| finding.rule == rule.0);
    ADVICE.iter().find(has).map(|(_, text)| (*text).to_owned())
}

/// Counts the claims by status, for headlines.
pub fn count(report: &Report) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for claim in &report.claims {
        let word = match claim.status {
            Status::Holds => "hold",
            Status::Broken => "broken",
            Status::Warned => "warned",
            Status::Unshown => "not shown",
            Status::BrokenBefore => "broken before",
            Status::Unjudged => "not judged",
        };
        *counts.entry(word).or_default() += 1;
    }
    counts
}
