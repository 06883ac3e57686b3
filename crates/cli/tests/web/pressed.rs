//! Every button of the dashboard, pressed in a real browser with and without JavaScript.

use serde_json::{Value, json};

use crate::browser::Served;
use crate::chrome::Chrome;
use crate::common::until;
use crate::office::Office;

/// A person in a browser.
struct Person<'c> {
    chrome: &'c mut Chrome,
    page: &'static str,
}

impl Person<'_> {
    fn on(&mut self, path: &str) {
        let status = self.chrome.go(self.page, path);
        assert_eq!(status, 200, "{path}: {}", self.chrome.text(self.page));
    }

    fn does(&mut self, action: &str, at: &str, text: &str) {
        self.chrome.ask(&json!({ "do": action, "page": self.page, "at": at, "text": text, "value": text }));
    }

    fn fills(&mut self, at: &str, text: &str) {
        self.does("fill", at, text);
    }

    fn clicks(&mut self, at: &str) {
        self.does("click", at, "");
    }

    fn sees(&mut self, text: &str) {
        let page = self.chrome.text(self.page);
        assert!(page.contains(text), "lacks {text}: {page}");
    }
}

/// Presses the buttons one after the other. Each has an effect in the store, or on the next page.
fn press_all(javascript: bool) {
    let office = Office::busier();
    let served = Served::start(&office.sandbox, &["--workers", "1"]);
    let Some(mut chrome) = Chrome::start(served.port()) else { return };
    chrome.person("ada", &served.link(), json!({ "javascript": javascript }));
    let mut ada = Person { chrome: &mut chrome, page: "ada" };
    let shown =
        |task: &str| office.sandbox.acquit(&["task", "show", task, "--json"]).must(0).json()["task"].clone();
    let state = |task: &str| shown(task)["state"]["type"].as_str().unwrap_or_default().to_owned();
    let said = |task: &str| shown(task)["conversation"].to_string();

    // A new task, with all that the form has.
    ada.on("/new");
    ada.fills("input[name=title]", "Pressed by hand");
    ada.fills("textarea[name=description]", "All of it");
    ada.does("choose", "select[name=workflow]", "chores");
    ada.does("choose", "select[name=agent]", "slow");
    ada.fills("input[name=tags]", "pressed");
    ada.clicks("main form button.main");
    ada.sees("Pressed by hand");
    let url = ada.chrome.ask(&json!({ "do": "url", "page": "ada" }));
    let added = url.as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    let seed = &shown(&added)["seed"];
    assert_eq!((&seed["wish"]["tags"], &seed["workflow"]), (&json!(["pressed"]), &json!("chores")), "{seed}");

    // Run it now, before its turn, and stop it.
    ada.clicks("form[action$='/run'] button");
    until("its agent works", || (state(&added) == "working").then_some(()));
    until("it can be stopped", || {
        ada.on(&format!("/tasks/{added}"));
        ada.chrome.text("ada").contains("Right now").then_some(())
    });
    ada.clicks("form[action$='/cancel'] button");
    until("it is stopped", || (state(&added) == "ended").then_some(()));

    // Retry it from a stage, with a note.
    ada.on(&format!("/tasks/{added}"));
    ada.clicks("#actions summary");
    ada.does("choose", "#actions select[name=stage]", "code");
    ada.fills("#actions textarea[name=note]", "MIND THE NOTE");
    ada.clicks("#actions form[action$='/retry'] button");
    until("it was retried", || said(&added).contains("MIND THE NOTE").then_some(()));
    ada.on(&format!("/tasks/{added}"));
    ada.sees("MIND THE NOTE");

    // Send work back with a comment on a line of its diff.
    ada.on("/tasks/T-8/diff");
    ada.clicks("tr.comment summary");
    ada.fills("tr.comment textarea", "NAME THE SOURCE");
    ada.clicks("#comments button");
    until("the agent is told", || said("T-8").contains("NAME THE SOURCE").then_some(()));

    // Reject with words, from the inbox; retry another with another agent from there.
    ada.on("/inbox");
    ada.fills("article[id^='request-T-2-'] form[action$='/reject'] textarea", "NOT LIKE THIS");
    ada.clicks("article[id^='request-T-2-'] form[action$='/reject'] button");
    until("the words were heard", || said("T-2").contains("NOT LIKE THIS").then_some(()));
    ada.on("/inbox");
    ada.clicks("article[id^='request-T-10-'] .others summary");
    ada.does("choose", "article[id^='request-T-10-'] select[name=agent]", "claude");
    ada.fills("article[id^='request-T-10-'] .others textarea", "ASK SOMEBODY ELSE");
    ada.clicks("article[id^='request-T-10-'] .others form[action$='/retry'] button");
    until("it goes on", || said("T-10").contains("ASK SOMEBODY ELSE").then_some(()));
    // Try again, and end one from its request.
    ada.on("/inbox");
    ada.clicks("article[id^='request-T-4-'] .others summary");
    ada.clicks("article[id^='request-T-4-'] .others form[action$='/cancel'] button");
    until("it is over", || (state("T-4") == "ended").then_some(()));
    ada.on("/tasks/T-9");
    let legs = shown("T-9")["legs"].as_u64();
    ada.clicks("form[action$='/approve'] button, button[formaction$='/approve']");
    until("it tried again", || (shown("T-9")["legs"].as_u64() > legs).then_some(()));

    // Schedules: run, pause, resume.
    ada.on("/nights");
    ada.clicks("form[action='/nights/night/pause'] button");
    ada.sees("paused");
    ada.clicks("form[action='/nights/night/resume'] button");
    ada.sees("The next night begins in");
    ada.clicks("form[action='/nights/night/run'] button");
    ada.sees("by hand");

    // Fetch feedback on a pull request, of a forge that nobody answers for.
    let store = rusqlite::Connection::open(office.sandbox.place("acquit/acquit.db")).unwrap();
    let body: String = store.query_row("select body from tasks where id = 1", [], |row| row.get(0)).unwrap();
    let mut task: Value = serde_json::from_str(&body).unwrap();
    let url = "https://forge.example/team/ledger/pull/7";
    let request = json!({ "type": "request", "url": url, "number": 7, "project": "team/ledger", "commit": task["tip"] });
    task["artifacts"].as_array_mut().unwrap().push(request);
    store.execute("update tasks set body = ?1 where id = 1", [task.to_string()]).unwrap();
    let event = "insert into events (task, leg, at, category, kind, level, actor, summary, data)
        select 1, 1, at, 'leg', 'notice', 'info', '{\"type\":\"supervisor\"}', 'news', '{\"event\":\"notice\",\"level\":\"info\",\"text\":\"news\"}'
        from events order by seq desc limit 1";
    store.execute(event, []).unwrap();
    ada.on("/tasks/T-1");
    // It is no link: the task was pushed nowhere, so nothing vouches for the address.
    ada.sees(url);
    let links = "document.querySelectorAll('a[href*=\"forge.example\"]').length";
    if javascript {
        assert_eq!(ada.chrome.ask(&json!({ "do": "eval", "page": "ada", "script": links })), json!(0));
    }
    ada.clicks("form[action$='/feedback'] button");
    ada.sees("That did not work");

    // The theme, then out, and in again by a token.
    ada.on("/costs");
    ada.clicks(".bar details.menu > summary");
    ada.clicks("button[name=theme][value=dark]");
    ada.clicks(".bar details.menu > summary");
    ada.clicks("form[action='/logout'] button");
    ada.sees("You are logged out.");
    let token = office.sandbox.acquit(&["token", "add", "ann", "--role", "viewer"]).must(0).out;
    ada.fills("input[name=token]", "wrong");
    ada.clicks("form[action='/login'] button");
    ada.sees("This is not the token.");
    ada.fills("input[name=token]", token.trim());
    ada.clicks("form[action='/login'] button");
    ada.chrome.sees("ada", "Doctor");
    ada.sees("logged in as ann (viewer)");
    let _ = office.sandbox.acquit(&["task", "cancel", &added]);
    chrome.had_no_trouble();
}

#[test]
fn every_button_does_what_it_says() {
    press_all(true);
}

#[test]
fn every_button_does_what_it_says_without_javascript() {
    press_all(false);
}
