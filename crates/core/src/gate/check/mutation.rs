//! `check = "mutation"`: mutants of the changed lines are caught by the tests.

use serde::{Deserialize, Serialize};

use super::{Kind, percent, run};
use crate::gate::{Command, Format, Paths, Report};
use crate::toml_reader::Table;

/// How many survivors a change may call equivalent, if a gate does not say: they are rare.
const EQUIVALENTS: u32 = 3;

/// The most: more than this is no exception any more.
const MOST_EQUIVALENTS: u32 = 100;

/// Mutants of the changed lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mutation {
    /// What makes mutants and runs the tests on them.
    pub run: Command,
    /// Where it leaves what became of each.
    pub report: Report,
    /// How many of a hundred mutants must be caught.
    pub min: u32,
    /// How many survivors the change may call equivalent, by a comment at the line.
    pub equivalents: u32,
    /// Files whose mutants do not count.
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
