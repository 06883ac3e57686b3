//! GitLab's API.

mod merge;

use std::collections::BTreeMap;

use acquit_core::delivery::Comment;
use serde_json::{Value, json};
use ureq::http::Method;

use super::error::Error;
use super::feedback::{comment, is_page, text};
use super::github::{accept, lacking};
use super::http::{Http, encoded};
use super::pull_request::{self, Fields, Seen};
use super::remote::Place;
use super::{Armed, Forge, PullRequest, PullRequestStatus, Readiness, Wanted, Which, checks};

/// Statuses of an unfinished pipeline. Every version of GitLab waits for an active one; without one, older versions
/// merge at once.
const ACTIVE: [&str; 6] = ["created", "waiting_for_resource", "preparing", "pending", "running", "scheduled"];

/// Lowest access level that may push.
const DEVELOPER: u64 = 30;

/// A project at GitLab.
pub(super) struct GitLab<'w> {
    http: Http<'w>,
    place: &'w Place,
    /// `/projects/group%2Fname`.
    project: String,
}

impl<'w> GitLab<'w> {
    pub(super) fn new(http: Http<'w>, place: &'w Place) -> Self {
        Self { http, place, project: format!("/projects/{}", encoded(&place.project)) }
    }

    /// Returns the id of a project.
    fn number(&self, project: &str) -> Result<u64, Error> {
        let doing = "look for the project";
        let found = self.http.get(doing, &format!("/projects/{}", encoded(project)))?;
        let id = found.body.get("id").and_then(Value::as_u64);
        id.ok_or(Error::Nonsense { doing, words: "no id".to_owned() })
    }

    /// Returns the ids of users. Collects unknown names.
    fn users(&self, names: &[String], unknown: &mut Vec<String>) -> Result<Vec<u64>, Error> {
        let mut ids = Vec::new();
        for name in names {
            let path = format!("/users?username={}", encoded(name));
            let found = self.http.get("look for a user", &path)?.body;
            match found.pointer("/0/id").and_then(Value::as_u64) {
                Some(id) => ids.push(id),
                None => unknown.push(format!("there is no user {name} at the forge")),
            }
        }
        Ok(ids)
    }

