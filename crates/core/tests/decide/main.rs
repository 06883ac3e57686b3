//! Shows that tasks move as they should: rule by rule, and for any workflow and any sequence of inputs.

#![allow(clippy::unwrap_used, reason = "what cannot be unwrapped here is a failed test")]

mod blocking;
mod delivering;
mod dice;
mod invariants;
mod kit;
mod people;
mod properties;
mod rules;
