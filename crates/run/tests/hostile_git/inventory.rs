//! No git verb without a tripwire: what the source calls and what [`everything`](crate::stage::everything) runs are the same.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::agent::{config, fill_submodule, hooks};
use crate::stage::{BRANCH, Stage, commit_on, everything, leftovers, mirrored, unknown};

#[test]
fn every_verb_that_the_source_calls_is_run_by_the_suite() {
    let mut called = BTreeSet::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    verbs_below(&source, &mut called);
    assert!(called.len() > 15, "the source is read wrongly: {called:?}");

    let stage = Stage::listening();
    everything(&stage, "nothing planted", &|_| {});
    mirrored(&stage);
    // A repository inside the tree asks for more, and an attempt beside another for a merge of both.
    let second = Stage::listening();
    everything(&second, "a repository inside", &|s| {
        let inner = s.tree().join("vendor");
        let _ = fs::create_dir_all(&inner);
        acquit_testkit::repo::git(&inner, &["init", "--quiet"]);
        fill_submodule(s);
    });
    let no_commits = Stage::listening();
    no_commits.repo.git(&["checkout", "--quiet", "--orphan", "unborn"]);
    let _ = no_commits.source().base(&no_commits.git(), Some("nowhere"));
    let large = large_file();
    let landed = checkout_that_follows();
    let (older, crowded) = (older_git(), crowded());
    let run: BTreeSet<String> = [stage, second, no_commits, large, landed, older, crowded]
        .iter()
        .flat_map(Stage::calls)
        .filter_map(|call| verb_of(&call))
        .collect();
    let missing: Vec<_> = called.difference(&run).collect();
    assert!(missing.is_empty(), "called in the source and never run against a tripwire: {missing:?}");
}

/// A merge into a branch that is checked out, in a repository whose settings name programs.
fn checkout_that_follows() -> Stage {
    let stage = Stage::listening();
    let source = stage.source();
    let git = stage.git();
    let base = source.base(&git, None).unwrap().commit;
    let workspace = stage.workspace(&source).lock("a test").unwrap();
    workspace.prepare("L1", &base, BRANCH).unwrap();
    fs::write(stage.tree().join("work.txt"), "work\n").unwrap();
    let head = workspace.collect("L1", leftovers()).unwrap().head;
    crate::user::hooks_and_programs(&stage);
    let landed = workspace.land(&source, "main", &head, &base).unwrap();
    assert_eq!(landed, acquit_run::workspace::Landed::Moved);
    assert_eq!(fs::read_to_string(stage.repo.path().join("work.txt")).unwrap(), "work\n");
    let next = commit_on(&stage, &source, &head);
    assert_eq!(
        workspace.land(&source, "main", &next, &base).unwrap(),
        acquit_run::workspace::Landed::Elsewhere,
        "it is not where it was thought to be"
    );
    stage.nothing_ran("a checkout that follows");
    drop(workspace);
    stage
}

/// The way of a git that merges in a checkout and reads attributes from files, in a repository whose settings name programs.
fn older_git() -> Stage {
    let stage = Stage::listening();
    let source = stage.source();
    let base = source.base(&stage.git(), None).unwrap().commit;
    let older = stage.git().assuming(acquit_run::git::version::OLDEST);
    let workspace =
        acquit_run::workspace::Workspace::open(&stage.dir, &source, older, &crate::stage::store()).unwrap();
    let workspace = workspace.lock("a test").unwrap();
    workspace.prepare("L1", &base, BRANCH).unwrap();
    fs::write(stage.tree().join("work.txt"), "work\n").unwrap();
    fs::write(stage.tree().join(".gitattributes"), "* filter=x diff=x merge=x\n").unwrap();
    let head = workspace.collect("L1", leftovers()).unwrap().head;
    crate::user::hooks_and_programs(&stage);
    let onto = commit_on(&stage, &source, &base);
    let work = acquit_run::workspace::Move { from: &base, onto: &onto, tip: &head };
    let rebased = workspace.rebase(work, "T-1: moved\n", None).unwrap();
    assert!(matches!(rebased, acquit_run::workspace::Rebased::Clean(_)), "{rebased:?}");
    let diff = workspace.change(&base, &head, acquit_run::workspace::Around::Files).unwrap();
    assert!(diff.files.iter().any(|file| file.new.as_deref() == Some("work.txt") && !file.lines.is_empty()));
    stage.nothing_ran("an older git");
    drop(workspace);
    stage
}

