//! What a repository's `.acquit/` asks for beyond a plan of work: programs, secrets, hosts, places that things are sent to, less safety.
//!
//! Keys of `acquit.toml` are harmless only if they are listed here as such, so that a key that is forgotten needs trust.

use serde::Serialize;

use crate::project::{Content, Snapshot};

/// One thing that is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ask {
    /// The file, in `.acquit/`.
    pub file: String,
    /// The key.
    pub key: String,
    /// Its value, as TOML.
    pub value: String,
    /// What kind of thing that is.
    pub what: What,
}

/// The kinds of things that need trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// A program or a command is run.
    Runs,
    /// A secret is read, or handed to a program.
    Secrets,
    /// Something can be reached that otherwise could not.
    Reaches,
    /// Something is sent somewhere.
    Sends,
    /// Less is held back than usual.
    LessSafe,
    /// Work begins by itself.
    Starts,
    /// Anything else that is not known to be harmless.
    Other,
}

impl What {
    /// What people read.
    pub fn words(self) -> &'static str {
        match self {
            Self::Runs => "runs programs",
            Self::Secrets => "uses secrets",
            Self::Reaches => "reaches hosts and files",
            Self::Sends => "sends work and messages",
            Self::LessSafe => "holds agents back less",
            Self::Starts => "starts work by itself",
            Self::Other => "changes other settings",
        }
    }
}

/// Keys of `acquit.toml` that need no trust: what is done, in which words, how often.
const HARMLESS: [&str; 10] = [
    "workflow",
    "agent",
    "base",
    "branch_prefix",
    "protected",
    "budgets",
    "variables",
    "waiting",
    "prices",
    "models",
];

/// Keys of `[forge]` that only say how a request looks.
const OF_REQUESTS: [&str; 6] = ["labels", "reviewers", "assignees", "draft", "squash", "otherwise"];

/// Everything that the files ask for. Nobody can tell what a file asks for that is not TOML, so it is one of those things.
pub fn asks(files: &Snapshot) -> Vec<Ask> {
    let mut found = Vec::new();
    let workflows = files.names("workflows").into_iter().filter(|path| path.strip_suffix(".toml").is_some());
    for path in ["acquit.toml"].into_iter().chain(workflows) {
        let Some(content) = files.get(path) else { continue };
        let mut list = List { file: path, found: &mut found };
        match table(content) {
            Some(table) if path == "acquit.toml" => {
                table.iter().for_each(|(key, value)| list.config(key, value));
            }
            Some(table) => table.iter().for_each(|(key, value)| list.workflow(key, value)),
            None => list.add(What::Other, path, &toml::Value::from("is not TOML")),
        }
    }
    found.sort_by(|a, b| (a.what, &a.file, &a.key).cmp(&(b.what, &b.file, &b.key)));
    found
}

/// The table of a file, if it has one.
fn table(content: &Content) -> Option<toml::Table> {
    match content {
        Content::Bytes(bytes) => std::str::from_utf8(bytes).ok()?.parse().ok(),
        Content::Refused(_) => None,
    }
}

struct List<'f> {
    file: &'f str,
    found: &'f mut Vec<Ask>,
}

