//! Checks a recorded history of claims, renewals and ends of legs: whether it is linearizable.
//!
//! Builds with fault points write the history (`ACQUIT_HISTORY`). Each process writes its own calls: when a call began,
//! and when and how it ended. The rules of one task, as if calls happened in sequence:
//!
//! - a claim takes a leg that comes after all earlier ones, while none is held, with a fence above all earlier ones;
//! - a renewal or an end succeeds if the leg is held under that fence, and is refused otherwise;
//! - an end releases the leg.
//!
//! A history is linearizable if every call can be assigned a moment between its start and its end such that the rules
//! explain all answers. A call whose process died, or whose connection broke, may have happened at any time after it
//! began, or never. Tasks are independent, so each is searched alone, with the algorithm of Wing and Gong: try every
//! call that may come next, and remember the combinations of calls and state that fail.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

/// A leg under a fence, such as `T-1.2` under 17.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Held {
    /// Task, such as `T-1`.
    pub task: String,
    /// Number of the leg.
    pub leg: u32,
    /// Fence of the claim.
    pub fence: i64,
}

/// The action of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Claims a leg.
    Claim,
    /// Renews the lease of a leg.
    Renew,
    /// Ends a leg: the handoff of its harness, or another process that found the harness dead.
    End,
}

/// The answer to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It happened.
    Done,
    /// It was refused, because the leg is not held under this fence.
    Refused,
    /// Unknown: it may happen after it began, or never.
    Unknown,
}

/// A call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Action.
    pub act: Act,
    /// The leg that it is about.
    pub held: Held,
    /// When it began, in nanoseconds of a clock that all processes share.
    pub began: u64,
    /// When it ended; ignored if the answer is unknown.
    pub ended: u64,
    /// Answer.
    pub answer: Answer,
}

/// A whole history.
#[derive(Clone, Debug, Default)]
pub struct History {
    calls: Vec<Call>,
    /// Start times of claims with an unknown answer, whose leg is unknown too.
    lost_claims: Vec<u64>,
}

/// A contradiction in a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// A line cannot be read.
    Line(String),
    /// No order of the calls of this task explains their answers.
    Order(String, Vec<Call>),
    /// No call claimed this leg.
    Unclaimed(Held),
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "a line that cannot be read: {line:?}"),
            Self::Unclaimed(held) => write!(f, "nobody claimed {held:?}"),
            Self::Order(task, calls) => {
                writeln!(f, "no order of the calls of {task} explains their answers:")?;
                for call in calls {
                    let Call { act, held, began, ended, answer } = call;
                    writeln!(f, "{act:?} leg {} fence {} {answer:?} {began}..{ended}", held.leg, held.fence)?;
                }
                Ok(())
            }
        }
    }
}

/// The amount of checked data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Number of tasks.
    pub tasks: usize,
    /// Number of claims that succeeded.
    pub claims: usize,
    /// Number of ends that succeeded.
    pub ends: usize,
    /// Number of calls that were refused.
    pub refused: usize,
    /// Number of calls without an answer.
    pub unknown: usize,
}

impl History {
    /// Parses the lines that processes wrote: call, time, action, and the leg with its fence, separated by tabs. The
    /// first line of a claim has no leg yet.
    pub fn read(text: &str) -> Result<Self, Wrong> {
        let mut open: BTreeMap<&str, (Act, u64, Option<Held>)> = BTreeMap::new();
        let mut history = Self::default();
        for line in text.lines() {
            let wrong = || Wrong::Line(line.to_owned());
            let fields: Vec<&str> = line.split('\t').collect();
            let [call, at, what, held] = fields[..] else { return Err(wrong()) };
            let at = at.replace('.', "").parse().map_err(|_| wrong())?;
            let held = if held.is_empty() { None } else { Some(parse(held).ok_or_else(wrong)?) };
            let begins = match what {
                "claim" => Some(Act::Claim),
                "renew" => Some(Act::Renew),
                "end" => Some(Act::End),
                _ => None,
            };
            if let Some(act) = begins {
                if held.is_some() == (act == Act::Claim) {
                    return Err(wrong());
                }
                open.insert(call, (act, at, held));
                continue;
            }
            let (act, began, _) = open.remove(call).ok_or_else(wrong)?;
            let answer = match what {
                "ok" => Answer::Done,
                "refused" => Answer::Refused,
                "unknown" => Answer::Unknown,
                // It found that another process had changed the task, and did nothing.
                "nothing" => continue,
                _ => return Err(wrong()),
            };
            match held {
                Some(held) => history.calls.push(Call { act, held, began, ended: at, answer }),
                None if act == Act::Claim && answer == Answer::Unknown => history.lost_claims.push(began),
                // A claim that found nothing to do.
                None => {}
            }
        }
        // Their processes died during the call.
        for (act, began, held) in open.into_values() {
            match held {
                Some(held) => {
                    history.calls.push(Call { act, held, began, ended: began, answer: Answer::Unknown });
                }
                None => history.lost_claims.push(began),
            }
        }
        Ok(history)
    }

