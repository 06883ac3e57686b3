//! `kind = "webhook"`: a signed HTTP request to the user's own server.

use super::{Fields, Kind};

/// A server that accepts signed HTTP requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhook {
    /// Address to send to.
    pub url: String,
    /// Name of the secret that signs the requests.
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
