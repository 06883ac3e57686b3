//! The prompt of a leg, built in a fixed order from plain values.
//!
//! Text of acquit and the project's owner is plain. All other text (of the task's author, earlier agents, command
//! output) is bounded and in labelled fences that it cannot close, with hidden characters made visible. The rules at
//! the beginning are part of the program: no template, configuration or task can remove them. The caller must never log
//! a prompt or pass it on a command line.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::definition::Definition;
use crate::ids::{LegId, Name};
use crate::leg::Entry;
use crate::task::Task;
use crate::template::{self, BUILTIN, Template};
use crate::text;
use crate::workflow::{AgentWork, Stage, Work};

mod change;
mod fixed_text;
mod sections;

pub use crate::text::{first_line, is_hidden, visible};
pub use change::{Around, Change};

/// Metadata key with the address of the task's repository, without credentials.
pub const REPO_URL: &str = "repo_url";

/// Maximum length of a title in a prompt: one line to recognize the task.
const TITLE_LIMIT: usize = 200;
/// Maximum size of the instructions of a stage or project: a dozen pages. Agents ignore longer ones.
const INSTRUCTIONS_LIMIT: usize = 32 * 1024;

/// The inputs of a prompt.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    /// The task.
    pub task: &'a Task,
    /// Its definition.
    pub definition: &'a Definition,
    /// Work of the leg.
    pub entry: &'a Entry,
    /// Leg id.
    pub leg: LegId,
    /// Current date, as `2026-01-31`.
    pub date: &'a str,
    /// Path of the handoff file inside the sandbox.
    pub handoff_file: &'a str,
    /// Path inside the sandbox of the folder for files that are not part of the repository.
    pub output_dir: &'a str,
    /// What the agent already knows.
    pub memory: Memory,
    /// Whether it has acquit's tools.
    pub tools: Tools,
    /// The change, if the agent reviews it.
    pub change: Option<&'a Change>,
    /// `AGENTS.md` of the base branch, for agents that don't read it by themselves.
    pub agents_md: Option<&'a str>,
    /// What happened to the files of the previous attempt, if it did not count.
    pub files: Files<'a>,
}

/// What happened to the files of an attempt that was interrupted or did not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Files<'a> {
    /// They are gone: the tree is as it was when that attempt started.
    Gone,
    /// They are in the tree as uncommitted changes.
    There,
    /// They were saved as this commit, and the tree is as it was when that attempt started.
    Saved(&'a str),
}

/// What an agent already knows about its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Nothing.
    None,
    /// It continues an earlier conversation about this stage, and gets only new information.
    Conversation,
}

/// Whether an agent has the tools of acquit's server to report and ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tools {
    /// It has the tools.
    Offered,
    /// It has no tools, but its last message must follow the report schema.
    Form,
    /// It has only files and its last message.
    Absent,
}

/// Why a prompt cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The stage's template cannot be rendered.
    #[error("render the instructions of stage `{stage}`")]
    Template {
        /// Stage name.
        stage: Name,
        /// The template error.
        #[source]
        source: template::Error,
    },
    /// The stage has no agent.
    #[error("stage `{0}` has no agent")]
    NoAgent(Name),
}

/// A part of the prompt. An agent can ask for it again by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    /// One-word name.
    pub name: String,
    /// Text, starting with a heading.
    pub text: String,
}

/// Builds the whole prompt.
pub fn build(parts: &Parts<'_>) -> Result<String, Error> {
    let all = sections(parts)?;
    let texts: Vec<&str> = match parts.memory {
        Memory::None => all.iter().map(|section| section.text.as_str()).collect(),
        Memory::Conversation => {
            let (stage, _) = agent_stage(parts)?;
            return Ok(joined(&[
                fixed_text::PREAMBLE,
                fixed_text::GOING_ON,
                &sections::interruption(parts),
                &parts.change.map(change::section).unwrap_or_default(),
                &sections::conversation(parts),
                &sections::reported(parts),
                &sections::conflict(parts),
                &sections::failures(parts),
                &sections::answer(parts),
                &sections::outcomes(parts, stage),
                &sections::report(parts),
            ]));
        }
    };
    Ok(joined(&texts))
}

