//! What a finished task leaves in the user's repository: refs and their objects, in a form that does not slow git down.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use acquit_core::ids::TaskId;
use acquit_testkit::repo;

use crate::kit::{BRANCH, Bench, git, id, store};

/// Every file below the repository's own folder.
fn files(bench: &Bench) -> BTreeSet<PathBuf> {
    fn gather(folder: &Path, into: &mut BTreeSet<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                gather(&entry.path(), into);
            } else {
                into.insert(entry.path());
            }
        }
    }
    let (root, mut all) = (bench.repo.path().join(".git"), BTreeSet::new());
    gather(&root, &mut all);
    all.into_iter().map(|path| path.strip_prefix(&root).unwrap().to_owned()).collect()
}

fn is_loose_object(path: &Path) -> bool {
    let parts: Vec<String> = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let hex = |text: &str, length: usize| text.len() == length && text.bytes().all(|b| b.is_ascii_hexdigit());
    matches!(&parts[..], [objects, folder, name] if objects == "objects" && hex(folder, 2) && hex(name, 38))
}

/// A task from its beginning to its end, with one attempt that was given up.
fn finish_task(bench: &Bench) {
    bench.source.pin(&git(), &store(), TaskId(1), &bench.base).unwrap();
    bench.prepare("L1");
    bench.write("README.md", "abandoned\n");
    bench.prepare("L2");
    bench.write("src/main.txt", "done\n");
    repo::commit_all(&bench.tree(), "step");
    let head = bench.collect("L2").unwrap().head;
    let locked = bench.lock();
    locked.keep_history("T-1", "leg-2", &head).unwrap();
    locked.publish(&bench.source, BRANCH, &head).unwrap();
    locked.remove(&bench.source).unwrap();
    bench.source.unpin(&git(), &store(), TaskId(1)).unwrap();
}

#[test]
fn a_finished_task_leaves_refs_and_loose_objects_and_nothing_else() {
    let bench = Bench::new();
    bench.repo.git(&["config", "fetch.bundleURI", "http://127.0.0.1:1/bundle"]);
    let before = files(&bench);
    finish_task(&bench);
    let added: Vec<PathBuf> =
        files(&bench).difference(&before).filter(|path| !is_loose_object(path)).cloned().collect();
    let wanted = [
        "refs/acquit/attempts/5f3a09c1/L2".to_owned(),
        "refs/acquit/tasks/5f3a09c1/T-1/leg-2".to_owned(),
        format!("refs/heads/{BRANCH}"),
    ];
    assert_eq!(added, wanted.map(PathBuf::from));
    assert_eq!(bench.repo.git(&["fsck"]), "");
}

#[test]
fn refs_and_objects_of_many_tasks_become_few_files() {
    let bench = Bench::new();
    bench.repo.git(&["branch", "own"]);
    bench.repo.git(&["tag", "v1"]);
    // What three hundred tasks left: their refs, and loose objects in every folder.
    let text: Vec<String> = (0..300)
        .flat_map(|n| {
            let refs =
                [format!("refs/heads/acquit/t-{n}"), format!("refs/acquit/tasks/5f3a09c1/T-{}/leg-2", n + 2)];
            refs.map(|name| format!("create {name} {}\n", bench.base))
        })
        .collect();
    let list = bench.repo.beside("refs");
    fs::write(&list, text.concat()).unwrap();
    let folder = bench.repo.beside("blobs");
    let names: Vec<String> = (0..5_000).map(|n| folder.join(n.to_string()).display().to_string()).collect();
    fs::create_dir(&folder).unwrap();
    for (number, name) in names.iter().enumerate() {
        fs::write(name, format!("{number}\n")).unwrap();
    }
    fs::write(bench.repo.beside("names"), names.join("\n")).unwrap();
    let shell = |command: &str| {
        let done = std::process::Command::new("sh")
            .args(["-c", command])
            .current_dir(bench.repo.path())
            .output()
            .unwrap();
        assert!(done.status.success(), "{command}: {done:?}");
    };
    shell("git update-ref --stdin < ../refs && git hash-object -w --stdin-paths < ../names > ../ids");
    let names = |bench: &Bench| bench.repo.git(&["for-each-ref", "--format=%(refname)"]);
    let before: BTreeSet<String> = names(&bench).lines().map(str::to_owned).collect();

    finish_task(&bench);

    let all = files(&bench);
    let count = |wanted: &dyn Fn(&Path) -> bool| all.iter().filter(|path| wanted(path)).count();
    let loose = count(&is_loose_object);
    assert!(loose < 100, "{loose} loose objects are left");
    assert_eq!(count(&|path| path.extension().is_some_and(|extension| extension == "pack")), 1);
    let refs = count(&|path| path.starts_with("refs"));
    assert!(refs < 20, "{refs} loose refs are left");
    assert!(all.contains(Path::new("refs/heads/own")), "the user's own refs stay as they were");
    let after: BTreeSet<String> = names(&bench).lines().map(str::to_owned).collect();
    assert!(after.is_superset(&before), "a ref is gone");
    assert_eq!(after.len(), before.len() + 3);
    shell("git cat-file --batch-check < ../ids > ../found && ! grep -q missing ../found");
    assert_eq!(bench.repo.git(&["fsck", "--no-dangling"]), "");
}

