//! A harness that dies loses nothing and repeats nothing: SIGKILL after every step of every leg, and at other bad moments.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;
#[path = "faults/crashes.rs"]
mod crashes;
#[cfg(target_os = "linux")]
#[path = "faults/hosts/mod.rs"]
mod hosts;
#[path = "faults/kills.rs"]
mod kills;
#[path = "faults/on_postgres.rs"]
mod on_postgres;
#[path = "faults/outage.rs"]
mod outage;
#[path = "faults/story.rs"]
mod story;

use std::sync::OnceLock;

use acquit_core::event::{Body, Step};
use acquit_core::leg::{Ending, Purpose};

use common::{Sandbox, read, side_by_side};
use story::Story;

const WORKFLOW: &str = r#"
[gates.count]
run = "grep -q mended log.txt"
kind = "test"

[stages.plan]
mode = "plan"
on = { plan_complete = "code" }

[stages.code]
mode = "implement"
gates = ["count"]
fix = "fix"
on = { pr_ready = "review" }

[stages.fix]
mode = "fix"
on = { fixed = "back" }

[stages.review]
mode = "review"
on = { approved = "deliver", changes_requested = { to = "code", budget = "review" } }

[stages.deliver]
kind = "action"
action = "squash"
on = { done = "done" }
"#;

/// Every agent appends, so that whatever is done twice is seen twice.
const SCRIPT: &str = r#"
[[plan]]
step = [
    { output = "plan.md", content = "append\n" },
    { usage = { model = "m", input = 10, cost_micros = 100 } },
    { outcome = "plan_complete", payload = { summary = "planned" } },
]
[[code]]
step = [
    { run = "echo work >> log.txt && git add -A && git commit -qm work" },
    { usage = { model = "m", input = 20, cost_micros = 200 } },
    { outcome = "pr_ready", payload = { summary = "coded" } },
]
[[fix]]
step = [
    { run = "echo mended >> log.txt && git commit -qam mended" },
    { outcome = "fixed", payload = { summary = "mended" } },
]
[[review]]
step = [
    { output = "review.md", content = "fine\n" },
    { outcome = "approved", payload = { summary = "reviewed" } },
]
"#;

fn sandbox() -> Sandbox {
    Sandbox::scripted(WORKFLOW, SCRIPT)
}

/// What happens when nothing goes wrong, and how often each step is over then.
fn undisturbed() -> &'static (Story, Vec<(Step, u32)>) {
    static UNDISTURBED: OnceLock<(Story, Vec<(Step, u32)>)> = OnceLock::new();
    UNDISTURBED.get_or_init(|| {
        let sandbox = sandbox();
        let ran = sandbox.run_to(0);
        let events = sandbox.events();
        let story = Story::of(&sandbox, &ran);
        let legs = u32::try_from(sandbox.legs().len()).unwrap();
        let times = |wanted: Step| match wanted {
            // These two come after the leg's own last words.
            Step::Handoff | Step::PassOn => legs,
            _ => {
                let of = |body: &Body| matches!(body, Body::Step { step, .. } if *step == wanted);
                u32::try_from(events.iter().filter(|event| of(&event.body)).count()).unwrap()
            }
        };
        assert_eq!(story.lost, 0);
        assert_eq!(story.outcomes.len(), 6, "{:?}", story.outcomes);
        (story, Step::ALL.iter().map(|(_, step)| (*step, times(*step))).collect())
    })
}

/// Kills the harness after each occurrence of a step, each time in a task of its own.
fn killed_after(step: Step) {
    let (expected, times) = undisturbed();
    let times = times.iter().find(|(known, _)| *known == step).unwrap().1;
    assert!(times >= 4, "{} is over only {times} times", step.name());
    let each: Vec<u32> = (1..=times).collect();
    side_by_side(&each, |&which| {
        let name = format!("{} number {which}", step.name());
        let sandbox = sandbox();
        let marker = sandbox.place("marker");
        let sandbox = sandbox.with("ACQUIT_FAULT", format!("{}:{which}:{}", step.name(), marker.display()));
        let ran = sandbox.run_to(0);
        assert!(read(&marker).len() >= which as usize, "{name}: nobody was killed");
        let story = Story::of(&sandbox, &ran);
        // Before the handoff a leg is lost as a whole; from then on nothing of it is.
        let lost = u32::from(step < Step::Handoff);
        assert_eq!(story.lost, lost, "{name}");
        assert_eq!(story.agents, expected.agents + extra(&sandbox, step, Step::Run, "output.log"), "{name}");
        assert_eq!(
            story.gates,
            expected.gates + extra(&sandbox, step, Step::Gates, "check-count.log"),
            "{name}"
        );
        let expected =
            Story { lost: story.lost, agents: story.agents, gates: story.gates, ..expected.clone() };
        assert_eq!(story, expected, "{name}");
        check_kept(&sandbox, step, &name);
    });
}

/// What the lost leg had written does not count, but it is kept and comes with the branch.
fn check_kept(sandbox: &Sandbox, step: Step, name: &str) {
    let task = sandbox.task();
    let lost = task.past.iter().find(|past| matches!(past.ending, Ending::Lost { .. }));
    let wrote = match lost.map(|lost| lost.entry.stage.as_str()) {
        Some("code") if step >= Step::Run => Some("work"),
        Some("fix") if step >= Step::Run => Some("work\nmended"),
        _ => None,
    };
    let kept = sandbox.refs("refs/acquit/attempts/");
    let kept: Vec<String> =
        kept.iter().map(|kept| sandbox.repo.git(&["show", &format!("{kept}:log.txt")])).collect();
    // A leg that only runs gates again writes nothing.
    let recheck = lost.is_some_and(|lost| matches!(lost.entry.purpose, Purpose::Recheck { .. }));
    let expected: Vec<&str> = wrote.filter(|_| !recheck).into_iter().collect();
    assert_eq!(kept, expected, "{name}");
}

/// How often more something runs because the leg that was killed after `step` had already come past `reached`.
fn extra(sandbox: &Sandbox, step: Step, reached: Step, log: &str) -> u32 {
    let task = sandbox.task();
    let lost = task.past.iter().find(|past| matches!(past.ending, Ending::Lost { .. }));
    u32::from(step >= reached && lost.is_some_and(|lost| sandbox.leg_file(lost.number, log).exists()))
}

macro_rules! killed_after {
    ($($name:ident: $step:ident,)*) => {$(
        #[test]
        fn $name() {
            killed_after(Step::$step);
        }
    )*};
}

killed_after! {
    killed_after_claim_it_ends_as_it_would_have: Claim,
    killed_after_workspace_it_ends_as_it_would_have: Workspace,
    killed_after_context_it_ends_as_it_would_have: Context,
    killed_after_agent_it_ends_as_it_would_have: Agent,
    killed_after_run_it_ends_as_it_would_have: Run,
    killed_after_outcome_it_ends_as_it_would_have: Outcome,
    killed_after_gates_it_ends_as_it_would_have: Gates,
    killed_after_artifacts_it_ends_as_it_would_have: Artifacts,
    killed_after_handoff_it_ends_as_it_would_have: Handoff,
    killed_after_pass_on_it_ends_as_it_would_have: PassOn,
}
