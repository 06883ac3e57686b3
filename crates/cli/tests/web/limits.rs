//! Limits of requests, the audit log of every route that writes, and a proxy in front of the server.

use serde_json::{Value, json};

use crate::api::client;
use crate::browser::{Browser, Served};
use crate::common::{self, Sandbox, read};

#[test]
fn who_writes_too_often_is_told_to_wait_and_others_are_not() {
    let sandbox = Sandbox::scripted(common::CODE, crate::ASKS);
    sandbox.run_to(3);
    let served = Served::start(&sandbox, &["--workers", "1"]);
    let (ann, bob) =
        (client(&sandbox, &served, "ann", "operator"), client(&sandbox, &served, "bob", "operator"));
    let own = format!("http://127.0.0.1:{}", served.port());
    let page = || ann.post("/tasks/T-1/nothing", &[("Origin", &own)], "");
    let program = || ann.api_page("POST", "/tasks/T-1/merge", &[], Some(&json!({})));
    for (name, send) in [("page", &page as &(dyn Fn() -> crate::browser::Page + Sync)), ("API", &program)] {
        let statuses: Vec<u16> = std::thread::scope(|scope| {
            let some = || (0..50).map(|_| send()).map(|page| page.status).collect::<Vec<u16>>();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(some)).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        assert!(statuses.contains(&429) && statuses.iter().any(|it| *it != 429), "{name}: {statuses:?}");
        let told = (0..20).map(|_| send()).find(|page| page.status == 429).expect("it is still too often");
        assert!(told.header("retry-after").parse::<u32>().unwrap() > 0, "{name}");
    }
    assert_eq!(bob.api("POST", "/tasks/T-1/cancel", Some(&json!({}))).0, 200);
}

#[test]
fn every_route_that_writes_leaves_a_line_with_its_actor() {
    let sandbox = Sandbox::scripted(common::CODE, crate::ASKS);
    sandbox.acquit(&["task", "add", "Mine"]).must(0);
    let served = Served::start(&sandbox, &["--workers", "1"]);
    let ann = client(&sandbox, &served, "ann", "operator");
    let (_, document) = ann.api("GET", "/openapi.json", None);
    let mut wanted = Vec::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for method in ["post", "put", "patch", "delete"].iter().filter(|it| operations.get(it).is_some()) {
            let path = path.replace("{task}", "T-1").replace("{name}", "nightly");
            ann.api_page(&method.to_uppercase(), &path, &[], Some(&json!({})));
            wanted.push(format!("{} /api/v1{path}", method.to_uppercase()));
        }
    }
    assert!(wanted.len() > 10, "{wanted:?}");
    let own = format!("http://127.0.0.1:{}", served.port());
    for path in [
        "/new",
        "/tasks/T-1/run",
        "/tasks/T-1/cancel",
        "/tasks/T-1/retry",
        "/tasks/T-1/answer",
        "/tasks/T-1/approve",
        "/tasks/T-1/reject",
        "/tasks/T-1/choose",
        "/tasks/T-1/merge",
        "/tasks/T-1/feedback",
        "/nights/night/run",
        "/nights/night/pause",
        "/nights/night/resume",
        "/theme",
        "/logout",
    ] {
        ann.post(path, &[("Origin", &own)], "");
        wanted.push(format!("POST {path}"));
    }
    let log = read(&sandbox.place("acquit/web/audit.jsonl"));
    let entries: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let missing: Vec<&String> = wanted
        .iter()
        .filter(|request| {
            !entries.iter().any(|entry| entry["request"] == **request && entry["actor"] == "ann")
        })
        .collect();
    assert!(missing.is_empty(), "{missing:?}\n{log}");
    assert!(!log.contains("acquit_"), "no token is in the log: {log}");
}

