//! Finding and understanding the user's repository.

use acquit_core::ids::TaskId;
use acquit_run::git::{Error, Identity, Source};
use acquit_testkit::repo::{self, Repo};

use crate::kit::{Bench, git, id, no_git, store};

#[test]
fn a_folder_that_is_no_repository_is_named() {
    let place = tempfile::tempdir().unwrap();
    let error = Source::discover(&git(), place.path()).unwrap_err();
    assert!(matches!(error, Error::NotARepository { .. }), "{error:?}");
    let missing = Source::discover(&git(), &place.path().join("missing")).unwrap_err();
    assert!(matches!(missing, Error::Path { .. }), "{missing:?}");
}

#[test]
fn a_machine_without_git_is_told_so() {
    let repo = Repo::sample();
    let error = Source::discover(&no_git(), repo.path()).unwrap_err();
    assert!(matches!(error, Error::Start(_)), "{error:?}");
}

#[test]
fn a_repository_without_commits_has_no_base() {
    let repo = Repo::empty();
    let source = Source::discover(&git(), repo.path()).unwrap();
    for name in [None, Some("main")] {
        let error = source.base(&git(), name).unwrap_err();
        assert!(matches!(error, Error::NoCommits { .. }), "{error:?}");
    }
}

#[test]
fn a_base_is_a_branch_a_commit_or_the_head() {
    let repo = Repo::sample();
    let first = id(&repo.git(&["rev-parse", "HEAD"]));
    repo.git(&["branch", "release/1.0"]);
    repo.git(&["tag", "-a", "-m", "x", "v1"]);
    repo.write("README.md", "second\n");
    let second = id(&repo.commit("second"));
    let source = Source::discover(&git(), repo.path()).unwrap();

    let base = |name| source.base(&git(), name).unwrap();
    assert_eq!((base(None).branch.as_deref(), base(None).commit), (Some("main"), second.clone()));
    assert_eq!(base(Some("release/1.0")).branch.as_deref(), Some("release/1.0"));
    assert_eq!(base(Some("refs/heads/release/1.0")).commit, first);
    assert_eq!((base(Some("v1")).branch, base(Some("v1")).commit), (None, first.clone()));
    assert_eq!(base(Some(first.short())).commit, first);

    repo.git(&["checkout", "--quiet", "--detach", first.as_str()]);
    assert_eq!((base(None).branch, base(None).commit), (None, first));
    for bad in ["", "nowhere", "--all", "main..v1", "main\n", "v1^{tree}", "a\0b"] {
        let error = source.base(&git(), Some(bad)).unwrap_err();
        assert!(matches!(error, Error::UnknownBase { .. }), "{bad:?} {error:?}");
    }
}

