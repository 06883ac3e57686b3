//! Touches the world: processes, git, workspaces, agents, gates. One leg from claim to handoff.
//!
//! The way of a leg is in [`harness`]; everything else here is what it uses. `acquit-sandbox` starts programs, [`git`] is the only module
//! that runs git. The store is seen through the trait of `acquit-core` alone, so that a leg can
//! be run on any implementation of it.

pub mod acp;
pub mod agent;
pub mod base;
pub mod checkout;
mod client;
mod event_lines;
pub mod external_pull_request;
mod fault;
pub mod fleet;
pub mod forge;
pub mod gate;
pub mod git;
pub mod harness;
pub mod layers;
mod leg;
pub mod mcp;
pub mod mirror;
mod model_failure;
pub mod notify;
pub mod registry;
pub mod retention;
pub mod rpc;
pub mod runtime;
pub mod secrets;
pub mod service;
pub mod supervise;
pub mod syntax;
pub mod transcript;
pub mod trusted_definitions;
pub mod turn_summary;
pub mod versions;
pub mod workspace;

pub use acquit_sandbox::{network, process, sandbox};
use acquit_sandbox::{pause, untrusted};
