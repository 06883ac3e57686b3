//! Finds the mistakes of a template before anything is rendered: what is not closed, and what nobody sets.

use std::collections::BTreeSet;

use crate::config::toml::{At, Place, Source, did_you_mean, quoted};
use crate::context::BUILTIN;
use crate::ids::Name;

/// The variables that a template may name.
pub(super) struct Known {
    names: BTreeSet<String>,
    /// Whether a variable may exist that could not be read.
    uncertain: bool,
}

impl Known {
    pub(super) fn new(known: &[String]) -> Self {
        let builtin = BUILTIN.iter().map(|&name| name.to_owned());
        Self { names: builtin.chain(known.iter().cloned()).collect(), uncertain: false }
    }

    pub(super) fn extend<'n>(&mut self, names: impl Iterator<Item = &'n str>) {
        self.names.extend(names.map(str::to_owned));
    }

    /// Some variable could not be read: an unknown one may be that.
    pub(super) fn uncertain(&mut self) {
        self.uncertain = true;
    }

    /// Notes every mistake of a template.
    pub(super) fn check(&self, source: &Source<'_>, template: &At<String>) {
        let mut rest = template.value.as_str();
        let mut number = 0;
        while let Some(open) = rest.find("{{") {
            let place = nth_opening(source, template, number);
            let inside = &rest[open + 2..];
            let Some(close) = inside.find("}}") else {
                source.report(place, "`{{` is never closed", Some("close it with `}}`".to_owned()));
                return;
            };
            let name = inside[..close].trim();
            if !self.names.contains(name) && !self.uncertain {
                let hint = did_you_mean(name, "known are", self.names.iter().map(String::as_str));
                source.report(place, format!("unknown variable {}", quoted(name)), hint);
            }
            // What is skipped may itself contain an opening, which stands in the file all the same.
            number += 1 + inside[..close].matches("{{").count();
            rest = &inside[close + 2..];
        }
    }
}

/// Where the `number`th `{{` of a template stands in the file. Braces are written as themselves in every kind of string, so
/// they can be counted; where someone wrote them as escapes, the string's beginning has to do.
fn nth_opening(source: &Source<'_>, template: &At<String>, number: usize) -> Place {
    let written = source.slice(template.place);
    if written.matches("{{").count() != template.value.matches("{{").count() {
        return template.place;
    }
    let start = template.place.start + written.match_indices("{{").nth(number).map_or(0, |(at, _)| at);
    Place { start, end: template.place.end }
}

/// Notes a variable that has the name of one that is always there.
pub(super) fn refuse_builtin(source: &Source<'_>, name: &At<Name>) {
    if BUILTIN.contains(&name.value.as_str()) {
        let what = format!("the variable {} is built in", quoted(name.value.as_str()));
        source.report(name.place, what, Some("choose another name".to_owned()));
    }
}
