//! Named tokens with roles, for other people, other machines and scripts. A file keeps their hashes; the token itself is shown once, when
//! it is made. Each is 32 random bytes, so a plain SHA-256 cannot be searched.

use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::SystemTime;

use acquit_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Files, hex, random};

/// What a token begins with, so that scanners for leaked secrets know it.
const PREFIX: &str = "acquit_";
const BYTES: usize = 32;
/// More tokens than this are a mistake.
const MOST: usize = 1_000;
/// The longest name.
const NAME: usize = 40;

/// What somebody may do. Each role may do what those before it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Look at everything.
    Viewer,
    /// Also add, run, answer, approve, merge and end tasks, and pause schedules.
    Operator,
    /// Also see tokens and the audit log.
    Admin,
}

impl Role {
    /// All of them with their names.
    pub const ALL: [(&str, Self); 3] =
        [("viewer", Self::Viewer), ("operator", Self::Operator), ("admin", Self::Admin)];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, role)| *role == self).map_or("", |(name, _)| name)
    }

    /// The role of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, role)| *role)
    }
}

/// A token, as the file has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    /// Who uses it. What is done with it is recorded under this name.
    pub name: String,
    /// What it allows.
    pub role: Role,
    /// When it was made.
    pub created: Timestamp,
    /// The SHA-256 of the token.
    pub hash: String,
}

#[derive(Default, Serialize, Deserialize)]
struct Stored {
    tokens: Vec<Named>,
}

/// Why a token was not made or removed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A name that cannot be shown in a log line.
    #[error("a name has 1 to 40 lowercase letters, digits, `-`, `_`, `.` or `@`")]
    Name,
    /// A name twice.
    #[error("there is a token named {0} already")]
    Taken(String),
    /// A name that is not there.
    #[error("there is no token named {0}")]
    Unknown(String),
    /// Too many.
    #[error("there are {MOST} tokens already")]
    TooMany,
    /// The file.
    #[error("the file of tokens cannot be used")]
    File(#[from] std::io::Error),
}

/// The named tokens of a home.
pub struct Tokens {
    path: PathBuf,
    files: Files,
    /// What was read last, and when the file was written then.
    read: Mutex<(Option<SystemTime>, Vec<Named>)>,
}

impl Tokens {
    /// Those below a home.
    pub fn new(files: &Files) -> Self {
        Self { path: files.tokens(), files: files.clone(), read: Mutex::new((None, Vec::new())) }
    }

    /// All of them, by name.
    pub fn list(&self) -> std::io::Result<Vec<Named>> {
        match fs::read(&self.path) {
            Ok(text) => Ok(serde_json::from_slice::<Stored>(&text).map_err(std::io::Error::other)?.tokens),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// The same, read again only if the file was written since: a removed token ends at the next request.
    pub fn current(&self) -> Vec<Named> {
        let written = fs::metadata(&self.path).and_then(|about| about.modified()).ok();
        let mut read = self.read.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if read.0 != written || written.is_none() {
            // A file that cannot be read lets nobody in.
            *read = (written, self.list().unwrap_or_default());
        }
        read.1.clone()
    }

    /// The token that was given, if it is one of these. Hashes are compared, so the time it takes tells nothing of the token.
    pub fn find(&self, given: &str) -> Option<Named> {
        let hash = hash(given);
        given.starts_with(PREFIX).then_some(())?;
        self.current().into_iter().find(|token| token.hash == hash)
    }

    /// Makes a token and gives it: nobody can show it again.
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

    /// Removes a token. Its sessions end with it.
    pub fn remove(&self, name: &str) -> Result<(), Error> {
        self.change(|tokens| {
            let before = tokens.len();
            tokens.retain(|known| known.name != name);
            if tokens.len() == before { Err(Error::Unknown(name.to_owned())) } else { Ok(()) }
        })
    }

    /// Changes the file while nobody else does.
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
        // A broken file lets nobody in.
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
