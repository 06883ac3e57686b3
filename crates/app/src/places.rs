//! Repositories in which a task can be added from elsewhere, and the choices there.

use std::collections::BTreeMap;
use std::path::Path;

use acquit_core::store::Store;
use acquit_core::task::Task;
use acquit_run::git::Source;

use crate::index::{Named, TaskIndex};
use crate::{App, Error, NewTask, Origin};

/// Maximum number of repositories.
const MOST: usize = 100;

/// A repository in which tasks can be added.
#[derive(Clone, Debug)]
pub struct Place {
    /// Short name.
    pub name: String,
    /// Path.
    pub path: String,
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

impl Place {
    fn at(path: String) -> Self {
        let name = Path::new(&path)
            .file_name()
            .map_or_else(|| path.clone(), |name| name.to_string_lossy().into_owned());
        Self { name, path }
    }
}

impl App {
    /// Returns the repository of this process first, and then those of earlier tasks that still exist.
    pub fn places(&self, index: &TaskIndex) -> Vec<Place> {
        let known = index.names(Named::Place).map(|(path, _)| path.to_owned());
        let mut paths: Vec<String> = self.project_here().into_iter().collect();
        for path in known.filter(|path| Path::new(path).is_dir()) {
            if !paths.contains(&path) && paths.len() < MOST {
                paths.push(path);
            }
        }
        paths.into_iter().map(Place::at).collect()
    }

    /// Returns the choices for a task in a repository.
    pub fn choices(&self, place: &Place) -> Result<Choices, Error> {
        let source = Source::discover(&self.runtime.git, Path::new(&place.path))?;
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
    pub fn create_at(
        &self,
        store: &mut dyn Store,
        places: &[Place],
        path: &str,
        new: &NewTask,
    ) -> Result<Task, Error> {
        if new.title.trim().is_empty() {
            return Err(Error::EmptyTitle);
        }
        if !places.iter().any(|place| place.path == path) {
            let known = places.iter().map(|place| place.path.as_str()).collect::<Vec<_>>().join(", ");
            return Err(Error::NoSuch { doing: "add a task in", name: path.to_owned(), known });
        }
        let source = Source::discover(&self.runtime.git, Path::new(path))?;
        let project = self.files(&source)?.read()?;
        let metadata = BTreeMap::new();
        let origin = Origin { source, project, id: None, category: None, metadata, by: self.person() };
        self.create_from(store, new, origin)
    }
}
