//! Runs short commands, such as git, and captures their output in memory.
//!
//! Uses one `posix_spawn`, two pipes and one `poll` loop: no thread, no temporary file. Input is written to a memfd
//! before the program starts, so no writer can block.
#![allow(clippy::disallowed_methods, reason = "this is the module that spawns")]

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::fs::{Access, MemfdFlags, access, memfd_create};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Pid;

use super::error::Error;
use super::exit::Exit;
use super::ladder::Ladder;
use super::spawn::{Spawner, Wanted};
use super::tree::Tree;
use super::watch::poll;
use super::{lookup, output};

/// Maximum number of bytes to keep of stdout and of stderr: far more than any answer that is parsed as a whole.
pub const CAPTURE_OUTPUT: usize = 64 * 1024 * 1024;

/// A command to run.
#[derive(Debug, Clone)]
pub struct Call {
    /// A path, or a name to look up in the `PATH` of [`Call::env`].
    pub program: OsString,
    /// Arguments, without the program name.
    pub args: Vec<OsString>,
    /// Working directory.
    pub cwd: PathBuf,
    /// The complete environment; nothing is inherited.
    pub env: Vec<(OsString, OsString)>,
    /// Content of stdin; empty if `None`.
    pub input: Option<Vec<u8>>,
    /// Timeout.
    pub limit: Duration,
    /// Whether to run it through the helper.
    pub guard: Guard,
}

/// Whether a program is trusted to end the processes it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// Start it directly, in a process group that is killed on timeout.
    Trusted,
    /// Start it through the helper. No process of it is left when the call returns.
    Contained,
}

/// The result of a [`Call`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    /// How the program ended.
    pub exit: Exit,
    /// Its stdout, cut after [`CAPTURE_OUTPUT`] bytes.
    pub stdout: Vec<u8>,
    /// Its stderr, cut at the same limit.
    pub stderr: Vec<u8>,
}

impl Spawner {
    /// Runs a program until it ends or times out.
    pub fn capture(&self, call: &Call) -> Result<Captured, Error> {
        let started = Instant::now();
        let (tree, streams) = match call.guard {
            Guard::Trusted => start_trusted(call)?,
            Guard::Contained => self.start_contained(call, None)?,
        };
        collect(tree, streams, call.limit, started)
    }

    /// Like [`Spawner::capture`], in the sandbox of a policy.
    pub fn capture_in(&self, call: &Call, policy: &Path) -> Result<Captured, Error> {
        let started = Instant::now();
        let (tree, streams) = self.start_contained(call, Some(policy))?;
        collect(tree, streams, call.limit, started)
    }

    fn start_contained(&self, call: &Call, policy: Option<&Path>) -> Result<(Tree, Streams), Error> {
        let input = call.input.as_deref().map(|input| memory_file(call, input)).transpose()?;
        // The helper opens this path before it leaves the harness's namespaces. `input` must stay open until then.
        let stdin = match &input {
            Some(file) => PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd())),
            None => PathBuf::from("/dev/null"),
        };
        let wanted = Wanted {
            program: &call.program,
            args: &call.args,
            cwd: &call.cwd,
            env: &call.env,
            stdin: &stdin,
            policy,
        };
        let (stdout, their_stdout) = pipe_with(PipeFlags::CLOEXEC)?;
        let (stderr, their_stderr) = pipe_with(PipeFlags::CLOEXEC)?;
        let (tree, _) = self.start(&wanted, their_stdout, their_stderr)?;
        Ok((tree, Streams { stdout: Some(stdout), stderr: Some(stderr) }))
    }
}

fn start_trusted(call: &Call) -> Result<(Tree, Streams), Error> {
    // Look the program up here: with a changed environment, the standard library would fork to do it, which is slow.
    let program = find(call)?;
    let mut command = Command::new(&program);
    command.args(&call.args).current_dir(&call.cwd);
    command.env_clear().envs(call.env.iter().map(|(name, value)| (name, value)));
    command.process_group(0);
    command.stdin(match call.input.as_deref() {
        Some(input) => memory_file(call, input)?.into(),
        None => Stdio::null(),
    });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|source| blame(call, program, source))?;
    let streams = Streams {
        stdout: child.stdout.take().map(OwnedFd::from),
        stderr: child.stderr.take().map(OwnedFd::from),
    };
    Ok((Tree::adopt(Pid::from_child(&child), Guard::Trusted)?, streams))
}

