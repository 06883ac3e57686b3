//! The command line. The doc comments of verbs and options are the help text.

use clap::{Parser, Subcommand, ValueEnum};

use acquit_core::ids::{Name, TaskId};

mod agents;
mod config;
mod demo;
mod mirror;
mod nested;
mod nights;
mod notify;
mod prompt;
mod prove;
mod reviewed;
mod serve;
mod store;
mod task;
mod token;
mod worker;
mod workflow;

pub use agents::Agents;
pub use config::ConfigVerb;
pub use demo::Demo;
pub use mirror::MirrorArgs;
pub use nested::suggest_nested;
pub use nights::{ScheduleVerb, ServiceVerb, WhichNight};
pub use notify::NotifyVerb;
pub use prompt::PromptVerb;
pub use prove::{CiForge, CiJob, Format, Hook, Output, Proved};
pub use reviewed::Reviewed;
pub use serve::{Exposed, ServeArgs};
pub use store::StoreVerb;
pub use task::{Means, NewTask, TaskVerb};
pub use token::TokenVerb;
pub use worker::{FleetVerb, WorkerArgs};
pub use workflow::{Ejected, WorkflowVerb};

/// Run AI coding agents on tasks and accept only work that is proven.
#[derive(Parser, Debug)]
#[command(name = "acquit", version, after_help = crate::exit::HELP, max_term_width = 100)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
    /// Print JSON: one document, or one event per line for commands that run tasks.
    #[arg(long, global = true)]
    pub json: bool,
    /// When to use colours.
    #[arg(long, global = true, value_enum, default_value_t = Colour::Auto)]
    pub color: Colour,
}

/// Arguments of `acquit trust`.
#[derive(clap::Args, Clone, Copy, Debug)]
pub struct TrustArgs {
    /// Show what `.acquit/` asks for and whether it is trusted; change nothing.
    #[arg(long, conflicts_with_all = ["yes", "revoke"])]
    pub show: bool,
    /// Trust it without asking.
    #[arg(long, conflicts_with = "revoke")]
    pub yes: bool,
    /// Remove the trust.
    #[arg(long)]
    pub revoke: bool,
}

