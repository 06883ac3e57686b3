//! Settings files with sections and references.
//!
//! ```
//! let settings = brook::parse("[server]\nhost = example.org\nurl = http://${server.host}/").unwrap();
//! assert_eq!(settings.get("server.url").unwrap(), "http://example.org/");
//! ```

mod parse;
mod resolve;
pub mod size;

use std::collections::BTreeMap;
use std::fmt;

pub use parse::parse;

/// What can be wrong with a file or a look-up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// The line is neither a section, a key nor a comment.
    Syntax { line: usize, text: String },
    /// The same key twice in one section.
    Duplicate { line: usize, key: String },
    /// No such key.
    Missing(String),
    /// The key refers to itself.
    Cycle(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Syntax { line, text } => write!(f, "line {line}: cannot read `{text}`"),
            Error::Duplicate { line, key } => write!(f, "line {line}: `{key}` is there twice"),
            Error::Missing(key) => write!(f, "no `{key}`"),
            Error::Cycle(key) => write!(f, "`{key}` refers to itself"),
        }
    }
}

impl std::error::Error for Error {}

/// Keys are `section.key`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    pub(crate) values: BTreeMap<String, String>,
}

impl Settings {
    /// The value with all references put in.
    pub fn get(&self, key: &str) -> Result<String, Error> {
        resolve::resolve(self, key)
    }

    /// The value as it is in the file.
    pub fn raw(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str)
    }

    pub fn len(&self) -> usize {
        self.values.len()
    }

    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// `key = value` per line, sorted.
    pub fn list(&self) -> Result<String, Error> {
        let mut out = String::new();
        for key in self.values.keys() {
            out.push_str(&format!("{key} = {}\n", self.get(key)?));
        }
        Ok(out)
    }
}
