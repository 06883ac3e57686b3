//! Limits a program to the commands that its policy lists.
//!
//! The kernel stops every `execve` of the program and its descendants (seccomp user notification) and asks init, which
//! knows the process tree. Allowed are:
//!
//! - the program itself, its own files, and shells
//! - a listed command
//! - everything that a listed command starts: `cargo test` needs compilers, linkers and the tests
//!
//! Everything else fails with `EACCES`, and its stderr gives the reason. A shell outside of a listed command can still
//! use its builtins (`echo x > file`), and so can the program: the list restricts commands, while the other walls
//! restrict files and hosts.
//!
//! A process is free from the moment at which it *has become* a listed command, not from the request: a shell whose
//! `exec` failed is still a shell. A process whose parents have ended is free only if it became a listed command
//! itself.
//!
//! Init reads arguments from the memory of the caller. Machine code could change them after the check, so this wall
//! does not hold against a program that attacks it. It holds against a model, which can only ask for commands.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileExt;
use std::path::{Component, Path, PathBuf};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, open, openat2};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use super::super::lookup;
use super::super::procfs::Stat;
use super::kernel::{self, Answer, Call};
use crate::sandbox::Commands;

/// Names of shells. Agents run every command through one.
const SHELLS: [&str; 9] = ["sh", "ash", "bash", "dash", "fish", "ksh", "mksh", "yash", "zsh"];
/// Folders of shells, in addition to those of `PATH`.
const SHELL_FOLDERS: [&str; 4] = ["/bin", "/usr/bin", "/usr/local/bin", "/run/current-system/sw/bin"];
/// Maximum length of a path or argument to read: the kernel's limit for a path.
const LONGEST: usize = 4096;
/// Maximum number of ancestors to look at.
const DEEPEST: usize = 256;
/// Size of the record of refused commands beyond which nothing is added.
const RECORDED: i64 = 64 * 1024;
/// Number of remembered processes beyond which ended ones are forgotten.
const REMEMBERED: usize = 1024;

/// Answers the program's requests to execute something.
pub(super) struct Guard {
    listener: Option<OwnedFd>,
    rules: Rules,
    noted: Option<PathBuf>,
    /// The program's first process.
    first: Option<Process>,
    /// Processes that were allowed to become a listed command or one of its descendants.
    free: Known,
    /// Processes that became a shell outside of a listed command.
    shells: Known,
    /// Processes that became a script of the program. It becomes its interpreter with the next execution.
    own: Known,
}

/// A process. The start time distinguishes it from a later one with the same pid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Process {
    pid: i32,
    started: u64,
    /// Start of its stack. Changes with each successful execution.
    stack: u64,
}

/// Processes that were allowed to become something.
#[derive(Default)]
struct Known {
    /// Processes, each with its identity before the execution.
    processes: BTreeMap<i32, Process>,
    /// Size at which to forget those that ended.
    full: usize,
}

/// A request to execute a file.
struct Request {
    /// The path as the caller wrote it.
    path: PathBuf,
    /// The file, without symlinks.
    file: PathBuf,
    words: Vec<OsString>,
}

/// The origin of a request.
struct Origin {
    /// From the caller up to the child of init.
    lineage: Vec<Process>,
    /// The file that the caller executes at present.
    image: PathBuf,
}

/// The kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A part of the program.
    Own,
    /// A shell, whose own commands are restricted.
    Shell,
    /// A listed command, or a program that one starts.
    Free,
    /// Not allowed.
    Refused,
}

/// The allowed commands of the policy. Files were looked up before the program could change any.
struct Rules {
    listed: Vec<Listed>,
    own: Vec<PathBuf>,
    shells: BTreeSet<PathBuf>,
}

struct Listed {
    program: String,
    words: Vec<String>,
    /// The files that `program` referred to at the start; empty if none existed.
    files: BTreeSet<PathBuf>,
}

impl Guard {
    pub(super) fn new(listener: OwnedFd, commands: &Commands, cwd: &Path, path: Option<&OsStr>) -> Self {
        Self {
            listener: Some(listener),
            rules: Rules::new(commands, cwd, path),
            noted: commands.noted.clone(),
            first: None,
            free: Known::default(),
            shells: Known::default(),
            own: Known::default(),
        }
    }

