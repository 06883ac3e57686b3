//! What goes wrong between an agent and its model, and what becomes of the leg: the table of faults and agents.
//!
//! A provider that has no room costs no retry and is waited for; a login that is refused goes to a person at once; a model that
//! never answers runs into the stage's own limits. What an agent cannot tell is not expected of it, and the table says so.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use acquit_core::human_request::Ask;
use acquit_core::leg::Ending;
use acquit_core::task::State;
use acquit_testkit::model::{Scripts, Step};

use crate::common::CODE;
use crate::kit::{Agent, Live, More, PATIENT};

/// Longer than any test waits.
const LONG: Duration = Duration::from_mins(5);
/// How far away the end of the limit is, and what acquit adds to it.
const RESET: Duration = Duration::from_hours(2);
const SLACK: Duration = Duration::from_mins(1);
/// What is waited for a limit whose end nobody told, and for a provider that has too much to do.
const UNTOLD: Duration = Duration::from_mins(31);
const BUSY: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// 429: what the login may use is used up, until a time that the provider names.
    Limit,
    /// 529: the provider has too much to do.
    Overloaded,
    /// 500: it failed.
    Broken,
    /// 401: it does not know the key.
    Login,
    /// No answer comes.
    Hang,
    /// The connection ends in the middle of each answer.
    Cut,
}

pub(crate) const ALL: &[Fault] =
    &[Fault::Limit, Fault::Overloaded, Fault::Broken, Fault::Login, Fault::Hang, Fault::Cut];
/// The one that a night meets most often.
pub(crate) const LIMIT: &[Fault] = &[Fault::Limit];

