//! Mail and desktop: a real SMTP server with TLS and a login receives, a program in place of `notify-send` is called; rules of channels.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use acquit_testkit::need;
use acquit_testkit::receiver::Receiver;

use crate::common::{self, Sandbox, until};

const PASSWORD: &str = "correct-horse-battery";

/// A server that keeps each message as a file.
const SERVER: &str = r#"
import os, ssl, sys
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult
certificate, key, folder, port, password = sys.argv[1:6]
class Handler:
    async def handle_DATA(self, server, session, envelope):
        number = len(os.listdir(folder))
        with open(f"{folder}/{number}.part", "wb") as file:
            file.write(envelope.content)
        os.rename(f"{folder}/{number}.part", f"{folder}/{number}.eml")
        return "250 kept"
def login(server, session, envelope, mechanism, data):
    return AuthResult(success=getattr(data, "password", b"") == password.encode(), handled=False)
context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
context.load_cert_chain(certificate, key)
server = Controller(Handler(), hostname="127.0.0.1", port=int(port), tls_context=context,
                    require_starttls=True, authenticator=login, auth_required=True)
server.start()
print("ready", flush=True)
sys.stdin.read()
"#;

struct Mail {
    server: Child,
    port: u16,
    folder: PathBuf,
}

impl Drop for Mail {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Mail {
    /// Starts it; `None` where aiosmtpd was not installed by `cargo xtask test`.
    fn start(sandbox: &Sandbox) -> Option<Self> {
        let python = Path::new(env!("CARGO_TARGET_TMPDIR")).parent()?.join("runners/http/bin/python");
        let python = need::or_skip(
            python.is_file().then_some(python),
            "aiosmtpd below target/runners",
            "mail to a real server",
        )?;
        let (certificate, key) = acquit_testkit::tls::files(&sandbox.place(""));
        let folder = sandbox.place("mail");
        std::fs::create_dir(&folder).unwrap();
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut server = Command::new(python)
            .args(["-c", SERVER])
            .args([&certificate, &key, &folder])
            .args([&port.to_string(), PASSWORD])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line.trim(), "ready");
        Some(Self { server, port, folder })
    }

    /// The newest message, once there are so many.
    fn message(&self, count: usize) -> String {
        let path = self.folder.join(format!("{}.eml", count - 1));
        until("the mail arrives", || std::fs::read_to_string(&path).ok())
    }
}

fn config(sandbox: &Sandbox, port: u16) -> String {
    let ca = acquit_testkit::tls::authority(&sandbox.place(""));
    format!(
        "{}[secrets]\nSMTP = {{ env = \"SMTP\" }}\n[notify.mail]\nkind = \"email\"\nserver = \"127.0.0.1:{port}\"\nca = \"{}\"\n\
         from = \"acquit@example.com\"\nto = [\"ann@example.com\", \"bob@example.com\"]\nuser = \"acquit\"\npassword = \"SMTP\"\n",
        common::SCRIPTED,
        ca.display()
    )
}

/// The lines of base64 in a message.
fn decoded(text: &str) -> String {
    use base64::Engine as _;
    let joined: String = text.split_whitespace().collect();
    let bytes = base64::engine::general_purpose::STANDARD.decode(joined).unwrap();
    String::from_utf8(bytes).unwrap()
}

const ASKS: &str =
    "[[code]]\nstep = [{ outcome = \"needs_input\", payload = { question = \"Which colour?\" } }]\n";

#[test]
fn a_real_mail_server_receives_a_question_with_a_link_to_it() {
    let sandbox = Sandbox::scripted(common::CODE, ASKS).with("SMTP", PASSWORD);
    let Some(mail) = Mail::start(&sandbox) else { return };
    sandbox.repo.write(".acquit/acquit.toml", &config(&sandbox, mail.port));
    sandbox.repo.commit("mail");
    let tested = sandbox.acquit(&["notify", "test"]).must(0);
    assert_eq!(tested.out.trim(), "sent mail");
    let message = mail.message(1);
    assert!(
        message.contains("From: <acquit@example.com>") && message.contains("<bob@example.com>"),
        "{message}"
    );
    assert!(
        message.contains("Message-ID: <") && message.contains("Auto-Submitted: auto-generated"),
        "{message}"
    );
    assert!(decoded(message.split("\r\n\r\n").nth(1).unwrap()).contains("This channel works."));

    let served = sandbox.start(&["serve", "--listen", "127.0.0.1:0"]);
    until("the dashboard is served", || served.err().contains("dashboard: http").then_some(()));
    sandbox.acquit(&["task", "add", "Paint\u{e4} it\r\nBcc: eve@example.com"]).must(0);
    let message = mail.message(2);
    let (head, body) = message.split_once("\r\n\r\n").unwrap();
    assert!(!head.lines().any(|line| line.starts_with("Bcc")), "{head}");
    let body = decoded(body);
    let address = std::fs::read_to_string(sandbox.place("acquit/web/address")).unwrap();
    assert!(body.contains("Which colour?"), "{body}");
    assert!(body.contains(&format!("{}/inbox#request-T-1-1", address.trim())), "{body}");
}

