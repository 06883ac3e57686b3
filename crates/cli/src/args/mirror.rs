//! Arguments of the process that fetches from one address.

use std::path::PathBuf;

use acquit_run::git::CommitId;
use acquit_run::mirror::{LARGEST, TIME_LIMIT};
use clap::Args;

/// What to fetch, and within which limits.
#[derive(Args, Clone, Debug)]
pub struct MirrorArgs {
    /// The address.
    pub url: String,
    /// The most that may arrive, in bytes.
    #[arg(long, default_value_t = LARGEST)]
    pub largest: u64,
    /// The longest that it may take, in seconds.
    #[arg(long, default_value_t = TIME_LIMIT.as_secs())]
    pub within: u64,
    /// Fetch into this repository instead.
    #[arg(long, requires = "commit")]
    pub into: Option<PathBuf>,
    /// The commit to fetch.
    #[arg(long, requires = "into")]
    pub commit: Option<CommitId>,
}
