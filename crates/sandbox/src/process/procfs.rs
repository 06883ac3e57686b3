//! Parses `/proc/<pid>/stat`.

use std::fs;
use std::io;

/// The fields we need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) state: u8,
    pub(super) parent: i32,
    /// Start time in clock ticks since boot.
    pub(super) start: u64,
    /// Start of its stack. 0 if this process has no permission to read it.
    pub(super) stack: u64,
}

impl Stat {
    /// Reads the entry of a process. `None` if it does not exist.
    pub(super) fn of(pid: i32) -> io::Result<Option<Self>> {
        match fs::read(format!("/proc/{pid}/stat")) {
            Ok(text) => Self::parse(&text).map(Some).ok_or_else(|| io::ErrorKind::InvalidData.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Parses the line. The process chooses its name (field 2), which may contain spaces, parentheses and newlines,
    /// so the other fields start after the *last* parenthesis.
    fn parse(text: &[u8]) -> Option<Self> {
        let close = text.iter().rposition(|&byte| byte == b')')?;
        let rest = str::from_utf8(text.get(close + 1..)?).ok()?;
        let mut fields = rest.split_ascii_whitespace();
        let state = *fields.next()?.as_bytes().first()?;
        let parent = fields.next()?.parse().ok()?;
        // Field 22 of the line; the state is field 3 and the parent field 4.
        let start = fields.nth(17)?.parse().ok()?;
        let stack = fields.nth(5)?.parse().ok()?;
        Some(Self { state, parent, start, stack })
    }

    /// Returns whether the process still runs: a zombie does not.
    pub(super) fn lives(self) -> bool {
        !matches!(self.state, b'Z' | b'X' | b'x')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_name_does_not_move_the_fields() {
        let line = b"7 (a) R 1 (b\n) S 3 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4242 0 0 0 0 0 77 0";
        assert_eq!(Stat::parse(line), Some(Stat { state: b'S', parent: 3, start: 4242, stack: 77 }));
        assert_eq!(Stat::parse(b""), None);
        assert_eq!(Stat::parse(b"7 (a) S"), None);
    }
}
