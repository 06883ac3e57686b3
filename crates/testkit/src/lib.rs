//! What the tests of all crates share: things the machine must have, databases, scratch repositories.
//!
//! Nothing here is part of the product. A test that needs something from outside asks [`need`] (or a module that asks
//! it) and so fails under `cargo xtask test` and skips aloud under plain `cargo test`.

pub mod agents;
pub mod forge;
pub mod gauge;
#[cfg(target_os = "linux")]
pub mod hostile;
pub mod model;
pub mod need;
pub mod packages;
pub mod postgres;
pub mod proxy;
pub mod receiver;
pub mod repo;
pub mod runner;
pub mod tls;
