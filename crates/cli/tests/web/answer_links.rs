//! Questions on a phone: a real ntfy server gets them with links that answer, and is told when somebody has.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use acquit_core::task::State;
use acquit_testkit::need;
use serde_json::Value;

use crate::browser::{Browser, Served, free_port};
use crate::common::{self, Sandbox, until};

/// A real ntfy server.
struct Ntfy {
    server: Child,
    port: u16,
}

impl Drop for Ntfy {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Ntfy {
    /// Starts it; `None` where it was not fetched by `cargo xtask test`.
    fn start(sandbox: &Sandbox) -> Option<Self> {
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).parent()?.join("runners/ntfy/usr/bin/ntfy");
        let program =
            need::or_skip(program.is_file().then_some(program), "ntfy below target/runners", "a phone")?;
        let (port, config) = (free_port(), sandbox.place("ntfy.yml"));
        let cache = sandbox.place("ntfy.db");
        let text = format!(
            "base-url: http://127.0.0.1:{port}\nlisten-http: 127.0.0.1:{port}\ncache-file: {}\n\
             visitor-request-limit-exempt-hosts: 127.0.0.1\n",
            cache.display()
        );
        std::fs::write(&config, text).unwrap();
        let server = Command::new(program)
            .args(["serve", "--config"])
            .arg(&config)
            .env_clear()
            .env("HOME", sandbox.place(""))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let ntfy = Self { server, port };
        until("ntfy listens", || std::net::TcpStream::connect(("127.0.0.1", port)).ok());
        Some(ntfy)
    }

    /// What a phone has that joins now.
    fn messages(&self) -> Vec<Value> {
        let page = Browser::new(self.port).get("/nights/json?poll=1&since=all");
        // Lines that are no objects are the lengths of chunks.
        let all = page.body.lines().filter_map(|line| serde_json::from_str(line).ok());
        all.filter(Value::is_object).collect()
    }
}

fn config(port: u16) -> String {
    format!(
        "{}[notify.phone]\nkind = \"ntfy\"\nurl = \"http://127.0.0.1:{port}\"\ntopic = \"nights\"\nanswer_links = true\n",
        common::SCRIPTED
    )
}

const ASKS: &str = r#"
[[code]]
step = [ { outcome = "needs_input", payload = { questions = [ { question = "Which colour?", options = ["red", "blue", "green"] } ] } } ]
[[code]]
step = [ { write = "work.txt", content = "work\n" }, { outcome = "pr_ready", payload = { summary = "written" } } ]
"#;

#[test]
fn a_real_ntfy_server_gets_a_question_whose_link_answers_once_and_is_told_that_somebody_did() {
    let sandbox = Sandbox::scripted(common::CODE, ASKS);
    let Some(ntfy) = Ntfy::start(&sandbox) else { return };
    sandbox.repo.write(".acquit/acquit.toml", &config(ntfy.port));
    sandbox.repo.commit("a phone");
    let served = Served::start(&sandbox, &["--workers", "1"]);
    sandbox.acquit(&["task", "add", "Paint it"]).must(0);
    let asked = until("the phone is told", || ntfy.messages().into_iter().next());
    assert_eq!(
        (&asked["title"], &asked["priority"]),
        (&"T-1 needs you: Paint it".into(), &4.into()),
        "{asked}"
    );
    assert!(asked["message"].as_str().unwrap().contains("Which colour?"), "{asked}");
    let address = format!("http://127.0.0.1:{}", served.port());
    assert_eq!(asked["click"], format!("{address}/inbox#request-T-1-1"), "{asked}");
    let buttons: Vec<(&str, &str)> = asked["actions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|action| (action["label"].as_str().unwrap(), action["url"].as_str().unwrap()))
        .collect();
    assert_eq!(buttons.iter().map(|(label, _)| *label).collect::<Vec<_>>(), ["red", "blue", "other"]);
    let link = buttons[1].1.trim_start_matches(&address);
    let ticket = link.trim_start_matches("/answer/").split('?').next().unwrap();
    let store = std::fs::read(sandbox.place("acquit/acquit.db")).unwrap();
    let secret = ticket.rsplit('.').next().unwrap().as_bytes();
    assert!(!store.windows(secret.len()).any(|window| window == secret), "the link is in the store");

    // Opening the link shows the question and answers nothing, however often; and it opens nothing else.
    let phone = Browser::new(served.port());
    let page = phone.get(link);
    assert_eq!(phone.get(link).status, 200, "{}", page.body);
    assert!(page.body.contains("Which colour?") && page.body.contains("Confirm: blue"), "{}", page.body);
    assert!(!page.body.contains("<script"), "{}", page.body);
    assert_eq!(phone.get("/inbox").status, 401);
    assert!(matches!(sandbox.task().state, State::Waiting { .. }));
    let own = [("Origin", address.as_str())];
    let action = |verb: &str| format!("/answer/{ticket}/{verb}");
    for (path, headers, status) in [
        (action("answer"), &[][..], 403),
        (action("answer"), &[("Origin", "http://evil.example")][..], 403),
        (action("cancel"), &own[..], 400),
        (action("retry"), &own[..], 400),
        (action("answer").replace("T-1.1.", "T-1.2."), &own[..], 403),
        (action("answer").replace("phone", "other"), &own[..], 403),
    ] {
        let given = phone.post(&path, headers, "request=1&questions=1&choice-1=blue");
        assert_eq!(given.status, status, "{path}: {}", given.body);
    }
    let other = phone.post(&action("answer"), &own, "request=2&questions=1&choice-1=blue");
    assert_eq!(other.status, 400, "another request than the link's: {}", other.body);
    assert!(matches!(sandbox.task().state, State::Waiting { .. }));

    // A form without an answer comes back, says why, and can be sent again.
    let empty = phone.post(&action("answer"), &own, "request=1&questions=1&words-1=+");
    assert_eq!(empty.status, 400, "{}", empty.body);
    for shown in [
        "Nothing was sent",
        "Nothing was written or chosen",
        "Which colour?",
        "value=\"green\"",
        &action("answer"),
    ] {
        assert!(empty.body.contains(shown), "lacks {shown}: {}", empty.body);
    }

    let given = phone.submit(&page, &action("answer"), &[]);
    assert!(given.status == 200 && given.body.contains("Answered"), "{}", given.body);
    let again = phone.submit(&page, &action("answer"), &[]);
    assert!(again.status == 409 && again.body.contains("link sent to phone"), "{}", again.body);
    let late = phone.get(link);
    assert_eq!(late.status, 409);
    // Who answered, and not what: an answer may be a password.
    for page in [&again, &late] {
        assert!(page.body.contains("answered this request of T-1"), "{}", page.body);
        assert!(!page.body.contains("blue"), "{}", page.body);
    }
    let audit = std::fs::read_to_string(sandbox.place("acquit/web/audit.jsonl")).unwrap();
    assert!(audit.contains("link sent to phone") && !audit.contains(ticket), "{audit}");

    // The same message says so, without a sound.
    let told = until("the phone is told", || ntfy.messages().into_iter().nth(1));
    assert_eq!((&told["sequence_id"], &told["priority"]), (&asked["sequence_id"], &1.into()), "{told}");
    assert_eq!(told["title"], "T-1 answered: Paint it", "{told}");
    // Not what: an answer may be a password.
    assert!(told["message"].as_str().unwrap().ends_with("link sent to phone answered"), "{told}");
    assert!(told.get("actions").is_none(), "{told}");
}
