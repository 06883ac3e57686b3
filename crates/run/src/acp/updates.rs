//! Converts what an agent reports while it works into acquit's own events.
//!
//! Text arrives in pieces and is joined until the agent does something else, so that a report between markers is not
//! split. A tool call is reported several times, and becomes one use and one result.

use std::collections::BTreeMap;

use acquit_core::agent::{AgentEvent, Fault, Usage, shorten};
use acquit_core::outcome::PAYLOAD_LIMIT;
use acquit_core::time::Timestamp;
use serde_json::Value;

use super::conversation::Over;
use super::errors;

/// Maximum size of a joined message: the largest payload between markers, and text around it.
const MESSAGE_LIMIT: usize = PAYLOAD_LIMIT + 64 * 1024;
/// Maximum size of a tool's input and output to pass on. The store keeps less.
const TOOL_LIMIT: usize = 8 * 1024;
/// Maximum length of the name of a tool, a model or a kind of update.
const NAME_LIMIT: usize = 200;
/// Maximum number of concurrent tool calls to remember. More are reported as they arrive.
const CALLS: usize = 256;
/// Millionths in a dollar.
const MICROS: f64 = 1_000_000.0;
/// Maximum plausible cost: a million dollars. More is a bug of the agent.
const COST_LIMIT: f64 = 1_000_000.0;

/// Updates about the agent's user interface, or about the user's messages.
const BESIDE: [&str; 6] = [
    "available_commands_update",
    "config_option_update",
    "current_mode_update",
    "session_info_update",
    "user_message_chunk",
    "usage_update",
];

/// Kind of the text that is being joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Voice {
    Speaks,
    Thinks,
}

/// A running tool call.
#[derive(Clone, Debug, Default)]
struct Call {
    name: String,
    title: String,
    kind: String,
    input: String,
    told: bool,
}

/// State of the updates so far.
pub(super) struct Hearing {
    voice: Option<(Voice, String)>,
    words: String,
    /// The last text, for an end that does not name a reason.
    last: String,
    calls: BTreeMap<String, Call>,
    tools: u64,
    model: Option<String>,
    cost: Option<u64>,
    cost_before: u64,
    goes_on: bool,
}

impl Hearing {
    /// Creates an empty state. `goes_on` says whether an earlier conversation is continued.
    pub(super) fn new(cost_before: u64, goes_on: bool) -> Self {
        Self {
            voice: None,
            words: String::new(),
            last: String::new(),
            calls: BTreeMap::new(),
            tools: 0,
            model: None,
            cost: None,
            cost_before,
            goes_on,
        }
    }

    /// Reads the model of the session.
    pub(super) fn session(&mut self, session: &Value) {
        self.model = text(session.pointer("/models/currentModelId"), NAME_LIMIT);
    }

    /// Handles a `session/update`.
    pub(super) fn update(&mut self, update: &Value, said: &mut Vec<AgentEvent>) {
        match update.get("sessionUpdate").and_then(Value::as_str).unwrap_or_default() {
            "agent_message_chunk" => self.chunk(Voice::Speaks, update, said),
            "agent_thought_chunk" => self.chunk(Voice::Thinks, update, said),
            "tool_call" | "tool_call_update" => self.tool(update, said),
            "plan" => {
                self.flush(said);
                said.extend(plan(update).map(|text| AgentEvent::Thinking { text }));
            }
            kind if BESIDE.contains(&kind) => self.usage_update(update),
            kind => {
                let kind = if kind.is_empty() { "session/update" } else { kind };
                said.push(AgentEvent::Unknown { kind: shorten(kind, NAME_LIMIT) });
            }
        }
    }

    /// Handles a tool for which the agent asks permission. Returns its name and its kind.
    pub(super) fn asked(&mut self, call: &Value, said: &mut Vec<AgentEvent>) -> (String, String) {
        self.flush(said);
        let (_, mut known) = self.known(call);
        self.tell(&mut known, said);
        let names = (name(&known), known.kind.clone());
        self.keep(call, known);
        names
    }