    /// Answers requests until a signal is pending or `due` has passed.
    pub(super) fn until(&mut self, signals: BorrowedFd<'_>, due: Option<Instant>) {
        loop {
            // A program with constant requests must not delay other work.
            if due.is_some_and(|due| Instant::now() >= due) {
                return;
            }
            let left = due.map(|due| due.saturating_duration_since(Instant::now()));
            let timeout = left.and_then(|left| Timespec::try_from(left).ok());
            let mut polled = vec![PollFd::from_borrowed_fd(signals, PollFlags::IN)];
            if let Some(listener) = &self.listener {
                polled.push(PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN));
            }
            match poll(&mut polled, timeout.as_ref()) {
                Ok(0) => return,
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => {
                    // An unanswered request would block the program forever. Without a listener, all executions fail.
                    self.listener = None;
                    return;
                }
            }
            let signalled = !polled[0].revents().is_empty();
            let asked = polled.get(1).map_or(PollFlags::empty(), PollFd::revents);
            drop(polled);
            if asked.contains(PollFlags::IN) {
                self.answer();
            } else if !asked.is_empty() {
                // No process of the program is left.
                self.listener = None;
            }
            if signalled {
                return;
            }
        }
    }

    fn answer(&mut self) {
        let Some(listener) = &self.listener else { return };
        let Ok(call) = kernel::next_call(listener) else { return };
        let answer = self.judge(&call);
        if let Some(listener) = &self.listener {
            kernel::answer_call(listener, &call, answer);
        }
    }

    /// Returns whether the caller still waits for the answer. If not, its pid can belong to another process by now.
    fn waits(&self, call: &Call) -> bool {
        self.listener.as_ref().is_some_and(|listener| kernel::is_waiting(listener, call))
    }

    fn judge(&mut self, call: &Call) -> Answer {
        let Some(origin) = Origin::of(call) else { return Answer::Refuse(Errno::ACCESS) };
        let caller = origin.lineage[0];
        let first = *self.first.get_or_insert(caller);
        if caller.is(first) {
            // It becomes the program, or a wrapper becomes the wrapped program.
            return Answer::Continue;
        }
        if origin.lineage.iter().any(|process| self.free.has(*process)) {
            return Answer::Continue;
        }
        let request = match Request::of(call, &origin.image) {
            Ok(request) => request,
            // The kernel would return the same error, unless the file appeared meanwhile.
            Err(errno) => return Answer::Refuse(errno),
        };
        if !self.waits(call) {
            return Answer::Refuse(Errno::SRCH);
        }
        let kind = self.kind(&origin, &request);
        match kind {
            Kind::Own if request.is_script() => self.own.add(caller),
            Kind::Own => self.own.remove(caller),
            Kind::Shell => {
                self.own.remove(caller);
                self.shells.add(caller);
            }
            Kind::Free => self.free.add(caller),
            Kind::Refused => {
                self.explain(call, &request);
                return Answer::Refuse(Errno::ACCESS);
            }
        }
        Answer::Continue
    }

    fn kind(&self, origin: &Origin, request: &Request) -> Kind {
        let lineage = &origin.lineage;
        if self.rules.lists(request) {
            return Kind::Free;
        }
        if self.rules.is_shell(request) {
            return Kind::Shell;
        }
        if self.rules.is_own(&request.file) || self.own.has(lineage[0]) {
            return Kind::Own;
        }
        let orphaned = !self.first.is_some_and(|first| lineage.iter().any(|process| process.is(first)));
        let in_shell = orphaned || lineage.iter().any(|process| self.shells.was(*process));
        let runs_shell = self.rules.shells.contains(&origin.image);
        // The program may start itself again, and a wrapper script may start the wrapped program.
        if !in_shell && (runs_shell || request.file == origin.image) {
            return Kind::Own;
        }
        Kind::Refused
    }

    /// Reports the refusal on the caller's stderr, and records it.
    fn explain(&self, call: &Call, request: &Request) {
        let words: Vec<_> = request.words.iter().map(|word| word.to_string_lossy()).collect();
        let listed: Vec<_> = self.rules.listed.iter().map(Listed::to_string).collect();
        let clean = |text: &str| text.replace(|letter: char| letter.is_control(), " ");
        let command: String = clean(&words.join(" ")).chars().take(120).collect();
        let line = format!("acquit: this stage may not run `{command}`. It may run: {}\n", listed.join(", "));
        tell(call.pid, line.as_bytes());
        if let Some(noted) = &self.noted {
            record(noted, &format!("ran `{command}`, which is not among the commands of this stage\n"));
        }
    }
}

/// Adds a line to a file that the program could replace by anything.
fn record(file: &Path, line: &str) {
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = flags | OFlags::CLOEXEC;
    let Ok(file) = openat2(CWD, file, flags, Mode::RUSR | Mode::WUSR, ResolveFlags::NO_SYMLINKS) else {
        return;
    };
    let is_fit = fstat(&file).is_ok_and(|stat| {
        FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && stat.st_size < RECORDED
    });
    if is_fit {
        let _ = rustix::io::write(&file, line.as_bytes());
    }
}

