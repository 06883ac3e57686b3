//! `acquit review`: reviews a branch or a pull request with the built-in reviewers.

use acquit_app::Error;

use crate::args::Reviewed;
use crate::cli::Cli;
use crate::exit::Exit;
use crate::verbs::run::run_task;

/// Creates the task and runs it.
pub fn review(cli: &Cli, asked: &Reviewed) -> Result<Exit, Error> {
    let mut store = cli.app.store()?;
    let store = store.as_mut();
    let (what, base) = (asked.what.clone(), asked.base.clone());
    let asked = acquit_app::review::Reviewed { what, base, means: asked.means.clone().into() };
    let task = cli.app.review(store, &asked)?;
    run_task(cli, store, &task, 0)
}
