//! GitLab's rules.

use serde_json::{Value, json};

use super::merge::{Against, Shape, against, merge};
use super::state::{Call, Pull, Remark, State};
use super::{Reply, page};

/// The documented query and body parameters of calls. The real GitLab ignores unknown parameters silently, and so does
/// something else than intended.
const KNOWN: &[(&str, &str, &[&str])] = &[
    ("GET", "users", &["username"]),
    ("GET", "merge_requests", &["state", "source_branch", "target_branch", "page", "per_page"]),
    (
        "POST",
        "merge_requests",
        &[
            "source_branch",
            "target_branch",
            "title",
            "description",
            "squash",
            "remove_source_branch",
            "labels",
            "target_project_id",
            "assignee_ids",
            "reviewer_ids",
            "allow_collaboration",
        ],
    ),
    (
        "PUT",
        "merge_requests/*",
        &[
            "title",
            "description",
            "add_labels",
            "remove_labels",
            "assignee_ids",
            "reviewer_ids",
            "squash",
            "state_event",
        ],
    ),
    (
        "PUT",
        "merge_requests/*/merge",
        &[
            "auto_merge",
            "merge_when_pipeline_succeeds",
            "squash",
            "sha",
            "should_remove_source_branch",
            "squash_commit_message",
            "merge_commit_message",
        ],
    ),
    ("GET", "merge_requests/*", &["include_diverged_commits_count", "include_rebase_in_progress"]),
    ("GET", "merge_requests/*/discussions", &["page", "per_page"]),
    ("GET", "merge_requests/*/discussions/*", &[]),
    ("POST", "merge_requests/*/discussions/*/notes", &["body"]),
    ("GET", "merge_requests/*/notes", &["sort", "order_by", "page", "per_page"]),
    ("POST", "merge_requests/*/notes", &["body"]),
    ("PUT", "merge_requests/*/notes/*", &["body"]),
    ("GET", "user", &[]),
    ("GET", "members/all/*", &[]),
    ("GET", "pipelines/*/jobs", &["scope[]", "include_retried", "page", "per_page"]),
];

/// Returns a parameter of a call that GitLab does not know there.
fn unknown(call: &Call<'_>, parts: &[&str]) -> Option<String> {
    let place = match parts {
        ["projects", _, rest @ ..] => rest,
        other => other,
    };
    let fits = |pattern: &str| {
        let pattern: Vec<&str> = pattern.split('/').collect();
        pattern.len() == place.len()
            && pattern.iter().zip(place).all(|(part, given)| *part == "*" || part == given)
    };
    let (_, _, known) = KNOWN.iter().find(|(method, pattern, _)| *method == call.method && fits(pattern))?;
    let body = call.body.as_object().into_iter().flatten().map(|(key, _)| key.clone());
    call.query_keys().into_iter().chain(body).find(|key| !known.contains(&key.as_str()))
}

pub(super) fn answer(call: &Call<'_>, state: &mut State) -> Reply {
    let parts = call.parts();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    if let Some(key) = unknown(call, &parts) {
        return Reply::new(400, json!({ "error": format!("{key} is not known here") }));
    }
    if let ["users"] = parts[..] {
        let name = call.query("username").unwrap_or_default();
        let found = state.user_id(&name).map(|id| json!({ "id": id, "username": name }));
        return Reply::new(200, Value::Array(found.into_iter().collect()));
    }
    if let ["user"] = parts[..] {
        let id = state.user_id(call.user);
        return Reply::new(200, json!({ "id": id, "username": call.user }));
    }
    let ["projects", id, ref rest @ ..] = parts[..] else { return Reply::message(404, "404 Not Found") };
    let named = id.parse().ok().and_then(|id| state.project_of(id));
    let project = named.unwrap_or_else(|| id.to_owned());
    let Some(id) = state.project_id(&project) else { return Reply::message(404, "404 Project Not Found") };
    match (call.method, rest) {
        ("GET", []) => Reply::new(200, json!({ "id": id, "path_with_namespace": project })),
        ("GET", ["merge_requests"]) => {
            let branch = call.query("source_branch");
            let wanted = call.query("state").unwrap_or_else(|| "opened".to_owned());
            let state_fits = |pull: &Pull| match wanted.as_str() {
                "opened" => pull.state == "open",
                "all" => true,
                other => pull.state == other,
            };
            let fits = |pull: &&Pull| {
                pull.project == project
                    && state_fits(pull)
                    && branch.as_ref().is_none_or(|branch| *branch == pull.head)
            };
            let found: Vec<Value> =
                state.pulls.iter().filter(fits).map(|pull| shown(call, state, pull)).collect();
            page(call, found)
        }
        ("GET", ["pipelines", "7", "jobs"]) => {
            let job = json!({ "id": 1, "name": "unit", "stage": "test", "failure_reason": "script_failure" });
            page(call, vec![job])
        }
        ("POST", ["merge_requests"]) => create(call, state, &project),
        ("GET", ["members", "all", user]) => {
            let name = user.parse().ok().and_then(|id| state.user_of(id)).unwrap_or_default();
            let mut remarks = state.pulls.iter().flat_map(|pull| &pull.remarks);
            match remarks.find(|remark| remark.author == name && remark.trusted) {
                Some(one) => {
                    let level = if one.reader { 20 } else { 30 };
                    Reply::new(200, json!({ "username": name, "access_level": level }))
                }
                None => Reply::message(404, "404 Not found"),
            }
        }
        (method, ["merge_requests", number, rest @ ..]) => {
            let Some(number) = number.parse().ok().filter(|number| state.pull(&project, *number).is_some())
            else {
                return Reply::message(404, "404 Not found");
            };
            one(call, state, &project, number, method, rest)
        }
        _ => Reply::message(404, "404 Not Found"),
    }
}

