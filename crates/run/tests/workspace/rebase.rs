//! Work on a base that moved: what fits is brought over whole, and no resolution with a mark or a lost change is accepted.

use acquit_run::git::CommitId;
use acquit_run::workspace::{Move, Rebased};
use acquit_testkit::repo;
use proptest::prelude::*;

use crate::kit::{BRANCH, Bench, id};

/// What somebody does to a file of ten lines: at each line nothing, another line, one more, or none.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Keep,
    Change,
    Add,
    Remove,
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let deed = prop_oneof![
        6 => Just(Deed::Keep),
        2 => Just(Deed::Change),
        1 => Just(Deed::Add),
        1 => Just(Deed::Remove),
    ];
    proptest::collection::vec(deed, 10)
}

/// The file after it. Every line that somebody writes is like no other.
fn done(deeds: &[Deed], who: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for (number, deed) in deeds.iter().enumerate() {
        match deed {
            Deed::Keep => lines.push(format!("line {number}")),
            Deed::Change => lines.push(format!("{who} changed {number}")),
            Deed::Add => lines.extend([format!("line {number}"), format!("{who} added {number}")]),
            Deed::Remove => {}
        }
    }
    lines
}

fn text(lines: &[String]) -> String {
    lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect()
}

/// What a file must have, and must not have, so that both sides' changes are in it.
fn keeps(branch: &[Deed], task: &[Deed], result: &str) -> bool {
    let has = |line: &str| result.lines().any(|there| there == line);
    let side = |deeds: &[Deed], who: &str| {
        deeds.iter().enumerate().all(|(number, deed)| match deed {
            Deed::Keep => true,
            Deed::Change => has(&format!("{who} changed {number}")) && !has(&format!("line {number}")),
            Deed::Add => has(&format!("{who} added {number}")),
            Deed::Remove => !has(&format!("line {number}")),
        })
    };
    side(branch, "main") && side(task, "task") && !result.contains("<<<<<<<") && !result.contains(">>>>>>>")
}

/// A resolution of what is marked: which of the lines of both sides are kept.
fn resolved(marked: &str, how: usize) -> String {
    let mut out = Vec::new();
    let (mut part, mut first) = (0, true);
    for line in marked.lines() {
        let mark =
            ['<', '|', '=', '>'].iter().position(|sign| line.starts_with(&sign.to_string().repeat(24)));
        if let Some(mark) = mark {
            part = [1, 2, 3, 0][mark];
            // One of them leaves its first mark.
            if how == 3 && first && mark == 0 {
                out.push(line.to_owned());
            }
            first &= mark != 3;
            continue;
        }
        let kept = match (part, how) {
            // What both had before, and where one side or neither is taken.
            (2, _) | (1, 1) | (3, 2) | (1 | 3, 4) => false,
            _ => true,
        };
        if kept {
            out.push(line.to_owned());
        }
    }
    text(&out)
}

/// A bench whose main branch and whose work have done this.
fn quarrel(branch: &[Deed], task: &[Deed]) -> (Bench, CommitId, CommitId) {
    let repo = repo::Repo::empty();
    repo.write("f.txt", &text(&done(&[Deed::Keep; 10], "")));
    repo.write("other.txt", "x\n");
    repo.commit("first");
    let bench = Bench::on(repo);
    bench.prepare("L1");
    bench.write("f.txt", &text(&done(task, "task")));
    bench.write("of the task.txt", "task\n");
    let tip = bench.collect("L1").unwrap().head;
    bench.repo.write("f.txt", &text(&done(branch, "main")));
    bench.repo.write("other.txt", "x\nmain too\n");
    let onto = id(&bench.repo.commit("moved"));
    (bench, onto, tip)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn no_resolution_with_a_mark_or_a_lost_change_is_accepted(branch in deeds(), task in deeds()) {
        let (bench, onto, tip) = quarrel(&branch, &task);
        let work = Move { from: &bench.base, onto: &onto, tip: &tip };
        let locked = bench.lock();
        match locked.rebase(work, "T-1\n", None).unwrap() {
            Rebased::Clean(commit) => {
                let result = format!("{}\n", bench.saved(&commit, "f.txt"));
                prop_assert!(keeps(&branch, &task, &result), "git lost something: {result}");
                prop_assert_eq!(locked.resolution(work, &commit, &[]).unwrap(), []);
            }
            Rebased::Absorbed => prop_assert!(false, "the task has a file of its own"),
            Rebased::Conflict(conflict) => {
                prop_assert_eq!(&conflict.files, &["f.txt".to_owned()]);
                prop_assert!(!conflict.hunks.is_empty());
                drop(locked);
                let marked = format!("{}\n", bench.saved(&conflict.commit, "f.txt"));
                let mut accepted = 0;
                for how in 0..6 {
                    let leg = format!("R{how}");
                    bench.lock().prepare(&leg, &conflict.commit, BRANCH).unwrap();
                    bench.write("f.txt", &resolved(&marked, how));
                    if how == 5 {
                        // Well resolved, but what the branch did elsewhere is undone.
                        bench.write("other.txt", "x\n");
                    }
                    let result = bench.collect(&leg).unwrap().head;
                    let wrong = bench.lock().resolution(work, &result, &[]).unwrap();
                    let good = how != 5 && keeps(&branch, &task, &resolved(&marked, how));
                    if wrong.is_empty() {
                        accepted += 1;
                        prop_assert!(good, "{how}: accepted\n{}", resolved(&marked, how));
                    }
                }
                // Whatever keeps all lines of both sides is accepted, so that the check is not just a refusal.
                let all = resolved(&marked, 0);
                let says_nothing_else = keeps(&branch, &task, &all);
                prop_assert!(accepted > 0 || !says_nothing_else, "refused\n{all}");
            }
        }
    }
}

