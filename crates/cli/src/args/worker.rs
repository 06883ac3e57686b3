//! Arguments of workers.

use clap::{Args, Subcommand};

/// Verbs about workers.
#[derive(Debug, Subcommand)]
pub enum FleetVerb {
    /// Run legs of a store that many machines share.
    ///
    /// A worker takes legs that this machine has everything for: the labels that the stage names, the agent, its secrets, and the repository,
    /// which comes from the store. It needs no checkout. Kill it at any time: another worker continues from the last handoff. SIGTERM or
    /// Ctrl-C stops it when its legs are over; a second one gives them back.
    #[command(
        after_help = "Examples:\n  acquit worker --store postgres://acquit@db.example.com/acquit --trust-store\n  acquit worker --labels os=linux,gpu --slots 8 --trust-store   # the store is in ACQUIT_STORE\n  acquit workers                                                # who is there, and what waits for whom"
    )]
    Worker {
        /// How it runs.
        #[command(flatten)]
        args: WorkerArgs,
    },
    /// List the workers of the store, and why nobody takes a leg that waits.
    #[command(after_help = "Examples:\n  acquit workers\n  acquit workers --json")]
    Workers,
}

/// How a worker runs.
#[derive(Args, Clone, Debug)]
pub struct WorkerArgs {
    /// The PostgreSQL database. The default is ACQUIT_STORE, which other users of the machine cannot see.
    #[arg(long, value_name = "URL")]
    pub store: Option<String>,
    /// The labels that it has, for stages with `runs_on`.
    #[arg(long, value_name = "LABEL,…", value_delimiter = ',')]
    pub labels: Vec<String>,
    /// Run at most this many legs at a time.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub slots: u32,
    /// Its name in the list of workers. The default is the name of the machine.
    #[arg(long)]
    pub name: Option<String>,
    /// Run what anybody who can write to the store asks for: in the sandbox, with this machine's own configuration for secrets and safety.
    #[arg(long)]
    pub trust_store: bool,
    /// When stopped, give running legs back at once instead of finishing them.
    #[arg(long)]
    pub hand_back: bool,
    /// Only check that the worker of this name runs on this machine and is not stuck; exit with 0 if so. For probes of a supervisor.
    #[arg(long, conflicts_with_all = ["store", "labels", "slots", "trust_store", "hand_back"])]
    pub healthy: bool,
}
