//! docs/first-hour.md, executed: its files are written, its commands run in order, and each line of output that it shows is looked for.
//!
//! The agent is a script. Where a package manager would ask a registry, a stand-in of the same name gives what `cargo xtask test` has
//! installed for the tests of runners; `soak_first_hour…` asks the real ones.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may panic, and starts programs")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use acquit_testkit::need;

use crate::common::{Sandbox, binary};

const PAGE: &str = include_str!("../../../../docs/first-hour.md");

/// Plays every stage of the workflow `feature`.
const AGENT: &str = r#"cat > /dev/null
say() { printf '{"outcome":"%s","payload":{"title":"Shout","summary":"done"}}' "$1" > "$ACQUIT_HANDOFF"; }
case "$ACQUIT_STAGE" in
plan) say plan_complete ;;
code) cp -R "@ROOT@/change/." . && { [ ! -f "@ROOT@/bin/change.sh" ] || sh -e "@ROOT@/bin/change.sh"; } && say pr_ready ;;
test) say covered ;;
review|audit) say approved ;;
describe) say described ;;
esac
"#;

/// A step of the page.
enum Step {
    File(String, String),
    /// A command, and lines that it prints.
    Run(String, Vec<String>),
}

/// The steps below a heading.
fn steps(heading: &str) -> Vec<Step> {
    let start = format!("## {heading}\n");
    let section = PAGE.split_once(&start).expect("the heading").1;
    let section = section.split("\n## ").next().unwrap();
    let mut steps = Vec::new();
    let mut file = None;
    let mut lines = section.lines();
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_prefix('`').and_then(|rest| rest.strip_suffix("`:")) {
            file = Some(name.to_owned());
        } else if let Some(language) = line.strip_prefix("```") {
            let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            if language == "console" {
                for line in body {
                    match (line.strip_prefix("$ "), steps.last_mut()) {
                        (Some(command), _) => steps.push(Step::Run(command.to_owned(), Vec::new())),
                        (None, Some(Step::Run(_, shown))) if line != "…" => shown.push(line.to_owned()),
                        (None, _) => {}
                    }
                }
            } else {
                steps.push(Step::File(
                    file.take().expect("a file has a name"),
                    format!("{}\n", body.join("\n")),
                ));
            }
        }
    }
    steps
}

/// A machine on which somebody follows the page.
pub(super) struct Reader {
    pub(super) sandbox: Sandbox,
    path: Vec<PathBuf>,
    pub(super) folder: PathBuf,
    keep_environment: bool,
}

impl Reader {
    pub(super) fn new(change: &[(&str, &str)], read: &[&Path]) -> Self {
        let sandbox = Sandbox::of_files("other", &[]);
        let folder = sandbox.place("greet");
        for folder in [&folder, &sandbox.place("change"), &sandbox.place("bin")] {
            fs::create_dir_all(folder).unwrap();
        }
        for (name, text) in change {
            acquit_testkit::repo::write(&sandbox.place("change").join(name), text);
        }
        let root = sandbox.place("");
        let root = root.to_string_lossy();
        fs::write(sandbox.place("agent.sh"), AGENT.replace("@ROOT@", root.trim_end_matches('/'))).unwrap();
        let shown: Vec<String> = read.iter().map(|path| format!(", \"{}\"", path.display())).collect();
        sandbox.user_config(&format!(
            "agent = \"bot\"\n[agents.bot]\nadapter = \"command\"\nrun = [\"sh\", \"@ROOT@/agent.sh\"]\n[access]\nread = [\"@ROOT@/agent.sh\", \"@ROOT@/change\", \"@ROOT@/bin\"{}]\n",
            shown.concat()
        ));
        symlink(binary(), sandbox.place("bin/acquit")).unwrap();
        let path = vec![sandbox.place("bin")];
        Self { sandbox, path, folder, keep_environment: false }
    }

    /// A machine with the toolchain that runs this test.
    pub(super) fn of_rust(change: &[(&str, &str)]) -> Option<Self> {
        // Set by cargo for every test: the toolchain's own program, not one that looks for a toolchain first.
        let cargo = std::env::var_os("CARGO").map(PathBuf::from);
        let cargo = need::or_skip(cargo, "cargo", "tests of Rust")?;
        let mut reader = Self::new(change, &[]);
        reader.path.push(cargo.parent().unwrap().to_owned());
        Some(reader)
    }

