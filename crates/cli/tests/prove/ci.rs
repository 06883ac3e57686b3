//! The jobs that `acquit ci` writes: valid by the schemas of their forges, and run here step by step against a forge on the loopback.

use std::collections::BTreeMap;
use std::fs;

use acquit_testkit::forge::{Dialect, Forge};
use serde_json::Value;

use crate::common::{Sandbox, binary};
use crate::request::{PROJECT, TOKEN, at_forge};
use crate::schemas;

const GITHUB: &str = ".github/workflows/acquit.yml";
const GITLAB: &str = ".gitlab/acquit.yml";

#[test]
fn the_jobs_are_valid_by_the_schemas_of_their_forges() {
    let Some(check) = schemas::check("jobs for CI") else { return };
    let sandbox = crate::kit::package();
    for (forge, file, schema, broken) in [
        ("github", GITHUB, "vendor.github-workflows", ("runs-on:", "runs_on:")),
        ("gitlab", GITLAB, "vendor.gitlab-ci", ("interruptible: true", "interruptible: perhaps")),
    ] {
        sandbox.acquit(&["ci", forge]).must(0);
        let file = sandbox.repo.path().join(file);
        check.must_fit(&["--builtin-schema", schema], &file);
        let job = fs::read_to_string(&file).unwrap();
        assert!(job.contains(broken.0));
        fs::write(&file, job.replace(broken.0, broken.1)).unwrap();
        check.must_not_fit(&["--builtin-schema", schema], &file);
        // What somebody changed is not written over.
        sandbox.acquit(&["ci", forge]).must(2);
    }
    check.must_fit(&["--builtin-schema", "vendor.gitlab-ci"], &sandbox.repo.path().join(".gitlab-ci.yml"));
}

#[test]
fn a_job_has_the_toolchain_of_its_repository() {
    let Some(check) = schemas::check("jobs for CI") else { return };
    type Files<'f> = &'f [(&'f str, &'f str)];
    let cases: [(Files<'_>, &[&str], &str); 6] = [
        (
            &[("package.json", crate::kit::MANIFEST), (".nvmrc", "22\n")],
            &["actions/setup-node@v4", "node-version-file: .nvmrc"],
            "image: node:lts",
        ),
        (
            &[("web/package.json", crate::kit::MANIFEST), ("web/pnpm-lock.yaml", "lockfileVersion: '9.0'\n")],
            &["node-version: lts/*", "corepack enable"],
            "image: node:lts",
        ),
        (
            &[
                ("pyproject.toml", "[project]\nname = \"p\"\nversion = \"1\"\n"),
                (".python-version", "3.12\n"),
            ],
            &["actions/setup-python@v5", "python-version-file: .python-version"],
            "image: python:3",
        ),
        (
            &[("go.mod", "module example.org/m\n\ngo 1.22\n"), ("m.go", "package m\n")],
            &["actions/setup-go@v5", "go-version-file: go.mod"],
            "image: golang:1",
        ),
        (
            &[("pom.xml", "<project/>\n")],
            &["actions/setup-java@v4", "java-version: 21"],
            "image: maven:3-eclipse-temurin-21",
        ),
        (
            &[("Cargo.toml", "[package]\nname = \"p\"\nversion = \"0.1.0\"\n"), ("src/lib.rs", "")],
            &["rustup show"],
            "image: rust:1",
        ),
    ];
    for (files, steps, image) in cases {
        let sandbox = Sandbox::of_files("project", files);
        let from = "https://git.example.org/team/acquit.git";
        for (forge, file, schema) in
            [("github", GITHUB, "vendor.github-workflows"), ("gitlab", GITLAB, "vendor.gitlab-ci")]
        {
            sandbox.acquit(&["ci", forge, "--from", from]).must(0);
            let file = sandbox.repo.path().join(file);
            check.must_fit(&["--builtin-schema", schema], &file);
            let job = fs::read_to_string(&file).unwrap();
            assert!(job.contains(&format!("ACQUIT_REPOSITORY: {from}")) && !job.contains("@FROM@"), "{job}");
            let wanted = if forge == "github" { steps } else { &[image][..] };
            for line in wanted {
                assert!(job.contains(line), "no {line:?} in {job}");
            }
        }
    }
    let sandbox = crate::kit::package();
    sandbox.acquit(&["ci", "github", "--from", "https://x/$(touch y)"]).must(2);
    sandbox.acquit(&["ci", "github"]).must(0).said("ACQUIT_REPOSITORY");
}

/// A request at a forge, checked out as its CI checks it out.
struct Runner {
    forge: Forge,
    sandbox: Sandbox,
    base: String,
    variables: BTreeMap<String, String>,
}

impl Runner {
    fn new(dialect: Dialect, number: u64) -> Self {
        let (forge, sandbox) = at_forge(dialect);
        let base = sandbox.repo.git(&["rev-parse", "HEAD"]).trim().to_owned();
        let head = match dialect {
            Dialect::GitHub => format!("refs/pull/{number}/head"),
            Dialect::GitLab => format!("refs/merge-requests/{number}/head"),
        };
        // As runners clone: with a login in the address.
        let url = forge.url(PROJECT).replacen("http://", &format!("http://oauth2:{TOKEN}@"), 1);
        sandbox.repo.git(&["remote", "set-url", "origin", &url]);
        sandbox.repo.git(&["fetch", "-q", "origin", &head]);
        sandbox.repo.git(&["checkout", "-q", "--detach", "FETCH_HEAD"]);
        Self { forge, sandbox, base, variables: BTreeMap::new() }
    }

    /// Runs a script as the runner of a forge does.
    fn run(&self, script: &str) -> (Option<i32>, String) {
        let bin = binary().parent().unwrap().to_owned();
        let mut command = self.sandbox.program("bash");
        command.args(["-e", "-c", script]).envs(&self.variables);
        command.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display()));
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    }

    fn has(&self, file: &str) -> bool {
        self.sandbox.repo.path().join(file).exists()
    }

    /// What was said about the request.
    fn said(&self, number: usize) -> Vec<String> {
        self.forge.pulls()[number - 1].remarks.iter().map(|remark| remark.text.clone()).collect()
    }
}

