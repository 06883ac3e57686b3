//! GitHub's rules.

use serde_json::{Value, json};

use super::graphql::{self, Asked};
use super::merge::{Against, Shape, against, merge};
use super::state::{Call, Pull, Remark, State};
use super::{Reply, lock, page};

/// Maximum length of a description.
const LONGEST: usize = 65_536;

pub(super) fn answer(call: &Call<'_>, state: &mut State) -> Reply {
    let parts = call.parts();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    if let ["api", "graphql"] = parts[..] {
        return by_graphql(call, state);
    }
    let ["repos", owner, name, ref rest @ ..] = parts[..] else { return Reply::message(404, "Not Found") };
    let project = format!("{owner}/{name}");
    if state.project_id(&project).is_none() {
        return Reply::message(404, "Not Found");
    }
    match (call.method, rest) {
        ("GET", ["pulls"]) => list(call, state, &project),
        ("POST", ["pulls"]) => create(call, state, &project),
        ("GET", ["issues", number, "comments"]) => {
            let pull = number.parse().ok().and_then(|number| state.pull(&project, number));
            let Some(pull) = pull.cloned() else { return Reply::message(404, "Not Found") };
            let plain = |one: &&Remark| one.place.is_none() && one.review.is_none();
            page(call, pull.remarks.iter().filter(plain).map(|one| comment(call, &pull, one)).collect())
        }
        ("PATCH", ["issues", "comments", id]) => {
            let id: u64 = id.parse().unwrap_or(0);
            let known = |pull: &&Pull| pull.project == project && pull.remarks.iter().any(|one| one.id == id);
            let Some(number) = state.pulls.iter().find(known).map(|pull| pull.number) else {
                return Reply::message(404, "Not Found");
            };
            let Some(pull) = state.pull(&project, number) else { return Reply::message(404, "Not Found") };
            for remark in pull.remarks.iter_mut().filter(|one| one.id == id) {
                remark.text = call.text("body").unwrap_or_default();
            }
            let remark = pull.remarks.iter().find(|one| one.id == id).cloned().unwrap_or_default();
            Reply::new(200, comment(call, pull, &remark))
        }
        (method, ["pulls" | "issues", number, rest @ ..]) => {
            let Some(number) = number.parse().ok().filter(|number| state.pull(&project, *number).is_some())
            else {
                return Reply::message(404, "Not Found");
            };
            one(call, state, &project, number, method, rest)
        }
        ("GET", ["collaborators", name, "permission"]) => {
            if state.user_id(name).is_none() {
                return Reply::message(404, "Not Found");
            }
            let mut remarks = state.pulls.iter().flat_map(|pull| &pull.remarks);
            let reads = remarks.any(|remark| remark.author == *name && remark.reader);
            Reply::new(200, json!({ "permission": if reads { "read" } else { "write" } }))
        }
        ("GET", ["commits", sha, "check-runs"]) => {
            let runs = ended(call, state, sha).into_iter().filter(|how| how != "error");
            let runs: Vec<Value> = runs
                .map(|how| {
                    json!({ "id": 1, "name": "ci", "status": "completed", "conclusion": how,
                    "output": { "title": "ci", "summary": "it is red", "annotations_count": 2 } })
                })
                .collect();
            Reply::new(200, json!({ "total_count": runs.len(), "check_runs": runs }))
        }
        // Commit statuses, the older API for checks.
        ("GET", ["commits", sha, "status"]) => {
            let states = ended(call, state, sha).into_iter().filter(|how| how == "error");
            let states: Vec<Value> = states
                .map(|how| json!({ "id": 1, "context": "old-ci", "state": how, "description": "red" }))
                .collect();
            Reply::new(200, json!({ "state": "failure", "statuses": states }))
        }
        ("GET", ["check-runs", "1", "annotations"]) => page(
            call,
            vec![
                json!({ "path": "log.txt", "start_line": 1, "annotation_level": "notice", "message": "hm" }),
                json!({ "path": "log.txt", "start_line": 2, "annotation_level": "failure", "message": "no newline" }),
            ],
        ),
        _ => Reply::message(404, "Not Found"),
    }
}

/// Returns the results of a commit's checks.
fn ended(call: &Call<'_>, state: &State, sha: &str) -> Vec<String> {
    let of_it = |pull: &&Pull| call.shared.commit(&pull.source, &pull.head).as_deref() == Some(sha);
    state.pulls.iter().filter(of_it).filter_map(|pull| pull.pipeline.clone()).collect()
}

