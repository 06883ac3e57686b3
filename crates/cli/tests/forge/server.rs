//! A plain git server, which is no forge that anybody knows: what it has of the base branch is where work begins, and nothing goes there.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use acquit_testkit::repo;

use crate::common::{SCRIPTED, Sandbox, read};
use crate::world::BRANCH;

const WORKFLOW: &str = r#"
[stages.code]
mode = "implement"
on = { pr_ready = "publish" }
[stages.publish]
kind = "action"
action = "publish"
on = { done = "done" }
"#;

const SCRIPT: &str = r#"
[[code]]
step = [ { write = "work.txt", content = "work\n" }, { outcome = "pr_ready", payload = { summary = "x" } } ]
"#;

/// A repository that was cloned by SSH from a host of no name, which has a commit more by now. What is said by SSH runs `program`.
fn cloned(config: &str, workflow: &str, program: &str) -> (Sandbox, String) {
    let sandbox = Sandbox::new(&format!("{SCRIPTED}\n{config}"), workflow, SCRIPT);
    let (server, theirs) = (sandbox.place("server.git"), sandbox.place("theirs"));
    sandbox.repo.git(&["clone", "--quiet", "--bare", ".", &server.to_string_lossy()]);
    sandbox.repo.git(&["clone", "--quiet", &server.to_string_lossy(), &theirs.to_string_lossy()]);
    repo::write(&theirs.join("other.txt"), "other\n");
    let newer = repo::commit_all(&theirs, "theirs");
    repo::git(&theirs, &["push", "--quiet", "origin", "HEAD:main"]);
    sandbox.repo.git(&["remote", "add", "origin", &format!("git@127.0.0.1:{}", server.display())]);
    let ssh = sandbox.place("ssh");
    let script = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$*\" >> '{}'\nfor last; do :; done\n{program}\n",
        sandbox.place("asked").display()
    );
    fs::write(&ssh, script).unwrap();
    fs::set_permissions(&ssh, fs::Permissions::from_mode(0o755)).unwrap();
    let sandbox = sandbox.with("GIT_SSH_COMMAND", format!("'{}'", ssh.display()));
    (sandbox, newer.trim().to_owned())
}

const ANSWERS: &str = "exec sh -c \"$last\"";

#[test]
fn work_begins_where_the_server_is_ahead_and_nothing_of_the_users_moves() {
    let (sandbox, newer) = cloned("", WORKFLOW, ANSWERS);
    let own = sandbox.repo.git(&["rev-parse", "main"]);
    sandbox.run_to(0);
    let task = sandbox.task();
    assert_eq!(task.base(), newer);
    assert_eq!(sandbox.repo.git(&["rev-parse", &format!("{BRANCH}~1")]).trim(), newer);
    assert_eq!(sandbox.repo.git(&["show", &format!("{BRANCH}:other.txt")]).trim(), "other");
    assert_eq!(sandbox.repo.git(&["rev-parse", "main"]), own);
    assert!(sandbox.refs("refs/remotes").is_empty());
    let there = repo::git(&sandbox.place("server.git"), &["for-each-ref", "--format=%(refname)"]);
    assert_eq!(there.trim(), "refs/heads/main", "nothing goes there");
    let asked = read(&sandbox.place("asked"));
    assert!(asked.contains("-oBatchMode=yes") && !asked.contains("receive-pack"), "{asked}");
}

#[test]
fn commits_that_only_the_user_has_are_what_the_work_stands_on() {
    let (sandbox, _) = cloned("", WORKFLOW, ANSWERS);
    sandbox.repo.write("mine.txt", "mine\n");
    let own = sandbox.repo.commit("mine");
    sandbox.run_to(0);
    assert_eq!(sandbox.task().base(), own.trim());
}

#[test]
fn a_server_that_does_not_answer_is_a_warning_and_the_work_is_done() {
    let words = "ssh: connect to host 127.0.0.1 port 22: Connection refused";
    let (sandbox, newer) = cloned("", WORKFLOW, &format!("echo '{words}' >&2; exit 255"));
    let own = sandbox.repo.git(&["rev-parse", "main"]);
    sandbox.run_to(0).said("the leg goes on with what is known of the base branch");
    sandbox.acquit(&["logs", "T-1"]).must(0).said("Connection refused");
    assert_eq!(sandbox.task().base(), own.trim());
    assert_ne!(own.trim(), newer);
}

#[test]
fn where_no_forge_is_wanted_or_the_work_is_merged_here_nobody_is_asked() {
    let (sandbox, _) = cloned("[forge]\nkind = \"none\"\n", WORKFLOW, ANSWERS);
    sandbox.run_to(0);
    assert!(!sandbox.place("asked").exists());
    let merges = WORKFLOW.replace("\"publish\"\non", "\"merge\"\non");
    let (sandbox, _) = cloned("", &merges, ANSWERS);
    sandbox.run_to(0);
    assert!(!sandbox.place("asked").exists());
}
