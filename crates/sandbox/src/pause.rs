//! Sleeps for a fixed time. Only for code that has no file descriptor to wait on.

use std::time::Duration;

/// Sleeps for `length`, or less if a signal arrives.
pub fn pause(length: Duration) {
    if let Ok(length) = rustix::event::Timespec::try_from(length) {
        // The poll set is empty, so the only possible error is EINTR, which ends the wait too.
        let _ = rustix::event::poll(&mut [], Some(&length));
    }
}
