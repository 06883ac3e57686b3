//! Named tokens with roles, for other people, machines and scripts. A file stores their hashes; the token itself is
//! shown once, when it is created. Each token is 32 random bytes, so a plain SHA-256 cannot be brute-forced.

use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::SystemTime;

use acquit_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Files, hex, random};

/// Prefix of tokens, so that secret scanners recognize them.
const PREFIX: &str = "acquit_";
const BYTES: usize = 32;
/// Maximum number of tokens. More are a mistake.
const MOST: usize = 1_000;
/// Maximum length of a name.
const NAME: usize = 40;

/// The rights of a caller. Each role includes the ones before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// View everything.
    Viewer,
    /// Also add, run, answer, approve, merge and cancel tasks, and pause schedules.
    Operator,
    /// Also view tokens and the audit log.
    Admin,
}

impl Role {
    /// All roles with their names.
    pub const ALL: [(&str, Self); 3] =
        [("viewer", Self::Viewer), ("operator", Self::Operator), ("admin", Self::Admin)];

    /// Returns whether it may do more than look.
    pub fn may_act(self) -> bool {
        self >= Self::Operator
    }

    /// Returns the name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, role)| *role == self).map_or("", |(name, _)| name)
    }

    /// Returns the role with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, role)| *role)
    }
}

/// A token as stored in the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    /// Who uses it. Actions are recorded under this name.
    pub name: String,
    /// What it allows.
    pub role: Role,
    /// Creation time.
    pub created: Timestamp,
    /// SHA-256 of the token.
    pub hash: String,
}

#[derive(Default, Serialize, Deserialize)]
struct Stored {
    tokens: Vec<Named>,
}

/// Why a token was not created or removed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The name cannot be shown in a log line.
    #[error("a name has 1 to 40 lowercase letters, digits, `-`, `_`, `.` or `@`")]
    Name,
    /// The name is taken.
    #[error("there is a token named {0} already")]
    Taken(String),
    /// The name does not exist.
    #[error("there is no token named {0}")]
    Unknown(String),
    /// There are too many tokens.
    #[error("there are {MOST} tokens already")]
    TooMany,
    /// The file cannot be read or written.
    #[error("the file of tokens cannot be used")]
    File(#[from] std::io::Error),
}

/// The named tokens of a home.
pub struct Tokens {
    path: PathBuf,
    files: Files,
    /// The tokens that were read last, and the modification time of the file then.
    read: Mutex<(Option<SystemTime>, Vec<Named>)>,
}

impl Tokens {
    /// Opens the tokens of a home.
    pub fn new(files: &Files) -> Self {
        Self { path: files.tokens(), files: files.clone(), read: Mutex::new((None, Vec::new())) }
    }