impl List<'_> {
    fn add(&mut self, what: What, key: &str, value: &toml::Value) {
        let value = value.to_string();
        self.found.push(Ask { file: self.file.to_owned(), key: key.to_owned(), value, what });
    }

    /// A key at the top of `acquit.toml`.
    fn config(&mut self, key: &str, value: &toml::Value) {
        let entries = || value.as_table().into_iter().flatten();
        match key {
            _ if HARMLESS.contains(&key) => {}
            "gates" => self.gates(value),
            "sandbox" if ["on", "strict"].contains(&value.as_str().unwrap_or_default()) => {}
            "sandbox" | "limits" => self.add(What::LessSafe, key, value),
            "agents" => entries().for_each(|(name, agent)| self.agent(name, agent)),
            "setup" => self.add(What::Runs, key, value),
            "secrets" => {
                for (name, source) in entries() {
                    let runs = source.get("command").is_some();
                    self.add(
                        if runs { What::Runs } else { What::Secrets },
                        &format!("secrets.{name}"),
                        source,
                    );
                }
            }
            "access" => {
                for (name, paths) in entries().filter(|(name, _)| *name != "hide") {
                    self.add(What::Reaches, &format!("access.{name}"), paths);
                }
            }
            "network" => {
                for (name, value) in entries().filter(|(_, value)| value.as_str() != Some("off")) {
                    self.add(What::Reaches, &format!("network.{name}"), value);
                }
            }
            "forge" => {
                for (name, value) in entries() {
                    let none = name == "kind" && value.as_str() == Some("none");
                    if !OF_REQUESTS.contains(&name.as_str()) && !none {
                        self.add(What::Sends, &format!("forge.{name}"), value);
                    }
                }
            }
            "commit" => {
                for (name, value) in entries().filter(|(name, _)| *name == "sign") {
                    self.add(What::LessSafe, &format!("commit.{name}"), value);
                }
            }
            "schedule" => self.add(What::Starts, key, value),
            "notify" | "report" => self.add(What::Sends, key, value),
            _ => self.add(What::Other, key, value),
        }
    }

    /// An agent: it is a program, or settings of one that the user has.
    fn agent(&mut self, name: &str, agent: &toml::Value) {
        let Some(table) = agent.as_table() else {
            return self.add(What::Runs, &format!("agents.{name}"), agent);
        };
        for (key, value) in table {
            let what = match key.as_str() {
                "model" | "tiers" | "turns" | "report" | "billing" => continue,
                "secrets" | "pass_env" | "login" => What::Secrets,
                "hosts" => What::Reaches,
                _ => What::Runs,
            };
            self.add(what, &format!("agents.{name}.{key}"), value);
        }
    }

    /// Gates: those that run something.
    fn gates(&mut self, gates: &toml::Value) {
        for (name, gate) in gates.as_table().into_iter().flatten() {
            for (key, value) in gate.as_table().into_iter().flatten() {
                let what = match key.as_str() {
                    "run" | "build" => What::Runs,
                    "network" if value.as_str() != Some("off") => What::Reaches,
                    _ => continue,
                };
                self.add(what, &format!("gates.{name}.{key}"), value);
            }
        }
    }

    /// A key at the top of a workflow.
    fn workflow(&mut self, key: &str, value: &toml::Value) {
        match key {
            "gates" => self.gates(value),
            "stages" => {
                for (stage, table) in value.as_table().into_iter().flatten() {
                    for (key, value) in table.as_table().into_iter().flatten() {
                        let what = match key.as_str() {
                            "secrets" => What::Secrets,
                            "network" if value.as_str() != Some("off") => What::Reaches,
                            "auto_merge" if value.as_bool() != Some(false) => What::Sends,
                            "run" | "command" | "program" => What::Runs,
                            _ => continue,
                        };
                        self.add(what, &format!("stages.{stage}.{key}"), value);
                    }
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(files: &[(&str, &str)]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let files = Snapshot::take(folder.path()).unwrap();
        asks(&files).into_iter().map(|ask| format!("{:?} {}", ask.what, ask.key)).collect()
    }

    #[test]
    fn what_runs_reads_reaches_or_sends_is_asked_for() {
        for (text, expected) in [
            (
                "[agents.bot]\nadapter = \"command\"\nrun = \"evil\"",
                "Runs agents.bot.adapter, Runs agents.bot.run",
            ),
            ("[agents.claude]\nprogram = \"./evil\"", "Runs agents.claude.program"),
            ("[agents.claude]\nargs = [\"--danger\"]", "Runs agents.claude.args"),
            ("[agents.claude]\nenv = { LD_PRELOAD = \"x\" }", "Runs agents.claude.env"),
            ("[agents.claude]\npass_env = [\"AWS_SECRET\"]", "Secrets agents.claude.pass_env"),
            ("[agents]\nclaude.program = \"./evil\"", "Runs agents.claude.program"),
            ("[secrets]\nX = { command = [\"evil\"] }", "Runs secrets.X"),
            ("[secrets]\nX = { env = \"AWS\" }", "Secrets secrets.X"),
            ("[setup]\nrun = \"evil\"", "Runs setup"),
            ("[gates.test]\nrun = \"evil\"", "Runs gates.test.run"),
            ("[gates.proof]\ncheck = \"tdd\"\nbuild = \"evil\"", "Runs gates.proof.build"),
            ("[network]\nhosts = [\"evil.example\"]", "Reaches network.hosts"),
            ("[network]\nagents = \"open\"", "Reaches network.agents"),
            ("[access]\nread = [\"/etc\"]", "Reaches access.read"),
            ("[forge]\nhost = \"evil.example\"", "Sends forge.host"),
            ("[forge]\npush_remote = \"evil\"", "Sends forge.push_remote"),
            ("[forge]\nca = \"/tmp/ca\"", "Sends forge.ca"),
            ("sandbox = \"off\"", "LessSafe sandbox"),
            ("sandbox = \"reduced\"", "LessSafe sandbox"),
            ("[limits]\nmemory = \"1TiB\"", "LessSafe limits"),
            ("[[schedule]]\nname = \"night\"", "Starts schedule"),
            ("[notify.x]\nurl = \"https://evil.example\"", "Sends notify"),
            ("[something_new]\nx = 1", "Other something_new"),
            ("[merge]\nby = \"local\"", "Other merge"),
        ] {
            assert_eq!(asked(&[("acquit.toml", text)]).join(", "), expected, "{text}");
        }
        let flow = "[gates.test]\nrun = \"evil\"\n[stages.code]\nmode = \"implement\"\nsecrets = [\"X\"]\nnetwork = \"open\"\n";
        assert_eq!(
            asked(&[("workflows/flow.toml", flow)]),
            ["Runs gates.test.run", "Secrets stages.code.secrets", "Reaches stages.code.network"]
        );
    }

    #[test]
    fn a_file_that_is_not_toml_needs_trust() {
        assert_eq!(asked(&[("acquit.toml", "half = [")]), ["Other acquit.toml"]);
        assert_eq!(asked(&[("acquit.toml", ""), ("workflows/x.toml", "= 1")]), ["Other workflows/x.toml"]);
    }

    #[test]
    fn a_plan_of_work_asks_for_nothing() {
        let config = "workflow = \"flow\"\nagent = \"claude\"\nprotected = [\"release/*\"]\nsandbox = \"on\"\n[gates.small]\n\
                      check = \"scope\"\nmax_lines = 10\n[network]\nagents = \"off\"\n[access]\nhide = [\"/opt/x\"]\n[forge]\nlabels = \
                      [\"x\"]\n[budgets]\ntest = 3\n[commit]\nstyle = \"plain\"\n[agents.claude]\nmodel = \"opus\"\n";
        let flow =
            "[stages.code]\nmode = \"implement\"\ninstructions = \"Do it.\"\non = { pr_ready = \"done\" }\n";
        let files = [
            ("acquit.toml", config),
            ("workflows/flow.toml", flow),
            ("instructions.md", "run = \"not a key\"\n"),
        ];
        assert_eq!(asked(&files), [""; 0]);
    }
}
