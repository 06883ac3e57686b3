//! The tools: name, input and effect of each. Arguments are validated completely before anything is written, and a
//! rejection names every mistake and how to fix it.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use acquit_core::agent::shorten;
use acquit_core::check::review::pointed;
use acquit_core::human_request;
use acquit_core::ids::Name;
use acquit_core::json_schema::mistakes;
use acquit_core::outcome::{self, FAILED, NEEDS_INPUT, Outcome};
use serde_json::{Value, json};

use super::progress::{self, Note};
use super::{Brief, ask, read_report};

/// Maximum size of a schema to repeat to an agent that violated it.
const SCHEMA_SHOWN: usize = 8 * 1024;

/// Tools that the server offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tool {
    ReportOutcome,
    Ask,
    ProposeOptions,
    ReportProgress,
    TaskContext,
}

const ALL: [Tool; 5] =
    [Tool::ReportOutcome, Tool::Ask, Tool::ProposeOptions, Tool::ReportProgress, Tool::TaskContext];

/// Names of the tools, for agents whose settings must list them.
pub const NAMES: [&str; 5] = ["report_outcome", "ask", "propose_options", "report_progress", "task_context"];

/// Returns the tool with this name.
pub(super) fn find(name: &str) -> Option<Tool> {
    ALL.into_iter().find(|tool| tool.name() == name)
}

impl Tool {
    fn name(self) -> &'static str {
        NAMES[ALL.iter().position(|tool| *tool == self).unwrap_or_default()]
    }

    fn description(self, brief: &Brief) -> String {
        match self {
            Self::ReportOutcome => format!(
                "Reports how your turn ended: the last thing you do. The report is checked at once; if it is refused, mend what is \
                 named and call again. A later report takes the place of an earlier one. The outcomes here:\n{}",
                outcomes(brief)
            ),
            Self::Ask => "Asks a person something that only a person can decide. The question is written down and you stop: nobody \
                          answers while you work. You are called again with the answer."
                .to_owned(),
            Self::ProposeOptions => "Lets a person choose between ways to go on, with what speaks for and against each. It is \
                                     written down and you stop; you are called again with the choice."
                .to_owned(),
            Self::ReportProgress => "Tells whoever looks on how far you are, in a sentence. Changes nothing; go on working."
                .to_owned(),
            Self::TaskContext => {
                "Tells again what you were told at the beginning: the task, the plan, what people said, the outcomes.".to_owned()
            }
        }
    }

    /// Returns the JSON Schema of its input. Agents see the same schema that their arguments are validated against.
    fn takes(self, brief: &Brief) -> Value {
        match self {
            Self::ReportOutcome => {
                let everywhere =
                    [NEEDS_INPUT, FAILED].into_iter().filter(|name| !brief.outcomes.contains_key(*name));
                let names: Vec<&str> = brief.outcomes.keys().map(Name::as_str).chain(everywhere).collect();
                json!({
                    "type": "object",
                    "properties": {
                        "outcome": { "type": "string", "enum": names, "description": "which outcome" },
                        "payload": {
                            "type": "object",
                            "description": "what goes with it, at least `summary`: what you did and why, in one or two sentences",
                        },
                    },
                    "required": ["outcome", "payload"],
                    "additionalProperties": false,
                })
            }
            Self::Ask => ask::question_schema(),
            Self::ProposeOptions => ask::options_schema(),
            Self::ReportProgress => json!({
                "type": "object",
                "properties": {
                    "text": {
                        "type": "string", "minLength": 1, "maxLength": progress::TEXT_LIMIT,
                        "description": "what you did or do now",
                    },
                    "percent": { "type": "integer", "minimum": 0, "maximum": 100, "description": "how much is done" },
                },
                "required": ["text"],
                "additionalProperties": false,
            }),
            Self::TaskContext => {
                let names: Vec<&str> = brief.context.iter().map(|section| section.name.as_str()).collect();
                json!({
                    "type": "object",
                    "properties": {
                        "section": { "type": "string", "enum": names, "description": "only this part; everything without it" },
                    },
                    "additionalProperties": false,
                })
            }
        }
    }
}

/// Context of tool calls.
pub(super) struct ToolContext {
    brief: Brief,
}

