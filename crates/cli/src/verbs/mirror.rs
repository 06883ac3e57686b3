//! `acquit mirror` and `acquit obtain`: get a repository from elsewhere, in a process that can be ended at any time, and
//! print as JSON where it is or why it failed.

use std::time::Duration;

use acquit_core::ids::TaskId;
use acquit_run::fleet;
use acquit_run::git::Source;
use acquit_run::mirror::{self, Reply, TIME_LIMIT};

use crate::args::MirrorArgs;
use crate::cli::Cli;
use crate::exit::Exit;
use acquit_app::Error;
use acquit_app::serve::Home;

/// Updates the mirror of one URL, or fetches one commit into another repository, within these limits.
pub fn mirror(cli: &Cli, args: &MirrorArgs) -> Result<Exit, Error> {
    let (url, within) = (args.url.as_str(), Duration::from_secs(args.within));
    mirror::bound(args.largest);
    let runtime = &cli.app.runtime;
    let done = if let (Some(place), Some(commit)) = (&args.into, &args.commit) {
        // The address is from a store that others write to: only the user's own settings count.
        let config = cli.app.user_config()?;
        let source = Source::discover(&runtime.git, place)?;
        mirror::fetch(runtime, &config, url, within, (&source, commit)).map(|()| place.to_owned())
    } else {
        let home = Home::read(&cli.app)?.trusted()?;
        mirror::refresh(runtime, &home.config, url, within)
    };
    Ok(tell(cli, done.map_err(|error| acquit_run::harness::chain(&error))))
}

/// Gets the repository of a task onto this worker.
pub fn obtain(cli: &Cli, task: TaskId, parent: u32) -> Result<Exit, Error> {
    if !acquit_run::process::end_with(parent) {
        return Ok(Exit::Done);
    }
    let own = cli.app.user_config()?;
    let mut store = cli.app.store()?;
    let definition = store.definition(task)?;
    let done = fleet::clone(&cli.app.runtime, store.as_mut(), &own, (task, &definition.travel), TIME_LIMIT);
    // If this fails, the repository is whole all the same.
    let done = done.map(|source| {
        let _ = fleet::repack(&cli.app.runtime, &source);
        source.path().to_owned()
    });
    Ok(tell(cli, done.map_err(|error| acquit_run::harness::chain(&error))))
}

fn tell(cli: &Cli, done: Result<std::path::PathBuf, String>) -> Exit {
    let (said, exit) = match done {
        Ok(place) => (Reply::Mirror(place), Exit::Done),
        Err(words) => (Reply::Failed(words), Exit::Failed),
    };
    cli.printer.json_line(&said);
    exit
}
