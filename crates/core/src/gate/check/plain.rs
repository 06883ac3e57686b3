//! `check = "command"`, the default: a command that must end with code 0.

use serde::{Deserialize, Serialize};

use super::run;
use crate::config::toml::Table;
use crate::gate::{Command, Format, Report};

/// A command that must end with code 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plain {
    /// What is run.
    pub run: Command,
    /// Where it leaves what it found, to be shown with the verdict. The exit code alone decides.
    pub report: Option<Report>,
    /// What is run instead, with the changed files as arguments, where only related tests are wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub related: Option<Command>,
}

impl Plain {
    pub(super) fn read(table: &mut Table<'_, '_>) -> Option<Self> {
        const USABLE: [Format; 4] = [Format::Junit, Format::Libtest, Format::GoTest, Format::Sarif];
        let report = Report::read(table, &USABLE);
        Some(Self { run: run(table, "cargo test")?, report, related: None })
    }
}
