//! `cargo xtask bench`: measures what acquit costs, each figure next to its limit from the same run.
//!
//! Times depend on the machine; ratios do not. So every benchmark has a limit, the least that the work can cost with
//! plain means, and a target for the ratio of our figure to it.
#![allow(clippy::disallowed_macros, reason = "xtask reports to the terminal it was started from")]

mod claims;
mod handoff;
pub(crate) mod ingest;
mod leg;
mod measure;
mod pages;
mod parse;
mod project;
mod recovery;
mod sandbox;
mod tasks;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Stop, scratch, shell};
use measure::{Report, Row};

/// Output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Table,
    Json,
}

/// How much to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    /// Enough for reliable figures, with the release build.
    Full,
    /// Each step once on small input, with the debug build, in seconds: checks that a benchmark works. The figures
    /// mean nothing.
    Brief,
}

impl Size {
    /// Returns one of two values.
    fn pick<T>(self, full: T, brief: T) -> T {
        match self {
            Self::Full => full,
            Self::Brief => brief,
        }
    }
}

/// What to measure, and how.
pub(crate) struct Options {
    name: String,
    format: Format,
    size: Size,
    /// The program to measure; built if `None`.
    acquit: Option<PathBuf>,
    /// Where `pages` keeps its store.
    keep: Option<PathBuf>,
}

impl Options {
    /// Reads the arguments.
    pub(crate) fn read(words: &[&str]) -> Result<Self, Stop> {
        let mut options =
            Self { name: String::new(), format: Format::Table, size: Size::Full, acquit: None, keep: None };
        let absolute = |path: &str| std::path::absolute(path).map_err(Stop::doing("find a path"));
        for word in words {
            match (*word, word.split_once('=')) {
                ("--json", _) => options.format = Format::Json,
                ("--brief", _) => options.size = Size::Brief,
                (_, Some(("--acquit", path))) => options.acquit = Some(absolute(path)?),
                (_, Some(("--keep", path))) => options.keep = Some(absolute(path)?),
                (name, _) if options.name.is_empty() && !name.starts_with('-') => {
                    name.clone_into(&mut options.name);
                }
                (unknown, _) => return Err(Stop(format!("bench has no `{unknown}`: cargo xtask help"))),
            }
        }
        Ok(options)
    }
}

/// The environment of a benchmark.
#[derive(Clone, Copy)]
struct Setting<'a> {
    /// The measured program.
    acquit: &'a Path,
    /// An empty directory.
    dir: &'a Path,
    /// A directory that is kept, if one was named.
    keep: Option<&'a Path>,
    size: Size,
}

impl Setting<'_> {
    /// Returns the number of repetitions: odd, so that the median is an actual run.
    fn rounds(&self) -> usize {
        self.size.pick(measure::ROUNDS, 1)
    }

    /// Returns a command for a program of `crates/run/examples` that does its own measurement.
    fn example(&self, name: &str) -> Command {
        self.example_of("acquit-run", name)
    }

    /// Returns the same of `crates/store/examples`.
    fn store_example(&self, name: &str) -> Command {
        self.example_of("acquit-store", name)
    }

    fn example_of(&self, package: &str, name: &str) -> Command {
        match self.size {
            Size::Full => shell::cargo(&[
                "run",
                "--profile",
                "dist",
                "--quiet",
                "--package",
                package,
                "--example",
                name,
                "--",
            ]),
            Size::Brief => shell::program(self.acquit.with_file_name("examples").join(name)),
        }
    }
}

/// A benchmark.
type Run = fn(Setting<'_>) -> Result<Vec<Row>, Stop>;
const ALL: [(&str, Run); 9] = [
    ("leg", leg::run),
    ("handoff", handoff::run),
    ("ingest", ingest::run),
    ("sandbox", sandbox::run),
    ("parse", parse::run),
    ("tasks", tasks::run),
    ("pages", pages::run),
    ("claims", claims::run),
    ("recovery", recovery::run),
];

/// Runs one benchmark in a scratch directory. Fails if a target is missed or cannot be measured. Brief runs have no
/// targets.
pub(crate) fn run(options: &Options) -> Result<(), Stop> {
    let Options { name, format, size, acquit, keep } = options;
    let (format, size) = (*format, *size);
    let Some((_, bench)) = ALL.iter().find(|(one, _)| one == name) else {
        let names = ALL.map(|(name, _)| name).join(", ");
        return Err(Stop(format!("there is no benchmark `{name}`: {names}")));
    };
    let acquit = match (acquit, size) {
        (Some(acquit), _) => acquit.clone(),
        (None, Size::Full) => build()?,
        (None, Size::Brief) => debug_build()?,
    };
    let (dir, medium) = scratch::folder("acquit-bench-")?;
    let setting = Setting { acquit: &acquit, dir: dir.path(), keep: keep.as_deref(), size };
    let report = Report { name: name.to_owned(), medium, rounds: setting.rounds(), rows: bench(setting)? };
    match format {
        Format::Table => print!("{report}"),
        Format::Json => println!("{}", report.json()),
    }
    if size == Size::Brief || report.holds() {
        Ok(())
    } else {
        Err(Stop(format!("bench {name}: not every target was reached")))
    }
}

/// Returns the debug build next to this program, as `cargo xtask test` makes it, or builds one.
fn debug_build() -> Result<PathBuf, Stop> {
    let own = std::env::current_exe().map_err(Stop::doing("find this program"))?;
    let acquit = own.with_file_name("acquit");
    let examples = ["start", "parse", "claims"].map(|name| own.with_file_name("examples").join(name));
    if !acquit.is_file() || examples.iter().any(|example| !example.is_file()) {
        let packages = ["acquit", "acquit-run", "acquit-store"].map(|name| ["--package", name]).concat();
        let packages = [&["build", "--bins", "--examples"][..], &packages].concat();
        if !shell::succeeds(&mut shell::cargo(&packages))? {
            return Err(Stop(format!("cargo {} failed", packages.join(" "))));
        }
    }
    Ok(acquit)
}

/// Builds the binary as it is released and returns its path.
fn build() -> Result<PathBuf, Stop> {
    let mut command = shell::cargo(&["build", "--profile", "dist", "--package", "acquit"]);
    command.arg("--message-format=json-render-diagnostics").stderr(std::process::Stdio::inherit());
    let output = command.output().map_err(Stop::doing("start cargo"))?;
    if !output.status.success() {
        return Err(Stop("the release build failed: cargo build --profile dist".to_owned()));
    }
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|message| message.pointer("/target/name").is_some_and(|name| name == "acquit"))
        .find_map(|message| message.get("executable")?.as_str().map(PathBuf::from))
        .ok_or_else(|| Stop("cargo built no program".to_owned()))
}
