//! Which files decide what counts as green, and what is gone from them.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::{SETTINGS_LOOSENED, texts, values};
use crate::check::Finding;
use crate::check::diff::{Diff, FileChange, Line};
use crate::pattern::pattern;

/// Whether a file says what is run to check the project.
pub(super) fn is_pipeline(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let folders = [
        ".github/workflows/",
        ".github/actions/",
        ".gitlab/",
        ".circleci/",
        ".buildkite/",
        ".husky/",
        ".acquit/",
    ];
    let names = [
        ".gitlab-ci.yml",
        ".travis.yml",
        "Jenkinsfile",
        "bitbucket-pipelines.yml",
        "lefthook.yml",
        ".pre-commit-config.yaml",
        "package.json",
        "tox.ini",
        "noxfile.py",
        "Taskfile.yml",
    ];
    folders.iter().any(|folder| path.starts_with(folder))
        || names.contains(&name)
        || name.starts_with("azure-pipelines")
}

/// Settings of linters, of type checkers, of coverage and of test runners, which have no other use.
fn is_strictness(name: &str) -> bool {
    static NAMES: LazyLock<Regex> = LazyLock::new(|| {
        pattern(concat!(
            r"^(\.eslintrc.*|eslint\.config\..*|\.?oxlintrc.*|biome\.jsonc?|tsconfig.*\.json|(jest|vitest|playwright|cypress)\.config\..*",
            r"|\.nycrc.*|\.c8rc.*|\.?stryker\.conf.*|stryker\.config\..*|\.?codecov\.ya?ml|\.coveragerc|pytest\.ini|\.?mypy\.ini|\.?ruff\.toml",
            r"|\.flake8|\.?pylintrc|pyrightconfig\.json|\.?clippy\.toml|deny\.toml|nextest\.toml|\.?tarpaulin\.toml|mutants\.toml",
            r"|\.golangci\.(ya?ml|toml|json)|(checkstyle|pmd|spotbugs).*\.xml|sonar-project\.properties)$"
        ))
    });
    NAMES.is_match(name)
}

/// Whether a file says what compilers and linters demand.
pub(super) fn holds_demands(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    is_strictness(name) || is_mixed(name) || is_pipeline(path) || path.ends_with(".cargo/config.toml")
}

/// Files with other things in them too.
fn is_mixed(name: &str) -> bool {
    matches!(
        name,
        "Cargo.toml"
            | "pyproject.toml"
            | "setup.cfg"
            | "pom.xml"
            | "build.gradle"
            | "build.gradle.kts"
            | "vite.config.ts"
            | "vite.config.js"
    )
}

/// Lists of files that a checker leaves out.
fn is_ignore_list(name: &str) -> bool {
    matches!(
        name,
        ".eslintignore" | ".gitleaksignore" | ".trivyignore" | ".stylelintignore" | ".semgrepignore"
    )
}

/// Files of commands that people and pipelines run.
fn is_recipe(name: &str) -> bool {
    let lower = name.to_lowercase();
    matches!(
        lower.as_str(),
        "makefile" | "gnumakefile" | "justfile" | ".justfile" | "rakefile" | "makefile.toml" | "noxfile.py"
    ) || [".mk", ".just", ".sh", ".bash"].iter().any(|end| lower.ends_with(end))
}

/// What a change of such a file no longer demands.
pub(super) fn loosened(file: &FileChange, diff: &Diff, settled: &[(String, String)]) -> Vec<Finding> {
    let path = file.old.as_deref().unwrap_or(file.path());
    let name = path.rsplit('/').next().unwrap_or(path);
    let (pipeline, strictness) = (is_pipeline(path), is_strictness(name));
    if is_ignore_list(name) {
        let added = file.added().filter(|line| !line.text.trim().is_empty() && !line.text.starts_with('#'));
        return added.map(|line| loose(file, line, '+', "files are left out of a check")).collect();
    }
    let runs = is_recipe(name);
    if !pipeline && !strictness && !runs && !is_mixed(name) {
        return Vec::new();
    }
    if runs && !pipeline {
        if file.new.is_none() {
            return Vec::new();
        }
        let Some((_, after)) = texts(file) else { return Vec::new() };
        let mut findings = super::commands::narrowed(file);
        findings.extend(commands(file, &after));
        return findings;
    }
    if file.new.is_none() {
        return gone(file, name, diff).into_iter().collect();
    }
    let Some((_, after)) = texts(file) else { return Vec::new() };
    // What moved to another file is compared there.
    let elsewhere = super::shadows::is_moved(diff, path) || super::shadows::is_heir(diff, path, settled);
    let mut findings = if elsewhere { Vec::new() } else { values::loosened(file, name, diff) };
    findings.retain(|finding| !stands_elsewhere(finding, file, diff));
    if pipeline || name == "package.json" {
        findings.extend(super::commands::narrowed(file));
    }
    if matches!(name, "pom.xml" | "build.gradle" | "build.gradle.kts") {
        findings.extend(super::commands::demands(file));
    }
    if [".yml", ".yaml"].iter().any(|end| name.ends_with(end)) {
        findings.extend(super::pipelines::loosened(file));
    }
    if name == "package.json" {
        findings.extend(scripts(file));
    } else if pipeline {
        findings.extend(commands(file, &after));
    }
    findings
}

