//! Repositories, folders and surroundings that are not as usual.

use std::fs;

use acquit_testkit::repo::{self, Repo};

use super::{ACQUIT, Bench, WORKS, finish};

fn lines(text: &str) -> Vec<&str> {
    text.lines().collect()
}

#[test]
fn a_repository_without_commits_is_refused() {
    let bench = Bench::new();
    let empty = bench.place("empty");
    repo::write(&empty.join(".acquit/acquit.toml"), &bench.read(".acquit/acquit.toml"));
    repo::write(&empty.join(".acquit/workflows/flow.toml"), &bench.read(".acquit/workflows/flow.toml"));
    repo::git(&empty, &["init", "--quiet"]);
    let ran = finish(bench.command(&["run", "x"]).current_dir(&empty)).must(2);
    assert_eq!(
        bench.mask(ran.err.trim()),
        "error: failed to find a commit to start from in [ROOT]/empty: the repository has no commits yet; make a first one"
    );
    finish(bench.command(&["task", "list"]).current_dir(&empty)).must(0).says("no tasks yet");
}

#[test]
fn a_folder_outside_of_a_repository_is_refused() {
    let bench = Bench::new();
    for args in [&["run", "x"][..], &["init"], &["check"], &["workflow", "check"]] {
        let ran = finish(bench.command(args).current_dir(bench.place("home"))).must(2);
        assert_eq!(
            lines(&bench.mask(&ran.err)),
            [
                "error: failed to find a git repository at [ROOT]/home",
                "",
                "hint: acquit works in a git repository: go to one, or run `git init`"
            ]
        );
    }
}

#[test]
fn a_detached_head_is_a_base_like_any_other() {
    let bench = Bench::new();
    bench.repo().git(&["checkout", "--quiet", "--detach"]);
    bench.run_to(0).says("acquit diff T-1");
    finish(&mut bench.command(&["diff", "T-1"])).must(0).says("+work");
    finish(&mut bench.command(&["merge", "T-1"])).must(2).says("nothing to merge into");
    assert_eq!(bench.at_ref("acquit/do-it-T-1", "new.txt"), "work");
    assert_eq!(bench.repo().git(&["rev-parse", "--abbrev-ref", "HEAD"]), "HEAD", "the checkout was moved");
}

#[test]
fn a_bare_repository_takes_tasks() {
    let bench = Bench::new();
    let bare = bench.place("bare.git");
    bench.repo().git(&["clone", "--quiet", "--bare", ".", &bare.to_string_lossy()]);
    let inside = |args: &[&str]| finish(bench.command(args).current_dir(&bare));
    inside(&["run", "x"]).must(2).says("failed to find .acquit/acquit.toml in").says("run `acquit init`");
    repo::write(&bare.join(".acquit/acquit.toml"), &bench.read(".acquit/acquit.toml"));
    repo::write(&bare.join(".acquit/workflows/flow.toml"), &bench.read(".acquit/workflows/flow.toml"));
    inside(&["run", "x"]).must(0);
    assert_eq!(repo::git(&bare, &["show", "acquit/x-T-1:new.txt"]), "work");
}

#[test]
fn a_dirty_checkout_is_told_and_left_as_it_is() {
    let bench = Bench::new();
    bench.repo().write("README.md", "changed\n");
    bench.repo().write("untracked", "mine\n");
    let before = bench.repo().git(&["status", "--porcelain"]);
    let ran = bench
        .run_to(0)
        .says("warning: your checkout has uncommitted changes; the task starts from the commit, without them")
        .says("to merge it, first commit or stash your changes in");
    assert!(!ran.out.contains("acquit merge"), "{ran}");
    assert_eq!(bench.repo().git(&["status", "--porcelain"]), before);
    assert_eq!(bench.read("README.md"), "changed\n");
    assert_eq!(bench.at_ref("acquit/do-it-T-1", "README.md"), "sample");
}

#[test]
fn blanks_and_letters_of_any_script_are_fine_in_every_path() {
    let bench = Bench::at("mein Projekt ü 日本 'q\"$x", "echo work > 'neue Datei ß'");
    let home = bench.place("Wohnung ü $HOME 'x");
    let run = |args: &[&str]| finish(bench.command(args).env("ACQUIT_HOME", &home));
    run(&["run", "Füge hinzu"]).must(0);
    assert_eq!(bench.at_ref("acquit/f-ge-hinzu-T-1", "neue Datei ß"), "work");
    run(&["task", "list"]).must(0).says("Füge hinzu");
    assert!(home.join("acquit.db").exists(), "the home was not used");
}

