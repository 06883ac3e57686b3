//! Arguments of `acquit config`.

use clap::Subcommand;

/// Subcommands of `acquit config`.
#[derive(Subcommand, Debug)]
pub enum ConfigVerb {
    /// Show every value that is set.
    Show {
        /// Show where each value comes from, with file and line.
        #[arg(long)]
        origin: bool,
        /// With a workflow, agent or model: also show the settings of its stages, as `acquit run` with these options would use them.
        #[command(flatten)]
        means: super::task::Means,
        /// Set a variable of that run.
        #[arg(long = "var", value_name = "NAME=VALUE", value_parser = super::task::key_value)]
        variables: Vec<(String, String)>,
    },
}
