//! The scribe: a process outside that writes down what the program says.
//!
//! A program that had the file of its output itself could empty it, and would by accident: `echo … > /dev/stderr` cuts a file off.
//! So it writes into pipes, and this process copies what comes out of them. It never waits for anybody but the disk, so
//! that a burst does not block the program, and it ends when nobody is left who could write.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::fs::{FileType, fstat};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use rustix::process::{Pid, Signal, WaitOptions, waitpid};

use super::sys::{self, Forked, Namespaces};

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

    /// Outside: starts the scribe.
    pub(super) fn serve(self) -> Result<Scribe, Errno> {
        let Self { output: (output, _), errors } = self;
        let errors = errors.map(|(read, _)| read);
        match sys::clone(Namespaces::Inherited)? {
            Forked::Parent(scribe) => Ok(Scribe(scribe)),
            Forked::Child => {
                let mut kept = vec![output.as_fd()];
                kept.extend(errors.as_ref().map(AsFd::as_fd));
                sys::close_all_but(&kept);
                copy(&kept);
                sys::exit(0)
            }
        }
    }
}

fn pipe() -> Result<(OwnedFd, OwnedFd), Errno> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    // Users have only so many pages for pipes; a smaller one is as good, only slower.
    let _ = fcntl_setpipe_size(&write, PIPE);
    Ok((read, write))
}

/// Copies until nobody can write any more.
fn copy(sources: &[BorrowedFd<'_>]) {
    let (output, errors) = (std::io::stdout(), std::io::stderr());
    let mut open: Vec<(BorrowedFd<'_>, BorrowedFd<'_>)> =
        sources.iter().copied().zip([output.as_fd(), errors.as_fd()]).collect();
    let mut piece = vec![0; PIECE];
    while !open.is_empty() {
        let mut fds: Vec<PollFd<'_>> =
            open.iter().map(|(from, _)| PollFd::from_borrowed_fd(*from, PollFlags::IN)).collect();
        if !matches!(rustix::event::poll(&mut fds, None), Ok(_) | Err(Errno::INTR)) {
            return;
        }
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        let mut ready = ready.into_iter();
        open.retain(|(from, to)| !ready.next().unwrap_or(false) || pass(*from, *to, &mut piece));
    }
}

/// Copies what is there. Says whether more may come. What a full disk does not take is dropped: the program must not hang.
fn pass(from: BorrowedFd<'_>, to: BorrowedFd<'_>, piece: &mut [u8]) -> bool {
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

/// The process that writes.
pub(super) struct Scribe(Pid);

impl Scribe {
    /// Waits until everything is written.
    pub(super) fn finish(&self) {
        let until = Instant::now() + LAST_WORDS;
        while matches!(waitpid(Some(self.0), WaitOptions::NOHANG), Ok(None)) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let _ = sys::wait_signal_for(&[Signal::CHILD], left.min(Duration::from_millis(100)));
        }
    }
}
