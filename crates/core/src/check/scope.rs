//! Checks the scope: the change is small and touches only what it may.

use std::sync::LazyLock;

use regex::Regex;

use super::Finding;
use super::diff::{Diff, FileChange, Side};
use crate::gate::Paths;
use crate::gate::check::{Dependencies, Scope};
use crate::pattern::pattern;

/// Lower-case names of files that declare dependencies or where they come from.
const DEPENDENCY_FILES: &[&str] = &[
    "cargo.toml",
    "cargo.lock",
    "rust-toolchain",
    "rust-toolchain.toml",
    "package.json",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
    "pnpm-workspace.yaml",
    ".pnpmfile.cjs",
    "yarn.lock",
    ".yarnrc",
    ".yarnrc.yml",
    ".npmrc",
    ".pnp.cjs",
    "bun.lock",
    "bun.lockb",
    "bunfig.toml",
    "deno.json",
    "deno.jsonc",
    "deno.lock",
    "import_map.json",
    "bower.json",
    "lerna.json",
    "pyproject.toml",
    "poetry.lock",
    "poetry.toml",
    "uv.lock",
    "uv.toml",
    "pdm.lock",
    "pylock.toml",
    "pipfile",
    "pipfile.lock",
    "setup.py",
    "setup.cfg",
    "environment.yml",
    "environment.yaml",
    "pixi.toml",
    "pixi.lock",
    "conda-lock.yml",
    "pip.conf",
    "go.mod",
    "go.sum",
    "go.work",
    "go.work.sum",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "settings.gradle",
    "settings.gradle.kts",
    "gradle.properties",
    "gradle.lockfile",
    "libs.versions.toml",
    "gradle-wrapper.properties",
    "gradle-wrapper.jar",
    "maven-wrapper.properties",
    "extensions.xml",
    "build.sbt",
    "gemfile",
    "gemfile.lock",
    "gems.rb",
    "gems.locked",
    "composer.json",
    "composer.lock",
    "mix.exs",
    "mix.lock",
    "rebar.config",
    "rebar.lock",
    "package.swift",
    "package.resolved",
    "podfile",
    "podfile.lock",
    "cartfile",
    "cartfile.resolved",
    "pubspec.yaml",
    "pubspec.lock",
    "flake.nix",
    "flake.lock",
    "shell.nix",
    ".gitmodules",
    "packages.config",
    "packages.lock.json",
    "directory.packages.props",
    "directory.build.props",
    "nuget.config",
    "paket.dependencies",
    "paket.lock",
    "global.json",
    "conanfile.txt",
    "conanfile.py",
    "conan.lock",
    "vcpkg.json",
    "vcpkg-configuration.json",
    "module.bazel",
    "module.bazel.lock",
    "workspace.bazel",
    "stack.yaml",
    "stack.yaml.lock",
    "cabal.project",
    "dub.json",
    "project.toml",
    "manifest.toml",
    "renv.lock",
    ".tool-versions",
    "mise.toml",
    ".terraform.lock.hcl",
    "chart.lock",
    "dune-project",
];

/// Returns whether a file declares dependencies.
fn is_dependency_file(path: &str) -> bool {
    let lower = path.to_lowercase();
    let (folder, name) = lower.rsplit_once('/').unwrap_or(("", lower.as_str()));
    let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    let within = |part: &str| folder == part || folder.ends_with(&format!("/{part}"));
    let pip = ["requirements", "constraints"].iter().any(|word| name.contains(word))
        || within("requirements")
        || within("constraints");
    DEPENDENCY_FILES.contains(&name)
        || ends(&[
            ".csproj",
            ".fsproj",
            ".vbproj",
            ".gemspec",
            ".podspec",
            ".cabal",
            ".nimble",
            ".opam",
            ".rockspec",
        ])
        || (pip && ends(&[".txt", ".in", ".pip"]))
        || (within(".cargo") && matches!(name, "config" | "config.toml"))
        || lower.starts_with("vendor/")
        || lower.contains("/vendor/")
        || (name.starts_with("environment") && ends(&[".yml", ".yaml"]) && folder.is_empty())
}

