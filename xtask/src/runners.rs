//! Test runners for the tests of the gates that no system package manager has in the right version.
#![allow(clippy::disallowed_macros, reason = "xtask reports to the terminal it was started from")]
#![allow(clippy::disallowed_methods, reason = "where cargo builds stands in the environment")]

use std::fs;
use std::path::PathBuf;

use crate::{Stop, shell};

/// Finds or creates a Python environment with pytest and cosmic-ray.
pub(crate) fn pytest() -> Result<(), Stop> {
    python("python", "requirements.txt", &["cosmic-ray", "pytest"])
}

/// Finds or creates a Python environment with HTTP and SMTP test tools: schemathesis, which generates requests from
/// an OpenAPI document, and aiosmtpd, which receives mail.
pub(crate) fn http() -> Result<(), Stop> {
    python("http", "http/requirements.txt", &["aiosmtpd", "schemathesis"])
}

/// Finds or creates a Python environment with these programs, below the target directory: it changes nothing on the
/// system, and `cargo clean` removes it. Versions and hashes are in `crates/testkit/runners/`.
fn python(name: &str, requirements: &str, programs: &[&str]) -> Result<(), Stop> {
    let pinned = shell::root().join("crates/testkit/runners").join(requirements);
    let (place, what) = (target().join("runners").join(name), programs.join(" or "));
    let (stamp, bin) = (place.join("requirements.stamp"), place.join("bin"));
    let versions = || -> Option<String> {
        let each = programs
            .iter()
            .map(|program| shell::first_line(shell::program(bin.join(program)).arg("--version")));
        each.collect::<Option<Vec<_>>>().map(|all| all.join(", "))
    };
    let is_same = || fs::read(&pinned).ok() == fs::read(&stamp).ok();
    if !is_same() || versions().is_none() {
        println!("    python3 -m venv {}", place.display());
        let made = shell::succeeds(shell::program("python3").args(["-m", "venv", "--clear"]).arg(&place))?
            && shell::succeeds(
                shell::program(bin.join("python"))
                    .args(["-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"])
                    .args(["--no-deps", "--only-binary", ":all:", "--require-hashes", "-r"])
                    .arg(&pinned),
            )?;
        if !made {
            return Err(Stop(format!(
                "{what} is missing and could not be installed\n       install Python 3.10 or newer with its modules venv \
                 and pip (Debian: python3-venv)"
            )));
        }
        fs::copy(&pinned, &stamp).map_err(Stop::doing("install packages of Python"))?;
    }
    let found = versions().ok_or_else(|| Stop(format!("{what} was installed and does not run")))?;
    eprintln!("    {found} in {}", place.display());
    Ok(())
}

/// The git of Ubuntu 22.04, the oldest that acquit works with, and the hash of its package.
const OLD_GIT: (&str, &str) = (
    "http://archive.ubuntu.com/ubuntu/pool/main/g/git/git_2.34.1-1ubuntu1_amd64.deb",
    "0a0bd5c85eafb688025d68e69f49919591b22abf8b7d608d7e64307714d361ca",
);

/// Finds or fetches the oldest git that acquit works with, below the target directory. Installs nothing on the system.
pub(crate) fn old_git() -> Result<(), Stop> {
    let (address, sha256) = OLD_GIT;
    let place = target().join("runners/git");
    let program = place.join("bin/git");
    let version = || shell::first_line(shell::program(&program).arg("--version"));
    if version().is_none() {
        println!("    curl {address}");
        let doing = "fetch an old git";
        fs::create_dir_all(place.join("bin")).map_err(Stop::doing(doing))?;
        let package = place.join("git.deb");
        let sums = place.join("git.sha256");
        fs::write(&sums, format!("{sha256}  {}\n", package.display())).map_err(Stop::doing(doing))?;
        let fetched =
            shell::succeeds(
                shell::program("curl").args(["-fsSL", "--max-time", "120", "-o"]).arg(&package).arg(address),
            )? && shell::succeeds(shell::program("sha256sum").args(["--check", "--quiet"]).arg(&sums))?
                && shell::succeeds(shell::program("dpkg-deb").arg("--extract").arg(&package).arg(&place))?;
        if !fetched {
            return Err(Stop(format!(
                "git 2.34 is missing and could not be fetched\n       put one at {}",
                program.display()
            )));
        }
        // It looks for its parts where it would be installed.
        let usr = place.join("usr");
        let script = format!(
            "#!/bin/sh\nexport GIT_EXEC_PATH='{0}/lib/git-core' GIT_TEMPLATE_DIR='{0}/share/git-core/templates'\nexec '{0}/bin/git' \"$@\"\n",
            usr.display()
        );
        fs::write(&program, script).map_err(Stop::doing(doing))?;
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&program, mode).map_err(Stop::doing(doing))?;
    }
    let found = version().ok_or_else(|| Stop("git 2.34 was fetched and does not run".to_owned()))?;
    println!("    {found} in {}", place.display());
    Ok(())
}

