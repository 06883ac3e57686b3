//! Redacts bytes that arrive in pieces, including secrets that are split between two pieces.
//!
//! Only what may be the beginning of a form is held back, so a reader is never further behind than that.

use std::io::{self, Read};

use super::redact::{Known, Redactor, label};

/// A stream through a [`Redactor`].
pub struct Stream {
    redactor: Redactor,
    held: Vec<u8>,
    /// Number of held bytes that belong to a secret whose replacement is already written.
    covered: usize,
    replaced: u64,
    declared: Option<String>,
}

impl Stream {
    /// Starts a stream.
    pub fn new(redactor: Redactor) -> Self {
        Self { redactor, held: Vec::new(), covered: 0, replaced: 0, declared: None }
    }

    /// Returns whether bytes pass unchanged.
    pub fn is_plain(&self) -> bool {
        self.redactor.knows_none()
    }

    /// Returns the number of replaced secrets so far.
    pub fn replaced(&self) -> u64 {
        self.replaced
    }

    /// Returns the first declared secret that was replaced.
    pub fn declared(&self) -> Option<&str> {
        self.declared.as_deref()
    }

    /// Adds bytes, and appends to `out` what is known to be clean.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.go_on(bytes, out, End::Open);
    }

    /// Ends the stream: held-back bytes can no longer be the beginning of a form.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.go_on(&[], out, End::Reached);
    }

    /// Passes everything from a reader through the stream until `each` returns an answer. `each` gets the clean bytes
    /// so far.
    pub(crate) fn pass<T>(
        mut self,
        from: &mut impl Read,
        mut each: impl FnMut(&Self, &[u8]) -> io::Result<Option<T>>,
    ) -> io::Result<Option<T>> {
        /// Size of a read.
        const PIECE: usize = 64 * 1024;
        let (mut piece, mut out) = (vec![0; PIECE], Vec::new());
        loop {
            let count = from.read(&mut piece)?;
            if count == 0 {
                self.finish(&mut out);
            } else {
                self.push(&piece[..count], &mut out);
            }
            let answer = each(&self, &out)?;
            if answer.is_some() || count == 0 {
                return Ok(answer);
            }
            out.clear();
        }
    }

    fn go_on(&mut self, bytes: &[u8], out: &mut Vec<u8>, end: End) {
        let Some(matcher) = self.redactor.inner() else { return out.extend_from_slice(bytes) };
        self.held.extend_from_slice(bytes);
        let keep = match end {
            End::Open => matcher.unfinished(&self.held),
            End::Reached => 0,
        };
        // A form that starts before the border is complete. Otherwise the border would be before it.
        let border = self.held.len() - keep;
        let mut clean = self.covered;
        for found in matcher.find(&self.held) {
            if found.range.start >= border {
                break;
            }
            if found.range.start >= clean {
                out.extend_from_slice(&self.held[clean..found.range.start]);
                label(found.name, out);
                self.replaced += 1;
                if found.known == Known::Declared && self.declared.is_none() {
                    self.declared = Some(found.name.to_owned());
                }
            }
            clean = clean.max(found.range.end);
        }
        if clean < border {
            out.extend_from_slice(&self.held[clean..border]);
        }
        self.covered = clean.saturating_sub(border);
        self.held.drain(..border);
    }
}

#[derive(Clone, Copy)]
enum End {
    Open,
    Reached,
}