/// When to use colours.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The verbs.
#[derive(Subcommand, Debug)]
pub enum Verb {
    /// Write `.acquit/` with gates that fit this repository, and check that they work.
    ///
    /// Detects the language, package manager and registries from manifests and lock files, and writes the setup command, gates and
    /// network hosts they need. Then runs `acquit check`. In a subfolder, sets up that package only.
    #[command(
        after_help = "Examples:\n  acquit init\n  acquit init --fix         # also make the edits that the check suggests\n  acquit init --no-check    # only write the files"
    )]
    Init {
        /// Overwrite existing files. Keeps what was in them, as `<name>.old`.
        #[arg(long)]
        force: bool,
        /// Skip `acquit check`.
        #[arg(long)]
        no_check: bool,
        /// Apply the edits that the check suggests without asking.
        #[arg(long, conflicts_with = "no_check")]
        fix: bool,
        /// Only write hooks that run `acquit prove`: `pre-push` for git, or stop hooks for these agents [default: the agents found here]
        #[arg(long, value_enum, value_name = "HOOKS", num_args = 0.., value_delimiter = ',', conflicts_with_all = ["fix", "no_check", "force"])]
        hooks: Option<Vec<Hook>>,
    },
    /// Run setup and every gate on the untouched base, in the sandbox.
    ///
    /// A gate that fails here would fail every task. Most failures come with a suggested edit of `.acquit/acquit.toml`: on a terminal
    /// acquit asks, with --fix it applies the edit and checks again. Test results of the base are cached for later tasks.
    #[command(
        after_help = "Exit codes:\n  0  everything holds\n  1  something fails on the untouched base\n\nExamples:\n  acquit check\n  acquit check --fix\n  acquit check --json     # { \"holds\": …, \"gates\": [ … ], \"problems\": [ … ], \"edits\": [ … ] }"
    )]
    Check {
        /// Apply the suggested edits without asking, and check again.
        #[arg(long)]
        fix: bool,
    },
    /// Judge a change: does it build, do its tests prove it, is anything weakened?
    ///
    /// Builds and tests the change and its base in clean, sandboxed checkouts, and shows the evidence for each claim: new test failures,
    /// tests that fail on the base and pass on the change, weakened tests, secrets. Uses the gates of `.acquit/`, or those that
    /// `acquit init` would write. Doesn't touch your checkout, index or branches, and asks no model.
    #[command(after_help = prove::EXAMPLES)]
    Prove {
        #[command(flatten)]
        args: Proved,
    },
    /// Verify an attestation of `acquit prove --attest` against this repository.
    ///
    /// Looks up the commit, its tree and its base, compares the gates' logs with the hashes in the attestation, and checks the
    /// signature in FILE.sig if there is one.
    #[command(
        after_help = "Exit codes:\n  0  the statement fits this repository\n  1  it does not\n\nExample:\n  acquit prove --attest proof.json --sign && acquit verify proof.json --signed"
    )]
    Verify {
        /// The attestation file.
        file: std::path::PathBuf,
        /// Fail unless the statement is signed by somebody you trust.
        #[arg(long)]
        signed: bool,
        /// The people whose SSH signatures are trusted, as `ssh-keygen` reads them. Without it: git's `gpg.ssh.allowedSignersFile`.
        #[arg(long, value_name = "FILE")]
        allowed_signers: Option<std::path::PathBuf>,
    },
    /// Serve the tool `prove` to any MCP client, on standard input and output.
    ///
    /// Add it to your client as a stdio server: program `acquit`, argument `mcp`.
    #[command(after_help = "Example:\n  claude mcp add acquit -- acquit mcp")]
    Mcp,
    /// Write a CI job that runs `acquit prove` on every pull request.
    #[command(
        after_help = "Examples:\n  acquit ci github     # .github/workflows/acquit.yml\n  acquit ci gitlab     # .gitlab/acquit.yml\n  acquit ci github --from https://git.example.org/acquit"
    )]
    Ci {
        #[command(flatten)]
        args: CiJob,
    },
    /// Review what this repository's `.acquit/` asks for, and trust it.
    ///
    /// A repository can name programs, commands, secrets and hosts. acquit uses none of them until you trust the files. Trust covers the
    /// exact content of `.acquit/`: when a file changes, acquit shows the difference and asks again.
    #[command(
        after_help = "Examples:\n  acquit trust             # show what changed, then ask\n  acquit trust --show      # only show; exit code 1 if it is not trusted\n  acquit trust --yes       # without asking\n  acquit trust --revoke"
    )]
    Trust {
        #[command(flatten)]
        args: TrustArgs,
    },
    /// Add a task and run it, or continue one.
    ///
    /// The agent works in a private clone; your checkout, branches, hooks and index are not touched. Finished work is one commit on a
    /// new branch. On a terminal, Ctrl-C asks whether to detach or cancel; elsewhere it cancels. Work done so far is kept.
    #[command(
        after_help = "Examples:\n  acquit run \"Add a --json flag\"\n  acquit run \"Fix the crash on empty input\" --workflow feature --base main\n  acquit run \"Speed up the parser\" --max-cost 5 --max-time 2h\n  acquit run T-7          # continue a task\n  acquit run T-7 --model opus"
    )]
    Run {
        #[command(flatten)]
        task: NewTask,
        /// Continue with the workflow and configuration the task was created with, not the current files.
        #[arg(long)]
        pinned: bool,
    },
    /// Review a branch, or a pull or merge request.
    ///
    /// Fetches the pull request into private refs and reviews it in the sandbox. Doesn't touch your branches or checkout, and posts
    /// nothing at the forge; the findings are the task's artifacts.
    #[command(
        after_help = "Examples:\n  acquit review 12\n  acquit review https://github.com/acme/widget/pull/12\n  acquit review my-branch --base main"
    )]
    Review {
        #[command(flatten)]
        asked: Reviewed,
    },
    /// List, show, add, retry and cancel tasks.
    #[command(subcommand)]
    Task(TaskVerb),
    /// List tasks that need your input. On a terminal, answer them one by one.
    #[command(
        after_help = "On a terminal it walks through them one by one: a number or words answer, y and n approve and reject, d shows the diff, enter leaves it for later, q quits.\n\nExamples:\n  acquit inbox\n  acquit inbox --list      # only list them\n  acquit inbox --json"
    )]
    Inbox {
        /// List them, also on a terminal.
        #[arg(long)]
        list: bool,
        /// Include all repositories.
        #[arg(long)]
        all_projects: bool,
        /// Show at most this many, newest first.
        #[arg(long, default_value_t = 50)]
        limit: u32,
    },
    /// Answer a task's question, in words or by an option's name or number. Then continue it with `acquit run T-1`.
    #[command(
        after_help = "Examples:\n  acquit answer T-1 \"petrol, please\"\n  acquit answer T-1 2          # the second option\n  acquit answer T-1 red \"four of them\"   # two questions, an answer each\n  acquit answer T-1 - < reply.md"
    )]
    Answer {
        /// The task, such as T-1.
        task: TaskId,
        /// The answer; `-` reads standard input. Without it, acquit asks question by question.
        #[arg(allow_hyphen_values = true)]
        words: Option<String>,
        /// Answers to the second and later questions.
        more: Vec<String>,
        /// Keep the workflow and configuration the task was created with.
        #[arg(long)]
        pinned: bool,
    },
    /// Approve a request, or allow one more try. `acquit task retry` renews all budgets.
    ///
    /// The task continues with the current workflow and configuration files.
    Approve {
        /// The task, such as T-1.
        task: TaskId,
        /// Keep the workflow and configuration the task was created with.
        #[arg(long)]
        pinned: bool,
    },
    /// Reject a request. An agent's stage runs again with your comment; any other rejection ends the task.
    Reject {
        /// The task, such as T-1.
        task: TaskId,
        /// Why.
        reason: String,
    },
    /// Fetch review comments and failed checks from the task's pull request.
    ///
    /// Only comments of people with write access count. The task takes the `changes_requested` transition of its publishing stage;
    /// continue it with `acquit run T-1`.
    Feedback {
        /// The task, such as T-1.
        task: TaskId,
    },
    /// Show a task's transcript and events.
    Logs {
        /// The task, such as T-1.
        task: TaskId,
        /// Follow until the task ends or needs your input.
        #[arg(short, long)]
        follow: bool,
        /// Print the raw output of this leg's agent.
        #[arg(long, value_name = "NUMBER")]
        leg: Option<u32>,
        /// Print the raw output of the newest leg's agent.
        #[arg(long, conflicts_with = "all")]
        raw: bool,
        /// Show all events with times, agents' thinking, and complete tool results.
        #[arg(long, conflicts_with = "leg")]
        all: bool,
    },
    /// Watch a running task. Ctrl-C asks whether to detach or cancel.
    Attach {
        /// The task, such as T-1.
        task: TaskId,
    },
    /// Open a shell in a task's working tree, in its agent's sandbox.
    ///
    /// The next leg saves your changes to a private ref and starts from the task's last commit.
    #[command(after_help = "Examples:\n  acquit open T-1\n  acquit open T-1 -- git status")]
    Open {
        /// The task, such as T-1.
        task: TaskId,
        /// Run this program instead of a shell.
        #[arg(last = true)]
        command: Vec<std::ffi::OsString>,
    },
    /// Show a task: description, stages, gates with evidence, commit, and next steps.
    Show {
        /// The task, such as T-1.
        task: TaskId,
    },
    /// Show a task's diff against its base commit.
    ///
    /// Starts no pager, and escapes control characters.
    #[command(
        after_help = "Examples:\n  acquit diff T-1\n  acquit diff T-1 --stat\n  acquit diff T-1 --json    # { \"base\": …, \"files\": [ … ], \"diff\": … }"
    )]
    Diff {
        /// The task, such as T-1.
        task: TaskId,
        /// Show only file names and line counts.
        #[arg(long)]
        stat: bool,
    },
    /// Merge a finished task into its base branch.
    ///
    /// If the base branch has moved, acquit rebases the work and runs its gates again. If you have the branch checked out, the checkout is
    /// updated; with uncommitted changes in it, nothing is merged. Pushes nothing.
    #[command(
        after_help = "Exit codes:\n  0  merged, or already there\n  2  the task is not done, or the branch's checkout has changes\n  3  a person must decide: a conflict, or gates that reject the result\n\nExamples:\n  acquit merge T-1"
    )]
    Merge {
        /// The task, such as T-1.
        task: TaskId,
    },
    /// List, validate, draw and copy workflows.
    #[command(subcommand)]
    Workflow(WorkflowVerb),
    /// Show the prompts that agents get.
    #[command(subcommand)]
    Prompt(PromptVerb),
    /// Run schedules, tasks and the dashboard until stopped.
    ///
    /// Uses the configuration of the repository it starts in, or your own file outside of one. All state is in the store: you can kill
    /// it at any time, restart it, or run several. Ctrl-C and SIGTERM stop it; running legs continue on their own.
    ///
    /// Prints a link that logs your browser in to the dashboard.
    #[command(
        after_help = "Examples:\n  acquit serve\n  acquit serve --open            # also open the dashboard in a browser\n  acquit serve --link            # print a new login link for the dashboard that runs\n  acquit serve --once            # do what is due, then end: for cron\n  acquit service install         # let the system keep it running"
    )]
    Serve {
        /// How it runs.
        #[command(flatten)]
        args: ServeArgs,
    },
    /// Take legs from a PostgreSQL store that other machines share.
    #[command(flatten)]
    Fleet(FleetVerb),
    /// Remove workspaces that are no longer needed, and show disk use.
    ///
    /// Removes workspaces of finished tasks at once, and those of failed or cancelled tasks after the time set in `[retention]`. Saves
    /// everything in them to private refs first. Does the same with what a store has for workers. `acquit serve` does this automatically.
    #[command(
        after_help = "Examples:\n  acquit clean --dry-run   # what there is, and what would go\n  acquit clean --json"
    )]
    Clean {
        /// Show what would be removed.
        #[arg(long)]
        dry_run: bool,
        /// Also remove from the store what ended tasks of other machines left there, though it may be nowhere else.
        #[arg(long)]
        others: bool,
        /// The daemon's process, with which this one ends.
        #[arg(long, hide = true)]
        parent: Option<u32>,
        /// Tasks that are done, of which alone the daemon wants the workspaces removed.
        #[arg(long = "task", hide = true, requires = "parent")]
        tasks: Vec<TaskId>,
    },
    /// Save the store to a file, while tasks run.
    ///
    /// The file has all tasks, legs, events, transcripts, schedules and messages, from SQLite or PostgreSQL. Code and work stay in
    /// your repositories. Restore it with `acquit restore`.
    Backup {
        /// The file to write.
        file: std::path::PathBuf,
    },
    /// Restore a backup into an empty store.
    ///
    /// The store is the one that ACQUIT_STORE names. Legs that ran when the backup was made run again. Don't use the restored store beside
    /// the original: both have the same id.
    Restore {
        /// A file that `acquit backup` wrote.
        file: std::path::PathBuf,
    },
    /// Move or check the store.
    #[command(subcommand)]
    Store(StoreVerb),
    /// List, pause, resume and run schedules.
    #[command(subcommand)]
    Schedule(ScheduleVerb),
    /// Print the report of a night: results, links, cost and reasons per repository.
    #[command(
        after_help = "Examples:\n  acquit report                # the newest night\n  acquit report 2026-06-01\n  acquit report --json         # { \"night\": …, \"date\": …, \"results\": [ { \"outcome\": \"MR_CREATED\", \"url\": … } ] }"
    )]
    Report {
        /// A date or a schedule name [default: the newest night]
        #[arg(value_parser = nights::night)]
        night: Option<WhichNight>,
    },
    /// Install `acquit serve` as a system service (systemd, or launchd on macOS).
    #[command(subcommand)]
    Service(ServiceVerb),
    /// Try each coding agent in the sandbox, and say what is missing.
    ///
    /// Starts each program in a stage's sandbox to get its version, then looks for its login, key and settings as the stage would see
    /// them. Sends nothing anywhere without `--ask`.
    #[command(after_help = agents::AFTER_HELP)]
    Agents(Agents),
    /// Show the effective configuration.
    ///
    /// Values come from the defaults, then your own file (~/.config/acquit/config.toml), then the project's (.acquit/acquit.toml). Workflow
    /// stages and `acquit run --agent --model` override them.
    #[command(
        subcommand,
        after_help = "Examples:\n  acquit config show --origin\n  acquit config show --origin --workflow feature --model opus"
    )]
    Config(ConfigVerb),
    /// Run a program in the sandbox of agents and gates.
    ///
    /// The program sees the system, toolchains and the current directory, which it can write. It doesn't see your home, keys or shell
    /// history; its home is an empty temporary directory. `--policy` with a leg's policy file recreates that leg's sandbox, as long as
    /// the task's workspace exists.
    #[command(
        after_help = "Examples:\n  acquit sandbox -- cargo test\n  acquit sandbox --network open -- npm ci\n  acquit sandbox --network model --host api.example.com -- my-agent\n  acquit sandbox --policy ~/.local/share/acquit/tasks/T-1/legs/2/policy-agent.json -- sh"
    )]
    Sandbox {
        /// Use this policy file (JSON) as it is.
        #[arg(long, value_name = "FILE", conflicts_with_all = ["network", "hosts", "read", "write", "reduced", "print"])]
        policy: Option<std::path::PathBuf>,
        /// Network access: off, model (only listed hosts), open.
        #[arg(long, default_value = "off", value_parser = network)]
        network: acquit_core::sandbox::Network,
        /// Allow this host under `--network model`; repeatable.
        #[arg(long = "host", value_name = "HOST")]
        hosts: Vec<acquit_core::sandbox::Host>,
        /// Allow reading this path; repeatable.
        #[arg(long, value_name = "PATH")]
        read: Vec<std::path::PathBuf>,
        /// Allow writing this path; repeatable.
        #[arg(long, value_name = "PATH")]
        write: Vec<std::path::PathBuf>,
        /// Start even if this machine cannot enforce everything.
        #[arg(long)]
        reduced: bool,
        /// Print the policy and run nothing.
        #[arg(long, conflicts_with = "command")]
        print: bool,
        /// The program and its arguments.
        #[arg(last = true, required_unless_present = "print")]
        command: Vec<std::ffi::OsString>,
    },
    /// Run a full task on a sample repository: no model, no key, no network.
    #[command(after_help = demo::EXAMPLES)]
    Demo(Demo),
    /// Check what this machine can enforce, and how to fix what is missing.
    ///
    /// Each line is one check: `yes` with what was found, or `no` with the reason, the consequence and a fix. Changes nothing, except
    /// that it creates a missing store. Inside a repository, it checks `.acquit/` too.
    #[command(
        after_help = "Exit codes:\n  0  everything is there that a task with sandbox = \"on\" needs\n  1  something is missing; the last line says what\n\nExamples:\n  acquit doctor\n  acquit doctor --json    # { \"abilities\": [ … ], \"complete\": true }"
    )]
    Doctor,
    /// Print the JSON Schema of acquit's files, for editors.
    ///
    /// The schema describes every key that this version reads.
    #[command(
        after_help = "Examples:\n  acquit schema workflow > .acquit/workflow.schema.json\n  acquit schema config > .acquit/config.schema.json\n\nThen the first line of a workflow tells editors with taplo of it:\n  #:schema ../workflow.schema.json"
    )]
    Schema {
        /// The kind of file.
        form: Form,
    },
    /// Show cost and success of tasks by project, workflow, agent and model.
    ///
    /// Covers this repository; outside of one, all repositories. Cancelled, timed-out and running legs count with what they have used
    /// so far.
    #[command(
        after_help = "Examples:\n  acquit stats\n  acquit stats --since 7d\n  acquit stats --json     # { \"tasks\": …, \"cost_micros\": …, \"workflows\": { … }, \"agents\": { … }, \"models\": { … } }"
    )]
    Stats {
        /// Include all repositories.
        #[arg(long)]
        all_projects: bool,
        /// Only tasks created within this time, such as 7d.
        #[arg(long, value_name = "TIME", value_parser = task::span)]
        since: Option<acquit_core::time::Span>,
        /// Count at most this many tasks, newest first.
        #[arg(long, default_value_t = 1000)]
        limit: u32,
    },
    /// Print completion candidates, for completion scripts.
    #[command(hide = true)]
    Complete {
        /// The words after `acquit`, up to the cursor.
        #[arg(last = true)]
        words: Vec<String>,
    },
    /// Print a completion script. In bash, zsh and fish it completes tasks, agents and workflows.
    #[command(
        after_help = "Examples:\n  acquit completions bash > ~/.local/share/bash-completion/completions/acquit\n  acquit completions zsh > ~/.zfunc/_acquit\n  acquit completions fish > ~/.config/fish/completions/acquit.fish"
    )]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Watch all tasks live in the terminal: what needs you, runs, waits and is done today.
    ///
    /// Keys: arrows move, enter opens, a answers, s stops, r retries with a note, f follows, / searches, p switches the project, q quits.
    Top,
    /// Send test messages by the channels of [notify].
    #[command(subcommand)]
    Notify(NotifyVerb),
    /// Make and remove tokens, by which others use the dashboard and the API.
    ///
    /// Each token has a name and a role: `viewer` looks, `operator` also adds, answers, merges and ends tasks, `admin` also sees tokens and the audit
    /// log. What is done with a token is recorded under its name.
    #[command(subcommand)]
    Token(TokenVerb),
    /// Begin with one repository of a night, for a daemon.
    #[command(hide = true)]
    Begin {
        /// The night's schedule.
        #[arg(long)]
        schedule: Name,
        /// The night's time by its schedule, in milliseconds since 1970.
        #[arg(long, value_name = "MILLISECONDS", allow_hyphen_values = true)]
        nominal: i64,
        /// The repository's place in the night, from 0.
        #[arg(long)]
        job: usize,
        /// The daemon's process, with which this one ends.
        #[arg(long)]
        parent: u32,
    },
    /// Serve the dashboard, for a daemon.
    #[command(hide = true)]
    Web {
        /// The address.
        #[arg(long)]
        listen: Option<std::net::SocketAddr>,
        #[command(flatten)]
        exposed: Exposed,
        /// Open it in a browser.
        #[arg(long)]
        open: bool,
        /// The daemon's process, with which this one ends.
        #[arg(long)]
        parent: u32,
    },
    /// Send the messages that are due, for a daemon.
    #[command(hide = true)]
    Post {
        /// The daemon's process, with which this one ends.
        #[arg(long)]
        parent: u32,
    },
    /// Bring the mirror of one address up to date.
    #[command(hide = true)]
    Mirror {
        /// What to fetch.
        #[command(flatten)]
        args: MirrorArgs,
    },
    /// Get the repository of a task onto this worker.
    #[command(hide = true)]
    Obtain {
        /// The task.
        task: TaskId,
        /// The worker's process, with which this one ends.
        #[arg(long)]
        parent: u32,
    },
    /// Run one leg: claim it, run it to its handoff, become the next one.
    #[command(hide = true)]
    Leg {
        /// Only a leg of this task.
        #[arg(long)]
        task: Option<TaskId>,
        /// Let limits keep the leg of the task waiting.
        #[arg(long)]
        in_turn: bool,
        /// Only a leg that this worker offers everything for.
        #[arg(long)]
        worker: Option<String>,
        /// Stop after the handoff instead of going on with the next leg.
        #[arg(long)]
        once: bool,
        /// When the harness that this one was before handed over, in milliseconds since 1970.
        #[arg(long, value_name = "MILLISECONDS")]
        passed_on: Option<i64>,
    },
}
fn network(text: &str) -> Result<acquit_core::sandbox::Network, &'static str> {
    acquit_core::sandbox::Network::from_name(text).ok_or("must be off, model or open")
}
/// A kind of configuration file.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum Form {
    /// `.acquit/acquit.toml`, and your own config.toml.
    Config,
    /// `.acquit/workflows/*.toml`.
    Workflow,
}
#[cfg(test)]
mod tests;
#[cfg(test)]
mod together;
