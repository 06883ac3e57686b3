//! External requirements of the tests, as a table: how to find each one, and how to install it.
//!
//! To add a requirement, add an entry. Installs nothing that is already there, uses plain package names only, and
//! lets no installer prompt.
#![allow(clippy::disallowed_macros, reason = "xtask reports to the terminal it was started from")]

use std::path::{Path, PathBuf};

use acquit_testkit::gauge::JUNIT;

use crate::{Stop, shell};

/// The oldest git with the options that the harness uses.
const GIT_AT_LEAST: (u32, u32) = (2, 34);

/// Something that must be installed on the machine.
struct Requirement {
    name: &'static str,
    /// Returns where it is or which version, if it is there.
    find: fn() -> Option<String>,
    /// Ways to install it; the first whose tool exists is used. If empty, a person must install it.
    ways: &'static [Way],
    /// Shown if no way worked.
    hint: &'static str,
}

/// How to install something with one package manager.
struct Way {
    tool: &'static str,
    /// Run before installing, as a fresh image has no package lists.
    refresh: &'static [&'static str],
    install: &'static [&'static str],
    package: &'static str,
    rights: Rights,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Rights {
    /// Changes the system: needs root or `sudo -n`.
    System,
    /// Installs for the current user.
    User,
}

const fn apt(package: &'static str) -> Way {
    let install = &["install", "--yes", "--no-install-recommends"];
    Way { tool: "apt-get", refresh: &["update"], install, package, rights: Rights::System }
}

const fn dnf(package: &'static str) -> Way {
    let install = &["install", "--assumeyes"];
    Way { tool: "dnf", refresh: &[], install, package, rights: Rights::System }
}

const fn apk(package: &'static str) -> Way {
    let install = &["add", "--no-cache"];
    Way { tool: "apk", refresh: &[], install, package, rights: Rights::System }
}

const fn brew(package: &'static str) -> Way {
    Way { tool: "brew", refresh: &[], install: &["install"], package, rights: Rights::User }
}

const fn rustup(package: &'static str) -> Way {
    Way { tool: "rustup", refresh: &[], install: &["component", "add"], package, rights: Rights::User }
}

