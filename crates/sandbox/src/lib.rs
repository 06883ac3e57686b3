//! Runs programs in a kernel sandbox: the policy, starting and stopping processes, and the proxy that is their only
//! network access.
//!
//! - [`sandbox`] has the policy (what a program may access, as a value), and detects what this machine can enforce.
//! - [`process`] starts programs, with or without a policy. No other module of acquit spawns processes, and all unsafe
//!   code and direct system calls are there.
//! - [`network`] is the proxy.
//! - [`untrusted`] reads files that sandboxed programs wrote.
//!
//! The crate knows nothing of tasks, agents and git.

pub mod environment;
pub mod network;
pub mod pause;
pub mod process;
mod removal;
pub mod sandbox;
pub mod untrusted;
