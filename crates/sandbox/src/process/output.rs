//! Output files: creates them, passes them to the program, and tails them.
//!
//! Reports every byte up to the limit once and in order, with one exception: a program can truncate its own output
//! file (`echo … > /dev/stderr` in a shell does). Data read before that has been reported; reading continues at
//! the new start.

use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::error::Error;
use super::spec::{Stderr, Stdout};
use super::watch::Watcher;

/// The most bytes passed to a watcher at once: large enough to make calls cheap, small enough to stay in the CPU
/// cache.
pub const CHUNK: usize = 64 * 1024;

/// Number of chunks to read before checking the clock and the process again.
const BATCH: usize = 16;

/// Only the owner may read output: it may contain what the agent was told.
const MODE: u32 = 0o600;

/// The program's ends of the output files.
pub(super) struct Files {
    pub(super) stdout: File,
    pub(super) stderr: File,
}

/// The harness's ends of the output files.
#[derive(Debug)]
pub(super) struct Output {
    path: PathBuf,
    file: File,
    /// Offset of the next byte to read.
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

/// The result of one round of reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    Nothing,
    /// Read everything there was.
    Read,
    /// Read some output; there is more.
    More,
}

/// Sizes of the output files.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    /// Bytes written beyond the limit.
    pub(super) excess: u64,
    /// Whether stderr grew since the last check.
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

    /// Passes new output to the watcher, up to one batch.
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

    /// Checks the file sizes, which include output that was not read yet.
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

/// Opens a file once for appending (for the program) and once read-only. Both refer to the same file, even if its
/// path is replaced meanwhile.
fn open_both(path: &Path) -> io::Result<(File, File)> {
    let no_follow = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    let writer =
        OpenOptions::new().append(true).create(true).mode(MODE).custom_flags(no_follow).open(path)?;
    writer.set_permissions(Permissions::from_mode(MODE))?;
    let reader = File::open(format!("/proc/self/fd/{}", writer.as_raw_fd()))?;
    Ok((writer, reader))
}
