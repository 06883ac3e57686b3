//! Agents that take too long, say nothing, or say too much: each limit is a reason of its own.

use acquit_core::leg::Ending;

use crate::CODE;
use crate::common::{Sandbox, read};

/// How a leg under these limits ends.
fn ended(limit: &str, agent: &str) -> (Sandbox, String) {
    let workflow = CODE.replace("mode = \"implement\"", &format!("mode = \"implement\"\n{limit}"));
    let sandbox = Sandbox::shell(&workflow, agent);
    sandbox.run_to(3);
    match sandbox.endings().as_slice() {
        [Ending::TimedOut { reason }] => (sandbox, reason.clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_agent_that_takes_too_long_is_ended() {
    let (sandbox, reason) = ended("timeout = \"2s\"", "echo begun\necho half > work.txt\nexec sleep 60\n");
    assert!(reason.starts_with("the agent bot: timed out after 2s"), "{reason}");
    assert_eq!(read(&sandbox.leg_file(1, "output.log")), "begun\n", "what it said is kept");
}

#[test]
fn an_agent_that_falls_silent_is_ended() {
    let (_, reason) = ended("idle = \"300ms\"", "echo begun\nexec sleep 60\n");
    assert!(reason.starts_with("the agent bot: silent for 300ms"), "{reason}");
}

#[test]
fn an_agent_that_prints_too_much_is_ended() {
    let (sandbox, reason) = ended("output = \"100KiB\"", "while :; do echo 0123456789; done\n");
    assert!(reason.starts_with("the agent bot: printed more than 102400 bytes"), "{reason}");
    let chunks = sandbox.acquit(&["logs", "T-1"]).must(0);
    chunks.said("0123456789");
}

#[test]
fn a_gate_that_hangs_rejects_with_its_limit() {
    let workflow = CODE.replace(
        "[stages.code]",
        "gate = 0\n[gates.slow]\nrun = \"sleep 60\"\ntimeout = \"200ms\"\n[stages.code]",
    );
    let workflow = workflow.replace("mode = \"implement\"", "mode = \"implement\"\ngates = [\"slow\"]");
    let sandbox = Sandbox::shell(&workflow, "echo work > work.txt\n");
    sandbox.run_to(3).said("the budget for gate (0) is spent");
    match sandbox.endings().as_slice() {
        [Ending::Rejected { failures, .. }] => {
            let message = &failures[0].message;
            assert!(message.contains("`sleep 60`") && message.contains("timed out after 200ms"), "{message}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn output_that_is_no_text_is_kept_byte_by_byte() {
    let agent = "printf 'a\\000b\\377\\nhalf a line {\"type\":'\necho work > work.txt\n";
    let sandbox = Sandbox::shell(CODE, agent);
    sandbox.run_to(0);
    let kept = std::fs::read(sandbox.leg_file(1, "output.log")).unwrap();
    assert_eq!(kept, b"a\0b\xff\nhalf a line {\"type\":");
}
