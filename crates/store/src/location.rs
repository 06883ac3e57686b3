//! Location of a store: a file or a PostgreSQL server. Shown without secrets.

use std::fmt;
use std::path::PathBuf;

use postgres::config::Host;

/// Location of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// An SQLite file.
    Sqlite(PathBuf),
    /// A PostgreSQL server.
    Postgres(Address),
}

impl Location {
    /// Parses `postgres://…` or `postgresql://…` as a server, and anything else as the path of a file.
    pub fn parse(text: &str) -> Self {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            Self::Postgres(Address(text.to_owned()))
        } else {
            Self::Sqlite(PathBuf::from(text))
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => path.display().fmt(f),
            Self::Postgres(address) => address.fmt(f),
        }
    }
}

/// The URL of a PostgreSQL database. It may contain a password, so only host and database are shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Address(String);

impl Address {
    /// Returns the complete URL.
    pub(crate) fn url(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let config: Result<postgres::Config, _> = self.0.parse();
        let Ok(config) = config else { return f.write_str("postgres://…") };
        let host = match config.get_hosts().first() {
            Some(Host::Tcp(name)) => name.clone(),
            Some(Host::Unix(path)) => path.display().to_string(),
            None => String::new(),
        };
        write!(f, "postgres://{host}/{}", config.get_dbname().unwrap_or_default())
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_a_server_and_anything_else_a_file() {
        assert_eq!(Location::parse("/a b/ü.db"), Location::Sqlite(PathBuf::from("/a b/ü.db")));
        assert!(matches!(Location::parse("postgres://h/d"), Location::Postgres(_)));
        assert!(matches!(Location::parse("postgresql://h/d"), Location::Postgres(_)));
    }

    #[test]
    fn a_password_is_never_shown() {
        for url in [
            "postgres://me:hunter2@host/db",
            "postgres://host/db?password=hunter2",
            "postgres://me:hunter2@[broken",
            "postgres://host/db?password=a%40hunter2",
        ] {
            let location = Location::parse(url);
            assert!(!format!("{location} {location:?}").contains("hunter2"), "{url}: {location}");
        }
        assert_eq!(Location::parse("postgres://me:hunter2@host/db").to_string(), "postgres://host/db");
    }
}
