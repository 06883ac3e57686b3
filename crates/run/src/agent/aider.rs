//! Aider: `aider --message-file`, with the prompt as a file.
//!
//! It prints text for people and always exits with 0. So a turn counts as successful when it reports the tokens of an
//! answer, and as failed when an error of its library comes last. Its edits are part of the answer text. It has no
//! tools, and its conversations cannot be continued.

use std::ffi::OsString;

use acquit_core::agent::{AgentEvent, Fault, Usage};
use acquit_core::config::Product;
use acquit_core::price::Of;

use super::product::{DOTENV, Facts, Holds, Support, Supports, Version};
use super::spend::{Spend, micros};
use super::tools::Hold;
use super::{Hearing, Launch, Parser, Tells, Wanted, json};
use crate::model_failure::{self, ModelFailure, Then};

pub(super) const FACTS: Facts = Facts {
    product: Product::Aider,
    title: "Aider",
    program: "aider",
    version: &["--version"],
    log_in: "",
    tried: Version(0, 86, 2),
    bad: &[],
    hosts: super::product::PROVIDERS,
    // It looks up models that it does not know there, for their prices and sizes.
    spare_hosts: &["raw.githubusercontent.com"],
    login: &["~/.aider/oauth-keys.env", "~/.aider.conf.yml"],
    settings: &["~/.aider.conf.yml", "~/.aider.model.settings.yml", "~/.aider.model.metadata.json"],
    servers: &["OPENAI_API_BASE", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"],
    login_variables: &[],
    keys: super::product::PROVIDER_KEYS,
    // Otherwise it downloads the prices of models.
    quiet: &[("LITELLM_LOCAL_MODEL_COST_MAP", "True")],
    supports: Supports {
        sessions: Support::No,
        structured: Support::No,
        tools: Support::No,
        tool_events: Support::Partly("edited files"),
        usage: Support::Partly("rounded"),
        cost: Support::Partly("rounded"),
        turns: Support::No,
        limits: Support::No,
        ending: Support::Partly("by its words"),
    },
    // It can only edit files.
    holds: Holds { edit: Hold::Told, run: Hold::Lacking, web: Hold::Lacking, commands: Hold::Lacking },
    reads_agents_md: false,
    loads: DOTENV,
    launch,
    parser: |hearing| Box::new(Lines::new(hearing)),
};

/// Runs without prompts, leaves no files in the workspace, and leaves commits to the harness.
const ALONE: [&str; 19] = [
    "--yes-always",
    "--no-pretty",
    "--no-stream",
    "--no-fancy-input",
    "--no-check-update",
    "--no-show-release-notes",
    "--no-show-model-warnings",
    "--analytics-disable",
    "--no-detect-urls",
    "--no-suggest-shell-commands",
    "--no-auto-commits",
    "--no-dirty-commits",
    "--no-auto-lint",
    "--no-gitignore",
    "--no-restore-chat-history",
    "--chat-history-file",
    "/dev/null",
    "--input-history-file",
    "/dev/null",
];

/// Printed after an error because of an invalid key.
const NO_KEY: &str = "The API provider is not able to authenticate you";

fn launch(wanted: &Wanted<'_>, launch: &mut Launch, extra: Vec<OsString>) {
    launch.args(ALONE);
    if let Some(model) = wanted.model {
        launch.args(["--model", model]);
    }
    launch.args(extra);
    launch.args(["--message-file".into(), wanted.prompt.as_os_str().to_owned()]);
}

/// Parses the output.
pub(super) struct Lines {
    hearing: Hearing,
    spend: Spend,
    model: Option<String>,
    place: Place,
    /// An incomplete error message: aider wraps text at 80 columns.
    error: String,
}

/// Position in the output.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before the answer: information about aider itself.
    Head,
    /// In or after the answer.
    Answer,
    /// Inside an error message.
    Error,
    /// An answer is complete.
    Answered,
    /// It was told to stop.
    Stopped,
}

impl Lines {
    pub(super) fn new(hearing: Hearing) -> Self {
        Self {
            spend: Spend::new(&hearing, Of::Request),
            hearing,
            model: None,
            place: Place::Head,
            error: String::new(),
        }
    }

