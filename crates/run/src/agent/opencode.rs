//! opencode: `opencode run --format json`, with the prompt on standard input.
//!
//! It has no record for its end: a step that finishes with `stop` is one. It reports a tool when it is done, together
//! with the result.
//!
//! It does not report that it waits for its provider, for a minute or for as many hours as the provider demands. So it
//! gets a plugin that prints opencode's internal event for the next attempt.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use acquit_core::agent::{AgentEvent, Usage};
use acquit_core::config::Product;
use acquit_core::price::Of;
use acquit_core::role::Tool;
use acquit_core::time::Timestamp;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::json::Word;
use super::product::{BUN, Facts, Holds, Support, Supports, Version};
use super::spend::{Spend, micros};
use super::tools::Hold;
use super::{Hearing, Launch, Parser, Server, Shown, Tells, Wanted, json};
use crate::model_failure::{self, Then};

pub(super) const FACTS: Facts = Facts {
    product: Product::Opencode,
    title: "opencode",
    program: "opencode",
    version: &["--version"],
    log_in: "opencode auth login",
    tried: Version(1, 18, 33),
    bad: &[super::product::Bad {
        from: Version(0, 0, 0),
        below: Version(1, 17, 18),
        why: "it has no `run --auto`; install 1.17.18 or newer",
    }],
    hosts: super::product::PROVIDERS,
    spare_hosts: &[],
    login: &["~/.local/share/opencode/auth.json"],
    settings: &[
        "~/.config/opencode/opencode.json",
        "~/.config/opencode/opencode.jsonc",
        "~/.config/opencode/config.json",
    ],
    servers: &[],
    login_variables: &[],
    keys: super::product::PROVIDER_KEYS,
    quiet: &[("OPENCODE_DISABLE_AUTOUPDATE", "1"), ("OPENCODE_DISABLE_MODELS_FETCH", "1")],
    supports: Supports {
        sessions: Support::Yes,
        structured: Support::No,
        tools: Support::Yes,
        tool_events: Support::Partly("when they are done"),
        usage: Support::Partly("without the call that names the conversation"),
        cost: Support::Partly("by its own prices"),
        turns: Support::Partly("counted by acquit"),
        limits: Support::Partly("where the provider sends one"),
        ending: Support::Partly("a last step, no record of its own"),
    },
    holds: Holds { edit: Hold::Refused, run: Hold::Refused, web: Hold::Refused, commands: Hold::Refused },
    reads_agents_md: true,
    loads: BUN,
    launch,
    parser: |hearing| Box::new(Lines::new(hearing)),
};

/// The plugin. Its records have the kind [`STATUS`].
const WAITS: &str = include_str!("opencode/waits.js");

/// Before it loads a plugin, it installs a package with plugin types into its settings directory and waits for that.
/// With these two files it assumes the package is installed, so no leg waits for a registry that it may not even reach.
const INSTALLED: [&str; 2] = ["package-lock.json", "node_modules/.package-lock.json"];

/// Name of opencode's internal status event.
const STATUS: &str = "session.status";

/// Its own waits between attempts are shorter. A longer one is a usage limit whose end the provider told it. Wait for
/// that without a process.
const LONG: Duration = Duration::from_mins(5);

