//! pi: `pi -p --mode json`, with the prompt on standard input.
//!
//! It exits with 0 on every error. What counts is how the last message of the model ended. It prints the same message
//! several times (in pieces, at its end, at the end of the turn and of the run), so only the one at its end is used. It
//! does not support MCP tools.

use std::borrow::Cow;
use std::ffi::OsString;

use acquit_core::agent::{AgentEvent, Fault, Usage};
use acquit_core::config::Product;
use acquit_core::price::Of;
use acquit_core::role::Tool;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::json::Word;
use super::product::{BUN, Facts, Holds, Support, Supports, Version};
use super::spend::{Spend, micros};
use super::tools::Hold;
use super::{Hearing, Launch, Parser, Shown, Tells, Wanted, json};
use crate::model_failure::{self, ModelFailure, Then};

pub(super) const FACTS: Facts = Facts {
    product: Product::Pi,
    title: "pi",
    program: "pi",
    version: &["--version"],
    log_in: "pi /login",
    tried: Version(0, 87, 1),
    bad: &[],
    hosts: super::product::PROVIDERS,
    spare_hosts: &[],
    login: &["~/.pi/agent/auth.json", "~/.pi/agent/models.json"],
    settings: &["~/.pi/agent/models.json", "~/.pi/agent/settings.json"],
    servers: &[],
    login_variables: &[],
    keys: super::product::PROVIDER_KEYS,
    quiet: &[("PI_OFFLINE", "1")],
    supports: Supports {
        sessions: Support::Yes,
        structured: Support::No,
        tools: Support::No,
        tool_events: Support::Yes,
        usage: Support::Yes,
        cost: Support::Yes,
        turns: Support::Partly("counted by acquit"),
        limits: Support::No,
        ending: Support::Yes,
    },
    holds: Holds { edit: Hold::Refused, run: Hold::Refused, web: Hold::Lacking, commands: Hold::Sandboxed },
    reads_agents_md: true,
    loads: BUN,
    launch,
    parser: |hearing| Box::new(Lines::new(hearing)),
};

fn launch(wanted: &Wanted<'_>, launch: &mut Launch, extra: Vec<OsString>) {
    launch.args(["-p", "--mode", "json"]);
    if let Some(model) = wanted.model {
        // `provider/model`, where the model's own name may contain a slash too.
        match model.split_once('/') {
            Some((provider, model)) => launch.args(["--provider", provider, "--model", model]),
            None => launch.args(["--model", model]),
        }
    }
    // The same option creates and continues a conversation.
    launch.args(["--session-id", wanted.session.map_or(wanted.new_session, |session| &session.id)]);
    if [Tool::Edit, Tool::Run].iter().any(|tool| wanted.refuses(*tool)) {
        let mut tools = vec!["read", "grep", "find", "ls", "write"];
        tools.extend((!wanted.refuses(Tool::Edit)).then_some("edit"));
        tools.extend((!wanted.refuses(Tool::Run)).then_some("bash"));
        launch.args(["--tools", &tools.join(",")]);
    }
    launch.args(extra);
}

/// Parses the output.
pub(super) struct Lines {
    hearing: Hearing,
    spend: Spend,
    last: Last,
}

/// How the last message of the model ended.
#[derive(Default)]
struct Last {
    reason: String,
    raw_reason: String,
    error: String,
}

#[derive(Deserialize)]
struct Record<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(rename = "toolName", borrow, default)]
    tool: Option<Word<'a>>,
    #[serde(borrow, default)]
    args: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(rename = "isError", default)]
    is_error: Option<bool>,
    #[serde(rename = "errorMessage", borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message<'a> {
    #[serde(borrow, default)]
    role: Option<Word<'a>>,
    #[serde(borrow, default)]
    model: Option<Word<'a>>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(default)]
    usage: Option<Tokens>,
    #[serde(borrow, default)]
    stop_reason: Option<Word<'a>>,
    #[serde(borrow, default)]
    raw_stop_reason: Option<Word<'a>>,
    #[serde(rename = "errorMessage", borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
    #[serde(borrow, default)]
    thinking: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
}

/// Usage of one message. Input excludes cached tokens.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Tokens {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    cache_write1h: u64,
    cost: Cost,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Cost {
    total: Option<f64>,
}

