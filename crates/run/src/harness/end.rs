//! Interprets the end of an agent's turn.
//!
//! Neither the output nor the exit code is enough: some agents exit 0 after an error, some hang after their result, and
//! some exit with an error after reporting success. Success needs both. And not every failure is the agent's fault: an
//! overloaded provider or a limit that resets at nine costs no retry, and an expired login goes to a person at once.

use acquit_core::agent::Fault;
use acquit_core::config::Patience;
use acquit_core::failure::kind;
use acquit_core::ids::Name;
use acquit_core::leg::Ending;
use acquit_core::sandbox::{Host, Network};

use super::backoff;
use crate::agent::Tells;
use crate::leg::blocked_connections::{self, BlockedConnection};
use crate::leg::stall::Stop;
use crate::model_failure;
use crate::process::Exit;
use crate::turn_summary::{End, ReportedFault, TurnSummary};

/// Maximum length of a line of error output to show.
const ERROR_SHOWN: usize = 300;

/// A finished turn.
pub(super) struct Turn<'a> {
    /// Name of the agent in the configuration.
    pub(super) agent: &'a Name,
    pub(super) stage: &'a Name,
    /// How the process ended.
    pub(super) exit: Exit,
    /// Whether it was killed because it kept running after its result.
    pub(super) lingered: bool,
    /// Why it was stopped early, if it was.
    pub(super) stopped: Option<Stop>,
    /// The connection the proxy blocked, if the agent never reached its model.
    pub(super) refusal: Option<BlockedConnection>,
    /// Hosts of the model.
    pub(super) hosts: &'a [Host],
    /// Network access of the agent.
    pub(super) network: Network,
    /// Whether this kind of agent reports how its turn ended.
    pub(super) tells: Tells,
    /// Summary of its output.
    pub(super) summary: &'a TurnSummary,
    /// Tail of its error output.
    pub(super) errors: &'a str,
    /// Input for computing when to retry.
    pub(super) clock: backoff::Clock<'a>,
}

/// Returns how the turn ends the leg. `None` if the turn counts, so that its work is collected.
pub(super) fn meaning(turn: &Turn<'_>) -> Option<Ending> {
    match &turn.stopped {
        Some(Stop::Loop(words)) => {
            let words = format!("the agent {} {words}. It was stopped; do something else", turn.agent);
            return Some(failed(kind::LOOP, words));
        }
        Some(Stop::Refused(words)) => {
            let words = format!(
                "the agent {} did what no agent may: {words}. The stage ends at the first such command",
                turn.agent
            );
            return Some(failed(kind::GUARDRAIL, words));
        }
        Some(Stop::Spent(words)) => return Some(failed(kind::SPENT, words.clone())),
        Some(Stop::Turns(limit)) => {
            let reason = format!(
                "the agent {}: it took all the turns that it has ({limit}); the limit is `turns` of stage {} in the workflow, or of \
                 the agent",
                turn.agent, turn.stage
            );
            return turn.unanswered(&reason).or(Some(Ending::TimedOut { reason }));
        }
        Some(Stop::Hopeless) | None => {}
    }
    let ending = by_itself(turn);
    let summary = turn.summary;
    // Some agents report success without having reached their model.
    let idle = ending.is_none() && !turn.hosts.is_empty() && summary.usage.is_empty() && summary.tools == 0;
    if let (Some(refusal), true) = (&turn.refusal, ending.is_some() || idle) {
        return Some(failed(kind::CONFIG, refusal.of_agent(turn.agent, turn.hosts)));
    }
    let unreached = summary.fault.as_ref().is_some_and(|trouble| trouble.fault == Fault::Network);
    if turn.network == Network::Off && unreached && ending.is_some() {
        return Some(failed(kind::CONFIG, blocked_connections::no_network(turn.agent, turn.stage)));
    }
    ending
}

