//! Reads files inside archives: zip (jar, whl, docx …), tar, gzip, and nested archives.
//!
//! The bytes come from a hostile change. Nothing is written to disk, sizes and offsets in headers are not trusted, and
//! the work is bounded in bytes, entries and depth. [`Unpacked::cut`] reports whether a bound was reached.

use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress, inflate_flags};

/// Maximum number of bytes to unpack from one archive in total. This stops zip bombs.
const MOST_BYTES: usize = 64 << 20;
/// Maximum number of files to read from one archive.
const MOST_FILES: usize = 5_000;
/// Maximum nesting depth: a zip in a tar in a gzip is three.
const DEEPEST: u32 = 4;

/// The contents of an archive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unpacked {
    /// Names in the archive, and contents.
    pub files: Vec<(String, Vec<u8>)>,
    /// Whether a bound cut something off.
    pub cut: bool,
    /// Whether something is encrypted, or uses an unsupported compression method.
    pub closed: bool,
}

/// Returns whether these bytes begin like an archive that [`unpack`] reads.
pub fn is_archive(bytes: &[u8]) -> bool {
    Form::of(bytes).is_some()
}

/// Returns the files in an archive; empty if the bytes are not an archive.
pub fn unpack(bytes: &[u8]) -> Unpacked {
    let mut work = Work { found: Unpacked::default(), left: MOST_BYTES };
    work.open("", bytes, 0);
    work.found
}

#[derive(Clone, Copy)]
enum Form {
    Zip,
    Tar,
    Gzip,
}

impl Form {
    fn of(bytes: &[u8]) -> Option<Self> {
        if bytes.starts_with(b"PK\x03\x04") {
            Some(Self::Zip)
        } else if bytes.starts_with(&[0x1f, 0x8b, 8]) {
            Some(Self::Gzip)
        } else {
            (bytes.get(257..262) == Some(b"ustar")).then_some(Self::Tar)
        }
    }
}

struct Work {
    found: Unpacked,
    left: usize,
}

impl Work {
    fn open(&mut self, name: &str, bytes: &[u8], depth: u32) {
        match Form::of(bytes) {
            Some(_) if depth >= DEEPEST => self.found.cut = true,
            Some(Form::Zip) => self.zip(name, bytes, depth),
            Some(Form::Tar) => self.tar(name, bytes, depth),
            Some(Form::Gzip) => self.gzip(name, bytes, depth),
            None if depth == 0 => {}
            None if self.found.files.len() >= MOST_FILES => self.found.cut = true,
            None => self.found.files.push((name.to_owned(), bytes.to_vec())),
        }
    }

    /// Reads every local header at any offset, because the directory at the end of the file may omit some.
    fn zip(&mut self, outer: &str, bytes: &[u8], depth: u32) {
        const HEADER: usize = 30;
        let mut at = 0;
        while let Some(found) = find(bytes, at, b"PK\x03\x04") {
            let Some(header) = bytes.get(found..found + HEADER) else { break };
            let number = |place: usize| usize::from(u16::from_le_bytes([header[place], header[place + 1]]));
            let size = u32::from_le_bytes([header[18], header[19], header[20], header[21]]) as usize;
            let (flags, method) = (number(6), number(8));
            let name_end = found + HEADER + number(26);
            let data = name_end + number(28);
            at = found + 4;
            let (Some(name), Some(rest)) = (bytes.get(found + HEADER..name_end), bytes.get(data..)) else {
                continue;
            };
            let name = joined(outer, &String::from_utf8_lossy(name));
            // Encrypted content cannot be checked without its password.
            let encrypted = flags & 1 != 0;
            match method {
                _ if encrypted => self.found.closed = true,
                _ if self.left == 0 => self.found.cut = true,
                0 => {
                    let next = find(rest, 0, b"PK").unwrap_or(rest.len());
                    let length = if size == 0 { next } else { size };
                    let content = rest.get(..length).unwrap_or(rest);
                    let content = self.bounded(content);
                    self.open(&name, &content, depth + 1);
                    at = data + content.len();
                }
                8 => {
                    if let Some((content, read)) = self.inflate(rest) {
                        self.open(&name, &content, depth + 1);
                        at = data + read;
                    }
                }
                _ => self.found.closed = true,
            }
        }
    }

