//! Mirrors: local copies of repositories that are given by address, kept in acquit's own directory and updated before
//! use.
//!
//! A mirror is a bare repository. It is created next to its final path and moved there when complete, so that a
//! half-created one is never used. Creating and updating hold a lock that ends with the process. Branches that the
//! remote removes are removed here too. Branches of acquit's own, which tasks leave in it, are neither overwritten nor
//! removed ([`branches`]). The next update removes the locks and partial packs that a killed git left.

mod branches;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Resource, getrlimit};

use super::{Error, Git, push::Way};
use crate::pause::pause;

/// Retry interval for a lock.
const AGAIN: Duration = Duration::from_millis(50);
/// Age at which a ref lock is stale: git holds one only while it writes a line, so an older one is left from a killed
/// git. Our own lock ensures that no fetch is running here.
const STALE: Duration = Duration::from_secs(20);
/// Age at which a partial pack without writes is abandoned.
const HALF: Duration = Duration::from_hours(2);
/// Maximum length of the readable part of a directory name.
const READABLE: usize = 60;

/// Returns whether a text is the address of a repository. Everything else is a local path.
pub fn is_address(text: &str) -> bool {
    let scp = || {
        let (host, path) = text.split_once(':')?;
        let host_like = |c: char| c.is_ascii_alphanumeric() || "@.-_".contains(c);
        (!host.is_empty()
            && !path.starts_with("//")
            && host.chars().all(host_like)
            && host.contains(['@', '.']))
        .then_some(())
    };
    ["https://", "http://", "ssh://", "file://"].iter().any(|scheme| text.starts_with(scheme))
        || scp().is_some()
}

/// Returns the directory name of a mirror: a readable part, and a number that is unique to the address.
fn folder_name(url: &str) -> String {
    let plain = url.trim_end_matches('/').trim_end_matches(".git");
    let tail: String = plain
        .rsplit(['/', ':'])
        .take(2)
        .map(|part| {
            part.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-' || *c == '_').collect::<String>()
        })
        .collect::<Vec<_>>()
        .into_iter()
        .rev()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("-");
    let hash = plain.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{}-{hash:016x}.git", &tail[..tail.len().min(READABLE)])
}

impl Git {
    /// Returns the mirror of a remote in `folder`, up to date. Creates it if there is none.
    pub fn mirror(&self, folder: &Path, way: &Way<'_>) -> Result<PathBuf, Error> {
        let url = way.url;
        if url.starts_with('-') || url.contains(char::is_control) {
            return Err(Error::BadName { name: url.to_owned() });
        }
        let place = folder.join(folder_name(url));
        let at = |path: &Path| {
            let path = path.to_owned();
            move |source| Error::Path { path, source }
        };
        fs::create_dir_all(folder).map_err(at(folder))?;
        let _lock = self.lock(&place.with_extension("lock"))?;
        if place.join("HEAD").is_file() {
            clear_locks(&place).map_err(at(&place))?;
            clear_halves(&place.join("objects/pack"), HALF).map_err(at(&place))?;
            self.bounded(&place, way)?;
            return Ok(place);
        }
        let new = place.with_extension("new");
        match fs::remove_dir_all(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(at(&new)(error)),
            _ => {}
        }
        write_bare(&new, url).map_err(at(&new))?;
        if let Err(error) = self.bounded(&new, way) {
            // A partial download is useless. If this fails, the next attempt removes it.
            let _ = fs::remove_dir_all(&new);
            return Err(error);
        }
        fs::rename(&new, &place).map_err(at(&place))?;
        Ok(place)
    }

    /// Updates a mirror. If the data is too large, leaves nothing behind.
    fn bounded(&self, place: &Path, way: &Way<'_>) -> Result<(), Error> {
        Self::within_size(place, || self.follow(place, way))
    }

    /// Fetches into a repository. If the data is too large, leaves nothing behind.
    pub(super) fn within_size(place: &Path, fetch: impl FnOnce() -> Result<(), Error>) -> Result<(), Error> {
        let fetched = fetch();
        let largest = getrlimit(Resource::Fsize).current;
        match (&fetched, largest) {
            // Git only reports that the process which writes the pack died.
            (Err(_), Some(limit)) if clear_full(&place.join("objects/pack"), limit) => {
                Err(Error::TooLarge { verb: "fetch".to_owned(), limit })
            }
            _ => fetched,
        }
    }

