//! Conflicts with a base branch that moved: who gets them, what they are told, and what is never published.

use crate::common::{Sandbox, read};
use crate::{CODE, on_main, sandbox, story};

/// The work changes line two of a file.
const WORK: &str = r#"
[[code]]
step = [ { write = "log.txt", content = "one\ntwo by task\nthree\nfour\nfive\n" }, { outcome = "pr_ready" } ]
"#;

/// And the branch changes it too, while the work is under way.
const THEIRS: &str = "one\ntwo by main\nthree\nfour\nfive\n";

/// Runs the task; the branch moves while its agent works. The workflow must deliver without another leg in between.
fn quarrel(resolver: &str) -> Sandbox {
    let agent = format!(
        "{}\n{resolver}",
        WORK.replace(
            "{ outcome",
            "{ run = \"touch @ROOT@/working; while [ ! -e @ROOT@/go ]; do sleep 0.02; done\" }, { outcome"
        )
    );
    let workflow = format!("budgets = {{ conflict = 2, nothing = 0 }}\n{CODE}");
    sandbox(&workflow, &agent)
}

fn run(sandbox: &Sandbox, code: i32) {
    let run = sandbox.start(&["run", "Do it"]);
    crate::common::until_file(&sandbox.place("working"));
    on_main(sandbox, "log.txt", THEIRS);
    std::fs::write(sandbox.place("go"), "").unwrap();
    run.wait().must(code);
}

fn resolver(content: &str, outcome: &str) -> String {
    format!("[[resolve]]\nstep = [ {{ write = \"log.txt\", content = \"{content}\" }}, {outcome} ]\n")
}

const RESOLVED: &str = "{ outcome = \"resolved\" }";

#[test]
fn a_conflict_is_resolved_with_both_sides_in_view_and_gated_like_everything_else() {
    let good = resolver("one\\ntwo by main\\ntwo by task\\nthree\\nfour\\nfive\\n", RESOLVED);
    let sandbox = quarrel(&good);
    run(&sandbox, 0);
    assert_eq!(story(&sandbox), ["code pr_ready", "deliver conflict", "resolve resolved", "deliver done"]);
    let branch = sandbox.task().seed.branch;
    let text = sandbox.repo.git(&["show", &format!("{branch}:log.txt")]);
    assert_eq!(text, "one\ntwo by main\ntwo by task\nthree\nfour\nfive");
    assert_eq!(sandbox.repo.git(&["rev-list", "--count", &format!("main..{branch}")]), "1");
    let prompt = read(&sandbox.leg_file(3, "prompt.md"));
    for part in [
        "# The conflict",
        "untrusted: of the branch\ntwo by main\n",
        "untrusted: of the task\ntwo by task\n",
        "untrusted: before both\ntwo\n",
    ] {
        assert!(prompt.contains(part), "no {part:?} in {prompt}");
    }
    assert!(sandbox.leg_file(4, "check-test.log").exists(), "gated again on the result");
}

#[test]
fn a_resolution_with_a_mark_or_without_a_side_is_never_published() {
    let mark = "<".repeat(24);
    for (content, word) in [
        (
            format!("one\\n{mark} x\\ntwo by main\\ntwo by task\\nthree\\nfour\\nfive\\n"),
            "a mark of the conflict",
        ),
        (
            "one\\ntwo by task\\nthree\\nfour\\nfive\\n".to_owned(),
            "what the base branch changed here is lost",
        ),
        ("one\\ntwo by main\\nthree\\nfour\\nfive\\n".to_owned(), "what this task changed here is lost"),
        ("one\\nboth\\nthree\\nfour\\nfive\\n".to_owned(), "is lost"),
    ] {
        let bad = resolver(&content, RESOLVED);
        let sandbox = quarrel(&format!("{bad}{bad}{bad}"));
        run(&sandbox, 3);
        assert!(sandbox.refs("refs/heads/acquit/").is_empty(), "{content}");
        let told = read(&sandbox.leg_file(4, "prompt.md"));
        assert!(told.contains(word), "the next try hears of it: {told}");
    }
}

#[test]
fn what_is_given_up_by_name_and_with_a_reason_may_go() {
    let outcome = r#"{ outcome = "resolved", payload = { superseded = [ { change = "branch:log.txt:2", reason = "the task says it better" } ] } }"#;
    let sandbox = quarrel(&resolver("one\\ntwo by task\\nthree\\nfour\\nfive\\n", outcome));
    run(&sandbox, 0);
    let branch = sandbox.task().seed.branch;
    assert_eq!(
        sandbox.repo.git(&["show", &format!("{branch}:log.txt")]),
        "one\ntwo by task\nthree\nfour\nfive"
    );
}

#[test]
fn without_a_stage_for_conflicts_a_person_is_asked() {
    let sandbox = quarrel("");
    let path = ".acquit/workflows/flow.toml";
    let text = read(&sandbox.repo.path().join(path));
    let text = text
        .replace("conflict = \"resolve\"\n", "")
        .replace("[stages.resolve]\nmode = \"resolve\"\non = { resolved = \"back\" }\n", "");
    sandbox.repo.write(path, &text.replace("budgets = { conflict = 2, nothing = 0 }\n", ""));
    sandbox.repo.commit("no resolver");
    run(&sandbox, 3);
    let waits = sandbox.acquit(&["task", "show", "T-1"]).must(0);
    waits.said("conflicts with it in log.txt");
}

#[test]
fn a_second_try_can_give_up_by_name_what_the_first_one_lost() {
    let lost = "one\\ntwo by task\\nthree\\nfour\\nfive\\n";
    let named = r#"{ outcome = "resolved", payload = { superseded = [ { change = "branch:log.txt:2", reason = "the task says it better" } ] } }"#;
    let again = format!("[[resolve]]\nstep = [ {named} ]\n");
    let sandbox = quarrel(&format!("{}{again}", resolver(lost, RESOLVED)));
    run(&sandbox, 0);
    let story = story(&sandbox);
    assert_eq!(story.last().map(String::as_str), Some("deliver done"), "{story:?}");
}

#[test]
fn what_a_first_try_lost_is_not_forgotten_by_the_second() {
    let lost = "one\\ntwo by task\\nthree\\nfour\\nfive\\n";
    let other =
        "[[resolve]]\nstep = [ { write = \"other.txt\", content = \"x\\n\" }, { outcome = \"resolved\" } ]\n";
    let sandbox = quarrel(&format!("{}{other}", resolver(lost, RESOLVED)));
    run(&sandbox, 3);
    assert!(sandbox.refs("refs/heads/acquit/").is_empty(), "{:?}", story(&sandbox));
}