    fn tar(&mut self, outer: &str, bytes: &[u8], depth: u32) {
        const BLOCK: usize = 512;
        let mut at = 0;
        while let Some(header) = bytes.get(at..at + BLOCK) {
            at += BLOCK;
            if header.get(257..262) != Some(b"ustar") {
                continue;
            }
            let text = |range: std::ops::Range<usize>| {
                let bytes = header.get(range).unwrap_or_default();
                let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
                String::from_utf8_lossy(&bytes[..end]).into_owned()
            };
            let size = usize::from_str_radix(text(124..136).trim(), 8).unwrap_or(0);
            let rest = bytes.get(at..).unwrap_or_default();
            let content = rest.get(..size).unwrap_or(rest);
            if matches!(header.get(156), Some(b'0' | 0 | b'7')) {
                let content = self.bounded(content);
                self.open(&joined(outer, &text(0..100)), &content, depth + 1);
            }
            at = at.saturating_add(content.len().div_ceil(BLOCK) * BLOCK);
        }
    }

    /// Reads the members, which follow each other, each with its own header.
    fn gzip(&mut self, outer: &str, bytes: &[u8], depth: u32) {
        const TRAILER: usize = 8;
        let (mut at, mut all) = (0, Vec::new());
        while let Some(rest) = bytes.get(at..).filter(|rest| rest.starts_with(&[0x1f, 0x8b, 8])) {
            let Some(begin) = gzip_header(rest) else { break };
            let Some((content, read)) = self.inflate(&rest[begin..]) else { break };
            all.extend(content);
            at += begin + read + TRAILER;
        }
        let name = if outer.is_empty() { "content" } else { outer.trim_end_matches(".gz") };
        self.open(name, &all, depth + 1);
    }

    /// Truncates content to the remaining bound of these bytes.
    fn bounded(&mut self, content: &[u8]) -> Vec<u8> {
        let taken = content.len().min(self.left);
        self.found.cut |= taken < content.len();
        self.left -= taken;
        content[..taken].to_vec()
    }

    /// Decompresses a deflate stream. Returns its content and its compressed length, or `None` if it is invalid.
    fn inflate(&mut self, bytes: &[u8]) -> Option<(Vec<u8>, usize)> {
        const STEP: usize = 64 << 10;
        let flags = inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
        let mut state = Box::<DecompressorOxide>::default();
        let (mut out, mut read, mut written) = (Vec::new(), 0, 0);
        loop {
            let room = STEP.min(self.left.saturating_sub(written)).max(1);
            out.resize(written + room, 0);
            let (status, taken, made) = decompress(&mut state, &bytes[read..], &mut out, written, flags);
            read += taken;
            written += made;
            let over = written >= self.left;
            match status {
                TINFLStatus::Done => break,
                TINFLStatus::HasMoreOutput if !over => {}
                TINFLStatus::HasMoreOutput => {
                    self.found.cut = true;
                    break;
                }
                // Keep the output of a truncated or broken stream: a program that unpacks it would see as much.
                _ if written > 0 => break,
                _ => return None,
            }
        }
        out.truncate(written.min(self.left));
        self.left -= out.len();
        Some((out, read))
    }
}

/// Returns where the compressed data of a gzip member begins.
fn gzip_header(bytes: &[u8]) -> Option<usize> {
    let flags = *bytes.get(3)?;
    let mut at = 10;
    if flags & 4 != 0 {
        at += 2 + usize::from(u16::from_le_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]));
    }
    for flag in [8, 16] {
        if flags & flag != 0 {
            at += bytes.get(at..)?.iter().position(|byte| *byte == 0)? + 1;
        }
    }
    if flags & 2 != 0 {
        at += 2;
    }
    (at <= bytes.len()).then_some(at)
}

fn joined(outer: &str, name: &str) -> String {
    if outer.is_empty() { name.to_owned() } else { format!("{outer}!{name}") }
}

