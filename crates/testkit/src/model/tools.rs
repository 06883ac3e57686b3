//! Converts the purpose of a call into a call of a tool that the agent offers.

use serde_json::{Map, Value, json};

use super::choose::{Asked, Tool};
use super::script::{Answer, Call, Stop};

/// Names of the agents' shell tools.
const SHELLS: &[&str] = &["Bash", "bash", "exec_command", "run_shell_command", "shell_command", "shell"];
/// Names of the agents' tools that write a file.
const WRITERS: &[&str] = &["Write", "write", "write_file", "create_file"];
/// The tool with which Claude Code accepts structured output.
const STRUCTURED: &str = "StructuredOutput";

/// An answer to send.
#[derive(Debug)]
pub(super) struct Reply {
    /// Id of the answer and its calls, unique in this process.
    pub(super) number: u64,
    pub(super) model: String,
    pub(super) text: String,
    pub(super) calls: Vec<Named>,
    pub(super) stop: Stop,
    pub(super) usage: Usage,
}

/// A call of a specific tool.
#[derive(Debug, PartialEq)]
pub(super) struct Named {
    pub(super) tool: String,
    pub(super) namespace: Option<String>,
    pub(super) arguments: Value,
}

/// Token usage of one answer. It is the same for every answer, so that tests can multiply.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usage {
    /// Neither read from nor written to a cache.
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) cache_read: u64,
    /// Only Anthropic counts these.
    pub(super) cache_write: u64,
}

/// Default usage of an answer.
const USUAL: Usage = Usage { input: 1000, output: 50, cache_read: 200, cache_write: 100 };

/// Converts an answer to calls of the offered tools. If none fits, the text says so, for the test to see.
pub(super) fn reply(answer: &Answer, asked: &Asked, number: u64) -> Reply {
    let mut text = answer.text.clone();
    let mut calls = Vec::new();
    for call in &answer.calls {
        match name(call, &asked.tools) {
            Outcome::Call(named) => calls.push(named),
            Outcome::Text(more) => text.push_str(&more),
        }
    }
    let usage = answer.tokens.map_or(USUAL, |(input, output)| Usage { input, output, ..USUAL });
    Reply { number, model: asked.model.clone(), text, calls, stop: answer.stop, usage }
}

enum Outcome {
    Call(Named),
    Text(String),
}

fn name(call: &Call, tools: &[Tool]) -> Outcome {
    let known = |names: &[&str]| names.iter().find_map(|name| tools.iter().find(|tool| tool.name == *name));
    match call {
        Call::Bash(line) => known(SHELLS).map_or_else(|| missing("a shell", tools), |tool| shell(tool, line)),
        Call::Write { path, content } => match (known(WRITERS), known(SHELLS)) {
            (Some(tool), _) => writer(tool, path, content),
            (None, Some(tool)) => shell(tool, &writing(path, content)),
            (None, None) => missing("a tool that writes", tools),
        },
        Call::Tool { name, arguments } => match tools.iter().find(|tool| ends_with(&tool.name, name)) {
            Some(tool) => call_of(tool, arguments.clone()),
            // Agents that show tools only on search still know them by their full names.
            None if name.contains("__") => {
                Outcome::Call(Named { tool: name.clone(), namespace: None, arguments: arguments.clone() })
            }
            None => missing(name, tools),
        },
        Call::Structured(value) => match known(&[STRUCTURED]) {
            Some(tool) => call_of(tool, value.clone()),
            None => Outcome::Text(value.to_string()),
        },
    }
}

fn ends_with(full: &str, end: &str) -> bool {
    full.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with(['_', '-', '.', ':']))
}

fn missing(what: &str, tools: &[Tool]) -> Outcome {
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
    Outcome::Text(format!("the script wants {what}, but the agent offers only: {}", names.join(", ")))
}

fn call_of(tool: &Tool, arguments: Value) -> Outcome {
    Outcome::Call(Named { tool: tool.name.clone(), namespace: tool.namespace.clone(), arguments })
}

fn shell(tool: &Tool, line: &str) -> Outcome {
    let name = property(tool, &["command", "cmd"]);
    let list = tool.schema["properties"][name]["type"] == "array";
    let line = if list { json!(["sh", "-c", line]) } else { json!(line) };
    call_of(tool, filled(tool, [(name, line)]))
}

