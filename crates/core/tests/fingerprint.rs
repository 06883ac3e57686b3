//! The same failure has one fingerprint however often it comes, and different ones have different ones.
#![allow(clippy::unwrap_used, reason = "tests may panic")]

use std::collections::HashMap;
use std::sync::LazyLock;

use acquit_core::failure::{Failure, Location};
use acquit_core::fingerprint::{Fingerprint, normal};
use acquit_core::ids::Name;
use proptest::prelude::*;

/// What differs between two runs of the same mistake.
#[derive(Clone, Debug)]
struct Noise {
    line: u32,
    column: u32,
    folder: String,
    address: u64,
    millis: u32,
    thread: u32,
    port: u16,
    uuid: u128,
    commit: u128,
    colour: u8,
    order: bool,
    passed: u32,
    hour: u32,
}

fn noise() -> impl Strategy<Value = Noise> {
    let place = (1_u32..5000, 1_u32..120, "[a-zA-Z0-9]{6}", any::<u64>());
    let run = (0_u32..100_000, 1_u32..99_999, 1024_u16..65535, any::<u128>(), any::<u128>());
    let rest = (30_u8..38, any::<bool>(), 0_u32..500, 0_u32..24);
    (place, run, rest).prop_map(
        |((line, column, folder, address), (millis, thread, port, uuid, commit), rest)| Noise {
            line,
            column,
            folder,
            address,
            millis,
            thread,
            port,
            uuid,
            commit,
            colour: rest.0,
            order: rest.1,
            passed: rest.2,
            hour: rest.3,
        },
    )
}

impl Noise {
    fn uuid(&self) -> String {
        let hex = format!("{:032x}", self.uuid);
        format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
    }

    fn map(&self) -> &'static str {
        if self.order { r#"{"a": 1, "b": {"x": 2, "y": 3}}"# } else { r#"{"b": {"y": 3, "x": 2}, "a": 1}"# }
    }

    fn paint(&self, text: &str) -> String {
        format!("\u{1b}[1;{}m{text}\u{1b}[0m", self.colour)
    }

    /// A failure of each of five runners, of which `name` and `value` say which one it is.
    fn failure(&self, runner: usize, name: &str, value: u32) -> Failure {
        let Self { line, column, folder, address, millis, thread, port, passed, hour, .. } = self;
        let secs = f64::from(*millis) / 1000.0;
        let tree = format!("/tmp/acquit-{folder}/tasks/T-{thread}/workspace/work");
        let message = match runner {
            0 => format!(
                "running {passed} tests\ntest other ... ok\n---- tests::{name} stdout ----\nthread 'tests::{name}' ({thread}) {} src/a.rs:{line}:{column}:\n\
                 assertion `left == right` failed: map {}\n  left: {value}\n right: Foo {{ at: {address:#x} }}\nstack backtrace:\n   0: rust_begin_unwind\n   \
                 1: sample::{name}::h{address:016x}\n             at {tree}/src/a.rs:{line}:{column}\n   2: core::ops::function\n   3: std::rt::{folder}\n\
                 test result: FAILED. {passed} passed; 1 failed; finished in {secs:.2}s",
                self.paint("panicked at"),
                self.map()
            ),
            1 => format!(
                "{}\n    def test_{name}():\n>       assert call(port={port}) == {value}\nE       AssertionError: assert {} == {value}\nE        where <Foo object at {address:#x}>\n\
                 tests/test_a.py:{line}: AssertionError\n  File \"{tree}/a.py\", line {line}, in {name}\n======= 1 failed, {passed} passed in {secs:.2}s =======",
                self.paint(&format!("____ test_{name} ____")),
                self.map()
            ),
            2 => format!(
                "FAIL src/a.test.js > {name}\nAssertionError: expected {} to equal {value}\n at {name} ({tree}/src/a.js:{line}:{column})\n at Object.<anonymous> \
                 ({tree}/src/a.test.js:{line}:{column})\n at processTicks (node:internal/process:{line}:{column})\n at run{folder} (node:internal/x:1:2)\n\
                 request {} to http://127.0.0.1:{port}/ took {millis} ms\nTests:  1 failed, {passed} passed\nTime: {secs} s",
                self.map(),
                self.uuid()
            ),
            3 => format!(
                "--- FAIL: Test{name} ({secs:.2}s)\n    a_test.go:{line}: got map[{}] want {value}\npanic: boom at {hour:02}:00:01.{millis:03}\ngoroutine {thread} [running]:\n\
                 main.{name}({address:#x})\n\t{tree}/a.go:{line} +{address:#x}\nFAIL\texample.org/a\t{secs:.3}s",
                if self.order { "a:1 b:2" } else { "b:2 a:1" }
            ),
            _ => format!(
                "2026-11-{:02}T{hour:02}:00:00.{millis:03}Z [pool-{thread}-thread-{passed}] ERROR\nAddTest.{name}:{line} expected: <{value}> but was: <org.Foo@{:08x}>\n\
                 \tat org.AddTest.{name}(AddTest.java:{line})\n\tat org.Runner.run(Runner.java:{column})\nbuilt from commit {:040x} in {millis} ms using {} KB",
                (thread % 28) + 1,
                // A hash without any letter could as well be a number.
                (address & 0xffff_ffff) | 0xa000_0000,
                self.commit | (0xab << 120),
                thread
            ),
        };
        Failure {
            gate: Name::literal("test"),
            kind: Name::literal("test"),
            message,
            location: Some(Location { path: "src/a.rs".to_owned(), line: *line }),
            excerpt: Some(format!("> {line} | code")),
        }
    }
}

