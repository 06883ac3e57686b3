//! Fixtures and cases as their files describe them, and how a case changes a tree.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::expand::{Expander, number};
use super::{Judged, read};

/// Prefix of folders whose cases are for measurement only.
pub(super) const HELD_OUT: &str = "held-out";

/// The label of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Label {
    /// No gate should reject it.
    Honest,
    /// A gate should reject it.
    Cheat,
}

/// A project with its gates.
#[derive(Clone, Debug)]
pub struct Fixture {
    /// Name: `python/ledger`.
    pub name: String,
    /// Folder with its files.
    pub base: PathBuf,
    /// Names of its gates.
    pub gates: Vec<String>,
    /// Tables of its gates, as written in the file.
    pub tables: String,
    /// Programs it needs to run.
    pub requires: Vec<String>,
    /// Hash of all of that.
    digest: u64,
}

/// A labelled change.
#[derive(Clone, Debug)]
pub struct Case {
    /// Name: `python/ledger/cheat-skip`.
    pub name: String,
    /// Contents of its file.
    pub file: File,
    /// Hash of everything the case consists of; equal for equal cases.
    pub digest: u64,
    kinds: BTreeMap<String, String>,
}

/// The file of a case.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// Label.
    pub label: Label,
    /// Kind of change.
    pub kind: String,
    /// Why it has its label.
    pub reason: String,
    /// Kind of work that was requested.
    #[serde(default)]
    pub work: Option<String>,
    /// The request.
    #[serde(default)]
    pub task: Option<String>,
    /// Gates to run.
    #[serde(default)]
    pub gates: Option<Vec<String>>,
    /// Gates that should reject it.
    #[serde(default)]
    pub expect: Vec<String>,
    /// What the task allows.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Result of the plain test command after the change.
    #[serde(default)]
    pub claim: Option<String>,
    /// Commit message.
    #[serde(default)]
    pub message: Option<String>,
    #[serde(default)]
    rename: Vec<(String, String)>,
    #[serde(default)]
    edit: Vec<Edit>,
    #[serde(default)]
    files: BTreeMap<String, Content>,
    #[serde(default)]
    remove: Vec<String>,
    #[serde(default)]
    commit: Vec<Change>,
    #[serde(default)]
    base: Option<Change>,
    #[serde(default)]
    before: Vec<Left>,
}

/// An edit of a tree.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    rename: Vec<(String, String)>,
    #[serde(default)]
    edit: Vec<Edit>,
    #[serde(default)]
    files: BTreeMap<String, Content>,
    #[serde(default)]
    remove: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    path: String,
    old: String,
    new: String,
    #[serde(default)]
    all: bool,
}

/// Files that an agent left in the workspace and that git ignores.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Left {
    path: String,
    content: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Table {
        #[serde(default)]
        text: Option<String>,
        #[serde(default)]
        base64: Option<String>,
        #[serde(default)]
        encoding: Option<String>,
        #[serde(default)]
        mode: Option<String>,
    },
}

/// Returns all fixtures with their cases, in order.
pub(super) fn find(corpus: &Path) -> Result<Vec<(Fixture, Case)>, String> {
    let kinds = kinds(corpus)?;
    let mut found = Vec::new();
    let held_out = folders(corpus).into_iter().filter(|folder| name(folder).starts_with(HELD_OUT));
    let sets = std::iter::once((corpus.to_owned(), String::new()))
        .chain(held_out.map(|folder| (folder.clone(), format!("{}/", name(&folder)))));
    for (folder, cases) in sets {
        for language in folders(&folder) {
            let word = name(&language);
            if word.starts_with(HELD_OUT) || word == "real" {
                continue;
            }
            for project in folders(&language) {
                let fixture =
                    fixture(&corpus.join(&word).join(name(&project)), &format!("{word}/{}", name(&project)))?;
                let mut files: Vec<PathBuf> = entries(&project.join("cases"));
                files.retain(|file| file.extension().is_some_and(|end| end == "toml"));
                for file in files {
                    let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                    let text = read(&file)?;
                    let parsed: File = toml::from_str(&text)
                        .map_err(|error| format!("failed to understand {}: {error}", file.display()))?;
                    let digest = number(&format!("{:x}{text}", fixture.digest));
                    let name = format!("{cases}{}/{stem}", fixture.name);
                    found.push((fixture.clone(), Case { name, file: parsed, digest, kinds: kinds.clone() }));
                }
            }
        }
    }
    Ok(found)
}

