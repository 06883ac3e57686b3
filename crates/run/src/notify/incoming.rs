//! Incoming webhooks of chat services. The address is the secret, so no error message shows it.

use acquit_core::config::channel::is_encrypted;
use serde_json::Value;

use super::{Error, Secrets, http};

/// Maximum length of a title.
pub(super) const TITLE: usize = 250;
/// Maximum length of the label of a link.
pub(super) const LABEL: usize = 60;

/// Posts JSON to the address in a secret.
pub(super) fn post(secret: &str, secrets: &Secrets<'_>, body: &Value) -> Result<(), Error> {
    let address = secrets(secret)?;
    let address = String::from_utf8_lossy(address.bytes());
    let address = address.trim();
    if !is_encrypted(address) {
        return Err(Error::Away(format!(
            "the secret {secret} is not the address of a webhook; it must begin with https://"
        )));
    }
    match http::post(address, &[], None, &body.to_string()) {
        // A connection error can name the address.
        Err(Error::Away(words)) => Err(Error::Away(words.replace(address, "the webhook's address"))),
        done => done.map(drop),
    }
}

/// Returns as much of a text as fits, with a mark where it ends early. `size` says how much of the limit a character
/// takes: services refuse a message that is too long, and each counts in its own way.
pub(super) fn cut(text: &str, limit: usize, size: impl Fn(char) -> usize) -> String {
    const MARK: char = '…';
    if text.chars().map(&size).sum::<usize>() <= limit {
        return text.to_owned();
    }
    let mut room = limit.saturating_sub(size(MARK));
    let fits = |one: &char| {
        let left = room.checked_sub(size(*one));
        room = left.unwrap_or(0);
        left.is_some()
    };
    text.chars().take_while(fits).chain([MARK]).collect()
}

#[cfg(test)]
mod tests {
    //! The documented formats of the services: Slack's reference of blocks, Discord's OpenAPI description of
    //! webhooks, and the schema of adaptive cards with the limit of Teams.

    use proptest::prelude::*;

    use super::*;
    use crate::notify::{AnswerWay, Notice, discord, slack, teams};

    fn units(value: &Value) -> usize {
        value.as_str().expect("a text").encode_utf16().count()
    }

    fn has_only(value: &Value, known: &[&str]) {
        let fields = value.as_object().expect("an object");
        let unknown: Vec<&String> = fields.keys().filter(|name| !known.contains(&name.as_str())).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }

    fn is_link(value: &Value) {
        assert!(value.as_str().is_some_and(|url| url.starts_with("https://")) && units(value) <= 2_048);
    }

    fn accepted_by_slack(body: &Value) {
        has_only(body, &["text", "blocks"]);
        assert!(units(&body["text"]) <= 4_000);
        let blocks = body["blocks"].as_array().expect("blocks");
        assert!((1..=50).contains(&blocks.len()));
        for block in blocks {
            has_only(block, &["type", "text"]);
            has_only(&block["text"], &["type", "text"]);
            assert_eq!(
                (block["type"].as_str(), block["text"]["type"].as_str()),
                (Some("section"), Some("mrkdwn"))
            );
            let text = &block["text"]["text"];
            assert!((1..=3_000).contains(&units(text)), "{} characters", units(text));
            // `&` starts nothing but the three escapes, also where a text was cut.
            let parts = text.as_str().unwrap_or_default().split('&').skip(1);
            let escapes = ["amp;", "lt;", "gt;"];
            assert!(parts.into_iter().all(|part| escapes.iter().any(|escape| part.starts_with(escape))));
        }
    }

    fn accepted_by_discord(body: &Value) {
        has_only(body, &["embeds", "allowed_mentions"]);
        assert_eq!(body["allowed_mentions"], serde_json::json!({ "parse": [] }));
        let [embed] = body["embeds"].as_array().expect("embeds").as_slice() else { panic!("one embed") };
        has_only(embed, &["title", "description", "url"]);
        let (title, description) = (units(&embed["title"]), units(&embed["description"]));
        assert!(
            title <= 256 && description <= 4_096 && title + description <= 6_000,
            "{title} {description}"
        );
        embed.get("url").into_iter().for_each(is_link);
    }

    fn accepted_by_teams(body: &Value) {
        let text = body.to_string();
        assert!(text.len() <= 28_000, "{} bytes", text.len());
        assert!(2 * text.encode_utf16().count() <= 28_000, "{} in UTF-16", 2 * text.encode_utf16().count());
        has_only(body, &["type", "attachments"]);
        assert_eq!(body["type"], "message");
        let [card] = body["attachments"].as_array().expect("attachments").as_slice() else {
            panic!("one card")
        };
        has_only(card, &["contentType", "contentUrl", "content"]);
        assert_eq!(card["contentType"], "application/vnd.microsoft.card.adaptive");
        let card = &card["content"];
        has_only(card, &["$schema", "type", "version", "body", "actions"]);
        assert_eq!((card["type"].as_str(), card["version"].as_str()), (Some("AdaptiveCard"), Some("1.4")));
        for block in card["body"].as_array().expect("a body") {
            has_only(block, &["type", "text", "weight", "size", "wrap"]);
            assert_eq!(block["type"], "TextBlock");
        }
        let actions = card.get("actions").and_then(Value::as_array).into_iter().flatten();
        for action in actions {
            has_only(action, &["type", "title", "url"]);
            assert_eq!(action["type"], "Action.OpenUrl");
            is_link(&action["url"]);
        }
    }

    /// Texts from a few words to a long report, with signs that services escape and letters of several bytes.
    fn words() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just("word "),
            Just("<!channel> & "),
            Just("&&&&&&&&"),
            Just("漢字"),
            Just("🦀"),
            Just("\n"),
            Just("\"\\"),
            Just("\u{1}")
        ];
        (piece, 0_usize..8_000).prop_map(|(piece, times)| piece.repeat(times))
    }

    fn notice() -> impl Strategy<Value = Notice> {
        let way = words().prop_map(|label| AnswerWay {
            label,
            link: format!("https://acquit.example.com:4664/answer/{}?choice=1", "t".repeat(160)),
        });
        (words(), words(), any::<bool>(), proptest::collection::vec(way, 0..4)).prop_map(
            |(title, text, linked, answers)| Notice {
                event: "needs_person".to_owned(),
                title: format!("T-1: {title}"),
                text,
                link: linked.then(|| "https://acquit.example.com:4664/inbox#request-T-1-1".to_owned()),
                task: Some("T-1".to_owned()),
                project: None,
                request: Some(1),
                answers,
                replaces: None,
                page: None,
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn chat_services_accept_every_message_however_long(notice in notice()) {
            accepted_by_slack(&slack::body(&notice));
            accepted_by_discord(&discord::body(&notice));
            accepted_by_teams(&teams::body(&notice));
            // No link is lost, however long the text is.
            for body in [slack::body(&notice), discord::body(&notice), teams::body(&notice)] {
                prop_assert_eq!(body.to_string().matches("/answer/").count(), notice.answers.len());
            }
        }
    }

    #[test]
    fn a_short_text_is_whole_and_a_long_one_is_cut_between_letters() {
        assert_eq!(cut("漢字", 2, char::len_utf16), "漢字");
        assert_eq!(cut("漢字字", 2, char::len_utf16), "漢…");
        assert_eq!(cut("🦀🦀", 3, char::len_utf16), "🦀…");
    }
}
