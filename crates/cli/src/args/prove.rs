//! Arguments of `acquit prove`.

use std::path::PathBuf;

use acquit_app::prove::hook::Agent;
use clap::ValueEnum;

/// Exit codes and examples for `acquit prove --help`.
pub const EXAMPLES: &str = "\
Exit codes:
  0  acquitted: every claim that counts was shown to hold
  1  guilty: a claim does not hold
  2  the command was not understood, or what it was given cannot be used
  4  cancelled
  5  could not judge: the machine cannot build the sandbox, setup failed, no tests could be run, or acquit itself failed

Examples:
  acquit prove                        # what your branch has over its base, with uncommitted work
  acquit prove main..topic            # a range of commits
  acquit prove 12                     # pull request 12 of this repository's forge
  acquit prove --staged               # what `git commit` would commit now
  acquit prove --quick                # static checks and the tests that the change affects
  acquit prove --format markdown      # a summary for a pull request
  acquit prove --format junit=acquit.xml --format sarif=acquit.sarif
  acquit prove 12 --comment 12        # post the summary there; the next run updates it
  acquit prove --attest proof.json --sign
  acquit prove --save                 # also write the detected gates to .acquit/";

/// The change, and how to judge it.
#[derive(clap::Args, Clone, Debug)]
pub struct Proved {
    /// A branch, a commit, a range such as `main..topic`, or a pull request by number or address [default: the current branch with
    /// uncommitted work]
    #[arg(value_name = "CHANGE", conflicts_with_all = ["staged", "working_tree"])]
    pub change: Option<String>,
    /// Judge the staged changes against HEAD.
    #[arg(long, conflicts_with = "working_tree")]
    pub staged: bool,
    /// Judge all uncommitted work against HEAD, including untracked files that are not ignored.
    #[arg(long)]
    pub working_tree: bool,
    /// Compare with this branch or commit [default: the project's base, the remote's default branch, main or master]
    #[arg(long, value_name = "BRANCH", conflicts_with_all = ["staged", "working_tree"])]
    pub base: Option<String>,
    /// Run only static checks and the tests that the change affects.
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
    /// Accept a sandbox with only those walls that this machine can build, as in most containers.
    #[arg(long)]
    pub reduced: bool,
    /// Allow a rule of the dilution check, optionally for paths only: RULE or RULE:GLOB; repeatable.
    #[arg(long, value_name = "RULE[:PATHS]")]
    pub allow: Vec<String>,
    /// Print the result as text, json, sarif, junit, markdown, github (annotations) or gitlab (Code Quality), or write it to a file;
    /// repeatable.
    #[arg(long, value_name = "FORMAT[=FILE]", conflicts_with = "json", value_parser = Output::parse)]
    pub format: Vec<Output>,
    /// Post the summary as a comment on this pull request of the forge, by number or address. The next run updates the comment.
    #[arg(long, value_name = "PR")]
    pub comment: Option<String>,
    /// Write an in-toto attestation of the commands, commits and results to this file, and the gates' logs to a directory
    /// beside it.
    #[arg(long, value_name = "FILE")]
    pub attest: Option<PathBuf>,
    /// Sign the attestation with the key that your git signs with (`gpg.format`, `user.signingkey`), to FILE.sig.
    #[arg(long, requires = "attest")]
    pub sign: bool,
    /// Run as if started in this directory.
    #[arg(short = 'C', value_name = "DIR")]
    pub directory: Option<PathBuf>,
    /// Run as this hook: an agent's stop hook, or git's pre-push. Reads the hook's message from standard input. `acquit init --hooks`
    /// installs hooks.
    #[arg(long, value_enum, value_name = "HOOK", conflicts_with_all = ["format", "json", "attest", "sign", "save", "comment"])]
    pub hook: Option<Hook>,
}

/// A forge with CI.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum CiForge {
    /// GitHub Actions.
    Github,
    /// GitLab CI.
    Gitlab,
}

/// A job for CI.
#[derive(clap::Args, Clone, Debug)]
pub struct CiJob {
    /// The forge.
    pub forge: CiForge,
    /// Install acquit from this git address [default: the variable `ACQUIT_REPOSITORY` of the CI]
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub from: Option<String>,
    /// Overwrite existing files. Keeps what was in them, as `<name>.old`.
    #[arg(long)]
    pub force: bool,
}

/// Accepts an address that stands for itself in YAML and in a shell.
fn address(text: &str) -> Result<String, String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b":/@._~+-".contains(&byte);
    let named = ["https://", "ssh://", "git@"].iter().any(|front| text.starts_with(front));
    if named && text.bytes().all(plain) && !text.ends_with(':') {
        return Ok(text.to_owned());
    }
    Err("name it as https://…, ssh://… or git@…, without spaces or quotes".to_owned())
}

/// A hook that `acquit prove --hook` can run as.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
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
    /// git: judges what is about to be pushed.
    PrePush,
}

impl Hook {
    /// Returns the agent whose hook it is, with its name on the command line; `None` for git's.
    pub fn agent(self) -> Option<(&'static str, Agent)> {
        match self {
            Self::Claude => Some(("claude", Agent::Claude)),
            Self::Codex => Some(("codex", Agent::Codex)),
            Self::Gemini => Some(("gemini", Agent::Gemini)),
            Self::Opencode => Some(("opencode", Agent::Opencode)),
            Self::Cursor => Some(("cursor", Agent::Cursor)),
            Self::PrePush => None,
        }
    }
}

/// An output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// As on a terminal, without colours.
    Text,
    /// Everything.
    Json,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// `JUnit` XML: one test case for each claim.
    Junit,
    /// Markdown, for a comment or a job summary.
    Markdown,
    /// Annotations of GitHub Actions.
    Github,
    /// A GitLab Code Quality report.
    Gitlab,
}

/// An output format and its destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The format.
    pub format: Format,
    /// The file; `None` for stdout.
    pub file: Option<PathBuf>,
}

impl Output {
    const FORMATS: [(&'static str, Format); 7] = [
        ("text", Format::Text),
        ("json", Format::Json),
        ("sarif", Format::Sarif),
        ("junit", Format::Junit),
        ("markdown", Format::Markdown),
        ("github", Format::Github),
        ("gitlab", Format::Gitlab),
    ];

    fn parse(word: &str) -> Result<Self, String> {
        let (name, file) = match word.split_once('=') {
            Some((_, "")) => return Err("there is no file after `=`".to_owned()),
            Some((name, file)) => (name, Some(PathBuf::from(file))),
            None => (word, None),
        };
        let known = Self::FORMATS.iter().find(|(known, _)| *known == name);
        let names = || Self::FORMATS.map(|(known, _)| known).join(", ");
        let (_, format) = known.ok_or_else(|| format!("the formats are {}", names()))?;
        Ok(Self { format: *format, file })
    }
}

impl Proved {
    /// Returns the directory for copies of the gates' logs.
    pub fn logs(&self) -> Option<PathBuf> {
        self.attest.as_ref().map(|file| acquit_app::prove::attest::logs_of(file))
    }
}
