//! What is known of each coding agent, as a table that people can look up, and the part of starting them that they share.

use std::ffi::OsString;
use std::path::PathBuf;

use acquit_core::config::{Billing, Product};

use super::tools::Hold;
use super::{Hearing, Launch, Parser, Wanted, aider, claude, codex, cursor, gemini, opencode, pi};
use crate::runtime::Environment;

/// Where agents that talk to many providers find the usual ones.
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

/// The variables in which such agents look for keys.
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

/// What is known of an agent.
#[derive(Debug)]
pub struct Facts {
    /// Which.
    pub product: Product,
    /// What its makers call it.
    pub title: &'static str,
    /// Its program.
    pub program: &'static str,
    /// The arguments with which it tells its version.
    pub version: &'static [&'static str],
    /// What a person types to log in; empty where there are only keys.
    pub log_in: &'static str,
    /// The version whose behaviour was recorded.
    pub tried: Version,
    /// Versions that are known not to work, and why.
    pub bad: &'static [Bad],
    /// The hosts of its model, unless the configuration names others.
    pub hosts: &'static [&'static str],
    /// Files of its login below the home, unless the configuration names others.
    pub login: &'static [&'static str],
    /// Files of its own settings below the home. They are not shown in the sandbox unless `login` lists them.
    pub settings: &'static [&'static str],
    /// Variables that name the address of its model's server.
    pub servers: &'static [&'static str],
    /// Variables that carry a login, as a file would.
    pub login_variables: &'static [&'static str],
    /// Variables that carry a key of a provider, which pays by use.
    pub keys: &'static [&'static str],
    /// Variables that keep it from talking to others than its model.
    pub quiet: &'static [(&'static str, &'static str)],
    /// What of acquit it supports.
    pub supports: Supports,
    /// How it is kept from tools that a role leaves out.
    pub holds: Holds,
    /// Whether it reads the repository's `AGENTS.md` by itself. Other agents find its text in the prompt.
    pub reads_agents_md: bool,
    /// Adds the arguments, variables and files that start a turn; the configured arguments come last.
    pub(super) launch: fn(&Wanted<'_>, &mut Launch, Vec<OsString>),
    /// Reads its output.
    pub(super) parser: fn(Hearing) -> Box<dyn Parser>,
}

/// How an agent is kept from the tools that a role can leave out.
#[derive(Clone, Copy, Debug)]
pub struct Holds {
    /// Editing files.
    pub edit: Hold,
    /// Running commands.
    pub run: Hold,
    /// Searching and reading the web.
    pub web: Hold,
    /// Running other commands than those that a stage lists.
    pub commands: Hold,
}

/// What an agent supports.
#[derive(Clone, Copy, Debug)]
pub struct Supports {
    /// A conversation can be continued.
    pub sessions: Support,
    /// A report in the form of a JSON Schema.
    pub structured: Support,
    /// Tools of acquit by MCP.
    pub tools: Support,
    /// Each use of a tool is told.
    pub tool_events: Support,
    /// What it used is told.
    pub usage: Support,
    /// What that cost is told.
    pub cost: Support,
    /// The number of turns can be limited.
    pub turns: Support,
    /// When a usage limit ends is told.
    pub limits: Support,
    /// Its end tells success from failure.
    pub ending: Support,
}

impl Supports {
    /// Each with the words for it.
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

/// Whether an agent supports something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// Yes.
    Yes,
    /// As far as this says.
    Partly(&'static str),
    /// No.
    No,
}

/// The first three numbers of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32, pub u32);

impl Version {
    /// The first version in a text: `2.1.325 (Claude Code)`, `codex-cli 0.166.0`.
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

/// Versions that do not work.
#[derive(Clone, Copy, Debug)]
pub struct Bad {
    /// From this one on.
    pub from: Version,
    /// Up to this one, which works again.
    pub below: Version,
    /// What is wrong, and what to do.
    pub why: &'static str,
}

/// Whether an agent can log in, as far as that is seen without asking anybody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Login {
    /// A variable carries it.
    Variable(&'static str),
    /// A file has it.
    File(PathBuf),
    /// Nothing was found where it is looked for.
    Missing,
    /// It keeps its login where it cannot be seen.
    Unknown,
}

impl Facts {
    /// What is known of a product.
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

    /// Why this version does not work, if that is known.
    pub fn trouble_with(&self, version: Version) -> Option<&'static str> {
        self.bad.iter().find(|bad| bad.from <= version && version < bad.below).map(|bad| bad.why)
    }

    /// Whether it can log in. On macOS some keep their login in the keychain, where nobody looks without asking.
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

/// How a product is started.
pub(super) fn launch(product: Product, wanted: &Wanted<'_>) -> Launch {
    let facts = Facts::of(product);
    let agent = wanted.agent;
    let program = agent.program.as_deref().unwrap_or(facts.program);
    let found = wanted.runtime.environment.expand(program).map(OsString::from);
    let mut launch = Launch::new((found.unwrap_or_else(|| program.into()), Vec::new()));
    // A default that is no host would be a mistake of the table, which a test finds.
    launch.hosts = facts.hosts.iter().filter_map(|host| host.parse().ok()).collect();
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

/// Whether the agent gets this variable, by whichever way.
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
