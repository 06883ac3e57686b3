//! `cargo xtask`: the chores of this repository, in Rust, so that a fresh machine needs only cargo.
//!
//! This file maps arguments to verbs, and their results to exit codes. Nothing here prompts: on failure it says what
//! is wrong and what to do.
#![allow(clippy::disallowed_macros, reason = "xtask is a tool for the terminal; it has no report module")]

mod agents;
mod bench;
mod gauge;
mod openapi;
mod real;
mod require;
mod runners;
mod schemas;
mod scratch;
mod screenshots;
mod server;
mod shell;
mod test;
mod tidy;
mod vm;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask: the chores of this repository

  cargo xtask test              everything that must hold before a commit: what is needed from outside is
                                installed (agents: 2.5 GB below the target folder, once), then format, clippy,
                                tidy rules, docs and all tests
  cargo xtask test <filter>…    only the tests whose name contains a filter (with a PostgreSQL of their own);
                                format, clippy, tidy and docs are left out
  cargo xtask test --fast       the loop of a day, two minutes: format, tidy, the core, the store on SQLite, and all unit tests;
                                installs nothing
  cargo xtask soak              the tests that take minutes each, most of it in waiting; not part of `test`
  cargo xtask tidy              the repository's own rules; each finding says its reason
  cargo xtask tidy --list       the rules themselves
  cargo xtask house             modules and how they depend on each other: cycles, sizes, who uses whom
  cargo xtask bench leg         a whole leg, beside a shell doing the same with `git worktree add`
  cargo xtask bench handoff     from one agent's exit to the next agent's exec, beside two spawns and three commits
  cargo xtask bench ingest      a burst of stream JSON: no line lost, bounded memory
  cargo xtask bench parse       what agents print, read and put into one language, at 200 MB/s and more
  cargo xtask bench tasks       a task after 5,000 others, beside one after ten; runs them all, so it takes a quarter of an hour
  cargo xtask bench sandbox     start of a program, compile and test of a crate: inside, beside outside
                                  --json    one JSON object instead of a table
                                  --brief   every step once, in seconds, with the debug build: does it still work?
  cargo xtask vm [<test>…]      tests of limits, and the bombs of the hostile suite, in a virtual machine with Debian and a real systemd
                                that delegates cgroups; qemu, 800 MB below the target folder, up to an hour
  cargo xtask gauge [<word>…]   the gates on the labelled changes of corpus/ (those whose name contains a word): which cheats
                                get through, which honest changes are refused, and every one of them by name
                                  --json    one JSON object instead of tables
                                  --again   run everything, also what is known for this binary
                                  --gates=dilution,secrets   only these
                                  --real    bug fixes of published packages, which are downloaded, instead
  cargo xtask screenshots [<folder>]   a picture of every page of the dashboard, below target/screenshots
  cargo xtask help              this text

A test whose requirement is missing fails under `cargo xtask test` and skips, with a line that says so, under plain
`cargo test`. The last line of `cargo xtask test` is always `N passed, N failed, N skipped`; a check that failed
before the tests could run counts as one failure. Exit code 0 means that everything held.
";

/// Why a chore failed, as a message for the terminal.
#[derive(Debug)]
pub(crate) struct Stop(pub(crate) String);

impl Stop {
    /// For `map_err`: describes what failed.
    pub(crate) fn doing<E: std::fmt::Display>(what: &str) -> impl FnOnce(E) -> Self {
        let what = what.to_owned();
        move |error| Self(format!("failed to {what}: {error}"))
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["test", "--fast"] => test::fast(),
        ["test", rest @ ..] if rest.iter().any(|word| word.starts_with('-')) => {
            Err(Stop(format!("`test` takes filters or --fast, not other options\n\n{HELP}")))
        }
        ["test", filters @ ..] => test::run(filters),
        ["soak"] => require::for_soak().and_then(|()| test::run(&test::SOAK_FILTERS)),
        ["tidy"] => tidy::run(),
        ["tidy", "--list"] => {
            tidy::list();
            Ok(())
        }
        ["house"] => tidy::house(),
        ["bench", name] => bench::run(name, bench::Format::Table, bench::Size::Full),
        ["bench", name, "--json"] | ["bench", "--json", name] => {
            bench::run(name, bench::Format::Json, bench::Size::Full)
        }
        ["bench", name, "--brief"] => bench::run(name, bench::Format::Table, bench::Size::Brief),
        ["vm", words @ ..] => vm::run(words),
        ["gauge", rest @ ..] => gauge::run(rest),
        ["screenshots"] => screenshots::run("target/screenshots"),
        ["screenshots", folder] => screenshots::run(folder),
        // Not in the help: the agent of `bench ingest`, which must be a separate process.
        ["burst", size] => bench::ingest::agent(size),
        ["help" | "--help" | "-h"] => {
            print!("{HELP}");
            Ok(())
        }
        [] => Err(Stop(format!("no chore was named\n\n{HELP}"))),
        _ => Err(Stop(format!("unknown chore: {}\n\n{HELP}", words.join(" ")))),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(Stop(why)) => {
            if !why.is_empty() {
                eprintln!("xtask: {why}");
            }
            ExitCode::FAILURE
        }
    }
}
