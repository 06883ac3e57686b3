//! The dashboard in a real browser: what one sees, with keyboard alone, without JavaScript, on a phone, with another person, over a restart.

use acquit_core::task::State;
use serde_json::json;

use crate::browser::Served;
use crate::chrome::Chrome;
use crate::common::{self, Sandbox, until};
use crate::office::Office;

/// Tasks in every state, with texts in every field that anyone can fill.
const FLOW: &str = r#"
description = "DESCRIBES EVIL"
[budgets]
agent = 0
test = 1
rework = 1
[gates.test]
run = "printf 'GATE EVIL'; test ! -e src/bad.rs"
kind = "test"
[stages.plan]
mode = "plan"
on = { plan_complete = "code" }
[stages.code]
mode = "implement"
gates = ["test"]
fix = "mend"
on = { pr_ready = "ship" }
[stages.mend]
mode = "fix"
on = { fixed = "back" }
[stages.ship]
kind = "human"
question = "Deliver it, EVIL?"
on = { approved = "deliver", rejected = { to = "code", budget = "rework" } }
[stages.deliver]
kind = "action"
action = "squash"
on = { done = "done" }
"#;

const SCRIPT: &str = r#"
[[plan]]
step = [ { say = "SAY EVIL" }, { think = "THINK EVIL" }, { output = "plan.md", content = "PLAN EVIL" },
    { usage = { model = "MODEL EVIL", input = 12000, output = 900, cost_micros = 84000 } },
    { outcome = "plan_complete", payload = { summary = "SUMMARY EVIL" } } ]
[[code]]
step = [ { print = "PRINT EVIL" }, { write = "src/bad.rs", content = "BAD EVIL\n" }, { run = "printf x > 'NAME EVIL.txt'" },
    { outcome = "pr_ready", payload = { summary = "CODED EVIL" } } ]
[[mend]]
step = [ { run = "rm src/bad.rs" }, { write = "src/good.rs", content = "GOOD EVIL\n" }, { outcome = "fixed", payload = { summary = "MENDED EVIL" } } ]
"#;

/// Runs in a page that takes text for markup, in whatever place.
const EVIL: &str = "</title></script></textarea>'><img src=x onerror=alert(1)><script>alert(2)</script><a href=javascript:alert(3)>x</a>";

/// The pages of a task that has them all.
const PAGES: [(&str, &str); 19] = [
    ("board", "/"),
    ("lane", "/?lane=needs"),
    ("inbox", "/inbox"),
    ("new", "/new"),
    ("task", "/tasks/T-1"),
    ("leg", "/tasks/T-1/legs/2"),
    ("search", "/tasks/T-1/transcript?find=a"),
    ("diff", "/tasks/T-1/diff"),
    ("workflows", "/workflows"),
    ("workflow", "/workflows/flow"),
    ("nights", "/nights"),
    ("costs", "/costs"),
    ("agents", "/agents"),
    ("workers", "/workers"),
    ("settings", "/settings"),
    ("doctor", "/doctor"),
    ("nothing", "/nowhere"),
    ("no-task", "/tasks/T-99"),
    ("no-workflow", "/workflows/none"),
];

/// The pages of the office.
const OFFICE: [(&str, &str); 32] = [
    ("board", "/"),
    ("board-filtered", "/?tag=rates"),
    ("inbox", "/inbox"),
    ("new", "/new"),
    ("task-done", "/tasks/T-1"),
    ("task-decision", "/tasks/T-2"),
    ("task-question", "/tasks/T-3"),
    ("task-stuck", "/tasks/T-4"),
    ("task-proven", "/tasks/T-8"),
    ("task-conflict", "/tasks/T-9"),
    ("task-review", "/tasks/T-10"),
    ("lane-waiting", "/?lane=waiting"),
    ("artifact", "/tasks/T-1/artifacts/0"),
    ("output", "/tasks/T-1/legs/1/output"),
    ("diff-remarks", "/tasks/T-8/diff"),
    ("schedule", "/nights/night?project="),
    ("api", "/api"),
    ("no-schedule", "/nights/none?project="),
    ("no-artifact", "/tasks/T-1/artifacts/99"),
    ("no-leg", "/tasks/T-1/legs/99"),
    ("task-running", "/tasks/T-6"),
    ("leg", "/tasks/T-1/legs/2"),
    ("search", "/tasks/T-1/transcript?find=rate"),
    ("diff", "/tasks/T-4/diff"),
    ("workflow", "/workflows/feature"),
    ("nights", "/nights"),
    ("costs", "/costs"),
    ("agents", "/agents"),
    ("workers", "/workers"),
    ("settings", "/settings"),
    ("doctor", "/doctor"),
    ("no-task", "/tasks/T-99"),
];

