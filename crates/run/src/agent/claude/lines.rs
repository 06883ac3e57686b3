//! Parses the output of Claude Code.
//!
//! One message of the model comes as several `assistant` records with the same id, each with the usage known at its
//! start. So usage is counted once per id and corrected by the `result`. Cost and usage per model are totals of the
//! conversation. The share of this run is `model_usage_since_last_result`, or the difference to what was counted
//! before. A failure of the model comes as `"subtype":"success"` with `"is_error":true`.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use acquit_core::agent::{AgentEvent, Fault, Usage};
use acquit_core::price::Of;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::agent::json::Word;
use crate::agent::spend::{Spend, micros, minus};
use crate::agent::{Hearing, Parser, Tells, json};
use crate::model_failure::{self, ModelFailure, Then, reset};

/// Maximum number of ids to remember, of messages and of rejected tools. No real conversation has more.
const REMEMBERED: usize = 100_000;

/// Model name of messages that the program wrote itself.
const SYNTHETIC: &str = "<synthetic>";

/// Parses the output.
pub(in crate::agent) struct Lines {
    hearing: Hearing,
    spend: Spend,
    session: String,
    /// Messages whose usage is counted.
    counted: HashSet<String>,
    /// Tool uses whose rejection is reported.
    refused: HashSet<String>,
    /// The last text, so that a result that repeats it is not reported again.
    last_text: String,
    /// The program's own name for the error that ended the turn.
    error: Option<String>,
    limit_told: bool,
}

#[derive(Deserialize)]
struct Record<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    subtype: Option<Word<'a>>,
    #[serde(borrow, default)]
    session_id: Option<Word<'a>>,
    /// An object in messages, a string in rejections.
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    parent_tool_use_id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(default)]
    error_status: Option<u16>,
    #[serde(borrow, default)]
    tool_name: Option<Word<'a>>,
    #[serde(borrow, default)]
    tool_use_id: Option<Word<'a>>,
    #[serde(rename = "apiKeySource", borrow, default)]
    key: Option<Word<'a>>,
    #[serde(borrow, default)]
    rate_limit_info: Option<&'a RawValue>,
    // Fields of the result.
    #[serde(default)]
    is_error: Option<bool>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    errors: Option<&'a RawValue>,
    #[serde(default)]
    api_error_status: Option<u16>,
    #[serde(borrow, default)]
    api_error: Option<Word<'a>>,
    #[serde(borrow, default)]
    terminal_reason: Option<Word<'a>>,
    #[serde(borrow, default)]
    stop_reason: Option<Word<'a>>,
    #[serde(borrow, default)]
    permission_denials: Option<&'a RawValue>,
    #[serde(borrow, default)]
    structured_output: Option<&'a RawValue>,
    #[serde(default)]
    total_cost_usd: Option<f64>,
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    model_usage_since_last_result: Option<&'a RawValue>,
    #[serde(rename = "modelUsage", borrow, default)]
    model_usage: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    id: Option<Word<'a>>,
    #[serde(borrow, default)]
    model: Option<Word<'a>>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
    #[serde(borrow, default)]
    thinking: Option<&'a RawValue>,
    #[serde(borrow, default)]
    name: Option<Word<'a>>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(default)]
    is_error: Option<bool>,
}

/// Usage as the provider's API reports it. Input excludes cached tokens.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Used {
    input_tokens: u64,
    output_tokens: u64,
    cache_read_input_tokens: u64,
    cache_creation_input_tokens: u64,
    cache_creation: Option<CacheWrites>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CacheWrites {
    ephemeral_1h_input_tokens: u64,
}

/// Usage of one model as the program reports it.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ModelUsage {
    input_tokens: u64,
    output_tokens: u64,
    cache_read_input_tokens: u64,
    cache_creation_input_tokens: u64,
    cache_creation_ephemeral1h_input_tokens: u64,
    #[serde(rename = "costUSD")]
    cost: Option<f64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RateLimit<'a> {
    #[serde(borrow)]
    status: Cow<'a, str>,
    #[serde(default)]
    resets_at: Option<u64>,
    #[serde(rename = "rateLimitType", borrow, default)]
    which: Option<Word<'a>>,
}

