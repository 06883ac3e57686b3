//! `check = "reproduced"`: the tests of the change show a defect. They fail by an assertion, on code that is as it was.
//!
//! It is what a stage stands that writes a failing test and mends nothing. Of a command without a report only its exit code is
//! known: it must have passed on the base.

use serde::{Deserialize, Serialize};

use super::{Check, run, tdd};
use crate::config::toml::Table;
use crate::gate::{Command, Format, Gate, Paths, Report};

/// The kind of the commands that are taken for tests.
const TEST: &str = "test";

/// How a defect is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reproduced {
    /// What makes the tests ready to be run, apart from running them: what does not compile shows nothing.
    pub build: Option<Command>,
    /// What runs them.
    pub run: Command,
    /// Where it leaves how each test ended; without it the exit code alone speaks.
    pub report: Option<Report>,
    /// The paths that belong to the tests, which alone may change. Inline test modules of Rust do by themselves.
    pub tests: Paths,
    /// The paths that may change besides.
    pub exempt: Paths,
}

impl Reproduced {
    /// The same tests as those of a project's gate, asked for the opposite. `None` of a gate that runs none.
    pub(crate) fn of(gate: &Gate) -> Option<Self> {
        let usual = |build: &Option<Command>, run: &Command, report: &Report| Self {
            build: build.clone(),
            run: run.clone(),
            report: Some(report.clone()),
            tests: Paths::literal(&tdd::TESTS),
            exempt: Paths::literal(&tdd::EXEMPT),
        };
        match &gate.check {
            Check::Tdd(tdd) => Some(Self {
                tests: tdd.tests.clone(),
                exempt: tdd.exempt.clone(),
                ..usual(&tdd.build, &tdd.run, &tdd.report)
            }),
            Check::Tests(tests) => Some(usual(&tests.build, &tests.run, &tests.report)),
            Check::Command(plain) if gate.kind == *TEST => Some(Self {
                build: None,
                run: plain.run.clone(),
                report: plain.report.clone().filter(|report| Format::OF_TESTS.contains(&report.format)),
                // Where such a project has its tests is not known.
                tests: Paths::literal(&["**"]),
                exempt: Paths::literal(&[]),
            }),
            Check::Command(_)
            | Check::Reproduced(_)
            | Check::Coverage(_)
            | Check::Mutation(_)
            | Check::Secrets(_)
            | Check::Scope(_)
            | Check::Commits(_)
            | Check::Dilution(_)
            | Check::Review(_) => None,
        }
    }

    pub(super) fn read(table: &mut Table<'_, '_>) -> Option<Self> {
        let build = table.value("build").and_then(|value| value.command());
        let report = Report::read(table, &Format::OF_TESTS);
        let tests = table.paths("tests").unwrap_or_else(|| Paths::literal(&tdd::TESTS));
        let exempt = table.paths("exempt").unwrap_or_else(|| Paths::literal(&tdd::EXEMPT));
        let run = run(table, "cargo test --no-fail-fast");
        Some(Self { build, run: run?, report, tests, exempt })
    }
}
