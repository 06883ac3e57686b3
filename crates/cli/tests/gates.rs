//! Gates that prove, on real repositories with real test runners: changes of known kinds, and the verdict on each.
//!
//! The languages share one table of kinds ([`kit::Kind`]); each says in its own file what such a change looks like. All cases
//! of a language are tasks of one repository, so that the base is run once for all of them, as it is for users.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;
#[path = "gates/compared.rs"]
mod compared;
#[path = "gates/go.rs"]
mod go;
#[path = "gates/kit.rs"]
mod kit;
#[path = "gates/node.rs"]
mod node;
#[path = "gates/paths.rs"]
mod paths;
#[path = "gates/python.rs"]
mod python;
#[path = "gates/rust.rs"]
mod rust;
