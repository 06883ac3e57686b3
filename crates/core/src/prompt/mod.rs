//! The prompt of a leg: what an agent is told, in a fixed order, from values alone.
//!
//! What acquit and the project's owner say stands as plain text; what anybody else wrote (the task's author, earlier
//! agents, the output of commands) stands in labelled fences that it cannot close, bounded, with hidden characters
//! shown. The rules at the beginning are part of the program: no template, configuration or task can remove them. A
//! prompt is never logged and never put on a command line; that is for the caller to keep.

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

/// Where a task's metadata has the address that its repository comes from, without credentials.
pub const REPO_URL: &str = "repo_url";

/// The longest title in a prompt: one line to know the task by.
const TITLE_LIMIT: usize = 200;
/// The longest instructions of a stage or a project: a dozen pages. Beyond that an agent follows none of them.
const INSTRUCTIONS_LIMIT: usize = 32 * 1024;

/// What a prompt is made of.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    /// The task.
    pub task: &'a Task,
    /// What it runs by.
    pub definition: &'a Definition,
    /// What the leg is to do.
    pub entry: &'a Entry,
    /// The leg.
    pub leg: LegId,
    /// The day on which it runs, as `2026-01-31`.
    pub date: &'a str,
    /// The file into which the agent reports, as the agent sees it.
    pub handoff_file: &'a str,
    /// The folder into which the agent writes what is not part of the repository, as the agent sees it.
    pub output_dir: &'a str,
    /// What the agent knows already.
    pub memory: Memory,
    /// Whether it has acquit's tools.
    pub tools: Tools,
    /// The change, for a turn that judges it.
    pub change: Option<&'a Change>,
    /// The repository's `AGENTS.md` as the base branch has it, for an agent that does not read it by itself.
    pub agents_md: Option<&'a str>,
    /// What became of the files of the turn before, where that one did not count.
    pub files: Files<'a>,
}

/// What became of the files of a turn that was interrupted or did not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Files<'a> {
    /// There is nothing of it: the tree is as it was when that turn began.
    Gone,
    /// They lie in the tree, as changes that are not committed.
    There,
    /// They were put aside as this commit, and the tree is as it was when that turn began.
    Saved(&'a str),
}

/// What an agent knows of its task before it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Nothing.
    None,
    /// An earlier conversation about this stage, with which it goes on: it is told only what is new.
    Conversation,
}

/// Whether an agent has the tools of acquit's own server, by which it reports and asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tools {
    /// It has them.
    Offered,
    /// It has none, but its last message is held to the form of a report.
    Form,
    /// It has only files and words.
    Absent,
}

/// Why there is no prompt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// What the stage's agent is told is a template that cannot be rendered.
    #[error("render the instructions of stage `{stage}`")]
    Template {
        /// The stage.
        stage: Name,
        /// What is wrong with them.
        #[source]
        source: template::Error,
    },
    /// There is nobody to be told anything.
    #[error("stage `{0}` has no agent")]
    NoAgent(Name),
}

/// A part of the prompt, by the name under which an agent can ask for it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    /// What it is about, in a word.
    pub name: String,
    /// Its text, which begins with a heading.
    pub text: String,
}

/// The whole prompt.
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
                &sections::outcomes(parts, stage),
                &sections::report(parts),
            ]));
        }
    };
    Ok(joined(&texts))
}

/// All that there is to tell, in sections, whatever the agent knows already; those that have nothing to say are left out.
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

/// The sections that say something, one after the other.
fn joined(sections: &[&str]) -> String {
    let said: Vec<&str> =
        sections.iter().map(|text| text.trim_end()).filter(|text| !text.is_empty()).collect();
    said.join("\n\n") + "\n"
}

/// Every variable that a template of this leg may use. What the project says is overridden by the workflow, that by the
/// task; nobody overrides the variation's value, or it would never change, nor [`BUILTIN`].
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

/// Words of the project's owner: no fence, because they are to be followed, but nothing hidden in them either.
fn own_words(title: &str, words: &str) -> String {
    match words.trim() {
        "" => String::new(),
        words => format!("# {title}\n\n{}", text::shown(words, INSTRUCTIONS_LIMIT)),
    }
}
