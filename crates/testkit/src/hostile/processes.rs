//! Attacks other processes: reads, signals, traces and tunes them; survives the leg.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::files::could_write;
use super::sys::{self, Arg, Forked, call, fork, open_by};
use super::world::{canaries, look};
use super::{Attack, Tried, World};

pub(super) const ATTACKS: &[Attack] = &[
    ("read-environs", "looks for secrets in the environment of every process", environs),
    ("read-cmdlines", "looks for secrets in the arguments of every process", cmdlines),
    ("read-memory", "reads the memory of other processes by /proc", memory),
    ("read-descriptors", "opens what other processes have open", descriptors),
    ("vm-read", "reads and writes memory of other processes by process_vm_readv", vm),
    ("ptrace", "traces its parent, the first process and one outside", ptrace),
    ("kill-victim", "sends signals to a process outside", kill_victim),
    ("kill-by-pidfd", "the same by a descriptor of it", kill_pidfd),
    ("kill-init", "sends signals to the first process, which holds it", kill_init),
    ("kill-all", "kills everybody whom it may", kill_all),
    ("steal-descriptors", "takes descriptors out of other processes", steal),
    ("tune-victim", "changes priority, limits and processors of a process outside", tune),
    ("pid-reuse", "chooses the number of its next process", pid_reuse),
    ("outlive", "forks twice, leaves its session, ignores signals and lives on", outlive),
    ("outlive-hopping", "becomes another process again and again, so that no list has it", hopping),
    ("outlive-nohup", "leaves a program of the system behind", nohup),
    ("inherited-descriptors", "writes to what was open when it was started", inherited),
    ("oom-immune", "makes others die before it when memory is short", oom),
    ("realtime", "takes the processor for itself", realtime),
    ("raise-limits", "raises its own limits", raise),
];

/// Lifetime of a survivor: long enough to be seen, and then it exits.
const AFTERLIFE: Duration = Duration::from_secs(40);

fn targets(world: &World) -> Vec<i32> {
    let mut pids = vec![1, world.pid("victim")];
    let listed = fs::read_dir("/proc").into_iter().flatten().flatten();
    pids.extend(listed.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok()));
    pids.retain(|pid| pid.cast_unsigned() != std::process::id() && *pid > 0);
    pids.sort_unstable();
    pids.dedup();
    pids
}

/// Searches for a canary in a file of every process.
fn search(world: &World, tried: &mut Tried, file: &str) {
    for pid in targets(world) {
        let path = format!("/proc/{pid}/{file}");
        match fs::read(&path).map(|bytes| canaries(&bytes)) {
            Ok(Some(canary)) => _ = tried.way(&path, Ok(canary)),
            Ok(None) => _ = tried.way(&path, Err::<&str, _>(io::Error::from_raw_os_error(libc::ENOENT))),
            Err(error) => _ = tried.way(&path, Err::<&str, _>(error)),
        }
    }
    tried.way("the victim's", look(format!("/proc/{}/{file}", world.pid("victim"))));
}

fn environs(world: &World, tried: &mut Tried) {
    search(world, tried, "environ");
}

fn cmdlines(world: &World, tried: &mut Tried) {
    search(world, tried, "cmdline");
}

/// Returns processes that are not its own. It must not touch its parents up to the helper.
fn strangers(world: &World) -> [i32; 2] {
    [1, world.pid("victim")]
}

fn memory(world: &World, tried: &mut Tried) {
    for pid in strangers(world) {
        tried.way(&format!("mem of {pid}"), File::open(format!("/proc/{pid}/mem")).map(|_| "open"));
        tried.way(&format!("maps of {pid}"), look(format!("/proc/{pid}/maps")));
        tried.way(&format!("writing mem of {pid}"), could_write(format!("/proc/{pid}/mem")));
    }
}

fn descriptors(world: &World, tried: &mut Tried) {
    for pid in strangers(world) {
        let entries = fs::read_dir(format!("/proc/{pid}/fd"));
        match entries {
            Err(error) => _ = tried.way("list", Err::<&str, _>(error)),
            Ok(entries) => {
                for path in entries.flatten().map(|entry| entry.path()) {
                    tried.way(&path.to_string_lossy(), File::open(&path).map(|_| "open"));
                }
            }
        }
    }
}

