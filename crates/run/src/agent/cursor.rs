//! Cursor's agent: `cursor-agent -p --output-format stream-json`, with the prompt on standard input.
//!
//! Written from its public documentation and untested, because the program does not run without an account. It reports
//! neither usage nor costs. On a failure it prints the reason to stderr, and its last record may be missing.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsString;

use acquit_core::agent::AgentEvent;
use acquit_core::config::Product;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::json::Word;
use super::product::{Facts, Holds, Support, Supports, Version};
use super::tools::Hold;
use super::{Hearing, Launch, Parser, Shown, Tells, Wanted, json};
use crate::model_failure;

pub(super) const FACTS: Facts = Facts {
    product: Product::Cursor,
    title: "Cursor",
    program: "cursor-agent",
    version: &["--version"],
    log_in: "cursor-agent login",
    tried: Version(0, 0, 0),
    bad: &[],
    hosts: &["api2.cursor.sh", "*.api2.cursor.sh", "*.cursor.sh", "cursor.com"],
    spare_hosts: &[],
    login: &["~/.config/cursor/auth.json", "~/.cursor/cli-config.json"],
    settings: &["~/.cursor/cli-config.json"],
    servers: &[],
    login_variables: &[],
    keys: &["CURSOR_API_KEY"],
    quiet: &[],
    supports: Supports {
        sessions: Support::Yes,
        structured: Support::No,
        tools: Support::No,
        tool_events: Support::Yes,
        usage: Support::No,
        cost: Support::No,
        turns: Support::Partly("counted by acquit"),
        limits: Support::No,
        ending: Support::Yes,
    },
    // Untested.
    holds: Holds { edit: Hold::Told, run: Hold::Told, web: Hold::Told, commands: Hold::Sandboxed },
    reads_agents_md: true,
    loads: &[],
    launch,
    parser: |hearing| Box::new(Lines::new(hearing)),
};

fn launch(wanted: &Wanted<'_>, launch: &mut Launch, extra: Vec<OsString>) {
    launch.args(["-p", "--force", "--trust", "--output-format", "stream-json"]);
    if let Some(model) = wanted.model {
        launch.args(["--model", model]);
    }
    if let Some(session) = wanted.session {
        launch.args(["--resume", &session.id]);
    }
    launch.args(extra);
}

/// Parses the output.
pub(super) struct Lines {
    hearing: Hearing,
    last_text: String,
}

#[derive(Deserialize)]
struct Record<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    subtype: Option<Word<'a>>,
    #[serde(borrow, default)]
    session_id: Option<Word<'a>>,
    #[serde(borrow, default)]
    message: Option<Message<'a>>,
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
    /// An object with one key, the name of the tool.
    #[serde(borrow, default)]
    tool_call: Option<&'a RawValue>,
    #[serde(default)]
    is_error: Option<bool>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow, default)]
    args: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
}

/// The result of a tool has one key that says how it went.
#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow, default)]
    success: Option<&'a RawValue>,
    #[serde(borrow, default)]
    rejected: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
}

impl Lines {
    pub(super) fn new(hearing: Hearing) -> Self {
        Self { hearing, last_text: String::new() }
    }

    fn record(&mut self, record: &Record<'_>, said: &mut Vec<AgentEvent>) {
        match (record.kind.as_ref(), record.subtype.as_deref()) {
            ("system", Some("init")) => {
                said.extend(record.session_id.as_deref().map(|id| AgentEvent::Session { id: id.to_owned() }));
            }
            ("assistant", _) => {
                let content = record.message.as_ref().and_then(|message| message.content);
                for block in json::parts::<Block<'_>>(content) {
                    let text = json::text(block.text).unwrap_or_default();
                    text.clone_into(&mut self.last_text);
                    said.push(AgentEvent::Text { text });
                }
            }
            ("thinking", Some("delta")) => said.push(AgentEvent::Thinking { text: json::words(record.text) }),
            ("tool_call", Some(subtype)) => call(record, subtype, said),
            ("result", _) => self.result(record, said),
            ("user", _) | ("thinking", Some("completed")) => {}
            (kind, None) => said.push(json::unknown(kind)),
            (kind, Some(subtype)) => said.push(json::unknown(&format!("{kind}/{subtype}"))),
        }
    }

    fn result(&mut self, record: &Record<'_>, said: &mut Vec<AgentEvent>) {
        let text = json::text(record.result).unwrap_or_default();
        if record.subtype.as_deref() == Some("success") && record.is_error == Some(false) {
            // The result is the concatenation of all messages.
            let text = if text.ends_with(&self.last_text) { String::new() } else { text };
            return said.push(AgentEvent::End { ok: true, text });
        }
        said.extend(model_failure::end(model_failure::in_text(&text), text, (self.hearing.now)()));
    }
}

/// Reports a tool use and its result.
fn call(record: &Record<'_>, subtype: &str, said: &mut Vec<AgentEvent>) {
    let calls: BTreeMap<String, &RawValue> = json::part(record.tool_call).unwrap_or_default();
    let Some((name, call)) =
        calls.into_iter().find_map(|(name, call)| Some((name, json::part::<Call<'_>>(Some(call))?)))
    else {
        return said.push(json::unknown(&format!("tool_call/{subtype}")));
    };
    let name = name.strip_suffix("ToolCall").unwrap_or(&name).to_owned();
    match subtype {
        "started" => said.push(AgentEvent::ToolUse { name, input: json::shown(call.args) }),
        "completed" => {
            let answer = json::part::<Answer<'_>>(call.result);
            let answer = answer.unwrap_or(Answer { success: None, rejected: None });
            said.push(match answer {
                Answer { rejected: Some(why), .. } => {
                    AgentEvent::Denied { tool: name, text: json::shown(Some(why)) }
                }
                Answer { success, .. } => AgentEvent::ToolResult {
                    ok: success.is_some(),
                    text: json::shown(success.or(call.result)),
                },
            });
        }
        _ => said.push(json::unknown(&format!("tool_call/{subtype}"))),
    }
}

impl Parser for Lines {
    fn tells(&self) -> Tells {
        Tells::Its
    }

    fn turns(&self) -> Shown {
        Shown::ByResults
    }

    fn line(&mut self, line: &[u8], said: &mut Vec<AgentEvent>) {
        let line = json::whole(line);
        json::line(&line, said, |record: Record<'_>, said| self.record(&record, said));
    }
}