/// Returns whether a file has separate sections for dependencies and other things. [`scope`] needs the whole text of
/// such a file.
pub fn is_sectioned(file: &FileChange) -> bool {
    let name = file.path().rsplit('/').next().unwrap_or_default();
    matches!(
        name,
        "Cargo.toml"
            | "Cargo.lock"
            | "pyproject.toml"
            | "setup.cfg"
            | "tox.ini"
            | "pom.xml"
            | "package.json"
            | "package-lock.json"
    )
}

/// Returns whether a change of a manifest concerns dependencies. The same files also hold lints, profiles and tool
/// settings. For manifests of other kinds, and for added or deleted ones, any change counts.
fn touches_dependencies(file: &FileChange, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let other: &[&str] = match name {
        "Cargo.toml" => &["lints", "profile", "badges", "package.metadata", "workspace.lints"],
        "pyproject.toml" => &[
            "tool.ruff",
            "tool.pytest",
            "tool.mypy",
            "tool.coverage",
            "tool.black",
            "tool.isort",
            "tool.pylint",
            "tool.pyright",
            "tool.bandit",
            "tool.mutmut",
        ],
        "setup.cfg" | "tox.ini" => &["flake8", "mypy", "tool:pytest", "pytest", "coverage", "isort"],
        "package.json" if file.old.is_some() && file.new.is_some() => return script_dependencies(file),
        "Cargo.lock" if file.old.is_some() && file.new.is_some() => return locks_others(file),
        "package-lock.json" if file.old.is_some() && file.new.is_some() => return locks_other_scripts(file),
        "pom.xml" => return file.old.is_none() || file.new.is_none() || leaves_configuration(file),
        _ if file.old.is_some() && file.new.is_some() => return changes_more_than_version(file, name),
        _ => return true,
    };
    if file.old.is_none() || file.new.is_none() {
        return true;
    }
    let sections = |side: Side| {
        let mut section = String::new();
        let shown = file.lines.iter().filter(move |line| line.side == Side::Both || line.side == side);
        shown.filter_map(move |line| {
            let text = line.text.trim();
            if text.starts_with('[') && text.ends_with(']') && !text.contains(',') {
                section = text.trim_matches(['[', ']']).trim().to_owned();
            }
            let counts = line.side == side && !text.is_empty() && !is_metadata(&section, text);
            counts.then(|| section.clone())
        })
    };
    let about = |section: &String| {
        !other.iter().any(|part| {
            section == part
                || section.starts_with(&format!("{part}."))
                || section.starts_with(&format!("{part}:"))
        })
    };
    sections(Side::Added).chain(sections(Side::Removed)).any(|section| about(&section))
}

/// Returns whether a line of a manifest describes the package itself: its version, or the language version.
fn is_metadata(section: &str, line: &str) -> bool {
    const KEYS: [&str; 18] = [
        "version",
        "description",
        "authors",
        "maintainers",
        "license",
        "license-file",
        "edition",
        "rust-version",
        "requires-python",
        "readme",
        "keywords",
        "categories",
        "classifiers",
        "repository",
        "homepage",
        "documentation",
        "publish",
        "urls",
    ];
    let key = line.split('=').next().unwrap_or_default().trim().trim_matches('"');
    matches!(section, "package" | "project" | "workspace.package") && KEYS.contains(&key)
}

/// Returns whether a Cargo.lock changed in more than the versions of the project's own packages, which have no source.
fn locks_others(file: &FileChange) -> bool {
    let (mut of_own, mut changed) = (true, Vec::new());
    for line in file.lines.iter().rev() {
        let text = line.text.trim();
        // Read from the end, because a package's source follows its version.
        of_own &= !text.starts_with("source = ");
        if line.side != Side::Both && !text.is_empty() {
            changed.push(of_own && text.starts_with("version = "));
        }
        of_own |= text == "[[package]]";
    }
    changed.is_empty() || changed.contains(&false)
}

