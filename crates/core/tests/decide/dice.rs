//! Workflows and inputs made of random bytes: every byte string is a valid workflow, or an input that may be anything.

use acquit_core::decide::Input;
use acquit_core::human_request::{Answer, Ask};
use acquit_core::ids::Name;
use acquit_core::labels::Edit;
use acquit_core::leg::{Ending, Report};
use acquit_core::task::{State, Task};
use acquit_core::time::Span;
use acquit_core::workflow::{Consent, Stage, Target, Transition, Work, Workflow};

use crate::kit;

/// The kinds of failure that these workflows know; `lost` has its own place in the rules, `mystery` has no budget.
const KINDS: [&str; 7] = ["test", "lint", "agent", "limit", "lost", "gate", "mystery"];
/// Budgets that transitions spend.
const LOOPS: [&str; 2] = ["loop", "round"];

/// Random bytes, read one by one; zeros when they are used up.
pub(crate) struct Dice<'a>(pub(crate) &'a [u8]);

impl Dice<'_> {
    /// A number below `sides`.
    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        usize::from(*first) % sides
    }

    fn one<'t, T: ?Sized>(&mut self, of: &[&'t T]) -> &'t T {
        of[self.roll(of.len())]
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A workflow of one to six stages in which every way back to an earlier or the same stage spends a budget, so that
/// every cycle of transitions has one.
pub(crate) fn workflow(dice: &mut Dice<'_>) -> Workflow {
    let count = 1 + dice.roll(6);
    let stages = (0..count).map(|at| stage(dice, at, count)).collect();
    let budgets = KINDS[..6].iter().chain(&LOOPS).chain(&["blocked"]).map(|budget| {
        let limit = dice.roll(4);
        (*budget, u32::try_from(limit).unwrap())
    });
    let budgets: Vec<(&str, u32)> = budgets.collect();
    let flow = kit::workflow(stages, &budgets);
    match dice.roll(5) {
        0 => flow,
        values => kit::varying(flow, &["tests", "docs", "speed", "style"][..values], dice.roll(values)),
    }
}

fn stage(dice: &mut Dice<'_>, at: usize, count: usize) -> Stage {
    let (work, outcomes): (Work, &[&str]) = match dice.roll(6) {
        0 => (kit::human(), &["approved", "rejected", "other"]),
        1 => (Work::Check, &["passed", "failed"]),
        2 => (kit::action(), &["done", "failed"]),
        _ => (kit::agent(), &["ready", "again", "failed", "needs_input"]),
    };
    let mut stage = kit::stage(&called(at), work);
    for outcome in outcomes {
        if dice.roll(4) > 0 {
            let transition = transition(dice, at, count);
            stage.on.insert(kit::name(outcome), transition);
        }
    }
    if dice.roll(2) == 0 {
        stage.fix = Some(kit::name(&called(dice.roll(count))));
    }
    stage.consent =
        [Consent::NotNeeded, Consent::NotNeeded, Consent::AfterIt, Consent::BeforeIt][dice.roll(4)];
    stage
}

fn called(at: usize) -> String {
    format!("s{at}")
}

fn transition(dice: &mut Dice<'_>, at: usize, count: usize) -> Transition {
    let targets = [1, 1, 1, 1, 0, 2][dice.roll(6)];
    let mut budget = (dice.roll(4) == 0).then(|| kit::name(LOOPS[0]));
    let mut to = Vec::new();
    for _ in 0..targets {
        to.push(match dice.roll(9) {
            0 => Target::Done,
            1 => Target::Failed,
            2 => Target::Person,
            3 => Target::Back,
            4 => Target::NextVariation,
            _ => {
                let next = dice.roll(count);
                if next <= at {
                    budget = Some(kit::name(LOOPS[1]));
                }
                Target::Stage(kit::name(&called(next)))
            }
        });
    }
    Transition { to, budget, schema: None, description: None }
}

