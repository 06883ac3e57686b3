//! `kind = "teams"`: a Microsoft Teams channel, through a workflow that posts when it receives a webhook request.

use super::{Fields, Kind};

/// A Microsoft Teams channel, through a workflow that posts when it receives a webhook request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Teams {
    /// Name of the secret with the webhook address.
    pub secret: String,
}

impl Kind for Teams {
    const WORD: &'static str = "teams";
    const KEYS: &'static [&'static str] = &["secret"];

    fn read(fields: &mut Fields<'_, '_, '_>) -> Option<Self> {
        Some(Self { secret: fields.incoming_webhook("TEAMS_WEBHOOK")? })
    }
}
