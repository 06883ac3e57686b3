//! Gemini CLI: `gemini --output-format stream-json`, with the prompt on standard input.
//!
//! It is configured with a settings file. The system's file takes precedence over the user's, but is trusted only if
//! only root can have written it. So the same file is also placed as the user's, in the home that the sandbox provides.
//! It relaunches itself unless told not to, and then ignores signals. Its exit code is the HTTP status modulo 256; its
//! `result` says whether it succeeded.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsString;

use acquit_core::agent::{AgentEvent, Usage};
use acquit_core::config::{Billing, Product};
use acquit_core::price::Of;
use acquit_core::role::Tool;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::json::Word;
use super::product::{AT_THE_END, Bad, DOTENV, Facts, Holds, Support, Supports, Version, has_variable};
use super::spend::Spend;
use super::tools::Hold;
use super::{Hearing, Launch, Parser, Server, Tells, Wanted, json};
use crate::model_failure::{self, Then};

pub(super) const FACTS: Facts = Facts {
    product: Product::Gemini,
    title: "Gemini CLI",
    program: "gemini",
    version: &["--version"],
    log_in: "gemini",
    tried: Version(0, 61, 0),
    bad: &[Bad {
        from: Version(0, 0, 0),
        below: Version(0, 41, 0),
        why: "it has no --session-id; install 0.41 or newer",
    }],
    hosts: &["generativelanguage.googleapis.com", "cloudcode-pa.googleapis.com", "oauth2.googleapis.com"],
    spare_hosts: &[],
    login: &["~/.gemini/oauth_creds.json", "~/.gemini/google_accounts.json"],
    settings: &["~/.gemini/.env"],
    servers: &["GOOGLE_GEMINI_BASE_URL"],
    login_variables: &[],
    keys: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    quiet: &[("GEMINI_CLI_NO_RELAUNCH", "true")],
    supports: Supports {
        sessions: Support::Yes,
        structured: Support::No,
        tools: Support::Yes,
        tool_events: Support::Yes,
        usage: Support::Partly(AT_THE_END),
        cost: Support::No,
        turns: Support::Yes,
        limits: Support::No,
        ending: Support::Yes,
    },
    holds: Holds { edit: Hold::Refused, run: Hold::Refused, web: Hold::Refused, commands: Hold::Refused },
    reads_agents_md: false,
    loads: DOTENV,
    launch,
    parser: |hearing| Box::new(Lines::new(hearing)),
};

/// Attempts for a failing model. Its default keeps retrying for minutes, and the harness has better ways to wait.
const ATTEMPTS: u32 = 4;

/// Builds rules that allow only these commands, with any arguments. It checks each command of a line. The deny rule
/// matches arguments, because a rule for the tool alone would remove the tool.
fn only(commands: &[String]) -> String {
    let tool = "[[rule]]\ntoolName = \"run_shell_command\"\n";
    format!(
        "{tool}commandPrefix = {}\ndecision = \"allow\"\nallowRedirection = true\npriority = 200\n\
         {tool}argsPattern = '\"command\":'\ndecision = \"deny\"\npriority = 100\n",
        json!(commands)
    )
}

fn launch(wanted: &Wanted<'_>, launch: &mut Launch, extra: Vec<OsString>) {
    launch.args(["--output-format", "stream-json", "--approval-mode", "yolo"]);
    // Its tools cannot write anywhere else.
    launch.args(["--include-directories".into(), wanted.output.as_os_str().to_owned()]);
    if let Some(model) = wanted.model {
        launch.args(["-m", model]);
    }
    match wanted.session {
        Some(session) => launch.args(["--resume", &session.id]),
        None => launch.args(["--session-id", wanted.new_session]),
    }
    // It does not run without a choice here, even with a key.
    let by_key = wanted.agent.billing == Some(Billing::Key)
        || (wanted.agent.billing.is_none() && has_variable(wanted, FACTS.keys));
    let mut settings = json!({
        "security": {
            "auth": { "selectedType": if by_key { "gemini-api-key" } else { "oauth-personal" } },
            "folderTrust": { "enabled": false },
        },
        "privacy": { "usageStatisticsEnabled": false },
        "general": { "maxAttempts": ATTEMPTS, "enableAutoUpdate": false, "enableAutoUpdateNotification": false },
    });
    if let Some(turns) = wanted.agent.turns {
        settings["model"] = json!({ "maxSessionTurns": turns });
    }
    if let Some(Server { program, args, env }) = wanted.tools {
        settings["mcpServers"] =
            json!({ (Server::NAME): { "command": program, "args": args, "env": env, "trust": true } });
    }
    let tools = [
        // Keep its tool for writing whole files: it needs that for its output.
        (Tool::Edit, "replace"),
        (Tool::Run, "run_shell_command"),
        (Tool::Web, "web_fetch"),
        (Tool::Web, "google_web_search"),
    ];
    let refused = tools.into_iter().filter(|(tool, _)| wanted.refuses(*tool));
    let refused: Vec<&str> = refused.map(|(_, name)| name).collect();
    if !refused.is_empty() {
        settings["tools"] = json!({ "exclude": refused });
    }
    if !wanted.commands.is_empty() && !wanted.refuses(Tool::Run) {
        let policy = launch.file(wanted, "gemini-commands.toml", only(wanted.commands));
        launch.args(["--admin-policy".into(), policy.into_os_string()]);
    }
    let file = launch.file(wanted, "gemini-settings.json", settings.to_string());
    launch.placed.push((".gemini/settings.json".into(), file.clone()));
    launch.set("GEMINI_CLI_SYSTEM_SETTINGS_PATH", file);
    // Its shell disables git hooks through variables, and with them the trailer that names the task in each commit.
    // This variable, in the format of `git -c`, overrides those.
    launch.set("GIT_CONFIG_PARAMETERS", "'core.hooksPath=.git/hooks'");
    launch.args(extra);
}

