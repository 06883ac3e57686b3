//! Questions to people: the input of the tools that ask, and how it is converted.

use acquit_core::human_request::{
    self, CONTEXT_LIMIT, NAME_LIMIT, OPTIONS, QUESTION_LIMIT, Question, TRADE_OFFS_LIMIT,
};
use serde_json::{Value, json};

/// Returns the input schema of `ask`.
pub(super) fn question_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "question": {
                "type": "string", "minLength": 1, "maxLength": QUESTION_LIMIT,
                "description": "one clear question, so that somebody who has not seen the code can answer it",
            },
            "kind": {
                "type": "string", "enum": ["text", "choice", "yes_no"],
                "description": "what kind of answer you need; a choice needs options",
            },
            "options": options(0),
            "recommended": recommended(),
            "context": context(),
        },
        "required": ["question"],
        "additionalProperties": false,
    })
}

/// Returns the input schema of `propose_options`.
pub(super) fn options_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "question": {
                "type": "string", "minLength": 1, "maxLength": QUESTION_LIMIT,
                "description": "what is to be decided",
            },
            "options": options(2),
            "recommended": recommended(),
            "context": context(),
        },
        "required": ["question", "options"],
        "additionalProperties": false,
    })
}

fn recommended() -> Value {
    json!({ "type": "string", "maxLength": NAME_LIMIT, "description": "the name of the option that you would take" })
}

fn options(least: usize) -> Value {
    json!({
        "type": "array", "minItems": least, "maxItems": OPTIONS,
        "items": {
            "type": "object",
            "properties": {
                "name": { "type": "string", "minLength": 1, "maxLength": NAME_LIMIT, "description": "a few words" },
                "trade_offs": {
                    "type": "string", "maxLength": TRADE_OFFS_LIMIT,
                    "description": "what it means, what speaks for it and what against it",
                },
            },
            "required": ["name"],
            "additionalProperties": false,
        },
    })
}

fn context() -> Value {
    json!({ "type": "string", "maxLength": CONTEXT_LIMIT, "description": "what one must know to answer" })
}

/// Converts arguments that match their schema into a question, or returns what is still wrong with them.
pub(super) fn question(arguments: &Value) -> Result<Question, Vec<String>> {
    let mut wrong = Vec::new();
    let question = human_request::questions(arguments).pop();
    if question.is_none() {
        wrong.push("`question` has no words in it".to_owned());
    }
    let names: Vec<&str> =
        question.iter().flat_map(|one| &one.options).map(|option| option.name.as_str()).collect();
    let kind = arguments.get("kind").and_then(Value::as_str);
    if kind == Some("choice") && names.len() < 2 {
        wrong.push("a question of kind `choice` needs at least two `options`".to_owned());
    }
    if kind.is_some_and(|kind| kind != "choice") && !names.is_empty() {
        wrong.push("`options` belong to a question of kind `choice`".to_owned());
    }
    let twice = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name));
    if let Some((_, name)) = twice {
        wrong.push(format!("two options are named `{name}`"));
    }
    if let Some(name) = question.as_ref().and_then(|question| question.recommended.as_deref())
        && !names.contains(&name)
    {
        wrong.push(format!("`recommended` is `{name}`, which is not the name of an option"));
    }
    question.filter(|_| wrong.is_empty()).ok_or(wrong)
}
