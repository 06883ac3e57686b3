//! For any workflow and any sequence of inputs.

use acquit_core::agent::Usage;
use acquit_core::change::Change;
use acquit_core::decide::{Input, decide_among};
use acquit_core::leg::{Ending, Report};
use acquit_core::task::{End, State, Task};
use acquit_core::workflow::Workflow;
use proptest::prelude::*;

use crate::dice::{self, Dice};
use crate::invariants;
use crate::kit::{Way, ann, mends};

/// Enough to meet every rule many times over, few enough for a second or two.
fn cases() -> ProptestConfig {
    ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() }
}

/// Long enough for a workflow (up to about 150) and for some forty inputs after it.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 20..400)
}

/// The most legs that a task can have before a person is needed, whatever its agents do. Every leg that ends either
/// spends a budget, or moves on to a later stage, or goes back from a fix (once for each budget spent on getting there), or
/// takes the variation's next value, for which all budgets are there again.
fn most_legs(workflow: &Workflow) -> u32 {
    let budgets: u32 = workflow.budgets.values().sum();
    let values = workflow.variation.as_ref().map_or(1, |variation| variation.values.len());
    let stages = u32::try_from(workflow.stages.len()).unwrap();
    u32::try_from(values).unwrap() * (budgets + 1) * (2 * stages + 1)
}

