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

  cargo xtask test              run all checks and tests: format, clippy, tidy, docs, tests. Installs what they need
                                (agents: 2.5 GB below the target folder, once). Run it before every commit
  cargo xtask test <filter>…    run only tests whose name contains a filter, with a private PostgreSQL server
  cargo xtask test --follow [<filter>…]
                                run tests; each ends by running what its last command suggested
  cargo xtask test --fast       run format, tidy, the tests of core and store (on SQLite) and all unit tests, in two
                                minutes; installs nothing
  cargo xtask soak              run tests that take minutes each and are not part of `test`
  cargo xtask tidy              check the rules of this repository
  cargo xtask tidy --list       list the rules with their reasons
  cargo xtask house             print metrics: module cycles, fan-in and fan-out, sizes, places that an addition touches
  cargo xtask house --try       compile a copy of the repository with one more gate kind, agent, channel, verb and column
  cargo xtask bench <name>      measure, and compare with a limit. Names:
                                  leg       a leg, beside a shell script with `git worktree add`
                                  handoff   from the end of one agent to the start of the next
                                  ingest    a burst of agent output: no line lost, bounded memory
                                  parse     parsing agent output
                                  tasks     a task after 5,000 others, beside one after ten (15 minutes)
                                  pages     the dashboard with 10,000 tasks
                                  claims    claiming a leg: with 10 million events, and beside pgbench
                                  recovery  1,000 legs in flight, everything killed, the daemon started again
                                  sandbox   starting a program, and compiling and testing a crate, inside and outside
                                --json      print one JSON object
                                --brief     run every step once with the debug build, in seconds
                                --acquit=PROGRAM   measure this program instead of building one
                                --keep=FOLDER      pages: fill the store in this folder, and use it again
  cargo xtask vm [<test>…]      run the tests of limits and the bombs in a virtual machine with Debian and systemd
                                (qemu, 800 MB below the target folder, up to an hour)
  cargo xtask gauge [<word>…]   run the gates on the labelled changes in corpus/ whose name contains a word: missed cheats
                                and rejected honest changes
                                --json      print one JSON object
                                --again     ignore cached results
                                --gates=dilution,secrets   run only these gates
                                --acquit=PROGRAM   measure this program instead of building one
                                --real      use bug fixes of published packages, which are downloaded
  cargo xtask screenshots [<folder>]   take a screenshot of every page of the dashboard
  cargo xtask help              print this text

If something that a test needs is missing, the test fails under `cargo xtask test`, and is skipped with a message under
plain `cargo test`. The last line of `cargo xtask test` is `N passed, N failed, N skipped`; a check that failed before
the tests counts as one failure.
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
        ["test", "--follow", filters @ ..] => test::follow(filters),
        ["test", rest @ ..] if rest.iter().any(|word| word.starts_with('-')) => {
            Err(Stop(format!("`test` takes filters, --follow or --fast, not other options\n\n{HELP}")))
        }
        ["test", filters @ ..] => test::run(filters),
        ["soak"] => require::for_soak().and_then(|()| test::run(&test::SOAK_FILTERS)),
        ["tidy"] => tidy::run(),
        ["tidy", "--list"] => {
            tidy::list();
            Ok(())
        }
        ["house"] => tidy::house(),
        ["house", "--try"] => tidy::try_additions(),
        ["bench", rest @ ..] => bench::Options::read(rest).and_then(|options| bench::run(&options)),
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
