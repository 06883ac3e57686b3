//! Toolchains and package caches of a user: where version managers and package managers keep their files, and which
//! of these are programs rather than credentials.
//!
//! A layout lists what is *shown*. Everything else in the directory stays hidden, so a file that a future version of
//! the tool adds is hidden until someone lists it here.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::secrets;

/// Locations of a tool's programs and caches.
#[derive(Debug)]
pub struct Layout {
    /// The tool's name.
    pub name: &'static str,
    /// The variable that overrides its directory.
    pub variable: Option<&'static str>,
    /// Its default directories: below the home, or absolute.
    pub roots: &'static [&'static str],
    /// Paths in it that programs read.
    pub read: &'static [&'static str],
    /// Paths in it that programs also write to. Changes stay in the sandbox.
    pub cached: &'static [&'static str],
    /// Files in a repository that choose a version of this tool.
    pub version_files: &'static [&'static str],
}

const fn layout(
    name: &'static str,
    variable: Option<&'static str>,
    roots: &'static [&'static str],
    read: &'static [&'static str],
    cached: &'static [&'static str],
    version_files: &'static [&'static str],
) -> Layout {
    Layout { name, variable, roots, read, cached, version_files }
}

/// Contents of version managers of the rbenv family.
const SHIMS: &[&str] = &[
    "bin",
    "shims",
    "versions",
    "libexec",
    "plugins",
    "completions",
    "version",
    "pyenv.d",
    "rbenv.d",
    "nodenv.d",
];
/// The directory itself, for tools that keep only programs there.
const ALL: &[&str] = &[""];
/// Contents of an installation prefix.
const PREFIX: &[&str] = &["bin", "sbin", "lib", "lib64", "libexec", "include", "share"];
const CONDA: &[&str] = &[
    "bin",
    "condabin",
    "lib",
    "libexec",
    "include",
    "share",
    "ssl",
    "envs",
    "conda-meta",
    "compiler_compat",
    "x86_64-conda-linux-gnu",
    "aarch64-conda-linux-gnu",
    "etc/profile.d",
    "etc/fonts",
];
const CONDA_ROOTS: &[&str] = &["miniconda3", "anaconda3", "miniforge3", "mambaforge", "micromamba", ".conda"];
const BREW: &[&str] = &[
    "bin",
    "sbin",
    "lib",
    "libexec",
    "include",
    "share",
    "opt",
    "Cellar",
    "Homebrew/bin",
    "Homebrew/Library",
    "var/homebrew/linked",
    "etc/ca-certificates",
    "etc/openssl@3",
    "etc/openssl@1.1",
    "etc/fonts",
];
const NODE: &[&str] = &[".nvmrc", ".node-version", ".tool-versions", "package.json"];

