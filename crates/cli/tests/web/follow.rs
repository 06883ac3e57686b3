//! Open pages in a real browser while an agent prints and events happen: what is new appears without a reload, at once,
//! for whoever looks, however late they came.

use std::io::Write;
use std::time::Duration;

use serde_json::{Value, json};

use crate::browser::{Browser, Served};
use crate::chrome::Chrome;
use crate::common::{self, Sandbox, until};

/// How often a page must show both of two events that follow each other in less than this, in the best of some rounds.
const SOON: i64 = 400;
const ROUNDS: usize = 6;

/// An agent that says a line every now and then, until somebody ends the task.
fn talkative() -> String {
    let line = |number: u32| format!("{{ say = \"line {number}.\" }}, {{ pause = \"250ms\" }}");
    let lines = (1..=400).map(line).collect::<Vec<_>>().join(
        ",
",
    );
    format!("[[code]]\nstep = [ {lines}, {{ pause = \"10m\" }} ]\n")
}

/// Which line is the newest on the page.
fn newest(chrome: &mut Chrome, page: &str) -> i64 {
    let script = "Math.max(0, ...[...document.querySelectorAll('.lines .says')].map(it => Number(it.innerText.match(/line (\\d+)\\./)?.[1] ?? 0)))";
    chrome.ask(&json!({ "do": "eval", "page": page, "script": script })).as_i64().unwrap_or_default()
}

/// Waits until the page shows newer lines than this, by itself.
fn goes_on(chrome: &mut Chrome, page: &str, from: i64) -> i64 {
    until("new lines appear", || Some(newest(chrome, page)).filter(|line| *line > from + 2))
}

#[test]
fn an_agent_that_works_is_followed_by_viewers_who_came_at_different_times() {
    let sandbox = Sandbox::scripted(common::CODE, &talkative());
    let served = Served::start(&sandbox, &["--workers", "1"]);
    let Some(mut chrome) = Chrome::start(served.port()) else { return };
    chrome.person("ada", &served.link(), json!({}));
    sandbox.acquit(&["task", "add", "Talk"]).must(0);
    chrome.go("ada", "/tasks/T-1/legs/1");
    chrome.ask(&json!({ "do": "eval", "page": "ada", "script": "window.kept = true" }));
    let button =
        |chrome: &mut Chrome| chrome.ask(&json!({ "do": "text", "page": "ada", "at": "[data-follow]" }));
    let top = "document.documentElement.scrollTop";
    let at = |chrome: &mut Chrome| {
        chrome.ask(&json!({ "do": "eval", "page": "ada", "script": top })).as_i64().unwrap_or_default()
    };
    // It follows: the newest line stays in view.
    let tall = "document.documentElement.scrollHeight > innerHeight + 400";
    until("the page is taller than the window", || {
        chrome.ask(&json!({ "do": "eval", "page": "ada", "script": tall })).as_bool().filter(|tall| *tall)
    });
    assert_eq!(button(&mut chrome), "Stop following");
    let (before, line) = (at(&mut chrome), newest(&mut chrome, "ada"));
    let line = goes_on(&mut chrome, "ada", line);
    assert!(at(&mut chrome) > before, "it does not follow");
    // Scrolling up ends it: the place stays, and the button counts.
    chrome.ask(&json!({ "do": "eval", "page": "ada", "script": "scrollTo(0, 0)" }));
    until("the button says so", || {
        button(&mut chrome).as_str().filter(|it| it.starts_with("Follow")).map(drop)
    });
    goes_on(&mut chrome, "ada", line);
    assert_eq!(at(&mut chrome), 0);
    let counted = button(&mut chrome);
    assert!(counted.as_str().is_some_and(|it| it.contains(" new")), "{counted}");
    chrome.press("ada", &["f"]);
    assert_eq!(button(&mut chrome), "Stop following");
    assert!(at(&mut chrome) > 0);

    // Somebody who comes late has the first line, and then the same as the others.
    let link = sandbox.acquit(&["serve", "--link"]).must(0).out;
    chrome.person("bob", link.trim(), json!({}));
    chrome.go("bob", "/tasks/T-1/legs/1");
    assert!(chrome.text("bob").contains("line 1."));
    let late = newest(&mut chrome, "bob");
    goes_on(&mut chrome, "bob", late);
    // A reload loses nothing.
    chrome.go("bob", "/tasks/T-1/legs/1");
    let again = newest(&mut chrome, "bob");
    assert!(chrome.text("bob").contains("line 1.") && again > late);
    // Pages about other things are not fetched again because of it.
    chrome.go("bob", "/costs");
    let fetches =
        "performance.getEntriesByType('resource').filter(it => it.initiatorType === 'fetch').length";
    let mut fetched = || chrome.ask(&json!({ "do": "eval", "page": "bob", "script": fetches }));
    let quiet = fetched();
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(fetched(), quiet);
    // The server is replaced while the agent works: neither the agent nor the open page is disturbed.
    let line = newest(&mut chrome, "ada");
    served.kill_dashboard();
    served.next_link();
    goes_on(&mut chrome, "ada", line);
    assert_eq!(chrome.ask(&json!({ "do": "eval", "page": "ada", "script": "window.kept" })), json!(true));
    assert!(chrome.text("ada").contains("line 1."));
    sandbox.acquit(&["task", "cancel", "T-1"]).must(0);
    chrome.sees("ada", "cancelled");
    chrome.had_no_trouble();
}

