//! The player of the scripted agent. Executes a script inside the sandbox, as an agent would.
//!
//! A script is TOML: a list of turns per stage, and a list of steps per turn. The first attempt at a stage plays its
//! first turn, the second attempt the next one. Later attempts repeat the last turn.
//!
//! ```toml
//! [[code]]
//! [[code.step]]
//! say = "I add the function."
//! [[code.step]]
//! write = "src/sum.sh"
//! content = "echo $(($1 + $2))\n"
//! [[code.step]]
//! run = "git add -A && git commit -qm 'Add the sum'"
//! [[code.step]]
//! usage = { model = "demo", input = 1200, output = 300, cost_micros = 8100 }
//! [[code.step]]
//! outcome = "pr_ready"
//! payload = { summary = "added" }
//! [[code.step]]
//! call = "report_outcome"
//! arguments = { outcome = "pr_ready", payload = { summary = "added" } }
//! ```
//!
//! `outcome` writes the handoff file. `call` calls one of acquit's tools through its server, as a real agent does.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use acquit_core::agent::{AgentEvent, Usage};
use acquit_core::time::Span;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::event_lines::say;
use crate::pause::pause;
use crate::process::{Spawner, become_program};

/// A script: turns by stage.
pub type Script = BTreeMap<String, Vec<Turn>>;

/// One attempt at a stage.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// Steps in order.
    #[serde(default, rename = "step")]
    pub steps: Vec<Step>,
}

/// One step: exactly one action key, with its parameters.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Step {
    say: Option<String>,
    think: Option<String>,
    print: Option<String>,
    write: Option<PathBuf>,
    append: Option<PathBuf>,
    output: Option<PathBuf>,
    content: String,
    run: Option<String>,
    usage: Option<Usage>,
    outcome: Option<String>,
    payload: Option<serde_json::Value>,
    call: Option<String>,
    arguments: Option<serde_json::Value>,
    #[serde(rename = "become")]
    becomes: Option<String>,
    pause: Option<String>,
    exit: Option<i32>,
}

/// What the player knows about its leg, from the environment that the harness provides.
pub struct Leg {
    /// Stage name.
    pub stage: String,
    /// Number of the attempt, from 1.
    pub attempt: usize,
    /// Path of the handoff file.
    pub handoff: PathBuf,
    /// Directory for output files.
    pub output_dir: PathBuf,
    /// Arguments of this program that start the server of acquit's tools.
    pub tools: Vec<OsString>,
    /// Environment for the programs that it runs.
    pub env: Vec<(OsString, OsString)>,
}

/// Time limit of a step. Scripts are for demos and tests.
const STEP_LIMIT: Duration = Duration::from_mins(10);

