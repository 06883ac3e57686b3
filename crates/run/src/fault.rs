//! Fault points: a test can kill the harness with SIGKILL right after a step, or make the store fail for a while.
//!
//! Only builds with the feature `fault-points` have them, and only dev-dependencies enable it. The request comes from
//! the environment as `ACQUIT_FAULT=<step>:<which>:<marker file>`. The marker file grows by a byte each time the step
//! ends, in any process, and the harness dies when it reaches that size.
//! `ACQUIT_OUTAGE=<point>:<first>-<last>:<marker file>` makes the store fail at a point, from the first time to the
//! last. `ACQUIT_LEASE=<seconds>` shortens leases, so that a test sees one run out. `ACQUIT_HISTORY=<file>` records
//! every claim, renewal and end of a leg as this process saw it (see [`Call`]).

use std::time::Duration;

use acquit_core::event::Step;
use acquit_core::leg::Hold;
use acquit_core::store::{self, Claim};

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

/// Returns the duration of leases, if a test shortens them.
#[cfg(feature = "fault-points")]
pub(crate) fn lease(environment: &Environment) -> Option<Duration> {
    let wanted = environment.get("ACQUIT_LEASE").and_then(|value| value.to_str())?;
    wanted.parse().ok().map(Duration::from_secs)
}

/// Changes nothing: this build has no fault points.
#[cfg(not(feature = "fault-points"))]
pub(crate) fn lease(_: &Environment) -> Option<Duration> {
    None
}

/// The effect of a call on a leg that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Renew,
    End,
}

/// Makes a call that claims a leg, and records it.
pub(crate) fn claim(
    environment: &Environment,
    call: impl FnOnce() -> store::Result<Option<Claim>>,
) -> store::Result<Option<Claim>> {
    let recorded = Call::begin(environment, "claim", None);
    let claim = call();
    recorded.end(claim.as_ref().map(|claim| claim.as_ref().map(|claim| claim.hold)));
    claim
}

/// Makes a call about a leg that is held, and records it.
pub(crate) fn held<T>(
    environment: &Environment,
    act: Act,
    hold: Hold,
    call: impl FnOnce() -> store::Result<T>,
) -> store::Result<T> {
    let recorded = Call::about(environment, act, hold);
    let answer = call();
    recorded.end(answer.as_ref().map(|_| Some(hold)));
    answer
}

/// Makes one call about many legs, and records it as a call about each.
pub(crate) fn all_held<T>(
    environment: &Environment,
    act: Act,
    holds: &[Hold],
    call: impl FnOnce() -> store::Result<Vec<store::Result<T>>>,
) -> store::Result<Vec<store::Result<T>>> {
    let recorded: Vec<Call> = holds.iter().map(|hold| Call::about(environment, act, *hold)).collect();
    let answers = call();
    match &answers {
        Ok(answers) => recorded.into_iter().zip(holds).zip(answers).for_each(|((recorded, hold), answer)| {
            recorded.end(answer.as_ref().map(|_| Some(*hold)));
        }),
        Err(error) => recorded.into_iter().for_each(|recorded| recorded.end(Err(error))),
    }
    answers
}

/// A call of the store. If a test requested that, a file records when it began, and when and how it ended: two lines,
/// so that a call whose process died is known too.
#[cfg(feature = "fault-points")]
struct Call {
    file: Option<std::ffi::OsString>,
    id: String,
    about: Option<Hold>,
}

#[cfg(feature = "fault-points")]
impl Call {
    fn about(environment: &Environment, act: Act, hold: Hold) -> Self {
        let what = match act {
            Act::Renew => "renew",
            Act::End => "end",
        };
        Self::begin(environment, what, Some(hold))
    }

    fn begin(environment: &Environment, what: &str, about: Option<Hold>) -> Self {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let file = environment.get("ACQUIT_HISTORY").map(ToOwned::to_owned);
        let own = file.as_ref().and_then(|_| crate::process::Identity::of_self().ok());
        let own = own.map(|own| format!("{}/{}/{}", own.boot(), own.pid(), own.start())).unwrap_or_default();
        let call = Self { file, id: format!("{own}/{}", NEXT.fetch_add(1, Ordering::Relaxed)), about };
        call.line(what, about);
        call
    }

    /// Records the answer: the leg that the call has claimed or was about.
    fn end(self, answer: Result<Option<Hold>, &store::Error>) {
        match answer {
            Ok(hold) => self.line("ok", hold),
            Err(store::Error::Fenced(_)) => self.line("refused", self.about),
            Err(store::Error::Conflict(_)) => self.line("nothing", self.about),
            Err(_) => self.line("unknown", self.about),
        }
    }

    fn line(&self, what: &str, hold: Option<Hold>) {
        let Some(file) = &self.file else { return };
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let hold = hold.map(|hold| format!("{} {}", hold.leg, hold.fence.0)).unwrap_or_default();
        let line = format!("{}\t{}.{:09}\t{what}\t{hold}\n", self.id, now.tv_sec, now.tv_nsec);
        let file = std::fs::OpenOptions::new().create(true).append(true).open(file);
        // In one write, so that lines of several processes do not mix.
        let _ = file.and_then(|mut file| std::io::Write::write_all(&mut file, line.as_bytes()));
    }
}

/// A call of the store, which this build does not record.
#[cfg(not(feature = "fault-points"))]
struct Call;

#[cfg(not(feature = "fault-points"))]
impl Call {
    fn about(_: &Environment, _: Act, _: Hold) -> Self {
        Self
    }

    fn begin(_: &Environment, _: &str, _: Option<Hold>) -> Self {
        Self
    }

    fn end(self, _: Result<Option<Hold>, &store::Error>) {}
}
