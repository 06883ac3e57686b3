//! A cgroup v2 for one sandbox, where systemd delegates one: the kernel then enforces the limits on memory and processes, counts everything
//! that the processes hold, and kills all of them at once.
//!
//! `systemd-run --user --scope -p Delegate=yes acquit …` delegates a scope, and the unit of `acquit service install` its own cgroup. Without
//! delegation there is no cgroup, and [`super::usage`] alone watches.

use std::fs;
use std::path::{Path, PathBuf};

use acquit_core::sandbox::Resources;
use rustix::process::{Pid, getpid};

use crate::sandbox::cgroup::{Base, OWN, ROOT, find};

const PROCESSES: &str = "cgroup.procs";
const CHILDREN: &str = "cgroup.subtree_control";
const PREFIX: &str = "acquit-sandbox-";
/// How often processes are moved before it is given up: the harness may start one meanwhile, in the old place.
const MOVES: usize = 5;

/// The cgroup. Removed when this is dropped.
pub(super) struct Cgroup(PathBuf);

impl Cgroup {
    /// Makes one with these limits, if the machine delegates one.
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
        // Those of helpers that were killed. One with processes cannot be removed.
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
        // All of them go at the limit, not one that the kernel chooses. Machines without swap have no such file.
        let _ = (group.set("memory.oom.group", "1"), group.set("memory.swap.max", "0"));
        Some(group)
    }

    fn set(&self, name: &str, value: &str) -> Option<()> {
        fs::write(self.0.join(name), value).ok()
    }

    /// Puts a process in, with all that it starts from now on.
    pub(super) fn add(&self, process: Pid) -> Option<()> {
        self.set(PROCESSES, &process.as_raw_nonzero().to_string())
    }

    /// Ends everything in it.
    pub(super) fn kill(&self) {
        let _ = self.set("cgroup.kill", "1");
    }

    /// Whether the kernel ended something for want of memory.
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

/// Moves every process of a cgroup into a child of it: the kernel limits only the children of a cgroup that has no processes itself.
fn move_apart(own: &Path) -> Option<()> {
    let apart = own.join(OWN);
    let _ = fs::create_dir(&apart);
    for _ in 0..MOVES {
        let processes = fs::read_to_string(own.join(PROCESSES)).ok()?;
        for process in processes.lines() {
            // One that ended meanwhile is nobody's loss.
            let _ = fs::write(apart.join(PROCESSES), process);
        }
        if limits_children(own) {
            return Some(());
        }
    }
    None
}

/// Lets a cgroup limit its children, or says that it cannot.
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

    /// Shows what is written where; `a_delegated_cgroup_limits_memory` of the sandbox suite shows what a kernel makes of it.
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
        // The last one that was moved: a real file takes them one by one.
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
