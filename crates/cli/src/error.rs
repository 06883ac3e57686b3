//! What can go wrong in a command, and what a person can do about it. The one place that turns errors into advice.

use std::path::PathBuf;

use acquit_core::config::toml::Mistakes;
use acquit_core::decide::Illegal;
use acquit_core::ids::{Name, TaskId};
use acquit_core::store;
use acquit_run::{git, harness, process};

use crate::exit::Exit;

/// Why a command did not do what it should. Texts continue "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The current folder is gone.
    #[error("find the current folder")]
    Here(#[source] std::io::Error),
    /// This program cannot find itself.
    #[error("find acquit's own program file")]
    Exe(#[source] std::io::Error),
    /// No place for acquit's files.
    #[error("find a place for acquit's files: neither ACQUIT_HOME nor HOME is set")]
    NoHome,
    /// ACQUIT_STORE is not text.
    #[error("use ACQUIT_STORE: it is not valid text")]
    StoreText,
    /// The store cannot be opened.
    #[error("open the store {location}")]
    OpenStore {
        /// Where, without what may be secret.
        location: String,
        /// Why.
        #[source]
        source: acquit_store::OpenError,
    },
    /// The store refused.
    #[error("use the store")]
    Store(#[from] store::Error),
    /// Git, or the repository.
    #[error(transparent)]
    Git(#[from] git::Error),
    /// The project's files cannot be written.
    #[error(transparent)]
    Init(#[from] crate::init::Error),
    /// A process.
    #[error(transparent)]
    Process(#[from] process::Error),
    /// A leg.
    #[error(transparent)]
    Harness(#[from] harness::Error),
    /// The task cannot do that now.
    #[error("do that with {task}")]
    Illegal {
        /// The task.
        task: TaskId,
        /// Why.
        #[source]
        source: Illegal,
    },
    /// There is no `.acquit/`.
    #[error("find .acquit/acquit.toml in {}", .0.display())]
    NotInitialised(PathBuf),
    /// Mistakes in the project's files.
    #[error("read the project's configuration")]
    Mistakes(#[from] Mistakes),
    /// A workflow that is not there.
    #[error("find the workflow `{name}`; there are: {known}")]
    NoWorkflow {
        /// Its name.
        name: Name,
        /// Those that exist.
        known: String,
    },
    /// Stages that nobody can take.
    #[error("find an agent for every stage\n{}", lines(.0))]
    NoAgents(Vec<acquit_core::config::NoAgent>),
    /// Several workflows and no default.
    #[error("choose a workflow; there are: {0}")]
    WhichWorkflow(String),
    /// A file.
    #[error("{doing} {}", path.display())]
    File {
        /// What was done.
        doing: &'static str,
        /// With which.
        path: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// A title without words.
    #[error("make a task: its title is empty")]
    EmptyTitle,
    /// A leg that the task does not have.
    #[error("show leg {leg} of {task}: there is no such leg, or it has printed nothing")]
    NoLeg {
        /// The task.
        task: TaskId,
        /// The leg.
        leg: u32,
    },
    /// A harness that dies again and again.
    #[error("run {task}: its harness ended {times} times in a row without getting anywhere (see {})", log.display())]
    Stalled {
        /// The task.
        task: TaskId,
        /// How often.
        times: u32,
        /// What the harnesses printed.
        log: PathBuf,
    },
    /// Signals cannot be handled.
    #[error("handle Ctrl-C")]
    Signals(#[source] std::io::Error),
}

impl Error {
    /// How the command ends.
    pub fn exit(&self) -> Exit {
        match self {
            Self::NoHome
            | Self::StoreText
            | Self::Git(_)
            | Self::Init(_)
            | Self::Illegal { .. }
            | Self::NotInitialised(_)
            | Self::Mistakes(_)
            | Self::NoWorkflow { .. }
            | Self::WhichWorkflow(_)
            | Self::NoAgents(_)
            | Self::EmptyTitle
            | Self::NoLeg { .. }
            | Self::Store(store::Error::NoTask(_)) => Exit::Usage,
            Self::Here(_)
            | Self::Exe(_)
            | Self::OpenStore { .. }
            | Self::Store(_)
            | Self::Process(_)
            | Self::Harness(_)
            | Self::File { .. }
            | Self::Stalled { .. }
            | Self::Signals(_) => Exit::Internal,
        }
    }

    /// What a person can do about it.
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::NoHome => "set ACQUIT_HOME to a folder that acquit may write to",
            Self::NotInitialised(_) => "run `acquit init` in the repository first",
            Self::WhichWorkflow(_) => "name one with --workflow, or set `workflow` in .acquit/acquit.toml",
            Self::NoAgents(missing) => return missing.iter().find_map(|stage| stage.hint.clone()),
            Self::Mistakes(_) => "`acquit workflow check` lists all mistakes",
            Self::EmptyTitle => "say in a line what is wanted: acquit run \"Add a --json flag\"",
            Self::Store(store::Error::NoTask(_)) => "`acquit task list --all-projects` shows the tasks there are",
            Self::Store(store::Error::Newer { .. }) => "use the acquit that wrote it, or a newer one",
            Self::Illegal { source: Illegal::State { .. }, .. } => "`acquit task show` says where it stands",
            Self::OpenStore { .. } => "ACQUIT_STORE names the store; ACQUIT_HOME the folder of the default one",
            Self::Here(_)
            | Self::Exe(_)
            | Self::StoreText
            | Self::Git(_)
            | Self::Init(_)
            | Self::Store(_)
            | Self::Process(_)
            | Self::Harness(_)
            | Self::Illegal { .. }
            | Self::NoWorkflow { .. }
            | Self::File { .. }
            | Self::NoLeg { .. }
            | Self::Stalled { .. }
            | Self::Signals(_) => return None,
        };
        Some(text.to_owned())
    }
}

fn lines(missing: &[acquit_core::config::NoAgent]) -> String {
    missing.iter().map(|stage| format!("  {stage}")).collect::<Vec<_>>().join("\n")
}
