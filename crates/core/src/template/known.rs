//! The variables that a template may name, so that a wrong one is found before anything is spawned.

use std::collections::BTreeSet;

use crate::ids::Name;
use crate::toml_reader::{At, Source, did_you_mean, quoted};

/// The names of the variables that acquit sets itself. Nobody else can set them.
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

/// The names of variables.
pub(crate) struct Known {
    names: BTreeSet<String>,
    /// Whether a variable may exist that could not be read.
    uncertain: bool,
}

impl Known {
    /// Those that are built in, and these.
    pub(crate) fn new(known: &[String]) -> Self {
        let builtin = BUILTIN.iter().map(|&name| name.to_owned());
        Self { names: builtin.chain(known.iter().cloned()).collect(), uncertain: false }
    }

    /// These too.
    pub(crate) fn extend<'n>(&mut self, names: impl Iterator<Item = &'n str>) {
        self.names.extend(names.map(str::to_owned));
    }

    /// Some variable could not be read: an unknown one may be that.
    pub(crate) fn uncertain(&mut self) {
        self.uncertain = true;
    }

    /// What is wrong with a name: the mistake and what could have been meant.
    pub(super) fn check(&self, name: &str) -> Option<(String, Option<String>)> {
        if self.uncertain || self.names.contains(name) {
            return None;
        }
        let hint = did_you_mean(name, "known are", self.names.iter().map(String::as_str));
        Some((format!("unknown variable {}", quoted(name)), hint))
    }
}

/// Notes a variable that has the name of one that is always there.
pub(crate) fn refuse_builtin(source: &Source<'_>, name: &At<Name>) {
    if BUILTIN.contains(&name.value.as_str()) {
        let what = format!("the variable {} is built in", quoted(name.value.as_str()));
        source.report(name.place, what, Some("choose another name".to_owned()));
    }
}