fn list(call: &Call<'_>, state: &State, project: &str) -> Reply {
    let wanted = call.query("state").unwrap_or_else(|| "open".to_owned());
    let state_fits = |pull: &Pull| match wanted.as_str() {
        "open" => pull.state == "open",
        "closed" => pull.state != "open",
        _ => true,
    };
    let head = call.query("head");
    let fits = |pull: &&Pull| {
        let label = format!("{}:{}", pull.source.split('/').next().unwrap_or_default(), pull.head);
        pull.project == project && state_fits(pull) && head.as_ref().is_none_or(|wanted| *wanted == label)
    };
    page(call, state.pulls.iter().filter(fits).map(|pull| shown(call, state, pull)).collect())
}

fn invalid(field: &str) -> Reply {
    let errors = json!([{ "resource": "PullRequest", "field": field, "code": "invalid" }]);
    Reply::new(422, json!({ "message": "Validation Failed", "errors": errors }))
}

fn failed(words: &str) -> Reply {
    let errors = json!([{ "resource": "PullRequest", "code": "custom", "message": words }]);
    Reply::new(422, json!({ "message": "Validation Failed", "errors": errors }))
}

fn create(call: &Call<'_>, state: &mut State, project: &str) -> Reply {
    let text = |key: &str| call.text(key).unwrap_or_default();
    let (title, head, base, body) = (text("title"), text("head"), text("base"), text("body"));
    if title.is_empty() {
        return invalid("title");
    }
    if body.chars().count() > LONGEST {
        return failed("body is too long (maximum is 65536 characters)");
    }
    let own = project.split('/').next().unwrap_or_default();
    let (owner, head) = head.split_once(':').map_or((own, head.as_str()), |(owner, head)| (owner, head));
    let name = project.split('/').nth(1).unwrap_or_default();
    let source = format!("{owner}/{name}");
    if call.shared.commit(project, &base).is_none() {
        return invalid("base");
    }
    if state.project_id(&source).is_none() || call.shared.commit(&source, head).is_none() {
        return invalid("head");
    }
    let same = |pull: &Pull| {
        pull.project == project
            && pull.source == source
            && pull.state == "open"
            && (pull.head.as_str(), pull.base.as_str()) == (head, base.as_str())
    };
    if state.pulls.iter().any(same) {
        return failed(&format!("A pull request already exists for {owner}:{head}."));
    }
    if call.ahead(project, &base, &source, head) == 0 {
        return failed(&format!("No commits between {base} and {head}"));
    }
    let pull = Pull {
        number: state.next_number(project),
        project: project.to_owned(),
        source,
        head: head.to_owned(),
        base,
        title,
        body,
        author: call.user.to_owned(),
        state: "open".to_owned(),
        draft: call.body["draft"] == true,
        ..Pull::default()
    };
    let reply = Reply::new(201, shown(call, state, &pull));
    state.pulls.push(pull);
    reply
}

/// Merges a pull request, or says why not in GitHub's words.
fn merge_one(call: &Call<'_>, state: &mut State, project: &str, number: u64) -> Reply {
    let Some(mut pull) = state.pull(project, number).cloned() else {
        return Reply::message(404, "Not Found");
    };
    let sha = call.text("sha");
    if let Some(against) = against(call, state, &pull, sha.as_deref()) {
        return match against {
            Against::NotOpen | Against::Conflict => Reply::message(405, "Pull Request is not mergeable"),
            Against::Head => Reply::message(409, "Head branch was modified. Review and try the merge again."),
            Against::Draft => Reply::message(405, "Pull Request is still a draft"),
            Against::Review => {
                Reply::message(405, "At least 1 approving review is required by reviewers with write access.")
            }
            Against::Checks => Reply::message(405, "Required status check \"ci\" is expected."),
        };
    }
    let message = format!(
        "{}\n\n{}",
        call.text("commit_title").unwrap_or_default(),
        call.text("commit_message").unwrap_or_default()
    );
    let shape = match call.text("merge_method").as_deref() {
        Some("squash" | "rebase") => Shape::Squashed,
        _ => Shape::Joined,
    };
    let commit = merge(call, &mut pull, shape, message.trim());
    if let Some(known) = state.pull(project, number) {
        *known = pull;
    }
    Reply::new(200, json!({ "sha": commit, "merged": true, "message": "Pull Request successfully merged" }))
}

