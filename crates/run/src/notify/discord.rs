//! Sends to a Discord channel.

use acquit_core::agent::shorten;
use acquit_core::config::channel::Discord;
use serde_json::json;

use super::{Envelope, Error, Secrets, Send, incoming};

/// The most that a description takes, with room for a link.
const TEXT: usize = 3_500;

/// The most that a title takes.
const TITLE: usize = 250;

impl Send for Discord {
    fn send(&self, envelope: &Envelope<'_>, secrets: &Secrets<'_>) -> Result<(), Error> {
        let notice = envelope.notice;
        let mut embed =
            json!({ "title": shorten(&notice.title, TITLE), "description": shorten(&notice.text, TEXT) });
        if let Some(link) = &notice.link {
            embed["url"] = json!(link);
        }
        // Text of others mentions nobody.
        let body = json!({ "embeds": [embed], "allowed_mentions": { "parse": [] } });
        incoming::post(&self.secret, secrets, &body)
    }
}
