//! `acquit merge`: the delivered work of a task that is done, into its base branch.
//!
//! It is a leg like any other, through the same queue and the same gates as a merge by a workflow: it can be killed, and others can
//! merge meanwhile. A person asked for it, so nobody is asked again.

use acquit_core::artifact::Artifact;
use acquit_core::decide::Input;
use acquit_core::ids::TaskId;
use acquit_core::task::{End, State};
use acquit_run::git::Source;

use crate::cli::Cli;
use crate::exit::Exit;
use crate::verbs::run;
use acquit_app::Error;

/// Merges it.
pub fn merge(cli: &Cli, id: TaskId) -> Result<Exit, Error> {
    let mut store = cli.app.store()?;
    let store = store.as_mut();
    let task = store.task(id)?;
    let merged = task.artifacts.iter().find_map(|artifact| match artifact {
        Artifact::Merged { branch, commit } => Some((branch, commit)),
        _ => None,
    });
    if let (Some((branch, commit)), State::Ended { end: End::Done }) = (merged, &task.state) {
        cli.printer.say(&format!("{id} is in {branch} already, as {commit}"));
        return Ok(Exit::Done);
    }
    let not = |what| Err(Error::NotDelivered { task: id, what });
    let Some(branch) = &task.seed.base.branch else {
        return Err(Error::NoBaseBranch { task: id, work: task.seed.branch.clone() });
    };
    if let State::Ended { end: End::Done } = &task.state {
        let definition = store.definition(id)?;
        let Ok(source) = serde_json::from_value::<Source>(definition.source) else {
            return not("its repository is not known any more");
        };
        if is_in(cli, &source, &task.tip, branch) && task.tip != task.base() {
            cli.printer.say(&format!("{id} is in {branch} already"));
            return Ok(Exit::Done);
        }
        // Said now, before a leg finds it out: whoever sits here can mend it at once.
        if let Some(at) = source.dirty_checkout(&cli.app.world.git, branch)? {
            return Err(Error::DirtyCheckout { branch: branch.clone(), at });
        }
    }
    let after = run::newest(store, id)?;
    let task = match &task.state {
        // Somebody asked for it before, and went away.
        State::Working { entry, .. } if entry.purpose == acquit_core::leg::Purpose::Merge => task,
        _ => cli.app.decide(store, id, &Input::Merge)?,
    };
    run::run_task(cli, store, &task, after)
}

/// Whether a branch has a commit in it, by whoever's doing.
fn is_in(cli: &Cli, source: &Source, commit: &str, branch: &str) -> bool {
    let head = format!("refs/heads/{branch}");
    let call = cli.app.world.git.call("merge-base").inside(source.path());
    call.args(["--is-ancestor", commit, &head]).run().is_ok()
}
