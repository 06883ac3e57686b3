//! One run, step by step, beside the lines of the seeds that ask for each step.

use acquit_core::artifact::Artifact;
use acquit_core::change::Change;
use acquit_core::event::{Body, Event, Exit, Step};
use acquit_core::leg::{Ending, State};

use crate::common::{Sandbox, read};

/// A plan, code that a gate rejects once, its fix, and a delivery.
const FLOW: &str = r#"
[budgets]
test = 1
[gates.check]
run = "test -s work.txt"
kind = "test"
[stages.plan]
mode = "plan"
on = { plan_complete = "code" }
[stages.code]
mode = "implement"
role = "writer"
step = "../prompts/code.md"
timeout = "5m"
gates = ["check"]
fix = "mend"
on = { pr_ready = "deliver" }
[stages.mend]
mode = "fix"
on = { fixed = "back" }
[stages.deliver]
kind = "action"
action = "squash"
on = { done = "done" }
"#;

const SCRIPT: &str = r#"
[[plan]]
step = [
    { output = "plan.md", content = "1. Write work.txt.\n" },
    { outcome = "plan_complete", payload = { summary = "one step", context = { users = "everybody" } } },
]
[[code]]
step = [
    { say = "I write." },
    { run = "pwd > @ROOT@/pwd; git branch --show-current > @ROOT@/branch; : > work.txt" },
    { run = "git add -A && git commit -qm 'Write it'" },
    { usage = { model = "m", input = 1000, output = 20, cost_micros = 12345 } },
    { outcome = "pr_ready", payload = { summary = "written, and the file is empty" } },
]
[[mend]]
step = [
    { write = "work.txt", content = "work\n" },
    { run = "git add -A && git commit -qm 'Fill it'" },
    { outcome = "fixed", payload = { summary = "the file has to say something" } },
]
"#;

/// The run, and its events.
fn run() -> (Sandbox, Vec<Event>) {
    let script = SCRIPT.to_owned();
    let sandbox = Sandbox::scripted(FLOW, "");
    let root = sandbox.place("").to_string_lossy().trim_end_matches('/').to_owned();
    sandbox.repo.write(".acquit/script.toml", &script.replace("@ROOT@", &root));
    sandbox.repo.write(".acquit/prompts/code.md", "Do what the plan says.\n");
    let role = "+++\ndescription = \"writes\"\nmode = \"implement\"\n+++\nYou write short files.\n";
    sandbox.repo.write(".acquit/agents/writer.md", role);
    sandbox.repo.commit("the role and its step");
    sandbox.run_to(0);
    let events = sandbox.events();
    (sandbox, events)
}

fn of_leg(events: &[Event], leg: u32) -> Vec<&Body> {
    events.iter().filter(|event| event.leg == Some(leg)).map(|event| &event.body).collect()
}