impl ToolContext {
    pub(super) fn new(brief: Brief) -> Self {
        Self { brief }
    }

    /// Returns the tools as agents see them.
    pub(super) fn list(&self) -> Vec<Value> {
        let tool = |tool: Tool| {
            json!({
                "name": tool.name(),
                "description": tool.description(&self.brief),
                "inputSchema": tool.takes(&self.brief),
            })
        };
        ALL.into_iter().map(tool).collect()
    }

    /// Calls a tool. The returned text is for the agent in both cases.
    pub(super) fn call(&self, tool: Tool, arguments: &Value) -> Result<String, String> {
        let wrong = mistakes(&tool.takes(&self.brief), arguments);
        if !wrong.is_empty() {
            return Err(self.refused(tool, &wrong, arguments));
        }
        match tool {
            Tool::ReportOutcome => self.report(arguments),
            Tool::Ask | Tool::ProposeOptions => self.ask(tool, arguments),
            Tool::ReportProgress => {
                let text = arguments.get("text").and_then(Value::as_str).unwrap_or_default();
                let percent =
                    arguments.get("percent").and_then(Value::as_u64).and_then(|part| u8::try_from(part).ok());
                let note = Note { text: text.to_owned(), percent };
                progress::add(&self.brief.progress, &note).map_err(|error| not_written(&error))
            }
            Tool::TaskContext => {
                let wanted = arguments.get("section").and_then(Value::as_str);
                let chosen = self
                    .brief
                    .context
                    .iter()
                    .filter(|section| wanted.is_none_or(|name| section.name == name));
                Ok(chosen.map(|section| section.text.as_str()).collect::<Vec<_>>().join("\n\n"))
            }
        }
    }

    fn report(&self, arguments: &Value) -> Result<String, String> {
        let found = outcome::from_tool(&arguments.to_string());
        let checked = found.and_then(|found| match found {
            Some(outcome) => outcome::check(&outcome, &self.brief.transitions()).map(|()| Some(outcome)),
            None => Ok(None),
        });
        let outcome = match checked {
            Ok(Some(outcome)) => outcome,
            Ok(None) => {
                return Err(self.refused(
                    Tool::ReportOutcome,
                    &["`outcome` is missing".to_owned()],
                    arguments,
                ));
            }
            Err(wrong) => return Err(self.refused(Tool::ReportOutcome, &[wrong.to_string()], arguments)),
        };
        let everywhere = !self.brief.outcomes.contains_key(&outcome.name);
        if everywhere && outcome.name == *NEEDS_INPUT && human_request::questions(&outcome.payload).is_empty()
        {
            let wrong =
                "the payload of `needs_input` needs `question`, a text; the tool `ask` makes one for you"
                    .to_owned();
            return Err(self.refused(Tool::ReportOutcome, &[wrong], arguments));
        }
        if everywhere
            && outcome.name == *FAILED
            && outcome.summary().is_none_or(|text| text.trim().is_empty())
        {
            let wrong =
                "the payload of `failed` needs `summary`, which says why it cannot be done".to_owned();
            return Err(self.refused(Tool::ReportOutcome, &[wrong], arguments));
        }
        if let Some(lines) = &self.brief.review
            && let Err(wrong) = pointed(&outcome.payload, lines)
        {
            return Err(self.refused(Tool::ReportOutcome, &wrong, arguments));
        }
        let before = read_report(&self.brief.report).ok().flatten();
        if before.as_ref().is_some_and(asks) && !asks(&outcome) {
            return Err("not accepted: you have asked a person, and the question stands. Stop now; when it is answered you are \
                        called again, and report then."
                .to_owned());
        }
        self.write(&outcome)?;
        let again = if before.is_some() { " It takes the place of your earlier report." } else { "" };
        Ok(format!("Reported: `{}`.{again} Your turn is over; stop now.", outcome.name))
    }

