//! Processes of this machine, found by a mark in their arguments or environment: what a test may leave none of.

use std::collections::HashSet;
use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::process::{Pid, Signal, kill_process};

/// A word that no other test has.
pub(crate) fn mark() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("acquit-mark-{}-{}-", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Every process that has the mark: its pid and its arguments.
pub(crate) fn marked(mark: &str) -> Vec<(u32, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").expect("the process table").flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        // A process that ends while it is looked at has no files any more; a zombie has them empty.
        let text = |name: &str| {
            let bytes = fs::read(entry.path().join(name)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).replace('\0', " ")
        };
        let arguments = text("cmdline");
        if arguments.contains(mark) || text("environ").contains(mark) {
            found.push((pid, arguments));
        }
    }
    found
}

/// The numbers of all processes.
fn all() -> Vec<u32> {
    let entries = fs::read_dir("/proc").expect("the process table").flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// A process and everything that it started, and so on.
pub(crate) fn descendants(first: u32) -> Vec<u32> {
    with_descendants(vec![first])
}

/// Every process that has the mark, and everything that those started, with their arguments. Programs in a sandbox have
/// neither the arguments nor the environment of who started them.
pub(crate) fn family(mark: &str) -> Vec<(u32, String)> {
    let found = with_descendants(marked(mark).into_iter().map(|(pid, _)| pid).collect());
    let line = |pid: u32| {
        let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).replace('\0', " ")
    };
    found.into_iter().map(|pid| (pid, line(pid))).collect()
}

fn with_descendants(mut found: Vec<u32>) -> Vec<u32> {
    let parent = |pid: u32| -> Option<u32> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
    };
    let parents: Vec<(u32, u32)> = all().into_iter().filter_map(|pid| Some((pid, parent(pid)?))).collect();
    let mut known: HashSet<u32> = found.iter().copied().collect();
    let mut at = 0;
    while at < found.len() {
        let above = found[at];
        let below = parents.iter().filter(|(_, parent)| *parent == above).map(|(pid, _)| *pid);
        found.extend(below.filter(|pid| known.insert(*pid)));
        at += 1;
    }
    found
}

/// Ends every process that has the mark.
pub(crate) fn end(mark: &str) {
    for (pid, _) in marked(mark) {
        try_signal(pid, Signal::KILL);
    }
}

/// Sends a signal to a process, unless it has ended meanwhile.
pub(crate) fn try_signal(pid: u32, signal: Signal) {
    let _ = Pid::from_raw(pid.cast_signed()).map(|pid| kill_process(pid, signal));
}

/// Sends a signal to a process.
pub(crate) fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(pid.cast_signed()).expect("a pid");
    kill_process(pid, signal).expect("a process of ours");
}

/// Whether a process is over, even if nobody has asked how it ended.
pub(crate) fn is_over(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name in parentheses may have anything in it; the state follows the last one.
    stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['Z', 'X']))
}
