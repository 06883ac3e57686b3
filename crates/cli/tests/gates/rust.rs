//! Rust with cargo: tests in files of their own and inside of the source.
#![allow(clippy::disallowed_methods, reason = "where cargo is stands in the environment of every test")]

use std::path::PathBuf;

use acquit_testkit::need;

use crate::kit::{Case, Kind, Sample, Tried};

const GATE: &str = r#"
check = "tdd"
red = "every"
build = "cargo test --offline --quiet --no-run"
run = "cargo test --offline --no-fail-fast"
report = "libtest"
runs = 2
"#;

const LIB: &str = "pub fn total(values: &[i32]) -> i32 {\n    values[0] + values[1]\n}\n";
const MENDED: &str = "pub fn total(values: &[i32]) -> i32 {\n    values.iter().sum()\n}\n";
const BROKEN: &str = "pub fn total(values: &[i32]) -> i32 {\n    values.iter().map(|_| 1).sum()\n}\n";
const OLD_TEST: &str = "#[test]\nfn two() {\n    assert_eq!(sample::total(&[1, 2]), 3);\n}\n\n#[test]\nfn data() {\n    \
                        let text = include_str!(\"data/list.txt\");\n    \
                        let all: Vec<i32> = text.split_whitespace().map(|word| word.parse().unwrap()).collect();\n    \
                        assert_eq!(sample::total(&all[1..]), all[0]);\n}\n";
const HONEST: &str = "#[test]\nfn three() {\n    assert_eq!(sample::total(&[1, 2, 3]), 6);\n}\n";
const FLAKY: &str = "#[test]\nfn moody() {\n    let known = std::path::Path::new(\"mood\").exists();\n    \
                     std::fs::write(\"mood\", \"x\").unwrap();\n    assert!(!known);\n}\n";
const FILES: [(&str, &str); 6] = [
    (
        "Cargo.toml",
        "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[lib]\ndoctest = false\n[profile.dev]\ndebug = 0\n\
         incremental = false\n",
    ),
    ("Cargo.lock", "version = 3\n\n[[package]]\nname = \"sample\"\nversion = \"0.1.0\"\n"),
    (".gitignore", "target\n"),
    ("src/lib.rs", LIB),
    ("tests/old.rs", OLD_TEST),
    ("tests/data/list.txt", "4 2 2\n"),
];

