//! Where a branch of the user's repository is, asked by somebody who thinks that they know.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use acquit_run::git::{CommitId, Error, Source};
use acquit_run::workspace::Error as WorkspaceError;
use acquit_testkit::repo::{self, Repo};

use crate::kit::{BRANCH, Bench, git, id, no_git};

/// A repository with two commits; `main` is at the second.
struct Two {
    repo: Repo,
    first: CommitId,
    second: CommitId,
}

impl Two {
    fn new(init: &[&str]) -> Self {
        let repo = Repo::with(init);
        let first = id(&repo.commit("first"));
        let second = id(&repo.commit("second"));
        Self { repo, first, second }
    }

    fn source(&self) -> Source {
        Source::discover(&git(), self.repo.path()).unwrap()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.repo.path().join(".git").join(name)
    }

    fn write(&self, name: &str, text: &str) {
        repo::write(&self.file(name), text);
    }
}

#[test]
fn a_branch_that_has_not_moved_is_seen_without_git() {
    for init in [&["--object-format=sha1"], &["--object-format=sha256"]] {
        let two = Two::new(init);
        two.repo.git(&["branch", "deep/er/branch"]);
        // An older place of the branch is in the packed refs; the file counts before it.
        two.repo.git(&["pack-refs", "--all"]);
        two.repo.git(&["update-ref", "refs/heads/main", two.first.as_str()]);
        two.repo.git(&["update-ref", "refs/heads/deep/er/branch", two.first.as_str()]);
        let bare = two.repo.beside("bare.git");
        two.repo.git(&["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
        repo::git(&bare, &["update-ref", "refs/heads/main", two.second.as_str()]);
        let (own, bare) = (two.source(), Source::discover(&git(), &bare).unwrap());
        for (source, branch, at) in
            [(&own, "main", &two.first), (&own, "deep/er/branch", &two.first), (&bare, "main", &two.second)]
        {
            assert_eq!(source.branch_known_at(&no_git(), branch, at).unwrap().as_ref(), Some(at));
            assert_eq!(source.branch(&git(), branch).unwrap().as_ref(), Some(at), "as git sees it");
        }
    }
}

#[test]
fn whatever_else_is_there_git_is_asked_about() {
    type Plant = fn(&Two);
    let plants: [(&str, Plant); 19] = [
        ("moved on", |t| drop(t.repo.commit("third"))),
        ("moved back", |t| drop(t.repo.git(&["update-ref", "refs/heads/main", t.first.as_str()]))),
        ("gone", |t| drop(t.repo.git(&["update-ref", "-d", "refs/heads/main"]))),
        ("packed", |t| drop(t.repo.git(&["pack-refs", "--all"]))),
        ("packed, and a folder is left", |t| {
            t.repo.git(&["pack-refs", "--all"]);
            fs::create_dir_all(t.file("refs/heads/main")).unwrap();
        }),
        ("a pointer to another ref", |t| {
            t.repo.git(&["branch", "other"]);
            t.repo.git(&["symbolic-ref", "refs/heads/main", "refs/heads/other"]);
        }),
        ("at no commit", |t| {
            let blob = t.repo.git(&["hash-object", "-w", "--stdin"]);
            t.write("refs/heads/main", &format!("{blob}\n"));
        }),
        ("at an object that is missing", |t| t.write("refs/heads/main", &format!("{}\n", "a".repeat(40)))),
        ("no line break", |t| t.write("refs/heads/main", t.second.as_str())),
        ("two line breaks", |t| t.write("refs/heads/main", &format!("{}\n\n", t.second))),
        ("words after it", |t| t.write("refs/heads/main", &format!("{} and more\n", t.second))),
        ("capital letters", |t| t.write("refs/heads/main", &format!("{}\n", t.second).to_uppercase())),
        ("nothing in it", |t| t.write("refs/heads/main", "")),
        ("far too much in it", |t| t.write("refs/heads/main", &format!("{}\n", t.second).repeat(1_000))),
        ("a link to a file elsewhere that says the same", |t| {
            let elsewhere = t.repo.beside("elsewhere");
            fs::rename(t.file("refs/heads/main"), &elsewhere).unwrap();
            symlink(elsewhere, t.file("refs/heads/main")).unwrap();
        }),
        ("a link to nowhere", |t| {
            fs::remove_file(t.file("refs/heads/main")).unwrap();
            symlink("/nonexistent/refs", t.file("refs/heads/main")).unwrap();
        }),
        ("a link in place of the folder", |t| {
            let elsewhere = t.repo.beside("elsewhere");
            fs::rename(t.file("refs/heads"), &elsewhere).unwrap();
            symlink(elsewhere, t.file("refs/heads")).unwrap();
        }),
        ("another storage of refs, by the configuration", |t| {
            let config = fs::read_to_string(t.file("config")).unwrap();
            let more = "[extensions]\n\tRefStorage = reftable\n";
            t.write("config", &(config.replace("version = 0", "version = 1") + more));
        }),
        ("a configuration elsewhere", |t| {
            let elsewhere = t.repo.beside("elsewhere");
            fs::rename(t.file("config"), &elsewhere).unwrap();
            symlink(elsewhere, t.file("config")).unwrap();
        }),
    ];
    for (what, plant) in plants {
        let two = Two::new(&[]);
        let source = two.source();
        plant(&two);
        let without = source.branch_known_at(&no_git(), "main", &two.second);
        assert!(matches!(without, Err(Error::Start(_))), "{what}: told without git: {without:?}");
        let (with, before) =
            (source.branch_known_at(&git(), "main", &two.second), source.branch(&git(), "main"));
        assert_eq!(format!("{with:?}"), format!("{before:?}"), "{what}");
    }
}

#[test]
fn a_pipe_in_place_of_a_branch_is_nothing_to_wait_for() {
    let two = Two::new(&[]);
    let source = two.source();
    let file = two.file("refs/heads/main");
    fs::remove_file(&file).unwrap();
    let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR);
    rustix::fs::mknodat(rustix::fs::CWD, &file, kind, mode, 0).unwrap();
    // Git itself would wait for whoever writes to it, within the limit of every call.
    let without = source.branch_known_at(&no_git(), "main", &two.second);
    assert!(matches!(without, Err(Error::Start(_))), "{without:?}");
}

#[test]
fn refs_of_linked_worktrees_and_of_reftables_are_told_by_git() {
    let two = Two::new(&[]);
    let linked = two.repo.beside("linked");
    two.repo.git(&["worktree", "add", "--quiet", "-b", "side", linked.to_str().unwrap()]);
    let source = Source::discover(&git(), &linked).unwrap();
    // Git does not look at this one.
    repo::write(&source.git_dir().join("refs/heads/main"), &format!("{}\n", two.first));
    let table = Two::new(&["--ref-format=reftable"]);
    fs::remove_file(table.file("refs/heads")).unwrap();
    table.write("refs/heads/main", &format!("{}\n", table.first));
    for (source, planted, at) in
        [(source, &two.first, &two.second), (table.source(), &table.first, &table.second)]
    {
        let without = source.branch_known_at(&no_git(), "main", planted);
        assert!(matches!(without, Err(Error::Start(_))), "{without:?}");
        assert_eq!(source.branch_known_at(&git(), "main", planted).unwrap().as_ref(), Some(at));
    }
}

#[test]
fn names_and_commits_that_are_none_of_this_repository_are_not_looked_for() {
    let two = Two::new(&[]);
    let source = two.source();
    two.write("secret", &format!("{}\n", two.second));
    for name in ["../../secret", "/etc/passwd", "main/..", "", ".", "a//b"] {
        let found = source.branch_known_at(&git(), name, &two.second);
        assert!(matches!(found, Err(Error::BadName { .. })), "{name:?}: {found:?}");
    }
    let long: CommitId = "a".repeat(64).parse().unwrap();
    two.write("refs/heads/main", &format!("{long}\n"));
    assert_eq!(source.branch_known_at(&git(), "main", &long).unwrap(), None);
}

#[test]
fn a_known_commit_that_is_lost_fails_where_its_files_are_needed() {
    let bench = Bench::new();
    let object = bench
        .repo
        .path()
        .join(".git/objects")
        .join(&bench.base.as_str()[..2])
        .join(&bench.base.as_str()[2..]);
    fs::remove_file(object).unwrap();
    // Git says that there is no such branch, the file that it has not moved: the leg goes on from the commit it knows in both.
    assert_eq!(bench.source.branch(&git(), "main").unwrap(), None);
    assert_eq!(
        bench.source.branch_known_at(&git(), "main", &bench.base).unwrap().as_ref(),
        Some(&bench.base)
    );
    let error = bench.lock().prepare("L1", &bench.base, BRANCH).unwrap_err();
    let words = acquit_run::harness::chain(&error);
    assert!(matches!(error, WorkspaceError::Git { .. }), "{error:?}");
    assert!(words.contains("fill the work tree") && words.contains(bench.base.as_str()), "{words}");
}
