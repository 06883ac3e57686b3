//! Merging at GitLab.

use acquit_core::config::Method as How;
use serde_json::{Value, json};
use ureq::http::Method;

use super::{ACTIVE, GitLab};
use crate::forge::error::Error;
use crate::forge::feedback::text;
use crate::forge::http::encoded;
use crate::forge::merge::{Answer, Merging, Order, Past, commit};

/// Statuses of a merge request that GitLab has not checked yet, or that waits for something temporary.
const RUNNING: [&str; 6] =
    ["checking", "unchecked", "preparing", "approvals_syncing", "ci_still_running", "mergeable"];
/// Statuses of a merge request that does not apply to its base branch.
const BASE: [&str; 5] = ["conflict", "need_rebase", "broken_status", "cannot_be_merged", "commits_status"];

impl GitLab<'_> {
    /// Returns why GitLab does not merge, from the state of the merge request.
    fn refused(&self, order: &Order<'_>, words: String) -> Result<Answer, Error> {
        let doing = "look why the merge request cannot be merged";
        let now = self.http.get(doing, &self.path(order.number))?.body;
        if let Some(commit) = merged(doing, &now)? {
            return Ok(Answer::Merged(commit));
        }
        // Versions before 15.6 only have the shorter one.
        let detailed = text(&now, "/detailed_merge_status");
        let status = if detailed.is_empty() { text(&now, "/merge_status") } else { detailed };
        let pipeline = text(&now, "/head_pipeline/status");
        Ok(match status {
            _ if text(&now, "/state") == "closed" => Answer::Missing("it was closed".to_owned()),
            status if RUNNING.contains(&status) => Answer::NotYet(spoken(status)),
            status if BASE.contains(&status) => Answer::Behind(spoken(status)),
            // No pipeline yet: the push was just made.
            "ci_must_pass" if pipeline.is_empty() || ACTIVE.contains(&pipeline) => {
                Answer::NotYet("its pipeline is not over".to_owned())
            }
            "" | "can_be_merged" => Answer::Missing(words),
            status => Answer::Missing(spoken(status)),
        })
    }
}

impl Merging for GitLab<'_> {
    fn merged_as(&self, number: u64) -> Result<Option<String>, Error> {
        let doing = "look how the merge request stands";
        merged(doing, &self.http.get(doing, &self.path(number))?.body)
    }

    fn merged(&self, branch: &str, base: &str) -> Result<Vec<Past>, Error> {
        let doing = "look for a merge request that was merged";
        let path = format!("{}/merge_requests?state=merged&source_branch={}", self.project, encoded(branch));
        let past = |value: &Value| {
            let commit = merged(doing, value).ok()??;
            Some(Past {
                number: value.get("iid").and_then(Value::as_u64)?,
                url: text(value, "/web_url").to_owned(),
                head: text(value, "/sha").to_owned(),
                commit,
            })
        };
        let own = self.own(self.http.list(doing, &path)?)?;
        Ok(own.iter().filter(|value| text(value, "/target_branch") == base).filter_map(past).collect())
    }

    fn merge(&self, order: &Order<'_>) -> Result<Answer, Error> {
        let doing = "merge the merge request";
        let words = format!("{}\n\n{}", order.title, order.message);
        let mut asked = json!({ "sha": order.commit, "squash": order.method == How::Squash });
        match order.method {
            How::Squash => asked["squash_commit_message"] = json!(words),
            How::Merge => asked["merge_commit_message"] = json!(words),
            // At GitLab, the merge method is a setting of the project.
            How::Rebase => {}
        }
        let path = format!("{}/merge", self.path(order.number));
        match self.http.send(doing, Method::PUT, &path, &asked) {
            Ok(answer) => Ok(match merged(doing, &answer)? {
                Some(commit) => Answer::Merged(commit),
                None => Answer::NotYet("GitLab has taken the order and is not done with it".to_owned()),
            }),
            Err(Error::Refused { status: 409, .. }) => Ok(Answer::Moved),
            Err(Error::Refused { words, .. }) => self.refused(order, words),
            Err(error) => Err(error),
        }
    }
}

/// Returns the commit in the base branch, if merged.
fn merged(doing: &'static str, value: &Value) -> Result<Option<String>, Error> {
    if text(value, "/state") != "merged" {
        return Ok(None);
    }
    // A merge commit, a squash commit, or the branch's own commit for a fast-forward.
    let known = ["/merge_commit_sha", "/squash_commit_sha", "/sha"];
    let lacks = || Error::Nonsense { doing, words: "no merge_commit_sha".to_owned() };
    commit(value, &known).ok_or_else(lacks).map(Some)
}

/// Formats a status for people.
fn spoken(status: &str) -> String {
    status.replace('_', " ")
}