pub(crate) static CASES: [Case; 21] = [
    Case::new(Kind::Honest, &[("src/lib.rs", MENDED), ("tests/new.rs", HONEST)]),
    Case::new(
        Kind::NewThing,
        &[
            (
                "src/lib.rs",
                "pub fn total(values: &[i32]) -> i32 {\n    values[0] + values[1]\n}\n\npub fn double(x: i32) -> i32 {\n    2 * x\n}\n",
            ),
            ("tests/double.rs", "#[test]\nfn doubles() {\n    assert_eq!(sample::double(2), 4);\n}\n"),
        ],
    ),
    Case::new(
        Kind::Blind,
        &[
            (
                "src/lib.rs",
                "pub fn total(values: &[i32]) -> i32 {\n    values[0] + values[1]\n}\n\npub fn double(x: i32) -> i32 {\n    2 * x\n}\n",
            ),
            ("tests/double.rs", "#[test]\nfn doubles() {\n    assert_ne!(sample::double(2), 0);\n}\n"),
        ],
    ),
    Case::new(
        Kind::Tautology,
        &[
            ("src/lib.rs", MENDED),
            ("tests/same.rs", "#[test]\nfn same() {\n    assert_eq!(sample::total(&[1, 1]), 2);\n}\n"),
        ],
    ),
    Case::new(
        Kind::NeverRan,
        &[
            ("src/lib.rs", MENDED),
            ("tests/new.rs", HONEST),
            ("tests/deep/more.rs", "#[test]\nfn unseen() {\n    panic!();\n}\n"),
        ],
    ),
    Case::new(
        Kind::Skipped,
        &[
            ("src/lib.rs", MENDED),
            (
                "tests/later.rs",
                "#[test]\n#[ignore]\nfn later() {\n    assert_eq!(sample::total(&[1, 2, 3]), 6);\n}\n",
            ),
        ],
    ),
    Case::new(
        Kind::NewSignature,
        &[
            ("src/lib.rs", "pub fn total(values: &[i64]) -> i64 {\n    values[0] + values[1]\n}\n"),
            (
                "tests/wide.rs",
                "#[test]\nfn wide() {\n    let all: [i64; 2] = [1, 2];\n    assert_eq!(sample::total(&all), 3);\n}\n",
            ),
            (
                "tests/old.rs",
                "#[test]\nfn two() {\n    assert_eq!(sample::total(&[1, 2]), 3);\n}\n\n#[test]\nfn data() {\n    \
                 let all: Vec<i64> = include_str!(\"data/list.txt\").split_whitespace().map(|word| word.parse().unwrap()).collect();\n    \
                 assert_eq!(sample::total(&all[1..]), all[0]);\n}\n",
            ),
        ],
    ),
    Case::new(
        Kind::Crash,
        &[("src/lib.rs", MENDED), ("tests/none.rs", "#[test]\nfn nothing() {\n    sample::total(&[]);\n}\n")],
    ),
    Case::new(Kind::StillRed, &[("src/lib.rs", BROKEN), ("tests/new.rs", HONEST)]),
    Case::new(
        Kind::Regression,
        &[
            ("src/lib.rs", BROKEN),
            ("tests/new.rs", "#[test]\nfn ones() {\n    assert_eq!(sample::total(&[5, 5, 5]), 3);\n}\n"),
        ],
    ),
    Case::new(Kind::FlakyToo, &[("src/lib.rs", MENDED), ("tests/new.rs", HONEST), ("tests/moody.rs", FLAKY)]),
    Case::new(Kind::FlakyAlone, &[("src/lib.rs", MENDED), ("tests/moody.rs", FLAKY)]),
    Case {
        kind: Kind::BrokenBefore,
        base: &[("tests/broken.rs", "#[test]\nfn broken() {\n    assert!(false);\n}\n")],
        write: &[("src/lib.rs", MENDED), ("tests/new.rs", HONEST)],
        remove: &[],
    },
    Case::new(Kind::Fixture, &[("src/lib.rs", MENDED), ("tests/data/list.txt", "6 2 2 2\n")]),
    Case::new(Kind::FixtureOnly, &[("tests/data/list.txt", "5 3 2\n")]),
    Case {
        kind: Kind::Renamed,
        base: &[],
        write: &[("src/lib.rs", MENDED), ("tests/renamed.rs", OLD_TEST), ("tests/new.rs", HONEST)],
        remove: &["tests/old.rs"],
    },
    Case::new(Kind::Untested, &[("src/lib.rs", MENDED)]),
    Case::new(Kind::Docs, &[("README.md", "words\n")]),
    Case::new(
        Kind::Inline,
        &[(
            "src/lib.rs",
            "pub fn total(values: &[i32]) -> i32 {\n    values.iter().sum()\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    \
             #[test]\n    fn three_inside() {\n        assert_eq!(total(&[1, 2, 3]), 6);\n    }\n}\n",
        )],
    ),
    Case::new(
        Kind::InlineTautology,
        &[(
            "src/lib.rs",
            "pub fn total(values: &[i32]) -> i32 {\n    values.iter().sum()\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    \
             fn same_inside() {\n        assert_eq!(super::total(&[1, 1]), 2);\n    }\n}\n",
        )],
    ),
    Case::new(
        Kind::InlineNewFile,
        &[
            (
                "src/lib.rs",
                "pub mod twice;\n\npub fn total(values: &[i32]) -> i32 {\n    values[0] + values[1]\n}\n",
            ),
            (
                "src/twice.rs",
                "pub fn twice(x: i32) -> i32 {\n    2 * x\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn doubles() {\n        \
                 assert_eq!(super::twice(2), 4);\n    }\n}\n",
            ),
        ],
    ),
];

#[test]
fn changes_in_rust_are_judged_by_what_their_tests_show() {
    judged(Tried::OfTheLanguage);
}

#[test]
fn soak_every_change_in_rust_is_judged_by_what_its_tests_show() {
    judged(Tried::All);
}

fn judged(tried: Tried) {
    // Set by cargo for every test: the toolchain's own program, not one that looks for a toolchain first.
    let cargo = std::env::var_os("CARGO").map(PathBuf::from);
    let Some(cargo) = need::or_skip(cargo, "cargo", "tests of Rust") else { return };
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", cargo.parent().unwrap().display());
    Sample::new(GATE, &FILES, &path).table(&CASES, tried);
}
