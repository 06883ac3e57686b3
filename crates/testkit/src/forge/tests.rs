//! Tests that the fake forge follows its rules.

use super::{Dialect, Fault, Forge, Rights};
use crate::repo::Repo;
use serde_json::{Value, json};
use std::net::TcpStream;

/// Makes one API call with only a socket.
fn call(forge: &Forge, token: &str, method: &str, path: &str, body: &Value) -> (u16, Value) {
    use std::io::{Read, Write};
    let mut stream = TcpStream::connect(forge.address).unwrap();
    let text = body.to_string();
    let prefix = forge.shared.prefix();
    let length = text.len();
    write!(
        stream,
        "{method} {prefix}{path} HTTP/1.1\r\nauthorization: Bearer {token}\r\nprivate-token: {token}\r\ncontent-length: {length}\r\n\r\n{text}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    let body = answer.split_once("\r\n\r\n").unwrap().1;
    (status, serde_json::from_str(body).unwrap())
}

fn with_branch(dialect: Dialect) -> (Forge, Repo) {
    let repo = Repo::sample();
    let forge = Forge::start(dialect);
    forge.project("acme/widget", repo.path());
    forge.allow("writer-token", "ada", Rights::Write);
    forge.allow("reader-token", "bob", Rights::Read);
    repo.git(&["checkout", "--quiet", "-b", "work"]);
    repo.write("new.txt", "new\n");
    repo.commit("work");
    let url = forge.url("acme/widget").replace("http://", "http://x:writer-token@");
    repo.git(&["push", "--quiet", &url, "work", "main:other"]);
    (forge, repo)
}

#[test]
fn github_keeps_its_rules() {
    let (forge, _repo) = with_branch(Dialect::GitHub);
    let path = "/repos/acme/widget/pulls";
    let asked = |head: &str, base: &str| json!({ "title": "t", "head": head, "base": base, "body": "b" });
    let status = |token: &str, body: &Value| call(&forge, token, "POST", path, body).0;
    assert_eq!(status("nobody", &asked("work", "main")), 401);
    assert_eq!(status("reader-token", &asked("work", "main")), 403);
    assert_eq!(status("writer-token", &asked("missing", "main")), 422);
    assert_eq!(status("writer-token", &asked("other", "main")), 422, "no commits between");
    assert_eq!(status("writer-token", &asked("work", "main")), 201);
    let (twice, body) = call(&forge, "writer-token", "POST", path, &asked("work", "main"));
    assert_eq!(twice, 422);
    assert!(body.to_string().contains("already exists for acme:work"), "{body}");
    assert_eq!(call(&forge, "writer-token", "GET", "/repos/acme/nothing/pulls", &Value::Null).0, 404);
    assert_eq!(forge.pulls().len(), 1);
}

#[test]
fn gitlab_keeps_its_rules() {
    let (forge, _repo) = with_branch(Dialect::GitLab);
    let path = "/projects/acme%2Fwidget/merge_requests";
    let asked = |head: &str| json!({ "title": "t", "source_branch": head, "target_branch": "main" });
    let status = |token: &str, body: &Value| call(&forge, token, "POST", path, body).0;
    assert_eq!(status("nobody", &asked("work")), 401);
    assert_eq!(status("reader-token", &asked("work")), 403);
    assert_eq!(status("writer-token", &asked("missing")), 400);
    let odd = json!({ "title": "t", "source_branch": "work", "target_branch": "main", "draft": true });
    assert_eq!(status("writer-token", &odd), 400, "no such word");
    assert_eq!(call(&forge, "writer-token", "GET", &format!("{path}?stat=opened"), &Value::Null).0, 400);
    assert_eq!(status("writer-token", &asked("work")), 201);
    assert_eq!(status("writer-token", &asked("work")), 409);
    forge.edit(1, |pull| pull.pipeline = None);
    let merge = "/projects/acme%2Fwidget/merge_requests/1/merge";
    let wrong = json!({ "auto_merge": true, "sha": "0".repeat(40) });
    assert_eq!(call(&forge, "writer-token", "PUT", merge, &wrong).0, 409);
    call(&forge, "writer-token", "PUT", merge, &json!({ "auto_merge": true }));
    assert_eq!(forge.pulls()[0].state, "merged", "the trap: nothing runs, so it is merged at once");
}

#[test]
fn what_goes_wrong_goes_wrong_before_or_after_its_effect() {
    let (forge, _repo) = with_branch(Dialect::GitHub);
    let path = "/repos/acme/widget/pulls";
    let asked = json!({ "title": "t", "head": "work", "base": "main", "body": "b" });
    forge.fail("POST", "/pulls", Fault::Before(502));
    forge.fail("POST", "/pulls", Fault::After(502));
    assert_eq!(call(&forge, "writer-token", "POST", path, &asked).0, 502);
    assert_eq!(forge.pulls().len(), 0);
    assert_eq!(call(&forge, "writer-token", "POST", path, &asked).0, 502);
    assert_eq!(forge.pulls().len(), 1);
}
