//! A conversation with an agent, as a state machine: initialize, open or load a session, send the prompt, and end with
//! its answer. The input comes from an untrusted process and never causes an error or a panic.

use std::path::PathBuf;

use acquit_core::agent::{AgentEvent, Fault, shorten};
use acquit_core::time::Timestamp;
use serde_json::{Value, json};

use super::updates::Hearing;
use super::{Settings, errors, permission};
use crate::mcp::Server;
use crate::rpc::{METHOD_NOT_FOUND, error, result};

/// Protocol version.
const VERSION: u64 = 1;

/// Session modes to set if an agent has them: Codex has its own sandbox, which cannot start inside ours. Other agents
/// ask for permission and get an answer.
const MODES: [&str; 1] = ["agent-full-access"];

/// Maximum length of an invalid line to show.
const RAW_SHOWN: usize = 2_000;

/// Output of the conversation.
#[derive(Debug, Default)]
pub struct Out {
    /// Messages to the agent.
    pub messages: Vec<Value>,
    /// Events of the agent.
    pub said: Vec<AgentEvent>,
}

/// How the conversation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// The agent reports success.
    Well,
    /// It failed.
    Badly,
}

/// What the conversation waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The answer to `initialize`.
    Greeting,
    /// A session.
    Opening,
    /// The session mode.
    Mode,
    /// The end of the turn.
    Prompting,
    /// Nothing: the turn has ended.
    Over(Over),
}

/// A conversation.
pub struct Talk {
    settings: Settings,
    prompt: String,
    /// Directory where the agent may write even if it must not change the repository.
    output_dir: PathBuf,
    /// Working directory.
    cwd: String,
    state: State,
    /// Id of the pending request.
    waiting: u64,
    session: Option<String>,
    can_load: bool,
    hearing: Hearing,
    /// The clock, for times that agents give without a date.
    now: fn() -> Timestamp,
}

impl Talk {
    /// Creates a conversation that has not started yet.
    pub fn new(
        settings: Settings,
        prompt: String,
        cwd: String,
        output_dir: PathBuf,
        now: fn() -> Timestamp,
    ) -> Self {
        let hearing = Hearing::new(settings.cost_before, settings.session.is_some());
        Self {
            settings,
            prompt,
            output_dir,
            cwd,
            state: State::Greeting,
            waiting: 0,
            session: None,
            can_load: false,
            hearing,
            now,
        }
    }

    /// Returns the current state.
    pub fn state(&self) -> State {
        self.state
    }

    /// Starts the conversation.
    pub fn begin(&mut self, out: &mut Out) {
        // Offer neither files nor terminals, so that the agent uses its own, which the sandbox controls.
        let capabilities =
            json!({ "fs": { "readTextFile": false, "writeTextFile": false }, "terminal": false });
        let info = json!({ "name": Server::NAME, "title": "acquit", "version": env!("CARGO_PKG_VERSION") });
        let params =
            json!({ "protocolVersion": VERSION, "clientCapabilities": capabilities, "clientInfo": info });
        self.request("initialize", params, out);
    }

    /// Handles a line that the agent printed.
    pub fn line(&mut self, line: &[u8], out: &mut Out) {
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        match serde_json::from_slice(line) {
            Ok(message @ Value::Object(_)) => self.message(&message, out),
            Ok(_) | Err(_) => {
                out.said.push(AgentEvent::Raw { text: shorten(&String::from_utf8_lossy(line), RAW_SHOWN) });
            }
        }
    }

