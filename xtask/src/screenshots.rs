//! `cargo xtask screenshots`: takes a picture of every page of the dashboard, wide and narrow, light and dark, for
//! review.

use std::path::Path;

use acquit_testkit::need;

use crate::{Stop, require, runners, shell};

/// Name prefix of the tests that visit every page.
const TESTS: &str = "pages::every_page";

/// Writes the pictures to a directory. Creates it if missing.
#[allow(clippy::disallowed_macros, reason = "xtask reports to the terminal it was started from")]
pub(crate) fn run(folder: &str) -> Result<(), Stop> {
    for name in ["Chromium", "Node.js", "npm"] {
        require::named(name)?;
    }
    runners::browser()?;
    let doing = "make the folder for screenshots";
    std::fs::create_dir_all(folder).map_err(Stop::doing(doing))?;
    let folder = Path::new(folder).canonicalize().map_err(Stop::doing(doing))?;
    let mut command = shell::cargo(&["test", "--package", "acquit", "--test", "web", "--", TESTS]);
    command.env("ACQUIT_SCREENSHOTS", &folder).env(need::STRICT, "1");
    if !shell::succeeds(&mut command)? {
        return Err(Stop("a page has a mistake; the test says which".to_owned()));
    }
    println!("screenshots: {}", folder.display());
    Ok(())
}
