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
    sandbox.acquit(&["task", "answer", "T-1", "--text", "petrol, please"]).must(0).said("T-1 ready");
    sandbox.acquit(&["run", "T-1"]).must(0);
    let prompt = read(&sandbox.leg_file(2, "prompt.md"));
    assert!(prompt.contains("Which colour?") && prompt.contains("petrol, please"), "{prompt}");
    assert!(!read(&sandbox.leg_file(1, "prompt.md")).contains("petrol"));
    sandbox
        .acquit(&["task", "answer", "T-1", "--text", "x"])
        .must(2)
        .said("it is done and cannot be answered");
}

#[test]
fn a_retry_begins_anew_with_a_word_for_the_agent() {
    let script = format!("[[code]]\nstep = [ {{ exit = 7 }} ]\n{GOOD}");
    let sandbox = Sandbox::scripted(CODE, &script);
    sandbox.run_to(3).said("stage code failed (agent)");
    sandbox
        .acquit(&["task", "retry", "T-1", "--stage", "cod"])
        .must(2)
        .said("failed to find the stage `cod`; there are: code, deliver");
    sandbox.acquit(&["task", "retry", "T-1", "--note", "mind the gap"]).must(0).said("T-1 ready");
    sandbox.acquit(&["run", "T-1"]).must(0);
    let prompt = read(&sandbox.leg_file(2, "prompt.md"));
    assert!(prompt.contains("mind the gap"), "{prompt}");
    assert!(prompt.contains("exit 7"), "it knows why the last attempt failed: {prompt}");
    sandbox.acquit(&["task", "retry", "T-1"]).must(2).said("it is done and cannot be retried");
}

#[test]
fn a_person_says_whether_to_go_on_where_the_workflow_asks() {
    let workflow = CODE.replace("action = \"squash\"", "action = \"squash\"\nirreversible = true");
    let sandbox = Sandbox::scripted(&workflow, GOOD);
    sandbox.run_to(3).said("stage deliver cannot be undone: begin it?");
    assert_eq!(sandbox.refs("refs/heads/").len(), 1, "nothing was delivered before that");
    // The relay seed: "Sets Status `BLOCKED`", "Exits and alerts human".
    sandbox.acquit(&["task", "list"]).must(0).said("blocked");
    let listed = sandbox.acquit(&["task", "list", "--state", "blocked", "--json"]).must(0).json();
    assert_eq!((&listed[0]["id"], &listed[0]["state"]), (&"T-1".into(), &"blocked".into()));
    assert_eq!(sandbox.acquit(&["show", "T-1", "--json"]).must(0).json()["state"], "blocked");
    sandbox.acquit(&["show", "T-1"]).must(0).said("blocked: deliver cannot be undone and waits for a person");
    sandbox.acquit(&["inbox"]).must(0).said("stage deliver cannot be undone");
    sandbox.acquit(&["task", "answer", "T-1", "--approve"]).must(0);
    sandbox.acquit(&["run", "T-1"]).must(0);
    assert_eq!(sandbox.refs("refs/heads/").len(), 2);

    let refused = Sandbox::scripted(&workflow, GOOD);
    refused.run_to(3);
    refused.acquit(&["task", "answer", "T-1", "--reject", "not today"]).must(0);
    refused.acquit(&["run", "T-1"]).must(1).said("rejected: not today");
    assert_eq!(refused.refs("refs/heads/").len(), 1);
}

/// A plan that a person must agree to.
const PLANNED: &str = r#"
[stages.plan]
mode = "plan"
approval = true
on = { plan_complete = "code" }
[stages.code]
mode = "implement"
on = { pr_ready = "done" }
"#;

