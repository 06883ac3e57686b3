//! A cgroup v2 for one sandbox, if systemd delegates one. The kernel then enforces the memory and process limits,
//! counts everything the processes hold, and can kill all of them at once.
//!
//! `systemd-run --user --scope -p Delegate=yes acquit …` delegates a scope; the unit of `acquit service install`
//! delegates its own cgroup. Without delegation there is no cgroup, and only [`super::usage`] watches the limits.

use std::fs;
use std::path::{Path, PathBuf};

use acquit_core::sandbox::Resources;
use rustix::process::{Pid, getpid};

use crate::sandbox::cgroup::{Base, OWN, ROOT, find};

const PROCESSES: &str = "cgroup.procs";
const CHILDREN: &str = "cgroup.subtree_control";
const PREFIX: &str = "acquit-sandbox-";
/// Attempts to move the processes: the harness may start another one in the old cgroup meanwhile.
const MOVES: usize = 5;

/// A cgroup. Dropping it removes it.
pub(super) struct Cgroup(PathBuf);

impl Cgroup {
    /// Creates a cgroup with these limits. `None` if the machine delegates none.
    pub(super) fn make(limits: &Resources) -> Option<Self> {
        let base =
            match find(Path::new(ROOT), Path::new("/proc/self/cgroup"), crate::sandbox::cgroup::is_delegated)
            {
                Ok(Base::Around(folder)) => folder,
                Ok(Base::Own(folder)) => {
                    move_apart(&folder)?;
                    folder
                }
                Err(_) => return None,
            };
        limits_children(&base).then(|| Self::below(&base, limits)).flatten()
    }

    fn below(base: &Path, limits: &Resources) -> Option<Self> {
        // Remove cgroups that killed helpers left. The kernel refuses to remove one that still has processes.
        for entry in fs::read_dir(base).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(PREFIX) {
                let _ = fs::remove_dir(entry.path());
            }
        }
        let group = Self(base.join(format!("{PREFIX}{}", getpid().as_raw_nonzero())));
        match fs::create_dir(&group.0) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return None,
            _ => {}
        }
        group.set("memory.max", &limits.memory.to_string())?;
        group.set("pids.max", &limits.processes.to_string())?;
        // On OOM, kill the whole group instead of one process. Machines without swap have no `memory.swap.max`.
        let _ = (group.set("memory.oom.group", "1"), group.set("memory.swap.max", "0"));
        Some(group)
    }

    fn set(&self, name: &str, value: &str) -> Option<()> {
        fs::write(self.0.join(name), value).ok()
    }

    /// Moves a process into the cgroup. Its future children join too.
    pub(super) fn add(&self, process: Pid) -> Option<()> {
        self.set(PROCESSES, &process.as_raw_nonzero().to_string())
    }

    /// Kills every process in the cgroup.
    pub(super) fn kill(&self) {
        let _ = self.set("cgroup.kill", "1");
    }

    /// Returns whether the kernel killed a process for lack of memory.
    pub(super) fn ran_out(&self) -> bool {
        let events = fs::read_to_string(self.0.join("memory.events")).unwrap_or_default();
        let killed = |line: &str| line.strip_prefix("oom_kill ").is_some_and(|count| count.trim() != "0");
        events.lines().any(killed)
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// Moves every process of a cgroup into a child cgroup: the kernel limits children only if the parent has no
/// processes itself.
fn move_apart(own: &Path) -> Option<()> {
    let apart = own.join(OWN);
    let _ = fs::create_dir(&apart);
    for _ in 0..MOVES {
        let processes = fs::read_to_string(own.join(PROCESSES)).ok()?;
        for process in processes.lines() {
            // Ignore processes that ended meanwhile.
            let _ = fs::write(apart.join(PROCESSES), process);
        }
        if limits_children(own) {
            return Some(());
        }
    }
    None
}

/// Enables the memory and pids controllers for the children of a cgroup. Returns whether they are enabled.
fn limits_children(folder: &Path) -> bool {
    let does = || {
        let text = fs::read_to_string(folder.join(CHILDREN)).unwrap_or_default();
        let has =
            |wanted: &str| text.split_ascii_whitespace().any(|one| one.trim_start_matches('+') == wanted);
        has("memory") && has("pids")
    };
    does() || fs::write(folder.join(CHILDREN), "+memory +pids").is_ok() && does()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks which content is written to which file. `a_delegated_cgroup_limits_memory` of the sandbox suite tests
    /// it with a real kernel.
    #[test]
    fn a_delegated_scope_gets_children_and_acquit_moves_into_one_of_them() {
        let root = tempfile::tempdir().expect("a folder");
        let base = root.path().join("run-1.scope");
        fs::create_dir_all(&base).expect("a folder");
        for (name, text) in [(PROCESSES, "12\n34\n"), (CHILDREN, "")] {
            fs::write(base.join(name), text).expect("a file");
        }
        move_apart(&base).expect("moved");
        assert_eq!(fs::read_to_string(base.join(CHILDREN)).expect("a file"), "+memory +pids");
        // Only the last pid: a regular file keeps one write, a real `cgroup.procs` takes pids one by one.
        assert_eq!(fs::read_to_string(base.join(OWN).join(PROCESSES)).expect("a file"), "34");

        let limits = Resources { processes: 7, memory: 1 << 20, disk: 0 };
        let group = Cgroup::below(&base, &limits).expect("a cgroup");
        let read = |name: &str| fs::read_to_string(group.0.join(name)).expect("a file");
        assert_eq!((read("memory.max"), read("pids.max")), ("1048576".to_owned(), "7".to_owned()));
        assert!(!group.ran_out());
        fs::write(group.0.join("memory.events"), "low 0\noom 2\noom_kill 1\n").expect("a file");
        assert!(group.ran_out());
    }
}
