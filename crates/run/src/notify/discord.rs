//! Sends to a Discord channel.

use acquit_core::config::channel::Discord;
use serde_json::{Value, json};

use super::incoming::{self, LABEL, TITLE, cut};
use super::{Envelope, Error, Notice, Secrets, Send};

/// Maximum length of a description. Discord refuses a longer one.
const DESCRIPTION: usize = 4_096;

impl Send for Discord {
    fn send(&self, envelope: &Envelope<'_>, secrets: &Secrets<'_>) -> Result<(), Error> {
        incoming::post(&self.secret, secrets, &body(envelope.notice))
    }
}

/// Returns the message. Its links come last, and the text gets the room that they leave.
pub(super) fn body(notice: &Notice) -> Value {
    let mut links = String::new();
    for answer in &notice.answers {
        let label = answer.label.replace(['[', ']', '(', ')'], "");
        links.push_str(&format!("\n[{}](<{}>)", cut(&label, LABEL, char::len_utf16), answer.link));
    }
    let room = DESCRIPTION.saturating_sub(links.encode_utf16().count());
    let text = cut(&notice.text, room, char::len_utf16) + &links;
    let mut embed = json!({ "title": cut(&notice.title, TITLE, char::len_utf16), "description": text });
    if let Some(link) = &notice.link {
        embed["url"] = json!(link);
    }
    // Text of others must not mention anyone.
    json!({ "embeds": [embed], "allowed_mentions": { "parse": [] } })
}
