//! Which agents are on this machine: where, and in which version. Nothing here asks a model.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use acquit_core::config::Product;

use super::product::{Facts, Version};
use crate::process::{Call, Exit, Guard};
use crate::world::World;

/// How long a program may take to say its version. Some load a whole runtime first.
const VERSION_LIMIT: Duration = Duration::from_secs(30);

/// The longest version that is shown.
const SHOWN: usize = 100;

/// Looks for the program of a product, or for another one in its place.
pub fn find(world: &World, product: Product, instead: Option<&str>) -> Option<PathBuf> {
    let environment = &world.environment;
    let program = match instead {
        Some(path) if path.contains('/') => environment.expand(path).unwrap_or_else(|| PathBuf::from(path)),
        name => in_path(environment.get("PATH")?, name.unwrap_or(Facts::of(product).program))?,
    };
    is_executable(&program).then_some(program)
}

/// Why this version of a product does not work, if that is known.
pub fn trouble(product: Product, version: &str) -> Option<&'static str> {
    Version::in_text(version).and_then(|version| Facts::of(product).trouble_with(version))
}

/// The file that a name means. Only absolute entries count: what a relative one finds depends on where one stands.
pub fn in_path(path: &OsStr, name: &str) -> Option<PathBuf> {
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|file| is_executable(file))
}

/// Whether a file is a program.
pub fn is_executable(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|meta| meta.is_file() && meta.mode() & 0o111 != 0)
}

/// What the program of a product says its version is outside of the sandbox, or why it says nothing.
pub fn version(world: &World, product: Product, program: &Path) -> Result<String, String> {
    let facts = Facts::of(product);
    let mut env = world.common_variables();
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
