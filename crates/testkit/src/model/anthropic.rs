//! Anthropic Messages: `POST /v1/messages`.

use serde_json::{Value, json};

use super::choose::{Asked, Tool, Turn};
use super::script::Stop;
use super::serve::{Spoken, event, halves};
use super::tools::Reply;

/// Parses a request.
pub(super) fn read(body: &Value) -> Asked {
    let mut asked = Asked {
        system: body["system"].to_string(),
        model: body["model"].as_str().unwrap_or_default().to_owned(),
        ..Asked::default()
    };
    for message in body["messages"].as_array().into_iter().flatten() {
        let blocks = match &message["content"] {
            Value::String(text) => vec![json!({"type": "text", "text": text})],
            other => other.as_array().cloned().unwrap_or_default(),
        };
        if message["role"] == "assistant" {
            if blocks.iter().all(|block| block["type"] != "tool_use") {
                asked.turns.push(Turn::Said);
            }
            continue;
        }
        // A result comes before the text that the agent program adds to it.
        for block in &blocks {
            match block["type"].as_str() {
                Some("tool_result") => asked.turns.push(Turn::Result),
                Some("text") => {
                    asked.turns.push(Turn::User(block["text"].as_str().unwrap_or_default().to_owned()));
                }
                _ => {}
            }
        }
    }
    let tools = body["tools"].as_array().into_iter().flatten().filter_map(|tool| {
        let name = tool["name"].as_str()?.to_owned();
        Some(Tool { name, namespace: None, schema: tool["input_schema"].clone() })
    });
    asked.tools = tools.collect();
    asked
}

/// Formats the answer as events.
pub(super) fn stream(reply: &Reply) -> Spoken {
    let mut message = message(reply);
    let blocks = message["content"].take();
    message["content"] = json!([]);
    message["stop_reason"] = Value::Null;
    message["usage"]["output_tokens"] = json!(1);
    let send = |name: &str, mut data: Value| {
        data["type"] = json!(name);
        event(Some(name), &data)
    };
    let mut events = vec![send("message_start", json!({"message": message}))];
    let mut half = 1;
    for (index, mut block) in blocks.as_array().cloned().unwrap_or_default().into_iter().enumerate() {
        let deltas = if block["type"] == "text" {
            let text = block["text"].take();
            block["text"] = json!("");
            let piece = |text: &str| json!({"type": "text_delta", "text": text});
            halves(text.as_str().unwrap_or_default()).map(piece)
        } else {
            let input = block["input"].take().to_string();
            block["input"] = json!({});
            halves(&input).map(|piece| json!({"type": "input_json_delta", "partial_json": piece}))
        };
        events.push(send("content_block_start", json!({"index": index, "content_block": block})));
        for delta in deltas {
            events.push(send("content_block_delta", json!({"index": index, "delta": delta})));
            if half == 1 {
                half = events.len();
            }
        }
        events.push(send("content_block_stop", json!({"index": index})));
    }
    let usage = json!({"output_tokens": reply.usage.output});
    let delta = json!({"stop_reason": stop_reason(reply), "stop_sequence": null});
    events.push(send("message_delta", json!({"delta": delta, "usage": usage})));
    events.push(send("message_stop", json!({})));
    Spoken { events, half }
}

/// Formats the answer as one message; also the first message of a stream.
pub(super) fn message(reply: &Reply) -> Value {
    let mut content = Vec::new();
    if !reply.text.is_empty() {
        content.push(json!({"type": "text", "text": reply.text}));
    }
    for (index, call) in reply.calls.iter().enumerate() {
        let id = format!("toolu_{}_{index}", reply.number);
        content.push(json!({"type": "tool_use", "id": id, "name": call.tool, "input": call.arguments}));
    }
    json!({
        "id": format!("msg_{}", reply.number), "type": "message", "role": "assistant", "model": reply.model,
        "content": content, "stop_reason": stop_reason(reply), "stop_sequence": null,
        "usage": {
            "input_tokens": reply.usage.input, "output_tokens": reply.usage.output,
            "cache_read_input_tokens": reply.usage.cache_read,
            "cache_creation_input_tokens": reply.usage.cache_write,
            "cache_creation": {
                "ephemeral_5m_input_tokens": reply.usage.cache_write, "ephemeral_1h_input_tokens": 0,
            },
        },
    })
}

fn stop_reason(reply: &Reply) -> &'static str {
    match (reply.stop, reply.calls.is_empty()) {
        (Stop::MaxTokens, _) => "max_tokens",
        (Stop::Refusal, _) => "refusal",
        (Stop::End, true) => "end_turn",
        (Stop::End, false) => "tool_use",
    }
}

/// Formats an error as a body, which is also the data of an error event.
pub(super) fn error(status: u16, kind: Option<&str>, message: &str) -> Value {
    let kind = kind.unwrap_or(match status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        _ => "api_error",
    });
    json!({"type": "error", "error": {"type": kind, "message": message}})
}
