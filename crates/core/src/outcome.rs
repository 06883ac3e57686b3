//! Outcomes: how a stage ended, as reported by the agent. The data is untrusted, so every input is bounded and checked,
//! and every error has its own message.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::Name;
use crate::json_schema;
use crate::mode::Mode;
use crate::workflow::Transition;
pub use crate::workflow::outcomes::{CHANGES_REQUESTED, DONE, FAILED, NEEDS_INPUT, PASSED, REJECTED};

/// Maximum size of a payload. The findings of a long review fit; a pasted log does not.
pub const PAYLOAD_LIMIT: usize = 256 * 1024;

const MARKER_BEGIN: &str = "<<<OUTCOME:";
const MARKER_NAME_END: &str = ">>>";
const MARKER_END: &str = "<<<END_PAYLOAD>>>";

/// The outcome of a stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Name of the outcome.
    pub name: Name,
    /// Data of the outcome; always a JSON object.
    pub payload: Value,
    /// How it was reported.
    pub source: Source,
}

impl Outcome {
    /// Returns the first line of the payload's `summary`, shortened. Every built-in schema has this field.
    pub fn summary(&self) -> Option<String> {
        let text = self.payload.get("summary")?.as_str()?;
        Some(crate::agent::shorten(text.lines().next().unwrap_or(""), 200))
    }
}

/// How an outcome was reported, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Through the tool `report_outcome` of acquit's server, which checked it while the agent was still working.
    Tool,
    /// As structured output.
    Structured,
    /// In the handoff file.
    HandoffFile,
    /// Between markers in the last message.
    Marker,
    /// Not reported; inferred from the mode and the agent's work.
    Inferred,
    /// By the harness, for stages without an agent.
    Harness,
}

/// Why a report is not a valid outcome. The messages go to the next agent, so they explain how to do it right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// Invalid or truncated JSON.
    #[error("the {place} is not valid JSON: {reason}")]
    Json {
        /// Where it was found.
        place: &'static str,
        /// The parser's error.
        reason: String,
    },
    /// JSON, but not `{"outcome": …, "payload": {…}}`.
    #[error("the {place} must be a JSON object with `outcome` (a name) and `payload` (an object): {reason}")]
    Shape {
        /// Where it was found.
        place: &'static str,
        /// The problem.
        reason: String,
    },
    /// The stage has no such outcome.
    #[error("`{name}` is not an outcome of this stage; it can be: {allowed}")]
    Unknown {
        /// The reported name, bounded.
        name: String,
        /// The allowed names.
        allowed: String,
    },
    /// The payload does not match its schema.
    #[error("the payload of `{name}` does not fit its schema: {reasons}")]
    Schema {
        /// Name of the outcome.
        name: Name,
        /// Each mismatch with its location.
        reasons: String,
    },
    /// Too large for a report.
    #[error("the {place} has {size} bytes; {PAYLOAD_LIMIT} are allowed")]
    TooLarge {
        /// Where it was found.
        place: &'static str,
        /// Size in bytes.
        size: u64,
    },
    /// A marker without an end.
    #[error("the last message has {MARKER_BEGIN}…{MARKER_NAME_END} without {MARKER_END}")]
    Unclosed,
    /// A review, plan or investigation ended without an outcome.
    #[error("the agent ended without an outcome; silence is not an answer here")]
    Silence,
}

/// The format of the handoff file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Handoff {
    outcome: Option<String>,
    #[serde(default)]
    payload: Option<Value>,
}

/// Returns the initial handoff file: a stub that tells the agent how to fill it in.
pub fn stub(outcomes: &BTreeMap<Name, Transition>) -> String {
    let names: Vec<&str> = outcomes.keys().map(Name::as_str).collect();
    let hint = format!("set outcome to one of: {}", names.join(", "));
    format!("{:#}\n", serde_json::json!({ "outcome": null, "payload": { "summary": hint } }))
}