/// Why a script cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("read the script {path:?}")]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        #[source]
        source: io::Error,
    },
    /// The file is not a valid script.
    #[error("understand the script {path:?}")]
    Form {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        #[source]
        source: toml::de::Error,
    },
    /// There is no turn for this stage.
    #[error("find a turn for stage `{0}` in the script")]
    NoTurn(String),
    /// A step without an action, or an invalid pause.
    #[error("play step {0}: it must have exactly one action")]
    BadStep(usize),
    /// An I/O operation failed.
    #[error("play a step of the script")]
    Io(#[from] io::Error),
    /// A command could not be run.
    #[error("run a command of the script")]
    Run(#[from] crate::process::Error),
}

/// Plays the leg's turn of a script. Returns the exit code.
pub fn play(path: &Path, leg: &Leg, spawner: &Spawner, out: &mut dyn Write) -> Result<i32, Error> {
    let text =
        std::fs::read_to_string(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
    let script: Script =
        toml::from_str(&text).map_err(|source| Error::Form { path: path.to_owned(), source })?;
    let turns = script.get(&leg.stage).filter(|turns| !turns.is_empty());
    let turns = turns.ok_or_else(|| Error::NoTurn(leg.stage.clone()))?;
    let turn = &turns[leg.attempt.clamp(1, turns.len()) - 1];
    for (index, step) in turn.steps.iter().enumerate() {
        if let Some(code) = one(step, index, leg, spawner, out)? {
            return Ok(code);
        }
    }
    Ok(0)
}

/// Runs one step. `Some` is an exit code.
fn one(
    step: &Step,
    index: usize,
    leg: &Leg,
    spawner: &Spawner,
    out: &mut dyn Write,
) -> Result<Option<i32>, Error> {
    if let Some(text) = &step.say {
        say(out, &[AgentEvent::Text { text: text.clone() }])?;
    } else if let Some(text) = &step.think {
        say(out, &[AgentEvent::Thinking { text: text.clone() }])?;
    } else if let Some(text) = &step.print {
        writeln!(out, "{text}")?;
        out.flush()?;
    } else if let Some(path) = &step.write {
        say(out, &[AgentEvent::ToolUse { name: "write".to_owned(), input: path.display().to_string() }])?;
        write(path, &step.content)?;
    } else if let Some(path) = &step.append {
        say(out, &[AgentEvent::ToolUse { name: "append".to_owned(), input: path.display().to_string() }])?;
        std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)?
            .write_all(step.content.as_bytes())?;
    } else if let Some(name) = &step.output {
        write(&leg.output_dir.join(name), &step.content)?;
    } else if let Some(line) = &step.run {
        return run(line, leg, spawner, out).map(|()| None);
    } else if let Some(line) = &step.becomes {
        return Err(
            become_program(Path::new("/bin/sh"), &["-c".into(), format!("exec {line}").into()]).into()
        );
    } else if let Some(usage) = &step.usage {
        say(out, &[AgentEvent::Usage(usage.clone())])?;
    } else if let Some(name) = &step.outcome {
        let payload = step.payload.clone().unwrap_or_else(|| serde_json::json!({}));
        let report = serde_json::json!({ "outcome": name, "payload": payload });
        std::fs::write(&leg.handoff, format!("{report:#}\n"))?;
        say(out, &[AgentEvent::End { ok: true, text: format!("reported {name}") }])?;
    } else if let Some(name) = &step.call {
        let arguments = step.arguments.clone().unwrap_or_else(|| serde_json::json!({}));
        return call(name, &arguments, leg, spawner, out).map(|()| None);
    } else if let Some(span) = step.pause.as_deref() {
        let span = Span::parse(span).ok_or(Error::BadStep(index + 1))?;
        // Simulates the latency of a model.
        pause(span.duration().min(STEP_LIMIT));
    } else if let Some(code) = step.exit {
        return Ok(Some(code));
    } else {
        return Err(Error::BadStep(index + 1));
    }
    Ok(None)
}

fn write(path: &Path, content: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, content)
}

/// Calls a tool: starts the server for this one call, as agents do, and prints its answer.
fn call(
    name: &str,
    arguments: &Value,
    leg: &Leg,
    spawner: &Spawner,
    out: &mut dyn Write,
) -> Result<(), Error> {
    say(out, &[AgentEvent::ToolUse { name: name.to_owned(), input: arguments.to_string() }])?;
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "script", "version": "1" } });
    let messages = [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": name, "arguments": arguments } }),
    ];
    let input: String = messages.map(|message| message.to_string() + "\n").concat();
    let captured = spawner.capture(&crate::process::Call {
        program: spawner.helper.clone().into(),
        args: leg.tools.clone(),
        cwd: std::env::current_dir()?,
        env: leg.env.clone(),
        input: Some(input.into_bytes()),
        limit: STEP_LIMIT,
        guard: crate::process::Guard::Trusted,
    })?;
    let answers = String::from_utf8_lossy(&captured.stdout);
    let answer: Value =
        answers.lines().last().and_then(|line| serde_json::from_str(line).ok()).unwrap_or_default();
    let text = answer.pointer("/result/content/0/text").and_then(Value::as_str);
    let ok = text.is_some() && answer.pointer("/result/isError") == Some(&json!(false));
    let text =
        text.map_or_else(|| format!("{answers}{}", String::from_utf8_lossy(&captured.stderr)), str::to_owned);
    say(out, &[AgentEvent::ToolResult { ok, text: acquit_core::agent::shorten(&text, 2_000) }])?;
    Ok(())
}

fn run(line: &str, leg: &Leg, spawner: &Spawner, out: &mut dyn Write) -> Result<(), Error> {
    say(out, &[AgentEvent::ToolUse { name: "bash".to_owned(), input: line.to_owned() }])?;
    let captured = spawner.capture(&crate::process::Call {
        program: "sh".into(),
        args: vec!["-c".into(), line.into()],
        cwd: std::env::current_dir()?,
        env: leg.env.clone(),
        input: None,
        limit: STEP_LIMIT,
        guard: crate::process::Guard::Trusted,
    })?;
    let ok = captured.exit == crate::process::Exit::Code(0);
    let mut text = String::from_utf8_lossy(&captured.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&captured.stderr));
    say(out, &[AgentEvent::ToolResult { ok, text: acquit_core::agent::shorten(&text, 2_000) }])?;
    Ok(())
}
