//! Decides how long to keep the workspaces of tasks.
//!
//! | task | workspace |
//! |---|---|
//! | active, waiting for a person or blocked by another task | kept |
//! | done, or nothing to improve | removed at once |
//! | failed or cancelled | kept for a while for a retry, unless all workspaces together use too much space |
//!
//! A workspace is always saved before it is removed. This rule only decides when.

use std::time::Duration;

use crate::ids::TaskId;
use crate::task::{End, State};
use crate::time::{Span, Timestamp};

/// `[retention]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// How long to keep workspaces of failed or cancelled tasks.
    pub unfinished: Span,
    /// Total size of workspaces in bytes above which those are removed earlier, oldest first.
    pub disk: u64,
    /// Free space in bytes on the disk of acquit's own directory below which no new leg starts there.
    pub keep_free: u64,
    /// How long to keep the history of ended tasks: transcripts, events, logs and saved attempts. `None` for ever.
    pub history: Option<Span>,
}

impl Default for Retention {
    /// Two weeks, as long as a holiday, a fraction of an ordinary disk, and room to end what runs and to clean up.
    fn default() -> Self {
        Self { unfinished: Span::mins(14 * 24 * 60), disk: 50 << 30, keep_free: 256 << 20, history: None }
    }
}

/// When to remove a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Not while the task is in this state.
    Stays,
    /// From this time on, or earlier if space is needed.
    From(Timestamp),
    /// Now.
    Goes,
}

impl Retention {
    /// Returns when to remove the workspace of a task that is in this state and was last active at `ended`.
    pub fn fate(&self, state: &State, ended: Timestamp) -> Fate {
        match state {
            State::New | State::Working { .. } | State::Waiting { .. } | State::Blocked { .. } => Fate::Stays,
            State::Ended { end: End::Done | End::NoImprovement } => Fate::Goes,
            State::Ended { end: End::Failed { .. } | End::Cancelled { .. } } => {
                Fate::From(later(ended, self.unfinished.duration()))
            }
        }
    }

    /// Returns the workspaces to remove now: those that are due, then the oldest that may go early, until the rest
    /// fits.
    pub fn now(&self, all: &[Room], now: Timestamp) -> Vec<TaskId> {
        let due = |room: &&Room| match room.fate {
            Fate::Stays => false,
            Fate::From(moment) => moment <= now,
            Fate::Goes => true,
        };
        let mut going: Vec<TaskId> = all.iter().filter(due).map(|room| room.task).collect();
        let mut taken: u64 = all.iter().filter(|room| !due(room)).map(|room| room.bytes).sum();
        let mut early: Vec<(Timestamp, &Room)> = all
            .iter()
            .filter_map(|room| match room.fate {
                Fate::From(moment) if moment > now => Some((moment, room)),
                Fate::From(_) | Fate::Stays | Fate::Goes => None,
            })
            .collect();
        early.sort_by_key(|(moment, room)| (*moment, room.task));
        for (_, room) in early {
            if taken <= self.disk {
                break;
            }
            taken -= room.bytes;
            going.push(room.task);
        }
        going
    }
}

/// The disk usage of one workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Task of the workspace.
    pub task: TaskId,
    /// Size in bytes.
    pub bytes: u64,
    /// When to remove it.
    pub fate: Fate,
}

fn later(moment: Timestamp, by: Duration) -> Timestamp {
    Timestamp(moment.0.saturating_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX)))
}

/// Whether to remove anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Only report what would be removed.
    Look,
    /// Remove.
    Clean,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::Actor;

    const RULE: Retention = Retention { unfinished: Span::secs(10), disk: 100, keep_free: 1, history: None };

    fn ended(end: End) -> Fate {
        RULE.fate(&State::Ended { end }, Timestamp(1_000))
    }

    #[test]
    fn what_may_be_tried_again_stays_for_a_while_and_what_is_over_goes() {
        assert_eq!(RULE.fate(&State::New, Timestamp(0)), Fate::Stays);
        assert_eq!(ended(End::Done), Fate::Goes);
        assert_eq!(ended(End::NoImprovement), Fate::Goes);
        assert_eq!(ended(End::Failed { reason: "x".to_owned() }), Fate::From(Timestamp(11_000)));
        assert_eq!(ended(End::Cancelled { by: Actor::Supervisor }), Fate::From(Timestamp(11_000)));
    }

    #[test]
    fn where_room_is_short_the_oldest_that_may_go_go_first_and_no_other() {
        let room = |task: u64, bytes: u64, fate: Fate| Room { task: TaskId(task), bytes, fate };
        let at = |moment: i64| Fate::From(Timestamp(moment));
        let all =
            [room(1, 90, Fate::Stays), room(2, 30, at(50)), room(3, 30, at(40)), room(4, 500, Fate::Goes)];
        assert_eq!(RULE.now(&all, Timestamp(10)), [TaskId(4), TaskId(3), TaskId(2)]);
        let roomy = Retention { disk: 1_000, ..RULE };
        assert_eq!(roomy.now(&all, Timestamp(10)), [TaskId(4)]);
        assert_eq!(roomy.now(&all, Timestamp(45)), [TaskId(3), TaskId(4)]);
        assert_eq!(roomy.now(&all, Timestamp(40)), [TaskId(3), TaskId(4)], "at its moment");
        assert_eq!(roomy.now(&all, Timestamp(39)), [TaskId(4)], "and not before");
        let exactly = Retention { disk: 120, ..RULE };
        assert_eq!(exactly.now(&all, Timestamp(10)), [TaskId(4), TaskId(3)], "what fits stays");
        let full = [room(1, 900, Fate::Stays), room(2, 900, Fate::Stays)];
        assert_eq!(RULE.now(&full, Timestamp(10)), [TaskId(0); 0], "what is needed stays, whatever it takes");
    }
}
