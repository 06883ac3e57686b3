//! Every way in which a program can end.

use std::time::{Duration, Instant};

use acquit_run::process::{Exit, Stderr};

use crate::support::{Recorder, Scratch, run, run_in, spawner, subreaper, text};

const SHORT: Duration = Duration::from_millis(200);

#[test]
fn exit_codes_and_signals_are_the_program_s_own() {
    let scratch = Scratch::new();
    for spawner in [spawner(), subreaper()] {
        for (script, exit) in [
            ("exit 0", Exit::Code(0)),
            ("exit 7", Exit::Code(7)),
            ("exit 255", Exit::Code(255)),
            ("kill -SEGV $$", Exit::Signal(11)),
            ("kill -KILL $$", Exit::Signal(9)),
            ("kill -TERM $$", Exit::Signal(15)),
            ("kill -QUIT $$", Exit::Signal(3)),
            ("kill -HUP $$", Exit::Signal(1)),
        ] {
            assert_eq!(run_in(&spawner, &scratch.sh(script)).0.exit, exit, "{script}");
        }
    }
}

#[test]
fn a_program_that_runs_too_long_is_stopped() {
    let scratch = Scratch::new();
    for spawner in [spawner(), subreaper()] {
        let mut spec = scratch.sh("while :; do echo busy; sleep 0.01; done");
        spec.limits.time = SHORT;
        spec.limits.idle = Some(SHORT);
        let (ended, _) = run_in(&spawner, &spec);
        assert_eq!(ended.exit, Exit::TimedOut { limit: SHORT });
        assert!(ended.duration >= SHORT, "{ended:?}");
    }
}

#[test]
fn a_silent_program_is_stopped_and_one_that_speaks_is_not() {
    let scratch = Scratch::new();
    let mut spec = scratch.sh("echo once; sleep 600");
    spec.limits.idle = Some(SHORT);
    let (ended, bytes) = run(&spec);
    assert_eq!((ended.exit, text(&bytes)), (Exit::Idle { limit: SHORT }, "once\n"));

    let speaks = "for i in 1 2 3 4 5 6 7 8 9 10; do echo $i; sleep 0.05; done";
    for (script, stderr) in [
        (speaks.to_owned(), Stderr::WithStdout),
        (format!("({speaks}) >&2"), Stderr::File(scratch.path("errors"))),
    ] {
        let mut spec = scratch.sh(&script);
        spec.limits.idle = Some(Duration::from_millis(400));
        spec.stderr = stderr;
        assert_eq!(run(&spec).0.exit, Exit::Code(0), "{script}");
    }
}

#[test]
fn a_program_that_is_asked_to_stop_may_say_a_last_word() {
    let scratch = Scratch::new();
    let mut spec = scratch.sh("trap 'echo last word; exit 0' TERM; echo ready; while :; do sleep 0.01; done");
    spec.limits.grace = Duration::from_secs(30);
    // The shell comments there on the death of its sleep.
    spec.stderr = Stderr::File(scratch.path("errors"));
    for spawner in [spawner(), subreaper()] {
        let mut recorder = Recorder::until(|bytes| bytes.starts_with(b"ready\n"));
        let ended = spawner.spawn(&spec).unwrap().watch(&mut recorder).unwrap();
        assert_eq!((ended.exit, text(&recorder.bytes)), (Exit::Cancelled, "ready\nlast word\n"));
    }
}

#[test]
fn a_cancellation_is_seen_while_the_program_is_silent() {
    let scratch = Scratch::new();
    let mut ticks = 0;
    let mut recorder = Recorder::until(|_| {
        ticks += 1;
        ticks == 2
    });
    let begun = Instant::now();
    let ended = spawner().spawn(&scratch.spec("sleep", &["600"])).unwrap().watch(&mut recorder).unwrap();
    assert_eq!(ended.exit, Exit::Cancelled);
    assert!(begun.elapsed() >= 2 * acquit_run::process::TICK);
}

#[test]
fn a_stopped_program_ends_all_the_same() {
    let scratch = Scratch::new();
    let mut spec = scratch.sh("kill -STOP $$");
    spec.limits.time = SHORT;
    for spawner in [spawner(), subreaper()] {
        assert_eq!(run_in(&spawner, &spec).0.exit, Exit::TimedOut { limit: SHORT });
    }
}

#[test]
fn a_program_that_writes_too_much_is_stopped() {
    let scratch = Scratch::new();
    let limit = 1_000_000;
    for script in
        ["yes", "trap '' TERM; yes", "head -c 1000001 /dev/zero", "truncate -s 1T /dev/stdout; sleep 600"]
    {
        let mut spec = scratch.sh(script);
        spec.limits.output = limit;
        let (ended, bytes) = run(&spec);
        assert_eq!((ended.exit, bytes.len()), (Exit::OutputLimit { limit }, 1_000_000), "{script}");
    }
    let mut spec = scratch.sh("yes >&2");
    spec.limits.output = limit;
    spec.stderr = Stderr::File(scratch.path("errors"));
    assert_eq!(run(&spec).0.exit, Exit::OutputLimit { limit });

    let mut spec = scratch.sh("head -c 1000000 /dev/zero");
    spec.limits.output = limit;
    assert_eq!(run(&spec).0.exit, Exit::Code(0));
}

#[test]
fn a_writer_that_ignores_the_request_cannot_fill_the_disk_in_its_grace() {
    let scratch = Scratch::new();
    let mut spec = scratch.sh("trap '' TERM; yes");
    spec.limits.output = 1_000_000;
    spec.limits.grace = Duration::from_hours(1);
    let (ended, _) = run(&spec);
    assert_eq!(ended.exit, Exit::OutputLimit { limit: 1_000_000 });
}

#[test]
fn processor_time_is_that_of_the_program_and_what_it_waited_for() {
    let scratch = Scratch::new();
    let (ended, _) = run(&scratch.sh("i=0; (while [ $i -lt 200000 ]; do i=$((i+1)); done)"));
    assert!(ended.user > Duration::from_millis(20), "{ended:?}");
    assert!(ended.user + ended.system <= 2 * ended.duration, "{ended:?}");
}