/// The value of an expression of GitHub's.
fn expression(text: &str, runner: &Runner, number: u64) -> String {
    let inside = text.trim().trim_start_matches("${{").trim_end_matches("}}").trim();
    match inside {
        "github.event.pull_request.base.sha" => runner.base.clone(),
        "github.event.pull_request.number" => number.to_string(),
        "github.token" => "none-of-this-host".to_owned(),
        "vars.ACQUIT_REPOSITORY" => String::new(),
        other => panic!("what is {other}?"),
    }
}

/// Runs all steps of GitHub's job; the exit code of each that has a script, by name.
fn github(runner: &mut Runner, number: u64, job: &Value) -> Vec<(String, Option<i32>, String)> {
    let mut ended = Vec::new();
    let summary = runner.sandbox.place("summary.md").to_string_lossy().into_owned();
    for step in job["jobs"]["prove"]["steps"].as_array().unwrap() {
        let Some(script) = step["run"].as_str() else {
            let known = [
                "actions/checkout@v4",
                "actions/setup-node@v4",
                "actions/cache@v4",
                "actions/upload-artifact@v4",
            ];
            assert!(known.contains(&step["uses"].as_str().unwrap()), "{step:#}");
            continue;
        };
        runner.variables = step["env"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, value)| (name.clone(), expression(value.as_str().unwrap(), runner, number)))
            .collect();
        runner.variables.insert("GITHUB_STEP_SUMMARY".to_owned(), summary.clone());
        // The machine of the tests has its own settings.
        let script = script.replace("sudo sysctl", "false sysctl");
        let (code, said) = runner.run(&script);
        ended.push((step["name"].as_str().unwrap().to_owned(), code, said));
    }
    ended
}

