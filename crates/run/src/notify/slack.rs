//! Sends to a Slack channel.

use acquit_core::config::channel::Slack;
use serde_json::{Value, json};

use super::incoming::{self, LABEL, TITLE, cut};
use super::{Envelope, Error, Notice, Secrets, Send};

/// Maximum length of the text, which is in one section with the title. Slack refuses a message with a section of more
/// than 3,000 characters.
const TEXT: usize = 3_000 - TITLE - "**\n".len();

impl Send for Slack {
    fn send(&self, envelope: &Envelope<'_>, secrets: &Secrets<'_>) -> Result<(), Error> {
        incoming::post(&self.secret, secrets, &body(envelope.notice))
    }
}

/// Returns the message. Links are in a separate section, so that a long text does not push them out.
pub(super) fn body(notice: &Notice) -> Value {
    let title = inert(&cut(&notice.title, TITLE, size));
    let section = |text: String| json!({ "type": "section", "text": { "type": "mrkdwn", "text": text } });
    let link = |to: &str, label: &str| {
        format!("<{}|{}>", inert(to).replace('|', "%7C"), inert(&cut(label, LABEL, size)).replace('|', "/"))
    };
    let open = notice.link.iter().map(|to| link(to, "Open"));
    let answers = notice.answers.iter().map(|answer| link(&answer.link, &answer.label));
    let links: Vec<String> = open.chain(answers).collect();
    let mut blocks = vec![section(format!("*{title}*\n{}", inert(&cut(&notice.text, TEXT, size))))];
    if !links.is_empty() {
        blocks.push(section(links.join("\n")));
    }
    json!({ "text": title, "blocks": blocks })
}

/// Escapes `<`, with which Slack's mentions, channels and links start.
fn inert(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Returns the length of a character after [`inert`].
fn size(one: char) -> usize {
    match one {
        '&' => "&amp;".len(),
        '<' | '>' => "&lt;".len(),
        other => other.len_utf16(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn text_of_others_mentions_nobody() {
        assert_eq!(super::inert("<!channel> a & b"), "&lt;!channel&gt; a &amp; b");
    }
}
