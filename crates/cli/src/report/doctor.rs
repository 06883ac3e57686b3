//! Formats the abilities of a machine: a line each, and for a missing one its consequence and a fix.

use acquit_run::sandbox::machine::{Ability, Need, State};

use super::{Look, Printer, text};

/// Formats all abilities, with a summary at the end.
pub fn lines(printer: Printer, list: &[Ability]) -> Vec<String> {
    let width = list.iter().map(|ability| ability.name.chars().count()).max().unwrap_or(0);
    let mut lines = Vec::new();
    for ability in list {
        let (look, word, detail) = match (&ability.state, ability.need) {
            (State::Yes(detail), _) => (Look::Good, "yes", detail),
            (State::No(why), Need::Useful) => (Look::Notable, "no ", why),
            (State::No(why), Need::Always | Need::Wall) => (Look::Bad, "no ", why),
        };
        let name = format!("{:width$}", ability.name);
        let detail = text::visible(detail);
        lines.push(format!("{}  {name}  {detail}", printer.paint(look, word)).trim_end().to_owned());
        if !ability.consequence.is_empty() {
            lines.push(format!("       so: {}", ability.consequence));
        }
        if let Some(mend) = &ability.mend {
            lines.push(format!("       {} {}", printer.paint(Look::Strong, "to mend:"), text::visible(mend)));
        }
    }
    let missing = |need: Need| {
        let names = list.iter().filter(|ability| !ability.is_there() && ability.need == need);
        names.map(|ability| ability.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let (always, walls) = (missing(Need::Always), missing(Need::Wall));
    lines.push(String::new());
    lines.push(if !always.is_empty() {
        printer.paint(Look::Bad, &format!("tasks cannot run here; mend first: {always}"))
    } else if !walls.is_empty() {
        let words = format!(
            "tasks with `sandbox = \"on\"` do not start here; mend: {walls}; or accept less: `sandbox = \"reduced\"` in acquit.toml"
        );
        printer.paint(Look::Bad, &words)
    } else {
        printer.paint(Look::Good, "every wall that `sandbox = \"on\"` promises can be built here")
    });
    lines
}
