//! The user's checkout, as somebody sees it who begins a task there: has it changes that the task will be without?
//!
//! What acquit itself writes there is none of them. The folder with its configuration counts as it stands, committed or not; a file
//! with reports is written again every night, and to warn of it each time would teach people not to read warnings.

use std::path::{Component, Path, PathBuf};

use acquit_core::config::Config;

use crate::git::{Error, Git, Source};
use crate::notify;

/// The folder of a project's configuration, from the top of its checkout.
const FOLDER: &str = ".acquit";

/// Whether the checkout has changes in no commit that acquit did not make itself.
pub fn is_changed(git: &Git, source: &Source, config: &Config) -> Result<bool, Error> {
    // Most are not, and then there is nothing to tell apart.
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

/// A path from the top of the checkout, if it leads into it. What is written as `a/../b` is `b`: the file need not be there.
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
