//! The agents that acquit knows and that are installed.

use std::ffi::OsStr;

use acquit_core::config::Product;
use acquit_run::agent::Facts;

/// All that are looked for, in the order of preference: the first that is installed takes the stages that name none.
pub(super) fn known() -> impl Iterator<Item = &'static Facts> {
    Product::ALL.iter().copied().map(Facts::of)
}

/// Those that are installed.
pub(crate) fn installed(path_variable: &OsStr) -> Vec<&'static Facts> {
    known().filter(|facts| acquit_run::process::in_path(path_variable, facts.program).is_some()).collect()
}
