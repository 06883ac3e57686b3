//! Reports: the format and location of a command's results.
//!
//! In TOML, `report = { junit = "target/junit.xml" }` names files (a pattern may match several), and
//! `report = "libtest"` reads the command's output.

use serde::{Deserialize, Serialize};

use super::Paths;
use crate::toml_reader::{Table, Value, did_you_mean, quoted};

/// The report of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Format.
    pub format: Format,
    /// Location.
    pub place: Place,
}

/// The format of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// JUnit XML, which runners of all languages can write.
    Junit,
    /// Output of `cargo test`.
    Libtest,
    /// Output of `go test -json`.
    GoTest,
    /// SARIF, the format of static analysis tools.
    Sarif,
    /// Covered lines in the format of lcov, which most tools can write.
    Lcov,
    /// Covered lines in Cobertura's XML.
    Cobertura,
    /// Covered lines in JaCoCo's XML.
    Jacoco,
    /// Covered blocks, as written by `go test -coverprofile`.
    GoCover,
    /// Mutants: of cargo-mutants, or in the mutation-testing-report schema.
    Mutation,
}

/// The location of a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// The command's output.
    Output,
    /// Files in the tree that match a pattern.
    Files(Paths),
}

impl Format {
    /// All formats with their names in TOML.
    pub const ALL: [(&str, Self); 9] = [
        ("junit", Self::Junit),
        ("libtest", Self::Libtest),
        ("go-test", Self::GoTest),
        ("sarif", Self::Sarif),
        ("lcov", Self::Lcov),
        ("cobertura", Self::Cobertura),
        ("jacoco", Self::Jacoco),
        ("go-cover", Self::GoCover),
        ("mutation", Self::Mutation),
    ];

    /// Formats that report executed lines.
    pub const OF_LINES: [Self; 4] = [Self::Lcov, Self::Cobertura, Self::Jacoco, Self::GoCover];

    /// Formats that report the result of each test.
    pub const OF_TESTS: [Self; 3] = [Self::Junit, Self::Libtest, Self::GoTest];

    /// Returns the name in TOML.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, format)| *format == self).map_or("", |(name, _)| name)
    }
}

impl Report {
    /// Reads `report` of a gate whose check supports these formats. Reports mistakes.
    pub(crate) fn read(table: &mut Table<'_, '_>, usable: &[Format]) -> Option<Self> {
        let value = table.value("report")?;
        let source = table.source;
        let names = || usable.iter().map(|format| format.name());
        let format = |word: &str, place| {
            let found = usable.iter().copied().find(|format| format.name() == word);
            if found.is_none() {
                let hint = did_you_mean(word, "this check reads", names());
                let known = Format::ALL.iter().any(|(name, _)| *name == word);
                let what = if known { "this check reads no reports as" } else { "unknown format" };
                source.report(place, format!("{what} {}", quoted(word)), hint);
            }
            found
        };
        value.is_string_or_table();
        if value.is_string() {
            let word = value.string()?;
            return Some(Self { format: format(&word.value, word.place)?, place: Place::Output });
        }
        if !value.is_table() {
            return value.wrong("a format, or a table of a format and its file: { junit = \"report.xml\" }");
        }
        let place = value.key;
        let entries = value.table()?.entries();
        let [(key, file)] = entries.as_slice() else {
            let hint = "write one format and its file: report = { junit = \"report.xml\" }".to_owned();
            let what = format!("a gate has one report, not {}", entries.len());
            source.report(place, what, Some(hint));
            return None;
        };
        let format = format(key.value, key.place);
        let files = paths_of(file);
        Some(Self { format: format?, place: Place::Files(files?) })
    }
}

/// Reads a pattern or a list of patterns.
fn paths_of(value: &Value<'_, '_>) -> Option<Paths> {
    value.is_string_or_strings();
    let list = if value.is_string() { vec![value.string()?] } else { value.strings()? };
    value.paths(list)
}
