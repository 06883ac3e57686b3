//! Copies the program's output to its files; the helper's second job.
//!
//! A program that had its output file open could truncate it, even by accident: `echo … > /dev/stderr` does. So it
//! writes to pipes, and the helper copies from them. The helper blocks on nothing but the disk, so a burst does not
//! block the program.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{FileType, fstat};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};

use super::sys;

/// Pipe capacity: the most that unprivileged users may set.
const PIPE: usize = 1024 * 1024;
/// Size of the copy buffer.
const PIECE: usize = 64 * 1024;
/// Time limit for copying the remaining output after all processes are gone.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// Pipes for the program's stdout and stderr. The files are this process's own stdout and stderr.
pub(super) struct Streams {
    output: (OwnedFd, OwnedFd),
    /// `None` if both go to the same file.
    errors: Option<(OwnedFd, OwnedFd)>,
}

impl Streams {
    /// Creates pipes if stdout and stderr are files. `None` for a terminal or another process's pipe.
    pub(super) fn new() -> Result<Option<Self>, Errno> {
        let (output, errors) = (std::io::stdout(), std::io::stderr());
        let (one, two) = (fstat(output.as_fd())?, fstat(errors.as_fd())?);
        let is_file = |mode| FileType::from_raw_mode(mode) == FileType::RegularFile;
        if !is_file(one.st_mode) || !is_file(two.st_mode) {
            return Ok(None);
        }
        let same = (one.st_dev, one.st_ino) == (two.st_dev, two.st_ino);
        let errors = if same { None } else { Some(pipe()?) };
        Ok(Some(Self { output: pipe()?, errors }))
    }

    /// Inside: makes the write ends stdout and stderr.
    pub(super) fn take(self) -> Result<(), Errno> {
        let errors = self.errors.as_ref().map_or(&self.output.1, |(_, write)| write);
        sys::become_output(&self.output.1, errors)
    }

    /// Outside: takes the read ends.
    pub(super) fn scribe(self) -> Scribe {
        let Self { output: (output, _), errors } = self;
        let errors = errors.map(|(read, _)| (read, Stream::Errors));
        let open = [(output, Stream::Output)].into_iter().chain(errors).collect();
        Scribe { open, piece: vec![0; PIECE] }
    }
}

fn pipe() -> Result<(OwnedFd, OwnedFd), Errno> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    // Users have a limited number of pages for pipes. A smaller pipe works too, only slower.
    let _ = fcntl_setpipe_size(&write, PIPE);
    Ok((read, write))
}

/// The event that woke the helper up.
#[derive(PartialEq, Eq)]
enum Woken {
    Scribe,
    Other,
}

/// Copies the program's output.
#[derive(Default)]
pub(super) struct Scribe {
    /// Pipes that may still deliver output, and where it goes.
    open: Vec<(OwnedFd, Stream)>,
    piece: Vec<u8>,
}

/// The helper's own stdout or stderr.
#[derive(Clone, Copy)]
enum Stream {
    Output,
    Errors,
}

impl Scribe {
    /// Copies output until `other` is readable.
    pub(super) fn until(&mut self, other: BorrowedFd<'_>) {
        // If polling fails, return: the caller waits for `other` itself.
        while self.step(Some(other), None) == Ok(Woken::Scribe) {}
    }

    /// Waits until there is output and copies it, or until `other` is readable, for at most `limit`.
    fn step(&mut self, other: Option<BorrowedFd<'_>>, limit: Option<&Timespec>) -> Result<Woken, Errno> {
        let descriptors = self.open.iter().map(|(from, _)| from.as_fd()).chain(other);
        let mut fds: Vec<PollFd<'_>> =
            descriptors.map(|from| PollFd::from_borrowed_fd(from, PollFlags::IN)).collect();
        match rustix::event::poll(&mut fds, limit) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(Woken::Scribe),
            Err(errno) => return Err(errno),
        }
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        let mut ready = ready.into_iter();
        let mut is_ready = || ready.next().unwrap_or(false);
        self.open.retain(|(from, to)| !is_ready() || pass(from.as_fd(), *to, &mut self.piece));
        Ok(if is_ready() { Woken::Other } else { Woken::Scribe })
    }

    /// Copies the remaining output after all processes are gone.
    pub(super) fn finish(mut self) {
        let until = Instant::now() + LAST_WORDS;
        while !self.open.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            let limit = Timespec::try_from(left).unwrap_or_default();
            if left.is_zero() || self.step(None, Some(&limit)).is_err() {
                return;
            }
        }
    }
}

/// Copies the available data, and returns whether more may come. Drops data that a full disk does not accept: the
/// program must not block.
fn pass(from: BorrowedFd<'_>, to: Stream, piece: &mut [u8]) -> bool {
    let (output, errors) = (std::io::stdout(), std::io::stderr());
    let to = match to {
        Stream::Output => output.as_fd(),
        Stream::Errors => errors.as_fd(),
    };
    match rustix::io::read(from, &mut *piece) {
        Ok(0) => false,
        Ok(length) => {
            let mut rest = &piece[..length];
            while !rest.is_empty() {
                match rustix::io::write(to, rest) {
                    Ok(written) => rest = &rest[written..],
                    Err(Errno::INTR) => {}
                    Err(_) => break,
                }
            }
            true
        }
        Err(Errno::INTR | Errno::AGAIN) => true,
        Err(_) => false,
    }
}