    /// A program that stands in for one of the machine's.
    fn stand_in(&self, name: &str, script: &str) {
        let path = self.sandbox.place("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Runs a line as the page has it; what it printed, and how it ended.
    pub(super) fn sh(&self, line: &str) -> (String, Option<i32>) {
        let usual = if self.keep_environment {
            std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect()
        } else {
            ["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from).to_vec()
        };
        let path = std::env::join_paths(self.path.iter().cloned().chain(usual)).unwrap();
        let mut command = self.sandbox.program("sh");
        command.args(["-c", line]).current_dir(&self.folder).env("PATH", path);
        for name in ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"] {
            command.env(name, "reader@example.org");
        }
        let output = command.output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (String::from_utf8_lossy(&said).into_owned(), output.status.code())
    }

    fn follow(&self, heading: &str) {
        for step in steps(heading) {
            match step {
                Step::File(name, text) => acquit_testkit::repo::write(&self.folder.join(name), &text),
                Step::Run(line, shown) => {
                    let (said, code) = self.sh(&line);
                    assert_eq!(code, Some(0), "{heading}: {line}\n{said}");
                    for words in shown {
                        assert!(said.contains(words.trim()), "{heading}: {line}: no {words:?} in\n{said}");
                    }
                }
            }
        }
    }
}

const PYTHON: [(&str, &str); 2] = [
    (
        "greet.py",
        "def greet(name, shout=False):\n    text = f\"Hello, {name}!\"\n    return text.upper() if shout else text\n",
    ),
    (
        "tests/test_shout.py",
        "from greet import greet\n\n\ndef test_shouts():\n    assert greet(\"Ada\", shout=True) == \"HELLO, ADA!\"\n",
    ),
];

const TYPESCRIPT: [(&str, &str); 2] = [
    (
        "src/greet.ts",
        "export function greet(name: string, shout = false): string {\n  const text = `Hello, ${name}!`;\n  return shout ? text.toUpperCase() : text;\n}\n",
    ),
    (
        "test/shout.test.ts",
        "import { expect, test } from \"vitest\";\nimport { greet } from \"../src/greet\";\n\ntest(\"shouts\", () => {\n  expect(greet(\"Ada\", true)).toBe(\"HELLO, ADA!\");\n});\n",
    ),
];

const RUST: [(&str, &str); 2] = [
    (
        "src/lib.rs",
        "/// Greets somebody by name.\npub fn greet(name: &str) -> String {\n    format!(\"Hello, {name}!\")\n}\n\n/// Greets somebody in capitals.\npub fn shout(name: &str) -> String {\n    greet(name).to_uppercase()\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn greets() {\n        assert_eq!(greet(\"Ada\"), \"Hello, Ada!\");\n    }\n}\n",
    ),
    (
        "tests/shout.rs",
        "#[test]\nfn shouts() {\n    assert_eq!(greet::shout(\"Ada\"), \"HELLO, ADA!\");\n}\n",
    ),
];

/// What `cargo xtask test` installed for the tests of runners.
fn runners(name: &str) -> Option<PathBuf> {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).parent()?.join("runners");
    let found = place.join(name).exists().then(|| place.canonicalize().unwrap_or(place));
    need::or_skip(found, "runners below target/runners", "the first hour")
}

#[test]
fn the_first_hour_in_python() {
    let Some(runners) = runners("python/bin/pytest") else { return };
    let real = runners.join("python/bin/python").canonicalize().unwrap();
    let prefix = real.parent().unwrap().parent().unwrap().to_owned();
    let mut reader = Reader::new(&PYTHON, &[&runners, &prefix]);
    let site = fs::read_dir(runners.join("python/lib")).unwrap().flatten().next().unwrap().path();
    let site = site.join("site-packages");
    reader.stand_in(
        "python3",
        &format!(
            "'{}' \"$@\" || exit\n[ \"$1 $2\" = '-m venv' ] || exit 0\nsite=$(echo \"$3\"/lib/python*/site-packages)\n\
             echo '{}' > $site/runners.pth\nrm -rf $site/pip && mkdir $site/pip && : > $site/pip/__init__.py && : > $site/pip/__main__.py",
            real.display(),
            site.display()
        ),
    );
    reader.path.push(real.parent().unwrap().to_owned());
    // The commands at the top of the page say how this machine is.
    let start = PAGE.split("## Python").next().unwrap();
    for line in start.lines().filter_map(|line| line.strip_prefix("$ ")) {
        let (said, code) = reader.sh(line);
        assert!(matches!(code, Some(0 | 1)), "{line}: {code:?} {said}");
    }
    reader.follow("Python");
}

#[test]
fn the_first_hour_in_typescript() {
    let Some(runners) = runners("js/node_modules/.bin/vitest") else { return };
    let reader = Reader::new(&TYPESCRIPT, &[&runners]);
    reader.stand_in(
        "npm",
        &format!(
            "case $1 in install|ci) mkdir node_modules && ln -s '{0}'/* '{0}'/.bin node_modules/ ;;\n*) PATH=${{PATH#*:}} exec npm \"$@\" ;; esac",
            runners.join("js/node_modules").display()
        ),
    );
    reader.follow("TypeScript");
}

#[test]
fn the_first_hour_in_rust() {
    let Some(reader) = Reader::of_rust(&RUST) else { return };
    reader.follow("Rust");
}

/// With the real registries, as a reader has them.
#[test]
fn soak_first_hour_with_registries() {
    for (heading, change) in [("Python", &PYTHON), ("TypeScript", &TYPESCRIPT)] {
        let mut reader = Reader::new(change, &[]);
        reader.keep_environment = true;
        reader.follow(heading);
    }
}
