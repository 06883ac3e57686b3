//! Hints for a disk that is full or read-only.

use std::error::Error as Cause;
use std::io;

use acquit_core::store::{self, Disk};
use acquit_run::git;
use acquit_store::{CopyError, OpenError};

use super::Error;

/// Returns a hint for a disk that cannot be written to, if that caused the error.
pub(super) fn of_disk(error: &Error) -> Option<&'static str> {
    // A variant that only passes on an error is not among its causes.
    let first: &(dyn Cause + 'static) = match error {
        Error::Git(error) => error,
        Error::Copy(error) => error,
        Error::Fleet(error) => error,
        Error::Process(error) => error,
        Error::Harness(error) => error,
        Error::Mirror(error) => error,
        Error::NoRoom(error) => error,
        Error::Service(error) => error,
        other => other,
    };
    let disk = std::iter::successors(Some(first), |&cause| cause.source()).find_map(of_cause)?;
    Some(match disk {
        Disk::Full => {
            "make room on that disk, then `acquit run …` with the task's id continues it; nothing that was written is lost"
        }
        Disk::ReadOnly => {
            "acquit must be able to write there: make it writable, or set ACQUIT_HOME (or ACQUIT_STORE) to another place"
        }
        Disk::Unwritable => {
            "acquit keeps refs of its own in the repository: is it read-only, not yours, or its disk full?"
        }
    })
}

fn of_cause(cause: &(dyn Cause + 'static)) -> Option<Disk> {
    if let Some(error) = cause.downcast_ref::<io::Error>() {
        return of_system(error);
    }
    if let Some(error) = cause.downcast_ref::<store::Error>() {
        return error.disk();
    }
    if cause.is::<acquit_run::room::NoRoom>() {
        return Some(Disk::Full);
    }
    if let Some(error) = cause.downcast_ref::<OpenError>() {
        return error.disk();
    }
    if let Some(error) = cause.downcast_ref::<CopyError>() {
        return error.disk();
    }
    cause.downcast_ref::<git::Error>().and_then(git::Error::disk)
}

fn of_system(error: &io::Error) -> Option<Disk> {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Some(Disk::Full),
        io::ErrorKind::ReadOnlyFilesystem => Some(Disk::ReadOnly),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hint(error: &Error) -> &'static str {
        of_disk(error).map_or("none", |hint| hint.split(' ').next().unwrap_or_default())
    }

    #[test]
    fn a_disk_is_known_by_the_kind_of_a_cause_and_never_by_words() {
        let path = std::path::PathBuf::from("/x");
        let file =
            |kind: io::ErrorKind| Error::File { doing: "write to", path: path.clone(), source: kind.into() };
        assert_eq!(hint(&file(io::ErrorKind::StorageFull)), "make");
        assert_eq!(hint(&file(io::ErrorKind::ReadOnlyFilesystem)), "acquit");
        let said = io::Error::other("the file is called `disk is full`, No space left on device");
        assert_eq!(hint(&Error::File { doing: "read", path: path.clone(), source: said }), "none");
        let full = store::Error::Full { doing: "write", source: "x".into() };
        assert_eq!(hint(&Error::Harness(acquit_run::harness::Error::Store(full))), "make");
        let git = |stderr: &str| {
            Error::Git(git::Error::Failed {
                verb: "push".to_owned(),
                code: Some(128),
                stderr: stderr.to_owned(),
            })
        };
        assert_eq!(hint(&git("fatal: Unable to create '/x/index.lock': No space left on device")), "make");
        assert_eq!(hint(&git("fatal: not something we can merge")), "none");
    }
}
