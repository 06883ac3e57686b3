//! What a program writes arrives, whatever it is and however much.

use std::fs;

use acquit_run::process::{CHUNK, Exit, Next, Stderr, Stdout, Watcher};

use crate::support::{Recorder, Scratch, run, run_in, spawner, subreaper, text};

#[test]
fn bytes_that_are_no_text_arrive_unchanged() {
    let scratch = Scratch::new();
    for bytes in [&b""[..], b"no newline", b"\0\0a\0", b"\xff\xfe\x80 half \xc3", b"\n", b"\r\n\x1b[31m"] {
        let source = scratch.file("source", bytes);
        for spawner in [spawner(), subreaper()] {
            let (ended, arrived) = run_in(&spawner, &scratch.spec("cat", &[source.to_str().unwrap()]));
            assert_eq!((ended.exit, arrived.as_slice()), (Exit::Code(0), bytes));
            assert_eq!(fs::read(scratch.output()).unwrap(), bytes);
        }
    }
}

#[test]
fn errors_are_in_order_with_the_output_or_in_their_own_file() {
    let scratch = Scratch::new();
    let mut spec = scratch.sh("echo one; echo two >&2; echo three");
    assert_eq!(text(&run(&spec).1), "one\ntwo\nthree\n");

    spec.stderr = Stderr::File(scratch.file("errors", "left over"));
    assert_eq!(text(&run(&spec).1), "one\nthree\n");
    assert_eq!(fs::read_to_string(scratch.path("errors")).unwrap(), "two\n");
}

#[test]
fn appended_output_is_reported_from_where_it_begins() {
    let scratch = Scratch::new();
    scratch.file("output", "earlier\n");
    let mut spec = scratch.sh("echo later");
    spec.stdout = Stdout::Append(scratch.output());
    let mut recorder = Recorder::until(|_| false);
    spawner().spawn(&spec).unwrap().watch(&mut recorder).unwrap();
    assert_eq!((recorder.start, text(&recorder.bytes)), (8, "later\n"));
    assert_eq!(fs::read_to_string(scratch.output()).unwrap(), "earlier\nlater\n");
}

#[test]
fn a_program_that_empties_its_output_file_is_still_heard() {
    let scratch = Scratch::new();
    let go = scratch.path("go");
    let spec = scratch.sh("echo long before; until [ -e go ]; do sleep 0.01; done; echo after > /dev/stdout");
    let mut recorder = Recorder::until(|bytes| {
        if bytes.ends_with(b"before\n") {
            fs::write(&go, "").unwrap();
        }
        false
    });
    spawner().spawn(&spec).unwrap().watch(&mut recorder).unwrap();
    assert_eq!(text(&recorder.bytes), "long before\nafter\n");
}

/// Compares with what was written, and keeps nothing.
struct Verifier {
    expected: Vec<u8>,
    period: u64,
    next: u64,
}

impl Watcher for Verifier {
    fn output(&mut self, offset: u64, bytes: &[u8]) {
        assert_eq!(offset, self.next);
        let phase = usize::try_from(offset % self.period).unwrap();
        assert!(bytes == &self.expected[phase..phase + bytes.len()], "changed near {offset}");
        self.next += bytes.len() as u64;
    }

    fn tick(&mut self) -> Next {
        Next::Continue
    }
}

#[test]
fn a_burst_arrives_whole_and_memory_does_not_grow_with_it() {
    const SIZE: u64 = 200_000_000;
    let line = b"the quick brown fox jumps over the lazy dog\n";
    let expected = line.iter().copied().cycle().take(CHUNK + line.len()).collect();
    let mut verifier = Verifier { expected, period: line.len() as u64, next: 0 };

    let scratch = Scratch::new();
    let spec = scratch.sh(&format!("yes '{}' | head -c {SIZE}", text(line).trim_end()));
    let before = peak_memory();
    let ended = spawner().spawn(&spec).unwrap().watch(&mut verifier).unwrap();
    let grown = peak_memory() - before;
    assert_eq!((ended.exit, ended.output_bytes, verifier.next), (Exit::Code(0), SIZE, SIZE));
    // Other tests may run in this process at the same time; a copy of the burst would be six times as much.
    assert!(grown < 32 * 1024, "grew by {grown} kB");
}

/// The most memory that this process ever had, in kB.
fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
