//! Tasks that wait for the one which mends the failure they met: two hundred on twenty roots, in any order.

use std::collections::BTreeMap;

use acquit_core::decide::{Input, decide_among};
use acquit_core::failure::Failure;
use acquit_core::fingerprint::Fingerprint;
use acquit_core::ids::TaskId;
use acquit_core::leg::{Ending, Report};
use acquit_core::task::{End, State, Task};
use acquit_core::workflow::Workflow;
use proptest::prelude::*;

use crate::dice::Dice;
use crate::kit::{self, Build};

const TASKS: u64 = 200;
const ROOTS: u64 = 20;

/// What the store keeps of who mends what, by its rules: the first one has it, and it is whatever the tasks say.
struct Night {
    workflow: Workflow,
    tasks: BTreeMap<TaskId, Task>,
    roots: BTreeMap<Fingerprint, TaskId>,
    /// Failures whose cause is gone.
    mended: Vec<u64>,
}

fn failure(number: u64) -> Failure {
    Failure { message: format!("test number_{number} fails"), ..kit::failure("test") }
}

/// Which failure a task meets.
fn meets(task: TaskId) -> u64 {
    task.0 % ROOTS
}

impl Night {
    fn new() -> Self {
        let stages = vec![kit::stage("code", kit::agent()).on("pr_ready", &["done"])];
        let workflow = kit::workflow(stages, &[("test", 1), ("blocked", 5)]);
        let mut night = Self { workflow, tasks: BTreeMap::new(), roots: BTreeMap::new(), mended: Vec::new() };
        for number in 1..=TASKS {
            let mut seed = kit::seed();
            seed.id = TaskId(number);
            night.tasks.insert(TaskId(number), Task::new(seed));
            night.give(TaskId(number), Input::Begin);
        }
        night
    }

    fn give(&mut self, id: TaskId, input: Input) {
        let task = self.tasks.get_mut(&id).unwrap();
        let roots = &self.roots;
        let changes =
            decide_among(task, &self.workflow, input, &|failure| roots.get(failure).copied()).unwrap();
        changes.iter().for_each(|change| task.apply(change));
        self.roots.retain(|_, root| *root != id);
        for fingerprint in &task.roots {
            self.roots.entry(fingerprint.clone()).or_insert(id);
        }
    }

    /// Ends the task's leg: green if the cause of its failure is gone, or if this task is the one that takes it away.
    fn work(&mut self, id: TaskId, dice: &mut Dice<'_>) {
        let task = &self.tasks[&id];
        let State::Working { leg, .. } = task.state else { panic!("{:?}", task.state) };
        let holds = self.roots.values().any(|root| *root == id);
        let ending = if self.mended.contains(&meets(id)) {
            kit::passed("pr_ready")
        } else if holds && dice.roll(3) > 0 {
            self.mended.push(meets(id));
            kit::passed("pr_ready")
        } else if holds && dice.roll(4) == 0 {
            self.give(id, Input::Cancel { by: kit::ann() });
            Ending::Cancelled
        } else {
            Ending::Rejected { outcome: kit::outcome("pr_ready", ""), failures: vec![failure(meets(id))] }
        };
        self.give(id, Input::LegEnded { leg, report: Box::new(Report::bare(ending)) });
    }

    /// Those who wait for a task that does not mend their failure any more.
    fn released(&self) -> Vec<TaskId> {
        let waits_for_nobody = |task: &&Task| match &task.state {
            State::Blocked { root, .. } => self.roots.get(&root.fingerprint) != Some(&root.task),
            State::New | State::Working { .. } | State::Waiting { .. } | State::Ended { .. } => false,
        };
        self.tasks.values().filter(waits_for_nobody).map(Task::id).collect()
    }

    fn in_state(&self, word: &str) -> Vec<TaskId> {
        self.tasks.values().filter(|task| task.state.word() == word).map(Task::id).collect()
    }

