//! Selects the tests that a change affects: tests that changed, and tests that import a changed file, directly or
//! through other files.
//!
//! Each test runner is narrowed in its own way. If a change touches a file whose readers are unknown, such as settings
//! or data, all tests run. File names come from the repository, so a name with unusual characters is never put into a
//! command.

mod go;
mod graph;
mod java;
mod javascript;
mod python;
mod rust;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use acquit_core::gate::Command;

/// Maximum number of files to read. In a larger repository all tests run.
const MOST_FILES: usize = 20_000;

/// Maximum size of a file to read.
const LARGEST: u64 = 1 << 20;

/// Maximum number of tests to name in a command. With more than this, all tests run.
const MOST_NAMED: usize = 200;

/// Maximum number of tests to name in messages.
const MOST_SHOWN: usize = 5;

/// Reason for a change that no test can see.
pub(super) const PROSE: &str = "the change has nothing that a test could see";

/// A test command, narrowed to what a change affects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Narrowed {
    /// Run only some tests.
    To {
        /// The narrowed command.
        command: Command,
        /// Description of the tests.
        what: String,
    },
    /// Run all tests, for this reason.
    All(String),
    /// Run nothing, for this reason.
    Not(String),
}

/// Text files of a tree, by path.
pub(super) struct Files {
    texts: BTreeMap<String, String>,
    cut: bool,
}

impl Files {
    /// Reads the text files of a tree.
    pub(super) fn read(top: &Path) -> Self {
        let mut files = Self { texts: BTreeMap::new(), cut: false };
        let mut open = vec![top.to_owned()];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                let Ok(kind) = entry.file_type() else { continue };
                let path = entry.path();
                if kind.is_dir() {
                    open.push(path);
                    continue;
                }
                if !kind.is_file() || entry.metadata().is_ok_and(|meta| meta.len() > LARGEST) {
                    continue;
                }
                if files.texts.len() >= MOST_FILES {
                    files.cut = true;
                    return files;
                }
                let name = path.strip_prefix(top).ok().and_then(Path::to_str).map(str::to_owned);
                let text = std::fs::read_to_string(&path);
                files.texts.extend(name.zip(text.ok()));
            }
        }
        files
    }

    #[cfg(test)]
    fn of(files: &[(&str, &str)]) -> Self {
        let texts = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        Self { texts: texts.collect(), cut: false }
    }

    /// Returns the files below `folder`, keyed by their path relative to it.
    fn below(&self, folder: &str) -> BTreeMap<&str, &str> {
        self.texts.iter().filter_map(|(path, text)| Some((below(folder, path)?, text.as_str()))).collect()
    }
}

/// Returns `path` relative to `folder`, if it is below it.
fn below<'p>(folder: &str, path: &'p str) -> Option<&'p str> {
    if folder.is_empty() { Some(path) } else { path.strip_prefix(folder)?.strip_prefix('/') }
}

/// The tests a runner selects for a change.
enum Chosen {
    /// These tests, as arguments for the command.
    Tests(BTreeSet<String>),
    /// All tests, because of this file.
    All(String),
}

/// A change, relative to the folder a runner works in.
struct Case<'c> {
    files: BTreeMap<&'c str, &'c str>,
    changed: Vec<&'c str>,
}

