//! Mirrors of repositories that are given by address, fetched with the credentials that their forge needs: a token, the
//! user's SSH key, or none.
//!
//! The server at an address is untrusted: it may not answer, send data without end, or repeat what it was sent.
//! [`refresh`] is meant for a separate process, which [`beside`] starts and ends with its whole process tree. That
//! process limits the size of what it writes with a kernel limit. A mirror that could not be refreshed is not used: the
//! result is a fresh mirror or an error.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use acquit_core::agent::shorten;
use acquit_core::config::Config;
use acquit_core::config::forge::{Forge as Settings, Kind};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};

use crate::forge::{self, Address, Located, Token, Transport};
use crate::git::{self, Access, CommitId, Git, PushFailure, PushWay, Source, meaning};
use crate::process::{Call, Exit, Guard, Isolation, Spawner};
use crate::runtime::Runtime;
use crate::secrets::Redactor;

/// Directory of mirrors, in acquit's own.
const FOLDER: &str = "mirrors";

/// Timeout of a refresh, including a first fetch of a large repository over a slow line and the wait for another
/// refresh.
pub const TIME_LIMIT: Duration = Duration::from_hours(1);

/// Maximum size of one fetch: several times the largest repositories that people work on as a whole. A wrong or hostile
/// address must not fill the disk.
pub const LARGEST: u64 = 16 << 30;

/// Hidden subcommand that refreshes one mirror.
pub const VERB: &str = "mirror";

/// Maximum length of git's message to show.
const WORDS: usize = 400;

/// Why there is no fresh mirror. Messages continue a sentence that starts with "failed to".
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address contains a password or a token. It would end up in the store, in arguments and in reports.
    #[error(
        "use an address at {host} that has a login in it: leave it out, and let `token` in [forge], git's credential \
         helper or SSH say who asks"
    )]
    Login {
        /// Host.
        host: String,
    },
    /// The remote rejects the credentials.
    #[error("fetch {url}: there is no such repository, or the login is not accepted ({said}); {asked}")]
    Refused {
        /// Address.
        url: String,
        /// Message of git.
        said: String,
        /// Which credentials were used.
        asked: String,
    },
    /// The repository is too large.
    #[error("fetch {url}: it has more than {limit} bytes")]
    TooLarge {
        /// Address.
        url: String,
        /// The limit in bytes.
        limit: u64,
    },
    /// The remote did not answer, or too slowly.
    #[error("fetch {url}: it was not done within {limit:?}")]
    Slow {
        /// Address.
        url: String,
        /// The time limit.
        limit: Duration,
    },
    /// Anything else, possibly temporary.
    #[error("fetch {url}: {said}")]
    Away {
        /// Address.
        url: String,
        /// Message of git.
        said: String,
    },
    /// A problem of this machine.
    #[error("fetch {url}")]
    Here {
        /// Address.
        url: String,
        /// Cause.
        #[source]
        source: git::Error,
    },
    /// Message of the process that refreshes.
    #[error("{0}")]
    Told(String),
    /// The process that refreshes ended without a message.
    #[error("fetch {url}: the process that does it {how}")]
    Ended {
        /// Address.
        url: String,
        /// How it ended.
        how: String,
    },
}

/// Answer of the process that refreshes a mirror.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The mirror is fresh, at this path.
    Mirror(PathBuf),
    /// It failed, for this reason, which fits after "failed to".
    Failed(String),
}

/// Returns the forge settings for an address. Settings for one host, above all its token, do not apply to another one;
/// and the configured project and remote belong to another repository.
pub fn settings(own: &Settings, url: &str) -> Settings {
    let host = Address::parse(url).map(|address| forge::web_host(&address));
    let same = host.is_some() && own.host == host;
    let usual = Settings {
        request: own.request.clone(),
        proxy: own.proxy.clone(),
        ca: own.ca.clone(),
        token_hosts: own.token_hosts.clone(),
        own_hosts: own.own_hosts.clone(),
        ..Settings::default()
    };
    if same {
        let (kind, host, api, token) = (own.kind, own.host.clone(), own.api.clone(), own.token.clone());
        Settings { kind, host, api, token, ..usual }
    } else {
        Settings { kind: own.kind.filter(|kind| *kind == Kind::None), ..usual }
    }
}

