//! The rules, each with the reason that is printed when it is broken. To add one, extend the first table.

use super::source::{File, Tree};
use super::{Finding, Rule};

/// Maximum length of a Rust file with its tests: longer files are hard to keep in mind.
const MOST_LINES: usize = 600;

pub(super) const ALL: &[Rule] = &[
    Rule {
        name: "file-length",
        reason: "a file has one subject and fits in the head; split it by subject, not by size",
        check: file_length,
    },
    Rule {
        name: "module-docs",
        reason: "a file says first what it promises and why, in a `//!` comment on its first line",
        check: module_docs,
    },
    Rule {
        name: "unfinished",
        reason: "what is in the tree works and is tested; an unfinished or ignored piece reads like a finished one",
        check: |tree| code_without(tree, &["todo!", "unimplemented!", "#[ignore"], |_, _| true),
    },
    Rule {
        name: "notes-to-self",
        reason: "a note in a comment is read by nobody who decides; do it now or write it down where work is planned",
        check: notes_to_self,
    },
    Rule {
        name: "machine-paths",
        reason: "a path of one machine is wrong on every other; find it at run time, or make up a neutral example",
        check: machine_paths,
    },
    Rule {
        name: "one-spawner",
        reason: "only run::process spawns: everything else would miss the cleared environment, the limits and the kill",
        check: |tree| {
            code_without(tree, &["Command::new("], |file, offset| {
                product(file, offset) && !within(file, "crates/sandbox/src/process")
            })
        },
    },
    Rule {
        name: "one-git",
        reason: "only run::git runs git: everywhere else the hardened configuration and environment would be missing",
        check: one_git,
    },
    Rule {
        name: "pure-core",
        reason: "core is pure: no clock, no I/O, no environment, no async; the caller hands in what it needs",
        check: pure_core,
    },
    Rule {
        name: "one-printer",
        reason: "only the CLI's report module prints: standard output is for data, and libraries have no terminal",
        check: |tree| {
            code_without(tree, &["println!", "print!", "eprintln!", "eprint!"], |file, offset| {
                product(file, offset) && !within(file, "crates/cli/src/report")
            })
        },
    },
    Rule {
        name: "crate-directions",
        reason: "knowledge flows one way: core knows none of ours, run and store do not know each other, the sandbox knows of no task, app knows no caller",
        check: crate_directions,
    },
    Rule {
        name: "module-cycles",
        reason: "modules that use each other in a circle can only be read, tested and moved together; give what both need a place below them",
        check: super::modules::check,
    },
    Rule {
        name: "one-test-command",
        reason: "continuous integration runs what a person runs: `.ci/run` calls `cargo xtask test` and nothing else",
        check: one_test_command,
    },
    Rule {
        name: "reasoned-exceptions",
        reason: "an exception to a disallowed call says in `reason = \"…\"` why this place is the one that may",
        check: reasoned_exceptions,
    },
    Rule {
        name: "coverage",
        reason: "docs/coverage.md names the test behind every promise; a row names tests that exist, or says what is missing",
        check: super::coverage::check,
    },
    Rule {
        name: "module-map",
        reason: "docs/modules.md is how a newcomer finds a file: it names every module at the top of a crate, and no file that is gone",
        check: super::map::check,
    },
];

/// Returns whether this code is shipped: neither a test nor xtask.
fn product(file: &File, offset: usize) -> bool {
    file.path.starts_with("crates/") && !file.is_test_at(offset)
}

/// Returns whether a file is in a module: `a/b` covers `a/b.rs` and `a/b/c.rs`, but not `a/bc.rs`.
fn within(file: &File, module: &str) -> bool {
    file.path.strip_prefix(module).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}

