//! Shared code of the JSON-lines parsers: reading without building a tree, and handling lines that are not understood.
//!
//! Agents print whole files as one line, and add kinds and fields with every version. So a line is read into the few
//! fields that matter, by reference. The rest is skipped with no more work than JSON requires, however deep it is. Only
//! the beginning of a large text is decoded. Key order does not matter.

use std::borrow::Cow;

use acquit_core::agent::{AgentEvent, TEXT_LIMIT};
use serde::Deserialize;
use serde_json::value::RawValue;

/// Maximum length of a line to read; the rest is skipped. Agents print whole files as one line of JSON, and no viewer
/// shows megabytes of it.
pub(crate) const LINE_LIMIT: usize = 1024 * 1024;

/// Maximum size of a tool's input or result to keep. Larger than what is shown, so that a secret at the cut is still
/// complete when it is redacted.
pub(super) const TAKEN: usize = 4 * TEXT_LIMIT;

/// Maximum number of parts of a message to read. So a line full of empty parts costs no more than a long one.
pub(super) const PARTS: usize = 1_000;

/// Length of the longest JSON escape: a surrogate pair.
const ESCAPE: usize = 12;

/// A short string, borrowed unless it contains escapes. An `Option<Cow<str>>` would always be copied.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub(super) struct Word<'a>(#[serde(borrow)] Cow<'a, str>);

impl Word<'_> {
    pub(super) fn into_owned(self) -> String {
        self.0.into_owned()
    }
}

impl std::ops::Deref for Word<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// Parses a line of JSON and passes it to `take`. Reports a line that is not JSON as raw text, and one with another
/// structure as unknown.
pub(super) fn line<'a, T: Deserialize<'a>>(
    line: &'a [u8],
    said: &mut Vec<AgentEvent>,
    take: impl FnOnce(T, &mut Vec<AgentEvent>),
) {
    let line = line.trim_ascii();
    if line.is_empty() {
        return;
    }
    let Ok(text) = std::str::from_utf8(line) else {
        return said.push(raw(&String::from_utf8_lossy(&line[..line.len().min(TAKEN)])));
    };
    match serde_json::from_str(text) {
        Ok(known) => take(known, said),
        Err(_) => said.push(strange(text)),
    }
}

/// Closes JSON that was cut at the line limit, so that its beginning can be parsed.
pub(super) fn whole(line: &[u8]) -> Cow<'_, [u8]> {
    if line.len() < LINE_LIMIT {
        return Cow::Borrowed(line);
    }
    // The cut may be inside a character.
    let text = match std::str::from_utf8(line) {
        Ok(text) => text,
        Err(error) if line.len() - error.valid_up_to() < 4 => {
            std::str::from_utf8(&line[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return Cow::Borrowed(line),
    };
    mended(text).map_or(Cow::Borrowed(line), |text| Cow::Owned(text.into_bytes()))
}

/// Decodes a JSON value, if it has the expected type.
pub(super) fn part<'a, T: Deserialize<'a>>(value: Option<&'a RawValue>) -> Option<T> {
    serde_json::from_str(value?.get()).ok()
}

/// Decodes the items of a list, up to the limit. A single value counts as a list.
pub(super) fn parts<'a, T: Deserialize<'a>>(value: Option<&'a RawValue>) -> Vec<T> {
    let Some(value) = value else { return Vec::new() };
    if !value.get().starts_with('[') {
        return part(Some(value)).into_iter().collect();
    }
    let list: Vec<&RawValue> = part(Some(value)).unwrap_or_default();
    list.into_iter().take(PARTS).filter_map(|value| part(Some(value))).collect()
}

/// Returns text from a string or from parts with a `text`. At most about [`TAKEN`].
pub(super) fn words(value: Option<&RawValue>) -> String {
    #[derive(Deserialize)]
    struct Part<'a> {
        #[serde(borrow, default)]
        text: Option<&'a RawValue>,
    }
    let Some(value) = value else { return String::new() };
    match value.get().as_bytes().first() {
        Some(b'"') => beginning(value),
        Some(b'[' | b'{') => {
            let mut words = String::new();
            for part in parts::<Part<'_>>(Some(value)) {
                let Some(text) = part.text.filter(|_| words.len() < TAKEN) else { continue };
                if !words.is_empty() {
                    words.push('\n');
                }
                words.push_str(&beginning(text));
            }
            words
        }
        _ => String::new(),
    }
}

