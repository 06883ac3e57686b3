//! Shows a supervisor that a worker is not stuck: the worker writes the uptime of its machine to a file, again and again.

use std::time::Duration;

use acquit_run::runtime::make_private;
use rustix::time::{ClockId, clock_gettime};

use super::file;
use crate::error::Refused;
use crate::{App, Error};

/// Age of the file at which a worker counts as stuck. A look at a database that does not answer takes this long.
const STUCK: Duration = Duration::from_mins(2);

/// Records that the worker is not stuck. If this fails, a probe says so. A worker that has not run a leg yet has no directory.
pub(super) fn mark(app: &App, name: &str) {
    let home = &app.runtime.home;
    let _ = make_private(home).and_then(|()| std::fs::write(file(home, name, "alive"), uptime().to_string()));
}

/// Checks that a worker of this machine runs and is not stuck.
pub fn check(app: &App, name: Option<String>) -> Result<(), Error> {
    let name = name.unwrap_or_else(|| app.runtime.host.clone());
    let written = std::fs::read_to_string(file(&app.runtime.home, &name, "alive")).ok();
    // After a reboot the file is from a time that has not come.
    let age = written.and_then(|text| uptime().checked_sub(text.parse().ok()?));
    match age {
        Some(age) if age < STUCK.as_secs() => Ok(()),
        Some(_) | None => Err(Refused::Stuck(name).into()),
    }
}

fn uptime() -> u64 {
    u64::try_from(clock_gettime(ClockId::Boottime).tv_sec).unwrap_or_default()
}