#[test]
fn the_job_for_github_runs_step_by_step() {
    let Some(check) = schemas::check("jobs for CI") else { return };
    for (number, code, word) in [(1, 0, "acquitted"), (2, 1, "guilty")] {
        let mut runner = Runner::new(Dialect::GitHub, number);
        runner.sandbox.acquit(&["ci", "github"]).must(0);
        let job = check.yaml(&runner.sandbox.repo.path().join(GITHUB));
        let ended = github(&mut runner, number, &job);
        let codes: Vec<(&str, Option<i32>)> =
            ended.iter().map(|(name, code, _)| (name.as_str(), *code)).collect();
        assert_eq!(
            codes,
            [
                ("Install acquit", Some(0)),
                ("Let programs be sandboxed", Some(0)),
                ("Judge the change", Some(code)),
                ("Write the summary", Some(0)),
                ("Comment", Some(0)),
            ],
            "{ended:?}"
        );
        assert!(ended[2].2.contains(&format!("title=acquit prove::{word}")), "{}", ended[2].2);
        let summary = fs::read_to_string(runner.sandbox.place("summary.md")).unwrap();
        assert!(summary.contains(&format!("acquit: {word}")), "{summary}");
        let said = runner.said(usize::try_from(number).unwrap());
        assert!(matches!(&said[..], [one] if one.contains(&format!("acquit: {word}"))), "{said:?}");
        for file in job["jobs"]["prove"]["steps"].as_array().unwrap().last().unwrap()["with"]["path"]
            .as_str()
            .unwrap()
            .lines()
        {
            assert!(runner.has(file), "no {file} to keep");
        }
    }
}

#[test]
fn the_job_for_gitlab_runs_step_by_step() {
    let Some(check) = schemas::check("jobs for CI") else { return };
    for (number, code, word) in [(1, 0, "acquitted"), (2, 1, "guilty")] {
        let mut runner = Runner::new(Dialect::GitLab, number);
        runner.sandbox.acquit(&["ci", "gitlab"]).must(0);
        let job = check.yaml(&runner.sandbox.repo.path().join(GITLAB))["acquit"].clone();
        let top = runner.sandbox.repo.path().to_string_lossy().into_owned();
        for (name, value) in [
            ("CI_PROJECT_DIR", top.as_str()),
            ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main"),
            ("CI_MERGE_REQUEST_IID", &number.to_string()),
            ("CI_SERVER_HOST", "127.0.0.1"),
            ("GITLAB_TOKEN", "none-of-this-host"),
        ] {
            runner.variables.insert(name.to_owned(), value.to_owned());
        }
        // GitLab runs both parts as one script.
        let lines = ["before_script", "script"].iter().flat_map(|part| job[part].as_array().unwrap().clone());
        let lines: Vec<String> = lines.map(|line| line.as_str().unwrap().to_owned()).collect();
        let (ended, said) = runner.run(&lines.join("\n"));
        assert_eq!(ended, Some(code), "{said}");
        let remarks = runner.said(usize::try_from(number).unwrap());
        assert!(
            matches!(&remarks[..], [one] if one.contains(&format!("acquit: {word}"))),
            "{remarks:?}\n{said}"
        );
        let kept = job["artifacts"]["paths"].as_array().unwrap().iter();
        for file in kept.chain(job["artifacts"]["reports"].as_object().unwrap().values()) {
            assert!(runner.has(file.as_str().unwrap()), "no {file} to keep\n{said}");
        }
        let quality = fs::read_to_string(runner.sandbox.repo.path().join("acquit-quality.json")).unwrap();
        assert_eq!(quality.contains("new-failure"), code == 1, "{quality}");
    }
}

#[test]
fn a_request_that_loosens_its_own_gate_is_judged_by_the_rules_of_its_base() {
    let config = "[gates.test]\nrun = \"test -f README.md\"\nkind = \"test\"\n";
    let sandbox = Sandbox::of_files("project", &[(".acquit/acquit.toml", config)]).untrusted();
    let repo = &sandbox.repo;
    let base = repo.git(&["rev-parse", "HEAD"]).trim().to_owned();
    repo.write(".acquit/acquit.toml", &config.replace("test -f README.md", "true"));
    fs::remove_file(repo.path().join("README.md")).unwrap();
    repo.commit("loosened");
    let report = crate::kit::prove(&sandbox, &[&format!("{base}...HEAD"), "--trust-base"], 1);
    assert_eq!(report["rules"], "base", "{report:#}");
}
