//! What a user sees: progress while it runs, JSON for programs, lists, logs, workflows.

use acquit_core::event::Event;
use acquit_core::leg::State;
use acquit_core::task::Task;

use crate::common::{Sandbox, until, until_file};
use crate::{CODE, GOOD};

/// Says something, and goes on when it is told to.
const SLOW: &str = r#"
[[code]]
step = [
    { say = "I write." },
    { run = "touch @ROOT@/begun; while [ ! -e @ROOT@/go ]; do sleep 0.05; done; echo work > work.txt" },
    { outcome = "pr_ready" },
]
"#;

#[test]
fn progress_is_shown_while_the_agent_works() {
    let sandbox = Sandbox::scripted(CODE, SLOW);
    let run = sandbox.start(&["run", "Do it"]);
    until("the agent's words are shown", || run.err().contains("│ I write.").then_some(()));
    until_file(&sandbox.place("begun"));
    let shown = run.err();
    for line in ["T-1 Do it", "workflow flow · branch acquit/do-it-T-1", "● code leg 1", "agent bot works"]
    {
        assert!(shown.contains(line), "no {line:?} in\n{shown}");
    }
    std::fs::write(sandbox.place("go"), "").unwrap();
    let ran = run.wait().must(0);
    assert!(ran.err.contains("✓ pr_ready") && ran.err.contains("● deliver leg 2"), "{}", ran.err);
    ran.said("acquit merge T-1");
}

#[test]
fn with_json_every_line_is_an_event_and_the_last_one_has_the_task() {
    let sandbox = Sandbox::scripted(CODE, GOOD);
    let ran = sandbox.acquit(&["run", "Do it", "--json"]).must(0);
    assert_eq!(ran.err, "");
    let lines: Vec<&str> = ran.out.lines().collect();
    let (last, events) = lines.split_last().unwrap();
    let mut before = 0;
    for line in events {
        let event: Event = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(event.seq > before, "events in their order, each once");
        before = event.seq;
    }
    let kinds: Vec<&str> = vec!["task_created", "leg_readied"];
    let first: Vec<Event> = events.iter().take(2).map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(first.iter().map(|event| event.body.kind()).collect::<Vec<_>>(), kinds);
    let value: serde_json::Value = serde_json::from_str(last).unwrap();
    let task: Task = serde_json::from_value(value["task"].clone()).unwrap();
    assert_eq!(task, sandbox.task());
}

#[test]
fn tasks_are_added_listed_and_shown() {
    let sandbox = Sandbox::scripted(CODE, GOOD);
    sandbox.acquit(&["task", "list"]).must(0).said("no tasks yet");
    let added = sandbox.acquit(&["task", "add", "Do it", "--description", "with care", "--tag", "x"]);
    added.must(0).said("T-1 ready");
    sandbox.acquit(&["task", "add", "  "]).must(2);
    let list = sandbox.acquit(&["task", "list"]).must(0);
    assert!(list.out.lines().any(|line| line.starts_with("T-1") && line.ends_with("Do it")), "{}", list.out);
    sandbox.acquit(&["run", "T-1"]).must(0);
    let listed = sandbox.acquit(&["task", "list", "--json", "--state", "done"]).must(0).json();
    assert_eq!((&listed[0]["id"], &listed[0]["cost_micros"]), (&"T-1".into(), &12345.into()));
    assert_eq!(
        sandbox.acquit(&["task", "list", "--json", "--state", "failed"]).must(0).json(),
        serde_json::json!([])
    );
    let shown = sandbox.acquit(&["task", "show", "T-1"]).must(0);
    for line in
        ["T-1 Do it", "with care", "state     done", "diff      1 file, +1 −0", "in your repository", "$0.01"]
    {
        shown.said(line);
    }
    sandbox.acquit(&["task", "show", "T-9"]).must(2).said("T-9");
    sandbox.acquit(&["run", "T-9"]).must(2).said("T-9");
}

#[test]
fn logs_show_events_and_words_and_a_legs_own_bytes() {
    let sandbox = Sandbox::scripted(CODE, GOOD);
    sandbox.run_to(0);
    let log = sandbox.acquit(&["logs", "T-1"]).must(0);
    for line in ["● code leg 1", "│ I write.", "→ bash git add", "✓ pr_ready: written"] {
        log.said(line);
    }
    assert!(!log.out.contains("workspace took"), "steps are for those who ask");
    assert_eq!(log.err, "", "what was asked for is data");
    let all = sandbox.acquit(&["logs", "T-1", "--all"]).must(0);
    for (step, _) in acquit_core::event::Step::ALL {
        all.said(&format!("{step} took"));
    }
    sandbox.acquit(&["logs", "T-1", "--follow"]).must(0).said("✓ pr_ready");
    let raw = sandbox.acquit(&["logs", "T-1", "--leg", "1"]).must(0);
    assert_eq!(raw.out, std::fs::read_to_string(sandbox.leg_file(1, "output.log")).unwrap());
    assert!(raw.out.lines().count() >= 4);
    sandbox.acquit(&["logs", "T-1", "--leg", "9"]).must(2).said("9");
    sandbox.acquit(&["logs", "T-7"]).must(2).said("T-7");
}

