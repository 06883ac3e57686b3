//! Arguments of `acquit notify`.

use acquit_core::ids::Name;
use clap::Subcommand;

/// Subcommands of `acquit notify`.
#[derive(Subcommand, Debug)]
pub enum NotifyVerb {
    /// Send a test message, by every channel or by one, and say whether it arrived.
    #[command(
        after_help = "Exit codes:\n  0  every message was accepted\n  1  one was not\n\nExamples:\n  acquit notify test\n  acquit notify test phone"
    )]
    Test {
        /// The channel: a name of [notify.NAME].
        channel: Option<Name>,
    },
}
