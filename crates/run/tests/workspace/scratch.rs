//! Trees beside the work.

use std::fs;
use std::os::unix::fs::symlink;

use acquit_run::workspace::Become;
use acquit_testkit::repo;

use crate::kit::Bench;

#[test]
fn a_tree_is_put_together_from_the_base_and_some_files_of_the_work() {
    let bench = Bench::new();
    bench.prepare("L1");
    bench.write("tests/new.txt", "new test\n");
    bench.write("src/main.txt", "changed\n");
    fs::remove_file(bench.tree().join("README.md")).unwrap();
    // A folder in the place of a file.
    bench.write("README.md/inside.txt", "inside\n");
    let head = bench.collect("L1").unwrap().head;
    let locked = bench.lock();
    assert_eq!(locked.work_head().unwrap(), head);
    let changed = locked.changed(&bench.base, &head).unwrap();
    let paths: Vec<&str> = changed.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["README.md", "README.md/inside.txt", "src/main.txt", "tests/new.txt"]);
    let new = |path: &str| changed.iter().find(|file| file.path == path).unwrap().new.clone().unwrap();
    assert_eq!(locked.text(&new("src/main.txt")).unwrap().unwrap(), "changed\n");

    let scratch = locked.scratch().unwrap();
    let tree = scratch.tree();
    let read = |path: &str| fs::read_to_string(tree.join(path)).unwrap_or_default();
    let files = [
        ("README.md/inside.txt".to_owned(), Become::Stored(new("README.md/inside.txt"))),
        ("README.md".to_owned(), Become::Gone),
        ("tests/new.txt".to_owned(), Become::Text(new("tests/new.txt"), "another text\n".to_owned())),
    ];
    let composed = scratch.compose(&bench.base, &files).unwrap();
    scratch.show(&composed, &bench.base).unwrap();
    assert_eq!(read("README.md/inside.txt"), "inside\n");
    assert_eq!(read("tests/new.txt"), "another text\n");
    assert_eq!(read("src/main.txt"), "one\ntwo\n", "the rest is that of the base");
    // The work itself is where it was.
    assert_eq!(bench.read("src/main.txt"), "changed\n");
    // And the repository there is one that programs can ask.
    assert_eq!(repo::git(&tree, &["rev-parse", "HEAD"]), bench.base.as_str());
    drop(scratch);
    assert!(!tree.exists(), "it goes away with its value");
    drop(locked);
    let work = bench.collect("L1").unwrap();
    assert_eq!(work.head, head, "the harness's index and state know nothing of it");
}

#[test]
fn between_two_states_what_is_ignored_stays_and_nothing_else_does() {
    let bench = Bench::new();
    bench.prepare("L1");
    bench.write(".gitignore", "target\n");
    let head = bench.collect("L1").unwrap().head;
    let locked = bench.lock();
    let scratch = locked.scratch().unwrap();
    let tree = scratch.tree();
    scratch.show(head.as_str(), &head).unwrap();
    for (path, text) in [("target/built", "x"), ("left.txt", "x"), ("src/main.txt", "by a test")] {
        repo::write(&tree.join(path), text);
    }
    // A link in the place of a folder leads nowhere.
    let outside = bench.repo.beside("outside");
    repo::write(&outside.join("main.txt"), "outside\n");
    fs::remove_dir_all(tree.join("src")).unwrap();
    symlink(&outside, tree.join("src")).unwrap();
    scratch.show(head.as_str(), &head).unwrap();
    assert!(tree.join("target/built").exists() && !tree.join("left.txt").exists());
    assert_eq!(fs::read_to_string(tree.join("src/main.txt")).unwrap(), "one\ntwo\n");
    assert!(fs::symlink_metadata(tree.join("src")).unwrap().is_dir());
    assert_eq!(fs::read_to_string(outside.join("main.txt")).unwrap(), "outside\n");
}

#[test]
fn what_a_killed_harness_left_beside_the_work_is_taken_away() {
    let bench = Bench::new();
    bench.prepare("L1");
    let locked = bench.lock();
    let scratch = locked.scratch().unwrap();
    scratch.show(bench.base.as_str(), &bench.base).unwrap();
    repo::write(&scratch.tree().join("left.txt"), "x");
    let place = scratch.tree();
    std::mem::forget(scratch);
    assert!(place.join("left.txt").exists());
    let scratch = locked.scratch().unwrap();
    assert_eq!(fs::read_dir(scratch.tree()).unwrap().count(), 0);
}

#[test]
fn dependencies_are_installed_again_only_where_the_lock_file_differs() {
    let bench = Bench::new();
    bench.prepare("L1");
    let locked = bench.lock();
    let scratch = locked.scratch().unwrap();
    let lock = ["deps.lock".to_owned()];
    assert!(scratch.needs_setup(&lock), "nothing was installed yet");
    assert!(!scratch.needs_setup(&lock));
    repo::write(&scratch.tree().join("deps.lock"), "1");
    assert!(scratch.needs_setup(&lock) && !scratch.needs_setup(&lock));
}
