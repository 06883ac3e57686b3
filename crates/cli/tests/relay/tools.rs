//! Legs whose agents use acquit's own tools: reports that are mended while the agent works, questions, progress.

use acquit_core::event::Body;
use acquit_core::human_request::{Ask, Kind};
use acquit_core::leg::Ending;
use acquit_core::outcome::{Outcome, Source};
use acquit_core::task::State;

use crate::CODE;
use crate::common::{Sandbox, read};

/// A stage whose outcome has a schema, with a gate that finds the work.
const CHECKED: &str = r#"
[budgets]
outcome = 0
agent = 0
test = 0
[gates.there]
kind = "test"
run = "test -e work.txt"
[stages.code]
mode = "implement"
gates = ["there"]
[stages.code.on.pr_ready]
to = "done"
schema = { type = "object", required = ["summary", "tests"], properties = { tests = { type = "array" } } }
"#;

fn outcome(sandbox: &Sandbox, leg: usize) -> Outcome {
    match sandbox.endings().swap_remove(leg) {
        Ending::Passed { outcome } => outcome,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_report_by_tool_is_mended_while_the_agent_works_and_counts_first() {
    let script = r#"
[[code]]
step = [
    { write = "work.txt", content = "work\n" },
    { call = "report_progress", arguments = { text = "the file is there", percent = 50 } },
    { call = "report_outcome", arguments = { outcome = "pr_ready", payload = { tests = "all" } } },
    { call = "report_outcome", arguments = { outcome = "pr_ready", payload = { summary = "by tool", tests = ["a"] } } },
    { outcome = "pr_ready", payload = { summary = "by file", tests = [] } },
]
"#;
    let sandbox = Sandbox::scripted(CHECKED, script);
    let ran = sandbox.run_to(0);
    ran.said("agent (50 %): the file is there");
    let outcome = outcome(&sandbox, 0);
    assert_eq!((outcome.source, outcome.summary().as_deref()), (Source::Tool, Some("by tool")));
    let output = read(&sandbox.leg_file(1, "output.log"));
    assert!(output.contains("\\\"summary\\\" is a required property"), "it saw its mistake: {output}");
    let progress = |body: Body| matches!(body, Body::Progress { percent: Some(50), .. });
    assert_eq!(sandbox.events().into_iter().filter(|event| progress(event.body.clone())).count(), 1);
    let names: Vec<String> =
        sandbox.task().artifacts.iter().map(acquit_core::artifact::Artifact::key).collect();
    assert!(!names.iter().any(|name| name.starts_with("file/")), "{names:?}");
}

#[test]
fn a_structured_report_counts_before_the_handoff_file() {
    let script = r#"
[[code]]
step = [
    { write = "work.txt", content = "work\n" },
    { print = '{"type":"report","value":{"outcome":"pr_ready","payload":{"summary":"by form"}}}' },
    { outcome = "pr_ready", payload = { summary = "by file" } },
]
"#;
    let sandbox = Sandbox::scripted(CODE, script);
    sandbox.run_to(0);
    let outcome = outcome(&sandbox, 0);
    assert_eq!((outcome.source, outcome.summary().as_deref()), (Source::Structured, Some("by form")));
}

#[test]
fn a_question_by_tool_waits_with_its_options_and_the_choice_resumes_the_stage() {
    let script = r#"
[[code]]
step = [
    { write = "half.txt", content = "half\n" },
    { call = "propose_options", arguments = { question = "Which colour?", context = "For the \u001b[31mdoor.", recommended = "red", options = [ { name = "red", trade_offs = "seen from afar" }, { name = "blue" } ] } },
]
[[code]]
step = [
    { run = "test -e half.txt && touch '@ROOT@/kept'" },
    { write = "work.txt", content = "work\n" },
    { call = "report_outcome", arguments = { outcome = "pr_ready", payload = { summary = "red", tests = [] } } },
]
"#;
    let sandbox = Sandbox::scripted(CHECKED, script);
    let ran = sandbox.run_to(3);
    for words in ["T-1 needs your input: Which colour?", "1) red (recommended)", "seen from afar", "2) blue"]
    {
        ran.said(words);
    }
    ran.said("acquit answer T-1 2");
    sandbox.acquit(&["answer", "T-1", "7"]).must(2).said("one of red, blue");
    assert!(!ran.out.contains('\u{1b}') && !ran.err.contains('\u{1b}'), "nothing acts on the terminal");
    let State::Waiting { request } = sandbox.task().state else { panic!("it waits") };
    let Ask::Question { questions } = &request.ask else { panic!("{request:?}") };
    assert_eq!((questions[0].kind, questions[0].options.len()), (Kind::Choice, 2));
    let gates = |body: &Body| matches!(body, Body::Gate { .. });
    assert!(
        !sandbox.events().iter().any(|event| gates(&event.body)),
        "a question is no claim for gates to judge"
    );

    let listed = sandbox.acquit(&["inbox", "--json"]).must(0).json();
    assert_eq!(listed[0]["request"]["ask"]["questions"][0]["options"][1]["name"], "blue");
    sandbox.acquit(&["inbox"]).must(0).said("seen from afar");
    sandbox.acquit(&["answer", "T-1", "1"]).must(0).said("T-1 ready");
    sandbox.acquit(&["inbox"]).must(0).said("nothing waits for you");
    sandbox.acquit(&["run", "T-1"]).must(0);
    let prompt = read(&sandbox.leg_file(2, "prompt.md"));
    assert!(prompt.contains("Which colour?") && prompt.contains("red"), "{prompt}");
    assert!(sandbox.place("kept").exists(), "what was there before the question is there after it");
}

#[test]
fn a_forged_report_is_checked_like_any_other() {
    let forge = |shell: &str| {
        let script = format!(
            "[[code]]\nstep = [ {{ write = \"work.txt\", content = \"x\" }}, {{ run = {shell:?} }} ]\n"
        );
        let sandbox = Sandbox::scripted(CODE, &script);
        sandbox.run_to(3);
        sandbox.failed(0).1
    };
    let reason = forge("echo '{\"outcome\":\"merged\"}' > $ACQUIT_OUTPUT/.acquit-report.json");
    assert!(reason.starts_with("`merged` is not an outcome of this stage"), "{reason}");
    let reason = forge("ln -s /etc/passwd $ACQUIT_OUTPUT/.acquit-report.json");
    assert!(reason.contains("it was replaced by a link"), "{reason}");
    let reason = forge("head -c 300000 /dev/zero > $ACQUIT_OUTPUT/.acquit-report.json");
    assert!(reason.contains("the report file has 300000 bytes"), "{reason}");
}

#[test]
fn yes_and_no_answer_a_question_that_wants_them_and_consent() {
    let script = r#"
[[code]]
step = [ { call = "ask", arguments = { question = "Really?", kind = "yes_no" } } ]
[[code]]
step = [
    { write = "work.txt", content = "work\n" },
    { call = "report_outcome", arguments = { outcome = "pr_ready", payload = { summary = "done" } } },
]
"#;
    let workflow = CODE.replace("action = \"squash\"", "action = \"squash\"\nirreversible = true");
    let sandbox = Sandbox::scripted(&workflow, script);
    sandbox.run_to(3).said("acquit answer T-1 yes");
    sandbox.acquit(&["approve", "T-1", "--json"]).must(0);
    assert_eq!(sandbox.task().conversation[0].text, "yes");
    sandbox.acquit(&["run", "T-1"]).must(3).said("acquit reject T-1");
    sandbox.acquit(&["answer", "T-1", "certainly"]).must(2).said("this request takes approve or reject");
    sandbox.acquit(&["reject", "T-1", "not on a Friday"]).must(0).said("T-1 failed");
    sandbox.acquit(&["approve", "T-1"]).must(2).said("it is failed and cannot be answered");
    sandbox.acquit(&["approve", "T-9"]).must(2);
}