#[test]
fn behind_a_proxy_its_address_counts_and_the_token_of_this_machine_does_not() {
    let sandbox = Sandbox::scripted(common::CODE, crate::ASKS);
    let port = crate::browser::free_port();
    let listen = format!("127.0.0.1:{port}");
    let args = ["serve", "--listen", &listen, "--behind-proxy", "https://acquit.example.com"];
    let served = sandbox.start(&args);
    common::until("it is served", || served.err().contains("https://acquit.example.com/login").then_some(()));
    let token = sandbox.acquit(&["token", "add", "ann", "--role", "operator"]).must(0).out;
    let owner = read(&sandbox.place("acquit/web/token"));
    // What a proxy passes on: the host that people see, and the address of the client at the end of the list.
    let proxied = Browser::new(port).as_host("acquit.example.com");
    let from = |browser: &Browser, client: &str| {
        browser.send("GET", "/api/v1/whoami", &[("X-Forwarded-For", client)], "")
    };
    let ann = proxied.with_token(&token);
    assert_eq!(from(&ann, "192.0.2.1").status, 200);
    assert_eq!(from(&proxied.with_token(&owner), "192.0.2.1").status, 401);
    assert_eq!(from(&Browser::new(port).with_token(&token), "192.0.2.1").status, 421);
    let cancel = |origin: &str| {
        ann.send(
            "POST",
            "/api/v1/tasks/T-9/cancel",
            &[("Origin", origin), ("Content-Type", "application/json")],
            "{}",
        )
    };
    assert_eq!(cancel("https://acquit.example.com").status, 404);
    assert_eq!(cancel(&format!("http://{listen}")).status, 403);
    // Cookies of an address with TLS are sent over TLS alone.
    let login = proxied.post(
        "/login",
        &[("Origin", "https://acquit.example.com")],
        &format!("token={}", token.trim()),
    );
    assert!(login.header("set-cookie").contains("Secure"), "{}", login.header("set-cookie"));
    // One client guesses, and says that it is somebody else: it is slowed down, and others are not.
    let guess = |client: &str| from(&proxied.with_token("acquit_x"), client).status;
    let statuses: Vec<u16> =
        (0..40).map(|number| guess(&format!("198.51.100.{number}, 203.0.113.7"))).collect();
    assert!(statuses.contains(&429), "{statuses:?}");
    assert_eq!(from(&ann, "192.0.2.1").status, 200);
    assert_eq!(from(&ann, "203.0.113.7").status, 429);
}

#[test]
fn a_shared_copy_of_a_page_is_for_one_role_and_names_nobody() {
    let sandbox = Sandbox::scripted(common::CODE, crate::ASKS);
    sandbox.run_to(3);
    let served = Served::start(&sandbox, &["--workers", "1"]);
    let (ann, eve) =
        (client(&sandbox, &served, "ann", "operator"), client(&sandbox, &served, "eve", "viewer"));
    let refreshed = |person: &Browser| {
        let page = person.send("GET", "/inbox", &[("X-Acquit-Refresh", "1")], "");
        assert_eq!(page.status, 200, "{}", page.body);
        page.body
    };
    for _ in 0..10 {
        let (hers, looked) = (refreshed(&ann), refreshed(&eve));
        assert!(hers.contains("action=\"/tasks/T-1/answer\""), "{hers}");
        assert!(
            !looked.contains("action=\"/tasks/T-1/answer\"") && looked.contains("Which colour?"),
            "{looked}"
        );
        assert!(!hers.contains("logged in as") && !looked.contains("logged in as"));
    }
    // What somebody has just done is in the next copy.
    let page = ann.get("/inbox");
    let answers = [("choice-1", "blue"), ("choice-2", "yes"), ("words-3", "four")];
    refreshed(&ann);
    assert_eq!(ann.submit(&page, "/tasks/T-1/answer", &answers).status, 303);
    assert!(!refreshed(&ann).contains("action=\"/tasks/T-1/answer\""));
    // A stranger gets no copy.
    let stranger = Browser::new(served.port()).send("GET", "/inbox", &[("X-Acquit-Refresh", "1")], "");
    assert_eq!(stranger.status, 401);
}
