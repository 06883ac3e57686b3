//! What a judgement came to: a claim for each gate, whether it holds, and on what that rests.

use std::collections::BTreeMap;
use std::time::Duration;

use acquit_core::event::SetupAgain;
use acquit_core::gate::{Check, Evidence, Gate, Severity, Verdict, Weight};
use acquit_core::ids::Name;
use acquit_core::time::Span;
use serde::Serialize;

use super::rules::{Origin, Rules};
use super::subject::Subject;
use super::trial::Round;
use crate::check::problem::{self, Problem};

/// Changes with the form of the report.
pub const FORM: u32 = 1;

/// The judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Every claim that counts was shown to hold.
    Acquitted,
    /// A claim does not hold.
    Guilty,
    /// Nothing speaks against the change, but what had to be run could not be.
    Unjudged,
}

impl Decision {
    /// In a word.
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
    /// It was shown.
    Holds,
    /// It does not hold, and that counts.
    Broken,
    /// It does not hold, and the rules say that this is only shown.
    Warned,
    /// It could not be shown, and does not count against the change.
    Unshown,
    /// It fails on the base as well.
    BrokenBefore,
    /// It could not be judged.
    Unjudged,
}

/// The output of a gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Log {
    /// The hash of all that it printed.
    pub sha256: String,
    /// How much that is.
    pub bytes: u64,
    /// The name of the copy, if one is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// One claim about the change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Claim {
    /// The gate.
    pub gate: Name,
    /// The check that it makes: `tests`, `tdd`, `command`.
    pub check: &'static str,
    /// What is claimed, as a sentence without a full stop.
    pub claim: String,
    /// Whether it holds.
    pub status: Status,
    /// What was executed, or what was looked at.
    pub command: String,
    /// How that ended, in words.
    pub ended: String,
    /// How long it took.
    pub took: Span,
    /// Whether an earlier judgement on the same content said so.
    pub reused: bool,
    /// What was counted and found.
    pub evidence: Evidence,
    /// What is wrong, if something is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Where.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<acquit_core::failure::Location>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// The end of what was printed.
    pub tail: String,
    /// All that was printed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<Log>,
}

/// Something that was not checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unchecked {
    /// What.
    pub what: String,
    /// Why.
    pub why: String,
}

/// What a judgement came to.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The form of this report.
    pub form: u32,
    /// The judgement.
    pub decision: Decision,
    /// The change.
    pub change: Subject,
    /// Where the rules come from.
    pub rules: Origin,
    /// What was recognised, if nobody wrote rules.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub detected: Vec<String>,
    /// One for each gate, in the order in which they spoke.
    pub claims: Vec<Claim>,
    /// Setups that ran because the change has other lock files than its base, with their network and hosts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub setups: Vec<SetupAgain>,
    /// What was not checked.
    pub unchecked: Vec<Unchecked>,
    /// Why nothing could be judged, if so, with what mends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Problem>,
    /// Whether somebody ended it.
    pub cancelled: bool,
    /// How long it took.
    pub took: Span,
    #[serde(skip)]
    gates: Vec<Gate>,
    #[serde(skip)]
    nothing_to_test: bool,
    #[serde(skip)]
    config: Box<acquit_core::config::Config>,
}

impl Report {
    /// The configuration that the rules came from.
    pub(super) fn config(&self) -> &acquit_core::config::Config {
        &self.config
    }

    /// A judgement that somebody ended before it began.
    pub(super) fn cancelled(change: Subject, rules: &Rules) -> Self {
        let mut report = Self::empty(change, rules);
        report.cancelled = true;
        report
    }

    /// Of a change that changes nothing, if that needs no judgement.
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

