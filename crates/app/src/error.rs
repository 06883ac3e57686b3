//! What can go wrong in a use case. `hint.rs` says what a person can do about it.

mod disk;
mod hint;
mod missing;
mod refused;

use std::path::PathBuf;

use acquit_core::decide::Illegal;
use acquit_core::ids::{Name, TaskId};
use acquit_core::store;
use acquit_core::toml_reader::Mistakes;
use acquit_run::{git, harness, process};
use acquit_store::{CopyError, OpenError};

use crate::init;
use missing::{finding, lines};
pub use refused::Refused;

/// Whose turn it is to mend an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// What was asked for cannot be done as things stand; whoever asked can change that.
    Usage,
    /// acquit itself, its store, its disk or a program that it needs failed.
    Internal,
}

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
    /// The store cannot be copied.
    #[error(transparent)]
    Copy(#[from] CopyError),
    /// What a rehearsal left cannot be removed.
    #[error("clean up after the check")]
    Retention(#[source] acquit_run::retention::RetentionError),
    /// What a task runs by is not trusted on this machine.
    #[error(transparent)]
    Pinned(#[from] acquit_run::trusted_definitions::Untrusted),
    /// What is for other machines could not be sent or received.
    #[error(transparent)]
    Fleet(#[from] acquit_run::fleet::Error),
    /// A worker cannot begin.
    #[error(transparent)]
    Worker(#[from] Refused),
    /// Another store is at the same place since this command began.
    #[error("go on with the store {location}: another store has taken its place")]
    OtherStore {
        /// Where, without what may be secret.
        location: String,
    },
    /// The store refused.
    #[error("use the store")]
    Store(#[source] store::Error),
    /// There is no such task.
    #[error("find {0}: there is no such task in the store")]
    NoTask(TaskId),
    /// Git, or the repository.
    #[error(transparent)]
    Git(#[from] git::Error),
    /// The project's files cannot be written.
    #[error(transparent)]
    Init(#[from] init::Error),
    /// A process.
    #[error(transparent)]
    Process(#[from] process::Error),
    /// A leg.
    #[error(transparent)]
    Harness(#[from] harness::Error),
    /// The forge of a task's request.
    #[error("take up what was said about {task}")]
    Forge {
        /// The task.
        task: TaskId,
        /// Why not.
        #[source]
        source: acquit_run::forge::Error,
    },
    /// A request at the forge that is to be reviewed.
    #[error("bring request {number} here")]
    Request {
        /// Its number.
        number: u64,
        /// Why not.
        #[source]
        source: acquit_run::forge::Error,
    },
    /// A comment on a pull request could not be posted.
    #[error("comment on pull request {number}")]
    Comment {
        /// Its number.
        number: u64,
        /// Why not.
        #[source]
        source: acquit_run::forge::Error,
    },
    /// Hooks are kept by another tool.
    #[error(
        "write the hook: git looks for hooks in {path} here (core.hooksPath), which belongs to another tool"
    )]
    HooksPath {
        /// Where.
        path: String,
    },
    /// Not the number or address of a pull request.
    #[error("find a pull request called {0:?}: give its number or its address")]
    NoRequest(String),
    /// A request of another project.
    #[error("use {what}: under that number the forge of this repository has {here}")]
    OtherRequest {
        /// The address that was named.
        what: String,
        /// The one that is here.
        here: String,
    },
    /// What is to be reviewed has nothing of its own.
    #[error("review {what}: it has no commit that its base does not have")]
    NothingToReview {
        /// What was named.
        what: String,
    },
    /// A file that is no statement of ours.
    #[error("read the statement {}: {why}", path.display())]
    Statement {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// Words that allow nothing that is known.
    #[error("allow {word}")]
    Permit {
        /// As it was written.
        word: String,
        /// Why not.
        #[source]
        source: acquit_core::check::dilution::BadPermit,
    },
    /// The task cannot do that now.
    #[error("do that with {task}")]
    Illegal {
        /// The task.
        task: TaskId,
        /// Why.
        #[source]
        source: Illegal,
    },
    /// There is nothing to show or to merge.
    #[error("use the work of {task}: {what}")]
    NotDelivered {
        /// The task.
        task: TaskId,
        /// Why not.
        what: &'static str,
    },
    /// The base branch is checked out, with changes.
    #[error("merge into {branch}: it is checked out at {} with changes that are in no commit", at.display())]
    DirtyCheckout {
        /// The branch.
        branch: String,
        /// Where.
        at: PathBuf,
    },
    /// A task's workspace.
    #[error("look into the workspace of {task}")]
    Workspace {
        /// The task.
        task: TaskId,
        /// Why not.
        #[source]
        source: acquit_run::workspace::Error,
    },
    /// A sandbox that would have the whole home in it.
    #[error("make a sandbox in {}: all of your home would be in it", here.display())]
    SandboxOfHome {
        /// Where it was called.
        here: PathBuf,
    },
    /// A sandbox that would have keys or acquit's own files in it.
    #[error("make a sandbox in {}: that is a place of credentials or of acquit itself", here.display())]
    SandboxOfSecrets {
        /// Where it was called.
        here: PathBuf,
    },
    /// There is no `.acquit/`.
    #[error("find .acquit/acquit.toml in {}", .0.display())]
    NotInitialised(PathBuf),
    /// The user does not trust what `.acquit/` asks for.
    #[error(
        "use .acquit/ of {}: {} It asks for:\n  {asks}",
        repository.display(),
        if *changed { "it has changed since you trusted it." } else { "you have not trusted it yet." }
    )]
    Untrusted {
        /// The repository.
        repository: PathBuf,
        /// Whether the user trusted something else there before.
        changed: bool,
        /// What is asked for.
        asks: String,
    },
    /// Nobody is there to be asked.
    #[error("ask whether this repository is trusted: standard input is not a terminal")]
    TrustUnasked,
    /// Nobody said what the answer is.
    #[error("answer {0}: the command has no answer in it")]
    NoAnswer(TaskId),
    /// Mistakes in the project's files.
    #[error("read the project's configuration")]
    Mistakes(#[from] Mistakes),
    /// There is no prompt.
    #[error("show the prompt")]
    Prompt(#[source] acquit_core::prompt::Error),
    /// A section that the prompt does not have.
    #[error("find the section `{name}`; there are: {known}")]
    NoSection {
        /// Its name.
        name: String,
        /// Those that the prompt has.
        known: String,
    },
    /// A value that the workflow's variation does not have.
    #[error("begin with {variable} = `{value}`; it can be: {known}")]
    NoValue {
        /// The variation's variable.
        variable: String,
        /// The value.
        value: String,
        /// Those that it has.
        known: String,
    },
    /// A workflow that does not come with the program.
    #[error("copy the workflow `{name}`, which does not come with acquit; those that do: {known}")]
    NotShipped {
        /// Its name.
        name: Name,
        /// Those that do.
        known: String,
    },
    /// A stage that a task stands at, and its workflow does not have any more.
    #[error("continue at stage `{stage}`: the workflow `{workflow}` does not have it any more")]
    StageGone {
        /// The workflow.
        workflow: Name,
        /// The stage.
        stage: String,
    },
    /// A task without a branch to merge into.
    #[error("merge {task}: it began at a commit and not at a branch, so there is nothing to merge into")]
    NoBaseBranch {
        /// The task.
        task: TaskId,
        /// The branch of its work.
        work: String,
    },
    /// A name on the command line that does not exist: of a state, a tag, a variable.
    #[error("{doing} `{name}`; there are: {known}")]
    NoSuch {
        /// What it was to be used for.
        doing: &'static str,
        /// As it was asked for.
        name: String,
        /// Those there are.
        known: String,
    },
    /// Somebody else was faster.
    #[error("answer request {request} of {task}: {by} answered it before: {answer}")]
    Answered {
        /// The task.
        task: TaskId,
        /// The request.
        request: u32,
        /// Who.
        by: String,
        /// What they said.
        answer: String,
    },
    /// The work is another one than the person saw.
    #[error("answer for {task}: its work was {seen} when you looked, and is {now} now")]
    WorkChanged {
        /// The task.
        task: TaskId,
        /// The commit that was shown.
        seen: String,
        /// The commit that it is.
        now: String,
    },
    /// Flags that have a meaning for a new task only.
    #[error("use {flags} for {task}, which exists already")]
    OnlyForNew {
        /// The task.
        task: TaskId,
        /// The flags.
        flags: String,
    },
    /// A workflow that is not there.
    #[error("find the workflow `{name}`; there are: {known}")]
    NoWorkflow {
        /// Its name.
        name: Name,
        /// Those that exist.
        known: String,
    },
    /// What keeps the agents of a workflow from being started.
    #[error("start the agents of this workflow:\n{}", .0.iter().map(finding).collect::<Vec<_>>().join("\n"))]
    NotReady(Vec<acquit_run::agent::trial::Finding>),
    /// Stages that name what the configuration does not have.
    #[error("find the agent and the secrets of every stage\n{}", lines(.0))]
    Lacking(Vec<acquit_core::config::Lacking>),
    /// A category for a workflow that does not vary.
    #[error("begin `{workflow}` with `{category}`: it has no variation")]
    NoCategory {
        /// The workflow.
        workflow: Name,
        /// What it should begin with.
        category: String,
    },
    /// A service of that name belongs to another repository.
    #[error("install the service `{name}`: {} runs another repository", file.display())]
    OtherService {
        /// Its name.
        name: String,
        /// Its unit.
        file: PathBuf,
        /// A name that fits this repository.
        other: String,
    },
    /// A schedule that runs nothing on this weekday.
    #[error("run `{schedule}` now: it has no category for today ({day})")]
    NoCategoryToday {
        /// The schedule.
        schedule: Name,
        /// The weekday, as the configuration writes it.
        day: &'static str,
    },
    /// A category that the workflow of a schedule does not have.
    #[error("run `{schedule}`: {what}")]
    UnknownCategory {
        /// The schedule.
        schedule: Name,
        /// What is wrong.
        what: String,
        /// What there is.
        hint: String,
    },
    /// A schedule that is not there.
    #[error("find the schedule `{name}`{}", if known.is_empty() { String::new() } else { format!("; there are: {known}") })]
    NoSchedule {
        /// Its name.
        name: Name,
        /// Those that exist.
        known: String,
    },
    /// A time zone that this machine does not know.
    #[error("find the time zone `{zone}` of the schedule `{schedule}`")]
    NoZone {
        /// The schedule.
        schedule: Name,
        /// The zone.
        zone: String,
    },
    /// A repository from elsewhere is not to be had.
    #[error(transparent)]
    Mirror(#[from] acquit_run::mirror::Error),
    /// A night that others write into all the time.
    #[error("write into the night of `{schedule}`: somebody else was faster every time")]
    BusyNight {
        /// The schedule.
        schedule: Name,
    },
    /// The system's services.
    #[error(transparent)]
    Service(#[from] acquit_run::service::Error),
    /// A kind of system that has none that is known here.
    #[error("find systemd or launchd: this system has neither")]
    NoServices,
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
    /// A screen is wanted where there is none.
    #[error("show the board: standard input and output must be a terminal")]
    NoTerminal,
    /// A token that cannot be made or removed.
    #[error("use the token: {0}")]
    Token(String),
    /// Others could reach the dashboard in the clear.
    #[error(
        "listen at {address}: without TLS only addresses of this machine's loopback interface are allowed"
    )]
    NotLoopback {
        /// The address that was named.
        address: String,
    },
    /// The dashboard has no address.
    #[error("serve the dashboard at {address}")]
    Listen {
        /// The address.
        address: String,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// A file of the project that is there and cannot be used.
    #[error("read {}", path.display())]
    ProjectFile {
        /// Which.
        path: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// What was asked for could not be printed.
    #[error("write to standard output: what was printed is not complete")]
    Output(#[source] std::io::Error),
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
    /// What kind of error it is.
    pub fn kind(&self) -> Kind {
        match self {
            Self::NoHome
            | Self::Worker(_)
            | Self::NotLoopback { .. }
            | Self::Token(_)
            | Self::NoTerminal
            | Self::SandboxOfHome { .. }
            | Self::SandboxOfSecrets { .. }
            | Self::NotDelivered { .. }
            | Self::DirtyCheckout { .. }
            | Self::StoreText
            | Self::Init(
                init::Error::Exists(_) | init::Error::NotAFolder(_) | init::Error::Settings { .. },
            )
            | Self::Illegal { .. }
            | Self::NotInitialised(_)
            | Self::Untrusted { .. }
            | Self::TrustUnasked
            | Self::NoAnswer(_)
            | Self::Mistakes(_)
            | Self::NoWorkflow { .. }
            | Self::StageGone { .. }
            | Self::NoSuch { .. }
            | Self::Answered { .. }
            | Self::WorkChanged { .. }
            | Self::NoBaseBranch { .. }
            | Self::OnlyForNew { .. }
            | Self::WhichWorkflow(_)
            | Self::NoCategory { .. }
            | Self::OtherService { .. }
            | Self::NoCategoryToday { .. }
            | Self::UnknownCategory { .. }
            | Self::NoSchedule { .. }
            | Self::NoZone { .. }
            | Self::NoServices
            | Self::Lacking(_)
            | Self::NotReady(_)
            | Self::EmptyTitle
            | Self::NothingToReview { .. }
            | Self::Permit { .. }
            | Self::Statement { .. }
            | Self::OtherRequest { .. }
            | Self::NoRequest(_)
            | Self::HooksPath { .. }
            | Self::NoLeg { .. }
            | Self::NoTask(_)
            | Self::Prompt(_)
            | Self::NoSection { .. }
            | Self::NotShipped { .. }
            | Self::NoValue { .. }
            | Self::ProjectFile { .. }
            | Self::OpenStore { source: OpenError::Moved { .. }, .. }
            | Self::Copy(
                CopyError::Open(OpenError::Moved { .. })
                | CopyError::Exists { .. }
                | CopyError::NoBackup { .. }
                | CopyError::NotEmpty { .. }
                | CopyError::Same
                | CopyError::Running { .. },
            ) => Kind::Usage,
            Self::Git(error) => of_git(error),
            Self::Output(_)
            | Self::Here(_)
            | Self::Exe(_)
            | Self::OpenStore { .. }
            | Self::Copy(_)
            | Self::OtherStore { .. }
            | Self::Pinned(_)
            | Self::Fleet(_)
            | Self::Retention(_)
            | Self::Store(_)
            | Self::Process(_)
            | Self::Harness(_)
            | Self::Workspace { .. }
            | Self::Forge { .. }
            | Self::Mirror(_)
            | Self::BusyNight { .. }
            | Self::Request { .. }
            | Self::Comment { .. }
            | Self::Service(_)
            | Self::Init(init::Error::File { .. })
            | Self::File { .. }
            | Self::Listen { .. }
            | Self::Stalled { .. }
            | Self::Signals(_) => Kind::Internal,
        }
    }
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        match error {
            store::Error::NoTask(task) => Self::NoTask(task),
            error => Self::Store(error),
        }
    }
}

/// A repository that cannot be used is the user's to choose; a git that fails is not.
fn of_git(error: &git::Error) -> Kind {
    match error {
        git::Error::Start(_)
        | git::Error::Failed { .. }
        | git::Error::TimedOut { .. }
        | git::Error::TooMuchOutput { .. }
        | git::Error::Unexpected { .. } => Kind::Internal,
        _ => Kind::Usage,
    }
}
