//! Creates tasks.

use std::collections::BTreeMap;
use std::path::Path;

use acquit_core::change::Change;
use acquit_core::config::Config;
use acquit_core::decide::{Input, decide};
use acquit_core::definition::{Author, Chosen, Definition, Travel};
use acquit_core::ids::TaskId;
use acquit_core::night::key;
use acquit_core::prompt::REPO_URL;
use acquit_core::store::{self, Store};
use acquit_core::task::{Actor, Base, Project as Known, Seed, TICKET, Task, Wish};
use acquit_core::workflow::Workflow;
use acquit_run::base;
use acquit_run::checkout;
use acquit_run::fleet;
use acquit_run::git::{CommitId, Offer, Source};
use acquit_run::trusted_definitions;
use acquit_run::workspace::branch_name;

use crate::app::App;
use crate::error::Error;
use crate::options::{Limits, Means, begin_with, check_model, take_chosen};
use crate::project::Project;

/// Maximum number of attempts to send the start of a task when a cleanup removes it in between.
const TRIES: u32 = 3;

/// A task to create.
#[derive(Clone, Debug, Default)]
pub struct NewTask {
    /// Title in one line.
    pub title: String,
    /// Description.
    pub description: String,
    /// Workflow, agent and model, where they differ from the project's.
    pub means: Means,
    /// Branch or commit to start from, instead of the one that is checked out.
    pub base: Option<String>,
    /// Priority. Higher runs first.
    pub priority: Option<i32>,
    /// Tags for filtering.
    pub tags: Vec<String>,
    /// Estimated size.
    pub size: Option<String>,
    /// Estimated complexity.
    pub complexity: Option<String>,
    /// Ticket the task comes from.
    pub ticket: Option<String>,
    /// Free-form data.
    pub metadata: Vec<(String, String)>,
    /// Template variables.
    pub variables: Vec<(String, String)>,
    /// Limits.
    pub limits: Limits,
}

/// Where a task comes from, if not from a person in a repository.
pub struct Origin {
    /// Repository.
    pub source: Source,
    /// Project to run it with.
    pub project: Project,
    /// An id that was reserved for it.
    pub id: Option<TaskId>,
    /// First value of the workflow's variation.
    pub category: Option<String>,
    /// Free-form data.
    pub metadata: std::collections::BTreeMap<String, String>,
    /// Who creates it.
    pub by: Actor,
}

impl App {
    /// Creates a task and its first leg.
    pub fn create(&self, store: &mut dyn Store, new: &NewTask) -> Result<Task, Error> {
        if new.title.trim().is_empty() {
            return Err(Error::EmptyTitle);
        }
        let source = self.source()?;
        let project = self.files(&source)?.read()?;
        let metadata = std::collections::BTreeMap::new();
        let origin = Origin { source, project, id: None, category: None, metadata, by: self.person() };
        self.create_from(store, new, origin)
    }

    /// Like [`App::create`], in a given place and for another actor.
    pub fn create_from(&self, store: &mut dyn Store, new: &NewTask, origin: Origin) -> Result<Task, Error> {
        self.create_with(store, new, origin, None)
    }

    /// Like [`App::create_from`], for existing work if `offer` is given.
    pub fn create_with(
        &self,
        store: &mut dyn Store,
        new: &NewTask,
        origin: Origin,
        offer: Option<Offer>,
    ) -> Result<Task, Error> {
        let Origin { source, project, id, category, mut metadata, by } = origin;
        metadata.extend(new.metadata.iter().cloned());
        metadata.extend(new.ticket.iter().map(|ticket| (TICKET.to_owned(), ticket.clone())));
        let mut workflow = project.workflow(new.means.workflow.as_ref())?.clone();
        let home = self.surroundings.user_home.as_deref();
        metadata.extend(address(&self.runtime.git, &source, home, &workflow)?);
        let mut chosen = Chosen {
            agent: new.means.agent.clone(),
            model: new.means.model.clone(),
            max_cost: new.limits.max_cost,
            max_time: new.limits.max_time,
            ..Chosen::default()
        };
        take_chosen(&mut workflow, &chosen);
        let variables = begin_with(&mut workflow, &new.variables, category)?;
        // A review always passes the variable `since`, whether its workflow uses it or not.
        if offer.is_none() {
            refuse_unknown_variables(&variables, &workflow, &project.config)?;
        }
        // The selected value was rotated to the front.
        chosen.variation = workflow
            .variation
            .as_ref()
            .filter(|one| one.first == 0)
            .and_then(|one| one.values.first().cloned());
        project.check_stages(&workflow)?;
        if chosen.model.is_some() {
            check_model(self, &workflow, &project.config)?;
        }
        let (base, work) = if let Some(Offer { head, base }) = offer {
            (acquit_run::git::Base { branch: None, commit: base }, Some(head))
        } else {
            let named = new.base.as_deref().or(project.config.base.as_deref());
            let base = self.base(&source, &project, &workflow, named, &metadata)?;
            if checkout::is_changed(&self.runtime.git, &source, &project.config)? {
                self.warn(
                    "your checkout has uncommitted changes; the task starts from the commit, without them",
                );
            }
            (base, None)
        };
        let source = self.set_apart(source, &project.config, &base.commit)?;
        source.check_complete(&self.runtime.git, work.as_ref().unwrap_or(&base.commit))?;
        let author = self.author(&source);
        let id = id.map_or_else(|| store.reserve(), Ok)?;
        // The newest commit includes all commits below it.
        let (git, own) = (&self.runtime.git, self.runtime.store());
        source.pin(git, own, id, work.as_ref().unwrap_or(&base.commit))?;
        let prefix = workflow.branch_prefix.as_ref().unwrap_or(&project.config.branch_prefix);
        let mut branch = branch_name(prefix, &new.title, &id.to_string());
        if source.is_taken(git, own, id, &branch)? {
            branch = format!("{branch}-{own}");
        }
        let sent: Vec<CommitId> = std::iter::once(&base.commit).chain(work.as_ref()).cloned().collect();
        let seed = Seed {
            id,
            wish: Wish {
                description: new.description.clone(),
                priority: new.priority.unwrap_or(0),
                size: new.size.clone(),
                complexity: new.complexity.clone(),
                tags: new.tags.clone(),
                variables,
                metadata,
                ..Wish::titled(new.title.trim())
            },
            project: Known {
                name: folder_name(source.project()),
                path: source.project().to_string_lossy().into_owned(),
            },
            workflow: workflow.name.clone(),
            base: Base {
                branch: base.branch,
                commit: base.commit.to_string(),
                work: work.map(|work| work.to_string()),
            },
            branch,
            created: (self.runtime.now)(),
        };
        let mut definition = Definition {
            form: Definition::FORM,
            workflow,
            config: project.config,
            instructions: project.instructions,
            author: Author { name: author.name().to_owned(), email: author.email().to_owned() },
            source: Some(source.clone().into()),
            chosen,
            travel: Travel::default(),
        };
        let task = Task::new(seed.clone());
        let mut changes = vec![Change::Created { seed: Box::new(seed) }];
        let next = decide(&task, &definition.workflow, Input::Begin);
        changes.extend(next.map_err(|source| Error::Illegal { task: id, source })?);
        for attempt in 1.. {
            match self.send_and_create(store, &source, &sent, &mut definition, &changes, &by) {
                Err(error) if is_removed(&error) && attempt < TRIES => {}
                done => return done,
            }
        }
        unreachable!("the loop returns at its last try")
    }