#[test]
fn the_same_work_on_the_same_base_is_the_same_commit_and_keeps_its_history() {
    let mut branch = [Deed::Keep; 10];
    branch[9] = Deed::Add;
    let mut task = [Deed::Keep; 10];
    task[0] = Deed::Change;
    let (bench, onto, tip) = quarrel(&branch, &task);
    bench.lock().prepare("L2", &tip, BRANCH).unwrap();
    bench.write("second.txt", "x\n");
    let tip = bench.collect("L2").unwrap().head;
    let work = Move { from: &bench.base, onto: &onto, tip: &tip };
    let Rebased::Clean(once) = bench.lock().rebase(work, "T-1\n", None).unwrap() else { panic!("it fits") };
    assert_eq!(bench.lock().rebase(work, "T-1\n", None).unwrap(), Rebased::Clean(once.clone()));
    let count = bench.harness(&["rev-list", "--count", &format!("{onto}..{once}")]);
    assert_eq!(count, "2", "each of its commits");
    // A leg that starts there finds its work, and saves nothing.
    assert_eq!(bench.lock().prepare("L3", &once, BRANCH).unwrap().saved, None);
    assert_eq!(bench.lock().prepare("L4", &tip, BRANCH).unwrap().saved, None);
}

#[test]
fn a_file_that_one_side_removed_or_moved_is_not_lost_silently() {
    let (bench, _, _) = quarrel(&[Deed::Keep; 10], &[Deed::Keep; 10]);
    bench.lock().prepare("L2", &bench.base, BRANCH).unwrap();
    bench.write("f.txt", "rewritten by the task\n");
    let tip = bench.collect("L2").unwrap().head;
    bench.repo.git(&["rm", "-q", "f.txt"]);
    let onto = id(&bench.repo.commit("gone"));
    let work = Move { from: &bench.base, onto: &onto, tip: &tip };
    let Rebased::Conflict(conflict) = bench.lock().rebase(work, "T-1\n", None).unwrap() else {
        panic!("one rewrote what the other removed")
    };
    assert_eq!(conflict.hunks[0].branch, "(the file is not there)\n");
    // Taking either side loses the other, unless it is named.
    for (content, name) in [(None, "task:f.txt:1"), (Some("rewritten by the task\n"), "branch:f.txt:1")] {
        bench.lock().prepare("R1", &conflict.commit, BRANCH).unwrap();
        match content {
            Some(text) => bench.write("f.txt", text),
            None => std::fs::remove_file(bench.tree().join("f.txt")).unwrap(),
        }
        bench.write("touched.txt", name);
        let result = bench.collect("R1").unwrap().head;
        let wrong = bench.lock().resolution(work, &result, &[]).unwrap();
        assert!(!wrong.is_empty(), "{name}");
        let named = [(name.to_owned(), "it is pointless now".to_owned())];
        assert_eq!(bench.lock().resolution(work, &result, &named).unwrap(), [], "{name}");
    }
}