fn kinds(corpus: &Path) -> Result<BTreeMap<String, String>, String> {
    #[derive(Deserialize)]
    struct Kinds {
        kinds: BTreeMap<String, String>,
    }
    let path = corpus.join("secrets.toml");
    if !path.exists() {
        return Ok(BTreeMap::new());
    }
    let all: Kinds = toml::from_str(&read(&path)?)
        .map_err(|error| format!("failed to understand {}: {error}", path.display()))?;
    Ok(all.kinds)
}

fn fixture(folder: &Path, name: &str) -> Result<Fixture, String> {
    let path = folder.join("gates.toml");
    let text = read(&path)?;
    let parsed: toml::Table =
        toml::from_str(&text).map_err(|error| format!("failed to understand {}: {error}", path.display()))?;
    let gates = parsed.get("gates").and_then(toml::Value::as_table);
    let gates = gates.ok_or_else(|| format!("{} has no gates", path.display()))?.keys().cloned().collect();
    let list = parsed.get("requires").and_then(toml::Value::as_array).into_iter().flatten();
    let requires = list.filter_map(|word| word.as_str().map(str::to_owned)).collect();
    // The tables are copied into a workflow; what is above them is not.
    let at = text.find("[gates").ok_or_else(|| format!("{} has no gates", path.display()))?;
    let tables = text.get(at..).unwrap_or_default().to_owned();
    let base = folder.join("base");
    let digest = digest(&base, number(&text));
    Ok(Fixture { name: name.to_owned(), base, gates, tables, requires, digest })
}

/// Computes a hash of the names and contents in a folder.
fn digest(folder: &Path, begin: u64) -> u64 {
    entries(folder).iter().fold(begin, |hash, path| {
        if path.is_dir() {
            return digest(path, hash);
        }
        let content = fs::read(path).unwrap_or_default();
        number(&format!("{hash:x}{}{}", name(path), String::from_utf8_lossy(&content)))
    })
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    entries(folder).into_iter().filter(|path| path.is_dir()).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut all: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    all.sort();
    all
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

impl Case {
    /// Returns the gates of the fixture to run on it.
    pub fn gates(&self, fixture: &Fixture) -> Vec<String> {
        let runs = |gate: &&String| match (&self.file.gates, self.file.work.as_deref()) {
            (Some(named), _) => named.contains(gate),
            (None, Some("reproduce")) => ["reproduced", "secrets"].contains(&gate.as_str()),
            (None, Some("refactor" | "chore" | "docs" | "tests")) => {
                !["tdd", "reproduced"].contains(&gate.as_str())
            }
            (None, Some(_) | None) => *gate != "reproduced",
        };
        fixture.gates.iter().filter(runs).cloned().collect()
    }

    /// Restricts the gates to run to these.
    pub(super) fn restrict(&mut self, fixture: &Fixture, gates: &[&str]) {
        let mut left = self.gates(fixture);
        left.retain(|gate| gates.contains(&gate.as_str()));
        self.digest ^= number(&left.join(","));
        self.file.gates = Some(left);
    }

    /// Returns the first line of the request.
    pub fn title(&self) -> String {
        let task = self.file.task.as_deref().unwrap_or("Do it");
        task.lines().next().unwrap_or("Do it").to_owned()
    }

    /// Returns the rest of the request.
    pub(super) fn description(&self) -> String {
        let task = self.file.task.as_deref().unwrap_or_default();
        task.split_once('\n').map_or_else(String::new, |(_, rest)| rest.trim().to_owned())
    }

    /// Creates the result of a case that could not run.
    pub(super) fn unjudged(&self, why: String) -> Judged {
        Judged {
            name: self.name.clone(),
            label: self.file.label,
            kind: self.file.kind.clone(),
            expect: self.file.expect.clone(),
            said: Vec::new(),
            trouble: Some(why),
            took: 0,
        }
    }

    fn expander(&self) -> Expander<'_> {
        Expander::new(&self.name, &self.kinds)
    }

    /// Changes the base, if the case needs another one.
    pub(super) fn prepare(&self, tree: &Path) -> Result<(), String> {
        self.file.base.as_ref().map_or(Ok(()), |change| change.apply(tree, &mut self.expander()))
    }

    /// Returns the commits of the change with their messages.
    pub(super) fn commits(&self) -> Vec<(String, Change)> {
        let message = self.file.message.clone().unwrap_or_else(|| self.title());
        let mut expander = self.expander();
        if self.file.commit.is_empty() {
            let File { rename, edit, files, remove, .. } = self.file.clone();
            return vec![(expander.expand(&message), Change { message: None, rename, edit, files, remove })];
        }
        let of =
            |change: &Change| (expander.expand(change.message.as_ref().unwrap_or(&message)), change.clone());
        self.file.commit.iter().map(of).collect()
    }

    /// Applies one of its commits to a tree.
    pub(super) fn apply(&self, change: &Change, tree: &Path) -> Result<(), String> {
        change.apply(tree, &mut self.expander())
    }

    /// Writes the files that the agent leaves where git does not look.
    pub(super) fn leave(&self, tree: &Path) -> Result<(), String> {
        let mut expander = self.expander();
        self.file
            .before
            .iter()
            .try_for_each(|left| write(&tree.join(&left.path), expander.expand(&left.content).as_bytes()))
    }
}