fn create(call: &Call<'_>, state: &mut State, source: &str) -> Reply {
    let text = |key: &str| call.text(key).unwrap_or_default();
    let target = call.body["target_project_id"].as_u64();
    let project = match target {
        Some(id) => match state.project_of(id) {
            Some(project) => project,
            None => return Reply::message(404, "404 Project Not Found"),
        },
        None => source.to_owned(),
    };
    let (title, head, base) = (text("title"), text("source_branch"), text("target_branch"));
    if title.is_empty() || head.is_empty() || base.is_empty() {
        return Reply::new(400, json!({ "error": "title is missing, source_branch is missing" }));
    }
    if call.shared.commit(&project, &base).is_none() {
        return Reply::new(400, json!({ "message": { "target_branch": ["does not exist"] } }));
    }
    if call.shared.commit(source, &head).is_none() {
        return Reply::new(400, json!({ "message": { "source_branch": ["does not exist"] } }));
    }
    let same = |pull: &&Pull| {
        pull.project == project
            && pull.source == source
            && pull.state == "open"
            && pull.head == head
            && pull.base == base
    };
    if let Some(pull) = state.pulls.iter().find(same) {
        let words =
            format!("Another open merge request already exists for this source branch: !{}", pull.number);
        return Reply::new(409, json!({ "message": [words] }));
    }
    let draft = is_draft(&title);
    let pull = Pull {
        number: state.next_number(&project),
        project,
        source: source.to_owned(),
        head,
        base,
        title,
        body: text("description"),
        author: call.user.to_owned(),
        state: "open".to_owned(),
        draft,
        squash: call.body["squash"] == true,
        labels: names(&text("labels")),
        ..Pull::default()
    };
    let reply = Reply::new(201, shown(call, state, &pull));
    state.pulls.push(pull);
    reply
}

/// Returns whether the title marks a draft.
fn is_draft(title: &str) -> bool {
    let title = title.to_ascii_lowercase();
    ["draft:", "[draft]", "(draft)", "draft "].iter().any(|mark| title.trim_start().starts_with(mark))
}

