//! What comes back from a request: comments of people who may write to the project, and checks that failed.
//!
//! Everybody can comment on a public project, so a comment starts work only if its author could have pushed that work
//! themselves. Texts are bounded, and stay untrusted.

use acquit_core::agent::shorten;
use acquit_core::delivery::Comment;
use acquit_core::failure::Location;
use serde_json::Value;

/// The longest comment that is passed on: a few pages.
pub(super) const LONGEST: usize = 8 * 1024;
/// So many comments of a request are passed on at once, the oldest first: the rest comes with the next look.
pub(super) const MOST: usize = 50;
/// What our own answers have in them, so that they are not taken for a reviewer's.
pub(super) const OWN: &str = "<!-- acquit";

/// Makes a comment of what a forge says. `None` where nothing is said, or by ourselves.
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

/// A text of an answer, or nothing.
pub(super) fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The longest address of a page: longer ones are cut by somebody on their way to a person.
const ADDRESS: usize = 2_000;

/// Whether this is the address of a page, which people are shown and follow.
pub(super) fn is_page(url: &str) -> bool {
    let plain = |c: char| !c.is_whitespace() && !c.is_control() && !acquit_core::prompt::is_hidden(c);
    ["https://", "http://"].iter().any(|scheme| url.starts_with(scheme))
        && url.len() <= ADDRESS
        && url.chars().all(plain)
}

/// The answer to a thread whose wish was done.
pub fn done(commit: &str) -> String {
    format!("Done in {commit}.\n\n{OWN} answer {commit} -->")
}
