//! Finds the end of an HTTP request body while streaming it. Bytes after it would be a second, unchecked request.

use super::request::Body;

/// Tracks a body while it is streamed.
pub struct Meter(State);

enum State {
    /// Fixed length: bytes left.
    Left(u64),
    /// Chunked encoding.
    Chunks(Chunk),
}

/// Position within a chunked body.
#[derive(Clone, Copy)]
enum Chunk {
    /// In the chunk size, with the digits so far.
    Size { digits: u8, size: u64 },
    /// In a chunk extension, which is ignored.
    Extension { size: u64 },
    /// Before the LF of the size line.
    SizeEnd { size: u64 },
    /// In the chunk data, with the bytes left.
    Data { left: u64 },
    /// Before the CR after the data.
    DataEnd,
    /// Before the LF after the data.
    DataEndLine,
    /// At the start of a line after the last chunk.
    Trailer,
    /// Within such a line.
    TrailerLine,
    /// Before the LF of such a line.
    TrailerEnd,
    /// Before the LF of the final empty line.
    LastEnd,
    /// After the body.
    Over,
}

/// The body does not match its headers or encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken;

impl Meter {
    /// Creates a meter for a body of this kind.
    pub fn new(body: Body) -> Self {
        Self(match body {
            Body::Length(length) => State::Left(length),
            Body::Chunked => State::Chunks(Chunk::Size { digits: 0, size: 0 }),
        })
    }

    /// Returns whether the body is complete.
    pub fn is_over(&self) -> bool {
        matches!(self.0, State::Left(0) | State::Chunks(Chunk::Over))
    }

    /// Consumes the next bytes. Returns how many of them belong to the body.
    pub fn take(&mut self, bytes: &[u8]) -> Result<usize, Broken> {
        match &mut self.0 {
            State::Left(left) => {
                let taken = bytes.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= taken as u64;
                Ok(taken)
            }
            State::Chunks(chunk) => {
                let mut at = 0;
                while at < bytes.len() && !matches!(chunk, Chunk::Over) {
                    if let Chunk::Data { left } = chunk {
                        let passed = (bytes.len() - at).min(usize::try_from(*left).unwrap_or(usize::MAX));
                        at += passed;
                        *left -= passed as u64;
                        if *left == 0 {
                            *chunk = Chunk::DataEnd;
                        }
                    } else {
                        *chunk = chunk.after(bytes[at])?;
                        at += 1;
                    }
                }
                Ok(at)
            }
        }
    }
}

impl Chunk {
    /// Returns the position after a byte. Not for chunk data.
    fn after(self, byte: u8) -> Result<Self, Broken> {
        // Enough for any real chunk, without overflow.
        const MOST_DIGITS: u8 = 15;
        Ok(match (self, byte) {
            (Self::Size { digits: 1.., size } | Self::Extension { size }, b'\r') => Self::SizeEnd { size },
            (Self::Size { digits: 1.., size }, b';') => Self::Extension { size },
            (Self::Size { digits: 0..MOST_DIGITS, size }, byte) if byte.is_ascii_hexdigit() => {
                let Self::Size { digits, .. } = self else { return Err(Broken) };
                let digit = char::from(byte).to_digit(16).ok_or(Broken)?;
                Self::Size { digits: digits + 1, size: size * 16 + u64::from(digit) }
            }
            (Self::Extension { .. } | Self::TrailerLine, byte) if byte == b'\t' || byte >= b' ' => self,
            (Self::SizeEnd { size: 0 } | Self::TrailerEnd, b'\n') => Self::Trailer,
            (Self::SizeEnd { size }, b'\n') => Self::Data { left: size },
            (Self::DataEnd, b'\r') => Self::DataEndLine,
            (Self::DataEndLine, b'\n') => Self::Size { digits: 0, size: 0 },
            (Self::Trailer, b'\r') => Self::LastEnd,
            (Self::Trailer, byte) if byte > b' ' => Self::TrailerLine,
            (Self::TrailerLine, b'\r') => Self::TrailerEnd,
            (Self::LastEnd, b'\n') => Self::Over,
            _ => return Err(Broken),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds a text in pieces of a given size. Returns the length of the body in it, and whether the body was
    /// complete.
    fn taken(body: Body, text: &str, piece: usize) -> Result<(usize, bool), Broken> {
        let mut meter = Meter::new(body);
        let mut all = 0;
        for piece in text.as_bytes().chunks(piece) {
            let taken = meter.take(piece)?;
            all += taken;
            if taken < piece.len() {
                break;
            }
        }
        Ok((all, meter.is_over()))
    }

    #[test]
    fn a_body_ends_where_its_head_or_its_chunks_say_however_it_comes() {
        let chunks = "5\r\nhello\r\n0A;x=\"y\"\r\n0123456789\r\n0\r\nT: 1\r\n\r\n";
        let next = "GET / HTTP/1.1\r\n\r\n";
        for piece in 1..64 {
            assert_eq!(taken(Body::Chunked, &format!("{chunks}{next}"), piece), Ok((chunks.len(), true)));
            assert_eq!(taken(Body::Chunked, &chunks[..20], piece), Ok((20, false)));
            assert_eq!(taken(Body::Length(7), "hello, world", piece), Ok((7, true)));
            assert_eq!(taken(Body::Length(0), "x", piece), Ok((0, true)));
        }
    }

    #[test]
    fn chunks_that_two_readers_could_take_differently_are_refused() {
        for text in [
            "\r\n",
            "5\nhello",
            "5 \r\nhello\r\n",
            "+5\r\nhello\r\n",
            "0x5\r\nhello\r\n",
            "5\r\nhello!\r\n",
            "5\r\nhello\n0\r\n\r\n",
            "5;a\nb\r\nhello",
            "ffffffffffffffff\r\n",
            "0\r\n folded\r\n\r\n",
            "0\r\nT: 1\n\r\n",
            ";x\r\n",
        ] {
            assert_eq!(taken(Body::Chunked, text, 3), Err(Broken), "{text:?}");
        }
    }
}
