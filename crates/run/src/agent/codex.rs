//! Codex: `codex exec --json`, with the prompt on standard input.
//!
//! It reports neither its model nor costs, and its usage is the total of the conversation. Errors are plain text; those
//! that start with "Reconnecting" are not final.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ffi::OsString;

use acquit_core::agent::{AgentEvent, Fault, Usage};
use acquit_core::config::Product;
use acquit_core::price::Of;
use acquit_core::role::Tool;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::json::Word;
use super::product::{AT_THE_END, Facts, Holds, Support, Supports, Version};
use super::spend::{Spend, minus};
use super::tools::Hold;
use super::{Hearing, Launch, Parser, Server, Shown, Tells, Wanted, json};
use crate::model_failure::{self, ModelFailure, Then};

pub(super) const FACTS: Facts = Facts {
    product: Product::Codex,
    title: "Codex",
    program: "codex",
    version: &["--version"],
    log_in: "codex login",
    tried: Version(0, 166, 0),
    bad: &[super::product::Bad {
        from: Version(0, 0, 0),
        below: Version(0, 148, 0),
        why: "it cannot be kept from asking for ever where there is no network; install 0.148 or newer",
    }],
    hosts: &["api.openai.com", "chatgpt.com", "auth.openai.com"],
    spare_hosts: &[],
    login: &["~/.codex/auth.json"],
    settings: &["~/.codex/config.toml"],
    servers: &["OPENAI_BASE_URL"],
    login_variables: &[],
    keys: &["CODEX_API_KEY", "OPENAI_API_KEY"],
    quiet: &[],
    supports: Supports {
        sessions: Support::Yes,
        structured: Support::Yes,
        tools: Support::Yes,
        tool_events: Support::Yes,
        usage: Support::Partly(AT_THE_END),
        cost: Support::No,
        turns: Support::Partly("counted by acquit"),
        limits: Support::Partly("as a length of time"),
        ending: Support::Yes,
    },
    // It also reads through commands, and a command can edit anything.
    holds: Holds { edit: Hold::Told, run: Hold::Told, web: Hold::Refused, commands: Hold::Sandboxed },
    reads_agents_md: true,
    loads: &[],
    launch,
    parser: |hearing| Box::new(Lines::new(hearing)),
};

fn launch(wanted: &Wanted<'_>, launch: &mut Launch, extra: Vec<OsString>) {
    // Its own sandbox would be nested in ours. Plugins are downloaded. Without a network it would retry forever.
    launch.args(["exec", "--json", "--skip-git-repo-check", "--sandbox", "danger-full-access"]);
    launch.args(["--disable", "plugins", "--disable", "unbounded_connection_retries"]);
    let mut set = |key: &str, value: String| launch.args(["-c".to_owned(), format!("{key}={value}")]);
    set("analytics.enabled", "false".to_owned());
    set("check_for_update_on_startup", "false".to_owned());
    // The provider of its model performs the search, so our sandbox cannot block it. It needs commands for reading.
    if wanted.refuses(Tool::Web) {
        set("web_search", toml_text("disabled"));
    }
    if let Some(Server { program, args, env }) = wanted.tools {
        let key = |name: &str| format!("mcp_servers.{}.{name}", Server::NAME);
        set(&key("command"), toml_text(program));
        let args: Vec<String> = args.iter().map(|arg| toml_text(arg)).collect();
        set(&key("args"), format!("[{}]", args.join(",")));
        for (name, value) in env {
            set(&key(&format!("env.{name}")), toml_text(value));
        }
        set(&key("default_tools_approval_mode"), toml_text("approve"));
    }
    if let Some(model) = wanted.model {
        launch.args(["-m", model]);
    }
    if let Some(schema) = wanted.schema {
        let file = launch.file(wanted, "codex-schema.json", schema.to_string());
        launch.args(["--output-schema".into(), file.into_os_string()]);
    }
    launch.args(extra);
    if let Some(session) = wanted.session {
        launch.args(["resume", &session.id]);
    }
    launch.args(["-"]);
}

/// Formats a string as TOML.
fn toml_text(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// Maximum number of started tool uses to remember.
const BEGUN: usize = 10_000;

/// Parses the output.
pub(super) struct Lines {
    hearing: Hearing,
    spend: Spend,
    /// Tool uses that were reported at their start.
    begun: HashSet<String>,
    last_text: String,
    /// An error that may still be followed by the end of the turn.
    error: Option<String>,
}

#[derive(Deserialize)]
struct Record<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    thread_id: Option<Word<'a>>,
    #[serde(borrow, default)]
    item: Option<Item<'a>>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<Failure<'a>>,
    #[serde(default)]
    usage: Option<Used>,
}

#[derive(Deserialize)]
struct Item<'a> {
    #[serde(borrow, default)]
    id: Cow<'a, str>,
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    status: Option<Word<'a>>,
    #[serde(borrow, default)]
    command: Option<&'a RawValue>,
    #[serde(borrow, default)]
    aggregated_output: Option<&'a RawValue>,
    #[serde(borrow, default)]
    changes: Option<&'a RawValue>,
    #[serde(borrow, default)]
    server: Option<Word<'a>>,
    #[serde(borrow, default)]
    tool: Option<Word<'a>>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    query: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Failure<'a> {
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
}

/// Input includes tokens read from and written to a cache.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Used {
    #[serde(rename = "input_tokens")]
    input: u64,
    #[serde(rename = "cached_input_tokens")]
    cached: u64,
    #[serde(rename = "cache_write_input_tokens")]
    written: u64,
    #[serde(rename = "output_tokens")]
    output: u64,
}

impl Lines {
    pub(super) fn new(hearing: Hearing) -> Self {
        Self {
            spend: Spend::new(&hearing, Of::Turn),
            hearing,
            begun: HashSet::new(),
            last_text: String::new(),
            error: None,
        }
    }

