//! Types and decisions of acquit.
//!
//! This crate is pure: no clock, files, environment, processes or async. Only [`decide::decide`] moves a
//! [`task::Task`]. It takes the task, its pinned [`definition::Definition`] and an input, and returns the resulting
//! [`change::Change`]s. A store applies them in one transaction. Replaying the changes of a task's history gives the
//! same task.
//!
//! Reading order: [`ids`] → [`workflow`] → [`task`] → [`change`] → [`decide`] → [`store`] (the trait that databases
//! implement). [`prompt`] builds the prompt of a leg; [`outcome`] parses the agent's report.

pub mod agent;
pub mod artifact;
pub mod branch;
pub mod candidate;
pub mod change;
pub mod check;
pub mod command;
pub mod config;
pub mod conflict;
pub mod decide;
pub mod definition;
pub mod delivery;
pub mod event;
pub mod failure;
pub mod fingerprint;
pub mod fleet;
pub mod gate;
pub mod hex;
pub mod human_request;
pub mod ids;
pub mod json;
pub mod json_schema;
pub mod label;
pub mod labels;
pub mod leg;
pub mod level;
pub mod mode;
pub mod night;
pub mod outcome;
mod paths;
mod pattern;
pub mod price;
pub mod prompt;
pub mod proof;
pub mod publishing;
pub mod repository;
pub mod results;
pub mod retention;
pub mod role;
pub mod sandbox;
pub mod schedule;
pub mod secret;
mod shared_keys;
pub mod store;
pub mod task;
pub mod template;
pub mod text;
pub mod time;
pub mod toml_reader;
pub mod workflow;
