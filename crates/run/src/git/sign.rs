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
    pub(super) format: Format,
    pub(super) key: Option<String>,
    pub(super) program: Option<String>,
    home: Option<PathBuf>,
    env: Vec<(OsString, OsString)>,
}

/// The kinds of signatures that git knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    OpenPgp,
    Ssh,
    X509,
}

impl Format {
    const ALL: [(&'static str, Self); 3] =
        [("openpgp", Self::OpenPgp), ("ssh", Self::Ssh), ("x509", Self::X509)];

    /// The setting for its program, and what that is by default.
    pub(super) fn program(self) -> (&'static str, &'static str) {
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
        let settings = self.signing_settings(git, user)?;
        let yes = |value: &str| ["true", "yes", "on", "1"].contains(&value.to_ascii_lowercase().as_str());
        if !settings.last("commit.gpgsign").is_some_and(yes) {
            return Ok(None);
        }
        self.signing_by(&settings, user).map(Some)
    }

    /// How the user's git signs here when it is asked to, whether or not it signs every commit.
    pub fn signing_on_request(&self, git: &Git, user: &User) -> Result<Signing, Error> {
        let settings = self.signing_settings(git, user)?;
        let mut signing = self.signing_by(&settings, user)?;
        if signing.key.is_none() {
            // As git does: the key of the person who commits.
            let who = self.identity(git, user.home.as_deref());
            signing.key = Some(format!("{} <{}>", who.name(), who.email()));
        }
        Ok(signing)
    }

    /// The file of those whose SSH signatures the user trusts, if the user's own settings name one.
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

    /// The user's program for a kind of signatures, where the user's own settings name one.
    pub(super) fn signing_program(
        &self,
        git: &Git,
        user: &User,
        format: Format,
    ) -> Result<Option<String>, Error> {
        Ok(self.signing_settings(git, user)?.program(format))
    }
}

/// The settings about signatures: scope, key in lower case, value; the last one counts.
struct Settings(Vec<(String, String, String)>);

impl Settings {
    fn read(text: &str) -> Self {
        let mut fields = text.split('\0');
        let mut set = Vec::new();
        while let (Some(scope), Some(entry)) = (fields.next(), fields.next()) {
            // What stands on the command line is our own, and says that nothing is signed.
            if scope == "command" {
                continue;
            }
            // A key without a value is a yes.
            let (key, value) = entry.split_once('\n').unwrap_or((entry, "true"));
            set.push((scope.to_owned(), key.to_ascii_lowercase(), value.to_owned()));
        }
        Self(set)
    }

    fn last(&self, key: &str) -> Option<&str> {
        self.0.iter().rev().find(|(_, known, _)| known == key).map(|(_, _, value)| value.as_str())
    }

    /// The user's program for a kind of signatures, where their own files name one.
    fn program(&self, format: Format) -> Option<String> {
        let more = || self.own("gpg.openpgp.program").filter(|_| format == Format::OpenPgp);
        self.own(format.program().0).or_else(more).map(str::to_owned)
    }

    /// What the user's own files say: whatever ran in the repository could have written into its own.
    fn own(&self, key: &str) -> Option<&str> {
        let fits = |(scope, known, _): &&(String, String, String)| {
            known == key && (scope == "global" || scope == "system")
        };
        self.0.iter().rev().find(fits).map(|(_, _, value)| value.as_str())
    }
}

impl User {
    /// A path of the user's settings, which may begin with `~/`.
    pub(super) fn expand(&self, path: &str) -> PathBuf {
        match (path.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => PathBuf::from(path),
        }
    }

    /// What a signing program is started with.
    pub(super) fn environment(&self) -> Vec<(OsString, OsString)> {
        let home = self.home.iter().map(|home| ("HOME".into(), home.clone().into()));
        home.chain(self.env.iter().cloned()).collect()
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
