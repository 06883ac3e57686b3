//! Detects the languages of a repository, and the commands that check a change of it.
//!
//! Each language has a file that inspects a `Folder` and returns a `Finding`. The commands are hard-coded there; the
//! repository's files only select among them.

use std::path::Path;

use acquit_run::registry::Manager;

use super::look::{Cloned, Folder};

mod apart;
mod go;
mod ignored;
mod java;
mod make;
mod node;
mod python;
mod rust;

/// Folders that often contain a part of a repository in another language. Deeper folders are left for a person to
/// configure.
const PARTS: [&str; 8] = ["frontend", "backend", "web", "client", "server", "api", "app", "ui"];

/// Maximum number of packages. For more, a person must write the gates.
const MOST_PACKAGES: usize = 40;

/// Command of the placeholder gate that is written if nothing was detected.
const PLACEHOLDER: &str =
    "echo 'edit .acquit/acquit.toml: the gate test has to say how this repository is tested' && exit 1";

/// Returns whether a command is that of the placeholder gate.
pub fn is_placeholder(command: &acquit_core::gate::Command) -> bool {
    matches!(command, acquit_core::gate::Command::Shell(line) if line == PLACEHOLDER)
}

/// Language or build tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Rust,
    Node,
    Python,
    Go,
    Java,
    Make,
}

impl Language {
    /// Returns the prefix for gate names.
    pub(super) fn short(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Node => "js",
            Self::Python => "python",
            Self::Go => "go",
            Self::Java => "java",
            Self::Make => "make",
        }
    }
}

/// A detected language and what follows from it.
pub(super) struct Finding {
    pub(super) language: Language,
    /// Folder below the top; `None` for the top itself.
    pub(super) folder: Option<String>,
    /// Package managers that fetch its dependencies. They determine the allowed servers.
    pub(super) managers: Vec<Manager>,
    /// The files that revealed it, and the tools to use.
    pub(super) by: String,
    /// Gates, quickest first.
    pub(super) gates: Vec<Gate>,
    /// Command that installs dependencies into a fresh workspace.
    pub(super) setup: Option<Setup>,
    /// Paths that builds and tests leave in the tree, so git must ignore them.
    leaves: Vec<&'static str>,
}

impl Finding {
    /// Describes the finding.
    pub(super) fn words(&self) -> String {
        let name = match self.language {
            Language::Rust => "Rust",
            Language::Node => "JavaScript or TypeScript",
            Language::Python => "Python",
            Language::Go => "Go",
            Language::Java => "Java",
            Language::Make => "make",
        };
        let folder = self.folder.as_ref().map_or_else(String::new, |folder| format!(" in {folder}/"));
        format!("{name}{folder} ({})", self.by)
    }
}

/// A gate to write.
#[derive(Clone, Debug)]
pub(super) struct Gate {
    pub(super) name: &'static str,
    /// Budget that a failure spends.
    pub(super) kind: &'static str,
    /// Shell command line.
    pub(super) run: String,
    pub(super) severity: Severity,
    /// Timeout, if the default of ten minutes is too short.
    pub(super) timeout: Option<&'static str>,
    /// Comment that explains the gate to readers of the file.
    pub(super) why: Option<&'static str>,
    /// How to read its results, if it is more than a command.
    pub(super) check: Check,
    /// Folder of its reports.
    pub(super) folder: Option<String>,
    /// Path patterns of the changes to run it for; empty for all.
    pub(super) paths: Vec<String>,
}

/// What a gate checks.
#[derive(Clone, Debug)]
pub(super) enum Check {
    /// The exit code.
    Command,
    /// Each test, compared with the base.
    Tests {
        /// Command that compiles the tests, if that can fail separately from running them.
        build: Option<String>,
        report: Report,
    },
    /// The tests of the change, without it and with it.
    Tdd {
        /// The same.
        build: Option<String>,
        report: Report,
    },
}

/// Where a runner writes JUnit XML: in the folder that acquit creates for a gate's reports. A change cannot know its
/// name in advance.
const JUNIT: &str = "$ACQUIT_REPORTS/junit.xml";