/// A store with a task that waits for a person, one that asks, and one that is queued.
fn world(evil: &str) -> Sandbox {
    let plain = |text: &str| text.replace("EVIL", &evil.replace('\\', "").replace('"', "\\\""));
    // No name of a file has a slash in it, and no name of a model a blank.
    let script = plain(
        &SCRIPT.replace("NAME EVIL", "NAME <img src=x onerror=alert(4)>").replace("MODEL EVIL", "model"),
    );
    let sandbox = Sandbox::scripted(
        &plain(&FLOW.replace("printf 'GATE EVIL'", "printf 'GATE <img src=x onerror=alert(5)>'")),
        &script,
    );
    let (title, description) = (format!("TITLE {evil}"), format!("ABOUT {evil}"));
    let tag = format!("TAG{}", if evil.is_empty() { "" } else { "<img src=x onerror=alert(6)>" });
    sandbox.acquit(&["run", &title, "--description", &description, "--tag", &tag]).must(3);
    sandbox
}

/// Visits every page of the office at a width: no violation that axe-core knows, nothing wider than the window, no word broken in a table.
fn visit(width: u32) {
    let office = Office::busier();
    office.crowd();
    // T-6 is the one task that may run.
    let served = Served::start(&office.sandbox, &["--workers", "1"]);
    let Some(mut chrome) = Chrome::start(served.port()) else { return };
    chrome.person("ada", &served.link(), json!({}));
    chrome.ask(&json!({ "do": "size", "page": "ada", "width": width }));
    // `cargo xtask screenshots` says where pictures go.
    let shots = std::env::var("ACQUIT_SCREENSHOTS").ok();
    let looks = |chrome: &mut Chrome, name: &str, path: &str| {
        // In another theme nothing but colours is different.
        for (scheme, only) in [("light", json!(null)), ("dark", json!(["color-contrast"]))] {
            chrome.ask(&json!({ "do": "scheme", "page": "ada", "scheme": scheme }));
            let found = chrome.ask(&json!({ "do": "axe", "page": "ada", "only": only }));
            assert_eq!(found, json!([]), "{path} {scheme} {width}");
            if let Some(folder) = &shots {
                let file = format!("{folder}/{name}-{width}-{scheme}.png");
                chrome.ask(&json!({ "do": "shot", "page": "ada", "path": file }));
            }
        }
        assert_eq!(chrome.ask(&json!({ "do": "overflow", "page": "ada" })), json!([]), "{path} {width}");
    };
    for (name, path) in OFFICE {
        chrome.ask(&json!({ "do": "scheme", "page": "ada", "scheme": "light" }));
        chrome.go("ada", path);
        looks(&mut chrome, name, path);
    }
    // A form that was refused, a theme that was chosen, a person who may only look, and the page to log in.
    chrome.go("ada", "/tasks/T-3");
    chrome.ask(&json!({ "do": "click", "page": "ada", "at": "form[action$='/answer'] button" }));
    looks(&mut chrome, "refused-form", "/tasks/T-3/answer");
    for theme in ["dark", "light"] {
        chrome.go("ada", "/tasks/T-8");
        chrome.ask(&json!({ "do": "click", "page": "ada", "at": ".bar details.menu > summary" }));
        chrome.ask(
            &json!({ "do": "click", "page": "ada", "at": format!("button[name=theme][value={theme}]") }),
        );
        looks(&mut chrome, &format!("theme-{theme}"), "/tasks/T-8");
    }
    chrome.ask(&json!({ "do": "click", "page": "ada", "at": ".bar details.menu > summary" }));
    chrome.ask(&json!({ "do": "click", "page": "ada", "at": "form[action='/logout'] button" }));
    looks(&mut chrome, "login", "/logout");
    let token = office.sandbox.acquit(&["token", "add", "eve", "--role", "viewer"]).must(0).out;
    chrome.ask(&json!({ "do": "fill", "page": "ada", "at": "input[name=token]", "text": token.trim() }));
    chrome.ask(&json!({ "do": "click", "page": "ada", "at": "form[action='/login'] button" }));
    chrome.sees("ada", "Doctor");
    assert_eq!(chrome.go("ada", "/new"), 403);
    looks(&mut chrome, "forbidden", "/new");
    chrome.go("ada", "/inbox");
    looks(&mut chrome, "inbox-viewer", "/inbox");
    chrome.had_no_trouble();
    // A store without tasks.
    let empty = Sandbox::scripted(common::CODE, crate::ASKS);
    let served = Served::start(&empty, &[]);
    let Some(mut chrome) = Chrome::start(served.port()) else { return };
    chrome.person("ada", &served.link(), json!({}));
    chrome.ask(&json!({ "do": "size", "page": "ada", "width": width }));
    for path in ["/", "/inbox", "/workflows", "/nights", "/costs", "/agents", "/workers"] {
        chrome.go("ada", path);
        looks(&mut chrome, &format!("empty{}", path.replace('/', "-")), path);
    }
    chrome.had_no_trouble();
}

