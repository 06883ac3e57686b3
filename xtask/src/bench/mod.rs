//! `cargo xtask bench`: what acquit costs, each figure beside its limit, measured in the same run.
//!
//! Times of one machine say nothing on another; ratios travel. So every benchmark has a limit, the least that the work
//! can cost when done by plain means, and a target for the ratio of ours to it.
#![allow(clippy::disallowed_macros, reason = "xtask reports to the terminal it was started from")]

mod handoff;
pub(crate) mod ingest;
mod leg;
mod measure;
mod parse;
mod project;
mod sandbox;
mod tasks;

use crate::{Stop, scratch, shell};
use measure::Report;

/// How the figures are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Table,
    Json,
}

/// Runs one benchmark in a scratch folder; fails if a target is missed or could not be measured.
pub(crate) fn run(name: &str, format: Format) -> Result<(), Stop> {
    let bench = match name {
        "leg" => leg::run,
        "handoff" => handoff::run,
        "ingest" => ingest::run,
        "sandbox" => sandbox::run,
        "parse" => parse::run,
        "tasks" => tasks::run,
        _ => {
            return Err(Stop(format!(
                "there is no benchmark `{name}`: leg, handoff, ingest, sandbox, parse, tasks"
            )));
        }
    };
    let acquit = build()?;
    let (dir, medium) = scratch::folder("acquit-bench-")?;
    let report = Report { name: name.to_owned(), medium, rows: bench(&acquit, dir.path())? };
    match format {
        Format::Table => print!("{report}"),
        Format::Json => println!("{}", report.json()),
    }
    if report.holds() { Ok(()) } else { Err(Stop(format!("bench {name}: not every target was reached"))) }
}

/// Builds the program as it is shipped and says where it lies.
fn build() -> Result<std::path::PathBuf, Stop> {
    let mut command = shell::cargo(&["build", "--release", "--package", "acquit"]);
    command.arg("--message-format=json-render-diagnostics").stderr(std::process::Stdio::inherit());
    let output = command.output().map_err(Stop::doing("start cargo"))?;
    if !output.status.success() {
        return Err(Stop("the release build failed: cargo build --release".to_owned()));
    }
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|message| message.pointer("/target/name").is_some_and(|name| name == "acquit"))
        .find_map(|message| message.get("executable")?.as_str().map(std::path::PathBuf::from))
        .ok_or_else(|| Stop("cargo built no program".to_owned()))
}
