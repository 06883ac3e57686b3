//! Hosts in separate network namespaces, on one switch, whose links a test can cut, slow down and heal.
//!
//! A namespace lives as long as the small process that holds it, and that process ends with its standard input, whose
//! other end only this process has. So nothing remains of a network, even if the test is killed: no name below
//! `/run/netns`, no interface, no process. Addresses exist in these namespaces only. Hosts share files and Unix
//! sockets, so a test can reach a server whatever the state of its links.
#![allow(
    clippy::disallowed_methods,
    reason = "namespaces are made by programs of the system, for tests only"
)]

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use crate::need;

/// Holds a namespace until its standard input ends.
const HOLDER: &str = "echo ready; read -r _";

/// Programs that a network needs.
const PROGRAMS: [&str; 5] = ["ip", "tc", "nsenter", "unshare", "setpriv"];

/// A network namespace.
struct Namespace(Child);

impl Namespace {
    fn new() -> Self {
        let mut command = Command::new("unshare");
        command.args(["--net", "sh", "-c", HOLDER]).stdin(Stdio::piped()).stdout(Stdio::piped());
        // A signal for the group of the test, such as Ctrl-C, ends the test first and then this.
        let mut holder = command.process_group(0).spawn().expect("unshare starts");
        let out = holder.stdout.take().expect("its output");
        let first = BufReader::new(out).lines().next();
        assert!(matches!(first, Some(Ok(ref line)) if line == "ready"), "no network namespace could be made");
        Self(holder)
    }

    /// Returns a command for a program inside.
    fn program(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--target={}", self.0.id())).arg("--net").arg("--").arg(program);
        command
    }

    /// Runs `ip` or `tc` inside. Returns its error message if it failed.
    fn run(&self, words: &str) -> Result<(), String> {
        let mut words = words.split_whitespace();
        let program = words.next().expect("a program");
        let ran = self.program(program).args(words).output().expect("nsenter starts");
        if ran.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&ran.stderr).into_owned()) }
    }

    #[track_caller]
    fn must(&self, words: &str) {
        self.run(words).unwrap_or_else(|error| panic!("{words}: {error}"));
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// A switch that connects hosts.
pub struct Network {
    switch: Namespace,
    hosts: std::cell::Cell<u8>,
}

impl Network {
    /// Creates a switch. Fails or skips the test if a program is missing, and skips it if this user has no permission
    /// to create a network.
    #[track_caller]
    pub fn or_skip(reason: &str) -> Option<Self> {
        for program in PROGRAMS {
            need::program(program, reason)?;
        }
        let may = Command::new("unshare").args(["--net", "true"]).stderr(Stdio::null()).status();
        if !may.is_ok_and(|status| status.success()) {
            need::skip("the right to make network namespaces (root)", reason);
            return None;
        }
        let switch = Namespace::new();
        switch.must("ip link add name switch type bridge");
        switch.must("ip link set switch up");
        Some(Self { switch, hosts: std::cell::Cell::new(0) })
    }

    /// Connects a new host.
    #[track_caller]
    pub fn host(&self) -> Host<'_> {
        let number = self.hosts.get() + 1;
        self.hosts.set(number);
        let host = Host { network: self, namespace: Namespace::new(), number };
        let (port, pid) = (host.port(), host.namespace.0.id());
        self.switch.must(&format!("ip link add name {port} type veth peer name eth0 netns {pid}"));
        self.switch.must(&format!("ip link set {port} master switch up"));
        host.namespace.must("ip link set lo up");
        host.namespace.must(&format!("ip addr add {}/24 dev eth0", host.address()));
        host.namespace.must("ip link set eth0 up");
        host
    }
}

/// A host.
pub struct Host<'n> {
    network: &'n Network,
    namespace: Namespace,
    number: u8,
}

impl Host<'_> {
    /// Returns its address, which exists in this network only.
    pub fn address(&self) -> String {
        format!("10.83.0.{}", self.number)
    }

    fn port(&self) -> String {
        format!("port{}", self.number)
    }

    /// Returns a command for a program on this host.
    pub fn program(&self, program: impl AsRef<OsStr>) -> Command {
        self.namespace.program(program)
    }

    /// Returns the same command on this host: program, arguments, folder and variables.
    pub fn command(&self, command: &Command) -> Command {
        let mut inside = self.namespace.program(command.get_program());
        inside.args(command.get_args()).env_clear();
        inside.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        if let Some(folder) = command.get_current_dir() {
            inside.current_dir(folder);
        }
        inside
    }

    /// Cuts its link: packets vanish in both directions, without an error.
    #[track_caller]
    pub fn cut(&self) {
        self.network.switch.must(&format!("ip link set {} nomaster", self.port()));
    }

    /// Slows its link down in both directions: by a delay and packet loss if the kernel supports them, else by a narrow
    /// pipe.
    #[track_caller]
    pub fn slow(&self) {
        for (end, device) in [(&self.network.switch, self.port()), (&self.namespace, "eth0".to_owned())] {
            let device = format!("tc qdisc add dev {device} root");
            end.run(&format!("{device} netem delay 60ms 20ms loss 3%"))
                .or_else(|_| end.run(&format!("{device} tbf rate 400kbit burst 4000 latency 500ms")))
                .unwrap_or_else(|error| panic!("{device}: {error}"));
        }
    }

    /// Removes the cut and the slowdown of its link.
    #[track_caller]
    pub fn heal(&self) {
        let port = self.port();
        self.network.switch.must(&format!("ip link set {port} master switch up"));
        // It may not have been slow.
        let _ = self.network.switch.run(&format!("tc qdisc del dev {port} root"));
        let _ = self.namespace.run("tc qdisc del dev eth0 root");
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    /// Sends a megabyte to the address; returns the duration, if it arrived within five seconds.
    fn sent(from: &Host<'_>, to: &Host<'_>) -> Option<Duration> {
        let script = format!(
            "import socket; s = socket.create_connection(('{}', 9), 2); s.settimeout(5); s.sendall(b'x' * 1000000); \
             s.shutdown(1); s.recv(1)",
            to.address()
        );
        let begin = Instant::now();
        let sent = from.program("python3").args(["-c", &script]).stderr(Stdio::null()).status();
        sent.expect("python starts").success().then(|| begin.elapsed())
    }

    #[test]
    fn links_are_cut_slowed_and_healed_and_nothing_is_left() {
        let Some(network) = Network::or_skip("hosts in network namespaces") else { return };
        let (one, other) = (network.host(), network.host());
        let script = "import socket\ns = socket.create_server(('0.0.0.0', 9))\nprint('ready', flush=True)\n\
                      while True:\n c = s.accept()[0]\n while c.recv(65536): pass\n c.sendall(b'.'); c.close()";
        let mut server = other
            .program("python3")
            .args(["-c", script])
            .stdout(Stdio::piped())
            .spawn()
            .expect("python starts");
        let out = server.stdout.take().expect("its output");
        BufReader::new(out).lines().next();
        let fast = sent(&one, &other).expect("a link");
        other.cut();
        assert_eq!(sent(&one, &other), None, "it was cut");
        other.heal();
        assert!(sent(&one, &other).is_some(), "it was healed");
        other.slow();
        assert!(sent(&one, &other).is_none_or(|took| took > 2 * fast), "it was slowed: {fast:?}");
        other.heal();
        assert!(sent(&one, &other).is_some(), "it was healed");
        let _ = server.kill();
        let _ = server.wait();
        let holder = one.namespace.0.id();
        drop((one, other));
        assert!(!std::path::Path::new(&format!("/proc/{holder}/ns/net")).exists());
    }
}
