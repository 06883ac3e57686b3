//! `check = "mutation"`: mutants of the changed lines are caught by the tests.

use serde::{Deserialize, Serialize};

use super::run;
use crate::config::toml::Table;
use crate::gate::{Command, Format, Report};

/// Mutants of the changed lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mutation {
    /// What makes mutants and runs the tests on them.
    pub run: Command,
    /// Where it leaves what became of each.
    pub report: Report,
}

impl Mutation {
    pub(super) fn read(table: &mut Table<'_, '_>) -> Option<Self> {
        let report = Report::read(table, &[Format::Mutation]);
        table.require(
            "report",
            "say where the mutants are: report = { mutation = \"mutants.out/outcomes.json\" }",
        );
        Some(Self { run: run(table, "cargo mutants")?, report: report? })
    }
}
