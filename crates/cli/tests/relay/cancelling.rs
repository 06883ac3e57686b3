//! Ending a task: by Ctrl-C, from elsewhere, and against an agent that does not want to end.

use rustix::process::Signal;

use crate::common::processes::{mark, marked};
use crate::common::{Sandbox, read, until, until_file};
use crate::{CODE, GOOD};

/// Works until it is asked to end, and says when it has begun.
const PATIENT: &str = "echo half >> work.txt\ntouch @ROOT@/begun\nexec sleep 60\n";

#[test]
fn ctrl_c_cancels_and_keeps_the_work() {
    let sandbox = Sandbox::shell(CODE, PATIENT);
    let run = sandbox.start(&["run", "Do it"]);
    until_file(&sandbox.place("begun"));
    run.signal(Signal::INT);
    let ran = run.wait().must(4);
    ran.said("cancelling");
    ran.said("T-1 cancelled by tester");
    assert_eq!(sandbox.task().state.word(), "cancelled");
    assert_eq!(read(&sandbox.place("acquit/tasks/T-1/workspace/work/work.txt")), "half\n");
}

#[test]
fn a_second_ctrl_c_leaves_the_task_to_end_by_itself() {
    let sandbox = Sandbox::shell(CODE, "touch @ROOT@/begun\ntrap '' TERM\nwhile :; do sleep 1; done\n");
    let run = sandbox.start(&["run", "Do it"]);
    until_file(&sandbox.place("begun"));
    run.signal(Signal::INT);
    until("it was heard", || run.err().contains("once more").then_some(()));
    run.signal(Signal::INT);
    run.wait().must(4);
    assert_eq!(sandbox.task().state.word(), "cancelling", "the agent still has its time to end");
    until("the task is over", || (sandbox.task().state.word() == "cancelled").then_some(()));
}

#[test]
fn a_second_process_cancels_a_task_that_runs() {
    let sandbox = Sandbox::shell(CODE, PATIENT);
    let run = sandbox.start(&["run", "Do it"]);
    until_file(&sandbox.place("begun"));
    sandbox.acquit(&["task", "cancel", "T-1"]).must(0).said("T-1 cancelling");
    run.wait().must(4);
    assert_eq!(sandbox.task().state.word(), "cancelled");
}

#[test]
fn a_task_that_nobody_runs_is_cancelled_at_once() {
    let sandbox = Sandbox::scripted(CODE, GOOD);
    sandbox.acquit(&["task", "add", "Do it"]).must(0);
    sandbox.acquit(&["task", "cancel", "T-1"]).must(0).said("T-1 cancelled");
    sandbox.acquit(&["task", "cancel", "T-1"]).must(2).said("it is cancelled and cannot be cancelled");
    sandbox.acquit(&["run", "T-1"]).must(4);
}

#[test]
fn what_detached_itself_and_ignores_signals_is_gone_after_cancellation() {
    let mark = mark();
    // Forks twice, in sessions of their own, and ignores what it can.
    let agent = "trap '' TERM HUP INT\n\
        setsid sh -c '(setsid sh -c \"trap \\\"\\\" TERM HUP INT; while :; do sleep 1; done\" MARKgrandchild &) ; \
        trap \"\" TERM HUP INT; while :; do sleep 1; done' MARKchild </dev/null >/dev/null 2>&1 &\n\
        while :; do sleep 1; done\n";
    let sandbox = Sandbox::shell(CODE, &agent.replace("MARK", &mark));
    let run = sandbox.start(&["run", "Do it"]);
    let is_up = |name: &str| {
        marked(&mark).iter().any(|(_, arguments)| arguments.ends_with(&format!("{mark}{name} ")))
    };
    until("both processes run", || (is_up("child") && is_up("grandchild")).then_some(()));
    run.signal(Signal::INT);
    run.wait().must(4);
    assert_eq!(marked(&mark), [], "the task is over, and so is everything that it started");
}

#[test]
fn what_an_agent_leaves_running_ends_with_its_turn() {
    let mark = mark();
    let agent = "echo work > work.txt\nsetsid sh -c 'trap \"\" TERM HUP; while :; do sleep 1; done' MARKleft </dev/null >/dev/null 2>&1 &\n\
        while ! grep -qs left /proc/$!/cmdline; do sleep 0.01; done\n";
    let sandbox = Sandbox::shell(CODE, &agent.replace("MARK", &mark));
    sandbox.run_to(0);
    assert_eq!(marked(&mark), []);
}
