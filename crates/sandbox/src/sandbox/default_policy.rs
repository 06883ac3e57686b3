//! The default policy: what an agent or a gate needs of the machine, and nothing that helps it escape.
//!
//! The file system is an allowlist: system programs and libraries, toolchains in the user's home, the workspace. The
//! home is a separate, empty directory. Writes to toolchains and caches go to a separate directory too, so that no
//! agent can leave anything in them that a later build of the user would run.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use acquit_core::config::Config;
use acquit_core::sandbox::{Host, Network};
use rustix::fs::{AtFlags, CWD, StatxFlags, statx};

use super::programs::Programs;
use super::secrets::{self, SECRETS, SETTINGS};
use super::system::{ETC, SYSTEM, SYSTEM_HIDDEN};
use super::toolchains::{self, Toolchain};
use super::view::{View, is_in};
use super::{Entry, Policy, Reach, What};
use crate::environment::{Environment, expand};

/// Additional needs of a program of a leg.
pub struct Surroundings<'a> {
    /// The project's configuration.
    pub config: &'a Config,
    /// The user's home directory.
    pub home: &'a Path,
    /// The environment that acquit was started with: `PATH` and the locations of toolchains.
    pub environment: &'a Environment,
    /// The directory that belongs to acquit, which is not shown.
    pub own: &'a Path,
    /// The user's repository, which is not shown either, even if a parent directory is.
    pub repository: Option<&'a Path>,
    /// The directory for writes to the home, `/tmp` and caches. Created if missing.
    pub aside: &'a Path,
    /// Directories and files that the program may write.
    pub write: &'a [PathBuf],
    /// Directories and files that it may read.
    pub read: &'a [PathBuf],
    /// Its credential files.
    pub login: &'a [String],
    /// Files to place in its home under these names, replacing the user's.
    pub placed: &'a [(PathBuf, PathBuf)],
    /// Caches that the project's setup filled, laid out as in a home: visible in the home and in the user's caches,
    /// read-only.
    pub setup: Option<&'a Path>,
    /// Other entries, such as its working tree.
    pub mounts: &'a [Entry],
    /// The hosts that it may reach.
    pub reach: Reach,
}

/// Returns the hosts that a program may reach under a configured network mode.
pub fn reach(network: Network, config: &Config, agent: &[Host], log: PathBuf) -> Reach {
    match network {
        Network::Off => Reach::Nobody,
        Network::Model => {
            Reach::Hosts { hosts: agent.iter().chain(&config.network.hosts).cloned().collect(), log }
        }
        Network::Open => Reach::Everybody,
    }
}

/// Returns whether `place` is in `whole` without a mount in between, so that a layer over `whole` contains it.
fn is_plainly_in(whole: &Path, place: &Path) -> bool {
    let mount = |path: &Path| {
        let stat = statx(CWD, path, AtFlags::empty(), StatxFlags::MNT_ID).ok()?;
        StatxFlags::from_bits_retain(stat.stx_mask).contains(StatxFlags::MNT_ID).then_some(stat.stx_mnt_id)
    };
    place.starts_with(whole) && mount(whole).is_some_and(|whole| mount(place) == Some(whole))
}

/// Creates the policy, and the separate directories that it needs.
pub fn policy(ground: Surroundings<'_>) -> io::Result<Policy> {
    let Surroundings {
        config, home, environment, own, repository, aside, write, read, login, placed, ..
    } = ground;
    let Surroundings { setup, mounts, reach, .. } = ground;
    let aside = Aside(aside);
    let named = |list: &[String]| list.iter().map(|path| expand(path, home)).collect::<Vec<_>>();
    let mut view = View::new();
    // Earlier programs wrote to these, so follow no symlink in them.
    for folder in named(&config.access.write).iter().chain(write).chain([&own.join("tasks")]) {
        view.distrust(folder);
    }
    for place in SYSTEM {
        view.show_if_there(Path::new(place), What::Read);
    }
    view.show_listed(Path::new("/etc"), ETC);
    for place in SYSTEM_HIDDEN {
        view.show_if_there(Path::new(place), What::Hidden);
    }
    view.show(Path::new("/tmp"), What::Bound { source: aside.folder("tmp")? });
    view.entries.push(Entry { at: "/var/tmp".into(), what: What::Link { to: "/tmp".into() } });
    if home.parent().is_some() {
        view.show(home, home_of_its_own(setup, &aside)?);
        let private = Private::new(home, own);
        for toolchain in toolchains::find(home, |name| environment.get(name)) {
            show_toolchain(&mut view, &toolchain, &private, &aside, setup)?;
            for settings in toolchain.settings() {
                view.show(&settings, What::Hidden);
            }
        }
        for (name, tables) in SETTINGS {
            if let Some(text) = secrets::without_credentials(&home.join(name), tables) {
                let source = aside.file(&name.replace('/', "-"), &text)?;
                view.show(&home.join(name), What::Bound { source });
            }
        }
    }
    Programs::new(&mut view, home, own).of_path(environment.get("PATH"));
    let (shown, logins) = (named(&config.access.read), named(login));
    for place in &shown {
        view.show(place, What::Read);
    }
    for place in named(&config.access.write) {
        view.show(&place, What::Write);
    }
    for secret in SECRETS.iter().map(|name| home.join(name)) {
        let asked_for = shown.iter().chain(&logins).any(|place| place.starts_with(&secret));
        let written: PathBuf = secret.components().collect();
        let has_a_copy = view.entries.iter().any(|entry| is_in(&entry.at, &written));
        if !asked_for && !has_a_copy {
            view.show(&secret, What::Hidden);
        }
    }
    view.show(own, What::Hidden);
    if let Some(repository) = repository {
        view.show(repository, What::Hidden);
    }
    for place in &logins {
        view.show(place, What::Read);
    }
    for (name, source) in placed {
        view.show(&home.join(name), What::Bound { source: source.clone() });
    }
    for place in named(&config.access.hide) {
        view.show(&place, What::Hidden);
    }
    for place in read {
        let is_program = fs::metadata(place).is_ok_and(|meta| {
            meta.is_file() && std::os::unix::fs::PermissionsExt::mode(&meta.permissions()) & 0o111 != 0
        });
        if is_program {
            Programs::new(&mut view, home, own).program(place);
        } else {
            view.show(place, What::Read);
        }
    }
    for place in write {
        view.show(place, What::Write);
    }
    for Entry { at, what } in mounts {
        view.show(at, what.clone());
    }
    let (mode, resources) = (config.sandbox, config.resources);
    Ok(Policy { mode, view: view.entries, network: reach, resources, commands: None })
}

