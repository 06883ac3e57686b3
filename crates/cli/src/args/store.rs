//! Arguments of `acquit store`.

use clap::Subcommand;

/// Subcommands of `acquit store`.
#[derive(Debug, Subcommand)]
pub enum StoreVerb {
    /// Move all tasks and their history to an empty store.
    ///
    /// Works from SQLite to PostgreSQL and back. Stop `acquit serve` first; no leg may run. The old store stays as it is, but refuses to
    /// be used. If the move is interrupted, run the same command again.
    #[command(
        after_help = "Example:\n  acquit store move 'postgres://acquit@db.example.org/acquit?sslmode=verify-full'"
    )]
    Move {
        /// A path, or postgres://…
        to: String,
    },
    /// Give a PostgreSQL role the rights of a worker, and no others.
    ///
    /// A worker with this role can run legs. It cannot add tasks, change what a task does, or change history. Create the role first, and run
    /// this as the role that owns the tables. Run it again after an upgrade of acquit.
    #[command(
        after_help = "Example:\n  createuser --pwprompt acquit_worker\n  acquit store grant acquit_worker"
    )]
    Grant {
        /// Name of the role
        role: String,
    },
    /// Read everything in the store and report what does not fit together. Changes nothing.
    Check,
}
