//! Notices and reports: to ntfy, to a signed webhook, to a page; again after a failure, once after a kill, without a secret in any word.

use std::sync::Mutex;

use acquit_run::notify::verify;
use acquit_testkit::receiver::Receiver;
use rustix::process::Signal;
use serde_json::json;

use crate::common::suggestions::follow_to;
use crate::common::{read, until};
use crate::{FINDS, due, today};

const KEY: &str = "a-very-secret-signing-key";
const TOKEN: &str = "tk_very_secret_token_1";

fn config(url: &str) -> String {
    today("category = \"tests\"")
        + &format!(
            "[secrets]\nHOOK_KEY = {{ env = \"HOOK_KEY\" }}\nNTFY_TOKEN = {{ env = \"NTFY_TOKEN\" }}\n\
             [notify.hook]\nkind = \"webhook\"\nurl = \"{url}/hook\"\nsecret = \"HOOK_KEY\"\n\
             [notify.phone]\nkind = \"ntfy\"\nurl = \"{url}\"\ntopic = \"nights\"\ntoken = \"NTFY_TOKEN\"\n"
        )
}

fn make_waiting_letters_due(sandbox: &crate::common::Sandbox) {
    let store = rusqlite::Connection::open(sandbox.place("acquit/acquit.db")).unwrap();
    store.execute("update outbox set due = 0, lease_until = null where state = 'waiting'", []).unwrap();
}

/// SPEC §8 [N]: "A report to ntfy".
#[test]
fn the_morning_report_reaches_ntfy_and_a_signed_webhook() {
    let server = Receiver::start(|_, _| (200, "{}".to_owned()));
    let sandbox = due(&config(&server.url), FINDS).with("HOOK_KEY", KEY).with("NTFY_TOKEN", TOKEN);
    let ran = sandbox.acquit(&["serve", "--once"]).must(0);
    let all = server.received();
    let hook = all.iter().find(|request| request.path == "/hook").unwrap();
    let (id, at) = (hook.header("acquit-id"), hook.header("acquit-timestamp").parse::<i64>().unwrap());
    let signature = hook.header("acquit-signature");
    assert_eq!(verify(KEY.as_bytes(), id, at, &hook.body, signature, at), Ok(()));
    assert!(verify(b"another key", id, at, &hook.body, signature, at).is_err());
    assert!(id.starts_with("night/night/"), "{id}");
    assert_eq!(hook.json()["event"], "report");
    let phone = all.iter().find(|request| request.path == "/").unwrap();
    assert_eq!(phone.header("authorization"), format!("Bearer {TOKEN}"));
    assert_eq!(phone.header("x-sequence-id").len(), 32);
    let message = phone.json();
    assert_eq!((&message["topic"], &message["markdown"]), (&json!("nights"), &json!(true)));
    assert!(message["message"].as_str().unwrap().contains("- Category: tests"), "{message}");
    assert!(message["title"].as_str().unwrap().contains("1 change proposed"), "{message}");
    assert!(!format!("{}{}", ran.out, ran.err).contains("secret"), "{}", ran.err);
}

