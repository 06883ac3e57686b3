//! Exhausts resources: processes, threads, memory, disk, output, descriptors, names. Each attack has its own bound, in
//! case nothing else stops it, and runs only inside a sandbox.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::sys::{self, Arg, Forked, call, fork, open_by, text};
use super::{Attack, Tried, World, sockets};

pub(super) const ATTACKS: &[Attack] = &[
    ("fork-bomb", "forks until it is refused", fork_bomb),
    ("thread-bomb", "starts threads until it is refused", thread_bomb),
    ("memory-bomb", "takes memory until it is refused or killed", memory_bomb),
    ("memory-bomb-spread", "the same in many processes, each of which takes little", memory_spread),
    ("memory-bomb-among-orphans", "the same while orphans end all the time", memory_among_orphans),
    ("memfd-bomb", "takes memory as files without a name", memfd_bomb),
    ("memory-bomb-shared", "takes memory that its processes share", memory_shared),
    ("memory-bomb-in-flight", "sends memory to itself and never receives it", memory_in_flight),
    ("memory-bomb-sockets", "fills the buffers of sockets", memory_sockets),
    ("memory-bomb-untouched", "keeps memory by mappings that it never touches", memory_untouched),
    ("memory-bomb-backlog", "fills sockets that nobody accepts, and closes its own end", memory_backlog),
    ("inotify-bomb", "takes all watchers that the user has", inotify_bomb),
    ("disk-bomb-mapped", "fills the disk with files that are only mapped", disk_mapped),
    ("disk-bomb", "fills its workspace", disk_bomb),
    ("disk-bomb-unlinked", "fills the disk with a file that has no name any more", disk_unlinked),
    ("fill-tmp", "fills the folder for temporary files", fill_tmp),
    ("fill-shm", "fills shared memory", fill_shm),
    ("many-files", "makes very many small files", many_files),
    ("descriptor-bomb", "opens files until it is refused", descriptors),
    ("output-bomb", "prints without end", output_bomb),
    ("spin", "does nothing, for ever", spin),
];

const MIB: usize = 1024 * 1024;
/// Far more than the tests allow, but less than a machine notices.
const MOST_PROCESSES: usize = 2_000;
const MOST_MEMORY: usize = 1024 * MIB;
const MOST_BUFFERS: usize = 512 * MIB;
const MOST_DISK: usize = 512 * MIB;
const MOST_OUTPUT: usize = 320 * MIB;
const MOST_FILES: usize = 30_000;

fn shut_in(world: &World, tried: &mut Tried) -> bool {
    let inside = world.shut_in();
    if !inside {
        tried.absent("a pid namespace to stay in");
    }
    inside
}

/// Records whether the attack reached its own bound or was stopped before.
fn reached(tried: &mut Tried, what: &str, count: usize, most: usize, refusal: Option<io::Error>) {
    match refusal {
        Some(error) if count < most => _ = tried.way(what, Err::<&str, _>(error)),
        _ => _ = tried.way(what, Ok(format!("{count} without a limit"))),
    }
}

fn fork_bomb(world: &World, tried: &mut Tried) {
    if !shut_in(world, tried) {
        return;
    }
    let mut children = Vec::new();
    let mut refusal = None;
    while children.len() < MOST_PROCESSES {
        match fork() {
            Ok(Forked::Child) => {
                // Each lives no longer than the alarm.
                std::thread::sleep(Duration::from_secs(8));
                sys::exit(0)
            }
            Ok(Forked::Parent(pid)) => children.push(pid),
            Err(error) => {
                refusal = Some(error);
                break;
            }
        }
    }
    for pid in &children {
        let _ = call(libc::SYS_kill, &mut [Arg::N((*pid).into()), Arg::N(libc::SIGKILL.into())]);
        sys::wait(*pid);
    }
    reached(tried, "processes", children.len(), MOST_PROCESSES, refusal);
}

fn thread_bomb(world: &World, tried: &mut Tried) {
    if !shut_in(world, tried) {
        return;
    }
    let (mut count, mut refusal) = (0, None);
    while count < MOST_PROCESSES {
        let thread = std::thread::Builder::new().stack_size(65536);
        match thread.spawn(|| std::thread::sleep(Duration::from_secs(8))) {
            Ok(_) => count += 1,
            Err(error) => {
                refusal = Some(error);
                break;
            }
        }
    }
    reached(tried, "threads", count, MOST_PROCESSES, refusal);
}

