use std::fmt;
use std::str::FromStr;

use crate::{Span, SpanSet};

/// Text that is not a set, such as `1-x`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The part of the text that is wrong.
    pub part: String,
    pub problem: Problem,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    Empty,
    NotANumber,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problem {
            Problem::Empty => write!(f, "a part is empty"),
            Problem::NotANumber => write!(f, "not a number in '{}'", self.part),
        }
    }
}

impl std::error::Error for ParseError {}

impl FromStr for SpanSet {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<SpanSet, ParseError> {
        if text.trim().is_empty() {
            return Ok(SpanSet::new());
        }
        text.split(',').map(|part| span(part.trim())).collect()
    }
}

fn span(part: &str) -> Result<Span, ParseError> {
    let error = |problem| ParseError {
        part: part.to_string(),
        problem,
    };
    if part.is_empty() {
        return Err(error(Problem::Empty));
    }
    let (first, last) = part.split_once('-').unwrap_or((part, part));
    let number = |text: &str| {
        text.trim()
            .parse::<u32>()
            .map_err(|_| error(Problem::NotANumber))
    };
    let (first, last) = (number(first)?, number(last)?);
    Ok(Span {
        start: first,
        end: (last + 1).max(first),
    })
}
