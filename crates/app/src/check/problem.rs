//! Explains a failure on the unchanged base in one line, and suggests edits of `acquit.toml` that fix it. Pure: it only
//! inspects output, and knows the messages of common programs.

use std::collections::BTreeSet;

use acquit_core::config::Config;
use acquit_core::gate::{Check, Command, Gate, Stopped, Verdict, rule};
use acquit_core::ids::Name;
use acquit_core::sandbox::Host;
use serde::Serialize;

use super::edit::Edit;
use super::{RefusedHost, Told};
use crate::walls::Lacking;

/// The location of a problem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// In this machine, which cannot build the sandbox.
    Machine,
    /// In the setup.
    Setup,
    /// In a gate.
    Gate(Name),
    /// In an agent that the default workflow uses.
    Agents,
}

/// A problem on the base that would fail every task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Location.
    pub place: Place,
    /// One-line description.
    pub what: String,
    /// The most relevant lines of the output.
    pub said: Vec<String>,
    /// What a person can do if no edit fixes it.
    pub advice: Option<String>,
    /// Edits that fix it, best first.
    pub mends: Vec<Mend>,
    /// A program that was not found.
    #[serde(skip)]
    pub missing: Option<String>,
    /// Whether the gate is the placeholder for a repository whose tests were not recognised.
    #[serde(skip)]
    pub unrecognised: bool,
}

/// An edit with its meaning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mend {
    /// Description, such as "add pypi.org to `hosts`".
    pub words: String,
    /// The edit.
    pub edit: Edit,
    /// Whose consent it needs.
    pub consent: Consent,
}

/// Whose consent an edit needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Consent {
    /// No consent, if acquit itself has just written the file: the edit opens nothing and weakens no test.
    Nobody,
    /// The user's, by `--fix` or a prompt.
    User,
    /// The user's, by a prompt about this edit.
    Asked,
}

/// Maximum number of output lines to show.
const LINES: usize = 6;

/// Explains what this machine lacks. `accept` tells how to do without.
pub(crate) fn of_machine(lacking: Lacking, accept: &str) -> Problem {
    let mend = match lacking.mend.as_slice() {
        [] => "`acquit doctor` says more".to_owned(),
        mends => format!("{} (`acquit doctor` says more)", mends.join("; ")),
    };
    Problem {
        place: Place::Machine,
        what: format!("this machine cannot build the sandbox: {}", lacking.what),
        said: lacking.why,
        advice: Some(format!("{mend}; or accept what it can enforce: {accept}")),
        mends: Vec::new(),
        missing: None,
        unrecognised: false,
    }
}

/// A gate or setup was killed from outside, again and again, so nothing is known.
pub(crate) fn no_result(reason: &str) -> Problem {
    Problem {
        place: Place::Setup,
        what: "the gates did not run to their end".to_owned(),
        said: telling(reason),
        advice: Some("see in the log of the machine what killed it: often memory ran out".to_owned()),
        mends: Vec::new(),
        missing: None,
        unrecognised: false,
    }
}

/// Explains why setup failed.
pub(crate) fn of_setup(config: &Config, reason: &str, told: &Told) -> Problem {
    let mut problem = Problem {
        place: Place::Setup,
        what: "setup fails on the untouched tree".to_owned(),
        said: telling(reason),
        advice: Some("run the command of [setup] by hand, and mend it in .acquit/acquit.toml".to_owned()),
        mends: Vec::new(),
        missing: None,
        unrecognised: false,
    };
    let run = config.setup.as_ref().map(|setup| setup.run.to_string()).unwrap_or_default();
    let hosts = hosts(told.refused.iter().filter(|(name, _)| name.starts_with("setup")));
    if !hosts.is_empty() {
        problem.what = format!("setup needs servers that are not listed: {}", hosts.join(", "));
        problem.mends.push(add_hosts(hosts));
    } else if let Some(program) = missing_program(reason) {
        problem.missing = Some(program);
    } else if has(
        reason,
        &[
            "401 Unauthorized",
            "403 Forbidden",
            "E401",
            "E403",
            "HTTP error 401",
            "HTTP error 403",
            "status code 401",
            "status code 403",
        ],
    ) {
        problem.what = "the registry wants a login, and setup never gets yours".to_owned();
        problem.advice =
            Some("use a registry that can be read without a login inside your network".to_owned());
    } else if let Some(mend) = without_lock(&run, reason) {
        problem.what = "the lock file is missing in a fresh clone, or does not fit the manifest".to_owned();
        problem.advice = Some("commit a lock file that fits, or let setup do without".to_owned());
        problem.mends.push(mend);
    } else if is_offline(reason) {
        problem.what = "setup cannot reach its server from this machine".to_owned();
        problem.advice =
            Some("check the connection, and the proxy or mirror of the package manager".to_owned());
    } else if told.setup_timed_out {
        problem.what = "setup takes longer than it may".to_owned();
        let edit =
            Edit::Set { table: "setup".to_owned(), key: "timeout".to_owned(), value: "\"1h\"".to_owned() };
        problem.mends.push(Mend {
            words: "let setup take an hour".to_owned(),
            edit,
            consent: Consent::Nobody,
        });
    }
    problem
}

