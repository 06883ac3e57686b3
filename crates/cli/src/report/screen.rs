//! Full-screen mode of the terminal. Restores the terminal when dropped, also after a panic.

use std::io::{self, Write};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{self, LocalModes, OptionalActions, SpecialCodeIndex, Termios};

/// The terminal in full-screen mode.
pub struct Screen {
    before: Termios,
}

/// A pressed key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Letter(char),
    /// Cursor up.
    Up,
    /// Cursor down.
    Down,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
    /// Enter.
    Enter,
    /// Escape.
    Escape,
    /// Backspace.
    Back,
}

#[expect(clippy::unused_self, reason = "who has not taken the screen over draws nothing on it")]
impl Screen {
    /// Enters full-screen mode.
    pub fn take() -> io::Result<Self> {
        let before = termios::tcgetattr(io::stdin())?;
        let screen = Self { before };
        screen.enter()?;
        Ok(screen)
    }

    /// Turns off line buffering and echo. Ctrl-C stays a signal.
    fn enter(&self) -> io::Result<()> {
        let mut raw = self.before.clone();
        raw.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        raw.special_codes[SpecialCodeIndex::VMIN] = 0;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        termios::tcsetattr(io::stdin(), OptionalActions::Flush, &raw)?;
        // Switch to the alternate screen and hide the cursor.
        io::stdout().write_all(b"\x1b[?1049h\x1b[?25l\x1b[2J")?;
        io::stdout().flush()
    }

    /// Leaves full-screen mode temporarily.
    pub fn leave(&self) -> io::Result<()> {
        io::stdout().write_all(b"\x1b[?25h\x1b[?1049l")?;
        io::stdout().flush()?;
        Ok(termios::tcsetattr(io::stdin(), OptionalActions::Flush, &self.before)?)
    }

    /// Enters full-screen mode again.
    pub fn back(&self) -> io::Result<()> {
        self.enter()
    }

    /// Returns columns and rows.
    pub fn size() -> (usize, usize) {
        let size = termios::tcgetwinsize(io::stdout()).ok().filter(|size| size.ws_col > 0 && size.ws_row > 0);
        size.map_or((80, 24), |size| (usize::from(size.ws_col), usize::from(size.ws_row)))
    }

    /// Draws these lines from the top and clears the rest.
    pub fn draw(&self, lines: &[String]) -> io::Result<()> {
        let mut text = String::from("\x1b[H");
        for (index, line) in lines.iter().enumerate() {
            if index > 0 {
                text.push_str("\r\n");
            }
            text.push_str(line);
            text.push_str("\x1b[0m\x1b[K");
        }
        text.push_str("\x1b[J");
        io::stdout().write_all(text.as_bytes())?;
        io::stdout().flush()
    }

    /// Waits up to `at_most` milliseconds, and returns the pressed keys.
    pub fn keys(&self, at_most: u32) -> io::Result<Vec<Key>> {
        let stdin = io::stdin();
        let mut waits = [PollFd::new(&stdin, PollFlags::IN)];
        let limit = Timespec { tv_sec: 0, tv_nsec: i64::from(at_most) * 1_000_000 };
        match poll(&mut waits, Some(&limit)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(Vec::new()),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        let mut bytes = [0; 256];
        // Bypass the standard library's buffer, which poll does not see.
        let count = rustix::io::read(&stdin, &mut bytes)?;
        if count == 0 {
            // The terminal is gone.
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(read_keys(&bytes[..count]))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Nothing can be done about an error here.
        let _ = self.leave();
    }
}

/// Parses terminal input.
fn read_keys(bytes: &[u8]) -> Vec<Key> {
    let text = String::from_utf8_lossy(bytes);
    let (mut keys, mut rest) = (Vec::new(), text.as_ref());
    const LONG: [(&str, Key); 6] = [
        ("\x1b[A", Key::Up),
        ("\x1b[B", Key::Down),
        ("\x1bOA", Key::Up),
        ("\x1bOB", Key::Down),
        ("\x1b[5~", Key::PageUp),
        ("\x1b[6~", Key::PageDown),
    ];
    while let Some(first) = rest.chars().next() {
        if let Some((code, key)) = LONG.iter().find(|(code, _)| rest.starts_with(code)) {
            keys.push(*key);
            rest = &rest[code.len()..];
            continue;
        }
        if rest.starts_with("\x1b[") {
            // Skip an unknown escape sequence, up to its final character.
            let end = rest[2..].find(|letter: char| letter.is_ascii_alphabetic() || letter == '~');
            rest = end.map_or("", |end| &rest[2 + end + 1..]);
            continue;
        }
        keys.extend(match first {
            '\x1b' => Some(Key::Escape),
            '\r' | '\n' => Some(Key::Enter),
            '\x7f' | '\x08' => Some(Key::Back),
            letter if letter.is_control() => None,
            letter => Some(Key::Letter(letter)),
        });
        rest = &rest[first.len_utf8()..];
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_a_terminal_are_keys() {
        assert_eq!(
            read_keys(b"\x1b[A\x1b[Bj\r\x7f"),
            [Key::Up, Key::Down, Key::Letter('j'), Key::Enter, Key::Back]
        );
        assert_eq!(read_keys("ä\x1b".as_bytes()), [Key::Letter('ä'), Key::Escape]);
        // Unknown escape sequences produce no keys, whatever their bytes contain.
        assert_eq!(read_keys(b"\x1b[15~q\x1b[1;5C\x01"), [Key::Letter('q')]);
    }
}
