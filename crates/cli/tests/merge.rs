//! From green work to the base branch: squash, rebase, conflicts, local merges and the merge queue, with the real binary and real
//! git.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::disallowed_methods, reason = "tests start the real binary and programs around it")]

mod common;
#[path = "merge/conflicts.rs"]
mod conflicts;
#[path = "merge/faults.rs"]
mod faults;
#[path = "merge/local.rs"]
mod local;
#[path = "merge/queue.rs"]
mod queue;
#[path = "merge/rebase.rs"]
mod rebase;
#[path = "merge/squash.rs"]
mod squash;

use common::Sandbox;

/// One stage that writes under a gate, and then the delivery.
const CODE: &str = r#"
conflict = "resolve"
[gates.test]
run = "sh check.sh"
kind = "test"
[stages.code]
mode = "implement"
gates = ["test"]
fix = "mend"
on = { pr_ready = "deliver" }
[stages.mend]
mode = "fix"
on = { fixed = "back" }
[stages.resolve]
mode = "resolve"
on = { resolved = "back" }
[stages.deliver]
kind = "action"
action = "squash"
on = { done = "done" }
"#;

/// A gate that anybody can read: no file may say `broken`.
const CHECK: &str = "! grep -rq broken --include=*.txt .\n";

fn merging() -> String {
    CODE.replace("\"squash\"", "\"merge\"")
}

/// A repository with the gate, and a file to quarrel about.
fn sandbox(workflow: &str, script: &str) -> Sandbox {
    let sandbox = Sandbox::scripted(workflow, script);
    sandbox.repo.write("check.sh", CHECK);
    sandbox.repo.write("log.txt", "one\ntwo\nthree\nfour\nfive\n");
    sandbox.repo.commit("the gate");
    sandbox
}

/// Commits a change on main, as the user would.
fn on_main(sandbox: &Sandbox, file: &str, text: &str) -> String {
    sandbox.repo.write(file, text);
    sandbox.repo.commit(&format!("change {file}"))
}

/// How the legs of the task went: stage and ending.
fn story(sandbox: &Sandbox) -> Vec<String> {
    let word = |past: &acquit_core::leg::Past| {
        let how = match &past.ending {
            acquit_core::leg::Ending::Passed { outcome } => outcome.name.to_string(),
            acquit_core::leg::Ending::Conflict { .. } => "conflict".to_owned(),
            other => other.trouble().unwrap(),
        };
        format!("{} {how}", past.entry.stage)
    };
    sandbox.task().past.iter().map(word).collect()
}
