//! What was said about a pull request at GitHub: reviews, comments on lines, remarks below it, and checks that failed.
//!
//! GitHub says of each author how they belong to the project, but members and collaborators may be readers only. So whoever belongs
//! to it is looked up once. Threads that people resolved are settled and do not come back.

use std::collections::{BTreeMap, BTreeSet};

use acquit_core::delivery::Comment;
use serde_json::{Value, json};

use super::GitHub;
use ureq::http::Method;

use crate::forge::checks;
use crate::forge::error::Error;
use crate::forge::feedback::{comment, text};
use crate::forge::http::encoded;

/// What the call is for, in messages.
const DOING: &str = "read what was said about the pull request";

/// Everything that is to be taken up, if the request is open.
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
        // A line that is no more has only the number that it had.
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

/// A comment, with a name that it has among all kinds of them.
fn said(kind: &str, value: &Value, place: Option<(&str, u64)>, thread: Option<String>) -> Option<Comment> {
    let id = format!("{kind} {}", value.get("id").unwrap_or(&Value::Null));
    comment(id, text(value, "/user/login"), text(value, "/body"), place, thread)
}

/// The comment that begins the thread of another; itself, if it does or that is gone.
fn root<'v>(one: &'v Value, all: &'v [Value]) -> &'v Value {
    let begins = one.get("in_reply_to_id").filter(|id| !id.is_null());
    begins.and_then(|id| all.iter().find(|other| other.get("id") == Some(id))).unwrap_or(one)
}

/// Whether the words of a review want something: one that asks for changes, unless the same person approved later, and one that
/// only comments. Approvals and what was dismissed do not.
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

/// Who may write to the project, as far as it was asked.
struct Authors<'g, 'w> {
    github: &'g GitHub<'w>,
    known: BTreeMap<String, bool>,
}

impl Authors<'_, '_> {
    /// Whether the author of something may write. A program's own words are told as checks.
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
            // Who is unknown there has no right, and a token that may not ask cannot tell.
            Err(Error::Denied { .. } | Error::Refused { .. }) => false,
            Err(error) => return Err(error),
        };
        self.known.insert(login.to_owned(), may);
        Ok(may)
    }
}

/// How many pages of threads are read, of a hundred each: as many as of comments.
const PAGES: usize = 10;

const QUERY: &str = "query($owner: String!, $name: String!, $number: Int!, $after: String) { \
    repository(owner: $owner, name: $name) { pullRequest(number: $number) { \
    reviewThreads(first: 100, after: $after) { pageInfo { hasNextPage endCursor } \
    nodes { isResolved comments(first: 1) { nodes { url } } } } } } }";

/// The pages of the comments that begin resolved threads, which REST does not tell. Their numbers are of no use: GraphQL's have outgrown its integers.
fn resolved(github: &GitHub<'_>, number: u64) -> Result<BTreeSet<String>, Error> {
    let doing = "read which threads are resolved";
    let (owner, name) = github.place.project.split_once('/').unwrap_or_default();
    let mut found = BTreeSet::new();
    let mut after = Value::Null;
    for _ in 0..PAGES {
        let variables = json!({ "owner": owner, "name": name, "number": number, "after": after });
        let answer = match github.ask(doing, QUERY, variables) {
            Ok(answer) => answer,
            // A token that may read comments need not be let in here. Then all of them count as open, as REST shows them.
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

/// Asks which of the comments are our own: REST does not tell a token of an app who it is.
const OWN: &str = "query($owner: String!, $name: String!, $number: Int!, $after: String) { \
    repository(owner: $owner, name: $name) { pullRequest(number: $number) { \
    comments(first: 100, after: $after) { pageInfo { hasNextPage endCursor } \
    nodes { viewerDidAuthor body url } } } } }";

/// Posts a comment below the request, or updates our own that begins with the line `mark`.
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

/// The number of our own comment that begins with the line `mark`. It stands at the end of the comment's page.
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
