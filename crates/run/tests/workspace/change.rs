//! What a task changed, as git really shows it.

use std::os::unix::fs::PermissionsExt;

use acquit_core::check::diff::{Diff, FileChange, Origin};
use acquit_run::workspace::{Around, Error};
use acquit_testkit::repo;

use crate::kit::Bench;

fn file<'a>(diff: &'a Diff, path: &str) -> &'a FileChange {
    diff.files.iter().find(|file| file.path() == path).unwrap_or_else(|| panic!("{path} in {diff:?}"))
}

#[test]
fn every_kind_of_change_is_read_whatever_the_name() {
    let bench = Bench::new();
    bench.prepare("L1");
    let odd = "tab\there \"quoted\" ü \\ name.txt";
    bench.write(odd, "one\ntwo\n");
    bench.write("moved me.txt", &"a line of some length\n".repeat(20));
    bench.write("image.bin", "\0\u{1}\u{2}");
    bench.write("run.sh", "#!/bin/sh");
    bench.write("empty", "");
    let first = repo::commit_all(&bench.tree(), "first");
    bench.write(odd, "one\n2\nthree");
    bench.write("image.bin", "\0\u{3}");
    bench.write("moved/you.txt", &bench.read("moved me.txt"));
    std::fs::remove_file(bench.tree().join("moved me.txt")).unwrap();
    std::fs::remove_file(bench.tree().join("empty")).unwrap();
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(bench.tree().join("run.sh"), executable).unwrap();
    std::fs::remove_file(bench.tree().join("src/main.txt")).unwrap();
    std::os::unix::fs::symlink("../README.md", bench.tree().join("src/main.txt")).unwrap();
    // An attribute that would make git call the file binary must not hide it.
    bench.write(".gitattributes", "* -diff\n* diff=planted\n");
    repo::commit_all(&bench.tree(), "second");
    let work = bench.collect("L1").unwrap();
    let first = crate::kit::id(&first);

    let diff = bench.lock().change(&first, &work.head, Around::Nothing).unwrap();
    let changed = file(&diff, odd);
    let added: Vec<_> = changed.added().map(|line| (line.number, line.text.as_str())).collect();
    assert_eq!(added, [(2, "2"), (3, "three")]);
    assert!(file(&diff, "image.bin").binary);
    assert_eq!(file(&diff, "moved/you.txt").origin, Origin::Renamed);
    assert_eq!(file(&diff, "empty").new, None);
    assert_eq!(file(&diff, "run.sh").new_mode, Some(0o100_755));
    // A file that became a link is one that went and one that came.
    assert_eq!(diff.files.iter().filter(|file| file.path() == "src/main.txt").count(), 2);

    let whole = bench.lock().change(&bench.base, &work.head, Around::Files).unwrap();
    assert_eq!(file(&whole, odd).after(), "one\n2\nthree\n");
    assert_eq!(bench.lock().change(&work.head, &work.head, Around::Files).unwrap(), Diff::default());
}

#[test]
fn what_a_commit_added_is_seen_though_a_later_one_removed_it_and_in_merges_too() {
    let bench = Bench::new();
    bench.prepare("L1");
    bench.write("key.txt", "planted\n");
    repo::commit_all(&bench.tree(), "one");
    std::fs::remove_file(bench.tree().join("key.txt")).unwrap();
    repo::commit_all(&bench.tree(), "two");
    bench.agent(&["branch", "side"]);
    bench.write("src/main.txt", "one\nmine\n");
    repo::commit_all(&bench.tree(), "three\n\nTask: T-1");
    bench.agent(&["checkout", "-q", "side"]);
    bench.write("src/main.txt", "one\ntheirs\n");
    repo::commit_all(&bench.tree(), "four");
    bench.agent(&["checkout", "-q", crate::kit::BRANCH]);
    bench.agent(&["merge", "-q", "-s", "ours", "--no-commit", "side"]);
    bench.write("src/main.txt", "one\nmine\nin the merge\n");
    repo::commit_all(&bench.tree(), "merge");
    let work = bench.collect("L1").unwrap();

    let commits = bench.lock().changes(&bench.base, &work.head).unwrap();
    let mut added: Vec<String> = commits
        .iter()
        .flat_map(|commit| &commit.diff.files)
        .flat_map(FileChange::added)
        .map(|line| line.text.clone())
        .collect();
    added.sort();
    assert_eq!(added, ["in the merge", "mine", "planted", "theirs"]);

    let texts = bench.lock().commits(&bench.base, &work.head).unwrap();
    assert_eq!(texts.len(), 5);
    assert!(texts.iter().any(|commit| commit.message.trim_end() == "three\n\nTask: T-1"), "{texts:?}");
    let touched = bench.lock().touched_lately(&work.head, 3).unwrap();
    assert_eq!(touched, ["src/main.txt"]);
}

#[test]
fn a_change_that_is_too_large_is_refused_and_not_cut() {
    let bench = Bench::new();
    bench.prepare("L1");
    let line = "x".repeat(1 << 20) + "\n";
    bench.write("large.txt", &line.repeat(70));
    let work = bench.collect("L1").unwrap();
    let refused = bench.lock().change(&bench.base, &work.head, Around::Nothing);
    assert!(matches!(refused, Err(Error::Git { .. })), "{refused:?}");
}
