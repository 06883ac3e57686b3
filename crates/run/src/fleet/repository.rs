//! A worker's own copy of a repository: bare, made from parcels, stored under the id of their store.

use std::fs;
use std::path::PathBuf;

use acquit_core::fleet::{Content, Parcels};
use acquit_core::ids::TaskId;
use acquit_core::store::Store;

use super::Error;
use super::parcels::receive_all;
use crate::git::Source;
use crate::runtime::{Runtime, make_private};

/// Directory of these repositories, in acquit's own.
const FOLDER: &str = "repositories";

/// Returns the repository of a task, with everything that tasks started from and that the legs of this one left.
pub fn clone(runtime: &Runtime, store: &mut dyn Store, key: &str, task: TaskId) -> Result<Source, Error> {
    let parcels = store.parcels(&Parcels::Objects(key.to_owned(), task))?;
    let format = parcels.iter().find_map(|parcel| match &parcel.parcel.content {
        Content::Objects { format, .. } => Some(format.as_str()),
        Content::File { .. } => None,
    });
    let Some(format) = format else {
        return Err(Error::Missing { commit: "of any kind".to_owned(), repository: key.to_owned() });
    };
    let place = place(runtime, key);
    make(runtime, &place, format).map_err(|source| Error::File { path: place.clone(), source })?;
    let found = Source::discover(&runtime.git, &place).map_err(Error::git("open the repository"))?;
    receive_all(runtime, store, &found, &parcels)?;
    Ok(found)
}

/// Returns the path of a repository. Its key is untrusted text, so the path contains only ASCII letters and digits of
/// it, and a hash.
fn place(runtime: &Runtime, key: &str) -> PathBuf {
    let hash = key.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let readable: String = key.rsplit(['/', ':']).next().unwrap_or_default().chars().collect();
    let readable: String =
        readable.trim_end_matches(".git").chars().filter(char::is_ascii_alphanumeric).take(40).collect();
    runtime.home.join(FOLDER).join(runtime.store().to_string()).join(format!("{readable}-{hash:016x}.git"))
}

/// Creates an empty repository, unless there is one. Concurrent processes write the same files; `HEAD` comes last.
fn make(runtime: &Runtime, place: &std::path::Path, format: &str) -> std::io::Result<()> {
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
        if format == "sha256" { (1, "[extensions]\n\tobjectformat = sha256\n") } else { (0, "") };
    // Nothing here has a ref, and nothing is ever pruned: the store also has every pack.
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
