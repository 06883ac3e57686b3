//! A pull request as its forge describes it: title, text and target branch. All of it was written by others.

use acquit_core::agent::shorten;
use serde_json::Value;

use super::error::Error;
use super::feedback::text;

/// Maximum length of a title. Forges allow about 255.
const LONGEST_TITLE: usize = 200;
/// Maximum length of the text: a few pages, like a comment.
const LONGEST_TEXT: usize = 8 * 1024;

/// A pull request of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Title.
    pub title: String,
    /// Description by its author.
    pub text: String,
    /// Address of its page.
    pub url: String,
    /// Target branch.
    pub base: String,
    /// Ref of its newest commit, in the target project.
    pub head: String,
}

/// The operation, for error messages.
pub(super) const DOING: &str = "look at the request";

/// Fields of an API's answer, as JSON pointers.
pub(super) struct Fields {
    pub(super) text: &'static str,
    pub(super) url: &'static str,
    pub(super) base: &'static str,
}

impl Seen {
    /// Reads it from an answer, with size limits.
    pub(super) fn read(answer: &Value, fields: &Fields, head: String) -> Result<Self, Error> {
        let base = text(answer, fields.base);
        if base.is_empty() {
            let words = "no branch that it is to be merged into".to_owned();
            return Err(Error::Nonsense { doing: DOING, words });
        }
        Ok(Self {
            title: shorten(text(answer, "/title").trim(), LONGEST_TITLE),
            text: shorten(text(answer, fields.text).trim(), LONGEST_TEXT),
            url: shorten(text(answer, fields.url), LONGEST_TITLE),
            base: base.to_owned(),
            head,
        })
    }
}

/// Parses a reference to a pull request: `12`, `#12`, `!12`, or the address of its page.
pub fn number(words: &str) -> Option<u64> {
    let plain = words.strip_prefix(['#', '!']).unwrap_or(words);
    if let Ok(number) = plain.parse() {
        return Some(number);
    }
    let (_, path) = words.split_once("://")?;
    let mut parts = path.split('/').skip_while(|part| !matches!(*part, "pull" | "merge_requests"));
    parts.next()?;
    parts.next()?.split(['?', '#']).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_called_by_number_or_page() {
        for (words, expected) in [
            ("12", Some(12)),
            ("#12", Some(12)),
            ("!12", Some(12)),
            ("https://github.com/acme/widget/pull/12", Some(12)),
            ("https://github.com/acme/widget/pull/12/files#diff", Some(12)),
            ("https://git.example.org/g/s/w/-/merge_requests/7?tab=x", Some(7)),
            ("https://github.com/acme/widget", None),
            ("my-branch", None),
            ("pull/12", None),
            ("-1", None),
        ] {
            assert_eq!(number(words), expected, "{words}");
        }
    }
}
