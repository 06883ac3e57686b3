//! Real packages of five languages, by the recipes beside this file: judged untouched, with honest changes, and with lies planted in them.
//! Each prints its rows of the tables in docs/prove.md. The ordinary run has `lies::every_lie_is_found`.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use acquit_testkit::packages::{From, sh, unpack};
use serde_json::Value;
use toml::Table;

use crate::common::{Sandbox, binary};

/// A package, unpacked and committed.
struct Package {
    recipe: Table,
    /// Keeps the folders.
    _sandbox: Sandbox,
    root: PathBuf,
    repository: PathBuf,
}

/// A judgement, and how long it took.
struct Judged {
    report: Value,
    seconds: f64,
}

impl Judged {
    fn decision(&self) -> &str {
        self.report["decision"].as_str().unwrap_or("none")
    }

    /// What speaks against the change, or leaves it open.
    fn why(&self) -> String {
        let claims = self.report["claims"].as_array().into_iter().flatten();
        let open = claims.filter(|claim| claim["status"] != "holds");
        let words = open.map(|claim| {
            let findings = claim["evidence"]["findings"].as_array().into_iter().flatten();
            let rules: Vec<&str> =
                findings.filter(|it| it["weight"] != "noted").filter_map(|it| it["rule"].as_str()).collect();
            format!("{} {} {rules:?}", claim["gate"], claim["status"])
        });
        format!("{} {}", words.collect::<Vec<_>>().join("; "), self.report["stopped"])
    }
}

impl Package {
    fn new(recipe: Table) -> Self {
        let sandbox = Sandbox::of_files("other", &[]);
        let root = sandbox.place("").canonicalize().unwrap();
        let (downloads, repository) = (root.join("downloads"), root.join("package"));
        fs::create_dir_all(&downloads).unwrap();
        let text = |key: &str| recipe[key].as_str().unwrap();
        let from = match text("from") {
            "pypi" => From::PyPi,
            "npm" => From::Npm,
            "crates" => From::Crates,
            "debian" => From::Debian,
            "github" => From::GitHub,
            other => panic!("{other}"),
        };
        unpack(&downloads, &(from, text("package"), text("version"), "."), &repository);
        sh(
            &repository,
            &format!("git init -q -b main\n{}\ngit add -A\ngit commit -qm first", text("arrange")),
        );
        Self { recipe, _sandbox: sandbox, root, repository }
    }

    fn text(&self, key: &str) -> &str {
        self.recipe[key].as_str().unwrap()
    }

    /// The changes of a kind, by name.
    fn changes(&self, kind: &str) -> Vec<(String, String)> {
        let each = self.recipe[kind].as_array().unwrap().iter();
        let text = |change: &toml::Value, key: &str| change[key].as_str().unwrap().to_owned();
        each.map(|it| (text(it, "name"), text(it, "change").replace("$BREAK", self.text("break")))).collect()
    }

    /// Whether a lie is known to be missed.
    fn is_missed(&self, lie: &str) -> bool {
        let mut lies = self.recipe["lie"].as_array().unwrap().iter();
        lies.any(|it| it["name"].as_str() == Some(lie) && it.get("missed").is_some())
    }

    fn prove(&self, args: &[&str]) -> Judged {
        let start = Instant::now();
        let mut command = Command::new(binary());
        command.args(["prove", "--json"]).args(args).current_dir(&self.repository);
        command.env("ACQUIT_HOME", self.root.join("acquit")).env_remove("ACQUIT_STORE");
        command.env("XDG_CONFIG_HOME", self.root.join("config"));
        let output = command.stdin(Stdio::null()).output().unwrap();
        let report = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
            panic!("{error}: {}", String::from_utf8_lossy(&[output.stdout, output.stderr].concat()))
        });
        Judged { report, seconds: start.elapsed().as_secs_f64() }
    }

    /// Makes a change, looks at it, and takes it back.
    fn with<T>(&self, change: &str, look: impl FnOnce() -> T) -> T {
        sh(&self.repository, change);
        let changed = sh(&self.repository, "git status --porcelain");
        assert!(!changed.trim().is_empty(), "nothing was changed by {change}");
        let seen = look();
        sh(&self.repository, "git reset -q --hard && git clean -qfd");
        seen
    }
}

fn seconds(at: &Path, line: &str) -> f64 {
    let start = Instant::now();
    sh(at, line);
    start.elapsed().as_secs_f64()
}

