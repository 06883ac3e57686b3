//! The target of attacks: an outside process with a secret in its environment that listens on every kind of socket, has
//! a terminal and records every visitor.
//!
//! `hostile outside <folder>` writes `folder/world` with the addresses once it listens, adds a line to `folder/visits`
//! for every visit, and ends when its stdin does.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use super::sys::{Arg, call};

/// Timeout for a silent visitor.
const PATIENCE: Duration = Duration::from_secs(1);

/// Listens until stdin ends.
pub(super) fn main(folder: &str) -> ExitCode {
    let folder = PathBuf::from(folder);
    match listen(&folder) {
        Ok(world) => {
            let ready = folder.join("world.new");
            let there = fs::write(&ready, world).and_then(|()| fs::rename(&ready, folder.join("world")));
            if there.is_err() {
                return ExitCode::FAILURE;
            }
            let _ = io::stdin().read_to_end(&mut Vec::new());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("outside: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Records a visit.
fn visit(log: &Path, who: &str, said: &[u8]) {
    let line = format!("{who}: {}\n", String::from_utf8_lossy(said).escape_debug());
    let _ = OpenOptions::new()
        .create(true)
        .append(true)
        .open(log)
        .and_then(|mut log| log.write_all(line.as_bytes()));
}

fn listen(folder: &Path) -> io::Result<String> {
    let log = folder.join("visits");
    let mut world = String::new();
    for (key, address) in [("tcp", "127.0.0.1:0"), ("tcp6", "[::1]:0"), ("listed", "127.0.0.1:0")] {
        // A machine without IPv6 has nothing to attack there.
        let Ok(listener) = TcpListener::bind(address) else { continue };
        world.push_str(&format!("{key}={}\n", listener.local_addr()?.port()));
        let log = log.clone();
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let _ = stream.set_read_timeout(Some(PATIENCE));
                // Answer before any request, so that the visitor has proof and nothing blocks.
                let _ = stream.write_all(b"welcome\n");
                let log = log.clone();
                thread::spawn(move || {
                    let mut said = [0; 64];
                    let length = stream.read(&mut said).unwrap_or(0);
                    visit(&log, key, &said[..length]);
                });
            }
        });
    }
    for (key, address) in [("udp", "127.0.0.1:0"), ("udp6", "[::1]:0")] {
        let Ok(open) = UdpSocket::bind(address) else { continue };
        world.push_str(&format!("{key}={}\n", open.local_addr()?.port()));
        let log = log.clone();
        thread::spawn(move || {
            let mut said = [0; 64];
            while let Ok((length, from)) = open.recv_from(&mut said) {
                visit(&log, key, &said[..length]);
                let _ = open.send_to(b"welcome", from);
            }
        });
    }
    let name = format!("acquit-hostile-{}", std::process::id());
    let path = folder.join("door");
    world.push_str(&format!("abstract={name}\nsocket={}\nagent={}\n", path.display(), path.display()));
    stand_in_the_way(folder, &log)?;
    let streams = [
        ("abstract", UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?),
        ("socket", UnixListener::bind(&path)?),
    ];
    for (key, listener) in streams {
        let log = log.clone();
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let _ = stream.set_read_timeout(Some(PATIENCE));
                let _ = stream.write_all(b"welcome\n");
                let mut said = [0; 64];
                let length = stream.read(&mut said).unwrap_or(0);
                visit(&log, key, &said[..length]);
            }
        });
    }
    let datagrams = [
        (
            "abstract datagram",
            UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(format!("{name}-d"))?)?,
        ),
        ("socket datagram", UnixDatagram::bind(format!("{}-d", path.display()))?),
    ];
    for (key, open) in datagrams {
        let log = log.clone();
        thread::spawn(move || {
            let mut said = [0; 64];
            while let Ok(length) = open.recv(&mut said) {
                visit(&log, key, &said[..length]);
            }
        });
    }
    if let Ok(terminal) = terminal(&log) {
        world.push_str(&format!("terminal={terminal}\n"));
    }
    Ok(world)
}

/// Creates sockets and short-lived files in folders that every program can see. `folder/doors` lists the folders.
fn stand_in_the_way(folder: &Path, log: &Path) -> io::Result<()> {
    let list = fs::read_to_string(folder.join("doors")).unwrap_or_default();
    for place in list.lines().map(PathBuf::from) {
        let (stream, datagram) =
            (UnixListener::bind(place.join("door"))?, UnixDatagram::bind(place.join("door-d"))?);
        let (first, second) = (log.to_owned(), log.to_owned());
        thread::spawn(move || {
            for mut visitor in stream.incoming().flatten() {
                let _ = visitor.write_all(b"welcome\n");
                visit(&first, "socket in a shown folder", b"");
            }
        });
        thread::spawn(move || {
            while datagram.recv(&mut [0; 64]).is_ok() {
                visit(&second, "datagram in a shown folder", b"");
            }
        });
    }
    if let Some(place) = list.lines().next().map(PathBuf::from) {
        thread::spawn(move || {
            loop {
                for name in ["hidden", "later"] {
                    let _ = fs::copy(place.join("source"), place.join("new"));
                    let _ = fs::rename(place.join("new"), place.join(name));
                }
                thread::sleep(Duration::from_millis(50));
                let _ = fs::remove_file(place.join("later"));
            }
        });
    }
    Ok(())
}

/// Creates a terminal, and records what is written to it.
fn terminal(log: &Path) -> io::Result<String> {
    const UNLOCK: i64 = 0x4004_5431;
    const NUMBER: i64 = 0x8004_5430;
    let mut master =
        OpenOptions::new().read(true).write(true).custom_flags(libc::O_NOCTTY).open("/dev/ptmx")?;
    let raw = std::os::fd::AsRawFd::as_raw_fd(&master);
    let (mut unlocked, mut number) = ([0_u8; 4], [0_u8; 4]);
    call(libc::SYS_ioctl, &mut [Arg::N(raw.into()), Arg::N(UNLOCK), Arg::B(&mut unlocked)])?;
    call(libc::SYS_ioctl, &mut [Arg::N(raw.into()), Arg::N(NUMBER), Arg::B(&mut number)])?;
    let path = format!("/dev/pts/{}", u32::from_ne_bytes(number));
    // Keep it open, or reading the other side fails until someone opens it.
    let slave = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NOCTTY).open(&path)?;
    let log = log.to_owned();
    thread::spawn(move || {
        let _held = slave;
        let mut said = [0; 64];
        while let Ok(length) = master.read(&mut said) {
            visit(&log, "terminal", &said[..length]);
        }
    });
    Ok(path)
}
