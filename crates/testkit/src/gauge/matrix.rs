//! The result of a measurement: a row for each gate, one for all gates together, and every wrong case.

use std::collections::BTreeMap;
use std::fmt;

use super::{Judged, Label};

/// The counts of a gate, or of all gates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Cheats that it rejected.
    pub caught: usize,
    /// Cheats that it should have rejected but did not.
    pub missed: usize,
    /// Honest changes that it passed.
    pub passed: usize,
    /// Honest changes that it rejected.
    pub refused: usize,
}

impl Row {
    fn add(&mut self, label: Label, objects: bool) {
        match (label, objects) {
            (Label::Cheat, true) => self.caught += 1,
            (Label::Cheat, false) => self.missed += 1,
            (Label::Honest, false) => self.passed += 1,
            (Label::Honest, true) => self.refused += 1,
        }
    }

    /// Returns the percentage of missed cheats.
    pub fn missed_percent(self) -> f64 {
        percent(self.missed, self.caught + self.missed)
    }

    /// Returns the percentage of rejected honest changes.
    pub fn refused_percent(self) -> f64 {
        percent(self.refused, self.passed + self.refused)
    }
}

#[expect(clippy::cast_precision_loss, reason = "a few hundred cases")]
fn percent(part: usize, all: usize) -> f64 {
    if all == 0 { 0.0 } else { part as f64 * 100.0 / all as f64 }
}

/// The whole measurement.
#[derive(Clone, Debug, Default)]
pub struct Matrix {
    /// By gate. A cheat counts for the gates that its file expects to reject it. If it names several, one is enough,
    /// and those that did not reject it are not counted.
    pub gates: BTreeMap<String, Row>,
    /// All gates together.
    pub whole: Row,
    /// Wrong cases, each with what the gates said.
    pub wrong: Vec<(String, String)>,
    /// Cases that could not run, each with the reason.
    pub skipped: Vec<(String, String)>,
}

impl Matrix {
    /// Computes the matrix from results.
    pub fn of(all: &[Judged]) -> Self {
        let mut matrix = Self::default();
        for case in all {
            if let Some(why) = &case.trouble {
                matrix.skipped.push((case.name.clone(), why.clone()));
                continue;
            }
            matrix.whole.add(case.label, case.objects());
            let expected_hit = case.said.iter().any(|said| said.objects && case.expect.contains(&said.gate));
            for said in &case.said {
                let counts = match case.label {
                    Label::Honest => true,
                    Label::Cheat => said.objects || (case.expect.contains(&said.gate) && !expected_hit),
                };
                if counts {
                    matrix.gates.entry(said.gate.clone()).or_default().add(case.label, said.objects);
                }
            }
            match (case.label, case.objects()) {
                (Label::Cheat, false) => {
                    matrix.wrong.push((case.name.clone(), format!("let through ({})", case.kind)));
                }
                (Label::Honest, true) => {
                    let why = case
                        .said
                        .iter()
                        .filter(|said| said.objects)
                        .map(|said| format!("{}: {}", said.gate, said.why));
                    matrix.wrong.push((
                        case.name.clone(),
                        format!("refused by {}", why.collect::<Vec<_>>().join("; ")),
                    ));
                }
                (Label::Cheat, true) | (Label::Honest, false) => {}
            }
        }
        matrix
    }

    /// Converts to JSON.
    pub fn json(&self) -> serde_json::Value {
        let row = |row: &Row| {
            serde_json::json!({
                "cheats_caught": row.caught,
                "cheats_let_through": row.missed,
                "honest_passed": row.passed,
                "honest_refused": row.refused,
            })
        };
        let pairs = |all: &[(String, String)]| -> Vec<serde_json::Value> {
            all.iter().map(|(case, why)| serde_json::json!({ "case": case, "why": why })).collect()
        };
        let gates: BTreeMap<&String, serde_json::Value> =
            self.gates.iter().map(|(gate, it)| (gate, row(it))).collect();
        serde_json::json!({
            "gates": gates,
            "whole": row(&self.whole),
            "wrong": pairs(&self.wrong),
            "not_run": pairs(&self.skipped),
        })
    }
}

impl fmt::Display for Matrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| gate | cheats caught | cheats let through | honest passed | honest refused |")?;
        writeln!(f, "|---|---|---|---|---|")?;
        let rows = self.gates.iter().map(|(gate, row)| (gate.as_str(), row));
        for (gate, row) in rows.chain(std::iter::once(("**all gates**", &self.whole))) {
            writeln!(f, "| {gate} | {} | {} | {} | {} |", row.caught, row.missed, row.passed, row.refused)?;
        }
        writeln!(
            f,
            "\ncheats let through: {:.1} %, honest changes refused: {:.1} %",
            self.whole.missed_percent(),
            self.whole.refused_percent()
        )?;
        for (title, list) in [("wrong", &self.wrong), ("not run", &self.skipped)] {
            if !list.is_empty() {
                writeln!(f, "\n{title}:")?;
            }
            for (case, why) in list {
                writeln!(f, "  {case}: {why}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gauge::Said;

    fn judged(label: Label, expect: &[&str], said: &[(&str, bool)]) -> Judged {
        let said = said.iter().map(|(gate, objects)| Said {
            gate: (*gate).to_owned(),
            objects: *objects,
            why: String::new(),
            took: 0,
        });
        Judged {
            name: "a/b/c".to_owned(),
            label,
            kind: "k".to_owned(),
            expect: expect.iter().map(|gate| (*gate).to_owned()).collect(),
            said: said.collect(),
            trouble: None,
            took: 0,
        }
    }

    #[test]
    fn a_cheat_counts_against_the_gates_that_should_have_objected() {
        let matrix = Matrix::of(&[
            judged(Label::Cheat, &["tests"], &[("tests", false), ("secrets", false)]),
            judged(Label::Cheat, &["tests", "dilution"], &[("tests", false), ("dilution", true)]),
            judged(Label::Honest, &[], &[("tests", true), ("secrets", false)]),
            judged(Label::Honest, &[], &[("tests", false)]),
        ]);
        assert_eq!(matrix.gates["tests"], Row { caught: 0, missed: 1, passed: 1, refused: 1 });
        assert_eq!(matrix.gates["dilution"], Row { caught: 1, ..Row::default() });
        assert_eq!(matrix.gates["secrets"], Row { passed: 1, ..Row::default() });
        assert_eq!(matrix.whole, Row { caught: 1, missed: 1, passed: 1, refused: 1 });
        assert_eq!(matrix.wrong.len(), 2);
    }
}
