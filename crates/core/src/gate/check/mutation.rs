//! `check = "mutation"`: tests catch mutants of the changed lines.

use serde::{Deserialize, Serialize};

use super::{Kind, percent, run};
use crate::gate::{Command, Format, Paths, Report};
use crate::toml_reader::Table;

/// Default number of survivors that a change may mark as equivalent. They are rare.
const EQUIVALENTS: u32 = 3;

/// Maximum of that setting. More than this is no longer an exception.
const MOST_EQUIVALENTS: u32 = 100;

/// Settings of this check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mutation {
    /// Command that makes mutants and runs the tests on them.
    pub run: Command,
    /// Where it writes the result of each mutant.
    pub report: Report,
    /// Minimum percentage of caught mutants.
    pub min: u32,
    /// Number of survivors that the change may mark as equivalent by a comment at the line.
    pub equivalents: u32,
    /// Files whose mutants don't count.
    pub exempt: Paths,
}

impl Kind for Mutation {
    const WORD: &'static str = "mutation";
    const DEMAND: &'static str = "mutants of the changed lines must be caught";
    const CLAIM: &'static str = "tests catch mutants of the changed lines";

    fn read(table: &mut Table<'_, '_>) -> Option<Self> {
        let report = Report::read(table, &[Format::Mutation]);
        table.require(
            "report",
            "say where the mutants are: report = { mutation = \"mutants.out/outcomes.json\" }",
        );
        let min = percent(table);
        let equivalents = table.value("equivalents").and_then(|value| value.count(MOST_EQUIVALENTS));
        let exempt = table.paths("exempt").unwrap_or_default();
        let run = run(table, "cargo mutants");
        Some(Self {
            run: run?,
            report: report?,
            min,
            equivalents: equivalents.unwrap_or(EQUIVALENTS),
            exempt,
        })
    }

    fn command(&self) -> Option<&Command> {
        Some(&self.run)
    }
}
