//! Repositories in which a task can be added from elsewhere, and the choices there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use acquit_core::store::{Filter, Store};
use acquit_core::task::Task;
use acquit_run::git::Source;

use crate::{App, Error, NewTask, Origin};

/// Maximum number of tasks to search for their repositories, newest first.
const LOOKED_AT: u32 = 2_000;

/// A repository in which tasks can be added.
#[derive(Clone, Debug)]
pub struct Place {
    /// Short name.
    pub name: String,
    /// Path.
    pub path: String,
    /// Choices for a task, or a message why there are none.
    pub choices: Result<Choices, String>,
}

/// Choices for a task.
#[derive(Clone, Debug, Default)]
pub struct Choices {
    /// Workflows with their descriptions.
    pub workflows: Vec<(String, String)>,
    /// Default workflow.
    pub workflow: Option<String>,
    /// Agents.
    pub agents: Vec<String>,
    /// Default agent.
    pub agent: Option<String>,
    /// Model aliases of the project.
    pub models: Vec<String>,
    /// Branch that tasks start from, if it is not the one that is checked out.
    pub base: Option<String>,
}

impl App {
    /// Returns the repository of this process, and those of earlier tasks.
    pub fn places(&self, store: &mut dyn Store) -> Result<Vec<Place>, Error> {
        let mut paths: BTreeSet<String> = self.project_here().into_iter().collect();
        let mut known = Vec::new();
        for summary in store.list(&Filter { ended: true, limit: LOOKED_AT, ..Filter::default() })? {
            if !known.contains(&summary.project) {
                paths.insert(store.task(summary.id)?.seed.project.path);
                known.push(summary.project);
            }
        }
        Ok(paths.into_iter().map(|path| self.place(path)).collect())
    }

    fn place(&self, path: String) -> Place {
        let name = Path::new(&path)
            .file_name()
            .map_or_else(|| path.clone(), |name| name.to_string_lossy().into_owned());
        let choices = self.choices(Path::new(&path)).map_err(|error| {
            let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
            format!("failed to {}{hint}", acquit_run::harness::chain(&error))
        });
        Place { name, path, choices }
    }

    fn choices(&self, path: &Path) -> Result<Choices, Error> {
        let source = Source::discover(&self.runtime.git, path)?;
        let project = self.files(&source)?.read()?;
        let usable = project.workflows.iter().filter_map(|known| known.read.as_ref().ok());
        let names = |name: &acquit_core::ids::Name| name.to_string();
        Ok(Choices {
            workflows: usable.map(|it| (it.name.to_string(), it.description.clone())).collect(),
            workflow: project.workflow(None).ok().map(|workflow| workflow.name.to_string()),
            agents: project.config.agents.keys().map(names).collect(),
            agent: project.config.agent.as_ref().map(names),
            models: project.config.models.keys().cloned().collect(),
            base: project.config.base.clone(),
        })
    }

    /// Creates a task in the repository at `path`, one of [`App::places`].
    pub fn create_at(&self, store: &mut dyn Store, path: &str, new: &NewTask) -> Result<Task, Error> {
        if new.title.trim().is_empty() {
            return Err(Error::EmptyTitle);
        }
        let places = self.places(store)?;
        if !places.iter().any(|place| place.path == path) {
            let known = places.into_iter().map(|place| place.path).collect::<Vec<_>>().join(", ");
            return Err(Error::NoSuch { doing: "add a task in", name: path.to_owned(), known });
        }
        let source = Source::discover(&self.runtime.git, Path::new(path))?;
        let project = self.files(&source)?.read()?;
        let metadata = BTreeMap::new();
        let origin = Origin { source, project, id: None, category: None, metadata, by: self.person() };
        self.create_from(store, new, origin)
    }
}
