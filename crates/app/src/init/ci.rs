//! CI jobs that run `acquit prove` on a pull request or merge request.
//!
//! A job uses the base's `.acquit/`, so a pull request cannot relax its own rules. Names from the pull request reach
//! the job as variables, never as part of a script.

use std::path::{Path, PathBuf};

use super::Plan;
use super::detect::{self, Language};

/// A forge with a supported CI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forge {
    /// GitHub Actions.
    Github,
    /// GitLab CI.
    Gitlab,
}

const GITHUB: &str = include_str!("../../templates/github.yml");
const GITLAB: &str = include_str!("../../templates/gitlab.yml");
const GITLAB_ROOT: &str = "include:\n  - local: .gitlab/acquit.yml\n";

/// Plans the files for a forge. `top` is the top folder of the repository, `from` the git address to install acquit
/// from.
pub fn plan(forge: Forge, top: &Path, from: Option<&str>) -> Plan {
    let has = |file: &str| top.join(file).symlink_metadata().is_ok();
    let mut notes = vec!["commit it; the job runs on the next request".to_owned()];
    if from.is_none() {
        notes.push(
            "set the variable ACQUIT_REPOSITORY of your CI to the git address of acquit, or name it here with --from"
                .to_owned(),
        );
    }
    let found = languages(top);
    let seen = found.iter().map(|(language, _)| format!("{language:?}")).collect();
    let fill = |template: &str, toolchain: &str, from: &str| {
        template.replace("@TOOLCHAIN@\n", toolchain).replace("@FROM@", from)
    };
    let files: Vec<(PathBuf, String)> = match forge {
        Forge::Github => {
            let from = from.unwrap_or("${{ vars.ACQUIT_REPOSITORY }}");
            vec![(".github/workflows/acquit.yml".into(), fill(GITHUB, &steps(&found, &has), from))]
        }
        Forge::Gitlab => {
            let from = from.map(|from| format!("    ACQUIT_REPOSITORY: {from}\n")).unwrap_or_default();
            let mut files =
                vec![(PathBuf::from(".gitlab/acquit.yml"), fill(GITLAB, &image(&found, &has), &from))];
            if has(".gitlab-ci.yml") {
                notes.insert(
                    0,
                    "add to .gitlab-ci.yml: `include: [{ local: .gitlab/acquit.yml }]`".to_owned(),
                );
            } else {
                files.push((".gitlab-ci.yml".into(), GITLAB_ROOT.to_owned()));
            }
            files
        }
    };
    Plan { files, seen, recognised: true, has_agent: true, notes }
}

/// Returns the languages of the repository, each with its first folder below the top.
fn languages(top: &Path) -> Vec<(Language, Option<String>)> {
    let mut found: Vec<(Language, Option<String>)> = Vec::new();
    for finding in detect::detect(top, None, &|_| true, &mut Vec::new()) {
        if found.iter().all(|(known, _)| *known != finding.language) {
            found.push((finding.language, finding.folder));
        }
    }
    found
}

/// Returns the steps that set up the toolchains. Versions come from the repository's own files, so that the job follows
/// them.
fn steps(found: &[(Language, Option<String>)], has: &dyn Fn(&str) -> bool) -> String {
    let mut text = String::new();
    for (language, folder) in found {
        // Only a plain name can stand in a job unquoted.
        let plain =
            |name: &String| name.bytes().all(|it| it.is_ascii_alphanumeric() || b"-_/.".contains(&it));
        let folder =
            folder.as_ref().filter(|name| plain(name)).map(|name| format!("{name}/")).unwrap_or_default();
        let version = |files: &[&str], key: &str, otherwise: &str| match files
            .iter()
            .map(|file| format!("{folder}{file}"))
            .find(|file| has(file))
        {
            Some(file) => format!("          {key}-file: {file}\n"),
            None => format!("          {key}: {otherwise}\n"),
        };
        text.push_str(&match language {
            Language::Node => {
                let version = version(&[".nvmrc", ".node-version", ".tool-versions"], "node-version", "lts/*");
                let corepack = ["pnpm-lock.yaml", "yarn.lock"].iter().any(|file| has(&format!("{folder}{file}")));
                let corepack = if corepack { "      - run: corepack enable\n" } else { "" };
                format!("      - uses: actions/setup-node@v4\n        with:\n{version}{corepack}")
            }
            Language::Python => {
                let version = version(&[".python-version", ".tool-versions"], "python-version", "3.x");
                let uv = if has(&format!("{folder}uv.lock")) { "      - run: pipx install uv\n" } else { "" };
                let poetry = has(&format!("{folder}poetry.lock"));
                let poetry = if poetry { "      - run: pipx install poetry\n" } else { "" };
                format!("      - uses: actions/setup-python@v5\n        with:\n{version}{uv}{poetry}")
            }
            Language::Go => {
                let version = version(&["go.mod"], "go-version", "stable");
                format!("      - uses: actions/setup-go@v5\n        with:\n{version}")
            }
            Language::Java => {
                let version = version(&[".java-version", ".sdkmanrc", ".tool-versions"], "java-version", "21");
                format!("      - uses: actions/setup-java@v4\n        with:\n          distribution: temurin\n{version}")
            }
            // The runners have rustup, which installs what rust-toolchain.toml asks for.
            Language::Rust => "      - run: rustup show\n".to_owned(),
            Language::Make => continue,
        });
    }
    if text.is_empty() {
        text.push_str("      # The toolchain of your project goes here, such as actions/setup-node.\n");
    }
    text
}

/// Returns the line with the image of the first toolchain.
fn image(found: &[(Language, Option<String>)], has: &dyn Fn(&str) -> bool) -> String {
    let image = found.iter().find_map(|(language, _)| match language {
        Language::Node => Some("node:lts"),
        Language::Python => Some("python:3"),
        Language::Go => Some("golang:1"),
        Language::Java if has("pom.xml") => Some("maven:3-eclipse-temurin-21"),
        Language::Java => Some("gradle:jdk21"),
        Language::Rust => Some("rust:1"),
        Language::Make => None,
    });
    match image {
        Some(image) if found.len() == 1 => format!("  image: {image}\n"),
        Some(image) => format!(
            "  # An image with all toolchains of your project; this one has only the first.\n  image: {image}\n"
        ),
        None => "  # The image with the toolchain of your project goes here, as `image: NAME`.\n".to_owned(),
    }
}
