//! Measures what all processes of the namespace use together. Init does this, and kills them all when they exceed a
//! limit.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, Mode, OFlags, openat};

use crate::sandbox::{Entry, Policy};
use acquit_core::sandbox::Resources;

use super::super::exit::Excess;
use super::cover::Covers;
use super::hidden_memory::{self, Hoard, Sockets};
use crate::sandbox::Reach;

/// Upper bound for the speed at which memory fills: a few processes on a fast machine.
const BYTES_PER_MILLI: u64 = 4 * 1024 * 1024;
/// Minimum time between two checks. Each costs a few microseconds per process.
const OFTEN: Duration = Duration::from_millis(50);
/// Maximum time between two checks.
const RARELY: Duration = Duration::from_secs(1);
/// Machine-wide figures tell when a close check is worthwhile. They are not enough: memory that others free hides what
/// this namespace takes. So run a close check regularly anyway, which takes at most 1/50 of the time.
const CLOSELY: u32 = 50;
/// The number of new files of any size that counts as a full disk: many more than a large project with dependencies
/// has.
const MOST_FILES: u64 = 4_000_000;
/// What a program leaves of the free bytes and files of a disk, or half of them, whichever is less. Other programs
/// use it too, and acquit's store is on it.
const LEFT_FREE: (u64, u64) = (1 << 30, 100_000);

/// New sockets since the start before their buffers are measured.
const FEW_SOCKETS: u64 = 256;

/// The enforcer of the memory limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Enforcer {
    /// The kernel, by a cgroup.
    Kernel,
    /// Only these checks.
    Watching,
}

/// Watches the resource usage of the namespace.
pub(super) struct Usage {
    limits: Resources,
    enforcer: Enforcer,
    /// The machine's shared memory at the start, in bytes.
    shared: u64,
    /// Which sockets can be listed, and their number at the start.
    sockets: (Sockets, u64),
    /// Writable directories, by disk.
    disks: BTreeMap<u64, Disk>,
    /// When to check memory closely again, regardless of the machine's figures.
    memory_due: Instant,
    /// The same for disks, which takes longer.
    disks_due: Instant,
    /// Hidden paths that must be kept covered.
    covers: Covers,
}

struct Disk {
    /// Device numbers of its files: an overlay has its own.
    devices: BTreeSet<u64>,
    folders: Vec<OwnedFd>,
    free: u64,
    files: u64,
    /// By how many bytes and files the directories may grow.
    most: (u64, u64),
    /// Usage of the directories at the first close check, minus what the disk lost since the start. This is other
    /// programs' data, which may exceed what this program may add. Measuring it earlier would delay every start.
    before: Option<(u64, u64)>,
}

/// Writable directories of a program, with their paths in the view, but opened as they are outside of it: without
/// mounts on top, and for a cache only what the program adds.
pub(super) struct Written(Vec<(PathBuf, OwnedFd)>);

impl Written {
    /// Opens the directories. Must be called before the view is entered.
    pub(super) fn hold(policy: &Policy) -> Self {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = |entry: &Entry| {
            let folder = openat(CWD, entry.written()?, flags, Mode::empty()).ok()?;
            Some((entry.at.clone(), folder))
        };
        // Several paths may be parts of one layer.
        let mut seen = BTreeSet::new();
        let entries = policy.view.iter().filter(|entry| seen.insert(entry.written()));
        Self(entries.filter_map(open).collect())
    }
}

impl Usage {
    /// Starts watching. Call this inside the view.
    pub(super) fn begin(policy: &Policy, written: Written, enforcer: Enforcer) -> Self {
        let mut disks = BTreeMap::new();
        for (at, folder) in written.0 {
            let Ok(outside) = rustix::fs::fstat(&folder) else { continue };
            let Some((free, files)) = free(&folder) else { continue };
            let disk = disks.entry(outside.st_dev).or_insert_with(|| Disk {
                devices: BTreeSet::new(),
                folders: Vec::new(),
                free,
                files,
                most: most(policy.resources.disk, free, files),
                before: None,
            });
            disk.devices.insert(outside.st_dev);
            disk.devices.extend(rustix::fs::stat(&at).map(|inside| inside.st_dev));
            // A file in an overlay may have another device number than the overlay's directories.
            let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
            let nameless = openat(CWD, &at, flags, Mode::from_raw_mode(0o600));
            disk.devices
                .extend(nameless.and_then(|file| rustix::fs::fstat(&file)).map(|inside| inside.st_dev));
            disk.folders.push(folder);
        }
        let sockets = if policy.network == Reach::Everybody { Sockets::Machine } else { Sockets::Own };
        let due = Instant::now() + RARELY;
        Self {
            limits: policy.resources,
            enforcer,
            shared: shared(),
            sockets: (sockets, hidden_memory::sockets()),
            disks,
            memory_due: due,
            disks_due: due,
            covers: Covers::of(policy),
        }
    }

