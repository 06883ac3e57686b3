//! TLS to a real PostgreSQL, with certificates that openssl makes.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test starts its own server, and fails where something is wrong"
)]

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use acquit_store::{Clock, Location, OpenError};

/// Makes two authorities, certificates for the server and a client, and a server that takes only TLS. It ends with its input.
const SUPERVISOR: &str = r#"
set -e
dir=$1 bin=$2 port=$3
cd "$dir"
end() { "$bin/pg_ctl" -D data -m immediate -w -s stop; cd / && rm -rf "$dir"; } >/dev/null 2>&1
trap end EXIT
trap 'exit 1' HUP INT TERM
exec 3>&1 >log 2>&1
authority() {
    openssl req -x509 -newkey rsa:2048 -nodes -keyout "$1.key" -out "$1.pem" -days 2 -subj "/CN=$1" \
        -addext basicConstraints=critical,CA:TRUE
}
signed() { # name, subject, extension
    openssl req -newkey rsa:2048 -nodes -keyout "$1.key" -out "$1.csr" -subj "$2"
    printf '%s\n' "$3" >"$1.ext"
    openssl x509 -req -in "$1.csr" -CA root.pem -CAkey root.key -CAcreateserial -days 2 -out "$1.pem" -extfile "$1.ext"
}
authority root
authority other
signed server /CN=localhost subjectAltName=DNS:localhost
signed client /CN=acquit extendedKeyUsage=clientAuth
chmod 600 server.key client.key
echo hunter2 >password
"$bin/initdb" -D data -U acquit -A scram-sha-256 --pwfile=password -E UTF8 --locale=C --no-sync
cat >>data/postgresql.conf <<END
listen_addresses = 'localhost,127.0.0.1'
port = $port
unix_socket_directories = '$dir'
fsync = off
ssl = on
ssl_cert_file = '$dir/server.pem'
ssl_key_file = '$dir/server.key'
ssl_ca_file = '$dir/root.pem'
END
cat >data/pg_hba.conf <<END
local all all scram-sha-256
hostnossl all all all reject
hostssl template1 all all scram-sha-256 clientcert=verify-ca
hostssl all all all scram-sha-256
END
"$bin/pg_ctl" -D data -w -t 60 -s -l server.log start
echo ready >&3
read -r _
"#;

struct Server {
    supervisor: Child,
    folder: PathBuf,
    port: u16,
}

impl Server {
    fn start() -> Option<Self> {
        let reason = "TLS to PostgreSQL";
        acquit_testkit::postgres::url_or_skip(reason)?;
        let programs = std::fs::read_dir("/usr/lib/postgresql").ok().and_then(|versions| {
            let bin = versions
                .flatten()
                .map(|version| version.path().join("bin"))
                .find(|bin| bin.join("initdb").exists());
            bin.or_else(|| which("initdb"))
        });
        let bin = acquit_testkit::need::or_skip(programs, "the programs of a PostgreSQL server", reason)?;
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let folder = tempfile::tempdir().unwrap().keep();
        let mut command = Command::new("sh");
        command.args(["-c", SUPERVISOR, "supervisor"]).arg(&folder).arg(bin).arg(port.to_string());
        command.env("LC_ALL", "C").stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        if number("-u", &[]) == 0 {
            let (uid, gid) = (number("-u", &["postgres"]), number("-g", &["postgres"]));
            chown(&folder, Some(uid), Some(gid)).unwrap();
            command.uid(uid).gid(gid);
        }
        let mut supervisor = command.spawn().unwrap();
        let said = BufReader::new(supervisor.stdout.take().unwrap()).lines().next();
        let log = || std::fs::read_to_string(folder.join("log")).unwrap_or_default();
        assert!(matches!(said, Some(Ok(line)) if line == "ready"), "{}", log());
        Some(Self { supervisor, folder, port })
    }

    fn open(&self, host: &str, database: &str, query: &str) -> Result<(), OpenError> {
        let query = query.replace("DIR", &self.folder.display().to_string());
        let url = format!("postgres://acquit:hunter2@{host}:{}/{database}?{query}", self.port);
        let mut store = acquit_store::open(&Location::parse(&url), Clock::System)?;
        store.reserve().unwrap();
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.supervisor.stdin.take());
        let _ = self.supervisor.wait();
    }
}

fn number(flag: &str, user: &[&str]) -> u32 {
    let output = Command::new("id").arg(flag).args(user).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
}

fn which(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).find(|folder| folder.join(program).exists())
}

#[test]
fn each_mode_checks_what_it_promises() {
    let Some(server) = Server::start() else { return };
    let full = "sslmode=verify-full&sslrootcert=DIR/root.pem";
    let client = "&sslcert=DIR/client.pem&sslkey=DIR/client.key";
    for (host, database, query, works) in [
        ("localhost", "postgres", "sslmode=disable", false),
        ("localhost", "postgres", "", true),
        ("localhost", "postgres", "sslmode=require", true),
        ("localhost", "postgres", full, true),
        ("localhost", "postgres", &format!("{full}&channel_binding=require"), true),
        ("127.0.0.1", "postgres", full, false),
        ("127.0.0.1", "postgres", "sslmode=verify-ca&sslrootcert=DIR/root.pem", true),
        ("localhost", "postgres", "sslmode=verify-full&sslrootcert=DIR/other.pem", false),
        ("localhost", "postgres", "sslmode=verify-ca&sslrootcert=DIR/other.pem", false),
        ("localhost", "postgres", "sslmode=require&sslrootcert=DIR/other.pem", false),
        ("localhost", "postgres", "sslmode=verify-full", false),
        ("localhost", "template1", full, false),
        ("localhost", "template1", &format!("{full}{client}"), true),
    ] {
        let result = server.open(host, database, query);
        assert_eq!(result.is_ok(), works, "{host}/{database}?{query}: {result:?}");
        if let Err(error) = result {
            let words = format!("{error:?}");
            assert!(!words.contains("hunter2"), "the password is shown: {words}");
        }
    }
}
