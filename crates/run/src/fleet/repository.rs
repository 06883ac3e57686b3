//! A worker's own copy of a repository: bare, made from its remote and from parcels, stored under the id of their store.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use acquit_core::config::Config;
use acquit_core::definition::{Remote, Travel};
use acquit_core::fleet::Parcels;
use acquit_core::ids::TaskId;
use acquit_core::store::Store;

use super::Error;
use super::parcels::{present, receive_all};
use crate::forge::{Address, Transport, is_loopback};
use crate::git::{CommitId, ObjectFormat, Source};
use crate::mirror;
use crate::runtime::{Runtime, make_private};

/// Directory of these repositories, in acquit's own.
const FOLDER: &str = "repositories";

/// File in a copy whose age is the time since its last use.
pub const USED: &str = "acquit-used";

/// Time limit for fetching from a remote in a harness: it must end before the lease of its leg.
pub const WITHIN_LEASE: Duration = Duration::from_mins(4);

/// Number of packs of a repository at which they are combined.
const PACKS: usize = 40;

/// Returns the repository of a task, with its start commit and the work of its legs. The start commit comes from the
/// repository's remote, if the user of this machine has named its host, or else from the store.
pub fn clone(
    runtime: &Runtime,
    store: &mut dyn Store,
    own: &Config,
    (task, travel): (TaskId, &Travel),
    limit: Duration,
) -> Result<Source, Error> {
    let key = travel.repository.as_deref().unwrap_or_default();
    let parcels = store.parcels(&Parcels::Objects(key.to_owned(), task))?;
    let seed = store.task(task)?.seed;
    let missing = || Error::Missing { commit: seed.base.commit.clone(), repository: key.to_owned() };
    let base: CommitId = seed.base.commit.parse().map_err(|_| missing())?;
    let wanted: BTreeSet<CommitId> =
        seed.base.work.iter().filter_map(|work| work.parse().ok()).chain([base.clone()]).collect();
    let place = place(runtime, key);
    make(runtime, &place, base.format()).map_err(|source| Error::File { path: place.clone(), source })?;
    fs::write(place.join(USED), "").map_err(|source| Error::File { path: place.clone(), source })?;
    let found = Source::discover(&runtime.git, &place).map_err(Error::git("open the repository"))?;
    let fetched = match &travel.remote {
        Some(remote) => fetch(runtime, own, &found, remote, limit),
        None => Ok(()),
    };
    // Data that the remote has need not come from the store as well.
    let there = has(runtime, &found, &wanted)?;
    let left: Vec<_> = parcels.iter().filter(|stored| stored.parcel.leg.is_some()).cloned().collect();
    let received = match receive_all(runtime, store, &found, if there { &left } else { &parcels }) {
        Err(Error::Git { .. }) if there => receive_all(runtime, store, &found, &parcels),
        received => received,
    };
    if there {
        return received.map(|()| found);
    }
    if !has(runtime, &found, &wanted)? {
        // Data in the store may build on commits of the remote.
        fetched?;
        received?;
        return Err(missing());
    }
    // A parcel that could not be added belongs to another task, or the leg that needs it reports the error.
    match received {
        Err(error @ Error::Store(_)) => Err(error),
        Ok(()) | Err(_) => Ok(found),
    }
}

fn has(runtime: &Runtime, source: &Source, commits: &BTreeSet<CommitId>) -> Result<bool, Error> {
    Ok(present(&runtime.git, source, commits.clone())?.len() == commits.len())
}

/// Fetches the start of a task from its remote, unless it is here already. The address comes from the store, which
/// others write to: only a host that the user of this machine has named is contacted, and only with credentials of this
/// machine for that host. The commit is identified by its id, so its sender does not matter.
fn fetch(
    runtime: &Runtime,
    own: &Config,
    into: &Source,
    remote: &Remote,
    limit: Duration,
) -> Result<(), Error> {
    let strange = || Error::Address { url: remote.url.clone() };
    let commit: CommitId = remote.commit.parse().map_err(|_| strange())?;
    if has(runtime, into, &[commit.clone()].into())? {
        return Ok(());
    }
    let address = Address::of_server(&remote.url).filter(is_private).ok_or_else(strange)?;
    let host = address.port.map_or_else(|| address.host.clone(), |port| format!("{}:{port}", address.host));
    if !own.fetch_from.contains(&host) {
        return Err(Error::NotNamed { host, commit: commit.to_string() });
    }
    Ok(mirror::fetch_beside(runtime, &address.url, limit, (into, &commit))?)
}

