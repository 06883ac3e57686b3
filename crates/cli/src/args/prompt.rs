//! Arguments of `acquit prompt`.

use acquit_core::ids::Name;
use clap::Subcommand;

/// Subcommands of `acquit prompt`.
#[derive(Subcommand, Debug)]
pub enum PromptVerb {
    /// Show the prompt of a stage, for a task or a new title. Starts nothing.
    #[command(
        after_help = "Examples:\n  acquit prompt show T-1 --stage code\n  acquit prompt show --workflow feature --stage code \"Add a --json flag\"\n  acquit prompt show T-1 --section task"
    )]
    Show {
        /// A task, such as T-1, or the title of a new one.
        #[arg(default_value = "a new task")]
        subject: String,
        /// The stage [default: the task's current stage, or the first]
        #[arg(short, long)]
        stage: Option<Name>,
        /// The workflow of a new task [default: the project's default]
        #[arg(short, long)]
        workflow: Option<Name>,
        /// Show only this section: rules, mode, role, step, task, plan, outcomes …
        #[arg(long)]
        section: Option<String>,
    },
}
