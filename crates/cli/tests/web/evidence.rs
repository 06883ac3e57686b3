//! What proves a change, as pages show it: tests without the change and with it, findings at lines, both sides of a
//! conflict, findings of a review, files and reports. And what a person can do about it.

use acquit_core::task::State;
use serde_json::json;

use crate::browser::Served;
use crate::chrome::Chrome;
use crate::common::until;
use crate::office::Office;

#[test]
fn a_test_is_shown_without_the_change_and_with_it_and_findings_stand_at_their_lines() {
    let office = Office::busier();
    let served = Served::start(&office.sandbox, &["--workers", "1"]);
    let browser = served.browser();
    let page = browser.get("/tasks/T-8").body;
    let evidence = page.split_once("id=\"gates\"").unwrap().1.split_once("id=\"conversation\"").unwrap().0;
    for shown in [
        "checks/jpy",
        "fails by an assertion",
        "passes, 2 of 2 runs",
        "assert-red",
        "assert checks/jpy: expected the rate of the day",
    ] {
        assert!(evidence.contains(shown), "lacks {shown}: {evidence}");
    }
    // Which commit was judged, and on what.
    let tip = serde_json::from_str::<serde_json::Value>(
        &office.sandbox.acquit(&["task", "show", "T-8", "--json"]).must(0).out,
    )
    .unwrap();
    let tip = tip["task"]["tip"].as_str().unwrap().get(..10).unwrap().to_owned();
    assert!(evidence.contains(&format!("commit <code>{tip}</code>")), "{evidence}");
    // The first try was rejected: its test shows nothing.
    assert!(
        evidence.contains("rejected</b> by tdd") && evidence.contains("1 test red → green"),
        "{evidence}"
    );
    let diff = browser.get("/tasks/T-8/diff").body;
    let row =
        diff.split_once("157.3").unwrap().1.split_once("said-by").unwrap().1.split_once("</tr>").unwrap().0;
    assert!(row.contains("<b>sources</b>") && row.contains("the rate names no source"), "{row}");
    assert!(row.contains("aria-label=\"noted\""), "a warning rejects nothing: {row}");

    // Sent back: a later leg changes the work, and until it is judged the remark says so.
    let night = browser.get("/nights").body;
    assert!(night.contains("Report of") && night.contains("All nights of night"), "{night}");
    let all = browser.get("/nights/night?project=").body;
    assert!(all.contains("1 night of night") && all.contains("ledger"), "{all}");
    assert_eq!(browser.get("/nights/night?project=%2Fetc").status, 400);
}

#[test]
fn a_conflict_shows_both_sides_and_a_review_its_findings() {
    let office = Office::busier();
    let served = Served::start(&office.sandbox, &["--workers", "1"]);
    let browser = served.browser();
    let article = |task: &str, page: &str| {
        let body = browser.get(page).body;
        let at = format!("<article class=\"panel asks\" id=\"request-{task}-");
        body.split_once(&at)
            .unwrap_or_else(|| panic!("{at}: {body}"))
            .1
            .split_once("</article>")
            .unwrap()
            .0
            .to_owned()
    };
    for page in ["/inbox", "/tasks/T-9"] {
        let conflict = article("T-9", page);
        for shown in ["src/jpy.rate", "on main", "160", "this task", "157.3", "Other ways"] {
            assert!(conflict.contains(shown), "{page} lacks {shown}: {conflict}");
        }
    }
    let review = article("T-10", "/inbox");
    for shown in ["critical", "src/jpy.rate:1", "the rate is of yesterday", "take the rate of the value date"]
    {
        assert!(
            review.replace("</code>", "").replace("<code>", "").contains(shown),
            "lacks {shown}: {review}"
        );
    }
    // The same in the terminal.
    let inbox = office.sandbox.acquit(&["inbox", "--list"]).out;
    assert!(inbox.contains("T-9"), "{inbox}");

    // Another agent, from another stage, with a note: all from the request itself.
    let inbox = browser.get("/inbox");
    let fields = [("stage", "review"), ("agent", "claude"), ("note", "Look again")];
    assert_eq!(browser.submit(&inbox, "/tasks/T-10/retry", &[("agent", "nobody")]).status, 400);
    let done = browser.submit(&inbox, "/tasks/T-10/retry", &fields);
    assert_eq!((done.status, done.header("location")), (303, "/inbox".to_owned()), "{}", done.body);
    // Its turn comes when a worker is free; it can be run at once.
    let page = browser.get("/tasks/T-10");
    assert_eq!(browser.submit(&page, "/tasks/T-10/run", &[]).status, 303);
    let page =
        browser.until("/tasks/T-10", |page| page.contains("Both callers go through the same check now"));
    assert!(page.contains("Look again"), "{page}");
}

