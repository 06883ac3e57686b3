//! Pushes to a remote with a lease: the branch moves only if it is still at the known commit, so no work is
//! overwritten.
//!
//! Git cannot prompt here. A token reaches it through an inherited in-memory file ([`Login`]), so it is in no argument,
//! no variable and on no disk. SSH runs in batch mode. Only the protocol of the address is allowed, and redirects are
//! not followed. A push names its commit; hooks do not run.

use std::ffi::OsString;
use std::path::Path;

use super::login::Login;
use super::{Call, CommitId, Error, Git, Source, global_config};
use crate::secrets::Secret;

/// Never prompts, neither for a password nor for a host key; does not forward the user's keys; and gives up on a host
/// that does not answer, at once or in the middle.
const BATCH: &str = "-oBatchMode=yes -oPasswordAuthentication=no -oKbdInteractiveAuthentication=no -oForwardAgent=no \
    -oConnectTimeout=20 -oServerAliveInterval=15 -oServerAliveCountMax=4";

/// Connection settings for a remote.
pub struct Way<'a> {
    /// Address, without credentials.
    pub url: &'a str,
    /// Authentication.
    pub access: Access<'a>,
    /// CA certificates to trust.
    pub ca: Option<&'a Path>,
    /// Proxy.
    pub proxy: Option<&'a str>,
}

/// How to authenticate at a remote.
pub enum Access<'a> {
    /// With a token.
    Token {
        /// User name that the forge expects with it.
        user: &'static str,
        /// The token.
        token: &'a Secret,
    },
    /// Without credentials.
    Open,
    /// With the user's own SSH key.
    Ssh {
        /// SSH program with its arguments, if the user configured one.
        command: Option<OsString>,
        /// Variables that it needs to find keys and agents.
        variables: Vec<(&'static str, OsString)>,
    },
}

/// Result of a push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// The branch is at the commit.
    Done,
    /// The branch was not where it was seen.
    Moved,
    /// The remote rejected it: a protected branch, or a hook of the remote.
    Refused(String),
}

/// Why a remote could not be used, derived from git's message, which is the only source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushFailure {
    /// The credentials are rejected, or do not allow this.
    Login,
    /// The certificate is not trusted.
    Certificate,
    /// The remote redirects to another address.
    Redirected,
    /// Anything else, possibly temporary.
    Away,
}

impl PushFailure {
    /// Returns what a person can do about it, if that does not depend on the operation.
    pub fn hint(self) -> Option<&'static str> {
        match self {
            Self::Certificate => {
                Some("If the forge has an authority of its own, name the file of that as `ca` in [forge]")
            }
            Self::Redirected => Some(
                "The project has moved, and a token is not sent after it: give the remote its new address",
            ),
            Self::Login | Self::Away => None,
        }
    }
}

/// Classifies an error message of git about a remote.
pub fn meaning(stderr: &str) -> PushFailure {
    const LOGIN: [&str; 12] = [
        "authentication failed",
        "permission denied",
        "could not read username",
        "could not read password",
        "access denied",
        "error: 401",
        "error: 403",
        "not found",
        "does not appear to be a git repository",
        "host key verification failed",
        "you are not allowed",
        "unable to get password",
    ];
    const CERTIFICATE: [&str; 3] =
        ["ssl certificate problem", "server certificate verification failed", "sslcainfo"];
    const REDIRECTED: [&str; 5] = ["error: 301", "error: 302", "error: 303", "error: 307", "error: 308"];
    let lower = stderr.to_lowercase();
    let has = |signs: &[&str]| signs.iter().any(|sign| lower.contains(sign));
    if has(&CERTIFICATE) {
        PushFailure::Certificate
    } else if has(&REDIRECTED) {
        PushFailure::Redirected
    } else if has(&LOGIN) {
        PushFailure::Login
    } else {
        PushFailure::Away
    }
}

impl Call {
    /// Allows this call to reach one remote.
    pub(super) fn reaching(self, way: &Way<'_>) -> Self {
        let scheme = way.url.split_once("://").map_or("ssh", |(scheme, _)| scheme);
        let mut call = self
            .env("GIT_ALLOW_PROTOCOL", scheme)
            .set("http.followRedirects=false")
            .set("http.emptyAuth=false")
            .set("http.lowSpeedLimit=1")
            .set("http.lowSpeedTime=60");
        // A proxy address or a path is of little use to others, but still does not belong in an argument.
        let settings =
            [("http.proxy", way.proxy.map(OsString::from)), ("http.sslCAInfo", way.ca.map(Into::into))];
        let settings: Vec<_> = settings.into_iter().filter_map(|(key, value)| Some((key, value?))).collect();
        call = call.env("GIT_CONFIG_COUNT", settings.len().to_string());
        for (number, (key, value)) in settings.into_iter().enumerate() {
            call = call.env(&format!("GIT_CONFIG_KEY_{number}"), key);
            call = call.env(&format!("GIT_CONFIG_VALUE_{number}"), value);
        }
        match &way.access {
            Access::Open => call,
            Access::Token { user, token } => call.login(Login::new(user, token)),
            Access::Ssh { command, variables } => {
                let mut line = OsString::from("core.sshCommand=");
                line.push(command.clone().unwrap_or_else(|| "ssh".into()));
                line.push(" ");
                line.push(BATCH);
                variables.iter().fold(call.set(line), |call, (name, value)| call.env(name, value.clone()))
            }
        }
    }

