//! Detects what this machine can enforce by reading what the kernel reports. Starts nothing and changes nothing, so
//! it is cheap. Only building a sandbox shows whether it really works.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::Resource;
use serde::Serialize;

use super::cgroup::{self, Base, Lacks};

/// A capability of the machine, such as user namespaces or Landlock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ability {
    /// Its name.
    pub name: String,
    /// Whether the machine has it.
    pub state: State,
    /// The feature that needs it.
    pub need: Need,
    /// The consequence if it is missing; empty if it is available.
    pub consequence: String,
    /// How to get it.
    pub mend: Option<String>,
}

/// Whether a machine has an ability.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It does; with details.
    Yes(String),
    /// It does not; with the reason.
    No(String),
}

/// The feature that needs an ability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    /// Every task.
    Always,
    /// Tasks with `sandbox = "on"`, which do not start without it.
    Wall,
    /// Nothing; it is an improvement.
    Useful,
}

impl Ability {
    /// Returns whether the machine has it.
    pub fn is_there(&self) -> bool {
        matches!(self.state, State::Yes(_))
    }

    /// Creates an ability from a check, with the consequence if it is missing.
    pub fn new(name: &str, need: Need, found: Found, without: &str) -> Self {
        let (state, consequence, mend) = match found {
            Ok(detail) => (State::Yes(detail), String::new(), None),
            Err(Lack { why, mend }) => (State::No(why), without.to_owned(), mend),
        };
        Self { name: name.to_owned(), state, need, consequence, mend }
    }
}

/// Result of a check: details, or why it is missing.
pub type Found = Result<String, Lack>;

/// Why an ability is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    /// The reason.
    pub why: String,
    /// How to get it.
    pub mend: Option<String>,
}

impl Lack {
    /// Creates a reason with a way to fix it.
    pub fn mended(why: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { why: why.into(), mend: Some(mend.into()) }
    }
}

/// A machine to inspect.
pub struct Machine {
    /// Directory that contains its `/proc` and `/sys`.
    pub root: PathBuf,
    /// The kernel's release, such as `6.12.3-generic`.
    pub release: String,
    /// The enabled Landlock ABI version, if any.
    pub landlock: Option<u32>,
    /// The user that acquit runs as.
    pub user: User,
    /// The program that creates namespaces: acquit itself.
    pub program: PathBuf,
    /// Returns whether a cgroup is delegated to acquit.
    pub is_delegated: fn(&Path) -> bool,
}

/// The Windows Subsystem for Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wsl {
    /// Version 1, which translates system calls and has no Linux kernel.
    One,
    /// Version 2, a virtual machine with a Linux kernel by Microsoft.
    Two,
}

/// The user that acquit runs as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    /// Root, whom limits for ordinary users do not affect.
    Root,
    /// Any other user.
    Ordinary,
}

/// The first kernel that limits pids per namespace.
const PIDS_PER_NAMESPACE: Version = Version(6, 14);
/// The first kernel that lets ordinary users create overlays in a namespace.
const OVERLAY_IN_NAMESPACE: Version = Version(5, 11);
/// Descriptors that a harness with many proxy connections may need.
const DESCRIPTORS: u64 = 1024;
/// The oldest Landlock ABI that a sandbox uses: it allows renames between directories, which builds need.
pub(crate) const LANDLOCK: u32 = 2;
/// The first Landlock ABI with scopes for signals and abstract sockets.
const SCOPES: u32 = 6;
/// The first Landlock ABI that covers Unix sockets with a path.
const SOCKETS: u32 = 9;
const NEWER_KERNEL: &str = "use a newer kernel";
/// How to get a newer kernel in WSL, where the distribution does not install one.
const NEWER_WSL: &str = "run `wsl --update` in Windows, then `wsl --shutdown`";
/// Types of file systems that WSL uses for the drives of Windows.
const WINDOWS_DRIVES: [&str; 3] = ["9p", "drvfs", "virtiofs"];

/// Major and minor version of the kernel or of git.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32);

