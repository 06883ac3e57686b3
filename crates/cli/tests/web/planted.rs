//! Markup in every text that the store has from agents, repositories, forges and people: no page takes it for its own.
//!
//! The store of a busy office is read row by row, and each free text in it gets markup that would run: texts of tasks,
//! events, transcripts, nights and workers. Names that the store checks are left alone.

use std::collections::BTreeMap;

use acquit_core::agent::Item;
use acquit_core::event::Body;
use acquit_core::fleet::{Need, Worker, WorkerState};
use acquit_core::night::Night;
use acquit_core::task::{Actor, Task};
use rusqlite::{Connection, params};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::browser::Served;
use crate::chrome::Chrome;
use crate::office::Office;

const EVIL: &str = "</title></script></textarea>'\"><img src=x onerror=alert(1)><script>alert(2)</script>";

/// Keys of free texts, wherever they stand.
const FREE: [&str; 41] = [
    "name",
    "title",
    "description",
    "text",
    "question",
    "context",
    "trade_offs",
    "recommended",
    "summary",
    "subject",
    "message",
    "url",
    "reason",
    "input",
    "output",
    "tool",
    "ticket",
    "why",
    "tail",
    "command",
    "ended",
    "value",
    "what",
    "said",
    "excerpt",
    "problem",
    "suggestion",
    "model",
    "answers",
    "answer",
    "learnings",
    "learning",
    "test",
    "note",
    "words",
    "category",
    "repository",
    "change",
    "detail",
    "progress",
    "metadata",
];

/// Adds markup to the texts in a value that have this key, and says how many there were.
fn plant(value: &mut Value, at: &str, key: &str) -> usize {
    match value {
        Value::String(text) if at == key => {
            text.push_str(EVIL);
            1
        }
        Value::Array(all) => all.iter_mut().map(|one| plant(one, at, key)).sum(),
        Value::Object(map) => {
            let inside = |inner: &String| if at == "metadata" { at.to_owned() } else { inner.clone() };
            map.iter_mut().map(|(inner, value)| plant(value, &inside(inner), key)).sum()
        }
        _ => 0,
    }
}

/// Plants markup in a column of JSON of a table: in every free text with which the row can still be read.
fn plant_in<T: DeserializeOwned>(store: &Connection, table: &str, column: &str) -> usize {
    let row = if table == "nights" { "nominal" } else { "rowid" };
    let mut rows = store.prepare(&format!("select {row}, {column} from {table}")).unwrap();
    let all: Vec<(i64, String)> =
        rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect();
    let mut count = 0;
    for (id, text) in all {
        let mut value: Value = serde_json::from_str(&text).unwrap();
        for key in FREE {
            let mut changed = value.clone();
            let planted = plant(&mut changed, "", key);
            if planted > 0 && serde_json::from_value::<T>(changed.clone()).is_ok() {
                value = changed;
                count += planted;
            }
        }
        let sql = format!("update {table} set {column} = ?1 where {row} = ?2");
        store.execute(&sql, params![value.to_string(), id]).unwrap();
    }
    count
}

#[test]
fn markup_in_any_text_of_the_store_is_text_on_every_page() {
    let office = Office::busier();
    office.sandbox.acquit(&["task", "cancel", "T-7"]).must(0);
    office.sandbox.acquit(&["task", "cancel", "T-6"]).must(0);
    crate::common::until("nothing runs", || {
        let shown = office.sandbox.acquit(&["task", "show", "T-6", "--json"]).must(0).json();
        (shown["task"]["state"]["type"] == "ended").then_some(())
    });
    let store = Connection::open(office.sandbox.place("acquit/acquit.db")).unwrap();
    let worker = Worker {
        name: EVIL.to_owned(),
        process: "1".to_owned(),
        host: EVIL.to_owned(),
        version: EVIL.to_owned(),
        slots: 3,
        state: WorkerState::Working,
        offers: vec![Need::Label(EVIL.to_owned()), Need::Agent(EVIL.to_owned())],
        lacks: BTreeMap::new(),
        idle: None,
    };
    let sql = "insert into workers (name, process, seen, offers, body) values (?1, '1', 0, '[]', ?2)";
    store.execute(sql, params![EVIL, serde_json::to_string(&worker).unwrap()]).unwrap();
    let counts = [
        plant_in::<Task>(&store, "tasks", "body"),
        plant_in::<Body>(&store, "events", "data"),
        plant_in::<Actor>(&store, "events", "actor"),
        plant_in::<Vec<Item>>(&store, "transcripts", "items"),
        plant_in::<Night>(&store, "nights", "body"),
    ];
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
    let planted: usize = counts.iter().sum();
    store.execute("update tasks set title = title || ?1, project_name = project_name || ?1", [EVIL]).unwrap();
    store.execute("update events set summary = summary || ?1", [EVIL]).unwrap();
    assert!(planted > 200, "{planted}");
    let token =
        office.sandbox.acquit(&["token", "add", "eve<img src=x onerror=alert(1)>", "--role", "admin"]);
    let served = Served::start(&office.sandbox, &["--workers", "1"]);
    let Some(mut chrome) = Chrome::start(served.port()) else { return };
    chrome.person("ada", &served.link(), json!({}));
    let mut paths: Vec<String> = [
        "/",
        "/?lane=needs",
        "/?lane=done",
        "/inbox",
        "/new",
        "/workflows",
        "/workflows/feature",
        "/workflows/proven",
        "/nights",
        "/nights/night?project=",
        "/costs",
        "/agents",
        "/workers",
        "/settings",
        "/doctor",
        "/api",
    ]
    .map(str::to_owned)
    .to_vec();
    for task in [1, 2, 3, 4, 5, 8, 9, 10] {
        paths.push(format!("/tasks/T-{task}"));
    }
    for task in [1, 4, 8] {
        paths.push(format!("/tasks/T-{task}/transcript?find=onerror"));
        paths.push(format!("/tasks/T-{task}/diff"));
        paths.extend((1..=2).map(|leg| format!("/tasks/T-{task}/legs/{leg}")));
        paths.push(format!("/tasks/T-{task}/artifacts/0"));
    }
    let mut shown = 0;
    for path in &paths {
        let status = chrome.go("ada", path);
        assert!([200, 404, 409].contains(&status), "{path}: {status} {}", chrome.text("ada"));
        chrome.ask(&json!({ "do": "eval", "page": "ada", "script": "document.querySelectorAll('details').forEach(it => it.open = true)" }));
        let alive = "[...document.querySelectorAll('img, script:not([src^=\"/live.js\"]), a[href^=javascript], [onerror], [onclick]')].map(it => it.outerHTML)";
        assert_eq!(chrome.ask(&json!({ "do": "eval", "page": "ada", "script": alive })), json!([]), "{path}");
        if chrome.text("ada").contains("onerror=alert(1)") {
            shown += 1;
        }
    }
    assert!(shown > 20, "{shown} of {} pages show what was planted", paths.len());
    // It stays text when a form comes back with it, and when somebody logs in with it.
    chrome.go("ada", "/inbox");
    let first = "article[id^='request-T-2-'] form[action$='/reject'] textarea";
    chrome.ask(&json!({ "do": "fill", "page": "ada", "at": first, "text": EVIL }));
    chrome.ask(&json!({ "do": "click", "page": "ada", "at": "article[id^='request-T-2-'] form[action$='/reject'] button" }));
    chrome.go("ada", "/tasks/T-2");
    assert!(token.code == Some(0) || token.code == Some(2), "{}", token.err);
    chrome.had_no_trouble();
}
