//! Cost of the sandbox: the additional time to start a program, and the slowdown of a compiler.
//!
//! Both are measured as in a leg. The policy is the one that `acquit sandbox` creates for a directory, and the
//! program is started by the harness's own code (`crates/run/examples/start.rs`). The policy has `sandbox = "on"`, so
//! that a machine that lacks a wall gives no figure rather than too good a one.
#![allow(clippy::disallowed_methods, reason = "the toolchain is found as the shell finds it")]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::Setting;
use super::measure::{Quantity, Row, cost, in_turns};
use crate::{Stop, shell};

/// Maximum additional start time of a contained program, compared with a plain one.
const START: Duration = Duration::from_millis(5);
/// Starts of each kind: odd, and many, because each is short. The kinds alternate, so that a busy moment affects all.
const STARTS: usize = 201;
/// Maximum acceptable slowdown of a compiler.
const WORK: f64 = 1.05;

/// The crate to compile and test: a real one that this workspace uses anyway, with unit tests and without required
/// dependencies.
const CRATE: &str = "regex-syntax";
/// A small one, for a brief run.
const BRIEF_CRATE: &str = "strsim";
/// Runs its unit tests offline.
const TEST: [&str; 5] = ["cargo", "test", "--offline", "--quiet", "--lib"];

/// Network modes, with their arguments for `acquit sandbox`.
const NETWORKS: [(&str, &[&str]); 3] = [
    ("off", &["--network", "off"]),
    ("model", &["--network", "model", "--host", "api.example.com"]),
    ("open", &["--network", "open"]),
];

pub(super) fn run(setting: Setting<'_>) -> Result<Vec<Row>, Stop> {
    let path = path()?;
    let Setting { dir, .. } = setting;
    let surroundings = Surroundings { setting, path: &path, home: dir.join("home") };
    let mut rows = starts(&surroundings, &dir.join("work"))?;
    rows.extend(work(&surroundings, &dir.join("crate"))?);
    Ok(rows)
}

/// The inputs of programs, the same inside and outside.
struct Surroundings<'a> {
    setting: Setting<'a>,
    path: &'a OsString,
    /// acquit's home.
    home: PathBuf,
}

impl Surroundings<'_> {
    /// Returns a command in a directory, with the few variables that the sandbox passes on.
    fn program(&self, name: &Path, folder: &Path) -> Command {
        let mut command = shell::program(name);
        command.current_dir(folder).env_clear().env("PATH", self.path).env("ACQUIT_HOME", &self.home);
        command.envs(std::env::var_os("HOME").map(|home| ("HOME", home)));
        command
    }

    /// Writes the default policy for a directory to a file, and creates the separate directories that it needs.
    fn policy(&self, network: &[&str], folder: &Path, file: &Path) -> Result<(), Stop> {
        let mut command = self.program(self.setting.acquit, folder);
        command.args(["sandbox", "--print"]).args(network).stderr(Stdio::inherit());
        let text = command.output().map_err(Stop::doing("start acquit"))?.stdout;
        let policy: Value = serde_json::from_slice(&text).map_err(Stop::doing("read a policy"))?;
        // Printing a policy leaves no directories behind, but a program under it needs them.
        for folder in asides(&policy) {
            std::fs::create_dir_all(folder).map_err(Stop::doing("make a folder of the sandbox"))?;
        }
        std::fs::write(file, text).map_err(Stop::doing("write a policy"))
    }
}

/// Returns the directories that receive writes under a policy.
fn asides(policy: &Value) -> Vec<PathBuf> {
    let entries = policy["view"].as_array().map_or(&[][..], Vec::as_slice);
    let mut folders = Vec::new();
    for what in entries.iter().map(|entry| &entry["what"]) {
        folders.extend(what["bound"]["source"].as_str().map(PathBuf::from));
        if let Some(upper) = what["overlaid"]["upper"].as_str() {
            folders.extend([PathBuf::from(upper), PathBuf::from(format!("{upper}.work"))]);
        }
    }
    folders
}

/// Returns a `PATH` with the current toolchain first: inside, the variables that select one are not set.
fn path() -> Result<OsString, Stop> {
    let root = shell::first_line(shell::program("rustc").args(["--print", "sysroot"]))
        .ok_or_else(|| Stop("rustc did not say where its toolchain is".to_owned()))?;
    let rest = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(std::iter::once(Path::new(&root).join("bin")).chain(std::env::split_paths(&rest)))
        .map_err(Stop::doing("name the toolchain in PATH"))
}

