//! Requests: what only a person can answer. A task with an open one waits, for as long as it takes.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent::shorten;
use crate::ids::Name;
use crate::leg::Entry;
use crate::workflow::Target;

/// A question to a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HumanRequest {
    /// Counts from 1 within the task.
    pub number: u32,
    /// The stage at which the task stands.
    pub stage: Name,
    /// What is asked.
    pub ask: Ask,
    /// The question in words.
    pub question: String,
    /// The leg that a plain "go on" would make ready.
    pub resume: Entry,
}

impl HumanRequest {
    /// Whether the task stands before a stage that cannot be undone.
    pub fn is_irreversible(&self) -> bool {
        matches!(&self.ask, Ask::Approval { to: Target::Stage(stage) } if *stage == self.stage)
    }
}

/// What a person is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Ask {
    /// Words: the agent needs to know something.
    Question {
        /// What it asked, one by one, where it said more than a sentence.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        questions: Vec<Question>,
    },
    /// One of several ways to go on.
    Choice {
        /// The ways.
        options: Vec<Target>,
    },
    /// Consent to go on to `to`.
    Approval {
        /// Where approval leads.
        to: Target,
    },
    /// An answer to a human stage: one of its outcomes.
    Stage {
        /// The outcomes that the stage knows.
        outcomes: Vec<Name>,
    },
    /// A budget is spent: more of it, another way, or the end.
    Budget {
        /// Which.
        budget: Name,
    },
    /// Anything else that stopped the task.
    Stuck,
}

/// One question of an agent, with what a person needs to answer it. Texts of an untrusted process, bounded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The question itself.
    pub question: String,
    /// What kind of answer it wants.
    #[serde(default)]
    pub kind: Kind,
    /// What can be chosen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<Choice>,
    /// The option that the agent would take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recommended: Option<String>,
    /// What one must know to answer.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub context: String,
}

/// What kind of answer a question wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Words.
    #[default]
    Text,
    /// One of the options. Words are taken too: a person may know better.
    Choice,
    /// Yes or no.
    YesNo,
}

impl Kind {
    /// All of them with their names.
    pub const ALL: [(&str, Self); 3] =
        [("text", Self::Text), ("choice", Self::Choice), ("yes_no", Self::YesNo)];
}

/// One of several ways, with what speaks for and against it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// What it is called.
    pub name: String,
    /// What it means and what it costs.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub trade_offs: String,
}

/// So many questions at once: who has more should ask for a talk.
pub const QUESTIONS: usize = 10;
/// So many options of a question: more cannot be compared.
pub const OPTIONS: usize = 10;
/// The longest question: a page.
pub const QUESTION_LIMIT: usize = 4 * 1024;
/// The longest context: a few pages.
pub const CONTEXT_LIMIT: usize = 8 * 1024;
/// The longest name of an option: a line.
pub const NAME_LIMIT: usize = 200;
/// The longest description of an option: a few paragraphs.
pub const TRADE_OFFS_LIMIT: usize = 2 * 1024;

/// The questions in the payload of an outcome that asks: a list `questions`, or one beside its `question`. Nobody has
/// checked them, so what does not fit is left out or cut.
pub fn questions(payload: &Value) -> Vec<Question> {
    match payload.get("questions").and_then(Value::as_array) {
        Some(list) => list.iter().filter_map(question).take(QUESTIONS).collect(),
        None => question(payload).into_iter().collect(),
    }
}

/// All of them as one text: the question of a request.
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
    /// The question with its options: what a later reader needs to understand the answer.
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
    /// What was asked, with the options that could be chosen.
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
    /// Go on.
    Approve,
    /// Do not.
    Reject {
        /// Why.
        reason: String,
    },
    /// This way.
    Choose {
        /// One of the options, or of the stage's outcomes.
        option: String,
    },
    /// Words for the agent, upon which it goes on.
    Text {
        /// The words.
        text: String,
    },
    /// One answer for each question, in the order of the questions.
    Each {
        /// The answers: words, or the name of an option.
        answers: Vec<String>,
    },
}
