//! Detects JavaScript and TypeScript by `package.json`. Only existing scripts become gates.

use acquit_run::registry;
use serde_json::Value;

use super::{Finding, Gate, JUNIT, Language, Report, Setup, one_line};
use crate::init::look::Folder;

const MANIFEST: &str = "package.json";

/// The package manager.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Manager {
    Npm,
    Pnpm,
    Yarn,
    Bun,
}

/// Lock files by package manager.
const LOCK_FILES: [(&str, Manager); 6] = [
    ("pnpm-lock.yaml", Manager::Pnpm),
    ("yarn.lock", Manager::Yarn),
    ("bun.lock", Manager::Bun),
    ("bun.lockb", Manager::Bun),
    ("package-lock.json", Manager::Npm),
    ("npm-shrinkwrap.json", Manager::Npm),
];

impl Manager {
    const ALL: [(&str, Self); 4] =
        [("npm", Self::Npm), ("pnpm", Self::Pnpm), ("yarn", Self::Yarn), ("bun", Self::Bun)];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, manager)| *manager == self).map_or("npm", |(name, _)| name)
    }

    /// Returns the command that runs a program of the installed packages, never one from the network.
    fn exec(self) -> &'static str {
        match self {
            Self::Npm => "npx --no-install",
            Self::Pnpm => "pnpm exec",
            Self::Yarn => "yarn",
            Self::Bun => "bun x --no-install",
        }
    }

    /// Returns the command that runs the installed TypeScript compiler, never one from the network: the package named
    /// like its program is an unrelated one.
    fn tsc(self) -> &'static str {
        match self {
            Self::Npm => "npx --no-install tsc --noEmit",
            Self::Pnpm => "pnpm exec tsc --noEmit",
            Self::Yarn => "yarn tsc --noEmit",
            Self::Bun => "bun x --no-install tsc --noEmit",
        }
    }
}