fn find(call: &Call) -> Result<PathBuf, Error> {
    let path = call.env.iter().rfind(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
    let candidates = lookup::candidates(&call.program, path);
    if let [only] = candidates.as_slice() {
        return Ok(only.clone());
    }
    candidates
        .into_iter()
        .find(|file| file.is_file() && access(file, Access::EXEC_OK).is_ok())
        .ok_or_else(|| Error::ProgramMissing { program: call.program.clone().into() })
}

/// The kernel returns ENOENT for a missing program and for a missing working directory. Finds out which of them is
/// missing.
fn blame(call: &Call, program: PathBuf, source: io::Error) -> Error {
    if let Err(source) = std::fs::read_dir(&call.cwd) {
        return Error::Cwd { path: call.cwd.clone(), source };
    }
    let there = access(call.cwd.join(&program), Access::EXISTS).is_ok();
    if there { Error::ProgramNotExecutable { program, source } } else { Error::ProgramMissing { program } }
}

/// Creates a memfd without close-on-exec, to pass data that must be in neither an argument nor a variable. Every
/// program started while it is open inherits it, so drop it as soon as its reader has ended.
pub fn inherited(content: &[u8]) -> io::Result<File> {
    let mut file = File::from(memfd_create("inherited", MemfdFlags::empty())?);
    file.write_all(content)?;
    Ok(file)
}

fn memory_file(call: &Call, input: &[u8]) -> Result<File, Error> {
    let make = || -> io::Result<File> {
        let mut file = File::from(memfd_create("input", MemfdFlags::CLOEXEC)?);
        file.write_all(input)?;
        file.rewind()?;
        Ok(file)
    };
    make().map_err(|source| Error::Stdin { program: call.program.clone().into(), source })
}

/// Our ends of a child's pipes.
struct Streams {
    stdout: Option<OwnedFd>,
    stderr: Option<OwnedFd>,
}

/// One of the two pipes, and the data read from it. `pipe` is `None` after end of file.
struct Stream {
    pipe: Option<File>,
    bytes: Vec<u8>,
}

#[derive(PartialEq, Eq)]
enum Room {
    Left,
    Full,
}

impl Stream {
    fn new(pipe: Option<OwnedFd>) -> Self {
        Self { pipe: pipe.map(File::from), bytes: Vec::new() }
    }

    /// Reads once. Does not block because `poll` reported data. Beyond the limit, discards what it reads.
    fn read(&mut self, buffer: &mut [u8]) -> Result<Room, Error> {
        let Some(pipe) = &mut self.pipe else { return Ok(Room::Left) };
        match pipe.read(buffer) {
            Ok(0) => self.pipe = None,
            Ok(count) => {
                let room = CAPTURE_OUTPUT - self.bytes.len();
                self.bytes.extend_from_slice(&buffer[..count.min(room)]);
                if count > room {
                    return Ok(Room::Full);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
        Ok(Room::Left)
    }
}

/// Reads both pipes until the program has ended and the pipes are empty. Does not wait for end of file: a background
/// process may hold them open forever.
fn collect(tree: Tree, streams: Streams, limit: Duration, started: Instant) -> Result<Captured, Error> {
    let mut streams = [Stream::new(streams.stdout), Stream::new(streams.stderr)];
    let mut buffer = vec![0; output::CHUNK];
    let mut ladder = Ladder::new(Duration::ZERO);
    let mut reason = None;
    loop {
        let [ended, ready @ ..] = wait(&tree, &streams, next_moment(&ladder, limit, started))?;
        for (stream, ready) in streams.iter_mut().zip(ready) {
            if ready && stream.read(&mut buffer)? == Room::Full {
                reason.get_or_insert(Exit::OutputLimit { limit: CAPTURE_OUTPUT as u64 });
            }
        }
        if ended && (reason.is_some() || !ready.contains(&true)) {
            let [stdout, stderr] = streams.map(|stream| stream.bytes);
            let exit = tree.reap()?.exit;
            return Ok(Captured { exit: reason.unwrap_or(exit), stdout, stderr });
        }
        let now = Instant::now();
        if now.duration_since(started) >= limit {
            reason.get_or_insert(Exit::TimedOut { limit });
        }
        if reason.is_some() {
            ladder.force(&tree, now);
            ladder.climb(&tree, now)?;
        }
    }
}

fn next_moment(ladder: &Ladder, limit: Duration, started: Instant) -> Duration {
    let now = Instant::now();
    match limit.saturating_sub(now.duration_since(started)) {
        Duration::ZERO => ladder.left(now),
        left => left.min(ladder.left(now)),
    }
}

/// Waits for output, the end of the process or `limit`. Returns which of process, stdout and stderr are ready.
fn wait(tree: &Tree, streams: &[Stream; 2], limit: Duration) -> Result<[bool; 3], Error> {
    let mut fds = vec![PollFd::from_borrowed_fd(tree.pidfd(), PollFlags::IN)];
    fds.extend(
        streams.iter().filter_map(|stream| stream.pipe.as_ref()).map(|pipe| PollFd::new(pipe, PollFlags::IN)),
    );
    poll(&mut fds, limit)?;
    let mut ready = fds.iter().map(|fd| !fd.revents().is_empty());
    let mut take = || ready.next().unwrap_or(false);
    let ended = take();
    Ok([ended, streams[0].pipe.is_some() && take(), streams[1].pipe.is_some() && take()])
}
