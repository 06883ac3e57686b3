//! Feedback on a pull request: comments of people with write access, and failed checks.
//!
//! Everyone can comment on a public project, so a comment starts work only if its author could have pushed that work
//! themselves. Texts are size-limited and stay untrusted.

use acquit_core::agent::shorten;
use acquit_core::delivery::Comment;
use acquit_core::failure::Location;
use serde_json::Value;

/// Maximum length of a comment: a few pages.
pub(super) const LONGEST: usize = 8 * 1024;
/// Maximum number of comments to fetch at once, oldest first. The rest follows with the next fetch.
pub(super) const MOST: usize = 50;
/// Marker in our own answers, so that they are not mistaken for a reviewer's.
pub(super) const OWN: &str = "<!-- acquit";

/// Converts a forge's answer into a comment. `None` if it is empty or our own.
pub(super) fn comment(
    id: String,
    by: &str,
    text: &str,
    place: Option<(&str, u64)>,
    thread: Option<String>,
) -> Option<Comment> {
    if text.trim().is_empty() || text.contains(OWN) {
        return None;
    }
    let location = place.map(|(path, line)| Location {
        path: shorten(path, 500),
        line: u32::try_from(line).unwrap_or(u32::MAX),
    });
    Some(Comment { id, by: shorten(by, 100), text: shorten(text.trim(), LONGEST), location, thread })
}

/// Returns a string of an answer, or an empty one.
pub(super) fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Maximum length of a page address. Longer ones get truncated on their way to a person.
const ADDRESS: usize = 2_000;

/// Returns whether this is the address of a page, safe to show to people who follow it.
pub(super) fn is_page(url: &str) -> bool {
    let plain = |c: char| !c.is_whitespace() && !c.is_control() && !acquit_core::prompt::is_hidden(c);
    ["https://", "http://"].iter().any(|scheme| url.starts_with(scheme))
        && url.len() <= ADDRESS
        && url.chars().all(plain)
}

/// Returns the answer to a thread whose request was done.
pub fn done(commit: &str) -> String {
    format!("Done in {commit}.\n\n{OWN} answer {commit} -->")
}
