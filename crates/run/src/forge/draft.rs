//! Drafts: requests that say of themselves that they are not to be merged yet, and how they stop saying so.
//!
//! GitHub keeps it beside the title and changes it by GraphQL alone; GitLab reads it from the title's beginning.

use serde_json::Value;

/// Whether a request may be merged as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// Not yet.
    Draft,
    /// As far as its author is concerned.
    Ready,
}

/// What GitLab takes for a draft at the beginning of a title, in lower case.
const PREFIXES: [&str; 4] = ["draft:", "[draft]", "(draft)", "draft "];

/// What acquit writes there.
const PREFIX: &str = "Draft: ";

impl Readiness {
    /// What a setting wants.
    pub fn wanted(draft: bool) -> Self {
        if draft { Self::Draft } else { Self::Ready }
    }

    /// What a forge says of a request.
    pub(super) fn of(value: &Value) -> Self {
        // The name that GitLab had for it until 14.
        let told = value.get("draft").or_else(|| value.get("work_in_progress"));
        Self::wanted(told.and_then(Value::as_bool).unwrap_or(false))
    }

    /// The mutation of GitHub's GraphQL that leads to it.
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

    /// A title of GitLab that says so, and is otherwise what it was.
    pub(super) fn titled(self, title: &str) -> String {
        let mut bare = title.trim_start();
        while let Some(rest) = PREFIXES.iter().find_map(|prefix| without(bare, prefix)) {
            bare = rest.trim_start();
        }
        // Nothing but marks is a title too, and a request must have one.
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

/// A text without its beginning, whatever its case.
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