    /// Asks the agent to stop. Returns whether there is anything to wait for.
    pub fn cancel(&mut self, out: &mut Out) -> bool {
        match (self.state, &self.session) {
            (State::Prompting, Some(session)) => {
                let params = json!({ "sessionId": session });
                out.messages.push(json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": params }));
                true
            }
            (State::Greeting | State::Opening | State::Mode | State::Prompting | State::Over(_), _) => false,
        }
    }

    /// Ends the conversation, because the agent is gone or did not answer in time.
    pub fn give_up(&mut self, fault: Fault, text: &str, out: &mut Out) {
        if matches!(self.state, State::Over(_)) {
            return;
        }
        self.hearing.flush(&mut out.said);
        out.said.push(AgentEvent::Fault { fault, text: text.to_owned(), again: false });
        out.said.push(AgentEvent::End { ok: false, text: text.to_owned() });
        self.state = State::Over(Over::Badly);
    }

    fn message(&mut self, message: &Value, out: &mut Out) {
        let id = message.get("id").filter(|id| id.is_string() || id.is_number());
        let params = message.get("params").unwrap_or(&Value::Null);
        match (message.get("method").and_then(Value::as_str), id) {
            (Some("session/request_permission"), Some(id)) => self.permission(id, params, out),
            (Some(method), Some(id)) => {
                let words = format!("acquit has no `{}`", shorten(method, 100));
                out.messages.push(error(id, METHOD_NOT_FOUND, &words));
            }
            (Some("session/update"), None) => {
                // Updates before the prompt replay the past conversation.
                if self.state == State::Prompting {
                    self.hearing.update(params.get("update").unwrap_or(&Value::Null), &mut out.said);
                }
            }
            // The agent's own extension notifications start like this; others may matter.
            (Some(method), None) if method.starts_with('_') => {}
            (Some(method), None) => out.said.push(AgentEvent::Unknown { kind: shorten(method, 100) }),
            (None, Some(id)) if id.as_u64() == Some(self.waiting) => self.answered(message, out),
            (None, _) => {}
        }
    }

    fn permission(&mut self, id: &Value, params: &Value, out: &mut Out) {
        let call = params.get("toolCall").unwrap_or(&Value::Null);
        let (name, kind) = self.hearing.asked(call, &mut out.said);
        let asked = permission::Asked { params, kind: &kind, output_dir: &self.output_dir };
        let answer = permission::answer(self.settings.stage, self.settings.allowed.as_deref(), &asked);
        if let permission::Answer::Refused { why, .. } = &answer {
            out.said.push(AgentEvent::Denied { tool: name, text: (*why).to_owned() });
        }
        out.messages.push(result(id, answer.outcome()));
    }

    fn answered(&mut self, message: &Value, out: &mut Out) {
        let answer = match message.get("error") {
            Some(error) if !error.is_null() => Err(error),
            Some(_) | None => Ok(message.get("result").unwrap_or(&Value::Null)),
        };
        match (self.state, answer) {
            (State::Greeting, Ok(hello)) => self.open(hello, out),
            (State::Opening, Ok(session)) => self.opened(session, out),
            // Continue if the mode is rejected: what it allows may never be needed.
            (State::Mode, Ok(_) | Err(_)) => self.prompt(out),
            (State::Prompting, Ok(end)) => {
                let over = self.hearing.end(end, (self.now)(), &mut out.said);
                self.state = State::Over(over);
            }
            (State::Greeting | State::Opening, Err(error)) => {
                let session = self.settings.session.as_ref().filter(|_| self.state == State::Opening);
                self.refused(error, session.is_some(), out);
            }
            (State::Prompting, Err(error)) => self.refused(error, false, out),
            (State::Over(_), _) => {}
        }
    }

    fn refused(&mut self, error: &Value, loading: bool, out: &mut Out) {
        self.hearing.flush(&mut out.said);
        self.hearing.spent(None, &mut out.said);
        let (said, text) = errors::of(error, (self.now)());
        let text = if loading { format!("the conversation cannot be continued: {text}") } else { text };
        out.said.push(said);
        out.said.push(AgentEvent::End { ok: false, text });
        self.state = State::Over(Over::Badly);
    }

    fn open(&mut self, hello: &Value, out: &mut Out) {
        let version = hello.get("protocolVersion").and_then(Value::as_u64);
        if version != Some(VERSION) {
            let words = format!("the agent speaks another version of the protocol than {VERSION}");
            return self.give_up(Fault::Other, &words, out);
        }
        self.can_load = hello.pointer("/agentCapabilities/loadSession") == Some(&json!(true));
        let mut params = json!({ "cwd": self.cwd, "mcpServers": self.servers() });
        self.state = State::Opening;
        match self.settings.session.clone() {
            Some(_) if !self.can_load => {
                self.give_up(Fault::Other, "the agent cannot continue a conversation", out);
            }
            Some(session) => {
                params["sessionId"] = json!(session);
                self.session = Some(session);
                self.request("session/load", params, out);
            }
            None => self.request("session/new", params, out),
        }
    }

    fn servers(&self) -> Vec<Value> {
        let server = |command: &Vec<String>| {
            let (program, args) = command.split_first()?;
            Some(json!({ "name": Server::NAME, "command": program, "args": args, "env": [] }))
        };
        self.settings.tools.iter().filter_map(server).collect()
    }

    fn opened(&mut self, session: &Value, out: &mut Out) {
        if let Some(id) = session.get("sessionId").and_then(Value::as_str) {
            self.session = Some(id.to_owned());
        }
        let Some(id) = self.session.clone() else {
            return self.give_up(Fault::Other, "the agent opened a session without an id", out);
        };
        if self.can_load {
            out.said.push(AgentEvent::Session { id: id.clone() });
        }
        self.hearing.session(session);
        let modes = session.pointer("/modes/availableModes").and_then(Value::as_array);
        let has =
            |wanted: &&&str| modes.is_some_and(|modes| modes.iter().any(|mode| mode["id"] == ***wanted));
        if let Some(mode) = MODES.iter().find(has) {
            self.state = State::Mode;
            self.request("session/set_mode", json!({ "sessionId": id, "modeId": mode }), out);
        } else {
            self.prompt(out);
        }
    }

    fn prompt(&mut self, out: &mut Out) {
        self.state = State::Prompting;
        let prompt = json!([{ "type": "text", "text": std::mem::take(&mut self.prompt) }]);
        self.request("session/prompt", json!({ "sessionId": self.session, "prompt": prompt }), out);
    }

    fn request(&mut self, method: &str, params: Value, out: &mut Out) {
        self.waiting += 1;
        let id = self.waiting;
        out.messages.push(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
    }
}
