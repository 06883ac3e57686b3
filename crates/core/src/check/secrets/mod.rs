//! Finds secrets in commits: keys in the formats of providers, private keys, passwords in URLs, and values of high
//! entropy that are assigned to names such as `api_key`.
//!
//! The check reads every commit of the work, because a secret that a later commit removes is still in the history. No
//! finding shows the secret: its kind, first characters and length are enough to locate it.
//!
//! A line with the marker `acquit:allow-secret` is reported instead of rejected if entropy is the only evidence. The
//! agent could have written the marker, so it never excuses a key in the format of a provider. Use the gate's own
//! `allow` for that.

mod entropy;
mod examples;
mod shapes;
mod table;
mod whole;

use std::collections::HashSet;

use globset::GlobSet;

use super::archive::Unpacked;
use super::diff::{CommitDiff, FileChange, Line};
use entropy::{entropy, is_random};
use examples::{is_about, is_placeholder, is_words};
use table::{ASSIGNMENT, KINDS, Kind};

/// Marker for lines that look like a secret but have none.
pub const MARKER: &str = "acquit:allow-secret";

/// Length beyond which a line is checked in pieces, because it is data. Pieces overlap, so no key is missed at a
/// border.
const PIECE: usize = 64 * 1024;
/// Overlap of two pieces: longer than any key.
const OVERLAP: usize = 1024;

/// A detected secret, without its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leak {
    /// The commit that added it.
    pub commit: String,
    /// File; `None` for the commit's message.
    pub file: Option<String>,
    /// Line in that file, as of that commit.
    pub line: u32,
    /// Kind of secret.
    pub kind: &'static str,
    /// First characters and length.
    pub shown: String,
    /// Whether the line's marker says that it is not a secret.
    pub marked: Marked,
}

/// Whether a line has the marker, and whether the marker counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marked {
    /// The finding rejects the work.
    No,
    /// The line is marked, and only its entropy suggests a secret.
    Yes,
}

/// Returns all secrets that the commits add, once per file. Skips files that match `allowed`.
pub fn secrets(commits: &[CommitDiff], allowed: &GlobSet) -> Vec<Leak> {
    let mut leaks = Vec::new();
    let mut seen: HashSet<(String, String)> = HashSet::new();
    // Oldest first, to name the commit that introduced the secret.
    for commit in commits.iter().rev() {
        for file in commit.diff.files.iter().filter(|file| !allowed.is_match(file.path())) {
            for (line, kind, value) in in_file(file) {
                let marked = line.text.contains(MARKER) && kind == ASSIGNMENT;
                if seen.insert((file.path().to_owned(), value.clone())) {
                    leaks.push(Leak {
                        commit: commit.id.clone(),
                        file: Some(file.path().to_owned()),
                        line: line.number,
                        kind,
                        shown: shown(&value),
                        marked: if marked { Marked::Yes } else { Marked::No },
                    });
                }
            }
        }
    }
    leaks
}

/// Returns all secrets in a text that becomes the file `path`. The marker on a line counts if entropy is the only
/// evidence.
pub fn in_text(path: &str, text: &str) -> Vec<Leak> {
    let line =
        |(number, text): (u32, &str)| Line { side: super::diff::Side::Added, number, text: text.to_owned() };
    let lines: Vec<Line> = (1..).zip(text.lines()).map(line).collect();
    let added: Vec<&Line> = lines.iter().collect();
    let mut leaks = Vec::new();
    for (index, line) in added.iter().enumerate() {
        let key = whole::private_key(&added, index).map(|value| ("private key", value));
        let found = key.map_or_else(|| in_line(&line.text, Place::of(path), is_tried(path)), |key| vec![key]);
        for (kind, value) in found {
            if kind == ASSIGNMENT && line.text.contains(MARKER) {
                continue;
            }
            let (commit, file) = (String::new(), Some(path.to_owned()));
            let shown = shown(&value);
            leaks.push(Leak { commit, file, line: line.number, kind, shown, marked: Marked::No });
        }
    }
    leaks
}

/// Returns all secrets in a commit's message.
pub fn in_message(commit: &str, message: &str) -> Vec<Leak> {
    let leak = |line: u32, kind, value: &str| Leak {
        commit: commit.to_owned(),
        file: None,
        line,
        kind,
        shown: shown(value),
        marked: Marked::No,
    };
    let lines = (1..).zip(message.lines());
    lines
        .flat_map(|(number, line)| {
            in_line(line, Place::Prose, false).into_iter().map(move |found| (number, found))
        })
        .map(|(number, (kind, value))| leak(number, kind, &value))
        .collect()
}

