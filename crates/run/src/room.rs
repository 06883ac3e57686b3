//! Room on the disk of acquit's own directory. With too little of it no new leg starts: it could only fail.

use std::io::ErrorKind;
use std::path::PathBuf;

use acquit_core::retention::Retention;
use acquit_core::store::{self, Disk};

use crate::git;
use crate::runtime::Runtime;

/// Number of files that must fit on the disk for a new leg.
const FILES: u64 = 1_000;

/// The disk has too little room for a new leg. The message continues a sentence that starts with "failed to".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("start a leg: {}", self.words())]
pub struct NoRoom {
    place: PathBuf,
    /// Free bytes, and how many must be free. `None` if there is no room for more files.
    bytes: Option<(u64, u64)>,
}

impl NoRoom {
    /// Returns how much is free, in words.
    pub fn words(&self) -> String {
        let place = self.place.display();
        match self.bytes {
            Some((free, wanted)) => {
                let mib = |bytes: u64| bytes.div_ceil(1 << 20);
                format!(
                    "the disk of {place} is full: {} MiB are free, and `keep_free` of [retention] is {} MiB",
                    free >> 20,
                    mib(wanted)
                )
            }
            None => format!("the disk of {place} is full: it has room for less than {FILES} more files"),
        }
    }
}

/// Checks whether there is room for a new leg.
pub fn check(runtime: &Runtime, rule: &Retention) -> Result<(), NoRoom> {
    // The directory may not exist yet.
    let found = runtime.home.ancestors().find_map(|place| Some((place, rustix::fs::statvfs(place).ok()?)));
    let Some((place, stat)) = found else { return Ok(()) };
    let free = stat.f_bavail.saturating_mul(stat.f_frsize);
    let bytes = if free < rule.keep_free {
        Some((free, rule.keep_free))
    // Some file systems have no fixed number of files and say 0.
    } else if stat.f_files > 0 && stat.f_favail < FILES {
        None
    } else {
        return Ok(());
    };
    Err(NoRoom { place: place.to_owned(), bytes })
}

/// Returns whether an error comes from a full disk of this machine.
pub(crate) fn is_full(error: &(dyn std::error::Error + 'static)) -> bool {
    std::iter::successors(Some(error), |&cause| cause.source()).any(|cause| {
        if let Some(error) = cause.downcast_ref::<std::io::Error>() {
            return matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded);
        }
        if let Some(error) = cause.downcast_ref::<store::Error>() {
            return error.disk() == Some(Disk::Full);
        }
        cause.downcast_ref::<git::Error>().and_then(git::Error::disk) == Some(Disk::Full)
    })
}
