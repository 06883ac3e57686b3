//! Shared test support: external requirements, databases, scratch repositories.
//!
//! Nothing here is part of the product. A test that needs something external uses [`need`], or a module that does. It
//! then fails under `cargo xtask test`, and is skipped with a message under plain `cargo test`.

pub mod agents;
pub mod border;
pub mod forge;
pub mod gauge;
pub mod history;
#[cfg(target_os = "linux")]
pub mod hostile;
pub mod model;
pub mod need;
#[cfg(target_os = "linux")]
pub mod network;
pub mod packages;
pub mod postgres;
pub mod proxy;
pub mod receiver;
#[cfg(target_os = "linux")]
pub mod replicated;
pub mod repo;
pub mod runner;
pub mod tls;
