//! The protocol: one message per line, one answer per request, in order. The server waits only for the agent's next
//! message, and ends when its input ends.

use std::io::{Read, Write};
use std::path::Path;

use serde_json::{Value, json};

use super::tools::{self, ToolContext};
use super::{Brief, Error};
use crate::mcp::Server;
use crate::rpc::{
    INVALID_PARAMS, INVALID_REQUEST, LINE_LIMIT, Lines, METHOD_NOT_FOUND, PARSE_ERROR, Piece, error, result,
};

/// Supported protocol versions, newest last. They do not differ in what is used here.
const VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// Size of a read.
const READ: usize = 64 * 1024;

const INSTRUCTIONS: &str = "These are the tools of the harness that started you. End your turn with `report_outcome`; if only a \
person can say how to go on, with `ask` or `propose_options`. Nobody answers while you work: after a question you stop, and you \
are called again with the answer.";

/// Serves the tools of a leg until the agent closes its side.
pub fn serve(brief: &Path, input: &mut dyn Read, out: &mut dyn Write) -> Result<(), Error> {
    let ctx = ToolContext::new(Brief::read(brief)?);
    let mut lines = Lines::default();
    let mut buffer = vec![0; READ];
    loop {
        let count = input.read(&mut buffer).map_err(Error::Talk)?;
        let mut failed = None;
        let mut each = |piece: Piece<'_>| {
            let Some(reply) = answer(&ctx, &piece) else { return };
            let written = writeln!(out, "{reply}").and_then(|()| out.flush());
            failed = failed.take().or(written.err());
        };
        if count == 0 {
            lines.finish(&mut each);
        } else {
            lines.push(&buffer[..count], &mut each);
        }
        match failed {
            Some(error) => return Err(Error::Talk(error)),
            None if count == 0 => return Ok(()),
            None => {}
        }
    }
}

/// Returns the answer to a message, if it needs one.
fn answer(ctx: &ToolContext, piece: &Piece<'_>) -> Option<Value> {
    let line = match piece {
        Piece::Line(line) if line.iter().all(u8::is_ascii_whitespace) => return None,
        Piece::Line(line) => line,
        Piece::TooLong => {
            let words = format!("a message of more than {LINE_LIMIT} bytes was passed over");
            return Some(error(&Value::Null, INVALID_REQUEST, &words));
        }
    };
    let message: Value = match serde_json::from_slice(line) {
        Ok(message) => message,
        Err(reason) => return Some(error(&Value::Null, PARSE_ERROR, &format!("not JSON: {reason}"))),
    };
    let id = message.get("id").filter(|id| id.is_string() || id.is_number()).cloned();
    let Some(method) = message.get("method").and_then(Value::as_str) else {
        // Ignore an answer to a request that was never made.
        let is_answer = message.get("result").is_some() || message.get("error").is_some();
        let words = "not a request: one JSON object a line, with `jsonrpc`, `id` and `method`";
        return (!is_answer).then(|| error(&id.unwrap_or_default(), INVALID_REQUEST, words));
    };
    // A message without an id needs no answer.
    let id = id?;
    let params = message.get("params").unwrap_or(&Value::Null);
    Some(match method {
        "initialize" => result(&id, hello(params, INSTRUCTIONS)),
        "ping" => result(&id, json!({})),
        "tools/list" => result(&id, json!({ "tools": ctx.list() })),
        "tools/call" => call(ctx, &id, params),
        _ => {
            let words = format!("there is no method `{}`", acquit_core::agent::shorten(method, 100));
            error(&id, METHOD_NOT_FOUND, &words)
        }
    })
}

/// Builds the answer to `initialize`: protocol version, capabilities and purpose of the server.
pub fn hello(params: &Value, instructions: &str) -> Value {
    let wanted = params.get("protocolVersion").and_then(Value::as_str);
    let newest = VERSIONS[VERSIONS.len() - 1];
    let version = VERSIONS.iter().find(|version| Some(**version) == wanted).unwrap_or(&newest);
    json!({
        "protocolVersion": version,
        "capabilities": { "tools": {} },
        "serverInfo": { "name": Server::NAME, "version": env!("CARGO_PKG_VERSION") },
        "instructions": instructions,
    })
}

/// Calls a tool. A mistake in the arguments is a result, because the model must see it to fix it. An unknown tool is a
/// mistake of the program, so it is an error.
fn call(ctx: &ToolContext, id: &Value, params: &Value) -> Value {
    let name = params.get("name").and_then(Value::as_str).unwrap_or_default();
    let Some(tool) = tools::find(name) else {
        let names = super::TOOLS.join(", ");
        let words =
            format!("there is no tool `{}`; there are {names}", acquit_core::agent::shorten(name, 100));
        return error(id, INVALID_PARAMS, &words);
    };
    let none = json!({});
    let arguments = params.get("arguments").filter(|value| !value.is_null()).unwrap_or(&none);
    let (text, is_error) = match ctx.call(tool, arguments) {
        Ok(text) => (text, false),
        Err(text) => (text, true),
    };
    result(id, json!({ "content": [{ "type": "text", "text": text }], "isError": is_error }))
}
