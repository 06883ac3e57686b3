//! The usual policy: what an agent or a gate needs of a machine, and nothing that opens a door.
//!
//! The file system is a list of what is shown, not of what is hidden: the system's programs and libraries, toolchains in the
//! user's home, the workspace. The home itself is an empty folder aside. What is written to toolchains and caches lands aside
//! too, so that no agent can leave something in them that a later build of the user would run.

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
use super::view::View;
use super::{Entry, Policy, Reach, What};
use crate::environment::{Environment, expand};

/// What a program of a leg needs beyond the usual.
pub struct Surroundings<'a> {
    /// The project's configuration.
    pub config: &'a Config,
    /// The user's home.
    pub home: &'a Path,
    /// What acquit was started with: where programs are looked for, and where toolchains are.
    pub environment: &'a Environment,
    /// The folder that belongs to acquit, which is not shown.
    pub own: &'a Path,
    /// The user's repository itself, which is not shown either, also where a folder around it is.
    pub repository: Option<&'a Path>,
    /// The folder that keeps what is written to the home, to `/tmp` and to caches. Made if it is missing.
    pub aside: &'a Path,
    /// Folders and files that the program works in.
    pub write: &'a [PathBuf],
    /// Folders and files that it reads.
    pub read: &'a [PathBuf],
    /// Files of its own login.
    pub login: &'a [String],
    /// Files that it finds in its home under these names, whatever the user has there.
    pub placed: &'a [(PathBuf, PathBuf)],
    /// Caches that the project's setup filled, as a home has them: seen in the home and in the user's caches, never written.
    pub setup: Option<&'a Path>,
    /// Places that are not simply read or written where they are, such as its tree.
    pub mounts: &'a [Entry],
    /// Whom it may talk to.
    pub reach: Reach,
}

/// Whom a program may talk to, from the words of the configuration.
pub fn reach(network: Network, config: &Config, agent: &[Host], log: PathBuf) -> Reach {
    match network {
        Network::Off => Reach::Nobody,
        Network::Model => {
            Reach::Hosts { hosts: agent.iter().chain(&config.network.hosts).cloned().collect(), log }
        }
        Network::Open => Reach::Everybody,
    }
}

/// Whether a folder is in another one without a mount between, so that it is found in a layer over that one.
fn is_plainly_in(whole: &Path, place: &Path) -> bool {
    let mount = |path: &Path| {
        let stat = statx(CWD, path, AtFlags::empty(), StatxFlags::MNT_ID).ok()?;
        StatxFlags::from_bits_retain(stat.stx_mask).contains(StatxFlags::MNT_ID).then_some(stat.stx_mnt_id)
    };
    place.starts_with(whole) && mount(whole).is_some_and(|whole| mount(place) == Some(whole))
}