/// Returns a home without the user's files: empty at first, or with the caches that setup filled.
fn home_of_its_own(setup: Option<&Path>, aside: &Aside<'_>) -> io::Result<What> {
    let upper = aside.folder("home")?;
    let Some(setup) = setup else { return Ok(What::Bound { source: upper }) };
    aside.folder("home.work")?;
    Ok(What::Layered { lower: vec![setup.to_owned()], inside: PathBuf::new(), upper })
}

/// Shows what programs need of a toolchain.
fn show_toolchain(
    view: &mut View,
    toolchain: &Toolchain,
    private: &Private<'_>,
    aside: &Aside<'_>,
    setup: Option<&Path>,
) -> io::Result<()> {
    let home = private.home;
    // Tools keep locks and similar files next to their caches. A directory in the home is writable anyway.
    let root = &toolchain.root;
    if toolchain.is_written_beside(home) {
        let written = aside.folder(&beside(root))?;
        let is_system = SYSTEM.iter().any(|place| root.starts_with(place));
        if is_system && !toolchain.cached().any(|cache| cache.is_dir()) {
            // Its files are shown with the rest of the system.
            aside.folder(&format!("{}.work", beside(root)))?;
            view.show(root, What::Overlaid { whole: real(root), upper: written });
        } else {
            view.show(root, What::Bound { source: written });
        }
    }
    for place in toolchain.read().filter(|place| !private.is_at(place)) {
        view.show(&place, What::Read);
    }
    for cache in toolchain.cached().filter(|place| !private.is_at(place)) {
        let place = fs::canonicalize(&cache).ok().filter(|place| place.is_dir());
        let filled = setup
            .and_then(|setup| filled(setup, &cache, place.as_deref().unwrap_or(&cache), &private.real_home));
        // A cache in the home that only setup has is in the home's own layer.
        if place.is_none() && (filled.is_none() || cache.starts_with(home)) {
            continue;
        }
        let (whole, upper) = match (&private.real_home, &place) {
            // Setup's directory is usually in the home, and the kernel refuses nested layers. So with setup, each cache
            // is a separate layer.
            (home, Some(place)) if setup.is_none() && is_plainly_in(home, place) => {
                (Some(home.clone()), "over".to_owned())
            }
            _ => (place.clone(), over(&cache)),
        };
        aside.folder(&format!("{upper}.work"))?;
        let upper = aside.folder(&upper)?;
        let what = match (filled, whole) {
            (None, Some(whole)) => What::Overlaid { whole, upper },
            (filled, _) => What::Layered {
                lower: filled.into_iter().chain(place).collect(),
                inside: PathBuf::new(),
                upper,
            },
        };
        view.show(&cache, what);
    }
    Ok(())
}

/// Returns the directory with what setup added to a cache, if it did. `real` is the cache without symlinks. Setup runs
/// code of the repository, so follow no symlink that it left.
fn filled(setup: &Path, cache: &Path, real: &Path, home: &Path) -> Option<PathBuf> {
    let setup = fs::canonicalize(setup).ok()?;
    let expected = match real.strip_prefix(home) {
        Ok(name) => setup.join(name),
        Err(_) => setup.with_file_name(OUTSIDE).join(flat(cache).trim_start_matches('-')),
    };
    (expected.is_dir() && fs::canonicalize(&expected).is_ok_and(|real| real == expected)).then_some(expected)
}