#[test]
fn bare_linked_nested_and_oddly_named_repositories_are_sources() {
    let repo = Repo::at("a repo – mit Blank", &[]);
    repo.write("sub folder/ü.txt", "x\n");
    let head = id(&repo.commit("first"));
    let (bare, linked) = (repo.beside("bare.git"), repo.beside("linked"));
    repo.git(&["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
    repo.git(&["worktree", "add", "--quiet", "-b", "other", linked.to_str().unwrap()]);

    for (path, branch, is_bare) in
        [(bare, "main", true), (linked, "other", false), (repo.path().join("sub folder"), "main", false)]
    {
        let source = Source::discover(&git(), &path).unwrap();
        let base = source.base(&git(), None).unwrap();
        assert_eq!((base.branch.as_deref(), &base.commit, source.is_bare()), (Some(branch), &head, is_bare));
        assert!(!source.is_dirty(&git()).unwrap());
        let dir = path.parent().unwrap().join(format!("task of {branch} {is_bare}"));
        let workspace = acquit_run::workspace::Workspace::open(&dir, &source, git(), &store()).unwrap();
        workspace.lock("test").unwrap().prepare("L1", &head, "acquit/x").unwrap();
        assert_eq!(std::fs::read_to_string(dir.join("work/sub folder/ü.txt")).unwrap(), "x\n");
    }
}

#[test]
fn other_object_and_ref_formats_work_to_the_end() {
    for init in [["--object-format=sha256"], ["--ref-format=reftable"]] {
        let repo = Repo::with(&init);
        repo.write("README.md", "sample\n");
        repo.commit("first");
        let bench = Bench::on(repo);
        assert!(bench.prepare("L1").created);
        bench.write("README.md", "by the agent\n");
        bench.agent(&["commit", "--quiet", "-am", "work"]);
        let work = bench.collect("L1").unwrap();
        let locked = bench.lock();
        locked.publish(&bench.source, "acquit/x", &work.head).unwrap();
        bench.source.pin(&git(), &store(), TaskId(1), &bench.base).unwrap();
        assert_eq!(bench.repo.git(&["show", "acquit/x:README.md"]), "by the agent", "{init:?}");
    }
}

#[test]
fn a_partial_clone_is_used_where_the_files_of_the_commit_are_there() {
    let repo = Repo::sample();
    repo.write("old", "only in the past\n");
    repo.commit("second");
    repo.git(&["rm", "-q", "old"]);
    repo.commit("third");
    repo.git(&["config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", repo.path().display());
    let path = repo.beside("partial");
    repo.git(&["clone", "--quiet", "--filter=blob:none", &url, path.to_str().unwrap()]);
    let source = Source::discover(&git(), &path).unwrap();
    let commit = |name: &str| source.base(&git(), Some(name)).unwrap().commit;
    source.check_complete(&git(), &commit("HEAD")).unwrap();
    // The commit before has a file that was never checked out. Nothing fetches it.
    let error = source.check_complete(&git(), &commit("HEAD~1")).unwrap_err();
    assert!(matches!(error, Error::Partial { missing: 1, .. }), "{error:?}");
    Source::discover(&git(), repo.path()).unwrap().check_complete(&git(), &commit("HEAD~1")).unwrap();
}

#[test]
fn a_repository_of_another_user_is_refused_in_clear_words() {
    // Only root can give a folder away; elsewhere the case cannot be made.
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let repo = Repo::sample();
    for path in [repo.path().to_owned(), repo.path().join(".git")] {
        std::os::unix::fs::chown(path, Some(12_345), None).unwrap();
    }
    let error = Source::discover(&git(), repo.path()).unwrap_err();
    assert!(matches!(error, Error::ForeignOwner { .. }), "{error:?}");
}

#[test]
fn a_dirty_checkout_is_seen_and_its_index_is_not_written() {
    let repo = Repo::sample();
    let source = Source::discover(&git(), repo.path()).unwrap();
    let before = repo.fingerprint(&[]);
    assert!(!source.is_dirty(&git()).unwrap());
    repo.write("new.txt", "x");
    assert!(source.is_dirty(&git()).unwrap());
    assert!(repo.fingerprint(&[]) == before, "the git directory changed");
}

#[test]
fn the_identity_comes_from_the_users_settings_or_is_neutral() {
    let repo = Repo::sample();
    let source = Source::discover(&git(), repo.path()).unwrap();
    let home = repo.beside("home");
    repo::write(&home.join(".gitconfig"), "[user]\n\tname = Ada\n\temail = ada@example.org\n");
    assert_eq!(source.identity(&git(), None), Identity::neutral());
    assert_eq!(source.identity(&git(), Some(&home)), Identity::new("Ada", "ada@example.org"));
    repo.git(&["config", "user.name", "Grace"]);
    assert_eq!(source.identity(&git(), Some(&home)), Identity::new("Grace", "ada@example.org"));
}

#[test]
fn a_pinned_commit_survives_a_clean_up_of_the_users_repository() {
    let repo = Repo::sample();
    repo.git(&["checkout", "--quiet", "-b", "gone"]);
    let lost = id(&repo.commit("to be kept"));
    repo.git(&["checkout", "--quiet", "main"]);
    repo.git(&["branch", "--quiet", "-D", "gone"]);
    let source = Source::discover(&git(), repo.path()).unwrap();
    source.pin(&git(), &store(), TaskId(1), &lost).unwrap();
    source.pin(&git(), &store(), TaskId(1), &lost).unwrap();
    repo.git(&[
        "-c",
        "gc.reflogExpire=now",
        "-c",
        "gc.reflogExpireUnreachable=now",
        "gc",
        "--quiet",
        "--prune=now",
    ]);
    repo.git(&["cat-file", "-e", lost.as_str()]);
    source.unpin(&git(), &store(), TaskId(1)).unwrap();
    source.unpin(&git(), &store(), TaskId(1)).unwrap();
    assert_eq!(repo.git(&["for-each-ref", "refs/acquit"]), "");
}

/// As a git leaves it that is killed while it deletes a ref.
#[test]
fn a_stale_lock_of_packed_refs_is_removed_before_a_ref_is_deleted() {
    let repo = Repo::sample();
    let base = id(&repo.git(&["rev-parse", "HEAD"]));
    let source = Source::discover(&git(), repo.path()).unwrap();
    source.pin(&git(), &store(), TaskId(1), &base).unwrap();
    let lock = repo.path().join(".git/packed-refs.lock");
    let file = std::fs::File::create(&lock).unwrap();
    let made = file.metadata().unwrap().modified().unwrap();
    file.set_modified(made - std::time::Duration::from_mins(1)).unwrap();
    source.unpin(&git(), &store(), TaskId(1)).unwrap();
    assert!(!lock.exists());
    assert_eq!(repo.git(&["for-each-ref", "refs/acquit"]), "");
}

#[test]
fn a_branch_is_taken_by_whoever_has_it_and_by_a_task_of_the_same_number_of_another_store() {
    let repo = Repo::sample();
    let base = id(&repo.git(&["rev-parse", "HEAD"]));
    let source = Source::discover(&git(), repo.path()).unwrap();
    let (mine, theirs) = (store(), "0123abcd".parse().unwrap());
    let taken = |store, task| source.is_taken(&git(), store, TaskId(task), "acquit/x-T-1").unwrap();
    source.pin(&git(), &mine, TaskId(1), &base).unwrap();
    assert!(!taken(&mine, 1));
    source.pin(&git(), &theirs, TaskId(11), &base).unwrap();
    assert!(!taken(&mine, 1), "another number");
    source.pin(&git(), &theirs, TaskId(1), &base).unwrap();
    assert!(taken(&mine, 1) && taken(&theirs, 1));
    source.unpin(&git(), &theirs, TaskId(1)).unwrap();
    assert!(!taken(&mine, 1) && taken(&theirs, 1));
    repo.git(&["branch", "acquit/x-T-1"]);
    assert!(taken(&mine, 1));
}

#[test]
fn planted_programs_of_the_source_never_run() {
    let bench = Bench::new();
    let (program, trace) = crate::kit::tripwire(&bench);
    let program = program.to_str().unwrap();
    for key in
        ["core.fsmonitor", "core.sshCommand", "core.pager", "core.editor", "gpg.program", "diff.external"]
    {
        bench.repo.git(&["config", key, program]);
    }
    for hook in ["reference-transaction", "post-index-change", "post-checkout", "pre-commit"] {
        std::fs::create_dir_all(bench.repo.path().join(".git/hooks")).unwrap();
        std::fs::copy(program, bench.repo.path().join(".git/hooks").join(hook)).unwrap();
    }
    bench.source.is_dirty(&git()).unwrap();
    bench.source.pin(&git(), &store(), TaskId(1), &bench.base).unwrap();
    bench.prepare("L1");
    bench.write("README.md", "changed\n");
    let work = bench.collect("L1").unwrap();
    bench.lock().publish(&bench.source, "acquit/x", &work.head).unwrap();
    assert!(!trace.exists(), "{}", std::fs::read_to_string(&trace).unwrap());
}
