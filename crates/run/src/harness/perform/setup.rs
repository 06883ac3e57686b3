//! The setup of a workspace: dependencies are installed before anybody works or checks there.

use acquit_core::event::Level;

use crate::gate;
use crate::harness::desk::Desk;
use crate::harness::work::Job;
use crate::harness::{Ground, Trouble, of_setup};
use crate::workspace::{Locked, Scratch};

/// Installs dependencies, once for each state of the lock files.
pub(in crate::harness) fn setup(
    desk: &mut Desk<'_>,
    job: &Job<'_>,
    workspace: &Locked,
) -> Result<(), Trouble> {
    let Some(setup) = &job.definition.config.setup else { return Ok(()) };
    let lock_files: Vec<&str> = setup.lock_files.iter().map(String::as_str).collect();
    let key = workspace.lock_files_hash(&lock_files)?;
    if workspace.setup_done(&key)? {
        return Ok(());
    }
    desk.notice(Level::Info, format!("setting up the workspace: {}", setup.run));
    desk.flush()?;
    let ran = gate::command(
        desk,
        job,
        &Ground::of(workspace),
        &gate::Wanted {
            name: "setup",
            command: &setup.run,
            timeout: setup.timeout,
            network: job.definition.config.network.setup,
        },
    )?;
    if !ran.passed {
        let words = crate::untrusted::tail(&ran.log, 2_000);
        let reason = format!("the setup command `{}`: {}\n{words}", setup.run, ran.ended);
        return Err(of_setup(reason, &ran.connections, &job.definition.config));
    }
    workspace.mark_setup_done(&key)?;
    Ok(())
}

/// Installs dependencies in a tree beside the workspace, which is new and therefore has none.
pub(crate) fn setup_aside(desk: &mut Desk<'_>, job: &Job<'_>, scratch: &Scratch<'_>) -> Result<(), Trouble> {
    let Some(setup) = &job.definition.config.setup else { return Ok(()) };
    if !scratch.needs_setup(&setup.lock_files) {
        return Ok(());
    }
    let network = job.definition.config.network.setup;
    let wanted = gate::Wanted { name: "setup-aside", command: &setup.run, timeout: setup.timeout, network };
    let ran = gate::command(desk, job, &scratch.ground(), &wanted)?;
    if ran.passed {
        return Ok(());
    }
    let words = crate::untrusted::tail(&ran.log, 2_000);
    let reason = format!("the setup command `{}` beside the workspace: {}\n{words}", setup.run, ran.ended);
    Err(of_setup(reason, &ran.connections, &job.definition.config))
}
