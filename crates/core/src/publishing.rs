//! What a pull request has: its labels, reviewers and settings, as `[forge]` and stages that publish write them.

use serde::{Deserialize, Serialize};

use crate::template::Template;
use crate::toml_reader::{At, Source, Table, quoted};

/// So many labels, reviewers or assignees: more are a mistake.
const MOST: usize = 20;
/// The longest of their names; forges allow less.
const LONGEST: usize = 255;

/// The keys that say what a request has.
pub(crate) const OF_REQUESTS: [&str; 7] =
    ["labels", "reviewers", "assignees", "draft", "auto_merge", "squash", "otherwise"];

/// What a request has. `None` leaves it to whoever is asked next: the stage, then `[forge]`, then the usual.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Publishing {
    /// Labels that it gets beside those that it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<Vec<String>>,
    /// Who is asked to review: names of users, on GitHub also teams as `org/team`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reviewers: Option<Vec<String>>,
    /// Whom it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assignees: Option<Vec<String>>,
    /// Whether it is a draft. One that is there becomes one or stops being one when this changes between two stages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draft: Option<bool>,
    /// Whether the forge is told to merge it by itself as soon as its own rules allow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_merge: Option<bool>,
    /// Whether it is merged as one commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub squash: Option<bool>,
    /// What becomes of work that no request can be made of, because there is no token for the forge or no branch to merge into.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<Otherwise>,
    /// Its title, a template; `{{ headline }}` if nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<Template>,
}

/// What becomes of work that no request can be made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Otherwise {
    /// A person is asked to mend what is missing.
    Ask,
    /// It ends on its branch of the repository, and a notice says why.
    Branch,
}

impl Otherwise {
    /// The words for them.
    pub const ALL: [(&str, Self); 2] = [("ask", Self::Ask), ("branch", Self::Branch)];
}

impl Publishing {
    /// These, and where they are silent those.
    #[must_use]
    pub fn over(&self, under: &Self) -> Self {
        let list = |mine: &Option<Vec<String>>, theirs: &Option<Vec<String>>| mine.clone().or(theirs.clone());
        Self {
            labels: list(&self.labels, &under.labels),
            reviewers: list(&self.reviewers, &under.reviewers),
            assignees: list(&self.assignees, &under.assignees),
            draft: self.draft.or(under.draft),
            auto_merge: self.auto_merge.or(under.auto_merge),
            squash: self.squash.or(under.squash),
            otherwise: self.otherwise.or(under.otherwise),
            title: self.title.clone().or_else(|| under.title.clone()),
        }
    }
}

/// Reads what a request has, but its title, which is a template and therefore the workflow's.
pub(crate) fn read(table: &mut Table<'_, '_>) -> Publishing {
    let list = |table: &mut Table<'_, '_>, key| {
        let names = table.strings(key)?;
        if names.len() > MOST {
            let what = format!("{} has more than {MOST} names", quoted(key));
            table.source.report(names[MOST].place, what, None);
        }
        names.iter().for_each(|name| check_name(table.source, name));
        Some(names.into_iter().map(|name| name.value).collect())
    };
    Publishing {
        labels: list(table, "labels"),
        reviewers: list(table, "reviewers"),
        assignees: list(table, "assignees"),
        draft: table.flag("draft").map(|flag| flag.value),
        auto_merge: table.flag("auto_merge").map(|flag| flag.value),
        squash: table.flag("squash").map(|flag| flag.value),
        otherwise: table.word("otherwise", &Otherwise::ALL).map(|word| word.value),
        title: None,
    }
}

fn check_name(source: &Source<'_>, name: &At<String>) {
    let text = &name.value;
    let bad = text.trim() != text || text.is_empty() || text.len() > LONGEST;
    // A comma separates labels where GitLab reads them.
    if bad || text.contains([',', '\n']) || text.chars().any(char::is_control) || text.starts_with('@') {
        let hint = "a plain name, without `@`, commas and blanks around it".to_owned();
        source.report(name.place, format!("{} is not a name", quoted(text)), Some(hint));
    }
}