#[derive(Deserialize)]
struct Denial<'a> {
    #[serde(borrow)]
    tool_name: Cow<'a, str>,
    #[serde(borrow)]
    tool_use_id: Cow<'a, str>,
}

/// `written` is everything written to a cache, and `hour` the part of it that lasts an hour. The rest lasts five
/// minutes.
fn usage(model: Option<String>, input: u64, output: u64, read: u64, written: u64, hour: u64) -> Usage {
    Usage {
        model,
        input,
        output,
        cache_read: read,
        cache_write_5m: written.saturating_sub(hour),
        cache_write_1h: hour,
        ..Usage::default()
    }
}

impl Used {
    fn usage(self, model: Option<String>) -> Usage {
        let hour = self.cache_creation.unwrap_or_default().ephemeral_1h_input_tokens;
        let (read, written) = (self.cache_read_input_tokens, self.cache_creation_input_tokens);
        usage(model, self.input_tokens, self.output_tokens, read, written, hour)
    }
}

impl ModelUsage {
    fn usage(self, model: String) -> Usage {
        let hour = self.cache_creation_ephemeral1h_input_tokens;
        let (read, written) = (self.cache_read_input_tokens, self.cache_creation_input_tokens);
        let usage = usage(Some(model), self.input_tokens, self.output_tokens, read, written, hour);
        Usage { cost_micros: self.cost.and_then(micros), ..usage }
    }
}

/// What the totals of a result cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Totals {
    /// All processes of the conversation.
    OfConversation,
    /// This process only.
    OfProcess,
}

impl Lines {
    pub(in crate::agent) fn new(hearing: Hearing) -> Self {
        Self {
            spend: Spend::new(&hearing, Of::Request),
            hearing,
            session: String::new(),
            counted: HashSet::new(),
            refused: HashSet::new(),
            last_text: String::new(),
            error: None,
            limit_told: false,
        }
    }

    fn record(&mut self, record: &Record<'_>, said: &mut Vec<AgentEvent>) {
        match (record.kind.as_ref(), record.subtype.as_deref()) {
            ("assistant", _) => self.assistant(record, said),
            ("user", _) => user(record, said),
            ("result", _) => self.result(record, said),
            ("system", Some("init")) => self.init(record, said),
            ("system", Some("api_retry")) => self.retry(record, said),
            ("system", Some("permission_denied")) => self.denied(record, said),
            ("rate_limit_event", _) => self.rate_limit(record, said),
            // Progress, hooks and answers to requests that acquit does not make.
            (
                "system",
                Some(
                    "status"
                    | "informational"
                    | "task_started"
                    | "task_progress"
                    | "task_updated"
                    | "task_notification"
                    | "hook_started"
                    | "hook_progress"
                    | "hook_response"
                    | "ui_invalidate"
                    | "compact_boundary"
                    | "model_refusal_no_fallback",
                ),
            )
            | ("stream_event" | "control_response" | "control_request" | "keep_alive", _) => {}
            (kind, None) => said.push(json::unknown(kind)),
            (kind, Some(subtype)) => said.push(json::unknown(&format!("{kind}/{subtype}"))),
        }
    }

    /// Handles the record at the start of every turn.
    fn init(&mut self, record: &Record<'_>, said: &mut Vec<AgentEvent>) {
        if record.key.as_deref() == Some("none") {
            self.spend.paid_by_login();
        }
        if let Some(id) = record.session_id.as_deref().filter(|id| *id != self.session) {
            id.clone_into(&mut self.session);
            said.push(AgentEvent::Session { id: id.to_owned() });
        }
    }