fn take(most: usize) -> (usize, Option<io::Error>) {
    let mut taken = 0;
    while taken < most {
        if let Err(error) = sys::take_memory(4 * MIB) {
            return (taken, Some(error));
        }
        taken += 4 * MIB;
        // Give a periodic monitor a chance.
        std::thread::sleep(Duration::from_millis(5));
    }
    (taken, None)
}

fn memory_bomb(world: &World, tried: &mut Tried) {
    if shut_in(world, tried) {
        let (taken, refusal) = take(MOST_MEMORY);
        reached(tried, "memory", taken, MOST_MEMORY, refusal);
    }
}

fn memory_shared(world: &World, tried: &mut Tried) {
    if !shut_in(world, tried) {
        return;
    }
    let (mut taken, mut refusal) = (0, None);
    while taken < MOST_MEMORY && refusal.is_none() {
        refusal = sys::take_shared_memory(4 * MIB).err();
        taken += 4 * MIB;
        std::thread::sleep(Duration::from_millis(10));
    }
    reached(tried, "memory", taken, MOST_MEMORY, refusal);
}

fn memory_in_flight(world: &World, tried: &mut Tried) {
    if !shut_in(world, tried) {
        return;
    }
    let pair = std::os::unix::net::UnixStream::pair();
    let (mut taken, mut refusal) = (0, None);
    let block = vec![b'x'; MIB];
    if let Ok((here, _there)) = &pair {
        let name = text("hostile");
        while taken < MOST_MEMORY && refusal.is_none() {
            let one = || -> io::Result<()> {
                let file = open_by(libc::SYS_memfd_create, &mut [Arg::S(&name), Arg::N(0)])?;
                let mut file = File::from(file);
                for _ in 0..8 {
                    file.write_all(&block)?;
                }
                sockets::send_descriptor(here, &file).map(drop)
            };
            refusal = one().err();
            taken += 8 * MIB;
            std::thread::sleep(Duration::from_millis(20));
        }
        std::thread::sleep(Duration::from_secs(3));
    }
    reached(tried, "memory", taken, MOST_MEMORY, refusal);
}

fn memory_sockets(world: &World, tried: &mut Tried) {
    if !shut_in(world, tried) {
        return;
    }
    let (mut held, mut taken, mut refusal) = (Vec::new(), 0, None);
    while taken < MOST_BUFFERS && refusal.is_none() {
        match std::os::unix::net::UnixStream::pair() {
            Ok((here, there)) => {
                taken += fill_socket(&here);
                held.push((here, there));
            }
            Err(error) => refusal = Some(error),
        }
    }
    std::thread::sleep(Duration::from_secs(3));
    reached(tried, "buffers", taken, MOST_BUFFERS, refusal);
}

/// Writes to a socket until it blocks.
fn fill_socket(mut socket: &std::os::unix::net::UnixStream) -> usize {
    let _ = socket.set_nonblocking(true);
    let block = vec![b'x'; 64 * 1024];
    let mut taken = 0;
    while let Ok(length) = socket.write(&block) {
        taken += length;
    }
    taken
}

fn memory_backlog(world: &World, tried: &mut Tried) {
    use std::os::unix::net::{UnixListener, UnixStream};
    if !shut_in(world, tried) {
        return;
    }
    let (mut listeners, mut taken, mut refusal) = (Vec::new(), 0, None);
    'all: while taken < MOST_BUFFERS && refusal.is_none() {
        let path = std::env::temp_dir().join(format!("backlog-{}", listeners.len()));
        let _ = fs::remove_file(&path);
        match UnixListener::bind(&path) {
            Ok(listener) => listeners.push(listener),
            Err(error) => refusal = Some(error),
        }
        // As many as every listener accepts; another one would block.
        for _ in 0..100 {
            let Ok(socket) = UnixStream::connect(&path) else { continue 'all };
            taken += fill_socket(&socket);
        }
    }
    std::thread::sleep(Duration::from_secs(3));
    reached(tried, "buffers", taken, MOST_BUFFERS, refusal);
}

