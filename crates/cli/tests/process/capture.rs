//! Short calls whose output is wanted in memory.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use acquit_run::process::{CAPTURE_OUTPUT, Call, Captured, Error, Exit, Guard};

use crate::support::{PATIENCE, Scratch, make_executable, marked, marker, path_only, spawner, text};

const GUARDS: [Guard; 2] = [Guard::Trusted, Guard::Contained];

fn call(guard: Guard, program: impl Into<OsString>, args: &[&str]) -> Call {
    Call {
        program: program.into(),
        args: args.iter().map(OsString::from).collect(),
        cwd: PathBuf::from("/"),
        env: path_only(),
        input: None,
        limit: PATIENCE,
        guard,
    }
}

fn capture(call: &Call) -> Captured {
    spawner().capture(call).unwrap()
}

#[test]
fn output_errors_and_code_are_told_apart() {
    for guard in GUARDS {
        let captured = capture(&call(guard, "sh", &["-c", "echo out; echo err >&2; exit 4"]));
        assert_eq!(
            captured,
            Captured { exit: Exit::Code(4), stdout: b"out\n".into(), stderr: b"err\n".into() }
        );
    }
}

#[test]
fn input_larger_than_a_pipe_comes_back_whole() {
    let input: Vec<u8> = (0..3_000_000_u32).map(|number| number.to_le_bytes()[1]).collect();
    for guard in GUARDS {
        let mut call = call(guard, "cat", &[]);
        assert_eq!(capture(&call).stdout, b"");
        call.input = Some(input.clone());
        assert!(capture(&call).stdout == input);
    }
}

#[test]
fn two_full_streams_do_not_block_each_other() {
    let script = "head -c 2000000 /dev/zero >&2; head -c 2000000 /dev/zero; head -c 2000000 /dev/zero >&2";
    let captured = capture(&call(Guard::Trusted, "sh", &["-c", script]));
    assert_eq!(
        (captured.exit, captured.stdout.len(), captured.stderr.len()),
        (Exit::Code(0), 2_000_000, 4_000_000)
    );
}

#[test]
fn the_environment_is_exactly_what_was_given() {
    for guard in GUARDS {
        let mut call = call(guard, "/usr/bin/env", &[]);
        call.env = vec![("ONLY".into(), "this".into())];
        assert_eq!(text(&capture(&call).stdout), "ONLY=this\n");
    }
}

#[test]
fn a_call_that_takes_too_long_is_killed_with_its_group() {
    let limit = Duration::from_millis(200);
    for guard in GUARDS {
        let marker = marker();
        let mut call = call(guard, "sh", &["-c", "trap '' TERM; echo begun; sleep $0 & sleep $0", &marker]);
        call.limit = limit;
        let captured = capture(&call);
        assert_eq!((captured.exit, text(&captured.stdout)), (Exit::TimedOut { limit }, "begun\n"));
        crate::support::eventually("all are gone", || marked(&marker).is_empty());
    }
}

#[test]
fn what_stays_in_the_background_is_not_waited_for() {
    let begun = Instant::now();
    for guard in GUARDS {
        let captured = capture(&call(guard, "sh", &["-c", "sleep 10 & echo done"]));
        assert_eq!((captured.exit, text(&captured.stdout)), (Exit::Code(0), "done\n"));
    }
    assert!(begun.elapsed() < Duration::from_secs(9));
}

#[test]
fn a_flood_ends_at_the_limit() {
    let captured = capture(&call(Guard::Trusted, "yes", &[]));
    assert_eq!(captured.exit, Exit::OutputLimit { limit: CAPTURE_OUTPUT as u64 });
    assert_eq!(captured.stdout.len(), CAPTURE_OUTPUT);
}

#[test]
fn what_cannot_be_started_is_told_apart() {
    let scratch = Scratch::new();
    let plain = scratch.file("plain", "#!/bin/sh\n");
    let no_interpreter = scratch.file("no-interpreter", "#!/no/such/interpreter\n");
    make_executable(&no_interpreter);
    for guard in GUARDS {
        let refusal = |call: &Call| spawner().capture(call).unwrap_err();
        for program in ["acquit-has-no-such-program", "/no/such/program"] {
            let error = refusal(&call(guard, program, &[]));
            assert!(matches!(error, Error::ProgramMissing { .. }), "{guard:?} {program}: {error:?}");
        }
        for program in [&plain, &no_interpreter] {
            let error = refusal(&call(guard, program, &[]));
            assert!(matches!(error, Error::ProgramNotExecutable { .. }), "{guard:?} {program:?}: {error:?}");
        }
        let mut call = call(guard, "true", &[]);
        call.cwd = scratch.path("gone");
        let error = refusal(&call);
        assert!(matches!(error, Error::Cwd { .. }), "{guard:?}: {error:?}");
    }
}
