//! Agents that are ended while a tool of theirs runs, or where they have none while their model is silent: by a person, and by the
//! limit of the stage. Nothing stays behind.

use std::time::Duration;

use acquit_core::leg::Ending;
use acquit_testkit::model::{Scripts, Step};

use crate::common::processes::{mark, marked};
use crate::kit::{Agent, Live, More, PATIENCE};
use crate::work::CODE;

/// Longer than any test waits.
const LONG: Duration = Duration::from_mins(5);

/// Who ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    Person,
    Limit,
}

/// A tool runs, with a process that left it; then the leg is ended, and so is everything that it started. Where there are no tools, the
/// agent waits for its model.
pub(crate) fn ended(agent: Agent, by: By) {
    let mark = mark();
    // Each of the agents refuses a bare `sleep`, or leaves a tool that has gone to the background.
    let wait = |name: &str| format!("python3 -c 'import time; time.sleep(300)' {mark}{name}");
    let line = format!("setsid {} </dev/null >/dev/null 2>&1 & {}", wait("left"), wait("tool"));
    // Some agents let the model go on while a tool takes long: it has nothing to say then.
    let has_tools = agent != Agent::Aider;
    let steps = if has_tools { vec![Step::bash(&line), Step::hang(LONG)] } else { vec![Step::hang(LONG)] };
    let scripts = Scripts::default().with("slow", steps);
    // The tool has begun long before on an idle machine, and is waited for on a busy one.
    let limit = match (by, agent) {
        (By::Person, _) => "timeout = \"10m\"",
        (By::Limit, Agent::Claude | Agent::Codex | Agent::Pi) => "timeout = \"12s\"",
        (By::Limit, Agent::Gemini) => "timeout = \"20s\"",
        (By::Limit, Agent::Aider) => "timeout = \"30s\"",
        (By::Limit, Agent::Opencode) => "timeout = \"40s\"",
    };
    let workflow = CODE.replace("mode = \"implement\"", &format!("mode = \"implement\"\n{limit}"));
    let Some(live) = Live::new(agent, &workflow, scripts, More::default()) else { return };
    let run = live.start("Wait for it. [[slow]]");
    let runs =
        |name: &str| marked(&format!("{mark}{name}")).iter().any(|(_, line)| line.starts_with("python3"));
    if has_tools {
        live.until("the tool runs", || runs("tool") && runs("left"));
    } else {
        live.until("the model is asked", || !live.model.scripted().is_empty());
    }
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
    assert_eq!(marked(&place.to_string_lossy()), [], "the leg is over, and so is its agent");
}