/// Returns whether a changed file, read as text, begins like an archive that [`in_archive`] reads.
pub fn is_archive(file: &FileChange) -> bool {
    let first = file.added().find(|line| line.number == 1).map(|line| line.text.as_str());
    first.is_some_and(|text| {
        text.starts_with("PK\u{3}\u{4}")
            || text.starts_with("\u{1f}\u{fffd}\u{8}")
            || text.as_bytes().get(257..262) == Some(b"ustar")
    })
}

/// Returns all secrets in the files of an archive that a commit added, under the path of the archive joined with their
/// own.
pub fn in_archive(commit: &str, path: &str, unpacked: &Unpacked) -> Vec<Leak> {
    let mut leaks = Vec::new();
    for (name, content) in &unpacked.files {
        let path = format!("{path}!{name}");
        let text = String::from_utf8_lossy(content);
        let line = |(number, text): (u32, &str)| Line {
            side: super::diff::Side::Added,
            number,
            text: text.to_owned(),
        };
        let lines = (1..).zip(text.lines()).map(line).collect();
        let file = FileChange { new: Some(path.clone()), lines, ..FileChange::default() };
        leaks.extend(in_file(&file).into_iter().map(|(line, kind, value)| Leak {
            commit: commit.to_owned(),
            file: Some(path.clone()),
            line: line.number,
            kind,
            shown: shown(&value),
            marked: Marked::No,
        }));
    }
    leaks
}

fn in_file(file: &FileChange) -> Vec<(Line, &'static str, String)> {
    let place = Place::of(file.path());
    let added: Vec<&Line> = file.added().collect();
    let mut found: Vec<(Line, &'static str, String)> = Vec::new();
    for (index, line) in added.iter().enumerate() {
        if let Some(value) = whole::private_key(&added, index) {
            found.push(((*line).clone(), "private key", value));
            continue;
        }
        let mut here = in_line(&line.text, place, is_tried(file.path()));
        // Notebooks and other JSON files have program lines in strings.
        if here.is_empty() && line.text.contains("\\\"") {
            here = in_line(&line.text.replace("\\\"", "\""), place, is_tried(file.path()));
        }
        found.extend(here.into_iter().map(|(kind, value)| ((*line).clone(), kind, value)));
    }
    if file.old.as_deref() != file.new.as_deref()
        && let Some(path) = &file.new
    {
        // A file name can contain a secret, too.
        let here = path.split('/').flat_map(|part| in_line(part, Place::Prose, true));
        let line = Line { side: super::diff::Side::Added, number: 1, text: String::new() };
        found.extend(here.map(|(kind, value)| (line.clone(), kind, value)));
    }
    found.extend(whole::manifest(file).into_iter().map(|(line, kind, value)| (line.clone(), kind, value)));
    let named = whole::by_name(file.path()).filter(|_| file.new.is_some() && !is_tried(file.path()));
    if let Some(kind) = named.filter(|_| found.is_empty()) {
        let line = Line { side: super::diff::Side::Added, number: 1, text: String::new() };
        found.push((line, kind, file.path().to_owned()));
    }
    found
}

/// Returns whether a file is a test, an example or documentation. Values of secret names there are mostly made up.
fn is_tried(path: &str) -> bool {
    let lower = path.to_lowercase();
    let folders = [
        "test",
        "tests",
        "__tests__",
        "spec",
        "specs",
        "fixtures",
        "testdata",
        "examples",
        "example",
        "samples",
        "docs",
        "doc",
        "e2e",
        "mocks",
        "__mocks__",
        "cypress",
        "testing",
        "stories",
        "locales",
        "i18n",
        "translations",
        "lang",
    ];
    let name = lower.rsplit('/').next().unwrap_or_default();
    lower.split('/').any(|part| folders.contains(&part))
        || ["test_", "conftest"].iter().any(|start| name.starts_with(start))
        || [
            "_test.",
            ".test.",
            ".spec.",
            ".example",
            ".sample",
            ".template",
            ".dist",
            "_spec.",
            "tests.",
            "test.java",
            ".stories.",
            ".md",
            ".rst",
            ".adoc",
        ]
        .iter()
        .any(|part| name.contains(part))
}

/// The kind of text around a line, which decides how values are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Program text: values are quoted.
    Code,
    /// Settings: values may be unquoted.
    Settings,
    /// Lists of packages with hashes, which have high entropy.
    LockFile,
    /// Prose.
    Prose,
}

