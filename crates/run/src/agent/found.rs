//! Which agents are on this machine: where, in which version, and whether they can log in. Nothing here asks a model.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use acquit_core::config::Product;

use super::product::{Facts, Login, Version};
use crate::process::{Call, Exit, Guard};
use crate::world::World;

/// How long a program may take to say its version. Some load a whole runtime first.
const VERSION_LIMIT: Duration = Duration::from_secs(30);

/// The longest version that is shown.
const SHOWN: usize = 100;

/// An agent that was looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Which.
    pub product: Product,
    /// Its program.
    pub program: PathBuf,
    /// What it says its version is.
    pub version: Result<String, String>,
    /// Why this version does not work, if that is known.
    pub trouble: Option<&'static str>,
    /// Whether it can log in.
    pub login: Login,
}

/// Looks for the program of a product, or for another one in its place, and asks it for its version.
pub fn look(world: &World, product: Product, instead: Option<&str>) -> Option<Found> {
    let facts = Facts::of(product);
    let environment = &world.environment;
    let program = match instead {
        Some(path) if path.contains('/') => environment.expand(path).unwrap_or_else(|| PathBuf::from(path)),
        name => in_path(environment.get("PATH")?, name.unwrap_or(facts.program))?,
    };
    if !executable(&program) {
        return None;
    }
    let version = version(world, facts, &program);
    let trouble =
        version.as_deref().ok().and_then(Version::in_text).and_then(|version| facts.trouble_with(version));
    Some(Found { product, program, version, trouble, login: facts.logged_in(environment) })
}

/// The file that a name means. Only absolute entries count: what a relative one finds depends on where one stands.
pub fn in_path(path: &OsStr, name: &str) -> Option<PathBuf> {
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|file| executable(file))
}

fn executable(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|meta| meta.is_file() && meta.mode() & 0o111 != 0)
}

/// What the program says its version is, or why it says nothing.
fn version(world: &World, facts: &Facts, program: &Path) -> Result<String, String> {
    let mut env = world.environment.common();
    env.extend(facts.quiet.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))));
    let call = Call {
        program: program.into(),
        args: facts.version.iter().map(OsString::from).collect(),
        cwd: PathBuf::from("/"),
        env,
        input: None,
        limit: VERSION_LIMIT,
        guard: Guard::Contained,
    };
    let captured = world.spawner.capture(&call).map_err(|error| error.to_string())?;
    if captured.exit != Exit::Code(0) {
        return Err(captured.exit.to_string());
    }
    let said = String::from_utf8_lossy(&captured.stdout);
    let line = said.lines().map(str::trim).find(|line| !line.is_empty());
    line.map(|line| acquit_core::agent::shorten(line, SHOWN)).ok_or_else(|| "it says nothing".to_owned())
}