    /// Handles the end of the turn.
    pub(super) fn end(&mut self, end: &Value, now: Timestamp, said: &mut Vec<AgentEvent>) -> Over {
        self.flush(said);
        self.spent(Some(end), said);
        let reason = end.get("stopReason").and_then(Value::as_str).unwrap_or_default();
        // An agent that reports usage but used nothing got no answer from its model.
        let unanswered = end.get("usage").is_some_and(Value::is_null) && self.tools == 0;
        let fault = match reason {
            "end_turn" if unanswered => {
                let (said_so, text) = errors::of_words(&self.last, now);
                said.push(said_so);
                said.push(AgentEvent::End { ok: false, text });
                return Over::Badly;
            }
            "end_turn" => {
                said.push(AgentEvent::End { ok: true, text: String::new() });
                return Over::Well;
            }
            "cancelled" => {
                said.push(AgentEvent::End { ok: false, text: "cancelled".to_owned() });
                return Over::Badly;
            }
            "max_turn_requests" => (Fault::Turns, "the agent's own limit".to_owned()),
            "max_tokens" => (Fault::Other, "the model's answer was longer than it may be".to_owned()),
            "refusal" => (Fault::Refused, shorten(&self.last, NAME_LIMIT)),
            other => (Fault::Other, format!("the agent ended with `{}`", shorten(other, NAME_LIMIT))),
        };
        said.push(AgentEvent::Fault { fault: fault.0, text: fault.1.clone(), again: false });
        said.push(AgentEvent::End { ok: false, text: fault.1 });
        Over::Badly
    }

    /// Reports the joined text as one message.
    pub(super) fn flush(&mut self, said: &mut Vec<AgentEvent>) {
        let Some((voice, _)) = self.voice.take() else { return };
        let text = std::mem::take(&mut self.words);
        if text.trim().is_empty() {
            return;
        }
        match voice {
            Voice::Speaks => {
                self.last = shorten(text.trim(), TOOL_LIMIT);
                said.push(AgentEvent::Text { text });
            }
            Voice::Thinks => said.push(AgentEvent::Thinking { text }),
        }
    }

    /// Reports usage, as far as the answer to the prompt contains it.
    pub(super) fn spent(&mut self, end: Option<&Value>, said: &mut Vec<AgentEvent>) {
        let mut all = end.map(|end| usage(end, self.goes_on)).unwrap_or_default();
        let cost = self.cost.map(|cost| cost.saturating_sub(self.cost_before));
        if all.is_empty() && cost.is_some_and(|cost| cost > 0) {
            all.push(Usage::default());
        }
        if let Some(last) = all.last_mut() {
            last.cost_micros = cost;
        }
        for mut usage in all {
            usage.model = usage.model.or_else(|| self.model.clone());
            said.push(AgentEvent::Usage(usage));
        }
    }

    fn chunk(&mut self, voice: Voice, update: &Value, said: &mut Vec<AgentEvent>) {
        let content = update.get("content").unwrap_or(&Value::Null);
        let Some(words) = content.get("text").and_then(Value::as_str) else { return };
        let message = text(update.get("messageId"), NAME_LIMIT).unwrap_or_default();
        if self.voice.as_ref().is_none_or(|(of, id)| *of != voice || *id != message) {
            self.flush(said);
            self.voice = Some((voice, message));
        }
        self.words.push_str(words);
        if self.words.len() > MESSAGE_LIMIT {
            self.words = shorten(&self.words, MESSAGE_LIMIT);
            self.flush(said);
        }
    }

    fn tool(&mut self, update: &Value, said: &mut Vec<AgentEvent>) {
        self.flush(said);
        let (status, mut call) = self.known(update);
        // Before that, its input may still arrive in pieces.
        if !["", "pending"].contains(&status) {
            self.tell(&mut call, said);
        }
        let ok = match status {
            "completed" => true,
            "failed" => false,
            _ => return self.keep(update, call),
        };
        if let Some(id) = update.get("toolCallId").and_then(Value::as_str) {
            self.calls.remove(id);
        }
        said.push(AgentEvent::ToolResult { ok, text: output(update) });
    }

