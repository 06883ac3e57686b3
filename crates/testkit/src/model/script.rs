//! Scripts of a model, in terms that fit every protocol and every agent.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

/// Scripts by name. A `[[name]]` in a prompt selects one.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct Scripts(pub(super) BTreeMap<String, Vec<Step>>);

impl Scripts {
    /// Adds a script; replaces one of the same name.
    #[must_use]
    pub fn with(mut self, name: &str, steps: impl Into<Vec<Step>>) -> Self {
        self.0.insert(name.to_owned(), steps.into());
        self
    }

    /// Returns the names of the scripts.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

impl<const N: usize> From<[(&str, Vec<Step>); N]> for Scripts {
    fn from(list: [(&str, Vec<Step>); N]) -> Self {
        Self(list.into_iter().map(|(name, steps)| (name.to_owned(), steps)).collect())
    }
}

/// One answer of a model. As JSON, for scripts in files: `{"answer": {"text": …}}`, `{"fault": "drop"}`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Text, tool calls, or both.
    Answer(Answer),
    /// A failure.
    Fault(Fault),
    /// One step for the first requests, counted over all clients, then another.
    First(usize, Box<Step>, Box<Step>),
}

/// An answer of a model.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Answer {
    /// Text before the calls.
    pub text: String,
    /// Tool calls, all at once.
    pub calls: Vec<Call>,
    /// Stop reason.
    pub stop: Stop,
    /// Input and output tokens, if not the default.
    pub tokens: Option<(u64, u64)>,
}

/// A tool call by purpose. The tool depends on what the agent offers.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// Run a shell command.
    Bash(String),
    /// Write a whole file.
    Write {
        /// Path as the agent sees it.
        path: String,
        /// Contents.
        content: String,
    },
    /// Call a tool by its name or the end of it: `report_outcome` finds `mcp__acquit__report_outcome`.
    Tool {
        /// End of the name.
        name: String,
        /// Arguments of the tool.
        arguments: Value,
    },
    /// Return structured output: through the agent's tool for it, else as text.
    Structured(Value),
}

/// Why an answer stops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// It is complete, or waits for its tools.
    #[default]
    End,
    /// It reached the token limit.
    MaxTokens,
    /// The model refuses.
    Refusal,
}

/// A failure of the model.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// A status other than 200.
    Status(Refusal),
    /// Status 200 and part of an answer, then an error in the stream.
    SseError,
    /// The connection closes before the answer.
    Drop,
    /// The connection closes in the middle of the answer.
    Cut,
    /// Sends nothing for this many seconds, then closes the connection.
    Hang(u64),
    /// Sends part of the answer, then nothing for this many seconds; then closes the connection.
    Stall(u64),
}

/// An answer with a status other than 200.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Refusal {
    /// Status, such as 429.
    pub status: u16,
    /// Additional headers.
    pub headers: Vec<(String, String)>,
    /// Message instead of the default.
    pub message: Option<String>,
    /// Error kind instead of the protocol's own for this status.
    pub kind: Option<String>,
    /// Body instead of the default.
    pub body: Option<Value>,
}

impl Step {
    /// Says something and ends the turn.
    pub fn say(text: &str) -> Self {
        Self::Answer(Answer { text: text.to_owned(), ..Answer::default() })
    }

    /// Says nothing at all.
    pub fn empty() -> Self {
        Self::Answer(Answer::default())
    }

    /// Runs a shell command.
    pub fn bash(line: &str) -> Self {
        Self::call(Call::Bash(line.to_owned()))
    }

    /// Writes a file.
    pub fn write(path: &str, content: &str) -> Self {
        Self::call(Call::Write { path: path.to_owned(), content: content.to_owned() })
    }

    /// Calls a tool whose name ends with `name`.
    pub fn tool(name: &str, arguments: Value) -> Self {
        Self::call(Call::Tool { name: name.to_owned(), arguments })
    }

    /// Returns structured output.
    pub fn structured(value: Value) -> Self {
        Self::call(Call::Structured(value))
    }