#[test]
fn every_page_is_accessible_in_both_themes_on_a_desk() {
    visit(1280);
}

#[test]
fn every_page_is_accessible_in_both_themes_and_fits_a_phone() {
    visit(380);
}

#[test]
fn nothing_that_anyone_writes_runs_in_a_browser() {
    let sandbox = world(EVIL);
    let served = Served::start(&sandbox, &[]);
    let Some(mut chrome) = Chrome::start(served.port()) else { return };
    chrome.person("ada", &served.link(), json!({}));
    let asked = "%3Cimg%20src%3Dx%20onerror%3Dalert(7)%3E";
    let odd = [
        format!("/?q={asked}&project={asked}&workflow={asked}&tag={asked}"),
        format!("/costs?since={asked}&project={asked}&workflow={asked}"),
        format!("/agents?project={asked}"),
        format!("/new?project={asked}"),
        format!("/settings?project={asked}"),
        format!("/workflows/{asked}"),
        format!("/tasks/T-1/transcript?find={asked}"),
        format!("/tasks/{asked}"),
        format!("/tasks/T-1/legs/2?q={asked}"),
        format!("/{asked}"),
    ];
    for path in PAGES.map(|(_, path)| path.to_owned()).iter().chain(&odd) {
        chrome.go("ada", path);
        chrome.ask(&json!({ "do": "eval", "page": "ada", "script": "document.querySelectorAll('details').forEach(it => it.open = true)" }));
        let alive = "[...document.querySelectorAll('img, script:not([src^=\"/live.js\"]), a[href^=javascript], [onerror]')].map(it => it.outerHTML)";
        assert_eq!(chrome.ask(&json!({ "do": "eval", "page": "ada", "script": alive })), json!([]), "{path}");
    }
    for (path, words) in [
        ("/", &["TITLE </title>"][..]),
        ("/inbox", &["TITLE", "Deliver it, </title>"]),
        ("/tasks/T-1", &["ABOUT </title>", "TAG<img", "GATE <img"]),
        ("/tasks/T-1/legs/1", &["SAY </title>", "THINK </title>"]),
        ("/tasks/T-1/legs/2", &["PRINT </title>"]),
        ("/tasks/T-1/diff", &["GOOD </title>", "NAME <img"]),
        ("/tasks/T-1/transcript?find=evil", &[]),
        ("/tasks/T-1/transcript?find=title", &["SAY </title>"]),
        ("/workflows/flow", &["DESCRIBES </title>"]),
        ("/new", &["DESCRIBES"]),
        ("/costs", &["TITLE </title>"]),
    ] {
        chrome.go("ada", path);
        chrome.ask(&json!({ "do": "eval", "page": "ada", "script": "document.querySelectorAll('details').forEach(it => it.open = true)" }));
        let text = chrome.text("ada");
        for word in words {
            assert!(text.contains(word), "{path} does not show {word:?}: {text}");
        }
    }
    chrome.had_no_trouble();
}

