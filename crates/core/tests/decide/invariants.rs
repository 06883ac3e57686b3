//! What always holds about a task, written down apart from the code that must keep it.

#![allow(clippy::match_same_arms, reason = "a table is read row by row")]

use acquit_core::change::Change;
use acquit_core::decide::Input;
use acquit_core::human_request::{Answer, Ask};
use acquit_core::leg::{Ending, Purpose};
use acquit_core::task::{End, State, Task};
use acquit_core::workflow::{Consent, Target, Work, Workflow};

use crate::kit::Way;

/// Holds after every step.
pub(crate) fn hold(way: &Way) {
    let Way { workflow, task, changes } = way;
    let count =
        |kind: &str| u32::try_from(changes.iter().filter(|change| change.kind() == kind).count()).unwrap();
    let (readied, ended) = (count("leg_readied"), count("leg_ended"));

    let numbers = changes.iter().filter(|change| change.kind() == "leg_readied").filter_map(Change::leg);
    assert!(numbers.eq(1..=readied), "leg numbers increase by one");
    assert_eq!(task.legs, readied);
    assert_eq!(task.requests, count("request_opened"));
    assert!(task.past.iter().map(|past| past.number).eq(1..=ended), "the past is what has ended, in order");
    for (budget, spent) in &task.spent {
        assert!(*spent <= workflow.budgets.get(budget).copied().unwrap_or(0), "{budget} is overspent");
    }
    let values = workflow.variation.as_ref().map_or(0, |variation| variation.values.len());
    assert!(task.tried.len() <= values, "no value is tried twice in a row of tries");

    let reported = changes.iter().any(|change| match change {
        Change::LegEnded { report, .. } => report.tip.as_ref() == Some(&task.tip),
        _ => false,
    });
    assert!(task.tip == task.seed.base.commit || reported, "the tip comes from a report or is the base");

    match &task.state {
        State::New => assert!(task.legs == 0 && task.requests == 0),
        State::Working { leg, entry, .. } => {
            assert_eq!((*leg, ended + 1), (task.legs, readied), "one leg is active, the newest");
            let stage = workflow.stage(entry.stage.as_str()).expect("a leg's stage exists");
            assert!(!matches!(stage.work, Work::Human { .. }), "nobody but a person does a human stage");
        }
        State::Waiting { request } => {
            assert_eq!((request.number, ended), (task.requests, readied), "the newest request, and no leg");
            assert!(workflow.stage(request.stage.as_str()).is_some());
            assert!(workflow.stage(request.resume.stage.as_str()).is_some());
        }
        State::Blocked { root, resume } => {
            assert_eq!(ended, readied, "no leg is left over");
            assert!(root.task != task.id() && task.roots.is_empty(), "whoever waits mends nothing");
            assert!(workflow.stage(resume.stage.as_str()).is_some());
        }
        State::Ended { end } => {
            assert!(task.roots.is_empty(), "what is over mends nothing");
            assert_eq!(ended, readied, "no leg is left over");
            assert!(*end != End::NoImprovement || task.tried.len() == values, "every value has its reason");
        }
    }
}

/// Holds for a step that was taken: `before` it, and the changes that it made.
pub(crate) fn follow(before: &Task, workflow: &Workflow, input: &Input, changes: &[Change], after: &Task) {
    if let (Input::LegEnded { .. }, State::Working { cancel: Some(by), .. }) = (input, &before.state) {
        let end = End::Cancelled { by: by.clone() };
        assert_eq!(after.state, State::Ended { end }, "whoever cancelled gets the end");
    }
    for change in changes {
        let Change::LegReadied { entry, .. } = change else { continue };
        let stage = workflow.stage(entry.stage.as_str()).unwrap();
        if stage.consent == Consent::BeforeIt && !matches!(entry.purpose, Purpose::Recheck { .. }) {
            assert!(consented(before, input, &stage.name), "{} began without a word", stage.name);
        }
    }
}

/// Whether a person agreed to what this stage does: just now, or before a try of it that broke off.
fn consented(before: &Task, input: &Input, stage: &acquit_core::ids::Name) -> bool {
    match (input, &before.state) {
        (Input::Answer { answer: Answer::Approve, .. }, State::Waiting { request }) => {
            request.ask == Ask::Approval { to: Target::Stage(stage.clone()) } && request.stage == *stage
        }
        (Input::Answer { answer: Answer::Text { .. }, .. }, State::Waiting { request }) => {
            matches!(request.ask, Ask::Question { .. }) && request.stage == *stage
        }
        (Input::LegEnded { report, .. }, State::Working { entry, .. }) => {
            let broke_off = match report.ending {
                Ending::Failed { .. }
                | Ending::TimedOut { .. }
                | Ending::Lost { .. }
                | Ending::Held { .. } => true,
                Ending::Passed { .. }
                | Ending::Rejected { .. }
                | Ending::Conflict { .. }
                | Ending::Cancelled => false,
            };
            broke_off && entry.stage == *stage
        }
        _ => false,
    }
}

/// Whether an input has a meaning for a task, by a table of its own.
pub(crate) fn legal(task: &Task, workflow: &Workflow, input: &Input) -> bool {
    match (&task.state, input) {
        (State::New, Input::Begin) => true,
        (State::Working { leg, .. }, Input::LegEnded { leg: of, .. }) => leg == of,
        (State::Working { .. } | State::Waiting { .. } | State::Blocked { .. }, Input::Cancel { .. }) => true,
        (State::Blocked { .. }, Input::Release) => true,
        (State::New | State::Ended { .. }, Input::Edit { .. }) => false,
        (_, Input::Edit { edit }) => !edit.metadata.contains_key("schedule"),
        (State::Ended { end: End::Done }, _) => false,
        (State::Waiting { .. } | State::Blocked { .. } | State::Ended { .. }, Input::Retry { stage, .. }) => {
            stage.as_ref().is_none_or(|stage| workflow.stage(stage.as_str()).is_some())
        }
        (State::Waiting { request }, Input::Answer { request: number, answer, .. }) => {
            let among = |options: Vec<String>, word: &str| options.iter().any(|option| option == word);
            let taken = match (&request.ask, answer) {
                (Ask::Stage { outcomes }, answer) => {
                    let outcomes = outcomes.iter().map(ToString::to_string).collect();
                    match answer {
                        Answer::Approve => among(outcomes, "approved"),
                        Answer::Reject { .. } => among(outcomes, "rejected"),
                        Answer::Choose { option } => among(outcomes, option),
                        Answer::Text { .. } | Answer::Each { .. } => false,
                    }
                }
                (_, Answer::Reject { .. }) => true,
                (Ask::Choice { options }, Answer::Choose { option }) => {
                    among(options.iter().map(ToString::to_string).collect(), option)
                }
                (Ask::Question { .. } | Ask::Budget { .. } | Ask::Stuck, Answer::Text { .. }) => true,
                (Ask::Approval { .. } | Ask::Budget { .. } | Ask::Stuck, Answer::Approve) => true,
                _ => false,
            };
            taken && *number == request.number
        }
        _ => false,
    }
}
