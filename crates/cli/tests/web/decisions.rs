//! Decisions of people on pages: with words, with what they typed kept, by who may, on a phone and by keys.

use acquit_core::task::State;
use serde_json::json;

use crate::api::client;
use crate::browser::Served;
use crate::chrome::Chrome;
use crate::common::{self, Sandbox};
use crate::forms::WRITES;
use crate::office::Office;

/// A person accepts the work, sends it back up to three times, or asks for a plan.
const ACCEPT: &str = r#"
[budgets]
agent = 0
rework = 3
[stages.code]
mode = "implement"
on = { pr_ready = "accept" }
[stages.accept]
kind = "human"
question = "Deliver it?"
on = { approved = "deliver", rejected = { to = "code", budget = "rework" }, later = "code" }
[stages.deliver]
kind = "action"
action = "squash"
on = { done = "done" }
"#;

#[test]
fn a_human_stage_is_rejected_with_words_that_the_agent_is_told() {
    let sandbox = Sandbox::scripted(ACCEPT, WRITES);
    sandbox.run_to(3);
    let served = Served::start(&sandbox, &["--workers", "1"]);
    let browser = served.browser();
    let inbox = browser.get("/inbox");
    let tip = sandbox.task().tip;
    let approve = format!("Approve <code>{}</code>", tip.get(..10).unwrap());
    for shown in [approve.as_str(), "What must change?", "Send back to code, round 1 of 3"] {
        assert!(inbox.body.contains(shown), "lacks {shown}: {}", inbox.body);
    }
    // An outcome with another name is a button as before, and those two are not offered without words and commit.
    let option = |name: &str| inbox.body.contains(&format!("name=\"option\" value=\"{name}\""));
    assert_eq!([option("later"), option("approved"), option("rejected")], [true, false, false]);
    let path = "/tasks/T-1/reject";
    assert_eq!(browser.submit(&inbox, path, &[("reason", " ")]).status, 400);
    assert!(matches!(sandbox.task().state, State::Waiting { .. }));
    assert_eq!(browser.submit(&inbox, path, &[("reason", "Write it TWICE")]).status, 303);
    let page = browser.until("/tasks/T-1", |page| page.contains("+second"));
    assert!(page.contains("Write it TWICE") && page.contains("Send back to code, round 2 of 3"), "{page}");
    let prompt = common::read(&sandbox.leg_file(2, "prompt.md"));
    assert!(prompt.contains("Write it TWICE"), "{prompt}");
    let inbox = browser.get("/inbox");
    assert_eq!(browser.submit(&inbox, "/tasks/T-1/approve", &[]).status, 303);
    browser.until("/tasks/T-1", |page| page.contains("acquitted"));
}

#[test]
fn a_merge_is_offered_only_where_it_works() {
    let sandbox = Sandbox::scripted(common::CODE, WRITES);
    sandbox.run_to(0);
    let served = Served::start(&sandbox, &["--workers", "1"]);
    let browser = served.browser();
    sandbox.repo.write("README.md", "changed by me\n");
    let page = browser.get("/tasks/T-1").body;
    assert!(
        !page.contains("Merge into main") && page.contains("first commit or stash your changes in"),
        "{page}"
    );
    sandbox.repo.git(&["checkout", "--", "README.md"]);
    let page = browser.get("/tasks/T-1");
    assert!(page.body.contains("Merge into main"), "{}", page.body);
    assert_eq!(browser.submit(&page, "/tasks/T-1/merge", &[]).status, 303);
    browser.until("/tasks/T-1", |page| page.contains("into main as"));
}

#[test]
fn a_note_is_asked_for_only_where_an_agent_reads_it() {
    let flow = ACCEPT.replace("action = \"squash\"", "action = \"merge\"");
    let sandbox = Sandbox::scripted(&flow, WRITES);
    sandbox.run_to(3);
    // Somebody else changes the same file, so acquit cannot merge.
    sandbox.repo.write("work.txt", "of somebody else\n");
    sandbox.repo.commit("meanwhile");
    let served = Served::start(&sandbox, &["--workers", "1"]);
    let browser = served.browser();
    assert_eq!(browser.submit(&browser.get("/inbox"), "/tasks/T-1/approve", &[]).status, 303);
    let inbox = browser.until("/inbox", |page| page.contains("Stuck"));
    assert!(inbox.contains("conflict") && inbox.contains("The task goes to <b>deliver</b>"), "{inbox}");
    assert!(!inbox.contains("note for the agent") && inbox.contains(">Try again</button>"), "{inbox}");
    assert_eq!(browser.submit(&browser.get("/inbox"), "/tasks/T-1/approve", &[]).status, 303);

    // An agent that failed reads one.
    let fails = "[[code]]\nstep = [ { exit = 3 } ]\n";
    let sandbox = Sandbox::scripted(ACCEPT, fails);
    sandbox.run_to(3);
    let served = Served::start(&sandbox, &["--workers", "1"]);
    let inbox = served.browser().get("/inbox").body;
    assert!(inbox.contains("A note for the agent") && inbox.contains("Try again with this note"), "{inbox}");
}

