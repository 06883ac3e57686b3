//! Real packages from PyPI, npm, crates.io and Debian, taken as a new user would: `init`, `check`, `run` with a scripted agent that makes a real
//! change, `merge`. Versions are pinned. It prints the table of docs/packages.md.
//!
//! Packages are downloaded by their own package managers, and everything of theirs runs inside acquit's sandbox.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a report of real programs"
)]

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use acquit_testkit::packages::{From, sh, unpack};

use crate::common::{Sandbox, binary};

/// What a repository is made of.
struct Case {
    name: &'static str,
    parts: &'static [(From, &'static str, &'static str, &'static str)],
    /// A line for sh that makes the repository what it is, in its folder; `$PARTS` has all packages.
    arrange: &'static str,
    /// What the agent does.
    change: &'static str,
    /// The exit code of `acquit run`, and words that it says: 0 unless a question is the right answer.
    ends: i32,
}

const fn one(
    name: &'static str,
    parts: &'static [(From, &'static str, &'static str, &'static str)],
    change: &'static str,
) -> Case {
    Case { name, parts, arrange: "", change, ends: 0 }
}

/// A function and its test, for a module of Python.
macro_rules! python {
    ($module:literal, $test:literal, $import:literal) => {
        concat!(
            "printf '\\n\\ndef twice(value: str) -> str:\\n    return value + value\\n' >> ",
            $module,
            "\n",
            "printf 'from ",
            $import,
            " import twice\\n\\n\\ndef test_twice() -> None:\\n    assert twice(\"ab\") == \"abab\"\\n' > ",
            $test
        )
    };
}

/// The same for a crate.
macro_rules! rust {
    ($name:literal) => {
        concat!(
            "printf '\\n/// Doubles a number.\\n#[must_use]\\npub fn twice(value: u8) -> u16 {\\n    u16::from(value) * 2\\n}\\n' >> src/lib.rs\nmkdir -p tests\n",
            "printf '#[test]\\nfn twice_doubles() {\\n    assert_eq!(", $name, "::twice(2), 4);\\n}\\n' > tests/twice.rs"
        )
    };
}

/// The same for a package with tape, indented as its linter asks.
macro_rules! tape {
    ($folder:literal, $indent:literal) => {
        concat!(
            "printf '\\nmodule.exports.twice = function (text) {\\n", $indent, "return text + text;\\n};\\n' >> ", $folder, "index.js\n",
            "printf \"'use strict';\\n\\nvar test = require('tape');\\nvar lib = require('../');\\n\\ntest('twice', function (t) {\\n", $indent, "t.equal(lib.twice('ab'), 'abab');\\n", $indent, "t.end();\\n});\\n\" > ", $folder, "test/twice.js"
        )
    };
}

/// The same for a package of Go.
macro_rules! go {
    ($package:literal) => {
        concat!(
            "printf 'package ", $package, "\\n\\n// Twice doubles a number.\\nfunc Twice(n int) int {\\n\\treturn 2 * n\\n}\\n' > twice.go\n",
            "printf 'package ", $package, "\\n\\nimport \"testing\"\\n\\nfunc TestTwice(t *testing.T) {\\n\\tif Twice(2) != 4 {\\n\\t\\tt.Fatal(\"not doubled\")\\n\\t}\\n}\\n' > twice_test.go"
        )
    };
}

const HUMANIZE: (From, &str, &str, &str) = (From::PyPi, "humanize", "4.9.0", ".");
const INFLECTION: (From, &str, &str, &str) = (From::PyPi, "inflection", "0.5.1", ".");

/// Lets Maven take everything from Debian's packages, as a company's mirror would, in the versions that those have.
const MAVEN: &str = r"mkdir .mvn
printf '%s\n' -s .mvn/settings.xml > .mvn/maven.config
printf '<settings><mirrors><mirror><id>debian</id><mirrorOf>*</mirrorOf><url>file:///usr/share/maven-repo</url></mirror></mirrors></settings>\n' > .mvn/settings.xml
perl -0pi -e 's|<parent>.*?</parent>||s; s|>4\.12<|>4.13.2<|; s|>3\.2<|>3.10.1<|; s|<plugin>\s*<groupId>[^<]*</groupId>\s*<artifactId>maven-javadoc-plugin.*?</plugin>||s' pom.xml
printf 'target/\n' > .gitignore";

