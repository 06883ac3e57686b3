//! How each agent enforces `tools` of an agent definition and `commands` of a stage. The prompt also states a
//! restricted definition to every agent; this module tells for which agents the prompt is the only means.
//!
//! At a read-only stage, the harness moves aside all changes of an agent in the tree, so edits have no effect there.
//! The sandbox applies in any case.

use acquit_core::config::{Adapter, Agent, Config};
use acquit_core::ids::Name;
use acquit_core::role::Tool;
use acquit_core::sandbox::Mode as SandboxMode;
use acquit_core::workflow::{AgentWork, Mode, Stage, Work, Workflow};

use super::{Facts, Wanted};

/// How a tool is withheld from an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// The agent is started without it.
    Refused,
    /// The agent has no such tool.
    Lacking,
    /// The agent asks before using it, or should, and gets a no.
    Asking,
    /// The sandbox refuses it.
    Sandboxed,
    /// Only the prompt says so.
    Told,
}

impl Hold {
    /// Returns the word used in the documentation.
    pub fn word(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Lacking => "has none",
            Self::Asking => "refused where it asks",
            Self::Sandboxed => "refused by the sandbox",
            Self::Told => "told",
        }
    }
}

/// Tools that a definition can leave out with an effect. Every agent needs reading.
pub const HELD: [Tool; 3] = [Tool::Edit, Tool::Run, Tool::Web];

/// Returns how a tool is withheld from this kind of agent.
pub fn hold(adapter: &Adapter, tool: Tool) -> Hold {
    let product = match adapter {
        // The program acts on its own.
        Adapter::Command { .. } | Adapter::Scripted { .. } => return Hold::Told,
        Adapter::Acp { .. } => {
            return match tool {
                Tool::Edit | Tool::Run | Tool::Web => Hold::Asking,
                Tool::Read => Hold::Told,
            };
        }
        Adapter::Product { product } => product,
    };
    let holds = Facts::of(*product).holds;
    match tool {
        Tool::Edit => holds.edit,
        Tool::Run => holds.run,
        Tool::Web => holds.web,
        Tool::Read => Hold::Told,
    }
}

/// Returns how commands that a stage does not list are withheld from this kind of agent. Some agents refuse them by
/// themselves, before they start a shell; to the others, the sandbox refuses them.
pub fn hold_commands(adapter: &Adapter) -> Hold {
    match adapter {
        Adapter::Product { product } => Facts::of(*product).holds.commands,
        Adapter::Command { .. } | Adapter::Acp { .. } | Adapter::Scripted { .. } => Hold::Sandboxed,
    }
}

/// Returns whether the agent reads the repository's `AGENTS.md` itself. If that is not known, the prompt includes it.
pub fn reads_agents_md(adapter: &Adapter) -> bool {
    match adapter {
        Adapter::Product { product } => Facts::of(*product).reads_agents_md,
        Adapter::Command { .. } | Adapter::Acp { .. } | Adapter::Scripted { .. } => false,
    }
}

impl Wanted<'_> {
    /// Returns whether a tool must be withheld: its definition leaves it out, or the turn is read-only. The agent can
    /// still write to its output directory.
    pub(super) fn refuses(&self, tool: Tool) -> bool {
        refused(self.mode, self.allowed, tool)
    }
}

fn refused(mode: Mode, allowed: Option<&[Tool]>, tool: Tool) -> bool {
    let looks = match mode {
        Mode::Plan | Mode::Review | Mode::Investigate => tool == Tool::Edit,
        Mode::Implement | Mode::Design | Mode::Fix | Mode::Resolve => false,
    };
    looks || allowed.is_some_and(|allowed| !allowed.contains(&tool))
}

/// Returns the agent stages of a workflow with their agents.
pub(super) fn agents<'w>(
    workflow: &'w Workflow,
    config: &'w Config,
) -> impl Iterator<Item = (&'w Stage, &'w AgentWork, &'w Name, &'w Agent)> {
    workflow.stages.iter().filter_map(|stage| {
        let Work::Agent(work) = &stage.work else { return None };
        let name = work.agent.as_ref().or(config.agent.as_ref())?;
        Some((stage, work, name, config.agents.get(name)?))
    })
}

