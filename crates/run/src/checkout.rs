//! Checks whether the user's checkout has changes that a task started there will not include.
//!
//! Files that acquit itself writes do not count. Its configuration directory applies as it is, committed or not. A
//! report file is rewritten every night, and warning about it each time would teach people to ignore warnings.

use std::path::{Component, Path, PathBuf};

use acquit_core::config::Config;

use crate::git::{Error, Git, Source};
use crate::notify;

/// Directory of a project's configuration, relative to the top of its checkout.
const FOLDER: &str = ".acquit";

/// Returns whether the checkout has uncommitted changes that acquit did not make itself.
pub fn is_changed(git: &Git, source: &Source, config: &Config) -> Result<bool, Error> {
    // Most checkouts are clean, and then there is nothing to distinguish.
    if !source.is_dirty(git)? {
        return Ok(false);
    }
    let top = source.top();
    let reports = config.notices.report.file.as_deref().map(|file| notify::written(&top.join(file)));
    let own = reports.into_iter().flatten().filter_map(|path| below(top, &path));
    let left_out = own.chain([PathBuf::from(FOLDER)]).map(|path| {
        let mut spec = std::ffi::OsString::from(":(top,exclude,literal)");
        spec.push(path);
        spec
    });
    let output = source
        .unfiltered(git, "status")?
        .inside(top)
        .args(["--porcelain", "-z", "--untracked-files=normal", "--ignore-submodules=all", "--"])
        .args(left_out)
        .run()?;
    Ok(!output.stdout.is_empty())
}

/// Returns a path relative to the top of the checkout, if it is inside. Resolves `a/../b` to `b` lexically, because the
/// file need not exist.
fn below(top: &Path, path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    let inside = plain.strip_prefix(top).ok()?;
    (!inside.as_os_str().is_empty()).then(|| inside.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_leads_into_the_checkout_is_left_out() {
        let top = Path::new("/src/app");
        for (written, inside) in [
            ("night.md", Some("night.md")),
            ("a/../b/./night.md", Some("b/night.md")),
            ("../app/night.md", Some("night.md")),
            ("../night.md", None),
            ("/elsewhere/night.md", None),
            (".", None),
            ("../application/night.md", None),
        ] {
            assert_eq!(below(top, &top.join(written)), inside.map(PathBuf::from), "{written}");
        }
    }
}
