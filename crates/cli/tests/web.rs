//! The dashboard, as `acquit serve` serves it: who gets in, what pages show, what forms do, and how they are told what happens.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests start the real binary, and look again until a condition holds or a deadline passes"
)]

#[path = "web/answer_links.rs"]
mod answer_links;
#[path = "web/api.rs"]
mod api;
#[path = "web/attacks.rs"]
mod attacks;
#[path = "web/browser.rs"]
mod browser;
#[path = "web/chrome.rs"]
mod chrome;
mod common;
#[path = "web/decisions.rs"]
mod decisions;
#[path = "web/evidence.rs"]
mod evidence;
#[path = "web/follow.rs"]
mod follow;
#[path = "web/forms.rs"]
mod forms;
#[path = "web/fuzz.rs"]
mod fuzz;
#[path = "web/limits.rs"]
mod limits;
#[path = "web/nights.rs"]
mod nights;
#[path = "web/office.rs"]
mod office;
#[path = "web/pages.rs"]
mod pages;
#[path = "web/parity.rs"]
mod parity;
#[path = "web/planted.rs"]
mod planted;
#[path = "web/pressed.rs"]
mod pressed;

use std::time::Duration;

use acquit_core::task::State;
use browser::{Browser, Served};
use common::Sandbox;

/// A task that asks three things, works, and is delivered.
const ASKS: &str = r#"
[[code]]
step = [ { outcome = "needs_input", payload = { questions = [
    { question = "Which colour?", options = ["red", { name = "blue", trade_offs = "fades in the sun" }] },
    { question = "Twice?", kind = "yes_no" },
    { question = "How many?" },
] } } ]
[[code]]
step = [ { say = "Writing." }, { write = "work.txt", content = "work\n" }, { outcome = "pr_ready", payload = { summary = "written" } } ]
"#;

#[test]
fn only_who_has_the_link_or_the_token_gets_in() {
    let sandbox = Sandbox::scripted(common::CODE, ASKS);
    sandbox.run_to(3);
    let served = Served::start(&sandbox, &[]);
    let stranger = Browser::new(served.port());
    for path in [
        "/",
        "/inbox",
        "/tasks/T-1",
        "/tasks/T-1/diff",
        "/tasks/T-1/legs/1",
        "/tasks/T-1/transcript",
        "/new",
        "/workflows",
        "/nights",
        "/costs",
        "/agents",
        "/workers",
        "/settings",
        "/doctor",
        "/live",
        "/nowhere",
    ] {
        let page = stranger.get(path);
        assert_eq!(page.status, 401, "{path}");
        assert!(!page.body.contains("Which colour?") && !page.body.contains("Do it"), "{path}");
    }
    let cancel =
        |browser: &Browser, headers: &[(&str, &str)]| browser.post("/tasks/T-1/cancel", headers, "").status;
    let own = format!("http://127.0.0.1:{}", served.port());
    assert_eq!(cancel(&stranger, &[("Origin", &own)]), 401);
    let forged = stranger.with_cookie(&format!("acquit-{}=1.2.3", served.port()));
    assert_eq!(forged.get("/").status, 401);

    // The link works once.
    let browser = stranger.log_in(&served.link());
    assert_eq!(browser.get("/").status, 200);
    assert_eq!(stranger.get_link(&served.link()).status, 401);
    let made_up = served.link().replace("code=", "code=1");
    assert_eq!(stranger.get_link(&made_up).status, 401);
    let another = sandbox.acquit(&["serve", "--link"]).must(0).out;
    assert_eq!(stranger.log_in(another.trim()).get("/inbox").status, 200);

    // Another site leads a browser that is logged in here, by a name of its own or by a form.
    assert_eq!(browser.as_host("evil.example").get("/").status, 421);
    assert_eq!(browser.as_host(&format!("evil.example:{}", served.port())).get("/").status, 421);
    for origin in ["http://evil.example", "null", "http://127.0.0.1:1", "http://localhost"] {
        assert_eq!(cancel(&browser, &[("Origin", origin)]), 403, "{origin}");
    }
    assert_eq!(cancel(&browser, &[]), 403);
    assert_eq!(cancel(&browser, &[("Origin", &own), ("Sec-Fetch-Site", "cross-site")]), 403);
    assert!(matches!(sandbox.task().state, State::Waiting { .. }));

    let page = browser.get("/");
    let policy = page.header("content-security-policy");
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    assert_eq!(page.header("cache-control"), "no-store");
    assert_eq!(page.header("x-content-type-options"), "nosniff");
    assert_eq!(page.header("x-frame-options"), "DENY");
    assert!(!page.body.contains("style=") && !page.body.contains("onclick"));

    // The token is for its owner alone, and lets in as well.
    let token = sandbox.place("acquit/web/token");
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&token).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    let token = std::fs::read_to_string(token).unwrap();
    let by_token = |token: &str| stranger.post("/login", &[("Origin", &own)], &format!("token={token}"));
    assert_eq!(by_token("0000").status, 401);
    let welcome = by_token(token.trim());
    let cookie = welcome.header("set-cookie");
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    assert_eq!(cancel(&browser, &[("Origin", &own)]), 303);
}

