//! Programs in a kernel sandbox: what one may reach, how it is started, watched and ended, and the proxy that is its only way out.
//!
//! [`sandbox`] says what a program may reach, as a value, and what this machine can enforce. [`process`] starts programs, inside such a policy
//! or without one, and is the only module of acquit that does; all code that is unsafe or talks to the kernel is there. [`network`] is the
//! proxy. [`untrusted`] reads files that programs in a sandbox left.
//!
//! The crate knows nothing of tasks, agents or git.

pub mod environment;
pub mod network;
pub mod pause;
pub mod process;
mod removal;
pub mod sandbox;
pub mod untrusted;
