//! What comes in from the agent's repository: its own objects, whole and checked, and nothing else.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use acquit_run::workspace::Error;
use acquit_testkit::repo;

use crate::stage::{BRANCH, Stage, leftovers};

/// A stage with one honest commit of the agent on it.
fn with_commit() -> (Stage, String) {
    let stage = Stage::new();
    let source = stage.source();
    let base = source.base(&stage.git(), None).unwrap().commit;
    stage.workspace(&source).lock("t").unwrap().prepare("L1", &base, BRANCH).unwrap();
    repo::write(&stage.tree().join("README.md"), "work\n");
    let tip = repo::commit_all(&stage.tree(), "work");
    (stage, tip)
}

#[track_caller]
fn refused(stage: &Stage, word: &str) {
    let source = stage.source();
    let error = stage.workspace(&source).lock("t").unwrap().collect("L1", leftovers()).unwrap_err();
    assert!(matches!(&error, Error::Guardrail { what } if what.contains(word)), "{word}: {error:?}");
}

fn object(stage: &Stage, id: &str) -> std::path::PathBuf {
    stage.tree().join(".git/objects").join(&id[..2]).join(&id[2..])
}

#[test]
fn corrupt_missing_and_forged_objects_end_clearly() {
    let (stage, tip) = with_commit();
    let file = object(&stage, &tip);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(&file, "rubbish").unwrap();
    refused(&stage, "take in its commits");

    let (stage, tip) = with_commit();
    let blob = repo::git(&stage.tree(), &["rev-parse", &format!("{tip}:README.md")]);
    fs::remove_file(object(&stage, &blob)).unwrap();
    refused(&stage, "take in its commits");

    // Another object under the name of the blob.
    let (stage, tip) = with_commit();
    let blob = repo::git(&stage.tree(), &["rev-parse", &format!("{tip}:README.md")]);
    fs::remove_file(object(&stage, &blob)).unwrap();
    fs::copy(object(&stage, &tip), object(&stage, &blob)).unwrap();
    refused(&stage, "take in its commits");
}

#[test]
fn received_objects_are_checked_as_strictly_as_git_can() {
    let tree = |stage: &Stage, mode: &str, name: &str, id: &str| {
        let mut tree = format!("{mode} {name}\0").into_bytes();
        tree.extend((0..40).step_by(2).map(|i| u8::from_str_radix(&id[i..i + 2], 16).unwrap()));
        fs::write(stage.repo.beside("tree"), tree).unwrap();
        let file = stage.repo.beside("tree");
        repo::git(&stage.tree(), &["hash-object", "-w", "-t", "tree", "--literally", file.to_str().unwrap()])
    };
    for (mode, name, word) in [
        ("100644", ".git", "hasDotgit"),
        ("40000", "..", "hasDotdot"),
        ("40000", "git~1", "hasDotgit"),
        ("100644", "a/b", "fullPathname"),
        ("120000", ".gitmodules", "gitmodulesSymlink"),
    ] {
        let (stage, _) = with_commit();
        let kind = if mode == "40000" { "HEAD^{tree}" } else { "HEAD:README.md" };
        let inner = repo::git(&stage.tree(), &["rev-parse", kind]);
        let tree = tree(&stage, mode, name, &inner);
        let bad = repo::git(&stage.tree(), &["commit-tree", "-m", "T-1", "-p", "HEAD", &tree]);
        repo::git(&stage.tree(), &["update-ref", &format!("refs/heads/{BRANCH}"), &bad]);
        refused(&stage, word);
    }
    let (stage, _) = with_commit();
    let evil = "[submodule \"x\"]\n\tpath = -x\n\turl = --upload-pack=touch\n";
    repo::write(&stage.tree().join(".gitmodules"), evil);
    repo::commit_all(&stage.tree(), "T-1");
    refused(&stage, "gitmodules");
}

#[test]
fn grafts_shallow_borders_and_replacements_are_refused_and_not_imported() {
    for (file, word) in [("info/grafts", "grafts"), ("shallow", "shallow"), ("refs/replace/@", "replacement")]
    {
        let (stage, tip) = with_commit();
        let base = repo::git(&stage.tree(), &["rev-parse", "HEAD~1"]);
        let content = if file.contains('@') { base } else { tip.clone() };
        repo::write(&stage.tree().join(".git").join(file.replace('@', &tip)), &format!("{content}\n"));
        refused(&stage, word);
        let git = stage.dir.join("git");
        assert!(!git.join("shallow").exists() && !git.join("refs/replace").exists(), "{word}");
        assert!(!repo::git_succeeds(&git, &["cat-file", "-e", &tip]), "{word}");
    }
}

#[test]
fn the_sending_side_needs_the_view_and_the_named_object_folders_and_nothing_else() {
    let (stage, tip) = with_commit();
    // Put beside what it must not need, and what it would fail on if it looked.
    for file in [".git/config", ".git/HEAD", ".git/packed-refs", ".git/index"] {
        repo::write(&stage.tree().join(file), "rubbish");
    }
    let seen = stage.repo.beside("seen");
    let command = stage.repo.beside("sender");
    let text = format!(
        "#!/bin/sh\nfor last; do :; done\n{{ echo \"$last\"; cat \"$last/objects/info/alternates\"; env | sort; }} > '{}'\nexec git-upload-pack \"$@\"\n",
        seen.display()
    );
    repo::write(&command, &text);
    fs::set_permissions(&command, fs::Permissions::from_mode(0o755)).unwrap();
    let source = stage.source();
    let workspace = stage.workspace(&source).with_upload_pack(&command);
    let work = workspace.lock("t").unwrap().collect("L1", leftovers()).unwrap();
    assert_eq!(work.head.as_str(), tip);
    let seen = fs::read_to_string(seen).unwrap();
    let lines: Vec<&str> = seen.lines().take(4).collect();
    let path = |p: &str| stage.dir.join(p).to_str().unwrap().to_owned();
    let expected = [
        path("view"),
        path("work/.git/objects"),
        source.objects().to_str().unwrap().to_owned(),
        path("git/objects"),
    ];
    assert_eq!(lines, expected);
    assert!(seen.contains("GIT_CONFIG_NOSYSTEM=1") && seen.contains("HOME=/nonexistent"), "{seen}");
}
