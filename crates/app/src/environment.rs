//! The only place that reads the environment, the user's name and the clock, so that a value's origin can be told.
#![allow(clippy::disallowed_methods, reason = "this is the one place")]

use std::ffi::OsString;
use std::path::PathBuf;

use acquit_run::runtime::Environment;

use crate::error::Error;

/// What acquit takes from its surroundings.
#[derive(Clone)]
pub struct Surroundings {
    /// All variables, for the harness to choose from.
    pub environment: Environment,
    /// Where acquit keeps its files.
    pub home: PathBuf,
    /// The store, as a path or an address.
    pub store: String,
    /// The user's name.
    pub user: String,
    /// The user's home folder.
    pub user_home: Option<PathBuf>,
    /// The user's own configuration, which stands under that of every project; it need not be there.
    pub user_config: Option<PathBuf>,
    /// Whether colours are not wanted.
    pub no_color: bool,
    /// The folder the command was given in.
    pub here: PathBuf,
    /// This program.
    pub exe: PathBuf,
    /// This machine's name.
    pub host: String,
}

impl Surroundings {
    /// Reads them.
    pub fn read() -> Result<Self, Error> {
        let here = std::env::current_dir().map_err(Error::Here)?;
        let exe = std::env::current_exe().map_err(Error::Exe)?;
        let home = match (var("ACQUIT_HOME"), var("XDG_DATA_HOME"), var("HOME")) {
            (Some(home), _, _) => here.join(home),
            (None, Some(data), _) => here.join(data).join("acquit"),
            (None, None, Some(home)) => here.join(home).join(".local/share/acquit"),
            (None, None, None) => return Err(Error::NoHome),
        };
        let store = match var("ACQUIT_STORE").map(OsString::into_string) {
            Some(Ok(store)) => store,
            Some(Err(_)) => return Err(Error::StoreText),
            None => home.join("acquit.db").to_string_lossy().into_owned(),
        };
        let text = |name| var(name).and_then(|value| value.into_string().ok());
        Ok(Self {
            environment: Environment::new(std::env::vars_os()),
            home,
            store,
            user: text("USER").or_else(|| text("LOGNAME")).unwrap_or_else(user_of_process),
            user_home: var("HOME").map(PathBuf::from),
            user_config: match (var("ACQUIT_CONFIG"), var("XDG_CONFIG_HOME"), var("HOME")) {
                (Some(file), _, _) => Some(here.join(file)),
                (None, Some(config), _) => Some(here.join(config).join("acquit/config.toml")),
                (None, None, Some(home)) => Some(here.join(home).join(".config/acquit/config.toml")),
                (None, None, None) => None,
            },
            no_color: var("NO_COLOR").is_some(),
            here,
            exe,
            host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        })
    }
}

/// The name of the user that this process runs as, for services and cron jobs, which have no `USER`; the number where the machine
/// has no name for it, which every program that takes a user takes too.
fn user_of_process() -> String {
    let id = rustix::process::geteuid().as_raw().to_string();
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    user_named(&users, &id).unwrap_or(id)
}

fn user_named(users: &str, id: &str) -> Option<String> {
    let line = users.lines().map(|line| line.split(':').collect::<Vec<_>>());
    line.into_iter().find(|fields| fields.get(2) == Some(&id)).map(|fields| fields[0].to_owned())
}

/// A variable that is set to something.
fn var(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// What the scripted agent takes from its surroundings: this program, and the variables that the harness gave it.
pub fn for_agent() -> Option<(PathBuf, Vec<(OsString, OsString)>)> {
    Some((std::env::current_exe().ok()?, std::env::vars_os().collect()))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_user_is_found_by_number() {
        let users = "root:x:0:0:root:/root:/bin/sh\nada:x:1000:1000::/nowhere:/bin/sh\nbroken\n";
        let named = |id: &str| super::user_named(users, id);
        assert_eq!((named("1000").as_deref(), named("0").as_deref()), (Some("ada"), Some("root")));
        assert_eq!(named("7"), None);
    }
}