/// Where a runner reports the result of each test.
#[derive(Clone, Copy, Debug)]
pub(super) enum Report {
    /// On stdout, in this format.
    Printed(&'static str),
    /// In JUnit XML files at this path.
    Junit(&'static str),
}

/// Whether a failure rejects the work.
#[derive(Clone, Copy, Debug)]
pub(super) enum Severity {
    Error,
    Warning,
}

impl Gate {
    /// Creates a gate whose name is also its kind.
    fn new(kind: &'static str, run: impl Into<String>) -> Self {
        Self {
            name: kind,
            kind,
            run: run.into(),
            severity: Severity::Error,
            timeout: None,
            why: None,
            check: Check::Command,
            folder: None,
            paths: Vec::new(),
        }
    }

    /// Creates two gates for a runner that reports each test: no other test may break, and the change must have tests
    /// of its own.
    fn proving(run: impl Into<String>, build: Option<String>, report: Report) -> [Self; 2] {
        const WHY: &str = "The tests of a change must fail without it, by an assertion, and pass with it.";
        let run = run.into();
        [
            // The same build, so that one gate can use a run of the other.
            Self { check: Check::Tests { build: build.clone(), report }, ..Self::new("test", run.clone()) },
            Self {
                name: "tdd",
                check: Check::Tdd { build, report },
                why: Some(WHY),
                ..Self::new("test", run)
            },
        ]
    }

    fn timeout(self, timeout: &'static str) -> Self {
        Self { timeout: Some(timeout), ..self }
    }

    fn warning(self, why: &'static str) -> Self {
        Self { severity: Severity::Warning, why: Some(why), ..self }
    }

    /// Creates the placeholder gate if nothing was detected. It fails and says what to do.
    pub(super) fn unknown() -> Self {
        Self {
            why: Some(
                "How this repository is tested was not recognised, so nothing passes until `run` says it.",
            ),
            ..Self::new("test", PLACEHOLDER)
        }
    }
}

/// How to install dependencies.
pub(super) struct Setup {
    /// Shell command line. Empty if nothing is to be installed.
    pub(super) run: String,
    /// Shell command line that compiles what gates would compile each time.
    pub(super) compile: Option<String>,
    /// Files whose change requires another run.
    pub(super) lock_files: Vec<String>,
    /// Timeout, if the default is too short.
    pub(super) timeout: Option<&'static str>,
}

/// Inspects the top of the repository and well-known folders in it. Adds notes for the user.
pub(super) fn detect(
    repository: &Path,
    only: Option<&str>,
    cloned: &Cloned<'_>,
    notes: &mut Vec<String>,
) -> Vec<Finding> {
    let mut found = Vec::new();
    if let Some(only) = only {
        if let Some(mut folder) = Folder::below(repository, only, cloned, notes) {
            look_into(&mut folder, &mut found);
        }
    } else {
        look_into(&mut Folder::top(repository, cloned, notes), &mut found);
        for part in parts(repository, cloned) {
            if let Some(mut folder) = Folder::below(repository, &part, cloned, notes) {
                look_into(&mut folder, &mut found);
            }
        }
    }
    let tests = |finding: &Finding| finding.gates.iter().any(|gate| gate.kind == "test");
    if !found.iter().any(tests) {
        let folder = match only {
            Some(only) => Folder::below(repository, only, cloned, notes),
            None => Some(Folder::top(repository, cloned, notes)),
        };
        found.extend(folder.and_then(|mut folder| make::look(&mut folder)));
    }
    for finding in &found {
        if !tests(finding) {
            notes.push(format!("nothing tests this yet: {}; add a gate for it", finding.words()));
        }
    }
    // A language without gates proves nothing. It only appears in the notes.
    found.retain(|finding| !finding.gates.is_empty());
    let apart = apart::apart(repository, &found, cloned);
    for finding in &mut found {
        let paths = finding.folder.as_ref().and_then(|folder| apart.get(folder)).cloned().unwrap_or_default();
        finding.gates.iter_mut().for_each(|gate| gate.paths.clone_from(&paths));
    }
    ignored::check(repository, &found, cloned, notes);
    found
}

/// Returns the folders of a repository's parts: those with a common name, and the packages of a monorepo.
fn parts(repository: &Path, cloned: &Cloned<'_>) -> Vec<String> {
    const PACKAGES: [&str; 6] = ["packages", "apps", "services", "libs", "modules", "projects"];
    let mut notes = Vec::new();
    let top = Folder::top(repository, cloned, &mut notes);
    let packages = PACKAGES.iter().flat_map(|name| top.files_in(name, "")).take(MOST_PACKAGES);
    PARTS.iter().map(|part| (*part).to_owned()).chain(packages).collect()
}

/// Adds the findings of a folder. Skips a language that was already found: its tools handle the parts of the repository
/// themselves, and running them twice would prove nothing more.
fn look_into(folder: &mut Folder<'_>, found: &mut Vec<Finding>) {
    type Look = fn(&mut Folder<'_>) -> Option<Finding>;
    const EACH: [(Language, Look); 5] = [
        (Language::Rust, rust::look),
        (Language::Node, node::look),
        (Language::Python, python::look),
        (Language::Go, go::look),
        (Language::Java, java::look),
    ];
    for (language, look) in EACH {
        let known_at_top = found.iter().any(|it| it.language == language && it.folder.is_none());
        if !known_at_top {
            found.extend(look(folder));
        }
    }
}

/// Parses a TOML file, and adds a note if it is invalid.
fn toml_of(folder: &mut Folder<'_>, file: &str) -> Option<toml::Table> {
    let text = folder.text(file)?;
    match text.parse::<toml::Table>() {
        Ok(table) => Some(table),
        Err(error) => {
            folder.unusable(file, &format!("it is not valid TOML: {}", one_line(error.message())));
            None
        }
    }
}

/// Returns the value at a path of keys.
fn at<'t>(table: &'t toml::Table, path: &[&str]) -> Option<&'t toml::Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(table.get(*first)?, |value, key| value.get(key))
}

/// Returns a parser's message as one short line without control characters. The message may quote the file.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(160).collect()
}