/// Measures a program that does nothing, under each kind of policy, minus its time without one.
fn starts(surroundings: &Surroundings<'_>, folder: &Path) -> Result<Vec<Row>, Stop> {
    std::fs::create_dir_all(folder).map_err(Stop::doing("make a folder"))?;
    let nothing = shell::in_path("true").ok_or_else(|| Stop("there is no `true` in PATH".to_owned()))?;
    let mut files = Vec::new();
    for (name, arguments) in NETWORKS {
        let file = folder.with_file_name(format!("{name}.json"));
        surroundings.policy(arguments, folder, &file)?;
        files.push(file);
    }
    let taken = taken(surroundings.setting, folder, &nothing, &files)?;
    let over = |until: Until| {
        let median = |kind: usize| {
            let mut times: Vec<u64> = taken
                .iter()
                .filter(|start| start[0] == kind as u64)
                .map(|start| start[until as usize])
                .collect();
            times.sort_unstable();
            let middle = times.get(times.len() / 2).copied();
            middle.map(Duration::from_nanos).ok_or_else(|| Stop("a start was not measured".to_owned()))
        };
        let plain = median(0)?;
        let row = |(number, (network, _)): (usize, (&str, &[&str]))| {
            Ok(Row {
                thing: format!("start{}, network {network}, over {}", until.words(), Quantity::Time(plain)),
                ours: Quantity::Time(median(number + 1)?.saturating_sub(plain)),
                limit: Quantity::Time(START),
                target: until.target(),
            })
        };
        NETWORKS.into_iter().enumerate().map(row).collect::<Result<Vec<_>, Stop>>()
    };
    Ok([over(Until::End)?, over(Until::Exec)?].concat())
}

/// Returns every start of a plain program (0) and of one under each policy (from 1 on): its kind, and the nanoseconds
/// until exec and until the end.
fn taken(
    setting: Setting<'_>,
    folder: &Path,
    nothing: &Path,
    policies: &[PathBuf],
) -> Result<Vec<[u64; 3]>, Stop> {
    let mut command = setting.example("start");
    command
        .arg(setting.size.pick(STARTS, 3).to_string())
        .arg(folder)
        .arg(nothing)
        .args(policies)
        .stderr(Stdio::inherit());
    let output = command.output().map_err(Stop::doing("start cargo"))?;
    if !output.status.success() {
        return Err(Stop("the sandbox is not whole here, see `acquit doctor`".to_owned()));
    }
    let number = |word: &str| word.parse::<u64>().map_err(Stop::doing("understand a figure"));
    let line = |line: &str| {
        let figures = line.split(' ').map(number).collect::<Result<Vec<_>, _>>()?;
        figures.try_into().map_err(|_| Stop(format!("a start without its figures: {line}")))
    };
    String::from_utf8_lossy(&output.stdout).lines().map(line).collect()
}

/// The end of a measured start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Until {
    /// Until exec.
    Exec = 1,
    /// Until the program, and everything created for it, is gone.
    End = 2,
}

impl Until {
    fn words(self) -> &'static str {
        match self {
            Self::Exec => " until exec",
            Self::End => " and end",
        }
    }

    /// The promise covers the whole; the part is for information.
    fn target(self) -> Option<f64> {
        match self {
            Self::Exec => None,
            Self::End => Some(1.0),
        }
    }
}

/// Compiles and tests a crate from scratch, inside and outside.
fn work(surroundings: &Surroundings<'_>, folder: &Path) -> Result<[Row; 2], Stop> {
    let name = surroundings.setting.size.pick(CRATE, BRIEF_CRATE);
    copy_crate(name, folder)?;
    let round = |command: &mut Command| {
        let target = folder.join("target");
        if target.exists() {
            std::fs::remove_dir_all(&target).map_err(Stop::doing("remove what was compiled"))?;
        }
        let (output, cost) = cost(|| command.output().map_err(Stop::doing("start the tests")))?;
        if output.status.success() && target.is_dir() {
            return Ok(cost);
        }
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(Stop(format!("the tests of {name} did not run: {}\n{said}", output.status)))
    };
    // Inside, temporary files are below acquit's home; outside they must be on the same disk.
    let temporary = folder.with_file_name("tmp");
    std::fs::create_dir_all(&temporary).map_err(Stop::doing("make a folder for temporary files"))?;
    let mut outside = || {
        let mut command = surroundings.program(Path::new(TEST[0]), folder);
        round(command.args(&TEST[1..]).env("TMPDIR", &temporary))
    };
    let mut inside = || {
        let mut command = surroundings.program(surroundings.setting.acquit, folder);
        round(command.args(["sandbox", "--"]).args(TEST))
    };
    let [limit, ours] = in_turns(surroundings.setting.rounds(), [&mut outside, &mut inside])?;
    let row = |what: &str, ours, limit, target| Row {
        thing: format!("{} of {name}, {what}", TEST[..2].join(" ")),
        ours: Quantity::Time(ours),
        limit: Quantity::Time(limit),
        target,
    };
    Ok([
        row("wall", ours.wall, limit.wall, Some(WORK)),
        // For information: on a busy machine CPU time says more, but users wait for wall time.
        row("CPU", ours.cpu, limit.cpu, None),
    ])
}

