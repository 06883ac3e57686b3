//! The only place that reads the environment, the user name and the clock, so that the origin of every value is known.
#![allow(clippy::disallowed_methods, reason = "this is the one place")]

use std::ffi::OsString;
use std::path::PathBuf;

use acquit_run::runtime::Environment;

use crate::error::Error;

/// The parts of the environment that acquit reads.
#[derive(Clone)]
pub struct Surroundings {
    /// All variables, for the harness to choose from.
    pub environment: Environment,
    /// acquit's home: the folder of its files.
    pub home: PathBuf,
    /// The store, as a path or URL.
    pub store: String,
    /// User name.
    pub user: String,
    /// Home folder of the user.
    pub user_home: Option<PathBuf>,
    /// The user's own configuration, which every project's configuration extends. It may not exist.
    pub user_config: Option<PathBuf>,
    /// Whether colors are disabled.
    pub no_color: bool,
    /// Current directory.
    pub here: PathBuf,
    /// Path of this program.
    pub exe: PathBuf,
    /// Host name of this machine.
    pub host: String,
}

impl Surroundings {
    /// Reads the environment.
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

/// Returns the name of the user this process runs as, for services and cron jobs without `USER`. Returns the numeric id
/// if the machine has no name for it: programs that accept a user name accept the id as well.
fn user_of_process() -> String {
    let id = rustix::process::geteuid().as_raw().to_string();
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    user_named(&users, &id).unwrap_or(id)
}

fn user_named(users: &str, id: &str) -> Option<String> {
    let line = users.lines().map(|line| line.split(':').collect::<Vec<_>>());
    line.into_iter().find(|fields| fields.get(2) == Some(&id)).map(|fields| fields[0].to_owned())
}

/// Returns a variable that is set and not empty.
fn var(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Returns what the scripted agent needs: the path of this program, and the variables that the harness gave it.
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
