//! The hidden verb behind the `acp` adapter: the client of an agent that speaks the Agent Client Protocol.

use std::ffi::OsString;
use std::io::Write;
use std::os::fd::OwnedFd;

use acquit_run::acp::Settings;
use acquit_run::acp::client::Client;
use acquit_run::runtime::Environment;

/// Runs the client. `words` has its settings as JSON, then the agent's command. Returns the exit code. It acts as an
/// agent, so its output goes to the harness unchanged.
pub fn acp(mut words: impl Iterator<Item = OsString>, environment: Vec<(OsString, OsString)>) -> i32 {
    let settings = words.next().unwrap_or_default();
    let run = || -> std::io::Result<i32> {
        let settings: Settings = serde_json::from_str(&settings.to_string_lossy())?;
        let known = Environment::new(environment);
        let client = Client {
            settings,
            command: words.collect(),
            cwd: std::env::current_dir()?,
            output_dir: known.get("ACQUIT_OUTPUT").unwrap_or_default().into(),
            stop: on_stop()?,
            now: || acquit_store::Clock::System.now(),
        };
        client.run(&mut std::io::stdin().lock(), &mut std::io::stdout().lock())
    };
    run().unwrap_or_else(|error| {
        let _ = writeln!(std::io::stderr(), "failed to talk with the agent: {error}");
        1
    })
}

/// Returns a pipe that becomes readable when this process receives a stop signal.
fn on_stop() -> std::io::Result<OwnedFd> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let (stop, signalled) = std::io::pipe()?;
    for signal in [SIGINT, SIGTERM] {
        signal_hook::low_level::pipe::register(signal, signalled.try_clone()?)?;
    }
    Ok(stop.into())
}
