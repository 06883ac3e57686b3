//! Measures the gates on a labelled corpus of changes: which cheats they miss, and which honest changes they reject.
//!
//! Every case is a task of the real binary in a scratch store, with an agent that only makes the change, and the gates
//! of the fixture. `corpus/README.md` describes the files.
#![allow(
    clippy::disallowed_methods,
    reason = "the corpus is run by the real binary and real git, away from run::process"
)]

mod case;
mod expand;
mod kept;
mod matrix;
mod trial;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

use serde::{Deserialize, Serialize};

pub use case::{Case, Fixture, Label};
pub use kept::Kept;
pub use matrix::{Matrix, Row};
pub use trial::JUNIT;

/// The verdicts of the gates on a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judged {
    /// Name: `python/ledger/cheat-skip`.
    pub name: String,
    /// Label.
    pub label: Label,
    /// Kind of change.
    pub kind: String,
    /// Gates that should reject a cheat.
    pub expect: Vec<String>,
    /// Verdict of each gate that ran.
    pub said: Vec<Said>,
    /// Why it could not run.
    pub trouble: Option<String>,
    /// Duration in milliseconds, including everything around the gates.
    #[serde(default)]
    pub took: u64,
}

/// The verdict of a gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// Gate name.
    pub gate: String,
    /// Whether it rejects the work or asks for a person.
    pub objects: bool,
    /// Its reason.
    pub why: String,
    /// Total duration of its commands, in milliseconds.
    #[serde(default)]
    pub took: u64,
}

impl Judged {
    /// Returns whether any gate rejects it.
    pub fn objects(&self) -> bool {
        self.said.iter().any(|said| said.objects)
    }

    /// Returns whether it is for measurement only.
    pub fn is_held_out(&self) -> bool {
        self.name.starts_with(case::HELD_OUT)
    }

    /// Returns the language, such as `python`.
    pub fn language(&self) -> &str {
        let mut parts = self.name.split('/').skip_while(|part| part.starts_with(case::HELD_OUT));
        parts.next().unwrap_or_default()
    }
}

/// How much to run on a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Every gate, as often as projects run their tests: gives figures for each gate.
    Full,
    /// Stop after the first rejection, and run the tests of a change once: shows in half the time whether any gate
    /// rejects.
    Short,
}

/// The folders and programs of a measurement.
#[derive(Clone, Debug)]
pub struct Place {
    /// How much to run.
    pub extent: Extent,
    /// Folder of the corpus.
    pub corpus: PathBuf,
    /// Binary to measure.
    pub binary: PathBuf,
    /// Folder of test runners that the system's package manager does not have.
    pub runners: PathBuf,
    /// Folder of cargo and its compiler.
    pub cargo: Option<PathBuf>,
}

impl Place {
    /// Returns the cases whose name contains one of the words, or all, sorted by name; restricted to these gates, if
    /// any.
    pub fn cases(&self, words: &[&str], gates: &[&str]) -> Result<Vec<(Fixture, Case)>, String> {
        let mut all = case::find(&self.corpus)?;
        let wanted = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word));
        all.retain(|(_, case)| wanted(&case.name));
        if !gates.is_empty() {
            all.iter_mut().for_each(|(fixture, case)| case.restrict(fixture, gates));
            all.retain(|(fixture, case)| !case.gates(fixture).is_empty());
        }
        Ok(all)
    }

    /// Runs cases, `beside` of them in parallel. Calls `over` after each.
    pub fn run(
        &self,
        cases: &[(Fixture, Case)],
        beside: usize,
        over: &(dyn Fn(&Judged) + Sync),
    ) -> Vec<Judged> {
        let next = Mutex::new(0_usize);
        let done: Mutex<Vec<(usize, Judged)>> = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..beside.max(1) {
                scope.spawn(|| {
                    let mut trial: Option<trial::Trial> = None;
                    loop {
                        let index = {
                            let mut next = next.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                            *next += 1;
                            *next - 1
                        };
                        let Some((fixture, case)) = cases.get(index) else { break };
                        let began = Instant::now();
                        if trial.as_ref().is_none_or(|trial| !trial.is_for(fixture)) {
                            trial = None;
                        }
                        let judged = match trial.take().map_or_else(|| trial::Trial::new(self, fixture), Ok) {
                            Ok(mut ready) => {
                                let judged = ready.judge(case);
                                trial = Some(ready);
                                judged
                            }
                            Err(why) => Err(why),
                        };
                        let mut judged = judged.unwrap_or_else(|why| case.unjudged(why));
                        judged.took = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
                        over(&judged);
                        done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((index, judged));
                    }
                });
            }
        });
        let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        done.sort_by_key(|(index, _)| *index);
        done.into_iter().map(|(_, judged)| judged).collect()
    }
}

/// Returns a stable sample of the cases: one in `share`, spread over all of them.
pub fn sample(cases: Vec<(Fixture, Case)>, share: usize) -> Vec<(Fixture, Case)> {
    cases.into_iter().filter(|(_, case)| expand::number(&case.name).is_multiple_of(share as u64)).collect()
}

/// Reads a text file.
fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("failed to read {}: {error}", path.display()))
}