impl Lines {
    pub(super) fn new(hearing: Hearing) -> Self {
        Self { spend: Spend::new(&hearing, Of::Request), hearing, last: Last::default() }
    }

    fn record(&mut self, record: &Record<'_>, said: &mut Vec<AgentEvent>) {
        match record.kind.as_ref() {
            "session" => said.extend(json::text(record.id).map(|id| AgentEvent::Session { id })),
            "message_end" => self.message(record, said),
            "tool_execution_start" => said.push(AgentEvent::ToolUse {
                name: record.tool.as_deref().unwrap_or_default().to_owned(),
                input: json::shown(record.args),
            }),
            "tool_execution_end" => {
                let answer = json::part::<Answer<'_>>(record.result);
                said.push(AgentEvent::ToolResult {
                    ok: record.is_error == Some(false),
                    text: json::words(answer.and_then(|answer| answer.content)),
                });
            }
            "auto_retry_start" => {
                let text = json::words(record.error);
                said.push(model_failure::said(
                    model_failure::in_text(&text),
                    &text,
                    Then::Again,
                    (self.hearing.now)(),
                ));
            }
            "agent_settled" => self.settled(said),
            // Repetitions, in pieces or complete.
            "agent_start"
            | "agent_end"
            | "turn_start"
            | "turn_end"
            | "message_start"
            | "message_update"
            | "tool_execution_update"
            | "auto_retry_end"
            | "entry_appended"
            | "compaction_start"
            | "compaction_end"
            | "queue_update" => {}
            kind => said.push(json::unknown(kind)),
        }
    }

    fn message(&mut self, record: &Record<'_>, said: &mut Vec<AgentEvent>) {
        let Some(message) = json::part::<Message<'_>>(record.message) else {
            return said.push(json::unknown("message_end"));
        };
        if message.role.as_deref() != Some("assistant") {
            return;
        }
        for block in json::parts::<Block<'_>>(message.content) {
            match block.kind.as_ref() {
                "text" => said.push(AgentEvent::Text { text: json::text(block.text).unwrap_or_default() }),
                "thinking" => said.push(AgentEvent::Thinking { text: json::words(block.thinking) }),
                // Reported when the tool runs.
                "toolCall" => {}
                kind => said.push(json::unknown(&format!("message_end/{kind}"))),
            }
        }
        self.last = Last {
            reason: message.stop_reason.unwrap_or_default().into_owned(),
            raw_reason: message.raw_stop_reason.unwrap_or_default().into_owned(),
            error: json::words(message.error),
        };
        let tokens = message.usage.unwrap_or_default();
        let usage = Usage {
            model: message.model.map(Word::into_owned),
            input: tokens.input,
            output: tokens.output,
            cache_read: tokens.cache_read,
            cache_write_5m: tokens.cache_write.saturating_sub(tokens.cache_write1h),
            cache_write_1h: tokens.cache_write1h,
            cost_micros: tokens.cost.total.and_then(micros).filter(|cost| *cost > 0),
            ..Usage::default()
        };
        self.spend.add(usage, said);
    }

    fn settled(&mut self, said: &mut Vec<AgentEvent>) {
        let Last { reason, raw_reason, error } = std::mem::take(&mut self.last);
        let ok = reason == "stop";
        let text = match (ok, error.is_empty()) {
            (true, _) => String::new(),
            (false, false) => error,
            (false, true) => format!("the last message ended with `{reason}`"),
        };
        if reason == "error" {
            let trouble = match (raw_reason.as_str(), text.as_str()) {
                ("refusal", _) => ModelFailure::Fault(Fault::Refused),
                // Printed by its library when a connection ends in the middle of an answer.
                (_, "terminated") => ModelFailure::Fault(Fault::Network),
                _ => model_failure::in_text(&text),
            };
            said.push(model_failure::said(trouble, &text, Then::Ends, (self.hearing.now)()));
        }
        said.push(AgentEvent::End { ok, text });
    }
}

impl Parser for Lines {
    fn tells(&self) -> Tells {
        Tells::Its
    }

    fn turns(&self) -> Shown {
        Shown::ByUsage
    }

    fn line(&mut self, line: &[u8], said: &mut Vec<AgentEvent>) {
        let line = json::whole(line);
        json::line(&line, said, |record: Record<'_>, said| self.record(&record, said));
    }
}
