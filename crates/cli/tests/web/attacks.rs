//! Attacks on the API and on who gets in: foreign sites, stolen and guessed tokens, roles, bodies that are too large or broken, and clients that
//! never finish.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::api::client;
use crate::browser::{Browser, Served};
use crate::common::{self, Sandbox};

fn stranger(served: &Served) -> Browser {
    Browser::new(served.port())
}

#[test]
fn a_foreign_site_does_nothing_with_the_api_of_somebody_who_is_logged_in() {
    let sandbox = Sandbox::scripted(common::CODE, super::ASKS);
    sandbox.acquit(&["task", "add", "Mine"]).must(0);
    let served = Served::start(&sandbox, &["--workers", "1"]);
    let browser = served.browser();
    // DNS rebinding: a name of another site leads here, with or without a token.
    let ci = client(&sandbox, &served, "ci", "operator");
    for one in [&browser, &ci] {
        for host in ["evil.example", "evil.example:4664", "127.0.0.1", "localhost.evil.example"] {
            let (status, problem) = one.as_host(host).api("GET", "/tasks", None);
            assert_eq!((status, &problem["type"]), (421, &json!("/api#wrong-host")), "{host}");
        }
    }
    // A form, or a fetch without permission: the cookie is sent, the origin is another one.
    let own = format!("http://127.0.0.1:{}", served.port());
    let cancel =
        |headers: &[(&str, &str)]| browser.api_page("POST", "/tasks/T-1/cancel", headers, None).status;
    for origin in ["http://evil.example", "null", "https://127.0.0.1", "http://localhost:1"] {
        assert_eq!(cancel(&[("Origin", origin)]), 403, "{origin}");
    }
    assert_eq!(cancel(&[]), 403);
    assert_eq!(cancel(&[("Origin", &own), ("Sec-Fetch-Site", "cross-site")]), 403);
    // A form can send neither JSON nor a token. The reverse of a preflight: nothing says that others may.
    let form = browser.send("POST", "/api/v1/tasks", &[("Origin", &own)], "title=evil");
    assert_eq!(form.status, 415, "{}", form.body);
    let preflight = browser.send("OPTIONS", "/api/v1/tasks", &[("Origin", "http://evil.example")], "");
    assert_eq!(preflight.status, 403);
    assert_eq!(preflight.header("access-control-allow-origin"), "");
    // A token with a foreign origin is a stolen one in a page.
    assert_eq!(
        ci.api_page("POST", "/tasks/T-1/cancel", &[("Origin", "http://evil.example")], None).status,
        403
    );
    assert_ne!(sandbox.task().state.word(), "cancelled");
    assert_eq!(cancel(&[("Origin", &own)]), 200);
}

#[test]
fn only_a_whole_token_in_its_header_lets_in_and_guessing_is_slowed_down() {
    let sandbox = Sandbox::scripted(common::CODE, super::ASKS);
    let served = Served::start(&sandbox, &[]);
    let token = sandbox.acquit(&["token", "add", "ci", "--role", "admin"]).must(0).out.trim().to_owned();
    let nobody = stranger(&served);
    let (status, problem) = nobody.api("GET", "/tasks", None);
    assert_eq!((status, &problem["type"]), (401, &json!("/api#unauthorized")));
    assert!(problem["hint"].as_str().unwrap().contains("acquit token add"), "{problem}");
    // A token in an address ends up in logs and histories.
    for parameter in ["token", "access_token"] {
        assert_eq!(nobody.api("GET", &format!("/tasks?{parameter}={token}"), None).0, 401);
        let (status, problem) =
            nobody.with_token(&token).api("GET", &format!("/tasks?{parameter}={token}"), None);
        assert_eq!(status, 400, "{problem}");
        assert!(!problem.to_string().contains(&token), "{problem}");
    }
    // The file has nothing that lets in, and is for its owner alone.
    let file = std::fs::read_to_string(sandbox.place("acquit/web/tokens.json")).unwrap();
    assert!(!file.contains(&token));
    let stored: Value = serde_json::from_str(&file).unwrap();
    let hash = stored["tokens"][0]["hash"].as_str().unwrap();
    for guess in [hash, &format!("acquit_{hash}"), &token[..token.len() - 1]] {
        assert_eq!(nobody.with_token(guess).api("GET", "/tasks", None).0, 401, "{guess}");
    }
    // The owner's token of the file lets in as well, on this machine.
    let own = std::fs::read_to_string(sandbox.place("acquit/web/token")).unwrap();
    assert_eq!(nobody.with_token(&own).api("GET", "/whoami", None).1["role"], "admin");
    // Somebody who guesses is told to wait, and so is not let in meanwhile.
    let statuses: Vec<u16> = (0..30)
        .map(|number| nobody.with_token(&format!("acquit_{number}")).api("GET", "/tasks", None).0)
        .collect();
    assert!(statuses.contains(&401) && statuses.contains(&429), "{statuses:?}");
    let told = nobody.with_token("acquit_x").api_page("GET", "/tasks", &[], None);
    assert_eq!(told.status, 429);
    assert!(told.header("retry-after").parse::<u32>().unwrap() > 0);
}