/// Parses the output.
pub(super) struct Lines {
    hearing: Hearing,
    spend: Spend,
    /// Pending text of the model, which arrives in pieces.
    words: String,
    /// The last reported error, for an end that does not name one.
    error: String,
}

#[derive(Deserialize)]
struct Record<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    session_id: Option<Word<'a>>,
    #[serde(borrow, default)]
    role: Option<Word<'a>>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_name: Option<Word<'a>>,
    #[serde(borrow, default)]
    parameters: Option<&'a RawValue>,
    #[serde(borrow, default)]
    output: Option<&'a RawValue>,
    #[serde(borrow, default)]
    status: Option<Word<'a>>,
    #[serde(borrow, default)]
    severity: Option<Word<'a>>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    stats: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Failure<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Option<Word<'a>>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
}

/// Usage of the process. Input includes cached tokens.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Stats {
    #[serde(flatten)]
    all: Used,
    models: BTreeMap<String, Used>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Used {
    input_tokens: u64,
    output_tokens: u64,
    cached: u64,
}

impl Used {
    fn usage(&self, model: Option<String>) -> Usage {
        Usage {
            model,
            input: self.input_tokens.saturating_sub(self.cached),
            output: self.output_tokens,
            cache_read: self.cached,
            ..Usage::default()
        }
    }
}

impl Lines {
    pub(super) fn new(hearing: Hearing) -> Self {
        Self { spend: Spend::new(&hearing, Of::Turn), hearing, words: String::new(), error: String::new() }
    }

    fn record(&mut self, record: &Record<'_>, said: &mut Vec<AgentEvent>) {
        let kind = record.kind.as_ref();
        if kind != "message" {
            self.flush(said);
        }
        match kind {
            "init" => {
                said.extend(record.session_id.as_deref().map(|id| AgentEvent::Session { id: id.to_owned() }));
            }
            "message" if record.role.as_deref() == Some("assistant") => {
                self.words.push_str(&json::text(record.content).unwrap_or_default());
                if self.words.len() > json::TAKEN {
                    self.flush(said);
                }
            }
            // The user's message.
            "message" => self.flush(said),
            "tool_use" => said.push(AgentEvent::ToolUse {
                name: record.tool_name.as_deref().unwrap_or_default().to_owned(),
                input: json::shown(record.parameters),
            }),
            "tool_result" => said.push(tool_result(record)),
            "error" => {
                self.error = json::words(record.message);
                if record.severity.as_deref() != Some("error") {
                    let trouble = model_failure::in_text(&self.error);
                    said.push(model_failure::said(trouble, &self.error, Then::Again, (self.hearing.now)()));
                }
            }
            "result" => self.result(record, said),
            kind => said.push(json::unknown(kind)),
        }
    }

    fn result(&mut self, record: &Record<'_>, said: &mut Vec<AgentEvent>) {
        let stats = json::part::<Stats>(record.stats).unwrap_or_default();
        if stats.models.is_empty() {
            self.spend.correct(stats.all.usage(None), said);
        }
        for (model, tokens) in stats.models {
            self.spend.correct(tokens.usage(Some(model)), said);
        }
        if record.status.as_deref() == Some("success") {
            return said.push(AgentEvent::End { ok: true, text: String::new() });
        }
        let failure = json::part::<Failure<'_>>(record.error);
        let text = failure.and_then(|failure| json::text(failure.message)).unwrap_or_default();
        let text = if text.is_empty() { std::mem::take(&mut self.error) } else { text };
        said.extend(model_failure::end(model_failure::in_text(&text), text, (self.hearing.now)()));
    }

    fn flush(&mut self, said: &mut Vec<AgentEvent>) {
        if !self.words.is_empty() {
            said.push(AgentEvent::Text { text: std::mem::take(&mut self.words) });
        }
    }
}

fn tool_result(record: &Record<'_>) -> AgentEvent {
    let ok = record.status.as_deref() == Some("success");
    let error = json::part::<Failure<'_>>(record.error);
    let kind = error.as_ref().and_then(|error| error.kind.as_deref()).unwrap_or_default();
    if matches!(kind, "policy_violation" | "tool_denied" | "permission_denied") {
        let text = json::words(error.and_then(|error| error.message));
        return AgentEvent::Denied { tool: String::new(), text };
    }
    AgentEvent::ToolResult { ok, text: json::words(record.output.or_else(|| error?.message)) }
}

impl Parser for Lines {
    fn tells(&self) -> Tells {
        Tells::Its
    }

    fn line(&mut self, line: &[u8], said: &mut Vec<AgentEvent>) {
        let line = json::whole(line);
        json::line(&line, said, |record: Record<'_>, said| self.record(&record, said));
    }

    fn finish(&mut self, said: &mut Vec<AgentEvent>) {
        self.flush(said);
    }
}
