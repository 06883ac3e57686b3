//! A relay in front of a PostgreSQL server that breaks a connection at a transaction's commit: right before the commit
//! reaches the server, or right after the server has committed and before the client knows.
//!
//! Listens on a Unix socket in its own folder, and forwards to that of the server.
#![allow(clippy::disallowed_methods, reason = "a relay that only tests use")]

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Name of a server's socket in its folder.
const SOCKET: &str = ".s.PGSQL.5432";

/// Code with which a client asks for an encrypted connection.
const ENCRYPTED: u32 = 80_877_103;

/// The side of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The commit never reaches the server.
    Before,
    /// The server has committed, and the client does not get the answer.
    After,
}

/// A running relay.
pub struct Border {
    folder: tempfile::TempDir,
    /// URL of the database, from which the relay's URL is made.
    url: String,
    commits: Arc<AtomicU32>,
}

impl Border {
    /// Starts a relay to the server of this URL, which names the folder of its socket. Breaks the connection of commit
    /// number `which`, counted over all connections from 1; 0 breaks none.
    ///
    /// # Panics
    ///
    /// If the URL names no folder.
    #[track_caller]
    pub fn new(url: &str, which: u32, moment: Moment) -> Self {
        let server = host(url).join(SOCKET);
        let folder = tempfile::Builder::new().prefix("acquit-border-").tempdir().expect("a folder");
        let listener = UnixListener::bind(folder.path().join(SOCKET)).expect("a socket");
        let commits = Arc::new(AtomicU32::new(0));
        let border = Self { folder, url: url.to_owned(), commits: Arc::clone(&commits) };
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = UnixStream::connect(&server) else { continue };
                relay(client, server, Arc::clone(&commits), which, moment);
            }
        });
        border
    }

    /// Returns the URL of the database through the relay.
    pub fn url(&self) -> String {
        let old = host(&self.url);
        self.url.replace(&*old.to_string_lossy(), &self.folder.path().to_string_lossy())
    }

    /// Returns the number of commits so far.
    pub fn commits(&self) -> u32 {
        self.commits.load(Ordering::SeqCst)
    }
}

/// Returns the folder that a URL names as its host.
#[track_caller]
fn host(url: &str) -> PathBuf {
    let (_, query) = url.split_once('?').expect("a URL with parameters");
    let host = query.split('&').find_map(|pair| pair.strip_prefix("host=")).expect("a folder as the host");
    Path::new(host).to_owned()
}

fn relay(client: UnixStream, server: UnixStream, commits: Arc<AtomicU32>, which: u32, moment: Moment) {
    let silent = Arc::new(AtomicBool::new(false));
    let pair = || (client.try_clone().expect("a socket"), server.try_clone().expect("a socket"));
    let (mut from, mut to) = pair();
    let swallow = Arc::clone(&silent);
    std::thread::spawn(move || {
        let _ = forward(&mut from, &mut to, || {
            let is_it = commits.fetch_add(1, Ordering::SeqCst) + 1 == which;
            match moment {
                Moment::Before if is_it => return false,
                Moment::After if is_it => swallow.store(true, Ordering::SeqCst),
                Moment::Before | Moment::After => {}
            }
            true
        });
        end(&from, &to);
    });
    let (mut to, mut from) = pair();
    std::thread::spawn(move || {
        let _ = backward(&mut from, &mut to, &silent);
        end(&from, &to);
    });
}

fn end(one: &UnixStream, other: &UnixStream) {
    let _ = one.shutdown(Shutdown::Both);
    let _ = other.shutdown(Shutdown::Both);
}

/// Forwards the client's messages one by one. Asks before each commit, and ends if it must not pass.
fn forward(
    from: &mut UnixStream,
    to: &mut UnixStream,
    mut commit: impl FnMut() -> bool,
) -> std::io::Result<()> {
    // The first message has no type byte; neither does a preceding request for encryption.
    loop {
        let first = message(from, &[])?;
        to.write_all(&first)?;
        if first.get(4..8) != Some(&ENCRYPTED.to_be_bytes()[..]) {
            break;
        }
    }
    loop {
        let mut letter = [0];
        from.read_exact(&mut letter)?;
        let message = message(from, &letter)?;
        if letter[0] == b'Q' && message[5..].eq_ignore_ascii_case(b"commit\0") && !commit() {
            return Ok(());
        }
        to.write_all(&message)?;
    }
}

/// Reads the rest of a message: its length, which includes itself, and its content.
fn message(from: &mut UnixStream, letter: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let size = (u32::from_be_bytes(length) as usize).saturating_sub(4);
    let mut message = [letter, &length[..]].concat();
    let head = message.len();
    message.resize(head + size, 0);
    from.read_exact(&mut message[head..])?;
    Ok(message)
}

/// Forwards the server's messages, until the answer to a commit that the client must not get.
fn backward(from: &mut UnixStream, to: &mut UnixStream, silent: &AtomicBool) -> std::io::Result<()> {
    let mut buffer = vec![0; 65536];
    let mut unheard = Vec::new();
    loop {
        let size = from.read(&mut buffer)?;
        if size == 0 {
            return Ok(());
        }
        if !silent.load(Ordering::SeqCst) {
            to.write_all(&buffer[..size])?;
            continue;
        }
        unheard.extend_from_slice(&buffer[..size]);
        if unheard.windows(6).any(|window| window == b"COMMIT") {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use postgres::{Client, NoTls};

    use super::*;
    use crate::postgres::database_or_skip;

    #[test]
    fn a_commit_is_lost_before_it_happens_or_its_answer_after() {
        let Some(database) = database_or_skip("a relay before a server") else { return };
        database.execute("create table seen (number int)");
        for (moment, rows) in [(Moment::Before, 0), (Moment::After, 1)] {
            let border = Border::new(&database.url, 2, moment);
            let mut client = Client::connect(&border.url(), NoTls).expect("a connection");
            for expected in [true, false] {
                let mut transaction = client.transaction().expect("a transaction");
                transaction.execute("insert into seen values (7)", &[]).expect("a row");
                assert_eq!(transaction.commit().is_ok(), expected, "{moment:?}");
            }
            assert_eq!(border.commits(), 2);
            assert_eq!(database.execute("delete from seen"), 1 + rows, "{moment:?}");
        }
    }
}
