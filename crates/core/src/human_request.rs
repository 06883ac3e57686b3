//! Human requests: questions and approvals that only a person can answer. A task with an open one waits as long as it
//! takes.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent::shorten;
use crate::ids::Name;
use crate::leg::Entry;
use crate::workflow::Target;

/// A question or approval for a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HumanRequest {
    /// Number within the task, starting at 1.
    pub number: u32,
    /// Current stage of the task.
    pub stage: Name,
    /// Kind of answer wanted.
    pub ask: Ask,
    /// Text of the question.
    pub question: String,
    /// Leg to ready on a plain "continue".
    pub resume: Entry,
}

impl HumanRequest {
    /// Returns whether the task is about to enter a stage that cannot be undone.
    pub fn is_irreversible(&self) -> bool {
        matches!(&self.ask, Ask::Approval { to: Target::Stage(stage) } if *stage == self.stage)
    }
}

/// What a person is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Ask {
    /// Information that the agent needs.
    Question {
        /// The agent's questions in detail, if it gave more than a sentence.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        questions: Vec<Question>,
    },
    /// A choice between transitions.
    Choice {
        /// The targets.
        options: Vec<Target>,
    },
    /// Approval to go to `to`.
    Approval {
        /// Target after approval.
        to: Target,
    },
    /// An answer to a human stage: one of its outcomes.
    Stage {
        /// Outcomes of the stage.
        outcomes: Vec<Name>,
    },
    /// A budget is exhausted: extend it, go elsewhere, or end the task.
    Budget {
        /// Budget name.
        budget: Name,
    },
    /// Anything else that stopped the task.
    Stuck,
}

/// A question of an agent, with what a person needs to answer it. The texts are untrusted and bounded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The question.
    pub question: String,
    /// Kind of answer.
    #[serde(default)]
    pub kind: Kind,
    /// Options to choose from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<Choice>,
    /// Option that the agent recommends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recommended: Option<String>,
    /// Background needed to answer.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub context: String,
}

/// The kind of answer to a question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Free text.
    #[default]
    Text,
    /// One of the options. Free text is accepted too: a person may know better.
    Choice,
    /// Yes or no.
    YesNo,
}

impl Kind {
    /// All kinds with their names.
    pub const ALL: [(&str, Self); 3] =
        [("text", Self::Text), ("choice", Self::Choice), ("yes_no", Self::YesNo)];
}

/// An option with its trade-offs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// Option name.
    pub name: String,
    /// Meaning and cost of the option.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub trade_offs: String,
}

/// Maximum number of questions at once. An agent with more should ask for a conversation.
pub const QUESTIONS: usize = 10;
/// Maximum number of options of a question. More cannot be compared.
pub const OPTIONS: usize = 10;
/// Maximum size of a question: a page.
pub const QUESTION_LIMIT: usize = 4 * 1024;
/// Maximum size of the context: a few pages.
pub const CONTEXT_LIMIT: usize = 8 * 1024;
/// Maximum size of an option's name: a line.
pub const NAME_LIMIT: usize = 200;
/// Maximum size of an option's description: a few paragraphs.
pub const TRADE_OFFS_LIMIT: usize = 2 * 1024;

/// Extracts the questions from the payload of an outcome: the list `questions`, or a single `question`. The payload is
/// unchecked, so anything that does not fit is dropped or truncated.
pub fn questions(payload: &Value) -> Vec<Question> {
    match payload.get("questions").and_then(Value::as_array) {
        Some(list) => list.iter().filter_map(question).take(QUESTIONS).collect(),
        None => question(payload).into_iter().collect(),
    }
}

/// Joins the questions into one text, the question of a human request.
pub fn in_words(questions: &[Question]) -> Option<String> {
    match questions {
        [] => None,
        [only] => Some(only.question.clone()),
        several => {
            let lines = several.iter().enumerate();
            Some(
                lines.map(|(at, one)| format!("{}. {}", at + 1, one.question)).collect::<Vec<_>>().join("\n"),
            )
        }
    }
}

impl Question {
    /// Returns the question with its options, which a later reader needs to understand the answer.
    pub fn in_full(&self) -> String {
        let mut text = self.question.clone();
        if !self.options.is_empty() {
            text.push_str("\n\nOptions:");
        }
        for option in &self.options {
            text.push_str(&format!("\n- {}", option.name));
            if self.recommended.as_ref() == Some(&option.name) {
                text.push_str(" (recommended)");
            }
            if !option.trade_offs.is_empty() {
                text.push_str(&format!(": {}", option.trade_offs));
            }
        }
        text
    }
}

impl HumanRequest {
    /// Returns the question with the available options.
    pub fn in_full(&self) -> String {
        match &self.ask {
            Ask::Question { questions } => match questions.as_slice() {
                [] => self.question.clone(),
                [only] => only.in_full(),
                several => {
                    let lines = several.iter().enumerate();
                    let lines = lines.map(|(at, one)| format!("{}. {}", at + 1, one.in_full()));
                    lines.collect::<Vec<_>>().join("\n")
                }
            },
            Ask::Choice { .. }
            | Ask::Approval { .. }
            | Ask::Stage { .. }
            | Ask::Budget { .. }
            | Ask::Stuck => self.question.clone(),
        }
    }
}

fn question(value: &Value) -> Option<Question> {
    let text =
        |key: &str, limit| value.get(key).and_then(Value::as_str).map(|text| shorten(text.trim(), limit));
    let options: Vec<Choice> = value
        .get("options")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(choice)
        .take(OPTIONS)
        .collect();
    let named = text("kind", NAME_LIMIT).and_then(|word| Kind::ALL.iter().find(|(name, _)| *name == word));
    let kind = match named {
        Some((_, Kind::Choice)) | None if options.is_empty() => Kind::Text,
        Some((_, kind)) => *kind,
        None => Kind::Choice,
    };
    Some(Question {
        question: text("question", QUESTION_LIMIT).filter(|text| !text.is_empty())?,
        kind,
        options,
        recommended: text("recommended", NAME_LIMIT).filter(|text| !text.is_empty()),
        context: text("context", CONTEXT_LIMIT).unwrap_or_default(),
    })
}

fn choice(value: &Value) -> Option<Choice> {
    let text = |value: &Value, limit| value.as_str().map(|text| shorten(text.trim(), limit));
    let name = text(value, NAME_LIMIT).or_else(|| text(value.get("name")?, NAME_LIMIT))?;
    let trade_offs =
        value.get("trade_offs").and_then(|about| text(about, TRADE_OFFS_LIMIT)).unwrap_or_default();
    (!name.is_empty()).then_some(Choice { name, trade_offs })
}

/// A person's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Answer {
    /// Approve.
    Approve,
    /// Reject.
    Reject {
        /// Reason for the rejection.
        reason: String,
    },
    /// Choose an option.
    Choose {
        /// One of the options, or one of the stage's outcomes.
        option: String,
    },
    /// Free text for the agent, which then continues.
    Text {
        /// The text.
        text: String,
    },
    /// One answer per question, in order.
    Each {
        /// Answers: free text or option names.
        answers: Vec<String>,
    },
}