/// Directory next to the caches of setup's home, with what setup wrote to caches outside the home.
const OUTSIDE: &str = "outside";

/// A cache that is not in its default place.
pub struct MovedCache {
    /// Paths of a program's writes, relative to the directory for its writes.
    pub written: Vec<PathBuf>,
    /// Path of setup's output, relative to the directory with setup's home, named `home`.
    pub kept: PathBuf,
}

/// Returns the caches that variables moved out of their default place.
pub fn moved_caches(home: &Path, environment: &Environment) -> Vec<MovedCache> {
    let found = toolchains::find(home, |name| environment.get(name));
    let mut moved = Vec::new();
    for toolchain in found.iter().filter(|toolchain| toolchain.variable.is_some()) {
        for cache in toolchain.cached() {
            moved.push(match cache.strip_prefix(home) {
                Ok(name) => MovedCache {
                    written: ["over", "home"].map(|folder| Path::new(folder).join(name)).into(),
                    kept: Path::new("home").join(name),
                },
                Err(_) => MovedCache {
                    written: std::iter::once(PathBuf::from(over(&cache)))
                        .chain(
                            cache
                                .strip_prefix(&toolchain.root)
                                .ok()
                                .filter(|name| *name != Path::new(""))
                                .map(|name| Path::new(&beside(&toolchain.root)).join(name)),
                        )
                        .collect(),
                    kept: Path::new(OUTSIDE).join(flat(&cache).trim_start_matches('-')),
                },
            });
        }
    }
    moved
}

/// Returns the name of the directory for writes to a cache.
fn over(cache: &Path) -> String {
    format!("over{}", flat(cache))
}

/// Returns the name of the directory for files that programs write next to the caches of a toolchain.
fn beside(root: &Path) -> String {
    format!("root{}", flat(root))
}

/// Paths that no toolchain may be. A program that once could write to a cache may have left a symlink there.
struct Private<'a> {
    home: &'a Path,
    /// The home and acquit's directory without symlinks.
    real_home: PathBuf,
    real_own: PathBuf,
}

impl<'a> Private<'a> {
    fn new(home: &'a Path, own: &Path) -> Self {
        Self { home, real_home: real(home), real_own: real(own) }
    }

    /// Returns whether a path is or contains the home, or is, contains or is inside acquit's directory or credentials.
    fn is_at(&self, place: &Path) -> bool {
        let place = real(place);
        let overlaps = |secret: &Path| secret.starts_with(&place) || place.starts_with(secret);
        self.real_home.starts_with(&place)
            || overlaps(&self.real_own)
            || SECRETS.iter().any(|name| overlaps(&self.real_home.join(name)))
    }
}

/// Returns a path without symlinks, or as it is if there is nothing.
fn real(place: &Path) -> PathBuf {
    fs::canonicalize(place).unwrap_or_else(|_| place.to_owned())
}

/// Turns a path into a file name.
fn flat(path: &Path) -> String {
    path.to_string_lossy().replace('/', "-")
}

/// The directory for what programs write.
struct Aside<'a>(&'a Path);

impl Aside<'_> {
    /// Returns a directory in it. Creates it if missing.
    fn folder(&self, name: &str) -> io::Result<PathBuf> {
        let path = self.0.join(name);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&path)?;
        Ok(path)
    }

    /// Writes a file in it. Replaces the old one, as the last program may have changed it.
    fn file(&self, name: &str, text: &str) -> io::Result<PathBuf> {
        let path = self.folder("settings")?.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        io::Write::write_all(&mut file, text.as_bytes())?;
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_setup_added_to_a_cache_is_found_and_a_symlink_that_it_left_is_not_followed() {
        let place = tempfile::tempdir().expect("a folder");
        let home = fs::canonicalize(place.path()).expect("a folder").join("home");
        let setup = home.join(".local/share/acquit/layers/1/home");
        for folder in [home.join(".npm/_cacache"), home.join(".cache/pip"), setup.join(".npm/_cacache")] {
            fs::create_dir_all(folder).expect("a folder");
        }
        let found = |cache: &str| filled(&setup, &home.join(cache), &home.join(cache), &home);
        assert_eq!(found(".npm/_cacache"), Some(setup.join(".npm/_cacache")));
        assert_eq!(found(".cache/pip"), None);
        std::os::unix::fs::symlink(&home, setup.join(".cache")).expect("a symlink");
        assert_eq!(found(".cache/pip"), None);
        let outside = |cache: &str| filled(&setup, Path::new(cache), Path::new(cache), &home);
        assert_eq!(outside("/opt/cargo/registry"), None);
        let kept = setup.with_file_name("outside").join("opt-cargo-registry");
        fs::create_dir_all(&kept).expect("a folder");
        assert_eq!(outside("/opt/cargo/registry"), Some(kept.clone()));
        fs::remove_dir(&kept).expect("removed");
        std::os::unix::fs::symlink(&home, &kept).expect("a symlink");
        assert_eq!(outside("/opt/cargo/registry"), None);
    }
}
