//! Arguments of `acquit workflow`.

use acquit_core::ids::Name;
use clap::{Subcommand, ValueEnum};

/// Subcommands of `acquit workflow`.
#[derive(Subcommand, Debug)]
pub enum WorkflowVerb {
    /// List workflows and where each comes from.
    List,
    /// Validate the configuration and workflows; report each mistake with file, line and hint.
    Check {
        /// Check only this one.
        workflow: Option<Name>,
    },
    /// Copy a built-in workflow into this repository, to change it.
    ///
    /// Copies its agent definitions and prompts too. The repository's files then take precedence over the built-in ones; remove a file
    /// to use the built-in one again. Keeps existing files, unless you pass --force.
    #[command(
        after_help = "Examples:\n  acquit workflow eject feature\n  acquit workflow eject nightshift --only workflow"
    )]
    Eject {
        /// The name.
        workflow: Name,
        /// Copy only a part: the `workflow` file, the `agents` definitions, or the `prompts`.
        #[arg(long, value_enum)]
        only: Option<Ejected>,
        /// Overwrite existing files. Keeps what was in them, as `<name>.old`.
        #[arg(long)]
        force: bool,
    },
    /// Draw a workflow as a Mermaid flowchart.
    Graph {
        /// The workflow [default: the project's default]
        workflow: Option<Name>,
    },
}

/// The part of a workflow to copy.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ejected {
    /// Its own file.
    Workflow,
    /// The agent definitions that its stages name.
    Agents,
    /// Step files, and what they and the definitions include.
    Prompts,
}
