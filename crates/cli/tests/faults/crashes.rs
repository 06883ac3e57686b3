//! Deaths at moments that no step marks.

use acquit_core::leg::{Ending, State};
use rustix::process::Signal;

use crate::common::processes::{is_over, mark, marked, signal};
use crate::common::{Sandbox, until, until_file};

pub(crate) const ONE_STAGE: &str = "[stages.code]\nmode = \"implement\"\non = { pr_ready = \"deliver\" }\n\
    [stages.deliver]\nkind = \"action\"\naction = \"squash\"\non = { done = \"done\" }\n";

#[test]
fn a_task_goes_on_when_who_looks_at_it_is_killed() {
    let agent = "echo work >> log.txt\ntouch @ROOT@/begun\nwhile [ ! -e @ROOT@/go ]; do sleep 0.05; done\n";
    let sandbox = Sandbox::shell(ONE_STAGE, agent);
    let run = sandbox.start(&["run", "Do it"]);
    until_file(&sandbox.place("begun"));
    run.signal(Signal::KILL);
    assert_eq!(run.wait().code, None);
    std::fs::write(sandbox.place("go"), "").unwrap();
    until("the task is done", || (sandbox.task().state.word() == "done").then_some(()));

    let states: Vec<State> = sandbox.legs().iter().map(|leg| leg.state).collect();
    assert_eq!(states, [State::Passed, State::Passed], "nothing was lost, nothing was repeated");
    let again = sandbox.acquit(&["run", "T-1"]).must(0);
    again.said("T-1 is done");
    assert_eq!(sandbox.legs().len(), 2, "to look at it again does nothing again");
}

#[test]
fn an_agent_ends_with_its_harness_and_its_work_is_kept() {
    let mark = mark();
    // The first time it works, leaves a process of its own session behind, and waits for the end.
    let agent = "[ -e @ROOT@/first ] && { echo second >> log.txt; exit 0; }\n\
        touch @ROOT@/first\necho first >> log.txt\n\
        setsid sh -c 'trap \"\" TERM HUP INT; while :; do sleep 1; done' MARKdetached </dev/null >/dev/null 2>&1 &\n\
        sleep 60\n";
    let sandbox = Sandbox::shell(ONE_STAGE, &agent.replace("MARK", &mark));
    let run = sandbox.start(&["run", "Do it"]);
    until("the agent's process runs", || (!marked(&mark).is_empty()).then_some(()));
    let harness = sandbox.legs()[0].owner.clone().unwrap().pid;
    signal(harness, Signal::KILL);
    until("the agent's process is gone", || marked(&mark).is_empty().then_some(()));
    run.wait().must(0);

    let endings = sandbox.endings();
    assert!(
        matches!(endings[..], [Ending::Lost { .. }, Ending::Passed { .. }, Ending::Passed { .. }]),
        "{endings:?}"
    );
    let branch = sandbox.task().seed.branch;
    assert_eq!(
        sandbox.repo.git(&["show", &format!("{branch}:log.txt")]),
        "second",
        "the lost attempt does not count"
    );
    let attempts = sandbox.refs("refs/acquit/attempts/");
    let saved: Vec<String> =
        attempts.iter().map(|name| sandbox.repo.git(&["show", &format!("{name}:log.txt")])).collect();
    assert_eq!(saved, ["first"], "but its work is kept, and came with the branch: {attempts:?}");
}

/// SPEC §3: "a crash of one never touches another".
#[test]
fn a_leg_beside_one_that_is_killed_ends_as_it_would_have() {
    let agent = "[ -e @ROOT@/go ] && { echo again >> log.txt; exit 0; }\n\
        echo work >> log.txt\ntouch @ROOT@/begun-$ACQUIT_TASK\nwhile [ ! -e @ROOT@/go ]; do sleep 0.05; done\n";
    let sandbox = Sandbox::shell(ONE_STAGE, agent);
    let one = sandbox.start(&["run", "One"]);
    until_file(&sandbox.place("begun-T-1"));
    let other = sandbox.start(&["run", "Other"]);
    until_file(&sandbox.place("begun-T-2"));
    signal(sandbox.legs()[0].owner.clone().unwrap().pid, Signal::KILL);
    std::fs::write(sandbox.place("go"), "").unwrap();
    one.wait().must(0);
    other.wait().must(0);
    let states = |task: &str| -> Vec<String> {
        let shown = sandbox.acquit(&["task", "show", task, "--json"]).must(0).json();
        let legs = shown["legs"].as_array().unwrap().iter();
        legs.map(|leg| leg["state"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(states("T-1"), ["lost", "passed", "passed"]);
    assert_eq!(states("T-2"), ["passed", "passed"], "the other one was not touched");
    assert_eq!(sandbox.repo.git(&["show", "acquit/other-T-2:log.txt"]), "work");
}

#[test]
fn a_cancellation_holds_when_the_harness_is_killed_before_it_hears_of_it() {
    let agent = "touch @ROOT@/begun\ntrap '' TERM\nwhile :; do sleep 1; done\n";
    let sandbox = Sandbox::shell(ONE_STAGE, agent);
    let run = sandbox.start(&["run", "Do it"]);
    until_file(&sandbox.place("begun"));
    run.signal(Signal::KILL);
    run.wait();
    let harness = sandbox.legs()[0].owner.clone().unwrap().pid;
    // Stopped, it can hear nothing.
    signal(harness, Signal::STOP);
    sandbox.acquit(&["task", "cancel", "T-1"]).must(0).said("asked to stop");
    assert_eq!(sandbox.task().state.word(), "cancelling");
    signal(harness, Signal::KILL);
    until("the harness is gone", || is_over(harness).then_some(()));

    sandbox.acquit(&["run", "T-1"]).must(4);
    assert_eq!(sandbox.task().state.word(), "cancelled");
    assert_eq!(sandbox.legs().len(), 1, "nobody tried it again");
}

#[test]
fn a_gate_ends_with_its_harness_and_is_run_again() {
    let mark = mark();
    let gate = "[gates.slow]\nrun = \"test -e @ROOT@/second || { touch @ROOT@/second; sh -c 'while :; do sleep 1; done' MARKgate; }\"\n";
    let stages = ONE_STAGE.replace("mode = \"implement\"", "mode = \"implement\"\ngates = [\"slow\"]");
    let sandbox =
        Sandbox::shell(&format!("{}{stages}", gate.replace("MARK", &mark)), "echo work >> log.txt\n");
    let run = sandbox.start(&["run", "Do it"]);
    // The mark is in the shell's own arguments from the start; the file says that the endless part has begun.
    until_file(&sandbox.place("second"));
    signal(sandbox.legs()[0].owner.clone().unwrap().pid, Signal::KILL);
    until("the gate is gone", || marked(&mark).is_empty().then_some(()));
    run.wait().must(0);
    let branch = sandbox.task().seed.branch;
    assert_eq!(sandbox.repo.git(&["show", &format!("{branch}:log.txt")]), "work");
    assert_eq!(sandbox.task().spent.len(), 1, "only the lost leg was spent: {:?}", sandbox.task().spent);
}

#[test]
fn a_leg_that_kills_its_harness_every_time_comes_to_a_person() {
    let sandbox = Sandbox::shell(&format!("budgets = {{ lost = 1 }}\n{ONE_STAGE}"), "exec sleep 60\n");
    let run = sandbox.start(&["run", "Do it"]);
    for leg in 0..2 {
        let owner = until("the leg is held", || sandbox.shown_legs()?.into_iter().nth(leg)?.owner);
        signal(owner.pid, Signal::KILL);
    }
    run.wait().must(3).said("stage code failed (lost)");
}