/// Decodes the beginning of a string. Does not even decode the rest of a long one. Empty if it is not a string.
fn beginning(value: &RawValue) -> String {
    let literal = value.get();
    if literal.len() <= 2 * TAKEN {
        return serde_json::from_str(literal).unwrap_or_default();
    }
    let cut = mended(at_most(literal, TAKEN));
    cut.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

/// Decodes a whole string.
pub(super) fn text(value: Option<&RawValue>) -> Option<String> {
    serde_json::from_str(value?.get()).ok()
}

/// Returns JSON as written, shortened.
pub(super) fn shown(value: Option<&RawValue>) -> String {
    value.map(|value| at_most(value.get(), TAKEN).to_owned()).unwrap_or_default()
}

/// Reports a line that is not understood.
fn strange(text: &str) -> AgentEvent {
    #[derive(Deserialize)]
    struct Kind<'a> {
        #[serde(rename = "type", borrow)]
        kind: Cow<'a, str>,
        #[serde(borrow, default)]
        subtype: Option<Word<'a>>,
    }
    match serde_json::from_str::<Kind<'_>>(text) {
        Ok(Kind { kind, subtype: None }) => unknown(&kind),
        Ok(Kind { kind, subtype: Some(subtype) }) => unknown(&format!("{kind}/{}", &*subtype)),
        Err(_) if text.len() >= LINE_LIMIT => unknown("a line that is too long"),
        Err(_) => raw(text),
    }
}

/// Reports a record of an unknown kind.
pub(super) fn unknown(kind: &str) -> AgentEvent {
    /// Maximum length of a kind.
    const NAME: usize = 100;
    AgentEvent::Unknown { kind: at_most(kind, NAME).to_owned() }
}

/// Reports a line as raw text.
pub(super) fn raw(text: &str) -> AgentEvent {
    AgentEvent::Raw { text: at_most(text, TAKEN).to_owned() }
}

/// Truncates text at a character boundary.
pub(super) fn at_most(text: &str, limit: usize) -> &str {
    if text.len() <= limit {
        return text;
    }
    let mut end = limit;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Closes truncated JSON: first an open string, then everything around it. `None` if it is not valid up to the cut.
fn mended(text: &str) -> Option<String> {
    let mut open = Vec::new();
    let (mut within, mut escaped) = (false, false);
    let mut last_escape = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if within => {
                escaped = true;
                // The second half of a surrogate pair belongs to the first.
                if at - last_escape != ESCAPE / 2 || !text[last_escape..].starts_with("\\ud") {
                    last_escape = at;
                }
            }
            b'"' => within = !within,
            b'{' if !within => open.push('}'),
            b'[' if !within => open.push(']'),
            b'}' | b']' if !within => drop(open.pop()?),
            _ => {}
        }
    }
    // An escape near the end may be incomplete, so drop it.
    let cut = within && last_escape > 0 && text.len() - last_escape < ESCAPE;
    let mut mended = text[..if cut { last_escape } else { text.len() }].to_owned();
    if within {
        mended.push('"');
    }
    mended.extend(open.iter().rev());
    Some(mended)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_cut_off_the_beginning_can_be_read() {
        let whole =
            r#"{"type":"x","list":[1,{"text":"a \"quoted\" \u00e4 \ud83d\ude00 end \\"}],"more":"ok"}"#;
        for end in 30..whole.len() {
            let Some(text) = whole.get(..end).and_then(mended) else { continue };
            let within = end > whole.find("\"a ").unwrap() && end <= whole.find("\"}]").unwrap();
            let read = serde_json::from_str::<serde_json::Value>(&text);
            assert!(read.is_ok() || !within, "{text}");
        }
        assert_eq!(mended("]"), None);
    }

    #[test]
    fn of_a_long_text_the_beginning_is_decoded() {
        let long = format!(r#""a\n{}\u00e4""#, "x\\n".repeat(4 * TAKEN));
        let value: Box<RawValue> = serde_json::from_str(&long).unwrap();
        let words = words(Some(&value));
        assert!(words.starts_with("a\nx\nx\n") && words.len() <= TAKEN && words.len() > TAKEN / 3);
    }
}
