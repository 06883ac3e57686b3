//! How an agent says how its turn ended, and what becomes of it when it says it wrong, or not at all.

use acquit_core::leg::Ending;
use acquit_core::outcome::{Outcome, Source};

use crate::CODE;
use crate::common::{Sandbox, read};

/// A shell agent's turn at the stage of [`CODE`], which must be passed.
fn passed(agent: &str) -> Outcome {
    let sandbox = Sandbox::shell(CODE, agent);
    sandbox.run_to(0);
    match sandbox.endings().swap_remove(0) {
        Ending::Passed { outcome } => outcome,
        other => panic!("{other:?}"),
    }
}

/// A shell agent's turn at the stage of [`CODE`], which must fail; its kind and reason, which the events have too.
fn refused(agent: &str) -> (String, String) {
    let sandbox = Sandbox::shell(CODE, agent);
    sandbox.run_to(3);
    let (kind, reason) = sandbox.failed(0);
    let first = reason.lines().next().unwrap();
    sandbox.acquit(&["logs", "T-1"]).must(0).said(&format!("{kind}: {}", first.get(..80).unwrap_or(first)));
    assert!(read(&sandbox.leg_file(1, "output.log")).contains("said"), "the raw text is kept");
    (kind, reason)
}

const WORK: &str = "echo said\necho work > work.txt\n";

#[test]
fn the_handoff_file_counts_before_markers_and_markers_before_inference() {
    let marker = "echo '<<<OUTCOME:pr_ready>>> {\"summary\": \"by marker\"} <<<END_PAYLOAD>>>'\n";
    let file =
        "echo '{\"outcome\": \"pr_ready\", \"payload\": {\"summary\": \"by file\"}}' > $ACQUIT_HANDOFF\n";
    let outcome = passed(&format!("{WORK}{marker}{file}"));
    assert_eq!((outcome.source, outcome.summary().as_deref()), (Source::HandoffFile, Some("by file")));
    let outcome = passed(&format!("{WORK}{marker}"));
    assert_eq!((outcome.source, outcome.summary().as_deref()), (Source::Marker, Some("by marker")));
    let outcome = passed(WORK);
    assert_eq!((outcome.source, outcome.name.as_str()), (Source::Inferred, "pr_ready"));
}

#[test]
fn a_report_that_is_wrong_fails_the_leg_with_the_exact_reason() {
    let (kind, reason) = refused(&format!("{WORK}printf '{{\"outcome\": \"pr_re' > $ACQUIT_HANDOFF\n"));
    assert_eq!(kind, "outcome");
    assert!(reason.starts_with("the handoff file is not valid JSON: EOF while parsing a string"), "{reason}");

    let (kind, reason) = refused(&format!("{WORK}echo '{{\"outcome\": \"merged\"}}' > $ACQUIT_HANDOFF\n"));
    assert_eq!(kind, "outcome");
    assert_eq!(reason, "`merged` is not an outcome of this stage; it can be: pr_ready, needs_input, failed");

    let (kind, reason) = refused(&format!("{WORK}echo '<<<OUTCOME:pr_ready>>> {{}}'\n"));
    assert_eq!(kind, "outcome");
    assert!(reason.ends_with("without <<<END_PAYLOAD>>>"), "{reason}");

    let (kind, reason) = refused(&format!("{WORK}head -c 300000 /dev/zero > $ACQUIT_HANDOFF\n"));
    assert_eq!(
        (kind.as_str(), reason.as_str()),
        ("outcome", "the handoff file has 300000 bytes; 262144 are allowed")
    );
}

/// SPEC §3: "a failed leg with the exact reason, and the raw text kept".
#[test]
fn what_a_wrong_report_said_can_still_be_read() {
    let report = "{\"outcome\": \"pr_re";
    let sandbox =
        Sandbox::shell(CODE, &format!("{WORK}echo 'its last words'\nprintf '{report}' > $ACQUIT_HANDOFF\n"));
    sandbox.run_to(3);
    let kept = sandbox.place("acquit/tasks/T-1/legs/1/out");
    let handoff = std::fs::read_dir(&kept).unwrap().map(|entry| read(&entry.unwrap().path()));
    assert!(handoff.into_iter().any(|text| text == report), "{}", kept.display());
    sandbox.acquit(&["logs", "T-1"]).must(0).said("its last words");
    sandbox.acquit(&["logs", "T-1", "--leg", "1"]).must(0).said("its last words");
}

#[test]
fn a_payload_that_does_not_fit_its_schema_fails_the_leg() {
    let schema = "{ to = \"deliver\", schema = { type = \"object\", required = [\"files\"] } }";
    let workflow = CODE.replace("pr_ready = \"deliver\"", &format!("pr_ready = {schema}"));
    let report = "echo '{\"outcome\": \"pr_ready\", \"payload\": {\"file\": 1}}' > $ACQUIT_HANDOFF\n";
    let sandbox = Sandbox::shell(&workflow, &format!("{WORK}{report}"));
    sandbox.run_to(3);
    let (kind, reason) = sandbox.failed(0);
    assert_eq!(kind, "outcome");
    assert_eq!(reason, "the payload of `pr_ready` does not fit its schema: \"files\" is a required property");
}

