//! Feedback on a pull request at GitHub: reviews, line comments, general comments, and failed checks.
//!
//! GitHub reports each author's association with the project, but members and collaborators may have read access only.
//! So each of them is looked up once. Resolved threads are left out.

use std::collections::{BTreeMap, BTreeSet};

use acquit_core::delivery::Comment;
use serde_json::{Value, json};

use super::GitHub;
use ureq::http::Method;

use crate::forge::checks;
use crate::forge::error::Error;
use crate::forge::feedback::{comment, text};
use crate::forge::http::encoded;

/// The operation, for messages.
const DOING: &str = "read what was said about the pull request";

/// Returns all feedback, if the pull request is open.
pub(super) fn about(github: &GitHub<'_>, number: u64) -> Result<Vec<Comment>, Error> {
    let pulls = format!("{}/pulls/{number}", github.project);
    let request = github.http.get(DOING, &pulls)?.body;
    if text(&request, "/state") != "open" {
        return Ok(Vec::new());
    }
    let mut authors = Authors { github, known: BTreeMap::new() };
    let mut all = Vec::new();
    let reviews = github.http.list(DOING, &format!("{pulls}/reviews?"))?;
    for (at, review) in reviews.iter().enumerate() {
        if speaks(review, &reviews[at + 1..]) && authors.may_write(review)? {
            all.extend(said("review", review, None, None));
        }
    }
    let comments = github.http.list(DOING, &format!("{pulls}/comments?"))?;
    let settled = if comments.is_empty() { BTreeSet::new() } else { resolved(github, number)? };
    for one in &comments {
        let begins = root(one, &comments);
        if settled.contains(text(begins, "/html_url")) || !authors.may_write(one)? {
            continue;
        }
        // A line that no longer exists only has its original number.
        let line = ["line", "original_line"].iter().find_map(|key| one.get(*key)?.as_u64());
        let place = line.map(|line| (text(one, "/path"), line));
        all.extend(said("comment", one, place, begins.get("id").map(ToString::to_string)));
    }
    let issues = format!("{}/issues/{number}", github.project);
    for remark in github.http.list(DOING, &format!("{issues}/comments?"))? {
        if authors.may_write(&remark)? {
            all.extend(said("remark", &remark, None, None));
        }
    }
    all.extend(checks::at_github(&github.http, DOING, &github.project, text(&request, "/head/sha"))?);
    Ok(all)
}

/// Converts a comment, with an id that is unique among all kinds.
fn said(kind: &str, value: &Value, place: Option<(&str, u64)>, thread: Option<String>) -> Option<Comment> {
    let id = format!("{kind} {}", value.get("id").unwrap_or(&Value::Null));
    comment(id, text(value, "/user/login"), text(value, "/body"), place, thread)
}

/// Returns the first comment of a thread. Returns the comment itself if it is the first, or if the first is gone.
fn root<'v>(one: &'v Value, all: &'v [Value]) -> &'v Value {
    let begins = one.get("in_reply_to_id").filter(|id| !id.is_null());
    begins.and_then(|id| all.iter().find(|other| other.get("id") == Some(id))).unwrap_or(one)
}

/// Returns whether the text of a review asks for something: one that requests changes, unless the same person approved
/// later, and one that only comments. Approvals and dismissed reviews do not.
fn speaks(review: &Value, later: &[Value]) -> bool {
    let author = text(review, "/user/login");
    let approved =
        |other: &Value| text(other, "/user/login") == author && text(other, "/state") == "APPROVED";
    match text(review, "/state") {
        "CHANGES_REQUESTED" => !later.iter().any(approved),
        "COMMENTED" => true,
        _ => false,
    }
}

/// Cache of who has write access to the project.
struct Authors<'g, 'w> {
    github: &'g GitHub<'w>,
    known: BTreeMap<String, bool>,
}

impl Authors<'_, '_> {
    /// Returns whether the author has write access. Messages of bots are reported as checks instead.
    fn may_write(&mut self, value: &Value) -> Result<bool, Error> {
        let belongs = ["OWNER", "MEMBER", "COLLABORATOR"].contains(&text(value, "/author_association"));
        let login = text(value, "/user/login");
        if !belongs || text(value, "/user/type") == "Bot" || login.is_empty() {
            return Ok(false);
        }
        if let Some(known) = self.known.get(login) {
            return Ok(*known);
        }
        let path = format!("{}/collaborators/{}/permission", self.github.project, encoded(login));
        let may = match self.github.http.get("look who commented", &path) {
            Ok(found) => ["admin", "write"].contains(&text(&found.body, "/permission")),
            // An unknown user has no access, and a token without permission to ask gets no answer.
            Err(Error::Denied { .. } | Error::Refused { .. }) => false,
            Err(error) => return Err(error),
        };
        self.known.insert(login.to_owned(), may);
        Ok(may)
    }
}

