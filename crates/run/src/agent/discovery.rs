//! Finds the agents on this machine, with path and version. Nothing here asks a model.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use acquit_core::config::Product;

use super::product::{Facts, Version};
use crate::process::{Call, Exit, Guard};
use crate::runtime::Runtime;

/// Timeout for printing the version. Some programs load a whole runtime first.
const VERSION_LIMIT: Duration = Duration::from_secs(30);

/// Maximum length of a version to show.
const SHOWN: usize = 100;

/// Finds the program of a product, or a given one instead.
pub fn find(runtime: &Runtime, product: Product, instead: Option<&str>) -> Option<PathBuf> {
    let environment = &runtime.environment;
    let program = match instead {
        Some(path) if path.contains('/') => environment.expand(path).unwrap_or_else(|| PathBuf::from(path)),
        name => {
            crate::process::in_path(environment.get("PATH")?, name.unwrap_or(Facts::of(product).program))?
        }
    };
    crate::process::is_executable(&program).then_some(program)
}

/// Returns why this version of a product does not work, if known.
pub fn trouble(product: Product, version: &str) -> Option<&'static str> {
    Version::in_text(version).and_then(|version| Facts::of(product).trouble_with(version))
}

/// Returns the version that the program of a product prints outside of the sandbox, or why it prints none.
pub fn version(runtime: &Runtime, product: Product, program: &Path) -> Result<String, String> {
    let facts = Facts::of(product);
    let mut env = runtime.common_variables();
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
    let captured = runtime.spawner.capture(&call).map_err(|error| error.to_string())?;
    if captured.exit != Exit::Code(0) {
        return Err(captured.exit.to_string());
    }
    let said = String::from_utf8_lossy(&captured.stdout);
    let line = said.lines().map(str::trim).find(|line| !line.is_empty());
    line.map(|line| acquit_core::agent::shorten(line, SHOWN)).ok_or_else(|| "it says nothing".to_owned())
}