/// Explains why a gate rejects the unchanged tree.
pub fn of_gate(config: &Config, gate: &Gate, verdict: &Verdict, refused: &[RefusedHost]) -> Problem {
    let message = verdict.failure.as_ref().map(|failure| failure.message.clone()).unwrap_or_default();
    let findings: Vec<String> = verdict.evidence.findings.iter().map(ToString::to_string).collect();
    let said = [findings.join("\n"), message, verdict.tail.clone()].join("\n");
    let name = gate.name.as_str();
    let set = |key: &str, value: &str| Edit::Set {
        table: format!("gates.{name}"),
        key: key.to_owned(),
        value: value.to_owned(),
    };
    let mut problem = Problem {
        place: Place::Gate(gate.name.clone()),
        what: format!("{name} fails on the untouched tree, so no change can pass it"),
        said: telling(&said),
        advice: None,
        mends: Vec::new(),
        missing: None,
        unrecognised: false,
    };
    let is_test = gate.is_test();
    let warning = Mend {
        words: format!("make {name} a warning: shown, but rejects nothing"),
        edit: set("severity", "\"warning\""),
        consent: if is_test { Consent::User } else { Consent::Nobody },
    };
    if gate.check.command().is_some_and(crate::init::detect::is_placeholder) {
        problem.unrecognised = true;
        problem.what = "how this repository is tested was not recognised".to_owned();
        problem.said = Vec::new();
        problem.advice = Some(format!(
            "write the command that runs its tests into .acquit/acquit.toml, then `acquit check` again:\n    [gates.{name}]\n    run = \"make test\""
        ));
        return problem;
    }
    let hosts = hosts(refused.iter());
    if !hosts.is_empty() {
        problem.what = format!("{name} needs servers that are not listed: {}", hosts.join(", "));
        problem.mends.push(add_hosts(hosts));
    } else if let Some((module, package)) = missing_package(&said) {
        problem.what = format!("{name} needs the Python package {package}, which setup does not install");
        problem.mends.extend(install(config, package));
        problem.said = vec![module];
    } else if let Some(program) = missing_program(&said) {
        problem.missing = Some(program);
    } else if let Some(mend) = without_nightly(gate, &said, &set) {
        problem.what = format!("{name} builds targets that need the nightly compiler");
        problem.mends.push(mend);
    } else if verdict.stopped == Some(Stopped::Timeout) {
        problem.what = format!("{name} takes longer than it may");
        let minutes = u64::from(gate.timeout) / 60_000 * 3;
        let value = format!("\"{}m\"", minutes.max(30));
        problem.mends.push(Mend {
            words: format!("let {name} take {value}"),
            edit: set("timeout", &value),
            consent: Consent::Nobody,
        });
    } else if is_offline(&said) {
        problem.what = format!("{name} wants the network, and gates have none");
        problem.mends.push(Mend {
            words: format!("let {name} reach the listed servers"),
            edit: set("network", "\"model\""),
            consent: Consent::User,
        });
    } else if verdict.evidence.findings.iter().any(|it| it.rule == rule::NOTHING_RAN) {
        problem.what = format!("{name} runs no test");
        problem.advice = Some("write how the tests are run, or leave the gate out".to_owned());
    } else if is_test && matches!(gate.check, Check::Command(_)) {
        problem.what = format!("{name}: tests fail already on the untouched tree");
        problem.advice = Some(
            "mend them first; or use check = \"tests\" with a report, which holds only new failures against a change"
                .to_owned(),
        );
    }
    if problem.mends.is_empty() {
        problem.mends.push(warning);
    }
    problem
}

/// Returns the edit that makes a folder visible in the sandbox.
pub fn show(folder: &str) -> Mend {
    Mend {
        words: format!("show {folder} in the sandbox"),
        edit: Edit::Add {
            table: "access".to_owned(),
            key: "read".to_owned(),
            values: vec![folder.to_owned()],
        },
        consent: Consent::Asked,
    }
}

