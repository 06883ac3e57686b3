//! Random kills of any process: the tasks end all the same, soon, and nothing is left behind.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use acquit_core::leg::Ending;
use acquit_core::task::Task;
use rustix::process::Signal;

use crate::common::processes::marked;
use crate::common::{Sandbox, read, side_by_side, until, until_file};

const WORKFLOW: &str = r#"
budgets = { lost = 100, harness = 100 }
[gates.there]
run = "test -e log.txt"
[stages.code]
mode = "implement"
gates = ["there"]
on = { pr_ready = "deliver" }
[stages.deliver]
kind = "action"
action = "squash"
on = { done = "done" }
"#;

const SCRIPT: &str = r#"
[[code]]
step = [
    { run = "echo work >> log.txt && git add -A && git commit -qm work" },
    { outcome = "pr_ready", payload = { summary = "coded" } },
]
"#;

/// The longest that a task may take once nobody is killed any more: far less than any lease.
const SOON: Duration = Duration::from_secs(50);

/// Numbers that look random and are the same every time.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// Runs a task, killing any of its processes so many times, then to its end.
#[allow(clippy::disallowed_methods, reason = "a kill comes at a moment that nobody chose")]
fn harassed(sandbox: &Sandbox, id: &str, kills: u64, dice: &mut Dice) {
    let root = sandbox.place("").to_string_lossy().into_owned();
    let mut killed = 0;
    while killed < kills {
        let run = sandbox.start(&["run", id]);
        std::thread::sleep(Duration::from_millis(dice.below(900)));
        let ended = state(sandbox, id) == "done";
        let all = marked(&root);
        if let Some((pid, _)) = all.get(usize::try_from(dice.below(all.len().max(1) as u64)).unwrap()) {
            let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
            // It may have ended by itself.
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
        killed += 1;
        run.wait();
        if ended {
            break;
        }
    }
    let begun = Instant::now();
    sandbox.acquit(&["run", id]).must(0);
    assert!(begun.elapsed() < SOON, "{id} took {:?} after the last kill", begun.elapsed());
}

fn state(sandbox: &Sandbox, id: &str) -> &'static str {
    let shown = sandbox.acquit(&["task", "show", id, "--json"]).must(0).json();
    serde_json::from_value::<Task>(shown["task"].clone()).unwrap().state.word()
}

/// Something that should not be there: its path, and what tells how it came there.
fn described(path: &Path) -> String {
    let Ok(meta) = fs::symlink_metadata(path) else { return format!("{} (gone now)", path.display()) };
    let age = meta.modified().ok().and_then(|time| time.elapsed().ok()).unwrap_or_default();
    let inside = if meta.is_dir() {
        let mut names = vec![path.to_owned()];
        // Nearest first, because the deepest say least.
        let mut at = 0;
        while at < names.len().min(60) {
            names.extend(fs::read_dir(&names[at]).into_iter().flatten().flatten().map(|entry| entry.path()));
            at += 1;
        }
        let shown = names.iter().skip(1).filter_map(|name| name.strip_prefix(path).ok()?.to_str());
        shown.take(60).collect::<Vec<_>>().join(" ")
    } else {
        String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).chars().take(200).collect()
    };
    let (owner, mode) = (meta.uid(), meta.mode());
    format!("{} (uid {owner}, mode {mode:o}, {} bytes, {age:?} old): {inside}", path.display(), meta.len())
}

/// What should not be there once every task is over: workspaces, homes of agents, locks and temporary files.
pub(crate) fn left(sandbox: &Sandbox) -> Vec<String> {
    fn gather(folder: &Path, into: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let odd = matches!(&*name, "workspace" | "agent" | "work" | "scratch" | "checked")
                || name.starts_with("tmp_")
                || [".lock", ".new", ".old", ".partial"].iter().any(|ending| name.ends_with(ending));
            if name == "sender" {
                // The empty mount points of a view, which stay until the task goes.
                continue;
            }
            if odd {
                into.push(entry.path());
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                gather(&entry.path(), into);
            }
        }
    }
    let mut found = Vec::new();
    gather(&sandbox.place("acquit"), &mut found);
    gather(&sandbox.repo.path().join(".git"), &mut found);
    found
        .extend(fs::read_dir(sandbox.place("tmp")).into_iter().flatten().flatten().map(|entry| entry.path()));
    found.iter().map(|path| described(path)).collect()
}

