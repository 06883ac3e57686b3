//! Sends an adaptive card to a channel of Microsoft Teams.

use acquit_core::config::channel::Teams;
use serde_json::{Value, json};

use super::incoming::{self, LABEL, TITLE, cut};
use super::{Envelope, Error, Notice, Secrets, Send};

/// Maximum size of the text. Teams refuses a message of more than 28 KB, which it counts as UTF-16 or as UTF-8. The rest
/// is for the card around it and its links.
const TEXT: usize = 20_000;

impl Send for Teams {
    fn send(&self, envelope: &Envelope<'_>, secrets: &Secrets<'_>) -> Result<(), Error> {
        incoming::post(&self.secret, secrets, &body(envelope.notice))
    }
}

/// Returns the message.
pub(super) fn body(notice: &Notice) -> Value {
    let title = cut(&notice.title, TITLE, char::len_utf16);
    let mut card = json!({
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [
            { "type": "TextBlock", "text": title, "weight": "bolder", "size": "medium", "wrap": true },
            { "type": "TextBlock", "text": cut(&notice.text, TEXT, size), "wrap": true },
        ],
    });
    let open = |title: &str, link: &str| {
        let title = cut(title, LABEL, char::len_utf16);
        json!({ "type": "Action.OpenUrl", "title": title, "url": link })
    };
    let answers = notice.answers.iter().map(|answer| open(&answer.label, &answer.link));
    let actions: Vec<_> = answers.chain(notice.link.iter().map(|link| open("Open", link))).collect();
    if !actions.is_empty() {
        card["actions"] = json!(actions);
    }
    json!({
        "type": "message",
        "attachments": [{
            "contentType": "application/vnd.microsoft.card.adaptive",
            "contentUrl": null,
            "content": card,
        }],
    })
}

/// Returns the maximum number of bytes that a character takes in JSON.
fn size(one: char) -> usize {
    match one {
        '"' | '\\' | '\n' | '\r' | '\t' => 4,
        control if control.is_ascii_control() => 12,
        other => other.len_utf8().max(2 * other.len_utf16()),
    }
}
