//! The files that the rules check: the repository's own text, with Rust files classified by byte.

use std::path::Path;

use super::lexer::{Class, classify};
use crate::Stop;

/// Files larger than any text of ours are data.
const LARGEST: u64 = 1024 * 1024;

/// All hand-written text files of the repository.
pub(crate) struct Tree {
    pub(crate) files: Vec<File>,
}

/// A file, with its path from the root, separated by `/`.
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
    /// Class of each byte of a Rust file; empty for others.
    classes: Vec<Class>,
    /// Byte ranges of items under `#[cfg(test)]`.
    tests: Vec<(usize, usize)>,
}

impl Tree {
    /// Reads the tree below `root`. Skips build output (directories with a `CACHEDIR.TAG`), `.git` and `fixtures`:
    /// test input may break any rule.
    pub(crate) fn read(root: &Path) -> Result<Self, Stop> {
        let mut files = Vec::new();
        walk(root, "", &mut files).map_err(Stop::doing("read the repository"))?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Self { files })
    }

    /// Returns the Rust files.
    pub(super) fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.is_rust())
    }

    pub(super) fn get(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }
}

fn walk(root: &Path, below: &str, files: &mut Vec<File>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(root.join(below))? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
        let kind = entry.file_type()?;
        // In a linked worktree, `.git` is a file with a path of this machine.
        if name == ".git" {
            continue;
        }
        if kind.is_dir() {
            let foreign = ["fixtures", "target", "node_modules"].contains(&name.as_str())
                || entry.path().join("CACHEDIR.TAG").exists();
            if !foreign {
                walk(root, &path, files)?;
            }
        } else if kind.is_file() && entry.metadata()?.len() <= LARGEST {
            // Skip files that are not UTF-8.
            if let Ok(text) = std::fs::read_to_string(entry.path()) {
                files.push(File::new(path, text));
            }
        }
    }
    Ok(())
}

impl File {
    pub(super) fn new(path: String, text: String) -> Self {
        let classes = if is_rust(&path) { classify(&text) } else { Vec::new() };
        let mut file = Self { path, text, classes, tests: Vec::new() };
        file.tests = test_items(&file.code());
        file
    }

    pub(super) fn is_rust(&self) -> bool {
        is_rust(&self.path)
    }

    /// Returns the code only: comments and literals are blanked, so that offsets and lines stay the same.
    pub(super) fn code(&self) -> String {
        self.only(&[Class::Code])
    }

    /// Returns code and literals, without comments.
    pub(super) fn code_and_literals(&self) -> String {
        self.only(&[Class::Code, Class::Literal])
    }

    /// Returns the comments only.
    pub(super) fn comments(&self) -> String {
        self.only(&[Class::Comment])
    }

    fn only(&self, kept: &[Class]) -> String {
        let mut bytes = self.text.clone().into_bytes();
        for (byte, class) in bytes.iter_mut().zip(&self.classes) {
            if !kept.contains(class) && *byte != b'\n' {
                *byte = b' ';
            }
        }
        // A class covers whole characters; if not, a lossy view is still good enough.
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Returns the functions outside tests, with their numbers of lines.
    pub(super) fn functions(&self) -> Vec<(String, usize)> {
        let code = self.code();
        let mut found = Vec::new();
        for offset in super::rules::words(&code, "fn") {
            let name: String = code[offset + 2..]
                .trim_start()
                .chars()
                .take_while(|it| it.is_alphanumeric() || *it == '_')
                .collect();
            if name.is_empty() || self.is_test_at(offset) {
                continue;
            }
            let end = item_end(&code, offset).min(code.len());
            found.push((name, code[offset..end].matches('\n').count() + 1));
        }
        found
    }

    /// Returns the line of a byte offset, counted from 1.
    pub(super) fn line_of(&self, offset: usize) -> usize {
        1 + self.text[..offset].matches('\n').count()
    }

    /// Returns whether this is test code: a test, benchmark or example file, the testkit, or an item under
    /// `#[cfg(test)]`.
    pub(super) fn is_test_at(&self, offset: usize) -> bool {
        let parts: Vec<&str> = self.path.split('/').collect();
        let name = parts.last().copied().unwrap_or_default();
        parts.contains(&"tests")
            || parts.contains(&"benches")
            || parts.contains(&"examples")
            || parts.contains(&"testkit")
            || name == "tests.rs"
            || name.ends_with("_tests.rs")
            || self.tests.iter().any(|&(from, to)| (from..to).contains(&offset))
    }
}

fn is_rust(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == "rs")
}

/// Returns the byte ranges of items under `#[cfg(test)]`.
fn test_items(code: &str) -> Vec<(usize, usize)> {
    if code.contains("#![cfg(test)]") {
        return vec![(0, code.len())];
    }
    let starts = code.match_indices("#[cfg(test)]").map(|(at, _)| at);
    starts.map(|at| (at, item_end(code, at))).collect()
}

/// Returns the end of the item that starts at `at`: its closing brace, or a semicolon before any brace.
fn item_end(code: &str, at: usize) -> usize {
    let mut depth = 0_usize;
    for (offset, byte) in code.bytes().enumerate().skip(at) {
        match byte {
            b'{' => depth += 1,
            b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return offset + 1;
                }
            }
            b';' if depth == 0 => return offset + 1,
            _ => {}
        }
    }
    code.len()
}
