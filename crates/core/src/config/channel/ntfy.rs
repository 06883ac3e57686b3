//! `kind = "ntfy"`: a topic of an ntfy server.

use super::{Fields, Kind};
use crate::toml_reader::quoted;

/// Default server.
const SERVER: &str = "https://ntfy.sh";

/// Maximum length of a topic.
const LONGEST: usize = 64;

/// A topic of an ntfy server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ntfy {
    /// Server address.
    pub url: String,
    /// Topic name.
    pub topic: String,
    /// Name of the secret with the access token.
    pub token: Option<String>,
}

impl Kind for Ntfy {
    const WORD: &'static str = "ntfy";
    const KEYS: &'static [&'static str] = &["url", "topic", "token"];

    fn read(fields: &mut Fields<'_, '_, '_>) -> Option<Self> {
        let url = fields.url();
        let topic = fields.table.string("topic");
        fields.table.require("topic", "name one that is hard to guess: whoever knows it can read it");
        let token = fields.secret("token");
        if let (Some(url), Some(_)) = (&url, &token) {
            fields.encrypted(url);
        }
        let topic = topic?;
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if topic.value.is_empty() || topic.value.len() > LONGEST || !topic.value.chars().all(plain) {
            let what = format!("{} is not a topic", quoted(&topic.value));
            let hint = "letters, digits, `_` and `-`, at most 64 of them".to_owned();
            fields.table.source.report(topic.place, what, Some(hint));
        }
        Some(Self { url: url.unwrap_or_else(|| SERVER.to_owned()), topic: topic.value, token })
    }
}
