//! Who a commit is by.

use serde::{Deserialize, Serialize};

/// A longer name or address is not something that git or a forge would show.
const LONGEST: usize = 200;

/// A name and an address, in the form git accepts: one line, no angle brackets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    name: String,
    email: String,
}

impl Identity {
    /// What git would refuse or misread is left out; an empty part is replaced by the neutral one.
    pub fn new(name: &str, email: &str) -> Self {
        let neutral = Self::neutral();
        let clean = |text: &str, otherwise: String| {
            let kept: String =
                text.chars().filter(|c| !c.is_control() && !matches!(c, '<' | '>')).take(LONGEST).collect();
            // Git itself drops these at both ends, and an identity of nothing else is refused by it.
            let kept = kept.trim_matches(|c: char| c.is_whitespace() || ".,:;\"\\'".contains(c));
            if kept.is_empty() { otherwise } else { kept.to_owned() }
        };
        Self { name: clean(name, neutral.name), email: clean(email, neutral.email) }
    }

    /// The identity of acquit itself, for commits that nobody else can be named for.
    pub fn neutral() -> Self {
        Self { name: "acquit".into(), email: "acquit@localhost".into() }
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The address.
    pub fn email(&self) -> &str {
        &self.email
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_is_always_one_that_git_accepts() {
        let id = Identity::new("Ada <x>\nLovelace", " ada@example.org ");
        assert_eq!((id.name(), id.email()), ("Ada xLovelace", "ada@example.org"));
        assert_eq!(Identity::new("..", "<>"), Identity::neutral());
    }
}
