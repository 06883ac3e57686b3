//! Processes: the only module that starts any.
//!
//! # What it promises
//!
//! * **Nothing outlives its purpose.** A contained program runs in a pid namespace whose first process dies with the
//!   harness, so that the kernel ends the whole tree: also what forked twice, called `setsid` and ignores every
//!   signal. Names, process groups and parent pids are never what decides. Where the machine refuses namespaces the
//!   weaker [`Containment::Subreaper`] is used, and says so.
//! * **Nothing is inherited by accident.** The environment is complete as given, stdin is empty unless given, no
//!   descriptor but the three standard ones is passed on, signals are as after login, the session is the program's own.
//! * **No output is lost and none is waited for.** Output goes to a file that is tailed, so a burst neither blocks
//!   the program nor grows the memory of the harness.
//! * **Every wait ends.** Time, silence and output have limits; stopping is a ladder: ask, grace, kill the tree, kill
//!   the helper.
//! * **A program that could not be started is an error**, never an exit code.
//!
//! # How
//!
//! Each program has a helper ([`contain`]), which makes the namespace, starts the program, and ends as the program did. The
//! harness sleeps in one `poll` on the helper's pidfd and reads the file in between. A helper is a copy that the launcher makes of
//! itself, where there is one; else the executable is started again as `acquit contained …`, by `posix_spawn`, because forking a
//! large process costs a hundred times as much.
//!
//! The helper dies with the *thread* that started it, or the launcher, not only with the process: start and watch on the same thread.

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
pub use output::CHUNK;
pub use piped::{Piped, Woken};
pub use spawn::{Isolation, Spawner};
pub use spec::{Limits, Spec, Stderr, Stdin, Stdout};
pub use status::Step;
pub use walls::{Missing, WALLS, Wall};
pub use watch::{Child, Next, TICK, Watcher};