fn one(call: &Call<'_>, state: &mut State, project: &str, number: u64, method: &str, rest: &[&str]) -> Reply {
    let known: Vec<String> =
        call.texts("reviewers").into_iter().filter(|name| state.user_id(name).is_some()).collect();
    let assignees: Vec<String> =
        call.texts("assignees").into_iter().filter(|name| state.user_id(name).is_some()).collect();
    if let ("PUT", ["merge"]) = (method, rest) {
        return merge_one(call, state, project, number);
    }
    let Some(pull) = state.pull(project, number) else { return Reply::message(404, "Not Found") };
    match (method, rest) {
        ("PATCH", []) => {
            for (key, field) in
                [("title", &mut pull.title), ("body", &mut pull.body), ("state", &mut pull.state)]
            {
                if let Some(text) = call.text(key) {
                    *field = text;
                }
            }
            if pull.body.chars().count() > LONGEST {
                return failed("body is too long (maximum is 65536 characters)");
            }
        }
        ("POST", ["labels"]) => {
            for label in call.texts("labels") {
                if !pull.labels.contains(&label) {
                    pull.labels.push(label);
                }
            }
            return Reply::new(200, labels(pull));
        }
        ("POST", ["assignees"]) => {
            // GitHub silently ignores unknown users.
            pull.assignees.extend(assignees);
            let pull = pull.clone();
            return Reply::new(201, shown(call, state, &pull));
        }
        ("POST", ["requested_reviewers"]) => {
            let wanted = call.texts("reviewers");
            if wanted.contains(&pull.author) {
                return Reply::message(422, "Review cannot be requested from pull request author.");
            }
            if known.len() < wanted.len() {
                let words = "Reviews may only be requested from collaborators. One or more of the users or teams you \
                             specified is not a collaborator of the repository.";
                return Reply::message(422, words);
            }
            let teams = call.texts("team_reviewers").into_iter().map(|team| format!("team:{team}"));
            pull.reviewers.extend(known.into_iter().chain(teams));
            let pull = pull.clone();
            return Reply::new(201, shown(call, state, &pull));
        }
        ("GET", ["comments"]) => {
            let of_lines = pull.remarks.iter().filter(|one| one.place.is_some());
            return page(call, of_lines.map(|one| comment(call, pull, one)).collect());
        }
        ("GET", ["reviews"]) => {
            let reviews = pull.remarks.iter().filter_map(|one| Some((one, one.review.as_ref()?)));
            let shown = reviews.map(|(one, review)| {
                let mut shown = comment(call, pull, one);
                shown["state"] = json!(review);
                shown
            });
            return page(call, shown.collect());
        }
        ("POST", ["comments"]) => {
            let remark = Remark {
                id: 9_000 + pull.remarks.len() as u64,
                author: call.user.to_owned(),
                trusted: true,
                text: call.text("body").unwrap_or_default(),
                ..Remark::default()
            };
            let reply = Reply::new(201, comment(call, pull, &remark));
            pull.remarks.push(remark);
            return reply;
        }
        ("POST", ["comments", id, "replies"]) => {
            let id: u64 = id.parse().unwrap_or(0);
            let place = pull.remarks.iter().find(|one| one.id == id).and_then(|one| one.place.clone());
            let Some(place) = place else { return Reply::message(404, "Not Found") };
            let remark = Remark {
                id: 9_000 + pull.remarks.len() as u64,
                author: call.user.to_owned(),
                trusted: true,
                text: call.text("body").unwrap_or_default(),
                place: Some(place),
                answers: Some(id),
                ..Remark::default()
            };
            let reply = Reply::new(201, comment(call, pull, &remark));
            pull.remarks.push(remark);
            return reply;
        }
        ("GET", []) => {}
        _ => return Reply::message(404, "Not Found"),
    }
    let pull = pull.clone();
    Reply::new(200, shown(call, state, &pull))
}

fn comment(call: &Call<'_>, pull: &Pull, remark: &Remark) -> Value {
    let (path, line) = remark.place.clone().unwrap_or_default();
    let association = if remark.trusted { "MEMBER" } else { "NONE" };
    json!({
        "id": remark.id,
        "html_url": page_of(call, pull, remark),
        "body": remark.text,
        "path": path,
        "line": line,
        "in_reply_to_id": remark.answers,
        "user": { "login": remark.author, "type": if remark.program { "Bot" } else { "User" } },
        "author_association": association,
    })
}

/// Returns the address of a comment.
fn page_of(call: &Call<'_>, pull: &Pull, remark: &Remark) -> String {
    let kind = if remark.place.is_some() { "discussion_r" } else { "issuecomment-" };
    format!("{}/{}/pull/{}#{kind}{}", call.shared.public(), pull.project, pull.number, remark.id)
}

