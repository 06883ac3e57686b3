//! Decides the next steps of a night from its record and the state of its tasks.

use super::{Night, Progress, State};
use crate::ids::TaskId;
use crate::schedule::Order;

/// The rules of a schedule for its nights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Whether to work on repositories one by one or in parallel.
    pub order: Order,
    /// Maximum cost of the night, in millionths of a dollar.
    pub budget: Option<u64>,
    /// Whether work on repositories may start now.
    pub door: Door,
}

/// Whether work may start at this hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// It may.
    Open,
    /// It may no longer.
    Closed,
}

/// The state of a night's task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Cost so far, by the agents' figures or acquit's price list.
    pub cost_micros: u64,
    /// Whether it continues without help.
    pub work: Work,
}

/// Whether a task continues without help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Its id is reserved, but it is not created yet.
    Absent,
    /// It continues.
    Going,
    /// It is being cancelled.
    Ending,
    /// It has ended, or waits for someone else.
    Settled,
}

/// A step of a night.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Move {
    /// Start this repository, or create the task whose id it already has.
    Begin(usize),
    /// Skip this repository.
    Skip(usize, String),
    /// Cancel this task.
    Cancel(TaskId),
    /// Everything has ended: write the report.
    Finish,
}

/// Returns the steps to take now; none while its tasks continue without help. Taking only some and calling again gives
/// the same result.
pub fn moves(night: &Night, rules: Rules, standing: impl Fn(TaskId) -> Standing) -> Vec<Move> {
    if night.state != State::Running {
        return Vec::new();
    }
    let standings: Vec<Standing> = night.tasks().map(&standing).collect();
    let spent = standings.iter().fold(0_u64, |sum, one| sum.saturating_add(one.cost_micros));
    let broke = rules.budget.is_some_and(|budget| spent >= budget);
    let mut moves = Vec::new();
    let mut going = false;
    for (index, job) in night.jobs.iter().enumerate() {
        let waits = going && rules.order == Order::InOrder;
        match &job.progress {
            Progress::Skipped { .. } => {}
            Progress::Todo if broke => {
                moves.push(Move::Skip(index, "the night's budget is spent".to_owned()));
            }
            Progress::Todo if rules.door == Door::Closed => {
                moves.push(Move::Skip(index, "the schedule's hours were over before its turn".to_owned()));
            }
            Progress::Todo if waits => {}
            Progress::Todo => {
                moves.push(Move::Begin(index));
                going = true;
            }
            Progress::Task { task } => match standing(*task).work {
                Work::Absent => {
                    moves.push(Move::Begin(index));
                    going = true;
                }
                Work::Going => {
                    going = true;
                    if broke {
                        moves.push(Move::Cancel(*task));
                    }
                }
                Work::Ending => going = true,
                Work::Settled => {}
            },
            Progress::Again { task } => match standing(*task).work {
                Work::Going => {
                    going = true;
                    if broke {
                        moves.push(Move::Cancel(*task));
                    }
                }
                Work::Ending => going = true,
                Work::Absent | Work::Settled => {}
            },
        }
    }
    let left = going || night.jobs.iter().any(|job| job.progress == Progress::Todo);
    if moves.is_empty() && !left {
        moves.push(Move::Finish);
    }
    moves
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::ids::Name;
    use crate::night::Job;
    use crate::time::Timestamp;

    fn night(jobs: &[Progress]) -> Night {
        let mut night = Night::new(Name::literal("night"), Timestamp(7), State::Running, None, &[]);
        night.jobs = jobs
            .iter()
            .map(|progress| Job { repository: "r".to_owned(), progress: progress.clone() })
            .collect();
        night
    }

    const RULES: Rules = Rules { order: Order::InOrder, budget: None, door: Door::Open };

    fn task(number: u64) -> Progress {
        Progress::Task { task: TaskId(number) }
    }

    fn at(work: Work, cost_micros: u64) -> Standing {
        Standing { cost_micros, work }
    }

    #[test]
    fn repositories_are_begun_one_after_the_other_or_all_at_once() {
        let all = night(&[Progress::Todo, Progress::Todo]);
        let none = |_| at(Work::Settled, 0);
        assert_eq!(moves(&all, RULES, none), [Move::Begin(0)]);
        let beside = Rules { order: Order::SideBySide, ..RULES };
        assert_eq!(moves(&all, beside, none), [Move::Begin(0), Move::Begin(1)]);
        let first = night(&[task(1), Progress::Todo]);
        assert_eq!(moves(&first, RULES, |_| at(Work::Going, 0)), []);
        assert_eq!(moves(&first, RULES, |_| at(Work::Ending, 0)), [], "it is waited for");
        assert_eq!(moves(&first, RULES, |_| at(Work::Settled, 0)), [Move::Begin(1)]);
        assert_eq!(
            moves(&night(&[task(1)]), RULES, |_| at(Work::Ending, 0)),
            [],
            "and so is the night's end"
        );
    }

    #[test]
    fn a_task_whose_id_was_taken_and_that_nobody_made_is_made() {
        assert_eq!(moves(&night(&[task(1)]), RULES, |_| at(Work::Absent, 0)), [Move::Begin(0)]);
    }

    #[test]
    fn a_night_that_spent_its_budget_begins_nothing_and_ends_what_goes_on() {
        let rules = Rules { budget: Some(100), ..RULES };
        let all = night(&[task(1), task(2), Progress::Todo]);
        let standing = |id: TaskId| if id.0 == 1 { at(Work::Settled, 60) } else { at(Work::Going, 40) };
        let words = "the night's budget is spent".to_owned();
        assert_eq!(moves(&all, rules, standing), [Move::Cancel(TaskId(2)), Move::Skip(2, words)]);
        let rich = Rules { budget: Some(101), ..RULES };
        assert_eq!(moves(&all, rich, standing), []);
    }

    #[test]
    fn an_earlier_task_that_goes_on_holds_nobody_up_is_waited_for_and_counts() {
        let again = Progress::Again { task: TaskId(7) };
        let all = night(&[Progress::Todo, again.clone()]);
        assert_eq!(moves(&all, RULES, |_| at(Work::Going, 0)), [Move::Begin(0)]);
        let rest = night(&[task(1), again]);
        let going = |id: TaskId| at(if id.0 == 7 { Work::Going } else { Work::Settled }, 50);
        assert_eq!(moves(&rest, RULES, going), []);
        assert_eq!(moves(&rest, RULES, |_| at(Work::Settled, 0)), [Move::Finish]);
        let broke = Rules { budget: Some(100), ..RULES };
        assert_eq!(moves(&rest, broke, going), [Move::Cancel(TaskId(7))]);
    }

    #[test]
    fn after_its_hours_a_night_begins_nothing_and_lets_go_on_what_began() {
        let rules = Rules { door: Door::Closed, ..RULES };
        let all = night(&[task(1), Progress::Todo]);
        let said = moves(&all, rules, |_| at(Work::Going, 0));
        assert!(matches!(said.as_slice(), [Move::Skip(1, _)]), "{said:?}");
    }

    #[test]
    fn whatever_happens_in_between_a_night_comes_to_its_end() {
        for order in [Order::InOrder, Order::SideBySide] {
            let rules = Rules { order, ..RULES };
            let mut all = night(&[Progress::Todo, Progress::Todo, Progress::Todo]);
            let mut works: BTreeMap<TaskId, Work> = BTreeMap::new();
            for round in 1..40_u64 {
                let now = moves(&all, rules, |id| at(works.get(&id).copied().unwrap_or(Work::Absent), 0));
                if now == [Move::Finish] {
                    assert!(works.len() == 3 && round > 3);
                    all.state = State::Over;
                    assert_eq!(moves(&all, rules, |_| at(Work::Settled, 0)), []);
                    break;
                }
                assert!(round < 39, "no end: {all:?}");
                for one in now {
                    let Move::Begin(index) = one else { panic!("{one:?}") };
                    // Killed after the id was recorded, every other time.
                    let id = TaskId(u64::try_from(index).unwrap() + 1);
                    if all.jobs[index].progress == Progress::Todo {
                        all.jobs[index].progress = Progress::Task { task: id };
                    } else {
                        works.insert(id, Work::Going);
                    }
                }
                if round % 4 == 0 {
                    works.values_mut().for_each(|work| *work = Work::Settled);
                }
            }
        }
    }
}