fn memory_untouched(world: &World, tried: &mut Tried) {
    if !shut_in(world, tried) {
        return;
    }
    let (mut taken, mut refusal) = (0, None);
    let block = vec![b'x'; MIB];
    let name = text("hostile");
    while taken < MOST_MEMORY && refusal.is_none() {
        let one = || -> io::Result<()> {
            let file = open_by(libc::SYS_memfd_create, &mut [Arg::S(&name), Arg::N(0)])?;
            let mut file = File::from(file);
            for _ in 0..16 {
                file.write_all(&block)?;
            }
            sys::keep_by_mapping(&file)
        };
        refusal = one().err();
        taken += 16 * MIB;
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_secs(3));
    reached(tried, "memory", taken, MOST_MEMORY, refusal);
}

fn inotify_bomb(world: &World, tried: &mut Tried) {
    if !shut_in(world, tried) {
        return;
    }
    let most = fs::read_to_string("/proc/sys/fs/inotify/max_user_instances").unwrap_or_default();
    let most = most.trim().parse::<usize>().unwrap_or(128).min(10_000) / 2;
    let (mut held, mut refusal) = (Vec::new(), None);
    while held.len() < most && refusal.is_none() {
        match open_by(libc::SYS_inotify_init1, &mut [Arg::N(0)]) {
            Ok(one) => held.push(one),
            Err(error) => refusal = Some(error),
        }
    }
    reached(tried, "watchers", held.len(), most, refusal);
}

fn disk_mapped(world: &World, tried: &mut Tried) {
    if !shut_in(world, tried) {
        return;
    }
    let (mut taken, mut refusal) = (0, None);
    while taken < MOST_DISK && refusal.is_none() {
        let one = || -> io::Result<()> {
            let file = File::options().read(true).write(true).create(true).truncate(true).open("mapped")?;
            fs::remove_file("mapped")?;
            file.set_len(16 * MIB as u64)?;
            sys::fill_by_mapping(&file, 16 * MIB)?;
            file.sync_all()
        };
        refusal = one().err();
        taken += 16 * MIB;
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_secs(3));
    reached(tried, "without a name or a descriptor", taken, MOST_DISK, refusal);
}

fn memory_among_orphans(world: &World, tried: &mut Tried) {
    if !shut_in(world, tried) {
        return;
    }
    let busy = match fork() {
        Ok(Forked::Child) => {
            // Each child leaves an orphan to the namespace's init, as long as memory lasts.
            for _ in 0..2_000 {
                match fork() {
                    Ok(Forked::Child) => {
                        let _ = fork();
                        sys::exit(0)
                    }
                    Ok(Forked::Parent(pid)) => _ = sys::wait(pid),
                    Err(_) => {}
                }
                std::thread::sleep(Duration::from_millis(2));
            }
            sys::exit(0)
        }
        Ok(Forked::Parent(pid)) => pid,
        Err(error) => {
            tried.way("memory", Err::<&str, _>(error));
            return;
        }
    };
    let (taken, refusal) = take(MOST_MEMORY);
    let _ = call(libc::SYS_kill, &mut [Arg::N(busy.into()), Arg::N(libc::SIGKILL.into())]);
    sys::wait(busy);
    reached(tried, "memory", taken, MOST_MEMORY, refusal);
}

fn memory_spread(world: &World, tried: &mut Tried) {
    const EACH: usize = 32 * MIB;
    if !shut_in(world, tried) {
        return;
    }
    let mut children = Vec::new();
    while children.len() < MOST_MEMORY / EACH {
        match fork() {
            Ok(Forked::Child) => {
                let (taken, _) = take(EACH);
                std::thread::sleep(Duration::from_secs(3));
                sys::exit(i32::from(taken < EACH))
            }
            Ok(Forked::Parent(pid)) => children.push(pid),
            Err(_) => break,
        }
    }
    let whole = children.iter().filter(|pid| sys::wait(**pid) == 0).count() * EACH;
    reached(
        tried,
        "memory",
        whole,
        MOST_MEMORY,
        (whole < MOST_MEMORY).then(|| io::Error::from_raw_os_error(libc::ENOMEM)),
    );
}

