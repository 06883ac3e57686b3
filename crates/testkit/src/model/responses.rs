//! OpenAI Responses: `POST /v1/responses`.

use serde_json::{Value, json};

use super::choose::{Asked, Tool, Turn};
use super::script::Stop;
use super::serve::{Spoken, event, halves, words};
use super::tools::Reply;

/// Parses a request.
pub(super) fn read(body: &Value) -> Asked {
    let mut asked = Asked {
        system: body["instructions"].as_str().unwrap_or_default().to_owned(),
        model: body["model"].as_str().unwrap_or_default().to_owned(),
        ..Asked::default()
    };
    if let Value::String(text) = &body["input"] {
        asked.turns.push(Turn::User(text.clone()));
    }
    for item in body["input"].as_array().into_iter().flatten() {
        match item["type"].as_str().unwrap_or("message") {
            "message" => match item["role"].as_str() {
                Some("user") => asked.turns.push(Turn::User(words(&item["content"]))),
                Some("assistant") => asked.turns.push(Turn::Said),
                _ => {}
            },
            kind if kind.ends_with("_call_output") => asked.turns.push(Turn::Result),
            _ => {}
        }
    }
    for entry in body["tools"].as_array().into_iter().flatten() {
        let inside = entry["tools"].as_array().map(|tools| (entry["name"].as_str(), tools));
        match inside {
            Some((group, tools)) => asked.tools.extend(tools.iter().filter_map(|it| tool(it, group))),
            None => asked.tools.extend(tool(entry, None)),
        }
    }
    asked
}

fn tool(entry: &Value, namespace: Option<&str>) -> Option<Tool> {
    (entry["type"] == "function").then_some(())?;
    let name = entry["name"].as_str()?.to_owned();
    Some(Tool { name, namespace: namespace.map(str::to_owned), schema: entry["parameters"].clone() })
}

/// Formats the answer as events.
pub(super) fn stream(reply: &Reply) -> Spoken {
    let whole = whole(reply);
    let mut begun = whole.clone();
    begun["status"] = json!("in_progress");
    begun["output"] = json!([]);
    begun["usage"] = Value::Null;
    let mut events = Vec::new();
    let mut send = |name: &str, mut data: Value| {
        data["type"] = json!(name);
        data["sequence_number"] = json!(events.len());
        events.push(event(Some(name), &data));
        events.len()
    };
    let mut half = send("response.created", json!({"response": begun}));
    for (index, item) in whole["output"].as_array().into_iter().flatten().enumerate() {
        let mut opened = item.clone();
        opened["status"] = json!("in_progress");
        match item["type"].as_str() {
            Some("message") => opened["content"] = json!([]),
            _ => opened["arguments"] = json!(""),
        }
        send("response.output_item.added", json!({"output_index": index, "item": opened}));
        let at = json!({"item_id": item["id"], "output_index": index, "content_index": 0});
        let with = |name: &str, value: Value| {
            let mut data = at.clone();
            data[name] = value;
            data
        };
        match item["content"].get(0) {
            Some(part) => {
                send("response.content_part.added", with("part", json!({"type": part["type"], "text": ""})));
                let (kind, text) = match part["type"].as_str() {
                    Some("refusal") => ("refusal", &part["refusal"]),
                    _ => ("output_text", &part["text"]),
                };
                for piece in halves(text.as_str().unwrap_or_default()) {
                    let sent = send(&format!("response.{kind}.delta"), with("delta", json!(piece)));
                    half = if half == 1 { sent } else { half };
                }
                send("response.content_part.done", with("part", part.clone()));
            }
            None => {
                for piece in halves(item["arguments"].as_str().unwrap_or_default()) {
                    let sent = send("response.function_call_arguments.delta", with("delta", json!(piece)));
                    half = if half == 1 { sent } else { half };
                }
            }
        }
        send("response.output_item.done", json!({"output_index": index, "item": item}));
    }
    let last = match reply.stop {
        Stop::MaxTokens => "response.incomplete",
        Stop::End | Stop::Refusal => "response.completed",
    };
    send(last, json!({"response": whole}));
    Spoken { events, half }
}

/// Formats the answer as one message.
pub(super) fn whole(reply: &Reply) -> Value {
    let number = reply.number;
    let mut output = Vec::new();
    if !reply.text.is_empty() {
        let part = match reply.stop {
            Stop::Refusal => json!({"type": "refusal", "refusal": reply.text}),
            Stop::End | Stop::MaxTokens => {
                json!({"type": "output_text", "text": reply.text, "annotations": []})
            }
        };
        output.push(json!({
            "type": "message", "id": format!("msg_{number}"), "role": "assistant", "status": "completed",
            "content": [part],
        }));
    }
    for (index, call) in reply.calls.iter().enumerate() {
        let mut item = json!({
            "type": "function_call", "id": format!("fc_{number}_{index}"), "call_id": format!("call_{number}_{index}"),
            "name": call.tool, "arguments": call.arguments.to_string(), "status": "completed",
        });
        if let Some(namespace) = &call.namespace {
            item["namespace"] = json!(namespace);
        }
        output.push(item);
    }
    let (status, details) = match reply.stop {
        Stop::MaxTokens => ("incomplete", json!({"reason": "max_output_tokens"})),
        Stop::End | Stop::Refusal => ("completed", Value::Null),
    };
    let usage = reply.usage;
    let input = usage.input + usage.cache_read;
    json!({
        "id": format!("resp_{number}"), "object": "response", "created_at": 0, "model": reply.model,
        "status": status, "incomplete_details": details, "error": null, "output": output,
        "usage": {
            "input_tokens": input, "input_tokens_details": {"cached_tokens": usage.cache_read},
            "output_tokens": usage.output, "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": input + usage.output,
        },
    })
}

/// Formats an error in the middle of a stream.
pub(super) fn failed(message: &str) -> String {
    let error = json!({"code": "server_error", "message": message});
    let response = json!({"id": "resp_failed", "object": "response", "status": "failed", "error": error});
    event(Some("response.failed"), &json!({"type": "response.failed", "response": response}))
}
