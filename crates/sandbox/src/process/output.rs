//! The output file: made, handed to the program, and read behind it.
//!
//! Every byte up to the limit is reported once and in order. One thing is beyond that promise: a program can empty its
//! own output file (`echo … > /dev/stderr` in a shell does). What was read before has been reported; reading goes on
//! at the new beginning.

use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::error::Error;
use super::spec::{Stderr, Stdout};
use super::watch::Watcher;

/// The most bytes that a watcher gets at once: large enough that calls cost nothing, small enough to stay in the cache.
pub const CHUNK: usize = 64 * 1024;

/// Chunks that are read before the clock and the process are looked at again.
const BATCH: usize = 16;

/// Output belongs to its owner: it may hold what the agent was told.
const MODE: u32 = 0o600;

/// The program's side.
pub(super) struct Files {
    pub(super) stdout: File,
    pub(super) stderr: File,
}

/// The harness's side.
#[derive(Debug)]
pub(super) struct Output {
    path: PathBuf,
    file: File,
    /// Where in the file the next byte is.
    offset: u64,
    reported: u64,
    limit: u64,
    stderr: Option<Errors>,
    buffer: Vec<u8>,
}

#[derive(Debug)]
struct Errors {
    path: PathBuf,
    file: File,
    size: u64,
}

/// What a round of reading found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    Nothing,
    /// All that was there.
    Read,
    /// Output, and there is more.
    More,
}

/// The sizes of the files.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    /// Bytes beyond the limit.
    pub(super) excess: u64,
    /// Whether something was written to the error file since the last look.
    pub(super) errors_grew: bool,
}

impl Output {
    pub(super) fn open(stdout: &Stdout, stderr: &Stderr, limit: u64) -> Result<(Self, Files), Error> {
        let (Stdout::Truncate(path) | Stdout::Append(path)) = stdout;
        let (writer, file) = open_both(path).map_err(|source| fault(path, source))?;
        if matches!(stdout, Stdout::Truncate(_)) {
            writer.set_len(0).map_err(|source| fault(path, source))?;
        }
        let offset = file.metadata().map_err(|source| fault(path, source))?.len();
        let (error_writer, errors) = match stderr {
            Stderr::WithStdout => (writer.try_clone().map_err(|source| fault(path, source))?, None),
            Stderr::File(path) => {
                let (writer, file) = open_both(path).map_err(|source| fault(path, source))?;
                writer.set_len(0).map_err(|source| fault(path, source))?;
                (writer, Some(Errors { path: path.clone(), file, size: 0 }))
            }
        };
        let output = Self {
            path: path.clone(),
            file,
            offset,
            reported: 0,
            limit,
            stderr: errors,
            buffer: vec![0; CHUNK],
        };
        Ok((output, Files { stdout: writer, stderr: error_writer }))
    }

    pub(super) fn reported(&self) -> u64 {
        self.reported
    }

    /// Reports what is there, up to a batch.
    pub(super) fn report(&mut self, watcher: &mut dyn Watcher) -> Result<Progress, Error> {
        let mut progress = Progress::Nothing;
        for _ in 0..BATCH {
            let room = usize::try_from(self.limit - self.reported).unwrap_or(usize::MAX).min(CHUNK);
            let count = self.read(room)?;
            if count == 0 {
                return Ok(progress);
            }
            watcher.output(self.offset, &self.buffer[..count]);
            self.offset += count as u64;
            self.reported += count as u64;
            progress = Progress::Read;
        }
        Ok(Progress::More)
    }

    fn read(&mut self, room: usize) -> Result<usize, Error> {
        loop {
            match self.file.read_at(&mut self.buffer[..room], self.offset) {
                Ok(0) if room > 0 && self.offset > 0 && self.size()? < self.offset => self.offset = 0,
                Ok(count) => return Ok(count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(fault(&self.path, source)),
            }
        }
    }

    fn size(&self) -> Result<u64, Error> {
        Ok(self.file.metadata().map_err(|source| fault(&self.path, source))?.len())
    }

    /// Looks at the sizes, which show what was written but is not read yet.
    pub(super) fn measure(&mut self) -> Result<Sizes, Error> {
        let written = self.reported.saturating_add(self.size()?.saturating_sub(self.offset));
        let mut sizes = Sizes { excess: written.saturating_sub(self.limit), errors_grew: false };
        if let Some(errors) = &mut self.stderr {
            let size = errors.file.metadata().map_err(|source| fault(&errors.path, source))?.len();
            sizes.errors_grew = size != errors.size;
            sizes.excess = sizes.excess.max(size.saturating_sub(self.limit));
            errors.size = size;
        }
        Ok(sizes)
    }
}

fn fault(path: &Path, source: io::Error) -> Error {
    Error::Output { path: path.to_owned(), source }
}

/// One handle that appends, for the program, and one that only reads; both of the same file, whatever its name may mean
/// a moment later.
fn open_both(path: &Path) -> io::Result<(File, File)> {
    let no_follow = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    let writer =
        OpenOptions::new().append(true).create(true).mode(MODE).custom_flags(no_follow).open(path)?;
    writer.set_permissions(Permissions::from_mode(MODE))?;
    let reader = File::open(format!("/proc/self/fd/{}", writer.as_raw_fd()))?;
    Ok((writer, reader))
}