/// A file that is too large to be read with others.
fn large_file() -> Stage {
    const LARGE: usize = 33 << 20;
    let stage = Stage::listening();
    let source = stage.source();
    let base = source.base(&stage.git(), None).unwrap().commit;
    let workspace = stage.workspace(&source).lock("a test").unwrap();
    workspace.prepare("L1", &base, BRANCH).unwrap();
    fs::write(stage.tree().join("large"), vec![b'x'; LARGE]).unwrap();
    hooks(&stage, ".git/hooks");
    config(
        &stage,
        "[core]\n\tfsmonitor = @\n[filter \"x\"]\n\tclean = @\n\tsmudge = @\n[diff]\n\texternal = @",
    );
    let work = workspace.collect("L1", leftovers()).unwrap();
    assert_eq!(workspace.find_secret(&unknown(), &base, &work.head).unwrap(), None);
    stage.nothing_ran("a large file");
    drop(workspace);
    stage
}

/// A repository with so many refs and objects that they are packed, and settings that name programs.
fn crowded() -> Stage {
    let stage = Stage::listening();
    let source = stage.source();
    let base = source.base(&stage.git(), None).unwrap().commit;
    let refs: Vec<String> = (0..300).map(|n| format!("create refs/heads/acquit/t-{n} {base}\n")).collect();
    fs::write(stage.repo.beside("refs"), refs.concat()).unwrap();
    let blobs = stage.repo.beside("blobs");
    fs::create_dir(&blobs).unwrap();
    let names: Vec<String> = (0..5_000).map(|n| blobs.join(n.to_string()).display().to_string()).collect();
    names.iter().enumerate().for_each(|(number, name)| fs::write(name, format!("{number}\n")).unwrap());
    fs::write(stage.repo.beside("names"), names.join("\n")).unwrap();
    let fill = "git update-ref --stdin < ../refs && git hash-object -w --stdin-paths < ../names > ../ids";
    let filled =
        std::process::Command::new("sh").args(["-c", fill]).current_dir(stage.repo.path()).output().unwrap();
    assert!(filled.status.success(), "{filled:?}");
    crate::user::hooks_and_programs(&stage);
    let workspace = stage.workspace(&source).lock("a test").unwrap();
    workspace.prepare("L1", &base, BRANCH).unwrap();
    fs::write(stage.tree().join("work.txt"), "work\n").unwrap();
    let head = workspace.collect("L1", leftovers()).unwrap().head;
    workspace.publish(&source, BRANCH, &head).unwrap();
    stage.nothing_ran("a crowded repository");
    drop(workspace);
    stage
}

/// The first word that is neither an option nor the value of one.
pub(crate) fn verb_of(call: &str) -> Option<String> {
    let mut words = call.split(' ');
    while let Some(word) = words.next() {
        if word == "-c" {
            words.next();
        } else if !word.starts_with('-') {
            return Some(word.to_owned());
        }
    }
    None
}

/// The verbs in `call("…")`, `call(git, "…")`, `call_in_tree("…")` and `ask_about(…, "…", …)`.
fn verbs_below(folder: &Path, verbs: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            verbs_below(&path, verbs);
        } else {
            let text = fs::read_to_string(&path).unwrap();
            for opening in [".call(", "call_in_tree(", "ask_about("] {
                for (at, _) in text.match_indices(opening) {
                    let rest = &text[at + opening.len()..];
                    let arguments = &rest[..rest.find(')').unwrap_or(0)];
                    let literal = arguments.split('"').nth(1).unwrap_or_default();
                    if !literal.is_empty() && literal.bytes().all(|b| b.is_ascii_lowercase() || b == b'-') {
                        verbs.insert(literal.to_owned());
                    }
                }
            }
        }
    }
}