fn launch(wanted: &Wanted<'_>, launch: &mut Launch, extra: Vec<OsString>) {
    launch.args(["run", "--format", "json", "--auto"]);
    if let Some(model) = wanted.model {
        launch.args(["-m", model]);
    }
    if let Some(session) = wanted.session {
        launch.args(["--session", &session.id]);
    }
    let plugin = launch.file(wanted, "waits.js", WAITS.to_owned());
    let lock = json!({ "packages": { "": { "dependencies": { "@opencode-ai/plugin": "*" } } } });
    let lock = launch.file(wanted, "package-lock.json", lock.to_string());
    let folder = Path::new(".config/opencode");
    launch.placed.extend(INSTALLED.map(|name| (folder.join(name), lock.clone())));
    let mut settings =
        json!({ "autoupdate": false, "share": "disabled", "plugin": [plugin.to_string_lossy()] });
    if let Some(Server { program, args, env }) = wanted.tools {
        let command: Vec<&String> = std::iter::once(program).chain(args).collect();
        settings["mcp"] = json!({ (Server::NAME): {
            "type": "local", "command": command, "environment": env, "enabled": true,
        } });
    }
    let file = launch.file(wanted, "opencode.json", settings.to_string());
    // The last matching rule applies. Paths are relative to the repository; outside of it is the directory for output.
    let rules = [
        (Tool::Edit, "edit", json!({ "*": "deny", "../*": "allow" })),
        (Tool::Run, "bash", json!("deny")),
        (Tool::Web, "webfetch", json!("deny")),
        (Tool::Web, "websearch", json!("deny")),
    ];
    let refused = rules.into_iter().filter(|(tool, ..)| wanted.refuses(*tool));
    let mut refused: serde_json::Map<_, _> = refused.map(|(_, name, rule)| (name.to_owned(), rule)).collect();
    if !wanted.commands.is_empty() && !wanted.refuses(Tool::Run) {
        refused.insert("bash".to_owned(), only(wanted.commands));
    }
    if !refused.is_empty() {
        launch.set("OPENCODE_PERMISSION", serde_json::Value::Object(refused).to_string());
    }
    launch.set("OPENCODE_CONFIG", file);
    launch.args(extra);
}

/// Builds rules for its shell that allow only these commands, with any arguments. It checks each command of a line.
fn only(commands: &[String]) -> serde_json::Value {
    let allowed = commands.iter().flat_map(|one| [one.clone(), format!("{one} *")]);
    let rules = std::iter::once(("*".to_owned(), json!("deny")));
    serde_json::Value::Object(rules.chain(allowed.map(|one| (one, json!("allow")))).collect())
}

/// Parses the output.
pub(super) struct Lines {
    hearing: Hearing,
    spend: Spend,
    session: String,
}

#[derive(Deserialize)]
struct Record<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(rename = "sessionID", borrow, default)]
    session: Option<Word<'a>>,
    #[serde(borrow, default)]
    part: Option<Part<'a>>,
    #[serde(borrow, default)]
    error: Option<Failure<'a>>,
    #[serde(borrow, default)]
    status: Option<Status<'a>>,
}

/// Its internal status. The plugin prints only that and when it retries.
#[derive(Deserialize)]
struct Status<'a> {
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    /// Milliseconds since 1970.
    #[serde(default)]
    next: Option<i64>,
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool: Option<Word<'a>>,
    #[serde(borrow, default)]
    state: Option<State<'a>>,
    #[serde(borrow, default)]
    reason: Option<Word<'a>>,
    #[serde(default)]
    tokens: Option<Tokens>,
    #[serde(default)]
    cost: Option<f64>,
}

#[derive(Deserialize)]
struct State<'a> {
    #[serde(borrow, default)]
    status: Option<Word<'a>>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    output: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// Usage of one step. Input excludes cached tokens; output excludes reasoning.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Tokens {
    input: u64,
    output: u64,
    reasoning: u64,
    cache: Cache,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Cache {
    read: u64,
    write: u64,
}

#[derive(Deserialize)]
struct Failure<'a> {
    #[serde(borrow, default)]
    name: Option<Word<'a>>,
    #[serde(borrow, default)]
    data: Option<Data<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Data<'a> {
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(default)]
    status_code: Option<u16>,
}

impl Lines {
    pub(super) fn new(hearing: Hearing) -> Self {
        Self { spend: Spend::new(&hearing, Of::Request), hearing, session: String::new() }
    }

    fn record(&mut self, record: Record<'_>, said: &mut Vec<AgentEvent>) {
        if let Some(id) = record.session.filter(|id| **id != *self.session) {
            self.session = id.into_owned();
            said.push(AgentEvent::Session { id: self.session.clone() });
        }
        match (record.kind.as_ref(), record.part, record.error) {
            ("text", Some(part), _) => {
                said.push(AgentEvent::Text { text: json::text(part.text).unwrap_or_default() });
            }
            ("reasoning", Some(part), _) => said.push(AgentEvent::Thinking { text: json::words(part.text) }),
            ("tool_use", Some(part), _) => tool(&part, said),
            ("step_finish", Some(part), _) => self.step(part, said),
            ("error", _, Some(failure)) => self.failed(&failure, said),
            (STATUS, ..) => self.waits(record.status.as_ref(), said),
            ("step_start", ..) => {}
            (kind, ..) => said.push(json::unknown(kind)),
        }
    }

