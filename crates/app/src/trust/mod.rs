//! Trust in a repository. acquit does what `.acquit/` asks for only after the user has reviewed it with `acquit trust`.
//!
//! Trust is stored in acquit's home, by the repository's path and the content of all files of `.acquit/`. Any changed,
//! added or removed file ends it, however that happened. The content is stored as well, so that the next `acquit trust`
//! can show a diff. Repositories below `trusted_paths` of the user's own configuration are always trusted. A `.acquit/`
//! that asks for nothing (`asks`) needs no trust.

mod asks;
mod diff;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use acquit_core::hex;
use acquit_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub use asks::{Ask, What, asks};

use crate::error::Error;
use crate::snapshot::Snapshot;

/// Folder of the records in acquit's home.
const FOLDER: &str = "trust";
/// Version of the record format.
const FORM: u32 = 1;
/// Maximum number of asks to name in an error; `acquit trust` shows all.
const NAMED: usize = 5;
/// Maximum width of a value in a list.
const WIDTH: usize = 100;

/// Trust status of a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Asks for nothing that needs trust.
    NotNeeded,
    /// Lies below one of the user's trusted paths.
    ByPath,
    /// The user trusted exactly this content.
    Trusted,
    /// The user trusted other content.
    Changed,
    /// The user was never asked.
    Unknown,
}

impl Standing {
    /// Returns whether the repository may be used.
    pub fn is_trusted(self) -> bool {
        match self {
            Self::NotNeeded | Self::ByPath | Self::Trusted => true,
            Self::Changed | Self::Unknown => false,
        }
    }
}

/// The files that the user trusted.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Record {
    form: u32,
    /// Path of the repository.
    path: PathBuf,
    /// Digest of the files' content.
    digest: String,
    /// Time in milliseconds.
    at: i64,
    /// The files, to show a diff.
    files: BTreeMap<String, String>,
}

/// The user's trust in one repository.
#[derive(Clone, Debug)]
pub struct Trust {
    /// Path of the repository.
    repository: PathBuf,
    /// File of the record.
    file: PathBuf,
    /// Whether the user's own configuration trusts the path.
    by_path: bool,
}

impl Trust {
    /// Creates the trust in a repository. `home` is acquit's home, `prefixes` are the user's trusted paths.
    pub fn new(home: &Path, repository: &Path, prefixes: &[PathBuf]) -> Self {
        // Use the real path: a symlink may point to another repository tomorrow.
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let repository = real(repository);
        let by_path = prefixes.iter().any(|prefix| repository.starts_with(real(prefix)));
        let name = hex::encode(&Sha256::digest(repository.as_os_str().as_encoded_bytes())[..16]);
        Self { file: home.join(FOLDER).join(format!("{name}.json")), repository, by_path }
    }

    /// Returns the trust status of the repository with these files.
    pub fn standing(&self, files: &Snapshot) -> Standing {
        if asks(files).is_empty() {
            return Standing::NotNeeded;
        }
        if self.by_path {
            return Standing::ByPath;
        }
        match self.record() {
            Some(record) if record.digest == files.digest() => Standing::Trusted,
            Some(_) => Standing::Changed,
            None => Standing::Unknown,
        }
    }

    /// Returns an error if the files are not trusted.
    pub fn check(&self, files: &Snapshot) -> Result<(), Error> {
        let standing = self.standing(files);
        if standing.is_trusted() {
            return Ok(());
        }
        let asks = asks(files);
        let mut named: Vec<String> = asks.iter().take(NAMED).map(line).collect();
        if asks.len() > NAMED {
            named.push(format!("and {} more", asks.len() - NAMED));
        }
        Err(Error::Untrusted {
            repository: self.repository.clone(),
            changed: standing == Standing::Changed,
            asks: named.join("\n  "),
        })
    }

    /// Returns what changed since the user last trusted it, as a diff; everything if they never did.
    pub fn difference(&self, files: &Snapshot) -> String {
        let before = self.record().map(|record| record.files).unwrap_or_default();
        diff::of(&before, &files.texts())
    }

    /// Records that the user trusts these files.
    pub fn keep(&self, files: &Snapshot, now: Timestamp) -> Result<(), Error> {
        let record = Record {
            form: FORM,
            path: self.repository.clone(),
            digest: files.digest(),
            at: now.0,
            files: files.texts(),
        };
        let text = serde_json::to_vec_pretty(&record).unwrap_or_default();
        replace(&self.file, &text).map_err(|source| Error::File {
            doing: "write",
            path: self.file.clone(),
            source,
        })
    }

    /// Keeps trust after acquit itself wrote files for the user, if everything else was trusted before or is what
    /// acquit wrote.
    pub fn keep_written(
        &self,
        files: &Snapshot,
        written: &BTreeMap<String, String>,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let before = self.record().map(|record| record.files).unwrap_or_default();
        let known = |(path, text): (&String, &String)| {
            written.get(path) == Some(text) || before.get(path) == Some(text)
        };
        let all = files.texts().iter().all(known);
        if all {
            self.keep(files, now)?;
        }
        Ok(all)
    }