#[test]
fn two_events_that_follow_each_other_are_both_on_the_page_at_once() {
    let sandbox = Sandbox::scripted(common::CODE, "[[code]]\nstep = [ { pause = \"10m\" } ]\n");
    let served = Served::start(&sandbox, &["--workers", "1"]);
    let Some(mut chrome) = Chrome::start(served.port()) else { return };
    chrome.person("ada", &served.link(), json!({}));
    sandbox.acquit(&["task", "add", "Runs"]).must(0);
    let link = sandbox.acquit(&["serve", "--link"]).must(0).out;
    let browser = Browser::new(served.port()).log_in(link.trim());
    chrome.go("ada", "/");
    chrome.sees("ada", "Watch");
    // The time at which each card came to be on the page.
    let watch = "window.seen = {}; new MutationObserver(() => { for (const it of document.querySelectorAll('.card')) window.seen[it.id] ??= Date.now(); }).observe(document.body, { childList: true, subtree: true })";
    chrome.ask(&json!({ "do": "eval", "page": "ada", "script": watch }));
    let own = format!("http://127.0.0.1:{}", served.port());
    let place = sandbox.repo.path().display().to_string();
    let mut delays = Vec::new();
    for round in 0..ROUNDS {
        // Until the page may show several changes at once again.
        std::thread::sleep(Duration::from_millis(2_600));
        let add = |title: String| {
            let added = browser.post("/new", &[("Origin", &own)], &format!("project={place}&title={title}"));
            assert_eq!(added.status, 303, "{}", added.body);
            added.header("location").rsplit('/').next().unwrap().to_owned()
        };
        let pair = [add(format!("first{round}")), add(format!("second{round}"))];
        for task in &pair {
            chrome.sees("ada", task);
        }
        let seen = chrome.ask(&json!({ "do": "eval", "page": "ada", "script": "window.seen" }));
        let delay = |task: &String| {
            let shown: Value =
                serde_json::from_str(&sandbox.acquit(&["task", "show", task, "--json"]).must(0).out).unwrap();
            let created = shown["task"]["seed"]["created"].as_i64().expect("a time");
            seen[format!("task-{task}")].as_i64().expect("it was seen") - created
        };
        delays.push(pair.each_ref().map(delay));
    }
    // For whoever measures: `--no-capture` shows it.
    writeln!(std::io::stdout(), "milliseconds from each of two events to the page: {delays:?}").unwrap();
    let best = delays.iter().map(|pair| pair[0].max(pair[1])).min().unwrap_or(i64::MAX);
    assert!(best < SOON, "{delays:?}");
    sandbox.acquit(&["task", "cancel", "T-1"]).must(0);
    chrome.had_no_trouble();
}