    /// Whoever waits, waits for a task that mends its failure and does not wait itself; or is found to be released.
    fn check(&self) {
        let released = self.released();
        for task in self.tasks.values() {
            let State::Blocked { root, .. } = &task.state else { continue };
            if !released.contains(&task.id()) {
                let other = &self.tasks[&root.task];
                assert!(other.roots.contains(&root.fingerprint), "{} waits for nothing", task.id());
                assert!(matches!(other.state, State::Working { .. } | State::Waiting { .. }));
                assert_eq!(meets(task.id()), meets(root.task));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn two_hundred_tasks_on_twenty_roots_are_released_in_any_order(bytes in prop::collection::vec(any::<u8>(), 4000)) {
        let mut night = Night::new();
        let mut dice = Dice(&bytes);
        let mut most_blocked = 0;
        for _ in 0..20_000 {
            let working = night.in_state("working");
            let released = night.released();
            // Somebody looks now and then, and sees only some before it is killed.
            if !released.is_empty() && (working.is_empty() || dice.roll(5) == 0) {
                let some = 1 + dice.roll(released.len());
                for id in released.into_iter().take(some) {
                    night.give(id, Input::Release);
                }
            } else if let Some(id) = working.get(dice.roll(256) * working.len() / 256) {
                night.work(*id, &mut dice);
            } else if let Some(id) = night.in_state("waiting").first() {
                // A person takes the cause away.
                night.mended.push(meets(*id));
                night.give(*id, Input::Retry { by: kit::ann(), stage: None, note: None });
            } else {
                break;
            }
            night.check();
            most_blocked = most_blocked.max(night.in_state("blocked").len());
        }
        let ends = night.tasks.values().filter(|task| matches!(task.state, State::Ended { .. })).count();
        prop_assert_eq!(ends as u64, TASKS);
        prop_assert!(night.roots.is_empty() && night.released().is_empty());
        prop_assert!(most_blocked >= 30, "only {} waited", most_blocked);
        let done = night.tasks.values().filter(|task| task.state == (State::Ended { end: End::Done })).count();
        prop_assert!(done >= 100, "{} are done", done);
    }
}

#[test]
fn whoever_waits_spends_no_other_budget_and_goes_on_with_its_gates() {
    let mut night = Night::new();
    let rejected = || {
        let failures = vec![failure(1)];
        Report::bare(Ending::Rejected { outcome: kit::outcome("pr_ready", ""), failures })
    };
    night.give(TaskId(1), Input::LegEnded { leg: 1, report: Box::new(rejected()) });
    night.give(TaskId(21), Input::LegEnded { leg: 1, report: Box::new(rejected()) });
    let first = &night.tasks[&TaskId(1)];
    assert_eq!((first.state.word(), first.roots.len()), ("working", 1), "the first one mends it");
    let second = &night.tasks[&TaskId(21)];
    assert_eq!(second.state.word(), "blocked");
    let spent: Vec<(&str, u32)> = second.spent.iter().map(|(name, count)| (name.as_str(), *count)).collect();
    assert_eq!(spent, [("blocked", 1)]);
    assert!(night.released().is_empty());
    night.give(TaskId(1), Input::Cancel { by: kit::ann() });
    night.give(TaskId(1), Input::LegEnded { leg: 2, report: Box::new(Report::bare(Ending::Cancelled)) });
    assert_eq!(night.released(), [TaskId(21)]);
    night.give(TaskId(21), Input::Release);
    let State::Working { entry, .. } = &night.tasks[&TaskId(21)].state else { panic!() };
    assert!(matches!(entry.purpose, acquit_core::leg::Purpose::Recheck { .. }));
    // Nobody mends it now, so this one does.
    night.give(TaskId(21), Input::LegEnded { leg: 2, report: Box::new(rejected()) });
    assert_eq!(night.tasks[&TaskId(21)].state.word(), "working");
}