/// All known layouts.
#[rustfmt::skip]
pub const LAYOUTS: &[Layout] = &[
    layout("rustup", Some("RUSTUP_HOME"), &[".rustup"], &["toolchains", "settings.toml", "update-hashes"], &[],
        &["rust-toolchain.toml", "rust-toolchain"]),
    layout("cargo", Some("CARGO_HOME"), &[".cargo"], &["bin", "env"], &["registry", "git"], &[]),
    layout("nvm", Some("NVM_DIR"), &[".nvm", ".config/nvm"], &["versions", "alias", "nvm.sh", "nvm-exec", "bash_completion"], &[], NODE),
    layout("fnm", Some("FNM_DIR"), &[".local/share/fnm", ".fnm"], &["node-versions", "aliases"], &[], NODE),
    layout("volta", Some("VOLTA_HOME"), &[".volta"], &["bin", "tools", "layout.v4"], &[], &["package.json"]),
    layout("nodenv", Some("NODENV_ROOT"), &[".nodenv"], SHIMS, &[], &[".node-version"]),
    layout("pyenv", Some("PYENV_ROOT"), &[".pyenv"], SHIMS, &[], &[".python-version"]),
    layout("rbenv", Some("RBENV_ROOT"), &[".rbenv"], SHIMS, &[], &[".ruby-version"]),
    layout("goenv", Some("GOENV_ROOT"), &[".goenv"], SHIMS, &[], &[".go-version"]),
    layout("jenv", Some("JENV_ROOT"), &[".jenv"], SHIMS, &[], &[".java-version"]),
    layout("asdf", Some("ASDF_DIR"), &[".asdf"], &["bin", "lib", "completions", "asdf.sh", "defaults", "help.txt", "shims", "installs", "plugins"], &[], &[".tool-versions"]),
    layout("asdf", Some("ASDF_DATA_DIR"), &[], &["shims", "installs", "plugins"], &[], &[".tool-versions"]),
    layout("mise", Some("MISE_DATA_DIR"), &[".local/share/mise", ".local/share/rtx"], &["installs", "shims", "plugins", "bin"], &[],
        &["mise.toml", ".mise.toml", ".tool-versions"]),
    layout("uv", None, &[".local/share/uv"], &["python", "tools"], &[], &[".python-version", "pyproject.toml"]),
    layout("uv", Some("UV_PYTHON_INSTALL_DIR"), &[], ALL, &[], &[".python-version"]),
    layout("uv", Some("UV_TOOL_DIR"), &[], ALL, &[], &[]),
    layout("rye", Some("RYE_HOME"), &[".rye"], &["self", "shims", "py", "tools", "env"], &[], &[".python-version"]),
    layout("pipx", Some("PIPX_HOME"), &[".local/share/pipx", ".local/pipx"], &["venvs", "shared", "py"], &[], &[]),
    layout("poetry", Some("POETRY_HOME"), &[".local/share/pypoetry", ".poetry"], &["bin", "lib", "venv"], &[], &[]),
    layout("virtualenv", None, &[".local/share/virtualenv", ".local/share/virtualenvs"], ALL, &[], &[]),
    layout("conda", Some("CONDA_ROOT"), CONDA_ROOTS, CONDA, &[], &["environment.yml"]),
    layout("sdkman", Some("SDKMAN_DIR"), &[".sdkman"], &["bin", "candidates", "etc", "libexec", "src", "var"], &[], &[".sdkmanrc"]),
    layout("java", Some("JAVA_HOME"), &[".jdks"], &["bin", "lib", "conf", "jre", "include", "legal", "release", "jmods"], &[], &[]),
    layout("homebrew", Some("HOMEBREW_PREFIX"), &[concat!("/home", "/linuxbrew/.linuxbrew"), ".linuxbrew"], BREW, &[], &[]),
    layout("pnpm", Some("PNPM_HOME"), &[".local/share/pnpm"], &["global", "nodejs", "bin", ".tools"], &["store"], &[]),
    layout("bun", Some("BUN_INSTALL"), &[".bun"], &["bin", "install/global"], &["install/cache"], &[]),
    layout("deno", Some("DENO_INSTALL"), &[".deno"], &["bin"], &[], &[]),
    layout("npm", None, &[".npm"], &[], &["_cacache", "_prebuilds"], &[]),
    layout("npm prefix", Some("NPM_CONFIG_PREFIX"), &[".npm-global", ".npm-packages"], PREFIX, &[], &[]),
    layout("yarn", None, &[".yarn"], &["bin"], &["berry/cache"], &[]),
    layout("yarn global", None, &[".config/yarn/global"], &["node_modules"], &[], &[]),
    layout("go", Some("GOPATH"), &["go"], &["bin"], &["pkg"], &["go.mod"]),
    layout("go modules", Some("GOMODCACHE"), &[], &[], ALL, &[]),
    layout("go root", Some("GOROOT"), &[], &["bin", "lib", "pkg", "src", "misc", "api", "VERSION", "go.env"], &[], &[]),
    layout("gradle", Some("GRADLE_USER_HOME"), &[".gradle"], &["jdks"], &["caches", "wrapper", "native"], &[]),
    layout("maven", None, &[".m2"], &[], &["repository", "wrapper"], &[]),
    layout("maven home", Some("MAVEN_HOME"), &[], &["bin", "boot", "conf", "lib"], &[], &[]),
    layout("ivy", None, &[".ivy2"], &[], &["cache", "local", "jars"], &[]),
    layout("sbt", None, &[".sbt"], &[], &["boot", "launchers"], &[]),
    layout("coursier", None, &[".local/share/coursier"], &["bin", "jvm"], &[], &[]),
    layout("dotnet", Some("DOTNET_ROOT"), &[".dotnet"], &["dotnet", "host", "sdk", "shared", "packs", "templates", "tools"], &[], &["global.json"]),
    layout("nuget", None, &[".nuget"], &[], &["packages"], &[]),
    layout("ghcup", None, &[".ghcup"], &["bin", "ghc", "hls", "env"], &[], &[]),
    layout("cabal", None, &[".cabal"], &["bin"], &["packages", "store"], &[]),
    layout("stack", Some("STACK_ROOT"), &[".stack"], &["programs"], &["pantry", "snapshots"], &[]),
    layout("opam", Some("OPAMROOT"), &[".opam"], ALL, &[], &[]),
    layout("julia", None, &[".juliaup"], ALL, &[], &[]),
    layout("julia depot", None, &[".julia"], &["juliaup", "conda"], &["packages", "artifacts", "compiled", "registries"], &[]),
    layout("swift", Some("SWIFTLY_HOME_DIR"), &[".local/share/swiftly"], &["bin", "toolchains", "config.json"], &[], &[".swift-version"]),
    layout("android", Some("ANDROID_HOME"), &["Android/Sdk"],
        &["platform-tools", "platforms", "build-tools", "cmdline-tools", "tools", "ndk", "cmake", "licenses", "extras", "sources"], &[], &[]),
    layout("pub", None, &[".pub-cache"], &["bin"], &["hosted", "git", "global_packages"], &[]),
    layout("user programs", None, &[".local"], &["bin", "lib", "libexec", "opt"], &[], &[]),
    layout("caches", Some("XDG_CACHE_HOME"), &[".cache"], &[], &["pip", "uv", "go-build", "yarn", "pnpm", "node", "deno", "pypoetry", "ms-playwright", "puppeteer",
        "ccache", "sccache", "coursier", "bazelisk", "zig", "composer", "electron"], &[]),
];