pub(super) fn look(folder: &mut Folder<'_>) -> Option<Finding> {
    let text = folder.text(MANIFEST)?;
    let manifest = match serde_json::from_str::<Value>(&text) {
        Ok(manifest) if manifest.is_object() => manifest,
        Ok(_) => {
            folder.unusable(MANIFEST, "it is not a JSON object");
            return None;
        }
        Err(error) => {
            folder.unusable(MANIFEST, &format!("it is not valid JSON: {}", one_line(&error.to_string())));
            return None;
        }
    };
    let lock = LOCK_FILES.into_iter().find(|(file, _)| folder.has_cloned(file));
    let declared = manifest["packageManager"].as_str().and_then(|text| text.split('@').next());
    let declared = declared.and_then(|name| Manager::ALL.iter().find(|(known, _)| *known == name));
    let manager = declared.map_or_else(|| lock.map_or(Manager::Npm, |(_, manager)| manager), |(_, it)| *it);
    // Ignore the lock file of another package manager.
    let lock = lock.map(|(file, _)| file).filter(|file| LOCK_FILES.contains(&(file, manager)));

    let mut gates = Vec::new();
    let script = |names: &[&'static str]| names.iter().copied().find(|name| is_script(&manifest, name));
    let run = |script: &str| format!("{} run {script}", manager.name());
    let mut add = |kind, names: &[&'static str]| {
        let found = script(names);
        gates.extend(found.map(|name| Gate::new(kind, run(name))));
        found
    };
    add("format", &["format:check", "check:format", "prettier:check"]);
    add("lint", &["lint"]);
    let types = add("types", &["typecheck", "type-check", "check-types", "tsc"]);
    add("build", &["build"]);
    let tests = runner(&manifest, manager);
    if tests.is_none() {
        add("test", &["test"]);
    }
    if types.is_none() && folder.has("tsconfig.json") && depends_on(&manifest, "typescript") {
        let place = gates.iter().take_while(|gate| gate.kind == "format" || gate.kind == "lint").count();
        gates.insert(place, Gate::new("types", manager.tsc()));
    }
    gates.extend(tests.into_iter().flatten());
    let setup = setup(folder, &manifest, manager, lock);
    let family = match manager {
        Manager::Npm | Manager::Pnpm | Manager::Bun => registry::Manager::Npm,
        Manager::Yarn => registry::Manager::Yarn,
    };
    Some(Finding {
        language: Language::Node,
        folder: folder.name().map(str::to_owned),
        by: format!("{MANIFEST}, {}", manager.name()),
        gates,
        managers: setup.iter().map(|_| family).collect(),
        setup,
        // Packages that setup installs are excluded from the work.
        leaves: Vec::new(),
    })
}

/// Returns the gates of a runner that reports each test, if the test script does nothing but start it.
fn runner(manifest: &Value, manager: Manager) -> Option<[Gate; 2]> {
    const NODE: &str = "node --test --test-reporter=spec --test-reporter-destination=stdout --test-reporter=junit \
                        --test-reporter-destination=\"$ACQUIT_REPORTS/junit.xml\"";
    const VITEST: &str =
        "vitest run --reporter=default --reporter=junit --outputFile.junit=\"$ACQUIT_REPORTS/junit.xml\"";
    // Report files that fail to load, which is off by default, and tell tests of the same name apart by their file.
    const JEST: &str = "jest --ci --reporters=default --reporters=jest-junit";
    const JEST_SETTINGS: &str = "JEST_JUNIT_OUTPUT_DIR=\"$ACQUIT_REPORTS\" JEST_JUNIT_REPORT_TEST_SUITE_ERRORS=true \
                                 JEST_JUNIT_CLASSNAME='{filepath}'";
    let script = manifest["scripts"]["test"].as_str()?.trim();
    let run = match script {
        "node --test" => NODE.to_owned(),
        "vitest" | "vitest run" => format!("{} {VITEST}", manager.exec()),
        "jest" if depends_on(manifest, "jest-junit") => format!("{JEST_SETTINGS} {} {JEST}", manager.exec()),
        _ => return None,
    };
    Some(Gate::proving(run, None, Report::Junit(JUNIT)))
}

/// Returns whether a script with this name exists and does something. The default of `npm init` only says that there is
/// no test.
fn is_script(manifest: &Value, name: &str) -> bool {
    manifest["scripts"][name]
        .as_str()
        .is_some_and(|line| !line.trim().is_empty() && !line.contains("Error: no test specified"))
}

const DEPENDENCIES: [&str; 3] = ["dependencies", "devDependencies", "optionalDependencies"];

fn depends_on(manifest: &Value, name: &str) -> bool {
    DEPENDENCIES.iter().any(|list| manifest[list].get(name).is_some())
}

fn has_dependencies(manifest: &Value) -> bool {
    let some = |list: &&str| manifest[list].as_object().is_some_and(|list| !list.is_empty());
    DEPENDENCIES.iter().any(some) || manifest.get("workspaces").is_some()
}

/// Returns the manifests of the package and of its workspaces.
fn manifests(folder: &Folder<'_>, manifest: &Value) -> Vec<String> {
    let workspaces = &manifest["workspaces"];
    let list = workspaces.as_array().or_else(|| workspaces["packages"].as_array());
    let members: Vec<&str> = list.into_iter().flatten().filter_map(Value::as_str).collect();
    folder.manifests(MANIFEST, &members, &[])
}

fn setup(
    folder: &Folder<'_>,
    manifest: &Value,
    manager: Manager,
    lock: Option<&'static str>,
) -> Option<Setup> {
    let run = match (manager, lock) {
        // npm reaches no server for a package without dependencies, so an agent may add the first one. Other managers may
        // first have to be downloaded.
        (Manager::Pnpm | Manager::Yarn | Manager::Bun, None) if !has_dependencies(manifest) => return None,
        (Manager::Npm, Some(_)) => "npm ci --no-audit --no-fund",
        // Without a lock file, don't create one: it would be delivered with the work.
        (Manager::Npm, None) => "npm install --no-package-lock --no-audit --no-fund",
        (Manager::Pnpm, Some(_)) => "pnpm install --frozen-lockfile",
        (Manager::Pnpm, None) => "pnpm install --no-lockfile",
        // Yarn 2 and later, recognized by its settings file, removed the old flag.
        (Manager::Yarn, Some(_)) if folder.has(".yarnrc.yml") => "yarn install --immutable",
        (Manager::Yarn, None) if folder.has(".yarnrc.yml") => "yarn install",
        (Manager::Yarn, Some(_)) => "yarn install --frozen-lockfile",
        (Manager::Yarn, None) => "yarn install --no-lockfile",
        (Manager::Bun, Some(_)) => "bun install --frozen-lockfile",
        (Manager::Bun, None) => "bun install --no-save",
    };
    let lock_files = lock.map_or_else(|| manifests(folder, manifest), |lock| vec![lock.to_owned()]);
    Some(Setup { run: run.to_owned(), compile: None, lock_files, timeout: None })
}