#[test]
fn a_request_is_found_and_answered_with_the_keyboard_alone() {
    let sandbox = Sandbox::scripted(common::CODE, crate::ASKS);
    sandbox.run_to(3);
    let served = Served::start(&sandbox, &[]);
    let Some(mut chrome) = Chrome::start(served.port()) else { return };
    chrome.person("ada", &served.link(), json!({}));
    chrome.go("ada", "/");
    // The first stop leads past the navigation.
    let first = chrome.tab_to("ada", |_| true);
    assert_eq!(first["href"], "#main", "{first}");
    chrome.press("ada", &["g", "i"]);
    chrome.sees("ada", "Which colour?");
    chrome.tab_to("ada", |it| it["type"] == "radio");
    // Space chooses the first option, the arrow the next one.
    chrome.press("ada", &["Space", "ArrowDown"]);
    let chosen = chrome.ask(&json!({ "do": "focus", "page": "ada" }));
    assert_eq!(chosen["value"], "blue", "{chosen}");
    chrome.tab_to("ada", |it| it["type"] == "radio" && it["name"] == "choice-2");
    chrome.press("ada", &["Space"]);
    chrome.tab_to("ada", |it| it["name"] == "words-3");
    chrome.ask(&json!({ "do": "type", "page": "ada", "text": "four" }));
    chrome.tab_to("ada", |it| {
        it["tag"] == "button" && it["text"].as_str().is_some_and(|text| text.starts_with("Send"))
    });
    chrome.press("ada", &["Enter"]);
    until("the answer counts", || (!matches!(sandbox.task().state, State::Waiting { .. })).then_some(()));
    chrome.had_no_trouble();
}

#[test]
fn everything_works_without_javascript() {
    let sandbox = Sandbox::scripted(common::CODE, crate::ASKS);
    sandbox.run_to(3);
    let served = Served::start(&sandbox, &[]);
    let Some(mut chrome) = Chrome::start(served.port()) else { return };
    chrome.person("ada", &served.link(), json!({ "javascript": false }));
    chrome.go("ada", "/inbox");
    for (action, at, text) in [
        ("check", "input[name=choice-1][value=blue]", ""),
        ("check", "input[name=choice-2][value=yes]", ""),
        ("fill", "[name=words-3]", "four"),
    ] {
        chrome.ask(&json!({ "do": action, "page": "ada", "at": at, "text": text }));
    }
    chrome.ask(&json!({ "do": "click", "page": "ada", "at": "form[action$='/answer'] button" }));
    until("the task is done", || matches!(sandbox.task().state, State::Ended { .. }).then_some(()));
    chrome.go("ada", "/tasks/T-1");
    chrome.ask(&json!({ "do": "click", "page": "ada", "at": "form[action$='/merge'] button" }));
    until("it is merged", || sandbox.repo.path().join("work.txt").exists().then_some(()));
    // The theme is a form as well.
    chrome.go("ada", "/costs");
    chrome.ask(&json!({ "do": "click", "page": "ada", "at": "summary" }));
    chrome.ask(&json!({ "do": "click", "page": "ada", "at": "button[name=theme][value=dark]" }));
    let theme = chrome.ask(&json!({ "do": "html", "page": "ada" }));
    assert!(theme.as_str().is_some_and(|html| html.contains("data-theme=\"dark\"")));
    assert!(
        chrome
            .ask(&json!({ "do": "url", "page": "ada" }))
            .as_str()
            .is_some_and(|url| url.ends_with("/costs"))
    );
}