#[test]
fn a_handoff_that_is_a_link_or_a_pipe_is_not_read() {
    let secret =
        "echo '{\"outcome\": \"pr_ready\", \"payload\": {\"summary\": \"leaked\"}}' > @ROOT@/secret\n";
    let (kind, reason) = refused(&format!("{WORK}{secret}ln -sf @ROOT@/secret $ACQUIT_HANDOFF\n"));
    assert!(kind == "outcome" && reason.ends_with("it was replaced by a link"), "{reason}");
    let (kind, reason) = refused(&format!("{WORK}rm $ACQUIT_HANDOFF\nmkfifo $ACQUIT_HANDOFF\n"));
    assert!(
        kind == "outcome" && reason.ends_with("it was replaced by neither a file nor a folder"),
        "{reason}"
    );
}

#[test]
fn an_agent_that_does_nothing_has_not_succeeded_whatever_it_says() {
    for agent in ["echo said done\n", "echo said\necho '{\"outcome\": \"pr_ready\"}' > $ACQUIT_HANDOFF\n"] {
        let (kind, reason) = refused(agent);
        assert_eq!(kind, "nothing");
        assert_eq!(reason, "the agent ended without changing anything (tool uses: 0)");
    }
}

#[test]
fn an_agent_that_crashes_or_gives_up_fails_with_its_own_words() {
    let (kind, reason) = refused("echo said\necho 'out of tokens' >&2\nexit 3\n");
    assert_eq!((kind.as_str(), reason.as_str()), ("agent", "the agent bot: exit 3\nout of tokens"));
    let (kind, reason) = refused("echo said\nkill -9 $$\n");
    assert_eq!((kind.as_str(), reason.as_str()), ("agent", "the agent bot: ended by signal 9"));
    let give_up = "echo said\necho '{\"outcome\": \"failed\", \"payload\": {\"summary\": \"too hard\"}}' > $ACQUIT_HANDOFF\n";
    assert_eq!(refused(give_up), ("agent".to_owned(), "too hard".to_owned()));
}

/// SPEC §3: "A rendered prompt is never logged and never put on a command line that other users can read."
#[test]
fn a_prompt_is_in_no_argument_and_in_no_log() {
    let workflow =
        CODE.replace("mode = \"implement\"", "mode = \"implement\"\ninstructions = \"xyzzy-only-here\"");
    let agent = "grep -c xyzzy-only-here > read.txt\ncat /proc/[0-9]*/cmdline | tr '\\0' ' ' > $ACQUIT_OUTPUT/arguments.txt\n";
    let sandbox = Sandbox::shell(&workflow, agent);
    sandbox.run_to(0);
    let branch = sandbox.task().seed.branch;
    assert_eq!(sandbox.repo.git(&["show", &format!("{branch}:read.txt")]), "1", "it was told");
    let arguments = read(&sandbox.leg_file(1, "out/arguments.txt"));
    assert!(!arguments.is_empty() && !arguments.contains("xyzzy-only-here"), "{arguments}");
    let logs = sandbox.acquit(&["logs", "T-1", "--all", "--json"]).must(0);
    assert!(!logs.out.contains("xyzzy-only-here"), "{}", logs.out);
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let config = "agent = \"bot\"\n[agents.bot]\nadapter = \"command\"\nrun = [\"./no-such-agent\"]\n";
    let sandbox = Sandbox::new(config, CODE, "");
    sandbox.run_to(3).said("no-such-agent");
    assert_eq!(sandbox.failed(0).0, "config");
}

#[test]
fn a_review_without_a_verdict_is_never_an_approval() {
    let workflow = "budgets = { outcome = 0 }\n[stages.review]\nmode = \"review\"\non = { approved = \"done\", changes_requested = \"person\" }\n";
    for agent in
        ["echo 'approved, ship it'\n", "echo done > plan.md\necho looks good > $ACQUIT_OUTPUT/plan.md\n"]
    {
        let sandbox = Sandbox::shell(workflow, agent);
        sandbox.run_to(3).said("the agent ended without an outcome; silence is not an answer here");
        assert_eq!(sandbox.task().state.word(), "waiting");
    }
}

#[test]
fn a_task_fails_where_the_workflow_says_so() {
    let workflow = CODE.replace("pr_ready = \"deliver\"", "pr_ready = \"deliver\", hopeless = \"failed\"");
    let agent =
        "echo '{\"outcome\": \"hopeless\", \"payload\": {\"summary\": \"cannot be\"}}' > $ACQUIT_HANDOFF\n";
    let sandbox = Sandbox::shell(&workflow, agent);
    sandbox.run_to(1).said("failed: cannot be");
    assert_eq!(sandbox.acquit(&["run", "T-1"]).code, Some(1), "to look at it again changes nothing");
}