#[test]
fn a_submodule_survives() {
    let bench = Bench::new();
    let other = Repo::sample();
    let url = other.path().to_string_lossy().into_owned();
    bench.repo().git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &url, "sub"]);
    bench.repo().commit("a submodule");
    bench.run_to(0);
    let link = |at: &str| bench.repo().git(&["ls-tree", at, "sub"]);
    assert_eq!(link("acquit/do-it-T-1"), link("main"));
    assert_eq!(bench.read("sub/README.md"), "sample\n");
}

#[test]
fn a_linked_worktree_is_a_repository_like_any_other() {
    let bench = Bench::new();
    let tree = bench.place("linked");
    bench.repo().git(&["worktree", "add", "--quiet", &tree.to_string_lossy()]);
    finish(bench.command(&["run", "x"]).current_dir(&tree)).must(0).says("acquit diff T-1");
    finish(bench.command(&["diff", "T-1"]).current_dir(&tree)).must(0).says("+work");
    assert_eq!(bench.at_ref("acquit/x-T-1", "new.txt"), "work");
    let listed = bench.repo().git(&["worktree", "list"]);
    assert_eq!(listed.lines().count(), 2, "{listed}");
}

#[test]
fn a_folder_of_the_repository_is_in_the_repository() {
    let bench = Bench::new();
    bench.repo().write("deep/er/file", "");
    bench.repo().commit("folders");
    finish(bench.command(&["run", "x"]).current_dir(bench.repo().path().join("deep/er"))).must(0);
    assert_eq!(bench.at_ref("acquit/x-T-1", "new.txt"), "work");
}

#[test]
fn a_missing_git_is_told() {
    let bench = Bench::new();
    for path in [bench.place("home").into_os_string(), "".into()] {
        let ran = finish(bench.command(&["run", "x"]).env("PATH", path)).must(5);
        assert!(ran.err.starts_with("error: failed to run git: start "), "{ran}");
        ran.says("no such program\n\nhint: install git, or add the folder that it is in to PATH\n");
    }
}

#[test]
fn a_home_is_needed_and_may_be_relative() {
    let bench = Bench::new();
    let ran = finish(bench.command(&["task", "list"]).env_remove("HOME").env_remove("ACQUIT_HOME")).must(2);
    assert_eq!(
        lines(&ran.err),
        [
            "error: failed to find a place for acquit's files: neither ACQUIT_HOME nor HOME is set",
            "",
            "hint: set ACQUIT_HOME to a folder that acquit may write to"
        ]
    );
    let own = bench.place("home/.config/acquit/config.toml");
    finish(bench.command(&["run", "x"]).env_remove("HOME").env("ACQUIT_CONFIG", own)).must(0);
    finish(bench.command(&["run", "y"]).env("ACQUIT_HOME", "../relative")).must(0);
    assert!(bench.place("relative/acquit.db").exists());
    finish(bench.command(&["task", "list"]).env_remove("ACQUIT_HOME")).must(0).says("no tasks yet");
    assert!(bench.place("home/.local/share/acquit/acquit.db").exists());
}

#[test]
fn a_home_that_is_a_file_is_told() {
    let bench = Bench::new();
    fs::write(bench.place("file"), "").unwrap();
    finish(bench.command(&["run", "x"]).env("ACQUIT_HOME", bench.place("file")))
        .must(5)
        .says("failed to open the store");
}

#[test]
fn a_current_folder_that_is_gone_is_told() {
    let bench = Bench::new();
    let script = r#"mkdir "$HOME/gone" && cd "$HOME/gone" && rmdir "$HOME/gone" && exec "$ACQUIT" run x"#;
    finish(bench.program("sh").args(["-c", script]))
        .must(5)
        .says("failed to find the current folder")
        .says("hint: it was removed or cannot be entered: go to another folder");
}

#[test]
fn tasks_are_listed_from_any_folder() {
    let bench = Bench::agent(WORKS);
    bench.acquit(&["task", "add", "Do it"]).must(0);
    finish(bench.command(&["task", "list"]).current_dir(bench.place("home"))).must(0).says("Do it");
}

#[test]
fn a_repository_that_moved_away_ends_in_a_message() {
    let bench = Bench::agent(WORKS);
    bench.acquit(&["task", "add", "Do it"]).must(0);
    let moved = bench.place("moved");
    fs::rename(bench.repo().path(), &moved).unwrap();
    let ran = finish(bench.program(ACQUIT).args(["run", "T-1"]).current_dir(&moved)).must(3);
    ran.says("T-1 needs your input").says("failed");
    fs::rename(&moved, bench.repo().path()).unwrap();
    bench.acquit(&["task", "retry", "T-1"]).must(0);
    bench.acquit(&["run", "T-1"]).must(0);
    assert_eq!(bench.at_ref("acquit/do-it-T-1", "new.txt"), "work");
}
