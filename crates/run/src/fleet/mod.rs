//! Several machines on one store: the data that a machine sends to others, and the data that a worker needs to run a
//! leg without a checkout.
//!
//! The store carries it, in parcels. When a task is created, its base commit is sent, with everything it needs that the
//! store does not have ([`send_base`]). A worker whose user has named the host of the remote fetches that from there.
//! Before its handoff, a leg sends its commits and files (`send_leg`). The handoff comes after that, so the machine
//! that claims the next leg finds both. A leg starts by receiving what its machine lacks ([`receive`]). Git checks
//! packs when they arrive, and only the holder of a leg can send for it.
//!
//! Secrets are never sent: files are redacted, commits are searched before they count as work, and a worker resolves
//! secrets only from its own configuration ([`worker_definition`]).

mod definition;
mod offer;
mod parcels;
mod repository;
mod sweep;

pub use definition::worker_definition;
pub(crate) use offer::has_program;
pub use offer::{Offered, offer};
pub(crate) use parcels::send_leg;
pub use parcels::{fetch_files, local_task, receive, send_again, send_base};
pub use repository::{USED, WITHIN_LEASE, clone, copies, place, repack};
pub use sweep::{Kept, Verdict, Whose, sweep};

/// Why something could not be sent or received. Messages continue a sentence that starts with "failed to".
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store rejected the operation, or is unavailable.
    #[error("use the store")]
    Store(#[from] acquit_core::store::Error),
    /// A git command failed.
    #[error("{doing}")]
    Git {
        /// The operation.
        doing: &'static str,
        /// Cause.
        #[source]
        source: crate::git::Error,
    },
    /// The workspace cannot be read.
    #[error("read the workspace")]
    Workspace(#[from] crate::workspace::Error),
    /// A file cannot be written.
    #[error("write {}", path.display())]
    File {
        /// Path of the file.
        path: std::path::PathBuf,
        /// Cause.
        #[source]
        source: std::io::Error,
    },
    /// The work is too large.
    #[error("send the work to the store: it has more than {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: u64,
    },
    /// The address of the remote has a form that acquit does not use.
    #[error("fetch {url}: it is no address that begins with https:// or ssh://")]
    Address {
        /// The address.
        url: String,
    },
    /// The user of this machine has not named the host of the remote.
    #[error(
        "find commit {commit}: the store does not have it, and {host} is not among `fetch_from` of your own configuration"
    )]
    NotNamed {
        /// The host.
        host: String,
        /// Commit id.
        commit: String,
    },
    /// The remote did not send it.
    #[error(transparent)]
    Remote(#[from] crate::mirror::Error),
    /// The store does not have the start commit of the leg.
    #[error("find commit {commit} of the repository {repository}: the store does not have it")]
    Missing {
        /// Commit id.
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
