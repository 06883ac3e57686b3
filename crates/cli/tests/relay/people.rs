//! Where a person is needed: questions and answers, another try, consent.

use crate::common::{Sandbox, read};
use crate::{CODE, GOOD};

#[test]
fn an_answer_resumes_the_task_and_reaches_the_agent() {
    let script = r#"
[[code]]
step = [ { outcome = "needs_input", payload = { question = "Which colour?" } } ]
[[code]]
step = [
    { write = "work.txt", content = "work\n" },
    { outcome = "pr_ready", payload = { summary = "written" } },
]
"#;
    let sandbox = Sandbox::scripted(CODE, script);
    let ran = sandbox.run_to(3);
    ran.said("T-1 needs your input: Which colour?");
    ran.said("acquit answer T-1 \"…\"");
    sandbox.acquit(&["run", "T-1"]).must(3).said("Which colour?");
    sandbox
        .acquit(&["task", "answer", "T-1", "--approve"])
        .must(2)
        .said("this request takes an answer in words");
    sandbox.acquit(&["task", "answer", "T-1", "--text", "petrol, please"]).must(0).said("T-1 working");
    sandbox.acquit(&["run", "T-1"]).must(0);
    let prompt = read(&sandbox.leg_file(2, "prompt.md"));
    assert!(prompt.contains("Which colour?") && prompt.contains("petrol, please"), "{prompt}");
    assert!(!read(&sandbox.leg_file(1, "prompt.md")).contains("petrol"));
    sandbox
        .acquit(&["task", "answer", "T-1", "--text", "x"])
        .must(2)
        .said("answering is not possible while the task is done");
}

#[test]
fn a_retry_begins_anew_with_a_word_for_the_agent() {
    let script = format!("[[code]]\nstep = [ {{ exit = 7 }} ]\n{GOOD}");
    let sandbox = Sandbox::scripted(CODE, &script);
    sandbox.run_to(3).said("stage code failed (agent)");
    sandbox
        .acquit(&["task", "retry", "T-1", "--stage", "cod"])
        .must(2)
        .said("the workflow has no stage `cod`");
    sandbox.acquit(&["task", "retry", "T-1", "--note", "mind the gap"]).must(0).said("T-1 working");
    sandbox.acquit(&["run", "T-1"]).must(0);
    let prompt = read(&sandbox.leg_file(2, "prompt.md"));
    assert!(prompt.contains("mind the gap"), "{prompt}");
    assert!(prompt.contains("exit 7"), "it knows why the last attempt failed: {prompt}");
    sandbox
        .acquit(&["task", "retry", "T-1"])
        .must(2)
        .said("trying again is not possible while the task is done");
}

#[test]
fn a_person_says_whether_to_go_on_where_the_workflow_asks() {
    let workflow = CODE.replace("action = \"squash\"", "action = \"squash\"\nirreversible = true");
    let sandbox = Sandbox::scripted(&workflow, GOOD);
    sandbox.run_to(3).said("stage deliver cannot be undone: begin it?");
    assert_eq!(sandbox.refs("refs/heads/").len(), 1, "nothing was delivered before that");
    sandbox.acquit(&["task", "answer", "T-1", "--approve"]).must(0);
    sandbox.acquit(&["run", "T-1"]).must(0);
    assert_eq!(sandbox.refs("refs/heads/").len(), 2);

    let refused = Sandbox::scripted(&workflow, GOOD);
    refused.run_to(3);
    refused.acquit(&["task", "answer", "T-1", "--reject", "not today"]).must(0);
    refused.acquit(&["run", "T-1"]).must(1).said("rejected: not today");
    assert_eq!(refused.refs("refs/heads/").len(), 1);
}
