//! `acquit mcp`: the tool `prove`, as clients of the Model Context Protocol talk to it.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::{Sandbox, processes, until};
use crate::kit::{BROKEN, HONEST, MENDED, package};

struct Client {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    sent: u64,
}

impl Client {
    fn of(sandbox: &Sandbox) -> Self {
        let mut command = sandbox.command(&["mcp"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output, sent: 0 }
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    fn read(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    fn ask(&mut self, method: &str, params: &Value) -> u64 {
        self.sent += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.sent, "method": method, "params": params }));
        self.sent
    }

    /// The result of a call, whatever comes before it.
    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let id = self.ask("tools/call", &json!({ "name": tool, "arguments": arguments }));
        loop {
            let answer = self.read();
            if answer["id"] == id {
                return answer["result"].clone();
            }
        }
    }

    fn end(mut self) {
        drop(self.input);
        assert!(self.child.wait().unwrap().success());
    }
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

#[test]
fn a_client_is_told_whether_a_change_is_done() {
    let sandbox = package();
    let mut client = Client::of(&sandbox);
    client.ask("initialize", &json!({ "protocolVersion": "2025-06-18", "capabilities": {} }));
    let hello = client.read();
    assert_eq!(hello["result"]["protocolVersion"], "2025-06-18", "{hello}");
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    client.ask("tools/list", &json!({}));
    let list = client.read();
    let names: Vec<&Value> =
        list["result"]["tools"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
    assert_eq!(names, ["prove", "prove_result"]);

    sandbox.repo.write("sum.js", BROKEN);
    let guilty = client.call("prove", &json!({}));
    assert_eq!(guilty["structuredContent"]["decision"], "guilty", "{guilty:#}");
    assert!(text(&guilty).contains("✗ no test fails that passed before"), "{guilty:#}");
    assert_eq!(guilty["isError"], false);
    sandbox.repo.write("sum.js", MENDED);
    sandbox.repo.write("test/new.test.js", HONEST);
    let here = sandbox.repo.path().to_string_lossy().into_owned();
    let done = client.call("prove", &json!({ "directory": here, "working_tree": true }));
    assert_eq!(done["structuredContent"]["decision"], "acquitted", "{done:#}");

    // Mistakes are told, and nothing of a client's becomes an option.
    for (arguments, words) in [
        (json!({ "chnge": "main" }), "chnge"),
        (json!({ "change": "--help" }), "--help"),
        (json!({ "base": "--staged" }), "--staged"),
        (json!({ "directory": "/nowhere" }), "/nowhere"),
        (json!({ "allow": ["everything"] }), "everything"),
    ] {
        let refused = client.call("prove", &arguments);
        assert_eq!(refused["isError"], true, "{refused:#}");
        assert!(text(&refused).contains(words), "{refused:#}");
    }
    let unknown = client.call("prove_result", &json!({ "id": "77" }));
    assert_eq!(unknown["isError"], true, "{unknown:#}");
    client.end();
}

/// A project whose test takes as long as the test wants.
fn slow(mark: &str) -> Sandbox {
    let config = format!(
        "[gates.test]\nrun = \"echo {mark}; while [ ! -e go ]; do sleep 0.1; done\"\nkind = \"test\"\ntimeout = \"5m\"\n"
    );
    let sandbox = Sandbox::of_files("project", &[(".acquit/acquit.toml", &config)]);
    sandbox.repo.write("README.md", "changed\n");
    sandbox
}

#[test]
fn a_long_judgement_does_not_hold_a_call_and_ends_with_its_client() {
    let mark = processes::mark();
    let sandbox = slow(&mark);
    let mut client = Client::of(&sandbox);
    let began = Instant::now();
    let arguments = json!({ "name": "prove", "arguments": {}, "_meta": { "progressToken": "p" } });
    let call = client.ask("tools/call", &arguments);
    // Others are answered meanwhile, and the client is told how far it is.
    let ping = client.ask("ping", &json!({}));
    assert_eq!(client.read()["id"], ping);
    let progress = client.read();
    assert_eq!(progress["method"], "notifications/progress", "{progress}");
    assert_eq!(progress["params"]["progressToken"], "p", "{progress}");
    let answer = loop {
        let answer = client.read();
        if answer["id"] == call {
            break answer["result"].clone();
        }
    };
    let took = began.elapsed();
    assert!((Duration::from_secs(40)..Duration::from_secs(50)).contains(&took), "{took:?}");
    assert_eq!(answer["structuredContent"], json!({ "status": "running", "id": "1" }), "{answer:#}");
    assert!(text(&answer).contains("prove_result"), "{answer:#}");

    // A call that is cancelled ends its judgement.
    let call = client.ask("tools/call", &json!({ "name": "prove_result", "arguments": { "id": "1" } }));
    client.send(
        &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": call } }),
    );
    until("the judgement ends", || processes::marked(&mark).is_empty().then_some(()));
    let cancelled = client.call("prove_result", &json!({ "id": "1" }));
    assert_eq!(cancelled["isError"], true, "{cancelled:#}");

    // And so does a client that goes away.
    client.ask("tools/call", &json!({ "name": "prove", "arguments": {} }));
    until("the gate runs", || (!processes::marked(&mark).is_empty()).then_some(()));
    client.end();
    assert_eq!(processes::marked(&mark), []);
    let left = std::fs::read_dir(sandbox.place("acquit/proofs")).into_iter().flatten().count();
    assert_eq!(left, 0);
}