#[test]
fn a_person_sees_the_plan_and_sends_it_back_with_words() {
    let script = r##"
[[plan]]
step = [ { output = "plan.md", content = "# Plan A\n\nTwo steps.\n" }, { outcome = "plan_complete", payload = { summary = "short and sweet" } } ]
[[plan]]
step = [ { output = "plan.md", content = "# Plan B\n" }, { outcome = "plan_complete", payload = { summary = "longer" } } ]
[[code]]
step = [ { write = "work.txt", content = "work\n" }, { outcome = "pr_ready" } ]
"##;
    let sandbox = Sandbox::scripted(PLANNED, script);
    sandbox.run_to(3).said("Rejecting sends it back to plan with your words");
    for args in [&["inbox"][..], &["show", "T-1"]] {
        let shown = sandbox.acquit(args).must(0);
        for part in ["# Plan A", "Two steps.", "short and sweet"] {
            shown.said(part);
        }
    }
    let inbox = sandbox.acquit(&["inbox", "--json"]).must(0).json();
    assert_eq!(inbox[0]["summary"], "short and sweet");
    assert!(inbox[0]["plan"].as_str().unwrap().contains("Two steps."), "{inbox}");
    sandbox.acquit(&["reject", "T-1", "needs detail"]).must(0).said("T-1 ready");
    sandbox.acquit(&["run", "T-1"]).must(3).said("# Plan B");
    let prompt = read(&sandbox.leg_file(2, "prompt.md"));
    assert!(prompt.contains("rejected: needs detail") && prompt.contains("# Plan A"), "{prompt}");
    sandbox.acquit(&["approve", "T-1"]).must(0);
    sandbox.acquit(&["run", "T-1"]).must(0);
}

#[test]
fn each_of_several_questions_gets_its_own_answer() {
    let script = r#"
[[code]]
step = [ { outcome = "needs_input", payload = { questions = [
    { question = "Which colour?", options = ["red", { name = "blue", trade_offs = "fades in the sun" }] },
    { question = "How many?" },
] } } ]
[[code]]
step = [ { write = "work.txt", content = "work\n" }, { outcome = "pr_ready" } ]
"#;
    for answer in [
        &["answer", "T-1", "2", "four of them"][..],
        &["task", "answer", "T-1", "--text", "blue", "--text", "four of them"],
    ] {
        let sandbox = Sandbox::scripted(CODE, script);
        let ran = sandbox.run_to(3);
        ran.said("acquit answer T-1 \"…\" \"…\"");
        let shown = sandbox.acquit(&["inbox"]).must(0);
        // Each question stands above its own options, whose numbers start again.
        let lines = "  2 questions:\n  1. Which colour?\n     1) red\n     2) blue\n       fades in the sun\n  2. How many?\n";
        assert!(shown.out.contains(lines), "{}", shown.out);
        sandbox.acquit(&["answer", "T-1", "1", "2", "3"]).must(2).said("2 answers, one for each question");
        sandbox.acquit(&["answer", "T-1"]).must(2).said("acquit inbox");
        sandbox.acquit(answer).must(0);
        let heard: Vec<_> =
            sandbox.task().conversation.into_iter().map(|one| (one.question, one.text)).collect();
        let colour = "Which colour?\n\nOptions:\n- red\n- blue: fades in the sun".to_owned();
        let expected =
            [(Some(colour), "blue".to_owned()), (Some("How many?".to_owned()), "four of them".to_owned())];
        assert_eq!(heard, expected);
        sandbox.acquit(&["run", "T-1"]).must(0);
        let prompt = read(&sandbox.leg_file(2, "prompt.md"));
        assert!(prompt.contains("fades in the sun") && prompt.contains("four of them"), "{prompt}");
    }
}

#[test]
fn approving_is_once_more_and_not_a_whole_budget() {
    let workflow = CODE.replace("agent = 0", "agent = 1");
    let sandbox = Sandbox::scripted(&workflow, "[[code]]\nstep = [ { exit = 7 } ]\n");
    sandbox.run_to(3);
    assert_eq!(sandbox.task().legs, 2);
    sandbox.acquit(&["approve", "T-1"]).must(0);
    sandbox.acquit(&["run", "T-1"]).must(3);
    assert_eq!(sandbox.task().legs, 3, "one more try");
    sandbox.acquit(&["task", "retry", "T-1"]).must(0);
    sandbox.acquit(&["run", "T-1"]).must(3);
    assert_eq!(sandbox.task().legs, 5, "the whole budget");
}