    /// What the first round says.
    pub(super) fn of(change: Subject, rules: &Rules, round: &Round) -> Self {
        let config = &rules.config;
        let mut report = Self::empty(change, rules);
        report.cancelled = round.cancelled;
        report.add_setups(round);
        report.stopped =
            round.stopped.as_ref().map(|reason| problem::of_setup(config, reason, &round.refused));
        for verdict in &round.verdicts {
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

    /// Adds the setups of a round, each once.
    fn add_setups(&mut self, round: &Round) {
        for setup in &round.setups {
            if !self.setups.iter().any(|known| known.is_same(setup)) {
                self.setups.push(setup.clone());
            }
        }
    }

    /// Adds how the tests that were there fare with a change that has no test of its own.
    pub(super) fn add_regressions(&mut self, round: &Round) {
        self.add_setups(round);
        for verdict in &round.verdicts {
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

    /// Takes back what fails on the base as well.
    pub(super) fn compare_with_base(&mut self, round: &Round) {
        for verdict in round.verdicts.iter().filter(|verdict| !verdict.passed) {
            let failed = |claim: &&mut Claim| {
                claim.gate == verdict.gate && matches!(claim.status, Status::Broken | Status::Warned)
            };
            if let Some(claim) = self.claims.iter_mut().find(failed) {
                claim.status = Status::BrokenBefore;
                claim.advice =
                    Some("mend it on the base first: until then it says nothing about a change".to_owned());
            }
        }
    }

    /// Decides.
    pub(super) fn finish(&mut self, took: Duration) {
        self.took = Span::from(u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
        let guilty = self.claims.iter().any(|claim| claim.status == Status::Broken);
        // What fails before the change and what cannot be run leaves a gap. For tests that gap is the judgement.
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
        for claim in &self.claims {
            let why = match claim.status {
                Status::BrokenBefore => "it fails on the base as well",
                Status::Unshown if claim.evidence.findings.iter().any(|it| it.rule == "never-red") => {
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

fn is_about_tests(gate: &Gate) -> bool {
    gate.severity == Severity::Error && runs_tests(gate)
}

/// Whether a gate runs tests.
fn runs_tests(gate: &Gate) -> bool {
    match &gate.check {
        Check::Tests(_) | Check::Tdd(_) => true,
        Check::Command(_) => gate.kind.as_str() == "test",
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
    // A task can say that a program is to do something else. Here nobody has, so what tests expect must stay.
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
    // Nobody asked this project for tests of every change: that there is none is told, and no more.
    let detected = matches!(rules, Origin::Detected | Origin::DetectedInChange);
    if detected && failing().next().is_some() && failing().all(|it| UNTESTED.contains(&it.rule.as_str())) {
        status = Status::Unshown;
    }
    if !passed {
        let refused: Vec<_> =
            round.refused.iter().filter(|(name, _)| *name == gate.name.as_str()).cloned().collect();
        let known = problem::of_gate(config, gate, verdict, &refused);
        if let Some(program) = &known.missing {
            status = Status::Unjudged;
            advice = Some(format!("install {program}, or show it to the sandbox with `[access] read`"));
        } else if known.what.contains("was not recognised") {
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

/// The rule about values that tests expect.
const EXPECTATION: &str = "expectation-changed";

/// Findings that say no more than that a change has no test of its own.
const UNTESTED: [&str; 2] = ["untested", "unproven"];

/// What is claimed.
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

/// What to do about the findings of a verdict, by the first rule that there is advice for.
fn advise(evidence: &Evidence) -> Option<String> {
    const ADVICE: [(&str, &str); 22] = [
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
        ("subject-replaced", "test the real thing"),
        ("never-red", "write a test that fails without the change"),
        ("weak-red", "assert what the change does, not only that it exists"),
        ("untested", "add a test that fails without the change and passes with it"),
        ("unproven", "add the code that the tests are about, or configure the check `mutation`"),
        ("nothing-ran", "see that the runner finds the tests"),
        ("build", "make it build; the first error is above"),
    ];
    let has = |rule: &&(&str, &str)| evidence.failing().any(|finding| finding.rule == rule.0);
    ADVICE.iter().find(has).map(|(_, text)| (*text).to_owned())
}

/// How many claims have each status, for headlines.
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