/// Writes to the stderr of a process, if that does not block.
fn tell(pid: i32, line: &[u8]) {
    let process = Pid::from_raw(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    let stderr = process.and_then(|process| pidfd_getfd(process, 2, PidfdGetfdFlags::empty()).ok());
    let Some(stderr) = stderr else { return };
    let kind = fstat(&stderr).map(|stat| FileType::from_raw_mode(stat.st_mode));
    match kind {
        Ok(FileType::Fifo) => {
            // Open it again: the flag for non-blocking writes is shared with the program.
            let again = format!("/proc/self/fd/{}", stderr.as_raw_fd());
            let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
            if let Ok(pipe) = open(again, flags, Mode::empty()) {
                let _ = rustix::io::write(&pipe, line);
            }
        }
        Ok(FileType::Socket) => {
            let _ = send(stderr, line, SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
        }
        _ => {}
    }
}

impl Process {
    /// Returns whether it is the same process, regardless of the program that it executes.
    fn is(self, other: Self) -> bool {
        self.pid == other.pid && self.started == other.started
    }
}

impl Known {
    fn add(&mut self, process: Process) {
        self.processes.insert(process.pid, process);
        if self.processes.len() >= self.full.max(REMEMBERED) {
            self.processes.retain(|pid, known| status(*pid).is_some_and(|(process, _)| process.is(*known)));
            self.full = self.processes.len() * 2;
        }
    }

    fn remove(&mut self, process: Process) {
        self.processes.remove(&process.pid);
    }

    /// Returns whether the process executed the program that it was allowed to execute.
    fn has(&self, process: Process) -> bool {
        self.processes
            .get(&process.pid)
            .is_some_and(|known| process.is(*known) && process.stack != known.stack)
    }

    /// Returns whether the process was allowed to become it, whether or not it did.
    fn was(&self, process: Process) -> bool {
        self.processes.get(&process.pid).is_some_and(|known| process.is(*known))
    }
}

/// Returns a process and the pid of its parent.
fn status(pid: i32) -> Option<(Process, i32)> {
    let stat = Stat::of(pid).ok().flatten()?;
    Some((Process { pid, started: stat.start, stack: stat.stack }, stat.parent))
}

impl Origin {
    fn of(call: &Call) -> Option<Self> {
        // The caller can be a thread.
        let about = fs::read_to_string(format!("/proc/{}/status", call.pid)).ok()?;
        let group = about.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()?;
        let mut lineage = Vec::new();
        let mut next = group;
        while next > 1 && lineage.len() < DEEPEST {
            let Some((process, parent)) = status(next) else { break };
            lineage.push(process);
            next = parent;
        }
        // The kernel hides it for the first process until it has become the program.
        let image = fs::read_link(format!("/proc/{group}/exe")).unwrap_or_default();
        (!lineage.is_empty()).then_some(Self { lineage, image })
    }
}

impl Request {
    fn of(call: &Call, image: &Path) -> Result<Self, Errno> {
        let memory = File::open(format!("/proc/{}/mem", call.pid)).map_err(|_| Errno::ACCESS)?;
        let path = PathBuf::from(text(&memory, call.path)?);
        let place = match call.folder {
            None => format!("/proc/{}/cwd", call.pid),
            Some(descriptor) => format!("/proc/{}/fd/{descriptor}", call.pid),
        };
        let file = if ITSELF.iter().any(|itself| path == Path::new(itself)) {
            image.to_owned()
        } else if path.as_os_str().is_empty() {
            fs::read_link(place).map_err(|_| Errno::ACCESS)?
        } else {
            resolve(&place, &path)?
        };
        let mut words = Vec::new();
        let mut at = call.words;
        while words.len() < WORDS && at != 0 {
            let mut pointer = [0; POINTER];
            memory.read_exact_at(&mut pointer, at).map_err(|_| Errno::FAULT)?;
            match u64::from_ne_bytes(pointer) {
                0 => break,
                word => words.push(text(&memory, word)?),
            }
            at += POINTER as u64;
        }
        Ok(Self { path, file, words })
    }

    /// Returns whether the file is a script, which its interpreter executes.
    fn is_script(&self) -> bool {
        let mut start = [0; 2];
        File::open(&self.file).is_ok_and(|file| file.read_exact_at(&mut start, 0).is_ok()) && start == *b"#!"
    }

    /// Returns the name under which the file was called. Some programs are many in one file, and choose by the name.
    fn name(&self) -> Option<&OsStr> {
        let called = Path::new(self.words.first()?).file_name()?;
        // A login shell has a dash before its name.
        let called = called.as_bytes().strip_prefix(b"-").map_or(called, OsStr::from_bytes);
        (self.path.file_name() == Some(called)).then_some(called)
    }
}

/// Paths that mean the caller's own program.
const ITSELF: [&str; 2] = ["/proc/self/exe", "/proc/thread-self/exe"];

/// Resolves a path as a process with the working directory `place` does. Returns the file without symlinks.
///
/// A `/proc` link to an open file would mean something else here than in the process, so a path must not go through
/// one.
fn resolve(place: &str, path: &Path) -> Result<PathBuf, Errno> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let folder = open(place, flags, Mode::empty())?;
    let file = openat2(folder, path, flags, Mode::empty(), ResolveFlags::NO_MAGICLINKS)
        .map_err(|errno| if errno == Errno::LOOP { Errno::ACCESS } else { errno })?;
    fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).map_err(|_| Errno::ACCESS)
}