/// What an ending costs whoever wants the task to go on without end: first its going on, then its budgets.
fn cost(way: &Way, ending: &Ending) -> (bool, u32) {
    let report = Report::bare(ending.clone());
    let changes = decide_among(
        &way.task,
        &way.workflow,
        Input::LegEnded { leg: way.task.legs, report: Box::new(report) },
        &mends,
    )
    .unwrap();
    let mut after = way.task.clone();
    for change in &changes {
        after.apply(change);
    }
    (!matches!(after.state, State::Working { .. } | State::Blocked { .. }), after.spent.values().sum())
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn no_sequence_of_inputs_leads_to_an_illegal_state(bytes in bytes()) {
        let mut dice = Dice(&bytes);
        let mut way = Way::new(dice::workflow(&mut dice));
        while !dice.is_empty() {
            let input = dice::input(&mut dice, &way.task, &way.workflow);
            let before = way.task.clone();
            let legal = invariants::legal(&before, &way.workflow, &input);
            let result = way.give(input.clone());
            prop_assert_eq!(result.is_ok(), legal, "{:?} on {:?}: {:?}", input, before.state, result);
            if let Ok(changes) = result {
                invariants::follow(&before, &way.workflow, &input, &changes, &way.task);
            } else {
                prop_assert_eq!(&before, &way.task);
            }
            invariants::hold(&way);
        }
    }

    /// However legs end, whoever answers, retries or cancels: no cost is lost and none is counted twice, also after a replay.
    #[test]
    fn a_task_costs_what_its_legs_cost_whatever_happens(bytes in bytes()) {
        let mut dice = Dice(&bytes);
        let mut way = Way::new(dice::workflow(&mut dice));
        let mut expected = 0;
        while !dice.is_empty() {
            let mut input = dice::input(&mut dice, &way.task, &way.workflow);
            let mut cost = 0;
            if let Input::LegEnded { report, .. } = &mut input {
                cost = 1 + dice.roll(200) as u64;
                report.usage = Usage { input: cost, cost_micros: Some(cost), ..Usage::default() };
            }
            if way.give(input).is_ok() {
                expected += cost;
            }
            prop_assert_eq!(way.task.usage().paid().unwrap_or(0), expected);
        }
        let replayed = Task::replay(&way.changes).map(|task| task.usage());
        prop_assert_eq!(replayed.unwrap_or_default().paid().unwrap_or(0), expected);
    }

    #[test]
    fn replaying_the_changes_gives_the_same_task(bytes in bytes()) {
        let mut dice = Dice(&bytes);
        let mut way = Way::new(dice::workflow(&mut dice));
        while !dice.is_empty() {
            let input = dice::input(&mut dice, &way.task, &way.workflow);
            let _ = way.give(input);
        }
        prop_assert_eq!(Task::replay(&way.changes), Some(way.task.clone()));
        let stored = serde_json::to_string(&way.changes).unwrap();
        let read: Vec<Change> = serde_json::from_str(&stored).unwrap();
        prop_assert_eq!(Task::replay(&read), Some(way.task.clone()));
        let whole: Task = serde_json::from_str(&serde_json::to_string(&way.task).unwrap()).unwrap();
        prop_assert_eq!(whole, way.task);
    }

    #[test]
    fn without_a_person_the_number_of_legs_is_bounded(bytes in bytes(), moves in prop::collection::vec(any::<u8>(), 97)) {
        let mut way = Way::begun(dice::workflow(&mut Dice(&bytes)));
        let most = most_legs(&way.workflow);
        let mut dice = Dice(&moves);
        while matches!(way.task.state, State::Working { .. } | State::Blocked { .. }) {
            if matches!(way.task.state, State::Blocked { .. }) {
                way.give(Input::Release).unwrap();
                continue;
            }
            prop_assert!(way.task.legs <= most, "more than {most} legs");
            // The adversary looks at many endings and takes the one that goes on for the least.
            let endings: Vec<Ending> = (0..24).map(|_| {
                if dice.is_empty() {
                    dice = Dice(&moves);
                }
                dice::ending(&mut dice, &way.task, &way.workflow)
            }).collect();
            let ending = endings.into_iter().min_by_key(|ending| cost(&way, ending)).unwrap();
            way.end(ending);
        }
    }

    #[test]
    fn a_cancelled_task_ends_with_its_leg_however_that_ends(bytes in bytes()) {
        let mut dice = Dice(&bytes);
        let mut way = Way::begun(dice::workflow(&mut dice));
        for _ in 0..dice.roll(8) {
            if matches!(way.task.state, State::Working { .. }) {
                let ending = dice::ending(&mut dice, &way.task, &way.workflow);
                way.end(ending);
            }
        }
        let cancelled = State::Ended { end: End::Cancelled { by: ann() } };
        match way.task.state.clone() {
            State::Working { leg, .. } => {
                way.give(Input::Cancel { by: ann() }).unwrap();
                prop_assert_eq!(way.word(), "cancelling");
                prop_assert_eq!(way.give(Input::Cancel { by: ann() }), Ok(Vec::new()), "asking twice changes nothing");
                let ending = dice::ending(&mut dice, &way.task, &way.workflow);
                way.give(Input::LegEnded { leg, report: Box::new(Report::bare(ending)) }).unwrap();
                prop_assert_eq!(&way.task.state, &cancelled);
            }
            State::Waiting { .. } | State::Blocked { .. } => {
                way.give(Input::Cancel { by: ann() }).unwrap();
                prop_assert_eq!(&way.task.state, &cancelled);
            }
            State::New | State::Ended { .. } => {
                let refused = way.give(Input::Cancel { by: ann() }).is_err();
                prop_assert!(refused);
            }
        }
    }

    #[test]
    fn a_lost_leg_is_tried_again_and_spends_nothing_else(bytes in bytes()) {
        let mut dice = Dice(&bytes);
        let mut way = Way::begun(dice::workflow(&mut dice));
        for _ in 0..dice.roll(4) {
            if matches!(way.task.state, State::Working { .. }) {
                let ending = dice::ending(&mut dice, &way.task, &way.workflow);
                way.end(ending);
            }
        }
        let State::Working { entry, .. } = way.task.state.clone() else { return Ok(()) };
        let (before, limit) = (way.task.spent.clone(), way.workflow.budgets["lost"]);
        let lost = before.get("lost").copied().unwrap_or(0);
        if lost < limit {
            let changes = way.end(Ending::Lost { why: "killed".to_owned() });
            prop_assert_eq!(way.entry(), &entry);
            prop_assert!(changes.iter().all(|change| change.delay().is_zero()));
            let mut after = before;
            after.insert("lost".parse().unwrap(), lost + 1);
            prop_assert_eq!(&way.task.spent, &after);
        }
    }
}
