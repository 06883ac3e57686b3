//! Looks whether this machine can build the sandbox that a configuration asks for. Without it setup and every gate fail,
//! and the failure looks like one of the repository.

use acquit_core::sandbox::Mode;
use acquit_run::sandbox::machine::{Ability, Machine, Need, State};

use crate::app::App;
use crate::error::Error;
use crate::scratch_dir::Folder;

/// How to get namespaces in a container, whose kernel has them.
pub(crate) const CONTAINER: &str = "in Docker: start the container with `--security-opt seccomp=unconfined --security-opt apparmor=unconfined \
     --security-opt systempaths=unconfined`";

/// What a machine lacks for the whole sandbox.
pub(crate) struct Lacking {
    /// The missing walls, such as "no namespaces of its own".
    pub(crate) what: String,
    /// Why they are missing, one line each.
    pub(crate) why: Vec<String>,
    /// How to get them.
    pub(crate) mend: Vec<String>,
}

/// Returns what this machine lacks for the whole sandbox. `None` if it lacks nothing, or if the mode asks for no
/// sandbox.
pub(crate) fn lacking(app: &App, mode: Mode) -> Result<Option<Lacking>, Error> {
    if mode == Mode::Off {
        return Ok(None);
    }
    let folder = Folder::new(&app.runtime.home.join("sandboxes"))?;
    let at = |source| Error::File { doing: "try the sandbox in", path: folder.path.clone(), source };
    let Some(what) = acquit_run::probe::missing_walls(&app.runtime, &folder.path).map_err(at)? else {
        return Ok(None);
    };
    let machine =
        Machine::here(acquit_run::process::contain::landlock_version(), app.runtime.spawner.helper.clone());
    let mut lacking = Lacking { what, why: Vec::new(), mend: Vec::new() };
    for Ability { name, state, need, mend, .. } in machine.abilities() {
        if let (State::No(why), Need::Wall) = (state, need) {
            lacking.why.push(format!("{name}: {why}"));
            lacking.mend.extend(mend);
        }
    }
    if lacking.why.is_empty() {
        lacking.why.push("the kernel has them, but refuses them to acquit, as in most containers".to_owned());
        lacking.mend.push(CONTAINER.to_owned());
    }
    Ok(Some(lacking))
}
