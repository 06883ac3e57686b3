//! Every way in which a turn can end, and its meaning.

use acquit_core::agent::{AgentEvent, Usage};
use acquit_core::config::Waiting;
use acquit_core::time::{Span, Timestamp};

use super::*;

const NOW: Timestamp = Timestamp(1_000_000);

fn end(ok: bool) -> AgentEvent {
    AgentEvent::End { ok, text: "its last words".to_owned() }
}

fn fault(fault: Fault, again: bool) -> AgentEvent {
    AgentEvent::Fault { fault, text: "its trouble".to_owned(), again }
}

fn limit() -> AgentEvent {
    AgentEvent::Limit { until: Some(Timestamp(NOW.0 + 60_000)), text: "resets soon".to_owned() }
}

/// Returns the ending of a turn with these events, as one line.
fn ends(said: &[AgentEvent], exit: Exit, tells: Tells, lingered: bool, waiting: &Waiting) -> String {
    let mut summary = TurnSummary::default();
    said.iter().for_each(|said| summary.heed(said));
    let turn = Turn {
        agent: &Name::literal("bot"),
        stage: &Name::literal("code"),
        exit,
        lingered,
        stopped: None,
        refusal: None,
        hosts: &[],
        network: Network::Model,
        tells,
        summary: &summary,
        errors: "",
        clock: backoff::Clock { now: NOW, waiting, before: 1 },
    };
    match meaning(&turn) {
        None => "counts".to_owned(),
        Some(Ending::Failed { kind, reason }) => format!("{kind}: {reason}"),
        Some(Ending::TimedOut { reason }) => format!("timed out: {reason}"),
        Some(Ending::Held { kind, wait, reason }) => format!("held {wait} ({kind}): {reason}"),
        Some(other) => format!("{other:?}"),
    }
}

#[test]
fn each_way_to_end_has_its_own_meaning() {
    let usual = Waiting::default();
    let minute = std::time::Duration::from_mins(1);
    let (timed_out, idle) = (Exit::TimedOut { limit: minute }, Exit::Idle { limit: minute });
    let zero = Exit::Code(0);
    let table: Vec<(&[AgentEvent], Exit, &str)> = vec![
        (&[], zero, "agent: the agent bot: exit 0, but it never said how its turn ended"),
        (&[], Exit::Code(3), "agent: the agent bot: exit 3"),
        (&[], Exit::Signal(9), "agent: the agent bot: ended by signal 9"),
        (
            &[],
            timed_out,
            "timed out: the agent bot: timed out after 60s; the limit is `timeout` of stage code in the workflow",
        ),
        (
            &[],
            idle,
            "timed out: the agent bot: silent for 60s; the limit is `idle` of stage code in the workflow",
        ),
    ];
    for (said, exit, expected) in table {
        assert_eq!(ends(said, exit, Tells::Its, false, &usual), expected);
    }
    let table: Vec<(Vec<AgentEvent>, Exit, &str)> = vec![
        (vec![end(true)], zero, "counts"),
        (vec![end(false)], zero, "agent: the agent bot: exit 0, and it says that it failed: its last words"),
        (vec![end(true)], Exit::Code(1), "agent: the agent bot: exit 1, although it said that all went well"),
        (
            vec![end(true), end(false)],
            zero,
            "agent: the agent bot: exit 0, and it says that it failed: its last words",
        ),
        (vec![limit(), end(false)], Exit::Code(1), "held 2m 00s (usage): resets soon"),
        (vec![limit(), end(true)], zero, "counts"),
        (vec![limit()], timed_out, "held 2m 00s (usage): resets soon"),
        (
            vec![fault(Fault::Overloaded, false), end(false)],
            Exit::Code(1),
            "held 1m 00s (overload): its trouble",
        ),
        (vec![fault(Fault::Server, true)], Exit::Code(1), "held 1m 00s (overload): its trouble"),
        (
            vec![fault(Fault::Network, true)],
            idle,
            "held 1m 00s (overload): the agent bot: silent for 60s; the limit is `idle` of stage code in the workflow \
             while it waited: its trouble",
        ),
        (
            vec![fault(Fault::Login, false)],
            zero,
            "login: the agent bot is not logged in (its trouble); log in or correct its key, then approve",
        ),
        (
            vec![fault(Fault::Turns, false)],
            Exit::Code(1),
            "timed out: the agent bot: exit 1: it took all the turns that it has (its trouble)",
        ),
        (vec![fault(Fault::Other, false)], zero, "agent: the agent bot: exit 0: its trouble"),
    ];
    for (said, exit, expected) in table {
        assert_eq!(ends(&said, exit, Tells::Its, false, &usual), expected, "{said:?} {exit:?}");
    }
}

#[test]
fn an_agent_that_stays_after_its_result_is_ended_and_its_work_counts() {
    let usual = Waiting::default();
    assert_eq!(ends(&[end(true)], Exit::Cancelled, Tells::Its, true, &usual), "counts");
    let failed = ends(&[end(false)], Exit::Cancelled, Tells::Its, true, &usual);
    assert!(failed.contains("it says that it failed"), "{failed}");
}

#[test]
fn an_agent_that_cannot_tell_counts_by_its_exit_code() {
    let usual = Waiting::default();
    let used = AgentEvent::Usage(Usage::default());
    assert_eq!(ends(&[used], Exit::Code(0), Tells::Nothing, false, &usual), "counts");
}

#[test]
fn who_does_not_want_to_wait_is_asked() {
    let ask = Waiting { usage: Patience::Ask, ..Waiting::default() };
    let asked = ends(&[limit()], Exit::Code(1), Tells::Its, false, &ask);
    assert!(asked.starts_with("login: ") && asked.contains("usage = \"ask\""), "{asked}");
    let short = Waiting { longest: Span::secs(10), ..Waiting::default() };
    let asked = ends(&[limit()], Exit::Code(1), Tells::Its, false, &short);
    assert!(asked.starts_with("login: ") && asked.contains("`longest`"), "{asked}");
}
