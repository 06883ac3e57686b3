//! The command line. The doc comments are the help.

use clap::{Parser, Subcommand, ValueEnum};

use acquit_core::ids::{Name, TaskId};

mod agents;
mod config;
mod nights;
mod prove;
mod reviewed;
mod serve;
mod task;
mod workflow;

pub use agents::Agents;
pub use config::ConfigVerb;
pub use nights::{ScheduleVerb, ServiceVerb, WhichNight};
pub use prove::{CiForge, Format, HookAgent, Proved};
pub use reviewed::Reviewed;
pub use serve::ServeArgs;
pub use task::{Means, NewTask, TaskVerb};
pub use workflow::{Ejected, WorkflowVerb};

/// Gives tasks to AI coding agents and accepts nothing from them that has not been proven.
#[derive(Parser, Debug)]
#[command(name = "acquit", version, after_help = crate::exit::HELP, max_term_width = 100)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
    /// Print JSON instead of words: one document, or one event per line while something runs.
    #[arg(long, global = true)]
    pub json: bool,
    /// When to use colours.
    #[arg(long, global = true, value_enum, default_value_t = Colour::Auto)]
    pub color: Colour,
}

/// What to do about trust.
#[derive(clap::Args, Clone, Copy, Debug)]
pub struct TrustArgs {
    /// Show what is asked for and whether it is trusted, and change nothing.
    #[arg(long, conflicts_with_all = ["yes", "revoke"])]
    pub show: bool,
    /// Trust it without asking.
    #[arg(long, conflicts_with = "revoke")]
    pub yes: bool,
    /// End the trust.
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

/// What acquit can do.
#[derive(Subcommand, Debug)]
pub enum Verb {
    /// Write `.acquit/` with a workflow and gates that fit this repository, and check that they hold.
    ///
    /// It looks at manifests, lock files and the registries of your package managers, and writes setup, gates and the servers that
    /// they need. Then it runs `acquit check`. In a subfolder it looks at that package alone.
    #[command(
        after_help = "Examples:\n  acquit init\n  acquit init --fix         # also make the edits that the check suggests\n  acquit init --no-check    # only write the files"
    )]
    Init {
        /// Write anew what is already there.
        #[arg(long)]
        force: bool,
        /// Do not run setup and gates afterwards.
        #[arg(long)]
        no_check: bool,
        /// Make the edits that the check suggests, without asking.
        #[arg(long, conflicts_with = "no_check")]
        fix: bool,
        /// Only write the hooks by which agents are judged when their turn ends: for these agents, or for those that are used here.
        #[arg(long, value_enum, value_name = "AGENTS", num_args = 0.., value_delimiter = ',', conflicts_with_all = ["fix", "no_check"])]
        hooks: Option<Vec<HookAgent>>,
    },
    /// Run setup and every gate on the untouched base, in the sandbox, and say what holds.
    ///
    /// What fails here would fail every task. For most failures it offers an edit of `.acquit/acquit.toml`: on a terminal it asks,
    /// with --fix it makes the edit and tries again. The results of the base's tests are kept for the tasks that follow.
    #[command(
        after_help = "Exit codes:\n  0  everything holds\n  1  something fails on the untouched base\n\nExamples:\n  acquit check\n  acquit check --fix\n  acquit check --json     # { \"holds\": …, \"gates\": [ … ], \"problems\": [ … ], \"edits\": [ … ] }"
    )]
    Check {
        /// Make the suggested edits without asking, and check again.
        #[arg(long)]
        fix: bool,
    },
    /// Judge a change, by anyone: is it done, and do all tests pass?
    ///
    /// It takes the change as it stands, builds and tests it and its base in fresh trees in the sandbox, and says of each claim on what it
    /// rests: new failures only, tests that are red on the base and green on the change, weakened tests, secrets. It uses the gates of
    /// `.acquit/`, or those that `acquit init` would write. Nothing in your checkout, index or branches changes, and no model is asked.
    #[command(after_help = prove::EXAMPLES)]
    Prove {
        #[command(flatten)]
        args: Proved,
    },
    /// Check a statement of `acquit prove --attest` against this repository.
    ///
    /// It looks up the commit, its tree and its base, and compares what the gates printed with the hashes in the statement.
    #[command(
        after_help = "Exit codes:\n  0  the statement fits this repository\n  1  it does not\n\nExample:\n  acquit prove --attest proof.json && acquit verify proof.json"
    )]
    Verify {
        /// The statement.
        file: std::path::PathBuf,
    },
    /// Write a CI job that judges every pull or merge request with `acquit prove`.
    #[command(
        after_help = "Examples:\n  acquit ci github     # .github/workflows/acquit.yml\n  acquit ci gitlab     # .gitlab/acquit.yml"
    )]
    Ci {
        /// The forge.
        forge: CiForge,
        /// Write anew what is already there.
        #[arg(long)]
        force: bool,
    },
    /// Trust this repository's `.acquit/`: read what it asks for, and let it be used.
    ///
    /// A repository can name programs, commands, secrets and hosts. acquit uses none of that before you have read it. Trust is kept by the
    /// content of all files of `.acquit/`: when one of them changes, you are shown the difference and asked again.
    #[command(
        after_help = "Examples:\n  acquit trust             # show what changed, then ask\n  acquit trust --show      # only show; exit code 1 if it is not trusted\n  acquit trust --yes       # without asking\n  acquit trust --revoke"
    )]
    Trust {
        #[command(flatten)]
        args: TrustArgs,
    },
    /// Run a task through its workflow, here and now, and show how it goes.
    ///
    /// The task works in a private clone: your checkout, branches, hooks and index are not touched. When it is done, its work
    /// is one commit on a branch of its own. Ctrl-C on a terminal asks whether to detach or to cancel, elsewhere it cancels; what was
    /// done so far is kept.
    #[command(
        after_help = "Examples:\n  acquit run \"Add a --json flag\"\n  acquit run \"Fix the crash on empty input\" --workflow feature --base main\n  acquit run \"Speed up the parser\" --max-cost 5 --max-time 2h\n  acquit run T-7          # continue a task\n  acquit run T-7 --model opus"
    )]
    Run {
        #[command(flatten)]
        task: NewTask,
        /// Continue a task with the workflow and configuration that it was added with, whatever the files say now.
        #[arg(long)]
        pinned: bool,
    },
    /// Let the reviewers look at a branch, or at a pull or merge request of others.
    ///
    /// A request is fetched into private refs and looked at in the sandbox: your branches and checkout are not touched. Nothing is changed,
    /// pushed or posted at the forge; the findings are the task's artifacts.
    #[command(
        after_help = "Examples:\n  acquit review 12\n  acquit review https://github.com/acme/widget/pull/12\n  acquit review my-branch --base main"
    )]
    Review {
        #[command(flatten)]
        asked: Reviewed,
    },
    /// Look at tasks, add them, try them again, end them.
    #[command(subcommand)]
    Task(TaskVerb),
    /// List what waits for a person, with all that is needed to answer.
    Inbox {
        /// What waits in all repositories.
        #[arg(long)]
        all_projects: bool,
        /// At most so many, newest first.
        #[arg(long, default_value_t = 50)]
        limit: u32,
    },
    /// Answer what a task asks: in words, or with an option's name or number. `acquit run` then goes on with it.
    #[command(
        after_help = "Examples:\n  acquit answer T-1 \"petrol, please\"\n  acquit answer T-1 2          # the second option\n  acquit answer T-1 red \"four of them\"   # two questions, an answer each\n  acquit answer T-1 - < reply.md"
    )]
    Answer {
        /// The task, such as T-1.
        task: TaskId,
        /// The answer; `-` reads it from standard input. Without one, the terminal asks question by question.
        #[arg(allow_hyphen_values = true)]
        words: Option<String>,
        /// The answers to the second question and those after it.
        more: Vec<String>,
        /// Keep the workflow and configuration that the task was added with.
        #[arg(long)]
        pinned: bool,
    },
    /// Approve what a task asks for, or let it try once more. `acquit task retry` renews all its budgets.
    ///
    /// The task continues with the workflow and configuration as the files have them now.
    Approve {
        /// The task, such as T-1.
        task: TaskId,
        /// Keep the workflow and configuration that the task was added with.
        #[arg(long)]
        pinned: bool,
    },
    /// Reject a request. A stage that an agent worked on is done again with your words; anything else ends the task.
    Reject {
        /// The task, such as T-1.
        task: TaskId,
        /// Why.
        reason: String,
    },
    /// Take up what was said about a task's request at its forge, by people who may write there: comments, reviews, failed checks.
    /// `acquit run` then goes on with it, where the workflow's publishing stage leads on `changes_requested`.
    Feedback {
        /// The task, such as T-1.
        task: TaskId,
    },
    /// Show what happened in a task: its events and what its agents said.
    Logs {
        /// The task, such as T-1.
        task: TaskId,
        /// Go on showing until the task ends or waits for a person.
        #[arg(short, long)]
        follow: bool,
        /// Only the output of this leg, byte by byte as the agent printed it.
        #[arg(long, value_name = "NUMBER")]
        leg: Option<u32>,
        /// Only the output of the newest leg, byte by byte as the agent printed it.
        #[arg(long, conflicts_with = "all")]
        raw: bool,
        /// Everything: all events with their times, what agents thought, and the whole results of their tools.
        #[arg(long, conflicts_with = "leg")]
        all: bool,
    },
    /// Watch a task that runs, from where it is now. Ctrl-C asks whether to detach or to cancel.
    Attach {
        /// The task, such as T-1.
        task: TaskId,
    },
    /// Open a shell in the working tree of a task, in the sandbox of its agent.
    ///
    /// What you change there is seen by the next leg, which saves it and begins from the task's last commit.
    #[command(after_help = "Examples:\n  acquit open T-1\n  acquit open T-1 -- git status")]
    Open {
        /// The task, such as T-1.
        task: TaskId,
        /// A program with its arguments, instead of a shell.
        #[arg(last = true)]
        command: Vec<std::ffi::OsString>,
    },
    /// Show one task in full: what was asked, its stages, gates with their evidence, its commit, and what to do with it.
    Show {
        /// The task, such as T-1.
        task: TaskId,
    },
    /// Show what a task changed, against the commit of the base branch that it stands on.
    ///
    /// No pager is started, and whatever a file has in it that would act on a terminal is shown as an escape.
    #[command(
        after_help = "Examples:\n  acquit diff T-1\n  acquit diff T-1 --stat\n  acquit diff T-1 --json    # { \"base\": …, \"files\": [ … ], \"diff\": … }"
    )]
    Diff {
        /// The task, such as T-1.
        task: TaskId,
        /// Only the files, and how much of each.
        #[arg(long)]
        stat: bool,
    },
    /// Merge the work of a task that is done into its base branch.
    ///
    /// If the branch has moved since the work was proven, the work is brought onto it and its gates are run again. A clean checkout
    /// of the branch follows; one with changes in it is left alone, and nothing is merged. Nothing is pushed.
    #[command(
        after_help = "Exit codes:\n  0  merged, or already there\n  2  the task is not done, or the branch's checkout has changes\n  3  a person must decide: a conflict, or gates that reject the result\n\nExamples:\n  acquit merge T-1"
    )]
    Merge {
        /// The task, such as T-1.
        task: TaskId,
    },
    /// Look at workflows and find their mistakes.
    #[command(subcommand)]
    Workflow(WorkflowVerb),
    /// Read what agents are told.
    #[command(subcommand)]
    Prompt(PromptVerb),
    /// Follow the schedules and run tasks, until it is stopped.
    ///
    /// Everything it knows is in the store, and every leg is a process of its own: it can be killed and started again at any time, and
    /// there can be several. The configuration is that of the repository it is started in, or your own file where there is none.
    /// Ctrl-C and SIGTERM stop it; what runs goes on by itself.
    ///
    /// It also serves the dashboard on this machine, and prints a link that logs a browser in.
    #[command(
        after_help = "Examples:\n  acquit serve\n  acquit serve --open            # also open the dashboard in a browser\n  acquit serve --link            # print a new login link for the dashboard that runs\n  acquit serve --once            # do what is due, then end: for cron\n  acquit service install         # let the system keep it running"
    )]
    Serve {
        /// How it runs.
        #[command(flatten)]
        args: ServeArgs,
    },
    /// Remove workspaces that nobody needs any more, and show which take how much.
    ///
    /// Those of tasks that are done go at once; those of tasks that failed or were cancelled after the time that `[retention]` in
    /// acquit.toml says. Everything in them is saved to private refs of the repository first. `acquit serve` does this by itself.
    #[command(
        after_help = "Examples:\n  acquit clean --dry-run   # what there is, and what would go\n  acquit clean --json"
    )]
    Clean {
        /// Remove nothing; only show.
        #[arg(long)]
        dry_run: bool,
        /// The daemon's process, with which this one ends.
        #[arg(long, hide = true)]
        parent: Option<u32>,
        /// Tasks that are done, of which alone the daemon wants the workspaces removed.
        #[arg(long = "task", hide = true, requires = "parent")]
        tasks: Vec<TaskId>,
    },
    /// Look at schedules, pause them, run one now.
    #[command(subcommand)]
    Schedule(ScheduleVerb),
    /// Print the report of a night: what it did in each repository, with links, costs and reasons.
    #[command(
        after_help = "Examples:\n  acquit report                # the newest night\n  acquit report 2026-06-01\n  acquit report --json         # { \"night\": …, \"date\": …, \"results\": [ { \"outcome\": \"MR_CREATED\", \"url\": … } ] }"
    )]
    Report {
        /// A date, or a schedule, of which the newest night is shown; default: the newest of all.
        #[arg(value_parser = nights::night)]
        night: Option<WhichNight>,
    },
    /// Let the system run `acquit serve`: systemd, or launchd on macOS.
    #[command(subcommand)]
    Service(ServiceVerb),
    /// Try each coding agent in the sandbox, with the login that a stage has, and say what to add.
    ///
    /// Each program is started in the sandbox of a stage to say its version. Then its login, its key and its own settings are looked
    /// for as the stage would have them. No model is asked, and nothing is sent anywhere, unless you say `--ask`.
    #[command(after_help = agents::AFTER_HELP)]
    Agents(Agents),
    /// Show the configuration that holds here.
    ///
    /// A value is built in, or stands in your own file (~/.config/acquit/config.toml), or in the project's (.acquit/acquit.toml);
    /// the last one counts. Stages of a workflow and `acquit run --agent --model` say the rest.
    #[command(
        subcommand,
        after_help = "Examples:\n  acquit config show --origin\n  acquit config show --origin --workflow feature --model opus"
    )]
    Config(ConfigVerb),
    /// Run a program in the sandbox that agents and gates run in.
    ///
    /// The program sees the system, its toolchains, and the current directory, which it may change; not your home, keys or
    /// history. Its own home is an empty folder that is gone afterwards. `--policy` with a file of a leg puts you where that leg's
    /// agent or gate was, as long as the task's workspace is there.
    #[command(
        after_help = "Examples:\n  acquit sandbox -- cargo test\n  acquit sandbox --network open -- npm ci\n  acquit sandbox --network model --host api.example.com -- my-agent\n  acquit sandbox --policy ~/.local/share/acquit/tasks/T-1/legs/2/policy-agent.json -- sh"
    )]
    Sandbox {
        /// A policy to use as it is, as a file of JSON.
        #[arg(long, value_name = "FILE", conflicts_with_all = ["network", "hosts", "read", "write", "reduced", "print"])]
        policy: Option<std::path::PathBuf>,
        /// Whom the program may talk to: off, model (only the hosts that are listed), open.
        #[arg(long, default_value = "off", value_parser = network)]
        network: acquit_core::sandbox::Network,
        /// A host that `--network model` lets through; can be given several times.
        #[arg(long = "host", value_name = "HOST")]
        hosts: Vec<acquit_core::sandbox::Host>,
        /// A path that the program may read; can be given several times.
        #[arg(long, value_name = "PATH")]
        read: Vec<std::path::PathBuf>,
        /// A path that the program may write; can be given several times.
        #[arg(long, value_name = "PATH")]
        write: Vec<std::path::PathBuf>,
        /// Start also where this machine cannot build every wall.
        #[arg(long)]
        reduced: bool,
        /// Print the policy instead of running anything.
        #[arg(long)]
        print: bool,
        /// The program and its arguments.
        #[arg(last = true, required_unless_present = "print")]
        command: Vec<std::ffi::OsString>,
    },
    /// Show the whole relay on a sample repository: no model, no key, no network.
    Demo {
        /// Keep the sample repository and acquit's files, and say where they are.
        #[arg(long)]
        keep: bool,
    },
    /// Say what this machine can enforce around agents and gates, what it cannot, and what follows.
    ///
    /// Each line is one thing: `yes` with what was found, or `no` with the reason, what follows from it and how to mend it.
    /// Nothing is started or changed, except that a store is made where there is none yet. In a repository its `.acquit/` is
    /// looked at too.
    #[command(
        after_help = "Exit codes:\n  0  everything is there that a task with sandbox = \"on\" needs\n  1  something is missing; the last line says what\n\nExamples:\n  acquit doctor\n  acquit doctor --json    # { \"abilities\": [ … ], \"complete\": true }"
    )]
    Doctor,
    /// Print the form of acquit's files as a JSON Schema, for editors that complete and check them.
    ///
    /// It is what this program itself reads, with a word about each key.
    #[command(
        after_help = "Examples:\n  acquit schema workflow > .acquit/workflow.schema.json\n  acquit schema config > .acquit/config.schema.json\n\nThen the first line of a workflow tells editors with taplo of it:\n  #:schema ../workflow.schema.json"
    )]
    Schema {
        /// Which kind of file: a workflow, or acquit.toml.
        form: Form,
    },
    /// Show what tasks cost and how they ended, by workflow, agent and model.
    ///
    /// It counts the tasks of this repository; outside of one, of all repositories. Legs that were cancelled, timed out or are
    /// still running count with what they have used so far.
    #[command(
        after_help = "Examples:\n  acquit stats\n  acquit stats --since 7d\n  acquit stats --json     # { \"tasks\": …, \"cost_micros\": …, \"workflows\": { … }, \"agents\": { … }, \"models\": { … } }"
    )]
    Stats {
        /// The tasks of all repositories.
        #[arg(long)]
        all_projects: bool,
        /// Only tasks that were added within this time, such as 7d.
        #[arg(long, value_name = "TIME", value_parser = task::span)]
        since: Option<acquit_core::time::Span>,
        /// At most so many tasks, newest first.
        #[arg(long, default_value_t = 1000)]
        limit: u32,
    },
    /// Say what could stand at the cursor, for completion scripts.
    #[command(hide = true)]
    Complete {
        /// The words after `acquit`, up to the cursor.
        #[arg(last = true)]
        words: Vec<String>,
    },
    /// Print a completion script for your shell. It knows tasks, agents and workflows in bash, zsh and fish.
    #[command(
        after_help = "Examples:\n  acquit completions bash > ~/.local/share/bash-completion/completions/acquit\n  acquit completions zsh > ~/.zfunc/_acquit\n  acquit completions fish > ~/.config/fish/completions/acquit.fish"
    )]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
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
        /// The address.
        url: String,
        /// The most that may arrive, in bytes.
        #[arg(long, default_value_t = acquit_run::mirror::LARGEST)]
        largest: u64,
        /// The longest that it may take, in seconds.
        #[arg(long, default_value_t = acquit_run::mirror::TIME_LIMIT.as_secs())]
        within: u64,
    },
    /// Run one leg: claim it, run it to its handoff, become the next one.
    #[command(hide = true)]
    Leg {
        /// Only a leg of this task.
        #[arg(long)]
        task: Option<TaskId>,
        /// Stop after the handoff instead of going on with the next leg.
        #[arg(long)]
        once: bool,
        /// When the harness that this one was before handed over, in milliseconds since 1970.
        #[arg(long, value_name = "MILLISECONDS")]
        passed_on: Option<i64>,
    },
}

