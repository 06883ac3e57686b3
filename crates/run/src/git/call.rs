//! One hardened git call: environment, overrides, limits.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::login::Login;
use super::{CommitId, Error, Identity};
use crate::process::{self, Exit, Guard, Spawner};
use crate::sandbox::machine::Version;

/// Enough for a checkout of a very large tree on a slow disk. A process that takes longer hangs.
const TIME_LIMIT: Duration = Duration::from_mins(10);
/// Maximum size of stderr to keep. Git's reason is in its first lines.
const STDERR_KEPT: usize = 4 << 10;

/// Settings that override any configuration of a repository. Each of them could name a program, open a connection or
/// start background work.
const OVERRIDES: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.sshCommand=false",
    "core.askPass=false",
    "core.editor=false",
    "core.pager=cat",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.alternateRefsCommand=true",
    "credential.helper=",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "gpg.program=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "diff.ignoreSubmodules=all",
    "protocol.allow=never",
    // Git would fetch a bundle before the requested fetch, with a program that no protocol setting restricts. Empty
    // means none; the name of a file would leave a copy of it in the repository at every fetch.
    "fetch.bundleURI=",
    "advice.detachedHead=false",
    "core.quotePath=false",
];

/// How to start git, and its search path. A plain value: cheap to clone, holds nothing open.
#[derive(Clone, Debug)]
pub struct Git {
    spawner: Spawner,
    path: OsString,
    time_limit: Duration,
    pub(super) version: Arc<OnceLock<Version>>,
}

impl Git {
    /// Creates a handle for the git on `path`, which comes from the caller's configuration.
    pub fn new(spawner: Spawner, path: impl Into<OsString>) -> Self {
        Self { spawner, path: path.into(), time_limit: TIME_LIMIT, version: Arc::default() }
    }

    /// Sets the time limit of a call. The default is ten minutes.
    #[must_use]
    pub fn with_time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = limit;
        self
    }

    /// Returns the time limit of a call.
    pub(super) fn time_limit(&self) -> Duration {
        self.time_limit
    }

    /// Starts building a call of `verb`, outside of any repository.
    pub fn call(&self, verb: &str) -> Call {
        Call {
            git: self.clone(),
            verb: verb.to_owned(),
            overrides: Vec::new(),
            place: Vec::new(),
            args: Vec::new(),
            env: Vec::new(),
            input: None,
            time_limit: self.time_limit,
            directory: PathBuf::from("/"),
            helpers: Helpers::No,
            login: None,
            attributes: None,
        }
    }
}

/// Builder for a call.
#[derive(Clone, Debug)]
pub struct Call {
    git: Git,
    verb: String,
    overrides: Vec<OsString>,
    place: Vec<OsString>,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    input: Option<Vec<u8>>,
    time_limit: Duration,
    directory: PathBuf,
    helpers: Helpers,
    login: Option<Login>,
    /// Tree to read attributes from.
    attributes: Option<String>,
}

/// Whether configured credential helpers run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Helpers {
    No,
    /// Run: the call exists to ask them, and reads no repository.
    Run,
}

/// Output of a call.
#[derive(Debug)]
pub struct Output {
    /// Exit code. `None` if a signal ended it.
    pub code: Option<i32>,
    /// Complete standard output.
    pub stdout: Vec<u8>,
    /// Beginning of standard error.
    pub stderr: String,
}

impl Call {
    /// Runs in this directory, where git discovers the repository.
    #[must_use]
    pub fn inside(mut self, directory: &Path) -> Self {
        directory.clone_into(&mut self.directory);
        self
    }

    /// Uses exactly this git directory, without discovery.
    #[must_use]
    pub fn git_dir(mut self, path: &Path) -> Self {
        self.place.push(joined("--git-dir=", path.as_os_str()));
        self
    }

    /// Uses this working tree, and runs in it.
    #[must_use]
    pub fn work_tree(mut self, path: &Path) -> Self {
        self.place.push(joined("--work-tree=", path.as_os_str()));
        self.inside(path)
    }

    /// Uses this index instead of the repository's.
    #[must_use]
    pub fn index(self, path: &Path) -> Self {
        self.env("GIT_INDEX_FILE", path)
    }

    /// Also reads objects from this directory.
    #[must_use]
    pub(crate) fn with_objects(self, folder: &Path) -> Self {
        // The list is separated by colons; quoting allows a path to contain one.
        let mut quoted = OsString::from("\"");
        quoted.push(OsStr::from_bytes(&folder.as_os_str().as_bytes().iter().fold(
            Vec::new(),
            |mut all, byte| {
                if matches!(byte, b'"' | b'\\') {
                    all.push(b'\\');
                }
                all.push(*byte);
                all
            },
        )));
        quoted.push("\"");
        self.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", quoted)
    }

    /// Writes new objects to this directory, and reads those of `objects` as well.
    #[must_use]
    pub(crate) fn receiving_into(self, folder: &Path, objects: &Path) -> Self {
        self.env("GIT_OBJECT_DIRECTORY", folder).with_objects(objects)
    }

    /// Reads no attributes, so that those in the tree cannot influence how files are read.
    #[must_use]
    pub fn without_attributes(mut self, empty_tree: &str) -> Self {
        self.attributes = Some(empty_tree.to_owned());
        self
    }

    /// Reads attributes only from this commit.
    #[must_use]
    pub fn attributes_of(self, commit: &CommitId) -> Self {
        self.without_attributes(commit.as_str())
    }

    /// Sets one configuration value for this call.
    #[must_use]
    pub fn set(mut self, setting: impl Into<OsString>) -> Self {
        self.overrides.push(setting.into());
        self
    }

    /// Allows this call to read another repository on this machine.
    #[must_use]
    pub fn allowing_local_transport(self) -> Self {
        self.env("GIT_ALLOW_PROTOCOL", "file")
    }

