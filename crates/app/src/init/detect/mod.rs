//! Recognises what a repository is made of, and which commands prove that a change of it is sound.
//!
//! Each language has a file that looks at a `Folder` and gives a `Finding`. The commands are spelled out there; what
//! the repository's files say only chooses among them.

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

/// Folders in which a part of a repository in another language often lives. What is deeper is a person's to write.
const PARTS: [&str; 8] = ["frontend", "backend", "web", "client", "server", "api", "app", "ui"];

/// More packages than this are a person's to write gates for.
const MOST_PACKAGES: usize = 40;

/// What the gate prints that stands where nothing was recognised.
pub const UNRECOGNISED: &str =
    "edit .acquit/acquit.toml: the gate test has to say how this repository is tested";

/// What something is written in, or built by.
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
    /// A prefix for the names of gates.
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

/// Something that was recognised, and what follows from it.
pub(super) struct Finding {
    pub(super) language: Language,
    /// The folder below the top that it is in; `None` for the top itself.
    pub(super) folder: Option<String>,
    /// What fetches its dependencies, and so decides about servers.
    pub(super) managers: Vec<Manager>,
    /// By what it was recognised, and what is used.
    pub(super) by: String,
    /// What must hold, the quickest first.
    pub(super) gates: Vec<Gate>,
    /// How its dependencies get into a fresh workspace.
    pub(super) setup: Option<Setup>,
    /// What building and testing leave in the tree, and git must therefore ignore.
    leaves: Vec<&'static str>,
}

impl Finding {
    /// What was recognised, in words.
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

/// A check.
#[derive(Clone, Debug)]
pub(super) struct Gate {
    pub(super) name: &'static str,
    /// The budget that a failure spends.
    pub(super) kind: &'static str,
    /// A line for sh.
    pub(super) run: String,
    pub(super) severity: Severity,
    /// How long it may take, where the usual ten minutes are too short.
    pub(super) timeout: Option<&'static str>,
    /// What a reader of the file may wonder about.
    pub(super) why: Option<&'static str>,
    /// How its results are read, if it is more than a command.
    pub(super) check: Check,
    /// The folder that its reports are in.
    pub(super) folder: Option<String>,
    /// Patterns of the changes that it is run for; none for all.
    pub(super) paths: Vec<String>,
}

/// What a gate checks.
#[derive(Clone, Debug)]
pub(super) enum Check {
    /// The exit code.
    Command,
    /// Each test, compared with the base.
    Tests(Report),
    /// The tests of the change, without it and with it.
    Tdd {
        /// What compiles them, where that can fail apart from running them.
        build: Option<String>,
        report: Report,
    },
}

/// Where a runner is told to write JUnit's XML: in the folder that acquit makes for a gate's reports, whose name no change can know in
/// advance.
const JUNIT: &str = "$ACQUIT_REPORTS/junit.xml";

/// Where a runner leaves how each test ended.
#[derive(Clone, Copy, Debug)]
pub(super) enum Report {
    /// It prints it, in this format.
    Printed(&'static str),
    /// JUnit's XML in these files.
    Junit(&'static str),
}

/// Whether a failure rejects the work.
#[derive(Clone, Copy, Debug)]
pub(super) enum Severity {
    Error,
    Warning,
}

impl Gate {
    /// A gate whose name is also its kind.
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

    /// Two gates of one runner that tells of each test: nothing else may break, and the change must be shown to be tested.
    fn proving(run: impl Into<String>, build: Option<String>, report: Report) -> [Self; 2] {
        const WHY: &str = "The tests of a change must fail without it, by an assertion, and pass with it.";
        let run = run.into();
        [
            Self { check: Check::Tests(report), ..Self::new("test", run.clone()) },
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

    /// What stands where nothing was recognised: it fails, and says what to do.
    pub(super) fn unknown() -> Self {
        Self {
            why: Some(
                "How this repository is tested was not recognised, so nothing passes until `run` says it.",
            ),
            ..Self::new("test", format!("echo '{UNRECOGNISED}' && exit 1"))
        }
    }
}

/// How dependencies are installed.
pub(super) struct Setup {
    /// A line for sh.
    pub(super) run: String,
    /// What decides whether it must run again.
    pub(super) lock_files: Vec<&'static str>,
}

/// Looks at the repository's top and at well-known folders in it. Notes what the user should know.
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
    // A language without any gate proves nothing; it stays in the notes.
    found.retain(|finding| !finding.gates.is_empty());
    let apart = apart::apart(repository, &found, cloned);
    for finding in &mut found {
        let paths = finding.folder.as_ref().and_then(|folder| apart.get(folder)).cloned().unwrap_or_default();
        finding.gates.iter_mut().for_each(|gate| gate.paths.clone_from(&paths));
    }
    ignored::check(repository, &found, cloned, notes);
    found
}

/// The folders that parts of a repository live in: those with a usual name, and the packages of a monorepo.
fn parts(repository: &Path, cloned: &Cloned<'_>) -> Vec<String> {
    const PACKAGES: [&str; 6] = ["packages", "apps", "services", "libs", "modules", "projects"];
    let mut notes = Vec::new();
    let top = Folder::top(repository, cloned, &mut notes);
    let packages = PACKAGES.iter().flat_map(|name| top.files_in(name, "")).take(MOST_PACKAGES);
    PARTS.iter().map(|part| (*part).to_owned()).chain(packages).collect()
}

/// Adds what is in a folder. A language that is already known is left out: its tools know the parts of a whole by
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

/// A TOML file as far as it can be read; what is wrong with it is noted.
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

/// Looks up a value by the keys that lead to it.
fn at<'t>(table: &'t toml::Table, path: &[&str]) -> Option<&'t toml::Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(table.get(*first)?, |value, key| value.get(key))
}

/// A parser's words, which may quote the file, as one short line without control characters.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(160).collect()
}
