//! A common format for the output and usage of all agents.
//!
//! Each adapter translates its agent's own output into these types. Texts are bounded by [`TEXT_LIMIT`]; the leg's
//! output file has them in full, at [`Item::offset`].

use serde::{Deserialize, Serialize};

use crate::ids::Name;
use crate::time::Timestamp;

/// Maximum size of a text in an item. It is enough to show what the agent is doing; the file has the rest.
pub const TEXT_LIMIT: usize = 4 * 1024;

/// Something an agent did, as reported by the agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AgentEvent {
    /// Text for the reader.
    Text {
        /// The text.
        text: String,
    },
    /// Reasoning of the model.
    Thinking {
        /// The text.
        text: String,
    },
    /// A tool call started.
    ToolUse {
        /// Tool name.
        name: String,
        /// Arguments, shortened.
        #[serde(default)]
        input: String,
    },
    /// A tool call returned.
    ToolResult {
        /// Whether the tool reports success.
        ok: bool,
        /// Result, shortened.
        #[serde(default)]
        text: String,
    },
    /// Token usage.
    Usage(Usage),
    /// The id with which the agent can continue this conversation.
    Session {
        /// The agent's own session id.
        id: String,
    },
    /// The model's provider refuses work for now.
    Limit {
        /// When it accepts work again, if known.
        until: Option<Timestamp>,
        /// The provider's message.
        #[serde(default)]
        text: String,
    },
    /// The agent reports the end of its turn.
    End {
        /// Whether it reports success. This is never treated as proof.
        ok: bool,
        /// The agent's last message.
        #[serde(default)]
        text: String,
    },
    /// A tool call was denied, by the agent's rules or by acquit's.
    Denied {
        /// Tool name.
        tool: String,
        /// Reason given by the side that denied it.
        #[serde(default)]
        text: String,
    },
    /// An error between the agent and its model.
    Fault {
        /// Kind of the error.
        fault: Fault,
        /// Error message.
        #[serde(default)]
        text: String,
        /// Whether the agent reports that it retries. If so, the error is not final.
        #[serde(default)]
        again: bool,
    },
    /// The agent's structured report. Untrusted, like everything else here.
    Report {
        /// `{"outcome": …, "payload": {…}}`, if the agent followed the format.
        value: serde_json::Value,
    },
    /// A record of a kind that the adapter does not know. It is counted; the file has its text.
    Unknown {
        /// The agent's name for the kind.
        kind: String,
    },
    /// A line that is not in the agent's output format, shown as is.
    Raw {
        /// The line, made printable.
        text: String,
    },
}

/// An error between an agent and its model. Each kind is handled differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// Not logged in, or the login has expired. Only a person can fix it.
    Login,
    /// Out of credit. Only a person can fix it.
    Billing,
    /// The model does not exist or is not allowed. Only a person can fix it.
    Model,
    /// The provider is overloaded; temporary.
    Overloaded,
    /// The provider failed; usually temporary.
    Server,
    /// The provider is unreachable or the connection broke; usually temporary.
    Network,
    /// The conversation exceeds the model's context window.
    TooLong,
    /// The model refused, by its own rules.
    Refused,
    /// The agent reached its own turn limit.
    Turns,
    /// The agent reached its own cost limit.
    Money,
    /// Any other error.
    Other,
}

/// Token usage, and its cost as reported by the agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Model name, if the agent reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Uncached input tokens.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Input tokens read from a cache.
    pub cache_read: u64,
    /// Input tokens written to a 5-minute cache.
    pub cache_write_5m: u64,
    /// Input tokens written to a 1-hour cache.
    pub cache_write_1h: u64,
    /// Cost in millionths of a dollar. `None` means that no cost was reported, which is not the same as zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
    /// Cost by acquit's price list, as far as the list covers the tokens; see `unpriced`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list_micros: Option<u64>,
    /// Part of `list_micros` for tokens that `cost_micros` also covers. A killed agent has not reported the cost of its
    /// last tokens. `None` in records from before this field existed: then the reported cost covers all tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub covered_micros: Option<u64>,
    /// Number of tokens without a price in acquit's list.
    #[serde(skip_serializing_if = "is_zero")]
    pub unpriced: u64,
    /// Whether a login pays instead of an API key. If so, the costs are what the usage would have cost by key.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub by_login: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde wants")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Usage {
    /// Adds later usage. If only one side has a cost, the sum has that cost.
    pub fn add(&mut self, other: &Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write_5m = self.cache_write_5m.saturating_add(other.cache_write_5m);
        self.cache_write_1h = self.cache_write_1h.saturating_add(other.cache_write_1h);
        let sum = |mine: Option<u64>, theirs: Option<u64>| match (mine, theirs) {
            (None, None) => None,
            (mine, theirs) => Some(mine.unwrap_or(0).saturating_add(theirs.unwrap_or(0))),
        };
        self.covered_micros = sum(self.covered(), other.covered());
        self.cost_micros = sum(self.cost_micros, other.cost_micros);
        self.list_micros = sum(self.list_micros, other.list_micros);
        self.unpriced = self.unpriced.saturating_add(other.unpriced);
        self.by_login |= other.by_login;
        if other.model.is_some() {
            self.model.clone_from(&other.model);
        }
    }

    /// Returns the part of the list price that the reported cost covers.
    fn covered(&self) -> Option<u64> {
        self.covered_micros.or_else(|| self.cost_micros.and(self.list_micros))
    }

    /// Marks everything so far as covered by the reported cost.
    pub fn settle(&mut self) {
        self.covered_micros = self.list_micros;
    }

    /// Returns the cost: the agent's figure, plus the list price of usage without a reported cost. `None` without any
    /// price.
    pub fn paid(&self) -> Option<u64> {
        match (self.cost_micros, self.list_micros) {
            (None, None) => None,
            (told, _) => Some(told.unwrap_or(0).saturating_add(self.estimated())),
        }
    }

    /// Returns the part of [`Usage::paid`] that comes from the price list instead of the agent.
    pub fn estimated(&self) -> u64 {
        self.list_micros.unwrap_or(0).saturating_sub(self.covered().unwrap_or(0))
    }

    /// Returns the total number of tokens.
    pub fn tokens(&self) -> u64 {
        [self.input, self.output, self.cache_read, self.cache_write_5m, self.cache_write_1h]
            .into_iter()
            .fold(0, u64::saturating_add)
    }

    /// Returns whether nothing was used.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A conversation that its agent can continue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Agent name in the configuration.
    pub agent: Name,
    /// The agent's own session id.
    pub id: String,
    /// Total usage of the session over all legs. Some agents report only totals.
    pub total: Usage,
}

/// An agent event with its position in the leg's output file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// Offset of its line in the file.
    pub offset: u64,
    /// The event.
    pub said: AgentEvent,
}

/// Consecutive lines of a leg's output, normalized. Chunks are contiguous: `to` of one is `from` of the next, so that a
/// missing line would show.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Chunk {
    /// Offset of the first byte.
    pub from: u64,
    /// Offset after the last byte.
    pub to: u64,
    /// Number of lines, including those without an item.
    pub lines: u64,
    /// Events in these lines, up to a limit; see `omitted`.
    pub items: Vec<Item>,
    /// Number of events left out. In a burst, the store keeps only the first events of a chunk; the file keeps all.
    #[serde(default)]
    pub omitted: u64,
}

/// Truncates a text to `limit` bytes at a character boundary and marks the cut.
pub fn shorten(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let mut end = limit;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}… ({} bytes more)", &text[..end], text.len() - end)
}