/// Whether a setting that is gone here is in another file of settings now, with the same value.
fn stands_elsewhere(finding: &Finding, file: &FileChange, diff: &Diff) -> bool {
    let pair = |text: &str| -> Option<(String, String)> {
        let (key, value) = text.split_once(['=', ':'])?;
        let plain = |part: &str| part.trim().trim_matches(['"', '\'', ',', '[', ']']).to_lowercase();
        Some((plain(key), plain(value)))
    };
    let gone = file.removed().find(|line| Some(line.number) == finding.line);
    let Some(gone) = gone.filter(|line| finding.to_string().contains(line.text.trim())) else { return false };
    let Some(wanted) = pair(&gone.text).filter(|(key, value)| !key.is_empty() && !value.is_empty()) else {
        return false;
    };
    let others = diff.files.iter().filter(|other| {
        let name = other.path().rsplit('/').next().unwrap_or_default();
        other.path() != file.path() && (is_strictness(name) || is_mixed(name))
    });
    others.flat_map(FileChange::added).any(|line| pair(&line.text).as_ref() == Some(&wanted))
}

pub(super) fn loose(file: &FileChange, line: &Line, mark: char, what: &str) -> Finding {
    Finding::new(SETTINGS_LOOSENED, file.path(), Some(line.number), what).with(mark, &line.text)
}

/// A file of settings that is gone, unless another of its family came.
fn gone(file: &FileChange, name: &str, diff: &Diff) -> Option<Finding> {
    let family = |name: &str| -> String {
        name.trim_start_matches('.').chars().take_while(char::is_ascii_alphabetic).take(6).collect()
    };
    let comes = |other: &FileChange| {
        let path = other.new.as_deref().unwrap_or_default();
        let other_name = path.rsplit('/').next().unwrap_or(path);
        other.old.is_none() && family(other_name) == family(name)
    };
    let matters = is_strictness(name) || (is_pipeline(file.path()) && name != "package.json");
    (matters && !diff.files.iter().any(comes)).then(|| {
        Finding::new(
            SETTINGS_LOOSENED,
            file.path(),
            None,
            "this file of settings is gone, and what it demanded",
        )
    })
}

/// Programs that check something, with the word that says what.
fn tools(text: &str) -> BTreeSet<String> {
    static TOOL: LazyLock<Regex> = LazyLock::new(|| {
        pattern(concat!(
            r"\bcargo (?:\+\w+ )?(test|clippy|fmt|nextest|deny|audit|mutants|check|build|doc|xtask)\b",
            r"|\b(?:npm|pnpm|yarn|bun)(?: run)? ([\w:-]+)|\bgo (test|vet|build)\b|\bmake ([\w-]+)",
            r"|\b(pytest|tox|nox|mypy|ruff|flake8|pylint|bandit|golangci-lint|staticcheck|jest|vitest|mocha|eslint|tsc|prettier|stryker|coverage|nyc|c8|codecov|semgrep|gitleaks)\b",
            r"|\b(?:mvnw?|gradlew?)\b[^\n|&;]*?\b(test|verify|check|build|lint)\b|\bnode --(test)\b"
        ))
    });
    let found = TOOL.captures_iter(text);
    found
        .filter_map(|found| found.iter().skip(1).flatten().next().map(|word| word.as_str().to_owned()))
        .collect()
}

/// Scripts of a package that check less than before.
fn scripts(file: &FileChange) -> Vec<Finding> {
    static SCRIPT: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r#"^\s*"((?:pre|post)?(?:test|lint|check|types?|typecheck|type-check|coverage|ci|verify|build)(?:[:-][\w:-]+)?)"\s*:\s*"(.*)""#,
        )
    });
    let read =
        |line: &Line| SCRIPT.captures(&line.text).map(|found| (found[1].to_owned(), found[2].to_owned()));
    let after: Vec<(String, String)> = file.added().filter_map(read).take(values::MOST).collect();
    let mut findings = Vec::new();
    for line in file.removed().take(values::MOST) {
        let Some((key, value)) = read(line) else { continue };
        let now = after.iter().find(|(other, _)| *other == key).map(|(_, value)| value.as_str());
        let lost: Vec<String> = tools(&value).difference(&tools(now.unwrap_or_default())).cloned().collect();
        let moved = |word: &String| after.iter().any(|(_, value)| tools(value).contains(word));
        if !lost.is_empty() && !lost.iter().all(moved) {
            let what = format!("the script `{key}` does not run `{}` any more", lost.join("`, `"));
            findings.push(loose(file, line, '-', &what));
        }
    }
    findings
}

/// Commands and hooks that a pipeline does not run any more.
fn commands(file: &FileChange, after: &str) -> Vec<Finding> {
    static HOOK: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\s*-?\s*id:\s*([\w-]+)"));
    let left = tools(after);
    let mut findings = Vec::new();
    for line in file.removed().filter(|line| !line.text.trim_start().starts_with('#')) {
        if file.path().ends_with(".pre-commit-config.yaml") {
            let hook = HOOK.captures(&line.text).map(|found| found[1].to_owned());
            if let Some(hook) = hook.filter(|hook| !after.contains(&format!("id: {hook}"))) {
                findings.push(loose(file, line, '-', &format!("the hook `{hook}` does not run any more")));
            }
            continue;
        }
        let lost: Vec<String> = tools(&line.text).difference(&left).cloned().collect();
        if !lost.is_empty() {
            let what = format!("`{}` is not run any more", lost.join("`, `"));
            findings.push(loose(file, line, '-', &what));
        }
    }
    findings
}