fn add_hosts(hosts: Vec<String>) -> Mend {
    // Opening an address of the user's own network needs explicit consent: anyone may own the name that resolves to it.
    let is_address = |host: &String| host.parse::<Host>().is_ok_and(|host| host.address().is_some());
    Mend {
        consent: if hosts.iter().any(is_address) { Consent::Asked } else { Consent::User },
        words: format!("add {} to `hosts` of [network]", hosts.join(", ")),
        edit: Edit::Add { table: "network".to_owned(), key: "hosts".to_owned(), values: hosts },
    }
}

fn hosts<'r>(refused: impl Iterator<Item = &'r RefusedHost>) -> Vec<String> {
    let mut hosts: Vec<String> = Vec::new();
    for (_, host) in refused {
        if !hosts.contains(host) {
            hosts.push(host.clone());
        }
    }
    hosts
}

/// Returns the first lines that report an error, or else the last lines.
fn telling(text: &str) -> Vec<String> {
    let is_error = |line: &&str| {
        let lower = line.to_ascii_lowercase().replace(" 0 failed", "");
        ["error", "fail", "not found", "refused", "cannot", "no such"].iter().any(|word| lower.contains(word))
    };
    // A verdict, its reason and its output repeat each other.
    let mut seen = BTreeSet::new();
    let lines = text.lines().map(str::trim_end).filter(|line| !line.trim().is_empty());
    let lines: Vec<&str> = lines.filter(|line| seen.insert(*line)).collect();
    let mut chosen: Vec<&str> = lines.iter().copied().filter(is_error).take(LINES).collect();
    if chosen.is_empty() {
        chosen = lines.iter().rev().take(LINES).rev().copied().collect();
    }
    chosen.into_iter().map(str::to_owned).collect()
}

fn has(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.contains(word))
}

/// Returns whether a program could not reach a server.
fn is_offline(said: &str) -> bool {
    const WORDS: [&str; 14] = [
        "ould not resolve host",
        "Temporary failure in name resolution",
        "Name or service not known",
        "ENOTFOUND",
        "EAI_AGAIN",
        "getaddrinfo",
        "Network is unreachable",
        "ENETUNREACH",
        "dial tcp",
        "Failed to establish a new connection",
        "UnknownHostException",
        "Cannot access ",
        "in offline mode",
        "failed to download",
    ];
    has(said, &WORDS)
}

/// Returns the program that a shell, cargo or a test runner did not find.
fn missing_program(said: &str) -> Option<String> {
    for line in said.lines() {
        let line = line.trim();
        let found = if let Some(rest) =
            line.strip_suffix(": not found").or_else(|| line.strip_suffix(": command not found"))
        {
            rest.rsplit(": ").next()
        } else if let Some((_, rest)) = line.split_once("no such command: `") {
            rest.split('`').next().map(|name| if name == "fmt" { "cargo-fmt" } else { name })
        } else if let Some((_, rest)) = line.split_once("error: command '") {
            rest.split_once("' failed: No such file").map(|(name, _)| name)
        } else if let Some((_, rest)) = line.split_once("failed to find the program `") {
            rest.split('`').next()
        } else {
            None
        };
        let is_name = |name: &str| {
            !name.is_empty()
                && name.len() < 60
                && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._+-/".contains(&b))
        };
        if let Some(name) = found.map(|name| name.trim_matches(['\'', '"', '`'])).filter(|name| is_name(name))
        {
            return Some(name.to_owned());
        }
    }
    None
}

/// Python packages for tests, by the module or option that needs them. Only lists known names: anyone could own a
/// package with a guessed name.
const PACKAGES: [(&str, &str); 30] = [
    ("pytest", "pytest"),
    ("ruff", "ruff"),
    ("mypy", "mypy"),
    ("hypothesis", "hypothesis"),
    ("freezegun", "freezegun"),
    ("time_machine", "time-machine"),
    ("pytest_mock", "pytest-mock"),
    ("pytest_asyncio", "pytest-asyncio"),
    ("pytest_httpserver", "pytest-httpserver"),
    ("pytest_subprocess", "pytest-subprocess"),
    ("parameterized", "parameterized"),
    ("responses", "responses"),
    ("requests_mock", "requests-mock"),
    ("mock", "mock"),
    ("numpy", "numpy"),
    ("pandas", "pandas"),
    ("yaml", "pyyaml"),
    ("attr", "attrs"),
    ("trio", "trio"),
    ("requests", "requests"),
    ("syrupy", "syrupy"),
    ("pexpect", "pexpect"),
    ("psutil", "psutil"),
    ("pretend", "pretend"),
    ("flaky", "flaky"),
    ("--cov", "pytest-cov"),
    ("--timeout", "pytest-timeout"),
    ("--benchmark", "pytest-benchmark"),
    ("-n", "pytest-xdist"),
    ("--asyncio", "pytest-asyncio"),
];

