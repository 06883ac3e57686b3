//! Agents that mean harm: nothing of theirs runs, nothing foreign comes in, and nothing is lost.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use acquit_run::workspace::Error;
use acquit_testkit::repo::{self, Repo};

use crate::kit::{BRANCH, Bench, tripwire};

fn guardrail(error: Error, word: &str) {
    assert!(matches!(&error, Error::Guardrail { what } if what.contains(word)), "{error:?}");
}

#[test]
fn planted_programs_never_run() {
    let bench = Bench::new();
    let (program, trace) = tripwire(&bench);
    let program = program.to_str().unwrap();
    bench.prepare("L1");
    bench.write("README.md", "committed\n");
    repo::commit_all(&bench.tree(), "mine");
    let hooks = bench.tree().join(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    for hook in [
        "pre-commit",
        "post-index-change",
        "reference-transaction",
        "post-checkout",
        "post-commit",
        "commit-msg",
    ] {
        fs::copy(program, hooks.join(hook)).unwrap();
    }
    let config = bench.tree().join(".git/config");
    let text = fs::read_to_string(&config).unwrap();
    let planted = format!(
        "[core]\n\tfsmonitor = {program}\n\tsshCommand = {program}\n\tpager = {program}\n\tworktree = /\n\
         [filter \"x\"]\n\tclean = {program}\n\tsmudge = {program}\n\tprocess = {program}\n\trequired = true\n\
         [diff]\n\texternal = {program}\n[diff \"x\"]\n\tcommand = {program}\n\ttextconv = {program}\n\
         [gpg]\n\tprogram = {program}\n[uploadpack]\n\tpackObjectsHook = {program}\n\
         [remote \"o\"]\n\tpromisor = true\n\turl = ext::{program}\n[extensions]\n\tpartialClone = o\n\
         [include]\n\tpath = {program}\n[alias]\n\tstatus = !{program}\n"
    );
    fs::write(&config, text + &planted).unwrap();
    bench.write(".gitattributes", "* filter=x diff=x merge=x\n");
    bench.write(".git/info/attributes", "* filter=x diff=x\n");
    bench.write(".git/index", "rubbish");
    bench.write("dirty.txt", "left over\n");

    let work = bench.collect("L1").unwrap();
    assert_eq!(bench.changed(&work), [".gitattributes", "README.md", "dirty.txt"]);
    bench.write("more.txt", "abandoned\n");
    let saved = bench.prepare("L2").saved.expect("an attempt");
    assert_eq!(bench.saved(&saved.commit, "more.txt"), "abandoned");
    bench.assert_fresh();
    assert!(!trace.exists(), "{}", fs::read_to_string(&trace).unwrap());
}

#[test]
fn another_repositorys_objects_are_not_imported() {
    let secret = Repo::empty();
    secret.write("key", "secret\n");
    let stolen = secret.commit("private");
    type Way = fn(&Bench, &Repo);
    let ways: [(&str, Way, &str); 3] = [
        (
            "alternates",
            |b, s| b.write(".git/objects/info/alternates", &format!("{}/.git/objects\n", s.path().display())),
            "borrows",
        ),
        (
            "a linked folder",
            |b, s| {
                fs::remove_dir_all(b.tree().join(".git/objects/pack")).ok();
                symlink(s.path().join(".git/objects"), b.tree().join(".git/objects/pack")).unwrap();
            },
            "symbolic link",
        ),
        (
            "no alternates",
            |b, _| fs::remove_file(b.tree().join(".git/objects/info/alternates")).unwrap(),
            "borrows",
        ),
    ];
    for (name, way, word) in ways {
        let bench = Bench::new();
        bench.prepare("L1");
        way(&bench, &secret);
        bench.write(&format!(".git/refs/heads/{BRANCH}"), &format!("{stolen}\n"));
        guardrail(bench.collect("L1").unwrap_err(), word);
        let saved = bench.prepare("L2").saved.expect("the repository, kept aside");
        assert_eq!(saved.kept.len(), 1, "{name}");
        assert!(!repo::git_succeeds(&bench.dir.join("git"), &["cat-file", "-e", &stolen]), "{name}");
        bench.assert_fresh();
    }
}

#[test]
fn a_branch_that_is_not_plainly_one_commit_is_refused() {
    type Way = fn(&Bench);
    let ways: [(Way, &str); 7] = [
        (|b| b.write(&format!(".git/refs/heads/{BRANCH}"), "ref: refs/heads/other\n"), "another ref"),
        (|b| b.write(&format!(".git/refs/heads/{BRANCH}"), "rubbish\n"), "no commit id"),
        (|b| b.write(&format!(".git/refs/heads/{BRANCH}"), &"a".repeat(1 << 20)), "not a plain file"),
        (|b| fs::remove_file(b.tree().join(format!(".git/refs/heads/{BRANCH}"))).unwrap(), "gone"),
        (
            |b| {
                let branch = b.tree().join(format!(".git/refs/heads/{BRANCH}"));
                fs::remove_file(&branch).unwrap();
                symlink("/etc/passwd", &branch).unwrap();
            },
            "not a plain file",
        ),
        (
            |b| {
                fs::rename(b.tree().join(".git/refs"), b.dir.join("work/refs")).unwrap();
                symlink("../refs", b.tree().join(".git/refs")).unwrap();
            },
            "not a plain file",
        ),
        (|b| b.write(&format!(".git/refs/heads/{BRANCH}"), &format!("{}\n", "a".repeat(64))), "another kind"),
    ];
    for (way, word) in ways {
        let bench = Bench::new();
        bench.prepare("L1");
        bench.write("README.md", "work\n");
        way(&bench);
        guardrail(bench.collect("L1").unwrap_err(), word);
        let saved = bench.prepare("L2").saved.expect("an attempt");
        assert_eq!(bench.saved(&saved.commit, "README.md"), "work", "{word}");
        bench.assert_fresh();
    }
}

#[test]
fn a_tip_that_leaves_the_start_behind_is_refused() {
    let bench = Bench::new();
    bench.repo.write("README.md", "second\n");
    let older = bench.base.clone();
    let start = crate::kit::id(&bench.repo.commit("second"));
    for how in
        [vec!["reset", "--quiet", "--hard", older.as_str()], vec!["checkout", "--quiet", "--orphan", "fresh"]]
    {
        bench.lock().prepare("L1", &start, BRANCH).unwrap();
        bench.agent(&how);
        bench.write("README.md", "elsewhere\n");
        repo::commit_all(&bench.tree(), "rewritten");
        bench.agent(&["checkout", "--quiet", "-B", BRANCH]);
        guardrail(bench.collect("L1").unwrap_err(), "does not build on");
        let saved = bench.lock().prepare("L2", &start, BRANCH).unwrap().saved.expect("an attempt");
        assert_eq!(bench.saved(&saved.commit, "README.md"), "elsewhere");
    }
}

#[test]
fn a_repository_that_was_replaced_or_deleted_is_refused_and_the_tree_saved() {
    type Way = fn(&Bench);
    let ways: [(Way, &str); 3] = [
        (|_| {}, "deleted"),
        (
            |b| {
                fs::write(b.tree().join(".git"), format!("gitdir: {}/.git\n", b.repo.path().display()))
                    .unwrap();
            },
            "a file",
        ),
        (|b| symlink(b.repo.path().join(".git"), b.tree().join(".git")).unwrap(), "a symbolic link"),
    ];
    for (way, word) in ways {
        let bench = Bench::new();
        let before = bench.repo.fingerprint(&[]);
        bench.prepare("L1");
        bench.write("README.md", "work\n");
        fs::remove_dir_all(bench.tree().join(".git")).unwrap();
        way(&bench);
        guardrail(bench.collect("L1").unwrap_err(), word);
        let saved = bench.prepare("L2").saved.expect("an attempt");
        assert_eq!(bench.saved(&saved.commit, "README.md"), "work");
        bench.assert_fresh();
        assert!(bench.repo.fingerprint(&[]) == before, "the user's repository changed: {word}");
    }
}

#[test]
fn packed_refs_detached_heads_and_broken_off_rebases_are_understood() {
    let bench = Bench::new();
    bench.prepare("L1");
    bench.write("README.md", "work\n");
    let tip = repo::commit_all(&bench.tree(), "mine");
    bench.agent(&["pack-refs", "--all"]);
    bench.agent(&["gc", "--quiet"]);
    assert_eq!(bench.collect("L1").unwrap().head.as_str(), tip);

    bench.prepare("L2");
    bench.write("README.md", "side\n");
    bench.agent(&["checkout", "--quiet", "-b", "side"]);
    repo::commit_all(&bench.tree(), "on a side branch");
    bench.agent(&["checkout", "--quiet", BRANCH]);
    bench.write("README.md", "main\n");
    repo::commit_all(&bench.tree(), "on the branch");
    assert!(!repo::git_succeeds(&bench.tree(), &["rebase", "side"]), "a conflict");
    bench.write("stray.txt", "in the middle of it\n");
    let saved = bench.prepare("L3").saved.expect("an attempt");
    assert_eq!(bench.saved(&saved.commit, "stray.txt"), "in the middle of it");
    assert!(saved.kept.is_empty(), "{saved:?}");
    let told = bench.harness(&["log", "--format=%s", saved.commit.as_str()]);
    assert!(told.contains("on a side branch") && told.contains("on the branch"), "{told}");
    bench.assert_fresh();
}

#[test]
fn repositories_inside_the_tree_are_kept_and_their_files_saved() {
    let bench = Bench::new();
    bench.prepare("L1");
    for folder in ["vendor/lib", "cache/lib", "src"] {
        bench.write(&format!("{folder}/code.txt"), "code\n");
        let at = bench.tree().join(folder);
        repo::git(&at, &["init", "--quiet"]);
        repo::commit_all(&at, "inner");
    }
    let work = bench.collect("L1").unwrap();
    assert_eq!(bench.changed(&work), ["src/code.txt", "vendor/lib/code.txt"]);
    assert_eq!(work.kept.len(), 2);
    repo::git(&bench.tree().join("vendor/lib"), &["init", "--quiet"]);
    repo::git(&bench.tree().join("src"), &["init", "--quiet"]);
    bench.write("vendor/lib/code.txt", "changed\n");

    let saved = bench.prepare("L2").saved.expect("an attempt");
    assert_eq!(bench.saved(&saved.commit, "vendor/lib/code.txt"), "changed");
    assert_eq!(bench.saved(&saved.commit, "src/code.txt"), "code");
    assert_eq!(saved.kept.len(), 2);
    assert!(bench.tree().join("cache/lib/.git").exists(), "ignored folders stay as they are");
    assert!(!bench.tree().join("vendor").join("lib/code.txt").exists());
    bench.assert_fresh();
}

#[test]
fn trees_that_git_cannot_read_or_store_are_still_kept() {
    let bench = Bench::new();
    bench.prepare("L1");
    bench.write("closed/file.txt", "closed\n");
    fs::set_permissions(bench.tree().join("closed/file.txt"), fs::Permissions::from_mode(0o0)).unwrap();
    fs::set_permissions(bench.tree().join("closed"), fs::Permissions::from_mode(0o0)).unwrap();
    bench.write(".gitattributes", "*.txt working-tree-encoding=UTF-16\n");
    bench.write("odd.txt", "no sixteen bits\n");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        bench.tree().join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    let saved = bench.prepare("L2").saved.expect("an attempt");
    assert_eq!(bench.saved(&saved.commit, "closed/file.txt"), "closed");
    assert_eq!(bench.saved(&saved.commit, "odd.txt"), "no sixteen bits");

    bench.write("git~1/config", "a name that git refuses\n");
    let saved = bench.prepare("L3").saved.expect("an attempt");
    let kept = saved.kept.first().expect("the tree, moved aside");
    assert_eq!(fs::read_to_string(kept.join("git~1/config")).unwrap(), "a name that git refuses\n");
    bench.assert_fresh();
}

#[test]
fn objects_that_do_not_check_out_are_refused() {
    let bench = Bench::new();
    bench.prepare("L1");
    // A tree with an entry named ".git", which git itself would not make.
    let blob = bench.agent(&["hash-object", "-w", "README.md"]);
    let mut tree = b"100644 .git\0".to_vec();
    tree.extend((0..40).step_by(2).map(|i| u8::from_str_radix(&blob[i..i + 2], 16).unwrap()));
    fs::write(bench.dir.join("tree"), tree).unwrap();
    let file = bench.dir.join("tree");
    let tree = bench.agent(&["hash-object", "-w", "-t", "tree", "--literally", file.to_str().unwrap()]);
    let bad = bench.agent(&["commit-tree", "-m", "bad", "-p", "HEAD", &tree]);
    bench.agent(&["update-ref", &format!("refs/heads/{BRANCH}"), &bad]);
    guardrail(bench.collect("L1").unwrap_err(), "hasDotgit");
    assert!(!repo::git_succeeds(&bench.dir.join("git"), &["cat-file", "-e", &bad]));
    assert_eq!(bench.prepare("L2").saved.expect("kept aside").kept.len(), 1);
    bench.assert_fresh();
}

#[test]
fn the_sending_side_can_be_replaced() {
    let bench = Bench::new();
    bench.prepare("L1");
    bench.write("README.md", "work\n");
    repo::commit_all(&bench.tree(), "mine");
    let refused = bench.workspace().with_upload_pack("false").lock("t").unwrap();
    assert!(matches!(refused.collect("L1", crate::kit::commit_leftovers()), Err(Error::Git { .. })));
    drop(refused);
    let wrapped = bench.workspace().with_upload_pack("env A=B git-upload-pack").lock("t").unwrap();
    assert_eq!(wrapped.collect("L1", crate::kit::commit_leftovers()).unwrap().new_commits.len(), 1);
}

#[test]
fn a_sending_side_that_was_killed_midway_is_asked_again() {
    let bench = Bench::new();
    bench.prepare("L1");
    // More than the refs and the negotiation take, so that the end comes in the middle of the pack.
    let lines: Vec<String> =
        (0..4000_u64).map(|n| format!("{:x}\n", n.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    bench.write("noise.txt", &lines.concat());
    repo::commit_all(&bench.tree(), "mine");
    let (command, asked) = (bench.repo.beside("sender"), bench.repo.beside("asked"));
    let text = format!(
        "#!/bin/sh\necho again >> '{asked}'\n[ $(wc -l < '{asked}') -gt 1 ] && exec git-upload-pack \"$@\"\n\
         git-upload-pack \"$@\" | dd bs=1 count=9000 status=none\n",
        asked = asked.display()
    );
    repo::write(&command, &text);
    fs::set_permissions(&command, fs::Permissions::from_mode(0o755)).unwrap();
    let workspace = bench.workspace().with_upload_pack(&command).lock("t").unwrap();
    assert_eq!(workspace.collect("L1", crate::kit::commit_leftovers()).unwrap().new_commits.len(), 1);
    assert_eq!(fs::read_to_string(&asked).unwrap().lines().count(), 2);
}

/// The room that the harness's own repository takes.
fn stored(bench: &Bench) -> u64 {
    let counted = bench.harness(&["count-objects", "-v"]);
    let of = |key: &str| counted.lines().find_map(|line| line.strip_prefix(key)?.trim().parse::<u64>().ok());
    of("size:").unwrap() + of("size-pack:").unwrap()
}

#[test]
fn a_sparse_file_is_refused_before_git_reads_it() {
    for name in ["new.bin", "README.md"] {
        let bench = Bench::new();
        bench.prepare("L1");
        let file =
            fs::OpenOptions::new().write(true).create(true).truncate(false).open(bench.tree().join(name));
        file.unwrap().set_len(1_200_000_000).unwrap();
        let begun = std::time::Instant::now();
        guardrail(bench.collect("L1").unwrap_err(), name);
        // It is saved by moving it, so nothing is written for the next leg either.
        bench.prepare("L2");
        assert!(begun.elapsed() < std::time::Duration::from_secs(5), "{:?}", begun.elapsed());
        assert!(stored(&bench) < 100, "{} KiB", stored(&bench));
        bench.assert_fresh();
    }
}

#[test]
fn a_huge_ignored_file_does_not_matter() {
    let bench = Bench::new();
    bench.prepare("L1");
    bench.write("cache/x", "x");
    let file = fs::File::create(bench.tree().join("cache/huge")).unwrap();
    file.set_len(1 << 40).unwrap();
    bench.write("work.txt", "work\n");
    let work = bench.collect("L1").unwrap();
    assert_eq!(bench.changed(&work), ["work.txt"]);
    assert!(stored(&bench) < 100, "{} KiB", stored(&bench));
}

/// Compressed it takes a thousandth of what a checkout of it would write.
#[test]
fn soak_a_commit_of_huge_files_is_refused() {
    let bench = Bench::new();
    bench.prepare("L1");
    fs::File::create(bench.tree().join("zeros")).unwrap().set_len(600 << 20).unwrap();
    bench.agent(&["-c", "core.bigFileThreshold=2g", "-c", "core.compression=1", "add", "zeros"]);
    repo::commit_all(&bench.tree(), "small on the disk");
    guardrail(bench.collect("L1").unwrap_err(), "large files");
}