    fn words(&mut self, text: &str, said: &mut Vec<AgentEvent>) {
        /// An error message spans a few lines.
        const ERROR: usize = 4 * 1024;
        if text.starts_with("litellm.") {
            self.place = Place::Error;
            text.clone_into(&mut self.error);
        } else if text.starts_with("Retrying in ") && self.place == Place::Error {
            let error = std::mem::take(&mut self.error);
            said.push(model_failure::said(about(&error), &error, Then::Again, (self.hearing.now)()));
            self.place = Place::Answer;
        } else if self.place == Place::Error && text.starts_with(NO_KEY) {
            // This is its last message. Exiting takes it seconds more.
            let error = format!("{}\n{text}", std::mem::take(&mut self.error));
            said.extend(model_failure::end(about(&error), error, (self.hearing.now)()));
            self.place = Place::Answer;
        } else if self.place == Place::Error && !text.is_empty() {
            if self.error.len() < ERROR {
                self.error.push('\n');
                self.error.push_str(json::at_most(text, ERROR));
            }
        } else if text.starts_with("Tokens: ") && text.contains(" received") {
            self.place = Place::Answered;
            self.spend.add(self.usage(text), said);
        } else if let Some(file) = text.strip_prefix("Applied edit to ") {
            said.push(AgentEvent::ToolUse { name: "edit".to_owned(), input: file.to_owned() });
            said.push(AgentEvent::ToolResult { ok: true, text: String::new() });
        } else if text.starts_with("^C again to exit") {
            self.place = Place::Stopped;
        } else if self.place == Place::Head {
            if let Some(model) = text.strip_prefix("Model: ") {
                self.model = model.split_whitespace().next().map(str::to_owned);
            }
            if text.starts_with("Repo-map: ") {
                self.place = Place::Answer;
            }
        } else if !text.trim().is_empty() {
            said.push(AgentEvent::Text { text: text.to_owned() });
        }
    }

    /// Parses `Tokens: 1.2k sent, 300 cache hit, 50 received. Cost: $0.0043 message, $0.0043 session.`
    fn usage(&self, text: &str) -> Usage {
        let (tokens, cost) = text.split_once(". Cost: ").unwrap_or((text, ""));
        let mut usage =
            Usage { model: self.model.clone().or_else(|| self.hearing.model.clone()), ..Usage::default() };
        for part in tokens.trim_start_matches("Tokens: ").split(',') {
            let mut words = part.split_whitespace();
            let Some(count) = words.next().and_then(count) else { continue };
            match words.next() {
                Some("sent") => usage.input = count,
                Some("received" | "received.") => usage.output = count,
                Some("cache") if words.next() == Some("hit") => usage.cache_read = count,
                Some("cache") => usage.cache_write_5m = count,
                _ => {}
            }
        }
        usage.cost_micros = cost
            .strip_prefix('$')
            .and_then(|cost| cost.split_whitespace().next()?.parse().ok())
            .and_then(micros);
        usage
    }
}

/// Parses `1.2k`, `50`, `3.4M`.
fn count(text: &str) -> Option<u64> {
    let (number, factor) = match text.as_bytes().last()? {
        b'k' => (&text[..text.len() - 1], 1_000),
        b'M' => (&text[..text.len() - 1], 1_000_000),
        _ => (text, 1),
    };
    let (whole, tenths) = number.split_once('.').unwrap_or((number, "0"));
    let whole: u64 = whole.replace(',', "").parse().ok()?;
    let tenths: u64 = tenths.get(..1)?.parse().ok()?;
    whole.checked_mul(factor)?.checked_add(tenths * factor / 10)
}

/// Classifies an error by the name that its library prints.
fn about(error: &str) -> ModelFailure {
    let name = error.strip_prefix("litellm.").unwrap_or(error);
    let name = &name[..name.bytes().take_while(u8::is_ascii_alphanumeric).count()];
    ModelFailure::Fault(match name {
        "AuthenticationError" | "PermissionDeniedError" => Fault::Login,
        "BudgetExceededError" => Fault::Billing,
        "NotFoundError" => Fault::Model,
        "InternalServerError" => Fault::Server,
        "ServiceUnavailableError" => Fault::Overloaded,
        "Timeout" | "APIConnectionError" => Fault::Network,
        "ContextWindowExceededError" => Fault::TooLong,
        "ContentPolicyViolationError" => Fault::Refused,
        "RateLimitError" => {
            return match model_failure::in_text(error) {
                billing @ ModelFailure::Fault(Fault::Billing) => billing,
                ModelFailure::Limit | ModelFailure::Fault(_) => ModelFailure::Limit,
            };
        }
        _ => return model_failure::in_text(error),
    })
}

impl Parser for Lines {
    fn tells(&self) -> Tells {
        Tells::Its
    }

    fn line(&mut self, line: &[u8], said: &mut Vec<AgentEvent>) {
        self.words(String::from_utf8_lossy(line).trim_end(), said);
    }

    fn finish(&mut self, said: &mut Vec<AgentEvent>) {
        let text = std::mem::take(&mut self.error);
        match self.place {
            Place::Answered => said.push(AgentEvent::End { ok: true, text: String::new() }),
            Place::Error => {
                said.extend(model_failure::end(about(&text), text, (self.hearing.now)()));
            }
            Place::Head | Place::Answer | Place::Stopped => {}
        }
    }
}
