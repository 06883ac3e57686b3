//! Every recording, as the harness hears it: a snapshot of each agent's.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use acquit_core::agent::{AgentEvent, Usage};
use acquit_core::config::{Adapter, Product};
use acquit_core::time::Timestamp;
use acquit_run::agent::{Hearing, parser};

/// 2026-11-15 20:00:00 UTC, about when the recordings were made.
pub(crate) const NOW: Timestamp = Timestamp(1_794_772_800_000);

/// The recordings of an agent, in order.
pub(crate) fn of(product: Product) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings").join(product.name());
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let name = |path: &PathBuf| path.file_stem().unwrap().to_string_lossy().into_owned();
    files.iter().map(|path| (name(path), fs::read(path).unwrap())).collect()
}

/// A turn in which the conversation had used this much before.
pub(crate) fn hearing(before: Usage) -> Hearing {
    Hearing {
        before,
        model: Some("asked-for".to_owned()),
        structured: false,
        billing: None,
        prices: acquit_core::price::Prices::new(),
        now: || NOW,
    }
}

/// All that is said in an output.
pub(crate) fn heard(product: Product, hearing: Hearing, output: &[u8]) -> Vec<AgentEvent> {
    let mut parser = parser(&Adapter::Product { product }, hearing);
    let mut said = Vec::new();
    for line in output.split(|byte| *byte == b'\n') {
        parser.line(line, &mut said);
    }
    parser.finish(&mut said);
    said
}

/// What the conversation of a recording had used before it.
fn before(product: Product, name: &str) -> Usage {
    match (product, name) {
        (Product::Claude, "session_resume" | "crash_resume") => {
            Usage { cost_micros: Some(8_370), ..Usage::default() }
        }
        (Product::Codex, "resume") => Usage { input: 1_000, cache_read: 200, output: 50, ..Usage::default() },
        _ => Usage::default(),
    }
}

fn shown(said: &AgentEvent) -> String {
    let short = |text: &str| {
        let line: String = text.chars().map(|c| if c == '\n' { '⏎' } else { c }).take(110).collect();
        line
    };
    match said {
        AgentEvent::Text { text } => format!("text      {}", short(text)),
        AgentEvent::Thinking { text } => format!("thinking  {}", short(text)),
        AgentEvent::ToolUse { name, input } => format!("use       {name} {}", short(input)),
        AgentEvent::ToolResult { ok, text } => {
            format!("result    {} {}", if *ok { "ok" } else { "BAD" }, short(text))
        }
        AgentEvent::Usage(usage) => {
            let Usage { model, input, output, cache_read, cache_write_5m, cache_write_1h, .. } = usage;
            format!(
                "usage     {} in {input} out {output} read {cache_read} 5m {cache_write_5m} 1h {cache_write_1h} cost {:?} list {:?}{}",
                model.as_deref().unwrap_or("-"),
                usage.cost_micros,
                usage.list_micros,
                if usage.by_login { " (login)" } else { "" },
            )
        }
        AgentEvent::Session { id } => format!("session   {id}"),
        AgentEvent::Limit { until, text } => {
            let minutes = until.map(|until| (until.0 - NOW.0) / 60_000);
            format!("LIMIT     in minutes: {minutes:?}; {}", short(text))
        }
        AgentEvent::End { ok, text } => {
            format!("end       {} {}", if *ok { "ok" } else { "BAD" }, short(text))
        }
        AgentEvent::Denied { tool, text } => format!("DENIED    {tool} {}", short(text)),
        AgentEvent::Fault { fault, text, again } => {
            format!("FAULT     {fault:?}{} {}", if *again { " (again)" } else { "" }, short(text))
        }
        AgentEvent::Report { value } => format!("report    {value}"),
        AgentEvent::Unknown { kind } => format!("UNKNOWN   {kind}"),
        AgentEvent::Raw { text } => format!("RAW       {}", short(text)),
    }
}

fn snapshot(product: Product) {
    let mut all = String::new();
    for (name, output) in of(product) {
        writeln!(all, "== {name}").unwrap();
        for said in heard(product, hearing(before(product, &name)), &output) {
            writeln!(all, "{}", shown(&said).trim_end()).unwrap();
        }
    }
    insta::assert_snapshot!(product.name(), all);
}

#[test]
fn claude_is_heard_as_recorded() {
    snapshot(Product::Claude);
}

#[test]
fn codex_is_heard_as_recorded() {
    snapshot(Product::Codex);
}

#[test]
fn gemini_is_heard_as_recorded() {
    snapshot(Product::Gemini);
}

#[test]
fn opencode_is_heard_as_recorded() {
    snapshot(Product::Opencode);
}

#[test]
fn pi_is_heard_as_recorded() {
    snapshot(Product::Pi);
}

#[test]
fn aider_is_heard_as_recorded() {
    snapshot(Product::Aider);
}

#[test]
fn cursor_is_heard_as_documented() {
    snapshot(Product::Cursor);
}