/// The address of an incoming webhook is its secret, and text of others mentions nobody.
#[test]
fn chat_services_get_the_report_in_their_own_form_and_their_addresses_stay_secret() {
    let server = Receiver::start(|request, _| match request.path.as_str() {
        "/teams/T0k3n" => (503, "no".to_owned()),
        _ => (200, "ok".to_owned()),
    });
    let mut config = today("category = \"tests\"") + "[secrets]\n";
    for kind in ["slack", "discord", "teams"] {
        config.push_str(&format!("{0} = {{ env = \"{0}\" }}\n", format!("{kind}_hook").to_uppercase()));
    }
    for kind in ["slack", "discord", "teams"] {
        let secret = format!("{kind}_hook").to_uppercase();
        config.push_str(&format!("[notify.{kind}]\nkind = \"{kind}\"\nsecret = \"{secret}\"\n"));
    }
    let address = |kind: &str| format!("{}/{kind}/T0k3n", server.url);
    let sandbox = due(&config, FINDS)
        .with("SLACK_HOOK", address("slack"))
        .with("DISCORD_HOOK", address("discord"))
        .with("TEAMS_HOOK", address("teams"));
    let ran = sandbox.acquit(&["serve", "--once"]).must(0);
    let all = server.received();
    let body = |kind: &str| {
        let path = format!("/{kind}/T0k3n");
        all.iter().find(|request| request.path == path).unwrap_or_else(|| panic!("{kind}")).json()
    };
    let slack = body("slack");
    let text = slack["blocks"][0]["text"]["text"].as_str().unwrap();
    assert!(text.contains("1 change proposed") && text.contains("Category: tests"), "{text}");
    let discord = body("discord");
    assert_eq!(discord["allowed_mentions"], json!({ "parse": [] }));
    assert!(discord["embeds"][0]["title"].as_str().unwrap().contains("1 change proposed"), "{discord}");
    let card = &body("teams")["attachments"][0];
    assert_eq!(card["contentType"], "application/vnd.microsoft.card.adaptive");
    assert!(card["content"]["body"][1]["text"].as_str().unwrap().contains("Category: tests"), "{card}");
    ran.said("the server answered 503");
    let store = std::fs::read(sandbox.place("acquit/acquit.db")).unwrap();
    assert!(!format!("{}{}", ran.out, ran.err).contains("T0k3n"), "{}", ran.err);
    assert!(!store.windows(5).any(|window| window == b"T0k3n"), "in the store");
}

/// SPEC §6: "failures to deliver are retried and never disturb a leg".
#[test]
fn a_server_in_trouble_is_asked_again_and_no_secret_is_in_what_is_said_of_it() {
    let server = Receiver::start(|request, _| match request.path.as_str() {
        "/hook" => (503, format!("no {KEY} no {TOKEN}")),
        _ => (200, String::new()),
    });
    let sandbox = due(&config(&server.url), FINDS).with("HOOK_KEY", KEY).with("NTFY_TOKEN", TOKEN);
    let ran = sandbox.acquit(&["serve", "--once"]).must(0);
    assert_eq!(sandbox.task().state.word(), "done");
    ran.said("the server answered 503");
    ran.said("again in 10s");
    let store = std::fs::read(sandbox.place("acquit/acquit.db")).unwrap();
    for secret in [KEY, TOKEN] {
        assert!(!format!("{}{}", ran.out, ran.err).contains(secret), "{}", ran.err);
        assert!(!store.windows(secret.len()).any(|window| window == secret.as_bytes()), "in the store");
    }
    let before = server.received().iter().filter(|request| request.path == "/hook").count();
    make_waiting_letters_due(&sandbox);
    sandbox.acquit(&["serve", "--once"]).must(0).said("again in 20s");
    assert_eq!(server.received().iter().filter(|request| request.path == "/hook").count(), before + 1);
}

#[test]
fn a_report_wakes_nobody_up_before_the_hour_that_was_set() {
    let server = Receiver::start(|_, _| (200, String::new()));
    let hour = jiff::Zoned::now().with_time_zone(jiff::tz::TimeZone::UTC) + jiff::Span::new().hours(3);
    let at = hour.strftime("%H:00").to_string();
    let config = config(&server.url) + &format!("[report]\nfile = \"../night.md\"\nat = \"{at}\"\n");
    let sandbox = due(&config, FINDS).with("HOOK_KEY", KEY).with("NTFY_TOKEN", TOKEN);
    let daemon = sandbox.start(&["serve"]);
    until("the file, which wakes nobody", || (!read(&sandbox.place("night.md")).is_empty()).then_some(()));
    let waiting = || {
        let store = rusqlite::Connection::open(sandbox.place("acquit/acquit.db")).unwrap();
        let sql = "select count(*), min(due) from outbox where state = 'waiting'";
        store.query_row(sql, [], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Option<i64>>(1)?))).unwrap()
    };
    let (_, due) = until("that the file's is off", || Some(waiting()).filter(|(count, _)| *count == 2));
    assert!(server.received().is_empty());
    let due = jiff::Timestamp::from_millisecond(due.unwrap()).unwrap().to_zoned(jiff::tz::TimeZone::UTC);
    assert_eq!(due.strftime("%H:%M").to_string(), at);
    make_waiting_letters_due(&sandbox);
    until("both messages", || (server.received().len() == 2).then_some(()));
    daemon.signal(Signal::TERM);
    daemon.wait().must(0);
}