    /// Takes the write lock of a mirror. Waits as long as another update may take.
    pub(super) fn lock(&self, path: &Path) -> Result<File, Error> {
        let at = |source| Error::Path { path: path.to_owned(), source };
        let file = File::options().create(true).truncate(false).write(true).open(path).map_err(at)?;
        let begun = Instant::now();
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(file),
                Err(_) if begun.elapsed() < self.time_limit() => pause(AGAIN),
                Err(error) => return Err(at(error.into())),
            }
        }
    }
}

/// Creates an empty bare repository with its remote. Written by hand, so that nothing comes from the machine's
/// templates.
fn write_bare(place: &Path, url: &str) -> io::Result<()> {
    fs::create_dir_all(place.join("objects/pack"))?;
    fs::create_dir_all(place.join("objects/info"))?;
    fs::create_dir_all(place.join("refs/heads"))?;
    let url = url.replace('\\', "\\\\").replace('"', "\\\"");
    let config = format!(
        "[core]\n\trepositoryformatversion = 0\n\tbare = true\n[remote \"origin\"]\n\turl = \"{url}\"\n"
    );
    fs::write(place.join("config"), config)?;
    fs::write(place.join("HEAD"), "ref: refs/heads/main\n")
}

/// Removes the locks that a killed git left, and waits for those that a running one may still hold.
fn clear_locks(place: &Path) -> io::Result<()> {
    let begun = Instant::now();
    loop {
        let mut young = false;
        let mut folders = vec![place.join("refs")];
        let mut found: Vec<PathBuf> = Vec::new();
        for entry in fs::read_dir(place)?.flatten() {
            found.push(entry.path());
        }
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let is_folder = entry.file_type()?.is_dir();
                if is_folder { folders.push(entry.path()) } else { found.push(entry.path()) }
            }
        }
        for path in found.iter().filter(|path| path.extension().is_some_and(|end| end == "lock")) {
            match age(path) {
                Some(age) if age < STALE => young = true,
                Some(_) => fs::remove_file(path)?,
                None => {}
            }
        }
        // If the clock was set back, a lock would look young forever.
        if !young || begun.elapsed() > STALE * 2 {
            return Ok(());
        }
        pause(AGAIN);
    }
}

/// Removes partial packs that reached the limit, and returns whether there was one.
fn clear_full(packs: &Path, limit: u64) -> bool {
    let halves = fs::read_dir(packs).into_iter().flatten().flatten().filter(|entry| {
        let half = entry.file_name().to_string_lossy().starts_with("tmp_");
        half && entry.metadata().is_ok_and(|meta| meta.len() >= limit)
    });
    let halves: Vec<PathBuf> = halves.map(|entry| entry.path()).collect();
    for half in &halves {
        // If this fails, it is removed when it is old.
        let _ = fs::remove_file(half);
    }
    !halves.is_empty()
}

/// Removes partial packs of killed fetches to which nothing was written for a while: they take as much space as the
/// data that had arrived.
pub(super) fn clear_halves(packs: &Path, abandoned: Duration) -> io::Result<()> {
    for entry in fs::read_dir(packs)?.flatten() {
        let half = entry.file_name().to_string_lossy().starts_with("tmp_");
        if half && age(&entry.path()).is_some_and(|age| age > abandoned) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Returns the age of a file. `None` if it is gone.
#[allow(clippy::disallowed_methods, reason = "the age of a file is measured by the clock that its disk has")]
fn age(path: &Path) -> Option<Duration> {
    let written = fs::metadata(path).and_then(|meta| meta.modified()).ok()?;
    Some(SystemTime::now().duration_since(written).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_from_paths() {
        for address in [
            "https://host/a.git",
            "ssh://git@host:22/a",
            "git@host:team/a.git",
            "file:///srv/a.git",
            "host.example:a",
        ] {
            assert!(is_address(address), "{address}");
        }
        for path in [".", "/src/app", "../app", "~/app", "app", "C:", "a b:c", "app:", ":x"] {
            assert!(!is_address(path), "{path}");
        }
    }

    #[test]
    fn a_mirror_is_called_so_that_people_know_it_and_none_is_called_like_another() {
        let name = folder_name("git@forge.example:team/app.git");
        assert!(
            name.starts_with("team-app-") && Path::new(&name).extension().is_some_and(|end| end == "git"),
            "{name}"
        );
        assert_eq!(name, folder_name("git@forge.example:team/app"), "with or without its end");
        assert_ne!(name, folder_name("git@other.example:team/app.git"));
        for odd in ["https://host/../../etc", "file:///", "https://h/ü/%00"] {
            let name = folder_name(odd);
            assert!(!name.contains('/') && !name.starts_with('.') && name.is_ascii(), "{name}");
        }
    }
}
