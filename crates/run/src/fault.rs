//! Fault points: a test can end the harness with SIGKILL right after a step.
//!
//! Only builds with the feature `fault-points` have them, and only dev-dependencies turn that on. The request comes from
//! the environment as `ACQUIT_FAULT=<step>:<marker file>`; the marker makes it happen once.

use acquit_core::event::Step;

use crate::world::Environment;

/// Ends this process at once, if a test asked for that after this step.
#[cfg(feature = "fault-points")]
pub(crate) fn after(step: Step, environment: &Environment) {
    let Some((wanted, marker)) = environment.get("ACQUIT_FAULT").and_then(|v| v.to_str()?.split_once(':')) else {
        return;
    };
    if wanted == step.name() && std::fs::File::create_new(marker).is_ok() {
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    }
}

/// Nothing: this build has no fault points.
#[cfg(not(feature = "fault-points"))]
pub(crate) fn after(_: Step, _: &Environment) {}