/// Returns all non-empty sections, regardless of what the agent already knows.
pub fn sections(parts: &Parts<'_>) -> Result<Vec<Section>, Error> {
    let (stage, work) = agent_stage(parts)?;
    let variables = variables(parts);
    let render = |template: &Template| {
        let error = |source| Error::Template { stage: stage.name.clone(), source };
        template.render(&variables).map_err(error)
    };
    let role = work.role.as_ref();
    let persona = role.map(|role| render(&role.persona)).transpose()?.unwrap_or_default();
    let (step, instructions) = (render(&work.step)?, render(&work.instructions)?);
    let sections = [
        ("rules", fixed_text::PREAMBLE.to_owned()),
        ("mode", fixed_text::mode(work.mode).to_owned()),
        (
            "role",
            own_words(&role.map(|role| format!("Your part: {}", role.name)).unwrap_or_default(), &persona),
        ),
        ("tools", fixed_text::tools(work.tools(), &work.commands, work.refused)),
        ("step", own_words("This step", &step)),
        ("instructions", own_words("Instructions of this stage", &instructions)),
        ("task", sections::task(parts)),
        ("plan", sections::plan(parts)),
        ("artifacts", sections::artifacts(parts, &work.inputs)),
        ("change", parts.change.map(change::section).unwrap_or_default()),
        ("settled", sections::settled(parts)),
        ("conversation", sections::conversation(parts)),
        ("history", sections::history(parts)),
        ("reported", sections::reported(parts)),
        ("conflict", sections::conflict(parts)),
        ("failures", sections::failures(parts)),
        ("learnings", sections::learnings(parts)),
        ("answer", sections::answer(parts)),
        ("outcomes", sections::outcomes(parts, stage)),
        ("report", sections::report(parts)),
        ("project", own_words("Instructions of the project", &parts.definition.instructions)),
        ("agents_md", sections::agents_md(parts)),
    ];
    let section = |(name, text): (&str, String)| {
        let text = text.trim_end();
        (!text.is_empty()).then(|| Section { name: name.to_owned(), text: text.to_owned() })
    };
    Ok(sections.into_iter().filter_map(section).collect())
}

/// Joins the non-empty sections.
fn joined(sections: &[&str]) -> String {
    let said: Vec<&str> =
        sections.iter().map(|text| text.trim_end()).filter(|text| !text.is_empty()).collect();
    said.join("\n\n") + "\n"
}

/// Returns all variables for the templates of this leg. The workflow overrides the project, and the task overrides the
/// workflow. The variation's value cannot be overridden, or it would never change; neither can [`BUILTIN`].
pub fn variables(parts: &Parts<'_>) -> BTreeMap<String, String> {
    let Parts { task, definition, .. } = parts;
    let Definition { workflow, config, .. } = definition;
    let mut all = config.variables.clone();
    all.extend(workflow.variables.clone());
    all.extend(task.seed.wish.variables.clone());
    if let (Some(variation), Some(value)) = (&workflow.variation, task.variation_value(workflow)) {
        if !variation.guidance.is_empty() {
            let guidance = variation.guidance.get(&value).cloned().unwrap_or_default();
            all.insert(variation.guidance_variable(), guidance);
        }
        all.insert(variation.variable.clone(), value);
    }
    let commands = match agent_stage(parts) {
        Ok((_, work)) if !work.commands.is_empty() => work.commands.join(", "),
        Ok(_) | Err(_) => "any".to_owned(),
    };
    let base = &task.seed.base;
    let builtin = [
        commands,
        base.branch.as_ref().unwrap_or(&base.commit).clone(),
        task.base().to_owned(),
        task.seed.branch.clone(),
        parts.date.to_owned(),
        parts.handoff_file.to_owned(),
        text::line(task.headline(), TITLE_LIMIT),
        parts.leg.to_string(),
        parts.output_dir.to_owned(),
        task.seed.wish.metadata.get(REPO_URL).unwrap_or(&task.seed.project.path).clone(),
        parts.entry.stage.to_string(),
        task.id().to_string(),
        text::line(&task.seed.wish.title, TITLE_LIMIT),
        workflow.name.to_string(),
    ];
    all.extend(BUILTIN.map(str::to_owned).into_iter().zip(builtin));
    all
}

fn agent_stage<'a>(parts: &Parts<'a>) -> Result<(&'a Stage, &'a AgentWork), Error> {
    match parts.definition.workflow.stage(parts.entry.stage.as_str()) {
        Some(stage @ Stage { work: Work::Agent(work), .. }) => Ok((stage, work)),
        Some(_) | None => Err(Error::NoAgent(parts.entry.stage.clone())),
    }
}

/// Formats text of the project's owner: no fence, because the agent should follow it, but without hidden characters.
fn own_words(title: &str, words: &str) -> String {
    match words.trim() {
        "" => String::new(),
        words => format!("# {title}\n\n{}", text::shown(words, INSTRUCTIONS_LIMIT)),
    }
}
