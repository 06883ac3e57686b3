//! Sends to a Slack channel.

use acquit_core::agent::shorten;
use acquit_core::config::channel::Slack;
use serde_json::json;

use super::{Envelope, Error, Secrets, Send, incoming};

/// Maximum length of a section.
const TEXT: usize = 2_900;

impl Send for Slack {
    fn send(&self, envelope: &Envelope<'_>, secrets: &Secrets<'_>) -> Result<(), Error> {
        let notice = envelope.notice;
        let mut text = format!("*{}*\n{}", inert(&notice.title), shorten(&inert(&notice.text), TEXT));
        if let Some(link) = &notice.link {
            text.push_str(&format!("\n<{}|Open>", inert(link).replace('|', "%7C")));
        }
        for answer in &notice.answers {
            let label = inert(&answer.label).replace('|', "/");
            text.push_str(&format!("\n<{}|{label}>", inert(&answer.link).replace('|', "%7C")));
        }
        let body = json!({
            "text": inert(&notice.title),
            "blocks": [{ "type": "section", "text": { "type": "mrkdwn", "text": text } }],
        });
        incoming::post(&self.secret, secrets, &body)
    }
}

/// Escapes `<`, with which Slack's mentions, channels and links start.
fn inert(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    #[test]
    fn text_of_others_mentions_nobody() {
        assert_eq!(super::inert("<!channel> a & b"), "&lt;!channel&gt; a &amp; b");
    }
}
