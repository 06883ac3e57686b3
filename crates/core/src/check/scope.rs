//! Scope: the change is small, and stays where it may.

use super::Finding;
use super::diff::{Diff, Side};
use crate::gate::check::{Dependencies, Scope};

/// Files that say what a project depends on.
const DEPENDENCY_FILES: [&str; 32] = [
    "Cargo.toml",
    "Cargo.lock",
    "package.json",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
    "pnpm-workspace.yaml",
    "yarn.lock",
    "bun.lock",
    "bun.lockb",
    "deno.json",
    "deno.lock",
    "pyproject.toml",
    "poetry.lock",
    "uv.lock",
    "pdm.lock",
    "Pipfile",
    "Pipfile.lock",
    "setup.py",
    "setup.cfg",
    "environment.yml",
    "go.mod",
    "go.sum",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "gradle.lockfile",
    "libs.versions.toml",
    "Gemfile",
    "Gemfile.lock",
    "composer.json",
    "composer.lock",
];

/// What the change does that it should not. `recent` are the files that the newest commits of the base changed.
pub fn scope(diff: &Diff, settings: &Scope, recent: &[String]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let uncounted = settings.uncounted.compile();
    let counted = diff.files.iter().filter(|file| !uncounted.is_match(file.path()));
    let lines = counted.flat_map(|file| &file.lines).filter(|line| line.side != Side::Both).count();
    if lines > settings.max_lines as usize {
        let what = format!("{lines} lines were changed, and {} may be: do less at once", settings.max_lines);
        findings.push(Finding::general("too-many-lines", what));
    }
    let most = settings.max_files.map_or(usize::MAX, |most| most as usize);
    if diff.files.len() > most {
        let what = format!("{} files were changed, and {most} may be: do less at once", diff.files.len());
        findings.push(Finding::general("too-many-files", what));
    }
    let forbidden = settings.forbidden.compile();
    for file in &diff.files {
        for path in both_names(file.old.as_deref(), file.new.as_deref()) {
            if forbidden.is_match(path) {
                let what = "this file may not be changed here: put it back";
                findings.push(Finding::new("forbidden-path", path, None, what));
            }
            let name = path.rsplit('/').next().unwrap_or(path);
            let is_dependency = DEPENDENCY_FILES.contains(&name) || is_requirements(name);
            if settings.dependencies == Dependencies::Reject && is_dependency {
                let what = "what the project depends on may not be changed here: put it back";
                findings.push(Finding::new("dependency-file", path, None, what));
            }
            if recent.iter().any(|other| other == path) {
                let newest = settings.recent.unwrap_or_default();
                let what = format!(
                    "one of the newest {newest} commits changed this file too: leave it to whoever works on it"
                );
                findings.push(Finding::new("recently-changed", path, None, what));
            }
        }
    }
    findings
}

/// A file that was moved has two names, and neither may be a forbidden one.
fn both_names<'a>(old: Option<&'a str>, new: Option<&'a str>) -> Vec<&'a str> {
    let mut names: Vec<&str> = old.into_iter().chain(new).collect();
    names.dedup();
    names
}

fn is_requirements(name: &str) -> bool {
    name.starts_with("requirements")
        && name.rsplit_once('.').is_some_and(|(_, end)| matches!(end, "txt" | "in"))
}
