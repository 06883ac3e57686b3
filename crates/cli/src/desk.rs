//! What every command stands on: the surroundings, the world of the harness, the store, the printer.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use acquit_core::change::Change;
use acquit_core::context::REPO_URL;
use acquit_core::decide::{Input, decide};
use acquit_core::definition::{Author, Chosen, Definition};
use acquit_core::ids::TaskId;
use acquit_core::night::key;
use acquit_core::store::{self, Commit, Store};
use acquit_core::task::{Actor, Base, Project as Known, Seed, TICKET, Task, Wish};
use acquit_core::workflow::Workflow;
use acquit_run::base;
use acquit_run::checkout;
use acquit_run::git::{Git, Offer, Source};
use acquit_run::harness::Began;
use acquit_run::pinned;
use acquit_run::process::Spawner;
use acquit_run::process::contain::Launcher;
use acquit_run::workspace::branch_name;
use acquit_run::world::World;
use acquit_store::{Clock, Location};

use crate::args::NewTask;
use crate::environment::Surroundings;
use crate::error::Error;
use crate::project::{FOLDER, Files, Project, User};
use crate::renew::{self, Renewal};
use crate::report::Printer;

/// A decision is tried again so often when somebody else changed the task in between.
const TRIES: u32 = 8;

/// A command's desk.
pub struct Desk {
    /// Where it was called.
    pub surroundings: Surroundings,
    /// What the harness has around it.
    pub world: World,
    /// What it says.
    pub printer: Printer,
}

impl Desk {
    /// Sets it up.
    pub fn new(surroundings: Surroundings, printer: Printer, launcher: Option<Launcher>) -> Self {
        let path = surroundings.environment.get("PATH").map(std::ffi::OsStr::to_owned).unwrap_or_default();
        let spawner = Spawner::new(&surroundings.exe).with_launcher(launcher);
        let world = World {
            home: surroundings.home.clone(),
            store: std::sync::OnceLock::new(),
            shared: matches!(Location::parse(&surroundings.store), Location::Postgres(_)),
            git: Git::new(spawner.clone(), path),
            spawner,
            environment: surroundings.environment.clone(),
            host: surroundings.host.clone(),
            now: || Clock::System.now(),
        };
        Self { surroundings, world, printer }
    }

