//! Reads `[modes.<name>]` of a workflow: gates for all stages of a mode, and user-defined modes.
//!
//! A user-defined mode is a built-in mode under another name with additional instructions. The built-in mode decides
//! what the agent may change and how the stage ends, so that code which depends on modes need not know about others.

use std::collections::BTreeMap;

use super::Mode;
use super::stage::Part;
use crate::ids::Name;
use crate::template::Template;
use crate::toml_reader::{At, Place, Table, did_you_mean};

/// A mode in the file.
pub(super) struct ModeDraft {
    /// The built-in mode whose rules apply; `None` if it could not be parsed.
    pub(super) like: Option<Mode>,
    /// Instructions in addition to those of `like`.
    pub(super) instructions: Template,
    /// Gates of its stages that don't name any.
    pub(super) gates: Vec<At<Name>>,
}

/// The modes of a workflow, by name.
#[derive(Default)]
pub(super) struct Modes(BTreeMap<String, ModeDraft>);

impl Modes {
    /// Returns the settings of a mode.
    pub(super) fn get(&self, name: &str) -> Option<&ModeDraft> {
        self.0.get(name)
    }

    /// Returns the mode with this name. Reports an unknown one.
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

/// Places the mode's gates at the location of a stage that names none, so that mistakes are reported there.
pub(super) fn at(gates: &[At<Name>], place: Place) -> Vec<At<Name>> {
    gates.iter().map(|gate| At { value: gate.value.clone(), place }).collect()
}
