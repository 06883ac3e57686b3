//! Reloads the configuration of an existing task.
//!
//! A task runs with the workflow and configuration it was added with. When a person continues it with a command, it
//! takes the current content of the files, and the difference is recorded in its history. An agent cannot cause this:
//! the files are those of the user's own checkout, never of a workspace. If they cannot be read or do not fit the task,
//! the task keeps its configuration and a warning is shown.

use acquit_core::change::Change;
use acquit_core::definition::Definition;
use acquit_core::night;
use acquit_core::task::{State, Task};
use acquit_run::git::Source;

use crate::app::App;
use crate::error::Error;
use crate::notice::Notice;
use crate::options::{Limits, Means, begin_with, check_model, take_chosen};

/// How a person wants to continue a task.
#[derive(Clone, Debug, Default)]
pub struct Renewal {
    /// Keep the task's current configuration.
    pub pinned: bool,
    /// Agent and model from now on.
    pub means: Means,
    /// Limits from now on.
    pub limits: Limits,
}

impl Renewal {
    /// Returns whether the person asked for a specific agent, model or limit.
    fn asks(&self) -> bool {
        self.means.agent.is_some() || self.means.model.is_some() || self.limits != Limits::default()
    }
}

/// Returns the change to the task's new definition; `None` if nothing differs.
pub fn change(
    app: &App,
    task: &Task,
    pinned: &Definition,
    wanted: &Renewal,
) -> Result<Option<Change>, Error> {
    let mut read = false;
    let mut new = if wanted.pinned {
        pinned.clone()
    } else {
        match current(app, task, pinned) {
            Ok(Some(new)) => {
                read = true;
                new
            }
            Ok(None) => pinned.clone(),
            Err(why) if wanted.asks() && matches!(why, Error::Lacking(_)) => return Err(why),
            Err(why) => {
                let words = acquit_run::harness::chain(&why);
                app.warn(format!(
                    "{} keeps the configuration it was added with: failed to {words}",
                    task.id()
                ));
                pinned.clone()
            }
        }
    };
    if let Some(agent) = &wanted.means.agent {
        new.chosen.agent = Some(agent.clone());
    }
    if let Some(model) = &wanted.means.model {
        new.chosen.model = Some(model.clone());
    }
    if wanted.limits != Limits::default() {
        new.chosen.max_cost = wanted.limits.max_cost.or(new.chosen.max_cost);
        new.chosen.max_time = wanted.limits.max_time.or(new.chosen.max_time);
        new.chosen.since = match task.state {
            State::Working { leg, .. } => leg.saturating_sub(1),
            _ => task.legs,
        };
    }
    take_chosen(&mut new.workflow, &new.chosen);
    if wanted.asks() {
        let missing = acquit_core::config::check_stages(&new.workflow, &new.config);
        if !missing.is_empty() {
            return Err(Error::Lacking(missing));
        }
    }
    if wanted.means.model.is_some() {
        check_model(app, &new.workflow, &new.config)?;
    }
    // The definition comes from files trusted here, or changes a trusted definition.
    if read || acquit_run::trusted_definitions::check(&app.runtime, task.id(), pinned).is_ok() {
        let kept = acquit_run::trusted_definitions::keep(&app.runtime, task.id(), &new);
        let path = app.runtime.task_folder(task.id());
        kept.map_err(|source| Error::File { doing: "write to", path, source })?;
    }
    let difference = pinned.difference(&new);
    if difference.is_empty() {
        return Ok(None);
    }
    app.notice(&Notice::ConfigurationUpdated(difference.clone()));
    Ok(Some(Change::DefinitionUpdated { definition: Box::new(new), difference }))
}

/// Reads the current definition from the files; `None` if it is not to be read from files.
fn current(app: &App, task: &Task, pinned: &Definition) -> Result<Option<Definition>, Error> {
    // The daemon decides the configuration of scheduled tasks.
    if task.seed.wish.metadata.contains_key(night::key::SCHEDULE) {
        return Ok(None);
    }
    let Ok(source) = Source::of(pinned) else {
        return Ok(None);
    };
    // If others can write to the store, use only the path from it.
    let apart = source.foreign.clone();
    let source = if app.runtime.shared { Source::discover(&app.runtime.git, source.top())? } else { source };
    let project = app.files(&source)?.read()?;
    let source = match (apart, task.seed.base.commit.parse()) {
        (Some(base), _) => source.on_foreign(&base),
        // The project may have a setup now.
        (None, Ok(base)) if app.runtime.shared || pinned.config.setup.is_none() => {
            app.set_apart(source, &project.config, &base)?
        }
        (None, _) => source,
    };
    let mut workflow = project.workflow(Some(&task.seed.workflow))?.clone();
    begin_with(&mut workflow, &[], pinned.chosen.variation.clone())?;
    take_chosen(&mut workflow, &pinned.chosen);
    project.check_stages(&workflow)?;
    if let Some(stage) = stages(task).into_iter().find(|stage| workflow.stage(stage).is_none()) {
        return Err(Error::StageGone { workflow: workflow.name.clone(), stage: stage.to_owned() });
    }
    Ok(Some(Definition {
        workflow,
        config: project.config,
        instructions: project.instructions,
        source: Some(source.into()),
        ..pinned.clone()
    }))
}

/// Returns the stages at which the task continues.
fn stages(task: &Task) -> Vec<&str> {
    match &task.state {
        State::Working { entry, .. } => vec![entry.stage.as_str()],
        State::Waiting { request } => vec![request.stage.as_str(), request.resume.stage.as_str()],
        State::Blocked { resume, .. } => vec![resume.stage.as_str()],
        State::New | State::Ended { .. } => {
            task.past.last().map(|past| past.entry.stage.as_str()).into_iter().collect()
        }
    }
}