/// Returns the JSON Schema of a report, for agents that support structured output. It is strict, as providers require:
/// every object is closed, so that an outcome without its own schema has a payload with only a summary.
pub fn form(outcomes: &BTreeMap<Name, Transition>) -> Value {
    let everywhere = [NEEDS_INPUT, FAILED].into_iter().filter(|name| !outcomes.contains_key(*name));
    let names: Vec<&str> = outcomes.keys().map(Name::as_str).chain(everywhere).collect();
    let text = |about: &str| serde_json::json!({ "type": "string", "description": about });
    let closed = |key: &str, about: &str| {
        serde_json::json!({
            "type": "object", "properties": { key: text(about) }, "required": [key], "additionalProperties": false,
        })
    };
    let mut payloads = vec![closed("summary", "what you did and why, in one or two sentences")];
    if !outcomes.contains_key(NEEDS_INPUT) {
        payloads.push(closed("question", "what a person must answer, for needs_input"));
    }
    for schema in outcomes.values().filter_map(|transition| transition.schema.as_ref()) {
        if !payloads.contains(schema) {
            payloads.push(schema.clone());
        }
    }
    serde_json::json!({
        "type": "object",
        "properties": { "outcome": { "type": "string", "enum": names }, "payload": { "anyOf": payloads } },
        "required": ["outcome", "payload"],
        "additionalProperties": false,
    })
}

/// Parses a handoff file. Returns `None` if the agent left the stub unchanged or emptied it.
pub fn from_handoff(text: &str) -> Result<Option<Outcome>, Wrong> {
    from_text("handoff file", text, Source::HandoffFile)
}

/// Parses the file that the tool server wrote. The server checked it, but the agent can write to the file.
pub fn from_tool(text: &str) -> Result<Option<Outcome>, Wrong> {
    from_text("report file", text, Source::Tool)
}

/// Parses an agent's structured output. Returns `None` if it names no outcome.
pub fn from_structured(value: &Value) -> Result<Option<Outcome>, Wrong> {
    const PLACE: &str = "structured output";
    check_size(PLACE, &value.to_string())?;
    from_value(PLACE, value.clone(), Source::Structured)
}

fn from_text(place: &'static str, text: &str, source: Source) -> Result<Option<Outcome>, Wrong> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    check_size(place, text)?;
    let value: Value =
        serde_json::from_str(text).map_err(|error| Wrong::Json { place, reason: error.to_string() })?;
    from_value(place, value, source)
}

fn from_value(place: &'static str, value: Value, source: Source) -> Result<Option<Outcome>, Wrong> {
    if !value.is_object() {
        // Check here, because serde would accept an array for a struct.
        return Err(Wrong::Shape { place, reason: "it is not an object".to_owned() });
    }
    let handoff: Handoff =
        serde_json::from_value(value).map_err(|error| Wrong::Shape { place, reason: error.to_string() })?;
    let Some(name) = handoff.outcome else { return Ok(None) };
    build(place, &name, handoff.payload, source).map(Some)
}

/// Parses `<<<OUTCOME:name>>>` JSON `<<<END_PAYLOAD>>>` from a message. The last marker counts, even if it is broken.
/// Returns `None` without one.
///
/// Markers inside a payload belong to that payload: a review that quotes a hostile file must not report an outcome from
/// that file.
pub fn from_markers(message: &str) -> Result<Option<Outcome>, Wrong> {
    let mut last = Ok(None);
    let mut rest = message;
    while let Some((_, after)) = rest.split_once(MARKER_BEGIN) {
        let found;
        (found, rest) = marked(after);
        last = found.map(Some);
    }
    last
}