/// How the first leg ends.
enum Expected {
    /// It waits this long, because the provider said this.
    Held(&'static str, Duration, &'static str),
    /// A person is asked, told this.
    Person(&'static str),
    /// A limit of the stage ended it.
    TimedOut(&'static str),
}

use Expected::{Held, Person, TimedOut};

#[allow(clippy::match_same_arms, reason = "a table: what a cell says is its own, whatever another says")]
fn expected(fault: Fault, agent: Agent) -> Expected {
    match (fault, agent) {
        (Fault::Limit, Agent::Claude) => Held("usage", RESET, "the five-hour limit is used up"),
        (Fault::Limit, Agent::Codex) => Held("usage", RESET, "hit your usage limit"),
        // It would wait itself, and is not left to.
        (Fault::Limit, Agent::Opencode) => Held("usage", RESET, "scripted error 429"),
        // They are told no time, or tell none.
        (Fault::Limit, Agent::Pi) => Held("usage", UNTOLD, "rate_limit_error"),
        (Fault::Limit, Agent::Gemini) => Held("usage", UNTOLD, "scripted error 429"),
        // It tries again for longer than the stage may take.
        (Fault::Limit, Agent::Aider) => Held("overload", BUSY, "while it waited: litellm.RateLimitError"),

        (Fault::Overloaded, Agent::Claude | Agent::Codex) => Held("overload", BUSY, "529"),
        (Fault::Overloaded, Agent::Pi) => Held("overload", BUSY, "overloaded_error"),
        (Fault::Overloaded, Agent::Gemini) => Held("overload", BUSY, "529"),
        (Fault::Overloaded, Agent::Opencode) => Held("overload", BUSY, "529"),
        (Fault::Overloaded, Agent::Aider) => Held("overload", BUSY, "while it waited: litellm."),

        (Fault::Broken, Agent::Claude | Agent::Pi) => Held("overload", BUSY, "500"),
        (Fault::Broken, Agent::Codex) => Held("overload", BUSY, "high demand"),
        (Fault::Broken, Agent::Gemini) => Held("overload", BUSY, "500"),
        (Fault::Broken, Agent::Opencode) => Held("overload", BUSY, "500"),
        (Fault::Broken, Agent::Aider) => {
            Held("overload", BUSY, "while it waited: litellm.InternalServerError")
        }

        (Fault::Login, _) => Person("is not logged in"),

        (Fault::Hang, _) => TimedOut("idle"),

        (Fault::Cut, Agent::Claude) => Held("overload", BUSY, "Connection"),
        (Fault::Cut, Agent::Codex) => Held("overload", BUSY, "stream disconnected"),
        (Fault::Cut, Agent::Pi) => Held("overload", BUSY, "terminated"),
        (Fault::Cut, Agent::Gemini) => Held("overload", BUSY, "stream ended without"),
        // Longer than the stage may take, as above: nobody tells it when to try again.
        (Fault::Cut, Agent::Opencode) => Held("overload", BUSY, "while it waited: "),
        (Fault::Cut, Agent::Aider) => Held("overload", BUSY, "while it waited: litellm."),
    }
}

/// What the model does.
fn step(fault: Fault, agent: Agent) -> Step {
    match fault {
        Fault::Limit => match agent {
            Agent::Claude | Agent::Codex => Step::usage_limit(now() + RESET.as_secs()),
            Agent::Opencode => Step::retry_after(429, RESET.as_secs()),
            Agent::Gemini | Agent::Aider | Agent::Pi => Step::retry_after(429, 1),
        },
        // opencode tries five times more, whatever its settings are. How long it takes is the provider's to say.
        Fault::Overloaded if agent == Agent::Opencode => Step::retry_after(529, 1),
        Fault::Broken if agent == Agent::Opencode => Step::retry_after(500, 1),
        Fault::Overloaded => Step::status(529),
        Fault::Broken => Step::status(500),
        Fault::Login => Step::status(401),
        Fault::Hang => Step::hang(LONG),
        Fault::Cut => Step::cut(),
    }
}

/// The limit of the stage.
enum Limit {
    /// It is to end the agent: so many seconds, and more where it did not come so far in them.
    Ends(&'static str, u32),
    /// Far beyond what the agent needs.
    Far,
}

fn limit(fault: Fault, agent: Agent) -> Limit {
    match (fault, agent) {
        (Fault::Hang, Agent::Claude | Agent::Codex | Agent::Pi) => Limit::Ends("idle", 4),
        (Fault::Hang, Agent::Gemini | Agent::Aider) => Limit::Ends("idle", 12),
        (Fault::Hang, Agent::Opencode) => Limit::Ends("idle", 18),
        (Fault::Cut, Agent::Opencode) => Limit::Ends("timeout", 20),
        // All of them at once take half of it to begin.
        (_, Agent::Aider) => Limit::Ends("timeout", 40),
        (_, Agent::Claude | Agent::Codex | Agent::Gemini | Agent::Opencode | Agent::Pi) => Limit::Far,
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// Lets the agent meet these faults, a few at a time: most of it is waiting.
pub(crate) fn met(agent: Agent, faults: &[Fault]) {
    // The heavy ones take half a gigabyte each.
    let at_once = if agent == Agent::Opencode { 2 } else { ALL.len() };
    let mut failed = Vec::new();
    for some in faults.chunks(at_once) {
        std::thread::scope(|scope| {
            let tries: Vec<_> =
                some.iter().map(|fault| (fault, scope.spawn(|| meets(*fault, agent)))).collect();
            failed.extend(
                tries.into_iter().filter_map(|(fault, meeting)| meeting.join().err().map(|_| *fault)),
            );
        });
    }
    assert_eq!(failed, [], "what {agent:?} made of these is told above");
}

/// Lets the agent meet one of them. A limit that came before the agent met anything shows nothing, and a longer one is tried.
fn meets(fault: Fault, agent: Agent) {
    let limits: Vec<String> = match limit(fault, agent) {
        Limit::Ends(key, seconds) => {
            PATIENT.iter().map(|times| format!("{key} = \"{}s\"", seconds * times)).collect()
        }
        Limit::Far => vec!["timeout = \"4m\"".to_owned()],
    };
    let met = limits.iter().any(|limit| tried(fault, agent, limit) == Met::Fault);
    assert!(met, "within {limits:?} the model was never asked, or the agent did not say what it waits for");
}

/// Whether the agent had met the fault before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Met {
    Fault,
    Nothing,
}

fn tried(fault: Fault, agent: Agent, limit: &str) -> Met {
    let workflow = CODE.replace("mode = \"implement\"", &format!("mode = \"implement\"\n{limit}"));
    let scripts = Scripts::default().with("fault", [step(fault, agent)]);
    // A subscription has such limits, a key has not.
    let subscription = fault == Fault::Limit && agent == Agent::Claude;
    let key = subscription.then_some("CLAUDE_CODE_OAUTH_TOKEN");
    let more = More { key, ..More::default() };
    let Some(live) = Live::new(agent, &workflow, scripts, more) else { return Met::Fault };
    let begun = now();
    let past = live.first_leg("Say hello. [[fault]]");
    let expected = expected(fault, agent);
    let ended_early = matches!(past.ending, Ending::TimedOut { .. });
    if ended_early && (live.model.scripted().is_empty() || matches!(expected, Held(..))) {
        return Met::Nothing;
    }
    assert!(!live.model.scripted().is_empty(), "the model was never asked");
    let task = live.sandbox.task();
    match (&past.ending, expected) {
        (Ending::Held { kind, wait, reason }, Held(known, length, words)) => {
            assert_eq!(kind.as_str(), known, "{reason}");
            assert!(reason.contains(words), "no {words:?} in {reason:?}");
            let waits = wait.duration();
            if length == RESET {
                // Some name the minute only, and some time has passed since the limit was told.
                let late = Duration::from_secs(now() - begun + 60);
                assert!(waits <= RESET + SLACK && waits + late >= RESET + SLACK, "{waits:?}");
            } else {
                assert_eq!(waits, length);
            }
            let spent: Vec<_> = task.spent.keys().map(ToString::to_string).collect();
            assert_eq!(spent, [known], "no retry is spent");
        }
        (Ending::Failed { kind, reason }, Person(words)) => {
            assert_eq!(kind.as_str(), "login", "{reason}");
            assert!(reason.contains(words), "no {words:?} in {reason:?}");
            let State::Waiting { request } = &task.state else { panic!("{:?}", task.state) };
            assert!(matches!(request.ask, Ask::Stuck), "{request:?}");
            assert_eq!((task.past.len(), task.spent.len()), (1, 0), "it was tried again");
        }
        (Ending::TimedOut { reason }, TimedOut(key)) => {
            assert!(reason.contains(&format!("the limit is `{key}` of stage code")), "{reason}");
        }
        (other, _) => panic!("{other:?}"),
    }
    Met::Fault
}
