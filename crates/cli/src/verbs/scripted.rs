//! The hidden verb behind the `scripted` adapter: plays a script as an agent would.

use std::ffi::OsString;
use std::path::Path;

use acquit_run::agent::script::{Leg, play};
use acquit_run::harness::chain;
use acquit_run::process::Spawner;
use acquit_run::runtime::Environment;

/// Plays the script and returns the exit code. It acts as an agent, so its output goes to the harness unchanged.
pub fn scripted(
    script: &Path,
    tools: Vec<OsString>,
    exe: &Path,
    environment: Vec<(OsString, OsString)>,
) -> i32 {
    let known = Environment::new(environment.clone());
    let text = |name| known.get(name).map(|value| value.to_string_lossy().into_owned()).unwrap_or_default();
    let leg = Leg {
        stage: text("ACQUIT_STAGE"),
        attempt: text("ACQUIT_ATTEMPT").parse().unwrap_or(1),
        handoff: text("ACQUIT_HANDOFF").into(),
        output_dir: text("ACQUIT_OUTPUT").into(),
        tools,
        env: environment,
    };
    match play(script, &leg, &Spawner::new(exe), &mut std::io::stdout().lock()) {
        Ok(code) => code,
        Err(error) => {
            use std::io::Write;
            let _ = writeln!(std::io::stderr(), "failed to {}", chain(&error));
            1
        }
    }
}
