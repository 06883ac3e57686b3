//! `cargo xtask test`: runs every check and every test, cheap ones first.
//!
//! Each step has a heading, its duration, and on failure the command that shows more. The first failure ends the run.
//! The last line is always `N passed, N failed, N skipped`.
#![allow(clippy::disallowed_macros, reason = "xtask reports to the terminal it was started from")]

mod counts;
mod times;

use std::cell::Cell;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::agents::{self, Installing};
use crate::server::Server;
use crate::tidy::{self, source::Tree};
use crate::{Stop, require, scratch, shell};
use counts::{Counts, Runner};
use times::Times;

/// Turns a missing requirement into a failure; see `acquit_testkit::need`.
const STRICT: &str = "ACQUIT_TEST_STRICT";
/// URL of the tests' PostgreSQL server; see `acquit_testkit::postgres`.
const POSTGRES: &str = "ACQUIT_TEST_POSTGRES";

/// Path of the attacker; see `acquit`'s tests of hostile agents. It is built with the tests, next to this program.
const HOSTILE: &str = "ACQUIT_TEST_HOSTILE";

/// Number of seconds to fuzz each parser; see `acquit-run`'s tests of parsers.
const FUZZ: &str = "ACQUIT_FUZZ_SECONDS";
/// Most bugs show up in the first seconds.
const FUZZ_SECONDS: &str = "2";
/// `cargo xtask soak` fuzzes longer.
const SOAK_FUZZ_SECONDS: &str = "60";

/// Result of a step.
enum Ended {
    Held,
    /// There was nothing to do, with the reason.
    Empty(&'static str),
    Failed,
}

struct Step<'a> {
    name: &'static str,
    /// The command that shows more.
    command: &'static str,
    run: Box<dyn Fn() -> Result<Ended, Stop> + 'a>,
}

/// Makes tests of the binary follow the suggestions of acquit; see `common/suggestions.rs` of `acquit`'s tests.
const FOLLOW: &str = "ACQUIT_TEST_FOLLOW";

/// The last step of tests.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Finale {
    Nothing,
    /// Run what the last command suggested.
    Follow,
}

/// Runs everything, or with `filters` only the tests whose names contain one of them.
pub(crate) fn run(filters: &[&str]) -> Result<(), Stop> {
    run_with(filters, Finale::Nothing)
}

/// Runs all tests, or those whose names contain a filter. Each ends by following the suggestions of acquit.
pub(crate) fn follow(filters: &[&str]) -> Result<(), Stop> {
    run_with(filters, Finale::Follow)
}

fn run_with(filters: &[&str], finale: Finale) -> Result<(), Stop> {
    let everything = filters.is_empty() && finale == Finale::Nothing;
    let counts = Cell::new(Counts::default());
    // Start installing together with the requirements and wait before the tests, so that it runs in parallel with the
    // compiler.
    let installing = Cell::new(None::<Installing>);
    let mut steps = vec![Step {
        name: "requirements",
        command: "cargo xtask test",
        run: Box::new(|| {
            require::all()?;
            installing.set(Some(agents::start()?));
            Ok(Ended::Held)
        }),
    }];
    if everything {
        steps.extend(checks());
    }
    steps.push(Step {
        name: "agents",
        command: "cargo xtask test",
        run: Box::new(|| installing.take().map_or(Ok(()), Installing::finish).map(|()| Ended::Held)),
    });
    steps.push(Step {
        name: "tests",
        command: "cargo xtask test <the name of a failed test>",
        run: Box::new(|| tests(filters, finale, &counts)),
    });
    if everything {
        steps.push(Step {
            name: "doc examples",
            command: "cargo test --doc --workspace",
            run: Box::new(|| examples(&counts)),
        });
    }

    summarize(&steps, &counts)
}