fn finding(file: &File, offset: usize, what: impl Into<String>) -> Finding {
    Finding { path: file.path.clone(), line: file.line_of(offset), what: what.into() }
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Returns offsets where `needle` is a whole word: finds `print!` neither in `println!` nor in `eprint!`.
pub(super) fn words<'a>(text: &'a str, needle: &'a str) -> impl Iterator<Item = usize> + 'a {
    let apart = |a: Option<char>, b: Option<char>| !(a.is_some_and(is_word) && b.is_some_and(is_word));
    text.match_indices(needle).map(|(at, _)| at).filter(move |&at| {
        let after = &text[at + needle.len()..];
        apart(text[..at].chars().next_back(), needle.chars().next())
            && apart(needle.chars().next_back(), after.chars().next())
    })
}

/// Finds every occurrence of `needles` in Rust code for which `here` returns true.
fn code_without(tree: &Tree, needles: &[&str], here: fn(&File, usize) -> bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        let code = file.code();
        for needle in needles {
            let places = words(&code, needle).filter(|&offset| here(file, offset));
            findings.extend(places.map(|offset| finding(file, offset, format!("`{needle}`"))));
        }
    }
    findings
}

fn file_length(tree: &Tree) -> Vec<Finding> {
    let long =
        tree.rust().filter_map(|file| Some((file, file.text.lines().count())).filter(|it| it.1 > MOST_LINES));
    long.map(|(file, lines)| Finding {
        path: file.path.clone(),
        line: MOST_LINES + 1,
        what: format!("{lines} lines, where {MOST_LINES} are the most"),
    })
    .collect()
}

fn module_docs(tree: &Tree) -> Vec<Finding> {
    // The samples of the corpus imitate code of others.
    let ours = tree.rust().filter(|file| !file.path.starts_with("corpus/"));
    let bare = ours.filter(|file| !file.text.starts_with("//!"));
    bare.map(|file| finding(file, 0, "does not begin with `//!`")).collect()
}

fn notes_to_self(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        let comments = file.comments();
        for note in ["TODO", "FIXME", "XXX"] {
            findings.extend(
                words(&comments, note).map(|offset| finding(file, offset, format!("`{note}` in a comment"))),
            );
        }
    }
    findings
}

/// Finds paths in someone's home or checkout. `/home` alone is fine: every system has it.
fn machine_paths(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    // The tests of this rule need such paths, and documents that are quoted whole stay unchanged.
    let elsewhere = |path: &str| !path.starts_with("xtask/src/tidy/") && !path.starts_with("docs/seeds/");
    for file in tree.files.iter().filter(|file| elsewhere(&file.path)) {
        for start in ["/home/", "/root/", "/work/", "/Users/"] {
            for (offset, _) in file.text.match_indices(start) {
                let before = file.text[..offset].chars().next_back();
                let after = file.text[offset + start.len()..].chars().next();
                let begins = !before.is_some_and(|it| is_word(it) || "./-~}>)*".contains(it));
                if begins && after.is_some_and(|it| it.is_alphanumeric() || it == '.') {
                    findings.push(finding(file, offset, format!("a path below `{start}`")));
                }
            }
        }
    }
    findings
}

/// Finds the literal `"git"` in lines about programs. A directory may have this name too, and core starts nothing.
fn one_git(tree: &Tree) -> Vec<Finding> {
    const ABOUT: &[&str] = &["program", "command", "spawn", "exec", "new(", "which"];
    let mut findings = Vec::new();
    let may_not =
        |file: &&File| !within(file, "crates/run/src/git") && !file.path.starts_with("crates/core/");
    for file in tree.rust().filter(may_not) {
        let text = file.code_and_literals();
        for (offset, _) in text.match_indices("\"git\"").filter(|&(offset, _)| product(file, offset)) {
            let line = text.lines().nth(file.line_of(offset) - 1).unwrap_or_default().to_lowercase();
            if ABOUT.iter().any(|word| line.contains(word)) {
                findings.push(finding(file, offset, "names the program \"git\""));
            }
        }
    }
    findings
}

fn pure_core(tree: &Tree) -> Vec<Finding> {
    const WORDS: &[&str] = &[
        "std::fs",
        "std::process",
        "std::net",
        "std::env",
        "std::thread",
        "Instant",
        "SystemTime",
        "async fn",
    ];
    let in_core =
        |file: &File, offset: usize| file.path.starts_with("crates/core/src/") && product(file, offset);
    let mut findings = code_without(tree, WORDS, in_core);
    for file in tree.rust() {
        let code = file.code();
        for (offset, opening) in code.match_indices("use std::{").filter(|&(offset, _)| in_core(file, offset))
        {
            let list = code[offset + opening.len()..].split(';').next().unwrap_or_default();
            for module in ["fs", "process", "net", "env", "thread"] {
                if words(list, module).next().is_some() {
                    findings.push(finding(file, offset, format!("`std::{module}`")));
                }
            }
        }
    }
    findings
}

