//! Keys with the same meaning in configuration, workflows and agent definitions.

use crate::toml_reader::{At, Source, Table, quoted};

/// Maximum length of the user's part of a branch name. File systems limit a name to 255 bytes, and acquit's part
/// follows it.
const REF_LIMIT: usize = 120;

/// Maximum number of turns. More is effectively no limit.
const MOST_TURNS: u32 = 100_000;

/// Maximum number of legs at the same time. More is effectively no limit.
const MOST_AT_ONCE: u32 = 1_000_000;

/// Returns whether a text can be a model name. It becomes an argument, so it must not look like an option.
pub fn is_model(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('-') && !text.contains(|c: char| c.is_control() || c == ' ')
}

/// Reads `model`.
pub(crate) fn model(table: &mut Table<'_, '_>) -> Option<String> {
    let model = table.string("model")?;
    check_model(table, &model);
    Some(model.value)
}

pub(crate) fn check_model(table: &Table<'_, '_>, model: &At<String>) {
    let text = model.value.as_str();
    if !is_model(text) {
        let hint = "write it as the agent knows it, such as \"claude-sonnet-4-5\"".to_owned();
        table.source.report(model.place, format!("{} is not the name of a model", quoted(text)), Some(hint));
    }
}

/// Reads `turns`.
pub(crate) fn turns(table: &mut Table<'_, '_>) -> Option<u32> {
    let value = table.value("turns")?;
    let turns = value.count(MOST_TURNS)?;
    if turns == 0 {
        let hint = Some("leave it out for no limit".to_owned());
        table.source.report(value.place, "`turns` must not be zero", hint);
    }
    Some(turns)
}

/// Reads `at_once`.
pub(crate) fn at_once(table: &mut Table<'_, '_>) -> Option<u32> {
    let value = table.value("at_once")?;
    let most = value.count(MOST_AT_ONCE)?;
    if most == 0 {
        let hint = Some("leave it out for no limit".to_owned());
        table.source.report(value.place, "`at_once` must not be zero", hint);
    }
    Some(most).filter(|most| *most > 0)
}

/// Reads the secrets of an agent or a stage, without duplicates.
pub(crate) fn grants(table: &mut Table<'_, '_>) -> Vec<At<String>> {
    let mut names: Vec<At<String>> = Vec::new();
    for name in table.strings("secrets").unwrap_or_default() {
        if names.iter().any(|known| known.value == name.value) {
            let what = format!("the secret {} is there twice", quoted(&name.value));
            table.source.report(name.place, what, Some("remove one".to_owned()));
        } else {
            names.push(name);
        }
    }
    names
}

/// Reads `branch_prefix`.
pub(crate) fn branch_prefix(table: &mut Table<'_, '_>) -> Option<String> {
    let prefix = table.string("branch_prefix")?;
    check_ref(table.source, &prefix, &format!("{}task", prefix.value));
    Some(prefix.value)
}

/// Reports a name that git would refuse as a branch.
pub(crate) fn check_ref(source: &Source<'_>, written: &At<String>, name: &str) {
    let bad_part = |part: &str| {
        let lock = part.len() >= 5 && part.as_bytes()[part.len() - 5..].eq_ignore_ascii_case(b".lock");
        part.is_empty() || part.starts_with('.') || part.ends_with('.') || lock
    };
    let bad_character = |c: char| c.is_control() || c == ' ' || "~^:?*[\\".contains(c);
    let bad = name.len() > REF_LIMIT
        || name.starts_with('-')
        || name == "@"
        || name == "HEAD"
        || name.contains("..")
        || name.contains("@{")
        || name.contains(bad_character)
        || name.split('/').any(bad_part);
    if bad {
        let what = format!("{} does not make a branch that git accepts", quoted(&written.value));
        let hint = "letters, digits, `-`, `_` and single `/` are safe".to_owned();
        source.report(written.place, what, Some(hint));
    }
}
