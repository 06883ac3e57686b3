//! The scribe: the helper's second task, to write down what the program says.
//!
//! A program that had the file of its output itself could empty it, and would by accident: `echo … > /dev/stderr` cuts a file off.
//! So it writes into pipes, and the helper copies what comes out of them. It never waits for anybody but the disk, so that a burst
//! does not block the program.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{FileType, fstat};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};

use super::sys;

/// What a pipe holds before its writer has to wait: the most that users may ask for.
const PIPE: usize = 1024 * 1024;
/// What is copied at a time.
const PIECE: usize = 64 * 1024;
/// How long the last words may take to get to the disk after everybody is gone.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// The program's output and errors on their way to the files that are this process's own.
pub(super) struct Streams {
    output: (OwnedFd, OwnedFd),
    /// None if they go to the same file.
    errors: Option<(OwnedFd, OwnedFd)>,
}

impl Streams {
    /// Pipes for a program whose output goes to files; none where it goes to a terminal or to somebody else's pipe.
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

    /// Inside: takes the writing ends as the standard streams.
    pub(super) fn take(self) -> Result<(), Errno> {
        let errors = self.errors.as_ref().map_or(&self.output.1, |(_, write)| write);
        sys::become_output(&self.output.1, errors)
    }

    /// Outside: takes the reading ends.
    pub(super) fn scribe(self) -> Scribe {
        let Self { output: (output, _), errors } = self;
        let errors = errors.map(|(read, _)| (read, Stream::Errors));
        let open = [(output, Stream::Output)].into_iter().chain(errors).collect();
        Scribe { open, piece: vec![0; PIECE] }
    }
}

fn pipe() -> Result<(OwnedFd, OwnedFd), Errno> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    // Users have only so many pages for pipes; a smaller one is as good, only slower.
    let _ = fcntl_setpipe_size(&write, PIPE);
    Ok((read, write))
}

/// Who had something to do.
#[derive(PartialEq, Eq)]
enum Woken {
    Scribe,
    Other,
}

/// What is still to be written down.
#[derive(Default)]
pub(super) struct Scribe {
    /// Where something may still come from, and where it goes.
    open: Vec<(OwnedFd, Stream)>,
    piece: Vec<u8>,
}

/// The helper's own standard streams.
#[derive(Clone, Copy)]
enum Stream {
    Output,
    Errors,
}

impl Scribe {
    /// Writes down what comes until `other` can be read.
    pub(super) fn until(&mut self, other: BorrowedFd<'_>) {
        // Without the means to wait for both, `other` is waited for by whoever asked.
        while self.step(Some(other), None) == Ok(Woken::Scribe) {}
    }

    /// Sleeps until something can be written down, and does so, or until `other` can be read; not longer than `limit`.
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

    /// Writes down the last words of a program of which nobody is left.
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

/// Copies what is there. Says whether more may come. What a full disk does not take is dropped: the program must not hang.
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