impl Place {
    fn of(path: &str) -> Self {
        let name = path.rsplit('/').next().unwrap_or(path);
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        match (name, extension) {
            (
                "package-lock.json"
                | "pnpm-lock.yaml"
                | "go.sum"
                | "npm-shrinkwrap.json"
                | "bun.lockb"
                | "packages.lock.json"
                | "gradle.lockfile",
                _,
            )
            | (_, "lock") => Self::LockFile,
            (
                _,
                "env" | "netrc" | "tf" | "hcl" | "plist" | "ini" | "cfg" | "conf" | "properties" | "yml"
                | "yaml" | "toml" | "sh" | "tfvars" | "npmrc",
            ) => Self::Settings,
            _ if name.starts_with(".env")
                || name.starts_with("Dockerfile")
                || matches!(
                    name,
                    ".pypirc"
                        | ".npmrc"
                        | ".netrc"
                        | ".pgpass"
                        | "credentials"
                        | ".s3cfg"
                        | ".boto"
                        | ".yarnrc.yml"
                        | "Makefile"
                ) =>
            {
                Self::Settings
            }
            (_, "md" | "rst" | "txt") => Self::Prose,
            _ => Self::Code,
        }
    }
}

/// Returns the secrets of a line: kind and value.
fn in_line(line: &str, place: Place, tried: bool) -> Vec<(&'static str, String)> {
    // UTF-16 text has zero bytes between the characters.
    let line = &line.replace('\0', "");
    let mut found: Vec<(&'static str, String)> = Vec::new();
    for piece in pieces(line) {
        let piece = without_images(piece);
        for Kind { name, pattern, check } in KINDS.iter() {
            for hit in pattern.captures_iter(&piece) {
                let Some(value) = hit.get(1).or_else(|| hit.get(0)) else { continue };
                if check(&hit) && !is_placeholder(value.as_str()) {
                    found.push((name, value.as_str().to_owned()));
                }
            }
        }
        if place != Place::LockFile && found.is_empty() {
            found.extend(assigned(&piece, place, tried));
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Returns values that are assigned to a name that sounds secret.
fn assigned(line: &str, place: Place, tried: bool) -> Vec<(&'static str, String)> {
    let pattern = match place {
        Place::Settings => &*table::BARE_ASSIGNMENT,
        Place::Code | Place::LockFile | Place::Prose => &*table::QUOTED_ASSIGNMENT,
    };
    let markup = line.contains('<').then_some(&*table::MARKUP);
    let mut found = Vec::new();
    for pattern in [Some(pattern), markup, Some(&*table::SPACED)].into_iter().flatten() {
        for hit in pattern.captures_iter(line) {
            let (Some(name), Some(value)) = (hit.get(1), hit.get(2)) else { continue };
            if is_about(name.as_str()) || !is_held(name.as_str(), value.as_str(), tried) {
                continue;
            }
            found.push((ASSIGNMENT, value.as_str().to_owned()));
        }
    }
    found
}

/// Returns whether a value could be the secret that its name suggests.
fn is_held(name: &str, value: &str, tried: bool) -> bool {
    let is_password = ["pass", "pwd"].iter().any(|part| name.to_lowercase().contains(part));
    // Generated secrets are ASCII; other letters mean words.
    if !value.is_ascii() || !is_random(value, is_password) || is_placeholder(value) || is_words(value) {
        return false;
    }
    // Passwords in tests are made up, but a generated one may be a copied real one.
    let drawn = entropy(value) >= 3.6 && value.len() >= 16 && has_three_kinds(value);
    let hex = value.len() >= 32 && value.bytes().all(|byte| byte.is_ascii_hexdigit());
    !tried || drawn || (hex && !is_password)
}

/// Returns whether at least three kinds occur: lower case, upper case, digits, punctuation.
fn has_three_kinds(value: &str) -> bool {
    let has = |test: &dyn Fn(char) -> bool| u8::from(value.chars().any(test));
    has(&|c| c.is_ascii_lowercase())
        + has(&|c| c.is_ascii_uppercase())
        + has(&|c| c.is_ascii_digit())
        + has(&|c| c.is_ascii_punctuation())
        >= 3
}

/// Removes inline images, which are long and random but not secret.
fn without_images(line: &str) -> std::borrow::Cow<'_, str> {
    table::DATA_URL.replace_all(line, "data:")
}

fn pieces(line: &str) -> Vec<&str> {
    if line.len() <= PIECE {
        return vec![line];
    }
    let mut pieces = Vec::new();
    let mut start = 0;
    while start < line.len() {
        let (mut from, mut to) = (start.saturating_sub(OVERLAP), (start + PIECE).min(line.len()));
        while !line.is_char_boundary(from) {
            from -= 1;
        }
        while !line.is_char_boundary(to) {
            to += 1;
        }
        pieces.push(&line[from..to]);
        start = to;
    }
    pieces
}

/// Shortens a secret: enough to find it, too little to use it.
fn shown(value: &str) -> String {
    let length = value.chars().count();
    let kept = match length {
        0..12 => 0,
        12..20 => 2,
        _ => 4,
    };
    let start: String = value.chars().take(kept).collect();
    format!("{start}…, {length} characters")
}