/// Copies the crate's source from cargo's registry, without its optional dependencies.
fn copy_crate(name: &str, to: &Path) -> Result<(), Stop> {
    // Only for this platform: dependencies of others were never downloaded.
    let host = shell::first_line(shell::program("rustc").args(["--print", "host-tuple"]))
        .ok_or_else(|| Stop("rustc did not say for which platform it compiles".to_owned()))?;
    let mut command = shell::cargo(&["metadata", "--format-version", "1", "--locked", "--offline"]);
    command.args(["--filter-platform", &host]);
    let output = command.stderr(Stdio::inherit()).output().map_err(Stop::doing("start cargo"))?;
    let metadata: Value = serde_json::from_slice(&output.stdout)
        .map_err(Stop::doing("read what cargo knows of this workspace"))?;
    let manifest = metadata["packages"]
        .as_array()
        .and_then(|packages| packages.iter().find(|package| package["name"] == name))
        .and_then(|package| package["manifest_path"].as_str())
        .ok_or_else(|| Stop(format!("cargo has no source of {name}")))?;
    std::fs::create_dir_all(to).map_err(Stop::doing("make a folder for a crate"))?;
    let source = Path::new(manifest).with_file_name("src");
    if !shell::succeeds(shell::program("cp").arg("-r").arg(source).arg(to))? {
        return Err(Stop(format!("copying {name} failed")));
    }
    let text = std::fs::read_to_string(manifest).map_err(Stop::doing("read a manifest"))?;
    std::fs::write(to.join("Cargo.toml"), alone(&text)?).map_err(Stop::doing("write a manifest"))
}

/// Returns a manifest of the same library without dependencies, not even optional ones, as cargo would look these up.
fn alone(manifest: &str) -> Result<String, Stop> {
    let mut table: toml::Table = manifest.parse().map_err(Stop::doing("understand a manifest"))?;
    table.retain(|name, _| matches!(name, "package" | "lib" | "features" | "lints"));
    if let Some(features) = table.get_mut("features").and_then(toml::Value::as_table_mut) {
        let other = |value: &toml::Value| value.as_str().is_some_and(|name| name.starts_with("dep:"));
        features.retain(|_, list| !list.as_array().is_some_and(|list| list.iter().any(other)));
    }
    // A separate workspace, independent of any around it.
    table.insert("workspace".to_owned(), toml::Value::Table(toml::Table::new()));
    Ok(table.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crate_stands_alone() {
        let text = "\
[package]
name = \"a\"
[features]
default = [\"std\"]
std = []
more = [\"std\", \"dep:more\"]
[lib]
path = \"src/lib.rs\"
[[bench]]
name = \"b\"
[dependencies.more]
version = \"1\"
optional = true
[dev-dependencies]
other = \"1\"
";
        let alone: toml::Table = alone(text).expect("a manifest").parse().expect("a manifest");
        assert_eq!(alone.keys().collect::<Vec<_>>(), ["features", "lib", "package", "workspace"]);
        assert_eq!(
            alone["features"].as_table().expect("features").keys().collect::<Vec<_>>(),
            ["default", "std"]
        );
    }

    #[test]
    fn every_folder_that_a_policy_writes_aside_is_known() {
        let policy = serde_json::json!({ "view": [
            { "at": "/tmp", "what": { "bound": { "source": "/a/tmp" } } },
            { "at": "/usr", "what": "read" },
            { "at": "/h/.cargo", "what": { "overlaid": { "upper": "/a/over" } } },
        ]});
        assert_eq!(asides(&policy), ["/a/tmp", "/a/over", "/a/over.work"].map(PathBuf::from));
    }
}
