//! Sends to a topic of an ntfy server.

use acquit_core::config::channel::Ntfy;
use acquit_core::config::notify::Told;

use super::{Envelope, Error, Secrets, Send, http, sign};

/// Maximum length of a message; ntfy turns longer ones into a file.
const TEXT: usize = 3_500;

impl Send for Ntfy {
    fn send(&self, envelope: &Envelope<'_>, secrets: &Secrets<'_>) -> Result<(), Error> {
        let notice = envelope.notice;
        let token = self.token.as_deref().map(secrets).transpose()?;
        let urgent = notice.event == Told::NeedsPerson.word() || notice.event == Told::Failed.word();
        let mut body = serde_json::json!({
            "topic": self.topic,
            "title": notice.title,
            "message": acquit_core::agent::shorten(&notice.text, TEXT),
            "markdown": true,
            "priority": if urgent { 4 } else { 3 },
            "tags": [notice.event],
        });
        if let Some(link) = &notice.link {
            body["click"] = serde_json::Value::from(link.as_str());
        }
        let id = sign::short(envelope.key);
        let headers = [("X-Sequence-ID", id.as_str())];
        let bearer = token.as_ref().map(http::bearer);
        http::post(&self.url, &headers, bearer.as_ref(), &body.to_string()).map(drop)
    }
}