    /// Returns whether a user has write access to the project.
    fn may_write(&self, user: u64) -> Result<bool, Error> {
        let doing = "look who commented";
        match self.http.get(doing, &format!("{}/members/all/{user}", self.project)) {
            Ok(member) => Ok(member
                .body
                .get("access_level")
                .and_then(Value::as_u64)
                .is_some_and(|level| level >= DEVELOPER)),
            // A user who is not a member is not found.
            Err(Error::Denied { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Keeps the merge requests that come from our own project. Branches with the same name in two forks result in
    /// two merge requests in one project.
    fn own(&self, mut list: Vec<Value>) -> Result<Vec<Value>, Error> {
        let source = match (&self.place.fork, list.is_empty()) {
            (Some(fork), false) => Some(self.number(fork)?),
            (Some(_) | None, _) => None,
        };
        list.retain(|value| {
            let from = value.get("source_project_id").and_then(Value::as_u64);
            match source {
                Some(source) => from == Some(source),
                None => from == value.get("target_project_id").and_then(Value::as_u64),
            }
        });
        Ok(list)
    }

    fn path(&self, number: u64) -> String {
        format!("{}/merge_requests/{number}", self.project)
    }
}

impl Forge for GitLab<'_> {
    fn find(&self, branch: &str, which: Which) -> Result<Vec<PullRequest>, Error> {
        let doing = "look for the merge request";
        let branch = encoded(branch);
        let state = match which {
            Which::Open => "opened",
            Which::All => "all",
        };
        let path = format!("{}/merge_requests?state={state}&source_branch={branch}", self.project);
        self.own(self.http.list(doing, &path)?)?.iter().map(|value| request(doing, value)).collect()
    }

    fn status(&self, number: u64) -> Result<PullRequestStatus, Error> {
        let doing = "look what became of the merge request";
        let found = self.http.get(doing, &self.path(number))?.body;
        request(doing, &found).map(|request| request.standing)
    }

    fn look(&self, number: u64) -> Result<Seen, Error> {
        const FIELDS: Fields = Fields { text: "/description", url: "/web_url", base: "/target_branch" };
        let answer = self.http.get(pull_request::DOING, &self.path(number))?.body;
        Seen::read(&answer, &FIELDS, format!("refs/merge-requests/{number}/head"))
    }

    fn create(&self, wanted: &Wanted<'_>, body: &str) -> Result<PullRequest, Error> {
        let doing = "open the merge request";
        let mut asked = json!({
            "source_branch": wanted.branch,
            "target_branch": wanted.base,
            "title": wanted.readiness.titled(wanted.title),
            "description": body,
            "squash": wanted.squash,
            "remove_source_branch": true,
        });
        if !wanted.labels.is_empty() {
            asked["labels"] = json!(wanted.labels.join(","));
        }
        let mut source = self.project.clone();
        if let Some(fork) = &self.place.fork {
            asked["target_project_id"] = json!(self.number(&self.place.project)?);
            source = format!("/projects/{}", encoded(fork));
        }
        let made = self.http.send(doing, Method::POST, &format!("{source}/merge_requests"), &asked)?;
        request(doing, &made)
    }

    fn update(&self, request: &PullRequest, wanted: &Wanted<'_>, body: &str) -> Result<(), Error> {
        let mut asked = json!({});
        if request.body != body {
            asked["description"] = json!(body);
        }
        let lacking: Vec<&str> =
            lacking(wanted.labels, &request.labels).into_iter().map(String::as_str).collect();
        if !lacking.is_empty() {
            asked["add_labels"] = json!(lacking.join(","));
        }
        if asked.as_object().is_some_and(|asked| !asked.is_empty()) {
            self.http.send("update the merge request", Method::PUT, &self.path(request.number), &asked)?;
        }
        Ok(())
    }

    fn turn(&self, request: &PullRequest, to: Readiness) -> Result<Vec<String>, Error> {
        let mut refused = Vec::new();
        if request.readiness != to {
            let doing = match to {
                Readiness::Draft => "make the merge request a draft",
                Readiness::Ready => "mark the merge request as ready",
            };
            let asked = json!({ "title": to.titled(&request.title) });
            accept(self.http.send(doing, Method::PUT, &self.path(request.number), &asked), &mut refused)?;
        }
        Ok(refused)
    }

    fn invite(&self, request: &PullRequest, wanted: &Wanted<'_>) -> Result<Vec<String>, Error> {
        let mut refused = Vec::new();
        let assignees = self.users(wanted.assignees, &mut refused)?;
        let reviewers = self.users(wanted.reviewers, &mut refused)?;
        let mut asked = json!({});
        if !assignees.is_empty() {
            asked["assignee_ids"] = json!(assignees);
        }
        if !reviewers.is_empty() {
            asked["reviewer_ids"] = json!(reviewers);
        }
        if asked.as_object().is_some_and(|asked| !asked.is_empty()) {
            let doing = "ask for a review";
            let answer = self.http.send(doing, Method::PUT, &self.path(request.number), &asked);
            accept(answer, &mut refused)?;
        }
        Ok(refused)
    }

    fn auto_merge(&self, request: &PullRequest, wanted: &Wanted<'_>, commit: &str) -> Result<Armed, Error> {
        if request.merges_itself {
            return Ok(Armed::Yes);
        }
        let doing = "let the merge request merge itself";
        let now = self.http.get(doing, &self.path(request.number))?.body;
        let text = |pointer: &str| now.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        if text("/sha") != commit {
            return Ok(Armed::No("its branch has moved".to_owned()));
        }
        if !ACTIVE.contains(&text("/head_pipeline/status")) || text("/head_pipeline/sha") != commit {
            return Ok(Armed::No("no pipeline is running for it, and nothing else is waited for".to_owned()));
        }
        let asked = json!({
            // The name since 17.11, and the old one.
            "auto_merge": true,
            "merge_when_pipeline_succeeds": true,
            "squash": wanted.squash,
            "sha": commit,
        });
        let path = format!("{}/merge", self.path(request.number));
        match self.http.send(doing, Method::PUT, &path, &asked) {
            Ok(_) => Ok(Armed::Yes),
            Err(Error::Refused { words, .. }) => Ok(Armed::No(words)),
            Err(error) => Err(error),
        }
    }

    fn feedback(&self, number: u64) -> Result<Vec<Comment>, Error> {
        let doing = "read what was said about the merge request";
        let request = self.http.get(doing, &self.path(number))?.body;
        if text(&request, "/state") != "opened" {
            return Ok(Vec::new());
        }
        let mut all = Vec::new();
        let mut known: BTreeMap<u64, bool> = BTreeMap::new();
        for thread in self.http.list(doing, &format!("{}/discussions?", self.path(number)))? {
            for note in thread.get("notes").and_then(Value::as_array).into_iter().flatten() {
                let is = |key: &str| note.get(key).and_then(Value::as_bool).unwrap_or(false);
                let Some(author) = note.pointer("/author/id").and_then(Value::as_u64) else { continue };
                if is("system") || is("resolved") {
                    continue;
                }
                let may = match known.get(&author) {
                    Some(may) => *may,
                    None => self.may_write(author)?,
                };
                known.insert(author, may);
                if !may {
                    continue;
                }
                let line = note.pointer("/position/new_line").and_then(Value::as_u64);
                let place = line.map(|line| (text(note, "/position/new_path"), line));
                let id = format!("note {}", note.get("id").unwrap_or(&Value::Null));
                let by = text(note, "/author/username");
                let to = Some(text(&thread, "/id").to_owned()).filter(|id| !id.is_empty());
                all.extend(comment(id, by, text(note, "/body"), place, to));
            }
        }
        all.extend(checks::at_gitlab(&self.http, doing, &request)?);
        Ok(all)
    }

    fn comment(&self, number: u64, mark: &str, words: &str) -> Result<String, Error> {
        let doing = "comment on the merge request";
        let me = self.http.get(doing, "/user")?.body.get("id").and_then(Value::as_u64);
        let me = me.ok_or(Error::Nonsense { doing, words: "no id of the user".to_owned() })?;
        let notes = format!("{}/notes", self.path(number));
        let ours = |note: &Value| {
            note.pointer("/author/id").and_then(Value::as_u64) == Some(me)
                && text(note, "/body").lines().next() == Some(mark)
        };
        let found = self.http.list(doing, &format!("{notes}?sort=asc&order_by=created_at"))?;
        let id = found.iter().find(|note| ours(note)).and_then(|note| note.get("id")?.as_u64());
        let body = json!({ "body": words });
        let note = match id {
            Some(id) => self.http.send(doing, Method::PUT, &format!("{notes}/{id}"), &body)?,
            None => self.http.send(doing, Method::POST, &notes, &body)?,
        };
        let request = self.http.get(doing, &self.path(number))?.body;
        Ok(format!("{}#note_{}", text(&request, "/web_url"), note.get("id").unwrap_or(&Value::Null)))
    }

    fn answer(&self, number: u64, thread: &str, words: &str) -> Result<(), Error> {
        let doing = "answer a comment";
        let path = format!("{}/discussions/{}", self.path(number), encoded(thread));
        let said = self.http.get(doing, &path)?.body;
        let notes = said.get("notes").and_then(Value::as_array).into_iter().flatten();
        if notes.into_iter().any(|note| text(note, "/body").trim() == words.trim()) {
            return Ok(());
        }
        let mut refused = Vec::new();
        let answer = self.http.send(doing, Method::POST, &format!("{path}/notes"), &json!({ "body": words }));
        accept(answer, &mut refused)
    }
}

fn request(doing: &'static str, value: &Value) -> Result<PullRequest, Error> {
    let lacks = |words: &str| Error::Nonsense { doing, words: format!("no {words}") };
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let labels = value.get("labels").and_then(Value::as_array).into_iter().flatten();
    Ok(PullRequest {
        number: value.get("iid").and_then(Value::as_u64).ok_or_else(|| lacks("iid"))?,
        url: text("web_url").filter(|url| is_page(url)).ok_or_else(|| lacks("web_url"))?,
        title: text("title").unwrap_or_default(),
        standing: PullRequestStatus::at_gitlab(value),
        readiness: Readiness::of(value),
        body: text("description").unwrap_or_default(),
        head: text("sha"),
        labels: labels.filter_map(|label| Some(label.as_str()?.to_owned())).collect(),
        node: String::new(),
        merges_itself: value.get("merge_when_pipeline_succeeds").and_then(Value::as_bool).unwrap_or(false),
    })
}
