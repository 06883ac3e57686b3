//! The known template variables. A wrong name is reported before anything starts.

use std::collections::BTreeSet;

use crate::ids::Name;
use crate::toml_reader::{At, Source, did_you_mean, quoted};

/// Names of the variables that acquit sets. They cannot be overridden.
pub const BUILTIN: [&str; 14] = [
    "allowed_commands",
    "base",
    "base_commit",
    "branch",
    "date",
    "handoff_file",
    "headline",
    "leg",
    "output_dir",
    "repo_url",
    "stage",
    "task",
    "title",
    "workflow",
];

/// A set of variable names.
pub(crate) struct Known {
    names: BTreeSet<String>,
    /// Whether there may be variables that could not be parsed.
    uncertain: bool,
}

impl Known {
    /// Creates a set with the built-in names and `known`.
    pub(crate) fn new(known: &[String]) -> Self {
        let builtin = BUILTIN.iter().map(|&name| name.to_owned());
        Self { names: builtin.chain(known.iter().cloned()).collect(), uncertain: false }
    }

    /// Adds names.
    pub(crate) fn extend<'n>(&mut self, names: impl Iterator<Item = &'n str>) {
        self.names.extend(names.map(str::to_owned));
    }

    /// Marks that some variable could not be parsed. An unknown name may then be that variable.
    pub(crate) fn uncertain(&mut self) {
        self.uncertain = true;
    }

    /// Returns what is wrong with a name: the mistake and a suggestion.
    pub(super) fn check(&self, name: &str) -> Option<(String, Option<String>)> {
        if self.uncertain || self.names.contains(name) {
            return None;
        }
        let hint = did_you_mean(name, "known are", self.names.iter().map(String::as_str));
        Some((format!("unknown variable {}", quoted(name)), hint))
    }
}

/// Reports a variable with the name of a built-in one.
pub(crate) fn refuse_builtin(source: &Source<'_>, name: &At<Name>) {
    if BUILTIN.contains(&name.value.as_str()) {
        let what = format!("the variable {} is built in", quoted(name.value.as_str()));
        source.report(name.place, what, Some("choose another name".to_owned()));
    }
}