fn names(list: &str) -> Vec<String> {
    list.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn one(call: &Call<'_>, state: &mut State, project: &str, number: u64, method: &str, rest: &[&str]) -> Reply {
    let people = |key: &str| -> Vec<String> {
        let ids = call.body.get(key).and_then(Value::as_array).into_iter().flatten();
        ids.filter_map(Value::as_u64).filter_map(|id| state.user_of(id)).collect()
    };
    let (assignees, reviewers) = (people("assignee_ids"), people("reviewer_ids"));
    let authors: Vec<(String, u64)> = state
        .pulls
        .iter()
        .flat_map(|pull| &pull.remarks)
        .filter_map(|remark| Some((remark.author.clone(), state.user_id(&remark.author)?)))
        .collect();
    if let ("PUT", ["merge"]) = (method, rest) {
        return merge_one(call, state, project, number);
    }
    let Some(pull) = state.pull(project, number) else { return Reply::message(404, "404 Not found") };
    match (method, rest) {
        ("GET", []) => {}
        ("PUT", []) => {
            if let Some(text) = call.text("description") {
                pull.body = text;
            }
            if let Some(text) = call.text("title") {
                if text.trim().is_empty() {
                    return Reply::new(400, json!({ "message": { "title": ["can't be blank"] } }));
                }
                pull.draft = is_draft(&text);
                pull.title = text;
            }
            for label in names(&call.text("add_labels").unwrap_or_default()) {
                if !pull.labels.contains(&label) {
                    pull.labels.push(label);
                }
            }
            if !assignees.is_empty() {
                pull.assignees = assignees;
            }
            if !reviewers.is_empty() {
                pull.reviewers = reviewers;
            }
        }
        ("GET", ["notes"]) => {
            let notes = pull.remarks.iter().map(|remark| note(remark, &authors));
            return page(call, notes.collect());
        }
        ("POST", ["notes"]) => {
            let remark = Remark {
                id: 9_000 + pull.remarks.len() as u64,
                author: call.user.to_owned(),
                trusted: true,
                text: call.text("body").unwrap_or_default(),
                ..Remark::default()
            };
            let reply = Reply::new(201, note(&remark, &authors));
            pull.remarks.push(remark);
            return reply;
        }
        ("PUT", ["notes", id]) => {
            let id: u64 = id.parse().unwrap_or(0);
            let Some(remark) = pull.remarks.iter_mut().find(|one| one.id == id) else {
                return Reply::message(404, "404 Not found");
            };
            // Only an owner may edit comments of others.
            if remark.author != call.user {
                return Reply::message(403, "403 Forbidden");
            }
            remark.text = call.text("body").unwrap_or_default();
            return Reply::new(200, note(remark, &authors));
        }
        ("GET", ["discussions"]) => {
            let threads = pull.remarks.iter().filter(|remark| remark.answers.is_none());
            return page(call, threads.map(|first| discussion(pull, first.id, &authors)).collect());
        }
        ("GET", ["discussions", id]) => {
            return Reply::new(
                200,
                discussion(pull, id.trim_start_matches('d').parse().unwrap_or(0), &authors),
            );
        }
        ("POST", ["discussions", id, "notes"]) => {
            let remark = Remark {
                id: 9_000 + pull.remarks.len() as u64,
                author: call.user.to_owned(),
                trusted: true,
                text: call.text("body").unwrap_or_default(),
                answers: id.trim_start_matches('d').parse().ok(),
                ..Remark::default()
            };
            pull.remarks.push(remark);
            return Reply::new(201, json!({}));
        }
        _ => return Reply::message(404, "404 Not Found"),
    }
    let pull = pull.clone();
    Reply::new(200, shown(call, state, &pull))
}

/// Merges a merge request, or says why not in GitLab's words.
fn merge_one(call: &Call<'_>, state: &mut State, project: &str, number: u64) -> Reply {
    let Some(mut pull) = state.pull(project, number).cloned() else {
        return Reply::message(404, "404 Not found");
    };
    let sha = call.text("sha");
    let stands = against(call, state, &pull, sha.as_deref());
    // Like older versions: without a running pipeline, merge at once.
    let waits = pull.pipeline.as_deref() == Some("running") && call.body["auto_merge"] == true;
    match stands {
        Some(Against::Head) => return Reply::message(409, "SHA does not match HEAD of source branch"),
        None | Some(Against::Checks) if waits => pull.auto_merge = sha,
        Some(Against::Conflict) => return Reply::message(422, "Branch cannot be merged"),
        Some(Against::NotOpen | Against::Draft | Against::Review | Against::Checks) => {
            return Reply::message(405, "405 Method Not Allowed");
        }
        None => {
            let squash = call.body["squash"] == true;
            let (shape, key) = if squash {
                (Shape::Squashed, "squash_commit_message")
            } else {
                (Shape::Joined, "merge_commit_message")
            };
            let message = call.text(key).unwrap_or_else(|| format!("Merge branch '{}'", pull.head));
            merge(call, &mut pull, shape, message.trim());
        }
    }
    let reply = Reply::new(200, shown(call, state, &pull));
    if let Some(known) = state.pull(project, number) {
        *known = pull;
    }
    reply
}

fn note(remark: &Remark, authors: &[(String, u64)]) -> Value {
    let author = authors.iter().find(|(name, _)| *name == remark.author).map(|(_, id)| id);
    let place = remark.place.as_ref();
    json!({
        "id": remark.id,
        "body": remark.text,
        "system": false,
        "resolved": remark.resolved,
        "author": { "id": author, "username": remark.author },
        "position": place.map(|(path, line)| json!({ "new_path": path, "new_line": line })),
    })
}

/// Returns a thread with its notes.
fn discussion(pull: &Pull, id: u64, authors: &[(String, u64)]) -> Value {
    let notes: Vec<Value> = pull
        .remarks
        .iter()
        .filter(|remark| remark.id == id || remark.answers == Some(id))
        .map(|remark| note(remark, authors))
        .collect();
    json!({ "id": format!("d{id}"), "notes": notes })
}

fn shown(call: &Call<'_>, state: &State, pull: &Pull) -> Value {
    let head = pull.merged_head.clone().or_else(|| call.shared.commit(&pull.source, &pull.head));
    let status = match against(call, state, pull, None) {
        None => "mergeable",
        Some(Against::Conflict) => "conflict",
        Some(Against::Draft) => "draft_status",
        Some(Against::Review) => "not_approved",
        Some(Against::Checks) => "ci_must_pass",
        Some(Against::NotOpen | Against::Head) => "not_open",
    };
    json!({
        "iid": pull.number,
        "id": 1_000 + pull.number,
        "web_url": format!("{}/{}/-/merge_requests/{}", call.shared.public(), pull.project, pull.number),
        "title": pull.title,
        "draft": pull.draft,
        "description": pull.body,
        "state": if pull.state == "open" { "opened" } else { pull.state.as_str() },
        "source_branch": pull.head,
        "target_branch": pull.base,
        "source_project_id": state.project_id(&pull.source),
        "target_project_id": state.project_id(&pull.project),
        "labels": pull.labels,
        "sha": head,
        "squash": pull.squash,
        "detailed_merge_status": status,
        "merge_commit_sha": pull.merged_as,
        "merge_when_pipeline_succeeds": pull.auto_merge.is_some(),
        "head_pipeline": pull.pipeline.as_ref().map(|status| {
            json!({ "id": 7, "project_id": state.project_id(&pull.source), "status": status, "sha": head })
        }),
    })
}
