//! `kind = "discord"`: a Discord channel, through a webhook.

use super::{Fields, Kind};

/// A Discord channel, through a webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discord {
    /// Name of the secret with the webhook address.
    pub secret: String,
}

impl Kind for Discord {
    const WORD: &'static str = "discord";
    const KEYS: &'static [&'static str] = &["secret"];

    fn read(fields: &mut Fields<'_, '_, '_>) -> Option<Self> {
        Some(Self { secret: fields.incoming_webhook("DISCORD_WEBHOOK")? })
    }
}
