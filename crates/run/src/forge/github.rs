//! GitHub's API: REST, and GraphQL for what REST does not support.

mod comments;
mod merge;

use serde_json::{Value, json};
use ureq::http::Method;

use acquit_core::delivery::Comment;

use super::error::Error;
use super::feedback::{is_page, text};
use super::http::{Http, encoded, shown};
use super::pull_request::{self, Fields, Seen};
use super::remote::Place;
use super::{Armed, Forge, PullRequest, PullRequestStatus, Readiness, Wanted, Which};

/// Headers of every call: the API version that this code was written for.
pub(super) const HEADERS: &[(&str, &str)] =
    &[("accept", "application/vnd.github+json"), ("x-github-api-version", "2022-11-28")];

/// A project at GitHub.
pub(super) struct GitHub<'w> {
    pub(super) http: Http<'w>,
    pub(super) place: &'w Place,
    /// `/repos/owner/name`.
    pub(super) project: String,
}

impl<'w> GitHub<'w> {
    pub(super) fn new(http: Http<'w>, place: &'w Place) -> Self {
        let parts: Vec<String> = place.project.split('/').map(encoded).collect();
        Self { http, place, project: format!("/repos/{}", parts.join("/")) }
    }

    /// Returns the owner of the branch.
    fn owner(&self) -> &str {
        let project = self.place.fork.as_ref().unwrap_or(&self.place.project);
        project.split('/').next().unwrap_or_default()
    }

    /// Returns whether a pull request comes from this branch of ours. An older server ignores `head` of a fork and
    /// returns all pull requests.
    pub(super) fn is_own(&self, value: &Value, branch: &str) -> bool {
        let owner = text(value, "/head/user/login");
        text(value, "/head/ref") == branch && (owner.is_empty() || owner.eq_ignore_ascii_case(self.owner()))
    }

    /// Runs a GraphQL mutation.
    pub(super) fn graphql(&self, doing: &'static str, query: &str, variables: Value) -> Result<Value, Error> {
        let body = json!({ "query": query, "variables": variables });
        told(doing, self.http.send_to(doing, Method::POST, &self.beside(), &body)?)
    }

    /// Runs a GraphQL query.
    pub(super) fn ask(&self, doing: &'static str, query: &str, variables: Value) -> Result<Value, Error> {
        let body = json!({ "query": query, "variables": variables });
        told(doing, self.http.ask(doing, &self.beside(), &body)?)
    }

    /// GraphQL has its own path next to REST, not below it.
    fn beside(&self) -> String {
        format!("{}/graphql", self.place.api.strip_suffix("/v3").unwrap_or(&self.place.api))
    }
}

