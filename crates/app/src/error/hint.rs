//! Hints for errors. The only place that turns errors into advice.

use acquit_core::decide::Illegal;
use acquit_core::store;
use acquit_run::{git, harness};
use acquit_store::{CopyError, OpenError};

use super::Error;
use super::disk::of_disk;

impl Error {
    /// Returns what the user can do about the error.
    pub fn hint(&self) -> Option<String> {
        // `init` does not write to acquit's own place, so it has its own hints.
        if !matches!(self, Self::Init(_))
            && let Some(text) = of_disk(&harness::chain(self))
        {
            return Some(text.to_owned());
        }
        let text = match self {
            Self::Here(_) => "it was removed, or may not be entered: go to a folder that exists",
            Self::NotLoopback { .. } => {
                "use an SSH tunnel to 127.0.0.1, or --tls-cert with --tls-key and --origin, or --behind-proxy"
            }
            Self::NoTerminal => "`acquit task list --json` and `acquit inbox --json` are for programs",
            Self::Token(_) => "`acquit token list` shows the tokens there are",
            Self::Listen { .. } => {
                "another program may use the port: name one with `--listen 127.0.0.1:PORT`, or use --no-web"
            }
            Self::DirtyCheckout { .. } => "commit or stash them there, then merge again",
            Self::NotDelivered { task, .. } | Self::Illegal { source: Illegal::State { .. }, task } => {
                return Some(format!("`acquit show {task}` says where it stands"));
            }
            Self::SandboxOfHome { .. } | Self::SandboxOfSecrets { .. } => {
                "go to the folder that the program is to work in"
            }
            Self::StoreText => "set ACQUIT_STORE to a path or an address in UTF-8, or unset it",
            Self::Git(git::Error::Start(_)) => "install git, or add the folder that it is in to PATH",
            Self::Git(git::Error::NotARepository { .. }) => {
                "acquit works in a git repository: go to one, or run `git init`"
            }
            Self::Git(git::Error::NoDefaultBranch { .. }) => {
                "name a branch as `base` in acquit.toml, or run `git remote set-head origin --auto`"
            }
            Self::Git(git::Error::TooMuchWork { .. }) => {
                "list what does not belong into the repository in .gitignore, or judge what is staged: `acquit prove --staged`"
            }
            Self::Git(git::Error::Partial { .. }) => {
                "check the branch out once, so that git fetches its files, or clone without --filter"
            }
            Self::Git(git::Error::UnknownBase { .. }) => "`git branch --all` shows the branches there are",
            Self::Prompt(acquit_core::prompt::Error::NoAgent(_)) => {
                "name a stage that has an agent; `acquit workflow graph` shows them"
            }
            Self::ProjectFile { source, .. } => match source.kind() {
                std::io::ErrorKind::InvalidInput => "rename it: a workflow is called as its file is",
                std::io::ErrorKind::NotADirectory | std::io::ErrorKind::IsADirectory => {
                    "workflows are files, .acquit/workflows/NAME.toml: move away what stands in their place"
                }
                _ => return None,
            },
            Self::NoWorkflow { .. } => {
                "name one of those with --workflow, or in `workflow` of .acquit/acquit.toml"
            }
            Self::NoBaseBranch { work, .. } => {
                return Some(format!(
                    "check out the branch that is to have it, then `git merge {work}`; --base names a branch for the next task"
                ));
            }
            Self::NoSuch { .. } => "name one of those",
            Self::WorkChanged { .. } => "look at the request again",
            Self::Answered { task, .. } => {
                return Some(format!("`acquit show {task}` says how it goes on"));
            }
            Self::StageGone { .. } => "name another stage: `acquit task retry … --stage …`",
            Self::OnlyForNew { .. } => {
                "they say how a task is added; --agent, --model, --max-cost and --max-time can be changed later"
            }
            Self::NoValue { .. } => "name one of those with --var",
            Self::NotShipped { .. } => "`acquit workflow list` says where each comes from",
            Self::NoSection { .. } => "leave out --section to see all of it",
            Self::NoLeg { task, .. } => return Some(format!("`acquit show {task}` lists its legs")),
            Self::Stalled { task, .. } => {
                return Some(format!("the end of that file says why; `acquit run {task}` tries again"));
            }
            Self::NoSchedule { .. } => {
                "schedules stand in acquit.toml as [[schedule]]; see docs/nightshift.md"
            }
            Self::NoCategory { .. } => {
                "mend `category` of the schedule, or `values` of the workflow's [variation]"
            }
            Self::NoCategoryToday { .. } => {
                "name one: --category tests; or add the day to `category` in acquit.toml"
            }
            Self::OtherService { other, .. } => {
                return Some(format!(
                    "run both: `acquit service install --name {other}`; or `acquit service uninstall` first"
                ));
            }
            Self::UnknownCategory { hint, .. } => return Some(hint.clone()),
            Self::NoZone { .. } => {
                "write it as in \"Europe/Berlin\"; the machine's list is in /usr/share/zoneinfo"
            }
            Self::NoServices => "`acquit serve` runs in any terminal; let what your system has start it",
            Self::NoHome => "set ACQUIT_HOME to a folder that acquit may write to",
            Self::Untrusted { .. } => {
                "read it and trust it with `acquit trust`; `acquit trust --show` only shows it (docs/trust.md)"
            }
            Self::NoAnswer(task) => {
                return Some(format!("say it: acquit answer {task} \"…\"; `acquit inbox` has the question"));
            }
            Self::TrustUnasked => "read what was shown, then repeat with --yes",
            Self::NotInitialised(_) => "run `acquit init` in the repository first",
            Self::WhichWorkflow(_) => "name one with --workflow, or set `workflow` in .acquit/acquit.toml",
            Self::Init(error) => return error.hint().map(str::to_owned),
            Self::Lacking(missing) => return missing.iter().find_map(|stage| stage.hint.clone()),
            Self::NotReady(_) => "`acquit doctor` and `acquit agents` say more",
            Self::Mistakes(_) => "`acquit workflow check` lists all mistakes",
            Self::EmptyTitle => "say in a line what is wanted: acquit run \"Add a --json flag\"",
            Self::OtherRequest { .. } => "go to a clone of the repository that the request belongs to",
            Self::Statement { .. } => "`acquit prove --attest FILE` writes one",
            Self::Permit { .. } => {
                "name a rule, or a rule and its paths: `--allow test-removed:tests/old/**`"
            }
            Self::Comment { .. } => {
                "it needs a token that may write: GITHUB_TOKEN or GITLAB_TOKEN, a login of gh or glab, or `token` in [forge]"
            }
            Self::HooksPath { .. } => {
                "add the line `acquit prove --hook pre-push` to the pre-push hook there"
            }
            Self::NothingToReview { .. } => "name what it is to be merged into with --base",
            Self::NoTask(_) => "`acquit task list --all-projects` shows the tasks there are",
            Self::Store(store::Error::Newer { .. })
            | Self::OpenStore {
                source: acquit_store::OpenError::Store(store::Error::Newer { .. }), ..
            } => "use the acquit that wrote it, or a newer one",
            Self::Illegal { source: Illegal::NoFeedback, .. } => {
                "write `changes_requested` in `on` of the stage that publishes: { to = \"code\", budget = \"review\" }"
            }
            Self::OtherStore { .. } => "run the command again",
            Self::Worker(refused) => refused.hint(),
            Self::Fleet(acquit_run::fleet::Error::Missing { .. }) => {
                "make the task again where its repository is"
            }
            Self::Pinned(_) | Self::Harness(harness::Error::Untrusted(_)) => {
                "run the task where it was made; or `acquit run` it here, in a repository whose .acquit/ you trust (docs/trust.md)"
            }
            Self::OpenStore { source: OpenError::Moved { .. }, .. }
            | Self::Copy(CopyError::Open(OpenError::Moved { .. })) => "set ACQUIT_STORE to the new place",
            Self::Copy(CopyError::Exists { .. }) => "name another file, or remove this one first",
            Self::Copy(CopyError::NoBackup { .. }) => "`acquit backup FILE` writes one",
            Self::Copy(CopyError::NotEmpty { .. }) => {
                "name a new file or an empty database; ACQUIT_STORE names the store that commands use"
            }
            Self::Copy(CopyError::Same) => "name another place",
            Self::Copy(CopyError::Running { .. }) => {
                "stop `acquit serve`, and wait for the legs or cancel their tasks: `acquit task list --state working`"
            }
            Self::OpenStore { .. } => {
                "ACQUIT_STORE names the store; ACQUIT_HOME the folder of the default one"
            }
            Self::Exe(_)
            | Self::Fleet(_)
            | Self::Git(_)
            | Self::Store(_)
            | Self::Retention(_)
            | Self::Process(_)
            | Self::Harness(_)
            | Self::Workspace { .. }
            | Self::Forge { .. }
            | Self::Mirror(_)
            | Self::BusyNight { .. }
            | Self::Request { .. }
            | Self::NoRequest(_)
            | Self::Service(_)
            | Self::Illegal { .. }
            | Self::File { .. }
            | Self::Output(_)
            | Self::Prompt(acquit_core::prompt::Error::Template { .. })
            | Self::Copy(_)
            | Self::Signals(_) => return None,
        };
        Some(text.to_owned())
    }
}
