//! Default scripts with everything that each agent must handle, by the names to use in a prompt.

use std::time::Duration;

use serde_json::json;

use super::script::{Scripts, Step, Stop};

/// Longer than any test waits, but finite.
const LONG: Duration = Duration::from_mins(5);

/// Success with edits, and each kind of failure.
pub fn usual() -> Scripts {
    let commit = "git add -A && git -c user.name=Agent -c user.email=agent@localhost commit -qm 'Say hello'";
    let done = || Step::say("I have done it.");
    let outcome = json!({"outcome": "done", "payload": {}});
    Scripts::default()
        .with("say", [Step::say("Hello from the model.")])
        .with("write", [Step::write("hello.txt", "hello\n").saying("I write a file."), done()])
        .with("bash", [Step::bash("echo hi-from-bash && pwd && id -u"), done()])
        .with("edit", [Step::write("hello.txt", "hello\n"), Step::bash(commit), done()])
        .with("fail-cmd", [Step::bash("echo to-stderr >&2; exit 7"), done()])
        .with("mcp", [Step::tool("report_outcome", outcome), done()])
        .with("structured", [Step::structured(json!({"answer": "yes"})), done()])
        .with("slow-tool", [Step::bash("python3 -c 'import time; time.sleep(300)'"), done()])
        .with("empty", [Step::empty()])
        .with("max-tokens", [Step::stopped("This goes on and on", Stop::MaxTokens)])
        .with("refusal", [Step::stopped("I will not do that.", Stop::Refusal)])
        .with("400", [Step::status(400)])
        .with("401", [Step::status(401)])
        .with("403", [Step::status(403)])
        .with("404", [Step::status(404)])
        .with("429", [Step::retry_after(429, 1)])
        .with("429-long", [Step::retry_after(429, 3600)])
        .with("500", [Step::status(500)])
        .with("529", [Step::status(529)])
        .with("500-once", [Step::status(500).first(1, done())])
        .with("tool-then-500", [Step::bash("echo once"), Step::status(500)])
        .with("sse-error", [Step::sse_error()])
        .with("drop", [Step::drop_connection()])
        .with("cut", [Step::cut()])
        .with("hang", [Step::hang(LONG)])
        .with("stall", [Step::stall(LONG)])
}
