//! Everything with side effects: processes, git, workspaces, agents, gates. Runs one leg from claim to handoff.
//!
//! [`harness`] defines the steps of a leg; everything else here is what it uses. `acquit-sandbox` starts programs, and
//! [`git`] is the only module that runs git. The store is used only through the trait of `acquit-core`, so that a leg
//! runs on any implementation of it.

pub mod acp;
pub mod agent;
pub mod base;
pub mod checkout;
mod client;
pub mod ended;
mod event_lines;
pub mod external_pull_request;
mod fault;
pub mod fleet;
pub mod forge;
pub mod gate;
pub mod git;
pub mod harness;
pub mod history;
pub mod layers;
mod leg;
pub mod mcp;
pub mod mirror;
mod model_failure;
pub mod notify;
pub mod probe;
pub mod registry;
pub mod retention;
pub mod room;
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