/// Returns the mirror of an address, up to date. Creates it if there is none. Receives nothing larger than this process
/// may write.
pub fn refresh(runtime: &Runtime, config: &Config, url: &str, limit: Duration) -> Result<PathBuf, Error> {
    reach(runtime, config, url, limit, |git, way| git.mirror(&runtime.home.join(FOLDER), way))
}

/// Fetches one commit of an address into a repository.
pub fn fetch(
    runtime: &Runtime,
    config: &Config,
    url: &str,
    limit: Duration,
    (into, commit): (&Source, &CommitId),
) -> Result<(), Error> {
    reach(runtime, config, url, limit, |git, way| into.fetch_commit(git, way, commit))
}

/// Calls git with the credentials for an address: its forge's token, the user's SSH key, or none.
fn reach<T>(
    runtime: &Runtime,
    config: &Config,
    url: &str,
    limit: Duration,
    call: impl FnOnce(&Git, &PushWay<'_>) -> Result<T, git::Error>,
) -> Result<T, Error> {
    let address = Address::parse(url);
    if acquit_core::schedule::has_login(url) {
        let host = address.map(|address| address.host).unwrap_or_default();
        return Err(Error::Login { host });
    }
    let config = Config { forge: settings(&config.forge, url), ..config.clone() };
    let ca = forge::ca(runtime, &config.forge);
    let place = match forge::locate(&config.forge, Some(url), Some(url)) {
        Ok(Located::At(place)) => Some(place),
        Ok(Located::Nowhere(_)) | Err(_) => None,
    };
    // A server that is not a forge has an address too.
    let address = address.or_else(|| Address::of_server(url));
    let transport = address.as_ref().map(|address| address.transport);
    let token = place
        .as_ref()
        .filter(|_| matches!(transport, Some(Transport::Https | Transport::Http)))
        .and_then(|place| forge::token::find(runtime, &config, place).ok().flatten());
    let kind = place.as_ref().map_or(Kind::None, |place| place.kind);
    let access =
        transport.map_or(Access::Open, |transport| forge::access(runtime, kind, transport, token.as_ref()));
    let asked = match (transport, &token) {
        (Some(Transport::Ssh), _) => "SSH asked with your own keys".to_owned(),
        (None, _) => "it is read with your own rights".to_owned(),
        (Some(Transport::Https | Transport::Http), Some(token)) => {
            format!("the token is from {}", token.origin)
        }
        (Some(Transport::Https | Transport::Http), None) => "no token was found for it".to_owned(),
    };
    let way = PushWay { url, access, ca: ca.as_deref(), proxy: config.forge.proxy.as_deref() };
    let git = runtime.git.clone().with_time_limit(limit);
    call(&git, &way)
        .map_err(|error| told(error, url, asked, &token.as_ref().map(Token::redactor).unwrap_or_default()))
}

/// Classifies a failure of git. Its message is partly the remote's, which knows the token and may repeat it.
fn told(error: git::Error, url: &str, asked: String, redactor: &Redactor) -> Error {
    let url = url.to_owned();
    match error {
        git::Error::Failed { stderr, .. } => {
            let words = redactor.text(&stderr).split_whitespace().collect::<Vec<_>>().join(" ");
            let said = shorten(words.trim_start_matches("fatal: "), WORDS);
            match meaning(&stderr) {
                PushFailure::Login => Error::Refused { url, said, asked },
                trouble @ (PushFailure::Away | PushFailure::Certificate | PushFailure::Redirected) => {
                    let hint = trouble.hint().map(|hint| format!(". {hint}")).unwrap_or_default();
                    Error::Away { url, said: said + &hint }
                }
            }
        }
        git::Error::TimedOut { limit, .. } => Error::Slow { url, limit },
        git::Error::TooLarge { limit, .. } => Error::TooLarge { url, limit },
        source => Error::Here { url, source },
    }
}

/// Limits the file size that this process, and everything it starts, can write.
pub fn bound(bytes: u64) {
    let hard = getrlimit(Resource::Fsize).maximum;
    let most = hard.map_or(bytes, |hard| hard.min(bytes));
    // Lowering the limit is always allowed.
    let _ = setrlimit(Resource::Fsize, Rlimit { current: Some(most), maximum: Some(most) });
}

/// Refreshes in a separate process, which reads the configuration that applies in `here`. The process ends with this
/// one, together with its whole process tree, including what git started.
pub fn beside(runtime: &Runtime, here: &Path, url: &str) -> Result<PathBuf, Error> {
    in_process(runtime, here, url, &[], TIME_LIMIT)
}

/// Fetches one commit into a repository in a separate process, with the user's own configuration alone.
pub fn fetch_beside(
    runtime: &Runtime,
    url: &str,
    limit: Duration,
    (into, commit): (&Source, &CommitId),
) -> Result<(), Error> {
    let within = limit.as_secs().to_string();
    let words =
        [OsStr::new("--into"), into.git_dir().as_os_str(), "--commit".as_ref(), commit.as_str().as_ref()];
    let words = words.into_iter().chain(["--within".as_ref(), within.as_ref()]).collect::<Vec<_>>();
    in_process(runtime, Path::new("/"), url, &words, limit).map(drop)
}

fn in_process(
    runtime: &Runtime,
    here: &Path,
    url: &str,
    words: &[&OsStr],
    limit: Duration,
) -> Result<PathBuf, Error> {
    let ended = |how: String| Error::Ended { url: url.to_owned(), how };
    // Without namespaces: inside one, SSH does not trust root's files.
    let spawner = Spawner { isolation: Isolation::Subreaper, ..runtime.spawner.clone() };
    let mut env = runtime.environment.all();
    env.push(("ACQUIT_HOME".into(), runtime.home.clone().into()));
    let call = Call {
        program: spawner.helper.clone().into(),
        args: [OsStr::new(VERB)]
            .iter()
            .chain(words)
            .chain(&["--".as_ref(), url.as_ref()])
            .map(|&word| word.to_owned())
            .collect(),
        cwd: here.to_owned(),
        env,
        input: None,
        limit,
        guard: Guard::Contained,
    };
    let captured = spawner.capture(&call).map_err(|error| ended(acquit_core::failure::chain(&error)))?;
    match (serde_json::from_slice(&captured.stdout), captured.exit) {
        (Ok(Reply::Mirror(place)), _) => Ok(place),
        (Ok(Reply::Failed(words)), _) => Err(Error::Told(words)),
        (Err(_), Exit::TimedOut { limit }) => Err(Error::Slow { url: url.to_owned(), limit }),
        (Err(_), exit) => Err(ended(format!("ended without a word: {exit}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secrets::Secret;

    #[test]
    fn what_git_says_becomes_a_reason_without_the_token() {
        let secret = Secret::new("T", b"glpat-abcdefgh12345678".to_vec());
        let redactor = Redactor::default().with(std::slice::from_ref(&secret));
        let said = |stderr: &str| {
            let error =
                git::Error::Failed { verb: "fetch".into(), code: Some(128), stderr: stderr.to_owned() };
            told(error, "https://h/a/b", "asked".to_owned(), &redactor).to_string()
        };
        let refused =
            said("remote: you sent glpat-abcdefgh12345678\nfatal: Authentication failed for 'https://h/a/b'");
        assert!(
            !refused.contains("glpat-abc") && refused.contains("you sent") && refused.ends_with("; asked"),
            "{refused}"
        );
        let away = said("fatal: unable to access 'https://h/a/b/': Could not resolve host: h");
        assert_eq!(away, "fetch https://h/a/b: unable to access 'https://h/a/b/': Could not resolve host: h");
    }

    #[test]
    fn settings_hold_for_the_host_that_they_name() {
        let own = Settings {
            kind: Some(Kind::GitLab),
            host: Some("git.acme.org".to_owned()),
            token: Some("T".to_owned()),
            project: Some("a/b".to_owned()),
            push_remote: Some("fork".to_owned()),
            proxy: Some("http://proxy".to_owned()),
            ..Settings::default()
        };
        let same = settings(&own, "https://git.acme.org/c/d.git");
        assert_eq!((same.token.as_deref(), same.kind), (Some("T"), Some(Kind::GitLab)));
        assert_eq!((same.project, same.push_remote, same.remote), (None, None, None));
        for url in ["https://git.acme.org:8443/c/d.git", "https://evil.example/c/d.git", "file:///srv/d.git"]
        {
            let other = settings(&own, url);
            assert_eq!((other.token, other.host, other.kind), (None, None, None), "{url}");
            assert_eq!(other.proxy.as_deref(), Some("http://proxy"));
        }
        let none = Settings { kind: Some(Kind::None), ..Settings::default() };
        assert_eq!(
            settings(&none, "https://github.com/a/b").kind,
            Some(Kind::None),
            "no forge is no forge anywhere"
        );
    }
}