/// Size of an address. The filter allows no other architecture than that of acquit.
const POINTER: usize = 8;

/// Maximum number of words of a command to look at. No listed command has more.
const WORDS: usize = 32;

/// Reads a string of a process.
fn text(memory: &File, at: u64) -> Result<OsString, Errno> {
    let mut text = Vec::new();
    // Read up to the end of a page each time: the next one may not exist.
    while text.len() < LONGEST {
        let from = at + text.len() as u64;
        let mut part = vec![0; LONGEST - usize::try_from(from % LONGEST as u64).unwrap_or(0)];
        memory.read_exact_at(&mut part, from).map_err(|_| Errno::FAULT)?;
        if let Some(end) = part.iter().position(|byte| *byte == 0) {
            text.extend_from_slice(&part[..end]);
            return Ok(OsString::from_vec(text));
        }
        text.extend_from_slice(&part);
    }
    text.truncate(LONGEST);
    Ok(OsString::from_vec(text))
}

impl Rules {
    fn new(commands: &Commands, cwd: &Path, path: Option<&OsStr>) -> Self {
        let real = |file: PathBuf| fs::canonicalize(cwd.join(file)).ok();
        let found = |name: &str| lookup::candidates(OsStr::new(name), path).into_iter().filter_map(real);
        let listed = commands.listed.iter().filter_map(|line| {
            let mut words = line.split_ascii_whitespace().map(str::to_owned);
            let program = words.next()?;
            // A program in the working tree is looked up when it is called, because it may be built first.
            let files = if program.contains('/') { BTreeSet::new() } else { found(&program).collect() };
            Some(Listed { files, program: absolute(cwd, program), words: words.collect() })
        });
        let beside = SHELL_FOLDERS
            .iter()
            .flat_map(|folder| SHELLS.iter().map(move |name| Path::new(folder).join(name)))
            .filter_map(real);
        let shells: BTreeSet<PathBuf> = SHELLS.iter().flat_map(|name| found(name)).chain(beside).collect();
        // A program that is a script for a shell does not make every shell its own.
        let own =
            commands.own.iter().cloned().filter_map(real).filter(|file| !shells.contains(file)).collect();
        Self { listed: listed.collect(), own, shells }
    }

    fn lists(&self, request: &Request) -> bool {
        self.listed.iter().any(|listed| listed.is(request))
    }

    fn is_shell(&self, request: &Request) -> bool {
        let named = request.name().is_some_and(|name| SHELLS.iter().any(|shell| name == *shell));
        named && self.shells.contains(&request.file)
    }

    fn is_own(&self, file: &Path) -> bool {
        self.own.iter().any(|own| file.starts_with(own))
    }
}

/// Makes a program of the working tree absolute. A name stays a name.
fn absolute(cwd: &Path, program: String) -> String {
    if !program.contains('/') {
        return program;
    }
    let path: PathBuf = cwd.join(program).components().filter(|part| *part != Component::CurDir).collect();
    path.to_string_lossy().into_owned()
}

impl Listed {
    fn is(&self, request: &Request) -> bool {
        let means = if self.program.contains('/') {
            fs::canonicalize(&self.program).is_ok_and(|file| file == request.file)
        } else {
            let named = request.name().is_some_and(|name| name == OsStr::new(&self.program));
            named && (self.files.is_empty() || self.files.contains(&request.file))
        };
        means
            && self
                .words
                .iter()
                .enumerate()
                .all(|(at, word)| request.words.get(at + 1).is_some_and(|given| given == OsStr::new(word)))
    }
}

impl std::fmt::Display for Listed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}", self.program)?;
        self.words.iter().try_for_each(|word| write!(f, " {word}"))?;
        write!(f, "`")
    }
}

#[cfg(test)]
mod tests;