const REQUIREMENTS: &[Requirement] = &[
    Requirement {
        name: "git 2.34 or newer",
        find: git,
        ways: &[apt("git"), dnf("git"), apk("git"), brew("git")],
        hint: "install git 2.34 or newer and put it into PATH",
    },
    Requirement {
        name: "GnuPG",
        find: || shell::first_line(shell::program("gpg").arg("--version")),
        ways: &[apt("gnupg"), dnf("gnupg2"), apk("gnupg"), brew("gnupg")],
        hint: "install GnuPG 2.2 or newer and put `gpg` into PATH: commits are signed with it",
    },
    Requirement {
        name: "GnuPG for X.509",
        find: || shell::first_line(shell::program("gpgsm").arg("--version")),
        ways: &[apt("gpgsm"), dnf("gnupg2-smime"), apk("gnupg"), brew("gnupg")],
        hint: "install GnuPG 2.2 or newer with `gpgsm` and put it into PATH: commits are signed with it",
    },
    Requirement {
        name: "rustfmt",
        find: || shell::first_line(&mut shell::cargo(&["fmt", "--version"])),
        ways: &[rustup("rustfmt"), apt("rustfmt"), dnf("rustfmt")],
        hint: "install rustfmt for the toolchain in use",
    },
    Requirement {
        name: "clippy",
        find: || shell::first_line(&mut shell::cargo(&["clippy", "--version"])),
        ways: &[rustup("clippy"), apt("rust-clippy"), dnf("clippy")],
        hint: "install clippy for the toolchain in use",
    },
    Requirement {
        name: "curl",
        find: || shell::first_line(shell::program("curl").arg("--version")),
        ways: &[apt("curl"), dnf("curl"), apk("curl"), brew("curl")],
        hint: "install curl: the installer of releases uses it",
    },
    Requirement {
        name: "PostgreSQL server",
        find: || acquit_testkit::postgres::programs().map(|dir| dir.display().to_string()),
        ways: &[apt("postgresql"), dnf("postgresql-server"), apk("postgresql"), brew("postgresql@17")],
        hint: "install a PostgreSQL server (13 or newer), so that `initdb` and `pg_ctl` are found",
    },
    Requirement {
        name: "PgBouncer",
        find: || shell::in_path("pgbouncer").map(|path| path.display().to_string()),
        ways: &[apt("pgbouncer"), dnf("pgbouncer"), apk("pgbouncer"), brew("pgbouncer")],
        hint: "install PgBouncer and put `pgbouncer` into PATH: acquit refuses its transaction mode",
    },
    Requirement {
        name: "iproute2",
        find: || shell::in_path("ip").zip(shell::in_path("tc")).map(|(ip, _)| ip.display().to_string()),
        ways: &[apt("iproute2"), dnf("iproute-tc"), apk("iproute2-tc")],
        hint: "install iproute2 and put `ip` and `tc` into PATH: tests connect hosts in network namespaces with them",
    },
    Requirement {
        name: "npm",
        find: || shell::first_line(shell::program("npm").arg("--version")),
        ways: &[apt("npm"), dnf("npm"), apk("npm"), brew("node")],
        hint: "install npm with any node: the agents under test come from its registry, with a node of their own",
    },
    Requirement {
        name: "Python 3.10 to 3.12 with venv",
        find: || python().map(|path| path.display().to_string()),
        ways: &[apt("python3-venv"), dnf("python3"), apk("python3"), brew("python@3.12")],
        hint: "install Python 3.12 with its module venv: aider, one of the agents under test, runs on no newer one",
    },
    Requirement {
        name: "Node.js",
        find: || shell::first_line(shell::program("node").arg("--version")),
        ways: &[apt("nodejs"), dnf("nodejs"), apk("nodejs"), brew("node")],
        hint: "install Node.js 20 or newer and put it into PATH",
    },
    Requirement {
        name: "Chromium",
        find: || shell::first_line(shell::program("chromium").arg("--version")),
        ways: &[apt("chromium"), dnf("chromium"), apk("chromium")],
        hint: "install Chromium and put `chromium` into PATH: the dashboard is tested in it",
    },
    Requirement {
        name: "Go",
        find: || shell::first_line(shell::program("go").arg("version")),
        ways: &[apt("golang-go"), dnf("golang"), apk("go"), brew("go")],
        hint: "install Go 1.18 or newer and put it into PATH",
    },
    Requirement {
        name: "JDK",
        find: || shell::first_line(shell::program("javac").arg("--version")),
        ways: &[apt("default-jdk-headless"), dnf("java-devel"), apk("openjdk17"), brew("openjdk")],
        hint: "install a JDK, 11 or newer, and put `java` and `javac` into PATH",
    },
    Requirement {
        name: "JUnit 5",
        find: || file(JUNIT),
        ways: &[apt("junit5"), dnf("junit5")],
        hint: "put junit-platform-console-standalone.jar into /usr/share/java",
    },
    Requirement {
        name: "coverage.py",
        find: || shell::first_line(shell::program("/usr/bin/python3").args(["-m", "coverage", "--version"])),
        ways: &[apt("python3-coverage"), dnf("python3-coverage"), apk("py3-coverage")],
        hint: "install coverage.py 6.3 or newer for /usr/bin/python3",
    },
];

/// Additional requirements of `cargo xtask vm`.
const FOR_VM: &[Requirement] = &[
    Requirement {
        name: "qemu for x86-64",
        find: || shell::first_line(shell::program("qemu-system-x86_64").arg("--version")),
        ways: &[apt("qemu-system-x86"), dnf("qemu-system-x86-core"), apk("qemu-system-x86_64"), brew("qemu")],
        hint: "install qemu and put `qemu-system-x86_64` into PATH",
    },
    Requirement {
        name: "mmdebstrap",
        find: || shell::first_line(shell::program("mmdebstrap").arg("--version")),
        ways: &[apt("mmdebstrap"), dnf("mmdebstrap")],
        hint: "install mmdebstrap, which makes a Debian from its packages; it needs apt",
    },
    Requirement {
        name: "mke2fs",
        find: || shell::in_path("mke2fs").map(|path| path.display().to_string()),
        ways: &[apt("e2fsprogs"), dnf("e2fsprogs"), apk("e2fsprogs")],
        hint: "install e2fsprogs and put `mke2fs` into PATH",
    },
];