    /// Returns the commit of a remote branch.
    pub(crate) fn remote_branch(self, way: &Way<'_>, branch: &str) -> Result<Option<CommitId>, Error> {
        let name = format!("refs/heads/{branch}");
        let output = self.reaching(way).args(["--quiet", "--", way.url, &name]).run()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let mut lines = text.lines().filter_map(|line| line.split_once('\t'));
        let found = lines.find(|(_, found)| *found == name);
        found
            .map(|(id, _)| id.parse().map_err(|_| Error::Unexpected { verb: "ls-remote".into() }))
            .transpose()
    }

    /// Moves a remote branch to `commit`, if it is at `expected`.
    pub(crate) fn push(
        self,
        way: &Way<'_>,
        branch: &str,
        commit: &CommitId,
        expected: Option<&CommitId>,
    ) -> Result<Pushed, Error> {
        let name = format!("refs/heads/{branch}");
        let lease = format!("--force-with-lease={name}:{}", expected.map_or("", CommitId::as_str));
        let output = self
            .reaching(way)
            .set("push.followTags=false")
            .set("push.gpgSign=false")
            .set("push.recurseSubmodules=no")
            .args(["--porcelain", "--no-verify", "--no-progress", &lease, "--", way.url])
            .arg(format!("{commit}:{name}"))
            .run_any()?;
        if output.code == Some(0) {
            return Ok(Pushed::Done);
        }
        // `!`, the refs, and the reason: `[rejected] (stale info)`,
        // `[remote rejected] (protected branch hook declined)`.
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let refused = text.lines().find_map(|line| line.strip_prefix("!\t")?.split_once('\t'));
        match refused {
            Some((_, why)) if why.contains("[rejected]") => Ok(Pushed::Moved),
            Some((_, why)) if why.contains("[remote rejected]") => {
                let said = output.stderr.lines().filter_map(|line| line.strip_prefix("remote:"));
                let said: Vec<&str> = said.map(str::trim).filter(|line| !line.is_empty()).collect();
                Ok(Pushed::Refused(format!("{why} {}", said.join(" ")).trim().to_owned()))
            }
            _ => Err(output.failed("push")),
        }
    }
}

impl Git {
    /// Returns the password that the user's own git would use at a host, without a prompt.
    pub fn credential(
        &self,
        home: &Path,
        scheme: &str,
        host: &str,
        variables: &[(&str, OsString)],
    ) -> Option<Vec<u8>> {
        if host.contains(char::is_whitespace) {
            return None;
        }
        let mut call = self.call("credential").with_users_settings(home).with_helpers();
        for (name, value) in variables {
            call = call.env(name, value.clone());
        }
        let input = format!("protocol={scheme}\nhost={host}\n\n");
        let output = call.arg("fill").input(input).run().ok()?;
        let password =
            output.stdout.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"password="));
        password.map(<[u8]>::to_vec)
    }
}

/// Which address of a remote to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The address to fetch from.
    Fetch,
    /// The address to push to.
    Push,
}

impl Source {
    /// Returns the address of a remote, after the user's own settings for such addresses. `None` if there is no such
    /// remote.
    pub fn remote_url(
        &self,
        git: &Git,
        home: Option<&Path>,
        name: &str,
        direction: Direction,
    ) -> Result<Option<String>, Error> {
        let mut call = self.call(git, "remote");
        if let Some(home) = home {
            call = call.with_users_settings(home);
        }
        call = call.arg("get-url");
        if direction == Direction::Push {
            call = call.arg("--push");
        }
        let output = call.args(["--", name]).run_any()?;
        match output.code {
            Some(0) => Ok(Some(output.line())),
            Some(2 | 128) => Ok(None),
            _ => Err(output.failed("remote")),
        }
    }
}

impl Call {
    /// Also reads the user's own settings.
    fn with_users_settings(self, home: &Path) -> Self {
        self.env("HOME", home)
            .env("XDG_CONFIG_HOME", home.join(".config"))
            .env("GIT_CONFIG_GLOBAL", global_config(home))
            .env("GIT_CONFIG_NOSYSTEM", "0")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_that_is_refused_is_told_from_a_remote_that_is_away() {
        for words in [
            "remote: Invalid username or password.\nfatal: Authentication failed for 'https://x/'",
            "git@github.com: Permission denied (publickey).",
            "fatal: could not read Username for 'https://x': terminal prompts disabled",
            "fatal: unable to access 'https://x/': The requested URL returned error: 403",
            "ERROR: Repository not found.",
        ] {
            assert_eq!(meaning(words), PushFailure::Login, "{words}");
        }
        for (words, trouble) in [
            (
                "fatal: unable to access 'https://x/': SSL certificate problem: unable to get local issuer certificate",
                PushFailure::Certificate,
            ),
            (
                "fatal: unable to access 'https://x/': server certificate verification failed. CAfile: none CRLfile: none",
                PushFailure::Certificate,
            ),
            (
                "fatal: unable to access 'https://x/': The requested URL returned error: 301",
                PushFailure::Redirected,
            ),
        ] {
            assert_eq!(meaning(words), trouble, "{words}");
        }
        for words in [
            "fatal: unable to access 'https://x/': Could not resolve host: x",
            "fatal: unable to access 'https://x/': The requested URL returned error: 503",
            "fatal: the remote end hung up unexpectedly",
        ] {
            assert_eq!(meaning(words), PushFailure::Away, "{words}");
        }
    }
}
