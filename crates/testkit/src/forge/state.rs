//! What a forge knows: projects, users, tokens, requests.

use serde_json::Value;

use super::{Rights, Shared};
use crate::repo;

/// A request, as a forge keeps it.
#[derive(Clone, Debug, Default)]
pub struct Pull {
    /// Its number in the project.
    pub number: u64,
    /// The project that it is made in.
    pub project: String,
    /// The project that its branch is in.
    pub source: String,
    /// The branch with the work.
    pub head: String,
    /// The branch that it is to be merged into.
    pub base: String,
    /// Its title.
    pub title: String,
    /// Its text.
    pub body: String,
    /// Who made it.
    pub author: String,
    /// `open`, `closed` or `merged`.
    pub state: String,
    /// Whether it is a draft.
    pub draft: bool,
    /// Whether it is merged as one commit.
    pub squash: bool,
    /// Its labels.
    pub labels: Vec<String>,
    /// Who is asked to review; teams as `team:name`.
    pub reviewers: Vec<String>,
    /// Whom it belongs to.
    pub assignees: Vec<String>,
    /// The commit for which the forge was told to merge by itself.
    pub auto_merge: Option<String>,
    /// The state of the checks or of the pipeline of its head, if there is one.
    pub pipeline: Option<String>,
    /// Whether somebody has approved it.
    pub approved: bool,
    /// The commit that its branch was at when it was merged.
    pub merged_head: Option<String>,
    /// What it is in the base branch since then.
    pub merged_as: Option<String>,
    /// What people said about it.
    pub remarks: Vec<Remark>,
}

/// What somebody said about a request.
#[derive(Clone, Debug, Default)]
pub struct Remark {
    /// Its number.
    pub id: u64,
    /// Who.
    pub author: String,
    /// Whether they may write to the project.
    pub trusted: bool,
    /// What.
    pub text: String,
    /// About which file and line.
    pub place: Option<(String, u64)>,
    /// The remark that it answers.
    pub answers: Option<u64>,
    /// Whether what it is about is settled.
    pub resolved: bool,
    /// Whether they belong to the project and may only read there.
    pub reader: bool,
    /// Whether a program said it.
    pub program: bool,
    /// The verdict that it is the text of: `CHANGES_REQUESTED`, `APPROVED`.
    pub review: Option<String>,
}

#[derive(Default)]
pub(super) struct State {
    /// Their number is their place in the list and one.
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

    /// The number of a project.
    pub(super) fn project_id(&self, name: &str) -> Option<u64> {
        let at = self.projects.iter().position(|known| known == name)?;
        u64::try_from(at + 1).ok()
    }

    /// The project of a number.
    pub(super) fn project_of(&self, id: u64) -> Option<String> {
        self.projects.get(usize::try_from(id).ok()?.checked_sub(1)?).cloned()
    }

    /// A user, who is known from now on.
    pub(super) fn user(&mut self, name: &str) {
        if !self.users.iter().any(|known| known == name) {
            self.users.push(name.to_owned());
        }
    }

    /// The number of a user.
    pub(super) fn user_id(&self, name: &str) -> Option<u64> {
        let at = self.users.iter().position(|known| known == name)?;
        u64::try_from(at + 101).ok()
    }

    /// The user of a number.
    pub(super) fn user_of(&self, id: u64) -> Option<String> {
        self.users.get(usize::try_from(id).ok()?.checked_sub(101)?).cloned()
    }

    pub(super) fn pull(&mut self, project: &str, number: u64) -> Option<&mut Pull> {
        self.pulls.iter_mut().find(|pull| pull.project == project && pull.number == number)
    }

    /// The number that the next request of a project has.
    pub(super) fn next_number(&self, project: &str) -> u64 {
        self.pulls.iter().filter(|pull| pull.project == project).count() as u64 + 1
    }
}

/// A call, as the parts of a dialect see it.
pub(crate) struct Call<'a> {
    pub(super) shared: &'a Shared,
    pub(super) user: &'a str,
    pub(super) method: &'a str,
    pub(super) path: &'a str,
    pub(super) body: &'a Value,
}

impl Call<'_> {
    /// The parts of the path, decoded.
    pub(super) fn parts(&self) -> Vec<String> {
        let path = self.path.split('?').next().unwrap_or_default();
        path.trim_matches('/').split('/').map(decoded).collect()
    }

    /// A value of the query, decoded.
    pub(super) fn query(&self, key: &str) -> Option<String> {
        let query = self.path.split_once('?')?.1;
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(known, _)| *known == key).map(|(_, value)| decoded(value))
    }

    /// The keys of the query, decoded.
    pub(super) fn query_keys(&self) -> Vec<String> {
        let query = self.path.split_once('?').map(|(_, query)| query).unwrap_or_default();
        query
            .split('&')
            .filter_map(|pair| pair.split('=').next())
            .filter(|key| !key.is_empty())
            .map(decoded)
            .collect()
    }

    /// A text of the body.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        self.body.get(key).and_then(Value::as_str).map(str::to_owned)
    }

    /// Texts of a list in the body.
    pub(super) fn texts(&self, key: &str) -> Vec<String> {
        let list = self.body.get(key).and_then(Value::as_array).into_iter().flatten();
        list.filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// How many commits a branch is ahead of another, of the same project or of another's.
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