/// Writes to one file until it is refused, then to many small ones.
fn fill(tried: &mut Tried, what: &str, mut next: impl FnMut() -> io::Result<File>) {
    let block = vec![b'x'; MIB];
    for (how, each) in [("one file", MOST_DISK), ("many files", 8 * MIB)] {
        let (mut held, mut written, mut refusal) = (Vec::new(), 0, None);
        while written < MOST_DISK && refusal.is_none() {
            match next() {
                Ok(file) => held.push(file),
                Err(error) => refusal = Some(error),
            }
            for _ in 0..each / MIB {
                match held.last_mut().map(|file| file.write_all(&block)) {
                    Some(Ok(())) => written += MIB,
                    Some(Err(error)) => refusal = Some(error),
                    None => {}
                }
                if refusal.is_some() {
                    break;
                }
                // Give a periodic monitor a chance.
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        reached(tried, &format!("{what}, {how}"), written, MOST_DISK, refusal);
    }
}

fn memfd_bomb(world: &World, tried: &mut Tried) {
    if shut_in(world, tried) {
        let name = text("hostile");
        fill(tried, "memory", || {
            open_by(libc::SYS_memfd_create, &mut [Arg::S(&name), Arg::N(0)]).map(File::from)
        });
    }
}

/// Fills a folder with new files.
fn fill_at(tried: &mut Tried, folder: &Path, name: &str) {
    let mut made = Vec::new();
    fill(tried, &folder.to_string_lossy(), || {
        let path = folder.join(format!("{name}-bomb-{}", made.len()));
        made.push(path.clone());
        File::create(path)
    });
    for path in made {
        let _ = fs::remove_file(path);
    }
}

fn disk_bomb(world: &World, tried: &mut Tried) {
    if shut_in(world, tried) {
        fill_at(tried, Path::new("."), "disk");
    }
}

fn disk_unlinked(world: &World, tried: &mut Tried) {
    if shut_in(world, tried) {
        fill(tried, "without a name", || {
            let file = File::create("bomb");
            let _ = fs::remove_file("bomb");
            file
        });
    }
}

fn fill_tmp(world: &World, tried: &mut Tried) {
    if shut_in(world, tried) {
        let folder = std::env::var_os("TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
        fill_at(tried, &folder, world.text("marker"));
    }
}

fn fill_shm(world: &World, tried: &mut Tried) {
    if shut_in(world, tried) {
        fill_at(tried, Path::new("/dev/shm"), world.text("marker"));
    }
}

fn many_files(world: &World, tried: &mut Tried) {
    if !shut_in(world, tried) {
        return;
    }
    let _ = fs::create_dir("many");
    let (mut count, mut refusal) = (0, None);
    while count < MOST_FILES {
        if let Err(error) = fs::write(format!("many/{count}"), "x") {
            refusal = Some(error);
            break;
        }
        count += 1;
    }
    // Give a periodic monitor a chance.
    std::thread::sleep(Duration::from_secs(3));
    reached(tried, "files", count, MOST_FILES, refusal);
}

fn descriptors(_: &World, tried: &mut Tried) {
    let mut held = Vec::new();
    let mut refusal = None;
    while held.len() < 100_000 {
        match File::open("/dev/null") {
            Ok(file) => held.push(file),
            Err(error) => {
                refusal = Some(error);
                break;
            }
        }
    }
    let count = held.len();
    drop(held);
    reached(tried, "descriptors", count, 100_000, refusal);
}

fn output_bomb(_: &World, tried: &mut Tried) {
    let line = "words without end ".repeat(5_000);
    let mut written = 0;
    while written < MOST_OUTPUT {
        if let Err(error) = writeln!(io::stdout(), "{line}") {
            tried.way("output", Err::<&str, _>(error));
            return;
        }
        written += line.len();
    }
    tried.way("output", Ok(written));
}

fn spin(_: &World, tried: &mut Tried) {
    // Until its own alarm, or the stage's limit, which the test sets lower.
    std::thread::sleep(Duration::from_mins(1));
    tried.way("time", Ok("nobody ended it"));
}