/// Parses the text after the start of a marker. Returns the result and the text in which to look for the next marker.
fn marked(text: &str) -> (Result<Outcome, Wrong>, &str) {
    const PLACE: &str = "payload between the outcome markers";
    let Some((name, body)) = text.split_once(MARKER_NAME_END) else { return (Err(Wrong::Unclosed), "") };
    let body = body.trim_start();
    if let Some(rest) = body.strip_prefix(MARKER_END) {
        return (build(PLACE, name.trim(), None, Source::Marker), rest);
    }
    let mut values = serde_json::Deserializer::from_str(body).into_iter::<Value>();
    let value = values.next();
    let (json, after) = body.split_at(values.byte_offset());
    let reason = match value {
        Some(Ok(payload)) => match after.trim_start().strip_prefix(MARKER_END) {
            Some(rest) => {
                let payload = check_size(PLACE, json).map(|()| payload);
                let outcome =
                    payload.and_then(|payload| build(PLACE, name.trim(), Some(payload), Source::Marker));
                return (outcome, rest);
            }
            None => "something else follows the payload".to_owned(),
        },
        Some(Err(error)) => error.to_string(),
        None => "it is empty".to_owned(),
    };
    // Skip a broken payload as a whole, but not a marker that a sentence merely mentions.
    let meant = body.starts_with(['{', '[']);
    let reach = if meant { body } else { body.split(MARKER_BEGIN).next().unwrap_or(body) };
    match reach.split_once(MARKER_END) {
        Some((_, rest)) => (Err(Wrong::Json { place: PLACE, reason }), if meant { rest } else { body }),
        None => (Err(Wrong::Unclosed), if meant { "" } else { body }),
    }
}

/// Infers the outcome from the mode and the agent's work. A review is never inferred: silence is not approval.
pub fn infer(mode: Mode, left: &Left, outcomes: &BTreeMap<Name, Transition>) -> Option<Outcome> {
    let there = if mode.writes() { left.commits } else { left.plan };
    let name = mode.success().filter(|_| there)?;
    let (name, _) = outcomes.get_key_value(name)?;
    Some(Outcome {
        name: name.clone(),
        payload: Value::Object(serde_json::Map::new()),
        source: Source::Inferred,
    })
}

/// What inference needs to know about an agent's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// Its output folder contains a plan.
    pub plan: bool,
    /// It changed the repository.
    pub commits: bool,
}

/// Checks an outcome against those the stage allows. [`NEEDS_INPUT`] and [`FAILED`] are allowed everywhere.
pub fn check(outcome: &Outcome, allowed: &BTreeMap<Name, Transition>) -> Result<(), Wrong> {
    let everywhere = [NEEDS_INPUT, FAILED].contains(&outcome.name.as_str());
    match allowed.get(&outcome.name) {
        Some(Transition { schema: Some(schema), .. }) => fits(schema, outcome),
        Some(Transition { schema: None, .. }) => Ok(()),
        None if everywhere => Ok(()),
        None => Err(unknown(outcome.name.as_str(), allowed)),
    }
}

fn unknown(name: &str, allowed: &BTreeMap<Name, Transition>) -> Wrong {
    let everywhere = [NEEDS_INPUT, FAILED].into_iter().filter(|name| !allowed.contains_key(*name));
    let names: Vec<&str> = allowed.keys().map(Name::as_str).chain(everywhere).collect();
    Wrong::Unknown { name: crate::agent::shorten(name, 60), allowed: names.join(", ") }
}

fn fits(schema: &Value, outcome: &Outcome) -> Result<(), Wrong> {
    let reasons = json_schema::mistakes(schema, &outcome.payload);
    if reasons.is_empty() {
        return Ok(());
    }
    Err(Wrong::Schema { name: outcome.name.clone(), reasons: reasons.join("; ") })
}

fn check_size(place: &'static str, text: &str) -> Result<(), Wrong> {
    if text.len() > PAYLOAD_LIMIT {
        return Err(Wrong::TooLarge { place, size: text.len() as u64 });
    }
    Ok(())
}

fn build(place: &'static str, name: &str, payload: Option<Value>, source: Source) -> Result<Outcome, Wrong> {
    let name = name.parse::<Name>().map_err(|error| Wrong::Shape { place, reason: error.to_string() })?;
    let payload = payload.unwrap_or_else(|| Value::Object(serde_json::Map::new()));
    if !payload.is_object() {
        return Err(Wrong::Shape { place, reason: "`payload` is not an object".to_owned() });
    }
    Ok(Outcome { name, payload, source })
}