#[test]
fn whatever_agents_and_people_write_is_text() {
    const EVIL: &str = "<xss onclick=alert(1)>'\\\"&\u{202e}";
    let script = r#"
[[code]]
step = [
    { say = "SAY EVIL" }, { think = "THINK EVIL" }, { print = "PRINT EVIL" },
    { run = "printf '<xss>' > 'FILE <xss a=b>.txt'" },
    { outcome = "pr_ready", payload = { summary = "SUMMARY EVIL", title = "HEAD EVIL" } },
]
[[code]]
step = [ { outcome = "needs_input", payload = { questions = [
    { question = "QUESTION EVIL", context = "CONTEXT EVIL", options = [{ name = "OPTION EVIL", trade_offs = "TRADE EVIL" }] },
] } } ]
"#;
    let workflow = "[budgets]\nagent = 0\ntest = 1\n[gates.test]\nrun = \"printf 'GATE <xss onclick=alert(1)>'; exit 1\"\nkind = \"test\"\n\
        [stages.code]\nmode = \"implement\"\ngates = [\"test\"]\non = { pr_ready = \"done\" }\n";
    let sandbox = Sandbox::scripted(workflow, &script.replace("EVIL", &EVIL.replace('\u{202e}', "\\u202e")));
    let title = format!("TITLE {}", EVIL.replace("\\\"", "\""));
    let description = format!("DESCRIPTION {title}");
    sandbox.acquit(&["run", &title, "--description", &description, "--tag", "TAG<xss>"]).must(3);
    let served = Served::start(&sandbox, &[]);
    let browser = served.browser();
    let pages = [
        ("/", &["TITLE", "QUESTION"][..]),
        ("/?q=%3Cxss&project=%3Cxss%3E&tag=%22%3E%3Cxss%3E", &[]),
        ("/inbox", &["TITLE", "QUESTION", "CONTEXT", "OPTION", "TRADE"]),
        ("/tasks/T-1", &["TITLE", "DESCRIPTION", "TAG", "GATE", "QUESTION"]),
        ("/tasks/T-1/legs/1", &["SAY", "THINK", "PRINT", "TITLE"]),
        ("/tasks/T-1/legs/2", &["TITLE"]),
        ("/tasks/T-1/diff", &["FILE"]),
        ("/tasks/%3Cxss%3E", &[]),
        ("/tasks/T-1/legs/99", &[]),
        ("/costs?since=%3Cxss%3E", &[]),
        ("/%3Cxss%3E", &[]),
    ];
    for (path, shown) in pages {
        let page = browser.get(path);
        assert!(!page.body.contains("<xss"), "{path}: {}", page.body);
        // What a form sends back is not shown, and must be what was offered, to the letter.
        let parts = page.body.split("value=\"").enumerate();
        let shown_text =
            parts.map(|(at, part)| if at == 0 { part } else { part.split_once('"').map_or("", |it| it.1) });
        assert!(!shown_text.collect::<String>().contains('\u{202e}'), "{path}");
        for word in shown {
            assert!(page.body.contains(word), "{path} lacks {word}: {}", page.body);
        }
    }
    assert!(browser.get("/tasks/T-1").body.contains("&lt;xss onclick=alert(1)&gt;"));
    // An answer is a person's text, and comes back as text.
    let page = browser.get("/inbox");
    let answer =
        browser.submit(&page, "/tasks/T-1/answer", &[("words-1", "ANSWER <xss>"), ("from", "inbox")]);
    assert_eq!((answer.status, answer.header("location")), (303, "/inbox".to_owned()));
    let page = browser.get("/tasks/T-1");
    assert!(page.body.contains("ANSWER &lt;xss&gt;") && !page.body.contains("<xss"));
}

#[test]
fn an_answer_on_the_page_continues_the_task_and_the_second_one_is_refused() {
    let sandbox = Sandbox::scripted(common::CODE, ASKS);
    sandbox.run_to(3);
    let served = Served::start(&sandbox, &[]);
    let browser = served.browser();
    let board = browser.get("/").body;
    assert!(board.contains("1 task needs you") && board.contains("3 questions"), "{board}");
    let inbox = browser.get("/inbox");
    assert!(
        inbox.body.contains("fades in the sun") && inbox.body.contains("Send 3 answers"),
        "{}",
        inbox.body
    );
    // A form that was not filled in answers nothing.
    let path = "/tasks/T-1/answer";
    assert_eq!(browser.submit(&inbox, path, &[("choice-1", "blue")]).status, 400);
    assert!(matches!(sandbox.task().state, State::Waiting { .. }));
    let answers = [("choice-1", "blue"), ("choice-2", "yes"), ("words-3", "four & more")];
    assert_eq!(browser.submit(&inbox, path, &answers).status, 303);
    let second = browser.submit(&inbox, path, &answers);
    assert_eq!(second.status, 409);
    assert!(second.body.contains("tester answered it before: blue; yes; four"), "{}", second.body);

    // The daemon goes on with it, and its work can be merged from its page.
    let done = browser.until("/tasks/T-1", |page| page.contains("Merge into"));
    assert!(done.contains("four &amp; more") && done.contains("blue"), "{done}");
    assert!(browser.get("/tasks/T-1/diff").body.contains("work.txt"));
    assert!(browser.get("/tasks/T-1/legs/2").body.contains("Writing."));
    let page = browser.get("/tasks/T-1");
    assert_eq!(browser.submit(&page, "/tasks/T-1/merge", &[]).status, 303);
    browser.until("/tasks/T-1", |page| page.contains("merged"));
    assert_eq!(std::fs::read_to_string(sandbox.repo.path().join("work.txt")).unwrap(), "work\n");
    assert_eq!(browser.get("/tasks/T-99").status, 404);
    assert!(browser.get("/costs").body.contains("1 task finished; no agent told a price"));
}