    /// Returns the exceeded limit, or the time until the next check.
    pub(super) fn look(&mut self) -> Result<Duration, Excess> {
        self.covers.renew();
        let (processes, own) = processes();
        let scratch = used(Path::new("/dev/shm"));
        let memory = match self.enforcer {
            Enforcer::Kernel => own + scratch,
            Enforcer::Watching => own + self.kept(own, scratch)?,
        };
        if memory > self.limits.memory {
            return Err(Excess::Memory { limit: self.limits.memory });
        }
        if processes >= u64::from(self.limits.processes) {
            return Err(Excess::Processes { limit: self.limits.processes });
        }
        self.look_at_disks()?;
        let left = (self.limits.memory - memory) / BYTES_PER_MILLI;
        Ok(self.covers.pause(Duration::from_millis(left).clamp(OFTEN, RARELY)))
    }

    /// Returns memory that belongs to no single process: files in memory, segments, buffers. The machine's shared
    /// memory and the number of sockets tell whether it is worth measuring more than `scratch`.
    fn kept(&mut self, own: u64, scratch: u64) -> Result<u64, Excess> {
        let began = Instant::now();
        let gained = shared().saturating_sub(self.shared);
        let (sockets, before) = self.sockets;
        let is_due = began >= self.memory_due;
        let has_many_sockets = hidden_memory::sockets().saturating_sub(before) > FEW_SOCKETS;
        if !is_due && !has_many_sockets && gained <= self.limits.memory.saturating_sub(own + scratch) {
            return Ok(scratch);
        }
        let hoard = Hoard::look(sockets, before);
        let files = scratch + nameless(Where::Memory) + segments();
        // Mapped files count twice in this sum, so the machine's figure is the upper bound.
        let kept = files.max(hoard.mapped).max((files + hoard.mapped).min(gained));
        self.memory_due = Instant::now() + (began.elapsed() * CLOSELY).max(RARELY);
        // Files whose size cannot be read: hold the program responsible if the machine's growth alone exceeds the
        // limit.
        if (hoard.hides_memory || hoard.in_flight > 0) && gained > self.limits.memory {
            return Err(Excess::Memory { limit: self.limits.memory });
        }
        Ok(kept + hoard.buffers)
    }

    fn look_at_disks(&mut self) -> Result<(), Excess> {
        let began = Instant::now();
        let closely = began >= self.disks_due;
        let sockets = self.sockets;
        if let Some(disk) =
            self.disks.values_mut().find_map(|disk| disk.is_overfull(closely, sockets).then_some(disk))
        {
            return Err(Excess::Disk { limit: disk.most.0 });
        }
        if closely {
            self.disks_due = Instant::now() + (began.elapsed() * CLOSELY).max(RARELY);
        }
        Ok(())
    }
}

impl Disk {
    /// Returns whether the program used too much. Measures its directories if a close check is due, or if the disk,
    /// which others use too, lost that much. A program with files that cannot be measured is held responsible for
    /// that loss.
    fn is_overfull(&mut self, closely: bool, sockets: (Sockets, u64)) -> bool {
        let (most_bytes, most_files) = self.most;
        let Some((free, files)) = self.folders.first().and_then(free) else { return false };
        let lost = (self.free.saturating_sub(free), self.files.saturating_sub(files));
        if !closely && lost.0 <= most_bytes && lost.1 <= most_files {
            return false;
        }
        if lost.0 > most_bytes {
            let hoard = Hoard::look(sockets.0, sockets.1);
            if hoard.hides_files || hoard.in_flight > 0 {
                return true;
            }
        }
        let mut used = (nameless(Where::Disk(&self.devices)), 0);
        for folder in &self.folders {
            measure(PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd())), &mut used);
        }
        let (bytes, files) =
            *self.before.get_or_insert((used.0.saturating_sub(lost.0), used.1.saturating_sub(lost.1)));
        used.0.saturating_sub(bytes) > most_bytes || used.1.saturating_sub(files) > most_files
    }
}

