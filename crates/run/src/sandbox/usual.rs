//! The usual policy: what an agent or a gate needs of a machine, and nothing that opens a door.
//!
//! The file system is a list of what is shown, not of what is hidden: the system's programs and libraries, toolchains in the
//! user's home, the workspace. The home itself is an empty folder aside. What is written to toolchains and caches lands aside
//! too, so that no agent can leave something in them that a later build of the user would run.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};

use acquit_core::config::Config;
use acquit_core::sandbox::{Host, Network};
use rustix::fs::{AtFlags, CWD, StatxFlags, statx};

use super::{Entry, Policy, Reach, What};

/// Where programs and libraries are on the systems that we know.
const SYSTEM: [&str; 17] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix",
    "/gnu",
    "/snap",
    "/run/current-system",
    "/run/systemd/resolve",
    "/sys/devices/system",
    "/sys/fs/cgroup",
    "/var/lib/snapd/snap",
];

/// What in there is nobody's business. To those who are not root most of it is closed anyway.
const SYSTEM_HIDDEN: [&str; 24] = [
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/pki/tls/private",
    "/etc/krb5.keytab",
    "/etc/NetworkManager",
    "/etc/wireguard",
    "/etc/openvpn",
    "/etc/letsencrypt",
    "/etc/docker",
    "/etc/kubernetes",
    "/etc/rancher",
    "/etc/credstore",
    "/etc/credstore.encrypted",
    "/etc/netrc",
    "/etc/git-credentials",
    "/etc/ppp",
    "/etc/wpa_supplicant",
    "/etc/acquit",
];

/// Toolchains in a home: to be read.
const TOOLS: [&str; 22] = [
    ".rustup",
    ".pyenv",
    ".rbenv",
    ".nvm",
    ".volta",
    ".fnm",
    ".asdf",
    ".sdkman",
    ".jenv",
    ".bun",
    ".deno",
    ".juliaup",
    ".ghcup",
    ".opam",
    ".local/bin",
    ".local/lib",
    ".local/share/mise",
    ".local/share/uv",
    ".local/share/pnpm",
    ".local/share/fnm",
    ".local/share/virtualenv",
    ".config/nvm",
];

/// Caches and toolchains in a home that tools write to while they work: what they write stays aside.
const CACHES: [&str; 22] = [
    ".cargo",
    "go",
    ".gradle",
    ".m2",
    ".npm",
    ".ivy2",
    ".sbt",
    ".nuget/packages",
    ".cache/pip",
    ".cache/uv",
    ".cache/go-build",
    ".cache/yarn",
    ".cache/pnpm",
    ".cache/node",
    ".cache/deno",
    ".cache/pypoetry",
    ".cache/ms-playwright",
    ".cache/puppeteer",
    ".cache/ccache",
    ".cache/sccache",
    ".cache/coursier",
    ".cache/bazelisk",
];

/// Secrets of a home, hidden even where the project shows what is around them.
const SECRETS: [&str; 40] = [
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".config/gcloud",
    ".config/gh",
    ".config/glab-cli",
    ".config/hub",
    ".netrc",
    ".git-credentials",
    ".config/git/credentials",
    ".gitconfig",
    ".npmrc",
    ".yarnrc",
    ".pypirc",
    ".docker",
    ".kube",
    ".terraform.d",
    ".terraformrc",
    ".vault-token",
    ".password-store",
    ".local/share/keyrings",
    ".mozilla",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".thunderbird",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".psql_history",
    ".node_repl_history",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gradle/gradle.properties",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".ivy2/.credentials",
    ".sbt/.credentials",
    ".config/op",
];

/// Links that are followed to find where a place really is, as the kernel does.
const MOST_LINKS: usize = 40;

