//! Mistakes in a file: what is wrong, where, and how to fix it.

use std::fmt;

/// A mistake in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// File name, as given by the caller.
    pub file: String,
    /// Line number, starting at 1.
    pub line: usize,
    /// Column in characters, starting at 1.
    pub column: usize,
    /// Description of the mistake.
    pub what: String,
    /// Hint on how to fix it.
    pub hint: Option<String>,
    /// The line itself, to be shown with a mark under the column. Characters that a terminal would act on are replaced
    /// one for one, so that columns stay correct. Text far beyond the width of a screen is omitted.
    pub source_line: String,
}

impl fmt::Display for Mistake {
    /// Formats as `file:line:column: what`, with the hint on its own line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.what)?;
        match &self.hint {
            Some(hint) => write!(f, "\n  hint: {hint}"),
            None => Ok(()),
        }
    }
}

/// All mistakes in a file, in file order. Never empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", joined(.0))]
pub struct Mistakes(pub Vec<Mistake>);

fn joined(mistakes: &[Mistake]) -> String {
    mistakes.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
