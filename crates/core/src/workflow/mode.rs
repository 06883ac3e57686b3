//! `[modes.<name>]` of a workflow: gates for every stage of a mode, and modes of the user's own.
//!
//! A mode of one's own is a built-in mode under another name, with instructions in addition. The built-in one decides what the turn
//! may change and how it ends, so nothing that depends on modes has to know others.

use std::collections::BTreeMap;

use super::Mode;
use super::stage::Part;
use crate::ids::Name;
use crate::template::Template;
use crate::toml_reader::{At, Place, Table, did_you_mean};

/// What a workflow says of a mode.
pub(super) struct ModeDraft {
    /// The mode whose rules hold; `None` if it could not be read.
    pub(super) like: Option<Mode>,
    /// What its agents are told beyond those of `like`.
    pub(super) instructions: Template,
    /// The gates of its stages that name none.
    pub(super) gates: Vec<At<Name>>,
}

/// The modes that a workflow speaks of, by name.
#[derive(Default)]
pub(super) struct Modes(BTreeMap<String, ModeDraft>);

impl Modes {
    /// What is said of a mode.
    pub(super) fn get(&self, name: &str) -> Option<&ModeDraft> {
        self.0.get(name)
    }

    /// The mode of that name. Notes one that nobody knows.
    pub(super) fn mode(&self, table: &Table<'_, '_>, name: &At<Name>) -> Option<Mode> {
        if let Some((_, mode)) = Mode::ALL.iter().find(|(word, _)| name.value == **word) {
            return Some(*mode);
        }
        if let Some(own) = self.get(name.value.as_str()) {
            return own.like;
        }
        let known = Mode::ALL.iter().map(|(word, _)| *word).chain(self.0.keys().map(String::as_str));
        let hint = did_you_mean(name.value.as_str(), "it can be", known);
        table.source.report(name.place, format!("unknown mode `{}`", name.value), hint);
        None
    }
}

/// Reads `[modes]`.
pub(super) fn modes(table: Table<'_, '_>, part: &Part<'_>, whole: &mut bool) -> Modes {
    let mut modes = BTreeMap::new();
    for (name, value) in table.named_entries() {
        let Some(table) = value.table() else { continue };
        let mut table = table.named(format!("mode `{}`", name.value));
        let built_in = Mode::ALL.iter().find(|(word, _)| name.value == **word).map(|(_, mode)| *mode);
        let like = table.word("like", &Mode::ALL);
        if let (Some(like), Some(_)) = (&like, built_in) {
            let hint = "give a mode of your own another name".to_owned();
            table.source.report(like.place, format!("the mode `{}` is built in", name.value), Some(hint));
        }
        if built_in.is_none() {
            table.require("like", "say which mode's rules hold: like = \"design\"");
        }
        let instructions = table.string("instructions");
        let instructions = instructions.map(|text| part.reader.inline(table.source, part.path, &text));
        let gates = super::stage::gates(&mut table, part, whole);
        table.finish();
        let like = built_in.or(like.map(|like| like.value));
        let draft = ModeDraft { like, instructions: instructions.unwrap_or_default(), gates };
        modes.insert(name.value.to_string(), draft);
    }
    Modes(modes)
}

/// Gates as a stage has them that names none itself: each stands where the stage does, for whoever is told of a mistake.
pub(super) fn at(gates: &[At<Name>], place: Place) -> Vec<At<Name>> {
    gates.iter().map(|gate| At { value: gate.value.clone(), place }).collect()
}