#[test]
fn who_follows_sees_what_comes_and_ends_with_the_task() {
    let sandbox = Sandbox::scripted(CODE, SLOW);
    let run = sandbox.start(&["run", "Do it"]);
    until_file(&sandbox.place("begun"));
    let follow = sandbox.start(&["logs", "T-1", "-f"]);
    let raw = sandbox.start(&["logs", "T-1", "-f", "--leg", "1"]);
    until("the follower shows it", || follow.out().contains("│ I write.").then_some(()));
    until("the raw output is shown", || raw.out().contains("I write.").then_some(()));
    std::fs::write(sandbox.place("go"), "").unwrap();
    follow.wait().must(0).said("● deliver leg 2");
    let raw = raw.wait().must(0);
    assert_eq!(raw.out, std::fs::read_to_string(sandbox.leg_file(1, "output.log")).unwrap());
    run.wait().must(0);
}

#[test]
fn two_that_run_one_task_both_end_and_every_leg_runs_once() {
    let sandbox = Sandbox::scripted(CODE, GOOD);
    sandbox.acquit(&["task", "add", "Do it"]).must(0);
    let both = [sandbox.start(&["run", "T-1"]), sandbox.start(&["run", "T-1"])];
    for run in both {
        run.wait().must(0).said("T-1 is done");
    }
    let legs = sandbox.legs();
    assert_eq!(legs.iter().map(|leg| leg.state).collect::<Vec<_>>(), [State::Passed, State::Passed]);
    let started = sandbox.events().iter().filter(|event| event.body.kind() == "agent_started").count();
    assert_eq!(started, 1);
}

#[test]
fn workflows_are_listed_checked_and_drawn() {
    let sandbox = Sandbox::scripted(CODE, GOOD);
    sandbox.acquit(&["workflow", "list"]).must(0).said("code deliver");
    sandbox.acquit(&["workflow", "check"]).must(0).said("no mistakes in flow");
    let graph = sandbox.acquit(&["workflow", "graph"]).must(0);
    assert!(graph.out.starts_with("flowchart") && graph.out.contains("pr_ready"), "{}", graph.out);
    let json = sandbox.acquit(&["workflow", "graph", "--json"]).must(0).json();
    assert_eq!(json["mermaid"].as_str().unwrap().trim(), graph.out.trim());
    sandbox.repo.write(
        ".acquit/workflows/flow.toml",
        &CODE.replace("pr_ready = \"deliver\"", "pr_ready = \"delivr\""),
    );
    let wrong = sandbox.acquit(&["workflow", "check"]).must(2);
    wrong.said(".acquit/workflows/flow.toml:10:");
    wrong.said("hint");
    sandbox.acquit(&["run", "Do it"]).must(2).said("delivr");
    sandbox.acquit(&["task", "list"]).must(0).said("no tasks yet");
}

#[test]
fn completions_are_made_for_every_shell() {
    let sandbox = Sandbox::scripted(CODE, GOOD);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        sandbox.acquit(&["completions", shell]).must(0).said("workflow");
    }
}

#[test]
fn what_cannot_be_used_is_said_before_anything_is_made() {
    let sandbox = Sandbox::scripted(CODE, GOOD);
    sandbox.acquit(&["run"]).must(2);
    sandbox.acquit(&["run", "Do it", "--workflow", "other"]).must(2).said("other");
    sandbox.acquit(&["run", "Do it", "--base", "nowhere"]).must(2).said("nowhere");
    sandbox.acquit(&["run", ""]).must(2);
    sandbox.repo.write(".acquit/acquit.toml", "agnt = \"bot\"\n");
    sandbox.acquit(&["run", "Do it"]).must(2).said("agnt");
    sandbox.repo.git(&["checkout", "--quiet", "--", ".acquit"]);
    sandbox.repo.git(&["checkout", "--quiet", "--orphan", "nothing"]);
    sandbox.acquit(&["run", "Do it"]).must(2).said("commit");
    std::fs::remove_dir_all(sandbox.repo.path().join(".acquit")).unwrap();
    sandbox.acquit(&["run", "Do it"]).must(2).said("acquit init");
    sandbox.acquit(&["task", "list"]).must(0).said("no tasks yet");
}

#[test]
fn a_detached_head_is_as_good_a_base_as_a_branch() {
    let sandbox = Sandbox::scripted(CODE, GOOD);
    sandbox.repo.git(&["checkout", "--quiet", "--detach"]);
    sandbox.run_to(0);
    let task = sandbox.task();
    assert_eq!(
        (task.seed.base.branch, task.seed.base.commit),
        (None, sandbox.repo.git(&["rev-parse", "HEAD"]))
    );
}

#[test]
fn a_task_without_a_sandbox_is_marked_wherever_it_is_shown() {
    let config = format!("sandbox = \"off\"\n{}", crate::common::SCRIPTED);
    let sandbox = Sandbox::new(&config, CODE, GOOD);
    sandbox.run_to(0).said("OFF: agents and gates may do all that you may");
    sandbox.acquit(&["task", "show", "T-1"]).must(0).said("OFF: agents and gates");
    sandbox.acquit(&["task", "list", "--state", "done"]).must(0).said("SANDBOX OFF");
    let listed = sandbox.acquit(&["task", "list", "--state", "done", "--json"]).must(0).json();
    assert_eq!(listed[0]["sandbox"], "off");
}