fn writer(tool: &Tool, path: &str, content: &str) -> Outcome {
    let place = property(tool, &["file_path", "filePath", "path"]);
    call_of(tool, filled(tool, [(place, json!(path)), ("content", json!(content))]))
}

/// Returns the first of these names that is an argument of the tool.
fn property(tool: &Tool, names: &[&'static str]) -> &'static str {
    let has = |name: &&&str| tool.schema["properties"].get(**name).is_some();
    names.iter().find(has).or(names.first()).copied().unwrap_or_default()
}

/// Adds a value for every other required string argument of the tool.
fn filled<'a>(tool: &Tool, arguments: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    let mut filled: Map<_, _> = arguments.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    for name in tool.schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !filled.contains_key(name) && tool.schema["properties"][name]["type"] == "string" {
            filled.insert(name.to_owned(), json!("as the script says"));
        }
    }
    Value::Object(filled)
}

/// Returns a shell command that writes a file.
fn writing(path: &str, content: &str) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
    let path = quoted(path);
    format!("mkdir -p \"$(dirname {path})\" && printf %s {} > {path}", quoted(content))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, properties: &Value, required: &Value) -> Tool {
        let schema = json!({"type": "object", "properties": properties, "required": required});
        Tool { name: name.to_owned(), namespace: None, schema }
    }

    fn named(call: &Call, tools: &[Tool]) -> (String, Value) {
        match name(call, tools) {
            Outcome::Call(named) => (named.tool, named.arguments),
            Outcome::Text(text) => ("text".to_owned(), json!(text)),
        }
    }

    #[test]
    fn the_shell_and_the_writer_are_called_as_each_agent_has_them() {
        let text = json!({"type": "string"});
        let bash = Call::Bash("ls".to_owned());
        let write = Call::Write { path: "a/b".to_owned(), content: "it's".to_owned() };
        let claude = [
            tool("Read", &json!({}), &json!([])),
            tool("Bash", &json!({"command": text}), &json!(["command"])),
            tool("Write", &json!({"file_path": text, "content": text}), &json!([])),
        ];
        assert_eq!(named(&bash, &claude), ("Bash".to_owned(), json!({"command": "ls"})));
        assert_eq!(named(&write, &claude).1, json!({"file_path": "a/b", "content": "it's"}));

        let codex = [tool("exec_command", &json!({"cmd": text}), &json!(["cmd"]))];
        assert_eq!(named(&bash, &codex), ("exec_command".to_owned(), json!({"cmd": "ls"})));
        let line = r#"mkdir -p "$(dirname 'a/b')" && printf %s 'it'\''s' > 'a/b'"#;
        assert_eq!(named(&write, &codex).1, json!({"cmd": line}));

        let wordy = [tool("bash", &json!({"command": text, "description": text}), &json!(["description"]))];
        assert_eq!(named(&bash, &wordy).1, json!({"command": "ls", "description": "as the script says"}));
        let listed = [tool("shell", &json!({"command": {"type": "array"}}), &json!([]))];
        assert_eq!(named(&bash, &listed).1, json!({"command": ["sh", "-c", "ls"]}));
    }

    #[test]
    fn a_tool_is_found_by_the_end_of_its_name() {
        let tools = [
            tool("mcp__acquit__not_ask", &json!({}), &json!([])),
            tool("mcp__acquit__ask", &json!({}), &json!([])),
        ];
        let call =
            |name: &str| named(&Call::Tool { name: name.to_owned(), arguments: json!({"a": 1}) }, &tools).0;
        assert_eq!(call("acquit__ask"), "mcp__acquit__ask");
        assert_eq!(call("sk"), "text");
        assert_eq!(call("mcp__other__unseen"), "mcp__other__unseen");
    }

    #[test]
    fn a_result_in_form_is_text_where_no_tool_takes_it() {
        let call = Call::Structured(json!({"a": 1}));
        assert_eq!(named(&call, &[]), ("text".to_owned(), json!("{\"a\":1}")));
        let offered = [tool("StructuredOutput", &json!({}), &json!([]))];
        assert_eq!(named(&call, &offered), ("StructuredOutput".to_owned(), json!({"a": 1})));
    }
}
