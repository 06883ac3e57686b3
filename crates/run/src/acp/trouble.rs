//! What is wrong between an agent and its model, from an error of the protocol: its number, the kind that some agents name, its words.

use acquit_core::agent::{Fault, Said, shorten};
use serde_json::Value;

/// The protocol's own number for "log in first".
const AUTH_REQUIRED: i64 = -32_000;
/// So much of the words is kept.
const TEXT_LIMIT: usize = 2_000;

/// Words by which agents tell what is wrong, in the order in which they are looked for. All in lower case.
const WORDS: [(&str, Fault); 21] = [
    ("credit balance", Fault::Billing),
    ("insufficient_quota", Fault::Billing),
    ("billing", Fault::Billing),
    ("prompt is too long", Fault::TooLong),
    ("context length", Fault::TooLong),
    ("context window", Fault::TooLong),
    ("api key", Fault::Login),
    ("x-api-key", Fault::Login),
    ("authentication", Fault::Login),
    ("unauthorized", Fault::Login),
    ("not logged in", Fault::Login),
    ("model not found", Fault::Model),
    ("overloaded", Fault::Overloaded),
    ("high demand", Fault::Overloaded),
    ("rate limit", Fault::Overloaded),
    ("too many requests", Fault::Overloaded),
    ("(429)", Fault::Overloaded),
    ("connection", Fault::Network),
    ("econn", Fault::Network),
    ("fetch failed", Fault::Network),
    ("server error", Fault::Server),
];

/// Words of a subscription that is used up for now.
const LIMITS: [&str; 3] = ["usage limit", "hit your", "limit reached"];

/// What an error means, and its words.
pub(super) fn of(error: &Value) -> (Said, String) {
    let code = error.get("code").and_then(Value::as_i64).unwrap_or_default();
    let kind = error.pointer("/data/errorKind").and_then(Value::as_str).unwrap_or_default();
    let text = words(error.get("message").and_then(Value::as_str).unwrap_or_default());
    let text = if text.is_empty() { format!("error {code}") } else { text };
    if is_limit(&text) {
        return (Said::Limit { until: None, text: text.clone() }, text);
    }
    let by_number = match code {
        AUTH_REQUIRED | 401 | 403 => Some(Fault::Login),
        402 => Some(Fault::Billing),
        404 => Some(Fault::Model),
        413 => Some(Fault::TooLong),
        408 => Some(Fault::Network),
        429 | 503 | 529 => Some(Fault::Overloaded),
        500..=599 => Some(Fault::Server),
        _ => None,
    };
    let by_kind = match kind {
        "rate_limit" | "overloaded" => Some(Fault::Overloaded),
        "authentication_failed" | "authentication_error" => Some(Fault::Login),
        "billing_error" => Some(Fault::Billing),
        "max_output_tokens" => Some(Fault::Other),
        "server_error" => {
            Some(by_words(&text).filter(|fault| *fault == Fault::Network).unwrap_or(Fault::Server))
        }
        _ => None,
    };
    let fault = by_number.or(by_kind).or_else(|| by_words(&text)).unwrap_or(Fault::Other);
    (Said::Fault { fault, text: text.clone(), again: false }, text)
}

/// What words mean that an agent ended with instead of an error.
pub(super) fn of_words(text: &str) -> (Said, String) {
    // The newest paragraph: warnings come before it.
    let words = words(text.trim().rsplit("\n\n").next().unwrap_or_default());
    let text = if words.is_empty() { "the model gave no answer".to_owned() } else { words };
    if is_limit(&text) {
        return (Said::Limit { until: None, text: text.clone() }, text);
    }
    let fault = by_words(&text).unwrap_or(Fault::Server);
    (Said::Fault { fault, text: text.clone(), again: false }, text)
}

fn is_limit(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    LIMITS.iter().any(|word| text.contains(word))
}

fn by_words(text: &str) -> Option<Fault> {
    let text = text.to_ascii_lowercase();
    WORDS.iter().find(|(word, _)| text.contains(word)).map(|(_, fault)| *fault)
}

/// A message, or the message in it where it is the JSON of a provider.
fn words(message: &str) -> String {
    let inner = serde_json::from_str::<Value>(message).ok();
    let inner = inner.as_ref().and_then(|value| value.pointer("/error/message")?.as_str());
    shorten(inner.unwrap_or(message).trim(), TEXT_LIMIT)
}