/// A Debian package, and a file that it contains.
macro_rules! debian {
    ($package:literal, $file:literal) => {
        Requirement {
            name: $package,
            find: || Path::new($file).exists().then(|| $file.to_owned()),
            ways: &[apt($package)],
            hint: "the table of real packages builds one with Maven from Debian's packages alone",
        }
    };
}

/// Additional requirements of `cargo xtask soak`.
const FOR_SOAK: &[Requirement] = &[
    debian!("maven", "/usr/bin/mvn"),
    debian!("libsurefire-java", "/usr/share/maven-repo/org/apache/maven/plugins/maven-surefire-plugin"),
    debian!(
        "libmaven-compiler-plugin-java",
        "/usr/share/maven-repo/org/apache/maven/plugins/maven-compiler-plugin"
    ),
    debian!("libmaven-jar-plugin-java", "/usr/share/maven-repo/org/apache/maven/plugins/maven-jar-plugin"),
    debian!(
        "libmaven-resources-plugin-java",
        "/usr/share/maven-repo/org/apache/maven/plugins/maven-resources-plugin"
    ),
    debian!("junit4", "/usr/share/maven-repo/junit/junit/4.13.2"),
];

/// Finds or installs what the long tests need.
pub(crate) fn for_soak() -> Result<(), Stop> {
    installable(FOR_SOAK)?;
    for requirement in FOR_SOAK {
        println!("    {}: {}", requirement.name, there(requirement)?);
    }
    crate::runners::old_git()
}

/// Finds or installs the requirements of a virtual machine.
pub(crate) fn for_vm() -> Result<(), Stop> {
    installable(FOR_VM)?;
    for requirement in FOR_VM {
        println!("    {}: {}", requirement.name, there(requirement)?);
    }
    Ok(())
}

fn file(path: &str) -> Option<String> {
    Path::new(path).is_file().then(|| path.to_owned())
}

/// Reports at once, in one list, what this user cannot install.
fn installable(requirements: &[Requirement]) -> Result<(), Stop> {
    let missing: Vec<&Requirement> =
        requirements.iter().filter(|requirement| (requirement.find)().is_none()).collect();
    let needs_root = |way: &Way| way.rights == Rights::System;
    let for_root: Vec<(&Requirement, &Way)> =
        missing.iter().filter_map(|it| Some((*it, it.way().filter(|way| needs_root(way))?))).collect();
    if !for_root.is_empty() && !is_root() && !call_as_root(&["true"]) {
        return Err(Stop(for_somebody_else(&for_root)));
    }
    Ok(())
}

/// Finds or installs everything in the table.
pub(crate) fn all() -> Result<(), Stop> {
    installable(REQUIREMENTS)?;
    for requirement in REQUIREMENTS {
        println!("    {}: {}", requirement.name, there(requirement)?);
    }
    crate::runners::pytest()?;
    crate::runners::http()?;
    crate::runners::ntfy()?;
    crate::runners::stryker()?;
    crate::runners::javascript()?;
    crate::runners::browser()?;
    crate::runners::cargo_mutants()?;
    crate::openapi::fetch()?;
    crate::schemas::fetch()
}

impl Requirement {
    /// Returns how to install it here.
    fn way(&self) -> Option<&'static Way> {
        self.ways.iter().find(|way| shell::in_path(way.tool).is_some())
    }
}

/// Returns a message with what root must install, and the command for it.
fn for_somebody_else(missing: &[(&Requirement, &Way)]) -> String {
    let names: Vec<String> = missing
        .iter()
        .map(|(requirement, way)| format!("\n       {} ({})", requirement.name, way.package))
        .collect();
    let (_, first) = missing[0];
    let packages: Vec<&str> = missing.iter().map(|(_, way)| way.package).collect();
    format!(
        "these are missing, and installing them needs root, which you are not:{}\n       ask for: {} {} {}",
        names.concat(),
        first.tool,
        first.install.join(" "),
        packages.join(" ")
    )
}

/// Finds or installs one requirement.
pub(crate) fn named(name: &str) -> Result<(), Stop> {
    REQUIREMENTS
        .iter()
        .filter(|requirement| requirement.name == name)
        .try_for_each(|it| there(it).map(|_| ()))
}

fn there(requirement: &Requirement) -> Result<String, Stop> {
    (requirement.find)().map_or_else(|| install(requirement), Ok)
}