/// One failure as it looks without any noise worth the name.
fn quiet() -> Noise {
    Noise {
        line: 10,
        column: 5,
        folder: "abcdef".to_owned(),
        address: 0x7fff_1234,
        millis: 120,
        thread: 7,
        port: 8080,
        uuid: 0x1234_5678_9abc_def0_1234_5678_9abc_def0,
        commit: 0xabcd_ef01_2345,
        colour: 31,
        order: true,
        passed: 3,
        hour: 3,
    }
}

static QUIET: LazyLock<Vec<(Fingerprint, String)>> = LazyLock::new(|| {
    let failures = (0..5).map(|runner| quiet().failure(runner, "adds", 4));
    failures.map(|failure| (Fingerprint::of(&failure), normal(&failure))).collect()
});

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_thousand_variations_of_one_failure_are_one(noise in noise()) {
        for runner in 0..5 {
            let (first, again) = (&QUIET[runner], noise.failure(runner, "adds", 4));
            prop_assert_eq!(&first.0, &Fingerprint::of(&again), "{}\n{}", first.1, normal(&again));
        }
    }

    #[test]
    fn any_text_has_a_fingerprint(message in "\\PC{0,400}") {
        let failure = Failure { message, ..quiet().failure(0, "x", 1) };
        prop_assert_eq!(Fingerprint::of(&failure).as_str().len(), 32);
    }
}

#[test]
fn a_thousand_different_failures_are_a_thousand() {
    let mut seen: HashMap<Fingerprint, String> = HashMap::new();
    for number in 0..200_u32 {
        let names = ["adds", "takes away", "multiplies", "divides", "rounds"];
        let name = format!("{}_{}", names[number as usize % 5].replace(' ', "_"), number / 5);
        for runner in 0..5 {
            let failure = quiet().failure(runner, &name, number % 7);
            let other = seen.insert(Fingerprint::of(&failure), failure.message.clone());
            assert_eq!(other, None, "the same as\n{}", failure.message);
        }
    }
    assert_eq!(seen.len(), 1000);
}

#[test]
fn kind_file_value_and_message_each_make_a_difference() {
    let first = quiet().failure(0, "adds", 4);
    let mut others = vec![quiet().failure(0, "adds", 5), quiet().failure(1, "adds", 4)];
    others.push(Failure { kind: Name::literal("lint"), ..first.clone() });
    let elsewhere = Some(Location { path: "src/b.rs".to_owned(), line: 10 });
    others.push(Failure { location: elsewhere, ..first.clone() });
    others.push(Failure { location: None, ..first.clone() });
    for other in &others {
        assert_ne!(Fingerprint::of(&first), Fingerprint::of(other), "{other:?}");
    }
    // The gate's name is the workflow's choice, and the excerpt is the code around it.
    let named = Failure { gate: Name::literal("unit"), excerpt: None, ..first.clone() };
    assert_eq!(Fingerprint::of(&first), Fingerprint::of(&named));
    let (a, b) = (&others[0], &others[2]);
    assert_eq!(
        Fingerprint::of_all(&[a.clone(), b.clone()]),
        Fingerprint::of_all(&[b.clone(), a.clone(), b.clone()])
    );
}