/// Agent platform: "When the pipeline fires a `start_agent` hook, here's everything that happens", in ten steps. SPEC §3: "Ten steps, each
/// visible in the event log …, each with its own time".
#[test]
fn a_run_takes_the_ten_steps_of_the_agent_platform() {
    let (sandbox, events) = run();
    let task = sandbox.task();
    let legs = sandbox.legs();
    let code = of_leg(&events, 2);
    let steps: Vec<Step> = code
        .iter()
        .filter_map(|body| if let Body::Step { step, .. } = body { Some(*step) } else { None })
        .collect();
    // How long passing on took is known only to the leg that it led to.
    let expected = [&[Step::PassOn][..], &Step::ALL.map(|(_, step)| step)[..9]].concat();
    assert_eq!(steps, expected, "each step is an event, with its time");

    // "1. PREPARE ENVIRONMENT: Create/reuse worktree → pull latest from base branch → ensure clean state → lock worktree"
    let worked_in = read(&sandbox.place("pwd"));
    assert!(worked_in.contains("/T-1/workspace/"), "{worked_in}");
    assert!(
        !worked_in.starts_with(&*sandbox.repo.path().to_string_lossy()),
        "never in the main repo working directory"
    );
    assert_eq!(read(&sandbox.place("branch")).trim(), task.seed.branch);
    assert_eq!(sandbox.repo.git(&["status", "--porcelain"]), "");
    assert_eq!(task.seed.base.commit, sandbox.repo.git(&["rev-parse", "main"]).trim());

    // "2. ASSEMBLE CONTEXT: Task metadata + plan + event history + payload responses → structured prompt with outcome instructions"
    let prompt = read(&sandbox.leg_file(2, "prompt.md"));
    for words in [
        "Do it",
        "1. Write work.txt.",
        "leg 1, plan, ended plan_complete: `one step`",
        "users: `everybody`",
        "- `pr_ready`",
    ] {
        assert!(prompt.contains(words), "no {words:?} in {prompt}");
    }

    // "3. CONFIGURE AGENT: Resolve agent type → load config → set model, max turns, timeout → prepare structured output schema"
    let started = code.iter().find_map(|body| match body {
        Body::AgentStarted { agent, adapter, .. } => Some((agent.as_str(), adapter.as_str())),
        _ => None,
    });
    assert_eq!(started, Some(("bot", "scripted")));
    let stub = read(&sandbox.leg_file(2, "out/handoff.json"));
    assert!(stub.contains("\"outcome\""), "{stub}");

    // "4. EXECUTE AGENT: Spawn process → stream output to UI → track tokens → log tool_use events"
    let log = sandbox.acquit(&["logs", "T-1", "--leg", "2"]).must(0).out;
    assert!(log.contains("I write."), "{log}");
    let usage = &task.past[1].usage;
    assert_eq!((usage.input, usage.output, usage.cost_micros), (1000, 20, Some(12345)));

    // "5. MONITOR EXECUTION: Timeout watchdog → cancellation listener → health checks → supervisor integration"
    let ended = code.iter().find_map(|body| match body {
        Body::AgentEnded { exit, took, left, .. } => Some((exit.clone(), *took, *left)),
        _ => None,
    });
    let (exit, took, left) = ended.unwrap();
    assert_eq!((exit, left), (Exit::Code(0), 0));
    assert!(u64::from(took) > 0 && u64::from(took) < 5 * 60_000, "within the stage's timeout");
    assert!(legs[1].fence.is_some() && legs[1].owner.is_some(), "it was held by one harness");

    // "6. PARSE OUTPUT: Extract outcome name + payload from agent's structured output markers"
    // "7. VALIDATE OUTPUT: Outcome against OUTCOME_SCHEMAS → project-level checks → decide: valid outcome or agent_error"
    // Where a gate overrules the outcome, both are kept.
    let Ending::Rejected { outcome, failures } = &task.past[1].ending else { panic!("{:?}", task.past[1]) };
    assert_eq!(outcome.name.as_str(), "pr_ready");
    assert_eq!(outcome.payload["summary"], "written, and the file is empty");
    assert_eq!((failures.len(), failures[0].gate.as_str()), (1, "check"));
    let verdicts: Vec<_> = events
        .iter()
        .filter_map(|event| if let Body::Gate { verdict } = &event.body { Some(verdict) } else { None })
        .collect();
    let [rejected, passed] = verdicts.as_slice() else { panic!("{verdicts:?}") };
    assert_eq!((rejected.passed, rejected.ended.as_str()), (false, "exit 1"));
    assert_eq!((passed.passed, passed.ended.as_str()), (true, "exit 0"));
    assert!(
        verdicts.iter().all(|verdict| u64::from(verdict.took) > 0 && verdict.command == "test -s work.txt")
    );

    // "8. COLLECT ARTIFACTS: Detect new commits → detect PR creation → store branch, PR, commit artifacts on task → store plan if plan mode"
    let has = |wanted: fn(&Artifact) -> bool| task.artifacts.iter().any(wanted);
    assert!(has(|one| matches!(one, Artifact::Plan { text } if text == "1. Write work.txt.\n")));
    assert!(has(|one| matches!(one, Artifact::Branch { commit, .. } if !commit.is_empty())));
    assert!(has(
        |one| matches!(one, Artifact::Commits { leg: 2, commits } if commits[0].subject == "Write it")
    ));
    assert!(has(|one| matches!(one, Artifact::Diff(stats) if (stats.files, stats.insertions) == (1, 1))));

    // "9. TRIGGER PIPELINE: Pass outcome + payload to pipeline engine → auto-transition if single valid target"
    let stages: Vec<&str> = legs.iter().map(|leg| leg.entry.stage.as_str()).collect();
    assert_eq!(stages, ["plan", "code", "mend", "code", "deliver"]);
    assert_eq!(task.requests, 0, "nobody was asked");

    // "10. CLEANUP: Unlock worktree → record cost → log completion event → send notification"
    assert!(legs.iter().all(|leg| leg.ended.is_some()), "{legs:?}");
    sandbox.acquit(&["show", "T-1"]).must(0).said("$0.01");
    let last = sandbox.changes().pop();
    assert!(matches!(last, Some(Change::Ended { .. })), "{last:?}");
}