impl Version {
    /// Finds the first version in a text: `6.12` in `6.12.3-generic`, `2.47` in `git version 2.47.1`.
    pub fn in_text(text: &str) -> Option<Self> {
        let start = text.find(|char: char| char.is_ascii_digit())?;
        let mut numbers = text[start..].split(|char: char| !char.is_ascii_digit());
        Some(Self(numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

impl Machine {
    /// Returns the machine that this runs on.
    pub fn here(landlock: Option<u32>, program: PathBuf) -> Self {
        let user = if rustix::process::geteuid().is_root() { User::Root } else { User::Ordinary };
        let release = rustix::system::uname().release().to_string_lossy().into_owned();
        let is_delegated = cgroup::is_delegated;
        Self { root: PathBuf::from("/"), release, landlock, user, program, is_delegated }
    }

    /// Checks all abilities.
    pub fn abilities(&self) -> Vec<Ability> {
        let wsl = self.wsl().map(|wsl| {
            let found = match wsl {
                Wsl::Two => Ok("version 2; Windows programs do not start in the sandbox".to_owned()),
                Wsl::One => Err(Lack::mended(
                    "version 1 has no Linux kernel",
                    "convert it in Windows: `wsl --set-version <distribution> 2`",
                )),
            };
            Ability::new("WSL", Need::Wall, found, "no sandbox can be built")
        });
        let mut list = self.own_abilities();
        list.splice(0..0, wsl);
        list
    }

    fn own_abilities(&self) -> Vec<Ability> {
        vec![
            Ability::new(
                "user namespaces",
                Need::Wall,
                self.user_namespaces(),
                "no task with `sandbox = \"on\"` starts; with `reduced` programs see the machine's processes, `model` is not enforced, and \
                 what they leave running is looked for, not ended for certain",
            ),
            Ability::new(
                "Landlock",
                Need::Wall,
                self.landlock(),
                "writing outside the workspace is refused by the namespace's mounts alone",
            ),
            Ability::new(
                "seccomp",
                Need::Wall,
                self.seccomp(),
                "system calls that have a history of holes are not filtered",
            ),
            Ability::new(
                "barrier to Unix sockets",
                Need::Wall,
                self.sockets(),
                "programs can connect to every Unix socket in a folder that they are shown",
            ),
            Ability::new(
                "barrier to abstract sockets",
                Need::Useful,
                self.abstract_sockets(),
                "with network `open`, programs can connect to sockets without a path, such as the X server's",
            ),
            Ability::new(
                "overlays in namespaces",
                Need::Useful,
                self.overlays(),
                "toolchains and caches can be read and not be written: tools that write there fail",
            ),
            Ability::new(
                "process limit of a namespace",
                Need::Useful,
                self.process_limit(),
                "processes are counted from outside, so a fork bomb is ended a moment later",
            ),
            Ability::new(
                "memory limit by cgroup",
                Need::Useful,
                self.cgroup(),
                "acquit watches memory and ends a program that uses too much, a moment later than the kernel would",
            ),
            Ability::new(
                "inotify limit of a namespace",
                Need::Useful,
                self.inotify(),
                "a program can take all inotify instances and watches of your user",
            ),
            Ability::new(
                "open files",
                Need::Useful,
                descriptors(),
                "programs with many files or connections at a time may fail",
            ),
        ]
    }

    fn wsl(&self) -> Option<Wsl> {
        let release = self.release.to_lowercase();
        // The kernels of both are named after Microsoft. A kernel that the user built for version 2 need not be.
        let two = release.contains("wsl2") || self.text("proc/sys/fs/binfmt_misc/WSLInterop").is_some();
        match (release.contains("microsoft"), two) {
            (_, true) => Some(Wsl::Two),
            // Version 1 calls itself 4.4.
            (true, false) if self.at_least(Version(4, 19)) => Some(Wsl::Two),
            (true, false) => Some(Wsl::One),
            (false, false) => None,
        }
    }

    /// Returns how to get a newer kernel.
    fn newer_kernel<'a>(&self, elsewhere: &'a str) -> &'a str {
        if self.wsl().is_some() { NEWER_WSL } else { elsewhere }
    }

    /// Returns the mount point of the Windows drive that has this path, if this is WSL and the path is on one.
    pub fn windows_drive(&self, path: &Path) -> Option<PathBuf> {
        self.wsl()?;
        let mounts = self.text("proc/self/mounts")?;
        let deepest = mounts
            .lines()
            .filter_map(|line| {
                let mut words = line.split(' ').skip(1);
                Some((PathBuf::from(words.next()?.replace("\\040", " ")), words.next()?))
            })
            .filter(|(at, _)| path.starts_with(at))
            .max_by_key(|(at, _)| at.components().count())?;
        WINDOWS_DRIVES.contains(&deepest.1).then_some(deepest.0)
    }

    fn text(&self, path: &str) -> Option<String> {
        let text = fs::read_to_string(self.root.join(path)).ok()?;
        Some(text.trim().to_owned())
    }

    fn at_least(&self, wanted: Version) -> bool {
        Version::in_text(&self.release).is_some_and(|version| version >= wanted)
    }

    fn user_namespaces(&self) -> Found {
        let most = self.text("proc/sys/user/max_user_namespaces");
        let most = most.ok_or_else(|| Lack {
            why: "the kernel was built without them, or /proc is not that of the machine".to_owned(),
            mend: Some("use a kernel with CONFIG_USER_NS".to_owned()),
        })?;
        if most == "0" {
            return Err(Lack::mended(
                "user.max_user_namespaces is 0",
                "sudo sysctl -w user.max_user_namespaces=15000",
            ));
        }
        if self.user == User::Ordinary {
            let is = |path, value: &str| self.text(path).as_deref() == Some(value);
            if is("proc/sys/kernel/unprivileged_userns_clone", "0") {
                return Err(Lack::mended(
                    "kernel.unprivileged_userns_clone is 0",
                    "sudo sysctl -w kernel.unprivileged_userns_clone=1",
                ));
            }
            if is("proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") {
                return Err(Lack::mended(
                    "AppArmor keeps them from programs without a profile",
                    self.profile(),
                ));
            }
        }
        Ok(format!("at most {most}"))
    }

    /// Returns a command that installs an AppArmor profile for acquit.
    fn profile(&self) -> String {
        // In a profile a path is a pattern, and the line is one word of the shell.
        let program: String = self.program.to_string_lossy().chars().fold(String::new(), |mut all, char| {
            if "\\\"*?[]{}^".contains(char) {
                all.push('\\');
            }
            all.push(char);
            all
        });
        let program = program.replace('\'', "'\\''");
        format!(
            "printf '%s\\n' 'abi <abi/4.0>,' 'include <tunables/global>' 'profile acquit \"{program}\" flags=(unconfined) {{' '  userns,' '}}' \
             | sudo tee /etc/apparmor.d/acquit && sudo apparmor_parser -r /etc/apparmor.d/acquit"
        )
    }

    fn sockets(&self) -> Found {
        match (self.landlock, self.overlays()) {
            (Some(abi @ SOCKETS..), _) => Ok(format!("Landlock ABI {abi}")),
            (_, Ok(_)) => Ok("overlays: a socket in a shown folder refuses connections".to_owned()),
            (_, Err(lack)) => Err(lack),
        }
    }

    fn abstract_sockets(&self) -> Found {
        match self.landlock {
            Some(abi @ SCOPES..) => Ok(format!("Landlock ABI {abi}")),
            _ => Err(Lack::mended(
                format!("Landlock is older than ABI {SCOPES}"),
                self.newer_kernel("use a kernel from 6.12 on"),
            )),
        }
    }

    fn landlock(&self) -> Found {
        match self.landlock {
            Some(abi @ SCOPES..) => Ok(format!("ABI {abi}, with scopes for signals and sockets")),
            Some(abi @ LANDLOCK..) => Ok(format!("ABI {abi}")),
            Some(abi) => Err(Lack::mended(
                format!("the kernel has ABI {abi}, older than {LANDLOCK}"),
                self.newer_kernel(
                    "use a kernel from 5.19 on; Ubuntu 22.04 has one as linux-generic-hwe-22.04",
                ),
            )),
            None => Err(Lack::mended(
                "the kernel does not have it on",
                match self.wsl() {
                    // Microsoft's kernels have it on since 5.15.
                    Some(_) => {
                        "remove `lsm=` and `kernel=` from .wslconfig in Windows, or add `landlock` to the first"
                    }
                    None => "use a kernel from 5.19 on, with `landlock` in its boot option lsm=",
                },
            )),
        }
    }

    fn seccomp(&self) -> Found {
        let actions = self.text("proc/sys/kernel/seccomp/actions_avail").unwrap_or_default();
        let has = |wanted: &str| actions.split(' ').any(|action| action == wanted);
        if has("errno") && has("kill_process") {
            Ok("filters".to_owned())
        } else {
            Err(Lack::mended("the kernel offers no filters", "use a kernel with CONFIG_SECCOMP_FILTER"))
        }
    }

    fn overlays(&self) -> Found {
        if !self.at_least(OVERLAY_IN_NAMESPACE) {
            let why = format!("the kernel is {}, older than {OVERLAY_IN_NAMESPACE}", self.release);
            return Err(Lack::mended(why, self.newer_kernel(NEWER_KERNEL)));
        }
        let known = self.text("proc/filesystems").unwrap_or_default();
        if known.lines().any(|line| line.split_whitespace().last() == Some("overlay")) {
            return Ok("overlayfs".to_owned());
        }
        // The kernel loads the module at the first mount, which needs no privileges in a namespace.
        let modules = format!("lib/modules/{}/modules.dep", self.release);
        if self.text(&modules).unwrap_or_default().contains("/overlay.ko") {
            Ok("overlayfs, which the kernel loads when it is needed".to_owned())
        } else {
            Err(Lack::mended("overlayfs is not loaded", "sudo modprobe overlay"))
        }
    }

    fn process_limit(&self) -> Found {
        if self.at_least(PIDS_PER_NAMESPACE) {
            Ok(format!("kernel {}", self.release))
        } else {
            let why = format!("the kernel is {}, older than {PIDS_PER_NAMESPACE}", self.release);
            Err(Lack::mended(why, self.newer_kernel(NEWER_KERNEL)))
        }
    }

    fn cgroup(&self) -> Found {
        let root = self.root.join("sys/fs/cgroup");
        match cgroup::find(&root, &self.root.join("proc/self/cgroup"), self.is_delegated) {
            Ok(Base::Own(folder) | Base::Around(folder)) => {
                let own = folder.strip_prefix(&root).unwrap_or(&folder);
                Ok(format!("/{}: the kernel enforces memory and processes", own.display()))
            }
            Err(Lacks::Version2) => {
                Err(Lack::mended("there is no cgroup v2", "boot with systemd.unified_cgroup_hierarchy=1"))
            }
            Err(Lacks::Controllers) => Err(Lack {
                why: "its cgroup v2 has no control over memory and processes".to_owned(),
                mend: None,
            }),
            Err(Lacks::Delegation) => Err(Lack::mended(
                "no cgroup is delegated to acquit",
                "systemd-run --user --scope -p Delegate=yes acquit … (systemd 251 or newer; `acquit service install` asks for one itself \
                 and needs 254)",
            )),
        }
    }

    fn inotify(&self) -> Found {
        self.user_namespaces()?;
        let most = self.text("proc/sys/user/max_inotify_instances");
        most.map(|most| format!("a quarter of {most} instances")).ok_or_else(|| {
            Lack::mended("the kernel has no limit for a namespace", self.newer_kernel(NEWER_KERNEL))
        })
    }
}

fn descriptors() -> Found {
    let limit = rustix::process::getrlimit(Resource::Nofile).current;
    match limit {
        Some(limit) if limit < DESCRIPTORS => {
            Err(Lack::mended(format!("at most {limit} at a time"), format!("ulimit -n {DESCRIPTORS}")))
        }
        Some(limit) => Ok(format!("at most {limit} at a time")),
        None => Ok("without a limit".to_owned()),
    }
}

#[cfg(test)]
mod tests;