const CASES: [Case; 14] = [
    one(
        "humanize 4.9.0",
        &[HUMANIZE],
        python!("src/humanize/number.py", "tests/test_twice.py", "humanize.number"),
    ),
    one(
        "itsdangerous 2.2.0",
        &[(From::PyPi, "itsdangerous", "2.2.0", ".")],
        python!(
            "src/itsdangerous/encoding.py",
            "tests/test_itsdangerous/test_twice.py",
            "itsdangerous.encoding"
        ),
    ),
    one("minimist 1.2.8", &[(From::Npm, "minimist", "1.2.8", ".")], tape!("", "\\t")),
    one(
        "fast-json-stable-stringify 2.1.0",
        &[(From::Npm, "fast-json-stable-stringify", "2.1.0", ".")],
        tape!("", "    "),
    ),
    one("itoa 1.0.9", &[(From::Crates, "itoa", "1.0.9", ".")], rust!("itoa")),
    one("semver 1.0.22", &[(From::Crates, "semver", "1.0.22", ".")], rust!("semver")),
    one(
        "shlex, a module of Go",
        &[(From::Debian, "golang-github-google-shlex-dev", "github.com/google/shlex", ".")],
        go!("shlex"),
    ),
    one(
        "go-wordwrap, a module of Go",
        &[(From::Debian, "golang-github-mitchellh-go-wordwrap-dev", "github.com/mitchellh/go-wordwrap", ".")],
        go!("wordwrap"),
    ),
    Case {
        name: "java-semver 0.9.0, Maven",
        parts: &[(From::GitHub, "zafarkhaja/jsemver", "v0.9.0", ".")],
        arrange: MAVEN,
        change: "d=java/com/github/zafarkhaja/semver\n\
                 printf 'package com.github.zafarkhaja.semver;\n\n/** Doubles numbers. */\nfinal class Twice {\n    private Twice() {}\n\n    static int twice(int n) {\n        return 2 * n;\n    }\n}\n' > src/main/$d/Twice.java\n\
                 printf 'package com.github.zafarkhaja.semver;\n\nimport static org.junit.Assert.assertEquals;\n\nimport org.junit.Test;\n\npublic class TwiceTest {\n    @Test\n    public void doubles() {\n        assertEquals(4, Twice.twice(2));\n    }\n}\n' > src/test/$d/TwiceTest.java",
        ends: 0,
    },
    Case {
        name: "textwrap 0.16.1, ignored lock file",
        parts: &[(From::Crates, "textwrap", "0.16.1", ".")],
        arrange: "printf 'Cargo.lock\\n/target\\n' > .gitignore",
        change: rust!("textwrap"),
        ends: 0,
    },
    Case {
        name: "inflection 0.5.1, a broken test",
        parts: &[INFLECTION],
        arrange: "printf '\\n\\ndef test_broken():\\n    assert inflection.pluralize(\"ox\") == \"oxes\"\\n' >> test_inflection.py",
        change: python!("inflection/__init__.py", "test_twice.py", "inflection"),
        ends: 0,
    },
    Case {
        name: "strsim 0.11.1 with a submodule that its tests read",
        parts: &[(From::Crates, "strsim", "0.11.1", "."), (From::Crates, "heck", "0.5.0", "../lib")],
        arrange: "(cd ../lib && git init -q -b main && git add -A && git commit -qm lib)\ngit submodule --quiet add \"$(realpath ../lib)\" vendor/heck\n\
                  printf '#[test]\\nfn vendored() {\\n    assert!(include_str!(\"../vendor/heck/Cargo.toml\").contains(\"heck\"));\\n}\\n' > tests/vendored.rs",
        change: rust!("strsim"),
        ends: 0,
    },
    Case {
        name: "monorepo: humanize and inflection in packages/",
        parts: &[
            (From::PyPi, "humanize", "4.9.0", "packages/humanize"),
            (From::PyPi, "inflection", "0.5.1", "packages/inflection"),
        ],
        arrange: "",
        change: python!(
            "packages/inflection/inflection/__init__.py",
            "packages/inflection/test_twice.py",
            "inflection"
        ),
        ends: 0,
    },
    Case {
        name: "monorepo: npm workspaces",
        parts: &[
            (From::Npm, "fast-json-stable-stringify", "2.1.0", "packages/stringify"),
            (From::Npm, "minimist", "1.2.8", "packages/minimist"),
        ],
        arrange: "printf '{\"name\":\"mono\",\"private\":true,\"workspaces\":[\"packages/*\"],\"scripts\":{\"test\":\"npm run tests-only --workspaces --if-present\"}}' > package.json",
        change: tape!("packages/minimist/", "\\t"),
        ends: 0,
    },
];