    fn assistant(&mut self, record: &Record<'_>, said: &mut Vec<AgentEvent>) {
        let Some(message) = json::part::<Message<'_>>(record.message) else {
            return said.push(json::unknown("assistant"));
        };
        let model = message.model.filter(|model| **model != *SYNTHETIC);
        if model.is_none() && record.error.is_some() {
            // The result repeats this with more details.
            self.error = json::text(record.error);
            return;
        }
        // A subagent speaks to the agent, not to the reader.
        let of_helper = record.parent_tool_use_id.is_some();
        for block in json::parts::<Block<'_>>(message.content) {
            match block.kind.as_ref() {
                "text" => {
                    let text = json::text(block.text).unwrap_or_default();
                    if of_helper {
                        said.push(AgentEvent::Thinking { text });
                    } else {
                        text.clone_into(&mut self.last_text);
                        said.push(AgentEvent::Text { text });
                    }
                }
                "thinking" => said.push(AgentEvent::Thinking { text: json::words(block.thinking) }),
                "tool_use" | "server_tool_use" | "mcp_tool_use" => said.push(AgentEvent::ToolUse {
                    name: block.name.unwrap_or_default().into_owned(),
                    input: json::shown(block.input),
                }),
                "redacted_thinking" | "web_search_tool_result" | "web_fetch_tool_result" => {}
                kind => said.push(json::unknown(&format!("assistant/{kind}"))),
            }
        }
        let Some(id) = message.id else { return };
        if self.counted.len() < REMEMBERED
            && self.counted.insert(id.into_owned())
            && let Some(tokens) = json::part::<Used>(message.usage)
        {
            self.spend.add(tokens.usage(model.map(Word::into_owned)), said);
        }
    }

    fn retry(&mut self, record: &Record<'_>, said: &mut Vec<AgentEvent>) {
        let error = json::text(record.error).unwrap_or_default();
        let trouble = by_name(&error)
            .or_else(|| record.error_status.and_then(model_failure::by_status))
            .unwrap_or(ModelFailure::Fault(Fault::Network));
        said.push(model_failure::said(trouble, &error, Then::Again, (self.hearing.now)()));
    }

    fn denied(&mut self, record: &Record<'_>, said: &mut Vec<AgentEvent>) {
        if let Some(id) = record.tool_use_id.as_deref().filter(|_| self.refused.len() < REMEMBERED) {
            self.refused.insert(id.to_owned());
        }
        let tool = record.tool_name.as_deref().unwrap_or_default().to_owned();
        said.push(AgentEvent::Denied { tool, text: json::words(record.message) });
    }

    fn rate_limit(&mut self, record: &Record<'_>, said: &mut Vec<AgentEvent>) {
        let Some(limit) = json::part::<RateLimit<'_>>(record.rate_limit_info) else {
            return said.push(json::unknown("rate_limit_event"));
        };
        if limit.status == "rejected" {
            let until = limit.resets_at.and_then(|seconds| reset::epoch(&seconds.to_string()));
            let which = limit.which.as_deref().unwrap_or_default().replace('_', "-");
            said.push(AgentEvent::Limit { until, text: format!("the {which} limit is used up") });
            self.limit_told = true;
        }
    }

    fn result(&mut self, record: &Record<'_>, said: &mut Vec<AgentEvent>) {
        // A result without other records reports that a conversation was not found. It has its own session id.
        if record.subtype.as_deref() == Some("success") {
            self.init(record, said);
        }
        self.settle(record, said);
        for denial in json::parts::<Denial<'_>>(record.permission_denials) {
            if !self.refused.contains(denial.tool_use_id.as_ref()) {
                said.push(AgentEvent::Denied { tool: denial.tool_name.into_owned(), text: String::new() });
            }
        }
        self.refused.clear();
        if let Some(value) = json::part(record.structured_output) {
            said.push(AgentEvent::Report { value });
        }
        let ok = record.subtype.as_deref() == Some("success") && record.is_error == Some(false);
        let text = json::text(record.result).or_else(|| {
            let errors: Vec<String> = json::parts(record.errors);
            Some(errors.join("\n"))
        });
        let text = text.unwrap_or_default();
        if ok {
            let text = if text == self.last_text { String::new() } else { text };
            return said.push(AgentEvent::End { ok, text });
        }
        let trouble = self.trouble(record, &text);
        if !(trouble == ModelFailure::Limit && self.limit_told) {
            said.push(model_failure::said(trouble, &text, Then::Ends, (self.hearing.now)()));
        }
        (self.error, self.limit_told) = (None, false);
        said.push(AgentEvent::End { ok, text });
    }

    /// Returns what ended the turn.
    fn trouble(&self, record: &Record<'_>, text: &str) -> ModelFailure {
        let known = match (record.subtype.as_deref(), record.terminal_reason.as_deref()) {
            (Some("error_max_turns"), _) | (_, Some("max_turns")) => Some(Fault::Turns),
            (Some("error_max_budget_usd"), _) | (_, Some("budget_exhausted")) => Some(Fault::Money),
            (_, Some("prompt_too_long")) => Some(Fault::TooLong),
            _ if record.stop_reason.as_deref() == Some("refusal") => Some(Fault::Refused),
            _ => None,
        };
        known
            .map(ModelFailure::Fault)
            .or_else(|| record.api_error.as_deref().and_then(by_name))
            .or_else(|| {
                record.api_error_status.filter(|status| *status != 400).and_then(model_failure::by_status)
            })
            .or_else(|| self.error.as_deref().and_then(by_name))
            .unwrap_or_else(|| model_failure::in_text(text))
    }

    /// Decides what the totals of a result cover. Versions before `model_usage_since_last_result` differ in this
    /// without saying so. But tokens per model cover the same as the cost, and the tokens of this run are known.
    fn totals(&self, record: &Record<'_>, run: &Usage) -> Totals {
        let before = &self.hearing.before;
        if run.cost_micros < before.cost_micros {
            return Totals::OfProcess;
        }
        let Some(models) = json::part::<BTreeMap<String, ModelUsage>>(record.model_usage) else {
            return Totals::OfConversation;
        };
        let tokens = |(model, usage): (String, ModelUsage)| usage.usage(model).tokens();
        let all = models.into_iter().map(tokens).fold(0, u64::saturating_add).max(1);
        // Estimate this run's share of the cost from its share of the tokens. The reading closer to it is the right
        // one.
        let total = run.cost_micros.unwrap_or(0);
        let share = u128::from(total) * u128::from(run.tokens().min(all)) / u128::from(all);
        let distance = |cost: u64| share.abs_diff(u128::from(cost));
        let rest = total.saturating_sub(before.cost_micros.unwrap_or(0));
        if distance(total) <= distance(rest) { Totals::OfProcess } else { Totals::OfConversation }
    }

    /// Corrects what was counted during the run with the totals of the result.
    fn settle(&mut self, record: &Record<'_>, said: &mut Vec<AgentEvent>) {
        let cost = record.total_cost_usd.and_then(micros);
        if let Some(models) = json::part::<BTreeMap<String, ModelUsage>>(record.model_usage_since_last_result)
        {
            for (model, usage) in models.into_iter().take(json::PARTS) {
                self.spend.correct(usage.usage(model), said);
            }
        } else {
            let tokens = json::part::<Used>(record.usage).unwrap_or_default();
            let known = self.spend.total();
            let all = Usage { cost_micros: cost, ..tokens.usage(known.model.clone()) };
            let before = match self.totals(record, &all) {
                Totals::OfConversation => self.hearing.before.cost_micros,
                Totals::OfProcess => None,
            };
            self.spend.add(minus(&all, &Usage { cost_micros: before, ..known }), said);
        }
        self.spend.begin_anew();
        self.hearing.before.cost_micros = cost.or(self.hearing.before.cost_micros);
    }
}

