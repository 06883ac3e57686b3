//! `prove` as a Model Context Protocol tool, for any client.
//!
//! A judgement can take minutes, but clients time out a call after one (Codex: 60 s). So each judgement runs as a
//! separate process, and a call waits for at most [`PATIENCE`]. Then it returns an id, and the tool `prove_result`
//! continues to wait. Other messages are answered meanwhile. When the client disconnects, its judgements are cancelled.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use acquit_core::json_schema::mistakes;
use acquit_run::mcp::hello;
use acquit_run::process::Detached;
use acquit_run::rpc::{
    INVALID_PARAMS, INVALID_REQUEST, Lines, METHOD_NOT_FOUND, PARSE_ERROR, Piece, error, result,
};
use serde_json::{Value, json};

use crate::app::App;
use crate::error::Error;
use crate::scratch_dir::Folder;

/// Maximum time that a call waits for a judgement.
pub const PATIENCE: Duration = Duration::from_secs(45);

/// Poll interval for the end of a judgement.
const TICK: Duration = Duration::from_millis(100);

/// Interval of progress messages to a client that asked for them.
const PROGRESS: Duration = Duration::from_secs(2);

/// Time for cancelled judgements to clean up after the client disconnects.
const GRACE: Duration = Duration::from_secs(20);

/// Maximum number of concurrent judgements.
const MOST: usize = 4;

/// Number of bytes at the end of a log to search for its last line.
const TAIL: usize = 4096;

const INSTRUCTIONS: &str = "Call `prove` before you say that a change is done: it builds and tests the change and its base in a sandbox \
and says which claims hold. Nothing in the checkout is changed. If it answers that it is still running, call `prove_result` with the id.";

/// Serves the tools until the client closes its side. The reader thread ends with the process.
pub fn serve(
    app: &App,
    input: impl Read + Send + 'static,
    out: &mut dyn Write,
    patience: Duration,
) -> Result<(), Error> {
    let folder = Folder::new(&app.runtime.home.join("mcp"))?;
    let messages = messages(input);
    let mut server = Server { app, folder, patience, jobs: BTreeMap::new(), waiting: Vec::new(), next: 1 };
    loop {
        let message = if server.waiting.is_empty() {
            messages.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            messages.recv_timeout(TICK)
        };
        let mut replies = match message {
            Ok(message) => server.take(message),
            Err(RecvTimeoutError::Timeout) => Vec::new(),
            Err(RecvTimeoutError::Disconnected) => break,
        };
        replies.extend(server.look());
        for reply in replies {
            // The client has disconnected.
            if writeln!(out, "{reply}").and_then(|()| out.flush()).is_err() {
                server.end();
                return Ok(());
            }
        }
    }
    server.end();
    Ok(())
}

/// A message, or the error reply for an invalid one.
type Message = Result<Value, Value>;

/// Reads messages in a separate thread, one per line.
fn messages(mut input: impl Read + Send + 'static) -> Receiver<Message> {
    let (send, receive) = channel();
    std::thread::spawn(move || {
        let mut lines = Lines::default();
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let count = input.read(&mut buffer).unwrap_or(0);
            let mut gone = false;
            let mut each = |piece: Piece<'_>| {
                let message = match piece {
                    Piece::Line(line) if line.iter().all(u8::is_ascii_whitespace) => return,
                    Piece::Line(line) => serde_json::from_slice(line)
                        .map_err(|why| error(&Value::Null, PARSE_ERROR, &format!("not JSON: {why}"))),
                    Piece::TooLong => Err(error(&Value::Null, INVALID_REQUEST, "the message is too long")),
                };
                gone |= send.send(message).is_err();
            };
            if count == 0 {
                lines.finish(&mut each);
                return;
            }
            lines.push(&buffer[..count], &mut each);
            if gone {
                return;
            }
        }
    });
    receive
}

/// A running or finished judgement.
struct Job {
    process: Detached,
    files: PathBuf,
    cancelled: bool,
}

/// A call that waits for a judgement.
struct Waiting {
    /// Id of the call.
    call: Value,
    job: u64,
    until: Instant,
    /// The client's progress token, if it wants progress messages.
    token: Option<Value>,
    told: Instant,
    steps: u64,
}

struct Server<'a> {
    app: &'a App,
    folder: Folder,
    patience: Duration,
    jobs: BTreeMap<u64, Job>,
    waiting: Vec<Waiting>,
    next: u64,
}