/// Narrows a command to the tests that a change affects.
pub(super) fn narrow(files: &Files, command: &Command, changed: &[String]) -> Narrowed {
    let Command::Shell(line) = command else {
        return Narrowed::All("the command is a list of words, which is run as it is".to_owned());
    };
    if files.cut {
        return Narrowed::All("the repository has too many files to look at".to_owned());
    }
    let (folder, line) = split(line);
    if line.contains(['|', ';', '`', '&', '\n']) {
        return Narrowed::All("its command is more than one".to_owned());
    }
    let changed: Vec<&str> = changed.iter().filter_map(|path| below(folder, path)).collect();
    let seen: Vec<&str> = changed.iter().copied().filter(|path| !is_prose(path)).collect();
    if seen.is_empty() {
        return Narrowed::Not(PROSE.to_owned());
    }
    let case = Case { files: files.below(folder), changed: seen };
    let Some(runner) = RUNNERS.iter().find(|runner| (runner.is)(line)) else {
        return Narrowed::All("which tests it has is not known".to_owned());
    };
    match (runner.choose)(&case) {
        Chosen::All(file) => Narrowed::All(format!("{file} changed")),
        Chosen::Tests(tests) if tests.is_empty() => {
            Narrowed::Not("no test was found that the change affects".to_owned())
        }
        Chosen::Tests(tests) if tests.len() > MOST_NAMED => {
            Narrowed::All(format!("{} are affected", tests.len()))
        }
        Chosen::Tests(tests) if !tests.iter().all(|word| is_plain(word)) => {
            Narrowed::All("a test has an unusual name".to_owned())
        }
        Chosen::Tests(tests) => {
            let run = (runner.run)(line, &tests);
            let run = if folder.is_empty() { run } else { format!("cd {folder} && {{ {run}; }}") };
            Narrowed::To { command: Command::Shell(run), what: shown(&tests) }
        }
    }
}

/// How to recognize a runner and how to narrow it.
struct Runner {
    is: fn(&str) -> bool,
    choose: fn(&Case<'_>) -> Chosen,
    run: fn(&str, &BTreeSet<String>) -> String,
}

const RUNNERS: [Runner; 7] = [
    Runner {
        is: |line| line.contains("pytest"),
        choose: python::choose,
        run: |line, tests| present(tests, &format!("{line} \"$@\"")),
    },
    Runner {
        is: |line| line.contains("node --test"),
        choose: javascript::choose_tests,
        run: |line, tests| present(tests, &format!("{line} \"$@\"")),
    },
    Runner {
        is: |line| line.contains("vitest run"),
        choose: javascript::choose_sources,
        run: |line, files| {
            let line = line.replacen("vitest run", "vitest related --run --passWithNoTests", 1);
            present(files, &format!("{line} \"$@\""))
        },
    },
    Runner {
        is: |line| line.contains("jest "),
        choose: javascript::choose_sources,
        run: |line, files| present(files, &format!("{line} --passWithNoTests --findRelatedTests \"$@\"")),
    },
    Runner {
        is: |line| line.contains("go test") && line.contains("./..."),
        choose: go::choose,
        run: |line, packages| present(packages, &line.replacen("./...", "\"$@\"", 1)),
    },
    Runner {
        is: |line| line.contains("cargo test") || line.contains("cargo nextest run"),
        choose: rust::choose,
        run: rust::run,
    },
    Runner {
        is: |line| line.contains("mvn") && line.contains(" verify"),
        choose: java::choose,
        run: |line, classes| {
            let names: Vec<&str> = classes.iter().map(String::as_str).collect();
            let line = line.replacen(" verify", " test", 1);
            format!(
                "{line} -Dtest={} -DfailIfNoTests=false -Dsurefire.failIfNoSpecifiedTests=false",
                names.join(",")
            )
        },
    },
];

/// Splits a command into the folder it changes to first (`cd folder && …`) and the rest.
fn split(line: &str) -> (&str, &str) {
    let line = line.trim();
    let found = line.strip_prefix("cd ").and_then(|rest| rest.split_once(" && "));
    match found {
        Some((folder, rest)) if is_plain(folder) => (folder, rest.trim()),
        _ => ("", line),
    }
}

/// Returns a command that receives only the files that exist: new files are missing on the base.
fn present(files: &BTreeSet<String>, line: &str) -> String {
    let words: Vec<&str> = files.iter().map(String::as_str).collect();
    format!(
        "set --; for it in {}; do if [ -e \"$it\" ]; then set -- \"$@\" \"$it\"; fi; done; [ $# -gt 0 ] || exit 0; {line}",
        words.join(" ")
    )
}

/// Returns whether the file name has this extension.
fn has_end(path: &str, end: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, found)| found == end)
}