/// Settings among the programs of toolchains, hidden because tools write tokens and addresses with logins to them:
/// `npm config set -g`, `pipx install --index-url`. By layout; `*` is any folder.
#[rustfmt::skip]
const SETTINGS: &[(&str, &[&str])] = &[
    ("nvm", &["versions/node/*/etc"]),
    ("fnm", &["node-versions/*/installation/etc"]),
    ("volta", &["tools/image/node/*/etc"]),
    ("nodenv", &["versions/*/etc"]),
    ("pyenv", &["versions/*/pip.conf", "versions/*/etc/pip.conf", "versions/*/envs/*/pip.conf"]),
    ("asdf", INSTALLS),
    ("mise", INSTALLS),
    ("uv", &["tools/*/uv-receipt.toml", "tools/*/pip.conf", "*/uv-receipt.toml", "*/pip.conf"]),
    ("rye", &["tools/*/pip.conf"]),
    ("pipx", &["venvs/*/pipx_metadata.json", "venvs/*/pip.conf", "shared/pip.conf"]),
    ("poetry", &["venv/pip.conf"]),
    ("virtualenv", &["*/pip.conf"]),
    ("conda", &["envs/*/.condarc", "envs/*/pip.conf", "envs/*/etc/pip.conf", "envs/*/etc/npmrc"]),
    ("sdkman", &["candidates/maven/*/conf/settings.xml", "candidates/gradle/*/init.d"]),
    ("maven home", &["conf/settings.xml"]),
    ("pnpm", &["nodejs/*/etc"]),
    ("user programs", &["opt/*/etc", "opt/*/conf/settings.xml"]),
];
const INSTALLS: &[&str] = &[
    "installs/*/*/etc/npmrc",
    "installs/*/*/etc/pip.conf",
    "installs/*/*/pip.conf",
    "installs/maven/*/conf/settings.xml",
    "installs/maven/*/*/conf/settings.xml",
    "installs/gradle/*/init.d",
];
/// Files that a tool needs, hidden only if they have an address with a login.
const ADDRESSES: &[(&str, &[&str])] = &[("cargo", &["git/db/*/FETCH_HEAD", "git/db/*/config"])];
/// Maximum size of such a file.
const LARGEST: u64 = 64 << 10;

