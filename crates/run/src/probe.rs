//! Builds a sandbox around a program that does nothing. Only that shows whether this machine can: a kernel may offer
//! namespaces and refuse them to acquit, as in a container.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use acquit_core::config::Config;
use acquit_core::sandbox::{Mode, Network};

use crate::process::{Call, Error, Guard};
use crate::runtime::Runtime;
use crate::sandbox::default_policy::{self, Surroundings};

/// Timeout of the program, which does nothing.
const LIMIT: Duration = Duration::from_secs(30);

/// Returns what keeps this machine from building a whole sandbox, or `None` if it can. `folder` is a private directory
/// for the trial; the caller removes it.
pub fn missing_walls(runtime: &Runtime, folder: &Path) -> io::Result<Option<String>> {
    let work = folder.join("work");
    fs::create_dir_all(&work)?;
    let config = Config { sandbox: Mode::On, ..Config::default() };
    let policy = default_policy::policy(Surroundings {
        config: &config,
        home: runtime.environment.home().unwrap_or(Path::new("/nonexistent")),
        environment: &runtime.environment,
        own: &runtime.home,
        repository: None,
        aside: &folder.join("home"),
        write: std::slice::from_ref(&work),
        read: &[],
        login: &[],
        placed: &[],
        setup: None,
        mounts: &[],
        reach: default_policy::reach(Network::Off, &config, &[], folder.join("network.jsonl")),
    })?;
    let file = folder.join("policy.json");
    fs::write(&file, serde_json::to_vec(&policy)?)?;
    let call = Call {
        program: "sh".into(),
        args: vec!["-c".into(), ":".into()],
        cwd: work,
        env: runtime.common_variables(),
        input: None,
        limit: LIMIT,
        guard: Guard::Contained,
    };
    Ok(match runtime.spawner.capture_in(&call, &file) {
        Err(Error::Promise { missing }) => Some(format!("no {missing}")),
        Err(error @ Error::Setup { .. }) => Some(acquit_core::failure::chain(&error)),
        // Anything else is not about the machine, and the run itself reports it.
        Err(_) | Ok(_) => None,
    })
}
