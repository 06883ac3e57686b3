//! Fault points: a test can kill the harness with SIGKILL right after a step, or make the store fail for a while.
//!
//! Only builds with the feature `fault-points` have them, and only dev-dependencies enable it. The request comes from
//! the environment as `ACQUIT_FAULT=<step>:<which>:<marker file>`. The marker file grows by a byte each time the step
//! ends, in any process, and the harness dies when it reaches that size.
//! `ACQUIT_OUTAGE=<point>:<first>-<last>:<marker file>` makes the store fail at a point, from the first time to the
//! last.

use acquit_core::event::Step;

use acquit_sandbox::environment::Environment;

/// Kills this process, if a test requested that after this step.
pub(crate) fn after(step: Step, environment: &Environment) {
    point(step.name(), environment);
}

/// Does the same at a point that is not a step of a leg: before and after each call that changes something elsewhere.
#[cfg(feature = "fault-points")]
pub(crate) fn point(point: &str, environment: &Environment) {
    let Some(wanted) = environment.get("ACQUIT_FAULT").and_then(|value| value.to_str()) else { return };
    let mut parts = wanted.splitn(3, ':');
    let (Some(name), Some(which), Some(marker)) = (parts.next(), parts.next(), parts.next()) else { return };
    if name == point && count(marker).is_ok_and(|count| which == count.to_string()) {
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    }
}

/// Fails like an unavailable store, if a test requested that.
#[cfg(feature = "fault-points")]
pub(crate) fn outage(point: &str, environment: &Environment) -> acquit_core::store::Result<()> {
    let Some(wanted) = environment.get("ACQUIT_OUTAGE").and_then(|value| value.to_str()) else {
        return Ok(());
    };
    let mut parts = wanted.splitn(3, ':');
    let (Some(name), Some(which), Some(marker)) = (parts.next(), parts.next(), parts.next()) else {
        return Ok(());
    };
    let bounds =
        which.split_once('-').and_then(|(first, last)| Some((first.parse().ok()?, last.parse().ok()?)));
    let Some((first, last)) = bounds.filter(|_| name == point) else { return Ok(()) };
    match count(marker) {
        Ok(count) if (first..=last).contains(&count) => {
            let source = "a test asked for an outage".into();
            Err(acquit_core::store::Error::Database { doing: "answer", source })
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Does nothing: this build has no fault points.
#[cfg(not(feature = "fault-points"))]
#[allow(clippy::unnecessary_wraps, reason = "builds with fault points fail here")]
pub(crate) fn outage(_: &str, _: &Environment) -> acquit_core::store::Result<()> {
    Ok(())
}

/// Returns how often this was called, including this time.
#[cfg(feature = "fault-points")]
fn count(marker: &str) -> std::io::Result<u64> {
    use std::io::Write;
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(marker)?;
    file.write_all(b".")?;
    Ok(file.metadata()?.len())
}

/// Does nothing: this build has no fault points.
#[cfg(not(feature = "fault-points"))]
pub(crate) fn point(_: &str, _: &Environment) {}