    fn ask(&self, tool: Tool, arguments: &Value) -> Result<String, String> {
        let question = ask::question(arguments).map_err(|wrong| self.refused(tool, &wrong, arguments))?;
        let before = read_report(&self.brief.report).ok().flatten().filter(asks);
        let mut all = before.map(|outcome| human_request::questions(&outcome.payload)).unwrap_or_default();
        if all.contains(&question) {
            return Ok("That is written down already. Stop now.".to_owned());
        }
        if all.len() >= human_request::QUESTIONS {
            return Err(format!(
                "not accepted: {} questions are written down, and that is enough. Stop now.",
                all.len()
            ));
        }
        all.push(question);
        let report = json!({
            "outcome": NEEDS_INPUT,
            "payload": { "question": human_request::in_words(&all), "questions": all },
        });
        let found = outcome::from_tool(&report.to_string()).and_then(|found| match found {
            Some(outcome) => outcome::check(&outcome, &self.brief.transitions()).map(|()| outcome),
            None => Err(outcome::Wrong::Silence),
        });
        // Only a stage that defines this outcome itself rejects it here.
        let outcome = found.map_err(|wrong| {
            let hint =
                "ask with `report_outcome` and `needs_input` instead, in the form that this stage wants";
            self.refused(Tool::ReportOutcome, &[wrong.to_string(), hint.to_owned()], &report)
        })?;
        self.write(&outcome)?;
        Ok("Written down for a person. Nobody answers now: stop here, without further work and without a report. What you changed \
            so far is kept, and you are called again with the answer. (If you have another question for the same person, ask it \
            before you stop.)"
            .to_owned())
    }

    fn write(&self, outcome: &Outcome) -> Result<(), String> {
        let report = json!({ "outcome": outcome.name, "payload": outcome.payload });
        replace(&self.brief.report, format!("{report:#}\n").as_bytes()).map_err(|error| not_written(&error))
    }

    /// Formats a rejection: every mistake, and how to fix it.
    fn refused(&self, tool: Tool, mistakes: &[String], arguments: &Value) -> String {
        let mut text = format!("not accepted, nothing was written down:\n- {}\n", mistakes.join("\n- "));
        let named =
            arguments.get("outcome").and_then(Value::as_str).and_then(|name| self.brief.outcomes.get(name));
        match (tool, named) {
            (Tool::ReportOutcome, Some(allowed)) => {
                if let Some(schema) = &allowed.schema {
                    let schema = shorten(&format!("{schema:#}"), SCHEMA_SHOWN);
                    text += &format!("The payload of this outcome must fit:\n{schema}\n");
                }
            }
            (Tool::ReportOutcome, None) => {
                text += &format!("The outcomes here:\n{}\n", outcomes(&self.brief));
            }
            (Tool::Ask | Tool::ProposeOptions | Tool::ReportProgress | Tool::TaskContext, _) => {
                text += &format!("It takes: {}\n", tool.takes(&self.brief));
            }
        }
        text + "Mend it and call again."
    }
}

/// Returns whether a report is a question to a person.
fn asks(outcome: &Outcome) -> bool {
    outcome.name == *NEEDS_INPUT
}

/// Lists the outcomes that may be reported, one per line.
fn outcomes(brief: &Brief) -> String {
    let mut lines: Vec<String> = brief
        .outcomes
        .iter()
        .map(|(name, allowed)| {
            let meaning = allowed.description.as_deref().map(|text| format!(": {text}")).unwrap_or_default();
            let schema = allowed.schema.as_ref();
            let schema = schema.map(|schema| {
                format!("; its payload must fit {}", shorten(&schema.to_string(), SCHEMA_SHOWN))
            });
            format!("- {name}{meaning}{}", schema.unwrap_or_default())
        })
        .collect();
    for (name, meaning) in [
        (NEEDS_INPUT, "a person must decide; use the tool `ask`"),
        (FAILED, "it cannot be done; `summary` says why"),
    ] {
        if !brief.outcomes.contains_key(name) {
            lines.push(format!("- {name}: {meaning}"));
        }
    }
    lines.join("\n")
}

/// Writes a file atomically.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let part = path.with_extension(format!("{}.part", std::process::id()));
    let written = fs::File::create(&part).and_then(|mut file| file.write_all(bytes));
    written.and_then(|()| fs::rename(&part, path)).inspect_err(|_| drop(fs::remove_file(&part)))
}

fn not_written(error: &io::Error) -> String {
    format!("acquit could not write this down ({error}); report with the handoff file instead")
}
