//! Measures the gates on a labelled corpus of changes: which cheats they let through, and which honest changes they refuse.
//!
//! Every case is a task of the real binary in a scratch store: an agent that does nothing but make the change, and the gates of the
//! fixture. `corpus/README.md` describes the files.
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

use serde::{Deserialize, Serialize};

pub use case::{Case, Fixture, Label};
pub use kept::Kept;
pub use matrix::{Matrix, Row};
pub use trial::JUNIT;

/// What the gates said of a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judged {
    /// Its name: `python/ledger/cheat-skip`.
    pub name: String,
    /// What it is.
    pub label: Label,
    /// What it is like.
    pub kind: String,
    /// The gates that should object to a cheat.
    pub expect: Vec<String>,
    /// What each gate that ran said.
    pub said: Vec<Said>,
    /// Why it could not be run.
    pub trouble: Option<String>,
}

/// What a gate said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// The gate.
    pub gate: String,
    /// Whether it rejects the work, or wants a person to look.
    pub objects: bool,
    /// Why, in its own words.
    pub why: String,
}

impl Judged {
    /// Whether any gate objects.
    pub fn objects(&self) -> bool {
        self.said.iter().any(|said| said.objects)
    }

    /// Whether it is for measuring only.
    pub fn is_held_out(&self) -> bool {
        self.name.starts_with(case::HELD_OUT)
    }

    /// `python`.
    pub fn language(&self) -> &str {
        let mut parts = self.name.split('/').skip_while(|part| part.starts_with(case::HELD_OUT));
        parts.next().unwrap_or_default()
    }
}

/// How much is run on a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Every gate, as often as projects run their tests: for figures of each gate.
    Full,
    /// No gate after one that objects, and the tests of a change once: whether any objects is known then, in half the time.
    Short,
}

/// Where everything is.
#[derive(Clone, Debug)]
pub struct Place {
    /// How much is run.
    pub extent: Extent,
    /// The corpus.
    pub corpus: PathBuf,
    /// The binary that is measured.
    pub binary: PathBuf,
    /// The folder of runners that no package manager of the system has.
    pub runners: PathBuf,
    /// The folder of cargo and its compiler.
    pub cargo: Option<PathBuf>,
}

impl Place {
    /// The cases whose name contains one of the words, or all, in the order of their names; with one of these gates, or with all.
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

    /// Runs cases, `beside` of them at a time; `over` hears of each when it is done.
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
                        let judged = judged.unwrap_or_else(|why| case.unjudged(why));
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

/// A share of the cases, always the same one: one of `share`, spread over all of them.
pub fn sample(cases: Vec<(Fixture, Case)>, share: usize) -> Vec<(Fixture, Case)> {
    cases.into_iter().filter(|(_, case)| expand::number(&case.name).is_multiple_of(share as u64)).collect()
}

/// Reads a file of text.
fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("failed to read {}: {error}", path.display()))
}
