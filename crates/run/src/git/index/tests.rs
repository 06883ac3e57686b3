//! Tests of reading an index that the installed git wrote.

use std::process::Command;

use super::*;

#[expect(clippy::disallowed_methods, reason = "a real git in a scratch repository")]
fn git(at: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.arg("-C").arg(at).args(arguments).env("GIT_CONFIG_GLOBAL", "/dev/null");
    let output = command.env("GIT_CONFIG_NOSYSTEM", "1").output().expect("git");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text").trim().to_owned()
}

/// Creates a repository with a few files of every kind of length, and returns its tree.
fn repository(at: &Path, format: &str) -> String {
    git(at, &["init", "--quiet", &format!("--object-format={format}")]);
    std::fs::create_dir(at.join("folder")).expect("a folder");
    for length in 1..20 {
        std::fs::write(at.join("f".repeat(length)), length.to_string()).expect("a file");
    }
    std::fs::write(at.join("folder/inner"), "inner").expect("a file");
    std::os::unix::fs::symlink("folder", at.join("link")).expect("a link");
    git(at, &["add", "--all"]);
    let tree = git(at, &["write-tree"]);
    // Writes the ids of trees to the index.
    git(at, &["read-tree", &tree]);
    git(at, &["update-index", "--refresh"]);
    tree
}

#[test]
fn what_git_wrote_is_read_and_can_be_written_again() {
    for (format, kind) in [("sha1", ObjectFormat::Sha1), ("sha256", ObjectFormat::Sha256)] {
        let folder = tempfile::tempdir().expect("a folder");
        let at = folder.path();
        let tree = repository(at, format);
        let file = at.join(".git/index");
        let mut index = Index::read(&file, kind).expect("an index");
        assert_eq!((index.tree(), index.len()), (Some(tree.as_str()), 21));
        let inner = index.find(b"folder/inner").expect("an entry");
        assert!(
            index.entry(inner).is_content(kind, b"inner") && !index.entry(inner).is_content(kind, b"outer")
        );
        assert_eq!(index.find(b"folder"), None);
        assert_eq!(index.entry(index.find(b"link").expect("an entry")).mode, 0o120_000);

        // Unchanged, it is the same file, and it records what is on the disk.
        let read = || Index::read(&file, kind).expect("an index");
        assert_eq!(read().into_bytes(), std::fs::read(&file).expect("the file"));
        let about = std::fs::metadata(at.join("folder/inner")).expect("a file");
        let times = [about.mtime(), about.mtime_nsec(), about.ctime(), about.ctime_nsec()];
        assert!(index.has(inner, about.ino(), about.size(), times));
        assert!(!index.has(inner, about.ino(), about.size(), [times[0], times[1] + 1, times[2], times[3]]));
        assert!(!index.has(inner, about.ino(), about.size() + 1, times));

        // Git sees forgotten entries as changed, and entries that are recorded again as unchanged.
        index.forget(inner);
        std::fs::write(&file, index.into_bytes()).expect("an index");
        assert_eq!(git(at, &["diff-files", "--name-only"]), "folder/inner");
        let mut index = read();
        index.record(inner, &about);
        std::fs::write(&file, index.into_bytes()).expect("an index");
        assert_eq!(git(at, &["diff-files", "--name-only"]), "");
        git(at, &["fsck"]);
    }
}

#[test]
fn what_is_not_plain_is_left_to_git() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    repository(at, "sha1");
    let file = at.join(".git/index");
    let whole = std::fs::read(&file).expect("an index");
    let parses = |bytes: Vec<u8>| Index::parse(bytes, ObjectFormat::Sha1).is_some();
    assert!(parses(whole.clone()));
    for length in 0..whole.len() {
        assert!(!parses(whole[..length].to_vec()), "{length}");
    }
    let mut damaged = whole;
    damaged[40] ^= 1;
    assert!(!parses(damaged));
    for arguments in [
        &["update-index", "--assume-unchanged", "f"][..],
        &["update-index", "--skip-worktree", "f"],
        &["update-index", "--index-version", "4"],
        &["update-index", "--split-index"],
    ] {
        git(at, arguments);
        assert!(Index::read(&file, ObjectFormat::Sha1).is_none(), "{arguments:?}");
    }
    git(at, &["update-index", "--no-split-index", "--index-version", "2"]);
    git(at, &["update-index", "--no-assume-unchanged", "f"]);
    git(at, &["update-index", "--no-skip-worktree", "f"]);
    assert!(Index::read(&file, ObjectFormat::Sha1).is_some());
    // A changed entry outdates the recorded tree.
    std::fs::write(at.join("f"), "changed").expect("a file");
    git(at, &["add", "f"]);
    assert_eq!(Index::read(&file, ObjectFormat::Sha1).expect("an index").tree(), None);
}
