//! Starts, watches and stops processes. No other module of acquit spawns any.
//!
//! # Guarantees
//!
//! * **No process outlives its run.** A contained program runs in a pid namespace whose init dies with the harness,
//!   so the kernel kills the whole tree: also processes that double-fork, call `setsid` and ignore every signal.
//!   Names, process groups and parent pids never decide. If the machine refuses namespaces, the weaker
//!   [`Containment::Subreaper`] is used and reported.
//! * **Nothing is inherited by accident.** The program gets exactly the given environment, an empty stdin unless one
//!   is given, no descriptors but the three standard ones, default signal handling, and its own session.
//! * **Output is never lost and never blocks.** It goes to a file that the harness tails. A burst neither blocks the
//!   program nor grows the memory of the harness.
//! * **Every wait has a limit.** Run time, silence and output are limited. Stopping escalates: ask, wait for the
//!   grace period, kill the tree, kill the helper.
//! * **A program that could not be started is an error**, never an exit code.
//!
//! # Design
//!
//! Each program has a helper ([`contain`]), which creates the namespace, starts the program, and exits with its
//! status. The harness sleeps in one `poll` on the helper's pidfd and reads the output file in between. If there is a
//! launcher, it forks itself to make a helper. Otherwise `posix_spawn` starts the executable again as
//! `acquit contained …`, because forking a large process costs a hundred times as much.
//!
//! The helper dies with the *thread* that started it, or with the launcher, not only with the process. Start and
//! watch on the same thread.

mod attached;
mod capture;
pub mod contain;
mod detached;
mod error;
mod exit;
mod identity;
mod interrupt;
mod ladder;
mod lookup;
mod memory;
mod output;
mod piped;
mod procfs;
mod spawn;
mod spec;
mod status;
mod tree;
mod walls;
mod watch;

pub use attached::Attached;
pub use capture::inherited;
pub use capture::{CAPTURE_OUTPUT, Call, Captured, Guard};
pub use detached::{Detached, become_program, end_with};
pub use error::Error;
pub use exit::{Containment, Ended, Excess, Exit, Refusal};
pub use identity::Identity;
pub use interrupt::Interrupt;
pub use lookup::{in_path, is_executable, program};
pub use memory::{give_back, share_heap};
pub use output::CHUNK;
pub use piped::{Piped, Woken};
pub use spawn::{Isolation, Spawner};
pub use spec::{Limits, Spec, Stderr, Stdin, Stdout};
pub use status::Step;
pub use walls::{Missing, WALLS, Wall};
pub use watch::{Child, Next, TICK, Watcher};