#[test]
fn a_role_allows_what_it_says_and_ends_with_its_token() {
    let sandbox = Sandbox::scripted(common::CODE, super::ASKS);
    sandbox.acquit(&["task", "add", "Mine"]).must(0);
    let served = Served::start(&sandbox, &["--workers", "1"]);
    let viewer = client(&sandbox, &served, "eve", "viewer");
    let operator = client(&sandbox, &served, "ci", "operator");
    let admin = client(&sandbox, &served, "root", "admin");
    let (_, document) = viewer.api("GET", "/openapi.json", None);
    for (path, operations) in document["paths"].as_object().unwrap() {
        if operations.get("post").is_some() {
            let path = path.replace("{task}", "T-1").replace("{name}", "nightly");
            let (status, problem) = viewer.api("POST", &path, Some(&json!({})));
            assert_eq!((status, &problem["type"]), (403, &json!("/api#forbidden")), "{path}");
        }
    }
    for path in ["/tokens", "/audit"] {
        assert_eq!(operator.api("GET", path, None).0, 403, "{path}");
        assert_eq!(admin.api("GET", path, None).0, 200, "{path}");
    }
    // In a browser, too: who logs in by a token has its role.
    let own = format!("http://127.0.0.1:{}", served.port());
    let token = sandbox.acquit(&["token", "add", "ann", "--role", "viewer"]).must(0).out;
    let form = format!("token={}", token.trim());
    let welcome = stranger(&served).post("/login", &[("Origin", &own)], &form);
    let ann = stranger(&served).with_cookie(welcome.header("set-cookie").split(';').next().unwrap());
    assert_eq!(ann.get("/").status, 200);
    assert_eq!(ann.post("/tasks/T-1/cancel", &[("Origin", &own)], "").status, 403);
    assert_eq!(operator.api("POST", "/tasks/T-1/cancel", None).0, 200);
    // Every write is in the log with who asked for it, whether it was done or not.
    let (_, log) = admin.api("GET", "/audit?limit=500", None);
    let entry = |actor: &str, status: u64| {
        log["items"].as_array().unwrap().iter().any(|entry| {
            entry["actor"] == actor
                && entry["status"] == status
                && entry["request"] == "POST /api/v1/tasks/T-1/cancel"
        })
    };
    assert!(entry("ci", 200) && entry("eve", 403), "{log}");
    // Page by page it has the same entries.
    let (mut cursor, mut paged) = (String::new(), Vec::new());
    loop {
        let (_, page) = admin.api("GET", &format!("/audit?limit=2{cursor}"), None);
        paged.extend(page["items"].as_array().unwrap().clone());
        let Some(next) = page["next"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(Some(&paged), log["items"].as_array());
    // A token that is removed is out at once, and so is its browser.
    sandbox.acquit(&["token", "remove", "ann"]).must(0);
    sandbox.acquit(&["token", "remove", "eve"]).must(0);
    assert_eq!(ann.get("/").status, 401);
    assert_eq!(viewer.api("GET", "/tasks", None).0, 401);
    let listed = sandbox.acquit(&["token", "list"]).must(0).out;
    assert!(listed.contains("ci") && listed.contains("operator") && !listed.contains("ann"), "{listed}");
    sandbox
        .acquit(&["token", "add", "ci", "--role", "admin"])
        .must(2)
        .said("there is a token named ci already");
}

#[test]
fn bodies_that_are_broken_large_or_never_end_are_refused() {
    let sandbox = Sandbox::scripted(common::CODE, super::ASKS);
    let served = Served::start(&sandbox, &[]);
    let ci = client(&sandbox, &served, "ci", "operator");
    let send = |kind: &str, body: &str| {
        let page = ci.send("POST", "/api/v1/tasks", &[("Content-Type", kind)], body);
        assert_eq!(page.header("content-type"), "application/problem+json", "{}", page.body);
        (page.status, serde_json::from_str::<Value>(&page.body).unwrap()["type"].as_str().unwrap().to_owned())
    };
    let json = "application/json";
    let deep = "[".repeat(100_000);
    for (body, status) in [
        ("{", 400),
        ("[]", 400),
        ("null", 400),
        ("\"title\"", 400),
        (deep.as_str(), 400),
        ("{\"title\":\"\"}", 400),
        ("{\"title\":\" \"}", 400),
        ("{\"title\":\"a\\u0000\"}", 400),
        ("{\"title\":\"a\",\"titel\":1}", 400),
        ("{\"title\":\"a\",\"priority\":1e99}", 400),
        ("{\"title\":\"a\",\"project\":\"/etc\"}", 422),
        ("{\"title\":\"a\",\"project\":\"../..\"}", 422),
        ("{\"title\":\"a\",\"base\":\"--upload-pack=evil\"}", 400),
        ("{\"title\":\"a\",\"workflow\":\"nothing\"}", 422),
    ] {
        assert_eq!(send(json, body).0, status, "{}", &body[..body.len().min(80)]);
    }
    assert_eq!(send("text/plain", "{}").0, 415);
    assert_eq!(
        send(json, &format!("{{\"title\":\"{}\"}}", "a".repeat(2 * 1024 * 1024))),
        (413, "/api#too-large".to_owned())
    );
    for key in ["", "two words", &"k".repeat(256)] {
        let page = ci.api_page("POST", "/tasks", &[("Idempotency-Key", key)], Some(&json!({ "title": "a" })));
        assert_eq!(page.status, 400, "{key}");
    }
    assert_eq!(ci.api("GET", "/tasks", None).1["items"], serde_json::json!([]));
}

/// The time that the server gives a client for its headers, and some more for a busy machine.
const GIVEN_UP: Duration = Duration::from_secs(40);

#[test]
fn a_client_that_never_finishes_is_given_up_and_keeps_nobody_out() {
    let sandbox = Sandbox::scripted(common::CODE, super::ASKS);
    let served = Served::start(&sandbox, &[]);
    let ci = client(&sandbox, &served, "ci", "operator");
    let connect = || TcpStream::connect(("127.0.0.1", served.port())).unwrap();
    let mut silent: Vec<TcpStream> = (0..50).map(|_| connect()).collect();
    let mut half = connect();
    half.write_all(b"GET /api/v1/tasks HTTP/1.1\r\nHost: 127.0").unwrap();
    assert_eq!(ci.api("GET", "/version", None).0, 200);
    let begun = Instant::now();
    for socket in silent.iter_mut().chain([&mut half]) {
        socket.set_read_timeout(Some(GIVEN_UP)).unwrap();
        let mut answer = Vec::new();
        let ended = socket.read_to_end(&mut answer);
        assert!(ended.is_ok(), "the server still waits after {:?}", begun.elapsed());
    }
    assert_eq!(ci.api("GET", "/version", None).0, 200);
}

#[test]
fn another_address_needs_tls_and_serves_nobody_else() {
    let sandbox = Sandbox::scripted(common::CODE, super::ASKS);
    let (certificate, key) = acquit_testkit::tls::files(&sandbox.place(""));
    let (certificate, key) = (certificate.to_str().unwrap(), key.to_str().unwrap());
    let tls = ["--tls-cert", certificate, "--tls-key", key];
    sandbox.acquit(&[&["serve", "--listen", "0.0.0.0:0"][..], &tls].concat()).must(2).said("--origin");
    let broken = ["serve", "--tls-cert", key, "--tls-key", key, "--origin", "https://127.0.0.1:1"];
    sandbox.acquit(&broken).must(2).said("no certificate in it");
    let port = crate::browser::free_port();
    let (listen, origin) = (format!("127.0.0.1:{port}"), format!("https://127.0.0.1:{port}"));
    let args = [&["serve", "--listen", &listen, "--origin", &origin][..], &tls].concat();
    let served = sandbox.start(&args);
    common::until("it is served", || served.err().contains("dashboard: https://").then_some(()));
    let token = sandbox.acquit(&["token", "add", "ci", "--role", "viewer"]).must(0).out;
    let own = std::fs::read_to_string(sandbox.place("acquit/web/token")).unwrap();
    let ask = |token: &str, host: &str| {
        let head = format!(
            "GET /api/v1/whoami HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n",
            token.trim()
        );
        acquit_testkit::tls::ask(port, head.as_bytes())
    };
    let named = format!("127.0.0.1:{port}");
    let answer = ask(&token, &named);
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\"viewer\""), "{answer}");
    // The owner's token stays on the machine; another name leads nowhere; in the clear there is nothing.
    assert!(ask(&own, &named).starts_with("HTTP/1.1 401"));
    assert!(ask(&token, "evil.example").starts_with("HTTP/1.1 421"));
    let mut plain = TcpStream::connect(("127.0.0.1", port)).unwrap();
    plain.write_all(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").unwrap();
    plain.set_read_timeout(Some(GIVEN_UP)).unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
}
