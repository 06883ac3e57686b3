//! Arguments of `acquit agents`.

use acquit_core::ids::Name;

/// Text after the options in its help.
pub(super) const AFTER_HELP: &str = "\
Exit codes:
  0  at least one starts; with --ask: every agent that was asked answers
  1  none does; with --ask: one does not answer

Examples:
  acquit agents
  acquit agents --ask
  acquit agents --ask claude codex
  acquit agents --json";

/// Which agents to try, and how.
#[derive(Clone, Debug, clap::Args)]
pub struct Agents {
    /// Try only these [default: all]
    #[arg(value_name = "AGENT")]
    pub names: Vec<Name>,
    /// Also send each agent's model one short question. Costs as much as a short prompt.
    #[arg(long)]
    pub ask: bool,
}
