//! A PostgreSQL primary with a streaming standby, each on a host of a [`Network`](crate::network::Network).
//!
//! Replication is synchronous: the standby has everything that the primary has acknowledged. Both listen on their
//! host's address and on a Unix socket, through which a test reaches them whatever the state of their links.
#![allow(clippy::disallowed_methods, reason = "a server that only tests use is started by them")]

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use postgres::{Client, NoTls};

pub use postgres::Row;

use crate::network::Host;
use crate::{need, postgres as databases};

/// Time limit for a server to answer after its start.
const START: Duration = Duration::from_secs(30);

/// Poll interval.
const LOOK: Duration = Duration::from_millis(20);

/// One of the two servers.
struct Server<'n> {
    host: &'n Host<'n>,
    folder: PathBuf,
    process: Option<Child>,
}

/// A primary and its standby.
pub struct Replicated<'n> {
    servers: [Server<'n>; 2],
    primary: usize,
    programs: PathBuf,
    user: Option<(u32, u32)>,
    _dir: tempfile::TempDir,
}

impl<'n> Replicated<'n> {
    /// Starts both. Fails or skips the test if there is no PostgreSQL.
    #[track_caller]
    pub fn or_skip(first: &'n Host<'n>, second: &'n Host<'n>, reason: &str) -> Option<Self> {
        let programs = need::or_skip(databases::programs(), "a PostgreSQL server", reason)?;
        let user = lesser_user();
        let dir = tempfile::Builder::new().prefix("acquit-pair-").tempdir().expect("a folder");
        let server = |host, name: &str| {
            let folder = dir.path().join(name);
            std::fs::create_dir(&folder).expect("a folder");
            Server { host, folder, process: None }
        };
        let servers = [server(first, "first"), server(second, "second")];
        if let Some((uid, gid)) = user {
            for folder in [dir.path(), &servers[0].folder, &servers[1].folder] {
                std::os::unix::fs::chown(folder, Some(uid), Some(gid)).expect("chown");
            }
        }
        let mut pair = Self { servers, primary: 0, programs, user, _dir: dir };
        let data = pair.servers[0].folder.join("data");
        let mut initdb = pair.plain("initdb");
        initdb.arg("-D").arg(&data);
        must(initdb.args(["-U", "acquit", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]));
        append(&data.join("pg_hba.conf"), "host all,replication all 10.83.0.0/24 trust\n");
        append(
            &data.join("postgresql.conf"),
            "max_connections = 200\nfsync = off\nfull_page_writes = off\nlisten_addresses = '*'\nwal_keep_size = '1GB'\n\
             synchronous_commit = on\nlog_min_messages = fatal\n",
        );
        pair.start(0, &[]);
        let mut backup = pair.plain("pg_basebackup");
        backup.arg("-h").arg(&pair.servers[0].folder).args(["-U", "acquit", "-X", "stream", "-R", "-D"]);
        must(backup.args([&pair.servers[1].folder.join("data")]).args(["--no-sync", "-c", "fast"]));
        let from = pair.servers[0].host.address();
        let info = format!(
            "primary_conninfo = 'host={from} user=acquit connect_timeout=2 application_name=second'\n"
        );
        append(&pair.servers[1].folder.join("data/postgresql.auto.conf"), &info);
        pair.start(1, &[]);
        let mut client = pair.client();
        let set = |client: &mut Client, sql: &str| client.batch_execute(sql).expect(sql);
        until("the standby follows", || {
            let sql = "select 1 from pg_stat_replication where state = 'streaming'";
            client.query_opt(sql, &[]).expect(sql).is_some()
        });
        set(&mut client, "alter system set synchronous_standby_names = '*'");
        set(&mut client, "select pg_reload_conf()");
        Some(pair)
    }

    /// Returns the URL of both for hosts of the network; connections go to the one that accepts writes.
    pub fn url(&self) -> String {
        let [first, second] = [0, 1].map(|which| self.servers[which].host.address());
        format!(
            "postgres://acquit@{first},{second}/postgres?target_session_attrs=read-write&connect_timeout=2"
        )
    }

    /// Returns the same with Unix sockets, for this process and its children.
    pub fn local_url(&self) -> String {
        let [first, second] = [0, 1].map(|which| self.servers[which].folder.display().to_string());
        format!("postgres:///postgres?host={first}&host={second}&user=acquit&target_session_attrs=read-write")
    }

