//! The configuration of the daemon: that of the project it was started in, or else the user's own.

use std::path::PathBuf;

use acquit_core::config::Config;
use acquit_core::ids::Name;
use acquit_core::schedule::Schedule;
use acquit_run::git::{self, Source, is_address};
use acquit_run::mirror;
use jiff::tz::TimeZone;

use crate::app::App;
use crate::error::Error;
use crate::project::{Files, Known, Project};

/// The configuration of the daemon.
pub struct Home {
    /// The configuration with the schedules.
    pub config: Config,
    /// Workflows of the project; empty without a project.
    workflows: Vec<Known>,
    /// Repository of the project, if there is one.
    source: Option<Source>,
    /// Base of relative paths.
    pub top: PathBuf,
    /// Set if the user does not trust the repository's files. Then `config` is the user's own configuration.
    pub untrusted: Option<Error>,
}

/// A repository and the project to run it with.
pub struct Place {
    /// The repository.
    pub source: Source,
    /// The project to run it with.
    pub project: Project,
}

impl Home {
    /// Reads the configuration for use.
    pub fn read(app: &App) -> Result<Self, Error> {
        Self::with(app, Files::read)
    }

    /// Reads the configuration to show it, trusted or not.
    pub fn look(app: &App) -> Result<Self, Error> {
        Self::with(app, Files::look)
    }

    /// Returns the configuration, or an error if the user does not trust it.
    pub fn trusted(self) -> Result<Self, Error> {
        match self.untrusted {
            Some(error) => Err(error),
            None => Ok(self),
        }
    }

    fn with(app: &App, read: fn(&Files) -> Result<Project, Error>) -> Result<Self, Error> {
        let source = match app.source() {
            Ok(source) => Some(source),
            Err(Error::Git(git::Error::NotARepository { .. })) => None,
            Err(error) => return Err(error),
        };
        let project = source.as_ref().map(|source| app.files(source).and_then(|files| read(&files)));
        let own = || app.user_config();
        match (project, source) {
            (Some(Ok(Project { config, workflows, .. })), Some(source)) => {
                let top = source.top().to_owned();
                Ok(Self { config, workflows, source: Some(source), top, untrusted: None })
            }
            (Some(Err(error @ Error::Untrusted { .. })), Some(source)) => {
                let (config, top) = (own()?, source.top().to_owned());
                Ok(Self { config, workflows: Vec::new(), source: Some(source), top, untrusted: Some(error) })
            }
            (Some(Err(error)), _) if !matches!(error, Error::NotInitialised(_)) => Err(error),
            _ => {
                let (config, top) = (own()?, app.surroundings.here.clone());
                Ok(Self { config, workflows: Vec::new(), source: None, top, untrusted: None })
            }
        }
    }

    /// Returns the project of its schedules, nights and messages; empty for the user's own configuration.
    pub fn project(&self) -> String {
        self.source.as_ref().map(|source| source.project().to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Returns whether to notify people of this project about a task: its own tasks, and those that its schedules
    /// created elsewhere. The user's own configuration covers all tasks.
    pub fn owns(&self, task: &acquit_core::task::Task) -> bool {
        let project = self.project();
        let maker = task.seed.wish.metadata.get(acquit_core::night::key::PROJECT);
        project.is_empty() || *maker.unwrap_or(&task.seed.project.path) == project
    }

    /// Returns the schedule with this name.
    pub fn schedule(&self, name: &Name) -> Result<&Schedule, Error> {
        let all = &self.config.schedules;
        all.iter().find(|schedule| schedule.name == *name).ok_or_else(|| Error::NoSchedule {
            name: name.clone(),
            known: all.iter().map(|schedule| schedule.name.as_str()).collect::<Vec<_>>().join(", "),
        })
    }

    /// Rejects a category that the schedule's workflow does not have, if that workflow is known here.
    pub fn check_category(&self, schedule: &Schedule, category: &str) -> Result<(), Error> {
        let known = self.workflows.iter().find(|known| known.name == schedule.workflow);
        match known.and_then(|known| super::mistakes::unknown_category(known, category)) {
            None => Ok(()),
            Some((what, hint)) => Err(Error::UnknownCategory { schedule: schedule.name.clone(), what, hint }),
        }
    }

    /// Returns an up-to-date repository of a schedule, and the project to run it with. May take as long as a fetch.
    pub fn locate(&self, app: &App, repository: &str) -> Result<Place, Error> {
        let git = &app.runtime.git;
        if !is_address(repository) {
            let source = Source::discover(git, &self.path(app, repository))?;
            let project = app.files(&source)?.read()?;
            return Ok(Place { source, project });
        }
        let mirror = mirror::beside(&app.runtime, &app.surroundings.here, repository)?;
        let source = Source::discover(git, &mirror)?;
        // A remote repository provides no configuration: anyone who may push there could run programs as this user.
        let own = self.source.as_ref().ok_or_else(|| Error::NotInitialised(self.top.clone()))?;
        let mut project = app.files(own)?.read()?;
        project.config.forge = mirror::settings(&project.config.forge, repository);
        Ok(Place { source, project })
    }

    fn path(&self, app: &App, written: &str) -> PathBuf {
        // An absolute path stays unchanged.
        self.top.join(app.runtime.environment.expand(written).unwrap_or_else(|| PathBuf::from(written)))
    }
}

/// Returns the repositories of a schedule, as it names them.
pub fn repositories(schedule: &Schedule) -> Vec<String> {
    if schedule.repositories.is_empty() { vec![".".to_owned()] } else { schedule.repositories.clone() }
}

/// Returns the time zone of a schedule.
pub fn zone(schedule: &Schedule) -> Result<TimeZone, Error> {
    match &schedule.zone {
        None => Ok(TimeZone::system()),
        Some(name) => TimeZone::get(name)
            .map_err(|_| Error::NoZone { schedule: schedule.name.clone(), zone: name.clone() }),
    }
}
