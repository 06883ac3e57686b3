//! Real packages of five languages, by the recipes beside this file: judged untouched, with honest changes, and with lies planted in them.
//! Each prints its rows of the tables in docs/prove.md. The ordinary run has `lies::every_lie_is_found`.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use acquit_testkit::packages::{From, sh, unpack};
use serde_json::Value;
use toml::Table;

use crate::common::{Sandbox, binary};
use crate::spent::{Spent, measured};

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
    spent: Spent,
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
        // `ACQUIT_TEST_BINARY` may name a release build, to measure what users wait for.
        let mut command = Command::new(binary());
        command.args(["prove", "--json"]).args(args).current_dir(&self.repository);
        command.env("ACQUIT_HOME", self.root.join("acquit")).env_remove("ACQUIT_STORE");
        command.env("XDG_CONFIG_HOME", self.root.join("config"));
        let (output, spent) = measured(command, |mut command| command.stdin(Stdio::null()).output().unwrap());
        let report = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
            panic!("{error}: {}", String::from_utf8_lossy(&[output.stdout, output.stderr].concat()))
        });
        Judged { report, spent }
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

/// Judges a package untouched, with honest changes and with lies, and prints its rows of the tables.
fn judged(recipe: &str) {
    let package = Package::new(recipe.parse().unwrap());
    let (name, language) = (package.text("name").to_owned(), package.text("language").to_owned());
    let mut wrong = String::new();
    let untouched = package.prove(&[]);
    println!("untouched: {} in {:.1} s {}", untouched.decision(), untouched.spent.wall, untouched.why());
    if untouched.decision() != "acquitted" {
        let _ = writeln!(wrong, "refused: untouched: {}", untouched.why());
    }
    let (mut honest, mut found) = (0, 0);
    let changes = package.changes("honest");
    for (what, change) in &changes {
        let judged = package.with(change, || package.prove(&[]));
        println!("honest, {what}: {} in {:.1} s {}", judged.decision(), judged.spent.wall, judged.why());
        if judged.decision() == "acquitted" {
            honest += 1;
        } else {
            let _ = writeln!(wrong, "refused: {what}: {}", judged.why());
        }
    }
    let lies = package.changes("lie");
    for (what, change) in &lies {
        let judged = package.with(change, || package.prove(&[]));
        println!("lie, {what}: {} in {:.1} s {}", judged.decision(), judged.spent.wall, judged.why());
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
    let claims = untouched.report["claims"].as_array().into_iter().flatten();
    let checks =
        claims.filter(|claim| claim["check"] == "command").filter_map(|claim| claim["command"].as_str());
    timed(&package, &checks.map(str::to_owned).collect::<Vec<_>>());
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

/// Lies that the others do not tell.
#[test]
fn soak_more_lies_in_a_python_package_are_found_and_honest_work_is_not_blamed() {
    judged(include_str!("packages/python-more.toml"));
}

#[test]
fn soak_more_lies_in_a_rust_package_are_found_and_honest_work_is_not_blamed() {
    judged(include_str!("packages/rust-more.toml"));
}

/// How long the same takes by hand (the checks that `prove` runs, and the tests with the change and without it), beside `prove` with
/// nothing cached, after another edit of the code, after one of the tests, and with `--quick`.
fn timed(package: &Package, checks: &[String]) {
    let (repository, test) = (&package.repository, package.text("test"));
    sh(repository, "printf '.venv/\n*.egg-info/\ntarget/\nnode_modules/\n' >> .git/info/exclude");
    let by_hand = |line: &str| {
        let mut command = Command::new("sh");
        command.args(["-ec", line]).current_dir(repository);
        command.env("GIT_COMMITTER_NAME", "user").env("GIT_COMMITTER_EMAIL", "user@example.org");
        command.env("GIT_AUTHOR_NAME", "user").env("GIT_AUTHOR_EMAIL", "user@example.org");
        let (output, spent) = measured(command, |mut command| command.output().unwrap());
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        spent
    };
    let edited = |key: &str| {
        let mark = if package.text("language") == "Python" { "#" } else { "//" };
        sh(repository, &format!("echo '{mark} Another edit.' >> {}", package.text(key)));
    };
    // A check may fail on a package as it is.
    let checks = checks.iter().map(|check| format!("{check} || true\n")).collect::<Vec<_>>().concat();
    let whole = format!("{checks}git stash -q -u\n{test}\ngit stash pop -q\n{test}\ngit diff");
    sh(repository, &package.changes("honest")[0].1);
    let first_by_hand = by_hand(&format!("{}\n{whole}", package.text("setup")));
    // The two sides take turns, so that both meet the same load of the machine.
    let _ = fs::remove_dir_all(package.root.join("acquit"));
    let first = package.prove(&[]).spent;
    edited("code");
    let again_by_hand = by_hand(&whole);
    edited("code");
    let code = package.prove(&[]).spent;
    edited("code");
    let once = by_hand(test);
    edited("tests");
    let by_hand_after = by_hand(&whole);
    edited("tests");
    let tests = package.prove(&[]).spent;
    edited("code");
    let quick = package.prove(&["--quick"]).spent;
    let same = package.prove(&["--quick"]).spent;
    sh(repository, "git reset -q --hard && git clean -qfd");
    println!("seconds of {} time; {}", once.unit(), package.text("language"));
    println!(
        "| package | tests once | by hand, first | by hand, again | first `prove` | after an edit of code | of a test | `--quick` | the same again |"
    );
    let beside = |spent: Spent, by_hand: Spent| {
        let clock = spent.wall / by_hand.wall;
        format!(
            "{:.1} ({:.1} ×, by the clock {clock:.1} ×)",
            spent.seconds(),
            spent.seconds() / by_hand.seconds()
        )
    };
    println!(
        "| {} | {:.1} | {:.1} | {:.1} | {} | {} | {} | {:.1} | {:.1} |",
        package.text("name"),
        once.seconds(),
        first_by_hand.seconds(),
        again_by_hand.seconds(),
        beside(first, first_by_hand),
        beside(code, again_by_hand),
        beside(tests, by_hand_after),
        quick.seconds(),
        same.seconds()
    );
}