/// Returns the line that reports a missing Python package, and the package.
fn missing_package(said: &str) -> Option<(String, &'static str)> {
    said.lines().find_map(|line| {
        let word = if let Some((_, rest)) = line.split_once("No module named ") {
            let module = rest.trim_matches(['\'', '"', ' ', ';']);
            module.split(['.', '\'', ' ']).next()
        } else if let Some((_, rest)) = line.split_once("unrecognized arguments: ") {
            rest.split_whitespace().next()
        } else {
            None
        }?;
        let known = PACKAGES
            .iter()
            .find(|(name, _)| word == *name || (name.starts_with('-') && word.starts_with(name)))?;
        Some((line.trim().to_owned(), known.1))
    })
}

/// Returns an edit that installs one more package in setup.
fn install(config: &Config, package: &str) -> Option<Mend> {
    let Command::Shell(run) = &config.setup.as_ref()?.run else { return None };
    let line = if run.contains("pip install") && !run.starts_with('(') {
        format!("{run} {package}")
    } else {
        return None;
    };
    Some(Mend {
        words: format!("let setup install {package}"),
        edit: Edit::Set {
            table: "setup".to_owned(),
            key: "run".to_owned(),
            value: toml::Value::from(line).to_string(),
        },
        consent: Consent::Nobody,
    })
}

/// Returns a setup without a lock file, if setup failed because there is none.
fn without_lock(run: &str, said: &str) -> Option<Mend> {
    const WORDS: [&str; 9] = [
        "can only install with an existing package-lock",
        "are in sync",
        "--locked was passed",
        "the lock file",
        "needs to be updated",
        "Cannot install with \"frozen-lockfile\"",
        "lockfile had changes, but lockfile is frozen",
        "lockfile would have been modified",
        "pyproject.toml changed significantly since poetry.lock",
    ];
    const INSTEAD: [(&str, &str); 5] = [
        ("npm ci", "npm install --no-package-lock"),
        (" --locked", ""),
        (" --frozen-lockfile", " --no-frozen-lockfile"),
        (" --immutable", ""),
        ("poetry install", "poetry lock && poetry install"),
    ];
    if !has(said, &WORDS) {
        return None;
    }
    let (from, to) = INSTEAD.iter().find(|(from, _)| run.contains(from))?;
    Some(Mend {
        words: "let setup do without the lock file".to_owned(),
        edit: Edit::Set {
            table: "setup".to_owned(),
            key: "run".to_owned(),
            value: toml::Value::from(run.replace(from, to)).to_string(),
        },
        consent: Consent::Nobody,
    })
}

