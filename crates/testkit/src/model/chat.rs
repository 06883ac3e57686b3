//! OpenAI Chat Completions: `POST /v1/chat/completions`.

use serde_json::{Value, json};

use super::choose::{Asked, Tool, Turn};
use super::script::Stop;
use super::serve::{Spoken, event, halves, words};
use super::tools::Reply;

/// Parses a request.
pub(super) fn read(body: &Value) -> Asked {
    let mut asked =
        Asked { model: body["model"].as_str().unwrap_or_default().to_owned(), ..Asked::default() };
    for message in body["messages"].as_array().into_iter().flatten() {
        match message["role"].as_str() {
            Some("system" | "developer") => asked.system.push_str(&words(&message["content"])),
            Some("user") => asked.turns.push(Turn::User(words(&message["content"]))),
            Some("tool") => asked.turns.push(Turn::Result),
            Some("assistant") if message["tool_calls"].as_array().is_none_or(Vec::is_empty) => {
                asked.turns.push(Turn::Said);
            }
            _ => {}
        }
    }
    let tools = body["tools"].as_array().into_iter().flatten().filter_map(|entry| {
        let function = &entry["function"];
        let name = function["name"].as_str()?.to_owned();
        Some(Tool { name, namespace: None, schema: function["parameters"].clone() })
    });
    asked.tools = tools.collect();
    asked
}

/// Formats the answer as events.
pub(super) fn stream(reply: &Reply) -> Spoken {
    let chunk = |delta: Value, finish: Value| {
        let choices = json!([{"index": 0, "delta": delta, "finish_reason": finish}]);
        event(None, &frame(reply, "chat.completion.chunk", choices))
    };
    let mut events = vec![chunk(json!({"role": "assistant", "content": ""}), Value::Null)];
    let mut half = 1;
    if !reply.text.is_empty() {
        for piece in halves(&reply.text) {
            events.push(chunk(json!({"content": piece}), Value::Null));
            half = if half == 1 { events.len() } else { half };
        }
    }
    for (index, call) in calls(reply).into_iter().enumerate() {
        let arguments = call["function"]["arguments"].as_str().unwrap_or_default().to_owned();
        let mut opened = call;
        opened["index"] = json!(index);
        opened["function"]["arguments"] = json!("");
        events.push(chunk(json!({"tool_calls": [opened]}), Value::Null));
        for piece in halves(&arguments) {
            let more = json!({"index": index, "function": {"arguments": piece}});
            events.push(chunk(json!({"tool_calls": [more]}), Value::Null));
            half = if half == 1 { events.len() } else { half };
        }
    }
    events.push(chunk(json!({}), json!(finish(reply))));
    let mut last = frame(reply, "chat.completion.chunk", json!([]));
    last["usage"] = usage(reply);
    events.push(event(None, &last));
    events.push("data: [DONE]\n\n".to_owned());
    Spoken { events, half }
}

/// Formats the answer as one message.
pub(super) fn whole(reply: &Reply) -> Value {
    let content = if reply.text.is_empty() { Value::Null } else { json!(reply.text) };
    let mut message = json!({"role": "assistant", "content": content});
    if !reply.calls.is_empty() {
        message["tool_calls"] = json!(calls(reply));
    }
    let choices = json!([{"index": 0, "message": message, "finish_reason": finish(reply)}]);
    let mut whole = frame(reply, "chat.completion", choices);
    whole["usage"] = usage(reply);
    whole
}

fn frame(reply: &Reply, object: &str, choices: Value) -> Value {
    let id = format!("chatcmpl-{}", reply.number);
    json!({"id": id, "object": object, "created": 0, "model": reply.model, "choices": choices})
}

fn calls(reply: &Reply) -> Vec<Value> {
    let call = |(index, call): (usize, &super::tools::Named)| {
        json!({
            "id": format!("call_{}_{index}", reply.number), "type": "function",
            "function": {"name": call.tool, "arguments": call.arguments.to_string()},
        })
    };
    reply.calls.iter().enumerate().map(call).collect()
}

fn finish(reply: &Reply) -> &'static str {
    match (reply.stop, reply.calls.is_empty()) {
        (Stop::MaxTokens, _) => "length",
        (Stop::Refusal, _) => "content_filter",
        (Stop::End, true) => "stop",
        (Stop::End, false) => "tool_calls",
    }
}

fn usage(reply: &Reply) -> Value {
    let usage = reply.usage;
    let input = usage.input + usage.cache_read;
    json!({
        "prompt_tokens": input, "prompt_tokens_details": {"cached_tokens": usage.cache_read},
        "completion_tokens": usage.output, "total_tokens": input + usage.output,
    })
}

/// Formats an error as a body, for both OpenAI protocols.
pub(super) fn error(status: u16, kind: Option<&str>, message: &str) -> Value {
    let kind = kind.unwrap_or(match status {
        400 | 404 => "invalid_request_error",
        401 => "invalid_api_key",
        403 => "permission_denied",
        429 => "rate_limit_exceeded",
        _ => "server_error",
    });
    json!({"error": {"message": message, "type": kind, "code": kind, "param": null}})
}
