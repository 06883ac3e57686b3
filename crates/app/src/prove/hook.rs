//! Stop hooks of agents: send an agent back with the problems if it ends its turn too early.
//!
//! Each agent has its own hook format; [`Agent`] knows them. The agent's message is untrusted input: its size is
//! limited, and only the session name and how the turn ended are read from it. *An agent is never sent back forever*:
//! acquit counts per session, and lets the agent end after [`MOST_IN_A_ROW`] times without success and [`MOST_IN_ALL`]
//! times in total, regardless of what the agent claims about earlier hooks.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::report::{Decision, Report, Status};
pub use crate::init::hooks::{Agent, MOST_IN_A_ROW};
use acquit_core::hex;

/// Maximum number of times that a session is sent back in total.
pub const MOST_IN_ALL: u32 = 20;

/// Maximum size of an agent's message to read.
pub const LARGEST: u64 = 4 << 20;

/// Folder of the counters in acquit's home.
const FOLDER: &str = "hooks";

/// Maximum number of sessions to remember.
const MOST_SESSIONS: usize = 1_000;

/// Maximum number of findings or lines to report to an agent for each claim.
const MOST_TOLD: usize = 20;

/// The message of an agent at the end of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Our own name for the session.
    pub session: String,
    /// Whether the agent says that a hook already sent it back in this turn.
    pub again: bool,
    /// Whether the agent reports that its user stopped it, or that it failed. Then it does not claim to be done.
    pub broken_off: bool,
}

impl Turn {
    /// Parses the agent's message. If it cannot be parsed, the turn belongs to an unnamed session of this folder.
    pub fn read(agent: Agent, bytes: &[u8], here: &Path) -> Self {
        let text = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
        let value: Value = serde_json::from_slice(text).unwrap_or_default();
        let word = |key: &str| value.get(key).and_then(Value::as_str).filter(|word| !word.is_empty());
        let name = word("session_id").or_else(|| word("conversation_id")).unwrap_or_default();
        let again = value.get("stop_hook_active").and_then(Value::as_bool).unwrap_or_default()
            || value.get("loop_count").and_then(Value::as_u64).unwrap_or_default() > 0;
        // Cursor calls its hook for every end; the others only for those of the agent itself.
        let broken_off = agent == Agent::Cursor && word("status").is_some_and(|status| status != "completed");
        let of = format!("{agent:?}\0{name}\0{}", here.display());
        Self { session: hex::encode(&Sha256::digest(of.as_bytes())[..16]), again, broken_off }
    }
}

/// Number of times that a session was sent back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Count {
    /// Since it was last acquitted, or since a person last spoke.
    pub in_a_row: u32,
    /// In total.
    pub in_all: u32,
}

impl Count {
    /// Loads the counter of a session.
    pub fn load(home: &Path, turn: &Turn) -> Self {
        let text = std::fs::read(file(home, turn)).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// Saves the counter. If this fails, the caller lets the agent end: otherwise it could be sent back forever.
    pub fn save(self, home: &Path, turn: &Turn) -> std::io::Result<()> {
        let path = file(home, turn);
        let folder = path.parent().unwrap_or(home);
        std::fs::create_dir_all(folder)?;
        if std::fs::read_dir(folder)?.count() > MOST_SESSIONS {
            std::fs::remove_dir_all(folder)?;
            std::fs::create_dir_all(folder)?;
        }
        let fresh = path.with_extension(format!("{}.new", std::process::id()));
        std::fs::write(&fresh, serde_json::to_vec(&self)?)?;
        std::fs::rename(&fresh, &path)
    }

    /// Returns the increased counter if the session may be sent back again.
    pub fn once_more(self, turn: &Turn) -> Option<Self> {
        // A turn that no hook prolonged starts with a message of a person.
        let in_a_row = if turn.again { self.in_a_row } else { 0 };
        let next = Self { in_a_row: in_a_row + 1, in_all: self.in_all + 1 };
        (next.in_a_row <= MOST_IN_A_ROW && next.in_all <= MOST_IN_ALL).then_some(next)
    }
}

fn file(home: &Path, turn: &Turn) -> PathBuf {
    home.join(FOLDER).join(format!("{}.json", turn.session))
}

/// The answer to an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Continue, with this text for the agent.
    SendBack(String),
    /// End. The text is for a person, if the agent can show it to one.
    Let(String),
}

impl Answer {
    /// Returns the answer in the agent's own format.
    pub fn in_words_of(&self, agent: Agent) -> Value {
        match (self, agent) {
            (Self::SendBack(reason), Agent::Claude | Agent::Codex) => {
                json!({ "decision": "block", "reason": reason })
            }
            (Self::SendBack(reason), Agent::Gemini) => json!({ "decision": "deny", "reason": reason }),
            (Self::SendBack(reason), Agent::Cursor | Agent::Opencode) => {
                json!({ "followup_message": reason })
            }
            (Self::Let(words), Agent::Claude | Agent::Codex | Agent::Gemini) if !words.is_empty() => {
                json!({ "systemMessage": words })
            }
            (Self::Let(_), _) => json!({}),
        }
    }
}