/// Returns by how many bytes and files a program may grow its directories on a disk.
fn most(limit: u64, free: u64, files: u64) -> (u64, u64) {
    let usable = |free: u64, left: u64| free - left.min(free / 2);
    // Some file systems have no fixed number of files, and say that there are none.
    let files = if files == 0 { MOST_FILES } else { MOST_FILES.min(usable(files, LEFT_FREE.1)) };
    (limit.min(usable(free, LEFT_FREE.0)), files)
}

/// Returns the free bytes and files on a directory's file system.
fn free(folder: &OwnedFd) -> Option<(u64, u64)> {
    let stat = rustix::fs::fstatvfs(folder).ok()?;
    // Some file systems do not say how large they are.
    let bytes = if stat.f_blocks == 0 { u64::MAX } else { stat.f_bavail.saturating_mul(stat.f_frsize) };
    Some((bytes, stat.f_favail))
}

/// Adds the disk usage and the number of files below a directory.
fn measure(folder: PathBuf, used: &mut (u64, u64)) {
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(meta) = entry.metadata() else { continue };
            used.0 += meta.blocks() * 512;
            used.1 += 1;
            if meta.is_dir() {
                folders.push(entry.path());
            }
        }
    }
}

/// Counts the processes, and their private memory in bytes. Threads count only where the kernel limits them.
fn processes() -> (u64, u64) {
    let page = rustix::param::page_size() as u64;
    let (mut count, mut pages) = (0, 0);
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name();
        if !name.as_encoded_bytes().first().is_some_and(u8::is_ascii_digit) {
            continue;
        }
        count += 1;
        let Ok(text) = fs::read_to_string(entry.path().join("statm")) else { continue };
        let mut fields = text.split_ascii_whitespace().skip(1).map(|field| field.parse::<u64>().unwrap_or(0));
        let (resident, shared) = (fields.next().unwrap_or(0), fields.next().unwrap_or(0));
        pages += resident.saturating_sub(shared);
    }
    (count, pages * page)
}

/// Counts the processes that still run, except init.
pub(super) fn others() -> u32 {
    let runs = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        let is_other = name.as_encoded_bytes().iter().all(u8::is_ascii_digit) && name != "1";
        // The state follows the name, which can contain anything and ends at the last parenthesis.
        let stat = || fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        is_other && stat().rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
    };
    let count = fs::read_dir("/proc").into_iter().flatten().flatten().filter(runs).count();
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Where to look for unnamed files.
#[derive(Clone, Copy)]
enum Where<'a> {
    /// On a disk, given its device numbers.
    Disk(&'a BTreeSet<u64>),
    /// In memory.
    Memory,
}

/// Returns the bytes of open files without a name: deleted ones, and those that never had one.
fn nameless(place: Where<'_>) -> u64 {
    let mut seen = BTreeSet::new();
    let mut bytes = 0;
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        for descriptor in fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten() {
            let path = descriptor.path();
            let Ok(meta) = fs::metadata(&path) else { continue };
            let is_there = match place {
                Where::Disk(devices) => devices.contains(&meta.dev()),
                Where::Memory => fs::read_link(&path)
                    .is_ok_and(|link| link.as_os_str().as_encoded_bytes().starts_with(b"/memfd:")),
            };
            if is_there && meta.is_file() && meta.nlink() == 0 && seen.insert((meta.dev(), meta.ino())) {
                bytes += meta.blocks() * 512;
            }
        }
    }
    bytes
}

/// Returns the memory of System V segments, which outlive their creators. The list is that of this ipc namespace.
fn segments() -> u64 {
    let text = fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
    let resident = |line: &str| line.split_ascii_whitespace().nth(14)?.parse::<u64>().ok();
    text.lines().skip(1).filter_map(resident).sum()
}

/// Returns the machine's shared memory (tmpfs files and segments), in bytes.
fn shared() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Shmem:")).unwrap_or_default();
    line.trim().split(' ').next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) * 1024
}

/// Returns the bytes used in a tmpfs.
fn used(folder: &Path) -> u64 {
    rustix::fs::statvfs(folder).map_or(0, |stat| (stat.f_blocks - stat.f_bfree) * stat.f_frsize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_leaves_some_of_the_disk_to_others() {
        const GIB: u64 = 1 << 30;
        assert_eq!(most(20 * GIB, 500 * GIB, 9_000_000), (20 * GIB, MOST_FILES));
        assert_eq!(most(20 * GIB, 15 * GIB, 1_000_000), (14 * GIB, 900_000));
        assert_eq!(most(20 * GIB, GIB, 1_000), (GIB / 2, 500));
        assert_eq!(most(20 * GIB, 0, 0), (0, MOST_FILES));
    }
}