#[test]
fn packs_of_acquit_become_one_and_those_of_the_user_stay() {
    let bench = Bench::new();
    bench.repo.git(&["repack", "--quiet", "-a", "-d"]);
    let packs = bench.repo.path().join(".git/objects/pack");
    let own = fs::read_dir(&packs).unwrap().count();
    for number in 0..8 {
        bench.repo.write("file", &number.to_string());
        bench.repo.commit("more");
        let objects = "git rev-list --objects HEAD ^HEAD^ | cut -d' ' -f1 | git pack-objects -q .git/objects/pack/acquit";
        let done =
            std::process::Command::new("sh").args(["-c", objects]).current_dir(bench.repo.path()).output();
        assert!(done.unwrap().status.success());
    }
    let blobs = "mkdir ../blobs && for n in $(seq 5000); do echo $n > ../blobs/$n; done && \
                 ls -d ../blobs/* | git hash-object -w --stdin-paths";
    let done = std::process::Command::new("sh").args(["-c", blobs]).current_dir(bench.repo.path()).output();
    assert!(done.unwrap().status.success());
    finish_task(&bench);
    let left = fs::read_dir(&packs).unwrap().count();
    assert!(left <= own + 3, "{left} files of packs where {own} were the user's");
    assert_eq!(bench.repo.git(&["fsck", "--no-dangling"]), "");
}

#[test]
fn what_would_harm_who_checks_it_out_is_not_taken_over() {
    let bench = Bench::new();
    bench.prepare("L1");
    bench.write(".gitmodules", "[submodule \"x\"]\n\tpath = x\n\turl = -u./run\n");
    let refused = bench.collect("L1").unwrap_err();
    assert!(format!("{refused:?}").contains("gitmodules"), "{refused:?}");
    // Nor when it came into the harness's own repository by another way, nor at the second try, when some of it might be there.
    let work_tree = bench.tree();
    let file = work_tree.join(".gitmodules");
    bench.harness(&["--work-tree", work_tree.to_str().unwrap(), "add", "--force", file.to_str().unwrap()]);
    let tree = bench.harness(&["write-tree"]);
    let author = ["-c", "user.name=A", "-c", "user.email=a@example.org"];
    let commit = [&author[..], &["commit-tree", "-p", "HEAD", "-m", "x", tree.trim()]].concat();
    let head = id(bench.harness(&commit).trim());
    for _ in 0..2 {
        let error = bench.lock().publish(&bench.source, BRANCH, &head).unwrap_err();
        assert!(format!("{error:?}").contains("gitmodules"), "{error:?}");
        assert!(!repo::git_succeeds(bench.repo.path(), &["cat-file", "-e", head.as_str()]));
    }
    assert_eq!(bench.repo.git(&["for-each-ref", "refs/heads/acquit"]), "");
}