/// Judges a package untouched, with honest changes and with lies, and prints its rows of the tables.
fn judged(recipe: &str) {
    let package = Package::new(recipe.parse().unwrap());
    let (name, language) = (package.text("name").to_owned(), package.text("language").to_owned());
    let mut wrong = String::new();
    let untouched = package.prove(&[]);
    println!("untouched: {} in {:.1} s {}", untouched.decision(), untouched.seconds, untouched.why());
    if untouched.decision() != "acquitted" {
        let _ = writeln!(wrong, "refused: untouched: {}", untouched.why());
    }
    let (mut honest, mut found) = (0, 0);
    let changes = package.changes("honest");
    for (what, change) in &changes {
        let judged = package.with(change, || package.prove(&[]));
        println!("honest, {what}: {} in {:.1} s {}", judged.decision(), judged.seconds, judged.why());
        if judged.decision() == "acquitted" {
            honest += 1;
        } else {
            let _ = writeln!(wrong, "refused: {what}: {}", judged.why());
        }
    }
    let lies = package.changes("lie");
    for (what, change) in &lies {
        let judged = package.with(change, || package.prove(&[]));
        println!("lie, {what}: {} in {:.1} s {}", judged.decision(), judged.seconds, judged.why());
        let is_found = judged.decision() == "guilty";
        found += usize::from(is_found);
        // What is known to be missed is counted all the same; once it is found, its mark has to go.
        if is_found == package.is_missed(what) {
            let _ = writeln!(wrong, "not as expected: {what}: {} {}", judged.decision(), judged.why());
        }
    }
    let refused = changes.len() - honest + usize::from(untouched.decision() != "acquitted");
    println!(
        "| package | language | untouched | honest changes acquitted | lies found | false accepts | false rejects |"
    );
    println!(
        "| {name} | {language} | {} | {honest} of {} | {found} of {} | {} | {refused} |",
        untouched.decision(),
        changes.len(),
        lies.len(),
        lies.len() - found
    );
    timed(&package);
    assert!(wrong.is_empty(), "{name}:\n{wrong}");
}

#[test]
fn soak_lies_in_a_python_package_are_found_and_honest_work_is_not_blamed() {
    judged(include_str!("packages/python.toml"));
}

#[test]
fn soak_lies_in_a_javascript_package_are_found_and_honest_work_is_not_blamed() {
    judged(include_str!("packages/javascript.toml"));
}

#[test]
fn soak_lies_in_a_go_package_are_found_and_honest_work_is_not_blamed() {
    judged(include_str!("packages/go.toml"));
}

#[test]
fn soak_lies_in_a_rust_package_are_found_and_honest_work_is_not_blamed() {
    judged(include_str!("packages/rust.toml"));
}

#[test]
fn soak_lies_in_a_java_package_are_found_and_honest_work_is_not_blamed() {
    judged(include_str!("packages/java.toml"));
}

/// How long the same takes by hand, beside `prove` with nothing known, after another edit of the code, after one of the tests, and
/// with `--quick`.
fn timed(package: &Package) {
    let (repository, test) = (&package.repository, package.text("test"));
    let ignored = "printf '.venv/\n*.egg-info/\ntarget/\n' >> .git/info/exclude";
    sh(repository, ignored);
    let change = &package.changes("honest")[0].1;
    // By hand: set up, put the change aside, test, bring it back, test, look at the difference.
    sh(repository, change);
    let line =
        format!("{}\ngit stash -q -u\n{test}\ngit stash pop -q\n{test}\ngit diff", package.text("setup"));
    let by_hand = seconds(repository, &line);
    let by_hand_again = seconds(repository, &format!("{test}\ngit diff"));
    let _ = fs::remove_dir_all(package.root.join("acquit"));
    let first = package.prove(&[]).seconds;
    let edited = |key: &str| {
        let mark = if package.text("language") == "Python" { "#" } else { "//" };
        sh(repository, &format!("echo '{mark} Another edit.' >> {}", package.text(key)))
    };
    edited("code");
    let code = package.prove(&[]).seconds;
    edited("tests");
    let tests = package.prove(&[]).seconds;
    edited("code");
    let quick = package.prove(&["--quick"]).seconds;
    let same = package.prove(&["--quick"]).seconds;
    sh(repository, "git reset -q --hard && git clean -qfd");
    println!(
        "| package | by hand | first `prove` | ratio | suite alone | after an edit of code | ratio | of tests | ratio | `--quick` | same content |"
    );
    println!(
        "| {} | {by_hand:.1} s | {first:.1} s | {:.1} | {by_hand_again:.1} s | {code:.1} s | {:.1} | {tests:.1} s | {:.1} | {quick:.1} s | {same:.1} s |",
        package.text("name"),
        first / by_hand,
        code / by_hand_again,
        tests / by_hand_again
    );
}
