//! Known facts about each coding agent, as a table for people, and the shared part of starting them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use acquit_core::config::{Adapter, Billing, Product};
use acquit_core::gate::Command;

use super::tools::Hold;
use super::{Hearing, Launch, Parser, Wanted, aider, claude, codex, cursor, gemini, opencode, pi};
use crate::runtime::Environment;

/// Hosts of common providers, for agents that support many.
pub(super) const PROVIDERS: &[&str] = &[
    "api.anthropic.com",
    "api.openai.com",
    "generativelanguage.googleapis.com",
    "openrouter.ai",
    "opencode.ai",
    "api.deepseek.com",
    "api.x.ai",
    "api.mistral.ai",
    "api.groq.com",
];

/// Variables in which such agents look for keys.
pub(super) const PROVIDER_KEYS: &[&str] = &[
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "OPENROUTER_API_KEY",
    "DEEPSEEK_API_KEY",
    "XAI_API_KEY",
    "MISTRAL_API_KEY",
    "GROQ_API_KEY",
];

/// Files that an agent loads if it takes variables from the project's `.env`.
pub(super) const DOTENV: &[&str] = &[".env"];

/// Files that an agent loads if it is a program made with Bun: variables, and `preload` of `bunfig.toml`.
pub(super) const BUN: &[&str] = &[
    ".env",
    ".env.local",
    ".env.development",
    ".env.development.local",
    ".env.production",
    ".env.production.local",
    ".env.test",
    ".env.test.local",
    "bunfig.toml",
];

/// Known facts about an agent.
#[derive(Debug)]
pub struct Facts {
    /// The product.
    pub product: Product,
    /// Product name.
    pub title: &'static str,
    /// Program name.
    pub program: &'static str,
    /// Arguments that print its version.
    pub version: &'static [&'static str],
    /// Command to log in. Empty if there are only keys.
    pub log_in: &'static str,
    /// Version whose behaviour was recorded.
    pub tried: Version,
    /// Versions that are known not to work, and why.
    pub bad: &'static [Bad],
    /// Default hosts of its model.
    pub hosts: &'static [&'static str],
    /// Hosts that it asks for and works without. That they are refused explains no failure.
    pub spare_hosts: &'static [&'static str],
    /// Default credential files, relative to the home.
    pub login: &'static [&'static str],
    /// Its settings files, relative to the home. The sandbox hides them unless `login` lists them.
    pub settings: &'static [&'static str],
    /// Variables that name the address of its model's server.
    pub servers: &'static [&'static str],
    /// Variables that hold a login, like a credential file.
    pub login_variables: &'static [&'static str],
    /// Variables that hold a provider key, which is billed by use.
    pub keys: &'static [&'static str],
    /// Variables that keep it from talking to anything but its model.
    pub quiet: &'static [(&'static str, &'static str)],
    /// Features of acquit that it supports.
    pub supports: Supports,
    /// How each tool is enforced if a role does not allow it.
    pub holds: Holds,
    /// Whether it reads the repository's `AGENTS.md` itself. Other agents get its text in the prompt.
    pub reads_agents_md: bool,
    /// Files of the project from which it, or its runtime, takes variables or code when it starts. With them it starts
    /// programs, so work must not change them.
    pub loads: &'static [&'static str],
    /// Adds the arguments, variables and files for a turn. The configured arguments come last.
    pub(super) launch: fn(&Wanted<'_>, &mut Launch, Vec<OsString>),
    /// Creates the parser for its output.
    pub(super) parser: fn(Hearing) -> Box<dyn Parser>,
}

/// How the tools that a role can leave out are enforced.
#[derive(Clone, Copy, Debug)]
pub struct Holds {
    /// Editing files.
    pub edit: Hold,
    /// Running commands.
    pub run: Hold,
    /// Searching and reading the web.
    pub web: Hold,
    /// Running commands that a stage does not list.
    pub commands: Hold,
}

/// Features that an agent supports.
#[derive(Clone, Copy, Debug)]
pub struct Supports {
    /// Can continue a conversation.
    pub sessions: Support,
    /// Can report according to a JSON Schema.
    pub structured: Support,
    /// Can use acquit's MCP tools.
    pub tools: Support,
    /// Reports each tool use.
    pub tool_events: Support,
    /// Reports its usage.
    pub usage: Support,
    /// Reports its cost.
    pub cost: Support,
    /// Can limit the number of turns.
    pub turns: Support,
    /// Reports when a usage limit resets.
    pub limits: Support,
    /// Its end distinguishes success from failure.
    pub ending: Support,
}