/// Returns whether a name is a single plain word for `sh` and not an option.
fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('-')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-+@".contains(&byte))
}

/// Returns whether a file is documentation for people.
fn is_prose(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.split('.').next().unwrap_or(name).to_ascii_uppercase();
    let end = name.rsplit_once('.').map(|(_, end)| end.to_ascii_lowercase());
    ["md", "rst", "adoc", "markdown"].iter().any(|known| end.as_deref() == Some(known))
        || ["LICENSE", "LICENCE", "COPYING", "AUTHORS", "CONTRIBUTORS", "NOTICE"].contains(&stem.as_str())
}

fn shown(tests: &BTreeSet<String>) -> String {
    let first: Vec<&str> = tests.iter().take(MOST_SHOWN).map(String::as_str).collect();
    match tests.len().saturating_sub(MOST_SHOWN) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn narrowed(files: &[(&str, &str)], line: &str, changed: &[&str]) -> Narrowed {
        let changed: Vec<String> = changed.iter().map(|path| (*path).to_owned()).collect();
        narrow(&Files::of(files), &Command::Shell(line.to_owned()), &changed)
    }

    #[track_caller]
    fn to(narrowed: &Narrowed) -> (&str, &str) {
        match narrowed {
            Narrowed::To { command: Command::Shell(line), what } => (line, what),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn python_tests_are_chosen_by_what_they_import() {
        const FILES: &[(&str, &str)] = &[
            ("src/app/__init__.py", "from .core import run\n"),
            ("src/app/core.py", "from app.low import add\n"),
            ("src/app/low.py", "import os\n"),
            ("src/app/other.py", ""),
            ("tests/test_core.py", "from app import core\n"),
            ("tests/test_other.py", "import app.other as o\n"),
            ("tests/test_alone.py", "import json\n"),
            ("tests/conftest.py", ""),
        ];
        let chosen = |changed: &[&str]| narrowed(FILES, "python -m pytest -q", changed);
        let low = chosen(&["src/app/low.py", "README.md"]);
        assert_eq!(to(&low).1, "tests/test_core.py, tests/test_other.py", "the package imports core");
        assert!(to(&low).0.ends_with("python -m pytest -q \"$@\""), "{low:?}");
        assert_eq!(to(&chosen(&["src/app/other.py"])).1, "tests/test_other.py");
        assert_eq!(to(&chosen(&["tests/test_alone.py"])).1, "tests/test_alone.py");
        assert_eq!(chosen(&["tests/conftest.py"]), Narrowed::All("tests/conftest.py changed".to_owned()));
        assert_eq!(chosen(&["data.csv"]), Narrowed::All("data.csv changed".to_owned()));
        assert_eq!(chosen(&["README.md"]), Narrowed::Not(PROSE.to_owned()));
    }

    #[test]
    fn javascript_tests_are_chosen_by_what_they_import() {
        const FILES: &[(&str, &str)] = &[
            ("lib/a.js", "export default 1;\n"),
            ("lib/b.ts", "import a from './a.js';\n"),
            ("test/a.test.js", "const a = require('../lib/a');\n"),
            ("test/b.test.js", "import { b } from \"../lib/b.js\";\n"),
            ("test/c.test.js", "import fs from 'node:fs';\n"),
        ];
        let both = narrowed(FILES, "node --test", &["lib/a.js"]);
        assert_eq!(to(&both).1, "./test/a.test.js, ./test/b.test.js");
        assert_eq!(to(&narrowed(FILES, "node --test", &["lib/b.ts"])).1, "./test/b.test.js");
        let jest = narrowed(FILES, "npx --no-install jest --ci", &["lib/a.js"]);
        assert!(to(&jest).0.ends_with("jest --ci --passWithNoTests --findRelatedTests \"$@\""), "{jest:?}");
        let vitest = narrowed(FILES, "npx vitest run --reporter=junit", &["lib/a.js"]);
        assert!(to(&vitest).0.contains("vitest related --run"), "{vitest:?}");
        assert!(matches!(narrowed(FILES, "node --test", &["package.json"]), Narrowed::All(_)));
        assert!(matches!(narrowed(FILES, "node --test; true", &["lib/a.js"]), Narrowed::All(_)));
    }

    #[test]
    fn go_packages_are_chosen_with_those_that_import_them() {
        const FILES: &[(&str, &str)] = &[
            ("go.mod", "module example.org/m\n"),
            ("a/a.go", "package a\n"),
            ("b/b.go", "package b\nimport (\n\t\"fmt\"\n\tx \"example.org/m/a\"\n)\n"),
            ("c/c.go", "package c\n"),
            ("main.go", "package main\nimport \"example.org/m/b\"\n"),
        ];
        let chosen = narrowed(FILES, "go test -json ./...", &["a/a.go"]);
        assert_eq!(to(&chosen).1, "./, ./a, ./b");
        assert!(to(&chosen).0.ends_with("go test -json \"$@\""), "{chosen:?}");
        assert_eq!(to(&narrowed(FILES, "go test ./...", &["c/c_test.go"])).1, "./c");
        assert!(matches!(narrowed(FILES, "go test ./...", &["a/testdata/x.txt"]), Narrowed::To { .. }));
        assert!(matches!(narrowed(FILES, "go test ./...", &["go.mod"]), Narrowed::All(_)));
    }

    #[test]
    fn crates_are_chosen_with_those_that_depend_on_them() {
        const FILES: &[(&str, &str)] = &[
            ("Cargo.toml", "[workspace]\nmembers = [\"low\", \"high\", \"alone\"]\n"),
            ("low/Cargo.toml", "[package]\nname = \"low\"\n"),
            ("high/Cargo.toml", "[package]\nname = \"high\"\n[dependencies]\nlow = { path = \"../low\" }\n"),
            ("alone/Cargo.toml", "[package]\nname = \"alone\"\n"),
        ];
        let low = narrowed(FILES, "cargo test --workspace --no-fail-fast", &["low/src/lib.rs"]);
        assert_eq!(to(&low).0, "cargo test -p high -p low --no-fail-fast");
        let one = &[("Cargo.toml", "[package]\nname = \"one\"\n")];
        let test = narrowed(one, "cargo test --no-fail-fast", &["tests/api.rs"]);
        assert_eq!(to(&test).0, "cargo test --test api --no-fail-fast");
        assert!(matches!(narrowed(one, "cargo test", &["src/lib.rs"]), Narrowed::All(_)));
    }

    #[test]
    fn java_tests_are_chosen_by_the_classes_they_name() {
        const FILES: &[(&str, &str)] = &[
            ("src/main/java/p/Low.java", "package p; class Low {}\n"),
            ("src/main/java/p/High.java", "package p; class High { Low low; }\n"),
            ("src/test/java/p/HighTest.java", "class HighTest { High high; }\n"),
            ("src/test/java/p/OtherTest.java", "class OtherTest { }\n"),
        ];
        let chosen = narrowed(FILES, "mvn -o -q -B -fae verify", &["src/main/java/p/Low.java"]);
        assert_eq!(to(&chosen).1, "HighTest");
        assert!(to(&chosen).0.starts_with("mvn -o -q -B -fae test -Dtest=HighTest"), "{chosen:?}");
        assert!(matches!(narrowed(FILES, "mvn verify", &["pom.xml"]), Narrowed::All(_)));
    }

    #[test]
    fn what_a_repository_calls_its_files_is_never_part_of_a_command() {
        const FILES: &[(&str, &str)] = &[("tests/test_$(touch x).py", "")];
        let chosen = narrowed(FILES, "pytest", &["tests/test_$(touch x).py"]);
        assert_eq!(chosen, Narrowed::All("a test has an unusual name".to_owned()));
        let inside = narrowed(&[("web/a.test.js", "")], "cd web && node --test", &["web/a.test.js", "b.js"]);
        assert!(to(&inside).0.starts_with("cd web && { set --; for it in ./a.test.js"), "{inside:?}");
    }
}
