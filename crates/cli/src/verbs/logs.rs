//! `acquit logs`: shows a task's events and transcript.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::time::Duration;

use acquit_core::event::Level;
use acquit_core::ids::{LegId, TaskId};
use acquit_core::task::State;

use crate::cli::Cli;
use crate::exit::Exit;
use crate::foreground::{self, Part};
use crate::report::follow::{Follower, Story};
use acquit_app::Error;

/// Poll interval of a followed output.
const BEAT: Duration = Duration::from_millis(100);

/// Prints a task's events and its agents' output.
pub fn logs(cli: &Cli, task: TaskId, level: Level, follow: bool) -> Result<Exit, Error> {
    let mut store = cli.app.store()?;
    let store = store.as_mut();
    let known = store.task(task)?;
    if follow && matches!(known.state, State::Working { .. }) {
        foreground::follow(&cli.app, cli.printer, store, task, Part::Watches, level, 0)?;
        return Ok(Exit::Done);
    }
    foreground::show_all(store, task, Follower::new(cli.printer, level, Story::Asked))?;
    Ok(Exit::Done)
}

/// Prints the output of a task's newest leg.
pub fn newest(cli: &Cli, task: TaskId, follow: bool) -> Result<Exit, Error> {
    let mut store = cli.app.store()?;
    store.task(task)?;
    acquit_run::fleet::fetch_files(&cli.app.runtime, store.as_mut(), task)?;
    let legs = store.legs(task)?;
    let printed = legs.iter().rev().find(|leg| cli.app.runtime.leg_folder(leg.id).output().exists());
    let number = printed.or(legs.last()).map_or(1, |leg| leg.id.number);
    drop(store);
    output(cli, LegId { task, number }, follow)
}

/// Prints a leg's output exactly as the agent printed it.
pub fn output(cli: &Cli, leg: LegId, follow: bool) -> Result<Exit, Error> {
    let mut store = cli.app.store()?;
    let store = store.as_mut();
    store.task(leg.task)?;
    acquit_run::fleet::fetch_files(&cli.app.runtime, store, leg.task)?;
    let path = cli.app.runtime.leg_folder(leg).output();
    let file = |source| Error::File { doing: "read", path: path.clone(), source };
    let mut output = File::open(&path).map_err(|_| Error::NoLeg { task: leg.task, leg: leg.number })?;
    let mut buffer = vec![0; 64 * 1024];
    let mut at = 0;
    loop {
        // Check this before reading: output written after the check is read in the next round.
        let over = store.legs(leg.task)?.iter().any(|known| known.id == leg && known.ended.is_some());
        output.seek(SeekFrom::Start(at)).map_err(file)?;
        loop {
            let count = output.read(&mut buffer).map_err(file)?;
            if count == 0 {
                break;
            }
            at += count as u64;
            cli.printer.raw(&buffer[..count]);
        }
        if over || !follow || cli.printer.reader_is_gone() {
            return Ok(Exit::Done);
        }
        store.wait(BEAT)?;
    }
}
