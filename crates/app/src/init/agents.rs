//! Finds installed agents that acquit supports.

use std::ffi::OsStr;

use acquit_core::config::Product;
use acquit_run::agent::Facts;

/// Returns all supported agents in order of preference. The first installed one gets the stages that name no agent.
pub(super) fn known() -> impl Iterator<Item = &'static Facts> {
    Product::ALL.iter().copied().map(Facts::of)
}

/// Returns the installed agents.
pub(crate) fn installed(path_variable: &OsStr) -> Vec<&'static Facts> {
    known().filter(|facts| acquit_run::process::in_path(path_variable, facts.program).is_some()).collect()
}