fn vm(world: &World, tried: &mut Tried) {
    for pid in strangers(world) {
        let mut buffer = [0_u8; 8];
        let mut local = [0_u8; 16];
        local[..8].copy_from_slice(&(buffer.as_mut_ptr() as u64).to_ne_bytes());
        local[8..].copy_from_slice(&8_u64.to_ne_bytes());
        let mut remote = local;
        for number in [libc::SYS_process_vm_readv, libc::SYS_process_vm_writev] {
            let args = &mut [
                Arg::N(pid.into()),
                Arg::B(&mut local),
                Arg::N(1),
                Arg::B(&mut remote),
                Arg::N(1),
                Arg::N(0),
            ];
            // The address is one of ours, where the other process most likely has nothing: EFAULT means that access was
            // allowed.
            tried.reaches(&format!("pid {pid}"), call(number, args), &[libc::EFAULT]);
        }
    }
}

fn ptrace(world: &World, tried: &mut Tried) {
    const ATTACH: i64 = 16;
    const DETACH: i64 = 17;
    const SEIZE: i64 = 0x4206;
    let mut pids = strangers(world).to_vec();
    pids.push(parent_of_parent());
    for pid in pids.into_iter().filter(|pid| *pid > 0) {
        for (name, request) in [("seize", SEIZE), ("attach", ATTACH)] {
            let got =
                call(libc::SYS_ptrace, &mut [Arg::N(request), Arg::N(pid.into()), Arg::N(0), Arg::N(0)]);
            if got.is_ok() {
                if request == ATTACH {
                    sys::wait(pid);
                }
                let _ =
                    call(libc::SYS_ptrace, &mut [Arg::N(DETACH), Arg::N(pid.into()), Arg::N(0), Arg::N(0)]);
            }
            // It may trace processes that it started; a tracer of pid 1 controls everything.
            if pid == 1 || pid == world.pid("victim") {
                tried.way(&format!("{name} {pid}"), got);
            }
        }
    }
}

fn parent_of_parent() -> i32 {
    let parent = std::os::unix::process::parent_id();
    let stat = fs::read_to_string(format!("/proc/{parent}/stat")).unwrap_or_default();
    let rest = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    rest.split(' ').nth(1).and_then(|pid| pid.parse().ok()).unwrap_or(0)
}

fn kill_victim(world: &World, tried: &mut Tried) {
    let pid: i64 = world.pid("victim").into();
    if pid <= 1 {
        return tried.error("the world names no victim");
    }
    for signal in [libc::SIGTERM, libc::SIGKILL, libc::SIGSTOP, 0] {
        tried.way("kill", call(libc::SYS_kill, &mut [Arg::N(pid), Arg::N(signal.into())]));
        tried.way("tgkill", call(libc::SYS_tgkill, &mut [Arg::N(pid), Arg::N(pid), Arg::N(signal.into())]));
        tried.way("tkill", call(libc::SYS_tkill, &mut [Arg::N(pid), Arg::N(signal.into())]));
        tried.way("its group", call(libc::SYS_kill, &mut [Arg::N(-pid), Arg::N(signal.into())]));
        let mut info = [0_u8; 128];
        let args = &mut [Arg::N(pid), Arg::N(signal.into()), Arg::B(&mut info)];
        tried.way("rt_sigqueueinfo", call(libc::SYS_rt_sigqueueinfo, args));
    }
}

fn kill_pidfd(world: &World, tried: &mut Tried) {
    let opened = open_by(libc::SYS_pidfd_open, &mut [Arg::N(world.pid("victim").into()), Arg::N(0)]);
    let sent = opened.and_then(|open| {
        let args = &mut [Arg::N(open.as_raw_fd().into()), Arg::N(libc::SIGKILL.into()), Arg::N(0), Arg::N(0)];
        call(libc::SYS_pidfd_send_signal, args)
    });
    tried.way("pidfd_open", sent);
    let folder = File::open(format!("/proc/{}", world.pid("victim"))).and_then(|open| {
        let args = &mut [Arg::N(open.as_raw_fd().into()), Arg::N(libc::SIGKILL.into()), Arg::N(0), Arg::N(0)];
        call(libc::SYS_pidfd_send_signal, args)
    });
    tried.way("by /proc", folder);
}

