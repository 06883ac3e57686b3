//! Nothing outlives its run: not by forking twice, not in a session of its own, not by ignoring signals, and not when
//! the harness itself is killed.

use std::process::{Command, Stdio};

use acquit_run::process::{Containment, Exit, Spawner};

use crate::support::{
    HELPER, Recorder, Scratch, eventually, marked, marker, run_in, sleepers, spawner, subreaper,
};

/// Ignores requests to stop, forks twice, twice calls `setsid`, and leaves sleepers of whom nobody is the parent.
const HOSTILE: &str = r#"
    trap '' TERM INT HUP
    (setsid sh -c 'setsid sh -c "sleep $0 & sleep $0 & wait" "$0" & sleep "$0"' "$0" &)
    while :; do sleep "$0"; done
"#;

/// How many of them sleep when all are there.
const SLEEPERS: usize = 4;

#[test]
fn a_hostile_tree_is_gone_after_cancellation() {
    for spawner in [spawner(), subreaper()] {
        let scratch = Scratch::new();
        let marker = marker();
        let mut recorder = Recorder::until(|_| sleepers(&marker) == SLEEPERS);
        let child = spawner.spawn(&scratch.spec("sh", &["-c", HOSTILE, &marker])).unwrap();
        let ended = child.watch(&mut recorder).unwrap();
        assert_eq!(ended.exit, Exit::Cancelled);
        assert_eq!(marked(&marker), [""; 0]);
    }
}

#[test]
fn a_hostile_tree_is_gone_after_its_handle_is_dropped() {
    for spawner in [spawner(), subreaper()] {
        let scratch = Scratch::new();
        let marker = marker();
        let child = spawner.spawn(&scratch.spec("sh", &["-c", HOSTILE, &marker])).unwrap();
        eventually("all sleep", || sleepers(&marker) == SLEEPERS);
        drop(child);
        assert_eq!(marked(&marker), [""; 0]);
    }
}

#[test]
fn what_a_program_leaves_behind_ends_with_it() {
    for spawner in [spawner(), subreaper()] {
        let scratch = Scratch::new();
        let marker = marker();
        let script =
            "(setsid sh -c 'touch up; exec sleep $0' $0 &); until [ -e up ]; do sleep 0.01; done; exit 3";
        let (ended, _) = run_in(&spawner, &scratch.spec("sh", &["-c", script, &marker]));
        assert_eq!(ended.exit, Exit::Code(3));
        assert_eq!(marked(&marker), [""; 0]);
    }
}

/// Starts the helper from a shell that stands for the harness, and kills the shell.
fn kill_the_harness(isolation: &str) {
    let marker = marker();
    let script = format!(r#""$0" contained --parent $$ {isolation} --cwd / -- sh -c "$1" "$2"; :"#);
    let mut harness = Command::new("sh")
        .args(["-c", &script, HELPER, HOSTILE, &marker])
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    eventually("all sleep", || sleepers(&marker) == SLEEPERS);
    harness.kill().unwrap();
    harness.wait().unwrap();
    eventually("all are gone", || marked(&marker).is_empty());
}

#[test]
fn a_hostile_tree_is_gone_after_the_harness_is_killed() {
    kill_the_harness("");
}

#[test]
fn a_hostile_tree_without_a_namespace_is_gone_after_the_harness_is_killed() {
    kill_the_harness("--subreaper");
}

#[test]
fn a_helper_whose_harness_has_died_before_starts_nothing() {
    let marker = marker();
    let status = Command::new(HELPER)
        .args(["contained", "--parent", "1", "--cwd", "/", "--", "sleep", &marker])
        .stdin(Stdio::null())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(125));
    assert_eq!(marked(&marker), [""; 0]);
}

#[test]
fn a_tree_that_forks_all_the_time_cannot_outrun_the_namespace() {
    let scratch = Scratch::new();
    let marker = marker();
    // Each generation starts the next in a new session and exits: no look at a list of processes can catch it.
    scratch.file("hopper", "trap '' TERM\nsetsid sh \"$0\" \"$1\" &\n");
    let script = "sh hopper $0; echo started; sleep $0";
    let mut recorder = Recorder::until(|bytes| bytes == b"started\n");
    let child = spawner().spawn(&scratch.spec("sh", &["-c", script, &marker])).unwrap();
    assert_eq!(child.containment(), Containment::PidNamespace);
    assert_eq!(child.watch(&mut recorder).unwrap().exit, Exit::Cancelled);
    assert_eq!(marked(&marker), [""; 0]);
}

#[test]
fn a_helper_that_is_killed_takes_its_tree_along() {
    let scratch = Scratch::new();
    let marker = marker();
    let child = Spawner::new(HELPER).spawn(&scratch.spec("sh", &["-c", HOSTILE, &marker])).unwrap();
    eventually("all sleep", || sleepers(&marker) == SLEEPERS);
    let pid = rustix::process::Pid::from_raw(child.pid()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let ended = child.watch(&mut Recorder::until(|_| false)).unwrap();
    assert_eq!(ended.exit, Exit::Signal(9));
    eventually("all are gone", || marked(&marker).is_empty());
}
