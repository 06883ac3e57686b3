//! What `/proc/<pid>/stat` says about a process.

use std::fs;
use std::io;

/// The fields that are needed here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) state: u8,
    pub(super) parent: i32,
    /// Ticks of the clock between the machine's start and the process's.
    pub(super) start: u64,
}

impl Stat {
    /// `None` when there is no such process.
    pub(super) fn of(pid: i32) -> io::Result<Option<Self>> {
        match fs::read(format!("/proc/{pid}/stat")) {
            Ok(text) => Self::parse(&text).map(Some).ok_or_else(|| io::ErrorKind::InvalidData.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The name in the second field is chosen by the process and may hold spaces, parentheses and newlines: what
    /// follows begins after the *last* parenthesis.
    fn parse(text: &[u8]) -> Option<Self> {
        let close = text.iter().rposition(|&byte| byte == b')')?;
        let rest = str::from_utf8(text.get(close + 1..)?).ok()?;
        let mut fields = rest.split_ascii_whitespace();
        let state = *fields.next()?.as_bytes().first()?;
        let parent = fields.next()?.parse().ok()?;
        // Field 22 of the line; state is field 3 and the parent field 4.
        let start = fields.nth(17)?.parse().ok()?;
        Some(Self { state, parent, start })
    }

    /// Whether the process can still do anything: one that only waits to be reaped cannot.
    pub(super) fn lives(self) -> bool {
        !matches!(self.state, b'Z' | b'X' | b'x')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_name_does_not_move_the_fields() {
        let line = b"7 (a) R 1 (b\n) S 3 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4242 0 0";
        assert_eq!(Stat::parse(line), Some(Stat { state: b'S', parent: 3, start: 4242 }));
        assert_eq!(Stat::parse(b""), None);
        assert_eq!(Stat::parse(b"7 (a) S"), None);
    }
}