/// Makes the policy, and the folders aside that it needs.
pub fn policy(ground: Surroundings<'_>) -> io::Result<Policy> {
    let Surroundings {
        config, home, environment, own, repository, aside, write, read, login, placed, ..
    } = ground;
    let Surroundings { setup, mounts, reach, .. } = ground;
    let aside = Aside(aside);
    let named = |list: &[String]| list.iter().map(|path| expand(path, home)).collect::<Vec<_>>();
    let mut view = View::new();
    // What earlier programs wrote to: no link in there is followed.
    for folder in named(&config.access.write).iter().chain(write).chain([&own.join("tasks")]) {
        view.distrust(folder);
    }
    for place in SYSTEM {
        view.show_if_there(Path::new(place), What::Read);
    }
    for name in ETC {
        view.show_if_there(&Path::new("/etc").join(name), What::Read);
    }
    for place in SYSTEM_HIDDEN {
        view.show_if_there(Path::new(place), What::Hidden);
    }
    view.show(Path::new("/tmp"), What::Bound { source: aside.folder("tmp")? });
    view.entries.push(Entry { at: "/var/tmp".into(), what: What::Link { to: "/tmp".into() } });
    if home.parent().is_some() {
        view.show(home, home_of_its_own(setup, &aside)?);
        for toolchain in toolchains::find(home, |name| environment.get(name)) {
            show_toolchain(&mut view, &toolchain, &Private { home, own }, &aside, setup)?;
        }
        for (name, tables) in SETTINGS {
            if let Some(text) = secrets::without_credentials(&home.join(name), tables) {
                let source = aside.file(&name.replace('/', "-"), &text)?;
                view.show(&home.join(name), What::Bound { source });
            }
        }
    }
    let mut programs = Programs { view: &mut view, home, own };
    programs.of_path(environment.get("PATH"));
    let (shown, logins) = (named(&config.access.read), named(login));
    for place in &shown {
        view.show(place, What::Read);
    }
    for place in named(&config.access.write) {
        view.show(&place, What::Write);
    }
    for secret in SECRETS.iter().map(|name| home.join(name)) {
        let asked_for = shown.iter().chain(&logins).any(|place| place.starts_with(&secret));
        let has_a_copy = view.entries.iter().any(|entry| entry.at.starts_with(&secret));
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
            Programs { view: &mut view, home, own }.program(place);
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
    Ok(Policy { mode: config.sandbox, view: view.entries, network: reach, resources: config.resources })
}

/// A home that has nothing of the user's: empty at first, or with what setup left in caches.
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
    // Tools keep locks and the like beside their caches. A folder in the home can be written anyway.
    let root = &toolchain.root;
    if toolchain.cached().next().is_some()
        && !root.starts_with(home)
        && !toolchain.layout.cached.contains(&"")
    {
        view.show(root, What::Bound { source: aside.folder(&format!("root{}", flat(root)))? });
    }
    for place in toolchain.read().filter(|place| !private.is_at(place)) {
        view.show(&place, What::Read);
    }
    for cache in toolchain.cached().filter(|place| !private.is_at(place)) {
        let Ok(place) = fs::canonicalize(&cache) else { continue };
        let (whole, upper) = match fs::canonicalize(home) {
            Ok(home) if is_plainly_in(&home, &place) => (home, "over".to_owned()),
            _ => (place.clone(), format!("over{}", flat(&cache))),
        };
        aside.folder(&format!("{upper}.work"))?;
        let upper = aside.folder(&upper)?;
        let what = match (setup, place.strip_prefix(&whole)) {
            (Some(setup), Ok(inside)) if !inside.as_os_str().is_empty() => What::Layered {
                lower: vec![setup.to_owned(), whole.clone()],
                inside: inside.to_owned(),
                upper,
            },
            // One outside of the home: setup's downloads to it are not kept.
            _ => What::Overlaid { whole, upper },
        };
        view.show(&cache, what);
    }
    Ok(())
}

/// What no toolchain can be. A program that once could write to a cache may have left a link there.
struct Private<'a> {
    home: &'a Path,
    own: &'a Path,
}

impl Private<'_> {
    /// Whether a place is, or leads to, the home, acquit's own folder, or credentials.
    fn is_at(&self, place: &Path) -> bool {
        let real = |place: &Path| fs::canonicalize(place).unwrap_or_else(|_| place.to_owned());
        let (place, home, own) = (real(place), real(self.home), real(self.own));
        let overlaps = |secret: PathBuf| secret.starts_with(&place) || place.starts_with(&secret);
        home.starts_with(&place) || overlaps(own) || SECRETS.iter().any(|name| overlaps(home.join(name)))
    }
}

/// A path as a name.
fn flat(path: &Path) -> String {
    path.to_string_lossy().replace('/', "-")
}

/// The folder that keeps what programs write.
struct Aside<'a>(&'a Path);

impl Aside<'_> {
    /// A folder in it, made if it is missing.
    fn folder(&self, name: &str) -> io::Result<PathBuf> {
        let path = self.0.join(name);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&path)?;
        Ok(path)
    }

    /// A file in it, written anew: the last program may have changed it.
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
