//! Each workflow once through, with a rejection, a rework and a question on the way where it has one.

use acquit_core::task::{End, State};

use crate::{PROJECT, golden, project};

/// What the merge writer says.
const DESCRIBE: &str = r#"
[[describe]]
[[describe.step]]
outcome = "described"
payload = { title = "Say what is good", summary = "a file", reasoning = "it was asked for", changes = ["good.txt is there"], alternatives = ["another name: nobody would look there"] }
"#;

const WRITES: &str = r#"
[[@]]
[[@.step]]
write = "good.txt"
content = "good\n"
[[@.step]]
outcome = "pr_ready"
payload = { summary = "it is there" }
"#;

fn writes(stage: &str) -> String {
    WRITES.replace('@', stage)
}

fn says(stage: &str, outcome: &str, payload: &str) -> String {
    format!("[[{stage}]]\n[[{stage}.step]]\noutcome = \"{outcome}\"\npayload = {payload}\n")
}

const FINDING: &str = r#"{ summary = "it is empty", findings = [{ severity = "critical", file = "good.txt", line = 1, problem = "says nothing" }] }"#;

#[test]
fn feature_goes_from_a_wish_to_one_commit_past_a_gate_a_review_and_an_audit() {
    let script = [
        "[[plan]]\n[[plan.step]]\noutput = \"plan.md\"\ncontent = \"write good.txt\"\n".to_owned(),
        says("plan", "plan_complete", r#"{ summary = "a file" }"#).replacen("[[plan]]\n", "", 1),
        writes("code").replace("good.txt", "bad.txt"),
        writes("code").replace("good\\n", "better\\n"),
        writes("fix").replace("pr_ready", "fixed"),
        says("test", "covered", r#"{ summary = "the gate looks for it" }"#),
        says("review", "changes_requested", FINDING),
        says("review", "approved", r#"{ summary = "tried and could not" }"#),
        says("audit", "approved", r#"{ summary = "no input, no hole" }"#),
        DESCRIBE.to_owned(),
    ];
    let sandbox = project(&script.concat());
    sandbox.acquit(&["run", "Write it"]).must(0);
    insta::assert_snapshot!("feature", golden(&sandbox));
    let branch = sandbox.task().seed.branch;
    let subject = sandbox.repo.git(&["log", "-1", "--format=%s", &branch]);
    assert_eq!(subject.trim(), "Say what is good");
    assert_eq!(sandbox.repo.git(&["show", &format!("{branch}:good.txt")]).trim(), "better");
}

/// The last stages with gates are reviews, which cannot be looked at again: the gates before them are.
#[test]
fn feature_is_gated_again_if_its_base_branch_moved_after_the_reviews() {
    let wait = "touch @ROOT@/working; while [ ! -e @ROOT@/go ]; do sleep 0.02; done";
    let describe = format!("[[describe]]\n[[describe.step]]\nrun = \"{wait}\"\n");
    let script = [
        says("plan", "plan_complete", r#"{ summary = "a file", plan = "write good.txt" }"#),
        writes("code"),
        says("test", "covered", r#"{ summary = "the gate looks for it" }"#),
        says("review", "approved", r#"{ summary = "tried and could not" }"#),
        says("audit", "approved", r#"{ summary = "no hole" }"#),
        DESCRIBE.replace("\n[[describe]]\n", &describe),
        writes("fix").replace("pr_ready", "fixed").replace("good.txt", "mended.txt"),
    ];
    let sandbox = project(&script.concat());
    let gate = "test -e good.txt && { test ! -e bad.txt || test -e mended.txt; }";
    let config = crate::common::read(&sandbox.repo.path().join(".acquit/acquit.toml"));
    sandbox.repo.write(".acquit/acquit.toml", &config.replace("test -e good.txt", gate));
    sandbox.repo.commit("a gate that main will break");
    let run = sandbox.start(&["run", "Write it"]);
    crate::common::until_file(&sandbox.place("working"));
    sandbox.repo.write("bad.txt", "bad\n");
    sandbox.repo.commit("main moves");
    std::fs::write(sandbox.place("go"), "").unwrap();
    run.wait().must(0);
    let log = golden(&sandbox);
    let end = &log[log.find("readied: merge").unwrap()..];
    let story = [
        "readied: merge",
        "gate check: false",
        "gate dilution: true",
        "gate secrets: true",
        "leg 7 rejected: check",
        "spent test 1/3",
        "leg 8 readied: fix",
        "leg 8 passed: fixed",
        "leg 9 readied: merge",
        "gate check: true",
        "gate dilution: true",
        "gate secrets: true",
        "leg 9 passed: done",
        "task_ended",
    ];
    assert_eq!(end.lines().collect::<Vec<_>>(), story);
}

#[test]
fn bugfix_investigates_reproduces_repairs_and_reviews() {
    let script = [
        says("investigate", "cause_found", r#"{ summary = "line 1" }"#),
        // Prose is no test, a test that passes shows nothing, and one that fails does.
        writes("reproduce").replace("good.txt", "notes.txt"),
        writes("reproduce").replace("good.txt", "test_it.sh").replace("good\\n", "true\\n"),
        writes("reproduce").replace("good.txt", "test_it.sh").replace("good\\n", "test -e good.txt\\n"),
        writes("repair"),
        says("review", "approved", r#"{ summary = "gone" }"#),
        DESCRIBE.to_owned(),
    ];
    let sandbox = project(&script.concat());
    let config = PROJECT.replace("test -e good.txt", "test ! -e test_it.sh || sh test_it.sh");
    sandbox.repo.write(".acquit/acquit.toml", &config);
    sandbox.repo.commit("a gate that runs tests");
    sandbox.acquit(&["run", "-w", "bugfix", "It is not good"]).must(0);
    insta::assert_snapshot!("bugfix", golden(&sandbox));
    let again = crate::common::read(&sandbox.leg_file(3, "prompt.md"));
    assert!(again.contains("write one that fails because of the defect"), "{again}");
}

#[test]
fn review_reports_findings_and_delivers_nothing() {
    let script = [
        says("review", "changes_requested", FINDING),
        says("audit", "approved", r#"{ summary = "no hole" }"#),
    ];
    let sandbox = project(&script.concat());
    sandbox.acquit(&["run", "-w", "review", "--var", "since=HEAD~1", "Review it"]).must(0);
    insta::assert_snapshot!("review", golden(&sandbox));
    assert_eq!(sandbox.refs("refs/heads/acquit").len(), 0, "something was delivered");
}

/// Size and complexity are what the router starts from: a small task goes on without research.
#[test]
fn the_router_starts_from_the_size_of_a_task() {
    let script = [
        says("router", "clear", r#"{ summary = "small", context = { users = "ann" } }"#),
        says("requirements", "failed", r#"{ summary = "enough for this test" }"#),
    ];
    let sandbox = project(&script.concat());
    sandbox.acquit(&["run", "-w", "pipeline", "Make it good", "--size", "small", "--complexity", "low"]);
    let prompt = crate::common::read(&sandbox.leg_file(1, "prompt.md"));
    for words in ["size: small\ncomplexity: low", "If the task names its size or complexity, start from that"]
    {
        assert!(prompt.contains(words), "no {words:?} in {prompt}");
    }
    let stages: Vec<String> = sandbox.legs().iter().map(|leg| leg.entry.stage.to_string()).collect();
    assert_eq!(stages[..2], ["router", "requirements"], "no research");
}

#[test]
fn pipeline_asks_then_writes_documents_and_qa_sends_the_work_back() {
    let document = |stage: &str| {
        let said = says(stage, &format!("{stage}_complete"), r#"{ summary = "written" }"#);
        let file = format!(
            "[[{stage}]]\n[[{stage}.step]]\noutput = \"{stage}.md\"\ncontent = \"R1 it must be good\"\n"
        );
        file + &said.replacen(&format!("[[{stage}]]\n"), "", 1)
    };
    let script = [
        "[[router]]\n[[router.step]]\ncall = \"ask\"\narguments = { question = \"Who uses it?\" }\n"
            .to_owned(),
        says("router", "routed", r#"{ summary = "for ann", context = { users = "ann" } }"#),
        document("research"),
        document("requirements"),
        document("architecture"),
        document("stories"),
        writes("implement").replace("good\\n", "first\\n"),
        writes("implement"),
        says("qa", "changes_requested", FINDING),
        says("qa", "approved", r#"{ summary = "all hold" }"#),
        DESCRIBE.to_owned(),
    ];
    let sandbox = project(&script.concat());
    sandbox.acquit(&["run", "-w", "pipeline", "Make it good"]).must(3);
    assert!(matches!(sandbox.task().state, State::Waiting { .. }));
    sandbox.acquit(&["answer", "T-1", "ann does"]).must(0);
    sandbox.acquit(&["run", "T-1"]).must(0);
    insta::assert_snapshot!("pipeline", golden(&sandbox));
    assert_eq!(sandbox.task().state, State::Ended { end: End::Done });

    // What the stages were told: their step and role, the answer, what was settled, the documents by path, and on rework
    // what was found.
    let prompt = |leg: u32| crate::common::read(&sandbox.leg_file(leg, "prompt.md"));
    let legs = sandbox.legs();
    let of = |stage: &str| -> Vec<u32> {
        let of = |leg: &&acquit_core::leg::Leg| leg.entry.stage == *stage;
        legs.iter().filter(of).map(|leg| leg.id.number).collect()
    };
    assert!(prompt(of("router")[1]).contains("ann does"));
    let stories = prompt(of("stories")[0]);
    for told in
        ["# Your part: story-writer", "# This step", "users: ", "architecture.md", "requirements.md", "R1"]
    {
        assert_eq!(stories.contains(told), told != "R1", "{told} in\n{stories}");
    }
    let rework = prompt(of("implement")[1]);
    assert!(rework.contains("says nothing") && rework.contains("stories.md"), "{rework}");
}
