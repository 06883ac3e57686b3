//! The sandbox of agents and gates: the [`Policy`], and how to create one for a program of a leg.

pub(crate) mod cgroup;
pub mod default_policy;
pub mod machine;
pub mod policy;
mod programs;
pub mod secrets;
mod system;
pub mod toolchains;
mod view;

pub(crate) use view::is_in;

pub use policy::{Commands, Entry, PROXY_PORT, Policy, Reach, What};