fn kill_init(world: &World, tried: &mut Tried) {
    if !world.shut_in() {
        return tried.absent("a pid namespace: pid 1 is the machine's");
    }
    // The kernel accepts the signal and drops it; what counts is that the leg continues.
    for signal in [libc::SIGSTOP, libc::SIGKILL, libc::SIGQUIT] {
        tried.way("kill 1", call(libc::SYS_kill, &mut [Arg::N(1), Arg::N(signal.into())]));
    }
}

fn kill_all(world: &World, tried: &mut Tried) {
    if !world.shut_in() {
        return tried.absent("a pid namespace: everybody would be everybody");
    }
    println!("attack kill-all: done as soon as this is read");
    tried.way("kill -1", call(libc::SYS_kill, &mut [Arg::N(-1), Arg::N(libc::SIGKILL.into())]));
}

fn steal(world: &World, tried: &mut Tried) {
    for pid in strangers(world) {
        for number in [0, 1, 3, 4] {
            let opened = open_by(libc::SYS_pidfd_open, &mut [Arg::N(pid.into()), Arg::N(0)]);
            let got = opened.and_then(|open| {
                let args = &mut [Arg::N(open.as_raw_fd().into()), Arg::N(number), Arg::N(0)];
                // EBADF for a descriptor that is not open means that access was allowed.
                match open_by(libc::SYS_pidfd_getfd, args) {
                    Err(error) if error.raw_os_error() == Some(libc::EBADF) => Ok("looked at"),
                    other => other.map(|_| "taken"),
                }
            });
            tried.way(&format!("{number} of {pid}"), got);
        }
    }
}

fn tune(world: &World, tried: &mut Tried) {
    let pid: i64 = world.pid("victim").into();
    tried.way("priority", call(libc::SYS_setpriority, &mut [Arg::N(0), Arg::N(pid), Arg::N(19)]));
    let mut all = [0xff_u8; 8];
    tried.way(
        "processors",
        call(libc::SYS_sched_setaffinity, &mut [Arg::N(pid), Arg::N(8), Arg::B(&mut all)]),
    );
    let mut old = [0_u8; 16];
    let args = &mut [Arg::N(pid), Arg::N(libc::RLIMIT_CORE.into()), Arg::N(0), Arg::B(&mut old)];
    tried.way("limits", call(libc::SYS_prlimit64, args));
    tried.way("io priority", call(libc::SYS_ioprio_set, &mut [Arg::N(1), Arg::N(pid), Arg::N(0x6000)]));
    tried.way("oom score", could_write(format!("/proc/{pid}/oom_score_adj")));
    tried.way(
        "memory pages",
        call(libc::SYS_migrate_pages, &mut [Arg::N(pid), Arg::N(0), Arg::N(0), Arg::N(0)]),
    );
}

fn pid_reuse(world: &World, tried: &mut Tried) {
    if !world.shut_in() {
        return tried.absent("a pid namespace");
    }
    let number = (world.pid("victim") - 1).to_string();
    tried.way("ns_last_pid", fs::write("/proc/sys/kernel/ns_last_pid", number).map(|()| "chosen"));
    let mut wanted = world.pid("victim").to_ne_bytes();
    let mut args = [0_u8; 88];
    args[32..40].copy_from_slice(&i64::from(libc::SIGCHLD).to_ne_bytes());
    args[64..72].copy_from_slice(&(wanted.as_mut_ptr() as u64).to_ne_bytes());
    args[72..80].copy_from_slice(&1_u64.to_ne_bytes());
    match call(libc::SYS_clone3, &mut [Arg::B(&mut args), Arg::N(88)]) {
        Ok(0) => sys::exit(0),
        got => _ = tried.way("clone3 with a number", got),
    }
}

/// Detaches from its parent and runs `act` there.
fn away(act: impl FnOnce()) -> io::Result<&'static str> {
    match fork()? {
        Forked::Parent(pid) => {
            sys::wait(pid);
            Ok("lives on")
        }
        Forked::Child => {
            let _ = call(libc::SYS_setsid, &mut []);
            if matches!(fork(), Ok(Forked::Parent(_))) {
                sys::exit(0);
            }
            let _ = call(libc::SYS_setsid, &mut []);
            sys::ignore_requests();
            act();
            sys::exit(0)
        }
    }
}