impl Server<'_> {
    /// Handles a message. Returns the immediate replies.
    fn take(&mut self, message: Message) -> Vec<Value> {
        let message = match message {
            Ok(message) => message,
            Err(reply) => return vec![reply],
        };
        let method = message.get("method").and_then(Value::as_str).unwrap_or_default();
        let params = message.get("params").unwrap_or(&Value::Null);
        let Some(id) = message.get("id").filter(|id| id.is_string() || id.is_number()) else {
            if method == "notifications/cancelled" {
                self.cancel(&params["requestId"]);
            }
            return Vec::new();
        };
        match method {
            "initialize" => vec![result(id, hello(params, INSTRUCTIONS))],
            "ping" => vec![result(id, json!({}))],
            "tools/list" => vec![result(id, json!({ "tools": [prove_tool(), result_tool()] }))],
            "tools/call" => self.call(id, params).into_iter().collect(),
            // Ignore a reply to a request that was never sent.
            "" if message.get("result").is_some() || message.get("error").is_some() => Vec::new(),
            _ => {
                let words = format!("there is no method `{}`", acquit_core::agent::shorten(method, 100));
                vec![error(id, METHOD_NOT_FOUND, &words)]
            }
        }
    }

    /// Calls a tool. Returns invalid arguments as a result rather than an error, because the model must see them.
    fn call(&mut self, id: &Value, params: &Value) -> Option<Value> {
        let none = json!({});
        let arguments = params.get("arguments").filter(|value| !value.is_null()).unwrap_or(&none);
        let (tool, is_result) = match params.get("name").and_then(Value::as_str) {
            Some("prove") => (prove_tool(), false),
            Some("prove_result") => (result_tool(), true),
            _ => return Some(error(id, INVALID_PARAMS, "the tools are `prove` and `prove_result`")),
        };
        let wrong = mistakes(&tool["inputSchema"], arguments);
        if !wrong.is_empty() {
            return Some(said(id, &wrong.join("\n"), true, &json!({ "status": "refused" })));
        }
        let job = if is_result {
            let known = arguments["id"].as_str().and_then(|id| id.parse().ok());
            known
                .filter(|job| self.jobs.contains_key(job))
                .ok_or("there is no judgement of that id".to_owned())
        } else {
            self.start(arguments)
        };
        let job = match job {
            Ok(job) => job,
            Err(words) => return Some(said(id, &words, true, &json!({ "status": "refused" }))),
        };
        let token = params.pointer("/_meta/progressToken").filter(|it| it.is_string() || it.is_number());
        let now = Instant::now();
        let (until, token) = (now + self.patience, token.cloned());
        self.waiting.push(Waiting { call: id.clone(), job, until, token, told: now, steps: 0 });
        None
    }

    /// Starts a judgement.
    fn start(&mut self, arguments: &Value) -> Result<u64, String> {
        let running =
            self.jobs.values_mut().filter_map(|job| job.process.has_ended().ok()).filter(|over| !over);
        if running.count() >= MOST {
            return Err(format!("{MOST} judgements are running already: wait for one with `prove_result`"));
        }
        let job = self.next;
        let files = self.folder.path.join(job.to_string());
        let unmade = |why: &dyn std::fmt::Display| format!("the judgement could not be started: {why}");
        fs::create_dir_all(&files).map_err(|why| unmade(&why))?;
        let words = words(arguments, &files);
        let args: Vec<_> = words.iter().map(Into::into).collect();
        let environment = self.app.harness_environment();
        let process = self.app.runtime.spawner.detach(&args, environment, &files.join("log"));
        let process = process.map_err(|why| unmade(&why))?;
        self.next += 1;
        self.jobs.insert(job, Job { process, files, cancelled: false });
        Ok(job)
    }

    /// Returns replies and progress for the waiting calls.
    fn look(&mut self) -> Vec<Value> {
        let mut replies = Vec::new();
        let now = Instant::now();
        for mut waiting in std::mem::take(&mut self.waiting) {
            let Some(job) = self.jobs.get_mut(&waiting.job) else { continue };
            if job.process.has_ended().unwrap_or(true) {
                replies.push(outcome(&waiting, job));
                continue;
            }
            let last = last_line(&job.files.join("log"));
            if now >= waiting.until {
                let words = format!(
                    "Still running: {last}\nCall `prove_result` with {{\"id\": \"{}\"}} to wait for the result.",
                    waiting.job
                );
                let state = json!({ "status": "running", "id": waiting.job.to_string() });
                replies.push(said(&waiting.call, &words, false, &state));
                continue;
            }
            if let Some(token) = waiting.token.as_ref().filter(|_| now >= waiting.told + PROGRESS) {
                waiting.steps += 1;
                let params = json!({ "progressToken": token, "progress": waiting.steps, "message": last });
                let method = "notifications/progress";
                replies.push(json!({ "jsonrpc": "2.0", "method": method, "params": params }));
                waiting.told = now;
            }
            self.waiting.push(waiting);
        }
        replies
    }

    /// Handles a cancellation by the client.
    fn cancel(&mut self, call: &Value) {
        let Some(at) = self.waiting.iter().position(|waiting| waiting.call == *call) else { return };
        let job = self.waiting.swap_remove(at).job;
        if let Some(job) = self.jobs.get_mut(&job) {
            job.cancelled = true;
            job.process.interrupt();
        }
    }

    /// Cancels all judgements, and waits until they have cleaned up.
    fn end(mut self) {
        let mut jobs: Vec<Job> = std::mem::take(&mut self.jobs).into_values().collect();
        jobs.iter_mut().for_each(|job| job.process.interrupt());
        let until = Instant::now() + GRACE;
        for mut job in jobs {
            let left = until.saturating_duration_since(Instant::now());
            if !job.process.ends_within(left).unwrap_or(false) {
                job.process.end();
            }
        }
    }
}

