//! A commit that has a secret in it is rejected, wherever it has it, and nothing of it stays.

use acquit_core::leg::Ending;

use rustix::process::Signal;

use crate::common::until_file;
use crate::{CONFIG, canaries, look, sandbox};

const ONE: &str = r#"
[stages.write]
mode = "MODE"
secrets = ["A_KEY", "C_KEY"]
on = { pr_ready = "done", approved = "done", changes_requested = "person" }
"#;

#[track_caller]
fn rejected(mode: &str, agent: &str, secret: &str, place: &str) {
    let canaries = canaries();
    let workflow = match mode {
        "review" => ONE.replace("MODE", mode).replace("pr_ready = \"done\", ", ""),
        _ => ONE.replace("MODE", mode).replace(", approved = \"done\", changes_requested = \"person\"", ""),
    };
    let sandbox = sandbox(CONFIG, &workflow, agent, &canaries);
    sandbox.run_to(3);
    let endings = sandbox.endings();
    let [Ending::Failed { kind, reason }] = endings.as_slice() else { panic!("{endings:?}") };
    assert_eq!(kind.as_str(), "guardrail", "{reason}");
    let words = format!("the work has the secret {secret} in it ({place}");
    assert!(reason.starts_with(&words), "{reason}");
    assert_eq!(sandbox.refs("refs/acquit/attempts/"), Vec::<String>::new());
    assert!(sandbox.place("acquit/tasks/T-1/workspace/git").exists(), "the clone is looked at");
    look::nowhere(&sandbox, &canaries);
}

#[test]
fn in_a_file_that_was_committed() {
    let agent = "mkdir src; echo \"key = $A_KEY\" > src/config.txt; git add -A; git commit -qm x\n";
    rejected("implement", agent, "A_KEY", "src/config.txt)");
}

#[test]
fn in_a_file_that_was_left() {
    rejected("implement", "echo \"$C_KEY\" | base64 > left.txt\n", "C_KEY", "left.txt)");
}

#[test]
fn in_a_file_that_a_later_commit_removed() {
    let agent = "echo \"$A_KEY\" > x; git add x; git commit -qm x; git rm -q x; echo y > y; git add y; git commit -qm y\n";
    rejected("implement", agent, "A_KEY", "x)");
}

#[test]
fn in_a_binary_file_among_many() {
    let agent = "for n in $(seq 300); do echo $n > f$n; done; printf 'a\\000b%s\\377' \"$A_KEY\" > blob.bin; git add -A; git commit -qm x\n";
    rejected("implement", agent, "A_KEY", "blob.bin)");
}

#[test]
fn in_a_large_file() {
    let agent = "{ head -c 40000000 /dev/zero; printf %s \"$A_KEY\"; } > large.bin\n";
    rejected("implement", agent, "A_KEY", "large.bin)");
}

#[test]
fn in_a_message() {
    let agent =
        "echo x > x; git add x; git commit -qm \"uses $A_KEY\"; echo y > y; git add y; git commit -qm y\n";
    rejected("implement", agent, "A_KEY", "the message or the author of commit ");
}

#[test]
fn in_the_name_of_an_author() {
    let agent = "echo x > x; git add x; git -c user.name=\"$C_KEY\" commit -qm x\n";
    rejected("implement", agent, "C_KEY", "the message or the author of commit ");
}

#[test]
fn in_the_name_of_a_file() {
    let agent = "mkdir -p in/here; echo x > \"in/here/$(printf %s \"$A_KEY\" | od -An -v -tx1 | tr -d ' \\n').txt\"\n";
    rejected("implement", agent, "A_KEY", "the name of a file in in/here)");
}

#[test]
fn in_what_a_stage_that_only_looks_has_left() {
    let agent = "echo \"$A_KEY\" > x; git add x; git commit -qm x\nprintf '{\"outcome\": \"approved\"}' > $ACQUIT_HANDOFF\n";
    rejected("review", agent, "A_KEY", "x)");
}

#[test]
fn what_the_repository_had_before_is_not_the_agents_fault() {
    let canaries = canaries();
    let workflow =
        ONE.replace("MODE", "implement").replace(", approved = \"done\", changes_requested = \"person\"", "");
    let sandbox = sandbox(CONFIG, &workflow, "echo more >> known.txt\n", &canaries);
    sandbox.repo.write("known.txt", &format!("{}\n", canaries[0].value));
    sandbox.repo.commit("long known");
    sandbox.run_to(0);
}

/// Nobody looked at it before it was saved: its harness was killed, and the task has no further leg.
#[test]
fn in_what_a_lost_leg_left_when_its_workspace_goes() {
    let canaries = canaries();
    let workflow =
        ONE.replace("MODE", "implement").replace(", approved = \"done\", changes_requested = \"person\"", "");
    let config = format!("{CONFIG}\n[retention]\nunfinished = \"1ms\"\n");
    let agent = "echo \"$A_KEY\" > left.txt\n: > .begun\nexec sleep 60\n";
    let sandbox = sandbox(&config, &workflow, agent, &canaries);
    sandbox.acquit(&["task", "add", "Do it"]).must(0);
    let harness = sandbox.start(&["leg", "--task", "T-1"]);
    until_file(&sandbox.place("acquit/tasks/T-1/workspace/work/.begun"));
    harness.signal(Signal::KILL);
    harness.wait();
    sandbox.acquit(&["task", "cancel", "T-1"]).must(0);
    sandbox.acquit(&["run", "T-1"]).must(4);
    sandbox.acquit(&["clean"]).must(0).said("removed");
    assert_eq!(sandbox.refs("refs/acquit/attempts/"), Vec::<String>::new());
    look::nowhere(&sandbox, &canaries);
}