    fn step(&mut self, part: Part<'_>, said: &mut Vec<AgentEvent>) {
        let tokens = part.tokens.unwrap_or_default();
        let usage = Usage {
            model: self.hearing.model.clone(),
            input: tokens.input,
            output: tokens.output.saturating_add(tokens.reasoning),
            cache_read: tokens.cache.read,
            cache_write_5m: tokens.cache.write,
            cache_write_1h: 0,
            // It reports 0 for a model without a price.
            cost_micros: part.cost.and_then(micros).filter(|cost| *cost > 0),
            ..Usage::default()
        };
        self.spend.add(usage, said);
        match part.reason.as_deref() {
            Some("stop") => said.push(AgentEvent::End { ok: true, text: String::new() }),
            Some(reason @ ("length" | "content-filter" | "error")) => {
                let text = format!("the last step ended with `{reason}`");
                said.push(AgentEvent::End { ok: false, text });
            }
            _ => {}
        }
    }

    fn waits(&self, status: Option<&Status<'_>>, said: &mut Vec<AgentEvent>) {
        let Some(status) = status else { return said.push(json::unknown(STATUS)) };
        let text = json::words(status.message);
        let now = (self.hearing.now)();
        match status.next.map(Timestamp).filter(|next| *next > now.plus(LONG)) {
            Some(next) => {
                said.push(AgentEvent::Limit { until: Some(next), text: text.clone() });
                // End the turn, so that no process waits that long.
                said.push(AgentEvent::End { ok: false, text });
            }
            None => said.push(model_failure::said(model_failure::in_text(&text), &text, Then::Again, now)),
        }
    }

    fn failed(&mut self, failure: &Failure<'_>, said: &mut Vec<AgentEvent>) {
        let data = failure.data.as_ref();
        let name = failure.name.as_deref().unwrap_or_default();
        let message = data.and_then(|data| json::text(data.message)).unwrap_or_default();
        let trouble = match name {
            "ProviderAuthError" => model_failure::ModelFailure::Fault(acquit_core::agent::Fault::Login),
            _ => data
                .and_then(|data| data.status_code)
                .and_then(model_failure::by_status)
                .unwrap_or_else(|| model_failure::in_text(&message)),
        };
        let text = if message.is_empty() { name.to_owned() } else { message };
        said.extend(model_failure::end(trouble, text, (self.hearing.now)()));
    }
}

/// Reports a tool use and its result.
fn tool(part: &Part<'_>, said: &mut Vec<AgentEvent>) {
    let name = part.tool.as_deref().unwrap_or_default();
    let state = part.state.as_ref();
    let input = json::shown(state.and_then(|state| state.input));
    said.push(AgentEvent::ToolUse { name: name.to_owned(), input });
    let error = json::words(state.and_then(|state| state.error));
    // A permission prompt that cannot be answered, and a rule of the user.
    if error.contains("rejected permission") || error.contains("rule which prevents you") {
        said.push(AgentEvent::Denied { tool: name.to_owned(), text: error });
        return;
    }
    let ok = state.and_then(|state| state.status.as_deref()) == Some("completed") && name != "invalid";
    let text = if error.is_empty() { json::words(state.and_then(|state| state.output)) } else { error };
    said.push(AgentEvent::ToolResult { ok, text });
}

impl Parser for Lines {
    fn tells(&self) -> Tells {
        Tells::Its
    }

    fn turns(&self) -> Shown {
        Shown::ByUsage
    }

    fn line(&mut self, line: &[u8], said: &mut Vec<AgentEvent>) {
        let line = json::whole(line);
        json::line(&line, said, |record: Record<'_>, said| self.record(record, said));
    }
}
