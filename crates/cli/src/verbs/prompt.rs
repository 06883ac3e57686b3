//! `acquit prompt show`: shows the prompt that an agent would get.

use acquit_core::definition::{Author, Definition};
use acquit_core::ids::{Name, TaskId};
use acquit_core::leg::{Entry, Purpose};
use acquit_core::task::{Base, Project as Known, Seed, State, Task, Wish};
use acquit_run::harness::preview;

use crate::args::PromptVerb;
use crate::cli::Cli;
use crate::exit::Exit;
use crate::report::text;
use acquit_app::Error;

/// Runs the command.
pub fn prompt(cli: &Cli, verb: &PromptVerb) -> Result<Exit, Error> {
    let PromptVerb::Show { subject, stage, workflow, section } = verb;
    let (task, definition) = match subject.parse::<TaskId>() {
        Ok(id) if ["T-", "t-"].iter().any(|start| subject.starts_with(start)) => {
            if workflow.is_some() {
                return Err(Error::OnlyForNew { task: id, flags: "--workflow".to_owned() });
            }
            let mut store = cli.app.store()?;
            (store.task(id)?, store.definition(id)?)
        }
        _ => imagined(cli, subject, workflow.as_ref())?,
    };
    if let Some(name) = stage.as_ref().filter(|name| definition.workflow.stage(name.as_str()).is_none()) {
        return Err(Error::no_stage(&definition.workflow, name));
    }
    let entry = entry(&task, &definition, stage.as_ref());
    let mut sections = preview(&cli.app.runtime, &task, &definition, &entry).map_err(Error::Prompt)?;
    if let Some(only) = section {
        let known: Vec<String> = sections.iter().map(|section| section.name.clone()).collect();
        sections.retain(|section| section.name == *only);
        if sections.is_empty() {
            return Err(Error::NoSection { name: only.clone(), known: known.join(", ") });
        }
    }
    let printer = cli.printer;
    if printer.json {
        printer.json(&serde_json::json!({ "stage": entry.stage, "sections": sections }));
    } else {
        let texts: Vec<&str> = sections.iter().map(|section| section.text.as_str()).collect();
        printer.data(&text::visible(&texts.join("\n\n")));
    }
    Ok(Exit::Done)
}

/// Returns what the leg would do: the task's next step if it is at this stage, else the stage's own work.
fn entry(task: &Task, definition: &Definition, stage: Option<&Name>) -> Entry {
    let next = match &task.state {
        State::Working { entry, .. } => Some(entry),
        State::Waiting { request } => Some(&request.resume),
        State::Blocked { resume, .. } => Some(resume),
        State::New | State::Ended { .. } => None,
    };
    match (next, stage) {
        (Some(next), None) => next.clone(),
        (Some(next), Some(stage)) if next.stage == *stage => next.clone(),
        (_, stage) => {
            let stage = stage.unwrap_or(&definition.workflow.start).clone();
            Entry { stage, purpose: Purpose::Work }
        }
    }
}

/// Returns a task that is not in the store.
fn imagined(cli: &Cli, title: &str, workflow: Option<&Name>) -> Result<(Task, Definition), Error> {
    let source = cli.app.source()?;
    let project = cli.app.files(&source)?.look()?;
    let workflow = project.workflow(workflow)?.clone();
    let base = source.base(&cli.app.runtime.git, project.config.base.as_deref())?;
    let id = TaskId(0);
    let wish = Wish::titled(title);
    let prefix = workflow.branch_prefix.as_ref().unwrap_or(&project.config.branch_prefix);
    let seed = Seed {
        id,
        wish,
        project: Known { name: String::new(), path: source.top().to_string_lossy().into_owned() },
        workflow: workflow.name.clone(),
        base: Base { branch: base.branch, commit: base.commit.to_string(), work: None },
        branch: acquit_run::workspace::branch_name(prefix, title, &id.to_string()),
        created: (cli.app.runtime.now)(),
    };
    let definition = Definition {
        form: Definition::FORM,
        workflow,
        config: project.config,
        instructions: project.instructions,
        author: Author { name: String::new(), email: String::new() },
        source: None,
        chosen: acquit_core::definition::Chosen::default(),
        travel: acquit_core::definition::Travel::default(),
    };
    Ok((Task::new(seed), definition))
}