/// Classifies an error by the program's own name for it. The name `server_error` is left out: it also stands for a
/// model that did not answer.
fn by_name(name: &str) -> Option<ModelFailure> {
    Some(ModelFailure::Fault(match name {
        "authentication_failed" => Fault::Login,
        "billing_error" => Fault::Billing,
        "model_not_found" => Fault::Model,
        "overloaded" => Fault::Overloaded,
        "connection_failed" => Fault::Network,
        "rate_limit" | "usage_limit_reached" => return Some(ModelFailure::Limit),
        "max_output_tokens" => Fault::Other,
        _ => return None,
    }))
}

/// Reports tool results. Other messages to the model are not reported.
fn user(record: &Record<'_>, said: &mut Vec<AgentEvent>) {
    let Some(message) = json::part::<Message<'_>>(record.message) else { return };
    for block in json::parts::<Block<'_>>(message.content) {
        if block.kind == "tool_result" {
            let ok = !block.is_error.unwrap_or(false);
            said.push(AgentEvent::ToolResult { ok, text: json::words(block.content) });
        }
    }
}

impl Parser for Lines {
    fn tells(&self) -> Tells {
        Tells::Its
    }

    fn line(&mut self, line: &[u8], said: &mut Vec<AgentEvent>) {
        let line = json::whole(line);
        json::line(&line, said, |record: Record<'_>, said| self.record(&record, said));
    }
}