/// Execution engine, acceptance criteria 1 to 3, and the fields of its request and result.
#[test]
fn a_turn_is_what_the_execution_engine_asks_for() {
    let (sandbox, events) = run();
    let prompt = read(&sandbox.leg_file(2, "prompt.md"));
    // "the subprocess runs with the constructed prompt (step file + agent def + prior artifacts + elicitation context)"
    let mut rest = prompt.as_str();
    for words in [
        "You write short files.",
        "Do what the plan says.",
        "`plan.md` of stage plan: `/",
        "users: `everybody`",
    ] {
        let (_, after) =
            rest.split_once(words).unwrap_or_else(|| panic!("no {words:?} in its place in {prompt}"));
        rest = after;
    }
    // "Append prior artifacts as file path references (not inline content)", "Append attempt history (QA feedback from prior rework
    // cycles) if present"
    assert!(read(&sandbox.leg_file(3, "prompt.md")).contains("test -s work.txt"));
    // "output artifacts are read from the per-run workspace directory, And an AgentResult is returned with status, artifacts, and
    // session_id", "AgentResult … duration"
    let legs = sandbox.legs();
    assert_eq!((legs[0].state, legs[1].state), (State::Passed, State::Rejected));
    let task = sandbox.task();
    let file = task.artifacts.iter().find_map(|one| match one {
        Artifact::File { stage, name, path, bytes } => {
            Some((stage.as_str(), name.as_str(), read(path.as_ref()), *bytes))
        }
        _ => None,
    });
    assert_eq!(file, Some(("plan", "plan.md", "1. Write work.txt.\n".to_owned(), 19)));
    for leg in [1, 2, 3] {
        let took = of_leg(&events, leg).into_iter().find_map(|body| match body {
            Body::AgentEnded { took, .. } => Some(u64::from(*took)),
            _ => None,
        });
        assert!(took.unwrap() > 0, "leg {leg} has no duration");
    }
    // A script has no conversation to continue: "session_id extraction from output (when present and absent)".
    assert_eq!(task.past[0].session, None);
}

/// "Test returns empty tuple for empty directory": a stage that leaves no file has no file artifact.
#[test]
fn a_stage_that_leaves_no_file_has_none() {
    let sandbox = Sandbox::scripted(crate::CODE, crate::GOOD);
    sandbox.run_to(0);
    let files =
        sandbox.task().artifacts.into_iter().filter(|one| matches!(one, Artifact::File { .. })).count();
    assert_eq!(files, 0);
}

/// Relay runner, "Harness Lifecycle": setup, execution, gatekeeping, handoff.
#[test]
fn a_leg_has_the_four_phases_of_the_relay_runner() {
    let (sandbox, events) = run();
    let task = sandbox.task();
    // "1. Setup Phase: Checkout task branch, Load workflow state from Beads, Parse progress.txt for context"
    assert_eq!(read(&sandbox.place("branch")).trim(), task.seed.branch);
    assert!(read(&sandbox.leg_file(2, "prompt.md")).contains("one step"));
    // "2. Execution Phase: Load agent markdown definition, Invoke LLM with distilled context, Stream logs to UI"
    assert!(read(&sandbox.leg_file(2, "prompt.md")).contains("# Your part: writer"));
    let mend = read(&sandbox.leg_file(3, "prompt.md"));
    assert!(mend.contains("## Gate check (test)") && !mend.contains("1. Write work.txt."), "{mend}");
    // "3. Gatekeeping Phase: Run configured gates, If pass → Continue, If fail → Trigger fix loop or escalate"
    let states: Vec<State> = sandbox.legs().iter().map(|leg| leg.state).collect();
    assert_eq!(states, [State::Passed, State::Rejected, State::Passed, State::Passed, State::Passed]);
    // "The Runner tracks `attempts` in Beads metadata keyed by failure type."
    assert_eq!(
        task.spent.iter().map(|(kind, spent)| (kind.as_str(), *spent)).collect::<Vec<_>>(),
        [("test", 1)]
    );
    // "4. Handoff Phase: Update Beads task status, Append learnings to progress.txt, Spawn next agent process, Exit"
    let progress = read(&sandbox.place("acquit/tasks/T-1/progress.md"));
    let mut rest = progress.as_str();
    for words in ["# T-1 Do it\n", "one step", "the file has to say something"] {
        let (_, after) =
            rest.split_once(words).unwrap_or_else(|| panic!("no {words:?} in its place in {progress}"));
        rest = after;
    }
    let handoffs: Vec<u32> = events
        .iter()
        .filter(|event| matches!(event.body, Body::Step { step: Step::PassOn, .. }))
        .filter_map(|event| event.leg)
        .collect();
    assert_eq!(handoffs, [2, 3, 4, 5], "each leg after the first was begun by the one before it");
    assert_eq!(task.state.word(), "done");
}