/// A toolchain found on this machine.
#[derive(Debug)]
pub struct Toolchain {
    /// Its layout.
    pub layout: &'static Layout,
    /// Its directory.
    pub root: PathBuf,
    /// The variable that named the directory, if any.
    pub variable: Option<&'static str>,
}

impl Toolchain {
    /// Returns the existing paths that programs read.
    pub fn read(&self) -> impl Iterator<Item = PathBuf> {
        self.places(self.layout.read)
    }

    /// Returns the directories that programs write to, whether they exist or not.
    pub fn cached(&self) -> impl Iterator<Item = PathBuf> {
        self.layout.cached.iter().map(|name| self.place(name))
    }

    /// Returns the existing settings in it that may contain credentials.
    pub(super) fn settings(&self) -> Vec<PathBuf> {
        let mut found = self.matching(SETTINGS);
        let with_login = self.matching(ADDRESSES).into_iter().filter(|file| {
            // Anything else than a small file is hidden unread: a program may have put it there.
            let is_small = std::fs::metadata(file).is_ok_and(|meta| meta.is_file() && meta.len() <= LARGEST);
            !is_small
                || std::fs::read(file).is_ok_and(|text| secrets::has_login(&String::from_utf8_lossy(&text)))
        });
        found.extend(with_login);
        found
    }

    fn matching(&self, patterns: &[(&str, &[&str])]) -> Vec<PathBuf> {
        let of_this = patterns.iter().filter(|(name, _)| *name == self.layout.name);
        let mut found = Vec::new();
        for pattern in of_this.flat_map(|(_, patterns)| *patterns) {
            let mut places = vec![self.root.clone()];
            for part in pattern.split('/') {
                places = match part {
                    "*" => places.iter().flat_map(|place| folders(place)).collect(),
                    name => places.into_iter().map(|place| place.join(name)).collect(),
                };
            }
            found.extend(places.into_iter().filter(|place| place.symlink_metadata().is_ok()));
        }
        found
    }

    /// Returns whether programs write next to its caches, to a directory outside the home: locks and caches that don't
    /// exist yet.
    pub(super) fn is_written_beside(&self, home: &Path) -> bool {
        let cached = self.layout.cached;
        !cached.is_empty() && !cached.contains(&"") && !self.root.starts_with(home)
    }

    fn places(&self, names: &'static [&'static str]) -> impl Iterator<Item = PathBuf> {
        names.iter().map(|name| self.place(name)).filter(|place| place.symlink_metadata().is_ok())
    }

    fn place(&self, name: &str) -> PathBuf {
        if name.is_empty() { self.root.clone() } else { self.root.join(name) }
    }
}

/// Returns the directories in a directory, and links to them.
fn folders(place: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_file()));
    folders.map(|entry| entry.path()).collect()
}

/// Returns the variables with which sandboxed programs find their toolchain. Their values are paths.
pub fn variables() -> impl Iterator<Item = &'static str> {
    LAYOUTS.iter().filter_map(|layout| layout.variable)
}

