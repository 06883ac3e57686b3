//! Waiting for nothing but time: where there is no descriptor to wait on, and always for a length that has a name.

use std::time::Duration;

/// Waits, or a little less if a signal comes.
pub fn pause(length: Duration) {
    if let Ok(length) = rustix::event::Timespec::try_from(length) {
        // Nothing is polled, so nothing can fail but by being interrupted, which is an end of the wait too.
        let _ = rustix::event::poll(&mut [], Some(&length));
    }
}
