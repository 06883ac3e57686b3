//! What this machine can enforce and what it lacks, as `acquit doctor` reports it.

use acquit_app::{App, doctor};
use acquit_run::sandbox::machine::{Ability, Need, State};
use maud::html;

use crate::page::Content;
use crate::page::Sign;
use crate::words;

/// Renders the page.
pub fn content(app: &App) -> Content {
    let list = doctor::examine(app);
    let lacking = list.iter().filter(|ability| !ability.is_there()).count();
    let sign = |ability: &Ability| match (ability.is_there(), ability.need) {
        (true, _) => Sign::Proven,
        (false, Need::Useful) => Sign::Noted,
        (false, _) => Sign::Rejected,
    };
    let body = html! {
        div.head {
            h1 { @if lacking == 0 { "This machine has everything" } @else { "This machine lacks " (words::count(lacking, "thing")) } }
            p.lede { @if doctor::is_complete(&list) { "Tasks can run here." } @else { "Some tasks cannot run here." } }
        }
        ul.panel.rows {
            @for ability in &list {
                li {
                    h2 { (sign(ability).named()) (words::line(&ability.name, 100)) }
                    @match &ability.state { State::Yes(found) | State::No(found) => p.dim { (words::text(found)) } }
                    @if !ability.is_there() && !ability.consequence.is_empty() { p { (words::text(&ability.consequence)) } }
                    @if let Some(mend) = &ability.mend { p { "Fix: " (words::text(mend)) } }
                }
            }
        }
    };
    Content { title: "Doctor".to_owned(), task: None, body }
}
