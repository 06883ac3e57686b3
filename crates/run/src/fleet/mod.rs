//! Many machines on one store: what leaves a machine for others, and what a worker needs to run a leg without a checkout.
//!
//! The store carries it, in parcels. When a task is made, its base commit is sent with everything that it needs and the store does not have
//! ([`send_base`]). Before its handoff a leg sends the commits that it made and the files that it left ([`send_leg`]); the handoff comes after, so
//! whoever claims the next leg finds both. A leg begins by receiving what its machine lacks ([`receive`]). Packs are checked by git when they
//! arrive, and only the holder of a leg can send for it.
//!
//! Secrets never travel: files are redacted, commits are searched before they count as work, and a worker resolves secrets from its own
//! configuration alone ([`worker_definition`]).

mod definition;
mod offer;
mod parcels;
mod repository;

pub use definition::worker_definition;
pub use offer::{Offered, offer};
pub(crate) use parcels::send_leg;
pub use parcels::{fetch_files, local_task, receive, send_base};
pub use repository::clone;

/// Why something could not be sent or received. Messages continue a sentence that begins with "failed to".
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store refused, or cannot be reached.
    #[error("use the store")]
    Store(#[from] acquit_core::store::Error),
    /// Git refused.
    #[error("{doing}")]
    Git {
        /// What it was to do.
        doing: &'static str,
        /// Why not.
        #[source]
        source: crate::git::Error,
    },
    /// The workspace cannot be read.
    #[error("read the workspace")]
    Workspace(#[from] crate::workspace::Error),
    /// A file cannot be written.
    #[error("write {}", path.display())]
    File {
        /// The file.
        path: std::path::PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// The work is too large.
    #[error("send the work to the store: it has more than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// The store has not got what the leg starts from.
    #[error("find commit {commit} of the repository {repository}: the store does not have it")]
    Missing {
        /// The commit.
        commit: String,
        /// The repository.
        repository: String,
    },
}

impl Error {
    fn git(doing: &'static str) -> impl Fn(crate::git::Error) -> Self {
        move |source| Self::Git { doing, source }
    }
}
