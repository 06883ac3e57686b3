//! Ctrl-C and its kin, counted: the first asks for a clean end, the second for an immediate one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How often somebody asked this process to stop.
pub struct Interrupt(Arc<AtomicUsize>);

impl Interrupt {
    /// Begins to count SIGINT and SIGTERM instead of dying of them. A terminal that closes is not a wish to cancel: this
    /// process dies of it, and the harness goes on.
    pub fn listen() -> std::io::Result<Self> {
        use signal_hook::consts::{SIGINT, SIGTERM};
        let count = Arc::new(AtomicUsize::new(0));
        for signal in [SIGINT, SIGTERM] {
            let flag = Arc::clone(&count);
            count_signal(signal, flag)?;
        }
        Ok(Self(count))
    }

    /// How often.
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
