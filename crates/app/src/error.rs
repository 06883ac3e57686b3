//! Errors of the use cases. `advice.rs` says who has to fix each, and how.

mod advice;
mod disk;
mod missing;
mod refused;

use std::path::PathBuf;

use acquit_core::decide::Illegal;
use acquit_core::ids::{Name, TaskId};
use acquit_core::store;
use acquit_core::toml_reader::Mistakes;
use acquit_core::workflow::Workflow;
use acquit_run::{git, harness, process};
use acquit_store::CopyError;

use crate::init;
use missing::{finding, lines};
pub use refused::Refused;

/// Who has to fix an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The request cannot be performed as things are. The caller can change that.
    Usage,
    /// acquit itself, its store, its disk or a program it needs failed.
    Internal,
}

/// Why a use case failed. Messages continue "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The current directory no longer exists.
    #[error("find the current folder")]
    Here(#[source] std::io::Error),
    /// The path of this program cannot be found.
    #[error("find acquit's own program file")]
    Exe(#[source] std::io::Error),
    /// There is no place for acquit's files.
    #[error("find a place for acquit's files: neither ACQUIT_HOME nor HOME is set")]
    NoHome,
    /// `ACQUIT_STORE` is not valid text.
    #[error("use ACQUIT_STORE: it is not valid text")]
    StoreText,
    /// The store cannot be opened.
    #[error("open the store {location}")]
    OpenStore {
        /// Location without secrets.
        location: String,
        /// Cause.
        #[source]
        source: acquit_store::OpenError,
    },
    /// The store cannot be copied.
    #[error(transparent)]
    Copy(#[from] CopyError),
    /// A database role did not get its rights.
    #[error(transparent)]
    Grant(#[from] acquit_store::GrantError),
    /// The files of a rehearsal cannot be removed.
    #[error("clean up after the check")]
    Retention(#[source] acquit_run::retention::RetentionError),
    /// The definition of a task is not trusted on this machine.
    #[error(transparent)]
    Pinned(#[from] acquit_run::trusted_definitions::Untrusted),
    /// Data for other machines could not be sent or received.
    #[error(transparent)]
    Fleet(#[from] acquit_run::fleet::Error),
    /// A worker cannot start.
    #[error(transparent)]
    Worker(#[from] Refused),
    /// Another store has replaced the store at this location since the command started.
    #[error("go on with the store {location}: another store has taken its place")]
    OtherStore {
        /// Location without secrets.
        location: String,
    },
    /// The store returned an error.
    #[error("use the store")]
    Store(#[source] store::Error),
    /// The task does not exist.
    #[error("find {0}: there is no such task in the store")]
    NoTask(TaskId),
    /// An error of git or the repository.
    #[error(transparent)]
    Git(#[from] git::Error),
    /// The project's files cannot be written.
    #[error(transparent)]
    Init(#[from] init::Error),
    /// A process cannot be started or controlled.
    #[error(transparent)]
    Process(#[from] process::Error),
    /// An error of the harness.
    #[error(transparent)]
    Harness(#[from] harness::Error),
    /// Feedback on a task's pull request cannot be fetched.
    #[error("take up what was said about {task}")]
    Forge {
        /// Task id.
        task: TaskId,
        /// Cause.
        #[source]
        source: acquit_run::forge::Error,
    },
    /// A pull request to review cannot be fetched.
    #[error("bring request {number} here")]
    Request {
        /// Number of the pull request.
        number: u64,
        /// Cause.
        #[source]
        source: acquit_run::forge::Error,
    },
    /// A comment on a pull request cannot be posted.
    #[error("comment on pull request {number}")]
    Comment {
        /// Number of the pull request.
        number: u64,
        /// Cause.
        #[source]
        source: acquit_run::forge::Error,
    },
    /// Another tool manages the git hooks.
    #[error(
        "write the hook: git looks for hooks in {path} here (core.hooksPath), which belongs to another tool"
    )]
    HooksPath {
        /// Folder of the hooks.
        path: String,
    },
    /// Not the number or URL of a pull request.
    #[error("find a pull request called {0:?}: give its number or its address")]
    NoRequest(String),
    /// The pull request belongs to another project.
    #[error("use {what}: under that number the forge of this repository has {here}")]
    OtherRequest {
        /// URL that was given.
        what: String,
        /// URL of the pull request with that number here.
        here: String,
    },
    /// The branch or pull request to review has no commits of its own.
    #[error("review {what}: it has no commit that its base does not have")]
    NothingToReview {
        /// The argument.
        what: String,
    },
    /// The file is not a statement of acquit.
    #[error("read the statement {}: {why}", path.display())]
    Statement {
        /// Path of the file.
        path: PathBuf,
        /// Reason.
        why: String,
    },
    /// An unknown permission.
    #[error("allow {word}")]
    Permit {
        /// The given permission.
        word: String,
        /// Cause.
        #[source]
        source: acquit_core::check::dilution::BadPermit,
    },
    /// The task cannot do that in its current state.
    #[error("change {task}")]
    Illegal {
        /// Task id.
        task: TaskId,
        /// Cause.
        #[source]
        source: Illegal,
    },
    /// There is no work to show or merge.
    #[error("use the work of {task}: {what}")]
    NotDelivered {
        /// Task id.
        task: TaskId,
        /// Reason.
        what: &'static str,
    },
    /// No leg of the task waits to be run.
    #[error("run {task}: it has no leg that waits to be run, it is {state}")]
    NotQueued {
        /// Task id.
        task: TaskId,
        /// State of the task.
        state: &'static str,
    },
    /// The leg of the task cannot be started here now.
    #[error("run {task} now: {why}")]
    NotStarted {
        /// Task id.
        task: TaskId,
        /// Reason.
        why: &'static str,
    },
    /// The base branch is checked out with uncommitted changes.
    #[error("merge into {branch}: it is checked out at {} with changes that are in no commit", at.display())]
    DirtyCheckout {
        /// Branch name.
        branch: String,
        /// Path of the checkout.
        at: PathBuf,
    },
    /// A task's workspace cannot be read.
    #[error("look into the workspace of {task}")]
    Workspace {
        /// Task id.
        task: TaskId,
        /// Cause.
        #[source]
        source: acquit_run::workspace::Error,
    },
    /// The sandbox would contain the user's whole home folder.
    #[error("make a sandbox in {}: all of your home would be in it", here.display())]
    SandboxOfHome {
        /// Current directory.
        here: PathBuf,
    },
    /// The sandbox would contain credentials or acquit's own files.
    #[error("make a sandbox in {}: that is a place of credentials or of acquit itself", here.display())]
    SandboxOfSecrets {
        /// Current directory.
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
        /// Path of the repository.
        repository: PathBuf,
        /// Whether the user trusted other content there before.
        changed: bool,
        /// What it asks for.
        asks: String,
    },
    /// There is no terminal to ask for trust.
    #[error("ask whether this repository is trusted: standard input is not a terminal")]
    TrustUnasked,
    /// No demo was run yet.
    #[error("find the sample of the last demo: there is none")]
    NoDemo,
    /// The command contains no answer.
    #[error("answer {task}: the command has no answer in it")]
    NoAnswer {
        /// The task.
        task: TaskId,
        /// The commands that answer it, joined for a sentence. Empty if it asks nothing.
        commands: String,
    },
    /// Mistakes in the project's files.
    #[error("read the project's configuration")]
    Mistakes(#[from] Mistakes),
    /// The prompt cannot be rendered.
    #[error("show the prompt")]
    Prompt(#[source] acquit_core::prompt::Error),
    /// The prompt does not have this section.
    #[error("find the section `{name}`; there are: {known}")]
    NoSection {
        /// Name of the section.
        name: String,
        /// Sections of the prompt.
        known: String,
    },
    /// The workflow's variation does not have this value.
    #[error("begin with {variable} = `{value}`; it can be: {known}")]
    NoValue {
        /// Variable of the variation.
        variable: String,
        /// The value.
        value: String,
        /// Values of the variation.
        known: String,
    },
    /// The workflow is not shipped with the program.
    #[error("copy the workflow `{name}`, which does not come with acquit; those that do: {known}")]
    NotShipped {
        /// Name of the workflow.
        name: Name,
        /// Shipped workflows.
        known: String,
    },
    /// The workflow no longer has the current stage of the task.
    #[error("continue at stage `{stage}`: the workflow `{workflow}` does not have it any more")]
    StageGone {
        /// Name of the workflow.
        workflow: Name,
        /// Name of the stage.
        stage: String,
    },
    /// The task has no branch to merge into.
    #[error("merge {task}: it began at a commit and not at a branch, so there is nothing to merge into")]
    NoBaseBranch {
        /// Task id.
        task: TaskId,
        /// Branch of the work.
        work: String,
    },
    /// A name on the command line does not exist, such as a state, a tag or a variable.
    #[error("{doing} `{name}`; there are: {known}")]
    NoSuch {
        /// The failed action.
        doing: &'static str,
        /// The given name.
        name: String,
        /// Existing names.
        known: String,
    },
    /// Someone else has already answered the request.
    #[error("answer request {request} of {task}: {by} answered it before: {answer}")]
    Answered {
        /// Task id.
        task: TaskId,
        /// Number of the request.
        request: u32,
        /// Who answered.
        by: String,
        /// The answer.
        answer: String,
    },
    /// The work has changed since the person saw it.
    #[error("answer for {task}: its work was {seen} when you looked, and is {now} now")]
    WorkChanged {
        /// Task id.
        task: TaskId,
        /// Commit that the person saw.
        seen: String,
        /// Current commit.
        now: String,
    },
    /// These flags only apply to a new task.
    #[error("use {flags} for {task}, which exists already")]
    OnlyForNew {
        /// Task id.
        task: TaskId,
        /// The flags.
        flags: String,
    },
    /// A flag would have no effect.
    #[error("use {flag} {with}, where it has no effect")]
    NoEffect {
        /// The flag.
        flag: &'static str,
        /// The verb or option that it conflicts with.
        with: String,
    },
    /// The workflow does not exist.
    #[error("find the workflow `{name}`; there are: {known}")]
    NoWorkflow {
        /// Name of the workflow.
        name: Name,
        /// Existing workflows.
        known: String,
    },
    /// The agents of a workflow cannot start.
    #[error("start the agents of this workflow:\n{}", .0.iter().map(finding).collect::<Vec<_>>().join("\n"))]
    NotReady(Vec<acquit_run::agent::trial::Finding>),
    /// Stages refer to agents or secrets that the configuration does not have.
    #[error("find the agent and the secrets of every stage\n{}", lines(.0))]
    Lacking(Vec<acquit_core::config::Lacking>),
    /// A category was given for a workflow without a variation.
    #[error("begin `{workflow}` with `{category}`: it has no variation")]
    NoCategory {
        /// Name of the workflow.
        workflow: Name,
        /// The category.
        category: String,
    },
    /// A service with this name belongs to another repository.
    #[error("install the service `{name}`: {} runs another repository", file.display())]
    OtherService {
        /// Name of the service.
        name: String,
        /// Unit file.
        file: PathBuf,
        /// A suitable name for this repository.
        other: String,
    },
    /// The schedule has no category for this weekday.
    #[error("run `{schedule}` now: it has no category for today ({day})")]
    NoCategoryToday {
        /// Name of the schedule.
        schedule: Name,
        /// The weekday as written in the configuration.
        day: &'static str,
    },
    /// The schedule's workflow does not have this category.
    #[error("run `{schedule}`: {what}")]
    UnknownCategory {
        /// Name of the schedule.
        schedule: Name,
        /// Description of the problem.
        what: String,
        /// Hint with the existing categories.
        hint: String,
    },
    /// The schedule does not exist.
    #[error("find the schedule `{name}`{}", if known.is_empty() { String::new() } else { format!("; there are: {known}") })]
    NoSchedule {
        /// Name of the schedule.
        name: Name,
        /// Existing schedules.
        known: String,
    },
    /// This machine does not know the time zone.
    #[error("find the time zone `{zone}` of the schedule `{schedule}`")]
    NoZone {
        /// Name of the schedule.
        schedule: Name,
        /// Name of the time zone.
        zone: String,
    },
    /// A remote repository cannot be mirrored.
    #[error(transparent)]
    Mirror(#[from] acquit_run::mirror::Error),
    /// Other processes changed the night at every attempt to write it.
    #[error("write into the night of `{schedule}`: somebody else was faster every time")]
    BusyNight {
        /// Name of the schedule.
        schedule: Name,
    },
    /// An error of the system's service manager.
    #[error(transparent)]
    Service(#[from] acquit_run::service::Error),
    /// The system has no supported service manager.
    #[error("find systemd or launchd: this system has neither")]
    NoServices,
    /// There are several workflows and no default.
    #[error("choose a workflow; there are: {0}")]
    WhichWorkflow(String),
    /// An error of the file system.
    #[error("{doing} {}", path.display())]
    File {
        /// The failed operation.
        doing: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        #[source]
        source: std::io::Error,
    },
    /// The board needs a terminal.
    #[error("show the board: standard input and output must be a terminal")]
    NoTerminal,
    /// A token cannot be created or removed.
    #[error("use the token: {0}")]
    Token(String),
    /// Others could reach the dashboard without encryption.
    #[error(
        "listen at {address}: without TLS only addresses of this machine's loopback interface are allowed"
    )]
    NotLoopback {
        /// Address that was given.
        address: String,
    },
    /// The dashboard cannot listen on its address.
    #[error("serve the dashboard at {address}")]
    Listen {
        /// The address.
        address: String,
        /// Cause.
        #[source]
        source: std::io::Error,
    },
    /// A file of the project exists but cannot be used.
    #[error("read {}", path.display())]
    ProjectFile {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        #[source]
        source: std::io::Error,
    },
    /// The output could not be written.
    #[error("write to standard output: what was printed is not complete")]
    Output(#[source] std::io::Error),
    /// The title is empty.
    #[error("make a task: its title is empty")]
    EmptyTitle,
    /// The task does not have this leg.
    #[error("show leg {leg} of {task}: there is no such leg, or it has printed nothing")]
    NoLeg {
        /// Task id.
        task: TaskId,
        /// Leg number.
        leg: u32,
    },
    /// Only a worker may run the task's leg.
    #[error("run {task} here: {why}")]
    ForWorkers {
        /// Task id.
        task: TaskId,
        /// What it waits for.
        why: String,
    },
    /// The disk has too little room for a new leg.
    #[error(transparent)]
    NoRoom(#[from] acquit_run::room::NoRoom),
    /// The harness died several times in a row.
    #[error("run {task}: its harness ended {times} times in a row without getting anywhere (see {})", log.display())]
    Stalled {
        /// Task id.
        task: TaskId,
        /// Number of attempts.
        times: u32,
        /// Log of the harness.
        log: PathBuf,
    },
    /// Signals cannot be handled.
    #[error("handle Ctrl-C")]
    Signals(#[source] std::io::Error),
}

impl Error {
    /// Returns the error of a stage that a workflow does not have.
    pub fn no_stage(workflow: &Workflow, name: &Name) -> Self {
        let known: Vec<&str> = workflow.stages.iter().map(|stage| stage.name.as_str()).collect();
        Self::NoSuch { doing: "find the stage", name: name.to_string(), known: known.join(", ") }
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
