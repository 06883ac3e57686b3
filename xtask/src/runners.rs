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