    /// Connects to the server that accepts writes.
    ///
    /// # Panics
    ///
    /// If none accepts writes within `START`.
    #[track_caller]
    pub fn client(&self) -> Client {
        let begin = Instant::now();
        loop {
            match Client::connect(&self.local_url(), NoTls) {
                Ok(client) => return client,
                Err(error) => assert!(begin.elapsed() < START, "no server takes writes: {error:?}"),
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Kills every process of the primary with SIGKILL, the first one first.
    pub fn kill_primary(&mut self) {
        let Some(mut process) = self.servers[self.primary].process.take() else { return };
        // A stopped process cannot start new ones.
        signal("-STOP", process.id());
        let children = children(process.id());
        let _ = process.kill();
        let _ = process.wait();
        children.iter().for_each(|pid| signal("-KILL", *pid));
        // A server does not start while one of them holds the shared memory.
        until("the processes of the server are gone", || children.iter().all(|pid| is_over(*pid)));
    }

    /// Cuts the link of the primary.
    pub fn cut_primary(&self) {
        self.servers[self.primary].host.cut();
    }

    /// Kills one server process of a client, as the kernel does when memory is short: the primary then ends all of
    /// them and recovers.
    pub fn kill_backend(&mut self) {
        let sql = "select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid() limit 1";
        let found =
            Client::connect(&self.local_url(), NoTls).and_then(|mut client| client.query_opt(sql, &[]));
        if let Ok(Some(row)) = found {
            signal("-KILL", row.get::<_, i32>(0).unsigned_abs());
        }
    }

    /// Starts the primary again after [`Self::kill_primary`].
    pub fn restart_primary(&mut self) {
        self.start(self.primary, &[]);
    }

    /// Makes the standby the primary. The old one must be dead or cut off for good.
    #[track_caller]
    pub fn promote(&mut self) {
        self.primary = 1 - self.primary;
        let data = self.servers[self.primary].folder.join("data");
        // No standby follows the new primary, so it must not wait for one.
        let mut settings = self.plain("pg_ctl");
        append(&data.join("postgresql.auto.conf"), "synchronous_standby_names = ''\n");
        must(settings.arg("-D").arg(&data).args(["-s", "reload"]));
        let mut promote = self.plain("pg_ctl");
        must(promote.arg("-D").arg(&data).args(["-w", "-s", "promote"]));
    }

    /// Dumps the primary's data to a file, if it answers.
    pub fn dump(&self, file: &Path) {
        let mut dump = self.plain("pg_dump");
        dump.arg("-h").arg(&self.servers[self.primary].folder).args([
            "-U",
            "acquit",
            "--inserts",
            "postgres",
        ]);
        if let Ok(ran) = dump.output() {
            let _ = std::fs::write(file, ran.stdout);
        }
    }

    /// Starts a server and waits until it accepts connections.
    fn start(&mut self, which: usize, more: &[&str]) {
        let server = &self.servers[which];
        let data = server.folder.join("data");
        // Left by a killed server: its pid may belong to another process by now.
        let _ = std::fs::remove_file(data.join("postmaster.pid"));
        let log = std::fs::OpenOptions::new().create(true).append(true).open(server.folder.join("log"));
        let log = log.expect("a log");
        // It ends with this process, even if that is killed.
        let mut command = server.host.program("setpriv");
        command.arg("--pdeathsig=QUIT");
        if let Some((uid, gid)) = self.user {
            command.args([format!("--reuid={uid}"), format!("--regid={gid}")]).arg("--clear-groups");
        }
        command.arg("--").arg(self.programs.join("postgres"));
        command.arg("-D").arg(&data).arg("-k").arg(&server.folder).args(more);
        command.env_clear().env("PATH", "/usr/bin:/bin").env("LC_ALL", "C").current_dir(&server.folder);
        command.stdin(Stdio::null()).stdout(log.try_clone().expect("a log")).stderr(log).process_group(0);
        let process = command.spawn().expect("the server starts");
        let url = format!("postgres:///postgres?host={}&user=acquit", server.folder.display());
        let folder = server.folder.clone();
        self.servers[which].process = Some(process);
        until("the server answers", || {
            let answer = Client::connect(&url, NoTls);
            answer.is_ok() || {
                let ended = self.servers[which]
                    .process
                    .as_mut()
                    .is_some_and(|it| matches!(it.try_wait(), Ok(Some(_))));
                let log = std::fs::read_to_string(folder.join("log")).unwrap_or_default();
                assert!(!ended, "the server ended: {log}");
                false
            }
        });
    }

    /// Returns a command for a program of the server, as its user, on this machine.
    fn plain(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        command.env_clear().env("PATH", "/usr/bin:/bin").env("LC_ALL", "C");
        command.current_dir(&self.servers[0].folder);
        if let Some((uid, gid)) = self.user {
            command.uid(uid).gid(gid);
        }
        command
    }
}

impl Drop for Replicated<'_> {
    fn drop(&mut self) {
        for which in [0, 1] {
            self.primary = which;
            self.kill_primary();
        }
    }
}

/// Returns an unprivileged user if this process is root, because PostgreSQL refuses to run as root.
fn lesser_user() -> Option<(u32, u32)> {
    let number = |flag: &str, name: &str| -> Option<u32> {
        let output = Command::new("id").args([flag, name]).output().ok()?;
        String::from_utf8_lossy(&output.stdout).trim().parse().ok()
    };
    let own = Command::new("id").arg("-u").output().ok()?;
    if String::from_utf8_lossy(&own.stdout).trim() != "0" {
        return None;
    }
    ["postgres", "nobody"].iter().find_map(|name| number("-u", name).zip(number("-g", name)))
}

/// Sends a signal to a process, which may have ended.
fn signal(which: &str, pid: u32) {
    let _ = Command::new("kill").args([which, &pid.to_string()]).stderr(Stdio::null()).status();
}

/// Returns whether a process has ended, even if its parent has not waited for it.
fn is_over(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['Z', 'X']))
}

/// Returns the child processes of a process.
fn children(parent: u32) -> Vec<u32> {
    let is_child = |stat: &str| {
        let fields =
            stat.rsplit_once(") ").map(|(_, rest)| rest.split(' ').nth(1) == Some(&parent.to_string()));
        fields.unwrap_or(false)
    };
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers
        .filter(|pid| std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| is_child(&stat)))
        .collect()
}

#[track_caller]
fn must(command: &mut Command) {
    let ran = command.output().expect("it starts");
    assert!(ran.status.success(), "{command:?}: {}", String::from_utf8_lossy(&ran.stderr));
}

#[track_caller]
fn append(path: &Path, text: &str) {
    let mut file = std::fs::OpenOptions::new().append(true).open(path).expect("a file of the server");
    std::io::Write::write_all(&mut file, text.as_bytes()).expect("room on the disk");
}

#[track_caller]
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < START, "not within {START:?}: {what}");
        std::thread::sleep(LOOK);
    }
}
