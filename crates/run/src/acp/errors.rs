//! Classifies protocol errors about an agent's model: by their code, the kind that some agents name, and the message.

use acquit_core::agent::{AgentEvent, Fault, shorten};
use acquit_core::time::Timestamp;
use serde_json::Value;

use crate::model_failure::{ModelFailure, Then, by_status, in_text, said};

/// The protocol's code for "log in first".
const AUTH_REQUIRED: i64 = -32_000;
/// Maximum length of a message to keep.
const TEXT_LIMIT: usize = 2_000;

/// Returns the meaning of an error, and its message.
pub(super) fn of(error: &Value, now: Timestamp) -> (AgentEvent, String) {
    let code = error.get("code").and_then(Value::as_i64).unwrap_or_default();
    let kind = error.pointer("/data/errorKind").and_then(Value::as_str).unwrap_or_default();
    let text = words(error.get("message").and_then(Value::as_str).unwrap_or_default());
    let text = if text.is_empty() { format!("error {code}") } else { text };
    let status = u16::try_from(code).ok().and_then(by_status);
    let trouble = match (code, kind) {
        (AUTH_REQUIRED, _) | (_, "authentication_failed") => ModelFailure::Fault(Fault::Login),
        (_, "rate_limit") => ModelFailure::Limit,
        (_, "max_output_tokens") => ModelFailure::Fault(Fault::Other),
        _ => status.unwrap_or_else(|| in_text(&text)),
    };
    (said(trouble, &text, Then::Ends, now), text)
}

/// Classifies a text that an agent printed at its end in place of an error, without an answer of its model.
pub(super) fn of_words(text: &str, now: Timestamp) -> (AgentEvent, String) {
    // Use the last paragraph: warnings come before it.
    let words = words(text.trim().rsplit("\n\n").next().unwrap_or_default());
    let text = if words.is_empty() { "the model gave no answer".to_owned() } else { words };
    let trouble = match in_text(&text) {
        ModelFailure::Fault(Fault::Other) => ModelFailure::Fault(Fault::Server),
        known => known,
    };
    (said(trouble, &text, Then::Ends, now), text)
}

/// Returns a message, or the inner message if it is a provider's JSON.
fn words(message: &str) -> String {
    let inner = serde_json::from_str::<Value>(message).ok();
    let inner = inner.as_ref().and_then(|value| value.pointer("/error/message")?.as_str());
    shorten(inner.unwrap_or(message).trim(), TEXT_LIMIT)
}