    /// Reads all tokens, by name.
    pub fn list(&self) -> std::io::Result<Vec<Named>> {
        match fs::read(&self.path) {
            Ok(text) => Ok(serde_json::from_slice::<Stored>(&text).map_err(std::io::Error::other)?.tokens),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// Returns all tokens. Rereads the file only if it has changed, so a removed token becomes invalid with the next
    /// request.
    pub fn current(&self) -> Vec<Named> {
        let written = fs::metadata(&self.path).and_then(|about| about.modified()).ok();
        let mut read = self.read.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if read.0 != written || written.is_none() {
            // With an unreadable file, no token is valid.
            *read = (written, self.list().unwrap_or_default());
        }
        read.1.clone()
    }

    /// Returns the token that was given, if it exists. Compares hashes, so the timing reveals nothing about the token.
    pub fn find(&self, given: &str) -> Option<Named> {
        let hash = hash(given);
        given.starts_with(PREFIX).then_some(())?;
        self.current().into_iter().find(|token| token.hash == hash)
    }

    /// Creates a token and returns it. It cannot be shown again.
    pub fn add(&self, name: &str, role: Role, now: Timestamp) -> Result<String, Error> {
        let plain = |letter: char| {
            letter.is_ascii_lowercase() || letter.is_ascii_digit() || matches!(letter, '-' | '_' | '.' | '@')
        };
        if name.is_empty() || name.len() > NAME || !name.chars().all(plain) {
            return Err(Error::Name);
        }
        let token = format!("{PREFIX}{}", random(BYTES)?);
        self.change(|tokens| {
            if tokens.iter().any(|known| known.name == name) {
                return Err(Error::Taken(name.to_owned()));
            }
            if tokens.len() >= MOST {
                return Err(Error::TooMany);
            }
            tokens.push(Named { name: name.to_owned(), role, created: now, hash: hash(&token) });
            tokens.sort_by(|one, other| one.name.cmp(&other.name));
            Ok(())
        })?;
        Ok(token)
    }

    /// Removes a token, which ends its sessions.
    pub fn remove(&self, name: &str) -> Result<(), Error> {
        self.change(|tokens| {
            let before = tokens.len();
            tokens.retain(|known| known.name != name);
            if tokens.len() == before { Err(Error::Unknown(name.to_owned())) } else { Ok(()) }
        })
    }

    /// Changes the file under a lock.
    fn change(&self, change: impl FnOnce(&mut Vec<Named>) -> Result<(), Error>) -> Result<(), Error> {
        let lock = self.files.lock(&self.path.with_extension("lock"))?;
        let mut tokens = self.list()?;
        change(&mut tokens)?;
        let text = serde_json::to_string_pretty(&Stored { tokens }).map_err(std::io::Error::other)?;
        self.files.write(&self.path, &text)?;
        drop(lock);
        Ok(())
    }
}

fn hash(token: &str) -> String {
    hex(&Sha256::digest(token.trim().as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_found_until_it_is_removed_and_the_file_does_not_hold_it() {
        let home = tempfile::tempdir().unwrap();
        let files = Files::below(home.path());
        let (tokens, server) = (Tokens::new(&files), Tokens::new(&files));
        assert_eq!(server.find("acquit_00"), None);
        let token = tokens.add("ci", Role::Operator, Timestamp(1)).unwrap();
        assert!(matches!(tokens.add("ci", Role::Viewer, Timestamp(1)), Err(Error::Taken(_))));
        assert_eq!(
            server.find(&token).map(|found| (found.name, found.role)),
            Some(("ci".to_owned(), Role::Operator))
        );
        assert_eq!(server.find(token.trim_start_matches(PREFIX)), None);
        assert_eq!(server.find(&tokens.list().unwrap()[0].hash), None);
        let text = fs::read_to_string(files.tokens()).unwrap();
        assert!(!text.contains(&token) && !text.contains(&token[PREFIX.len()..]), "{text}");
        assert_eq!(
            std::os::unix::fs::PermissionsExt::mode(&fs::metadata(files.tokens()).unwrap().permissions())
                & 0o777,
            0o600
        );
        tokens.remove("ci").unwrap();
        assert_eq!(server.find(&token), None);
        assert!(matches!(tokens.remove("ci"), Err(Error::Unknown(_))));
        for name in ["", "a b", "A", "a\n", &"a".repeat(41)] {
            assert!(matches!(tokens.add(name, Role::Viewer, Timestamp(1)), Err(Error::Name)), "{name}");
        }
        // With a broken file, no token is valid.
        tokens.add("x", Role::Admin, Timestamp(1)).unwrap();
        fs::write(files.tokens(), "{").unwrap();
        assert!(server.current().is_empty() && tokens.add("y", Role::Admin, Timestamp(1)).is_err());
    }

    #[test]
    fn roles_are_ordered() {
        assert!(Role::Viewer < Role::Operator && Role::Operator < Role::Admin);
        assert!(
            Role::ALL.iter().all(|(name, role)| Role::from_name(name) == Some(*role) && role.name() == *name)
        );
    }
}