/// The distribution that has an ntfy server which replaces messages; older ones ignore `X-Sequence-ID`.
const NTFY_SUITE: &str = "testing";

/// Finds or fetches the ntfy server, below the target directory: the package of a newer Debian, through apt with
/// separate lists and apt's keys, unpacked only. Installs nothing on the system.
pub(crate) fn ntfy() -> Result<(), Stop> {
    let place = target().join("runners/ntfy");
    let program = place.join("usr/bin/ntfy");
    let version = || shell::first_line(shell::program(&program).arg("--version"));
    if version().is_none() {
        println!("    apt-get download ntfy of {NTFY_SUITE} to {}", place.display());
        let doing = "fetch the ntfy server";
        for below in ["lists/partial", "cache/archives/partial"] {
            fs::create_dir_all(place.join(below)).map_err(Stop::doing(doing))?;
        }
        let missing = || {
            Stop(format!(
                "the ntfy server is missing and could not be fetched\n       put version 2.16 or newer at {}",
                program.display()
            ))
        };
        let targets = shell::program("apt-get").args(["indextargets", "--format", "$(REPO_URI)"]).output();
        let targets = targets.map_err(|_| missing())?;
        let targets = String::from_utf8_lossy(&targets.stdout);
        let mirror = targets.lines().find(|uri| !uri.contains("security")).ok_or_else(missing)?;
        let keys = "signed-by=/usr/share/keyrings/debian-archive-keyring.gpg";
        let list = place.join("sources.list");
        fs::write(&list, format!("deb [{keys}] {mirror} {NTFY_SUITE} main\n")).map_err(Stop::doing(doing))?;
        let apt = |words: &[&str]| {
            let option = |name: &str, value: &std::path::Path| format!("{name}={}", value.display());
            let options = [
                option("Dir::Etc::sourcelist", &list),
                "Dir::Etc::sourceparts=-".to_owned(),
                option("Dir::State::lists", &place.join("lists")),
                option("Dir::Cache", &place.join("cache")),
            ];
            let mut command = shell::program("apt-get");
            command.arg("--quiet").args(options.iter().flat_map(|option| ["--option", option]));
            shell::succeeds(command.args(words).current_dir(&place))
        };
        let fetched = apt(&["update"])? && apt(&["download", "ntfy"])?;
        let found = fs::read_dir(&place).map_err(Stop::doing(doing))?.flatten().map(|entry| entry.path());
        let package = found.into_iter().find(|path| path.extension().is_some_and(|end| end == "deb"));
        let package = package.filter(|_| fetched).ok_or_else(missing)?;
        if !shell::succeeds(shell::program("dpkg-deb").arg("--extract").arg(&package).arg(&place))? {
            return Err(missing());
        }
        // The lists are large.
        let _ = fs::remove_dir_all(place.join("lists"));
    }
    let found = version().ok_or_else(|| Stop("ntfy was fetched and does not run".to_owned()))?;
    println!("    {found} in {}", place.display());
    Ok(())
}

/// The mutation testing tool for Rust.
const CARGO_MUTANTS: &str = "27.1.0";