/// Runs the steps until one fails, and prints their results and the test counts.
fn summarize(steps: &[Step<'_>], counts: &Cell<Counts>) -> Result<(), Stop> {
    let mut lines = Vec::new();
    let mut failed = None;
    for step in steps {
        if failed.is_some() {
            lines.push(format!("    {:<14} {:>8}  not run", step.name, "-"));
            continue;
        }
        let (line, held) = perform(step);
        lines.push(line);
        if !held {
            failed = Some(step);
        }
    }

    println!("\n==> summary");
    for line in &lines {
        println!("{line}");
    }
    let mut counts = counts.get();
    if let Some(step) = failed {
        println!("    {} failed; to see more: {}", step.name, step.command);
        // A failed check or a broken build is a failure, even if no test was counted.
        counts.failed = counts.failed.max(1);
    }
    println!("{counts}");
    if failed.is_some() { Err(Stop(String::new())) } else { Ok(()) }
}

/// Runs `cargo xtask test --fast`, in minutes: the repository's rules, all tests of the core and of the store on
/// SQLite, and the unit tests of all crates. Installs nothing, and starts no server, agent or whole binary.
pub(crate) fn fast() -> Result<(), Stop> {
    let counts = Cell::new(Counts::default());
    let is_fast = |step: &Step<'_>| matches!(step.name, "format" | "tidy");
    let mut steps: Vec<Step<'_>> = checks().into_iter().filter(is_fast).collect();
    steps.push(Step {
        name: "tests",
        command: "cargo nextest run --workspace --lib --bins",
        run: Box::new(|| {
            // Build the whole workspace: parts of it would be built again, as their dependencies have fewer features.
            let mut command = shell::cargo(&["nextest", "run", "--cargo-quiet", "--status-level", "fail"]);
            command.args(["--workspace", "--lib", "--bins"]);
            for name in
                FAST.iter().map(|name| integration_tests(name)).collect::<Result<Vec<_>, _>>()?.concat()
            {
                command.args(["--test", &name]);
            }
            let whole: Vec<String> = FAST.iter().map(|name| format!("package(acquit-{name})")).collect();
            let which = format!("(kind(lib) or kind(bin) or {}) and not ({SERVER})", whole.join(" or "));
            command.args(["--test-threads", &threads().to_string(), "-E", &which]);
            counted(&mut command, Runner::Nextest, &counts)
        }),
    });
    summarize(&steps, &counts)
}

/// Filter for tests that need a PostgreSQL server, for nextest. A test that is missing here fails, and says what it needs.
const SERVER: &str = "test(postgres) or binary(tls) \
                      or test(/^sqlite::(a_backup_is_restored_on_either|a_move_that_died_before|a_moved_store_refuses)/)";

/// Crates whose integration tests run with `--fast`.
const FAST: [&str; 2] = ["core", "store"];

/// Returns the names of a crate's integration tests, as cargo knows them: files, and directories with a `main.rs`.
fn integration_tests(name: &str) -> Result<Vec<String>, Stop> {
    let folder = shell::root().join("crates").join(name).join("tests");
    let listed =
        std::fs::read_dir(&folder).map_err(Stop::doing("list tests"))?.flatten().map(|entry| entry.path());
    let is_test =
        |path: &PathBuf| path.extension().is_some_and(|ext| ext == "rs") || path.join("main.rs").is_file();
    let mut names: Vec<String> =
        listed.filter(is_test).filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect();
    names.sort();
    Ok(names)
}

/// Runs one step. Returns its summary line and whether it succeeded.
fn perform(step: &Step<'_>) -> (String, bool) {
    println!("\n==> {} ({})", step.name, step.command);
    let begun = Instant::now();
    let ended = (step.run)();
    let took = seconds(begun.elapsed());
    let (word, held) = match ended {
        Ok(Ended::Held) => ("ok".to_owned(), true),
        Ok(Ended::Empty(why)) => (why.to_owned(), true),
        Ok(Ended::Failed) => ("FAILED".to_owned(), false),
        Err(Stop(why)) => {
            println!("    {why}");
            ("FAILED".to_owned(), false)
        }
    };
    println!("    {word} in {took}");
    if !held {
        println!("    to see more: {}", step.command);
    }
    (format!("    {:<14} {took:>8}  {word}", step.name), held)
}

/// Returns the steps that check the code without running it.
fn checks() -> Vec<Step<'static>> {
    let held = |command: &mut Command| {
        shell::succeeds(command).map(|success| if success { Ended::Held } else { Ended::Failed })
    };
    vec![
        Step {
            name: "format",
            command: "cargo fmt --all",
            run: Box::new(move || held(&mut shell::cargo(&["fmt", "--all", "--check"]))),
        },
        Step {
            name: "clippy",
            command: "cargo clippy --workspace --all-targets --all-features -- -D warnings",
            run: Box::new(move || {
                let lints =
                    ["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"];
                held(&mut shell::cargo(&lints))
            }),
        },
        Step {
            name: "tidy",
            command: "cargo xtask tidy",
            run: Box::new(|| tidy::run().map(|()| Ended::Held)),
        },
        Step {
            name: "docs",
            command: "RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps",
            run: Box::new(move || {
                let mut command = shell::cargo(&["doc", "--workspace", "--no-deps"]);
                held(command.env("RUSTDOCFLAGS", "-D warnings"))
            }),
        },
    ]
}

/// Name prefix of tests that take minutes.
const SOAK: &str = "soak_";

/// Filters of `cargo xtask soak`: the long tests, and the fuzzers, which run longer than in `cargo xtask test`.
pub(crate) const SOAK_FILTERS: [&str; 3] = [SOAK, "mutate::", "whatever_an_agent_says_the_client_lives"];

