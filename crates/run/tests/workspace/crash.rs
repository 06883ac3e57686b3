//! SIGKILL between any two lines: the states that it can leave on the disk, and what follows from each.

use std::fs;

use acquit_run::workspace::Leftover;
use acquit_testkit::repo;

use crate::kit::{BRANCH, Bench, commit_leftovers, copy_folder};

#[test]
fn a_half_made_workspace_is_made_again() {
    type Damage = fn(&Bench);
    let damages: [(&str, Damage); 5] = [
        ("only the folder", |b| {
            for part in ["work", "git", "state"] {
                let _ = fs::remove_dir_all(b.dir.join(part));
                let _ = fs::remove_file(b.dir.join(part));
            }
        }),
        ("no tree yet", |b| fs::remove_dir_all(b.dir.join("work")).unwrap()),
        ("half a tree, index locked", |b| {
            fs::remove_file(b.dir.join("work/README.md")).unwrap();
            fs::remove_file(b.dir.join("git/index")).unwrap();
            fs::write(b.dir.join("git/index.lock"), "half").unwrap();
        }),
        ("no agent repository", |b| fs::remove_dir_all(b.dir.join("work/.git")).unwrap()),
        ("agent repository aside", |b| {
            fs::rename(b.dir.join("work/.git"), b.dir.join("agent.new")).unwrap();
        }),
    ];
    for (name, damage) in damages {
        let bench = Bench::new();
        bench.prepare("L1");
        let _ = fs::remove_file(bench.dir.join("git/acquit-complete"));
        damage(&bench);
        let prepared = bench.prepare("L1");
        assert!(prepared.created && prepared.saved.is_none(), "{name}");
        bench.assert_fresh();
    }
}

#[test]
fn a_ready_workspace_loses_nothing_to_leftover_locks_or_a_lost_state() {
    let bench = Bench::new();
    bench.prepare("L1");
    bench.write("README.md", "work\n");
    for lock in ["index.lock", "HEAD.lock"] {
        fs::write(bench.dir.join("git").join(lock), "").unwrap();
    }
    fs::write(bench.dir.join("state"), "{\"version\":99}\nrubbish").unwrap();
    let saved = bench.prepare("L2").saved.expect("an attempt");
    assert_eq!(bench.saved(&saved.commit, "README.md"), "work");
    bench.assert_fresh();
}

#[test]
fn the_lock_of_an_agents_git_that_was_killed_is_no_work_of_the_agent() {
    let bench = Bench::new();
    bench.prepare("L1");
    bench.write("README.md", "work\n");
    repo::commit_all(&bench.tree(), "mine");
    let locks = ["HEAD.lock", "index.lock", &format!("refs/heads/{BRANCH}.lock")];
    for lock in locks {
        fs::write(bench.tree().join(".git").join(lock), "").unwrap();
    }
    let saved = bench.prepare("L2").saved.expect("the commit");
    assert_eq!(saved.kept, Vec::<std::path::PathBuf>::new());
    bench.assert_fresh();
    assert_eq!(bench.collect("L2").unwrap().head, bench.base);
}

#[test]
fn a_reset_that_was_cut_short_is_finished_with_its_attempt() {
    // Every state between "announced" and "done" is the announced one with some of the files already put back.
    let bench = Bench::new();
    bench.prepare("L1");
    bench.write("README.md", "work\n");
    bench.write("src/main.txt", "work\n");
    bench.write("new.txt", "work\n");
    let saved = bench.prepare("L2").saved.expect("an attempt");
    let state = fs::read(bench.dir.join("state")).unwrap();
    let end = state.iter().position(|b| *b == b'\n').unwrap();
    let mut facts: serde_json::Value = serde_json::from_slice(&state[..end]).unwrap();
    facts["resetting"] = serde_json::json!({ "leg": "L2", "saved": saved });
    let announced = [facts.to_string().as_bytes(), &state[end..]].concat();
    for leave in ["README.md", "new.txt"] {
        fs::write(bench.dir.join("state"), &announced).unwrap();
        bench.write("README.md", if leave == "README.md" { "half" } else { "sample\n" });
        fs::remove_file(bench.tree().join("src/main.txt")).unwrap();
        let again = bench.prepare("L2").saved.expect("the same attempt");
        assert_eq!(again.commit, saved.commit);
        assert_eq!(
            bench.harness(&["for-each-ref", "--format=%(objectname)", "refs/acquit/attempts/"]),
            saved.commit.as_str()
        );
        assert_eq!(bench.read("src/main.txt"), "one\ntwo\n");
        bench.assert_fresh();
    }
}

#[test]
fn saving_again_after_a_crash_gives_the_same_attempt() {
    let bench = Bench::new();
    bench.prepare("L1");
    bench.write("README.md", "work\n");
    let state = fs::read(bench.dir.join("state")).unwrap();
    let saved = bench.prepare("L2").saved.expect("an attempt");
    // As if the process had died after the ref was written and before the reset was announced.
    bench.write("README.md", "work\n");
    let file = fs::File::options().write(true).open(bench.tree().join("README.md")).unwrap();
    let time: u64 = bench.harness(&["log", "-1", "--format=%ct", saved.commit.as_str()]).parse().unwrap();
    file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(time)).unwrap();
    fs::write(bench.dir.join("state"), state).unwrap();
    assert_eq!(bench.prepare("L2").saved.expect("an attempt"), saved);
    bench.assert_fresh();
}

#[test]
fn collecting_again_after_a_crash_gives_the_same_commit() {
    let bench = Bench::new();
    bench.prepare("L1");
    bench.write("README.md", "committed\n");
    repo::commit_all(&bench.tree(), "mine");
    bench.write("new.txt", "left over\n");
    let state = fs::read(bench.dir.join("state")).unwrap();
    let first = bench.collect("L1").unwrap();
    assert!(matches!(first.leftover, Leftover::Committed(_)));
    // The state as it was before, and everything else as it is now.
    fs::write(bench.dir.join("state"), state).unwrap();
    fs::write(bench.dir.join("git/index.lock"), "").unwrap();
    assert_eq!(bench.collect("L1").unwrap(), first);
}

#[test]
fn an_agent_repository_lost_in_the_swap_is_written_again() {
    let bench = Bench::new();
    bench.prepare("L1");
    bench.agent(&["status"]);
    fs::rename(bench.tree().join(".git"), bench.dir.join("agent.old")).unwrap();
    let prepared = bench.prepare("L2");
    assert_eq!(prepared.saved, None);
    bench.assert_fresh();
    assert!(!bench.dir.join("agent.old").exists());
}

#[test]
fn a_workspace_that_was_half_removed_is_not_taken_for_a_whole() {
    let bench = Bench::new();
    bench.prepare("L1");
    let copy = bench.repo.beside("copy");
    copy_folder(&bench.dir, &copy);
    fs::remove_file(bench.dir.join("git/acquit-complete")).unwrap();
    fs::remove_file(bench.dir.join("work/README.md")).unwrap();
    assert!(bench.lock().prepare("L2", &bench.base, BRANCH).unwrap().created);
    assert_eq!(bench.lock().collect("L2", commit_leftovers()).unwrap().head, bench.base);
    bench.assert_fresh();
}