/// Interprets the turn by what the agent reported and how it exited.
fn by_itself(turn: &Turn<'_>) -> Option<Ending> {
    let Turn { agent, stage, exit, summary, .. } = turn;
    let reason = format!("the agent {agent}: {exit}");
    let limit = |key: &str| {
        let reason = format!("{reason}; the limit is `{key}` of stage {stage} in the workflow");
        turn.unanswered(&reason).or(Some(Ending::TimedOut { reason }))
    };
    if turn.lingered && summary.end.as_ref().is_some_and(|end| end.ok) {
        return None;
    }
    match exit {
        Exit::TimedOut { .. } => return limit("timeout"),
        Exit::Idle { .. } => return limit("idle"),
        Exit::OutputLimit { .. } => return limit("output"),
        Exit::Excess(excess) => {
            let words = format!("{reason}; the limit is `{}` of [limits] in acquit.toml", excess.key());
            return Some(failed(kind::AGENT, words));
        }
        Exit::Code(_) | Exit::Signal(_) | Exit::Cancelled => {}
    }
    if let Some(limit) = &summary.limit {
        return Some(turn.limited(limit));
    }
    if let Some(trouble) = &summary.fault {
        return Some(turn.trouble(trouble, &reason));
    }
    let clean = *exit == Exit::Code(0);
    // Some agents report the fault only on stderr.
    if !clean
        && summary.end.is_none()
        && summary.usage.is_empty()
        && summary.tools == 0
        && let Some((fault, line)) = model_failure::in_errors(turn.errors)
    {
        let text = acquit_core::agent::shorten(line, ERROR_SHOWN);
        return Some(turn.trouble(&ReportedFault { fault, text, again: false }, &reason));
    }
    match (&summary.end, turn.tells) {
        (Some(End { ok: true, .. }), _) | (None, Tells::Nothing) if clean => None,
        (Some(End { ok: false, text }), _) => {
            Some(failed(kind::AGENT, format!("{reason}, and it says that it failed: {text}")))
        }
        (None, Tells::Its) if clean => Some(failed(
            kind::AGENT,
            format!("{reason}, but it never said how its turn ended{}", turn.errors()),
        )),
        (Some(End { ok: true, .. }), _) => Some(failed(
            kind::AGENT,
            format!("{reason}, although it said that all went well{}", turn.errors()),
        )),
        (None, Tells::Its | Tells::Nothing) => {
            Some(failed(kind::AGENT, format!("{reason}{}", turn.errors())))
        }
    }
}

fn failed(kind: &'static str, reason: String) -> Ending {
    Ending::Failed { kind: Name::literal(kind), reason }
}

impl Turn<'_> {
    /// The provider rejects more work.
    fn limited(&self, limit: &crate::turn_summary::Limit) -> Ending {
        let agent = self.agent;
        let waits = match self.clock.waiting.usage {
            Patience::Wait => self.clock.until_reset(limit.until),
            Patience::Ask => Err("acquit.toml says not to wait: usage = \"ask\" in [waiting]".to_owned()),
        };
        match waits {
            Ok(wait) => Ending::Held { kind: Name::literal(kind::USAGE), wait, reason: limit.text.clone() },
            Err(why) => failed(
                kind::LOGIN,
                format!("the agent {agent} has reached a usage limit ({}); {why}", limit.text),
            ),
        }
    }

    /// Communication between the agent and its model failed.
    fn trouble(&self, trouble: &ReportedFault, reason: &str) -> Ending {
        let ReportedFault { fault, text, .. } = trouble;
        let agent = self.agent;
        match fault {
            Fault::Login => failed(
                kind::LOGIN,
                format!(
                    "the agent {agent} is not logged in ({text}); log in or correct its key, then approve"
                ),
            ),
            Fault::Billing => failed(
                kind::LOGIN,
                format!(
                    "the account of the agent {agent} has no credit left ({text}); top it up, then approve"
                ),
            ),
            Fault::Model => failed(
                kind::LOGIN,
                format!(
                    "the agent {agent} cannot use its model ({text}); \
                     set `model` of [agents.{agent}] in .acquit/acquit.toml, then approve"
                ),
            ),
            Fault::Overloaded | Fault::Server | Fault::Network => self.overloaded(text),
            Fault::Turns => {
                Ending::TimedOut { reason: format!("{reason}: it took all the turns that it has ({text})") }
            }
            Fault::Money => {
                Ending::TimedOut { reason: format!("{reason}: it spent all the money that it has ({text})") }
            }
            Fault::TooLong => {
                failed(kind::AGENT, format!("{reason}: the conversation is too long for the model ({text})"))
            }
            Fault::Refused => failed(kind::AGENT, format!("{reason}: the model refused ({text})")),
            Fault::Other => failed(kind::AGENT, format!("{reason}: {text}{}", self.errors())),
        }
    }

    fn overloaded(&self, text: &str) -> Ending {
        Ending::Held {
            kind: Name::literal(kind::OVERLOAD),
            wait: self.clock.backoff(),
            reason: text.to_owned(),
        }
    }

    /// A limit that was reached while the agent waited for its provider says nothing about the agent.
    fn unanswered(&self, reason: &str) -> Option<Ending> {
        if let Some(limit) = &self.summary.limit {
            return Some(self.limited(limit));
        }
        let trouble = self.summary.fault.as_ref()?;
        match trouble.fault {
            Fault::Overloaded | Fault::Server | Fault::Network => {
                Some(self.overloaded(&format!("{reason} while it waited: {}", trouble.text)))
            }
            Fault::Login | Fault::Billing | Fault::Model => Some(self.trouble(trouble, reason)),
            Fault::TooLong | Fault::Refused | Fault::Turns | Fault::Money | Fault::Other => None,
        }
    }

    fn errors(&self) -> String {
        if self.errors.is_empty() { String::new() } else { format!("\n{}", self.errors) }
    }
}

#[cfg(test)]
#[path = "end/tests.rs"]
mod tests;
