//! Chooses where throw-away data goes: memory where there is room, else the disk, and says which.
//!
//! The choice matters: on some root filesystems creating a file costs a hundred times what it costs on tmpfs, and a
//! benchmark that does not say where it ran cannot be compared.

use std::path::Path;

use tempfile::TempDir;

use crate::Stop;

/// Room that must be free in memory: containers often give `/dev/shm` only 64 MB, too little for a database.
const ROOM: u64 = 2 * 1024 * 1024 * 1024;

/// The usual place of a filesystem in memory on Linux.
const MEMORY: &str = "/dev/shm";

/// What a scratch folder lies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Medium {
    /// A tmpfs.
    Memory,
    /// The system's folder for temporary files, whatever that lies on.
    Disk,
}

impl Medium {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Memory => "tmpfs",
            Self::Disk => "disk",
        }
    }
}

/// A fresh folder, removed when dropped, and what it lies on.
pub(crate) fn folder(prefix: &str) -> Result<(TempDir, Medium), Stop> {
    let builder = || {
        let mut builder = tempfile::Builder::new();
        builder.prefix(prefix);
        builder
    };
    if room_in(Path::new(MEMORY)).is_some_and(|free| free >= ROOM)
        && let Ok(dir) = builder().tempdir_in(MEMORY)
    {
        return Ok((dir, Medium::Memory));
    }
    let dir = builder().tempdir().map_err(Stop::doing("make a folder for temporary files"))?;
    Ok((dir, Medium::Disk))
}

fn room_in(path: &Path) -> Option<u64> {
    let about = rustix::fs::statvfs(path).ok()?;
    Some(about.f_bavail.saturating_mul(about.f_frsize))
}
