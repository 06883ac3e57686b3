//! Downloads GitHub's own descriptions of its REST and GraphQL APIs, at the versions pinned in
//! `crates/testkit/openapi/`, to check our calls.
#![allow(clippy::disallowed_macros, reason = "xtask reports to the terminal it was started from")]

use std::fs;
use std::path::PathBuf;

use crate::runners::target;
use crate::{Stop, shell};

/// The one file we use of each package (four hundred megabytes), and its name here.
const FILES: [(&str, &str); 2] = [
    ("@octokit/openapi/generated/api.github.com.json", "api.github.com.json"),
    ("@octokit/graphql-schema/schema.json", "graphql.github.com.json"),
];

/// Finds or downloads the files, below the target directory. Copies the lock file last, so that a partial
/// installation never looks complete.
pub(crate) fn fetch() -> Result<(), Stop> {
    let pins = shell::root().join("crates/testkit/openapi");
    let place = target().join("openapi");
    let (pinned, stamp) = (pins.join("package-lock.json"), place.join("npm.stamp"));
    let text = |path: &PathBuf| fs::read(path).ok();
    let all_there = || FILES.iter().all(|(_, name)| place.join(name).is_file());
    if text(&pinned) != text(&stamp) || !all_there() {
        println!("    npm install @octokit/openapi @octokit/graphql-schema, once");
        let doing = "fetch GitHub's descriptions of its APIs";
        fs::create_dir_all(&place).map_err(Stop::doing(doing))?;
        for name in ["package.json", "package-lock.json"] {
            fs::copy(pins.join(name), place.join(name)).map_err(Stop::doing(doing))?;
        }
        let arguments =
            ["install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
        if !shell::succeeds(shell::program("npm").args(arguments).current_dir(&place))? {
            return Err(Stop("npm could not fetch GitHub's descriptions of its APIs".to_owned()));
        }
        let modules = place.join("node_modules");
        for (from, name) in FILES {
            fs::rename(modules.join(from), place.join(name)).map_err(Stop::doing(doing))?;
        }
        fs::remove_dir_all(modules).map_err(Stop::doing(doing))?;
        fs::copy(&pinned, &stamp).map_err(Stop::doing(doing))?;
    }
    println!("    GitHub's descriptions of its APIs: {}", place.display());
    Ok(())
}
