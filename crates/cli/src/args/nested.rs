//! Suggestions for a verb that only exists below another one.

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::Args;

/// Names the verbs that have the missing verb below them, such as `task retry` for `retry`.
pub fn suggest_nested(error: &mut clap::Error) {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return;
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return };
    let mut found = Vec::new();
    for verb in Args::command().get_subcommands().filter(|verb| !verb.is_hide_set()) {
        let below = verb.get_subcommands().filter(|below| below.get_name() == word);
        found.extend(below.map(|below| format!("{} {}", verb.get_name(), below.get_name())));
    }
    if !found.is_empty() {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(found));
    }
}