/// Returns the same for a package-lock.json.
fn locks_other_scripts(file: &FileChange) -> bool {
    let read = |text: String| {
        let mut all = serde_json::from_str::<serde_json::Value>(&text).ok()?;
        all.as_object_mut()?.remove("version");
        if let Some(own) = all.pointer_mut("/packages/").and_then(serde_json::Value::as_object_mut) {
            own.remove("version");
        }
        Some(all)
    };
    let (old, new) = (read(file.before()), read(file.after()));
    old.is_none() || old != new
}

/// Returns whether a package.json has other dependencies or other install scripts than before.
fn script_dependencies(file: &FileChange) -> bool {
    const KEYS: [&str; 14] = [
        "dependencies",
        "devDependencies",
        "peerDependencies",
        "optionalDependencies",
        "bundleDependencies",
        "bundledDependencies",
        "overrides",
        "resolutions",
        "packageManager",
        "workspaces",
        "pnpm",
        "dependenciesMeta",
        "peerDependenciesMeta",
        "imports",
    ];
    const HOOKS: [&str; 5] = ["preinstall", "install", "postinstall", "prepare", "prepublish"];
    let read = |text: String| serde_json::from_str::<serde_json::Value>(&text);
    let (Ok(old), Ok(new)) = (read(file.before()), read(file.after())) else { return true };
    let hooks = |of: &serde_json::Value, key: &str| of.get("scripts").and_then(|all| all.get(key)).cloned();
    KEYS.iter().any(|key| old.get(*key) != new.get(*key))
        || HOOKS.iter().any(|key| hooks(&old, key) != hooks(&new, key))
}

/// Returns whether a manifest that is a program or a list of settings changes in more than the version of the package
/// itself.
fn changes_more_than_version(file: &FileChange, name: &str) -> bool {
    static OF_SETUP: LazyLock<Regex> = LazyLock::new(|| pattern(r#"^\s+version\s*=\s*["'][\w.+-]+["'],?$"#));
    static OF_BUILD: LazyLock<Regex> =
        LazyLock::new(|| pattern(r#"^(?:version\s*=?\s*["'][\w.+-]+["']|version:\s*[\w.+-]+)$"#));
    static OF_GEM: LazyLock<Regex> = LazyLock::new(|| pattern(r#"^\s+\w+\.version\s*=\s*["'][\w.+-]+["']$"#));
    let own: &Regex = match name {
        "setup.py" => &OF_SETUP,
        "build.gradle" | "build.gradle.kts" | "pubspec.yaml" => &OF_BUILD,
        _ if name.ends_with(".gemspec") || name.ends_with(".podspec") => &OF_GEM,
        _ => return true,
    };
    let mut changed = file.lines.iter().filter(|line| line.side != Side::Both).peekable();
    changed.peek().is_none() || changed.any(|line| !own.is_match(line.text.trim_end()))
}

/// Returns whether a change of a pom.xml touches anything but the configuration of plugins and the project's metadata.
fn leaves_configuration(file: &FileChange) -> bool {
    static TAG: LazyLock<Regex> = LazyLock::new(|| pattern(r"<(/?)[A-Za-z][^<>]*?(/?)(?:>|$)"));
    static ABOUT: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"^\s*<(version|name|description|url|inceptionYear)>[^<>]*</"));
    let leaves = |side: Side| {
        let (mut depth, mut leaves, mut open) = (0_usize, false, 0_usize);
        for line in file.lines.iter().filter(|line| line.side == Side::Both || line.side == side) {
            let count =
                |tags: [&str; 2]| tags.iter().map(|tag| line.text.matches(tag).count()).sum::<usize>();
            let opens = count(["<configuration>", "<executions>"]);
            let ends = count(["</configuration>", "</executions>"]);
            depth += opens;
            // An element directly below the project.
            let about = open == 1 && ABOUT.is_match(&line.text);
            for tag in TAG.captures_iter(&line.text).filter(|tag| tag[2].is_empty()) {
                open = if tag[1].is_empty() { open + 1 } else { open.saturating_sub(1) };
            }
            let metadata =
                about || line.text.contains("<maven.compiler.") || line.text.contains("<java.version>");
            leaves |= line.side == side && !line.text.trim().is_empty() && depth == 0 && !metadata;
            depth = depth.saturating_sub(ends);
        }
        leaves
    };
    leaves(Side::Added) || leaves(Side::Removed)
}

/// Returns whether a task asks for another dependency or another source of dependencies.
pub fn is_about_dependencies(task: &str) -> bool {
    static ASKS: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?i)\b(dependenc(y|ies)|registry|lock ?files?|toolchain|(upgrade|bump|update) [\w@/.-]+ (to|from) v?\d|(add|use|switch to) the (package|crate|library|module)\b)",
        )
    });
    static NOT: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"(?i)\b(no|without|not|never|avoid)\b[^.;]{0,40}\b(dependenc(y|ies)|packages?|crates?)\b")
    });
    ASKS.is_match(task) && !NOT.is_match(task)
}