/// Returns a cargo command without the targets that need the nightly compiler, if it failed because of them.
fn without_nightly(gate: &Gate, said: &str, set: &dyn Fn(&str, &str) -> Edit) -> Option<Mend> {
    const ALL: &str = "--all-targets";
    if !has(said, &["E0554", "may not be used on the stable release channel"]) {
        return None;
    }
    let run = gate.check.command()?.to_string();
    let without = run.contains(ALL).then(|| run.replace(ALL, "--bins --tests --examples"))?;
    Some(Mend {
        words: format!("leave benches out of {}", gate.name),
        edit: set("run", &toml::Value::from(without).to_string()),
        consent: Consent::Nobody,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_shown_once_and_no_failure_is_none() {
        let said = "no test was executed: `cargo test` failed to find one\nrunning 0 tests\n\
                    no test was executed: `cargo test` failed to find one\ntest result: ok. 0 passed; 0 failed";
        assert_eq!(telling(said), ["no test was executed: `cargo test` failed to find one"]);
        assert_eq!(telling("a\na\nb\n"), ["a", "b"]);
    }

    #[test]
    fn programs_that_are_missing_are_named() {
        for (said, name) in [
            ("sh: 1: pnpm: not found", "pnpm"),
            ("/bin/sh: line 1: uv: command not found", "uv"),
            ("error: no such command: `clippy`", "clippy"),
            ("error: command 'gcc' failed: No such file or directory", "gcc"),
        ] {
            assert_eq!(missing_program(said).as_deref(), Some(name), "{said}");
        }
        for said in ["assertion failed: not found", "sh: 1: $(rm -rf /): not found", "404 Not found"] {
            assert_eq!(missing_program(said), None, "{said}");
        }
    }

    #[test]
    fn a_python_package_is_only_suggested_under_a_known_name() {
        assert_eq!(
            missing_package("E   ModuleNotFoundError: No module named 'freezegun'").unwrap().1,
            "freezegun"
        );
        assert_eq!(
            missing_package("error: unrecognized arguments: --cov=x --cov-report").unwrap().1,
            "pytest-cov"
        );
        assert_eq!(missing_package("/usr/bin/python3: No module named pytest").unwrap().1, "pytest");
        assert_eq!(missing_package("No module named 'evil'"), None);
    }

    /// Describes a gate that failed on the base with this output.
    fn of(run: &str, said: &str) -> Problem {
        let text = format!("[gates.build]\nrun = {}\nkind = \"build\"\n", toml::Value::from(run));
        let config = acquit_core::config::read("acquit.toml", &text).unwrap();
        let verdict = Verdict {
            gate: Name::literal("build"),
            passed: false,
            severity: acquit_core::gate::Severity::Error,
            command: run.to_owned(),
            ended: "exit 101".to_owned(),
            took: acquit_core::time::Span::secs(1),
            output: String::new(),
            failure: None,
            evidence: acquit_core::gate::Evidence::default(),
            tail: said.to_owned(),
            reused: None,
            stopped: None,
        };
        of_gate(&config, &config.gates[0], &verdict, &[])
    }

    fn edit_of(problem: &Problem) -> (String, String) {
        let Edit::Set { key, value, .. } = &problem.mends[0].edit else { panic!("{problem:?}") };
        (key.clone(), value.clone())
    }

    #[test]
    fn targets_for_the_nightly_compiler_are_left_out() {
        for said in [
            "error[E0554]: `#![feature]` may not be used on the stable release channel",
            "error: `#![feature(test)]` may not be used on the stable release channel",
        ] {
            let problem = of("cargo build --workspace --all-targets", said);
            assert_eq!(problem.what, "build builds targets that need the nightly compiler");
            let run = "\"cargo build --workspace --bins --tests --examples\"";
            assert_eq!(edit_of(&problem), ("run".to_owned(), run.to_owned()));
            assert_eq!(problem.mends[0].consent, Consent::Nobody);
        }
        // Without the flag there is nothing to leave out, and without the error no reason to.
        for (run, said) in
            [("cargo build", "error[E0554]: x"), ("cargo build --all-targets", "error[E0308]: x")]
        {
            assert_eq!(edit_of(&of(run, said)).0, "severity", "{run}: {said}");
        }
    }

    #[test]
    fn a_gate_that_wants_the_network_is_told_how_to_get_it() {
        for said in [
            "curl: (6) Could not resolve host: example.org",
            "error: could not resolve host: index.crates.io",
            "socket.gaierror: [Errno -3] Temporary failure in name resolution",
            "npm error code ENOTFOUND",
            "npm error code EAI_AGAIN",
            "connect: Network is unreachable",
            "dial tcp: lookup proxy.golang.org: no such host",
            "Caused by: java.net.UnknownHostException: repo.maven.apache.org",
            "Cannot access central in offline mode and the artifact has not been downloaded",
            "urllib3: Failed to establish a new connection",
            "error: failed to download `serde v1.0.0`",
        ] {
            let problem = of("make", said);
            assert_eq!(problem.what, "build wants the network, and gates have none", "{said}");
            assert_eq!(edit_of(&problem), ("network".to_owned(), "\"model\"".to_owned()));
            assert_eq!(problem.mends[0].consent, Consent::User, "it opens something");
        }
        for said in ["assertion failed: the host was resolved", "network test: 3 passed, 1 failed"] {
            assert_eq!(edit_of(&of("make", said)).0, "severity", "{said}");
        }
    }

    #[test]
    fn a_setup_that_reaches_no_server_is_told_to_look_at_the_connection() {
        let config = acquit_core::config::read("x", "[setup]\nrun = \"cargo fetch\"\n").unwrap();
        let problem = of_setup(&config, "error: could not resolve host: index.crates.io", &Told::default());
        assert_eq!(problem.what, "setup cannot reach its server from this machine");
        assert!(problem.advice.is_some_and(|advice| advice.contains("proxy or mirror")));
        assert!(problem.mends.is_empty(), "no edit of the configuration mends a connection");
    }

    #[test]
    fn a_setup_that_lacks_its_lock_file_is_told_to_do_without() {
        let said = "npm error The `npm ci` command can only install with an existing package-lock.json";
        let mend = without_lock("npm ci --no-audit", said).unwrap();
        let Edit::Set { value, .. } = mend.edit else { panic!() };
        assert_eq!(value, "\"npm install --no-package-lock --no-audit\"");
        assert_eq!(without_lock("npm ci", "something else"), None);
    }
}