fn install(requirement: &Requirement) -> Result<String, Stop> {
    let missing =
        |why: &str| Stop(format!("{} is missing and {why}\n       {}", requirement.name, requirement.hint));
    let Some(way) = requirement.way() else {
        return Err(missing("no package manager that could install it was found"));
    };
    if way.rights == Rights::System && !is_root() && !call_as_root(&["true"]) {
        return Err(missing(&format!(
            "installing it with {} needs root, which `sudo -n` does not give",
            way.tool
        )));
    }
    if !way.refresh.is_empty() && !call(way, way.refresh) {
        // Old lists may still know the package: let the install decide.
        println!("    {} {} failed; going on with the lists at hand", way.tool, way.refresh.join(" "));
    }
    let mut arguments = way.install.to_vec();
    arguments.push(way.package);
    if !call(way, &arguments) {
        return Err(missing(&format!("`{} {}` failed", way.tool, arguments.join(" "))));
    }
    (requirement.find)().ok_or_else(|| missing(&format!("not found after {} installed it", way.tool)))
}

fn call(way: &Way, arguments: &[&str]) -> bool {
    println!("    {} {}", way.tool, arguments.join(" "));
    if way.rights == Rights::System && !is_root() {
        // `sudo` drops the environment, so set it inside.
        return call_as_root(&[&["env", QUIET.0, way.tool], arguments].concat());
    }
    shell::succeeds(shell::program(way.tool).env(QUIET.1, QUIET.2).args(arguments)).unwrap_or(false)
}

/// Keeps Debian's installer from prompting: as one word for `env`, and as name and value.
const QUIET: (&str, &str, &str) = ("DEBIAN_FRONTEND=noninteractive", "DEBIAN_FRONTEND", "noninteractive");

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// `-n` fails instead of asking for a password. Without sudo, the hint tells what to do, so this is no error.
fn call_as_root(words: &[&str]) -> bool {
    shell::succeeds(shell::program("sudo").arg("-n").args(words)).unwrap_or(false)
}

fn git() -> Option<String> {
    let line = shell::first_line(shell::program("git").arg("--version"))?;
    new_enough(&line).then_some(line)
}

fn new_enough(line: &str) -> bool {
    let mut numbers = line.trim_start_matches("git version ").split('.').map_while(|part| part.parse().ok());
    numbers.next().zip(numbers.next()).is_some_and(|version: (u32, u32)| version >= GIT_AT_LEAST)
}

/// Finds a Python that runs aider and can create an environment. Tries the system's first: every sandbox shows them,
/// while a version in a home exists for that user only.
pub(crate) fn python() -> Option<PathBuf> {
    /// Fails in a Python that is too old, too new, or cannot create an environment.
    const FITS: &str = "import sys, venv, ensurepip; sys.exit(not (3, 10) <= sys.version_info < (3, 13))";
    let names = ["python3", "python3.12", "python3.11", "python3.10"];
    let system = names.iter().map(|name| PathBuf::from("/usr/bin").join(name)).filter(|path| path.is_file());
    let others = names.iter().filter_map(|name| shell::in_path(name));
    system.chain(others).find(|path| shell::first_line(shell::program(path).args(["-c", FITS])).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_root_is_named_in_one_list() {
        let missing: Vec<(&Requirement, &Way)> = REQUIREMENTS
            .iter()
            .filter_map(|it| Some((it, it.ways.iter().find(|way| way.tool == "apt-get")?)))
            .filter(|(it, _)| ["GnuPG", "Go"].contains(&it.name))
            .collect();
        assert_eq!(
            for_somebody_else(&missing),
            "these are missing, and installing them needs root, which you are not:\n       GnuPG (gnupg)\n       Go (golang-go)\n       \
             ask for: apt-get install --yes --no-install-recommends gnupg golang-go"
        );
    }

    #[test]
    fn git_versions_are_compared_as_numbers() {
        assert!(new_enough("git version 2.47.3"));
        assert!(new_enough("git version 2.34.1 (Apple Git-1)"));
        assert!(new_enough("git version 3.0"));
        assert!(!new_enough("git version 2.9.5"));
        assert!(!new_enough("git version 2.29.2.windows.1"));
        assert!(!new_enough("something else"));
    }

    #[test]
    fn every_requirement_says_what_a_person_can_do() {
        for requirement in REQUIREMENTS {
            assert!(!requirement.hint.is_empty(), "{}", requirement.name);
        }
    }
}
