//! The user's own settings as a floor: a repository can be stricter than the user's own file, never laxer.
//!
//! Keys with a floor:
//!
//! | key in the user's file | effective value |
//! |---|---|
//! | `sandbox` | the stricter mode |
//! | `network.agents`, `.gates`, `.setup`, also in stages and gates | the narrower network |
//! | `limits.processes`, `.memory`, `.disk` | the smaller limit |
//! | `protected`, `access.hide` | both lists |
//! | `forge.kind = "none"` | no forge |
//! | `forge.auto_merge = false`, also in stages | no automatic merge |
//! | `agents.<name>.billing` | the user's |
//! | `retention.unfinished`, `.disk`, `.keep_free` | the user's |
//! | `retention.history` | the user's alone |
//!
//! A key that the user's file omits has no floor: the repository's value applies once the repository is trusted.

use std::collections::BTreeMap;

use super::forge::Kind;
use super::{Billing, Config};
use crate::ids::Name;
use crate::sandbox::{Mode, Network};
use crate::time::Span;
use crate::toml_reader::Table;
use crate::workflow::{Action, Work, Workflow};

/// Settings that the user's own file states explicitly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Floor {
    /// Least strict sandbox mode.
    pub sandbox: Option<Mode>,
    /// Widest network of agents, gates and setup.
    pub networks: [Option<Network>; 3],
    /// Maximum number of processes.
    pub processes: Option<u32>,
    /// Maximum memory.
    pub memory: Option<u64>,
    /// Maximum disk usage.
    pub disk: Option<u64>,
    /// Protected branches.
    pub protected: Vec<String>,
    /// Hidden paths.
    pub hide: Vec<String>,
    /// Whether the forge is `none`.
    pub no_forge: bool,
    /// Whether automatic merges are off.
    pub no_auto_merge: bool,
    /// Who pays, by agent.
    pub billing: BTreeMap<Name, Billing>,
    /// How long to keep workspaces of unfinished tasks.
    pub unfinished: Option<Span>,
    /// Maximum total size of workspaces.
    pub workspaces: Option<u64>,
    /// Free space below which no new leg starts.
    pub keep_free: Option<u64>,
    /// How long to keep the history of ended tasks.
    pub history: Option<Span>,
}

