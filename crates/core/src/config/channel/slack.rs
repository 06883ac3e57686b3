//! `kind = "slack"`: a Slack channel, through an incoming webhook.

use super::{Fields, Kind};

/// A Slack channel, through an incoming webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slack {
    /// Name of the secret with the webhook address.
    pub secret: String,
}

impl Kind for Slack {
    const WORD: &'static str = "slack";
    const KEYS: &'static [&'static str] = &["secret"];

    fn read(fields: &mut Fields<'_, '_, '_>) -> Option<Self> {
        Some(Self { secret: fields.incoming_webhook("SLACK_WEBHOOK")? })
    }
}
