//! Runs programs: finds the repository root and cargo, and streams output while reading it.
#![allow(
    clippy::disallowed_methods,
    reason = "xtask starts cargo and package managers; it is no part of the product"
)]

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Stop;

/// Returns the root of the repository. Cargo sets this crate's directory when it runs it; the build-time value is for
/// a binary started by hand.
pub(crate) fn root() -> PathBuf {
    let own =
        std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| OsString::from(env!("CARGO_MANIFEST_DIR")));
    Path::new(&own).parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

/// Returns a command for the cargo that runs us, in the root of the repository and with the environment of our caller.
/// Removes the variables with which `cargo run` describes our own package: build scripts that watch them (ring's does)
/// would run again, and rebuild all dependents, whenever `cargo xtask` and plain `cargo` alternate.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    command.args(arguments).current_dir(root()).stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(is_of_our_package) {
            command.env_remove(name);
        }
    }
    command
}

/// Returns whether `cargo run` sets this variable to describe the package that it runs, rather than to pass on a setting.
fn is_of_our_package(name: &str) -> bool {
    const PREFIXES: [&str; 4] = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "DEP_"];
    const NAMES: [&str; 4] = ["CARGO_CRATE_NAME", "CARGO_PRIMARY_PACKAGE", "CARGO_TARGET_TMPDIR", "OUT_DIR"];
    PREFIXES.iter().any(|prefix| name.starts_with(prefix)) || NAMES.contains(&name)
}

/// Returns a command for any other program, with an empty stdin so that it cannot prompt.
pub(crate) fn program(name: impl AsRef<Path>) -> Command {
    let mut command = Command::new(name.as_ref());
    command.stdin(Stdio::null());
    command
}

/// Returns the first line of a program's stdout, if it succeeds.
pub(crate) fn first_line(command: &mut Command) -> Option<String> {
    let output = command.stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    output.status.success().then(|| text.lines().next().unwrap_or_default().trim().to_owned())
}

/// Finds a program in `PATH`.
pub(crate) fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(name)).find(|candidate| candidate.is_file())
}

/// Runs a command with its output on the terminal. Returns whether it succeeded.
pub(crate) fn succeeds(command: &mut Command) -> Result<bool, Stop> {
    let name = command.get_program().to_string_lossy().into_owned();
    Ok(command.status().map_err(Stop::doing(&format!("start {name}")))?.success())
}

/// Runs a command, copies both output streams line by line, and passes every line to `see`.
pub(crate) fn watched(command: &mut Command, see: impl Fn(&str) + Sync) -> Result<bool, Stop> {
    let name = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(Stop::doing(&format!("start {name}")))?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    std::thread::scope(|scope| {
        scope.spawn(|| out.map(|from| pass_on(from, std::io::stdout(), &see)));
        scope.spawn(|| err.map(|from| pass_on(from, std::io::stderr(), &see)));
    });
    Ok(child.wait().map_err(Stop::doing(&format!("wait for {name}")))?.success())
}

fn pass_on(from: impl Read, mut to: impl Write, see: &impl Fn(&str)) {
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
        // A closed terminal must neither stop the tests nor hide their result from the counts.
        let _ = to.write_all(&line).and_then(|()| to.flush());
        see(&String::from_utf8_lossy(&line));
        line.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_is_called_without_what_describes_our_own_package() {
        for name in ["CARGO_PKG_NAME", "CARGO_PKG_VERSION_MAJOR", "CARGO_MANIFEST_DIR"] {
            // The test runner sets these.
            assert!(std::env::var_os(name).is_some(), "{name}");
            let removed = cargo(&[]).get_envs().any(|(removed, value)| removed == name && value.is_none());
            assert!(removed, "{name}");
        }
        for name in
            ["CARGO", "CARGO_HOME", "CARGO_TARGET_DIR", "CARGO_NET_OFFLINE", "CARGO_INCREMENTAL", "PATH"]
        {
            assert!(!is_of_our_package(name), "{name}");
        }
    }
}
