//! Tests the wire format with a client that only knows HTTP.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::*;

/// An answer as bytes, and whether its chunks are complete.
struct Answered {
    status: u16,
    head: String,
    body: String,
    whole: bool,
}

fn send(model: &Model, bytes: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", model.port())).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
    stream.write_all(bytes).expect("a request");
    stream
}

fn post(model: &Model, path: &str, body: &Value) -> Answered {
    let body = body.to_string();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nX-Api-Key: sk-secret\r\nAuthorization: Bearer sk-secret\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    receive(send(model, format!("{head}{body}").as_bytes()))
}

fn receive(mut stream: TcpStream) -> Answered {
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer, or the end");
    let (head, mut rest) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or_default();
    let mut answered = Answered { status, head: head.to_owned(), body: rest.to_owned(), whole: true };
    if head.contains("chunked") {
        answered.body.clear();
        answered.whole = false;
        while let Some((size, after)) = rest.split_once("\r\n") {
            let size = usize::from_str_radix(size, 16).expect("a size");
            answered.whole = size == 0;
            answered.body.push_str(&after[..size]);
            rest = &after[size + 2..];
        }
    }
    answered
}

impl Answered {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// Returns the data of all events.
    fn events(&self) -> Vec<Value> {
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        data.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).expect("JSON")).collect()
    }

    /// Joins the texts at this place in all events.
    fn joined(&self, place: &str) -> String {
        let events = self.events();
        events.iter().filter_map(|event| event.pointer(place)?.as_str()).collect()
    }
}

const SHELL: &str = "{\"properties\":{\"command\":{\"type\":\"string\"}}}";
const PATHS: [&str; 4] = [
    "/v1/messages",
    "/v1/responses",
    "/v1/chat/completions",
    "/v1beta/models/m:streamGenerateContent?alt=sse",
];

/// Creates a request in the protocol of this path, with a shell tool.
fn question(path: &str, prompt: &str) -> Value {
    let schema: Value = serde_json::from_str(SHELL).expect("a schema");
    let messages = json!([{"role": "user", "content": prompt}]);
    let function = json!({"name": "bash", "parameters": schema});
    match path {
        "/v1/messages" => json!({
            "model": "m", "stream": true, "messages": messages,
            "tools": [{"name": "bash", "input_schema": schema}],
        }),
        "/v1/responses" => json!({
            "model": "m", "stream": true, "input": messages,
            "tools": [{"type": "function", "name": "bash", "parameters": schema}],
        }),
        "/v1/chat/completions" => json!({
            "model": "m", "stream": true, "messages": messages,
            "tools": [{"type": "function", "function": function}],
        }),
        _ => json!({
            "contents": [{"role": "user", "parts": [{"text": prompt}]}],
            "tools": [{"functionDeclarations": [function]}],
        }),
    }
}

fn model() -> Model {
    let both = Step::bash("echo hi").saying("Good morning");
    Model::start(usual().with("both", [both, Step::say("done")])).expect("a model")
}

#[test]
fn a_stream_carries_the_text_and_the_call_in_every_protocol() {
    let model = model();
    let texts = ["/delta/text", "/delta", "/choices/0/delta/content", "/candidates/0/content/parts/0/text"];
    for (path, text) in PATHS.into_iter().zip(texts) {
        let answered = post(&model, path, &question(path, "[[both]]"));
        assert_eq!((answered.status, answered.whole), (200, true), "{path}");
        let said = answered.joined(text);
        assert!(said.starts_with("Good morning"), "{path}: {said}");
        let call = match path {
            "/v1/messages" => answered.joined("/delta/partial_json"),
            "/v1/responses" => said["Good morning".len()..].to_owned(),
            "/v1/chat/completions" => answered.joined("/choices/0/delta/tool_calls/0/function/arguments"),
            _ => answered.events()[1]["candidates"][0]["content"]["parts"][1]["functionCall"]["args"]
                .to_string(),
        };
        assert_eq!(call, "{\"command\":\"echo hi\"}", "{path}");
    }
    assert_eq!(model.scripted().len(), 4);
}

#[test]
fn the_same_is_said_in_one_piece() {
    let model = model();
    let paths = [PATHS[0], PATHS[1], PATHS[2], "/v1beta/models/m:generateContent"];
    let places = [
        ("/content/0/text", "/content/1/input/command"),
        ("/output/0/content/0/text", "/output/1/name"),
        ("/choices/0/message/content", "/choices/0/message/tool_calls/0/function/name"),
        ("/candidates/0/content/parts/0/text", "/candidates/0/content/parts/1/functionCall/args/command"),
    ];
    for (path, (text, call)) in paths.into_iter().zip(places) {
        let mut asked = question(path, "[[both]]");
        asked["stream"] = json!(false);
        let answer = post(&model, path, &asked).json();
        assert_eq!(answer.pointer(text), Some(&json!("Good morning")), "{path}: {answer}");
        assert!(answer.pointer(call).is_some_and(|it| it == "echo hi" || it == "bash"), "{path}: {answer}");
    }
}

