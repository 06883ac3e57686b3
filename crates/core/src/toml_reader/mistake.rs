//! What is wrong with a file, where, and how to mend it.

use std::fmt;

/// One mistake in a file that a person wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The file as the caller named it.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub what: String,
    /// What could be done about it.
    pub hint: Option<String>,
    /// The line itself, to be shown with a mark under the column. Characters that a terminal would act on are replaced,
    /// one for one, so that columns stay true; what is far beyond a screen's width is left out.
    pub source_line: String,
}

impl fmt::Display for Mistake {
    /// `file:line:column: what`, and the hint on a line of its own.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.what)?;
        match &self.hint {
            Some(hint) => write!(f, "\n  hint: {hint}"),
            None => Ok(()),
        }
    }
}

/// Everything that is wrong with a file, in the order of the file. Never empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", joined(.0))]
pub struct Mistakes(pub Vec<Mistake>);

fn joined(mistakes: &[Mistake]) -> String {
    mistakes.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
