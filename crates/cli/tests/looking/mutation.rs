//! Mutants of real tools: cosmic-ray, Stryker and cargo-mutants, which `cargo xtask test` installs.

use std::path::{Path, PathBuf};

use acquit_testkit::need;

use crate::kit::{Sample, rules};

const COSMIC: &str = "[cosmic-ray]\nmodule-path = \"clamp.py\"\ntimeout = 20.0\nexcluded-modules = []\n\
                      test-command = \"python -m pytest -x -q -p no:cacheprovider\"\n\n[cosmic-ray.distributor]\nname = \"local\"\n";

const GATE: &str = r#"
check = "mutation"
run = "cosmic-ray init cosmic.toml mutants.sqlite && cosmic-ray exec cosmic.toml mutants.sqlite && cosmic-ray dump mutants.sqlite > mutants.jsonl"
report = { mutation = "mutants.jsonl" }
"#;

/// The folder of programs with cosmic-ray, made by `cargo xtask test`.
fn cosmic_ray() -> Option<PathBuf> {
    let bin = Path::new(env!("CARGO_TARGET_TMPDIR")).parent()?.join("runners/python/bin");
    let found = bin.join("cosmic-ray").is_file().then_some(bin);
    need::or_skip(found, "cosmic-ray below target/runners", "mutants of Python")
}

#[test]
fn mutants_of_changed_lines_must_be_noticed_by_tests() {
    let Some(bin) = cosmic_ray() else { return };
    let real = bin.join("python").canonicalize().unwrap();
    let path = format!("{}:{}:/usr/local/bin:/usr/bin:/bin", bin.display(), real.parent().unwrap().display());
    // The old line has mutants that survive too, and is not this change's doing.
    let old = "def old(x):\n    return x > 3\n";
    let files = [
        ("clamp.py", old),
        ("test_clamp.py", "from clamp import old\n\n\ndef test_old():\n    assert old(9)\n"),
        ("cosmic.toml", COSMIC),
        (".gitignore", "mutants.*\n__pycache__/\n"),
    ];
    let mut sample = Sample::new(GATE, &files, &path);
    let change = |test: &str| {
        format!(
            "printf '\\n\\ndef is_low(x):\\n    return x < 7\\n' >> clamp.py\n\
             printf 'from clamp import is_low\\n\\n\\ndef test_low():\\n    {test}\\n' > test_low.py"
        )
    };
    let weak = sample.judge(&change("assert is_low(1)"), &[]);
    assert_eq!(rules(&weak), ["score", "survivor"], "{weak:?}");
    let failure = weak.failure.unwrap();
    assert_eq!(failure.location.map(|place| (place.path, place.line)), Some(("clamp.py".to_owned(), 6)));
    let strong = sample.judge(&change("assert is_low(6) and not is_low(7) and not is_low(8)"), &[]);
    assert_eq!(rules(&strong), [""; 0], "{strong:?}");
    let figure =
        |what: &str| strong.evidence.figures.iter().find(|figure| figure.what == what).unwrap().value.clone();
    assert!(figure("mutants of changed lines").parse::<u32>().unwrap() >= 5);
}

#[test]
fn mutants_of_cargo_are_read_as_it_writes_them() {
    let bin = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("runners/rust/bin");
    let found = bin.join("cargo-mutants").is_file().then_some(bin);
    let Some(tool) = need::or_skip(found, "cargo-mutants below target/runners", "mutants of Rust") else {
        return;
    };
    // Not the one that chooses a toolchain by the user's settings, which no gate sees.
    let cargo = Path::new(env!("CARGO")).parent().unwrap();
    let path = format!("{}:{}:/usr/local/bin:/usr/bin:/bin", cargo.display(), tool.display());
    let gate = "check = \"mutation\"\nrun = \"cargo mutants --no-shuffle -j1 --minimum-test-timeout 20\"\n\
                report = { mutation = \"mutants.out/outcomes.json\" }";
    let files = [
        (
            "Cargo.toml",
            "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n",
        ),
        ("src/lib.rs", "pub fn old(x: i32) -> bool {\n    x > 3\n}\n"),
        (".gitignore", "target/\nmutants.out*/\nCargo.lock\n"),
    ];
    let mut sample = Sample::new(gate, &files, &path);
    let change = |assertion: &str| {
        format!(
            "printf '\\npub fn is_low(x: i32) -> bool {{\\n    x < 7\\n}}\\n\\n#[test]\\nfn low() {{\\n    {assertion}\\n}}\\n' >> src/lib.rs"
        )
    };
    let weak = sample.judge(&change("assert!(is_low(1));"), &[]);
    assert_eq!(rules(&weak), ["score", "survivor"], "{weak:?}");
    let strong = sample.judge(&change("assert!(is_low(6) && !is_low(7) && !is_low(8));"), &[]);
    assert_eq!(rules(&strong), [""; 0], "{strong:?}");
}

const STRYKER: &str = r#"{
  "testRunner": "command", "commandRunner": { "command": "node --test" }, "mutate": ["clamp.js"],
  "reporters": ["json"], "jsonReporter": { "fileName": "mutants.json" },
  "concurrency": 1, "plugins": [], "disableTypeChecks": false, "checkers": []
}"#;

#[test]
fn mutants_of_stryker_are_read_as_it_writes_them() {
    let bin = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("runners/node/bin");
    let found = bin.join("stryker").is_file().then_some(bin);
    let Some(bin) = need::or_skip(found, "Stryker below target/runners", "mutants of JavaScript") else {
        return;
    };
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display());
    let gate = "check = \"mutation\"\nrun = \"stryker run\"\nreport = { mutation = \"mutants.json\" }";
    // The old line has mutants that survive too, and is not this change's doing.
    let files = [
        ("clamp.js", "exports.old = (x) => x > 3;\n"),
        ("stryker.conf.json", STRYKER),
        ("package.json", "{ \"name\": \"sample\", \"private\": true }\n"),
        (".gitignore", "mutants.json\n.stryker-tmp/\n"),
    ];
    let mut sample = Sample::new(gate, &files, &path);
    let change = |assertion: &str| {
        let test = format!(
            "const {{ test }} = require(\"node:test\");\nconst assert = require(\"node:assert\");\n\
             const {{ isLow }} = require(\"./clamp.js\");\ntest(\"low\", () => {{\n  {assertion}\n}});\n"
        );
        format!(
            "cat >> clamp.js <<'END'\n\nexports.isLow = (x) => {{\n  return x < 7;\n}};\nEND\ncat > low.test.js <<'END'\n{test}END"
        )
    };
    let weak = sample.judge(&change("assert.ok(isLow(1));"), &[]);
    assert_eq!(rules(&weak), ["score", "survivor"], "{weak:?}");
    let failure = weak.failure.unwrap();
    assert_eq!(failure.location.map(|place| (place.path, place.line)), Some(("clamp.js".to_owned(), 4)));
    let strong = sample.judge(&change("assert.ok(isLow(6) && !isLow(7) && !isLow(8));"), &[]);
    assert_eq!(rules(&strong), [""; 0], "{strong:?}");
}