fn nothing_is_left(tasks: u32, kills: u64, seed: u64) {
    let sandbox = Sandbox::scripted(WORKFLOW, SCRIPT);
    let mut dice = Dice(seed);
    for number in 1..=tasks {
        let id = format!("T-{number}");
        sandbox.acquit(&["task", "add", &format!("Task {number}")]).must(0);
        harassed(&sandbox, &id, kills, &mut dice);
        let branch = format!("acquit/task-{number}-{id}");
        assert_eq!(sandbox.repo.git(&["show", &format!("{branch}:log.txt")]), "work", "{id}");
    }
    let root = sandbox.place("").to_string_lossy().into_owned();
    until("no process is left", || marked(&root).is_empty().then_some(()));
    let cleaned = sandbox.acquit(&["clean"]).must(0);
    let left = left(&sandbox);
    assert!(left.is_empty(), "left behind: {left:#?}\n{}{}", cleaned.out, cleaned.err);
    let log = read(&sandbox.place("said/0.err"));
    assert_eq!(sandbox.repo.git(&["fsck", "--no-dangling"]), "", "{log}");
    assert_eq!(sandbox.repo.git(&["status", "--porcelain"]), "");
}

#[test]
fn after_random_kills_nothing_is_left_behind() {
    side_by_side(&[1, 2], |&seed| nothing_is_left(1, 3, seed));
}

#[test]
fn soak_after_three_hundred_random_kills_nothing_is_left_behind() {
    side_by_side(&[11, 12, 13], |&seed| nothing_is_left(20, 5, seed));
}

#[test]
fn the_next_run_removes_what_a_killed_run_left() {
    let sandbox = Sandbox::scripted(WORKFLOW, SCRIPT);
    let marker = sandbox.place("marker");
    let sandbox = sandbox.with("ACQUIT_FAULT", format!("finished:1:{}", marker.display()));
    // Killed after its task was done, before it removed the workspace.
    assert_eq!(sandbox.acquit(&["run", "One"]).code, None);
    assert!(sandbox.place("acquit/tasks/T-1/workspace").exists());
    sandbox.acquit(&["run", "Two"]).must(0);
    assert_eq!(left(&sandbox), Vec::<String>::new());
}

#[test]
fn half_a_file_that_a_killed_run_wrote_is_written_again() {
    let sandbox = Sandbox::scripted(WORKFLOW, SCRIPT);
    sandbox.acquit(&["run", "One"]).must(0);
    let one = sandbox.place("acquit/tasks/T-1/policy-sender.json");
    let whole = read(&one);
    sandbox.acquit(&["task", "add", "Two"]).must(0);
    let two = one.parent().and_then(Path::parent).unwrap().join("T-2");
    fs::create_dir_all(&two).unwrap();
    fs::write(two.join("policy-sender.json"), &whole[..whole.len() / 2]).unwrap();
    sandbox.acquit(&["run", "T-2"]).must(0);
}

/// Whom a kill meets: the program that the gate's shell started, or the shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whom {
    Program,
    Shell,
}

/// Runs a task whose gate is killed once by SIGKILL. The gate waits only in its first run.
fn gate_killed(settings: &str, whom: Whom) -> Sandbox {
    let gate = format!(
        "[gates.there]\nrun = \"test -e @ROOT@/begun || {{ touch @ROOT@/begun; sleep 600; }} && test -e log.txt\"\n{settings}\n"
    );
    let workflow =
        WORKFLOW.replace("[gates.there]\nrun = \"test -e log.txt\"\n", &gate).replace("\nbudgets", "\n#");
    let sandbox = Sandbox::scripted(&workflow, SCRIPT);
    let run = sandbox.start(&["run", "One"]);
    until_file(&sandbox.place("begun"));
    let root = sandbox.place("").to_string_lossy().into_owned();
    let (pid, _) = until("the gate sleeps", || {
        marked(&root).into_iter().find(|(_, line)| match whom {
            Whom::Program => line.starts_with("sleep 600"),
            Whom::Shell => line.starts_with("sh -c test -e") || line.starts_with("/bin/sh -c test -e"),
        })
    });
    let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
    rustix::process::kill_process(pid, Signal::KILL).unwrap();
    run.wait().must(0).says("`there` was killed, and not by acquit");
    sandbox
}

#[test]
fn a_gate_that_is_killed_runs_again_and_blames_nobody() {
    let cases = [("", Whom::Program), ("", Whom::Shell), ("parallel = true", Whom::Shell)];
    side_by_side(&cases, |&(settings, whom)| {
        let sandbox = gate_killed(settings, whom);
        let task = sandbox.task();
        let all_passed = task.past.iter().all(|past| matches!(past.ending, Ending::Passed { .. }));
        assert!(all_passed && task.past.len() == 2, "{settings} {whom:?}: {:?}", sandbox.endings());
        assert!(task.spent.is_empty(), "{settings} {whom:?}: {:?}", task.spent);
        // The agent worked once.
        assert_eq!(sandbox.repo.git(&["show", "acquit/one-T-1:log.txt"]), "work");
    });
}