#[test]
fn a_message_whose_sender_was_killed_is_sent_again_under_the_same_id() {
    // The first one is taken and never answered: its sender is killed meanwhile.
    let server = Receiver::start(|request, before| {
        if request.path == "/hook" && before == 0 {
            std::thread::sleep(std::time::Duration::from_secs(3));
            return (0, String::new());
        }
        (200, String::new())
    });
    let only_hook = config(&server.url).split("[notify.phone]").next().unwrap().to_owned();
    let sandbox = due(&only_hook, FINDS).with("HOOK_KEY", KEY).with("NTFY_TOKEN", TOKEN);
    let daemon = sandbox.start(&["serve"]);
    until("the message", || (!server.received().is_empty()).then_some(()));
    daemon.signal(Signal::KILL);
    drop(daemon);
    make_waiting_letters_due(&sandbox);
    sandbox.acquit(&["serve", "--once"]).must(0);
    sandbox.acquit(&["serve", "--once"]).must(0);
    let first = server.received()[0].header("acquit-id").to_owned();
    let same = server.received().iter().filter(|request| request.header("acquit-id") == first).count();
    assert_eq!(same, 2, "once more, and then never again");
}

#[test]
fn a_task_that_needs_a_person_is_told_once_and_what_happened_before_is_not_news() {
    let server = Receiver::start(|_, _| (200, String::new()));
    let asks =
        "[[analyze]]\nstep = [ { outcome = \"needs_input\", payload = { question = \"Which one?\" } } ]\n";
    let quiet = config(&server.url).replace(crate::minute(), crate::SOME_DAY);
    let sandbox = due(&quiet, asks).with("HOOK_KEY", KEY).with("NTFY_TOKEN", TOKEN);
    sandbox.acquit(&["run", "Old news"]).must(3);
    sandbox.acquit(&["serve", "--once"]).must(0);
    assert!(server.received().is_empty());
    sandbox.acquit(&["run", "Do it"]).must(3);
    for _ in 0..2 {
        sandbox.acquit(&["serve", "--once"]).must(0);
    }
    let told: Vec<_> = server.received().into_iter().filter(|request| request.path == "/hook").collect();
    assert_eq!(told.len(), 1);
    let notice = told[0].json();
    assert_eq!((&notice["event"], &notice["task"]), (&json!("needs_person"), &json!("T-2")));
    assert!(
        notice["text"].as_str().unwrap().contains("Which one?")
            && notice["text"].as_str().unwrap().contains("acquit answer T-2")
    );
}

/// What a message says about an approval is what an approval takes.
#[test]
fn the_commands_of_a_message_work() {
    const CONSENT: &str = "[stages.code]\nmode = \"implement\"\non = { pr_ready = \"deliver\" }\n\
        [stages.deliver]\nkind = \"action\"\naction = \"squash\"\nirreversible = true\non = { done = \"done\" }\n";
    let server = Receiver::start(|_, _| (200, String::new()));
    let script = "[[code]]\nstep = [ { write = \"work.txt\", content = \"w\" }, { outcome = \"pr_ready\", payload = { summary = \"s\" } } ]\n";
    let config = format!(
        "{}[secrets]\nHOOK_KEY = {{ env = \"HOOK_KEY\" }}\n[notify.hook]\nkind = \"webhook\"\nurl = \"{}/hook\"\nsecret = \"HOOK_KEY\"\n",
        crate::common::SCRIPTED,
        server.url
    );
    let sandbox = crate::common::Sandbox::new(&config, CONSENT, script).with("HOOK_KEY", KEY);
    sandbox.acquit(&["serve", "--once"]).must(0);
    for (number, verb) in [(1, "approve"), (2, "reject")] {
        let task = format!("T-{number}");
        sandbox.acquit(&["run", "Do it"]).must(3);
        let refused = sandbox.acquit(&["answer", &task]).must(2);
        refused.said(&format!("acquit {verb} {task}"));
        sandbox.acquit(&["serve", "--once"]).must(0);
        let text = server.received().last().unwrap().json()["text"].as_str().unwrap().to_owned();
        assert!(!text.contains("acquit answer"), "{text}");
        let commands: Vec<&str> = text.split('`').filter(|part| part.starts_with("acquit ")).collect();
        assert_eq!(commands.last(), Some(&"acquit inbox"), "{text}");
        let command = commands.iter().find(|command| command.contains(verb)).unwrap();
        follow_to(&sandbox, command, &[0]);
    }
}