    /// What a harness is started with: what this process was, and the places as this process understood them.
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
        let known = self.world.store.get_or_init(|| id.clone());
        if *known != id {
            return Err(Error::OtherStore { location: location.to_string() });
        }
        Ok(store)
    }

    /// Who sits at it.
    pub fn person(&self) -> Actor {
        Actor::Person(self.surroundings.user.clone())
    }

    /// The repository that the command was called in.
    pub fn source(&self) -> Result<Source, Error> {
        Ok(Source::discover(&self.world.git, &self.surroundings.here)?)
    }

    /// The path of the repository that the command was called in, if it was called in one.
    pub fn project_here(&self) -> Option<String> {
        self.source().ok().map(|source| source.top().to_string_lossy().into_owned())
    }

    /// The files of a repository's project, and the user's own under them.
    pub fn files(&self, source: &Source) -> Result<Files, Error> {
        self.files_at(source.top())
    }

    /// The same of the repository at a path.
    pub fn files_at(&self, top: &Path) -> Result<Files, Error> {
        let user = User {
            config: self.surroundings.user_config.as_deref(),
            home: self.surroundings.user_home.as_deref(),
            acquit: &self.surroundings.home,
        };
        Files::find(top, &user)
    }

    /// Trusts what acquit has just written into `.acquit/` for the user, unless something lies beside it that the user has not seen. Says
    /// whether the repository is trusted now.
    pub fn trust_written(&self, source: &Source, written: &[(PathBuf, String)]) -> Result<bool, Error> {
        let files = self.files(source)?;
        let inside = |(path, text): &(PathBuf, String)| {
            Some((path.strip_prefix(FOLDER).ok()?.to_str()?.to_owned(), text.clone()))
        };
        let written = written.iter().filter_map(inside).collect();
        files.trust().keep_written(files.snapshot(), &written, (self.world.now)())?;
        Ok(files.trust().standing(files.snapshot()).is_trusted())
    }

    /// Makes a task and its first leg.
    pub fn create(&self, store: &mut dyn Store, new: &NewTask, description: String) -> Result<Task, Error> {
        if new.title.trim().is_empty() {
            return Err(Error::EmptyTitle);
        }
        let source = self.source()?;
        let project = self.files(&source)?.read()?;
        let metadata = std::collections::BTreeMap::new();
        let origin = Origin { source, project, id: None, category: None, metadata, by: self.person() };
        self.create_from(store, new, description, origin)
    }

    /// The same in a given place, and for somebody else.
    pub fn create_from(
        &self,
        store: &mut dyn Store,
        new: &NewTask,
        description: String,
        origin: Origin,
    ) -> Result<Task, Error> {
        self.create_with(store, new, description, origin, None)
    }

    /// The same about work that is there already, if some is given.
    pub fn create_with(
        &self,
        store: &mut dyn Store,
        new: &NewTask,
        description: String,
        origin: Origin,
        offer: Option<Offer>,
    ) -> Result<Task, Error> {
        let Origin { source, project, id, category, mut metadata, by } = origin;
        metadata.extend(new.metadata.iter().cloned());
        metadata.extend(new.ticket.iter().map(|ticket| (TICKET.to_owned(), ticket.clone())));
        let mut workflow = project.workflow(new.means.workflow.as_ref())?.clone();
        let home = self.surroundings.user_home.as_deref();
        metadata.extend(address(&self.world.git, &source, home, &workflow)?);
        let mut chosen = Chosen {
            agent: new.means.agent.clone(),
            model: new.means.model.clone(),
            max_cost: new.limits.max_cost,
            max_time: new.limits.max_time,
            ..Chosen::default()
        };
        renew::take_chosen(&mut workflow, &chosen);
        let variables = begin_with(&mut workflow, &new.variables, category)?;
        // Rotated to the front, if one was named.
        chosen.variation = workflow
            .variation
            .as_ref()
            .filter(|one| one.first == 0)
            .and_then(|one| one.values.first().cloned());
        project.check_stages(&workflow)?;
        let (base, work) = if let Some(Offer { head, base }) = offer {
            (acquit_run::git::Base { branch: None, commit: base }, Some(head))
        } else {
            let named = new.base.as_deref().or(project.config.base.as_deref());
            let base = self.base(&source, &project, &workflow, named, &metadata)?;
            if checkout::is_changed(&self.world.git, &source, &project.config)? {
                self.printer.warn(
                    "your checkout has uncommitted changes; the task starts from the commit, without them",
                );
            }
            (base, None)
        };
        let author = source.identity(&self.world.git, self.surroundings.user_home.as_deref());
        let id = id.map_or_else(|| store.reserve(), Ok)?;
        // What is on top has all that is below.
        let (git, own) = (&self.world.git, self.world.store());
        source.pin(git, own, id, work.as_ref().unwrap_or(&base.commit))?;
        let prefix = workflow.branch_prefix.as_ref().unwrap_or(&project.config.branch_prefix);
        let mut branch = branch_name(prefix, &new.title, &id.to_string());
        if source.is_taken(git, own, id, &branch)? {
            branch = format!("{branch}-{own}");
        }
        let seed = Seed {
            id,
            wish: Wish {
                description,
                priority: new.priority.unwrap_or(0),
                size: new.size.clone(),
                complexity: new.complexity.clone(),
                tags: new.tags.clone(),
                variables,
                metadata,
                ..Wish::titled(new.title.trim())
            },
            project: Known {
                name: folder_name(source.top()),
                path: source.top().to_string_lossy().into_owned(),
            },
            workflow: workflow.name.clone(),
            base: Base {
                branch: base.branch,
                commit: base.commit.to_string(),
                work: work.map(|work| work.to_string()),
            },
            branch,
            created: (self.world.now)(),
        };
        let definition = Definition {
            form: Definition::FORM,
            workflow,
            config: project.config,
            instructions: project.instructions,
            author: Author { name: author.name().to_owned(), email: author.email().to_owned() },
            source: serde_json::to_value(&source).unwrap_or_default(),
            chosen,
        };
        pinned::keep(&self.world, id, &definition).map_err(|source| Error::File {
            doing: "write to",
            path: self.world.task_folder(id),
            source,
        })?;
        let task = Task::new(seed.clone());
        let mut changes = vec![Change::Created { seed: Box::new(seed) }];
        let next = decide(&task, &definition.workflow, Input::Begin);
        changes.extend(next.map_err(|source| Error::Illegal { task: id, source })?);
        Ok(store.create(&definition, &changes, &by)?)
    }

    /// Where a task starts. What leaves this machine, and what is begun by the clock, starts from the remote's branch.
    fn base(
        &self,
        source: &Source,
        project: &Project,
        workflow: &Workflow,
        named: Option<&str>,
        metadata: &BTreeMap<String, String>,
    ) -> Result<acquit_run::git::Base, Error> {
        let git = &self.world.git;
        let by_clock = metadata.contains_key(key::SCHEDULE);
        if !by_clock && !base::leaves(&self.world, &project.config, workflow, source) {
            return Ok(source.base(git, named)?);
        }
        let Some(base) = base::at_remote(&self.world, &project.config, source, named)? else {
            return Ok(source.base(git, named)?);
        };
        let local = match &base.branch {
            Some(branch) => source.branch(git, branch)?,
            None => None,
        };
        if let (Some(local), Some(branch)) = (local, &base.branch)
            && local != base.commit
            && source.contains(git, &local, &base.commit)?
        {
            self.printer.warn(&format!(
                "your branch {branch} has commits that are not at its remote; the task starts without them"
            ));
        }
        Ok(base)
    }

    /// Lets something happen to a task: reads it, decides, writes, and begins anew if somebody else was faster.
    pub fn decide(&self, store: &mut dyn Store, id: TaskId, input: &Input) -> Result<Task, Error> {
        let pinned = Renewal { pinned: true, ..Renewal::default() };
        self.decide_with(store, id, Some(input), &pinned)
    }

    /// The same with the configuration as it is now, or another one that a person wants. Without an input only that is changed.
    pub fn decide_with(
        &self,
        store: &mut dyn Store,
        id: TaskId,
        input: Option<&Input>,
        renewal: &Renewal,
    ) -> Result<Task, Error> {
        let definition = store.definition(id)?;
        for attempt in 1.. {
            let task = store.task(id)?;
            let decided = |workflow: &Workflow| match input {
                Some(input) => decide(&task, workflow, input.clone())
                    .map_err(|source| Error::Illegal { task: id, source }),
                None => Ok(Vec::new()),
            };
            // What cannot be is said before anything is said about the configuration.
            let mut changes = decided(&definition.workflow)?;
            if let Some(update) = renew::change(self, &task, &definition, renewal)? {
                if let Change::DefinitionUpdated { definition, .. } = &update {
                    changes = decided(&definition.workflow)?;
                }
                changes.insert(0, update);
            }
            if changes.is_empty() {
                return Ok(task);
            }
            let by = self.person();
            let commit = Commit { before: &task, changes: &changes, by: &by, hold: None, notes: &[] };
            match store.commit(commit) {
                Err(store::Error::Conflict(_)) if attempt < TRIES => {}
                done => return Ok(done?),
            }
        }
        unreachable!("the loop returns at its last try")
    }

    /// Asks for a task's end, and ends it here and now where no harness would.
    pub fn cancel(&self, store: &mut dyn Store, id: TaskId) -> Result<Task, Error> {
        self.decide(store, id, &Input::Cancel { by: self.person() })?;
        acquit_run::supervise::bury(&self.world, store)?;
        let wanted = acquit_core::store::Wanted::Of(id);
        match acquit_run::harness::claim(&self.world, store, wanted) {
            Ok(Some(claim)) => Ok(acquit_run::harness::run(&self.world, store, claim, Began::now())?),
            // The machine that may run it ends it.
            Ok(None) | Err(acquit_run::harness::Error::Untrusted(_)) => Ok(store.task(id)?),
            Err(error) => Err(error.into()),
        }
    }
}

