//! What a model is told to do, in words that fit every protocol and every agent.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

/// Scripts by the name that a `[[name]]` in a prompt calls them by.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct Scripts(pub(super) BTreeMap<String, Vec<Step>>);

impl Scripts {
    /// With one more script; one of the same name is replaced.
    #[must_use]
    pub fn with(mut self, name: &str, steps: impl Into<Vec<Step>>) -> Self {
        self.0.insert(name.to_owned(), steps.into());
        self
    }

    /// The names that can be called.
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
    /// Text, calls of tools, or both.
    Answer(Answer),
    /// Something that goes wrong.
    Fault(Fault),
    /// One thing for the first so many times that this step is asked for, by whomever, then another.
    First(usize, Box<Step>, Box<Step>),
}

/// What a model says.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Answer {
    /// Before the calls.
    pub text: String,
    /// All at once.
    pub calls: Vec<Call>,
    /// Why it stops.
    pub stop: Stop,
    /// Tokens in and out, if not the usual ones.
    pub tokens: Option<(u64, u64)>,
}

/// A tool to be called, by what it does. Which tool that is, depends on what the agent offers.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// A line for the shell.
    Bash(String),
    /// A file written, as a whole.
    Write {
        /// As the agent is to be told.
        path: String,
        /// All of it.
        content: String,
    },
    /// A tool by its name or by the end of it: `report_outcome` finds `mcp__acquit__report_outcome`.
    Tool {
        /// The end of the name.
        name: String,
        /// As the tool wants them.
        arguments: Value,
    },
    /// The result in the form that was asked for: by the agent's tool for it, else as text.
    Structured(Value),
}

/// Why an answer stops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// It has said everything, or waits for its tools.
    #[default]
    End,
    /// It ran out of tokens.
    MaxTokens,
    /// It refuses.
    Refusal,
}

/// What can go wrong.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// Another status than 200.
    Status(Refusal),
    /// 200, a piece of an answer, then an error in the stream.
    SseError,
    /// The connection ends before a byte of an answer.
    Drop,
    /// The connection ends in the middle of the answer.
    Cut,
    /// Nothing comes for this many seconds, then the connection ends.
    Hang(u64),
    /// Nothing more comes after a piece of the answer, for this many seconds; then the connection ends.
    Stall(u64),
}

/// An answer with another status than 200.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Refusal {
    /// Such as 429.
    pub status: u16,
    /// Besides the usual ones.
    pub headers: Vec<(String, String)>,
    /// In place of the usual words.
    pub message: Option<String>,
    /// In place of the protocol's own kind of error for this status.
    pub kind: Option<String>,
    /// In place of the whole body.
    pub body: Option<Value>,
}

impl Step {
    /// Says something, and waits for nothing.
    pub fn say(text: &str) -> Self {
        Self::Answer(Answer { text: text.to_owned(), ..Answer::default() })
    }

    /// Says nothing at all.
    pub fn empty() -> Self {
        Self::Answer(Answer::default())
    }

    /// Calls the shell.
    pub fn bash(line: &str) -> Self {
        Self::call(Call::Bash(line.to_owned()))
    }

    /// Writes a file.
    pub fn write(path: &str, content: &str) -> Self {
        Self::call(Call::Write { path: path.to_owned(), content: content.to_owned() })
    }

    /// Calls a tool whose name ends so.
    pub fn tool(name: &str, arguments: Value) -> Self {
        Self::call(Call::Tool { name: name.to_owned(), arguments })
    }

    /// Gives the result in the form that was asked for.
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

    /// Refuses with a status, and says after how many seconds to try again.
    pub fn retry_after(status: u16, seconds: u64) -> Self {
        let headers = vec![("retry-after".to_owned(), seconds.to_string())];
        Self::Fault(Fault::Status(Refusal { status, headers, ..Refusal::default() }))
    }

    /// Refuses because a subscription's five hours are used up until then, in seconds since 1970: in the headers that
    /// Anthropic sends and in the body that OpenAI sends.
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

    /// Nothing comes for this long.
    pub fn hang(limit: Duration) -> Self {
        Self::Fault(Fault::Hang(limit.as_secs()))
    }

    /// A piece of an answer comes, and for this long nothing more.
    pub fn stall(limit: Duration) -> Self {
        Self::Fault(Fault::Stall(limit.as_secs()))
    }

    /// The connection ends before an answer.
    pub fn drop_connection() -> Self {
        Self::Fault(Fault::Drop)
    }

    /// The connection ends in the middle of an answer.
    pub fn cut() -> Self {
        Self::Fault(Fault::Cut)
    }

    /// An error comes in the middle of a stream.
    pub fn sse_error() -> Self {
        Self::Fault(Fault::SseError)
    }

    /// This for the first so many times, then `then`.
    #[must_use]
    pub fn first(self, times: usize, then: Self) -> Self {
        Self::First(times, Box::new(self), Box::new(then))
    }

    /// With words before the calls.
    #[must_use]
    pub fn saying(mut self, text: &str) -> Self {
        if let Self::Answer(answer) = &mut self {
            text.clone_into(&mut answer.text);
        }
        self
    }

    /// Costing this many tokens.
    #[must_use]
    pub fn costing(mut self, input: u64, output: u64) -> Self {
        if let Self::Answer(answer) = &mut self {
            answer.tokens = Some((input, output));
        }
        self
    }

    /// What is done when it is asked for again after so many times.
    pub(super) fn after(&self, times: usize) -> &Self {
        match self {
            Self::First(first, step, _) if times < *first => step.after(times),
            Self::First(first, _, then) => then.after(times - first),
            Self::Answer(_) | Self::Fault(_) => self,
        }
    }

    /// The answer that it comes to, if it ever does.
    pub(super) fn answer(&self) -> Option<&Answer> {
        match self {
            Self::Answer(answer) => Some(answer),
            Self::Fault(_) => None,
            Self::First(_, step, then) => then.answer().or_else(|| step.answer()),
        }
    }
}
