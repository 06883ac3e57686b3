//! Sends mail.

use acquit_core::config::channel::Email;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{Envelope, Error, Secrets, Send, sign, smtp};

/// Bytes of a header per encoded word: the most that fits with its delimiters.
const WORD: usize = 42;
/// Length of a base64 line in a body.
const LINE: usize = 76;

impl Send for Email {
    fn send(&self, envelope: &Envelope<'_>, secrets: &Secrets<'_>) -> Result<(), Error> {
        let password = self.password.as_deref().map(secrets).transpose()?;
        smtp::send(self, password.as_ref(), &message(self, envelope))
    }
}

/// Builds the message. A repeated one with the same key has the same id, so mail programs recognize it. All mails about
/// one task are one thread.
fn message(email: &Email, envelope: &Envelope<'_>) -> String {
    let notice = envelope.notice;
    let host = email.from.rsplit_once('@').map_or("acquit.invalid", |(_, host)| host);
    let date = jiff::Timestamp::from_second(envelope.seconds).unwrap_or_default();
    let date = date.to_zoned(jiff::tz::TimeZone::UTC).strftime("%a, %d %b %Y %H:%M:%S +0000").to_string();
    let mut head = vec![
        format!("From: <{}>", email.from),
        format!("To: {}", email.to.iter().map(|to| format!("<{to}>")).collect::<Vec<_>>().join(",\r\n ")),
        format!("Subject: {}", encoded(&notice.title)),
        format!("Date: {date}"),
        format!("Message-ID: <{}@{host}>", sign::short(envelope.key)),
        "Auto-Submitted: auto-generated".to_owned(),
        "MIME-Version: 1.0".to_owned(),
        "Content-Type: text/plain; charset=utf-8".to_owned(),
        "Content-Transfer-Encoding: base64".to_owned(),
    ];
    if let Some(task) = &notice.task {
        head.push(format!("References: <{}@{host}>", sign::short(task)));
    }
    let link = notice.link.as_ref().map(|link| format!("\n\n{link}")).unwrap_or_default();
    let answers = notice.answers.iter().map(|answer| format!("\n\n{}:\n{}", answer.label, answer.link));
    let answers = answers.collect::<Vec<_>>().concat();
    let body = STANDARD.encode(format!("{}{link}{answers}\n", notice.text));
    let lines: Vec<&str> =
        body.as_bytes().chunks(LINE).filter_map(|line| std::str::from_utf8(line).ok()).collect();
    format!("{}\r\n\r\n{}", head.join("\r\n"), lines.join("\r\n"))
}

/// Encodes a header as in RFC 2047, so that nothing in it can end the line.
fn encoded(text: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    for letter in text.chars() {
        if word.len() + letter.len_utf8() > WORD {
            words.push(std::mem::take(&mut word));
        }
        word.push(letter);
    }
    words.push(word);
    let words = words.iter().map(|word| format!("=?utf-8?B?{}?=", STANDARD.encode(word)));
    words.collect::<Vec<_>>().join("\r\n ")
}
