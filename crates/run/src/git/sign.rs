//! Commit signing: whether and how the user's own git signs commits in a repository, and a call that does the same.
//!
//! The settings come from the user's files and the user's repository, never from a repository that an agent can write.
//! The signing program is the user's own and runs as the user, outside of any sandbox, because it needs the key. It
//! cannot prompt: a key with a password must be in an agent that holds it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::source::global_config;
use super::{Call, Error, Git, Source};

/// Time limit for a signature. A person may have to touch a security key.
const LIMIT: Duration = Duration::from_mins(1);

/// Variables that a signing program needs to find its agent and its keys.
const VARIABLES: [&str; 4] = ["SSH_AUTH_SOCK", "GNUPGHOME", "XDG_RUNTIME_DIR", "USER"];

/// The user, as git and the signing programs see them.
#[derive(Clone, Debug, Default)]
pub struct User {
    home: Option<PathBuf>,
    env: Vec<(OsString, OsString)>,
}

impl User {
    /// Creates the user of an environment whose variables `get` returns.
    pub fn new(get: impl Fn(&str) -> Option<OsString>) -> Self {
        let env = VARIABLES.iter().filter_map(|name| Some((name.into(), get(name)?))).collect();
        Self { home: get("HOME").map(PathBuf::from), env }
    }
}

/// How the user's git signs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signing {
    pub(super) format: Format,
    pub(super) key: Option<String>,
    pub(super) program: Option<String>,
    home: Option<PathBuf>,
    env: Vec<(OsString, OsString)>,
}

/// Signature formats of git.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    OpenPgp,
    Ssh,
    X509,
}

impl Format {
    const ALL: [(&'static str, Self); 3] =
        [("openpgp", Self::OpenPgp), ("ssh", Self::Ssh), ("x509", Self::X509)];

    /// Returns the setting for its program, and the default program.
    pub(super) fn program(self) -> (&'static str, &'static str) {
        match self {
            Self::OpenPgp => ("gpg.program", "gpg"),
            Self::Ssh => ("gpg.ssh.program", "ssh-keygen"),
            Self::X509 => ("gpg.x509.program", "gpgsm"),
        }
    }
}

impl Source {
    /// Returns how the user's git signs commits here. `None` if it does not.
    pub fn signing(&self, git: &Git, user: &User) -> Result<Option<Signing>, Error> {
        let settings = self.signing_settings(git, user)?;
        let yes = |value: &str| ["true", "yes", "on", "1"].contains(&value.to_ascii_lowercase().as_str());
        if !settings.last("commit.gpgsign").is_some_and(yes) {
            return Ok(None);
        }
        self.signing_by(&settings, user).map(Some)
    }

    /// Returns how the user's git signs here on request, whether or not it signs every commit.
    pub fn signing_on_request(&self, git: &Git, user: &User) -> Result<Signing, Error> {
        let settings = self.signing_settings(git, user)?;
        let mut signing = self.signing_by(&settings, user)?;
        if signing.key.is_none() {
            // Same default as git: the key of the committer.
            let who = self.identity(git, user.home.as_deref());
            signing.key = Some(format!("{} <{}>", who.name(), who.email()));
        }
        Ok(signing)
    }

    /// Returns the file of trusted SSH signers, if the user's own settings name one.
    pub fn allowed_signers(&self, git: &Git, user: &User) -> Result<Option<PathBuf>, Error> {
        let settings = self.signing_settings(git, user)?;
        Ok(settings.own("gpg.ssh.allowedsignersfile").map(|path| user.expand(path)))
    }

    fn signing_settings(&self, git: &Git, user: &User) -> Result<Settings, Error> {
        let pattern = r"^(commit\.gpgsign|gpg\..*|user\.signingkey)$";
        let call =
            self.call(git, "config").args(["--includes", "--null", "--show-scope", "--get-regexp", pattern]);
        let output = as_user(call, user.home.as_deref()).run_any()?;
        if !matches!(output.code, Some(0 | 1)) {
            return Err(output.failed("config"));
        }
        Ok(Settings::read(&String::from_utf8_lossy(&output.stdout)))
    }

    fn signing_by(&self, settings: &Settings, user: &User) -> Result<Signing, Error> {
        let name = settings.last("gpg.format").unwrap_or("openpgp");
        let known = Format::ALL.iter().find(|(known, _)| *known == name);
        let Some((_, format)) = known else {
            let what = format!("its commits are signed, and its gpg.format {name:?} is not known");
            return Err(Error::Unsupported { path: self.path().to_owned(), what });
        };
        let key = settings.last("user.signingkey").map(str::to_owned);
        if *format == Format::Ssh && key.is_none() {
            let what = "its commits are signed with ssh, and there is no user.signingkey".to_owned();
            return Err(Error::Unsupported { path: self.path().to_owned(), what });
        }
        let program = settings.program(*format);
        Ok(Signing { format: *format, key, program, home: user.home.clone(), env: user.env.clone() })
    }

    /// Returns the user's program for a signature format, if the user's own settings name one.
    pub(super) fn signing_program(
        &self,
        git: &Git,
        user: &User,
        format: Format,
    ) -> Result<Option<String>, Error> {
        Ok(self.signing_settings(git, user)?.program(format))
    }
}

/// Signing settings: scope, key in lower case, value. The last one applies.
struct Settings(Vec<(String, String, String)>);

impl Settings {
    fn read(text: &str) -> Self {
        let mut fields = text.split('\0');
        let mut set = Vec::new();
        while let (Some(scope), Some(entry)) = (fields.next(), fields.next()) {
            // The command-line value is acquit's own, which disables signing.
            if scope == "command" {
                continue;
            }
            // A key without a value means true.
            let (key, value) = entry.split_once('\n').unwrap_or((entry, "true"));
            set.push((scope.to_owned(), key.to_ascii_lowercase(), value.to_owned()));
        }
        Self(set)
    }

    fn last(&self, key: &str) -> Option<&str> {
        self.0.iter().rev().find(|(_, known, _)| known == key).map(|(_, _, value)| value.as_str())
    }

    /// Returns the user's program for a signature format, if their own files name one.
    fn program(&self, format: Format) -> Option<String> {
        let more = || self.own("gpg.openpgp.program").filter(|_| format == Format::OpenPgp);
        self.own(format.program().0).or_else(more).map(str::to_owned)
    }

    /// Returns a setting from the user's own files. Anything that ran in the repository could have written to the
    /// repository's configuration.
    fn own(&self, key: &str) -> Option<&str> {
        let fits = |(scope, known, _): &&(String, String, String)| {
            known == key && (scope == "global" || scope == "system")
        };
        self.0.iter().rev().find(fits).map(|(_, _, value)| value.as_str())
    }
}

impl User {
    /// Expands a path of the user's settings, which may start with `~/`.
    pub(super) fn expand(&self, path: &str) -> PathBuf {
        match (path.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => PathBuf::from(path),
        }
    }

    /// Returns the environment of a signing program.
    pub(super) fn environment(&self) -> Vec<(OsString, OsString)> {
        let home = self.home.iter().map(|home| ("HOME".into(), home.clone().into()));
        home.chain(self.env.iter().cloned()).collect()
    }
}

impl Signing {
    /// Makes a call of `commit-tree` sign its commit.
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
    // An empty value would mean "no file", so let git find the default files in this home.
    call.env("HOME", home)
        .env("XDG_CONFIG_HOME", home.join(".config"))
        .env("GIT_CONFIG_GLOBAL", global_config(home))
        .env("GIT_CONFIG_NOSYSTEM", "0")
}
