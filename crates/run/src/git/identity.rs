//! Author and committer identities.

use serde::{Deserialize, Serialize};

/// Maximum length of a name or address. Neither git nor a forge would show a longer one.
const LONGEST: usize = 200;

/// A name and an address in the form that git accepts: one line, no angle brackets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    name: String,
    email: String,
}

impl Identity {
    /// Removes what git would reject or misread. Replaces an empty part by the neutral one.
    pub fn new(name: &str, email: &str) -> Self {
        let neutral = Self::neutral();
        let clean = |text: &str, otherwise: String| {
            let kept: String =
                text.chars().filter(|c| !c.is_control() && !matches!(c, '<' | '>')).take(LONGEST).collect();
            // Git drops these characters at both ends, and rejects an identity that has nothing else.
            let kept = kept.trim_matches(|c: char| c.is_whitespace() || ".,:;\"\\'".contains(c));
            if kept.is_empty() { otherwise } else { kept.to_owned() }
        };
        Self { name: clean(name, neutral.name), email: clean(email, neutral.email) }
    }

    /// Returns acquit's own identity, for commits without another author.
    pub fn neutral() -> Self {
        Self { name: "acquit".into(), email: "acquit@localhost".into() }
    }

    /// Returns whether neither part is acquit's own.
    pub fn is_complete(&self) -> bool {
        let neutral = Self::neutral();
        self.name != neutral.name && self.email != neutral.email
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the address.
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
        assert!(id.is_complete() && !Identity::new("Ada", "").is_complete());
    }
}
