//! Counts SIGINT and SIGTERM: the first requests a clean stop, the second an immediate one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of times this process was asked to stop.
pub struct Interrupt(Arc<AtomicUsize>);

impl Interrupt {
    /// Counts SIGINT and SIGTERM instead of dying. SIGHUP is not counted: closing a terminal is no request to cancel.
    /// It ends this process, and the harness continues.
    pub fn listen() -> std::io::Result<Self> {
        use signal_hook::consts::{SIGINT, SIGTERM};
        let count = Arc::new(AtomicUsize::new(0));
        for signal in [SIGINT, SIGTERM] {
            let flag = Arc::clone(&count);
            count_signal(signal, flag)?;
        }
        Ok(Self(count))
    }

    /// Returns the number of these signals that arrived.
    pub fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

#[allow(unsafe_code, reason = "a signal handler is unsafe to register; adding to an atomic is all it does")]
fn count_signal(signal: i32, count: Arc<AtomicUsize>) -> std::io::Result<()> {
    let action = move || {
        count.fetch_add(1, Ordering::Relaxed);
    };
    // SAFETY: the handler only adds to an atomic, which is async-signal-safe.
    unsafe { signal_hook::low_level::register(signal, action) }.map(|_| ())
}
