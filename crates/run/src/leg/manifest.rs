//! The part of a manifest that setup reads.
//!
//! A project without a lock file lists its manifest instead: `package.json`, `pyproject.toml`, `Cargo.toml`. Manifests
//! also contain scripts and settings of linters and test runners. A change of those needs no other dependencies, so it
//! needs no new setup and no network.

use serde_json::Value as Json;
use toml::Value as Toml;

/// Scripts of `package.json` that package managers run when they install.
const INSTALLING: [&str; 7] =
    ["preinstall", "install", "postinstall", "prepublish", "preprepare", "prepare", "postprepare"];

/// Keys of `package.json` that package managers do not read when they install.
const UNREAD: [&str; 17] = [
    "author",
    "ava",
    "browserslist",
    "bugs",
    "c8",
    "contributors",
    "description",
    "eslintConfig",
    "funding",
    "homepage",
    "jest",
    "keywords",
    "license",
    "mocha",
    "nyc",
    "prettier",
    "repository",
];

/// Tools with settings in `pyproject.toml` that take no part in an installation.
const CHECKERS: [&str; 16] = [
    "bandit",
    "black",
    "check-manifest",
    "codespell",
    "coverage",
    "flake8",
    "interrogate",
    "isort",
    "mypy",
    "pydocstyle",
    "pylint",
    "pyright",
    "pytest",
    "ruff",
    "tox",
    "towncrier",
];

/// Tables of `Cargo.toml` that name no dependency.
const UNRELATED: [&str; 2] = ["lints", "profile"];

/// Returns whether setup does the same for two versions of a file.
pub(super) fn is_same(path: &str, old: &str, new: &str) -> bool {
    match path.rsplit('/').next() {
        Some("package.json") => both(old, new, package_json),
        Some("pyproject.toml") => both(old, new, pyproject),
        Some("Cargo.toml") => both(old, new, cargo),
        _ => false,
    }
}

/// Compares the relevant parts of two texts. Unreadable texts count as different.
fn both<T: PartialEq>(old: &str, new: &str, read: fn(&str) -> Option<T>) -> bool {
    read(old).is_some_and(|old| read(new) == Some(old))
}

fn package_json(text: &str) -> Option<Json> {
    let mut whole: Json = serde_json::from_str(text).ok()?;
    let top = whole.as_object_mut()?;
    top.retain(|key, _| !UNREAD.contains(&key.as_str()));
    if let Some(scripts) = top.get_mut("scripts").and_then(Json::as_object_mut) {
        scripts.retain(|name, _| INSTALLING.contains(&name.as_str()));
        if scripts.is_empty() {
            top.remove("scripts");
        }
    }
    Some(whole)
}

fn pyproject(text: &str) -> Option<toml::Table> {
    let mut whole: toml::Table = text.parse().ok()?;
    if let Some(tools) = whole.get_mut("tool").and_then(Toml::as_table_mut) {
        tools.retain(|name, _| !CHECKERS.contains(&name));
        if tools.is_empty() {
            whole.remove("tool");
        }
    }
    Some(whole)
}

fn cargo(text: &str) -> Option<toml::Table> {
    let mut whole: toml::Table = text.parse().ok()?;
    whole.retain(|name, _| !UNRELATED.contains(&name));
    Some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_and_settings_of_checkers_are_not_what_setup_reads() {
        for (path, old, new) in [
            ("package.json", r#"{"scripts": {"test": "jest"}}"#, r#"{"scripts": {"test": "jest --ci"}}"#),
            ("web/package.json", r#"{"name": "a"}"#, r#"{"name": "a", "scripts": {"lint": "eslint"}}"#),
            ("package.json", r#"{"name": "a"}"#, r#"{"description": "b", "name": "a"}"#),
            (
                "pyproject.toml",
                "[project]\nname = \"a\"\n",
                "[project]\nname = \"a\"\n[tool.ruff]\nline-length = 90\n",
            ),
            (
                "Cargo.toml",
                "[package]\nname = \"a\"\n",
                "[package]\nname = \"a\"\n[lints.rust]\nx = \"deny\"\n",
            ),
        ] {
            assert!(is_same(path, old, new), "{path}: {new}");
        }
    }

    #[test]
    fn dependencies_and_install_scripts_are_what_setup_reads() {
        for (path, old, new) in [
            ("package.json", "{}", r#"{"devDependencies": {"jest": "30"}}"#),
            ("package.json", "{}", r#"{"scripts": {"postinstall": "node a.js"}}"#),
            ("package.json", "{", "{"),
            ("package.json", "{}", "{"),
            ("package-lock.json", "{}", r#"{"scripts": {}}"#),
            ("pyproject.toml", "", "[project]\ndependencies = [\"x\"]\n"),
            ("pyproject.toml", "", "[tool.poetry.dependencies]\nx = \"1\"\n"),
            ("Cargo.toml", "", "[dev-dependencies]\nx = \"1\"\n"),
            ("setup.py", "", "# setup\n"),
        ] {
            assert!(!is_same(path, old, new), "{path}: {new}");
        }
    }
}
