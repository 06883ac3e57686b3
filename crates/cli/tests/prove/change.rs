//! Which change is judged: ranges, branches, what is staged, what is not, and what is in a checkout without being part of it.

use std::fs;

use crate::common::Sandbox;
use crate::kit::{BROKEN, HONEST, MENDED, claim, package, prove, ran};

/// The paths that a judgement was about.
fn paths(report: &serde_json::Value) -> Vec<&str> {
    report["change"]["paths"].as_array().unwrap().iter().map(|path| path.as_str().unwrap()).collect()
}

#[test]
fn staged_and_unstaged_work_are_told_apart() {
    let sandbox = package();
    sandbox.repo.write("sum.js", MENDED);
    sandbox.repo.git(&["add", "sum.js"]);
    sandbox.repo.write("sum.js", BROKEN);
    sandbox.repo.write("test/new.test.js", HONEST);
    let staged = prove(&sandbox, &["--staged"], 0);
    assert_eq!(paths(&staged), ["sum.js"], "{staged:#}");
    let all = prove(&sandbox, &["--working-tree"], 1);
    assert_eq!(paths(&all), ["sum.js", "test/new.test.js"], "{all:#}");
}

#[test]
fn a_range_a_branch_and_the_checkout_are_compared_with_what_they_left() {
    let sandbox = package();
    let repo = &sandbox.repo;
    repo.git(&["checkout", "-q", "-b", "topic"]);
    repo.write("sum.js", MENDED);
    repo.write("test/new.test.js", HONEST);
    repo.commit("mend");
    repo.git(&["checkout", "-q", "main"]);
    repo.write("main.txt", "the base went on\n");
    repo.commit("on main");
    for args in [&["main..topic"][..], &["topic"], &["main...topic"], &["topic", "--base", "main"]] {
        let report = prove(&sandbox, args, 0);
        assert_eq!(paths(&report), ["sum.js", "test/new.test.js"], "{args:?} {report:#}");
        assert_eq!(report["change"]["uncommitted"], false, "{report:#}");
    }
    repo.git(&["checkout", "-q", "topic"]);
    repo.write("more.txt", "not committed\n");
    let report = prove(&sandbox, &[], 0);
    assert_eq!(paths(&report), ["more.txt", "sum.js", "test/new.test.js"], "{report:#}");
    let wrong = ran(&sandbox, &["nowhere"], 2);
    assert!(wrong.err.contains("nowhere"), "{wrong}");
    ran(&sandbox, &["topic", "--staged"], 2);
}

#[test]
fn what_git_is_told_to_overlook_is_judged_all_the_same() {
    let sandbox = package();
    let repo = &sandbox.repo;
    // An agent that hides its change from git.
    repo.git(&["update-index", "--assume-unchanged", "sum.js"]);
    repo.write("sum.js", BROKEN);
    let report = prove(&sandbox, &[], 1);
    assert_eq!(paths(&report), ["sum.js"], "{report:#}");
    assert!(report["unchecked"].to_string().contains("assume-unchanged"), "{report:#}");

    // A sparse checkout does not have its other files, and has not removed them.
    let sandbox = package();
    sandbox.repo.write("far/away.txt", "far\n");
    sandbox.repo.commit("far away");
    sandbox.repo.git(&["update-index", "--skip-worktree", "far/away.txt"]);
    fs::remove_file(sandbox.repo.path().join("far/away.txt")).unwrap();
    sandbox.repo.write("sum.js", MENDED);
    let report = prove(&sandbox, &[], 0);
    assert_eq!(paths(&report), ["sum.js"], "{report:#}");
}

#[test]
fn no_program_of_the_repository_runs_outside_of_the_sandbox() {
    let sandbox = package();
    let repo = &sandbox.repo;
    let wire = sandbox.place("tripped");
    let program = format!("touch '{}'; cat", wire.display());
    let script = sandbox.place("wire.sh");
    fs::write(&script, format!("#!/bin/sh\n{program}\n")).unwrap();
    std::process::Command::new("chmod").arg("+x").arg(&script).status().unwrap();
    let script = script.to_string_lossy().into_owned();
    // A submodule whose own settings name a program, hooks, filters, a file system monitor, an external diff.
    let inner = Sandbox::of_files("inner", &[("inner.txt", "inner\n")]);
    repo.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        &inner.repo.path().to_string_lossy(),
        "sub",
    ]);
    repo.write(".gitattributes", "*.js filter=evil diff=evil\n* text=auto\n");
    repo.commit("attributes");
    for (key, value) in [
        ("filter.evil.clean", script.as_str()),
        ("filter.evil.smudge", script.as_str()),
        ("filter.evil.process", script.as_str()),
        ("diff.evil.command", script.as_str()),
        ("diff.evil.textconv", script.as_str()),
        ("core.fsmonitor", script.as_str()),
        ("core.sshCommand", script.as_str()),
        ("core.hooksPath", ".hooks"),
    ] {
        repo.git(&["config", key, value]);
    }
    for hook in ["post-index-change", "reference-transaction", "pre-commit", "post-checkout"] {
        repo.write(&format!(".hooks/{hook}"), &format!("#!/bin/sh\ntouch '{}'\n", wire.display()));
    }
    let module = repo.path().join(".git/modules/sub/config");
    let text = fs::read_to_string(&module).unwrap();
    fs::write(&module, format!("{text}\n[core]\n\tfsmonitor = {script}\n")).unwrap();
    fs::write(repo.path().join("sub/inner.txt"), "changed in the submodule\n").unwrap();
    std::process::Command::new("chmod").args(["-R", "+x"]).arg(repo.path().join(".hooks")).status().unwrap();
    // The tree that was written with filters in effect.
    let _ = fs::remove_file(&wire);
    repo.write("sum.js", MENDED);
    prove(&sandbox, &[], 0);
    prove(&sandbox, &["--staged"], 0);
    assert!(!wire.exists(), "a program of the repository was run outside of the sandbox");
}

#[test]
fn repositories_inside_pipes_and_dumps_do_not_stop_it() {
    let sandbox = package();
    let repo = &sandbox.repo;
    repo.write("sum.js", MENDED);
    let inner = repo.path().join("vendor/inner");
    fs::create_dir_all(&inner).unwrap();
    acquit_testkit::repo::git(&inner, &["init", "--quiet"]);
    std::process::Command::new("mkfifo").arg(repo.path().join("pipe")).status().unwrap();
    std::os::unix::fs::symlink("sum.js", repo.path().join("linked")).unwrap();
    let report = prove(&sandbox, &[], 0);
    assert!(
        report["unchecked"].to_string().contains("vendor/inner/ is a repository of its own"),
        "{report:#}"
    );
    assert_eq!(claim(&report, "test")["status"], "holds");
    // More than a gigabyte of files that nobody ignored is refused, and the largest is named.
    let dump = fs::File::create(repo.path().join("core.dump")).unwrap();
    dump.set_len(2 << 30).unwrap();
    let refused = ran(&sandbox, &[], 2);
    assert!(refused.err.contains("core.dump") && refused.err.contains(".gitignore"), "{refused}");
}