/// Whoever is asked about a fallback sees what it is, not the title that the night began with.
#[test]
fn a_question_about_a_fallback_names_it_in_the_inbox_and_in_messages() {
    let server = Receiver::start(|_, _| (200, String::new()));
    let script = "[[analyze]]\nstep = [ { outcome = \"no_improvement\", payload = { summary = \"all is covered\" } } ]\n\
                  [[analyze]]\nstep = [ { outcome = \"needs_input\", payload = { question = \"Which one?\" } } ]\n";
    let sandbox = due(&config(&server.url), script).with("HOOK_KEY", KEY).with("NTFY_TOKEN", TOKEN);
    sandbox.acquit(&["serve", "--once"]).must(0);
    let name = "[refactoring (fallback from tests)]";
    sandbox.acquit(&["inbox"]).must(0).said(name);
    let entry = sandbox.acquit(&["inbox", "--json"]).must(0).json();
    assert!(entry[0]["title"].as_str().unwrap().ends_with(name), "{entry}");
    sandbox.acquit(&["serve", "--once"]).must(0);
    let told = server.received().into_iter().filter(|request| request.path == "/hook");
    let titles: Vec<String> = told.map(|told| told.json()["title"].as_str().unwrap().to_owned()).collect();
    assert!(titles.iter().any(|title| title.starts_with("T-1 ") && title.ends_with(name)), "{titles:?}");
}

#[test]
fn nobody_is_told_of_a_question_that_was_answered_meanwhile() {
    let server = Receiver::start(|_, before| (if before == 0 { 503 } else { 200 }, String::new()));
    let asks =
        "[[analyze]]\nstep = [ { outcome = \"needs_input\", payload = { question = \"Which one?\" } } ]\n";
    let quiet = config(&server.url).replace(crate::minute(), crate::SOME_DAY);
    let only_hook = quiet.split("[notify.phone]").next().unwrap();
    let sandbox = due(only_hook, asks).with("HOOK_KEY", KEY).with("NTFY_TOKEN", TOKEN);
    sandbox.acquit(&["serve", "--once"]).must(0);
    // Answered or cancelled before a message was made of it.
    for settle in [&["answer", "T-1", "the first"][..], &["task", "cancel", "T-2"]] {
        sandbox.acquit(&["run", "Do it"]).must(3);
        sandbox.acquit(settle).must(0);
    }
    sandbox.acquit(&["task", "cancel", "T-1"]).must(0);
    sandbox.acquit(&["serve", "--once"]).must(0);
    assert_eq!(server.received().len(), 0);
    // Cancelled while the message waited for its server.
    sandbox.acquit(&["run", "Do it"]).must(3);
    sandbox.acquit(&["serve", "--once"]).must(0).said("the server answered 503");
    sandbox.acquit(&["task", "cancel", "T-3"]).must(0);
    make_waiting_letters_due(&sandbox);
    sandbox.acquit(&["serve", "--once"]).must(0).said("nobody has to answer any more");
    assert_eq!(server.received().len(), 1);
}

