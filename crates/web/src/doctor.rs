//! What this machine can enforce and what it lacks, as `acquit doctor` reports it. Examining a machine starts
//! programs, so the page shows the last result and its time.

use std::sync::{Arc, Mutex, PoisonError};

use acquit_app::{App, doctor};
use acquit_core::time::Timestamp;
use acquit_run::sandbox::machine::{Ability, Need, State};
use maud::html;
use serde::Deserialize;

use crate::page::{Content, Sign};
use crate::words;

/// A result that is older is made again after the page was shown.
const OLD: std::time::Duration = std::time::Duration::from_mins(1);

/// Selects how recent the result must be.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Wanted {
    /// Whether to examine the machine now.
    pub again: bool,
}

/// The abilities of the machine, and when it was examined.
type Result = (Timestamp, Arc<Vec<Ability>>);

/// The last result.
#[derive(Default)]
pub struct Examined(Mutex<Option<Result>>);

impl Examined {
    fn known(&self) -> Option<Result> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Examines the machine.
    pub fn examine(&self, app: &App) -> Result {
        let new = ((app.runtime.now)(), Arc::new(doctor::examine(app)));
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(new.clone());
        new
    }

    /// Returns whether the last result is so old that the machine should be examined again.
    pub fn is_old(&self, now: Timestamp) -> bool {
        self.known().is_none_or(|(when, _)| now.since(when) >= OLD)
    }
}

/// Renders the page.
pub fn content(examined: &Examined, app: &App, wanted: &Wanted) -> Content {
    let (when, list) = match examined.known().filter(|_| !wanted.again) {
        Some(known) => known,
        None => examined.examine(app),
    };
    let lacking = list.iter().filter(|ability| !ability.is_there()).count();
    let sign = |ability: &Ability| match (ability.is_there(), ability.need) {
        (true, _) => Sign::Proven,
        (false, Need::Useful) => Sign::Noted,
        (false, _) => Sign::Rejected,
    };
    let body = html! {
        div.head {
            h1 { @if lacking == 0 { "This machine has everything" } @else { "This machine lacks " (words::count(lacking, "thing")) } }
            p.lede { @if doctor::is_complete(&list) { "Tasks can run here." } @else { "Some tasks cannot run here." } " Checked at " time { (words::moment(when, "%H:%M:%S")) } ". " a href="/doctor?again=true" { "Check again" } }
        }
        ul.panel.rows {
            // Missing abilities come first.
            @let (there, missing): (Vec<&Ability>, Vec<&Ability>) = list.iter().partition(|ability| ability.is_there());
            @for ability in missing.into_iter().chain(there) {
                li {
                    h2 { (sign(ability).named()) (words::line(&ability.name, 100)) }
                    @match &ability.state { State::Yes(found) | State::No(found) => p.dim { (words::text(found)) } }
                    @if !ability.is_there() && !ability.consequence.is_empty() { p { (words::commands(&ability.consequence)) } }
                    @if let Some(mend) = &ability.mend { p { "Fix: " (words::commands(mend)) } }
                }
            }
        }
    };
    Content { title: "Doctor".to_owned(), task: None, body }
}
