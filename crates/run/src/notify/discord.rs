//! Sends to a Discord channel.

use acquit_core::agent::shorten;
use acquit_core::config::channel::Discord;
use serde_json::json;

use super::{Envelope, Error, Secrets, Send, incoming};

/// Maximum length of a description, with room for a link.
const TEXT: usize = 3_500;

/// Maximum length of the label of a link.
const LABEL: usize = 60;

/// Maximum length of a title.
const TITLE: usize = 250;

impl Send for Discord {
    fn send(&self, envelope: &Envelope<'_>, secrets: &Secrets<'_>) -> Result<(), Error> {
        let notice = envelope.notice;
        let mut text = shorten(&notice.text, TEXT);
        for answer in &notice.answers {
            let label = answer.label.replace(['[', ']', '(', ')'], "");
            text.push_str(&format!("\n[{}](<{}>)", shorten(&label, LABEL), answer.link));
        }
        let mut embed = json!({ "title": shorten(&notice.title, TITLE), "description": text });
        if let Some(link) = &notice.link {
            embed["url"] = json!(link);
        }
        // Text of others must not mention anyone.
        let body = json!({ "embeds": [embed], "allowed_mentions": { "parse": [] } });
        incoming::post(&self.secret, secrets, &body)
    }
}
