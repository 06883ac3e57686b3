//! What the tests of processes share.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use acquit_run::process::{
    Ended, Error, Isolation, Limits, Next, Spawner, Spec, Stderr, Stdin, Stdout, Watcher,
};
use tempfile::TempDir;

/// Far more than anything here takes; reached only by what hangs.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

pub(crate) const HELPER: &str = env!("CARGO_BIN_EXE_acquit");

pub(crate) fn spawner() -> Spawner {
    Spawner::new(HELPER)
}

pub(crate) fn subreaper() -> Spawner {
    Spawner { isolation: Isolation::Subreaper, ..spawner() }
}

pub(crate) fn path_only() -> Vec<(OsString, OsString)> {
    vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())]
}

/// A directory for one test, and specs that use it.
pub(crate) struct Scratch(TempDir);

impl Scratch {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn output(&self) -> PathBuf {
        self.path("output")
    }

    pub(crate) fn spec(&self, program: impl Into<OsString>, args: &[&str]) -> Spec {
        Spec {
            program: program.into(),
            args: args.iter().map(OsString::from).collect(),
            cwd: self.0.path().to_owned(),
            env: path_only(),
            stdin: Stdin::Closed,
            stdout: Stdout::Truncate(self.output()),
            stderr: Stderr::WithStdout,
            limits: Limits { time: PATIENCE, idle: None, output: 1 << 30, grace: Duration::from_millis(100) },
            policy: None,
        }
    }

    pub(crate) fn sh(&self, script: &str) -> Spec {
        self.spec("sh", &["-c", script])
    }

    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, content).unwrap();
        path
    }
}

type Condition<'a> = Box<dyn FnMut(&[u8]) -> bool + 'a>;

/// Keeps all output, and cancels when `until` says so.
pub(crate) struct Recorder<'a> {
    pub(crate) bytes: Vec<u8>,
    pub(crate) start: u64,
    pub(crate) until: Condition<'a>,
}

impl<'a> Recorder<'a> {
    pub(crate) fn until(until: impl FnMut(&[u8]) -> bool + 'a) -> Self {
        Self { bytes: Vec::new(), start: 0, until: Box::new(until) }
    }
}

impl Watcher for Recorder<'_> {
    fn output(&mut self, offset: u64, bytes: &[u8]) {
        assert!(!bytes.is_empty() && bytes.len() <= acquit_run::process::CHUNK);
        if self.bytes.is_empty() {
            self.start = offset;
        }
        self.bytes.extend_from_slice(bytes);
    }

    fn tick(&mut self) -> Next {
        if (self.until)(&self.bytes) { Next::Stop } else { Next::Continue }
    }
}

pub(crate) fn run(spec: &Spec) -> (Ended, Vec<u8>) {
    run_in(&spawner(), spec)
}

pub(crate) fn run_in(spawner: &Spawner, spec: &Spec) -> (Ended, Vec<u8>) {
    let mut recorder = Recorder::until(|_| false);
    let ended = spawner.spawn(spec).unwrap().watch(&mut recorder).unwrap();
    assert_eq!(ended.output_bytes, recorder.bytes.len() as u64);
    (ended, recorder.bytes)
}

pub(crate) fn refusal(spec: &Spec) -> Error {
    spawner().spawn(spec).unwrap_err()
}

pub(crate) fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap()
}

/// A number of seconds that no other process sleeps for, by which the processes of one test can be found.
pub(crate) fn marker() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("600.{}0{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// The processes of the machine whose command line holds `marker` as one word.
pub(crate) fn marked(marker: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(line) = fs::read(entry.path().join("cmdline")) else { continue };
        if line.split(|&byte| byte == 0).any(|word| word == marker.as_bytes()) {
            found.push(format!("{} {}", entry.file_name().display(), String::from_utf8_lossy(&line)));
        }
    }
    found
}

pub(crate) fn sleepers(marker: &str) -> usize {
    marked(marker).iter().filter(|line| line.contains(" sleep\0")).count()
}

/// Looks again and again until it holds; a test that waits in vain fails.
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < until, "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub(crate) fn make_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}
