//! Sends to a topic of an ntfy server.

use acquit_core::config::channel::Ntfy;
use serde_json::json;

use super::{Envelope, Error, Secrets, Send, http, sign};

/// Maximum length of a message; ntfy turns longer ones into a file.
const TEXT: usize = 3_500;

/// Maximum number of buttons of a message.
const ACTIONS: usize = 3;

impl Send for Ntfy {
    fn send(&self, envelope: &Envelope<'_>, secrets: &Secrets<'_>) -> Result<(), Error> {
        let notice = envelope.notice;
        let token = self.token.as_deref().map(secrets).transpose()?;
        let mut body = json!({
            "topic": self.topic,
            "title": notice.title,
            "message": acquit_core::agent::shorten(&notice.text, TEXT),
            "markdown": true,
            "priority": match notice.replaces {
                // An answered question makes no sound.
                Some(_) => 1,
                None if notice.is_urgent() => 4,
                None => 3,
            },
            "tags": [notice.event],
        });
        if let Some(link) = &notice.link {
            body["click"] = json!(link);
        }
        let actions: Vec<_> = notice.answers.iter().take(ACTIONS).map(|answer| {
            json!({ "action": "view", "label": answer.label, "url": answer.link, "clear": true })
        }).collect();
        if !actions.is_empty() {
            body["actions"] = json!(actions);
        }
        let id = sign::short(envelope.place);
        let headers = [("X-Sequence-ID", id.as_str())];
        let bearer = token.as_ref().map(http::bearer);
        http::post(&self.url, &headers, bearer.as_ref(), &body.to_string()).map(drop)
    }

    fn can_replace(&self) -> bool {
        true
    }
}