    /// Runs the configured credential helpers.
    #[must_use]
    pub(super) fn with_helpers(mut self) -> Self {
        self.helpers = Helpers::Run;
        self
    }

    /// Provides credentials for this call.
    #[must_use]
    pub(super) fn login(mut self, login: Login) -> Self {
        self.login = Some(login);
        self
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Adds several arguments.
    #[must_use]
    pub fn args<I: IntoIterator<Item: AsRef<OsStr>>>(mut self, args: I) -> Self {
        self.args.extend(args.into_iter().map(|a| a.as_ref().to_owned()));
        self
    }

    /// Sets author, committer and date (`seconds` since 1970, in UTC), so that the same input gives the same commit.
    #[must_use]
    pub fn signed(mut self, author: &Identity, committer: &Identity, seconds: i64) -> Self {
        for (role, who) in [("AUTHOR", author), ("COMMITTER", committer)] {
            self.env.push((format!("GIT_{role}_NAME").into(), who.name().into()));
            self.env.push((format!("GIT_{role}_EMAIL").into(), who.email().into()));
            self.env.push((format!("GIT_{role}_DATE").into(), format!("@{seconds} +0000").into()));
        }
        self
    }

    /// Adds one variable to the otherwise empty environment.
    #[must_use]
    pub(super) fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Sets the time limit of this call.
    #[must_use]
    pub(super) fn within(mut self, limit: Duration) -> Self {
        self.time_limit = limit;
        self
    }

    /// Sets the standard input. It is empty by default.
    #[must_use]
    pub fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = Some(bytes.into());
        self
    }

    /// Runs the call. Any exit code but zero is an error.
    pub fn run(self) -> Result<Output, Error> {
        let verb = self.verb.clone();
        let output = self.run_any()?;
        if output.code == Some(0) { Ok(output) } else { Err(output.failed(&verb)) }
    }

    /// Runs the call and parses its output as one commit id.
    pub fn run_for_id(self) -> Result<CommitId, Error> {
        let verb = self.verb.clone();
        let output = self.run()?;
        output.line().parse().map_err(|_| Error::Unexpected { verb })
    }

    /// Runs the call and leaves the exit code to the caller.
    pub fn run_any(self) -> Result<Output, Error> {
        let mut args: Vec<OsString> = vec!["--no-pager".into()];
        let asked = |setting: &&&str| self.helpers == Helpers::No || **setting != "credential.helper=";
        for setting in OVERRIDES.iter().filter(asked).map(OsString::from).chain(self.overrides) {
            args.push("-c".into());
            args.push(setting);
        }
        // Must stay open until the call ends.
        let login = self.login.as_ref().map(Login::hand_over).transpose().map_err(Error::Start)?;
        if let Some((setting, _)) = &login {
            args.push("-c".into());
            args.push(setting.clone());
        }
        args.extend(self.place);
        let mut env = self.env;
        if let Some(tree) = self.attributes {
            if self.git.has_attribute_source() {
                args.push(format!("--attr-source={tree}").into());
            } else if self.directory == Path::new("/") {
                // Without a working tree and an index, an older git has nowhere to read attributes from.
                args.push("--bare".into());
                env.push(("GIT_INDEX_FILE".into(), "/nonexistent/index".into()));
            }
        }
        args.push(self.verb.clone().into());
        args.extend(self.args);

        env.push(("PATH".into(), self.git.path.clone()));
        for (name, value) in ENVIRONMENT {
            // Variables of the call replace defaults, so that none is set twice.
            if !env.iter().any(|(own, _)| own == name) {
                env.push((name.into(), value.into()));
            }
        }

        let call = process::Call {
            program: "git".into(),
            args,
            cwd: self.directory,
            env,
            input: self.input,
            limit: self.time_limit,
            guard: Guard::Trusted,
        };
        let captured = self.git.spawner.capture(&call).map_err(Error::Start)?;
        drop(login);
        let verb = self.verb;
        let code = match captured.exit {
            Exit::Code(code) => Some(code),
            Exit::Signal(_) | Exit::Cancelled | Exit::Excess(_) => None,
            Exit::TimedOut { limit } | Exit::Idle { limit } => return Err(Error::TimedOut { verb, limit }),
            Exit::OutputLimit { limit } => return Err(Error::TooMuchOutput { verb, limit }),
        };
        let said = &captured.stderr[..captured.stderr.len().min(STDERR_KEPT)];
        Ok(Output { code, stdout: captured.stdout, stderr: String::from_utf8_lossy(said).into_owned() })
    }
}

/// The complete environment of a call, apart from the search path.
const ENVIRONMENT: [(&str, &str); 13] = [
    ("HOME", "/nonexistent"),
    ("XDG_CONFIG_HOME", "/nonexistent"),
    ("LC_ALL", "C"),
    ("TZ", "UTC"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ADVICE", "0"),
    // Overrides `protocol.<name>.allow`, which a repository could set for itself and which would take precedence over
    // ours. The only name on the list is not a protocol.
    ("GIT_ALLOW_PROTOCOL", "none"),
];

impl Output {
    /// Returns the first line of standard output.
    pub fn line(&self) -> String {
        let end = self.stdout.iter().position(|b| *b == b'\n').unwrap_or(self.stdout.len());
        String::from_utf8_lossy(&self.stdout[..end]).into_owned()
    }

    /// Converts this output into a failure of `verb`.
    pub fn failed(self, verb: &str) -> Error {
        Error::Failed { verb: verb.to_owned(), code: self.code, stderr: self.stderr.trim().to_owned() }
    }
}

fn joined(prefix: &str, value: &OsStr) -> OsString {
    let mut whole = OsString::from(prefix);
    whole.push(value);
    whole
}
