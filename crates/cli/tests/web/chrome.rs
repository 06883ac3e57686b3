//! A real browser: Chromium, driven through `driver.mjs`.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use acquit_testkit::need;
use serde_json::{Value, json};

/// The names that distributions give it.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// A browser with any number of people and pages.
pub(crate) struct Chrome {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    base: String,
}

impl Chrome {
    /// Starts one for the server at this port; none where the machine has no browser, which fails the test under `cargo xtask test`.
    pub(crate) fn start(port: u16) -> Option<Self> {
        let place = Path::new(env!("CARGO_TARGET_TMPDIR")).parent()?.join("runners/browser");
        let program =
            NAMES.iter().map(|name| PathBuf::from("/usr/bin").join(name)).find(|path| path.is_file());
        let found = program.filter(|_| place.join("node_modules/axe-core").is_dir());
        let program = need::or_skip(
            found,
            "Chromium and playwright-core (`cargo xtask test` installs them)",
            "a real browser",
        )?;
        let driver = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/web/driver.mjs");
        let mut command = Command::new("node");
        command.arg(driver).arg(place).arg(program).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("node starts");
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().expect("a pipe")));
        Some(Self { child, input, output, base: format!("http://127.0.0.1:{port}") })
    }

    /// Gives a command and waits for its answer.
    #[track_caller]
    pub(crate) fn ask(&mut self, command: &Value) -> Value {
        let input = self.input.as_mut().expect("it is open until the end");
        writeln!(input, "{command}").expect("the driver reads");
        let mut line = String::new();
        self.output.read_line(&mut line).expect("the driver answers");
        let answer: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{command}: {line:?}"));
        assert!(answer.get("error").is_none(), "{command}: {}", answer["error"].as_str().unwrap_or_default());
        answer["ok"].clone()
    }

    /// Opens a page for a person who comes by this link.
    #[track_caller]
    pub(crate) fn person(&mut self, page: &str, link: &str, options: Value) {
        let mut open = json!({ "do": "open", "page": page, "person": page });
        for (key, value) in options.as_object().into_iter().flatten() {
            open[key] = value.clone();
        }
        self.ask(&open);
        assert_eq!(self.ask(&json!({ "do": "go", "page": page, "url": link })), 200);
        // The page that welcomes leads to the board by itself.
        self.sees(page, "Doctor");
    }

    /// Goes to an address of the dashboard and gives the status of its answer.
    #[track_caller]
    pub(crate) fn go(&mut self, page: &str, path: &str) -> u16 {
        let url = format!("{}{path}", self.base);
        u16::try_from(self.ask(&json!({ "do": "go", "page": page, "url": url })).as_u64().expect("a status"))
            .expect("small")
    }

    /// Waits until a page shows something, without loading it again.
    #[track_caller]
    pub(crate) fn sees(&mut self, page: &str, text: &str) {
        self.ask(&json!({ "do": "sees", "page": page, "text": text }));
    }

    /// What stands on a page.
    #[track_caller]
    pub(crate) fn text(&mut self, page: &str) -> String {
        self.ask(&json!({ "do": "text", "page": page })).as_str().unwrap_or_default().to_owned()
    }

    /// Presses keys one after the other.
    #[track_caller]
    pub(crate) fn press(&mut self, page: &str, keys: &[&str]) {
        self.ask(&json!({ "do": "press", "page": page, "keys": keys }));
    }

    /// Presses Tab until the element with the focus fits, and gives it. Every element on the way shows that it has the focus.
    #[track_caller]
    pub(crate) fn tab_to(&mut self, page: &str, fits: impl Fn(&Value) -> bool) -> Value {
        for _ in 0..80 {
            self.press(page, &["Tab"]);
            let focus = self.ask(&json!({ "do": "focus", "page": page }));
            assert!(focus["tag"] == "body" || focus["ring"] == true, "no visible focus: {focus}");
            if fits(&focus) {
                return focus;
            }
        }
        panic!("the keyboard does not lead there: {}", self.text(page));
    }

    /// Fails if a page asked somebody else, ran something, or complained.
    #[track_caller]
    pub(crate) fn had_no_trouble(&mut self) {
        assert_eq!(self.ask(&json!({ "do": "trouble" })), json!([]));
    }
}

impl Drop for Chrome {
    fn drop(&mut self) {
        // The driver closes its browser when nobody can ask any more.
        drop(self.input.take());
        let _ = self.child.wait();
    }
}