/// Maximum length of a line written by a person. A longer line counts as several.
const LINE_BYTES: usize = 120;

/// Returns the number of lines that a changed line counts as. It counts statements and bytes, because line breaks are a
/// matter of style.
fn worth(text: &str) -> usize {
    let statements = text.matches(';').count();
    (text.len().div_ceil(LINE_BYTES)).max(if statements > 3 { statements } else { 1 }).max(1)
}

/// Checks the scope of a change. `recent` are the files that the newest commits of the base changed. A `task` that asks
/// for a dependency may change dependencies.
pub fn scope(diff: &Diff, settings: &Scope, recent: &[String], task: &str) -> Vec<Finding> {
    let wanted = is_about_dependencies(task);
    let mut findings = Vec::new();
    let uncounted = settings.uncounted.compile();
    let counted = diff.files.iter().filter(|file| !uncounted.is_match(file.path()));
    let changed = counted.flat_map(|file| &file.lines).filter(|line| line.side != Side::Both);
    let lines: usize = changed.map(|line| worth(&line.text)).sum();
    if lines > settings.max_lines as usize {
        let what = format!(
            "{lines} lines were changed, and {} may be (a line counts once for every {LINE_BYTES} bytes and every statement): do less at once",
            settings.max_lines
        );
        findings.push(Finding::general("too-many-lines", what));
    }
    let most = settings.max_files.map_or(usize::MAX, |most| most as usize);
    if diff.files.len() > most {
        let what = format!("{} files were changed, and {most} may be: do less at once", diff.files.len());
        findings.push(Finding::general("too-many-files", what));
    }
    let forbidden = settings.forbidden.compile();
    let lowered = settings.forbidden.lowercase().compile();
    for file in &diff.files {
        for path in both_names(file.old.as_deref(), file.new.as_deref()) {
            // On a case-insensitive file system, both are the same file.
            if forbidden.is_match(path) || lowered.is_match(path.to_lowercase()) {
                let what = "this file may not be changed here: put it back";
                findings.push(Finding::new("forbidden-path", path, None, what));
            }
            let is_dependency = is_dependency_file(path) && touches_dependencies(file, path);
            if settings.dependencies == Dependencies::Reject && is_dependency && !wanted {
                let what = "what the project depends on may not be changed here: put it back";
                findings.push(Finding::new("dependency-file", path, None, what));
            }
            if file.new_mode == Some(LINK)
                && file.new.as_deref() == Some(path)
                && settings.forbidden != Paths::default()
            {
                let target = file.added().next().map(|line| line.text.clone()).unwrap_or_default();
                let inside = join(path, &target);
                if forbidden.is_match(&inside) || lowered.is_match(inside.to_lowercase()) {
                    let what =
                        format!("this link leads to `{target}`, which may not be changed here: remove it");
                    findings.push(Finding::new("forbidden-path", path, None, what));
                }
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

/// The mode of a symbolic link.
const LINK: u32 = 0o120_000;

/// Resolves a link's target, relative to the root of the repository.
fn join(path: &str, target: &str) -> String {
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Returns both names of a moved file, because neither may be forbidden.
fn both_names<'a>(old: Option<&'a str>, new: Option<&'a str>) -> Vec<&'a str> {
    let mut names: Vec<&str> = old.into_iter().chain(new).collect();
    names.dedup();
    names
}