    /// Returns what is known about a call after this message, and its status.
    fn known<'a>(&self, update: &'a Value) -> (&'a str, Call) {
        let id = update.get("toolCallId").and_then(Value::as_str).unwrap_or_default();
        let mut call = self.calls.get(id).cloned().unwrap_or_default();
        let named = text(update.get("name"), NAME_LIMIT)
            .or_else(|| text(update.pointer("/_meta/claudeCode/toolName"), NAME_LIMIT));
        call.name = named.unwrap_or(call.name);
        call.title = text(update.get("title"), TOOL_LIMIT).unwrap_or(call.title);
        call.kind = text(update.get("kind"), NAME_LIMIT).unwrap_or(call.kind);
        let input =
            update.get("rawInput").filter(|input| input.as_object().is_some_and(|map| !map.is_empty()));
        call.input = input.map_or(call.input, |input| shorten(&input.to_string(), TOOL_LIMIT));
        (update.get("status").and_then(Value::as_str).unwrap_or_default(), call)
    }

    fn keep(&mut self, update: &Value, call: Call) {
        let id = update.get("toolCallId").and_then(Value::as_str).unwrap_or_default();
        if self.calls.len() < CALLS || self.calls.contains_key(id) {
            self.calls.insert(shorten(id, NAME_LIMIT), call);
        }
    }

    fn tell(&mut self, call: &mut Call, said: &mut Vec<AgentEvent>) {
        if std::mem::replace(&mut call.told, true) {
            return;
        }
        self.tools += 1;
        let input = if call.input.is_empty() { call.title.clone() } else { call.input.clone() };
        said.push(AgentEvent::ToolUse { name: name(call), input });
    }

    fn usage_update(&mut self, update: &Value) {
        if let Some(model) = text(update.pointer("/_meta/_claude~1model"), NAME_LIMIT) {
            self.model = Some(model);
        }
        let cost = update.get("cost").filter(|cost| cost.get("currency").is_none_or(|unit| unit == "USD"));
        let amount = cost.and_then(|cost| cost.get("amount")).and_then(Value::as_f64);
        if let Some(amount) = amount.filter(|amount| (0.0..COST_LIMIT).contains(amount)) {
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "bounded in the line above"
            )]
            let micros = (amount * MICROS).round() as u64;
            self.cost = Some(micros);
        }
    }
}

fn name(call: &Call) -> String {
    // The kind "other" says little, so use the title.
    let kind = if call.kind == "other" { &call.title } else { &call.kind };
    [&call.name, kind, &call.title].into_iter().find(|name| !name.is_empty()).cloned().unwrap_or_default()
}

fn text(value: Option<&Value>, limit: usize) -> Option<String> {
    value?.as_str().filter(|text| !text.is_empty()).map(|text| shorten(text, limit))
}

/// Returns the output of a tool as text.
fn output(update: &Value) -> String {
    let parts = update.get("content").and_then(Value::as_array).into_iter().flatten();
    let texts: Vec<&str> = parts.filter_map(|part| part.pointer("/content/text")?.as_str()).collect();
    if !texts.is_empty() {
        return shorten(&texts.join("\n"), TOOL_LIMIT);
    }
    let Some(raw) = update.get("rawOutput").filter(|raw| !raw.is_null()) else { return String::new() };
    match raw.as_str().or_else(|| raw.get("output")?.as_str()) {
        Some(words) => shorten(words, TOOL_LIMIT),
        None => shorten(&raw.to_string(), TOOL_LIMIT),
    }
}

fn plan(update: &Value) -> Option<String> {
    let entries = update.get("entries").and_then(Value::as_array)?;
    let line = |entry: &Value| {
        let status = entry.get("status").and_then(Value::as_str).unwrap_or("pending");
        Some(format!("- {} ({})", entry.get("content")?.as_str()?, shorten(status, NAME_LIMIT)))
    };
    let lines: Vec<String> = entries.iter().filter_map(line).collect();
    (!lines.is_empty()).then(|| shorten(&lines.join("\n"), TOOL_LIMIT))
}

/// Returns the usage of a turn: by model if the agent reports that, which includes subagents, otherwise as one sum.
/// Usage by model may be the sum of the process, so it is used only if the conversation started here.
fn usage(end: &Value, goes_on: bool) -> Vec<Usage> {
    let quota = |key: &str| end.pointer(&format!("/_meta/quota/{key}")).filter(|value| !value.is_null());
    let by_model: Vec<Usage> = quota("model_usage")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|one| {
            let model = text(one.get("model"), NAME_LIMIT);
            Some(Usage { model, ..counts(one.get("token_count")?) })
        })
        .filter(|usage| usage.tokens() > 0)
        .take(CALLS)
        .collect();
    if !by_model.is_empty() && !goes_on {
        return by_model;
    }
    let sum = end.get("usage").filter(|usage| usage.is_object()).or_else(|| quota("token_count")).map(counts);
    let model = if let [only] = by_model.as_slice() { only.model.clone() } else { None };
    sum.filter(|usage| !usage.is_empty()).map(|usage| Usage { model, ..usage }).into_iter().collect()
}

/// Reads token counts by the names that agents use. Input excludes cached tokens, except for Gemini, which does not
/// report how many were cached.
fn counts(value: &Value) -> Usage {
    let count = |names: &[&str]| names.iter().find_map(|name| value.get(name)?.as_u64()).unwrap_or(0);
    Usage {
        input: count(&["inputTokens", "input_tokens"]),
        output: count(&["outputTokens", "output_tokens"]),
        cache_read: count(&["cachedReadTokens", "cachedInputTokens"]),
        cache_write_5m: count(&["cachedWriteTokens", "cacheWriteInputTokens"]),
        ..Usage::default()
    }
}
