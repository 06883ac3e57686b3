//! Runs programs for the chores: where the repository is, which cargo, and output that streams while it is also read.
#![allow(
    clippy::disallowed_methods,
    reason = "xtask starts cargo and package managers; it is no part of the product"
)]

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Stop;

/// The root of the repository. Cargo names this crate's folder when it runs it; the value from build time serves a
/// binary that was started by hand.
pub(crate) fn root() -> PathBuf {
    let own =
        std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| OsString::from(env!("CARGO_MANIFEST_DIR")));
    Path::new(&own).parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

/// The cargo that runs us, at the root of the repository, in the environment that we were called in. What `cargo run` says about our own
/// package stays here: build scripts that watch these variables (that of ring) would run again, and all that is built on them, whenever
/// `cargo xtask` and plain `cargo` take turns.
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

/// Whether `cargo run` sets a variable of this name to describe the package that it runs, rather than to pass on a setting.
fn is_of_our_package(name: &str) -> bool {
    const PREFIXES: [&str; 4] = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "DEP_"];
    const NAMES: [&str; 4] = ["CARGO_CRATE_NAME", "CARGO_PRIMARY_PACKAGE", "CARGO_TARGET_TMPDIR", "OUT_DIR"];
    PREFIXES.iter().any(|prefix| name.starts_with(prefix)) || NAMES.contains(&name)
}

/// Any other program, without a terminal to ask questions on.
pub(crate) fn program(name: impl AsRef<Path>) -> Command {
    let mut command = Command::new(name.as_ref());
    command.stdin(Stdio::null());
    command
}

/// A program's first line of standard output, if it could be run and succeeded.
pub(crate) fn first_line(command: &mut Command) -> Option<String> {
    let output = command.stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    output.status.success().then(|| text.lines().next().unwrap_or_default().trim().to_owned())
}

/// Where a program of this name lies in `PATH`.
pub(crate) fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(name)).find(|candidate| candidate.is_file())
}

/// Runs to the end with output going straight to the terminal; `Ok(true)` if it succeeded.
pub(crate) fn succeeds(command: &mut Command) -> Result<bool, Stop> {
    let name = command.get_program().to_string_lossy().into_owned();
    Ok(command.status().map_err(Stop::doing(&format!("start {name}")))?.success())
}

/// Runs to the end, passing both streams on line by line as they come, and gives every line to `see`.
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
        // A closed terminal must not end the tests, nor hide their result from the counting.
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
            // Whoever runs this test has set them.
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
