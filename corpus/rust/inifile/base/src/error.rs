use std::fmt;

/// What can go wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// A line that is neither a section nor a key, with its number.
    Syntax(usize, String),
    /// A key that occurs twice in a section, with the number of the second line.
    Duplicate(usize, String),
    /// There is no such section.
    NoSection(String),
    /// There is no such key.
    NoKey(String),
    /// The value of a key is not of the type that was asked for.
    Invalid(String, String),
    /// `${...}` that leads back to itself.
    Cycle(String),
}

/// The result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Syntax(line, text) => write!(f, "line {line}: cannot read {text:?}"),
            Error::Duplicate(line, key) => write!(f, "line {line}: duplicate key {key:?}"),
            Error::NoSection(name) => write!(f, "no section {name:?}"),
            Error::NoKey(key) => write!(f, "no key {key:?}"),
            Error::Invalid(key, value) => write!(f, "invalid value {value:?} for {key:?}"),
            Error::Cycle(key) => write!(f, "{key:?} refers to itself"),
        }
    }
}

impl std::error::Error for Error {}