    /// Sends the start of a task to other machines and creates the task. Fails if a cleanup removes what was sent
    /// earlier in between.
    fn send_and_create(
        &self,
        store: &mut dyn Store,
        source: &Source,
        commits: &[CommitId],
        definition: &mut Definition,
        changes: &[Change],
        by: &Actor,
    ) -> Result<Task, Error> {
        let Some(Change::Created { seed }) = changes.first() else { unreachable!("a task is created first") };
        let commits: Vec<&CommitId> = commits.iter().collect();
        definition.travel =
            fleet::send_base(&self.runtime, store, source, &definition.config, seed.id, &commits)?;
        trusted_definitions::keep(&self.runtime, seed.id, definition).map_err(|source| Error::File {
            doing: "write to",
            path: self.runtime.task_folder(seed.id),
            source,
        })?;
        Ok(store.create(definition, changes, by)?)
    }

    /// Marks the repository of a task whose base is not part of the project's own base branch. Setup runs code of the
    /// base, so its result for a base that others wrote is used only by tasks on that base.
    pub(crate) fn set_apart(
        &self,
        source: Source,
        config: &Config,
        base: &CommitId,
    ) -> Result<Source, Error> {
        let is_shared = config.setup.is_none()
            || source.foreign.is_some()
            || source.is_judged_only()
            || base::is_own(&self.runtime.git, &source, config.base.as_deref(), base)?;
        Ok(if is_shared { source } else { source.on_foreign(base) })
    }

    /// Returns where a task starts. Work that leaves this machine, and scheduled work, starts from the remote's branch.
    fn base(
        &self,
        source: &Source,
        project: &Project,
        workflow: &Workflow,
        named: Option<&str>,
        metadata: &BTreeMap<String, String>,
    ) -> Result<acquit_run::git::Base, Error> {
        let git = &self.runtime.git;
        let by_clock = metadata.contains_key(key::SCHEDULE);
        if !by_clock && !base::leaves(&self.runtime, &project.config, workflow, source) {
            return Ok(source.base(git, named)?);
        }
        let Some(base) = base::at_remote(&self.runtime, &project.config, source, named)? else {
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
            self.warn(format!(
                "your branch {branch} has commits that are not at its remote; the task starts without them"
            ));
        }
        Ok(base)
    }
}

fn is_removed(error: &Error) -> bool {
    matches!(
        error,
        Error::Store(store::Error::Removed(_)) | Error::Fleet(fleet::Error::Store(store::Error::Removed(_)))
    )
}

/// Rejects a variable that neither the workflow nor the project has: no text could use it.
pub(crate) fn refuse_unknown_variables(
    own: &BTreeMap<String, String>,
    workflow: &Workflow,
    config: &Config,
) -> Result<(), Error> {
    let variation = workflow.variation.iter().map(|one| &one.variable);
    let known: Vec<&String> =
        workflow.variables.keys().chain(config.variables.keys()).chain(variation).collect();
    let Some(name) = own.keys().find(|name| !known.contains(name)) else { return Ok(()) };
    let list = known.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
    let known = if list.is_empty() { "none; declare it in [variables]".to_owned() } else { list };
    Err(Error::NoSuch { doing: "set the variable", name: name.clone(), known })
}

fn folder_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// Returns the URL of a repository for a workflow that needs it: that of `origin`, without credentials.
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
