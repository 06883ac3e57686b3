//! Detects Python by `pyproject.toml`, `requirements.txt` or `setup.py`. Uses the environments of uv and poetry,
//! otherwise one in `.venv` that setup creates.

use acquit_run::registry::Manager;

use super::{Finding, Gate, JUNIT, Language, Report, Setup, at, toml_of};
use crate::init::look::Folder;

const PROJECT: &str = "pyproject.toml";
const REQUIREMENTS: &str = "requirements.txt";
const SETUP: &str = "setup.py";
/// Further requirements files that tests may need.
const MORE_REQUIREMENTS: [&str; 14] = [
    "requirements-dev.txt",
    "requirements-test.txt",
    "requirements-tests.txt",
    "requirements_dev.txt",
    "requirements_test.txt",
    "dev-requirements.txt",
    "test-requirements.txt",
    "dev_requirements.txt",
    "requirements/dev.txt",
    "requirements/test.txt",
    "requirements/tests.txt",
    "requirements/testing.txt",
    "tests/requirements.txt",
    "test/requirements.txt",
];
/// Files with pytest settings, and their section.
const PYTEST_SETTINGS: [(&str, &str); 4] = [
    ("pytest.ini", "[pytest]"),
    (PROJECT, "[tool.pytest"),
    ("setup.cfg", "[tool:pytest]"),
    ("tox.ini", "[pytest]"),
];
/// pytest plugins, by the setting that needs them.
const PLUGINS: [(&str, &str); 8] = [
    ("--cov", "pytest-cov"),
    ("asyncio_mode", "pytest-asyncio"),
    ("timeout", "pytest-timeout"),
    ("--benchmark", "pytest-benchmark"),
    ("-n auto", "pytest-xdist"),
    ("--numprocesses", "pytest-xdist"),
    ("--randomly", "pytest-randomly"),
    ("DJANGO_SETTINGS_MODULE", "pytest-django"),
];

/// Where dependencies come from.
enum Source {
    Uv,
    Poetry,
    /// pip installs these arguments into `.venv`. A change of these files requires another run.
    Pip {
        install: Vec<String>,
        files: Vec<&'static str>,
    },
    /// There are no dependencies.
    None,
}

pub(super) fn look(folder: &mut Folder<'_>) -> Option<Finding> {
    let by = [PROJECT, REQUIREMENTS, SETUP].into_iter().find(|file| folder.text(file).is_some())?;
    let project =
        if by == PROJECT { toml_of(folder, PROJECT).unwrap_or_default() } else { toml::Table::new() };
    let source = source(folder, &project);
    let python = match &source {
        Source::Uv => "uv run python",
        Source::Poetry => "poetry run python",
        Source::Pip { .. } => ".venv/bin/python",
        Source::None => "python3",
    };
    let mut gates = Vec::new();
    let mut tools = vec!["pytest"];
    tools.extend(plugins(folder));
    if at(&project, &["tool", "ruff", "format"]).is_some() {
        gates.push(Gate::new("format", format!("{python} -m ruff format --check .")));
    }
    if at(&project, &["tool", "ruff"]).is_some() || folder.first(&["ruff.toml", ".ruff.toml"]).is_some() {
        tools.push("ruff");
        gates.push(Gate::new("lint", format!("{python} -m ruff check .")));
    }
    let mypy = at(&project, &["tool", "mypy"]);
    if mypy.is_some() || folder.first(&["mypy.ini", ".mypy.ini"]).is_some() {
        tools.push("mypy");
        // If the settings say what to check, an argument would override them.
        let says =
            mypy.is_some_and(|it| ["files", "packages", "modules"].iter().any(|key| it.get(key).is_some()));
        let what = if says { "" } else { " ." };
        gates.push(Gate::new("types", format!("{python} -m mypy{what}")));
    }
    // Without `--continue-on-collection-errors`, one file that cannot be imported hides the results of all others.
    let run = format!("{python} -m pytest -q --junitxml=\"{JUNIT}\" --continue-on-collection-errors");
    gates.extend(Gate::proving(run, None, Report::Junit(JUNIT)));
    let setup = setup(source, &tools);
    Some(Finding {
        language: Language::Python,
        folder: folder.name().map(str::to_owned),
        by: by.to_owned(),
        gates,
        managers: setup.iter().map(|_| Manager::Python).collect(),
        setup,
        leaves: vec!["__pycache__"],
    })
}

