//! Who has to fix an error, and how. The only place that turns errors into advice: one line for each error.

use acquit_core::decide::Illegal;
use acquit_core::store;
use acquit_core::toml_reader::nearest;
use acquit_run::{git, harness};
use acquit_store::{CopyError, GrantError, OpenError};

use super::disk::of_disk;
use super::{Error, Kind};
use crate::init;

/// Who has to fix it, and a hint.
type Advice = (Kind, Option<String>);

impl Error {
    /// Returns who has to fix the error.
    pub fn kind(&self) -> Kind {
        self.advice().0
    }

    /// Returns what the user can do about the error.
    pub fn hint(&self) -> Option<String> {
        // `init` does not write to acquit's own place, so it has its own hints.
        if !matches!(self, Self::Init(_))
            && let Some(text) = of_disk(self)
        {
            return Some(text.to_owned());
        }
        self.advice().1
    }

    fn advice(&self) -> Advice {
        match self {
            Self::Here(_) => internal("it was removed or cannot be entered: go to another folder"),
            Self::NotLoopback { .. } => usage(
                "use an SSH tunnel to 127.0.0.1, or --tls-cert with --tls-key and --origin, or --behind-proxy",
            ),
            Self::NoTerminal => usage("`acquit task list --json` and `acquit inbox --json` are for programs"),
            Self::Token(_) => usage("`acquit token list` lists the tokens"),
            Self::Listen { .. } => internal(
                "another program may use the port: name one with `--listen 127.0.0.1:PORT`, or use --no-web",
            ),
            Self::DirtyCheckout { .. } => usage("commit or stash them there, then merge again"),
            Self::NotStarted { .. } => usage("`acquit workers` says what each leg waits for"),
            Self::NotQueued { .. } => usage("answer it, retry it, or wait for its end"),
            Self::NotDelivered { task, .. } | Self::Illegal { source: Illegal::State { .. }, task } => {
                usage(format!("`acquit show {task}` shows its status"))
            }
            Self::SandboxOfHome { .. } | Self::SandboxOfSecrets { .. } => {
                usage("go to the folder that the program works in")
            }
            Self::StoreText => usage("set ACQUIT_STORE to a path or an address in UTF-8, or unset it"),
            Self::Git(git::Error::Start(_)) => {
                internal("install git, or add the folder that it is in to PATH")
            }
            Self::Git(git::Error::NotARepository { .. }) => {
                usage("acquit works in a git repository: go to one, or run `git init`")
            }
            Self::Git(git::Error::NoDefaultBranch { .. }) => {
                usage("name a branch as `base` in acquit.toml, or run `git remote set-head origin --auto`")
            }
            Self::Git(git::Error::TooMuchWork { .. }) => usage(
                "list files that do not belong in the repository in .gitignore, or judge only staged changes: `acquit prove --staged`",
            ),
            Self::Git(git::Error::Partial { .. }) => {
                usage("check the branch out once, so that git fetches its files, or clone without --filter")
            }
            Self::Git(git::Error::UnknownBase { .. }) => usage("`git branch --all` lists the branches"),
            Self::Prompt(acquit_core::prompt::Error::NoAgent(_)) => {
                usage("name a stage that has an agent; `acquit workflow graph` shows them")
            }
            Self::ProjectFile { source, .. } => match source.kind() {
                std::io::ErrorKind::InvalidInput => usage("rename it: a workflow has the name of its file"),
                std::io::ErrorKind::NotADirectory | std::io::ErrorKind::IsADirectory => {
                    usage("workflows are files, .acquit/workflows/NAME.toml: remove what is in their place")
                }
                _ => (Kind::Usage, None),
            },
            Self::NoWorkflow { name, known } => near(
                name.as_str(),
                known,
                "name one of those with --workflow, or in `workflow` of .acquit/acquit.toml",
            ),
            Self::NoBaseBranch { work, .. } => usage(format!(
                "check out the branch that is to have it, then `git merge {work}`; --base names a branch for the next task"
            )),
            Self::NoSuch { known, .. } if known.starts_with("none") => (Kind::Usage, None),
            Self::NoSuch { name, known, .. } => near(name, known, "name one of those"),
            Self::WorkChanged { .. } => usage("read the request again"),
            Self::Answered { task, .. } => usage(format!("`acquit show {task}` shows what happened since")),
            Self::StageGone { .. } => usage("name another stage: `acquit task retry … --stage …`"),
            Self::OnlyForNew { .. } => {
                usage("only --agent, --model, --max-cost and --max-time can be changed later")
            }
            Self::NoEffect { flag, .. } => {
                usage(format!("leave out {flag}, or see `--help` for what it is for"))
            }
            Self::NoValue { value, known, .. } => near(value, known, "name one of those with --var"),
            Self::NotShipped { name, known } => {
                near(name.as_str(), known, "`acquit workflow list` shows where each comes from")
            }
            Self::NoSection { name, known } => near(name, known, "leave out --section to see all of it"),
            Self::NoLeg { task, .. } => usage(format!("`acquit show {task}` lists its legs")),
            Self::ForWorkers { .. } => usage("`acquit workers` lists the workers and what each has"),
            Self::Stalled { task, .. } => {
                internal(format!("the end of that file shows why; `acquit run {task}` tries again"))
            }
            Self::NoSchedule { name, known } => {
                near(name.as_str(), known, "add a [[schedule]] to acquit.toml (docs/nightshift.md)")
            }
            Self::NoCategory { .. } => {
                usage("correct `category` of the schedule, or `values` of the workflow's [variation]")
            }
            Self::NoCategoryToday { .. } => {
                usage("name one: --category tests; or add the day to `category` in acquit.toml")
            }
            Self::OtherService { other, .. } => usage(format!(
                "run both: `acquit service install --name {other}`; or `acquit service uninstall` first"
            )),
            Self::UnknownCategory { hint, .. } => usage(hint.clone()),
            Self::NoZone { .. } => {
                usage("write it as in \"Europe/Berlin\"; the machine's list is in /usr/share/zoneinfo")
            }
            Self::NoServices => {
                usage("`acquit serve` runs in any terminal; start it with your own service manager")
            }
            Self::NoHome => usage("set ACQUIT_HOME to a folder that acquit may write to"),
            Self::Untrusted { .. } => usage(
                "read it and trust it with `acquit trust`; `acquit trust --show` only shows it (docs/trust.md)",
            ),
            Self::NoDemo => usage("run `acquit demo` first"),
            Self::NoAnswer { task, commands } if commands.is_empty() => {
                usage(format!("it asks nothing: `acquit show {task}` shows its status"))
            }
            Self::NoAnswer { commands, .. } => {
                usage(format!("answer it: {commands}; `acquit inbox` shows the question"))
            }
            Self::TrustUnasked => usage("read what was shown, then repeat with --yes"),
            Self::NotInitialised(_) => usage("run `acquit init` in the repository first"),
            Self::WhichWorkflow(_) => {
                usage("name one with --workflow, or set `workflow` in .acquit/acquit.toml")
            }
            Self::Init(error) => (of_init(error), error.hint().map(str::to_owned)),
            Self::Lacking(missing) => (Kind::Usage, missing.iter().find_map(|stage| stage.hint.clone())),
            Self::NotReady(_) => usage("`acquit doctor` and `acquit agents` say more"),
            Self::Mistakes(_) => usage("`acquit workflow check` lists all mistakes"),
            Self::EmptyTitle => usage("give it a title: acquit run \"Add a --json flag\""),
            Self::OtherRequest { .. } => usage("go to a clone of the repository that the request belongs to"),
            Self::Statement { .. } => usage("`acquit prove --attest FILE` writes one"),
            Self::Permit { .. } => {
                usage("name a rule, or a rule and its paths: `--allow test-removed:tests/old/**`")
            }
            Self::Comment { .. } => internal(
                "it needs a token that may write: GITHUB_TOKEN or GITLAB_TOKEN, a login of gh or glab, or `token` in [forge]",
            ),
            Self::HooksPath { .. } => {
                usage("add the line `acquit prove --hook pre-push` to the pre-push hook there")
            }
            Self::NothingToReview { .. } => usage("name the target branch with --base"),
            Self::NoTask(_) => usage("`acquit task list --all-projects` lists all tasks"),
            Self::Store(store::Error::Newer { .. })
            | Self::OpenStore {
                source: acquit_store::OpenError::Store(store::Error::Newer { .. }), ..
            } => internal("use the version of acquit that wrote it, or a newer one"),
            Self::Illegal { source: Illegal::NoFeedback, .. } => usage(
                "write `changes_requested` in `on` of the stage that publishes: { to = \"code\", budget = \"review\" }",
            ),
            Self::OtherStore { .. } => internal("run the command again"),
            Self::Worker(refused) => usage(refused.hint()),
            Self::Fleet(acquit_run::fleet::Error::Missing { .. }) => internal(
                "run `acquit clean` on the machine that has its repository: it sends what is missing",
            ),
            Self::Fleet(acquit_run::fleet::Error::NotNamed { .. }) => usage(
                "if you trust that host, add it to `fetch_from` in your own configuration (docs/fleet.md)",
            ),
            Self::Pinned(_) | Self::Harness(harness::Error::Untrusted(_)) => internal(
                "run the task on the machine that created it; or `acquit run` it here, in a repository whose .acquit/ you trust (docs/trust.md)",
            ),
            Self::OpenStore { source: OpenError::Moved { .. }, .. }
            | Self::Copy(CopyError::Open(OpenError::Moved { .. }))
            | Self::Grant(GrantError::Open(OpenError::Moved { .. })) => {
                usage("set ACQUIT_STORE to the new place")
            }
            Self::OpenStore { source: OpenError::Pooled { .. }, .. } => usage(
                "set `pool_mode = session` for acquit's database in PgBouncer, or connect to the server's own port",
            ),
            Self::OpenStore { source: OpenError::Rights { .. }, .. } => internal(
                "run `acquit store check` as the role that owns the tables, then `acquit store grant ROLE` for each worker's role",
            ),
            Self::Grant(GrantError::NotShared) => {
                usage("set ACQUIT_STORE to a PostgreSQL database; `acquit store move` takes the tasks there")
            }
            Self::Grant(GrantError::NoRole { .. }) => usage("create it first: `createuser --pwprompt NAME`"),
            Self::Grant(GrantError::Unlimited { .. }) => {
                usage("create another role for workers: `createuser --pwprompt NAME`")
            }
            Self::Copy(CopyError::Exists { .. }) => usage("name another file, or remove this one first"),
            Self::Copy(CopyError::NoBackup { .. }) => usage("`acquit backup FILE` writes one"),
            Self::Copy(CopyError::NotEmpty { .. }) => {
                usage("name a new file or an empty database; ACQUIT_STORE names the store that commands use")
            }
            Self::Copy(CopyError::Same) => usage("name another place"),
            Self::Copy(CopyError::Running { .. }) => usage(
                "stop `acquit serve`, and wait for the legs or cancel their tasks: `acquit task list --state working`",
            ),
            Self::OpenStore { .. } => {
                internal("ACQUIT_STORE names the store; ACQUIT_HOME the folder of the default one")
            }
            Self::NoRequest(_)
            | Self::Illegal { .. }
            | Self::Prompt(acquit_core::prompt::Error::Template { .. }) => (Kind::Usage, None),
            Self::Git(error) => (of_git(error), None),
            Self::Exe(_)
            | Self::Fleet(_)
            | Self::NoRoom(_)
            | Self::Store(_)
            | Self::Retention(_)
            | Self::Process(_)
            | Self::Harness(_)
            | Self::Workspace { .. }
            | Self::Forge { .. }
            | Self::Mirror(_)
            | Self::BusyNight { .. }
            | Self::Request { .. }
            | Self::Service(_)
            | Self::File { .. }
            | Self::Output(_)
            | Self::Copy(_)
            | Self::Grant(_)
            | Self::Signals(_) => (Kind::Internal, None),
        }
    }
}

/// The caller can fix it, in this way.
fn usage(hint: impl Into<String>) -> Advice {
    (Kind::Usage, Some(hint.into()))
}

/// The caller can fix it: with the existing name that was probably meant, or else in this way.
fn near(name: &str, known: &str, otherwise: &str) -> Advice {
    // A project's name can contain a comma.
    match nearest(name, known.split(", ").chain([known])) {
        Some(near) => usage(format!("did you mean `{near}`?")),
        None => usage(otherwise),
    }
}

/// acquit or its surroundings failed. This may help.
fn internal(hint: impl Into<String>) -> Advice {
    (Kind::Internal, Some(hint.into()))
}

fn of_init(error: &init::Error) -> Kind {
    match error {
        init::Error::Exists(_)
        | init::Error::Bare(_)
        | init::Error::NotAFolder(_)
        | init::Error::Settings { .. } => Kind::Usage,
        init::Error::File { .. } => Kind::Internal,
    }
}

/// An unusable repository is the user's choice; a failing git is not.
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