/// Finds or builds cargo-mutants, below the target directory. Takes a few minutes, once.
pub(crate) fn cargo_mutants() -> Result<(), Stop> {
    let place = target().join("runners/rust");
    let version =
        || shell::first_line(shell::program(place.join("bin/cargo-mutants")).args(["mutants", "--version"]));
    if !version().is_some_and(|found| found.ends_with(CARGO_MUTANTS)) {
        println!("    cargo install cargo-mutants {CARGO_MUTANTS}: a few minutes, the first time");
        let made = shell::succeeds(
            shell::cargo(&[
                "install",
                "--locked",
                "--quiet",
                "--debug",
                "--version",
                CARGO_MUTANTS,
                "--root",
            ])
            .arg(&place)
            .arg("cargo-mutants"),
        )?;
        if !made {
            return Err(Stop("cargo-mutants is missing and could not be installed".to_owned()));
        }
    }
    let found = version().ok_or_else(|| Stop("cargo-mutants was installed and does not run".to_owned()))?;
    println!("    {found} in {}", place.display());
    Ok(())
}

/// Finds or installs Stryker, the mutation testing tool for JavaScript, below the target directory. All versions are
/// pinned in `crates/testkit/runners/`. Runs no package scripts.
pub(crate) fn stryker() -> Result<(), Stop> {
    let (pins, place) = (shell::root().join("crates/testkit/runners"), target().join("runners/node"));
    let (pinned, stamp) = (pins.join("package-lock.json"), place.join("npm.stamp"));
    let link = place.join("bin/stryker");
    let doing = "install Stryker";
    let is_there = fs::read(&pinned).ok() == fs::read(&stamp).ok() && link.is_file();
    if !is_there {
        println!("    npm ci of Stryker in {}", place.display());
        if place.exists() {
            fs::remove_dir_all(&place).map_err(Stop::doing(doing))?;
        }
        fs::create_dir_all(place.join("bin")).map_err(Stop::doing(doing))?;
        for name in ["package.json", "package-lock.json"] {
            fs::copy(pins.join(name), place.join(name)).map_err(Stop::doing(doing))?;
        }
        let made = shell::succeeds(
            shell::program("npm")
                .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"])
                .current_dir(&place),
        )?;
        if !made {
            return Err(Stop(
                "Stryker is missing and could not be installed\n       install npm, and run it again when the registry can be reached"
                    .to_owned(),
            ));
        }
        let to = "../node_modules/@stryker-mutator/core/bin/stryker.js";
        std::os::unix::fs::symlink(to, &link).map_err(Stop::doing(doing))?;
        fs::copy(&pinned, &stamp).map_err(Stop::doing(doing))?;
    }
    let found = shell::first_line(shell::program("node").arg(&link).arg("--version"));
    let found = found.ok_or_else(|| Stop("Stryker was installed and does not run".to_owned()))?;
    println!("    Stryker {found} in {}", place.display());
    Ok(())
}

/// Finds or installs the test runners of the corpus's JavaScript projects, below the target directory. All versions
/// are pinned in `crates/testkit/runners/js/`. Runs no package scripts.
pub(crate) fn javascript() -> Result<(), Stop> {
    npm("js", "jest, vitest and mocha")
}

/// Finds or installs the packages that drive a browser through the dashboard and check its pages, in the same way as
/// the JavaScript runners. The browser itself is a system package.
pub(crate) fn browser() -> Result<(), Stop> {
    npm("browser", "playwright-core and axe-core")
}

/// Finds or installs the packages of `crates/testkit/runners/<name>/`.
fn npm(name: &str, what: &str) -> Result<(), Stop> {
    let (pins, place) =
        (shell::root().join("crates/testkit/runners").join(name), target().join("runners").join(name));
    let (pinned, stamp) = (pins.join("package-lock.json"), place.join("npm.stamp"));
    let doing = "install packages of npm";
    if fs::read(&pinned).ok() == fs::read(&stamp).ok() {
        return Ok(());
    }
    eprintln!("    npm ci of {what} in {}", place.display());
    if place.exists() {
        fs::remove_dir_all(&place).map_err(Stop::doing(doing))?;
    }
    fs::create_dir_all(&place).map_err(Stop::doing(doing))?;
    for name in ["package.json", "package-lock.json"] {
        fs::copy(pins.join(name), place.join(name)).map_err(Stop::doing(doing))?;
    }
    let made = shell::succeeds(
        shell::program("npm")
            .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"])
            .current_dir(&place),
    )?;
    if !made {
        return Err(Stop(format!(
            "{what} could not be installed\n       install npm, and run it again when the registry can be reached"
        )));
    }
    fs::copy(&pinned, &stamp).map_err(Stop::doing(doing))?;
    Ok(())
}

/// Returns cargo's target directory.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| shell::root().join("target"), PathBuf::from)
}
