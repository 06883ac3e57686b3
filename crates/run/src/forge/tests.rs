//! Tests of both APIs against a scripted forge: pull requests that are not the task's own, or have unexpected content,
//! are not accepted.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{self, Sender};
use std::time::Duration;

use acquit_core::config::Method as How;
use acquit_core::delivery::Marker;
use acquit_core::time::Timestamp;
use serde_json::{Value, json};

use super::http::{Http, Scheme, Way};
use super::merge::{Answer, Order, merge};
use super::publish::{Invite, Publication, Published, Turn, publish};
use super::remote::{Address, Place};
use super::*;
use crate::runtime::Environment;

const COMMIT: &str = "1111111111111111111111111111111111111111";
const OTHER: &str = "2222222222222222222222222222222222222222";

/// Starts a forge that answers paths by their prefix, and everything else with 404. Sends every change to `changes`.
fn forge(answers: Vec<(&'static str, Value)>, changes: Sender<String>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            reply(&mut stream, &answers, &changes);
        }
    });
    url
}

/// Answers one call.
fn reply(stream: &mut TcpStream, answers: &[(&'static str, Value)], changes: &Sender<String>) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count > 0) {
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    let _ = stream.read_exact(&mut vec![0; length.unwrap_or(0)]);
    let path = head.split(' ').nth(1).unwrap_or_default();
    let found = answers.iter().find(|(begin, _)| path.starts_with(begin));
    let (status, body) = found.map_or(("404 Not Found", json!({})), |(_, body)| ("200 OK", body.clone()));
    let body = body.to_string();
    let length = body.len();
    let text = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
    let asked = head.lines().next().unwrap_or_default();
    // Send before the answer, so that the change is recorded when the caller has the answer.
    if !asked.starts_with("get ") {
        let _ = changes.send(asked.to_owned());
    }
    let _ = stream.write_all(text.as_bytes());
}

/// Calls a forge of this kind that has these answers, with or without a fork.
fn asked<T>(
    kind: Kind,
    fork: Option<&str>,
    answers: Vec<(&'static str, Value)>,
    ask: impl FnOnce(&dyn Forge) -> T,
) -> T {
    asked_at(&forge(answers, mpsc::channel().0), kind, fork, ask)
}

/// Does the same with a running forge.
fn asked_at<T>(api: &str, kind: Kind, fork: Option<&str>, ask: impl FnOnce(&dyn Forge) -> T) -> T {
    let environment = Environment::new([]);
    let api = api.to_owned();
    let address = Address::parse(&format!("{api}/acme/widget")).unwrap();
    let place = Place {
        kind,
        host: "forge".to_owned(),
        api: api.clone(),
        project: "acme/widget".to_owned(),
        fork: fork.map(str::to_owned),
        upstream: address.clone(),
        push: address,
    };
    let http = Http::new(Way {
        base: api,
        token: None,
        scheme: Scheme::Bearer,
        headers: &[],
        ca: None,
        proxy: None,
        limit: Duration::from_secs(20),
        now: || Timestamp(0),
        environment: &environment,
    })
    .unwrap();
    match kind {
        Kind::GitHub => ask(&github::GitHub::new(http, &place)),
        Kind::GitLab | Kind::None => ask(&gitlab::GitLab::new(http, &place)),
    }
}

/// A merge request as in GitLab's lists.
fn at_gitlab(number: u64, from: u64, into: &str) -> Value {
    json!({
        "iid": number, "web_url": "https://forge/mr", "state": "merged", "sha": COMMIT, "merge_commit_sha": OTHER,
        "source_project_id": from, "target_project_id": 7, "source_branch": "work", "target_branch": into,
    })
}

/// A pull request as in GitHub's lists.
fn at_github(number: u64, owner: &str, into: &str) -> Value {
    json!({
        "number": number, "html_url": "https://forge/pr", "state": "closed", "merged_at": "2026-01-01T00:00:00Z",
        "merge_commit_sha": OTHER, "base": { "ref": into },
        "head": { "ref": "work", "sha": COMMIT, "user": { "login": owner } },
    })
}

#[test]
fn what_was_merged_from_elsewhere_or_into_another_branch_is_not_the_tasks_own() {
    let numbers = |kind, fork, answers| {
        let past = asked(kind, fork, answers, |forge| forge.merged("work", "main")).unwrap();
        past.iter().map(|past| past.number).collect::<Vec<_>>()
    };
    let list = json!([at_gitlab(1, 7, "main"), at_gitlab(2, 9, "main"), at_gitlab(3, 7, "other")]);
    let listed = ("/projects/acme%2fwidget/merge_requests", list);
    let fork = ("/projects/ada%2fwidget", json!({ "id": 9 }));
    assert_eq!(numbers(Kind::GitLab, None, vec![listed.clone()]), [1]);
    assert_eq!(numbers(Kind::GitLab, Some("ada/widget"), vec![listed, fork]), [2]);
    let list =
        json!([at_github(1, "Acme", "main"), at_github(2, "ada", "main"), at_github(3, "acme", "other")]);
    let listed = ("/repos/acme/widget/pulls", list);
    assert_eq!(numbers(Kind::GitHub, None, vec![listed.clone()]), [1]);
    assert_eq!(numbers(Kind::GitHub, Some("ada/widget"), vec![listed]), [2]);
}

#[test]
fn a_request_of_a_stranger_with_the_same_branch_is_not_found() {
    let strangers = json!([at_github(2, "stranger", "main")]);
    let found = asked(Kind::GitHub, None, vec![("/repos/acme/widget/pulls", strangers)], |forge| {
        forge.find("work", Which::All)
    });
    assert_eq!(found.unwrap(), []);
    let strangers = json!([at_gitlab(2, 9, "main")]);
    let found =
        asked(Kind::GitLab, None, vec![("/projects/acme%2fwidget/merge_requests", strangers)], |forge| {
            forge.find("work", Which::All)
        });
    assert_eq!(found.unwrap(), []);
}

#[test]
fn merged_as_something_that_is_no_commit_is_no_answer() {
    let order = Order { number: 1, commit: COMMIT, method: How::Squash, title: "t", message: "m" };
    let long = "ü".repeat(20);
    for sha in ["", "main", long.as_str(), "0000000000000000000000000000000000000000"] {
        let pull = json!({ "sha": sha, "merged": true, "merge_commit_sha": sha });
        let answer = asked(Kind::GitHub, None, vec![("/repos/acme/widget/pulls/1", pull)], |forge| {
            merge(forge, &order)
        });
        assert!(matches!(answer, Err(Error::Nonsense { .. })), "{sha}: {answer:?}");
        let request = json!({ "state": "merged", "merge_commit_sha": sha, "sha": sha });
        let path = "/projects/acme%2fwidget/merge_requests/1";
        let answer = asked(Kind::GitLab, None, vec![(path, request)], |forge| merge(forge, &order));
        assert!(matches!(answer, Err(Error::Nonsense { .. })), "{sha}: {answer:?}");
    }
    // If the answer is empty, the pull request itself is read.
    let merged = json!({ "merged": true, "merge_commit_sha": OTHER });
    let pull = vec![("/repos/acme/widget/pulls/1/merge", json!({})), ("/repos/acme/widget/pulls/1", merged)];
    assert_eq!(
        asked(Kind::GitHub, None, pull, |forge| merge(forge, &order)).unwrap(),
        Answer::Merged(OTHER.to_owned())
    );
    let pull = json!({ "sha": OTHER });
    let answer =
        asked(Kind::GitHub, None, vec![("/repos/acme/widget/pulls/1", pull)], |forge| merge(forge, &order));
    assert_eq!(answer.unwrap(), Answer::Merged(OTHER.to_owned()));
}

#[test]
fn an_address_of_a_request_is_one_that_can_be_shown_and_followed() {
    let long = format!("https://forge/{}", "x".repeat(10_000));
    for url in [
        "javascript:alert(1)",
        "https://forge/\u{1b}[2J",
        "https://forge/a b",
        "https://forge/\u{202e}x",
        &long,
    ] {
        let mut pull = at_github(1, "acme", "main");
        pull["html_url"] = json!(url);
        let found = asked(Kind::GitHub, None, vec![("/repos/acme/widget/pulls", json!([pull]))], |forge| {
            forge.find("work", Which::All)
        });
        assert!(matches!(found, Err(Error::Nonsense { .. })), "{url:?}: {found:?}");
    }
}

/// Publishes while the branch has an open pull request with this text. Also returns the changes at the forge.
fn published(marker: &Marker, part: &str, body: &str) -> (Result<Published, Error>, Vec<String>) {
    let mut pull = at_github(1, "acme", "main");
    (pull["state"], pull["merged_at"], pull["body"]) = (json!("open"), Value::Null, json!(body));
    let (changes, changed) = mpsc::channel();
    let one = ("/repos/acme/widget/pulls/1", pull.clone());
    let api = forge(vec![one, ("/repos/acme/widget/pulls", json!([pull]))], changes);
    let publication = Publication {
        wanted: Wanted {
            branch: "work",
            base: "main",
            title: "t",
            readiness: Readiness::Ready,
            squash: true,
            labels: &[],
            reviewers: &[],
            assignees: &[],
        },
        part,
        marker,
        commit: COMMIT,
        turn: Turn::Not,
        invite: Invite::Before,
        auto_merge: false,
    };
    let done = asked_at(&api, Kind::GitHub, None, |forge| publish(forge, &publication));
    (done, changed.try_iter().collect())
}

/// Returns the marker of a task with this id.
fn marker(task: &str) -> Marker {
    let seed = json!({
        "id": task, "project": { "name": "p", "path": "/p" }, "workflow": "w", "branch": "work", "created": 1,
        "base": { "branch": "main", "commit": COMMIT },
        "wish": { "title": "t", "description": "", "priority": 0, "tags": [], "variables": {}, "metadata": {} },
    });
    Marker::of(&serde_json::from_value(seed).unwrap())
}

#[test]
fn a_request_of_another_task_is_not_written_to() {
    let (ours, others) = (marker("T-1"), marker("T-2"));
    let part = ours.around("new");
    let (done, changed) = published(&ours, &part, &others.around("theirs"));
    assert!(matches!(&done, Err(Error::Denied { words, .. }) if words.contains("another task")), "{done:?}");
    assert_eq!(changed, Vec::<String>::new());
    for body in [ours.around("old"), "written by hand".to_owned()] {
        let (done, changed) = published(&ours, &part, &body);
        assert!(
            done.is_ok() && changed.len() == 1 && changed[0].starts_with("patch "),
            "{done:?} {changed:?}"
        );
    }
}

#[test]
fn what_people_wrote_is_not_cut_where_all_of_it_would_be_too_long() {
    let ours = marker("T-1");
    let part = ours.around(&"x".repeat(10_000));
    let long = format!("{}\n{}", "w".repeat(60_000), ours.around("old"));
    let (done, changed) = published(&ours, &part, &long);
    assert!(done.is_ok(), "{done:?}");
    assert_eq!(changed, Vec::<String>::new(), "it stays as it is");
}
