//! Readers that go away, outputs that take nothing, and several acquits at once on one task.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use super::{Bench, finish, until_file, wait};

/// Says that it began, and waits until it may go on. Every run leaves a line.
const WAITS: &str = "echo begun >> \"$(dirname \"$0\")/runs\"\nuntil [ -e \"$(dirname \"$0\")/go\" ]; do sleep 0.02; done\necho work > new.txt\n";

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let bench = Bench::agent("seq 1 20000; echo work > new.txt");
    bench.run_to(0);
    for args in
        ["logs T-1", "logs T-1 --json", "logs T-1 --leg 1", "task show T-1", "task list --json", "--help"]
    {
        let line = format!("{{ \"$ACQUIT\" {args}; echo \"exit $?\" >&2; }} | head -n 1");
        finish(bench.program("sh").args(["-c", &line])).must(0).says("exit 0");
    }
}

#[test]
fn following_ends_when_nobody_reads_it() {
    let bench = Bench::agent(
        "until [ -e \"$(dirname \"$0\")/go\" ]; do seq 1 100; sleep 0.02; done; echo work > new.txt",
    );
    let mut run =
        bench.command(&["run", "Do it"]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(run.stderr.take().unwrap()).lines();
    assert!(said.any(|line| line.unwrap().contains("│ 1")), "the agent says nothing");
    // What is said from here on may pile up in the pipe, which nobody reads.
    let drain = std::thread::spawn(move || said.count());
    let mut follow = bench.command(&["logs", "T-1", "--follow"]).stdout(Stdio::piped()).spawn().unwrap();
    let first = BufReader::new(follow.stdout.take().unwrap()).lines().next().unwrap().unwrap();
    assert!(!first.is_empty());
    wait(follow).must(0);
    File::create(bench.place("go")).unwrap();
    wait(run).must(0);
    drain.join().unwrap();
}

#[test]
fn an_output_that_takes_nothing_is_told() {
    let bench = Bench::new();
    bench.run_to(0);
    for args in ["task show T-1", "task list --json", "logs T-1", "workflow graph"] {
        let line = format!("exec \"$ACQUIT\" {args} > /dev/full");
        finish(bench.program("sh").args(["-c", &line])).must(5).says("failed to write to standard output");
    }
}

#[test]
fn closed_outputs_do_no_harm() {
    let bench = Bench::new();
    for (line, done) in
        [("run one >&-", 1), ("run two 2>&-", 2), ("run three >&- 2>&- <&-", 3), ("run four 2> /dev/full", 4)]
    {
        finish(bench.program("sh").args(["-c", &format!("exec \"$ACQUIT\" {line}")])).must(0);
        let listed = bench.acquit(&["task", "list", "--state", "done"]).must(0);
        assert_eq!(listed.out.lines().count(), done + 1, "{line}: {listed}");
    }
}

#[test]
fn a_run_goes_on_when_who_reads_it_goes_away() {
    let bench = Bench::agent("seq 1 20000; echo work > new.txt");
    let line = "{ \"$ACQUIT\" run 'Do it' 2>&1; echo \"exit $?\" >&2; } | head -n 1";
    finish(bench.program("sh").args(["-c", line])).must(0).says("exit 0");
    assert_eq!(bench.at_ref("acquit/do-it-T-1", "new.txt"), "work");
}

#[test]
fn two_acquits_on_one_task_run_it_once() {
    let bench = Bench::agent(WAITS);
    let start = |args: &[&str]| {
        bench
            .command(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let first = start(&["run", "Do it"]);
    until_file(&bench.place("runs"));
    let second = start(&["run", "T-1"]);
    // A harness by itself finds nothing to claim, and ends.
    bench.acquit(&["leg", "--task", "T-1"]).must(0);
    bench.acquit(&["task", "retry", "T-1"]).must(2).says("failed to change T-1");
    File::create(bench.place("go")).unwrap();
    for ran in [wait(first), wait(second)] {
        ran.must(0).says("✓ T-1 is done");
    }
    assert_eq!(std::fs::read_to_string(bench.place("runs")).unwrap(), "begun\n");
}

#[test]
fn many_acquits_that_begin_one_task_together_run_it_once() {
    let bench = Bench::agent(WAITS);
    bench.acquit(&["task", "add", "Do it"]).must(0);
    let start = |_| {
        let mut command = bench.command(&["run", "T-1"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let all: Vec<_> = (0..6).map(start).collect();
    until_file(&bench.place("runs"));
    File::create(bench.place("go")).unwrap();
    for child in all {
        wait(child).must(0).says("✓ T-1 is done");
    }
    assert_eq!(std::fs::read_to_string(bench.place("runs")).unwrap(), "begun\n");
    bench.acquit(&["task", "list"]).must(0).says("done");
}

#[test]
fn a_cancel_from_elsewhere_ends_a_run() {
    let bench = Bench::agent(WAITS);
    let run = bench.command(&["run", "Do it"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until_file(&bench.place("runs"));
    bench.acquit(&["task", "cancel", "T-1"]).must(0);
    wait(run).must(4).says("cancelled by tester");
    bench.acquit(&["task", "cancel", "T-1"]).must(2).says("failed to change T-1");
}
