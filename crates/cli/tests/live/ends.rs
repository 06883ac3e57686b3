//! Agents that are ended while a tool of theirs runs, or where they have none while their model is silent: by a person, and by the
//! limit of the stage. Nothing stays behind.

use std::cell::Cell;
use std::time::Duration;

use acquit_core::leg::Ending;
use acquit_testkit::model::{Scripts, Step};

use crate::common::CODE;
use crate::common::processes::{is_over, mark, marked};
use crate::kit::{Agent, Live, More, PATIENCE, PATIENT};

/// Longer than any test waits.
const LONG: Duration = Duration::from_mins(5);

/// Who ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    Person,
    Limit,
}

/// What was under way when it was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// The tool, or where there is none the model's answer.
    Work,
    /// The agent had not come so far.
    Beginning,
}

/// The seconds that the agent needs on a machine that has little else to do until its tool runs, and some more.
fn beginning(agent: Agent) -> u32 {
    match agent {
        Agent::Codex => 4,
        Agent::Claude | Agent::Pi => 5,
        Agent::Gemini => 8,
        Agent::Aider => 12,
        Agent::Opencode => 16,
    }
}

/// A tool runs, with a process that left it; then the leg is ended, and so is everything that it started. Where there are no tools, the
/// agent waits for its model.
pub(crate) fn ended(agent: Agent, by: By) {
    let limits: Vec<String> = match by {
        By::Person => vec!["10m".to_owned()],
        By::Limit => PATIENT.iter().map(|times| format!("{}s", beginning(agent) * times)).collect(),
    };
    let found = limits.iter().any(|limit| tried(agent, by, limit) == Found::Work);
    assert!(found, "within {limits:?} it never came to its work");
}

/// Ends it in one way.
fn tried(agent: Agent, by: By, limit: &str) -> Found {
    let mark = mark();
    // Each of the agents refuses a bare `sleep`, or leaves a tool that has gone to the background.
    let wait = |name: &str| format!("python3 -c 'import time; time.sleep(300)' {mark}{name}");
    let line = format!("setsid {} </dev/null >/dev/null 2>&1 & {}", wait("left"), wait("tool"));
    // Some agents let the model go on while a tool takes long: it has nothing to say then.
    let has_tools = agent != Agent::Aider;
    let steps = if has_tools { vec![Step::bash(&line), Step::hang(LONG)] } else { vec![Step::hang(LONG)] };
    let scripts = Scripts::default().with("slow", steps);
    let workflow =
        CODE.replace("mode = \"implement\"", &format!("mode = \"implement\"\ntimeout = \"{limit}\""));
    let Some(live) = Live::new(agent, &workflow, scripts, More::default()) else { return Found::Work };
    let run = live.start("Wait for it. [[slow]]");
    let runs =
        |name: &str| marked(&format!("{mark}{name}")).iter().any(|(_, line)| line.starts_with("python3"));
    let works = Cell::new(false);
    live.until("the agent works, or was ended before", || {
        works.set(if has_tools { runs("tool") && runs("left") } else { !live.model.scripted().is_empty() });
        works.get() || (by == By::Limit && is_over(run.pid()))
    });
    if by == By::Person {
        live.sandbox.acquit(&["task", "cancel", "T-1"]).must(0);
    }
    let code = if by == By::Person { 4 } else { 3 };
    run.wait_within(PATIENCE).must(code);
    match (&live.sandbox.endings()[0], by) {
        (Ending::Cancelled, By::Person) => {}
        (Ending::TimedOut { reason }, By::Limit) => {
            assert!(reason.contains("the limit is `timeout` of stage code"), "{reason}");
        }
        (other, _) => panic!("{other:?}"),
    }
    assert_eq!(marked(&mark), [], "the leg is over, and so is everything that it started");
    let place = live.sandbox.place("");
    // The harness tells the end first and cleans up afterwards.
    live.until("the leg is over, and so is its agent", || marked(&place.to_string_lossy()).is_empty());
    if works.get() { Found::Work } else { Found::Beginning }
}