/// SPEC §8 [N]: "and, where configured, to a Confluence page".
#[test]
fn a_page_of_confluence_gets_each_report_once_also_when_others_write_it_meanwhile() {
    /// The page as the server has it: version and body.
    struct Page {
        version: u64,
        body: String,
        conflicts: u32,
    }
    let page = Mutex::new(Page { version: 7, body: "<p>ours &amp; theirs</p>".to_owned(), conflicts: 2 });
    let server = Receiver::start(move |request, _| {
        let mut page = page.lock().unwrap();
        if request.header("authorization") != "Basic Ym90QGV4YW1wbGUuY29tOnRrX3Zlcnlfc2VjcmV0X3Rva2VuXzE=" {
            return (401, "{}".to_owned());
        }
        let shown = |page: &Page| {
            json!({ "id": "42", "title": "Nights", "version": { "number": page.version }, "body": { "storage": { "value": page.body } } }).to_string()
        };
        match (request.method.as_str(), request.path.as_str()) {
            ("GET", "/wiki/api/v2/pages/42?body-format=storage") => (200, shown(&page)),
            ("PUT", "/wiki/api/v2/pages/42") => {
                let sent = request.json();
                // Somebody else writes between reading and writing, twice.
                if page.conflicts > 0 {
                    page.conflicts -= 1;
                    page.version += 1;
                    page.body.push_str("<p>by a person</p>");
                }
                if sent["version"]["number"] != page.version + 1 {
                    return (409, "{\"errors\":[]}".to_owned());
                }
                page.version += 1;
                page.body = sent["body"]["value"].as_str().unwrap().to_owned();
                (200, shown(&page))
            }
            _ => (404, "{}".to_owned()),
        }
    });
    let config = today("category = \"tests\"")
        + &format!(
            "[secrets]\nWIKI = {{ env = \"WIKI\" }}\n[report.confluence]\nurl = \"{}/wiki\"\npage = \"42\"\nuser = \"bot@example.com\"\ntoken = \"WIKI\"\n",
            server.url
        );
    let sandbox = due(&config, FINDS).with("WIKI", TOKEN);
    sandbox.acquit(&["schedule", "run", "night"]).must(0);
    let puts = || server.received().into_iter().filter(|request| request.method == "PUT").collect::<Vec<_>>();
    assert_eq!(puts().len(), 3, "two were too late");
    let body = puts().pop().unwrap().json()["body"]["value"].as_str().unwrap().to_owned();
    assert!(body.starts_with("<h2>night ") && body.contains("<li>Category: tests</li>"), "{body}");
    assert!(
        body.ends_with("<p>ours &amp; theirs</p><p>by a person</p><p>by a person</p>"),
        "nobody's words are lost: {body}"
    );
    // Sent again, as after a kill, it is found there.
    let store = rusqlite::Connection::open(sandbox.place("acquit/acquit.db")).unwrap();
    store.execute("update outbox set state = 'waiting', due = 0, lease_until = null", []).unwrap();
    let quiet =
        read(&sandbox.repo.path().join(".acquit/acquit.toml")).replace(crate::minute(), crate::SOME_DAY);
    sandbox.repo.write(".acquit/acquit.toml", &quiet);
    sandbox.acquit(&["serve", "--once"]).must(0);
    assert_eq!(puts().len(), 3);
}

#[test]
fn bad_addresses_and_unknown_secrets_are_mistakes_with_a_hint() {
    let config = "[notify.a]\nkind = \"webhook\"\nurl = \"https://user:password@host\"\nsecret = \"NO\"\n\
                  [notify.b]\nkind = \"ntfy\"\ntopic = \"a b\"\nevents = [\"dnoe\"]\n";
    let sandbox =
        crate::common::Sandbox::new(&format!("{}\n{config}", crate::common::SCRIPTED), crate::SHIFT, FINDS);
    let ran = sandbox.acquit(&["workflow", "check"]).must(2);
    for words in ["this is no address", "unknown secret `NO`", "`a b` is not a topic", "unknown event `dnoe`"]
    {
        ran.said(words);
    }
}

