//! `kind = "webhook"`: a signed HTTP request to a server of the user's own.

use super::{Fields, Kind};

/// A server that takes signed requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhook {
    /// Where.
    pub url: String,
    /// The secret that requests are signed with.
    pub secret: String,
}

impl Kind for Webhook {
    const WORD: &'static str = "webhook";
    const KEYS: &'static [&'static str] = &["url", "secret"];

    fn read(fields: &mut Fields<'_, '_, '_>) -> Option<Self> {
        let url = fields.url();
        fields.table.require("url", "say where: url = \"https://ci.example.com/acquit\"");
        let secret = fields.secret("secret");
        let hint = "requests are signed with it: secret = \"HOOK_KEY\", declared in [secrets]";
        fields.table.require("secret", hint);
        Some(Self { url: url?, secret: secret? })
    }
}