#[test]
fn what_a_task_left_behind_is_opened_as_text() {
    let office = Office::open();
    let served = Served::start(&office.sandbox, &["--workers", "1"]);
    let browser = served.browser();
    let page = browser.get("/tasks/T-1").body;
    let links: Vec<&str> = page
        .split("href=\"/tasks/T-1/artifacts/")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap())
        .collect();
    assert!(!links.is_empty(), "{page}");
    let texts: Vec<String> = links
        .iter()
        .map(|index| {
            let page = browser.get(&format!("/tasks/T-1/artifacts/{index}"));
            assert_eq!(page.status, 200, "{index}: {}", page.body);
            page.body
        })
        .collect();
    assert!(texts.iter().any(|text| text.contains("Look up the rate of the value date.")), "{links:?}");
    assert!(
        texts
            .iter()
            .any(|text| text.contains("Output of the gate test") && text.contains("ok: 14 tests passed")),
        "{links:?}"
    );
    let leg = browser.get("/tasks/T-1/legs/1").body;
    assert!(leg.contains("href=\"/tasks/T-1/legs/1/output\""), "{leg}");
    let printed = browser.get("/tasks/T-1/legs/1/output");
    assert!(printed.status == 200 && printed.body.contains("Output of leg 1"), "{}", printed.body);
    for missing in [
        "/tasks/T-1/artifacts/99",
        "/tasks/T-1/legs/99/output",
        "/tasks/T-99/artifacts/0",
        "/tasks/T-1/artifacts/x",
    ] {
        assert!([400, 404].contains(&browser.get(missing).status), "{missing}");
    }
    // Others may write to the store: a path in it leads nowhere but to files of the task.
    let store = rusqlite::Connection::open(office.sandbox.place("acquit/acquit.db")).unwrap();
    let body: String = store.query_row("select body from tasks where id = 1", [], |row| row.get(0)).unwrap();
    let mut task: serde_json::Value = serde_json::from_str(&body).unwrap();
    let secret = office.sandbox.place("acquit/web/token");
    let all = task["artifacts"].as_array_mut().unwrap();
    let at = all.iter().position(|it| it.get("path").is_some()).expect("a file or a report");
    all[at]["path"] = json!(secret.to_str().unwrap());
    store.execute("update tasks set body = ?1 where id = 1", [task.to_string()]).unwrap();
    let stolen = browser.get(&format!("/tasks/T-1/artifacts/{at}"));
    assert_eq!(stolen.status, 404, "{}", stolen.body);
    assert!(!stolen.body.contains(std::fs::read_to_string(secret).unwrap().trim()));
}

#[test]
fn the_inbox_says_who_answered_what() {
    let office = Office::open();
    let served = Served::start(&office.sandbox, &["--workers", "1"]);
    let ann = crate::api::client(&office.sandbox, &served, "ann", "operator");
    let browser = served.browser();
    let Some(mut chrome) = Chrome::start(served.port()) else { return };
    let link = office.sandbox.acquit(&["serve", "--link"]).must(0).out;
    chrome.person("ada", link.trim(), json!({}));
    chrome.go("ada", "/inbox");
    let page = browser.get("/inbox").body;
    assert!(page.contains("Recent answers") && page.contains("tester</b>: approved"), "{page}");
    let tip = json!({ "request": 1, "commit": null });
    assert_eq!(ann.api("POST", "/tasks/T-2/approve", Some(&tip)).0, 200);
    // On a page that is open, too.
    chrome.sees("ada", "ann: approved");
    until("it goes on", || {
        let shown = office.sandbox.acquit(&["task", "show", "T-2", "--json"]).must(0).json();
        let state: State = serde_json::from_value(shown["task"]["state"].clone()).unwrap();
        (!matches!(state, State::Waiting { .. })).then_some(())
    });
    chrome.had_no_trouble();
}
