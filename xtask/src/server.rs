//! A private PostgreSQL server for one run of the tests: starts empty, listens on a Unix socket only, and is removed
//! afterwards.
//!
//! A small shell script supervises it. It creates the cluster, starts it, prints `ready`, and then waits on its
//! stdin, whose other end only we hold. When we drop it, are interrupted or are killed, stdin ends, and the script
//! stops the server and removes its directory. This needs no signal handler, so none can be missed. The script has
//! its own process group, so that Ctrl-C in the terminal reaches us and not it.
#![allow(clippy::disallowed_methods, reason = "chown and spawn for a server that only the tests use")]

use std::fmt::Write;
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Stdio};

use crate::scratch::{self, Medium};
use crate::{Stop, shell};

/// Runs as the user that owns the cluster. `$1` is the directory, `$2` the path of the server's programs.
///
/// `fsync` and related settings are off because the data is worthless after the run: a power cut loses only the
/// tests. Tests of *server* crashes still work, since recovery from a process crash does not need them. 200
/// connections leave room for racing claimers in tests that run in parallel.
const SUPERVISOR: &str = r#"
dir=$1 bin=$2
end() {
    "$bin/pg_ctl" -D "$dir/data" -m immediate -w -s stop
    cd / && rm -rf "$dir"
} >/dev/null 2>&1
trap end EXIT
trap 'exit 1' HUP INT TERM
fail() { tail -n 20 "$dir/log"; exit 1; }
"$bin/initdb" -D "$dir/data" -U acquit -A trust -E UTF8 --locale=C --no-sync >"$dir/log" 2>&1 || fail
cat >>"$dir/data/postgresql.conf" <<END
listen_addresses = ''
unix_socket_directories = '$dir'
port = 5432
max_connections = 200
fsync = off
synchronous_commit = off
full_page_writes = off
END
"$bin/pg_ctl" -D "$dir/data" -w -t 60 -s -l "$dir/log" start >>"$dir/log" 2>&1 || fail
echo ready
read -r _
"#;

/// A running server. It ends when this is dropped or this process is gone.
pub(crate) struct Server {
    supervisor: Child,
    /// URL of its maintenance database, as user `acquit`, who may create others.
    pub(crate) url: String,
    pub(crate) medium: Medium,
    log: std::path::PathBuf,
}

impl Server {
    pub(crate) fn start() -> Result<Self, Stop> {
        let bin = acquit_testkit::postgres::programs()
            .ok_or_else(|| Stop("no PostgreSQL server was found".to_owned()))?;
        // Only the owner (and root) may enter the directory: anyone who reaches the socket is a superuser of the
        // server.
        let (dir, medium) = scratch::folder("acquit-postgres-")?;
        let mut command = shell::program("sh");
        command.args(["-c", SUPERVISOR, "supervisor"]).arg(dir.path()).arg(bin);
        command.env("LC_ALL", "C").current_dir(dir.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        if rustix::process::geteuid().is_root() {
            // PostgreSQL refuses to run as root.
            let (uid, gid) = lesser_user()?;
            std::os::unix::fs::chown(dir.path(), Some(uid), Some(gid))
                .map_err(Stop::doing("give PostgreSQL its folder"))?;
            command.uid(uid).gid(gid);
        }
        let supervisor = command.spawn().map_err(Stop::doing("start PostgreSQL"))?;
        // From here on the supervisor removes the directory: it outlives us if we are killed.
        let dir = dir.keep();
        let mut server = Self { supervisor, url: url(&dir), medium, log: dir.join("log") };
        server.wait_until_ready()?;
        Ok(server)
    }

    /// Returns what the server has logged so far.
    pub(crate) fn log(&self) -> Result<String, Stop> {
        std::fs::read_to_string(&self.log).map_err(Stop::doing("read the log of PostgreSQL"))
    }

    /// Waits for the supervisor's only output: `ready`, or the end of the log. `pg_ctl -t` limits this wait.
    fn wait_until_ready(&mut self) -> Result<(), Stop> {
        let Some(out) = self.supervisor.stdout.take() else {
            return Err(Stop("PostgreSQL's supervisor has no output".to_owned()));
        };
        let mut said = String::new();
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            if line == "ready" {
                return Ok(());
            }
            said.push_str("\n    ");
            said.push_str(&line);
        }
        Err(Stop(format!("PostgreSQL did not start; the end of its log:{said}")))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.supervisor.stdin.take());
        // An immediate stop kills processes that do not exit within five seconds, so this ends.
        let _ = self.supervisor.wait();
    }
}

fn url(dir: &Path) -> String {
    let mut host = String::new();
    for &byte in dir.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte) {
            host.push(char::from(byte));
        } else {
            let _ = write!(host, "%{byte:02X}");
        }
    }
    format!("postgres:///postgres?host={host}&user=acquit")
}

/// Returns an unprivileged user of this machine: `postgres`, else `nobody`.
fn lesser_user() -> Result<(u32, u32), Stop> {
    let number = |flag: &str, name: &str| -> Option<u32> {
        shell::first_line(shell::program("id").args([flag, name]))?.parse().ok()
    };
    ["postgres", "nobody"].iter().find_map(|name| number("-u", name).zip(number("-g", name))).ok_or_else(
        || Stop("PostgreSQL refuses to run as root, and there is no user `postgres` or `nobody`".to_owned()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_odd_letters_gives_a_url() {
        let odd = url(Path::new("/tmp/a b&c/é"));
        assert_eq!(odd, "postgres:///postgres?host=/tmp/a%20b%26c/%C3%A9&user=acquit");
    }
}