#[test]
fn a_form_that_is_not_accepted_comes_back_with_what_was_typed_and_why() {
    let sandbox = Sandbox::scripted(common::CODE, crate::ASKS);
    sandbox.run_to(3);
    let served = Served::start(&sandbox, &["--workers", "1"]);
    let browser = served.browser();
    let page = browser.get("/new");
    let typed =
        [("title", "Paint &amp; dry"), ("description", "in the sun"), ("tags", "a, b"), ("workflow", "flow")];
    for (field, value, why) in [
        ("base", "no-such-branch", "no-such-branch"),
        ("title", " ", "A task needs a title."),
        ("max_cost", "abc", "This is not an amount of dollars"),
    ] {
        let others = typed.iter().filter(|(name, _)| *name != field);
        let fields: Vec<(&str, &str)> = others.copied().chain([(field, value)]).collect();
        let refused = browser.submit(&page, "/new", &fields);
        assert_eq!(refused.status, 400, "{field}");
        let body = &refused.body;
        // The reason stands at its field, and the form can be sent again.
        let label = body.split("<label").find(|label| label.contains(&format!("name=\"{field}\""))).unwrap();
        assert!(label.contains(why) && label.contains("aria-invalid"), "{field}: {label}");
        assert!(body.contains("in the sun") && body.contains("value=\"a, b\""), "{body}");
        assert!(field == "title" || body.contains("value=\"Paint &amp;amp; dry\""), "{body}");
        assert!(body.contains("action=\"/new\"") && body.contains("aria-label=\"Pages\""), "{body}");
    }
    // An answer that lacks a part.
    let inbox = browser.get("/inbox");
    let path = "/tasks/T-1/answer";
    let again = browser.submit(&inbox, path, &[("choice-1", "blue"), ("words-3", "four <b>")]);
    assert_eq!(again.status, 400);
    assert!(again.body.contains("Question 2 has no answer"), "{}", again.body);
    assert!(
        again.body.contains("value=\"blue\" checked") && again.body.contains("four &lt;b&gt;"),
        "{}",
        again.body
    );
    let sent = [("choice-1", "blue"), ("choice-2", "yes"), ("words-3", "four")];
    assert_eq!(browser.submit(&again, path, &sent).status, 303);
    // The second of two people keeps their words, and is told who was first.
    let late =
        browser.submit(&inbox, path, &[("choice-1", "red"), ("choice-2", "no"), ("words-3", "MY OWN WORDS")]);
    assert_eq!(late.status, 409);
    assert!(late.body.contains("tester answered it before: blue; yes; four"), "{}", late.body);
    assert!(
        late.body.contains("MY OWN WORDS") && late.body.contains("aria-label=\"Pages\""),
        "{}",
        late.body
    );
}

#[test]
fn a_viewer_is_offered_no_action_and_told_what_role_one_needs() {
    let office = Office::open();
    let served = Served::start(&office.sandbox, &["--workers", "1"]);
    let viewer = client(&office.sandbox, &served, "eve", "viewer");
    for path in [
        "/",
        "/inbox",
        "/tasks/T-1",
        "/tasks/T-2",
        "/tasks/T-3",
        "/tasks/T-4",
        "/tasks/T-6",
        "/tasks/T-4/diff",
        "/nights",
    ] {
        let page = viewer.get(path);
        assert_eq!(page.status, 200, "{path}");
        let forms =
            page.body.split("method=\"post\" action=\"").skip(1).map(|form| form.split('"').next().unwrap());
        let acts: Vec<&str> = forms.filter(|action| !["/theme", "/logout"].contains(action)).collect();
        assert!(acts.is_empty() && !page.body.contains("href=\"/new\""), "{path}: {acts:?}");
    }
    let asked = viewer.get("/inbox").body;
    assert!(asked.contains("Versions 2 and 8") && asked.contains("needs the role operator"), "{asked}");
    let origin = format!("http://127.0.0.1:{}", served.port());
    let posted = viewer.post("/tasks/T-6/cancel", &[("Origin", &origin)], "");
    for refused in [posted, viewer.get("/new")] {
        assert_eq!(refused.status, 403);
        let body = refused.body;
        assert!(body.contains("needs the role operator") && body.contains("aria-label=\"Pages\""), "{body}");
        assert!(!body.contains("Log in to acquit"), "{body}");
    }
    let audit = common::read(&office.sandbox.place("acquit/web/audit.jsonl"));
    assert!(audit.contains("POST /tasks/T-6/cancel") && audit.contains("403"), "{audit}");
}