/// What a program of a leg needs beyond the usual.
pub struct Ground<'a> {
    /// The project's configuration.
    pub config: &'a Config,
    /// The user's home.
    pub home: &'a Path,
    /// Where programs are looked for.
    pub path: Option<&'a OsStr>,
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
pub fn policy(ground: Ground<'_>) -> std::io::Result<Policy> {
    let Ground { config, home, path, own, repository, aside, write, read, login, placed, reach } = ground;
    let mut view = View { entries: Vec::new() };
    let folder = |name: &str| -> std::io::Result<PathBuf> {
        let path = aside.join(name);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&path)?;
        Ok(path)
    };
    for place in SYSTEM {
        view.show_if_there(Path::new(place), What::Read);
    }
    for place in SYSTEM_HIDDEN {
        view.show_if_there(Path::new(place), What::Hidden);
    }
    view.show(Path::new("/tmp"), What::Bound { source: folder("tmp")? });
    view.entries.push(Entry { at: "/var/tmp".into(), what: What::Link { to: "/tmp".into() } });
    for place in programs(path, home, own).filter(|place| !place.starts_with(home)) {
        view.show(&place, What::Read);
    }
    if home.parent().is_some() {
        view.show(home, What::Bound { source: folder("home")? });
        for name in TOOLS {
            view.show_if_there(&home.join(name), What::Read);
        }
        for name in CACHES.iter().filter(|name| home.join(name).is_dir()) {
            let place = fs::canonicalize(home.join(name))?;
            let (whole, aside) = match fs::canonicalize(home) {
                Ok(home) if is_plainly_in(&home, &place) => (home, "over".to_owned()),
                _ => (place.clone(), format!("over-{}", name.trim_start_matches('.').replace('/', "-"))),
            };
            folder(&format!("{aside}.work"))?;
            view.show(&home.join(name), What::Overlaid { whole, upper: folder(&aside)? });
        }
        for place in programs(path, home, own).filter(|place| place.starts_with(home)) {
            view.show(&place, What::Read);
        }
    }
    let named = |list: &[String]| list.iter().map(|path| expand(path, home)).collect::<Vec<_>>();
    let (shown, logins) = (named(&config.access.read), named(login));
    for place in &shown {
        view.show(place, What::Read);
    }
    for place in named(&config.access.write) {
        view.show(&place, What::Write);
    }
    for secret in SECRETS.iter().map(|name| home.join(name)) {
        let asked_for = shown.iter().chain(&logins).any(|place| place.starts_with(&secret));
        if !asked_for {
            view.show_if_there(&secret, What::Hidden);
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
        view.show(place, What::Read);
    }
    for place in write {
        view.show(place, What::Write);
    }
    Ok(Policy { mode: config.sandbox, view: view.entries, network: reach, resources: config.resources })
}

/// The places of programs that the system's folders do not have: a folder `bin` with what is beside it, because programs are
/// often links into their neighbourhood.
fn programs<'a>(
    path: Option<&'a OsStr>,
    home: &'a Path,
    own: &'a Path,
) -> impl Iterator<Item = PathBuf> + use<'a> {
    let system = |place: &Path| SYSTEM.iter().any(|system| place.starts_with(system));
    let too_much =
        |place: &Path| home.starts_with(place) || own.starts_with(place) || place == home.join(".local");
    let list = path.map(std::env::split_paths).into_iter().flatten();
    list.filter(|place| place.is_absolute()).filter_map(move |place| {
        if system(&place) {
            return None;
        }
        let is_bin = place.file_name().is_some_and(|name| name == "bin" || name == "sbin");
        let around = place.parent().filter(|parent| is_bin && !too_much(parent));
        let place = around.map_or_else(|| place.clone(), Path::to_path_buf);
        (!too_much(&place)).then_some(place)
    })
}

/// A path of the configuration as one of the machine.
fn expand(path: &str, home: &Path) -> PathBuf {
    match path.strip_prefix("~/") {
        Some(rest) => home.join(rest),
        None => PathBuf::from(path),
    }
}

struct View {
    entries: Vec<Entry>,
}

impl View {
    /// Shows one of the many places that some machine has, if this one does.
    fn show_if_there(&mut self, place: &Path, what: What) {
        if place.symlink_metadata().is_ok() {
            self.show(place, what);
        }
    }

    /// Shows a place where it really is, and the links on the way to it.
    fn show(&mut self, place: &Path, what: What) {
        let mut links = 0;
        let mut real = PathBuf::from("/");
        let mut rest = plain(place);
        while let Some(name) = rest.pop() {
            let next = real.join(&name);
            match fs::read_link(&next) {
                Ok(to) if links < MOST_LINKS => {
                    links += 1;
                    rest.append(&mut plain(&real.join(&to)));
                    let link = Entry { at: next, what: What::Link { to } };
                    if !self.entries.contains(&link) {
                        self.entries.push(link);
                    }
                    real = PathBuf::from("/");
                }
                _ => real = next,
            }
        }
        // What is seen already because of what lies around it needs no mount of its own, and what is not seen none that hides it.
        let covers = |entry: &&Entry| !matches!(entry.what, What::Link { .. }) && is_in(&real, &entry.at);
        let around = self.entries.iter().rfind(covers).map(|entry| &entry.what);
        let is_needed = match what {
            // In a folder that can be written it still has to be kept from that.
            What::Read => !matches!(around, Some(What::Read | What::Overlaid { .. })),
            What::Hidden => {
                let is_seen = matches!(around, Some(What::Read | What::Write | What::Overlaid { .. }));
                is_seen && real.symlink_metadata().is_ok()
            }
            What::Write | What::Bound { .. } | What::Overlaid { .. } | What::Scratch | What::Link { .. } => {
                true
            }
        };
        if real.parent().is_some() && is_needed {
            self.entries.push(Entry { at: real, what });
        }
    }
}

/// Whether a place is another one or lies in it. Both are plain, so their bytes say it: this is asked thousands of times.
fn is_in(place: &Path, folder: &Path) -> bool {
    let rest = place.as_os_str().as_bytes().strip_prefix(folder.as_os_str().as_bytes());
    rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'/')))
}

/// The names of a path, last first, without `..`.
fn plain(path: &Path) -> Vec<std::ffi::OsString> {
    let mut names = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => names.push(name.to_owned()),
            Component::ParentDir => drop(names.pop()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    names.reverse();
    names
}
