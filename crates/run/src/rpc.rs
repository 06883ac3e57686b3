//! JSON-RPC as lines of JSON, as agents and their tools use it. Input is size-limited and never causes a panic.

use serde_json::{Value, json};

/// Maximum length of a message. A whole file fits; a longer message is a mistake or a flood, and is skipped.
pub const LINE_LIMIT: usize = 4 * 1024 * 1024;

/// The input is not JSON.
pub const PARSE_ERROR: i64 = -32_700;
/// The input is JSON but not a valid message.
pub const INVALID_REQUEST: i64 = -32_600;
/// The method is unknown.
pub const METHOD_NOT_FOUND: i64 = -32_601;
/// The parameters are invalid.
pub const INVALID_PARAMS: i64 = -32_602;

/// Content between two line ends.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// A line, without its end.
    Line(&'a [u8]),
    /// A line of more than [`LINE_LIMIT`] bytes, which is dropped.
    TooLong,
}

/// Splits bytes that arrive in pieces into lines.
#[derive(Default)]
pub struct Lines {
    line: Vec<u8>,
    passing: bool,
}

impl Lines {
    /// Adds bytes, and passes on each line that is complete now.
    pub fn push(&mut self, mut bytes: &[u8], each: &mut dyn FnMut(Piece<'_>)) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let (head, tail) = bytes.split_at(end);
            bytes = &tail[1..];
            if self.line.is_empty() && !self.passing && head.len() <= LINE_LIMIT {
                each(Piece::Line(head));
            } else {
                self.extend(head);
                self.end(each);
            }
        }
        self.extend(bytes);
    }

    /// Ends the input. A rest without a line end is a line too.
    pub fn finish(&mut self, each: &mut dyn FnMut(Piece<'_>)) {
        if self.passing || !self.line.is_empty() {
            self.end(each);
        }
    }

    fn extend(&mut self, bytes: &[u8]) {
        if self.line.len() + bytes.len() > LINE_LIMIT {
            self.passing = true;
            self.line = Vec::new();
        }
        if !self.passing {
            self.line.extend_from_slice(bytes);
        }
    }

    fn end(&mut self, each: &mut dyn FnMut(Piece<'_>)) {
        if std::mem::take(&mut self.passing) {
            each(Piece::TooLong);
        } else {
            each(Piece::Line(&std::mem::take(&mut self.line)));
        }
    }
}

/// Builds the answer to a request.
pub fn result(id: &Value, result: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

/// Builds an error response.
pub fn error(id: &Value, code: i64, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(pieces: &[&[u8]]) -> Vec<Option<Vec<u8>>> {
        let mut found = Vec::new();
        let mut each = |piece: Piece<'_>| {
            found.push(match piece {
                Piece::Line(line) => Some(line.to_vec()),
                Piece::TooLong => None,
            });
        };
        let mut lines = Lines::default();
        for piece in pieces {
            lines.push(piece, &mut each);
        }
        lines.finish(&mut each);
        found
    }

    #[test]
    fn lines_are_the_same_however_they_are_cut() {
        let whole = b"one\n\ntwo\r\nthree";
        let expected = lines(&[whole]);
        assert_eq!(expected.len(), 4);
        for size in 1..whole.len() {
            let pieces: Vec<&[u8]> = whole.chunks(size).collect();
            assert_eq!(lines(&pieces), expected, "in pieces of {size}");
        }
    }

    #[test]
    fn a_line_beyond_the_limit_is_passed_over_and_the_next_one_is_read() {
        let long = vec![b'x'; LINE_LIMIT + 1];
        let just = vec![b'y'; LINE_LIMIT];
        assert_eq!(
            lines(&[&long, &long, b"\nnext\n", &just, b"\n"]),
            [None, Some(b"next".to_vec()), Some(just)]
        );
        let at_once = [long.as_slice(), b"\nnext"].concat();
        assert_eq!(lines(&[&at_once]), [None, Some(b"next".to_vec())]);
    }
}