fn find(bytes: &[u8], from: usize, wanted: &[u8]) -> Option<usize> {
    let rest = bytes.get(from..)?;
    rest.windows(wanted.len()).position(|window| window == wanted).map(|at| from + at)
}

#[cfg(test)]
mod tests {
    use miniz_oxide::deflate::compress_to_vec;

    use super::*;

    fn zip(files: &[(&str, &[u8], u16, u16)]) -> Vec<u8> {
        let mut out = Vec::new();
        for (name, content, method, flags) in files {
            let data = if *method == 8 { compress_to_vec(content, 6) } else { content.to_vec() };
            out.extend(b"PK\x03\x04\x14\x00");
            out.extend(flags.to_le_bytes());
            out.extend(method.to_le_bytes());
            out.extend([0; 8]);
            out.extend(u32::try_from(data.len()).unwrap().to_le_bytes());
            out.extend(u32::try_from(content.len()).unwrap().to_le_bytes());
            out.extend(u16::try_from(name.len()).unwrap().to_le_bytes());
            out.extend([0; 2]);
            out.extend(name.as_bytes());
            out.extend(data);
        }
        out
    }

    fn tar(name: &str, content: &[u8]) -> Vec<u8> {
        let mut header = vec![0; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
        header[156] = b'0';
        header[257..262].copy_from_slice(b"ustar");
        header.extend(content);
        header.resize(header.len().div_ceil(512) * 512 + 1024, 0);
        header
    }

    fn gzip(content: &[u8]) -> Vec<u8> {
        let mut out = vec![0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 3];
        out.extend(b"name\0");
        out.extend(compress_to_vec(content, 6));
        out.extend([0; 8]);
        out
    }

    fn names(bytes: &[u8]) -> Vec<String> {
        unpack(bytes).files.into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn files_of_each_form_are_found_also_within_each_other() {
        let inner = zip(&[("a/b.txt", b"deflated text", 8, 0), ("c.txt", b"stored text", 0, 0)]);
        assert_eq!(names(&inner), ["a/b.txt", "c.txt"]);
        assert_eq!(unpack(&inner).files[0].1, b"deflated text");
        assert_eq!(unpack(&inner).files[1].1, b"stored text");
        let nested = gzip(&tar("lib/inner.jar", &inner));
        assert_eq!(names(&nested), ["content!lib/inner.jar!a/b.txt", "content!lib/inner.jar!c.txt"]);
        assert_eq!(unpack(&gzip(b"words")).files, [("content".to_owned(), b"words".to_vec())]);
        assert!(!is_archive(b"PK is a name") && unpack(b"plain text").files.is_empty());
    }

    #[test]
    fn a_bomb_ends_at_the_bound_and_says_so() {
        let bomb = gzip(&vec![0; MOST_BYTES + 1]);
        let found = unpack(&bomb);
        assert!(
            found.cut && found.files.iter().map(|(_, content)| content.len()).sum::<usize>() <= MOST_BYTES
        );
        let mut matryoshka = b"words".to_vec();
        for _ in 0..20 {
            matryoshka = gzip(&matryoshka);
        }
        assert!(unpack(&matryoshka).cut);
    }

    #[test]
    fn headers_that_lie_break_nothing() {
        let honest = zip(&[("a.txt", b"some words that are kept", 0, 0)]);
        for place in 0..honest.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut bytes = honest.clone();
                bytes[place] = value;
                drop(unpack(&bytes));
            }
        }
        for end in 0..honest.len() {
            drop(unpack(&honest[..end]));
        }
        let compressed = gzip(&tar("a.txt", b"words"));
        for end in 0..compressed.len() {
            drop(unpack(&compressed[..end]));
        }
        assert!(unpack(&zip(&[("a.txt", b"x", 8, 1)])).closed);
        // A file that is not in the directory, or comes after other data, is still found.
        let mut hidden = zip(&[("a.txt", b"first", 8, 0)]);
        hidden.extend(b"something between");
        hidden.extend(zip(&[("b.txt", b"second", 8, 0)]));
        assert_eq!(names(&hidden), ["a.txt", "b.txt"]);
    }
}