    fn record(&mut self, record: Record<'_>, said: &mut Vec<AgentEvent>) {
        match (record.kind.as_ref(), record.item) {
            ("thread.started", _) => {
                said.extend(record.thread_id.map(|id| AgentEvent::Session { id: id.into_owned() }));
            }
            ("item.started", Some(item)) => {
                if let Some(used) = tool(&item).filter(|_| self.begun.len() < BEGUN) {
                    self.begun.insert(item.id.into_owned());
                    said.push(used);
                }
            }
            ("item.completed", Some(item)) => self.completed(&item, said),
            ("error", _) => self.error(&json::words(record.message), said),
            ("turn.completed", _) => self.ended_well(record.usage.unwrap_or_default(), said),
            ("turn.failed", _) => {
                let message = record.error.and_then(|error| json::text(error.message));
                self.failed(message.unwrap_or_default(), said);
            }
            ("turn.started" | "item.updated", _) => {}
            (kind, _) => said.push(json::unknown(kind)),
        }
    }

    fn completed(&mut self, item: &Item<'_>, said: &mut Vec<AgentEvent>) {
        if let Some(used) = tool(item)
            && !self.begun.remove(item.id.as_ref())
        {
            said.push(used);
        }
        let ok = !matches!(item.status.as_deref(), Some("failed" | "declined"));
        match item.kind.as_ref() {
            "agent_message" => {
                let text = json::text(item.text).unwrap_or_default();
                text.clone_into(&mut self.last_text);
                said.push(AgentEvent::Text { text });
            }
            "reasoning" => said.push(AgentEvent::Thinking { text: json::words(item.text) }),
            "command_execution" if item.status.as_deref() == Some("declined") => {
                said.push(AgentEvent::Denied {
                    tool: "shell".to_owned(),
                    text: json::words(item.aggregated_output),
                });
            }
            "command_execution" => {
                said.push(AgentEvent::ToolResult { ok, text: json::words(item.aggregated_output) });
            }
            "mcp_tool_call" => said.push(answer(item, ok)),
            "file_change" | "web_search" => said.push(AgentEvent::ToolResult { ok, text: String::new() }),
            "error" => {
                // It continues after these. Most are remarks about itself.
                let text = json::words(item.message);
                said.push(match model_failure::in_text(&text) {
                    ModelFailure::Fault(Fault::Other) => json::raw(&text),
                    trouble => model_failure::said(trouble, &text, Then::Again, (self.hearing.now)()),
                });
            }
            "todo_list" => {}
            kind => said.push(json::unknown(&format!("item/{kind}"))),
        }
    }

    fn error(&mut self, text: &str, said: &mut Vec<AgentEvent>) {
        if text.starts_with("Reconnecting") {
            said.push(model_failure::said(
                model_failure::in_text(text),
                text,
                Then::Again,
                (self.hearing.now)(),
            ));
        } else {
            // The end of the turn repeats it.
            self.error = Some(text.to_owned());
        }
    }

    fn ended_well(&mut self, used: Used, said: &mut Vec<AgentEvent>) {
        let total = Usage {
            model: self.hearing.model.clone(),
            input: used.input.saturating_sub(used.cached).saturating_sub(used.written),
            output: used.output,
            cache_read: used.cached,
            cache_write_5m: used.written,
            ..Usage::default()
        };
        self.spend.add(minus(&total, &self.hearing.before), said);
        self.hearing.before = total;
        self.error = None;
        if self.hearing.structured
            && let Ok(value @ serde_json::Value::Object(_)) = serde_json::from_str(&self.last_text)
        {
            said.push(AgentEvent::Report { value });
        }
        said.push(AgentEvent::End { ok: true, text: String::new() });
    }

    fn failed(&mut self, text: String, said: &mut Vec<AgentEvent>) {
        self.error = None;
        said.extend(model_failure::end(model_failure::in_text(&text), text, (self.hearing.now)()));
    }
}

/// Converts an item into a tool use.
fn tool(item: &Item<'_>) -> Option<AgentEvent> {
    let (name, input) = match item.kind.as_ref() {
        "command_execution" => ("shell".to_owned(), json::words(item.command)),
        "file_change" => ("file_change".to_owned(), json::shown(item.changes)),
        "web_search" => ("web_search".to_owned(), json::words(item.query)),
        "mcp_tool_call" => {
            let part = |name: &Option<Word<'_>>| name.as_deref().unwrap_or_default().to_owned();
            (format!("mcp__{}__{}", part(&item.server), part(&item.tool)), json::shown(item.arguments))
        }
        _ => return None,
    };
    Some(AgentEvent::ToolUse { name, input })
}

/// Returns the result of an MCP tool.
fn answer(item: &Item<'_>, ok: bool) -> AgentEvent {
    let error = json::part::<Failure<'_>>(item.error).map(|error| json::words(error.message));
    match error {
        Some(text) if text.contains("requires approval") => {
            AgentEvent::Denied { tool: item.tool.as_deref().unwrap_or_default().to_owned(), text }
        }
        Some(text) => AgentEvent::ToolResult { ok: false, text },
        None => {
            let answer = json::part::<Answer<'_>>(item.result);
            AgentEvent::ToolResult { ok, text: json::words(answer.and_then(|answer| answer.content)) }
        }
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
        json::line(&line, said, |record: Record<'_>, said| self.record(record, said));
    }

    fn finish(&mut self, said: &mut Vec<AgentEvent>) {
        if let Some(text) = self.error.take() {
            let trouble = model_failure::in_text(&text);
            said.push(model_failure::said(trouble, &text, Then::Ends, (self.hearing.now)()));
        }
    }
}
