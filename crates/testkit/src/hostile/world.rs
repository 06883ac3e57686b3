//! The attacker's knowledge of the world outside: paths, numbers, addresses, in a file of `key=value` lines.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Prefix of all canaries. An attacker prints only canaries of the files that it reads.
pub const MARK: &str = "CANARY-";

/// Number of bytes that an attacker reads of a file.
const LOOK: u64 = 1024 * 1024;

/// The world outside.
#[derive(Debug, Default)]
pub struct World(BTreeMap<String, String>);

impl World {
    /// Reads the file. Missing values are empty, and fail in the attack that needs them.
    pub(super) fn read(file: &str) -> Self {
        let text = fs::read_to_string(file).unwrap_or_default();
        Self(
            text.lines().filter_map(|line| line.split_once('=')).map(|(k, v)| (k.into(), v.into())).collect(),
        )
    }

    pub(super) fn text(&self, key: &str) -> &str {
        self.0.get(key).map_or("", String::as_str)
    }

    pub(super) fn path(&self, key: &str) -> PathBuf {
        PathBuf::from(self.text(key))
    }

    pub(super) fn port(&self, key: &str) -> u16 {
        self.text(key).parse().unwrap_or(0)
    }

    /// Returns whether this process has other namespaces than the one that wrote the file, so that bombs, mounts and
    /// signals to all processes stay inside.
    pub(super) fn shut_in(&self) -> bool {
        ["pid", "user", "mnt"].iter().all(|kind| {
            let own = fs::read_link(format!("/proc/self/ns/{kind}")).unwrap_or_default();
            let own = own.to_string_lossy();
            own.starts_with(kind) && own != self.text(&format!("ns-{kind}"))
        })
    }

    pub(super) fn pid(&self, key: &str) -> i32 {
        self.text(key).parse().unwrap_or(0)
    }
}

/// Reads a file. Returns only its canaries or its length.
pub(super) fn look(path: impl AsRef<Path>) -> io::Result<String> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut bytes = Vec::new();
    let file =
        fs::OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    file.take(LOOK).read_to_end(&mut bytes)?;
    Ok(canaries(&bytes).unwrap_or_else(|| format!("{} bytes", bytes.len())))
}

/// Returns the first canary in bytes.
pub(super) fn canaries(bytes: &[u8]) -> Option<String> {
    let at = bytes.windows(MARK.len()).position(|window| window == MARK.as_bytes())?;
    let word = bytes[at..].iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'-');
    Some(word.map(|byte| char::from(*byte)).collect())
}
