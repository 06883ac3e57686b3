//! The sandbox of agents and gates: what a [`Policy`] says, and how one is made for a program of a leg.

pub mod machine;
pub mod policy;
pub mod seatbelt;
pub mod usual;

pub use policy::{Entry, PROXY_PORT, Policy, Reach, What};
