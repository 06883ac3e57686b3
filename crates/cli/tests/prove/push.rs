//! git's hook `pre-push`: a guilty push is stopped, an honest one is not, and the user's own hook still runs.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use acquit_testkit::repo;

use crate::common::{Sandbox, binary};
use crate::kit::{BROKEN, HONEST, MENDED, package};

/// A push by the user's own git.
fn push(sandbox: &Sandbox, args: &[&str]) -> (bool, String) {
    let bin = binary().parent().unwrap().to_owned();
    let mut command = sandbox.program("git");
    command.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display()));
    let output = command.arg("push").args(["-q", "origin"]).args(args).output().unwrap();
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    (output.status.success(), text)
}

fn with_remote() -> Sandbox {
    let sandbox = package();
    let bare = sandbox.place("remote.git");
    fs::create_dir_all(&bare).unwrap();
    repo::git(&bare, &["init", "-q", "--bare"]);
    sandbox.repo.git(&["remote", "add", "origin", &bare.to_string_lossy()]);
    sandbox.repo.git(&["push", "-q", "origin", "main"]);
    sandbox
}

#[test]
fn a_guilty_push_is_stopped_and_the_users_own_hook_runs_first() {
    let sandbox = with_remote();
    let repo = &sandbox.repo;
    let hook = repo.path().join(".git/hooks/pre-push");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    let seen = sandbox.place("seen");
    fs::write(&hook, format!("#!/bin/sh\ncat >> '{}'\n", seen.display())).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let own = fs::read(&hook).unwrap();
    for _ in 0..2 {
        sandbox.acquit(&["init", "--hooks", "pre-push"]).must(0).said("your own hook is kept");
    }
    assert_eq!(fs::read(hook.with_file_name("pre-push.before-acquit")).unwrap(), own);
    assert!(!repo.path().join(".acquit").exists() && !repo.path().join(".claude").exists());

    repo.git(&["checkout", "-q", "-b", "topic"]);
    repo.write("sum.js", BROKEN);
    repo.commit("faster");
    let (pushed, said) = push(&sandbox, &["topic"]);
    assert!(!pushed && said.contains("✗ no test fails that passed before"), "{said}");
    assert!(said.contains("--no-verify"), "{said}");
    assert!(fs::read_to_string(&seen).unwrap().starts_with("refs/heads/topic "), "the user's hook ran");
    // The same in a commit that mends it: what is pushed counts, not each commit.
    repo.write("sum.js", MENDED);
    repo.write("test/new.test.js", HONEST);
    repo.commit("mended");
    let (pushed, said) = push(&sandbox, &["topic"]);
    assert!(pushed && said.contains("acquitted"), "{said}");
    // What the remote has is not judged again, and neither are tags and deletions.
    repo.git(&["tag", "v1"]);
    for args in [&["topic"][..], &["v1"], &["--delete", "topic"]] {
        let (pushed, said) = push(&sandbox, args);
        assert!(pushed && !said.contains("acquitted"), "{args:?}: {said}");
    }
    // A hook that says no stops the push before anything is judged.
    fs::write(hook.with_file_name("pre-push.before-acquit"), "#!/bin/sh\nexit 1\n").unwrap();
    let (pushed, said) = push(&sandbox, &["topic"]);
    assert!(!pushed && !said.contains("acquit: judging"), "{said}");
}

#[test]
fn hooks_that_another_tool_keeps_are_left_alone() {
    let sandbox = with_remote();
    sandbox.repo.git(&["config", "core.hooksPath", ".husky/_"]);
    let refused = sandbox.acquit(&["init", "--hooks", "pre-push"]).must(2);
    refused.said(".husky/_");
    refused.said("acquit prove --hook pre-push");
    assert!(!sandbox.repo.path().join(".git/hooks/pre-push").exists());
    assert!(!sandbox.repo.path().join(".husky").exists());
}

#[test]
fn what_cannot_be_judged_is_pushed_with_a_warning() {
    let sandbox = with_remote();
    sandbox.acquit(&["init", "--hooks", "pre-push"]).must(0);
    sandbox.repo.git(&["checkout", "-q", "--orphan", "notes"]);
    sandbox.repo.git(&["rm", "-q", "-rf", "."]);
    sandbox.repo.write("notes.txt", "nothing that anybody tests\n");
    sandbox.repo.commit("notes");
    let (pushed, said) = push(&sandbox, &["notes"]);
    assert!(pushed && said.contains("could not judge"), "{said}");
}