/// Where a task comes from, if not from a person in a repository.
pub struct Origin {
    /// The repository.
    pub source: Source,
    /// What it is run by.
    pub project: Project,
    /// An id that was reserved for it.
    pub id: Option<TaskId>,
    /// The value that the workflow's variation begins with.
    pub category: Option<String>,
    /// Anything else about it.
    pub metadata: std::collections::BTreeMap<String, String>,
    /// Who makes it.
    pub by: Actor,
}

/// The task's own variables. One that has the name of the workflow's variation, or a category, says which of its values comes
/// first.
pub fn begin_with(
    workflow: &mut Workflow,
    variables: &[(String, String)],
    category: Option<String>,
) -> Result<BTreeMap<String, String>, Error> {
    let mut own: BTreeMap<String, String> = variables.iter().cloned().collect();
    if let Some(category) = category {
        let Some(variation) = &workflow.variation else {
            return Err(Error::NoCategory { workflow: workflow.name.clone(), category });
        };
        own.insert(variation.variable.clone(), category);
    }
    if let Some(variation) = &mut workflow.variation
        && let Some(value) = own.remove(&variation.variable)
    {
        let position = variation.values.iter().position(|known| *known == value).ok_or_else(|| {
            let (variable, known) = (variation.variable.clone(), variation.values.join(", "));
            Error::NoValue { variable, value, known }
        })?;
        // The others follow in the order in which they are written.
        variation.values[..=position].rotate_right(1);
        variation.first = 0;
    }
    Ok(own)
}

fn folder_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// The address that a repository comes from, for a workflow that asks for it: as `origin` has it, without a login.
fn address(
    git: &acquit_run::git::Git,
    source: &acquit_run::git::Source,
    home: Option<&std::path::Path>,
    workflow: &Workflow,
) -> Result<Option<(String, String)>, Error> {
    let asks = serde_json::to_string(workflow).is_ok_and(|text| text.contains(REPO_URL));
    if !asks {
        return Ok(None);
    }
    let url = source.remote_url(git, home, "origin", acquit_run::git::Direction::Fetch)?;
    let plain = |url: String| match url.split_once("://") {
        Some((scheme, rest)) => {
            let place = rest.split('/').next().unwrap_or_default();
            let login = place.rfind('@').map_or(0, |at| at + 1);
            format!("{scheme}://{}", &rest[login..])
        }
        None => url,
    };
    Ok(url.map(|url| (REPO_URL.to_owned(), plain(url))))
}