    /// Checks every task.
    pub fn check(&self) -> Result<Checked, Wrong> {
        let mut tasks: BTreeMap<&str, Vec<Call>> = BTreeMap::new();
        for call in &self.calls {
            tasks.entry(&call.held.task).or_default().push(call.clone());
        }
        let mut lost = self.lost_claims.clone();
        lost.sort_unstable();
        let count = |wanted: &dyn Fn(&Call) -> bool| self.calls.iter().filter(|call| wanted(call)).count();
        let done = |act: Act| count(&|call| call.act == act && call.answer == Answer::Done);
        let checked = Checked {
            tasks: tasks.len(),
            claims: done(Act::Claim),
            ends: done(Act::End),
            refused: count(&|call| call.answer == Answer::Refused),
            unknown: count(&|call| call.answer == Answer::Unknown) + lost.len(),
        };
        for (task, mut calls) in tasks {
            claim_silently(&mut calls, &mut lost)?;
            calls.sort_by_key(|call| call.began);
            if !explained(&calls) {
                return Err(Wrong::Order(task.to_owned(), calls));
            }
        }
        Ok(checked)
    }
}

fn parse(held: &str) -> Option<Held> {
    let (leg, fence) = held.split_once(' ')?;
    let (task, leg) = leg.rsplit_once('.')?;
    Some(Held { task: task.to_owned(), leg: leg.parse().ok()?, fence: fence.parse().ok()? })
}

/// Adds claims without a known answer for legs that others found held. Each uses up a claim whose answer is unknown.
fn claim_silently(calls: &mut Vec<Call>, lost: &mut Vec<u64>) -> Result<(), Wrong> {
    let claimed: HashSet<Held> =
        calls.iter().filter(|call| call.act == Act::Claim).map(|call| call.held.clone()).collect();
    let mut found: BTreeMap<Held, u64> = BTreeMap::new();
    for call in calls.iter().filter(|call| call.answer == Answer::Done && !claimed.contains(&call.held)) {
        let first = found.entry(call.held.clone()).or_insert(call.ended);
        *first = call.ended.min(*first);
    }
    for (held, before) in found {
        // The latest possible claim leaves the earlier ones for other legs.
        let Some(at) = lost.iter().rposition(|began| *began < before) else {
            return Err(Wrong::Unclaimed(held));
        };
        let began = lost.remove(at);
        calls.push(Call { act: Act::Claim, held, began, ended: began, answer: Answer::Unknown });
    }
    Ok(())
}

/// State of a task: the last leg and fence, and whether they are held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct State {
    leg: u32,
    fence: i64,
    is_held: bool,
}

impl State {
    /// Returns the state after a call that happens now with this answer; `None` if that is impossible.
    fn after(self, call: &Call) -> Option<Self> {
        let (leg, fence) = (call.held.leg, call.held.fence);
        let holds = self.is_held && (self.leg, self.fence) == (leg, fence);
        match (call.act, call.answer) {
            (_, Answer::Refused) => (!holds).then_some(self),
            (Act::Claim, _) => (!self.is_held && leg > self.leg && fence > self.fence).then_some(Self {
                leg,
                fence,
                is_held: true,
            }),
            (Act::Renew, _) => holds.then_some(self),
            (Act::End, _) => holds.then_some(Self { is_held: false, ..self }),
        }
    }
}

