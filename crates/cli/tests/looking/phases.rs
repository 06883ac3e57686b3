//! Tests that are committed before the code, in Rust: inline ones too, and of something new.

use std::path::Path;

use acquit_core::gate::Verdict;

use crate::kit::{Sample, rules};

const GATE: &str = r#"
check = "tdd"
build = "cargo test --offline --quiet --no-run"
run = "cargo test --offline --no-fail-fast"
report = "libtest"
runs = 2
weak = "reject"
red = "every"
phases = "require"
"#;

const FILES: [(&str, &str); 4] = [
    (
        "Cargo.toml",
        "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[lib]\ndoctest = false\n[profile.dev]\ndebug = 0\n\
         incremental = false\n",
    ),
    ("Cargo.lock", "version = 3\n\n[[package]]\nname = \"sample\"\nversion = \"0.1.0\"\n"),
    (".gitignore", "target\n"),
    ("src/lib.rs", "pub fn one() -> i32 {\n    1\n}\n"),
];

const STUB: &str = "\npub fn twice(x: i32) -> i32 {\n    x - x\n}\n";
const TESTS: &str = "\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn doubles() {\n        assert_eq!(super::twice(2), 4);\n    }\n}\n";

/// Adds text to the source.
fn add(text: &str) -> String {
    format!("cat >> src/lib.rs <<'END'\n{text}END\n")
}

/// Commits everything, as the first phase or as the second.
fn commit(phase: &str) -> String {
    format!("git add -A && git commit -qm 'step' -m '{phase}'\n")
}

const MEND: &str = "sed -i 's/x - x/2 * x/' src/lib.rs\n";

/// How many tests were red by an assertion.
fn proven(verdict: &Verdict) -> Option<&str> {
    verdict
        .evidence
        .figures
        .iter()
        .find(|figure| figure.what == "assert-red")
        .map(|figure| figure.value.as_str())
}

#[test]
fn tests_and_stubs_first_then_the_code_and_the_tests_are_locked() {
    let cargo = Path::new(env!("CARGO")).parent().unwrap();
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", cargo.display());
    let mut sample = Sample::new(GATE, &FILES, &path);
    let first = || add(STUB) + &add(TESTS) + &commit("Phase: test");
    let second = commit("Code.");
    // Of something new, and red by an assertion all the same.
    let honest = sample.judge(&(first() + MEND + &second), &[]);
    assert_eq!((rules(&honest), proven(&honest)), (vec![], Some("1")), "{honest:?}");
    for (what, deed, rule) in [
        ("no first phase", add(&STUB.replace("x - x", "2 * x")) + &add(TESTS) + &second, "no-phase"),
        (
            "an assertion is loosened afterwards",
            first() + MEND + "sed -i 's/twice(2), 4/twice(2), 2 + 2/' src/lib.rs\n" + &second,
            "test-changed",
        ),
        (
            "a test goes away",
            first() + MEND + "sed -i 's/fn doubles/fn other/' src/lib.rs\n" + &second,
            "test-changed",
        ),
        (
            "the code was there with the tests",
            add(&STUB.replace("x - x", "2 * x"))
                + &add(TESTS)
                + &commit("Phase: test")
                + "echo >> src/lib.rs\n"
                + &second,
            "never-red",
        ),
        (
            "the first phase breaks what was there",
            add(&TESTS.replace("twice(2), 4", "one(), 1"))
                + "sed -i 's/^    1$/    2/' src/lib.rs\n"
                + &commit("Phase: test")
                + "sed -i 's/^    2$/    1/' src/lib.rs\n"
                + &add(STUB)
                + &second,
            "phase-changes-code",
        ),
    ] {
        let verdict = sample.judge(&deed, &[]);
        assert!(rules(&verdict).contains(&rule), "{what}: {verdict:?}");
    }
}

#[test]
fn a_stub_that_is_only_announced_is_a_weak_proof() {
    let cargo = Path::new(env!("CARGO")).parent().unwrap();
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", cargo.display());
    let gate = GATE.replace("weak = \"reject\"\n", "").replace("\"require\"", "\"allow\"");
    let mut sample = Sample::new(&gate, &FILES, &path);
    let deed = add(&STUB.replace("x - x", "todo!(\"{x}\")"))
        + &add(TESTS)
        + &commit("Phase: test")
        + "sed -i 's/todo!(\"{x}\")/2 * x/' src/lib.rs\n"
        + &commit("Code.");
    let verdict = sample.judge(&deed, &[]);
    assert!(
        verdict.passed && verdict.evidence.findings.iter().any(|finding| finding.rule == "weak-red"),
        "{verdict:?}"
    );
}
