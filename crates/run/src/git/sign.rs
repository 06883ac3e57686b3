//! Signing: whether the user's own git signs its commits in a repository, with what, and a call that does the same.
//!
//! The settings come from the user's files and the user's repository, never from a repository that an agent reaches. The
//! signing program is the user's own and runs as the user, outside of any sandbox: it needs the key. It can ask nobody: a key
//! that needs a password has to be in an agent that holds it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::source::global_config;
use super::{Call, Error, Git, Source};

/// How long a signature may take: somebody may have to touch a key.
const LIMIT: Duration = Duration::from_mins(1);

/// What a signing program needs of the user's environment to find its agent and its keys.
const VARIABLES: [&str; 4] = ["SSH_AUTH_SOCK", "GNUPGHOME", "XDG_RUNTIME_DIR", "USER"];

/// The user, as git and the programs around it know them.
#[derive(Clone, Debug, Default)]
pub struct User {
    home: Option<PathBuf>,
    env: Vec<(OsString, OsString)>,
}

impl User {
    /// The user of an environment, of which `get` gives the variables.
    pub fn new(get: impl Fn(&str) -> Option<OsString>) -> Self {
        let env = VARIABLES.iter().filter_map(|name| Some((name.into(), get(name)?))).collect();
        Self { home: get("HOME").map(PathBuf::from), env }
    }
}

/// How the user's git signs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signing {
    format: Format,
    key: Option<String>,
    program: Option<String>,
    home: Option<PathBuf>,
    env: Vec<(OsString, OsString)>,
}

/// The kinds of signatures that git knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    OpenPgp,
    Ssh,
    X509,
}

impl Format {
    const ALL: [(&'static str, Self); 3] =
        [("openpgp", Self::OpenPgp), ("ssh", Self::Ssh), ("x509", Self::X509)];

    /// The setting for its program, and what that is by default.
    fn program(self) -> (&'static str, &'static str) {
        match self {
            Self::OpenPgp => ("gpg.program", "gpg"),
            Self::Ssh => ("gpg.ssh.program", "ssh-keygen"),
            Self::X509 => ("gpg.x509.program", "gpgsm"),
        }
    }
}

impl Source {
    /// How the user's git signs commits here; `None` if it does not.
    pub fn signing(&self, git: &Git, user: &User) -> Result<Option<Signing>, Error> {
        let pattern = r"^(commit\.gpgsign|gpg\..*|user\.signingkey)$";
        let call =
            self.call(git, "config").args(["--includes", "--null", "--show-scope", "--get-regexp", pattern]);
        let output = as_user(call, user.home.as_deref()).run_any()?;
        if !matches!(output.code, Some(0 | 1)) {
            return Err(output.failed("config"));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let mut fields = text.split('\0');
        let mut set: Vec<(&str, String, String)> = Vec::new();
        while let (Some(scope), Some(entry)) = (fields.next(), fields.next()) {
            // What stands on the command line is our own, and says that nothing is signed.
            if scope == "command" {
                continue;
            }
            // A key without a value is a yes.
            let (key, value) = entry.split_once('\n').unwrap_or((entry, "true"));
            set.push((scope, key.to_ascii_lowercase(), value.to_owned()));
        }
        let found = |key: &str, trusted: &dyn Fn(&str) -> bool| {
            let fits = |(scope, known, _): &&(&str, String, String)| known == key && trusted(scope);
            set.iter().rev().find(fits).map(|(_, _, value)| value.clone())
        };
        let last = |key: &str| found(key, &|_| true);
        // A program is named by the user's own files only: whatever ran in the repository could have written into its own.
        let own = |key: &str| found(key, &|scope| scope == "global" || scope == "system");
        let yes = |value: String| ["true", "yes", "on", "1"].contains(&value.to_ascii_lowercase().as_str());
        if !last("commit.gpgsign").is_some_and(yes) {
            return Ok(None);
        }
        let name = last("gpg.format").unwrap_or_else(|| "openpgp".to_owned());
        let known = Format::ALL.iter().find(|(known, _)| *known == name);
        let Some((_, format)) = known else {
            let what = format!("its commits are signed, and its gpg.format {name:?} is not known");
            return Err(Error::Unsupported { path: self.path().to_owned(), what });
        };
        let key = last("user.signingkey");
        if *format == Format::Ssh && key.is_none() {
            let what = "its commits are signed with ssh, and there is no user.signingkey".to_owned();
            return Err(Error::Unsupported { path: self.path().to_owned(), what });
        }
        let more = || own("gpg.openpgp.program").filter(|_| *format == Format::OpenPgp);
        let program = own(format.program().0).or_else(more);
        Ok(Some(Signing { format: *format, key, program, home: user.home.clone(), env: user.env.clone() }))
    }
}

impl Signing {
    /// Lets a call of `commit-tree` sign what it makes.
    pub(crate) fn apply(&self, call: Call) -> Call {
        let name =
            Format::ALL.iter().find(|(_, format)| *format == self.format).map_or("openpgp", |(name, _)| name);
        let (setting, usual) = self.format.program();
        let program = self.program.as_deref().unwrap_or(usual);
        let mut call =
            call.set(format!("gpg.format={name}")).set(format!("{setting}={program}")).within(LIMIT);
        if let Some(home) = &self.home {
            call = call.env("HOME", home);
        }
        for (variable, value) in &self.env {
            call = call.env(&variable.to_string_lossy(), value.clone());
        }
        if let Some(key) = &self.key {
            call = call.set(format!("user.signingkey={key}"));
        }
        call.arg("-S")
    }
}

/// Lets a call read the user's own settings.
pub(super) fn as_user(call: Call, home: Option<&Path>) -> Call {
    let Some(home) = home else { return call };
    // An empty value would mean "no file", so git is left to find the usual ones below this home.
    call.env("HOME", home)
        .env("XDG_CONFIG_HOME", home.join(".config"))
        .env("GIT_CONFIG_GLOBAL", global_config(home))
        .env("GIT_CONFIG_NOSYSTEM", "0")
}
