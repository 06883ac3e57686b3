//! `check = "coverage"`: the lines of the change are covered by tests.

use serde::{Deserialize, Serialize};

use super::run;
use crate::config::toml::Table;
use crate::gate::{Command, Format, Report};

/// Coverage of the changed lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// What runs the tests and counts.
    pub run: Command,
    /// Where it leaves what was covered.
    pub report: Report,
}

impl Coverage {
    pub(super) fn read(table: &mut Table<'_, '_>) -> Option<Self> {
        let report = Report::read(table, &[Format::Lcov, Format::Cobertura]);
        table.require("report", "say where the coverage is: report = { lcov = \"lcov.info\" }");
        Some(Self { run: run(table, "cargo llvm-cov --lcov --output-path lcov.info")?, report: report? })
    }
}
