//! The state of a forge: projects, users, tokens, pull requests.

use serde_json::Value;

use super::{Rights, Shared};
use crate::repo;

/// A pull request in the forge.
#[derive(Clone, Debug, Default)]
pub struct Pull {
    /// Number in the project.
    pub number: u64,
    /// Target project.
    pub project: String,
    /// Project of its branch.
    pub source: String,
    /// Branch with the work.
    pub head: String,
    /// Branch to merge into.
    pub base: String,
    /// Title.
    pub title: String,
    /// Description.
    pub body: String,
    /// Author.
    pub author: String,
    /// `open`, `closed` or `merged`.
    pub state: String,
    /// Whether it is a draft.
    pub draft: bool,
    /// Whether to squash on merge.
    pub squash: bool,
    /// Labels.
    pub labels: Vec<String>,
    /// Reviewers; teams as `team:name`.
    pub reviewers: Vec<String>,
    /// Assignees.
    pub assignees: Vec<String>,
    /// Commit for which automatic merge is enabled.
    pub auto_merge: Option<String>,
    /// State of the checks or the pipeline of its head, if any.
    pub pipeline: Option<String>,
    /// Whether it is approved.
    pub approved: bool,
    /// Commit of its branch when it was merged.
    pub merged_head: Option<String>,
    /// Commit in the base branch since the merge.
    pub merged_as: Option<String>,
    /// Comments.
    pub remarks: Vec<Remark>,
}

/// A comment on a pull request.
#[derive(Clone, Debug, Default)]
pub struct Remark {
    /// Id.
    pub id: u64,
    /// Author.
    pub author: String,
    /// Whether the author may write to the project.
    pub trusted: bool,
    /// Text.
    pub text: String,
    /// File and line it is about.
    pub place: Option<(String, u64)>,
    /// Comment it replies to.
    pub answers: Option<u64>,
    /// Whether its thread is resolved.
    pub resolved: bool,
    /// Whether the author is a member who may only read.
    pub reader: bool,
    /// Whether the author is a bot.
    pub program: bool,
    /// Review verdict that it is the text of: `CHANGES_REQUESTED`, `APPROVED`.
    pub review: Option<String>,
}

#[derive(Default)]
pub(super) struct State {
    /// A project's id is its index plus one.
    projects: Vec<String>,
    users: Vec<String>,
    pub(super) tokens: Vec<(String, String, Rights)>,
    pub(super) pulls: Vec<Pull>,
    pub(super) rules: Vec<(String, super::Rule)>,
}

impl State {
    pub(super) fn add_project(&mut self, name: &str) {
        self.projects.push(name.to_owned());
    }

    /// Returns the id of a project.
    pub(super) fn project_id(&self, name: &str) -> Option<u64> {
        let at = self.projects.iter().position(|known| known == name)?;
        u64::try_from(at + 1).ok()
    }

    /// Returns a project by id.
    pub(super) fn project_of(&self, id: u64) -> Option<String> {
        self.projects.get(usize::try_from(id).ok()?.checked_sub(1)?).cloned()
    }

    /// Adds a user.
    pub(super) fn user(&mut self, name: &str) {
        if !self.users.iter().any(|known| known == name) {
            self.users.push(name.to_owned());
        }
    }

    /// Returns the id of a user.
    pub(super) fn user_id(&self, name: &str) -> Option<u64> {
        let at = self.users.iter().position(|known| known == name)?;
        u64::try_from(at + 101).ok()
    }

    /// Returns a user by id.
    pub(super) fn user_of(&self, id: u64) -> Option<String> {
        self.users.get(usize::try_from(id).ok()?.checked_sub(101)?).cloned()
    }

    pub(super) fn pull(&mut self, project: &str, number: u64) -> Option<&mut Pull> {
        self.pulls.iter_mut().find(|pull| pull.project == project && pull.number == number)
    }

    /// Returns the number of the next pull request in a project.
    pub(super) fn next_number(&self, project: &str) -> u64 {
        self.pulls.iter().filter(|pull| pull.project == project).count() as u64 + 1
    }
}

/// A call of the API.
pub(crate) struct Call<'a> {
    pub(super) shared: &'a Shared,
    pub(super) user: &'a str,
    pub(super) method: &'a str,
    pub(super) path: &'a str,
    pub(super) body: &'a Value,
}

impl Call<'_> {
    /// Returns the decoded parts of the path.
    pub(super) fn parts(&self) -> Vec<String> {
        let path = self.path.split('?').next().unwrap_or_default();
        path.trim_matches('/').split('/').map(decoded).collect()
    }

    /// Returns a decoded query parameter.
    pub(super) fn query(&self, key: &str) -> Option<String> {
        let query = self.path.split_once('?')?.1;
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(known, _)| *known == key).map(|(_, value)| decoded(value))
    }

    /// Returns the decoded names of query parameters.
    pub(super) fn query_keys(&self) -> Vec<String> {
        let query = self.path.split_once('?').map(|(_, query)| query).unwrap_or_default();
        query
            .split('&')
            .filter_map(|pair| pair.split('=').next())
            .filter(|key| !key.is_empty())
            .map(decoded)
            .collect()
    }

    /// Returns a string of the body.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        self.body.get(key).and_then(Value::as_str).map(str::to_owned)
    }

    /// Returns a list of strings of the body.
    pub(super) fn texts(&self, key: &str) -> Vec<String> {
        let list = self.body.get(key).and_then(Value::as_array).into_iter().flatten();
        list.filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// Returns the number of commits by which a branch is ahead of another, in the same project or another.
    pub(super) fn ahead(&self, project: &str, base: &str, source: &str, head: &str) -> usize {
        let bare = self.shared.repository(source);
        let Some(base) = self.shared.commit(project, base) else { return 0 };
        let range = format!("{base}..refs/heads/{head}");
        let listed = repo::git(&bare, &["rev-list", &range]);
        listed.lines().count()
    }
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let digits: Vec<u8> = rest.by_ref().take(2).collect();
                let digits = String::from_utf8_lossy(&digits).into_owned();
                bytes.push(u8::from_str_radix(&digits, 16).unwrap_or(b'?'));
            }
            b'+' => bytes.push(b' '),
            other => bytes.push(other),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
