//! `acquit init` writes files that fit the repository and that acquit reads without a mistake, whatever it finds there.

#![allow(clippy::format_push_string, reason = "what is shown is put together once")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(
    clippy::disallowed_methods,
    reason = "the tests start the namespaces that they need, and pass themselves a folder by a variable"
)]

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use acquit_core::config::{self, check_stages};
use acquit_core::failure::kind;
use acquit_core::gate::Severity;
use acquit_core::ids::Name;
use acquit_core::workflow::{self, Workflow};
use tempfile::TempDir;

#[path = "init/dependencies.rs"]
mod dependencies;
#[path = "init/writing.rs"]
mod writing;

use acquit_app::init::{self, Place, Plan};
use acquit_run::runtime::Environment;

/// Looks at a whole repository, for a user without settings.
fn plan(top: &Path, path_variable: &OsStr) -> Plan {
    let environment =
        Environment::new([("PATH".into(), path_variable.to_owned()), ("HOME".into(), "/nonexistent".into())]);
    init::plan(&Place {
        top,
        folder: None,
        cloned: &|_| true,
        environment: &environment,
        has_agent: false,
        resolve: &|_, _| Vec::new(),
    })
}

type Files<'f> = &'f [(&'f str, &'f str)];

fn repository(files: Files<'_>) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

/// A folder for `PATH` with these programs.
fn programs(names: &[&str]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for name in names {
        let path = folder.path().join(name);
        fs::write(&path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    folder
}

fn text<'p>(plan: &'p Plan, file: &str) -> &'p str {
    &plan.files.iter().find(|(path, _)| path == Path::new(file)).unwrap().1
}

/// Reads the files as acquit does, and gives a workflow whose one stage runs all gates of the project.
fn checked(plan: &Plan) -> Workflow {
    let config = config::read("acquit.toml", text(plan, ".acquit/acquit.toml"))
        .unwrap_or_else(|mistakes| panic!("{mistakes}\n{}", text(plan, ".acquit/acquit.toml")));
    let name = Name::literal("feature");
    let source = "[stages.code]\nmode = \"implement\"\ngates = [\"project\"]\non = { pr_ready = \"done\" }\n";
    let (gates, budgets) = (&config.gates, &config.budgets);
    let around = workflow::Around { variables: &[], gates, budgets, texts: &acquit_core::template::NoTexts };
    let workflow = workflow::read_in("feature.toml", &name, source, &around)
        .unwrap_or_else(|mistakes| panic!("{mistakes}\n{source}"));
    assert_eq!(config.workflow, Some(name));
    let missing = check_stages(&workflow, &config);
    assert_eq!(missing.is_empty(), !config.agents.is_empty(), "{missing:?}");
    assert!(!text(plan, ".acquit/instructions.md").is_empty());
    for gate in &workflow.gates {
        assert!(kind::DEFAULTS.iter().any(|(kind, _)| gate.kind == **kind), "{gate:?}");
    }
    workflow
}

fn gates(workflow: &Workflow) -> Vec<String> {
    workflow.gates.iter().map(|gate| format!("{}: {}", gate.name, gate.check)).collect()
}

/// What was decided, without the parts of the files that are always the same.
fn shown(plan: &Plan) -> String {
    let mut out = String::new();
    plan.seen.iter().for_each(|line| out += &format!("seen: {line}\n"));
    plan.notes.iter().for_each(|line| out += &format!("note: {line}\n"));
    let config = text(plan, ".acquit/acquit.toml");
    let setup = config.split("# Run in a fresh").nth(1).unwrap().split("# Gates:").next().unwrap();
    out += setup.split_once('\n').unwrap().1;
    let gates = config.split("\"warning\" is shown and rejects nothing.\n").nth(1).unwrap();
    out + gates.split("# Agents:").next().unwrap().trim() + "\n"
}

const LANGUAGES: [(&str, Files<'_>); 24] = [
    (
        "rust_nextest",
        &[
            ("Cargo.toml", "[package]\nname = \"x\"\n"),
            (".config/nextest.toml", "[profile.ci.junit]\npath = \"junit.xml\"\n"),
            (".gitignore", "target\n"),
        ],
    ),
    (
        "js_jest_in_a_folder",
        &[(
            "web/package.json",
            r#"{"scripts": {"test": "jest"}, "devDependencies": {"jest": "30", "jest-junit": "16"}}"#,
        )],
    ),
    ("rust", &[("Cargo.toml", "[package]\nname = \"x\"\n"), (".gitignore", "/target\n")]),
    (
        "rust_workspace_with_lints",
        &[("Cargo.toml", "[workspace]\nmembers = [\"a\"]\n[workspace.lints.clippy]\npedantic = \"warn\"\n")],
    ),
    ("rust_default_members", &[("Cargo.toml", "[workspace]\nmembers = []\ndefault-members = [\"a\"]\n")]),
    (
        "js_npm",
        &[
            (
                "package.json",
                r#"{"scripts": {"test": "node --test", "lint": "eslint ."}, "devDependencies": {"eslint": "9"}}"#,
            ),
            ("package-lock.json", "{}"),
            (".gitignore", "node_modules/\n"),
        ],
    ),
    (
        "js_without_anything",
        &[("package.json", r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#)],
    ),
    (
        "js_without_lock_file",
        &[("package.json", r#"{"scripts": {"test": "jest"}, "dependencies": {"a": "1"}}"#)],
    ),
    (
        "ts_pnpm",
        &[
            (
                "package.json",
                r#"{"scripts": {"build": "tsc -b", "test": "vitest", "lint": "x", "format:check": "y"},
                    "devDependencies": {"typescript": "6"}}"#,
            ),
            ("pnpm-lock.yaml", ""),
            ("tsconfig.json", "{}"),
        ],
    ),
    (
        "ts_yarn_berry_by_field",
        &[
            (
                "package.json",
                r#"{"packageManager": "yarn@4.1.0", "scripts": {"typecheck": "tsc", "test": "t"},
                    "devDependencies": {"typescript": "6"}}"#,
            ),
            ("package-lock.json", "{}"),
            ("yarn.lock", ""),
            (".yarnrc.yml", ""),
            ("tsconfig.json", "{}"),
        ],
    ),
    (
        "ts_bun",
        &[
            ("package.json", r#"{"scripts": {"test": "bun test"}, "dependencies": {"typescript": "6"}}"#),
            ("bun.lock", ""),
            ("tsconfig.json", "{}"),
        ],
    ),
    (
        "python_uv",
        &[
            (
                "pyproject.toml",
                "[project]\nname = \"x\"\n[tool.ruff.format]\n[tool.mypy]\nfiles = [\"src\"]\n",
            ),
            ("uv.lock", ""),
            (".gitignore", "__pycache__/\n"),
        ],
    ),
    ("python_poetry", &[("pyproject.toml", "[tool.poetry]\nname = \"x\"\n"), ("poetry.lock", "")]),
    (
        "python_requirements",
        &[
            ("requirements.txt", "flask\n"),
            ("requirements-dev.txt", "pytest\n"),
            ("ruff.toml", ""),
            ("mypy.ini", ""),
        ],
    ),
    (
        "python_package",
        &[(
            "pyproject.toml",
            "[project]\nname = \"x\"\n[project.optional-dependencies]\ndev = []\nevil = []\n",
        )],
    ),
    ("python_setup_py", &[("setup.py", "")]),
    ("python_tools_only", &[("pyproject.toml", "[tool.ruff]\n")]),
    ("go", &[("go.mod", "module x\n")]),
    ("java_maven", &[("pom.xml", "<project/>"), (".gitignore", "target/")]),
    ("java_gradle_wrapper", &[("build.gradle.kts", ""), ("gradlew", "#!/bin/sh\n")]),
    ("java_gradle", &[("settings.gradle", "")]),
    ("make", &[("Makefile", "CC := cc\nbuild:\n\tcc x.c\ntest: build\n\t./x\n")]),
    ("nothing", &[("README.md", "hello")]),
    (
        "several",
        &[
            ("Cargo.toml", "[package]\nname = \"x\"\n"),
            ("pyproject.toml", "[tool.ruff]\n"),
            ("Makefile", "test:\n"),
            ("frontend/package.json", r#"{"scripts": {"test": "x"}, "dependencies": {"a": "1"}}"#),
            ("frontend/package-lock.json", "{}"),
            ("server/requirements.txt", "known at the top already\n"),
            ("api/package.json", r#"{"scripts": {"test": "x"}, "dependencies": {"a": "1"}}"#),
            ("api/go.mod", "module x\n"),
            (".gitignore", "target\nnode_modules\n__pycache__\n"),
        ],
    ),
];

#[test]
fn every_language_gets_gates_that_fit_and_files_that_are_read_without_a_mistake() {
    let path = programs(&["codex"]);
    for (name, files) in LANGUAGES {
        let folder = repository(files);
        let plan = plan(folder.path(), path.path().as_os_str());
        checked(&plan);
        insta::assert_snapshot!(name, shown(&plan));
    }
}

/// Libraries of C have a package.json too, for their own package managers.
#[test]
fn a_makefile_tests_what_its_language_does_not() {
    let path = programs(&["codex"]);
    let folder = repository(&[("package.json", "{}"), ("Makefile", "test:\n\t./x\n")]);
    let plan = plan(folder.path(), path.path().as_os_str());
    checked(&plan);
    let shown = shown(&plan);
    assert!(shown.contains("make test"), "{shown}");
}

#[test]
fn the_files_of_a_rust_repository_read_well() {
    let folder = repository(LANGUAGES[0].1);
    let path = programs(&["cursor-agent", "aider", "opencode", "gemini", "codex", "claude", "other"]);
    let plan = plan(folder.path(), path.path().as_os_str());
    checked(&plan);
    for (path, text) in &plan.files {
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(130), "{} has a line of {widest:?}", path.display());
        assert!(!text.contains("#> "), "{} has a mark that was not filled", path.display());
        insta::assert_snapshot!(path.file_name().unwrap().to_str().unwrap(), text);
    }
}

#[test]
fn each_agent_alone_is_the_default_and_makes_a_valid_configuration() {
    let folder = repository(&[]);
    for (program, name) in [
        ("claude", "claude"),
        ("codex", "codex"),
        ("gemini", "gemini"),
        ("opencode", "opencode"),
        ("aider", "aider"),
        ("cursor-agent", "cursor"),
        ("pi", "pi"),
    ] {
        let path = programs(&[program]);
        let plan = plan(folder.path(), path.path().as_os_str());
        checked(&plan);
        let config = config::read("x", text(&plan, ".acquit/acquit.toml")).unwrap();
        assert_eq!(config.agent.unwrap().as_str(), name);
        assert_eq!(config.agents.len(), 1);
        assert!(
            config.agents[name].pass_env.is_empty(),
            "a variable that is not set would keep it from starting"
        );
        assert!(plan.seen.contains(&format!("the agent {name} ({program})")), "{:?}", plan.seen);
    }
}

#[test]
fn only_executable_files_in_absolute_folders_are_agents() {
    let folder = repository(&[]);
    let path = TempDir::new().unwrap();
    fs::write(path.path().join("claude"), "not executable").unwrap();
    fs::create_dir(path.path().join("codex")).unwrap();
    symlink("nowhere", path.path().join("gemini")).unwrap();
    let odd = OsString::from(format!(".:bin::{}:/nonexistent", path.path().display()));
    for variable in [odd.as_os_str(), OsStr::new("")] {
        let plan = plan(folder.path(), variable);
        checked(&plan);
        assert!(config::read("x", text(&plan, ".acquit/acquit.toml")).unwrap().agents.is_empty());
        assert!(
            plan.notes.iter().any(|note| note.starts_with("no agent was found in PATH")),
            "{:?}",
            plan.notes
        );
    }
    // Installed agents are often links to where they are kept.
    let real = programs(&["codex"]);
    symlink(real.path().join("codex"), path.path().join("opencode")).unwrap();
    assert_eq!(plan(folder.path(), path.path().as_os_str()).seen, ["the agent opencode (opencode)"]);
}

#[test]
fn clippy_only_warns_where_the_repository_does_not_ask_for_it() {
    let severity = |files: Files<'_>| {
        let folder = repository(files);
        checked(&plan(folder.path(), OsStr::new(""))).gate("lint").unwrap().severity
    };
    let bare = ("Cargo.toml", "[package]\nname = \"x\"\n");
    assert_eq!(severity(&[bare]), Severity::Warning);
    assert_eq!(severity(&[bare, ("clippy.toml", "")]), Severity::Error);
    assert_eq!(severity(&[("Cargo.toml", "[lints.clippy]\nall = \"warn\"\n")]), Severity::Error);
}

#[test]
fn a_gate_that_nobody_wrote_fails_and_says_what_to_do() {
    let folder = repository(&[]);
    let workflow = checked(&plan(folder.path(), OsStr::new("")));
    let [_, _, gate] = workflow.gates.as_slice() else { panic!("{:?}", workflow.gates) };
    let Some(acquit_core::gate::Command::Shell(line)) = gate.check.command() else { panic!("{gate:?}") };
    let output = Command::new("sh").args(["-c", line]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stdout).unwrap().contains(".acquit/acquit.toml"));
    assert_eq!(workflow.budgets["test"], 0, "no agent is paid to try what cannot succeed");
}

#[test]
fn files_that_are_not_what_they_seem_lead_to_a_note_and_nothing_else() {
    const NAMES: [&str; 10] = [
        "Cargo.toml",
        "package.json",
        "pyproject.toml",
        "requirements.txt",
        "setup.py",
        "go.mod",
        "pom.xml",
        "build.gradle",
        "settings.gradle.kts",
        "Makefile",
    ];
    let huge = " ".repeat((1 << 20) + 1);
    type Make<'m> = &'m dyn Fn(&Path);
    let make: [(&str, Make<'_>); 5] = [
        ("it is not a regular file", &|path| fs::create_dir(path).unwrap()),
        ("it is a symbolic link", &|path| symlink("/etc/passwd", path).unwrap()),
        ("it is a symbolic link", &|path| symlink(path, path).unwrap()),
        ("it is larger than 1 MiB", &|path| fs::write(path, &huge).unwrap()),
        ("it is not UTF-8 text", &|path| fs::write(path, b"\xff\xfe\0").unwrap()),
    ];
    for (why, make) in make {
        let folder = repository(&[]);
        for name in NAMES {
            make(&folder.path().join(name));
        }
        let plan = plan(folder.path(), OsStr::new(""));
        assert_eq!(
            gates(&checked(&plan)).len(),
            3,
            "only the gate that fails, beside those of every project"
        );
        for name in NAMES {
            let note = format!("{name} was left out of account: {why}");
            assert_eq!(plan.notes.iter().filter(|it| **it == note).count(), 1, "{note}: {:?}", plan.notes);
        }
    }
}

#[test]
fn broken_manifests_lead_to_a_note() {
    let deep = "[".repeat(100_000);
    for (name, broken, gates_left) in [
        ("package.json", "{\"scripts\": ", 3),
        ("package.json", "[1]", 3),
        ("package.json", deep.as_str(), 3),
        ("Cargo.toml", "[package\nname = \"\u{1b}[31m\"", 7),
        ("Cargo.toml", deep.as_str(), 7),
        ("pyproject.toml", "= 1", 4),
    ] {
        let folder = repository(&[(name, broken)]);
        let plan = plan(folder.path(), OsStr::new(""));
        assert_eq!(gates(&checked(&plan)).len(), gates_left, "{name}");
        let note = plan
            .notes
            .iter()
            .find(|note| note.starts_with(&format!("{name} was left out of account: it is not")));
        assert!(
            note.is_some_and(|note| note.len() < 250 && !note.contains(char::is_control)),
            "{:?}",
            plan.notes
        );
    }
}

#[test]
fn values_of_the_wrong_type_are_no_scripts_and_nothing_hostile_is_copied() {
    let hostile = r#"{"packageManager": 7, "scripts": {"test": ["a"], "lint": "\"; rm -rf / #\n", "x\"y": "z"},
                      "dependencies": ["typescript"], "devDependencies": {"typescript": null}, "workspaces": 1}"#;
    let folder = repository(&[("package.json", hostile), ("tsconfig.json", "")]);
    let plan = plan(folder.path(), OsStr::new(""));
    assert_eq!(gates(&checked(&plan))[2..], ["lint: npm run lint", "types: npx --no-install tsc --noEmit"]);
    assert!(plan.notes.iter().any(|note| note.starts_with("nothing tests this yet")), "{:?}", plan.notes);
    assert!(plan.files.iter().all(|(_, text)| !text.contains("rm -rf")));
}

#[test]
fn a_linked_subfolder_is_not_looked_into() {
    let outside = repository(&[("go.mod", "module x\n")]);
    let folder = repository(&[]);
    symlink(outside.path(), folder.path().join("backend")).unwrap();
    let seen = plan(&folder.path().join("."), OsStr::new("")).seen;
    assert_eq!(seen, [""; 0]);
    // Nor does a repository that is gone do any harm.
    checked(&plan(Path::new("/nonexistent"), OsStr::new("")));
}
