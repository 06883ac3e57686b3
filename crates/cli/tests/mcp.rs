//! The server of acquit's own tools, as agents talk to it: the real binary over its standard input and output, also by agents
//! that do not keep to the protocol.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::disallowed_methods, reason = "tests start the real binary")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// What a leg's server is told, as the harness writes it.
struct Leg {
    folder: tempfile::TempDir,
}

impl Leg {
    fn new() -> Self {
        let leg = Self { folder: tempfile::tempdir().unwrap() };
        let schema = json!({
            "type": "object",
            "required": ["summary", "findings"],
            "properties": { "summary": { "type": "string" }, "findings": { "type": "array" } },
        });
        let brief = json!({
            "outcomes": {
                "approved": { "schema": schema, "description": "nothing is wrong with it" },
                "changes_requested": { "schema": null, "description": null },
            },
            "context": [
                { "name": "task", "text": "# The task T-1" },
                { "name": "outcomes", "text": "# Outcomes" },
            ],
            "report": leg.report(),
            "progress": leg.progress(),
        });
        fs::write(leg.brief(), brief.to_string()).unwrap();
        leg
    }

    fn brief(&self) -> PathBuf {
        self.folder.path().join("tools.json")
    }

    fn report(&self) -> PathBuf {
        self.folder.path().join(".report.json")
    }

    fn progress(&self) -> PathBuf {
        self.folder.path().join(".progress.jsonl")
    }

    fn serve(&self) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_acquit"))
            .arg("mcp")
            .arg(self.brief())
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Server { child, input, output, sent: 0 }
    }

    /// What was reported, if anything was.
    fn reported(&self) -> Value {
        fs::read(self.report()).map_or(Value::Null, |bytes| serde_json::from_slice(&bytes).unwrap())
    }
}

struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    sent: u64,
}

impl Server {
    fn write(&mut self, bytes: &[u8]) {
        self.input.write_all(bytes).unwrap();
        self.input.write_all(b"\n").unwrap();
    }

    fn read(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// A request and its answer.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.sent += 1;
        let id = self.sent;
        self.write(
            json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string().as_bytes(),
        );
        let answer = self.read();
        assert_eq!(answer["id"], json!(id), "{answer}");
        answer
    }

    /// Calls a tool; what it says, if it did what it was asked for.
    fn call(&mut self, tool: &str, arguments: Value) -> Result<String, String> {
        let answer = self.ask("tools/call", json!({ "name": tool, "arguments": arguments }));
        let text =
            answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
        if answer["result"]["isError"] == json!(true) { Err(text) } else { Ok(text) }
    }

