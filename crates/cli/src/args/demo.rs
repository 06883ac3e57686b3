//! Arguments of `acquit demo`.

use std::ffi::OsString;

/// Examples for `acquit demo --help`.
pub const EXAMPLES: &str = "\
Examples:
  acquit demo
  acquit demo show T-1    # any command of acquit, on the sample of the last demo
  acquit demo --keep      # in a folder that the next demo does not replace";

/// What to do with the sample repository.
#[derive(clap::Args, Clone, Debug)]
pub struct Demo {
    /// Keep the sample repository for good. Without it, the next demo replaces it.
    #[arg(long, conflicts_with = "command")]
    pub keep: bool,
    /// Run this command of acquit on the sample of the last demo, instead of a new demo.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}
