//! What `acquit prove` can be told.

use std::path::PathBuf;

use clap::ValueEnum;

/// The examples of `acquit prove --help`.
pub const EXAMPLES: &str = "\
Exit codes:
  0  acquitted: every claim that counts was shown to hold
  1  guilty: a claim does not hold
  2  the command was not understood, or what it was given cannot be used
  4  cancelled
  5  could not judge: setup failed, no tests could be run, or acquit itself failed

Examples:
  acquit prove                        # what your branch has over its base, with uncommitted work
  acquit prove main..topic            # a range of commits
  acquit prove --staged               # what `git commit` would commit now
  acquit prove --quick                # static checks and tests of changed files only
  acquit prove --format markdown      # a summary for a pull request
  acquit prove --save                 # also write the detected gates to .acquit/";

/// The change, and how it is judged.
#[derive(clap::Args, Clone, Debug)]
pub struct Proved {
    /// A branch, a commit, or a range such as `main..topic` [default: the current branch with uncommitted work]
    #[arg(value_name = "CHANGE", conflicts_with_all = ["staged", "working_tree"])]
    pub change: Option<String>,
    /// Judge the staged changes against HEAD.
    #[arg(long, conflicts_with = "working_tree")]
    pub staged: bool,
    /// Judge all uncommitted work against HEAD, including untracked files that are not ignored.
    #[arg(long)]
    pub working_tree: bool,
    /// Compare with this branch or commit [default: the project's base, the remote's default branch, main or master]
    #[arg(long, value_name = "BRANCH")]
    pub base: Option<String>,
    /// Run only static checks, and the gates that can be limited to changed files.
    #[arg(long)]
    pub quick: bool,
    /// Ignore cached results.
    #[arg(long)]
    pub fresh: bool,
    /// Write the detected gates to `.acquit/`.
    #[arg(long)]
    pub save: bool,
    /// Trust the base's `.acquit/` for this run. For CI, where the base is your own branch.
    #[arg(long)]
    pub trust_base: bool,
    /// Allow a rule of the dilution check, optionally for paths only: RULE or RULE:GLOB; repeatable.
    #[arg(long, value_name = "RULE[:PATHS]")]
    pub allow: Vec<String>,
    /// The output format.
    #[arg(long, value_enum, conflicts_with = "json")]
    pub format: Option<Format>,
    /// Write an in-toto attestation of the commands, commits and results to this file, and the gates' logs to a directory
    /// beside it.
    #[arg(long, value_name = "FILE")]
    pub attest: Option<PathBuf>,
    /// Run as this agent's stop hook: read the hook's message from standard input, and send the agent back if the change is
    /// guilty. `acquit init --hooks` installs it.
    #[arg(long, value_enum, value_name = "AGENT", conflicts_with_all = ["format", "json", "attest", "save"])]
    pub hook: Option<HookAgent>,
}

/// A forge with CI.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum CiForge {
    /// GitHub Actions.
    Github,
    /// GitLab CI.
    Gitlab,
}

/// An agent whose hook is answered.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookAgent {
    /// Claude Code: `Stop`.
    Claude,
    /// Codex: `Stop`.
    Codex,
    /// Gemini CLI: `AfterAgent`.
    Gemini,
    /// opencode: a plugin.
    Opencode,
    /// Cursor: `stop`.
    Cursor,
}

impl HookAgent {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
            Self::Cursor => "cursor",
        }
    }

    /// The agent.
    pub fn agent(self) -> acquit_app::prove::hook::Agent {
        use acquit_app::prove::hook::Agent;
        match self {
            Self::Claude => Agent::Claude,
            Self::Codex => Agent::Codex,
            Self::Gemini => Agent::Gemini,
            Self::Opencode => Agent::Opencode,
            Self::Cursor => Agent::Cursor,
        }
    }
}

/// How a judgement is printed.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// `JUnit` XML: one test case for each claim.
    Junit,
    /// Markdown, for a comment or a job summary.
    Markdown,
    /// Annotations of GitHub Actions.
    Github,
}

impl Proved {
    /// The folder of copies of what gates print.
    pub fn logs(&self) -> Option<PathBuf> {
        self.attest.as_ref().map(|file| acquit_app::prove::attest::logs_of(file))
    }
}