#[test]
fn nobody_is_warned_of_what_acquit_wrote_itself() {
    let warning = "your checkout has uncommitted changes";
    let config = today("category = \"tests\"") + "[report]\nfile = \"reports/night.md\"\n";
    let sandbox = due(&config, FINDS);
    sandbox.repo.commit("all that is here");
    sandbox.acquit(&["serve", "--once"]).must(0);
    assert!(read(&sandbox.repo.path().join("reports/night.md")).contains("BRANCH_CREATED"));
    sandbox.repo.write("reports/night.md.acquit-new", "half of one\n");
    sandbox.repo.write(".acquit/instructions.md", "Be brief.\n");
    let quiet = sandbox.acquit(&["task", "add", "Next"]).must(0);
    assert!(!quiet.err.contains(warning), "{}", quiet.err);
    // Once it is part of the repository, it changes every night.
    sandbox.repo.commit("the report too");
    sandbox.repo.write("reports/night.md", "another\n");
    let quiet = sandbox.acquit(&["task", "add", "Next"]).must(0);
    assert!(!quiet.err.contains(warning), "{}", quiet.err);
    sandbox.repo.write("reports/mine.md", "mine\n");
    sandbox.acquit(&["task", "add", "Next"]).must(0).said(warning);
}

/// SPEC §1: "an *action* stage (publish, merge, notify: code, no model)".
#[test]
fn a_stage_sends_a_message_once_though_its_leg_is_killed_and_tried_again() {
    let server = Receiver::start(|_, _| (200, String::new()));
    let quiet = config(&server.url).replace(crate::minute(), crate::SOME_DAY);
    let works =
        "[[code]]\nstep = [ { write = \"work.txt\", content = \"x\" }, { outcome = \"pr_ready\" } ]\n";
    let flow = "[budgets]\nlost = 9\n[stages.code]\nmode = \"implement\"\non = { pr_ready = \"tell\" }\n\
        [stages.tell]\nkind = \"action\"\naction = \"notify\"\nmessage = \"{{ title }} is on {{ branch }}\"\n\
        channels = [\"hook\"]\non = { done = \"done\" }\n";
    let sandbox = due(&quiet, works).with("HOOK_KEY", KEY).with("NTFY_TOKEN", TOKEN);
    sandbox.repo.write(".acquit/workflows/tells.toml", flow);
    sandbox.acquit(&["serve", "--once"]).must(0);
    let marker = sandbox.place("marker");
    let sandbox = sandbox.with("ACQUIT_FAULT", format!("artifacts:2:{}", marker.display()));
    sandbox.acquit(&["run", "-w", "tells", "Write it down"]);
    assert!(marker.exists(), "the leg that tells was killed before its handoff");
    if sandbox.task().state.word() != "done" {
        sandbox.acquit(&["run", "T-1"]).must(0);
    }
    for _ in 0..2 {
        sandbox.acquit(&["serve", "--once"]).must(0);
    }
    // Only the channel that is named, also though it does not want to know of tasks that are done, and once.
    let [told] = server.received().try_into().unwrap();
    assert_eq!(told.path, "/hook");
    let notice = told.json();
    assert_eq!((&notice["event"], &notice["task"]), (&json!("notify"), &json!("T-1")));
    let text = notice["text"].as_str().unwrap();
    assert!(text.contains("Write it down is on acquit/write-it-down-T-1"), "{text}");

    let lacks = |from: &str, to: &str| {
        sandbox.repo.write(".acquit/workflows/tells.toml", &flow.replace(from, to));
        sandbox.acquit(&["workflow", "check", "tells"]).must(2)
    };
    lacks("\"hook\"", "\"hok\"").said("unknown channel `hok`");
    lacks("message =", "words =").said("message");
    lacks("channels = [\"hook\"]", "gates = [\"x\"]").said("a message needs no gates");
    lacks("action = \"notify\"", "action = \"squash\"")
        .said("only a stage with action = \"notify\" sends a message");
}