/// Returns whether some order of these calls explains their answers. They are sorted by start time.
fn explained(calls: &[Call]) -> bool {
    let mut dead = HashSet::new();
    search(calls, &mut vec![false; calls.len()], State::default(), &mut dead)
}

/// Tries every call that may come next: a call that started before every other remaining call ended.
fn search(
    calls: &[Call],
    placed: &mut Vec<bool>,
    state: State,
    dead: &mut HashSet<(Vec<bool>, State)>,
) -> bool {
    let left = |placed: &[bool], at: usize| !placed[at] && calls[at].answer != Answer::Unknown;
    let Some(end) = (0..calls.len()).filter(|&at| left(placed, at)).map(|at| calls[at].ended).min() else {
        return true;
    };
    if dead.contains(&(placed.clone(), state)) {
        return false;
    }
    for at in 0..calls.len() {
        if calls[at].began > end {
            break;
        }
        if placed[at] {
            continue;
        }
        if let Some(after) = state.after(&calls[at]) {
            placed[at] = true;
            if search(calls, placed, after, dead) {
                return true;
            }
            placed[at] = false;
        }
    }
    dead.insert((placed.clone(), state));
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A history of `T-1`: for each call its action, leg, fence, start, end and answer.
    fn of(calls: &[(Act, u32, i64, u64, u64, Answer)]) -> History {
        let call = |&(act, leg, fence, began, ended, answer): &_| {
            let held = Held { task: "T-1".to_owned(), leg, fence };
            Call { act, held, began, ended, answer }
        };
        History { calls: calls.iter().map(call).collect(), lost_claims: Vec::new() }
    }

    use Act::{Claim, End, Renew};
    use Answer::{Done, Refused, Unknown};

    #[test]
    fn right_histories_pass() {
        let cases: &[&[_]] = &[
            &[(Claim, 1, 5, 0, 10, Done), (Renew, 1, 5, 20, 30, Done), (End, 1, 5, 40, 50, Done)],
            // Overlapping calls happen in either order.
            &[(Claim, 1, 5, 0, 10, Done), (End, 1, 5, 20, 60, Done), (Renew, 1, 5, 30, 40, Done)],
            &[(Claim, 1, 5, 0, 10, Done), (End, 1, 5, 20, 60, Done), (Renew, 1, 5, 30, 70, Refused)],
            &[(Claim, 1, 5, 0, 10, Done), (End, 1, 5, 20, 40, Done), (Claim, 2, 9, 30, 50, Done)],
            // A handoff whose connection broke happened, although the harness does not know.
            &[(Claim, 1, 5, 0, 10, Done), (End, 1, 5, 20, 25, Unknown), (Claim, 2, 7, 90, 99, Done)],
            // Or it did not happen, and another process found the leg.
            &[
                (Claim, 1, 5, 0, 10, Done),
                (End, 1, 5, 20, 25, Unknown),
                (End, 1, 5, 50, 60, Done),
                (Claim, 2, 7, 90, 99, Done),
            ],
            // A process that sleeps past the end of its lease is refused.
            &[
                (Claim, 1, 5, 0, 10, Done),
                (End, 1, 5, 20, 30, Done),
                (Claim, 2, 6, 40, 50, Done),
                (End, 1, 5, 60, 70, Refused),
                (End, 2, 6, 80, 90, Done),
            ],
        ];
        for case in cases {
            assert!(of(case).check().is_ok(), "{case:?}");
        }
    }

    #[test]
    fn wrong_histories_are_caught() {
        let cases: &[(&str, &[_])] = &[
            (
                "two hold a task at the same time",
                &[(Claim, 1, 5, 0, 10, Done), (Claim, 2, 6, 20, 30, Done), (End, 1, 5, 40, 50, Done)],
            ),
            ("the same leg is claimed twice", &[(Claim, 1, 5, 0, 10, Done), (Claim, 1, 6, 20, 30, Done)]),
            (
                "a fence is given twice",
                &[(Claim, 1, 5, 0, 10, Done), (End, 1, 5, 20, 30, Done), (Claim, 2, 5, 40, 50, Done)],
            ),
            (
                "a fence goes back",
                &[(Claim, 1, 5, 0, 10, Done), (End, 1, 5, 20, 30, Done), (Claim, 2, 4, 40, 50, Done)],
            ),
            (
                "a handoff counts twice",
                &[(Claim, 1, 5, 0, 10, Done), (End, 1, 5, 20, 30, Done), (End, 1, 5, 40, 50, Done)],
            ),
            (
                "the sleeper's handoff counts",
                &[
                    (Claim, 1, 5, 0, 10, Done),
                    (End, 1, 5, 20, 30, Done),
                    (Claim, 2, 6, 40, 50, Done),
                    (Renew, 1, 5, 60, 70, Done),
                ],
            ),
            (
                "a handoff was answered and is forgotten",
                &[(Claim, 1, 5, 0, 10, Done), (End, 1, 5, 20, 30, Done), (Renew, 1, 5, 40, 50, Done)],
            ),
            (
                "the holder is refused",
                &[(Claim, 1, 5, 0, 10, Done), (Renew, 1, 5, 20, 30, Refused), (End, 1, 5, 40, 50, Done)],
            ),
            (
                "a claim that overlaps the end it needs comes after it, not a later one",
                &[(Claim, 1, 5, 0, 10, Done), (Claim, 2, 6, 20, 30, Done), (End, 1, 5, 31, 50, Done)],
            ),
        ];
        for (what, case) in cases {
            assert!(matches!(of(case).check(), Err(Wrong::Order(..))), "{what} was not caught");
        }
        let unclaimed = of(&[(End, 1, 5, 0, 10, Done)]).check();
        assert!(matches!(unclaimed, Err(Wrong::Unclaimed(_))), "{unclaimed:?}");
    }

    #[test]
    fn what_processes_wrote_is_read() {
        // The second process died in its claim; a third found its leg and ended it.
        let text = "a/1/0\t1.000000001\tclaim\t\na/1/0\t1.000000002\tok\tT-1.1 5\n\
                    a/1/1\t1.000000003\tend\tT-1.1 5\na/1/1\t1.000000004\tok\tT-1.1 5\n\
                    b/2/0\t1.000000005\tclaim\t\nc/3/0\t1.000000006\tend\tT-1.2 6\nc/3/0\t1.000000007\tok\tT-1.2 6\n\
                    d/4/0\t1.000000008\tclaim\t\nd/4/0\t1.000000009\tok\t\n";
        let history = History::read(text).expect("a history");
        let expected = Checked { tasks: 1, claims: 1, ends: 2, refused: 0, unknown: 1 };
        assert_eq!(history.check(), Ok(expected));
        // Without the claim of the process that died, no process can have held it.
        let text = text.replace("b/2/0\t1.000000005\tclaim\t\n", "");
        assert!(matches!(History::read(&text).expect("a history").check(), Err(Wrong::Unclaimed(_))));
        assert!(matches!(History::read("half a line"), Err(Wrong::Line(_))));
        // If the third process died during its call, its leg is known, and may have ended or not.
        for more in ["", "e/5/0\t1.000000010\tclaim\t\ne/5/0\t1.000000011\tok\tT-1.3 7\n"] {
            let text = text.replace("c/3/0\t1.000000007\tok\tT-1.2 6\n", more);
            let checked = History::read(&text).expect("a history").check();
            assert!(matches!(checked, Ok(Checked { ends: 1, .. })), "{checked:?}");
        }
    }

    #[test]
    fn a_task_of_a_thousand_legs_is_checked_in_no_time() {
        let mut calls = Vec::new();
        for leg in 1..=1_000_u32 {
            let at = u64::from(leg) * 100;
            calls.push((Claim, leg, i64::from(leg), at, at + 20, Done));
            calls.push((Renew, leg, i64::from(leg), at + 30, at + 60, Done));
            calls.push((End, leg, i64::from(leg), at + 40, at + 90, Done));
        }
        assert!(of(&calls).check().is_ok());
    }
}