#[test]
fn faults_are_what_they_are_called_in_every_protocol() {
    let model = model();
    for path in PATHS {
        let ask = |script: &str| post(&model, path, &question(path, &format!("[[{script}]]")));
        let limited = ask("429");
        assert_eq!(limited.status, 429, "{path}");
        assert!(limited.head.contains("retry-after: 1"), "{path}: {}", limited.head);
        assert!(limited.json()["error"]["message"].is_string(), "{path}");

        let dropped = ask("drop");
        assert!(dropped.head.is_empty(), "{path}: {}", dropped.head);

        let cut = ask("cut");
        assert!(cut.status == 200 && !cut.whole && !cut.events().is_empty(), "{path}: {}", cut.body);

        assert!(!cut.body.contains("does not come to its end"), "{path}: all of it came");

        let broken = ask("sse-error");
        assert!(broken.whole && broken.body.contains("broke off"), "{path}: {}", broken.body);
    }
}

#[test]
fn a_limit_of_a_subscription_says_when_it_ends() {
    let model = Model::start([("limit", vec![Step::usage_limit(1_900_000_000)])]).expect("a model");
    let answered = post(&model, PATHS[0], &question(PATHS[0], "[[limit]]"));
    assert_eq!(answered.status, 429);
    assert!(answered.head.contains("anthropic-ratelimit-unified-reset: 1900000000"), "{}", answered.head);
    assert_eq!(answered.json()["error"]["resets_at"], 1_900_000_000);
}

#[test]
fn a_fault_can_pass() {
    let model = model();
    let status = || post(&model, PATHS[0], &question(PATHS[0], "[[500-once]]")).status;
    assert_eq!([status(), status(), status()], [500, 200, 200]);
}

#[test]
fn what_hangs_ends_with_the_model() {
    let begun = Instant::now();
    let model = model();
    let body = question(PATHS[0], "[[hang]]").to_string();
    let head = format!("POST {} HTTP/1.1\r\nContent-Length: {}\r\n\r\n", PATHS[0], body.len());
    let stream = send(&model, format!("{head}{body}").as_bytes());
    assert!(model.wait_for(1, PATIENCE), "the request did not come");
    drop(model);
    assert!(receive(stream).head.is_empty());
    assert!(begun.elapsed() < Duration::from_secs(20), "it was not the model's end that ended it");
}

#[test]
fn side_calls_and_other_questions_are_answered() {
    let model = model();
    let mut asked = question(PATHS[0], "[[both]]");
    asked["tools"] = json!([]);
    assert_eq!(post(&model, PATHS[0], &asked).joined("/delta/text"), SIDE);
    assert_eq!(post(&model, "/v1/messages/count_tokens", &asked).json()["input_tokens"], 1000);
    assert_eq!(post(&model, "/v1/nothing", &asked).status, 404);
    let socket = send(&model, b"GET /v1/responses HTTP/1.1\r\nUpgrade: websocket\r\n\r\n");
    assert_eq!(receive(socket).status, 426);
    assert!(model.scripted().is_empty());
}

#[test]
fn a_body_in_chunks_is_read() {
    let model = model();
    let body = question(PATHS[0], "[[say]]").to_string();
    let (first, second) = body.split_at(10);
    let chunks = format!("{:x}\r\n{first}\r\n{:X};x=y\r\n{second}\r\n0\r\n\r\n", first.len(), second.len());
    let head = "POST /v1/messages HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    let answered = receive(send(&model, format!("{head}{chunks}").as_bytes()));
    assert_eq!(answered.joined("/delta/text"), "Hello from the model.");
}

#[test]
fn a_tool_in_a_group_is_called_with_its_group() {
    let model = model();
    let tool = json!({"type": "function", "name": "report_outcome", "parameters": {}});
    let mut asked = question("/v1/responses", "[[mcp]]");
    asked["tools"] = json!([{"type": "namespace", "name": "mcp__acquit", "tools": [tool]}]);
    asked["stream"] = json!(false);
    let call = &post(&model, "/v1/responses", &asked).json()["output"][0];
    assert_eq!((&call["name"], &call["namespace"]), (&json!("report_outcome"), &json!("mcp__acquit")));
}

#[test]
fn a_request_is_kept_without_its_credentials() {
    let model = model();
    post(&model, "/v1beta/models/m:generateContent?key=sk-secret&alt=json", &question("", "[[say]]"));
    let kept = model.requests().remove(0);
    assert!(!format!("{kept:?}").contains("sk-secret"), "{kept:?}");
    assert_eq!(kept.header("authorization"), Some("Bearer (withheld)"));
    assert_eq!(kept.path, "/v1beta/models/m:generateContent?key=(withheld)&alt=json");
    assert_eq!(kept.step, Some(("say".to_owned(), 0)));
}

#[test]
fn scripts_can_stand_in_a_file() {
    let text = r#"{"a": [
        {"answer": {"text": "x", "calls": [{"bash": "ls"}, {"write": {"path": "p", "content": "c"}}]}},
        {"first": [2, {"fault": {"status": {"status": 529}}}, {"answer": {"stop": "max_tokens"}}]},
        {"fault": "drop"}, {"fault": {"stall": 3}}
    ]}"#;
    let scripts: Scripts = serde_json::from_str(text).expect("scripts");
    let calls = [Call::Bash("ls".to_owned()), Call::Write { path: "p".to_owned(), content: "c".to_owned() }];
    let first = Answer { text: "x".to_owned(), calls: calls.to_vec(), ..Answer::default() };
    assert_eq!(scripts.0["a"][0].answer(), Some(&first));
    assert!(matches!(scripts.0["a"][1].after(1), Step::Fault(Fault::Status(Refusal { status: 529, .. }))));
    assert_eq!(scripts.0["a"][1].after(2).answer().map(|answer| answer.stop), Some(Stop::MaxTokens));
}
