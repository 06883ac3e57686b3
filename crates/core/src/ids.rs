//! Ids and names: short, readable, and checked when they are created.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Maximum length of a stage, outcome, gate, agent or budget name: long enough to read, short enough for a table
/// column.
pub const NAME_LIMIT: usize = 48;

/// A task id, shown as `T-42`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct TaskId(pub u64);

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "T-{}", self.0)
    }
}

impl FromStr for TaskId {
    type Err = BadId;

    /// Accepts `T-42`, `t-42`, `T42`, `#42` and `42`, because people type ids by hand.
    fn from_str(text: &str) -> Result<Self, BadId> {
        let lettered = text.strip_prefix(['T', 't']).map(|rest| rest.strip_prefix('-').unwrap_or(rest));
        let digits = lettered.or_else(|| text.strip_prefix('#')).unwrap_or(text);
        match digits.parse() {
            Ok(number) if number > 0 && digits.bytes().all(|b| b.is_ascii_digit()) => Ok(Self(number)),
            _ => Err(BadId { text: text.to_owned(), form: "a task id such as T-42" }),
        }
    }
}

/// A leg id: the task and the leg's number, shown as `T-42.3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct LegId {
    /// Task of the leg.
    pub task: TaskId,
    /// Number within the task, starting at 1.
    pub number: u32,
}

impl fmt::Display for LegId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.task, self.number)
    }
}

impl FromStr for LegId {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        let bad = || BadId { text: text.to_owned(), form: "a leg id such as T-42.3" };
        let (task, number) = text.split_once('.').ok_or_else(bad)?;
        let task = task.parse().map_err(|_| bad())?;
        match number.parse() {
            Ok(number) if number > 0 => Ok(Self { task, number }),
            _ => Err(bad()),
        }
    }
}

/// The id of a store, which distinguishes it from others that use the same folders and repositories: eight random
/// hexadecimal digits. It becomes part of paths and refs, and the store may be someone else's server, so no other form
/// is accepted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoreId(String);

impl fmt::Display for StoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for StoreId {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() == 8 && text.bytes().all(is_digit) {
            return Ok(Self(text.to_owned()));
        }
        Err(BadId { text: text.to_owned(), form: "a store id such as 5f3a09c1" })
    }
}

/// Increases with every claim of any leg. The store rejects a write with a fence older than the leg's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Fence(pub i64);

/// The name of a stage, outcome, gate, agent, budget or workflow: lowercase letters, digits, `_` and `-`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Name(String);

impl Name {
    /// Creates a name from a literal in the source, which must be valid.
    ///
    /// # Panics
    /// If it is not valid. Any test that runs the line shows this mistake.
    #[expect(clippy::expect_used, reason = "only called with literals")]
    pub fn literal(text: &'static str) -> Self {
        text.parse().expect("a literal name is well formed")
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Name {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-';
        let begins = text.bytes().next().is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        if begins && text.len() <= NAME_LIMIT && text.bytes().all(allowed) {
            Ok(Self(text.to_owned()))
        } else {
            Err(BadId { text: text.chars().take(NAME_LIMIT).collect(), form: NAME_FORM })
        }
    }
}

const NAME_FORM: &str = "a name of lowercase letters, digits, `_` and `-`, at most 48 long";

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl std::borrow::Borrow<str> for Name {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

/// A text that is not an id of the expected kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not {form}", text.escape_debug())]
pub struct BadId {
    pub(crate) text: String,
    pub(crate) form: &'static str,
}

/// Implements serde for an id through its text form.
macro_rules! by_text {
    ($($type:ty),*) => {$(
        impl From<$type> for String {
            fn from(id: $type) -> Self {
                id.to_string()
            }
        }
        impl TryFrom<String> for $type {
            type Error = BadId;
            fn try_from(text: String) -> Result<Self, BadId> {
                text.parse()
            }
        }
    )*};
}
by_text!(TaskId, LegId, Name);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_people_type_them_and_shown_in_one_form() {
        for text in ["T-42", "t-42", "42"] {
            assert_eq!(text.parse::<TaskId>().unwrap().to_string(), "T-42");
        }
        assert_eq!("T-42.3".parse::<LegId>().unwrap(), LegId { task: TaskId(42), number: 3 });
        for bad in ["", "T-", "T-0", "T--1", "+3", "T-1.", "x"] {
            assert!(bad.parse::<TaskId>().is_err(), "{bad:?}");
            assert!(bad.parse::<LegId>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_store_id_is_eight_digits_and_nothing_that_a_path_or_ref_could_misread() {
        assert_eq!("5f3a09c1".parse::<StoreId>().unwrap().to_string(), "5f3a09c1");
        for bad in ["", "5f3a09c", "5f3a09c12", "5F3A09C1", "../../..", "5f3a/9c1", "T-1", "5f3a09c\n"] {
            assert!(bad.parse::<StoreId>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_name_is_lowercase_and_bounded() {
        for good in ["a", "plan_complete", "next-variation", "2nd"] {
            assert!(good.parse::<Name>().is_ok(), "{good:?}");
        }
        for bad in ["", "-a", "A", "a b", "ä", "a\n", &"x".repeat(NAME_LIMIT + 1)] {
            assert!(bad.parse::<Name>().is_err(), "{bad:?}");
        }
    }
}