    /// The agent goes away: so must the server.
    fn end(self) {
        let Self { mut child, input, .. } = self;
        drop(input);
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn a_client_finds_five_tools_whose_arguments_are_described() {
    let leg = Leg::new();
    let mut server = leg.serve();
    // The newest clients ask this first, and go on by the old way when it is refused.
    assert_eq!(server.ask("server/discover", json!({}))["error"]["code"], json!(-32601));
    for (wanted, given) in [("2025-03-26", "2025-03-26"), ("1999-01-01", "2025-11-25")] {
        let hello = server.ask("initialize", json!({ "protocolVersion": wanted, "capabilities": {} }));
        assert_eq!(hello["result"]["protocolVersion"], json!(given));
        assert_eq!(hello["result"]["serverInfo"]["name"], json!("acquit"));
    }
    server.write(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    assert_eq!(server.ask("ping", json!({}))["result"], json!({}));
    let listed = server.ask("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["report_outcome", "ask", "propose_options", "report_progress", "task_context"]);
    assert!(tools.iter().all(|tool| tool["inputSchema"]["type"] == json!("object")), "{listed}");
    let outcomes = &tools[0]["inputSchema"]["properties"]["outcome"]["enum"];
    assert_eq!(*outcomes, json!(["approved", "changes_requested", "needs_input", "failed"]));
    assert!(tools[0]["description"].as_str().unwrap().contains("nothing is wrong with it"), "{listed}");
    assert_eq!(server.ask("resources/list", json!({}))["error"]["code"], json!(-32601));
    server.end();
}

#[test]
fn a_report_with_mistakes_is_refused_with_all_of_them_and_a_mended_one_is_taken() {
    let leg = Leg::new();
    let mut server = leg.serve();
    let refused = server.call("report_outcome", json!({ "outcome": "aproved", "verdict": 1 })).unwrap_err();
    for word in
        ["\"aproved\" is not one of", "verdict", "\"payload\" is a required property", "changes_requested"]
    {
        assert!(refused.contains(word), "{word}: {refused}");
    }
    let payload = json!({ "findings": "none" });
    let refused =
        server.call("report_outcome", json!({ "outcome": "approved", "payload": payload })).unwrap_err();
    for word in ["\"summary\" is a required property", "at /findings", "must fit", "call again"] {
        assert!(refused.contains(word), "{word}: {refused}");
    }
    let large = json!({ "summary": "x".repeat(300_000), "findings": [] });
    let refused =
        server.call("report_outcome", json!({ "outcome": "approved", "payload": large })).unwrap_err();
    assert!(refused.contains("262144 are allowed"), "{refused}");
    for (outcome, needs) in [("needs_input", "`question`"), ("failed", "`summary`")] {
        let refused =
            server.call("report_outcome", json!({ "outcome": outcome, "payload": {} })).unwrap_err();
        assert!(refused.contains(needs), "{refused}");
    }
    assert_eq!(leg.reported(), Value::Null, "nothing wrong was written down");
    let good = json!({ "outcome": "approved", "payload": { "summary": "sound", "findings": [] } });
    assert!(server.call("report_outcome", good.clone()).unwrap().contains("stop now"));
    assert_eq!(leg.reported(), good);
    // A later one takes its place, also by another server of the same agent; a wrong one does not.
    let mut second = leg.serve();
    let other = json!({ "outcome": "changes_requested", "payload": { "summary": "not so sound" } });
    assert!(second.call("report_outcome", other.clone()).unwrap().contains("takes the place"));
    server.call("report_outcome", json!({ "outcome": "approved" })).unwrap_err();
    assert_eq!(leg.reported(), other);
    assert_eq!(fs::read_dir(leg.folder.path()).unwrap().count(), 2, "no halves are left");
    server.end();
    second.end();
}

#[test]
fn a_question_is_written_down_at_once_and_stands() {
    let leg = Leg::new();
    let mut server = leg.serve();
    let wrong = json!({
        "question": " ", "kind": "choice", "recommended": "red",
        "options": [{ "name": "blue" }, { "name": "blue" }],
    });
    let refused = server.call("ask", wrong).unwrap_err();
    assert!(refused.contains("no words"), "{refused}");
    let wrong = json!({
        "question": "Which?", "recommended": "red", "options": [{ "name": "blue" }, { "name": "blue" }],
    });
    let refused = server.call("propose_options", wrong).unwrap_err();
    assert!(
        refused.contains("two options are named `blue`") && refused.contains("`recommended` is `red`"),
        "{refused}"
    );
    let refused = server.call("propose_options", json!({ "question": "Which?", "options": [] })).unwrap_err();
    assert!(refused.contains("at /options"), "{refused}");
    assert_eq!(leg.reported(), Value::Null);

    let told = server.call("ask", json!({ "question": "Ship it?", "kind": "yes_no" })).unwrap();
    assert!(told.contains("stop here") && told.contains("called again with the answer"), "{told}");
    let options = json!({
        "question": "Which way?", "context": "Both work.", "recommended": "short",
        "options": [{ "name": "short", "trade_offs": "quick, but odd" }, { "name": "long" }],
    });
    server.call("propose_options", options.clone()).unwrap();
    server.call("propose_options", options).unwrap();
    let report = leg.reported();
    assert_eq!(report["outcome"], json!("needs_input"));
    assert_eq!(
        report["payload"]["question"],
        json!("1. Ship it?\n2. Which way?"),
        "asked twice, written once"
    );
    assert_eq!(report["payload"]["questions"][1]["options"][0]["trade_offs"], json!("quick, but odd"));

    let done = json!({ "outcome": "changes_requested", "payload": { "summary": "I guessed" } });
    let refused = server.call("report_outcome", done).unwrap_err();
    assert!(refused.contains("the question stands"), "{refused}");
    for number in 0..20 {
        let _ = server.call("ask", json!({ "question": format!("And {number}?") }));
    }
    assert_eq!(leg.reported()["payload"]["questions"].as_array().unwrap().len(), 10);
    server.end();
}

#[test]
fn an_agent_can_read_again_what_it_was_told_and_say_how_far_it_is() {
    let leg = Leg::new();
    let mut server = leg.serve();
    assert_eq!(server.call("task_context", json!({})).unwrap(), "# The task T-1\n\n# Outcomes");
    assert_eq!(server.call("task_context", json!({ "section": "task" })).unwrap(), "# The task T-1");
    assert!(
        server.call("task_context", json!({ "section": "secrets" })).unwrap_err().contains("is not one of")
    );
    server.call("report_progress", json!({ "text": "half of it", "percent": 50 })).unwrap();
    assert!(server.call("report_progress", json!({ "text": "", "percent": 101 })).is_err());
    assert!(server.call("report_progress", json!({ "text": "x".repeat(501) })).is_err());
    assert_eq!(fs::read_to_string(leg.progress()).unwrap(), "{\"text\":\"half of it\",\"percent\":50}\n");
    for _ in 0..1_000 {
        server.call("report_progress", json!({ "text": "x".repeat(400) })).unwrap();
    }
    assert!(fs::metadata(leg.progress()).unwrap().len() < 70_000, "a flood ends");
    assert_eq!(leg.reported(), Value::Null);
    server.end();
}

#[test]
fn whatever_is_sent_the_server_answers_and_lives() {
    let leg = Leg::new();
    let mut server = leg.serve();
    let deep = "[".repeat(100_000);
    for (line, code) in [
        ("nonsense", -32700),
        ("\u{0}\u{1b}[2J", -32700),
        (deep.as_str(), -32700),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"", -32700),
        ("[]", -32600),
        ("7", -32600),
        ("{}", -32600),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600),
        (r#"{"jsonrpc":"2.0","id":"x","method":7}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":"x","method":"sampling/createMessage"}"#, -32601),
        (r#"{"jsonrpc":"2.0","id":"x","method":"tools/call"}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":"x","method":"tools/call","params":[1]}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"rm"}}"#, -32602),
    ] {
        server.write(line.as_bytes());
        let answer = server.read();
        assert_eq!(answer["error"]["code"], json!(code), "{}: {answer}", &line[..line.len().min(60)]);
    }
    server.write(b"\xff\xfe");
    assert_eq!(server.read()["error"]["code"], json!(-32700));
    for arguments in [json!(null), json!([]), json!("x"), json!({ "outcome": ["approved"], "payload": "x" })]
    {
        server.call("report_outcome", arguments).unwrap_err();
    }
    // What wants no answer gets none: the next answer is that of the next request.
    for line in [
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
        r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"ask","arguments":{"question":"unasked?"}}}"#,
        r#"{"jsonrpc":"2.0","id":99,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
        "",
        "  \r",
    ] {
        server.write(line.as_bytes());
    }
    assert_eq!(server.ask("ping", json!({}))["result"], json!({}));
    // Far more than a message may have, and then an ordinary one.
    let mebibyte = vec![b'x'; 1024 * 1024];
    for _ in 0..32 {
        server.input.write_all(&mebibyte).unwrap();
    }
    server.write(b"");
    assert_eq!(server.read()["error"]["code"], json!(-32600));
    assert!(memory(&server.child) < 64 * 1024, "{} KiB", memory(&server.child));
    assert_eq!(server.ask("ping", json!({}))["result"], json!({}));
    assert_eq!(leg.reported(), Value::Null);
    server.end();
}

/// What a process holds in memory at its most, in KiB.
fn memory(child: &Child) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn without_its_file_there_is_no_server() {
    for (args, code, words) in [
        // Without a file it serves `prove` to any client, which needs a place for files.
        (&["mcp"][..], 2, "ACQUIT_HOME"),
        (&["mcp", "/nonexistent/tools.json"], 5, "failed to read what the tools are for"),
    ] {
        let ran = Command::new(env!("CARGO_BIN_EXE_acquit")).args(args).env_clear().output().unwrap();
        assert_eq!(ran.status.code(), Some(code));
        assert!(String::from_utf8_lossy(&ran.stderr).contains(words), "{ran:?}");
    }
}
