//! The commit that is delivered: its message, its signature, its pieces, and the history that is kept beside it.

use std::process::Command;

use crate::common::{SCRIPTED, Sandbox};
use crate::{CODE, sandbox};

const GOOD: &str = r#"
[[code]]
step = [
    { write = "work.txt", content = "work\n" },
    { run = "git add -A && git commit -qm first" },
    { write = "work.txt", content = "more work\n" },
    { outcome = "pr_ready", payload = { summary = "wrote it" } },
]
"#;

fn branch_message(sandbox: &Sandbox) -> String {
    sandbox.repo.git(&["log", "-1", "--format=%B", &sandbox.task().seed.branch])
}

#[test]
fn the_message_is_in_the_style_of_the_log() {
    let sandbox = sandbox(CODE, GOOD);
    for subject in ["feat: add numbers", "fix(parser): read signs", "docs: say how", "chore: tidy"] {
        sandbox.repo.commit(subject);
    }
    sandbox.acquit(&["run", "Add a --json flag."]).must(0);
    assert_eq!(branch_message(&sandbox), "feat: add a --json flag\n\n- code: wrote it\n\nTask: T-1");
}

#[test]
fn the_project_says_how_messages_are_written() {
    let config = format!(
        "{SCRIPTED}[commit]\nstyle = \"plain\"\ntrailer = \"Ticket\"\nco_authors = [\"Helper <h@example.org>\"]\n\
         template = \"{{{{ subject }}}}\\n\\nOn {{{{ branch }}}}.\"\n"
    );
    let sandbox = Sandbox::new(&config, CODE, GOOD);
    sandbox.repo.write("check.sh", "true\n");
    sandbox.repo.commit("feat: the gate");
    sandbox.acquit(&["run", "Adds a flag"]).must(0);
    let branch = sandbox.task().seed.branch;
    assert_eq!(
        branch_message(&sandbox),
        format!("Add a flag\n\nOn {branch}.\n\nTicket: T-1\nCo-authored-by: Helper <h@example.org>")
    );
}

#[test]
fn the_author_of_the_delivered_commit_is_the_user() {
    let script = GOOD.replace(
        "git commit -qm first",
        "git -c user.name=Bot -c user.email=bot@example.org commit -qm first",
    );
    let sandbox = sandbox(CODE, &script);
    sandbox.repo.git(&["config", "user.name", "Ada"]);
    sandbox.repo.git(&["config", "user.email", "ada@example.org"]);
    sandbox.run_to(0);
    let author = |commit: &str| sandbox.repo.git(&["log", "-1", "--format=%an <%ae>", commit]);
    assert_eq!(author(&sandbox.task().seed.branch), "Ada <ada@example.org>");
}

#[test]
fn the_author_is_who_the_variables_of_git_name() {
    let sandbox =
        sandbox(CODE, GOOD).with("GIT_AUTHOR_NAME", "Grace").with("GIT_AUTHOR_EMAIL", "grace@example.org");
    let doctor = sandbox.acquit(&["doctor"]);
    assert!(doctor.out.contains("Grace <grace@example.org>"), "{}", doctor.out);
    sandbox.run_to(0);
    let branch = sandbox.task().seed.branch;
    let author = sandbox.repo.git(&["log", "-1", "--format=%an <%ae>", &branch]);
    assert_eq!(author, "Grace <grace@example.org>");
}

#[test]
fn the_history_of_the_work_is_kept_below_private_refs() {
    let sandbox = sandbox(CODE, GOOD);
    sandbox.run_to(0);
    let kept = sandbox.refs("refs/acquit/tasks/");
    assert!(kept.len() == 1 && kept[0].ends_with("/T-1/leg-2"), "{kept:?}");
    let subjects = sandbox.repo.git(&["log", "--format=%s", &format!("main..{}", kept[0])]);
    assert_eq!(subjects.lines().count(), 2, "{subjects}");
    assert!(subjects.contains("first"), "{subjects}");
    let delivered =
        sandbox.repo.git(&["rev-list", "--count", &format!("main..{}", sandbox.task().seed.branch)]);
    assert_eq!(delivered, "1");
}

#[test]
fn a_commit_for_each_phase_where_the_workflow_says_so() {
    let workflow = CODE
        .replace("on = { pr_ready = \"deliver\" }", "on = { pr_ready = \"tidy\" }\n[stages.tidy]\nmode = \"implement\"\non = { pr_ready = \"deliver\" }")
        .replace("action = \"squash\"", "action = \"squash\"\ncommits = \"phases\"");
    let script = format!(
        "{GOOD}\n[[tidy]]\nstep = [ {{ write = \"tidy.txt\", content = \"x\\n\" }}, {{ outcome = \"pr_ready\", payload = {{ summary = \"tidied\" }} }} ]\n"
    );
    let sandbox = sandbox(&workflow, &script);
    sandbox.run_to(0);
    let branch = sandbox.task().seed.branch;
    let log = sandbox.repo.git(&["log", "--reverse", "--format=%s", &format!("main..{branch}")]);
    assert_eq!(log, "Do it (code)\nDo it (tidy)");
    let files = sandbox.repo.git(&["diff", "--name-only", &format!("{branch}~1"), &branch]);
    assert_eq!(files, "tidy.txt");
    assert_eq!(sandbox.repo.git(&["show", &format!("{branch}~1:work.txt")]), "more work");
}

#[test]
fn the_commit_is_signed_if_the_users_git_signs() {
    let sandbox = sandbox(CODE, GOOD);
    let key = sandbox.place("home/key");
    let Some(keygen) = acquit_testkit::need::program("ssh-keygen", "the commit is signed") else { return };
    let made = Command::new(keygen)
        .args(["-q", "-t", "ed25519", "-N", "", "-C", "tester", "-f"])
        .arg(&key)
        .env_clear()
        .status();
    assert!(made.unwrap().success());
    let public = std::fs::read_to_string(key.with_extension("pub")).unwrap();
    let config = "[user]\n\tname = Ada\n\temail = ada@example.org\n\tsigningkey = ~/key.pub\n[commit]\n\tgpgsign = true\n[gpg]\n\tformat = ssh\n";
    std::fs::write(sandbox.place("home/.gitconfig"), config).unwrap();
    let allowed = sandbox.place("allowed");
    std::fs::write(&allowed, format!("ada@example.org {public}")).unwrap();
    sandbox.run_to(0);
    let branch = sandbox.task().seed.branch;
    let setting = format!("gpg.ssh.allowedSignersFile={}", allowed.display());
    // Fails the test if it does not verify.
    sandbox.repo.git(&["-c", &setting, "verify-commit", &branch]);
    assert_eq!(sandbox.repo.git(&["log", "-1", "--format=%an <%ae>", &branch]), "Ada <ada@example.org>");
    assert!(sandbox.refs("refs/acquit/incoming/").is_empty());
}

#[test]
fn a_key_that_cannot_sign_is_a_reason_and_nothing_is_delivered_unsigned() {
    let workflow = format!("budgets = {{ harness = 0 }}\n{CODE}");
    let sandbox = sandbox(&workflow, GOOD);
    let config =
        "[user]\n\tsigningkey = ~/no-such-key.pub\n[commit]\n\tgpgsign = true\n[gpg]\n\tformat = ssh\n";
    std::fs::write(sandbox.place("home/.gitconfig"), config).unwrap();
    sandbox.run_to(3).said("sign the commit");
    assert!(sandbox.refs("refs/heads/acquit/").is_empty());
}
