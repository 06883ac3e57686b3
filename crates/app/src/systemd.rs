//! Sends messages to systemd: the daemon is ready, is alive, or stops.
//!
//! systemd sets `NOTIFY_SOCKET` for units with `Type=notify`. Without it, nothing is sent. A message that cannot be
//! sent is dropped: then systemd restarts the daemon, which loses nothing.

use std::ffi::OsStr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use acquit_run::runtime::Environment;

/// Connection to systemd, if it started this process.
pub(crate) struct Systemd(Option<(UnixDatagram, SocketAddr)>);

impl Systemd {
    /// Finds the socket in the environment.
    pub(crate) fn of(environment: &Environment) -> Self {
        let address = environment.get("NOTIFY_SOCKET").and_then(address);
        let socket = UnixDatagram::unbound().and_then(|socket| socket.set_nonblocking(true).map(|()| socket));
        Self(address.zip(socket.ok()).map(|(address, socket)| (socket, address)))
    }

    /// Reports that the daemon has opened its store and starts.
    pub(crate) fn ready(&self) {
        self.send("READY=1");
    }

    /// Reports that the daemon is alive. systemd restarts a daemon that is silent for longer than the unit's
    /// `WatchdogSec`.
    pub(crate) fn alive(&self) {
        self.send("WATCHDOG=1");
    }

    /// Reports that the daemon was asked to stop.
    pub(crate) fn stopping(&self) {
        self.send("STOPPING=1");
    }

    fn send(&self, message: &str) {
        if let Some((socket, address)) = &self.0 {
            let _ = socket.send_to_addr(message.as_bytes(), address);
        }
    }
}

/// Parses the address in the variable: a path, or a name in the abstract namespace after `@`.
fn address(text: &OsStr) -> Option<SocketAddr> {
    match text.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name).ok(),
        [b'/', ..] => SocketAddr::from_pathname(text).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(variable: &str, listener: &UnixDatagram) -> Vec<String> {
        let systemd = Systemd::of(&Environment::new([("NOTIFY_SOCKET".into(), variable.into())]));
        systemd.ready();
        systemd.alive();
        systemd.stopping();
        listener.set_nonblocking(true).unwrap();
        let mut buffer = [0; 64];
        std::iter::from_fn(|| listener.recv(&mut buffer).ok().map(|count| buffer[..count].to_vec()))
            .map(|message| String::from_utf8(message).unwrap())
            .collect()
    }

    #[test]
    fn systemd_hears_of_begin_life_and_end_on_both_kinds_of_socket() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let listener = UnixDatagram::bind(&path).unwrap();
        let all = ["READY=1", "WATCHDOG=1", "STOPPING=1"];
        assert_eq!(messages(path.to_str().unwrap(), &listener), all);
        let name = format!("acquit-test-{}", std::process::id());
        let listener = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        assert_eq!(messages(&format!("@{name}"), &listener), all);
    }

    #[test]
    fn nothing_happens_without_a_socket_or_with_one_that_nobody_reads() {
        for variable in ["", "relative", "/nowhere/at/all", "vsock:2:1234"] {
            let systemd = Systemd::of(&Environment::new([("NOTIFY_SOCKET".into(), variable.into())]));
            systemd.ready();
        }
        Systemd::of(&Environment::new([])).alive();
    }
}
