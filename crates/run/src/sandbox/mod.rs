//! The sandbox of agents and gates: what a [`Policy`] says, and how one is made for a program of a leg.

pub mod policy;
pub mod seatbelt;

pub use policy::{Entry, Policy, Reach, What};
