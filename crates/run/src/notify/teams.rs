//! Sends an adaptive card to a channel of Microsoft Teams.

use acquit_core::agent::shorten;
use acquit_core::config::channel::Teams;
use serde_json::json;

use super::{Envelope, Error, Secrets, Send, incoming};

/// Maximum length that fits into a message of 28 KB with everything around it.
const TEXT: usize = 12_000;

/// Maximum length of a button's label.
const LABEL: usize = 60;

impl Send for Teams {
    fn send(&self, envelope: &Envelope<'_>, secrets: &Secrets<'_>) -> Result<(), Error> {
        let notice = envelope.notice;
        let mut card = json!({
            "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
            "type": "AdaptiveCard",
            "version": "1.4",
            "body": [
                { "type": "TextBlock", "text": notice.title, "weight": "bolder", "size": "medium", "wrap": true },
                { "type": "TextBlock", "text": shorten(&notice.text, TEXT), "wrap": true },
            ],
        });
        let open = |title: &str, link: &str| json!({ "type": "Action.OpenUrl", "title": title, "url": link });
        let answers = notice.answers.iter().map(|answer| open(&shorten(&answer.label, LABEL), &answer.link));
        let actions: Vec<_> = answers.chain(notice.link.iter().map(|link| open("Open", link))).collect();
        if !actions.is_empty() {
            card["actions"] = json!(actions);
        }
        let body = json!({
            "type": "message",
            "attachments": [{
                "contentType": "application/vnd.microsoft.card.adaptive",
                "contentUrl": null,
                "content": card,
            }],
        });
        incoming::post(&self.secret, secrets, &body)
    }
}