/// Returns whether data fetched from an address is encrypted on the way.
fn is_private(address: &Address) -> bool {
    match address.transport {
        Transport::Http => is_loopback(&address.host),
        Transport::Https | Transport::Ssh => true,
    }
}

/// Combines the packs of a worker's copy of a repository, if it has many: each fetch and each parcel adds one, and git
/// searches them in sequence. Combines small packs, so a large one is rarely written again. Keeps all objects, because
/// no ref shows which are needed.
pub fn repack(runtime: &Runtime, source: &Source) -> Result<(), Error> {
    let packs = source.path().join("objects/pack");
    let is_pack = |entry: &fs::DirEntry| entry.path().extension().is_some_and(|ending| ending == "pack");
    if fs::read_dir(packs).into_iter().flatten().flatten().filter(is_pack).count() <= PACKS {
        return Ok(());
    }
    let repack = source.call(&runtime.git, "repack").args(["--geometric=2", "-d", "-q"]);
    repack.run().map(drop).map_err(Error::git("pack the repository again"))
}

/// Returns the path of a repository. Its key is untrusted text, so the path contains only ASCII letters and digits of
/// it, and a hash.
pub fn place(runtime: &Runtime, key: &str) -> PathBuf {
    let hash = key.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let readable: String = key.rsplit(['/', ':']).next().unwrap_or_default().chars().collect();
    let readable: String =
        readable.trim_end_matches(".git").chars().filter(char::is_ascii_alphanumeric).take(40).collect();
    copies(runtime).join(format!("{readable}-{hash:016x}.git"))
}

/// Returns the directory of the copies of the store's repositories.
pub fn copies(runtime: &Runtime) -> PathBuf {
    runtime.home.join(FOLDER).join(runtime.store().to_string())
}

/// Creates an empty repository, unless there is one. Concurrent processes write the same files; `HEAD` comes last.
fn make(runtime: &Runtime, place: &std::path::Path, format: ObjectFormat) -> std::io::Result<()> {
    if place.join("HEAD").is_file() {
        return Ok(());
    }
    for folder in [&runtime.home, &runtime.home.join(FOLDER)] {
        make_private(folder)?;
    }
    for folder in ["objects/pack", "objects/info", "refs/heads"] {
        fs::create_dir_all(place.join(folder))?;
    }
    let (version, extension) =
        if format == ObjectFormat::Sha256 { (1, "[extensions]\n\tobjectformat = sha256\n") } else { (0, "") };
    // Nothing is ever pruned, so nothing needs a ref.
    let config = format!(
        "[core]\n\trepositoryformatversion = {version}\n\tbare = true\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n{extension}"
    );
    let write = |name: &str, text: &str| {
        let fresh = place.join(format!("{name}.{}", std::process::id()));
        fs::write(&fresh, text)?;
        fs::rename(fresh, place.join(name))
    };
    write("config", &config)?;
    write("HEAD", "ref: refs/heads/acquit-none\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_hosts_are_followed() {
        for good in ["https://git.example/a.git", "ssh://git@git.example/a", "git@git.example:a/b.git"] {
            assert!(Address::of_server(good).is_some(), "{good}");
        }
        for bad in [
            "file:///etc",
            "/srv/a.git",
            "ext::sh -c evil",
            "git://git.example/a",
            "fd::3",
            "ssh://-oProxyCommand=evil/a",
            "https://git.example/a\nb",
            "--upload-pack=evil",
        ] {
            assert!(Address::of_server(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn code_is_not_fetched_over_plain_http_except_from_this_machine() {
        let private = |url: &str| is_private(&Address::of_server(url).unwrap());
        for good in
            ["https://git.example/a", "git@git.example:a/b", "http://127.0.0.1:8080/a", "http://localhost/a"]
        {
            assert!(private(good), "{good}");
        }
        for bad in ["http://git.example/a", "http://10.0.0.1/a", "http://127.0.0.1.evil.example/a"] {
            assert!(!private(bad), "{bad}");
        }
    }
}