/// Describes for the agent why its change is not acquitted: each claim that does not hold, the evidence against it, and
/// what to do.
pub fn distilled(report: &Report) -> String {
    let mut lines = vec![
        "acquit judged your change and it is not done: these claims do not hold. Mend the code, not the tests; then end your turn again."
            .to_owned(),
    ];
    for claim in report.claims.iter().filter(|claim| claim.status == Status::Broken) {
        lines.push(format!("\n- Not true: {} (gate `{}`: {})", claim.claim, claim.gate, claim.command));
        let findings: Vec<String> = claim.evidence.failing().map(ToString::to_string).collect();
        if findings.is_empty() {
            lines.extend(
                claim
                    .problem
                    .iter()
                    .flat_map(|text| text.lines())
                    .take(MOST_TOLD)
                    .map(|line| format!("    {line}")),
            );
        }
        lines.extend(findings.iter().take(MOST_TOLD).map(|text| format!("    {text}")));
        lines.extend(claim.advice.iter().map(|advice| format!("    To do: {advice}")));
    }
    lines.join("\n")
}

/// Returns the answer to a judgement, given how often the session was sent back before.
pub fn answer(report: &Report, count: Count, turn: &Turn) -> (Answer, Count) {
    match report.decision {
        Decision::Acquitted if report.claims.is_empty() => (Answer::Let(String::new()), count),
        Decision::Acquitted => {
            let words = format!("acquit: acquitted, {} claims hold", report.claims.len());
            (Answer::Let(words), Count { in_a_row: 0, ..count })
        }
        Decision::Unjudged => {
            (Answer::Let("acquit could not judge this change; `acquit prove` says why".to_owned()), count)
        }
        Decision::Guilty => {
            if let Some(next) = count.once_more(turn) {
                return (Answer::SendBack(distilled(report)), next);
            }
            let words = format!(
                "acquit: still guilty after it was sent back {} times; `acquit prove` says why",
                count.in_a_row
            );
            (Answer::Let(words), count)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(again: bool) -> Turn {
        Turn { session: "s".to_owned(), again, broken_off: false }
    }

    #[test]
    fn no_session_is_sent_back_for_ever_whatever_the_agent_says() {
        // An agent that always says a hook already sent it back.
        let mut count = Count::default();
        let mut times = 0;
        while let Some(next) = count.once_more(&turn(true)) {
            (count, times) = (next, times + 1);
            assert!(times < 1_000);
        }
        assert_eq!(times, MOST_IN_A_ROW);
        // An agent that never says so.
        let (mut count, mut times) = (Count::default(), 0);
        while let Some(next) = count.once_more(&turn(false)) {
            (count, times) = (next, times + 1);
            assert!(times < 1_000);
        }
        assert_eq!(times, MOST_IN_ALL);
    }

    #[test]
    fn what_an_agent_sends_is_read_for_its_session_alone() {
        let read = |text: &str| Turn::read(Agent::Claude, text.as_bytes(), Path::new("/x"));
        let known = read(r#"{"session_id":"a","stop_hook_active":true}"#);
        assert!(known.again && !read(r#"{"session_id":"a"}"#).again);
        assert_eq!(known.session, read("\u{feff}{\"session_id\":\"a\"}").session);
        assert_ne!(known.session, read(r#"{"session_id":"../../b"}"#).session);
        for odd in ["", "null", "[]", "{\"session_id\":7}", "\u{0}"] {
            assert_eq!(read(odd).session.len(), 32, "{odd}");
        }
        assert!(Turn::read(Agent::Cursor, br#"{"loop_count":1}"#, Path::new("/x")).again);
        for (status, broken_off) in [("completed", false), ("aborted", true), ("error", true)] {
            let message = format!(r#"{{"status":"{status}"}}"#);
            let turn = Turn::read(Agent::Cursor, message.as_bytes(), Path::new("/x"));
            assert_eq!(turn.broken_off, broken_off, "{status}");
        }
    }

    #[test]
    fn each_agent_is_answered_in_its_own_words() {
        let back = Answer::SendBack("mend it".to_owned());
        assert_eq!(back.in_words_of(Agent::Claude), json!({ "decision": "block", "reason": "mend it" }));
        assert_eq!(back.in_words_of(Agent::Gemini), json!({ "decision": "deny", "reason": "mend it" }));
        assert_eq!(back.in_words_of(Agent::Cursor), json!({ "followup_message": "mend it" }));
        let let_go = Answer::Let("fine".to_owned());
        assert_eq!(let_go.in_words_of(Agent::Codex), json!({ "systemMessage": "fine" }));
        assert_eq!(let_go.in_words_of(Agent::Opencode), json!({}));
    }
}