/// Returns a sentence for each restriction of a workflow's stages that only the prompt states.
pub fn unheld(workflow: &Workflow, config: &Config) -> Vec<String> {
    let of = |(stage, work, name, agent)| {
        let tools = unheld_tools(stage, work, name, agent);
        tools.into_iter().chain(unheld_commands(stage, work, name, agent, config.sandbox))
    };
    agents(workflow, config).flat_map(of).collect()
}

fn unheld_commands(
    stage: &Stage,
    work: &AgentWork,
    name: &Name,
    agent: &Agent,
    sandbox: SandboxMode,
) -> Option<String> {
    let needs_sandbox = !matches!(hold_commands(&agent.adapter), Hold::Refused | Hold::Lacking);
    if work.commands.is_empty() || !needs_sandbox {
        return None;
    }
    let why = match sandbox {
        SandboxMode::Off => "without a sandbox",
        SandboxMode::Reduced => "on a machine without namespaces",
        SandboxMode::On => return None,
    };
    Some(format!(
        "stage `{}`: {why}, the agent `{name}` can run other commands than its `commands`",
        stage.name
    ))
}

fn unheld_tools(stage: &Stage, work: &AgentWork, name: &Name, agent: &Agent) -> Option<String> {
    let allowed = work.tools()?;
    let only_told = |tool: &&Tool| {
        let put_aside = **tool == Tool::Edit && !work.mode.writes();
        !allowed.contains(tool) && !put_aside && hold(&agent.adapter, **tool) == Hold::Told
    };
    let told: Vec<&str> = HELD.iter().filter(only_told).map(|tool| tool.name()).collect();
    (!told.is_empty()).then(|| {
        format!(
            "stage `{}`: its role leaves out {}, and the agent `{name}` cannot be kept from that: it is only told",
            stage.name,
            told.join(" and "),
        )
    })
}

#[cfg(test)]
mod tests {
    use acquit_core::config::Product;

    use super::*;

    #[test]
    fn who_looks_edits_nothing_and_nobody_has_what_the_definition_leaves_out() {
        let all = [Tool::Read, Tool::Edit, Tool::Run, Tool::Web];
        let refused = |mode, allowed: Option<&[Tool]>| {
            all.into_iter().filter(|tool| refused(mode, allowed, *tool)).collect::<Vec<_>>()
        };
        for mode in [Mode::Plan, Mode::Review, Mode::Investigate] {
            assert_eq!(refused(mode, None), [Tool::Edit], "{mode:?}");
            assert_eq!(refused(mode, Some(&all)), [Tool::Edit], "{mode:?}");
        }
        for mode in [Mode::Implement, Mode::Design, Mode::Fix, Mode::Resolve] {
            assert_eq!(refused(mode, None), [], "{mode:?}");
            assert_eq!(refused(mode, Some(&[Tool::Read, Tool::Edit])), [Tool::Run, Tool::Web], "{mode:?}");
            assert_eq!(refused(mode, Some(&[])), all, "{mode:?}");
        }
    }

    #[test]
    fn the_table_of_the_documentation_is_this_one() {
        let docs = include_str!("../../../../docs/agents.md");
        let products = Product::ALL.iter().map(|&product| (product.name(), Adapter::Product { product }));
        let run = acquit_core::gate::Command::Program(Vec::new());
        let others = [("acp", Adapter::Acp { run: run.clone() }), ("command", Adapter::Command { run })];
        for (name, adapter) in products.chain(others) {
            let cells = HELD.map(|tool| hold(&adapter, tool).word());
            let commands = hold_commands(&adapter).word();
            let row = format!("| {name} | {} | {commands} |", cells.join(" | "));
            assert!(docs.lines().any(|line| line == row), "missing in docs/agents.md: {row}");
        }
    }
}
