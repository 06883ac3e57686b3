//! An agent that does what it must not: its leg ends so, the next one is told why, and honest work passes.

use crate::CODE;
use crate::common::{Sandbox, read};

/// A first attempt that ends at a guardrail and a second that is honest; what the second was told.
fn told(wrong: &str) -> (Sandbox, String) {
    let script = format!(
        "[[code]]\nstep = [ {{ run = \"{wrong}\" }}, {{ outcome = \"pr_ready\" }} ]\n\
         [[code]]\nstep = [ {{ write = \"work.txt\", content = \"work\\n\" }}, \
         {{ run = \"git add -A && git commit -qm 'Write it'\" }}, {{ outcome = \"pr_ready\" }} ]\n"
    );
    let sandbox = Sandbox::scripted(&CODE.replace("outcome = 0", "outcome = 0\nguardrail = 1"), &script);
    sandbox.run_to(0);
    let (kind, reason) = sandbox.failed(0);
    assert_eq!(kind, "guardrail", "{reason}");
    let prompt = read(&sandbox.leg_file(2, "prompt.md"));
    // In a prompt the reason stands in one line, between backquotes.
    let shown = reason.replace('`', "'");
    assert!(prompt.contains(&shown), "no {shown:?} in\n{prompt}");
    let branch = sandbox.task().seed.branch;
    assert_eq!(sandbox.repo.git(&["diff", "--name-only", &format!("main...{branch}")]), "work.txt");
    (sandbox, reason)
}

#[test]
fn an_edit_of_acquits_files_ends_at_a_guardrail_and_the_next_attempt_knows_why() {
    let (sandbox, reason) = told("echo mine > .acquit/acquit.toml; echo work > work.txt");
    assert!(reason.contains(".acquit/acquit.toml") && reason.contains("leave it as it is"), "{reason}");
    let attempts = sandbox.refs("refs/acquit/attempts/");
    let [attempt] = attempts.as_slice() else { panic!("{attempts:?}") };
    assert_eq!(
        sandbox.repo.git(&["show", &format!("{attempt}:.acquit/acquit.toml")]),
        "mine",
        "and nothing is lost"
    );
}

#[test]
fn a_commit_that_does_not_name_its_task_ends_at_a_guardrail() {
    let evading = "echo x > x; git add -A; git -c core.hooksPath=/dev/null commit -qm sneaky";
    let (_, reason) = told(evading);
    assert!(reason.contains("sneaky") && reason.contains("Task: T-1"), "{reason}");
}

#[test]
fn a_protected_branch_ends_at_a_guardrail() {
    let (_, reason) = told("echo x > x; git -c core.hooksPath=/dev/null checkout -q main");
    assert!(reason.contains("protected branch \"main\""), "{reason}");
}

#[test]
fn commits_on_another_branch_do_not_count_but_their_files_do() {
    let elsewhere =
        "git checkout -qb side && echo x > work.txt && git add -A && git commit -qm 'On the side'";
    let script = format!("[[code]]\nstep = [ {{ run = \"{elsewhere}\" }}, {{ outcome = \"pr_ready\" }} ]\n");
    let sandbox = Sandbox::scripted(CODE, &script);
    sandbox.run_to(0);
    let branch = sandbox.task().seed.branch;
    assert_eq!(sandbox.repo.git(&["show", &format!("{branch}:work.txt")]), "x");
    assert!(!sandbox.repo.git(&["log", "--branches", "--format=%s"]).contains("On the side"));
    // They are kept with the attempt, as everything that an agent leaves.
    assert!(sandbox.repo.git(&["log", "--glob=refs/acquit/attempts", "--format=%s"]).contains("On the side"));
    // What the agent was told is what happened.
    let told = "commits on another branch do not count, only the files that they leave in the workspace";
    assert!(read(&sandbox.leg_file(1, "prompt.md")).contains(told));
}

/// SPEC §5: "checking out or moving a protected branch, force-push: impossible by construction, and a clear message to the agent that
/// tried. The leg halts with `guardrail`." A fetch ends it where the stage says so.
#[test]
fn a_push_or_a_protected_branch_ends_the_leg_at_once() {
    let halting = CODE.replace("mode = \"implement\"", "mode = \"implement\"\nrefused = \"halt\"");
    for (command, words, flow) in [
        ("git push --force origin main", "it tried to push", CODE),
        ("git checkout -q main", "protected branch main", CODE),
        ("git fetch origin", "it tried to fetch or pull", &halting),
    ] {
        // It would go on for minutes, and end well.
        let script = format!(
            "[[code]]\nstep = [ {{ write = \"work.txt\", content = \"x\" }}, {{ run = \"{command} || true\" }}, \
             {{ run = \"sleep 100\" }}, {{ outcome = \"pr_ready\" }} ]\n"
        );
        let sandbox = Sandbox::scripted(flow, &script);
        let begun = std::time::Instant::now();
        sandbox.run_to(3);
        assert!(begun.elapsed().as_secs() < 60, "{command}: it was not ended at once");
        let (kind, reason) = sandbox.failed(0);
        assert_eq!(kind, "guardrail", "{command}: {reason}");
        assert!(reason.contains(words), "{command}: {reason}");
        let prompt = read(&sandbox.leg_file(1, "prompt.md"));
        assert!(prompt.contains("ends your turn at once"), "{prompt}");
        assert!(
            sandbox.place("acquit/tasks/T-1/workspace/work/work.txt").exists(),
            "{command}: nothing is lost"
        );
    }
}

#[test]
fn a_fetch_is_told_and_so_is_a_push_where_the_stage_says_so() {
    let telling = CODE.replace("mode = \"implement\"", "mode = \"implement\"\nrefused = \"tell\"");
    for (flow, command) in [(CODE, "git fetch"), (&telling, "git push --force")] {
        let script = format!(
            "[[code]]\nstep = [ {{ write = \"work.txt\", content = \"x\" }}, {{ run = \"{command} || true\" }}, \
             {{ outcome = \"pr_ready\" }} ]\n"
        );
        let sandbox = Sandbox::scripted(flow, &script);
        sandbox.run_to(0);
        let prompt = read(&sandbox.leg_file(1, "prompt.md"));
        assert_eq!(prompt.contains("ends your turn at once"), flow == CODE, "{prompt}");
    }
}

/// What one attempt was ended for does not end the next one.
#[test]
fn an_attempt_after_a_refused_push_starts_afresh() {
    let (_, reason) = told("git push --force; echo work > work.txt");
    assert!(reason.contains("it tried to push"), "{reason}");
}