/// Finds a user's toolchains by their variables and in their default directories.
///
/// Ignores a variable that names the home, a parent of it or the root: everything would be a toolchain then.
pub fn find<'a>(home: &Path, get: impl Fn(&str) -> Option<&'a OsStr>) -> Vec<Toolchain> {
    let mut found: Vec<Toolchain> = Vec::new();
    for layout in LAYOUTS {
        let named = layout.variable.and_then(|variable| Some((variable, get(variable)?)));
        let named = named.into_iter().flat_map(|(variable, value)| {
            // GOPATH and similar variables are lists.
            let list: Vec<PathBuf> = std::env::split_paths(&OsString::from(value)).collect();
            list.into_iter().map(move |root| (Some(variable), root))
        });
        let usual = layout.roots.iter().map(|root| (None, home.join(root)));
        for (variable, root) in named.chain(usual) {
            let is_new = !found.iter().any(|other| other.root == root && other.layout.name == layout.name);
            if root.is_absolute() && root.is_dir() && !home.starts_with(&root) && is_new {
                found.push(Toolchain { layout, root, variable });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_move_a_toolchain_and_usual_places_are_found_too() {
        let place = tempfile::tempdir().expect("a folder");
        let home = place.path().join("home");
        for folder in ["home/.nvm/versions", "home/.cargo/bin", "data/cargo/registry", "data/cargo/bin"] {
            std::fs::create_dir_all(place.path().join(folder)).expect("a folder");
        }
        std::fs::write(home.join(".cargo/credentials.toml"), "token").expect("a file");
        let moved = place.path().join("data/cargo").into_os_string();
        let get = |name: &str| match name {
            "CARGO_HOME" => Some(moved.as_os_str()),
            // Ignored: the whole home is no toolchain.
            "NVM_DIR" => Some(home.as_os_str()),
            _ => None,
        };
        let found = find(&home, get);
        let names: Vec<_> = found.iter().map(|tool| (tool.layout.name, tool.variable)).collect();
        assert_eq!(names, [("cargo", Some("CARGO_HOME")), ("cargo", None), ("nvm", None)]);
        let cargo = &found[0];
        assert_eq!(cargo.read().collect::<Vec<_>>(), [place.path().join("data/cargo/bin")]);
        let caches = ["registry", "git"].map(|name| place.path().join("data/cargo").join(name));
        assert_eq!(cargo.cached().collect::<Vec<_>>(), caches);
        assert_eq!(found[1].read().collect::<Vec<_>>(), [home.join(".cargo/bin")]);
    }

    #[test]
    fn settings_among_programs_are_found_and_addresses_only_with_a_login() {
        let place = tempfile::tempdir().expect("a folder");
        let home = place.path();
        let files = [
            (".nvm/versions/node/v20/etc/npmrc", "x"),
            (".nvm/versions/node/v20/bin/node", "x"),
            (".local/share/pipx/venvs/a/pipx_metadata.json", "{}"),
            (".cargo/git/db/a/FETCH_HEAD", "0 branch of https://user:token@git.example.com/a"),
            (".cargo/git/db/b/FETCH_HEAD", "0 branch of https://git.example.com/b"),
        ];
        for (name, text) in files {
            let file = home.join(name);
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            std::fs::write(file, text).expect("a file");
        }
        let found = find(home, |_| None).iter().flat_map(Toolchain::settings).collect::<Vec<_>>();
        let hidden = [
            ".cargo/git/db/a/FETCH_HEAD",
            ".nvm/versions/node/v20/etc",
            ".local/share/pipx/venvs/a/pipx_metadata.json",
        ];
        assert_eq!(found, hidden.map(|name| home.join(name)));
    }

    #[test]
    fn no_layout_shows_a_known_place_of_secrets() {
        let home = Path::new("/nowhere/u");
        for layout in LAYOUTS {
            for root in layout.roots.iter().map(|root| home.join(root)) {
                for name in layout.read.iter().chain(layout.cached) {
                    let place = if name.is_empty() { root.clone() } else { root.join(name) };
                    let secret = super::super::secrets::SECRETS.iter().map(|secret| home.join(secret));
                    let shown: Vec<_> = secret.filter(|secret| secret.starts_with(&place)).collect();
                    assert_eq!(shown, Vec::<PathBuf>::new(), "{} shows {}", layout.name, place.display());
                }
            }
        }
    }
}