    /// Calls one tool.
    pub fn call(call: Call) -> Self {
        Self::calls([call])
    }

    /// Calls several tools at once.
    pub fn calls(calls: impl Into<Vec<Call>>) -> Self {
        Self::Answer(Answer { calls: calls.into(), ..Answer::default() })
    }

    /// Says something and stops for this reason.
    pub fn stopped(text: &str, stop: Stop) -> Self {
        Self::Answer(Answer { text: text.to_owned(), stop, ..Answer::default() })
    }

    /// Refuses with a status.
    pub fn status(status: u16) -> Self {
        Self::Fault(Fault::Status(Refusal { status, ..Refusal::default() }))
    }

    /// Refuses with a status and a `retry-after` header.
    pub fn retry_after(status: u16, seconds: u64) -> Self {
        let headers = vec![("retry-after".to_owned(), seconds.to_string())];
        Self::Fault(Fault::Status(Refusal { status, headers, ..Refusal::default() }))
    }

    /// Refuses because the five-hour limit of a subscription is used up until `resets_at`, in seconds since 1970: in
    /// the headers that Anthropic sends and the body that OpenAI sends.
    pub fn usage_limit(resets_at: u64) -> Self {
        let unified = [("status", "rejected".to_owned()), ("reset", resets_at.to_string())];
        let claim = [
            ("representative-claim", "five_hour".to_owned()),
            ("5h-status", "rejected".to_owned()),
            ("5h-reset", resets_at.to_string()),
            ("5h-utilization", "1.0".to_owned()),
        ];
        let headers = unified.into_iter().chain(claim);
        let headers =
            headers.map(|(name, value)| (format!("anthropic-ratelimit-unified-{name}"), value)).collect();
        let message = "The usage limit has been reached";
        let body = serde_json::json!({
            "type": "error",
            "error": {
                "type": "usage_limit_reached", "message": message, "plan_type": "plus", "resets_at": resets_at,
            },
        });
        Self::Fault(Fault::Status(Refusal { status: 429, headers, body: Some(body), ..Refusal::default() }))
    }

    /// Sends nothing for this long.
    pub fn hang(limit: Duration) -> Self {
        Self::Fault(Fault::Hang(limit.as_secs()))
    }

    /// Sends part of an answer, then nothing for this long.
    pub fn stall(limit: Duration) -> Self {
        Self::Fault(Fault::Stall(limit.as_secs()))
    }

    /// Closes the connection before an answer.
    pub fn drop_connection() -> Self {
        Self::Fault(Fault::Drop)
    }

    /// Closes the connection in the middle of an answer.
    pub fn cut() -> Self {
        Self::Fault(Fault::Cut)
    }

    /// Sends an error in the middle of a stream.
    pub fn sse_error() -> Self {
        Self::Fault(Fault::SseError)
    }

    /// Uses this step the first `times` times, then `then`.
    #[must_use]
    pub fn first(self, times: usize, then: Self) -> Self {
        Self::First(times, Box::new(self), Box::new(then))
    }

    /// Adds text before the calls.
    #[must_use]
    pub fn saying(mut self, text: &str) -> Self {
        if let Self::Answer(answer) = &mut self {
            text.clone_into(&mut answer.text);
        }
        self
    }

    /// Sets the token usage.
    #[must_use]
    pub fn costing(mut self, input: u64, output: u64) -> Self {
        if let Self::Answer(answer) = &mut self {
            answer.tokens = Some((input, output));
        }
        self
    }

    /// Returns the step to use after it was requested `times` times.
    pub(super) fn after(&self, times: usize) -> &Self {
        match self {
            Self::First(first, step, _) if times < *first => step.after(times),
            Self::First(first, _, then) => then.after(times - first),
            Self::Answer(_) | Self::Fault(_) => self,
        }
    }

    /// Returns the answer it eventually gives, if any.
    pub(super) fn answer(&self) -> Option<&Answer> {
        match self {
            Self::Answer(answer) => Some(answer),
            Self::Fault(_) => None,
            Self::First(_, step, then) => then.answer().or_else(|| step.answer()),
        }
    }
}
