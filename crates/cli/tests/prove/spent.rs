//! How long commands take: wall time, and CPU time of all their processes where a control group can be made.
//!
//! On a loaded machine only the CPU time can be compared. `time` does not see it: processes of a sandbox are not children that
//! anybody waits for.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Seconds that something took.
#[derive(Clone, Copy)]
pub(crate) struct Spent {
    pub(crate) wall: f64,
    cpu: Option<f64>,
}

impl Spent {
    /// CPU time if it is known, else wall time.
    pub(crate) fn seconds(self) -> f64 {
        self.cpu.unwrap_or(self.wall)
    }

    /// What [`Self::seconds`] are.
    pub(crate) fn unit(self) -> &'static str {
        if self.cpu.is_some() { "CPU" } else { "wall" }
    }
}

/// A control group of this measurement.
struct Group(PathBuf);

impl Group {
    fn new() -> Option<Self> {
        static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = format!("acquit-measured-{}-{number}", std::process::id());
        // Version 1 has a hierarchy for this alone; version 2 has one for everything.
        let roots = ["/sys/fs/cgroup/cpuacct", "/sys/fs/cgroup"];
        let groups = roots.iter().map(|root| Path::new(root).join(&name));
        let mut made = groups.filter(|group| fs::create_dir(group).is_ok()).map(Self);
        made.find(|group| group.seconds().is_some())
    }

    fn seconds(&self) -> Option<f64> {
        if let Ok(text) = fs::read_to_string(self.0.join("cpuacct.usage")) {
            return text.trim().parse::<f64>().ok().map(|nanos| nanos / 1e9);
        }
        let text = fs::read_to_string(self.0.join("cpu.stat")).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("usage_usec "))?;
        line.trim().parse::<f64>().ok().map(|micros| micros / 1e6)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Processes that are still ending keep it for a moment.
        for _ in 0..50 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

/// Runs a command in a control group of its own and measures it.
pub(crate) fn measured<T>(command: Command, run: impl FnOnce(Command) -> T) -> (T, Spent) {
    let group = Group::new();
    let mut whole = Command::new("sh");
    let place = group.as_ref().map_or_else(|| "/dev/null".into(), |group| group.0.join("cgroup.procs"));
    whole.args(["-c", "echo $$ > \"$0\"; exec \"$@\""]).arg(place);
    whole.arg(command.get_program()).args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        whole.current_dir(folder);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => whole.env(name, value),
            None => whole.env_remove(name),
        };
    }
    let start = Instant::now();
    let done = run(whole);
    let wall = start.elapsed().as_secs_f64();
    (done, Spent { wall, cpu: group.as_ref().and_then(Group::seconds) })
}