impl Supports {
    /// Returns all features with their names.
    pub fn all(&self) -> [(&'static str, Support); 9] {
        [
            ("sessions", self.sessions),
            ("structured output", self.structured),
            ("MCP tools", self.tools),
            ("tool events", self.tool_events),
            ("usage", self.usage),
            ("cost", self.cost),
            ("turn limit", self.turns),
            ("reset times", self.limits),
            ("a clear end", self.ending),
        ]
    }
}

/// Of an agent that reports its usage when its turn is over, and not before.
pub(super) const AT_THE_END: &str = "at the end of a turn";

/// Whether an agent supports a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// Supported.
    Yes,
    /// Supported to this extent.
    Partly(&'static str),
    /// Not supported.
    No,
}

/// The first three numbers of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32, pub u32);

impl Version {
    /// Finds the first version in a text: `2.1.325 (Claude Code)`, `codex-cli 0.166.0`.
    pub fn in_text(text: &str) -> Option<Self> {
        text.split(|c: char| c.is_whitespace() || c == ',').find_map(|word| {
            let mut parts = word.trim_start_matches(['v', 'V']).splitn(3, '.');
            let mut number = || {
                let part = parts.next()?;
                let digits = part.bytes().take_while(u8::is_ascii_digit).count();
                part[..digits].parse::<u32>().ok()
            };
            Some(Self(number()?, number()?, number().unwrap_or(0)))
        })
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, form: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(form, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// A range of versions that do not work.
#[derive(Clone, Copy, Debug)]
pub struct Bad {
    /// First bad version.
    pub from: Version,
    /// First version that works again.
    pub below: Version,
    /// What is wrong, and what to do.
    pub why: &'static str,
}

/// Whether an agent has credentials, as far as that is visible without asking anyone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Login {
    /// A variable holds them.
    Variable(&'static str),
    /// A file holds them.
    File(PathBuf),
    /// Not found in the known places.
    Missing,
    /// It keeps its credentials where they cannot be seen.
    Unknown,
}

impl Facts {
    /// Returns the facts about a product.
    pub fn of(product: Product) -> &'static Self {
        match product {
            Product::Claude => &claude::FACTS,
            Product::Codex => &codex::FACTS,
            Product::Opencode => &opencode::FACTS,
            Product::Gemini => &gemini::FACTS,
            Product::Aider => &aider::FACTS,
            Product::Cursor => &cursor::FACTS,
            Product::Pi => &pi::FACTS,
        }
    }

    /// Returns why this version does not work, if known.
    pub fn trouble_with(&self, version: Version) -> Option<&'static str> {
        self.bad.iter().find(|bad| bad.from <= version && version < bad.below).map(|bad| bad.why)
    }

    /// Looks for credentials. On macOS some agents keep them in the keychain, which cannot be read without a prompt.
    pub fn logged_in(&self, environment: &Environment) -> Login {
        let set = |name: &&&'static str| environment.get(name).is_some_and(|value| !value.is_empty());
        if let Some(name) = self.login_variables.iter().chain(self.keys).find(set) {
            return Login::Variable(name);
        }
        let mut files = self.login.iter().filter_map(|path| environment.expand(path));
        if let Some(file) = files.find(|file| file.is_file()) {
            return Login::File(file);
        }
        if self.login.is_empty() || cfg!(target_os = "macos") { Login::Unknown } else { Login::Missing }
    }
}

/// Returns the files of the project that an agent loads when it starts, or that are its program.
pub(crate) fn loads(adapter: &Adapter) -> Vec<String> {
    let names = |facts: &Facts| facts.loads.iter().map(|&file| file.to_owned()).collect();
    let run = match adapter {
        Adapter::Product { product } => return names(Facts::of(*product)),
        Adapter::Acp { run } | Adapter::Command { run } => run,
        Adapter::Scripted { .. } => return Vec::new(),
    };
    let words: Vec<&str> = match run {
        Command::Shell(line) => line.split_whitespace().collect(),
        Command::Program(words) => words.iter().map(String::as_str).collect(),
    };
    let starts = |program: &str| {
        words.iter().any(|word| Path::new(word).file_name().is_some_and(|name| name == program))
    };
    let known = Product::ALL.iter().map(|product| Facts::of(*product));
    let mut all: Vec<String> = known
        .filter(|facts| starts(facts.program))
        .flat_map(|facts| -> Vec<String> { names(facts) })
        .collect();
    all.extend(executed(&words));
    all
}

/// Programs that execute the file after them.
const RUNNERS: &[&str] = &[
    ".", "ash", "bash", "bun", "command", "dash", "deno", "env", "exec", "fish", "ksh", "node", "nohup",
    "perl", "php", "python", "python3", "ruby", "run", "sh", "source", "tsx", "zsh",
];

/// Returns the files of the tree that a command executes: `sh scripts/agent.sh`, `./agent`. A file that it only names
/// (`echo done > notes.md`) is work like any other.
fn executed(words: &[&str]) -> Vec<String> {
    let is_path = |word: &str| {
        let plain = |char: char| char.is_ascii_alphanumeric() || "._-/+".contains(char);
        // A word without a dot or slash is a program of `PATH`.
        word.contains(['.', '/'])
            && !word.starts_with(['-', '/'])
            && word.chars().all(plain)
            && !word.split('/').any(|part| matches!(part, "" | "." | ".."))
    };
    let mut all = Vec::new();
    let mut begins = true;
    for word in words {
        if word.contains(char::is_whitespace) {
            // A line for `sh -c`.
            all.extend(executed(&word.split_whitespace().collect::<Vec<_>>()));
        }
        let ends = word.ends_with([';', '|', '&', '(', '{']);
        let word = word.trim_end_matches([';', '|', '&', ')', '}']).trim_start_matches(['(', '{']);
        let file = word.trim_start_matches("./");
        if begins && is_path(file) {
            all.push(file.to_owned());
        }
        let is_runner =
            Path::new(word).file_name().is_some_and(|name| RUNNERS.iter().any(|runner| name == *runner));
        let is_assignment = word.contains('=');
        begins = ends
            || word == "."
            || (begins && (is_runner || is_assignment || word.starts_with('-') || word.is_empty()));
    }
    all
}

/// Returns how to start a product.
pub(super) fn launch(product: Product, wanted: &Wanted<'_>) -> Launch {
    let facts = Facts::of(product);
    let agent = wanted.agent;
    let program = agent.program.as_deref().unwrap_or(facts.program);
    let found = wanted.runtime.environment.expand(program).map(OsString::from);
    let mut launch = Launch::new((found.unwrap_or_else(|| program.into()), Vec::new()));
    // An invalid default host would be a bug in the table, which a test finds.
    launch.hosts = facts.hosts.iter().filter_map(|host| host.parse().ok()).collect();
    launch.spare_hosts = facts.spare_hosts;
    if agent.billing != Some(Billing::Key) {
        launch.login = facts.login.iter().map(|&file| file.to_owned()).collect();
    }
    for (name, value) in facts.quiet {
        launch.set(name, *value);
    }
    let extra = agent.args.iter().map(OsString::from).collect();
    (facts.launch)(wanted, &mut launch, extra);
    launch
}

/// Returns whether the agent gets one of these variables, in any way.
pub(super) fn has_variable(wanted: &Wanted<'_>, names: &[&str]) -> bool {
    let agent = wanted.agent;
    names.iter().any(|name| {
        agent.env.contains_key(*name)
            || agent.pass_env.iter().chain(&agent.secrets).any(|given| given == name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_what_the_configuration_would_accept() {
        for &product in Product::ALL {
            let facts = Facts::of(product);
            assert_eq!(facts.product, product);
            for host in facts.hosts {
                assert!(host.parse::<acquit_core::sandbox::Host>().is_ok(), "{host}");
            }
            assert!(facts.login.iter().all(|file| file.starts_with("~/")), "{}", facts.title);
            assert_eq!(facts.trouble_with(facts.tried), None, "{}", facts.title);
        }
    }

    #[test]
    fn the_table_of_the_documentation_is_this_one() {
        let docs = include_str!("../../../../docs/agents.md");
        for &product in Product::ALL {
            let cells = Facts::of(product).supports.all().map(|(_, support)| match support {
                Support::Yes => "yes",
                Support::Partly(how) => how,
                Support::No => "no",
            });
            let row = format!("| {} | {} |", product.name(), cells.join(" | "));
            assert!(docs.lines().any(|line| line == row), "missing in docs/agents.md: {row}");
        }
    }

    #[test]
    fn files_that_a_command_executes_are_told_from_those_that_it_names() {
        let of = |line: &str| executed(&line.split_whitespace().collect::<Vec<_>>());
        for line in
            ["sh tools/agent.sh", "./tools/agent.sh --print", "true; exec sh -eu ./tools/agent.sh x.md"]
        {
            assert_eq!(of(line), ["tools/agent.sh"], "{line}");
        }
        assert_eq!(of("A=1 python3 -u agent.py | . lib/end.sh"), ["agent.py", "lib/end.sh"]);
        assert_eq!(executed(&["sh", "-c", "test -e x.md && ./agent.sh > out.txt"]), ["agent.sh"]);
        for line in
            ["echo work > work.txt", "my-agent --config agent.toml", "cat notes.md; echo x > sub/y.txt"]
        {
            assert!(of(line).is_empty(), "{line}");
        }
    }

    #[test]
    fn versions_are_found_in_what_agents_print() {
        let found = |text| Version::in_text(text).map(|version| version.to_string());
        assert_eq!(found("2.1.325 (Claude Code)").as_deref(), Some("2.1.325"));
        assert_eq!(found("codex-cli 0.166.0\n").as_deref(), Some("0.166.0"));
        assert_eq!(found("aider 0.86.2").as_deref(), Some("0.86.2"));
        assert_eq!(found("v1.18.33-beta").as_deref(), Some("1.18.33"));
        assert_eq!(found("2025.09.18-7ae6800").as_deref(), Some("2025.9.18"));
        assert_eq!(found("no version"), None);
        assert_eq!(found("99999999999.1"), None);
    }
}
