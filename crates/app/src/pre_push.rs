//! Installs a git `pre-push` hook that judges what is about to be pushed. Keeps an existing hook, which runs first.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use acquit_run::git::{Hooks, Source};

use crate::app::App;
use crate::error::Error;

/// First line of our own hook.
const MARK: &str = "# Written by `acquit init --hooks pre-push`";

/// File name that keeps the user's own hook.
const KEPT: &str = "pre-push.before-acquit";

const SCRIPT: &str = r#": judges what is about to be pushed.
# A hook that was here before is beside this one, and runs first.
refs=$(cat)
before="$(dirname "$0")/pre-push.before-acquit"
if [ -x "$before" ]; then
  printf '%s\n' "$refs" | "$before" "$@" || exit $?
fi
if ! command -v acquit > /dev/null; then
  echo "acquit is not installed: what is pushed was not judged" >&2
  exit 0
fi
printf '%s\n' "$refs" | acquit prove --hook pre-push
"#;

/// The written files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The hook.
    pub file: PathBuf,
    /// The user's own hook, if there is one.
    pub kept: Option<PathBuf>,
}

/// Writes the hook.
pub fn write(app: &App, source: &Source) -> Result<Written, Error> {
    match source.hooks(&app.runtime.git, app.surroundings.user_home.as_deref())? {
        Hooks::Usual(folder) => install(&folder),
        Hooks::Set(path) => Err(Error::HooksPath { path }),
    }
}

/// Writes the hook into a folder. Copies the user's own hook before replacing it, so that there is no moment without
/// it.
fn install(folder: &Path) -> Result<Written, Error> {
    let at = |path: &Path, source| Error::File { doing: "write the hook", path: path.to_owned(), source };
    let (file, kept) = (folder.join("pre-push"), folder.join(KEPT));
    fs::create_dir_all(folder).map_err(|source| at(folder, source))?;
    let there = match fs::read(&file) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(at(&file, error)),
    };
    let own = |bytes: &[u8]| {
        String::from_utf8_lossy(bytes).lines().nth(1).is_some_and(|line| line.starts_with(MARK))
    };
    if let Some(bytes) = there.filter(|bytes| !own(bytes)) {
        let same = fs::read(&kept).is_ok_and(|known| known == bytes);
        if kept.exists() && !same {
            let why = std::io::Error::other("another hook is kept there already");
            return Err(at(&kept, why));
        }
        fs::copy(&file, &kept).map_err(|source| at(&kept, source))?;
    }
    let fresh = folder.join(format!("pre-push.{}.new", std::process::id()));
    fs::write(&fresh, format!("#!/bin/sh\n{MARK}{SCRIPT}")).map_err(|source| at(&fresh, source))?;
    fs::set_permissions(&fresh, fs::Permissions::from_mode(0o755)).map_err(|source| at(&fresh, source))?;
    fs::rename(&fresh, &file).map_err(|source| at(&file, source))?;
    let kept = kept.exists().then_some(kept);
    Ok(Written { file, kept })
}