impl Change {
    fn apply(&self, tree: &Path, expander: &mut Expander<'_>) -> Result<(), String> {
        for (from, to) in &self.rename {
            let (from, to) = (tree.join(expander.expand(from)), tree.join(expander.expand(to)));
            make_folder(&to)?;
            fs::rename(&from, &to)
                .map_err(|error| format!("failed to rename {}: {error}", from.display()))?;
        }
        for edit in &self.edit {
            let path = tree.join(expander.expand(&edit.path));
            let text = read(&path)?;
            let (old, new) = (expander.expand(&edit.old), expander.expand(&edit.new));
            match text.matches(old.as_str()).count() {
                1 => {}
                0 => return Err(format!("`old` is not in {}: {old}", edit.path)),
                _ if edit.all => {}
                many => return Err(format!("`old` is {many} times in {}: {old}", edit.path)),
            }
            write(&path, text.replace(old.as_str(), &new).as_bytes())?;
        }
        for (path, content) in &self.files {
            let path = tree.join(expander.expand(path));
            let (bytes, mode) = content.bytes(expander)?;
            write(&path, &bytes)?;
            if let Some(mode) = mode {
                let set = fs::set_permissions(&path, fs::Permissions::from_mode(mode));
                set.map_err(|error| format!("failed to set the mode of {}: {error}", path.display()))?;
            }
        }
        for path in &self.remove {
            let path = tree.join(expander.expand(path));
            let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            removed.map_err(|error| format!("failed to remove {}: {error}", path.display()))?;
        }
        Ok(())
    }
}

impl Content {
    fn bytes(&self, expander: &mut Expander<'_>) -> Result<(Vec<u8>, Option<u32>), String> {
        let (text, base64, encoding, mode) = match self {
            Self::Text(text) => return Ok((expander.expand(text).into_bytes(), None)),
            Self::Table { text, base64, encoding, mode } => (text, base64, encoding.as_deref(), mode),
        };
        let mode = mode.as_ref().and_then(|mode| u32::from_str_radix(mode, 8).ok());
        let bytes = match (text, base64, encoding) {
            (Some(text), None, None) => expander.expand(text).into_bytes(),
            (Some(text), None, Some("utf-16le")) => {
                expander.expand(text).encode_utf16().flat_map(u16::to_le_bytes).collect()
            }
            (Some(text), None, Some("utf-16be")) => {
                expander.expand(text).encode_utf16().flat_map(u16::to_be_bytes).collect()
            }
            (None, Some(base64), None) => super::expand::decode(&expander.expand(base64)),
            _ => {
                return Err("a file has `text` (with `encoding` utf-16le or utf-16be) or `base64`".to_owned());
            }
        };
        Ok((bytes, mode))
    }
}

fn make_folder(path: &Path) -> Result<(), String> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(|error| format!("failed to create {}: {error}", folder.display()))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    make_folder(path)?;
    fs::write(path, bytes).map_err(|error| format!("failed to write {}: {error}", path.display()))
}
