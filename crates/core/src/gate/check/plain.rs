//! `check = "command"`, the default: a command that must exit with code 0.

use serde::{Deserialize, Serialize};

use super::{Check, Kind, Reproduced, run};
use crate::gate::{Command, Format, Paths, Report};
use crate::ids::Name;
use crate::toml_reader::Table;

/// Kind of gates whose commands run tests.
const TEST: &str = "test";

/// A command that must exit with code 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plain {
    /// Command to run.
    pub run: Command,
    /// Where it writes its findings, to show with the verdict. Only the exit code decides.
    pub report: Option<Report>,
    /// Command to run instead if a stage asks only for related tests; gets the changed files as arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub related: Option<Command>,
}

impl Kind for Plain {
    const WORD: &'static str = "command";
    const DEMAND: &'static str = "must end with code 0";
    const CLAIM: &'static str = "its command passes";
    const PARALLEL: bool = true;
    const NARROWS: bool = true;

    fn read(table: &mut Table<'_, '_>) -> Option<Self> {
        const USABLE: [Format; 4] = [Format::Junit, Format::Libtest, Format::GoTest, Format::Sarif];
        let report = Report::read(table, &USABLE);
        Some(Self { run: run(table, "cargo test")?, report, related: None })
    }

    fn command(&self) -> Option<&Command> {
        Some(&self.run)
    }

    fn on_base(&self) -> Option<Check> {
        Some(Check::Command(self.clone()))
    }

    fn reproduced(&self, kind: &Name) -> Option<(u8, Reproduced)> {
        (*kind == *TEST).then(|| {
            let reproduced = Reproduced {
                build: None,
                run: self.run.clone(),
                report: self.report.clone().filter(|report| Format::OF_TESTS.contains(&report.format)),
                // It is unknown where such a project has its tests.
                tests: Paths::literal(&["**"]),
                exempt: Paths::literal(&[]),
            };
            (2, reproduced)
        })
    }
}
