//! Draft pull requests, and how to change the draft state.
//!
//! GitHub stores it as a property that only GraphQL can change. GitLab reads it from the beginning of the title.

use serde_json::Value;

/// Draft state of a pull request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// A draft.
    Draft,
    /// Ready for review.
    Ready,
}

/// Title prefixes that GitLab treats as a draft, in lower case.
const PREFIXES: [&str; 4] = ["draft:", "[draft]", "(draft)", "draft "];

/// Prefix that acquit writes.
const PREFIX: &str = "Draft: ";

impl Readiness {
    /// Converts the setting.
    pub fn wanted(draft: bool) -> Self {
        if draft { Self::Draft } else { Self::Ready }
    }

    /// Reads the state from a forge's answer.
    pub(super) fn of(value: &Value) -> Self {
        // GitLab before 14 uses this name.
        let told = value.get("draft").or_else(|| value.get("work_in_progress"));
        Self::wanted(told.and_then(Value::as_bool).unwrap_or(false))
    }

    /// Returns the GraphQL mutation of GitHub that sets this state.
    pub(super) fn mutation(self) -> &'static str {
        match self {
            Self::Draft => {
                "mutation($id: ID!) { convertPullRequestToDraft(input: {pullRequestId: $id}) \
                 { pullRequest { isDraft } } }"
            }
            Self::Ready => {
                "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) \
                 { pullRequest { isDraft } } }"
            }
        }
    }

    /// Returns a GitLab title with this state, otherwise unchanged.
    pub(super) fn titled(self, title: &str) -> String {
        let mut bare = title.trim_start();
        while let Some(rest) = PREFIXES.iter().find_map(|prefix| without(bare, prefix)) {
            bare = rest.trim_start();
        }
        // A title that consists only of prefixes stays, because it must not be empty.
        let bare = if bare.is_empty() { title.trim() } else { bare };
        match self {
            Self::Draft if bare == title.trim() && is_marked(bare) => bare.to_owned(),
            Self::Draft => format!("{PREFIX}{bare}"),
            Self::Ready => bare.to_owned(),
        }
    }
}

fn is_marked(title: &str) -> bool {
    PREFIXES.iter().any(|prefix| without(title, prefix).is_some())
}

/// Strips a prefix, ignoring case.
fn without<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let (front, rest) = text.split_at_checked(prefix.len())?;
    front.eq_ignore_ascii_case(prefix).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_says_that_it_is_a_draft_once_or_not_at_all() {
        for (title, draft, ready) in [
            ("Add a flag", "Draft: Add a flag", "Add a flag"),
            ("Draft: Add a flag", "Draft: Add a flag", "Add a flag"),
            ("draft:  [DRAFT] (Draft) Add a flag", "Draft: Add a flag", "Add a flag"),
            ("Drafting a letter", "Draft: Drafting a letter", "Drafting a letter"),
            ("ÄÖÜ", "Draft: ÄÖÜ", "ÄÖÜ"),
            ("Draft:", "Draft:", "Draft:"),
        ] {
            assert_eq!(Readiness::Draft.titled(title), draft, "{title}");
            assert_eq!(Readiness::Ready.titled(title), ready, "{title}");
            assert_eq!(Readiness::Draft.titled(draft), draft, "{title}: twice");
            assert_eq!(Readiness::Ready.titled(ready), ready, "{title}: twice");
        }
    }
}
