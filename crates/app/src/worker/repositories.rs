//! Fetches repositories to a worker, each in a separate process: a large one takes long, and the worker must keep
//! reporting to the store.

use std::collections::BTreeMap;
use std::path::PathBuf;

use acquit_core::ids::TaskId;
use acquit_run::fleet::Offered;
use acquit_run::mirror::Reply;
use acquit_run::process::Detached;

use crate::{App, Error};

/// Hidden subcommand that fetches one repository.
const VERB: &str = "obtain";

/// Running processes, by the key of their repository.
#[derive(Default)]
pub(super) struct Repositories(BTreeMap<String, Getting>);

struct Getting {
    process: Detached,
    said: PathBuf,
}

impl Repositories {
    /// Returns a repository that is ready for a task, and starts to fetch it if needed. `None` while the fetch runs.
    pub(super) fn offer(&mut self, app: &App, key: &str, task: TaskId) -> Result<Option<Offered>, Error> {
        let Some(mut getting) = self.0.remove(key) else {
            let getting = start(app, task)?;
            self.0.insert(key.to_owned(), getting);
            return Ok(None);
        };
        let Some(done) = getting.process.has_succeeded()? else {
            self.0.insert(key.to_owned(), getting);
            return Ok(None);
        };
        let said = std::fs::read_to_string(&getting.said).unwrap_or_default();
        // If this fails, the next one writes to the same file, and its last line counts.
        let _ = std::fs::remove_file(&getting.said);
        Ok(Some(if done { Offered::Yes } else { Offered::No(reason(&said)) }))
    }

    /// Ends all running processes.
    pub(super) fn end(&mut self) {
        for (_, getting) in std::mem::take(&mut self.0) {
            getting.process.end();
            let _ = std::fs::remove_file(&getting.said);
        }
    }
}

fn start(app: &App, task: TaskId) -> Result<Getting, Error> {
    let home = &app.runtime.home;
    let made = acquit_run::runtime::make_private(home);
    made.map_err(|source| Error::File { doing: "create", path: home.clone(), source })?;
    let said = home.join(format!("{VERB}-{}-{task}.log", std::process::id()));
    let parent = std::process::id().to_string();
    let args = [VERB, &task.to_string(), "--parent", &parent].map(Into::into);
    let process = app.runtime.spawner.detach(&args, app.harness_environment(), &said)?;
    Ok(Getting { process, said })
}

/// Returns why a repository could not be fetched, from its process's output.
fn reason(said: &str) -> String {
    let replies = said.lines().rev().filter_map(|line| serde_json::from_str(line).ok());
    let failed = replies.into_iter().find_map(|reply| match reply {
        Reply::Failed(words) => Some(format!("failed to {words}")),
        Reply::Mirror(_) => None,
    });
    let last = || said.lines().last().map(str::to_owned);
    failed.or_else(last).unwrap_or_else(|| "the process that gets it was ended".to_owned())
}
