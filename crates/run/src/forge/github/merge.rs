//! Merging at GitHub.

use acquit_core::config::Method as How;
use serde_json::{Value, json};
use ureq::http::Method;

use super::GitHub;
use crate::forge::error::Error;
use crate::forge::feedback::text;
use crate::forge::http::encoded;
use crate::forge::merge::{Answer, Merging, Order, Past, commit};

/// Messages of a temporary rejection: a required check exists and has not finished.
const RUNNING: [&str; 5] = ["is expected", "is pending", "in progress", "is queued", "waiting for status"];
/// Messages of a rejection because of the base branch.
const BASE: [&str; 3] = ["base branch was modified", "not up to date", "out-of-date"];

impl GitHub<'_> {
    /// Returns why GitHub does not merge, from its message and the state of the pull request.
    fn refused(&self, order: &Order<'_>, words: String) -> Result<Answer, Error> {
        let doing = "look why the pull request cannot be merged";
        let now = self.http.get(doing, &format!("{}/pulls/{}", self.project, order.number))?.body;
        if let Some(commit) = merged(doing, &now)? {
            return Ok(Answer::Merged(commit));
        }
        let lower = words.to_lowercase();
        let says = |signs: &[&str]| signs.iter().any(|sign| lower.contains(sign));
        Ok(match text(&now, "/mergeable_state") {
            _ if text(&now, "/state") == "closed" => Answer::Missing("it was closed".to_owned()),
            _ if now["draft"] == true => {
                Answer::Missing("it is a draft: mark it as ready for review".to_owned())
            }
            "dirty" | "behind" => Answer::Behind(words),
            _ if says(&BASE) => Answer::Behind(words),
            // GitHub checks this in the background after every push.
            "unknown" => Answer::NotYet("GitHub still looks whether it fits".to_owned()),
            _ if says(&RUNNING) || self.runs(order.commit)? => Answer::NotYet(words),
            _ => Answer::Missing(words),
        })
    }

    /// Returns whether a check of a commit is still running.
    fn runs(&self, commit: &str) -> Result<bool, Error> {
        let doing = "look which checks run";
        let path = format!("{}/commits/{}/check-runs?per_page=100", self.project, encoded(commit));
        let checks = self.http.get(doing, &path)?.body;
        let mut all = checks.get("check_runs").and_then(Value::as_array).into_iter().flatten();
        Ok(all.any(|check| text(check, "/status") != "completed"))
    }
}

impl Merging for GitHub<'_> {
    fn merged_as(&self, number: u64) -> Result<Option<String>, Error> {
        let doing = "look how the pull request stands";
        merged(doing, &self.http.get(doing, &format!("{}/pulls/{number}", self.project))?.body)
    }

    fn merged(&self, branch: &str, base: &str) -> Result<Vec<Past>, Error> {
        let doing = "look for a pull request that was merged";
        let head = encoded(&format!("{}:{branch}", self.owner()));
        let list = self.http.list(doing, &format!("{}/pulls?state=closed&head={head}", self.project))?;
        let past = |value: &Value| {
            // A list contains the time of the merge, but no flag.
            let merged = !text(value, "/merged_at").is_empty();
            merged.then_some(Past {
                number: value.get("number").and_then(Value::as_u64)?,
                url: text(value, "/html_url").to_owned(),
                head: text(value, "/head/sha").to_owned(),
                commit: commit(value, &["/merge_commit_sha"])?,
            })
        };
        let ours = |value: &&Value| self.is_own(value, branch) && text(value, "/base/ref") == base;
        Ok(list.iter().filter(ours).filter_map(past).collect())
    }

    fn merge(&self, order: &Order<'_>) -> Result<Answer, Error> {
        let doing = "merge the pull request";
        let mut asked = json!({ "sha": order.commit, "merge_method": order.method.name() });
        // A rebase keeps the messages of its commits.
        if order.method != How::Rebase {
            asked["commit_title"] = json!(format!("{} (#{})", order.title, order.number));
            asked["commit_message"] = json!(order.message);
        }
        let path = format!("{}/pulls/{}/merge", self.project, order.number);
        match self.http.send(doing, Method::PUT, &path, &asked) {
            Ok(answer) => match commit(&answer, &["/sha"]) {
                Some(commit) => Ok(Answer::Merged(commit)),
                None => Err(Error::Nonsense { doing, words: "no sha".to_owned() }),
            },
            Err(Error::Refused { status: 409, .. }) => Ok(Answer::Moved),
            Err(Error::Refused { words, .. }) => self.refused(order, words),
            Err(error) => Err(error),
        }
    }
}

/// Returns the commit in the base branch, if merged.
fn merged(doing: &'static str, value: &Value) -> Result<Option<String>, Error> {
    if value["merged"] != true {
        return Ok(None);
    }
    let lacks = || Error::Nonsense { doing, words: "no merge_commit_sha".to_owned() };
    commit(value, &["/merge_commit_sha"]).ok_or_else(lacks).map(Some)
}