/// Maximum number of pages of threads, a hundred each: as many as of comments.
const PAGES: usize = 10;

const QUERY: &str = "query($owner: String!, $name: String!, $number: Int!, $after: String) { \
    repository(owner: $owner, name: $name) { pullRequest(number: $number) { \
    reviewThreads(first: 100, after: $after) { pageInfo { hasNextPage endCursor } \
    nodes { isResolved comments(first: 1) { nodes { url } } } } } } }";

/// Returns the page addresses of the first comments of resolved threads, which REST does not report. Their ids are
/// useless, because they exceed GraphQL's integers.
fn resolved(github: &GitHub<'_>, number: u64) -> Result<BTreeSet<String>, Error> {
    let doing = "read which threads are resolved";
    let (owner, name) = github.place.project.split_once('/').unwrap_or_default();
    let mut found = BTreeSet::new();
    let mut after = Value::Null;
    for _ in 0..PAGES {
        let variables = json!({ "owner": owner, "name": name, "number": number, "after": after });
        let answer = match github.ask(doing, QUERY, variables) {
            Ok(answer) => answer,
            // A token that may read comments may lack access here. Then all threads count as open, as REST shows them.
            Err(Error::Refused { .. } | Error::Denied { .. } | Error::Nonsense { .. }) => break,
            Err(error @ (Error::Busy { .. } | Error::Away { .. } | Error::Setting(_))) => return Err(error),
        };
        let threads = answer.pointer("/data/repository/pullRequest/reviewThreads");
        let Some(threads) = threads else { break };
        for thread in threads.get("nodes").and_then(Value::as_array).into_iter().flatten() {
            if thread.get("isResolved").and_then(Value::as_bool).unwrap_or(false) {
                found.insert(text(thread, "/comments/nodes/0/url").to_owned());
            }
        }
        if !threads.pointer("/pageInfo/hasNextPage").and_then(Value::as_bool).unwrap_or(false) {
            break;
        }
        after = threads.pointer("/pageInfo/endCursor").cloned().unwrap_or_default();
    }
    Ok(found)
}

/// Query for our own comments. REST does not tell an app's token which user it is.
const OWN: &str = "query($owner: String!, $name: String!, $number: Int!, $after: String) { \
    repository(owner: $owner, name: $name) { pullRequest(number: $number) { \
    comments(first: 100, after: $after) { pageInfo { hasNextPage endCursor } \
    nodes { viewerDidAuthor body url } } } } }";

/// Posts a general comment, or updates our own that starts with the line `mark`.
pub(super) fn post(github: &GitHub<'_>, number: u64, mark: &str, words: &str) -> Result<String, Error> {
    let doing = "comment on the pull request";
    let body = json!({ "body": words });
    let issues = format!("{}/issues", github.project);
    let answer = match own(github, number, mark, doing)? {
        Some(id) => github.http.send(doing, Method::PATCH, &format!("{issues}/comments/{id}"), &body)?,
        None => github.http.send(doing, Method::POST, &format!("{issues}/{number}/comments"), &body)?,
    };
    Ok(text(&answer, "/html_url").to_owned())
}

/// Returns the id of our own comment that starts with the line `mark`. It is at the end of the comment's page address.
fn own(github: &GitHub<'_>, number: u64, mark: &str, doing: &'static str) -> Result<Option<u64>, Error> {
    let (owner, name) = github.place.project.split_once('/').unwrap_or_default();
    let mut after = Value::Null;
    for _ in 0..PAGES {
        let variables = json!({ "owner": owner, "name": name, "number": number, "after": after });
        let answer = github.ask(doing, OWN, variables)?;
        let Some(comments) = answer.pointer("/data/repository/pullRequest/comments") else { break };
        for one in comments.get("nodes").and_then(Value::as_array).into_iter().flatten() {
            let ours = one.get("viewerDidAuthor").and_then(Value::as_bool).unwrap_or(false);
            if ours && text(one, "/body").lines().next() == Some(mark) {
                return Ok(text(one, "/url").rsplit("issuecomment-").next().and_then(|id| id.parse().ok()));
            }
        }
        if !comments.pointer("/pageInfo/hasNextPage").and_then(Value::as_bool).unwrap_or(false) {
            break;
        }
        after = comments.pointer("/pageInfo/endCursor").cloned().unwrap_or_default();
    }
    Ok(None)
}