#[test]
fn a_wrong_password_or_certificate_sends_nothing_and_is_told_without_the_password() {
    let sandbox = Sandbox::scripted(common::CODE, ASKS).with("SMTP", "another-secret-word");
    let Some(mail) = Mail::start(&sandbox) else { return };
    let config = config(&sandbox, mail.port);
    sandbox.repo.write(".acquit/acquit.toml", &config);
    sandbox.repo.commit("mail");
    let refused = sandbox.acquit(&["notify", "test", "mail"]).must(1);
    assert!(refused.out.contains("not sent mail") && refused.out.contains("535"), "{}", refused.out);
    assert!(!format!("{}{}", refused.out, refused.err).contains("another-secret-word"));
    // A server whose certificate nobody vouches for hears no password.
    let line = config.lines().find(|line| line.starts_with("ca = ")).unwrap();
    sandbox.repo.write(".acquit/acquit.toml", &config.replace(&format!("{line}\n"), ""));
    let refused = sandbox.acquit(&["notify", "test", "mail"]).must(1);
    assert!(refused.out.to_lowercase().contains("certificate"), "{}", refused.out);
    sandbox.acquit(&["notify", "test", "nothing"]).must(2).said("there are: mail");
    assert_eq!(std::fs::read_dir(&mail.folder).unwrap().count(), 0);
}

#[test]
fn the_desktop_is_told_by_the_program_that_every_desktop_has() {
    let sandbox = Sandbox::scripted(common::CODE, ASKS);
    let (bin, log) = (sandbox.place("bin"), sandbox.place("notified"));
    std::fs::create_dir_all(&bin).unwrap();
    let script =
        format!("#!/bin/sh\nfor word in \"$@\"; do printf '%s\\n' \"$word\"; done > {}\n", log.display());
    let program = bin.join("notify-send");
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let sandbox = sandbox.with("PATH", path);
    sandbox
        .repo
        .write(".acquit/acquit.toml", &format!("{}[notify.screen]\nkind = \"desktop\"\n", common::SCRIPTED));
    sandbox.repo.commit("desktop");
    assert_eq!(sandbox.acquit(&["notify", "test"]).must(0).out.trim(), "sent screen");
    let words = std::fs::read_to_string(&log).unwrap();
    assert!(words.contains("--app-name=acquit") && words.contains("acquit: test message"), "{words}");
}

#[test]
fn a_channel_is_told_only_of_what_its_rules_want() {
    let server = Receiver::start(|_, _| (200, "{}".to_owned()));
    let sandbox = Sandbox::scripted(common::CODE, ASKS);
    let channel = |name: &str, rule: &str| {
        format!("[notify.{name}]\nkind = \"ntfy\"\nurl = \"{}\"\ntopic = \"{name}\"\n{rule}\n", server.url)
    };
    let now = jiff::Zoned::now();
    let hour =
        |hours: i64| now.checked_add(jiff::Span::new().hours(hours)).unwrap().strftime("%H:00").to_string();
    let own = sandbox.repo.path().file_name().unwrap().to_string_lossy().into_owned();
    let config = [
        channel("all", ""),
        channel("own", &format!("projects = [\"{own}\"]")),
        channel("other", "projects = [\"other\"]"),
        channel("warned", "level = \"warning\""),
        channel("broken", "level = \"error\""),
        channel("later", &format!("hours = \"{}-{}\"", hour(3), hour(4))),
    ];
    sandbox.repo.write(".acquit/acquit.toml", &format!("{}{}", common::SCRIPTED, config.concat()));
    sandbox.repo.commit("channels");
    let served = sandbox.start(&["serve", "--no-web"]);
    until("the daemon has begun", || served.err().contains("looks after").then_some(()));
    sandbox.acquit(&["task", "add", "Paint it"]).must(0);
    let topics = || -> Vec<String> {
        let mut topics: Vec<String> = server
            .received()
            .iter()
            .map(|request| request.json()["topic"].as_str().unwrap_or_default().to_owned())
            .collect();
        topics.sort();
        topics
    };
    until("they are told", || (topics().len() >= 3).then_some(()));
    assert_eq!(topics(), ["all", "own", "warned"]);
    // The message for other hours waits.
    let store = rusqlite::Connection::open(sandbox.place("acquit/acquit.db")).unwrap();
    let waits: i64 = store
        .query_row(
            "select count(*) from outbox where state = 'waiting' and channel = 'notify.later'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(waits, 1);
}
