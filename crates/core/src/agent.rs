//! One language for what every agent prints, and what it used.
//!
//! An adapter turns its agent's own output into these. Texts in them are bounded ([`TEXT_LIMIT`]); the whole of it
//! stays in the leg's output file, found again by [`Item::offset`].

use serde::{Deserialize, Serialize};

use crate::ids::Name;
use crate::time::Timestamp;

/// The longest text that an item carries. Enough to show what the agent is doing; the file has the rest.
pub const TEXT_LIMIT: usize = 4 * 1024;

/// Something that an agent did, as far as it told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AgentEvent {
    /// Words to the reader.
    Text {
        /// What it said.
        text: String,
    },
    /// Words to itself.
    Thinking {
        /// What it thought.
        text: String,
    },
    /// It began to use a tool.
    ToolUse {
        /// The tool's name.
        name: String,
        /// What it was called with, in short.
        #[serde(default)]
        input: String,
    },
    /// A tool answered.
    ToolResult {
        /// Whether the tool reports success.
        ok: bool,
        /// The answer, in short.
        #[serde(default)]
        text: String,
    },
    /// Tokens were used.
    Usage(Usage),
    /// The id by which the agent can continue this conversation.
    Session {
        /// The agent's own id.
        id: String,
    },
    /// The model's provider refuses more work for now.
    Limit {
        /// When it will accept work again, if it said so.
        until: Option<Timestamp>,
        /// Its words.
        #[serde(default)]
        text: String,
    },
    /// The agent says that its turn is over.
    End {
        /// Whether it reports success. Never taken as proof of anything.
        ok: bool,
        /// Its last words.
        #[serde(default)]
        text: String,
    },
    /// A tool was refused, by the agent's own rules or by ours.
    Denied {
        /// The tool.
        tool: String,
        /// Why, in the words of who refused.
        #[serde(default)]
        text: String,
    },
    /// Something is wrong between the agent and its model.
    Fault {
        /// What kind of thing.
        fault: Fault,
        /// The words for it.
        #[serde(default)]
        text: String,
        /// Whether the agent says that it tries again by itself: then this is not the end.
        #[serde(default)]
        again: bool,
    },
    /// What the agent reports in the form that it was asked for: untrusted, like everything else here.
    Report {
        /// `{"outcome": …, "payload": {…}}`, if it kept to the form.
        value: serde_json::Value,
    },
    /// A record of a kind that the adapter does not know: counted, and the file has it.
    Unknown {
        /// What the agent calls it.
        kind: String,
    },
    /// A line that is not of the agent's own form: shown as it is.
    Raw {
        /// The line, made printable.
        text: String,
    },
}

/// What can go wrong between an agent and its model. Each has its own consequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// Not logged in, or the login is not accepted any more. Only a person can mend it.
    Login,
    /// Nothing is left to pay with. Only a person can mend it.
    Billing,
    /// The model does not exist, or may not be used. Only a person can mend it.
    Model,
    /// The provider has too much to do: it passes.
    Overloaded,
    /// The provider failed: it passes, as a rule.
    Server,
    /// The provider could not be reached, or the connection broke: it passes, as a rule.
    Network,
    /// The conversation is longer than the model can read.
    TooLong,
    /// The model refused, by its own rules.
    Refused,
    /// The agent's own limit on turns.
    Turns,
    /// The agent's own limit on money.
    Money,
    /// Anything else.
    Other,
}

/// What was used, and what it cost by the agent's own figure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// The model that was asked, if the agent says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Tokens read that were not cached.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
    /// Tokens read from a cache.
    pub cache_read: u64,
    /// Tokens written to a cache that lasts five minutes.
    pub cache_write_5m: u64,
    /// Tokens written to a cache that lasts an hour.
    pub cache_write_1h: u64,
    /// Millionths of a dollar. `None` says that nobody told a price, which is not the same as nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
    /// The same by our own list of prices, as far as the list goes; see `unpriced`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list_micros: Option<u64>,
    /// How much of `list_micros` is for tokens that `cost_micros` pays for as well. An agent that was killed has told no cost for
    /// its last tokens. `None` in records of before this was counted: then a cost pays for all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub covered_micros: Option<u64>,
    /// How many of the tokens have no price in our list.
    #[serde(skip_serializing_if = "is_zero")]
    pub unpriced: u64,
    /// Whether a login pays and not a key: then the costs are what it would have cost by use.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub by_login: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde wants")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Usage {
    /// Adds what was used later. A price on one side only is still that price.
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

    /// How much of the list's figure the told cost pays for.
    fn covered(&self) -> Option<u64> {
        self.covered_micros.or_else(|| self.cost_micros.and(self.list_micros))
    }

    /// The told cost pays for everything so far.
    pub fn settle(&mut self) {
        self.covered_micros = self.list_micros;
    }

    /// What it cost: the agent's own figure, and our list's for what the agent told none for. `None` without any price.
    pub fn paid(&self) -> Option<u64> {
        match (self.cost_micros, self.list_micros) {
            (None, None) => None,
            (told, _) => Some(told.unwrap_or(0).saturating_add(self.estimated())),
        }
    }

    /// The part of [`Usage::paid`] that is our list's figure and not the agent's.
    pub fn estimated(&self) -> u64 {
        self.list_micros.unwrap_or(0).saturating_sub(self.covered().unwrap_or(0))
    }

    /// All its tokens.
    pub fn tokens(&self) -> u64 {
        [self.input, self.output, self.cache_read, self.cache_write_5m, self.cache_write_1h]
            .into_iter()
            .fold(0, u64::saturating_add)
    }

    /// Whether anything was used at all.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A conversation that its agent can continue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// The agent's name in the configuration.
    pub agent: Name,
    /// The agent's own id of it.
    pub id: String,
    /// What it used since it began, in all its legs: some agents only tell totals.
    pub total: Usage,
}

/// One thing said, with its place in the leg's output file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// Where its line begins in the file.
    pub offset: u64,
    /// What was said.
    pub said: AgentEvent,
}

/// Consecutive lines of a leg's output, normalised. Chunks follow each other without a gap: the `to` of one is the
/// `from` of the next, so a missing line would show.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Chunk {
    /// The first byte of the output file that the chunk covers.
    pub from: u64,
    /// The byte after the last one.
    pub to: u64,
    /// How many lines it covers, with those that gave no item.
    pub lines: u64,
    /// What was said in them, as far as it fits; see `omitted`.
    pub items: Vec<Item>,
    /// How many more things were said. In a burst the store keeps the first of a chunk and the file keeps all.
    #[serde(default)]
    pub omitted: u64,
}

/// Cuts a text to `limit` bytes at a character's border, marking the cut.
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
