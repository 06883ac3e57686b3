//! Gemini: `POST /v1beta/models/<model>:streamGenerateContent` and `:generateContent`.

use serde_json::{Value, json};

use super::choose::{Asked, Tool, Turn};
use super::script::Stop;
use super::serve::{Spoken, event, words};
use super::tools::Reply;

/// Parses a request; the model is in its path.
pub(super) fn read(body: &Value, model: &str) -> Asked {
    let system = words(&body["systemInstruction"]["parts"]);
    let mut asked = Asked { system, model: model.to_owned(), ..Asked::default() };
    let mut seen = Vec::new();
    for content in body["contents"].as_array().into_iter().flatten() {
        let parts = content["parts"].as_array().map(Vec::as_slice).unwrap_or_default();
        if content["role"] == "model" {
            if parts.iter().all(|part| part.get("functionCall").is_none()) {
                asked.turns.push(Turn::Said);
            }
            continue;
        }
        for part in parts {
            if let Some(result) = part.get("functionResponse") {
                // The real agent sends the results of a resumed session twice.
                let id = result["id"].as_str().filter(|id| !id.is_empty());
                if id.is_none_or(|id| !seen.contains(&id)) {
                    asked.turns.push(Turn::Result);
                }
                seen.extend(id);
            } else if let Some(text) = part["text"].as_str() {
                asked.turns.push(Turn::User(text.to_owned()));
            }
        }
    }
    let groups = body["tools"].as_array().into_iter().flatten();
    let declared = groups.flat_map(|group| group["functionDeclarations"].as_array().into_iter().flatten());
    let tools = declared.filter_map(|entry| {
        let name = entry["name"].as_str()?.to_owned();
        let schema =
            entry.get("parametersJsonSchema").or(entry.get("parameters")).cloned().unwrap_or_default();
        Some(Tool { name, namespace: None, schema })
    });
    asked.tools = tools.collect();
    asked
}

/// Formats the answer as events.
pub(super) fn stream(reply: &Reply) -> Spoken {
    let mut events = Vec::new();
    let (first, second) = reply.text.split_at(reply.text.floor_char_boundary(reply.text.len() / 2));
    if !first.is_empty() {
        events.push(event(None, &response(reply, vec![json!({"text": first})], None)));
    }
    // The end of the text, the calls and the finish reason come together, as in the real API.
    let mut parts = Vec::new();
    if !second.is_empty() {
        parts.push(json!({"text": second}));
    }
    parts.extend(calls(reply));
    let half = events.len();
    events.push(event(None, &response(reply, parts, Some(finish(reply)))));
    Spoken { events, half }
}

/// Formats the answer as one message.
pub(super) fn whole(reply: &Reply) -> Value {
    let text = (!reply.text.is_empty()).then(|| json!({"text": reply.text}));
    response(reply, text.into_iter().chain(calls(reply)).collect(), Some(finish(reply)))
}

fn calls(reply: &Reply) -> impl Iterator<Item = Value> {
    reply.calls.iter().map(|call| json!({"functionCall": {"name": call.tool, "args": call.arguments}}))
}

fn finish(reply: &Reply) -> &'static str {
    match reply.stop {
        Stop::End => "STOP",
        Stop::MaxTokens => "MAX_TOKENS",
        Stop::Refusal => "SAFETY",
    }
}

fn response(reply: &Reply, parts: Vec<Value>, finish: Option<&str>) -> Value {
    let mut candidate = json!({"index": 0, "content": {"role": "model", "parts": parts}});
    if let Some(finish) = finish {
        candidate["finishReason"] = json!(finish);
    }
    let usage = reply.usage;
    let input = usage.input + usage.cache_read;
    json!({
        "responseId": format!("answer-{}", reply.number), "modelVersion": reply.model, "candidates": [candidate],
        "usageMetadata": {
            "promptTokenCount": input, "cachedContentTokenCount": usage.cache_read,
            "candidatesTokenCount": usage.output, "totalTokenCount": input + usage.output,
        },
    })
}

/// Formats an error as a body.
pub(super) fn error(status: u16, kind: Option<&str>, message: &str) -> Value {
    let kind = kind.unwrap_or(match status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 | 529 => "UNAVAILABLE",
        _ => "INTERNAL",
    });
    json!({"error": {"code": status, "message": message, "status": kind}})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_that_is_sent_twice_counts_once() {
        let result = |id: &str| json!({"functionResponse": {"id": id, "name": "write_file", "response": {}}});
        let contents = json!([
            {"role": "user", "parts": [{"text": "[[edit]]"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "write_file"}}]},
            {"role": "user", "parts": [result("a"), result("a"), result("b"), result(""), result("")]},
        ]);
        let asked = read(&json!({"contents": contents}), "m");
        let results = asked.turns.iter().filter(|turn| **turn == Turn::Result).count();
        assert_eq!(results, 4, "two by their ids, and two that have none");
    }
}