#[test]
fn an_open_page_is_told_what_happens_and_what_it_missed() {
    let sandbox = Sandbox::scripted(common::CODE, ASKS);
    let served = Served::start(&sandbox, &["--workers", "1"]);
    let browser = served.browser();
    let mut stream = browser.listen("/live", &[]);
    sandbox.acquit(&["task", "add", "First"]).must(0);
    let heard = stream.until("\"kind\":\"request_opened\"");
    assert!(heard.contains("event: change") && heard.contains("\"task\":\"T-1\""), "{heard}");
    let ids: Vec<i64> = heard.lines().filter_map(|line| line.strip_prefix("id: ")?.parse().ok()).collect();
    assert!(ids.len() > 2 && ids.is_sorted(), "{heard}");
    drop(stream);

    // Away for a while: it continues after the last event that it knows, without a gap and without a repetition.
    let seen = ids[1].to_string();
    let again = browser.listen("/live", &[("Last-Event-ID", &seen)]).until("\"kind\":\"request_opened\"");
    let later: Vec<i64> = again.lines().filter_map(|line| line.strip_prefix("id: ")?.parse().ok()).collect();
    assert_eq!(later, ids[2..], "{again}");
    // A page about another task hears nothing of this one.
    let other = browser.listen("/live?task=T-2&after=0", &[]).within(Duration::from_millis(300));
    assert!(!other.contains("T-1"), "{other}");
}

#[test]
fn the_dashboard_dies_and_the_daemon_starts_it_again() {
    let sandbox = Sandbox::scripted(common::CODE, ASKS);
    let port = browser::free_port();
    let served = Served::start(&sandbox, &["--listen", &format!("127.0.0.1:{port}")]);
    assert_eq!(served.port(), port);
    let browser = served.browser();
    let old = sandbox.acquit(&["serve", "--link"]).must(0).out;
    served.kill_dashboard();
    let next = served.next_link();
    // Whoever was logged in still is; a link of before is not known to the new server.
    assert_eq!(browser.get("/").status, 200);
    assert_eq!(Browser::new(port).get_link(old.trim()).status, 401);
    assert_eq!(Browser::new(port).log_in(&next).get("/").status, 200);
}

#[test]
fn it_listens_on_this_machine_alone() {
    let sandbox = Sandbox::scripted(common::CODE, ASKS);
    for address in ["0.0.0.0:8080", "192.0.2.1:80", "[::]:8080"] {
        let refused = sandbox.acquit(&["serve", "--listen", address]).must(2);
        refused.said("without TLS only addresses of this machine's loopback interface are allowed");
        refused.said("SSH tunnel");
    }
    let quiet = sandbox.start(&["serve", "--no-web"]);
    common::until("the daemon has begun", || quiet.err().contains("looks after").then_some(()));
    assert!(!quiet.err().contains("http://"), "{}", quiet.err());
}

#[test]
fn a_browser_is_opened_with_a_link_that_only_its_owner_can_read() {
    let sandbox = Sandbox::scripted(common::CODE, ASKS);
    let (bin, given) = (sandbox.place("bin"), sandbox.place("given"));
    std::fs::create_dir_all(&bin).unwrap();
    // In place of the program that opens the person's browser.
    let program = bin.join("xdg-open");
    std::fs::write(
        &program,
        format!("#!/bin/sh\nprintf '%s' \"$*\" > {0}.part; mv {0}.part {0}\n", given.display()),
    )
    .unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let sandbox = sandbox.with("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display()));
    let served = Served::start(&sandbox, &["--open"]);
    let given = common::until("a browser is opened", || std::fs::read_to_string(&given).ok());
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&given).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600, "{given}");
    let leads = std::fs::read_to_string(&given).unwrap();
    let link = leads.split_once("url=").unwrap().1.split('"').next().unwrap();
    let browser = Browser::new(served.port()).log_in(link);
    assert_eq!(browser.get("/").status, 200);
    // A dashboard that was started again opens no second window.
    std::fs::remove_file(sandbox.place("given")).unwrap();
    served.kill_dashboard();
    served.next_link();
    assert!(!sandbox.place("given").exists());
}