#[test]
fn an_open_page_goes_on_over_a_restart_of_the_server_and_shows_a_late_viewer_everything() {
    let sandbox = Sandbox::scripted(common::CODE, crate::ASKS);
    let served = Served::start(&sandbox, &["--workers", "1"]);
    let Some(mut chrome) = Chrome::start(served.port()) else { return };
    chrome.person("ada", &served.link(), json!({}));
    chrome.go("ada", "/");
    served.kill_dashboard();
    served.next_link();
    // It happens while nobody listens, and the page that was open all the time shows it.
    sandbox.acquit(&["task", "add", "After the restart"]).must(0);
    chrome.sees("ada", "After the restart");
    chrome.sees("ada", "1 task needs you");
    // More tabs than a browser has connections for a host: those that nobody sees hold none.
    for number in 0..7 {
        chrome.ask(&json!({ "do": "open", "page": format!("tab-{number}"), "person": "ada" }));
        assert_eq!(chrome.go(&format!("tab-{number}"), "/tasks/T-1"), 200);
    }
    sandbox.acquit(&["task", "cancel", "T-1"]).must(0);
    for page in ["tab-0", "tab-6", "ada"] {
        chrome.sees(page, "cancelled");
    }
    chrome.had_no_trouble();
}

#[test]
fn of_two_people_one_answers_and_the_other_is_told() {
    let sandbox = world("");
    let served = Served::start(&sandbox, &["--workers", "1"]);
    let Some(mut chrome) = Chrome::start(served.port()) else { return };
    chrome.person("ada", &served.link(), json!({}));
    let second = sandbox.acquit(&["serve", "--link"]).must(0).out;
    chrome.person("bob", second.trim(), json!({ "javascript": false }));
    chrome.go("ada", "/inbox");
    chrome.go("bob", "/inbox");
    // A third one is writing.
    let third = sandbox.acquit(&["serve", "--link"]).must(0).out;
    chrome.person("eve", third.trim(), json!({}));
    chrome.go("eve", "/inbox");
    let reason = "form[action$='/reject'] textarea";
    chrome.ask(&json!({ "do": "fill", "page": "eve", "at": reason, "text": "MY OWN WORDS" }));
    let approve = "form[action$='/approve'] button";
    chrome.ask(&json!({ "do": "click", "page": "ada", "at": approve }));
    until("one of them was heard", || (!matches!(sandbox.task().state, State::Waiting { .. })).then_some(()));
    chrome.ask(&json!({ "do": "click", "page": "bob", "at": approve }));
    let told = chrome.text("bob");
    assert!(told.contains("Somebody else was first"), "{told}");
    assert!(told.contains("tester answered it before: approved"), "{told}");
    chrome.sees("eve", "Somebody answered a request while you were writing");
    let kept = chrome.ask(&json!({ "do": "value", "page": "eve", "at": reason }));
    assert_eq!(kept, "MY OWN WORDS");
    chrome.had_no_trouble();
}

#[test]
fn a_transcript_is_searched_linked_and_followed() {
    let office = Office::open();
    let served = Served::start(&office.sandbox, &["--workers", "1"]);
    let Some(mut chrome) = Chrome::start(served.port()) else { return };
    chrome.person("ada", &served.link(), json!({}));
    chrome.go("ada", "/tasks/T-6");
    chrome.sees("ada", "Right now");
    chrome.sees("ada", "I make the bound inclusive");
    // The key and the button do the same.
    let pressed = "document.querySelector('[data-follow]').getAttribute('aria-pressed')";
    let before = chrome.ask(&json!({ "do": "eval", "page": "ada", "script": pressed }));
    chrome.press("ada", &["f"]);
    let after = chrome.ask(&json!({ "do": "eval", "page": "ada", "script": pressed }));
    assert_ne!(before, after);
    chrome.ask(&json!({ "do": "fill", "page": "ada", "at": "input[name=find]", "text": "INCLUSIVE" }));
    chrome.ask(&json!({ "do": "click", "page": "ada", "at": "form[action$='/transcript'] button" }));
    chrome.sees("ada", "1 line with");
    let marked = chrome.ask(&json!({ "do": "text", "page": "ada", "at": "mark" }));
    assert_eq!(marked, "inclusive");
    // The link of a line leads to the line.
    chrome.ask(&json!({ "do": "click", "page": "ada", "at": ".lines .ln" }));
    let at = "document.querySelector('.lines li:target').innerText";
    let line = chrome.ask(&json!({ "do": "eval", "page": "ada", "script": at }));
    assert!(line.as_str().is_some_and(|text| text.contains("inclusive")), "{line}");
    chrome.had_no_trouble();
}
