//! `kind = "slack"`: a Slack channel, by an incoming webhook.

use super::{Fields, Kind};

/// A Slack channel, by an incoming webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slack {
    /// The secret with the webhook's address.
    pub secret: String,
}

impl Kind for Slack {
    const WORD: &'static str = "slack";
    const KEYS: &'static [&'static str] = &["secret"];

    fn read(fields: &mut Fields<'_, '_, '_>) -> Option<Self> {
        Some(Self { secret: fields.incoming_webhook("SLACK_WEBHOOK")? })
    }
}