/// Returns the result of a finished judgement.
fn outcome(waiting: &Waiting, job: &Job) -> Value {
    let read = |name: &str| fs::read_to_string(job.files.join(name)).unwrap_or_default();
    let report: Value = serde_json::from_str(&read("report.json")).unwrap_or_default();
    let id = waiting.job.to_string();
    match report["decision"].as_str() {
        Some(decision) if report["cancelled"] != true => {
            let state = json!({ "status": "done", "id": id, "decision": decision });
            said(&waiting.call, read("report.txt").trim_end(), false, &state)
        }
        _ if job.cancelled => said(
            &waiting.call,
            "the judgement was cancelled",
            true,
            &json!({ "status": "cancelled", "id": id }),
        ),
        _ => {
            let log = read("log");
            let skip = log.chars().count().saturating_sub(TAIL);
            let tail: String = log.chars().skip(skip).collect();
            said(&waiting.call, tail.trim(), true, &json!({ "status": "failed", "id": id }))
        }
    }
}

/// Builds a tool result.
fn said(call: &Value, text: &str, is_error: bool, state: &Value) -> Value {
    let content = json!([{ "type": "text", "text": text }]);
    result(call, json!({ "content": content, "structuredContent": state, "isError": is_error }))
}

/// Returns the last non-empty line of a log.
fn last_line(log: &std::path::Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let tail = String::from_utf8_lossy(&text[text.len().saturating_sub(TAIL)..]).into_owned();
    let line = tail.lines().rev().map(str::trim).find(|line| !line.is_empty());
    acquit_core::agent::shorten(line.unwrap_or("preparing"), 200)
}

/// Builds the arguments of the process. Values from the client are never parsed as options.
fn words(arguments: &Value, files: &std::path::Path) -> Vec<String> {
    let mut words = vec!["prove".to_owned(), "--color=never".to_owned()];
    for (format, file) in [("json", "report.json"), ("text", "report.txt")] {
        words.push(format!("--format={format}={}", files.join(file).display()));
    }
    for (key, flag) in [("staged", "--staged"), ("working_tree", "--working-tree"), ("quick", "--quick")] {
        if arguments[key] == true {
            words.push(flag.to_owned());
        }
    }
    if let Some(base) = arguments["base"].as_str() {
        words.push(format!("--base={base}"));
    }
    if let Some(directory) = arguments["directory"].as_str() {
        words.push(format!("-C{directory}"));
    }
    let allowed = arguments["allow"].as_array().into_iter().flatten().filter_map(Value::as_str);
    words.extend(allowed.map(|rule| format!("--allow={rule}")));
    if let Some(change) = arguments["change"].as_str() {
        words.extend(["--".to_owned(), change.to_owned()]);
    }
    words
}

fn prove_tool() -> Value {
    let text =
        |words: &str| json!({ "type": "string", "minLength": 1, "maxLength": 4096, "description": words });
    let flag = |words: &str| json!({ "type": "boolean", "description": words });
    json!({
        "name": "prove",
        "title": "Judge a change",
        "description": "Judges a change in a sandbox: does it build, does any test fail that passed before, are its tests red without it \
            and green with it, is a test or setting weaker than before, is a secret in it. Without arguments: what the current branch has \
            over its base, with uncommitted work. Changes nothing in the checkout.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "change": text("a branch, a commit, a range such as main..topic, or the number or address of a pull request"),
                "base": text("the branch or commit to compare with"),
                "staged": flag("judge what is staged"),
                "working_tree": flag("judge uncommitted work only"),
                "quick": flag("static checks and affected tests only"),
                "allow": {
                    "type": "array", "maxItems": 50, "items": text("a rule, or rule:paths"),
                    "description": "what the user agreed to weaken, such as expectation-changed",
                },
                "directory": text("the repository; the directory that the server was started in without it"),
            },
            "additionalProperties": false,
        },
        "annotations": { "readOnlyHint": true, "openWorldHint": false },
    })
}

fn result_tool() -> Value {
    json!({
        "name": "prove_result",
        "title": "Wait for a judgement",
        "description": "Waits for the result of a judgement that `prove` started and that is still running.",
        "inputSchema": {
            "type": "object",
            "properties": { "id": { "type": "string", "description": "the id that `prove` gave" } },
            "required": ["id"],
            "additionalProperties": false,
        },
        "annotations": { "readOnlyHint": true, "openWorldHint": false },
    })
}