impl Forge for GitHub<'_> {
    fn find(&self, branch: &str, which: Which) -> Result<Vec<PullRequest>, Error> {
        let doing = "look for the pull request";
        let head = encoded(&format!("{}:{branch}", self.owner()));
        let state = match which {
            Which::Open => "open",
            Which::All => "all",
        };
        let path = format!("{}/pulls?state={state}&head={head}", self.project);
        let list = self.http.list(doing, &path)?;
        let ours = |value: &&Value| self.is_own(value, branch);
        list.iter().filter(ours).map(|value| request(doing, value)).collect()
    }

    fn status(&self, number: u64) -> Result<PullRequestStatus, Error> {
        let doing = "look what became of the pull request";
        let found = self.http.get(doing, &format!("{}/pulls/{number}", self.project))?.body;
        request(doing, &found).map(|request| request.standing)
    }

    fn look(&self, number: u64) -> Result<Seen, Error> {
        const FIELDS: Fields = Fields { text: "/body", url: "/html_url", base: "/base/ref" };
        let answer = self.http.get(pull_request::DOING, &format!("{}/pulls/{number}", self.project))?.body;
        Seen::read(&answer, &FIELDS, format!("refs/pull/{number}/head"))
    }

    fn create(&self, wanted: &Wanted<'_>, body: &str) -> Result<PullRequest, Error> {
        let doing = "open the pull request";
        let head = match &self.place.fork {
            Some(_) => format!("{}:{}", self.owner(), wanted.branch),
            None => wanted.branch.to_owned(),
        };
        let mut asked = json!({
            "title": wanted.title,
            "head": head,
            "base": wanted.base,
            "body": body,
            "draft": wanted.readiness == Readiness::Draft,
        });
        if self.place.fork.is_some() {
            asked["maintainer_can_modify"] = json!(true);
        }
        let path = format!("{}/pulls", self.project);
        let made = self.http.send(doing, Method::POST, &path, &asked)?;
        request(doing, &made)
    }

    fn update(&self, request: &PullRequest, wanted: &Wanted<'_>, body: &str) -> Result<(), Error> {
        if request.body != body {
            let path = format!("{}/pulls/{}", self.project, request.number);
            self.http.send("update the pull request", Method::PATCH, &path, &json!({ "body": body }))?;
        }
        let lacking: Vec<&String> = lacking(wanted.labels, &request.labels);
        if !lacking.is_empty() {
            let path = format!("{}/issues/{}/labels", self.project, request.number);
            self.http.send("label the pull request", Method::POST, &path, &json!({ "labels": lacking }))?;
        }
        Ok(())
    }

    fn turn(&self, request: &PullRequest, to: Readiness) -> Result<Vec<String>, Error> {
        let mut refused = Vec::new();
        if request.readiness != to {
            let doing = match to {
                Readiness::Draft => "make the pull request a draft",
                Readiness::Ready => "mark the pull request as ready",
            };
            accept(self.graphql(doing, to.mutation(), json!({ "id": request.node })), &mut refused)?;
        }
        Ok(refused)
    }

    fn invite(&self, request: &PullRequest, wanted: &Wanted<'_>) -> Result<Vec<String>, Error> {
        let mut refused = Vec::new();
        if !wanted.assignees.is_empty() {
            let path = format!("{}/issues/{}/assignees", self.project, request.number);
            let body = json!({ "assignees": wanted.assignees });
            let doing = "assign the pull request";
            accept(self.http.send(doing, Method::POST, &path, &body), &mut refused)?;
        }
        // Ask for each one separately: if GitHub rejects one name, it rejects the whole call.
        for name in wanted.reviewers {
            let body = match name.split_once('/') {
                Some((_, team)) => json!({ "team_reviewers": [team] }),
                None => json!({ "reviewers": [name] }),
            };
            let path = format!("{}/pulls/{}/requested_reviewers", self.project, request.number);
            let doing = "ask for a review";
            accept(self.http.send(doing, Method::POST, &path, &body), &mut refused)?;
        }
        Ok(refused)
    }

    fn auto_merge(&self, request: &PullRequest, wanted: &Wanted<'_>, commit: &str) -> Result<Armed, Error> {
        if request.merges_itself {
            return Ok(Armed::Yes);
        }
        const QUERY: &str = "mutation($id: ID!, $method: PullRequestMergeMethod!, $head: GitObjectID!) { \
            enablePullRequestAutoMerge(input: {pullRequestId: $id, mergeMethod: $method, expectedHeadOid: $head}) \
            { pullRequest { number } } }";
        let method = if wanted.squash { "SQUASH" } else { "MERGE" };
        let variables = json!({ "id": request.node, "method": method, "head": commit });
        match self.graphql("let the pull request merge itself", QUERY, variables) {
            Ok(_) => Ok(Armed::Yes),
            Err(Error::Refused { words, .. }) => Ok(Armed::No(words)),
            Err(error) => Err(error),
        }
    }

    fn feedback(&self, number: u64) -> Result<Vec<Comment>, Error> {
        comments::about(self, number)
    }

    fn comment(&self, number: u64, mark: &str, words: &str) -> Result<String, Error> {
        comments::post(self, number, mark, words)
    }

    fn answer(&self, number: u64, thread: &str, words: &str) -> Result<(), Error> {
        let doing = "answer a comment";
        let pulls = format!("{}/pulls/{number}", self.project);
        let said = self.http.list(doing, &format!("{pulls}/comments?"))?;
        let same = |value: &Value| {
            value.get("in_reply_to_id").map(ToString::to_string).as_deref() == Some(thread)
                && text(value, "/body").trim() == words.trim()
        };
        if said.iter().any(same) {
            return Ok(());
        }
        let path = format!("{pulls}/comments/{}/replies", encoded(thread));
        let mut refused = Vec::new();
        accept(self.http.send(doing, Method::POST, &path, &json!({ "body": words })), &mut refused)
    }
}

/// Records a rejected name as a remark, because it is no reason to stop.
pub(super) fn accept(answer: Result<Value, Error>, refused: &mut Vec<String>) -> Result<(), Error> {
    match answer {
        Ok(_) => Ok(()),
        Err(error @ Error::Refused { .. }) => {
            refused.push(error.to_string());
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// Returns the labels that a pull request lacks.
pub(super) fn lacking<'l>(wanted: &'l [String], has: &[String]) -> Vec<&'l String> {
    wanted.iter().filter(|label| !has.iter().any(|one| one.eq_ignore_ascii_case(label))).collect()
}

/// Checks a GraphQL answer, which reports errors in its body.
fn told(doing: &'static str, answer: Value) -> Result<Value, Error> {
    let Some(error) = answer.get("errors").and_then(Value::as_array).and_then(|errors| errors.first()) else {
        return Ok(answer);
    };
    let words = shown(error.get("message").and_then(Value::as_str).unwrap_or("no reason given"));
    Err(match error.get("type").and_then(Value::as_str) {
        Some("RATE_LIMITED") => Error::Busy { doing, wait: None, words },
        Some("FORBIDDEN" | "INSUFFICIENT_SCOPES") => Error::Denied { doing, words },
        Some(_) | None => Error::Refused { doing, status: 200, words },
    })
}

fn request(doing: &'static str, value: &Value) -> Result<PullRequest, Error> {
    let lacks = |words: &str| Error::Nonsense { doing, words: format!("no {words}") };
    let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let labels = value.get("labels").and_then(Value::as_array).into_iter().flatten();
    Ok(PullRequest {
        number: value.get("number").and_then(Value::as_u64).ok_or_else(|| lacks("number"))?,
        url: text("/html_url").filter(|url| is_page(url)).ok_or_else(|| lacks("html_url"))?,
        title: text("/title").unwrap_or_default(),
        standing: PullRequestStatus::at_github(value),
        readiness: Readiness::of(value),
        body: text("/body").unwrap_or_default(),
        head: text("/head/sha"),
        labels: labels.filter_map(|label| Some(label.get("name")?.as_str()?.to_owned())).collect(),
        node: text("/node_id").unwrap_or_default(),
        merges_itself: value.get("auto_merge").is_some_and(|auto| !auto.is_null()),
    })
}