/// Answers GraphQL, as far as REST lacks what is needed.
fn by_graphql(call: &Call<'_>, state: &mut State) -> Reply {
    let error = |kind: Option<&str>, words: &str| {
        let mut error = json!({ "message": words });
        if let Some(kind) = kind {
            error["type"] = json!(kind);
        }
        Reply::new(200, json!({ "data": null, "errors": [error] }))
    };
    let asked = match graphql::read(call.body) {
        Ok(asked) => asked,
        Err(words) => return error(None, &words),
    };
    if asked.root == "repository" {
        let project = format!("{}/{}", asked.text("owner"), asked.text("name"));
        let pull = asked.number("number").and_then(|number| state.pull(&project, number));
        return match pull {
            Some(pull) if asked.fields.iter().any(|field| field == "reviewThreads") => {
                Reply::new(200, threads(call, pull, &asked))
            }
            Some(pull) => Reply::new(200, remarks(call, pull, &asked)),
            None => error(Some("NOT_FOUND"), "Could not resolve to a PullRequest"),
        };
    }
    let id = asked.text("pullRequestId");
    let Some(pull) = state.pulls.iter_mut().find(|pull| node(pull) == id) else {
        return error(Some("NOT_FOUND"), "Could not resolve to a node with that global id");
    };
    if pull.state != "open" {
        return error(Some("UNPROCESSABLE"), "Pull request is closed");
    }
    match asked.root.as_str() {
        "markPullRequestReadyForReview" => pull.draft = false,
        "convertPullRequestToDraft" => pull.draft = true,
        _ => {
            let head = asked.text("expectedHeadOid");
            if call.shared.commit(&pull.source, &pull.head).as_deref() != Some(head.as_str()) {
                return error(Some("UNPROCESSABLE"), "Head sha didn't match expectedHeadOid");
            }
            if pull.pipeline.is_none() {
                return error(Some("UNPROCESSABLE"), "Pull request is in clean status");
            }
            pull.auto_merge = Some(head);
        }
    }
    let shown = json!({ "number": pull.number, "isDraft": pull.draft });
    Reply::new(200, json!({ "data": { asked.root: { "pullRequest": shown } } }))
}

/// Returns a page of the comments on a pull request.
fn remarks(call: &Call<'_>, pull: &Pull, asked: &Asked) -> Value {
    let plain = pull.remarks.iter().filter(|one| one.place.is_none() && one.review.is_none());
    let all = plain.map(|one| {
        json!({ "viewerDidAuthor": one.author == call.user, "body": one.text, "url": page_of(call, pull, one) })
    });
    connection(call, asked, "comments", all.collect())
}

/// Returns a page of the threads of a pull request.
fn threads(call: &Call<'_>, pull: &Pull, asked: &Asked) -> Value {
    let roots = pull.remarks.iter().filter(|one| one.place.is_some() && one.answers.is_none());
    let all = roots.map(|one| {
        let first = json!({ "url": page_of(call, pull, one) });
        json!({ "isResolved": one.resolved, "comments": { "nodes": [first] } })
    });
    connection(call, asked, "reviewThreads", all.collect())
}

/// Returns the requested page of a list.
fn connection(call: &Call<'_>, asked: &Asked, name: &str, all: Vec<Value>) -> Value {
    let after: usize = asked.text("after").parse().unwrap_or(0);
    let most = *lock(&call.shared.page);
    let size = asked.number("first").and_then(|size| usize::try_from(size).ok()).unwrap_or(most).min(most);
    let end = (after + size).min(all.len());
    let page = json!({ "hasNextPage": end < all.len(), "endCursor": end.to_string() });
    let nodes = all.get(after..end).unwrap_or_default();
    let list = json!({ "pageInfo": page, "nodes": nodes });
    json!({ "data": { "repository": { "pullRequest": { name: list } } } })
}

fn node(pull: &Pull) -> String {
    format!("PR_{}_{}", pull.project, pull.number)
}

fn labels(pull: &Pull) -> Value {
    Value::Array(pull.labels.iter().map(|label| json!({ "name": label })).collect())
}

fn shown(call: &Call<'_>, state: &State, pull: &Pull) -> Value {
    let head = pull.merged_head.clone().or_else(|| call.shared.commit(&pull.source, &pull.head));
    let mergeable = match against(call, state, pull, None) {
        None => "clean",
        Some(Against::Conflict) => "dirty",
        Some(Against::Draft) => "draft",
        Some(Against::Review | Against::Checks) => "blocked",
        Some(Against::NotOpen | Against::Head) => "unknown",
    };
    let url = format!("{}/{}/pull/{}", call.shared.public(), pull.project, pull.number);
    json!({
        "number": pull.number,
        "html_url": url,
        "node_id": node(pull),
        "title": pull.title,
        "body": pull.body,
        "state": if pull.state == "open" { "open" } else { "closed" },
        "merged_at": (pull.state == "merged").then_some("2026-01-01T00:00:00Z"),
        "draft": pull.draft,
        "labels": labels(pull),
        "head": { "ref": pull.head, "sha": head },
        "merged": pull.state == "merged",
        "merge_commit_sha": pull.merged_as,
        "mergeable_state": mergeable,
        "base": { "ref": pull.base },
        "auto_merge": pull.auto_merge.as_ref().map(|_| json!({ "merge_method": "squash" })),
        "user": { "login": pull.author },
    })
}