/// Which of our crates each one may depend on. Crates without an entry (the binary and the testkit) may depend on
/// all.
const DIRECTIONS: &[(&str, &[&str])] = &[
    ("core", &[]),
    ("store", &["acquit-core"]),
    ("sandbox", &["acquit-core"]),
    ("run", &["acquit-core", "acquit-sandbox"]),
    ("app", &["acquit-core", "acquit-sandbox", "acquit-run", "acquit-store"]),
    ("web", &["acquit-core", "acquit-run", "acquit-store", "acquit-app"]),
];

/// May be a dev-dependency of any crate, never a normal dependency.
const TESTKIT: &str = "acquit-testkit";

fn crate_directions(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let manifests = tree
        .files
        .iter()
        .filter(|file| file.path.starts_with("crates/") && file.path.ends_with("/Cargo.toml"));
    for file in manifests {
        let name = file.path.split('/').nth(1).unwrap_or_default();
        let allowed = DIRECTIONS.iter().find(|(from, _)| *from == name).map(|(_, to)| *to);
        let Ok(manifest) = file.text.parse::<toml::Table>() else {
            findings.push(finding(file, 0, "is not TOML"));
            continue;
        };
        for (section, dependency) in dependencies(&manifest) {
            let ours = dependency == "acquit" || dependency.starts_with("acquit-");
            let fits = if dependency == TESTKIT {
                section == "dev-dependencies"
            } else {
                allowed.is_none_or(|allowed| allowed.contains(&dependency.as_str()))
            };
            if ours && !fits {
                let offset = file.text.find(&dependency).unwrap_or_default();
                findings.push(finding(
                    file,
                    offset,
                    format!("{name} depends on {dependency} in [{section}]"),
                ));
            }
        }
    }
    findings
}

/// Returns section and package of every dependency, including platform-specific and renamed ones.
fn dependencies(manifest: &toml::Table) -> Vec<(&'static str, String)> {
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let platforms = targets.into_iter().flat_map(toml::Table::values).filter_map(toml::Value::as_table);
    let mut found = Vec::new();
    for table in std::iter::once(manifest).chain(platforms) {
        for section in ["dependencies", "build-dependencies", "dev-dependencies"] {
            for (key, value) in table.get(section).and_then(toml::Value::as_table).into_iter().flatten() {
                let renamed = value.get("package").and_then(toml::Value::as_str);
                found.push((section, renamed.unwrap_or(key).to_owned()));
            }
        }
    }
    found
}

fn one_test_command(tree: &Tree) -> Vec<Finding> {
    const PATH: &str = ".ci/run";
    let Some(file) = tree.get(PATH) else {
        return vec![Finding { path: PATH.to_owned(), line: 1, what: "is missing".to_owned() }];
    };
    let mut findings = Vec::new();
    let mut calls = 0_usize;
    for (index, line) in file.text.lines().enumerate() {
        let line = line.trim();
        if line == "exec cargo xtask test" {
            calls += 1;
        } else if !(line.is_empty()
            || line.starts_with('#')
            || line == "set -euo pipefail"
            || line.starts_with("cd \"$(dirname "))
        {
            findings.push(Finding { path: PATH.to_owned(), line: index + 1, what: format!("runs `{line}`") });
        }
    }
    if calls != 1 {
        findings.push(finding(file, 0, "does not call `exec cargo xtask test` once"));
    }
    findings
}

fn reasoned_exceptions(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        let code = file.code();
        for (offset, _) in code.match_indices("clippy::disallowed_") {
            // The enclosing attribute extends from the last `[` before to the first `]` after: lint names and blanked
            // strings contain neither.
            let attribute = code[..offset].rfind('[').map(|open| {
                let close = code[offset..].find(']').map_or(code.len(), |length| offset + length);
                &code[open..close]
            });
            if attribute.is_some_and(|attribute| words(attribute, "reason").next().is_none()) {
                findings.push(finding(file, offset, "an exception without a reason"));
            }
        }
    }
    findings
}