/// A way for the current leg to end: mostly one that its stage knows.
pub(crate) fn ending(dice: &mut Dice<'_>, task: &Task, workflow: &Workflow) -> Ending {
    let stage = task.state.stage().and_then(|stage| workflow.stage(stage.as_str()));
    let known: Vec<&Name> = stage.map(|stage| stage.on.keys().collect()).unwrap_or_default();
    let outcome = match dice.roll(known.len() + 1) {
        0 => "needs_input",
        other => known[other - 1].as_str(),
    };
    match dice.roll(12) {
        0 => kit::failed(dice.one(&KINDS)),
        1 => Ending::TimedOut { reason: "too slow".to_owned() },
        2 => Ending::Lost { why: "killed".to_owned() },
        3 => kit::rejected(outcome, &[]),
        4 => kit::rejected(outcome, &[dice.one(&KINDS), dice.one(&KINDS)]),
        5 | 6 => kit::rejected(outcome, &[dice.one(&KINDS)]),
        7 => Ending::Held {
            kind: kit::name(dice.one(&["usage", "overload"])),
            wait: Span::from(7),
            reason: "busy".to_owned(),
        },
        8 => kit::failed("login"),
        9 => Ending::Conflict { onto: "moved".to_owned(), hunks: Vec::new(), reason: "both".to_owned() },
        _ => kit::passed(outcome),
    }
}

/// Anything that might be tried on a task, sensible or not.
pub(crate) fn input(dice: &mut Dice<'_>, task: &Task, workflow: &Workflow) -> Input {
    let by = kit::ann();
    let leg = if dice.roll(12) == 0 { task.legs + 1 } else { task.legs };
    match (dice.roll(17), &task.state) {
        (0, _) => Input::Cancel { by },
        (2, _) => {
            let stage = [None, Some("s0"), Some("s1"), Some("nowhere")][dice.roll(4)].map(kit::name);
            Input::Retry { by, stage, note: (dice.roll(2) == 0).then(|| "please".to_owned()) }
        }
        (3, _) => answer(dice, task),
        (16, _) => Input::Edit { edit: edit(dice) },
        (4, _) | (_, State::New) => Input::Begin,
        (15, _) | (_, State::Blocked { .. }) => Input::Release,
        (_, State::Waiting { .. }) => answer(dice, task),
        (5..=7, State::Ended { .. }) => Input::Retry { by, stage: None, note: None },
        (5, _) => Input::LegEnded { leg, report: Box::new(Report::bare(Ending::Cancelled)) },
        (_, State::Working { .. } | State::Ended { .. }) => {
            let mut report = Report::bare(ending(dice, task, workflow));
            report.tip = (dice.roll(3) == 0).then(|| format!("tip-{leg}"));
            report.learning = (dice.roll(5) == 0).then(|| "it learned".to_owned());
            Input::LegEnded { leg, report: Box::new(report) }
        }
    }
}

fn edit(dice: &mut Dice<'_>) -> Edit {
    let priority = (dice.roll(2) == 0).then_some(7);
    let size = (dice.roll(2) == 0).then(|| ["", "small"][dice.roll(2)].to_owned());
    let tag = || vec!["ui".to_owned()];
    let (add_tags, remove_tags) = if dice.roll(2) == 0 { (tag(), Vec::new()) } else { (Vec::new(), tag()) };
    let metadata = [(["team", "schedule"][dice.roll(2)].to_owned(), "core".to_owned())].into();
    Edit { priority, size, add_tags, remove_tags, metadata, ..Edit::default() }
}

fn answer(dice: &mut Dice<'_>, task: &Task) -> Input {
    let request = if dice.roll(10) == 0 { task.requests + 1 } else { task.requests };
    let options: Vec<String> = match &task.state {
        State::Waiting { request } => match &request.ask {
            Ask::Choice { options } => options.iter().map(ToString::to_string).collect(),
            Ask::Stage { outcomes } => outcomes.iter().map(ToString::to_string).collect(),
            Ask::Question { .. } | Ask::Approval { .. } | Ask::Budget { .. } | Ask::Stuck => Vec::new(),
        },
        State::New | State::Working { .. } | State::Blocked { .. } | State::Ended { .. } => Vec::new(),
    };
    let answer = match dice.roll(6) {
        0 => kit::reject(),
        1 | 2 => kit::approve(),
        3 => kit::say("words"),
        _ if options.is_empty() => {
            [kit::approve(), kit::say("so"), kit::choose("nonsense")][dice.roll(3)].clone()
        }
        _ => Answer::Choose { option: options[dice.roll(options.len())].clone() },
    };
    Input::Answer { request, by: kit::ann(), answer }
}