    /// Ends the trust. Returns whether there was any.
    pub fn revoke(&self) -> Result<bool, Error> {
        match std::fs::remove_file(&self.file) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(Error::File { doing: "remove", path: self.file.clone(), source }),
        }
    }

    /// Returns the stored record. Ignores a record that cannot be read or belongs to another repository.
    fn record(&self) -> Option<Record> {
        let bytes = std::fs::read(&self.file).ok()?;
        let record: Record = serde_json::from_slice(&bytes).ok()?;
        (record.form == FORM && record.path == self.repository).then_some(record)
    }
}

/// Returns an ask as one line.
pub fn line(ask: &Ask) -> String {
    let value = acquit_core::prompt::first_line(&ask.value, WIDTH);
    format!("{}: {} = {value} (.acquit/{})", ask.what.words(), ask.key, ask.file)
}

/// Writes a file atomically, readable only by the user.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let fresh = path.with_extension(format!("{}.new", std::process::id()));
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
    let written =
        file.write_all(bytes).and_then(|()| file.sync_all()).and_then(|()| std::fs::rename(&fresh, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&fresh);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVIL: &str = "[setup]\nrun = \"evil\"\n";

    fn repository(top: &Path, config: &str) -> Snapshot {
        let folder = top.join(".acquit");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("acquit.toml"), config).unwrap();
        Snapshot::take(&folder).unwrap()
    }

    #[test]
    fn trust_is_in_one_repository_with_one_content() {
        let place = tempfile::tempdir().unwrap();
        let (one, other, home) =
            (place.path().join("one"), place.path().join("other"), place.path().join("home"));
        let files = repository(&one, EVIL);
        let theirs = repository(&other, EVIL);
        let trust = Trust::new(&home, &one, &[]);
        assert_eq!(trust.standing(&files), Standing::Unknown);
        trust.keep(&files, Timestamp(1)).unwrap();
        assert_eq!(trust.standing(&files), Standing::Trusted);
        assert_eq!(Trust::new(&home, &other, &[]).standing(&theirs), Standing::Unknown, "another path");
        let changed = repository(&one, "[setup]\nrun = \"more evil\"\n");
        assert_eq!(trust.standing(&changed), Standing::Changed);
        assert!(trust.difference(&changed).contains("-run = \"evil\"\n+run = \"more evil\""));
        assert!(trust.check(&changed).unwrap_err().to_string().contains("changed"));
        assert_eq!(trust.standing(&repository(&one, EVIL)), Standing::Trusted, "back to what was trusted");
        assert!(trust.revoke().unwrap() && !trust.revoke().unwrap());
        assert_eq!(trust.standing(&files), Standing::Unknown);
    }

    #[test]
    fn a_path_is_trusted_by_whole_names_and_by_what_it_really_is() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        let standing = |repository_at: &Path| {
            let files = repository(repository_at, EVIL);
            Trust::new(&at("home"), repository_at, &[at("mine")]).standing(&files)
        };
        assert_eq!(standing(&at("mine/a")), Standing::ByPath);
        assert_eq!(standing(&at("mine")), Standing::ByPath);
        assert_eq!(standing(&at("mine-not")), Standing::Unknown);
        // A symlink below a trusted path leads out of it.
        std::os::unix::fs::symlink(at("mine-not"), at("mine/link")).unwrap();
        assert_eq!(standing(&at("mine/link")), Standing::Unknown);
    }

    #[test]
    fn what_acquit_wrote_is_trusted_unless_something_else_lies_beside_it() {
        let place = tempfile::tempdir().unwrap();
        let trust = Trust::new(&place.path().join("home"), place.path(), &[]);
        let files = repository(place.path(), EVIL);
        let written = BTreeMap::from([("acquit.toml".to_owned(), EVIL.to_owned())]);
        std::fs::create_dir(place.path().join(".acquit/workflows")).unwrap();
        let planted = place.path().join(".acquit/workflows/evil.toml");
        std::fs::write(&planted, "[gates.x]\nrun = \"evil\"\n").unwrap();
        let both = Snapshot::take(&place.path().join(".acquit")).unwrap();
        assert!(!trust.keep_written(&both, &written, Timestamp(1)).unwrap());
        assert_eq!(trust.standing(&both), Standing::Unknown);
        assert!(trust.keep_written(&files, &written, Timestamp(1)).unwrap());
        assert_eq!(trust.standing(&files), Standing::Trusted);
    }

    #[test]
    fn a_record_of_another_repository_is_none() {
        let place = tempfile::tempdir().unwrap();
        let trust = Trust::new(&place.path().join("home"), place.path(), &[]);
        let files = repository(place.path(), EVIL);
        trust.keep(&files, Timestamp(1)).unwrap();
        let text = std::fs::read_to_string(&trust.file).unwrap();
        let real = place.path().canonicalize().unwrap();
        std::fs::write(&trust.file, text.replace(real.to_str().unwrap(), "/elsewhere")).unwrap();
        assert_eq!(trust.standing(&files), Standing::Unknown);
        std::fs::write(&trust.file, "{ half").unwrap();
        assert_eq!(trust.standing(&files), Standing::Unknown);
    }
}
