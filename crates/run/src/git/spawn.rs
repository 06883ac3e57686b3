//! How a git process is started: one function, bounded in time and in output.
#![allow(clippy::disallowed_methods, reason = "stands in for run::process until that can capture short helpers")]

use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::call::STDERR_KEPT;
use super::{Error, Output};

/// A call with everything decided.
pub(super) struct Request<'a> {
    pub(super) program: &'a OsString,
    pub(super) verb: &'a str,
    pub(super) args: &'a [OsString],
    pub(super) env: &'a [(OsString, OsString)],
    pub(super) directory: &'a Path,
    pub(super) input: &'a [u8],
    pub(super) time_limit: Duration,
    pub(super) output_limit: usize,
}

/// Runs it to its end, or ends it at a limit.
pub(super) fn run(request: &Request<'_>) -> Result<Output, Error> {
    let stdin = if request.input.is_empty() { Stdio::null() } else { Stdio::piped() };
    let mut child = Command::new(request.program)
        .args(request.args)
        .env_clear()
        .envs(request.env.iter().map(|(name, value)| (name, value)))
        .current_dir(request.directory)
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(Error::Start)?;
    let result = talk(&mut child, request);
    if result.is_err() {
        // Already gone is as good as killed.
        let _ = child.kill();
    }
    let status = child.wait().map_err(Error::Start)?;
    let (stdout, stderr) = result?;
    Ok(Output { code: status.code(), stdout, stderr: String::from_utf8_lossy(&stderr).into_owned() })
}

/// Feeds and drains the three pipes together, so that neither side waits for the other for ever.
fn talk(child: &mut Child, request: &Request<'_>) -> Result<(Vec<u8>, Vec<u8>), Error> {
    let deadline = Instant::now() + request.time_limit;
    let mut input = request.input;
    let mut stdin = child.stdin.take();
    if let Some(pipe) = &stdin {
        rustix::io::ioctl_fionbio(pipe, true).map_err(|e| Error::Start(e.into()))?;
    }
    let mut out = child.stdout.take();
    let mut err = child.stderr.take();
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let mut buffer = [0; 16 << 10];
    while out.is_some() || err.is_some() || stdin.is_some() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Error::TimedOut { verb: request.verb.to_owned(), limit: request.time_limit });
        }
        let (mut at_in, mut at_out, mut at_err) = (false, false, false);
        {
            let mut fds = Vec::with_capacity(3);
            let mut marks = Vec::with_capacity(3);
            if let Some(pipe) = &stdin {
                fds.push(PollFd::new(pipe, PollFlags::OUT));
                marks.push(&mut at_in);
            }
            if let Some(pipe) = &out {
                fds.push(PollFd::new(pipe, PollFlags::IN));
                marks.push(&mut at_out);
            }
            if let Some(pipe) = &err {
                fds.push(PollFd::new(pipe, PollFlags::IN));
                marks.push(&mut at_err);
            }
            let timeout = Timespec::try_from(left).ok();
            match poll(&mut fds, timeout.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(Error::Start(e.into())),
            }
            for (fd, mark) in fds.iter().zip(marks) {
                *mark = !fd.revents().is_empty();
            }
        }
        if at_in && let Some(pipe) = &mut stdin {
            match pipe.write(input) {
                Ok(n) => input = &input[n..],
                Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {}
                // It stopped reading: its exit code says why.
                Err(_) => input = &[],
            }
            if input.is_empty() {
                stdin = None;
            }
        }
        if at_out && let Some(pipe) = &mut out {
            match pipe.read(&mut buffer).map_err(Error::Start)? {
                0 => out = None,
                n => stdout.extend_from_slice(&buffer[..n]),
            }
            if stdout.len() > request.output_limit {
                let verb = request.verb.to_owned();
                return Err(Error::TooMuchOutput { verb, limit: request.output_limit });
            }
        }
        if at_err && let Some(pipe) = &mut err {
            match pipe.read(&mut buffer).map_err(Error::Start)? {
                0 => err = None,
                n => stderr.extend_from_slice(&buffer[..n.min(STDERR_KEPT.saturating_sub(stderr.len()))]),
            }
        }
    }
    Ok((stdout, stderr))
}