fn tests(filters: &[&str], finale: Finale, total: &Cell<Counts>) -> Result<Ended, Stop> {
    let server = Server::start()?;
    println!("    PostgreSQL for this run, on {}: {}", server.medium.name(), server.url);
    let nextest = shell::first_line(&mut shell::cargo(&["nextest", "--version"])).is_some();
    let (mut command, runner) = if nextest {
        let colour = if std::io::stderr().is_terminal() { "always" } else { "auto" };
        let threads = threads().to_string();
        let run = ["nextest", "run", "--workspace", "--color", colour, "--test-threads", &threads];
        (shell::cargo(&run), Runner::Nextest)
    } else {
        println!("    cargo-nextest is not here: `cargo test` runs them, without limits on their time");
        (shell::cargo(&["test", "--workspace", "--all-targets", "--no-fail-fast", "--"]), Runner::CargoTest)
    };
    command.args(filters);
    if filters.contains(&SOAK) {
        command.env(FUZZ, SOAK_FUZZ_SECONDS);
        if nextest {
            command.arg("--ignore-default-filter");
        }
    } else {
        command.env(FUZZ, FUZZ_SECONDS);
    }
    if finale == Finale::Follow {
        command.env(FOLLOW, "1");
    }
    command.env(POSTGRES, &server.url);
    let own = std::env::current_exe().map_err(Stop::doing("find the target folder"))?;
    command.env(HOSTILE, own.with_file_name("hostile"));
    let (mut command, memory) = scratch::in_memory(command)?;
    let medium = if memory.is_some() { "a tmpfs of their own" } else { "the folder for temporary files" };
    println!("    repositories and stores of the tests: in {medium}");
    counted(&mut command, runner, total)
}

/// Returns the number of tests to run at a time: two per core, as most of them wait most of the time.
/// `.config/nextest.toml` names those that don't.
fn threads() -> usize {
    2 * std::thread::available_parallelism().map_or(1, usize::from)
}

fn examples(total: &Cell<Counts>) -> Result<Ended, Stop> {
    // Check this first: rustdoc takes seconds per crate to find that there is nothing.
    let tree = Tree::read(&shell::root())?;
    if !tree.files.iter().any(|file| has_example(&file.text)) {
        return Ok(Ended::Empty("none in the tree"));
    }
    let mut command = shell::cargo(&["test", "--doc", "--workspace", "--no-fail-fast"]);
    counted(&mut command, Runner::CargoTest, total)
}

/// Returns whether a file has a doc comment with a code block that rustdoc would compile.
fn has_example(text: &str) -> bool {
    const COMPILED: &[&str] = &["rust", "no_run", "should_panic", "compile_fail", "edition"];
    let mut inside = false;
    for line in text.lines().map(str::trim_start) {
        let doc = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        let Some(kind) = doc.and_then(|doc| doc.trim().strip_prefix("```")) else { continue };
        let compiled = |tag: &str| COMPILED.iter().any(|start| tag.trim().starts_with(start));
        if !inside && (kind.is_empty() || kind.split(',').all(compiled)) {
            return true;
        }
        inside = !inside;
    }
    false
}

fn counted(command: &mut Command, runner: Runner, total: &Cell<Counts>) -> Result<Ended, Stop> {
    // A differing snapshot is a failure, never a new file.
    command.env(STRICT, "1").env("INSTA_UPDATE", "no").env_remove("INSTA_FORCE_PASS");
    let seen = Mutex::new(Counts::default());
    let times = Mutex::new(Times::default());
    let success = shell::watched(command, |line| {
        if let Ok(mut times) = times.lock() {
            times.add(line);
        }
        if let Some(more) = counts::in_line(line, runner)
            && let Ok(mut seen) = seen.lock()
        {
            *seen = seen.plus(more);
        }
    })?;
    if runner == Runner::Nextest {
        print!("{}", times.into_inner().unwrap_or_default());
    }
    let seen = seen.into_inner().unwrap_or_default();
    total.set(total.get().plus(seen));
    Ok(if success { Ended::Held } else { Ended::Failed })
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    #[allow(clippy::disallowed_methods, reason = "cargo says what it would build")]
    fn what_xtask_shares_with_the_workspace_is_built_once() {
        let built = |which: &[&str]| -> BTreeSet<String> {
            let mut command = shell::cargo(&["tree", "--offline", "--prefix", "none", "--no-dedupe"]);
            let told =
                command.args(["--format", "{p} with features {f}"]).args(which).output().expect("cargo");
            assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
            String::from_utf8_lossy(&told.stdout).lines().map(str::to_owned).collect()
        };
        let (own, all) = (built(&["--package", "xtask", "--edges", "normal,build"]), built(&["--workspace"]));
        let twice: Vec<&String> = own.difference(&all).collect();
        assert!(own.len() > 50 && twice.is_empty(), "to be built again with more features: {twice:#?}");
    }

    #[test]
    fn integration_tests_are_listed_as_cargo_names_them() {
        let store = integration_tests("store").expect("a list");
        assert_eq!(store, ["conformance", "tls"], "not the folder of old forms");
    }

    #[test]
    fn only_blocks_that_rustdoc_compiles_are_examples() {
        assert!(has_example("/// ```\n/// 1;\n/// ```"));
        assert!(has_example("    //! ```rust,no_run"));
        assert!(has_example("/// ```no_run"));
        assert!(!has_example("/// ```rust,ignore"));
        assert!(!has_example("/// ```text\n/// a drawing\n/// ```"));
        assert!(!has_example("// ```"));
        assert!(!has_example("let fence = \"```\";"));
    }
}
