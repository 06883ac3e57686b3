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
    if tests.is_none() && add("test", &["test"]).is_some() {
        folder.note(format!(
            "`{}` is judged by its exit code alone: no test is compared with the base, and a change needs no test of its \
             own; add `tests` and `tdd` for its runner (docs/gates.md)",
            run("test")
        ));
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

/// Splits the test script into what is before the runner, the runner, and its arguments. `None` if the script does more
/// than start a runner that is known to report each test.
fn split(script: &str) -> Option<(Vec<&str>, &str, Vec<&str>)> {
    if script.contains(['&', '|', ';', '<', '>', '$', '`', '(', '\n']) {
        return None;
    }
    let words: Vec<&str> = script.split_whitespace().collect();
    let is_setting = |word: &&str| {
        let (name, _) = word.split_once('=').unwrap_or_default();
        !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
    };
    // Variables, and a program that measures coverage, with its options.
    let settings = words.iter().take_while(|word| is_setting(word)).count();
    let measures = words.get(settings).is_some_and(|word| ["c8", "nyc"].contains(word));
    let options = || words[settings + 1..].iter().take_while(|word| word.starts_with('-')).count();
    let at = if measures { settings + 1 + options() } else { settings };
    let runner = *words.get(at).filter(|word| ["node", "vitest", "jest", "mocha"].contains(word))?;
    let given = words[at + 1..].to_vec();
    // A custom reporter, or watch mode.
    let odd = ["--test-reporter", "--reporter", "-R", "--watch", "-w", "watch"];
    (!given.iter().any(|word| odd.iter().any(|odd| word.split('=').next() == Some(odd))))
        .then(|| (words[..at].to_vec(), runner, given))
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
    const MOCHA: &str = "mocha --reporter xunit --reporter-option output=\"$ACQUIT_REPORTS/junit.xml\"";
    let (mut before, runner, mut given) = split(manifest["scripts"]["test"].as_str()?)?;
    // Its own name for what runs everything once.
    if runner == "vitest" && given.first() == Some(&"run") {
        given.remove(0);
    }
    let command = match runner {
        "node" => {
            let at = given.iter().position(|word| *word == "--test")?;
            let mut flags: Vec<&str> = given.drain(..=at).collect();
            flags.pop();
            let flags: String = flags.into_iter().flat_map(|flag| [flag, " "]).collect();
            format!("node {flags}{}", NODE.trim_start_matches("node "))
        }
        "vitest" => VITEST.to_owned(),
        "jest" if depends_on(manifest, "jest-junit") => JEST.to_owned(),
        "mocha" => MOCHA.to_owned(),
        _ => return None,
    };
    let settings = before.iter().take_while(|word| word.contains('=') && !word.starts_with('-')).count();
    let measures: Vec<&str> = before.drain(settings..).collect();
    let mut words: Vec<String> = before.into_iter().map(str::to_owned).collect();
    words.extend((runner == "jest").then(|| JEST_SETTINGS.to_owned()));
    // `node` is no program of a package.
    words.extend((runner != "node" || !measures.is_empty()).then(|| manager.exec().to_owned()));
    words.extend(measures.into_iter().map(str::to_owned));
    words.push(command);
    words.extend(given.into_iter().map(str::to_owned));
    Some(Gate::proving(words.join(" "), None, Report::Junit(JUNIT)))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn written(script: &str) -> Option<String> {
        let manifest = serde_json::json!({
            "scripts": { "test": script },
            "devDependencies": { "jest-junit": "16", "mocha": "10" },
        });
        runner(&manifest, Manager::Npm).map(|[tests, _]| tests.run)
    }

    #[test]
    fn runners_are_known_with_their_arguments() {
        const NODE: &str = "--test --test-reporter=spec --test-reporter-destination=stdout --test-reporter=junit \
                            --test-reporter-destination=\"$ACQUIT_REPORTS/junit.xml\"";
        let node = |before: &str, after: &str| Some(format!("{before}{NODE}{after}"));
        assert_eq!(written("node --test"), node("node ", ""));
        assert_eq!(written("node --test test/"), node("node ", " test/"));
        assert_eq!(
            written("NODE_ENV=test node --import tsx --test 'src/**/*.test.ts'"),
            node("NODE_ENV=test node --import tsx ", " 'src/**/*.test.ts'")
        );
        assert_eq!(written("c8 --100 node --test"), node("npx --no-install c8 --100 node ", ""));
        assert_eq!(
            written("mocha --recursive test"),
            Some("npx --no-install mocha --reporter xunit --reporter-option output=\"$ACQUIT_REPORTS/junit.xml\" \
                  --recursive test".to_owned())
        );
        assert!(written("vitest run --coverage").unwrap().ends_with("junit.xml\" --coverage"));
        assert!(
            written("jest --runInBand")
                .unwrap()
                .ends_with("jest --ci --reporters=default --reporters=jest-junit --runInBand")
        );
    }

    #[test]
    fn what_does_more_than_start_a_runner_is_left_alone() {
        for script in [
            "tape test/*.js",
            "npm run lint && node --test",
            "node test.js",
            "node --test | tap-spec",
            "node --test --test-reporter=dot",
            "mocha -R dot",
            "vitest watch",
            "mocha > out",
            "node --test $FILES",
            "",
        ] {
            assert_eq!(written(script), None, "{script}");
        }
    }
}
