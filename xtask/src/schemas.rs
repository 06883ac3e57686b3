//! Installs the validators for documents of `acquit prove`: the SARIF schema, and check-jsonschema with the schemas
//! of GitHub workflows and GitLab CI, at the versions pinned in `crates/testkit/schemas/`.
#![allow(clippy::disallowed_macros, reason = "xtask reports to the terminal it was started from")]

use std::fs;

use crate::runners::target;
use crate::{Stop, shell};

/// Finds or downloads them, below the target directory. Copies the pins last, so that a partial installation never
/// looks complete.
pub(crate) fn fetch() -> Result<(), Stop> {
    let pins = shell::root().join("crates/testkit/schemas");
    let place = target().join("schemas");
    let doing = "fetch schemas";
    fs::create_dir_all(&place).map_err(Stop::doing(doing))?;
    let same = |name: &str| match (fs::read(pins.join(name)), fs::read(place.join(format!("{name}.stamp")))) {
        (Ok(pinned), Ok(stamp)) => pinned == stamp,
        _ => false,
    };
    let stamp = |name: &str| {
        let copied = fs::copy(pins.join(name), place.join(format!("{name}.stamp")));
        copied.map(drop).map_err(Stop::doing(doing))
    };
    if !same("package-lock.json") {
        println!("    npm install @microsoft/jest-sarif, once");
        for name in ["package.json", "package-lock.json"] {
            fs::copy(pins.join(name), place.join(name)).map_err(Stop::doing(doing))?;
        }
        let arguments =
            ["install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
        if !shell::succeeds(shell::program("npm").args(arguments).current_dir(&place))? {
            return Err(Stop("npm could not fetch the schema of SARIF".to_owned()));
        }
        let modules = place.join("node_modules");
        let schema = modules.join("@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json");
        fs::rename(schema, place.join("sarif-2.1.0.json")).map_err(Stop::doing(doing))?;
        fs::remove_dir_all(modules).map_err(Stop::doing(doing))?;
        stamp("package-lock.json")?;
    }
    if !same("requirements.txt") {
        let python = place.join("python");
        println!("    python3 -m venv {}", python.display());
        let made = shell::succeeds(shell::program("python3").args(["-m", "venv", "--clear"]).arg(&python))?
            && shell::succeeds(
                shell::program(python.join("bin/python"))
                    .args(["-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"])
                    .args(["--no-deps", "--only-binary", ":all:", "--require-hashes", "-r"])
                    .arg(pins.join("requirements.txt")),
            )?;
        if !made {
            return Err(Stop("check-jsonschema could not be installed".to_owned()));
        }
        stamp("requirements.txt")?;
    }
    println!("    schemas: {}", place.display());
    Ok(())
}
