//! What `acquit workflow` can be told.

use acquit_core::ids::Name;
use clap::{Subcommand, ValueEnum};

/// What can be done with workflows.
#[derive(Subcommand, Debug)]
pub enum WorkflowVerb {
    /// List the workflows that can be run here, and where each comes from.
    List,
    /// Report every mistake in the configuration and the workflows, with file, line and hint.
    Check {
        /// Only this one.
        workflow: Option<Name>,
    },
    /// Copy a workflow that comes with acquit into this repository, to change it.
    ///
    /// With it come the agent definitions and prompts that it uses. From then on the repository's files count, and a new version
    /// of acquit changes nothing in them; what you remove comes from acquit again. What is there is never written over, unless
    /// you say so.
    #[command(
        after_help = "Examples:\n  acquit workflow eject feature\n  acquit workflow eject nightshift --only workflow"
    )]
    Eject {
        /// Which.
        workflow: Name,
        /// Only a part of it: `workflow` is the workflow's own file, `agents` the definitions, `prompts` the texts.
        #[arg(long, value_enum)]
        only: Option<Ejected>,
        /// Write over what is there.
        #[arg(long)]
        force: bool,
    },
    /// Draw a workflow as a Mermaid flowchart.
    Graph {
        /// Which; the default one if none is named.
        workflow: Option<Name>,
    },
}

/// The parts of a workflow that can be copied.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ejected {
    /// Its own file.
    Workflow,
    /// The agent definitions that its stages name.
    Agents,
    /// Step files, and what they and the definitions include.
    Prompts,
}
