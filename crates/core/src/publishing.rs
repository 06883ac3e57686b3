//! Pull request settings: labels, reviewers and options, from `[forge]` and from stages that publish.

use serde::{Deserialize, Serialize};

use crate::template::Template;
use crate::toml_reader::{At, Source, Table, quoted};

/// Maximum number of labels, reviewers or assignees. More is a mistake.
const MOST: usize = 20;
/// Maximum length of a name; forges allow less.
const LONGEST: usize = 255;

/// Keys of pull request settings.
pub(crate) const OF_REQUESTS: [&str; 7] =
    ["labels", "reviewers", "assignees", "draft", "auto_merge", "squash", "otherwise"];

/// Pull request settings. `None` falls back from the stage to `[forge]` to the default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Publishing {
    /// Labels to add to existing ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<Vec<String>>,
    /// Reviewers: user names, on GitHub also teams as `org/team`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reviewers: Option<Vec<String>>,
    /// Assignees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assignees: Option<Vec<String>>,
    /// Whether it is a draft. An existing pull request changes when this differs between two stages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draft: Option<bool>,
    /// Whether to tell the forge to merge it as soon as its own rules allow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_merge: Option<bool>,
    /// Whether to merge it as one commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub squash: Option<bool>,
    /// What to do if no pull request can be opened, because there is no token for the forge or no branch to merge into.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<Otherwise>,
    /// Template of the title; default `{{ headline }}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<Template>,
}

/// What to do with work for which no pull request can be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Otherwise {
    /// Ask a person to fix what is missing.
    Ask,
    /// Leave the work on its branch of the repository, with a notice that says why.
    Branch,
}

impl Otherwise {
    /// All variants with their names.
    pub const ALL: [(&str, Self); 2] = [("ask", Self::Ask), ("branch", Self::Branch)];
}

impl Publishing {
    /// Returns these settings, with `under` as the fallback.
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

/// Reads pull request settings, except the title: it is a template and belongs to the workflow.
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
    // GitLab parses a comma as a separator of labels.
    if bad || text.contains([',', '\n']) || text.chars().any(char::is_control) || text.starts_with('@') {
        let hint = "a plain name, without `@`, commas and blanks around it".to_owned();
        source.report(name.place, format!("{} is not a name", quoted(text)), Some(hint));
    }
}