/// What can be done with prompts.
#[derive(Subcommand, Debug)]
pub enum PromptVerb {
    /// Show what an agent would be told at a stage: of a task as it stands, or of a new one. Nothing is started.
    #[command(
        after_help = "Examples:\n  acquit prompt show T-1 --stage code\n  acquit prompt show --workflow feature --stage code \"Add a --json flag\"\n  acquit prompt show T-1 --section task"
    )]
    Show {
        /// A task, such as T-1; or the title that a new one would have.
        #[arg(default_value = "a new task")]
        subject: String,
        /// The stage; of a task, the one where it stands if none is named, else the first.
        #[arg(short, long)]
        stage: Option<Name>,
        /// The workflow of a new task; the default one if none is named.
        #[arg(short, long)]
        workflow: Option<Name>,
        /// Only this section: rules, mode, role, step, task, plan, outcomes …
        #[arg(long)]
        section: Option<String>,
    },
}

fn network(text: &str) -> Result<acquit_core::sandbox::Network, &'static str> {
    acquit_core::sandbox::Network::from_name(text).ok_or("must be off, model or open")
}

/// A kind of file that people write.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum Form {
    /// `.acquit/acquit.toml`, and your own config.toml.
    Config,
    /// `.acquit/workflows/*.toml`.
    Workflow,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound_and_every_option_says_what_it_is_for() {
        fn look(command: &clap::Command, path: &str) {
            for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
                assert!(arg.get_help().is_some(), "{path}: {}", arg.get_id());
            }
            for below in command.get_subcommands() {
                assert!(below.get_about().is_some(), "{path} {}", below.get_name());
                look(below, &format!("{path} {}", below.get_name()));
            }
        }
        let command = Args::command();
        command.clone().debug_assert();
        look(&command, "acquit");
    }

    #[test]
    fn a_task_is_done_by_the_same_means_however_it_is_made() {
        let help = |verb: &str| {
            let mut command = Args::command();
            let verb = command.find_subcommand_mut(verb).unwrap();
            let options = ["workflow", "agent", "model"];
            options.map(|name| {
                let arg = verb.get_arguments().find(|arg| arg.get_id() == name).unwrap();
                (arg.get_short(), arg.get_help().unwrap().to_string())
            })
        };
        let (run, review) = (help("run"), help("review"));
        assert_eq!(run[0], (Some('w'), "The workflow to follow".to_owned()));
        assert_eq!(review[0], (Some('w'), "Another workflow than `review`".to_owned()));
        assert_eq!(run[1..], review[1..]);
        for verb in ["run", "review"] {
            let read = |model: &str| Args::try_parse_from(["acquit", verb, "x", "--model", model]);
            assert!(read("opus").is_ok() && read("").is_err() && read("two words").is_err(), "{verb}");
        }
    }
}