#[test]
fn a_diff_is_offered_where_there_can_be_one_and_what_is_not_there_is_not_found() {
    let workflow = "[budgets]\nagent = 0\n[stages.plan]\nmode = \"plan\"\non = { plan_complete = \"code\" }\n\
        [stages.code]\nmode = \"implement\"\non = { pr_ready = \"done\" }\n";
    let sandbox =
        Sandbox::scripted(workflow, "[[plan]]\nstep = [ { say = \"Thinking.\" }, { pause = \"10m\" } ]\n");
    let served = Served::start(&sandbox, &["--workers", "1"]);
    let browser = served.browser();
    sandbox.acquit(&["task", "add", "Think"]).must(0);
    let page = browser.until("/tasks/T-1", |page| page.contains("Thinking."));
    assert!(!page.contains("/tasks/T-1/diff"), "{page}");
    let diff = browser.get("/tasks/T-1/diff");
    assert!(diff.status == 200 && diff.body.contains("Nothing is changed yet"), "{}", diff.body);
    let leg = browser.get("/tasks/T-1/legs/99");
    assert!(leg.status == 404 && leg.body.contains("aria-label=\"Pages\""), "{}", leg.body);
    sandbox.acquit(&["task", "cancel", "T-1"]).must(0);
    browser.until("/tasks/T-1", |page| page.contains("cancelled"));
    // The page of the API is one of the pages, and its example is for this server.
    let api = browser.get("/api").body;
    assert!(api.contains(&format!("http://127.0.0.1:{}/api/v1/tasks", served.port())), "{api}");
    assert!(api.contains("aria-label=\"Pages\""), "{api}");
}

#[test]
fn on_a_phone_what_decides_is_seen_and_what_scrolls_says_so() {
    let office = Office::open();
    let served = Served::start(&office.sandbox, &["--workers", "1"]);
    let Some(mut chrome) = Chrome::start(served.port()) else { return };
    chrome.person("ada", &served.link(), json!({}));
    chrome.ask(&json!({ "do": "size", "page": "ada", "width": 380 }));
    let mut look = |path: &str, script: &str| {
        chrome.go("ada", path);
        chrome.ask(&json!({ "do": "eval", "page": "ada", "script": script }))
    };
    // The last cell of each row is the verdict, the cost, or how often a way was taken.
    let cut = |table: &str| {
        format!(
            "[...document.querySelectorAll('{table} tr > :last-child')].filter(it => it.getBoundingClientRect().right > 380).map(it => it.innerText)"
        )
    };
    assert_eq!(look("/tasks/T-1", &cut(".verdicts")), json!([]));
    assert_eq!(look("/tasks/T-1", &cut("#cost table")), json!([]));
    assert_eq!(look("/workflows/feature", &cut("[aria-label^=Ways] table")), json!([]));
    assert_eq!(look("/workflows/feature", &cut("[aria-label^=Stages] table")), json!([]));
    // A word stays whole.
    let torn = "[...document.querySelectorAll('[aria-label^=Stages] th[scope=row]')].filter(it => { const all = document.createRange(); all.selectNodeContents(it); return all.getClientRects().length > 1; }).map(it => it.innerText)";
    assert_eq!(look("/workflows/feature", torn), json!([]));
    let mute = "[...document.querySelectorAll('.scroll')].filter(it => it.scrollWidth > it.clientWidth && !getComputedStyle(it).backgroundImage.includes('gradient')).length";
    for path in ["/tasks/T-1", "/workflows/feature", "/costs", "/agents"] {
        assert_eq!(look(path, mute), json!(0), "{path}");
    }
    let broken = "[...document.querySelectorAll('.lane-head .count')].map(it => { it.textContent = '13'; return it.offsetHeight; }).filter(it => it > 24)";
    assert_eq!(look("/", broken), json!([]));
}

#[test]
fn keys_lead_to_every_kind_of_request_and_the_list_has_them_all() {
    let office = Office::open();
    let served = Served::start(&office.sandbox, &["--workers", "1"]);
    let Some(mut chrome) = Chrome::start(served.port()) else { return };
    chrome.person("ada", &served.link(), json!({}));
    // T-2 is a human stage, T-3 asks, T-4 has spent its tries.
    for (task, key, wanted) in [
        ("T-2", "a", "Approve"),
        ("T-2", "1", "Approve"),
        ("T-2", "x", "reason"),
        ("T-2", "2", "reason"),
        ("T-3", "a", "choice-1"),
        ("T-3", "2", "Version 8 alone"),
        ("T-4", "a", "Try again"),
        ("T-4", "x", "reason"),
    ] {
        chrome.go("ada", &format!("/tasks/{task}"));
        chrome.press("ada", &[key]);
        let focus = chrome.ask(&json!({ "do": "focus", "page": "ada" }));
        let at = [&focus["name"], &focus["value"], &focus["text"]];
        assert!(
            at.iter().any(|it| it.as_str().is_some_and(|it| it.starts_with(wanted))),
            "{task} {key}: {focus}"
        );
        assert!(focus["tag"] != "textarea" || focus["value"] == "", "nothing is typed: {focus}");
        assert_eq!(
            chrome.ask(&json!({ "do": "url", "page": "ada" })).as_str().unwrap().rsplit('/').next(),
            Some(task)
        );
    }
    chrome.press("ada", &["Tab"]);
    chrome.go("ada", "/");
    chrome.press("ada", &["?"]);
    let keys = chrome.ask(&json!({ "do": "text", "page": "ada", "at": ".keys" }));
    for key in ["g a", "g d", "e", "1–9", "a x", "?"] {
        assert!(keys.as_str().unwrap().lines().any(|line| line.trim() == key), "{key}: {keys}");
    }
    chrome.had_no_trouble();
}