fn outlive(world: &World, tried: &mut Tried) {
    let marker = world.text("marker").to_owned();
    let lived = away(|| {
        // The test looks for the marker in its arguments.
        let mut sleep = Command::new("sh");
        sleep.args(["-c", "trap '' TERM HUP INT QUIT; sleep 40; :", &marker]);
        sleep.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let _ = sleep.exec();
    });
    tried.way("double fork", lived);
}

fn hopping(world: &World, tried: &mut Tried) {
    if !world.shut_in() {
        return tried.absent("a pid namespace: nobody could catch it");
    }
    let lived = away(|| {
        let end = Instant::now() + AFTERLIFE;
        while Instant::now() < end {
            if matches!(fork(), Ok(Forked::Parent(_))) {
                sys::exit(0);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    tried.way("hop", lived);
}

fn nohup(world: &World, tried: &mut Tried) {
    let mut sleep = Command::new("setsid");
    sleep.args(["nohup", "sh", "-c", "sleep 40; :", world.text("marker")]);
    sleep.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    tried.way("setsid nohup", sleep.spawn().map(|_| "lives on"));
}

fn inherited(_: &World, tried: &mut Tried) {
    let mut found = Vec::new();
    for number in 3..256 {
        if call(libc::SYS_fcntl, &mut [Arg::N(number), Arg::N(libc::F_GETFD.into())]).is_ok() {
            found.push(number);
        }
    }
    if found.is_empty() {
        tried.way("none", Err::<&str, _>(io::Error::from_raw_os_error(libc::EBADF)));
    }
    for number in found {
        let target = fs::read_link(format!("/proc/self/fd/{number}")).unwrap_or_default();
        tried.way(&format!("descriptor {number}"), Ok(target.display().to_string()));
    }
}

fn oom(_: &World, tried: &mut Tried) {
    for who in ["self", "1"] {
        let path = format!("/proc/{who}/oom_score_adj");
        let now: i32 = fs::read_to_string(&path).unwrap_or_default().trim().parse().unwrap_or(0);
        tried.way(who, fs::write(&path, (now - 1).to_string()).map(|()| "lowered"));
        if who == "self" {
            let first = if now >= 1000 {
                Err(io::Error::from_raw_os_error(libc::EPERM))
            } else {
                Ok("others die first")
            };
            tried.way(who, first);
        }
    }
}

fn realtime(_: &World, tried: &mut Tried) {
    tried.way("nice", call(libc::SYS_setpriority, &mut [Arg::N(0), Arg::N(0), Arg::N(-20)]));
    let mut parameter = 1_i32.to_ne_bytes();
    let args = &mut [Arg::N(0), Arg::N(libc::SCHED_FIFO.into()), Arg::B(&mut parameter)];
    tried.way("first in, first out", call(libc::SYS_sched_setscheduler, args));
    tried.way("io", call(libc::SYS_ioprio_set, &mut [Arg::N(1), Arg::N(0), Arg::N(0x2000)]));
}

fn raise(_: &World, tried: &mut Tried) {
    for (name, which) in [
        ("processes", libc::RLIMIT_NPROC),
        ("open files", libc::RLIMIT_NOFILE),
        ("locked memory", libc::RLIMIT_MEMLOCK),
        ("core", libc::RLIMIT_CORE),
    ] {
        let mut now = [0_u8; 16];
        let _ =
            call(libc::SYS_prlimit64, &mut [Arg::N(0), Arg::N(which.into()), Arg::N(0), Arg::B(&mut now)]);
        let hard = u64::from_ne_bytes(now[8..].try_into().unwrap_or_default());
        if hard == u64::MAX {
            continue;
        }
        let mut more = now;
        more[8..].copy_from_slice(&(hard + 1).to_ne_bytes());
        let args = &mut [Arg::N(0), Arg::N(which.into()), Arg::B(&mut more), Arg::N(0)];
        tried.way(name, call(libc::SYS_prlimit64, args));
    }
}
