//! The entry point of every use case: surroundings, runtime of the harness, store, and receiver of notices.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use acquit_core::config::{self, Config};
use acquit_core::store::Store;
use acquit_core::task::Actor;
use acquit_run::git::{Git, Identity, Source};
use acquit_run::process::Spawner;
use acquit_run::process::contain::Launcher;
use acquit_run::runtime::Runtime;
use acquit_store::{Clock, Location};

use crate::environment::Surroundings;
use crate::error::Error;
use crate::notice::{Notice, Notices};
use crate::project::{FOLDER, Files, User};

/// Folder of a worker in acquit's home.
const WORKER: &str = "worker";

/// acquit for one user, one home and one store.
pub struct App {
    /// Environment of the command.
    pub surroundings: Surroundings,
    /// Runtime of the harness.
    pub runtime: Runtime,
    /// Receiver of notices.
    notices: Notices,
}

impl App {
    /// Creates the app.
    pub fn new(surroundings: Surroundings, notices: Notices, launcher: Option<Launcher>) -> Self {
        let path = surroundings.environment.get("PATH").map(std::ffi::OsStr::to_owned).unwrap_or_default();
        let spawner = Spawner::new(&surroundings.exe).with_launcher(launcher);
        let runtime = Runtime {
            home: surroundings.home.clone(),
            store: std::sync::OnceLock::new(),
            shared: matches!(Location::parse(&surroundings.store), Location::Postgres(_)),
            git: Git::new(spawner.clone(), path),
            spawner,
            environment: surroundings.environment.clone(),
            host: surroundings.host.clone(),
            now: || Clock::System.now(),
        };
        Self { surroundings, runtime, notices }
    }

    /// Returns an app that acts for another person, who gets its notices. Actions are recorded in that person's name.
    /// `here` is the repository it works in.
    #[must_use]
    pub fn acting_as(&self, person: &str, here: &Path, notices: Notices) -> Self {
        let mut surroundings = self.surroundings.clone();
        surroundings.user = person.to_owned();
        surroundings.here = here.to_owned();
        let app = Self::new(surroundings, notices, None);
        if let Some(id) = self.runtime.store.get() {
            // It is the same store, and stays the same.
            let _ = app.runtime.store.set(id.clone());
        }
        app
    }

    /// Returns the app of a worker of a store. It keeps its files apart from those of the user's own tasks, because
    /// their workspaces borrow from other repositories.
    #[must_use]
    pub fn into_worker(self, store: Option<String>) -> Self {
        let store = store.unwrap_or_else(|| self.surroundings.store.clone());
        let home = self.surroundings.home.join(WORKER);
        Self::new(Surroundings { home, store, ..self.surroundings }, self.notices, None)
    }

    /// Reads the user's own configuration, without that of any repository.
    pub fn user_config(&self) -> Result<Config, Error> {
        self.surroundings.user_config.as_deref().map_or_else(|| Ok(Config::default()), user)
    }

    /// Sends a notice.
    pub fn notice(&self, notice: &Notice) {
        (self.notices)(notice);
    }

    /// Sends a warning about something that does not stop the work.
    pub fn warn(&self, text: impl Into<String>) {
        self.notice(&Notice::Warning(text.into()));
    }

    /// Returns the environment for a harness: that of this process, with its home and store as this process resolved
    /// them.
    pub fn harness_environment(&self) -> Vec<(OsString, OsString)> {
        let mut variables = self.surroundings.environment.all();
        variables.push(("ACQUIT_HOME".into(), self.surroundings.home.clone().into()));
        variables.push(("ACQUIT_STORE".into(), self.surroundings.store.clone().into()));
        variables
    }

    /// Opens the store.
    pub fn store(&self) -> Result<Box<dyn Store>, Error> {
        let location = Location::parse(&self.surroundings.store);
        let mut store = acquit_store::open(&location, Clock::System)
            .map_err(|source| Error::OpenStore { location: location.to_string(), source })?;
        let id = store.id()?;
        let known = self.runtime.store.get_or_init(|| id.clone());
        if *known != id {
            return Err(Error::OtherStore { location: location.to_string() });
        }
        Ok(store)
    }

    /// Returns the user as an actor.
    pub fn person(&self) -> Actor {
        Actor::Person(self.surroundings.user.clone())
    }

    /// Returns the repository of the current directory.
    pub fn source(&self) -> Result<Source, Error> {
        Ok(Source::discover(&self.runtime.git, &self.surroundings.here)?)
    }

    /// Returns the author of the user's commits in a repository. As in git, variables count before settings.
    pub fn author(&self, source: &Source) -> Identity {
        let settings = source.identity(&self.runtime.git, self.surroundings.user_home.as_deref());
        let variable = |name: &str, setting: &str| {
            let value = self.surroundings.environment.get(name).map(|value| value.to_string_lossy());
            value.filter(|value| !value.trim().is_empty()).map_or_else(|| setting.to_owned(), Into::into)
        };
        Identity::new(
            &variable("GIT_AUTHOR_NAME", settings.name()),
            &variable("GIT_AUTHOR_EMAIL", settings.email()),
        )
    }

    /// Returns the path of the project of the current directory, if it is in a repository.
    pub fn project_here(&self) -> Option<String> {
        self.source().ok().map(|source| source.project().to_string_lossy().into_owned())
    }

    /// Returns the path of the project at a path: that of the repository's main checkout, or the path itself.
    pub fn project_at(&self, path: &Path) -> String {
        let source = Source::discover(&self.runtime.git, path);
        source
            .map_or_else(|_| path.to_owned(), |source| source.project().to_owned())
            .to_string_lossy()
            .into_owned()
    }

    /// Reads the files of a repository's project, on top of the user's own configuration.
    pub fn files(&self, source: &Source) -> Result<Files, Error> {
        self.files_at(source.top())
    }

    /// Like [`App::files`], for the repository at a path.
    pub fn files_at(&self, top: &Path) -> Result<Files, Error> {
        self.files_in(top, top)
    }

    /// Like [`App::files`], for another state of the repository at `top`, whose files are below `place`.
    pub fn files_in(&self, place: &Path, top: &Path) -> Result<Files, Error> {
        let user = User {
            config: self.surroundings.user_config.as_deref(),
            home: self.surroundings.user_home.as_deref(),
            acquit: &self.surroundings.home,
        };
        Files::find_in(place, top, &user)
    }

    /// Trusts what acquit has just written to `.acquit/` for the user, unless there are other files the user has not
    /// seen. Returns whether the repository is trusted now.
    pub fn trust_written(&self, source: &Source, written: &[(PathBuf, String)]) -> Result<bool, Error> {
        let files = self.files(source)?;
        let inside = |(path, text): &(PathBuf, String)| {
            Some((path.strip_prefix(FOLDER).ok()?.to_str()?.to_owned(), text.clone()))
        };
        let written = written.iter().filter_map(inside).collect();
        files.trust().keep_written(files.snapshot(), &written, (self.runtime.now)())?;
        Ok(files.trust().standing(files.snapshot()).is_trusted())
    }
}

fn user(path: &Path) -> Result<Config, Error> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(config::read(&path.to_string_lossy(), &text)?),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Config::default()),
        Err(source) => Err(Error::ProjectFile { path: path.to_owned(), source }),
    }
}