/// The floor keys that a file contains. Collected before the file is read, because reading consumes it.
pub(super) struct Outright(Vec<&'static str>);

const SANDBOX: &str = "sandbox";
const NETWORKS: [&str; 3] = ["network.agents", "network.gates", "network.setup"];
const PROCESSES: &str = "limits.processes";
const MEMORY: &str = "limits.memory";
const DISK: &str = "limits.disk";
const UNFINISHED: &str = "retention.unfinished";
const WORKSPACES: &str = "retention.disk";
const KEEP_FREE: &str = "retention.keep_free";

impl Outright {
    pub(super) fn of(root: &Table<'_, '_>) -> Self {
        let keys = [SANDBOX, PROCESSES, MEMORY, DISK, UNFINISHED, WORKSPACES, KEEP_FREE];
        Self(keys.into_iter().chain(NETWORKS).filter(|key| root.says(key)).collect())
    }

    fn value<T>(&self, key: &str, value: T) -> Option<T> {
        self.0.contains(&key).then_some(value)
    }
}

impl Floor {
    /// Creates the floor from a user's own file.
    pub(super) fn of(user: &Config, outright: &Outright) -> Self {
        let widest = [user.network.agents, user.network.gates, user.network.setup];
        let billing = user.agents.iter().filter_map(|(name, agent)| Some((name.clone(), agent.billing?)));
        Self {
            sandbox: outright.value(SANDBOX, user.sandbox),
            networks: std::array::from_fn(|at| outright.value(NETWORKS[at], widest[at])),
            processes: outright.value(PROCESSES, user.resources.processes),
            memory: outright.value(MEMORY, user.resources.memory),
            disk: outright.value(DISK, user.resources.disk),
            protected: user.protected.clone(),
            hide: user.access.hide.clone(),
            no_forge: user.forge.kind == Some(Kind::None),
            no_auto_merge: user.forge.request.auto_merge == Some(false),
            billing: billing.collect(),
            unfinished: outright.value(UNFINISHED, user.retention.unfinished),
            workspaces: outright.value(WORKSPACES, user.retention.disk),
            keep_free: outright.value(KEEP_FREE, user.retention.keep_free),
            history: user.retention.history,
        }
    }

    /// Applies the floor to a project's configuration.
    pub fn hold(&self, config: &mut Config) {
        if let Some(mode) = self.sandbox.filter(|mode| strictness(*mode) > strictness(config.sandbox)) {
            config.sandbox = mode;
        }
        let network = &mut config.network;
        let used = [&mut network.agents, &mut network.gates, &mut network.setup];
        for (used, widest) in used.into_iter().zip(self.networks) {
            *used = narrower(*used, widest);
        }
        let limits = &mut config.resources;
        limits.processes = limits.processes.min(self.processes.unwrap_or(u32::MAX));
        limits.memory = limits.memory.min(self.memory.unwrap_or(u64::MAX));
        limits.disk = limits.disk.min(self.disk.unwrap_or(u64::MAX));
        add(&mut config.protected, &self.protected);
        add(&mut config.access.hide, &self.hide);
        if self.no_forge {
            config.forge.kind = Some(Kind::None);
        }
        if self.no_auto_merge {
            config.forge.request.auto_merge = Some(false);
        }
        for (name, billing) in &self.billing {
            if let Some(agent) = config.agents.get_mut(name) {
                agent.billing = Some(*billing);
            }
        }
        let retention = &mut config.retention;
        retention.unfinished = self.unfinished.unwrap_or(retention.unfinished);
        retention.disk = self.workspaces.unwrap_or(retention.disk);
        retention.keep_free = self.keep_free.unwrap_or(retention.keep_free);
        // No repository removes what the user did not agree to lose.
        retention.history = self.history;
        for gate in &mut config.gates {
            gate.network = gate.network.map(|network| narrower(network, self.networks[1]));
        }
    }

    /// Applies the floor to a workflow, because stages and gates have their own network settings.
    pub fn hold_workflow(&self, workflow: &mut Workflow) {
        for gate in &mut workflow.gates {
            gate.network = gate.network.map(|network| narrower(network, self.networks[1]));
        }
        for stage in &mut workflow.stages {
            match &mut stage.work {
                Work::Agent(work) => {
                    work.network = work.network.map(|network| narrower(network, self.networks[0]));
                }
                Work::Action { action: Action::Publish(publishing), .. } if self.no_auto_merge => {
                    publishing.auto_merge = Some(false);
                }
                Work::Action { .. } | Work::Check | Work::Human { .. } => {}
            }
        }
    }
}

/// Ranks modes by strictness.
fn strictness(mode: Mode) -> u8 {
    match mode.name() {
        "off" => 0,
        "reduced" => 1,
        "on" => 2,
        _ => 3,
    }
}

fn narrower(used: Network, widest: Option<Network>) -> Network {
    let width = |network: Network| match network {
        Network::Off => 0,
        Network::Model => 1,
        Network::Open => 2,
    };
    widest.filter(|widest| width(*widest) < width(used)).unwrap_or(used)
}

fn add(list: &mut Vec<String>, more: &[String]) {
    for one in more {
        if !list.contains(one) {
            list.push(one.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{read, read_over};
    use super::*;

    fn merged(user: &str, project: &str) -> Config {
        let user = read("config.toml", user).unwrap();
        read_over(".acquit/acquit.toml", project, user).unwrap()
    }

    /// Each case: the user's file, the project's file, and a key of the result.
    #[test]
    fn a_project_can_raise_the_floor_and_not_lower_it() {
        type Look = fn(&Config) -> String;
        let agents: Look = |config| config.network.agents.to_string();
        let gates: Look = |config| config.network.gates.to_string();
        let setup: Look = |config| config.network.setup.to_string();
        let mode: Look = |config| config.sandbox.name().to_owned();
        let processes: Look = |config| config.resources.processes.to_string();
        let memory: Look = |config| config.resources.memory.to_string();
        let disk: Look = |config| config.resources.disk.to_string();
        let protected: Look = |config| config.protected.join(" ");
        let hide: Look = |config| config.access.hide.join(" ");
        let forge: Look = |config| config.forge.kind.map_or("", Kind::name).to_owned();
        let merges: Look = |config| format!("{:?}", config.forge.request.auto_merge);
        let kept: Look = |config| config.retention.unfinished.to_string();
        let pays: Look = |config| format!("{:?}", config.agents[&Name::literal("claude")].billing);
        for (user, project, look, expected) in [
            ("sandbox = \"on\"", "sandbox = \"off\"", mode, "on"),
            ("sandbox = \"off\"", "sandbox = \"on\"", mode, "on"),
            ("", "sandbox = \"off\"", mode, "off"),
            ("sandbox = \"off\"", "", mode, "off"),
            ("[network]\nagents = \"off\"", "[network]\nagents = \"open\"", agents, "off"),
            ("[network]\nagents = \"model\"", "[network]\nagents = \"open\"", agents, "model"),
            ("[network]\nagents = \"open\"", "[network]\nagents = \"off\"", agents, "off"),
            ("[network]\ngates = \"off\"", "[network]\nagents = \"open\"", agents, "open"),
            ("[network]\ngates = \"off\"", "[network]\ngates = \"model\"", gates, "off"),
            ("[network]\nsetup = \"off\"", "[network]\nsetup = \"model\"", setup, "off"),
            ("", "[network]\nsetup = \"open\"", setup, "open"),
            ("[limits]\nprocesses = 100", "[limits]\nprocesses = 200", processes, "100"),
            ("[limits]\nprocesses = 100", "[limits]\nprocesses = 50", processes, "50"),
            ("[limits]\nprocesses = 100", "[limits]\nmemory = \"32GiB\"", processes, "100"),
            ("[limits]\nprocesses = 100", "[limits]\nmemory = \"32GiB\"", memory, "34359738368"),
            ("[limits]\nmemory = \"1GiB\"", "[limits]\nmemory = \"32GiB\"", memory, "1073741824"),
            ("[limits]\ndisk = \"1GiB\"", "[limits]\ndisk = \"32GiB\"", disk, "1073741824"),
            ("protected = [\"release/*\"]", "protected = [\"main\"]", protected, "main release/*"),
            ("protected = [\"release/*\"]", "protected = []", protected, "release/*"),
            ("[access]\nhide = [\"/opt/a\"]", "[access]\nhide = [\"/opt/b\"]", hide, "/opt/b /opt/a"),
            ("[access]\nhide = [\"/opt/a\"]", "[access]\nread = [\"/opt/a\"]", hide, "/opt/a"),
            ("[forge]\nkind = \"none\"", "[forge]\nkind = \"github\"", forge, "no forge"),
            ("[forge]\nkind = \"github\"", "[forge]\nkind = \"none\"", forge, "no forge"),
            ("[forge]\nauto_merge = false", "[forge]\nauto_merge = true", merges, "Some(false)"),
            ("[forge]\nauto_merge = true", "[forge]\nauto_merge = false", merges, "Some(false)"),
            ("[retention]\nunfinished = \"30d\"", "[retention]\nunfinished = \"1h\"", kept, "720h 00m"),
            (
                "[agents.claude]\nadapter = \"claude\"\nbilling = \"login\"",
                "[agents.claude]\nadapter = \"claude\"\nbilling = \"key\"",
                pays,
                "Some(Login)",
            ),
        ] {
            assert_eq!(look(&merged(user, project)), expected, "user {user:?}, project {project:?}");
        }
    }

    #[test]
    fn stages_and_gates_are_held_to_it_too() {
        let text = "[gates.check]\nrun = \"true\"\nnetwork = \"open\"\n[stages.code]\nmode = \"implement\"\nnetwork = \"open\"\n\
                    gates = [\"check\"]\non = { pr_ready = \"send\" }\n[stages.send]\nkind = \"action\"\naction = \"publish\"\n\
                    auto_merge = true\non = { done = \"done\" }\n";
        let mut workflow = crate::workflow::read("flow.toml", &Name::literal("flow"), text, &[]).unwrap();
        let floor =
            merged("[network]\nagents = \"model\"\ngates = \"off\"\n[forge]\nauto_merge = false", "").floor;
        floor.hold_workflow(&mut workflow);
        assert_eq!(workflow.gates[0].network, Some(Network::Off));
        let Work::Agent(work) = &workflow.stages[0].work else { panic!() };
        assert_eq!(work.network, Some(Network::Model));
        let Work::Action { action: Action::Publish(publishing), .. } = &workflow.stages[1].work else {
            panic!()
        };
        assert_eq!(publishing.auto_merge, Some(false));
        let text = "[gates.check]\nrun = \"true\"\nnetwork = \"open\"\n";
        let config = merged("[network]\ngates = \"off\"", text);
        assert_eq!(config.gates[0].network, Some(Network::Off));
    }

    #[test]
    fn only_the_users_own_file_names_trusted_paths() {
        let user = read("config.toml", "trusted_paths = [\"~/src\", \"/srv/code\"]").unwrap();
        assert_eq!(user.trusted_paths, ["~/src", "/srv/code"]);
        let mistakes = read_over("acquit.toml", "trusted_paths = [\"/\"]", user).unwrap_err().to_string();
        assert!(mistakes.contains("only your own configuration"), "{mistakes}");
        for bad in ["trusted_paths = [\"src\"]", "trusted_paths = [\"/src/../x\"]"] {
            assert!(read("config.toml", bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn only_the_users_own_file_names_hosts_to_fetch_from() {
        let user = read("config.toml", "fetch_from = [\"GitHub.com\", \"[::1]:8080\"]").unwrap();
        assert_eq!(user.fetch_from, ["github.com", "[::1]:8080"]);
        let mistakes =
            read_over("acquit.toml", "fetch_from = [\"evil.example\"]", user).unwrap_err().to_string();
        assert!(mistakes.contains("only your own configuration"), "{mistakes}");
        for bad in ["fetch_from = [\"\"]", "fetch_from = [\"https://github.com\"]", "fetch_from = [\"a b\"]"]
        {
            assert!(read("config.toml", bad).is_err(), "{bad}");
        }
    }
}
