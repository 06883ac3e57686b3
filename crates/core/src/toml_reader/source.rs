//! The text of a file, and the mistakes found in it so far.

use std::cell::RefCell;
use std::ops::Range;

use toml::Spanned;
use toml::de::DeTable;

use super::shape::Shapes;
use super::{Mistake, Mistakes};

/// Maximum file size: a hundred times the longest workflow that a person would want to maintain.
const LARGEST: usize = 256 * 1024;

/// Maximum number of reported mistakes: more than anyone fixes before looking again.
const MOST_MISTAKES: usize = 50;

/// Maximum length of a shown line: the width of a wide terminal.
const LINE_SHOWN: usize = 240;

/// Maximum length of a quoted word.
const WORD_SHOWN: usize = 60;

/// A byte range in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl From<Range<usize>> for Place {
    fn from(range: Range<usize>) -> Self {
        Self { start: range.start, end: range.end }
    }
}

/// A value with its location.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At<T> {
    pub(crate) value: T,
    pub(crate) place: Place,
}

/// The text of a file, and its mistakes so far.
pub(crate) struct Source<'t> {
    file: &'t str,
    text: &'t str,
    found: RefCell<Vec<Found>>,
    /// Mistakes in files that this one refers to.
    elsewhere: RefCell<Vec<Mistake>>,
    /// What was requested so far.
    pub(super) shapes: Shapes,
}

struct Found {
    place: Place,
    what: String,
    hint: Option<String>,
}

impl<'t> Source<'t> {
    /// Parses the text as TOML. If that fails, nothing in it can be trusted, and reading ends here.
    pub(crate) fn parse(file: &'t str, text: &'t str) -> Result<(Self, Spanned<DeTable<'t>>), Mistakes> {
        let source = Self::plain(file, text);
        let nowhere = Place { start: 0, end: 0 };
        if text.len() > LARGEST {
            let what = format!("the file has {} bytes; {LARGEST} are allowed", text.len());
            source.report(nowhere, what, None);
            return Err(source.mistakes());
        }
        let (root, errors) = DeTable::parse_recoverable(text);
        if errors.is_empty() {
            return Ok((source, root));
        }
        for error in errors {
            let place = error.span().map_or(nowhere, Place::from);
            source.report(place, error.message(), hint_for(error.message()).map(str::to_owned));
        }
        Err(source.mistakes())
    }

    /// Creates a source for a text that is not TOML.
    pub(crate) fn plain(file: &'t str, text: &'t str) -> Self {
        let (found, elsewhere) = (RefCell::default(), RefCell::default());
        Self { file, text, found, elsewhere, shapes: Shapes::new() }
    }

    /// Takes over the mistakes of a file that this one refers to. A file that is referred to twice is reported once.
    pub(crate) fn adopt(&self, other: Source<'_>) {
        self.adopt_all(other.mistakes());
    }

    /// Takes over a list of mistakes.
    pub(crate) fn adopt_all(&self, Mistakes(list): Mistakes) {
        let mut elsewhere = self.elsewhere.borrow_mut();
        for mistake in list {
            if !elsewhere.contains(&mistake) {
                elsewhere.push(mistake);
            }
        }
    }

    /// Reports a mistake; reading continues.
    pub(crate) fn report(&self, place: Place, what: impl Into<String>, hint: Option<String>) {
        self.found.borrow_mut().push(Found { place, what: what.into(), hint });
    }

    /// Returns the whole text.
    pub(crate) fn text(&self) -> &'t str {
        self.text
    }

    /// Returns the text at a location, as written.
    pub(crate) fn slice(&self, place: Place) -> &'t str {
        self.text.get(place.start..place.end).unwrap_or("")
    }

    /// Returns the result if there are no mistakes.
    pub(crate) fn end<T>(self, read: Option<T>) -> Result<T, Mistakes> {
        let clean = self.found.borrow().is_empty() && self.elsewhere.borrow().is_empty();
        match read {
            Some(read) if clean => Ok(read),
            None if clean => {
                self.report(Place { start: 0, end: 0 }, "the file is incomplete", None);
                Err(self.mistakes())
            }
            Some(_) | None => Err(self.mistakes()),
        }
    }

    /// Returns the schema of such files, as far as it was requested.
    pub(crate) fn schema(&self) -> serde_json::Value {
        self.shapes.schema(self.text)
    }

    /// Returns the keys that a reader requests and this file does not have.
    #[cfg(test)]
    pub(crate) fn unseen(&self) -> Vec<String> {
        self.shapes.unseen()
    }

    fn mistakes(self) -> Mistakes {
        let mut found = self.found.take();
        found.sort_by(|a, b| (a.place.start, &a.what).cmp(&(b.place.start, &b.what)));
        found.dedup_by(|a, b| a.place.start == b.place.start && a.what == b.what);
        let mut mistakes: Vec<Mistake> = found.into_iter().map(|found| self.mistake(found)).collect();
        mistakes.extend(self.elsewhere.take());
        mistakes.truncate(MOST_MISTAKES);
        Mistakes(mistakes)
    }

    fn mistake(&self, found: Found) -> Mistake {
        let mut start = found.place.start.min(self.text.len());
        while !self.text.is_char_boundary(start) {
            start -= 1;
        }
        let (before, after) = self.text.split_at(start);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = after.find('\n').map_or(self.text.len(), |newline| start + newline);
        let line = self.text.get(line_start..line_end).unwrap_or("");
        Mistake {
            file: self.file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            what: found.what,
            hint: found.hint,
            source_line: line.trim_end_matches('\r').chars().take(LINE_SHOWN).map(harmless).collect(),
        }
    }
}

/// Replaces a character that a terminal might act on.
fn harmless(character: char) -> char {
    match character {
        '\t' => ' ',
        '"' | '\'' | '\\' => character,
        other if other.escape_debug().len() > 1 => '\u{fffd}',
        other => other,
    }
}

/// Formats foreign text for a message: bounded, and without characters that a terminal would act on.
pub(crate) fn sentence(text: &str) -> String {
    text.chars().take(LINE_SHOWN).map(harmless).collect()
}

/// Formats a word from the file for a message: in backticks, bounded, and without characters that a terminal would act
/// on.
pub(crate) fn quoted(word: &str) -> String {
    let shown: String = word.chars().take(WORD_SHOWN).flat_map(char::escape_debug).collect();
    let more = if word.chars().nth(WORD_SHOWN).is_some() { "…" } else { "" };
    format!("`{shown}{more}`")
}

/// Returns a hint for a message of the TOML parser that is not helpful by itself.
fn hint_for(message: &str) -> Option<&'static str> {
    const HINTS: [(&str, &str); 6] = [
        ("string values must be quoted", "write a value after the `=`, text in quotes: key = \"text\""),
        ("duplicate key", "every key and every [table] stands only once; merge the two"),
        ("key with no value", "write key = value, or [name] for a table"),
        ("multi-line basic string", "a text that begins with \"\"\" must end with \"\"\""),
        ("escaped value", "write a backslash twice, or put the text in single quotes"),
        ("recursion limit", "nothing here needs tables that deep"),
    ];
    HINTS.iter().find(|(part, _)| message.contains(part)).map(|(_, hint)| *hint)
}