/// Plays every stage of the workflow `feature`.
const AGENT: &str = r#"cat > /dev/null
say() { printf '{"outcome":"%s","payload":{"title":"Add twice","summary":"done"}}' "$1" > "$ACQUIT_HANDOFF"; }
case "$ACQUIT_STAGE" in
plan) say plan_complete ;;
code) sh "@ROOT@/change.sh" && git add -A && git commit -qm 'Add twice' && say pr_ready ;;
test) say covered ;;
review|audit) say approved ;;
describe) say described ;;
esac
"#;

/// How a command of acquit ended.
struct Ran {
    code: Option<i32>,
    seconds: f64,
    said: String,
}

#[test]
fn soak_real_packages_from_init_to_merge() {
    let only = std::env::var("ACQUIT_PACKAGES").unwrap_or_default();
    let (mut table, mut wrong, mut first) = (String::new(), String::new(), 0);
    let cases: Vec<&Case> = CASES.iter().filter(|case| case.name.contains(&only)).collect();
    for case in &cases {
        let sandbox = Sandbox::of_files("other", &[]);
        let root = sandbox.place("").canonicalize().unwrap();
        let (downloads, repository) = (root.join("downloads"), root.join("package"));
        fs::create_dir_all(&downloads).unwrap();
        for part in case.parts {
            unpack(&downloads, part, &repository);
        }
        sh(&repository, &format!("git init -q -b main\n{}\ngit add -A\ngit commit -qm first", case.arrange));
        fs::write(root.join("change.sh"), case.change).unwrap();
        fs::write(root.join("agent.sh"), AGENT.replace("@ROOT@", &root.to_string_lossy())).unwrap();
        let config = root.join("config");
        acquit_testkit::repo::write(
            &config.join("acquit/config.toml"),
            &format!(
                "agent = \"bot\"\n[agents.bot]\nadapter = \"command\"\nrun = [\"sh\", \"{0}/agent.sh\"]\n[access]\nread = [\"{0}/agent.sh\", \"{0}/change.sh\"]\n",
                root.display()
            ),
        );
        let acquit = |args: &[&str]| {
            let start = Instant::now();
            let mut command = Command::new(binary());
            command.args(args).current_dir(&repository).env("XDG_CONFIG_HOME", &config);
            command.env("ACQUIT_HOME", root.join("acquit")).env_remove("ACQUIT_STORE");
            let output = command.stdin(std::process::Stdio::null()).output().unwrap();
            let said = [output.stdout, output.stderr].concat();
            let said = String::from_utf8_lossy(&said).into_owned();
            Ran { code: output.status.code(), seconds: start.elapsed().as_secs_f64(), said }
        };
        let init = acquit(&["init"]);
        let check = acquit(&["check"]);
        sh(&repository, "git add -A && git commit -qm 'Set up acquit'");
        let run = acquit(&["run", "Add twice"]);
        let merge = if run.code == Some(0) { Some(acquit(&["merge", "T-1"])) } else { None };
        let merged = merge.as_ref().is_some_and(|merge| merge.code == Some(0));
        let edits = init.said.lines().filter(|line| line.starts_with("edited ")).count();
        let clean = init.code == Some(0) && check.code == Some(0) && run.code == Some(0) && merged;
        first += usize::from(clean);
        let word =
            |ran: &Ran| format!("{} ({:.0} s)", if ran.code == Some(0) { "✓" } else { "?" }, ran.seconds);
        let merge_word = merge.as_ref().map_or_else(|| "—".to_owned(), word);
        let _ = writeln!(
            table,
            "| {} | {} | {} | {} | {} | {edits} |",
            case.name,
            word(&init),
            word(&check),
            word(&run),
            merge_word
        );
        println!("{}", table.lines().last().unwrap_or_default());
        if run.code != Some(case.ends) || (case.ends == 0 && !merged) {
            let _ = writeln!(wrong, "## {}\n{}\n{}\n{}\n", case.name, init.said, check.said, run.said);
        }
        let left: Vec<PathBuf> = vec![root.join("acquit"), downloads];
        left.iter().for_each(|folder| drop(fs::remove_dir_all(folder)));
    }
    println!("| package | init | check | run | merge | edits by init |\n|---|---|---|---|---|---|\n{table}");
    println!("{first} of {} at the first try", cases.len());
    assert!(wrong.is_empty(), "{wrong}");
    assert!(first * TRIED >= cases.len() * AT_FIRST, "{first} of {} at the first try", cases.len());
}

/// So many of so many must pass at the first try; the others ask one clear question.
const AT_FIRST: usize = 10;
const TRIED: usize = 12;

/// The page has the packages of this test, in their order.
#[test]
fn the_page_has_a_row_for_each_package() {
    let page = include_str!("../../../../docs/packages.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let rows: Vec<&str> = rows.filter(|name| *name != "package").collect();
    assert_eq!(rows, CASES.map(|case| case.name));
}