fn source(folder: &mut Folder<'_>, project: &toml::Table) -> Source {
    if folder.has_cloned("uv.lock") {
        return Source::Uv;
    }
    if folder.has_cloned("poetry.lock") {
        return Source::Poetry;
    }
    let (mut install, mut files) = (Vec::new(), Vec::new());
    for file in [REQUIREMENTS].into_iter().chain(MORE_REQUIREMENTS).filter(|file| folder.has(file)) {
        install.extend(["-r".to_owned(), file.to_owned()]);
        files.push(file);
    }
    let is_package =
        folder.has(SETUP) || project.contains_key("project") || project.contains_key("build-system");
    if is_package {
        let extras = at(project, &["project", "optional-dependencies"]);
        let extras = ["dev", "test", "tests", "testing"]
            .into_iter()
            .filter(|name| extras.is_some_and(|it| it.get(name).is_some()));
        let extras: Vec<&str> = extras.collect();
        let what = if extras.is_empty() { ".".to_owned() } else { format!("'.[{}]'", extras.join(",")) };
        install.extend(["-e".to_owned(), what]);
        let groups = project.get("dependency-groups").and_then(toml::Value::as_table);
        for name in ["dev", "test", "tests", "testing"] {
            if groups.is_some_and(|groups| groups.contains_key(name)) {
                install.extend(["--group".to_owned(), name.to_owned()]);
            }
        }
        files.extend([PROJECT, SETUP].into_iter().filter(|file| folder.has(file)));
    }
    if install.is_empty() { Source::None } else { Source::Pip { install, files } }
}

fn setup(source: Source, tools: &[&str]) -> Option<Setup> {
    let (run, lock_files) = match source {
        Source::Uv => ("uv sync --locked".to_owned(), vec!["uv.lock"]),
        Source::Poetry => ("poetry install --no-interaction".to_owned(), vec!["poetry.lock"]),
        Source::Pip { install, files } => {
            // The environment ignores itself, so that it never counts as work. It also contains the tools of the gates.
            let words = [install.join(" "), tools.join(" ")].join(" ");
            // pip of older Python versions does not support dependency groups.
            let grouped = install.iter().any(|word| word == "--group");
            let newer = if grouped { ".venv/bin/python -m pip install -q --upgrade pip && " } else { "" };
            let run = format!(
                "python3 -m venv .venv && echo '*' > .venv/.gitignore && {newer}.venv/bin/python -m pip install -q {words}"
            );
            (run, files)
        }
        Source::None => return None,
    };
    let lock_files = lock_files.into_iter().map(str::to_owned).collect();
    Some(Setup { run, compile: None, lock_files, timeout: None })
}

/// Returns plugins without which pytest rejects the repository's settings.
fn plugins(folder: &mut Folder<'_>) -> Vec<&'static str> {
    let mut found = Vec::new();
    for (file, section) in PYTEST_SETTINGS {
        let Some(text) = folder.text(file) else { continue };
        let Some((_, settings)) = text.split_once(section) else { continue };
        // Read up to the next section. A TOML list may start a line with a bracket too, but not followed by a name.
        let end = settings.find("\n[").unwrap_or(settings.len());
        let lines: Vec<&str> =
            settings[..end].lines().filter(|line| !line.trim_start().starts_with('#')).collect();
        for (word, plugin) in PLUGINS {
            let named = lines.iter().any(|line| match word {
                "timeout" => line.trim_start().starts_with("timeout") || line.contains("--timeout"),
                word => line.contains(word),
            });
            if named && !found.contains(&plugin) {
                found.push(plugin);
            }
        }
    }
    found
}
