//! Version files: a project names the language version it needs, and programs of a leg find that one first in their
//! `PATH`.
//!
//! Version managers with shims read such files themselves. Others, such as nvm and fnm, change a person's shell, which
//! programs of a leg do not have. So the directory of the wanted version is looked up where managers keep their
//! installations. The files are untrusted: they only choose among existing directories.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::sandbox::toolchains::{self, Toolchain};
use crate::untrusted;
use acquit_sandbox::environment::Environment;

/// Maximum file size. A version file has a few lines; manifests are larger.
const LARGEST: u64 = 1 << 20;

/// A language, and where its versions are.
#[derive(Debug)]
struct Language {
    name: &'static str,
    /// A program of the language.
    program: &'static str,
    /// Files of the project that name a version. The first existing one decides.
    files: &'static [(&'static str, Form)],
    /// For each manager: the directory of its versions, and the path from a version to its programs.
    managers: &'static [(&'static str, &'static str, &'static str)],
}

/// How a file names a version.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// The first line is the version.
    Line,
    /// The version follows this word at the start of a line.
    After(&'static str),
    /// A TOML key, anywhere in the file.
    Key(&'static str),
}

const LANGUAGES: [Language; 5] = [
    Language {
        name: "Node.js",
        program: "node",
        files: &[
            (".nvmrc", Form::Line),
            (".node-version", Form::Line),
            (".tool-versions", Form::After("nodejs")),
            (".tool-versions", Form::After("node")),
            ("mise.toml", Form::Key("node")),
            (".mise.toml", Form::Key("node")),
        ],
        managers: &[
            ("nvm", "versions/node", "bin"),
            ("fnm", "node-versions", "installation/bin"),
            ("nodenv", "versions", "bin"),
            ("volta", "tools/image/node", "bin"),
            ("asdf", "installs/nodejs", "bin"),
            ("mise", "installs/node", "bin"),
        ],
    },
    Language {
        name: "Python",
        program: "python3",
        files: &[
            (".python-version", Form::Line),
            (".tool-versions", Form::After("python")),
            ("mise.toml", Form::Key("python")),
            (".mise.toml", Form::Key("python")),
        ],
        managers: &[
            ("pyenv", "versions", "bin"),
            ("uv", "python", "bin"),
            ("rye", "py", "bin"),
            ("asdf", "installs/python", "bin"),
            ("mise", "installs/python", "bin"),
        ],
    },
    Language {
        name: "Java",
        program: "java",
        files: &[
            (".java-version", Form::Line),
            (".sdkmanrc", Form::After("java=")),
            (".tool-versions", Form::After("java")),
            ("mise.toml", Form::Key("java")),
        ],
        managers: &[
            ("sdkman", "candidates/java", "bin"),
            ("jenv", "versions", "bin"),
            ("asdf", "installs/java", "bin"),
            ("mise", "installs/java", "bin"),
        ],
    },
    Language {
        name: "Go",
        program: "go",
        files: &[
            (".go-version", Form::Line),
            (".tool-versions", Form::After("golang")),
            (".tool-versions", Form::After("go")),
            ("mise.toml", Form::Key("go")),
            ("go.mod", Form::After("toolchain")),
        ],
        managers: &[
            ("goenv", "versions", "bin"),
            ("asdf", "installs/golang", "go/bin"),
            ("mise", "installs/go", "bin"),
            ("go", "pkg/mod/golang.org", "bin"),
        ],
    },
    Language {
        name: "Rust",
        program: "cargo",
        files: &[
            ("rust-toolchain.toml", Form::Key("channel")),
            ("rust-toolchain", Form::Line),
            (".tool-versions", Form::After("rust")),
        ],
        managers: &[
            ("rustup", "toolchains", "bin"),
            ("asdf", "installs/rust", "bin"),
            ("mise", "installs/rust", "bin"),
        ],
    },
];

/// A version that a project needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Language.
    pub language: &'static str,
    /// File that names the version.
    pub file: &'static str,
    /// Version as written in the file.
    pub version: String,
    /// Directory of its programs. `None` if no manager has it.
    pub bin: Option<PathBuf>,
    program: &'static str,
}

/// Returns the versions that the files of a tree name.
pub fn wanted(tree: &Path, environment: &Environment) -> Vec<Wanted> {
    let mut tools = None;
    let mut all = Vec::new();
    for language in &LANGUAGES {
        let said =
            language.files.iter().find_map(|(file, form)| Some((*file, form.read(&text(tree, file)?)?)));
        let Some((file, version)) = said.filter(|(_, version)| version != "system") else { continue };
        let home = environment.home_or_root();
        let tools = tools.get_or_insert_with(|| toolchains::find(&home, |name| environment.get(name)));
        let bin = language.find(tools, &version);
        all.push(Wanted { language: language.name, file, version, bin, program: language.program });
    }
    all
}

/// Returns the search path with the wanted versions first. `except` is the interpreter of an agent, which must not
/// change.
pub(crate) fn path(tree: &Path, environment: &Environment, except: Option<&str>) -> Option<OsString> {
    let first: Vec<PathBuf> = wanted(tree, environment)
        .into_iter()
        // Rustup's own programs read the file, and support several versions.
        .filter(|wanted| wanted.program != "cargo")
        .filter(|wanted| except.is_none_or(|except| !except.contains(wanted.program)))
        .filter_map(|wanted| wanted.bin)
        .collect();
    if first.is_empty() {
        return None;
    }
    let usual = environment.get("PATH").unwrap_or_default().to_owned();
    std::env::join_paths(first.into_iter().chain(std::env::split_paths(&usual))).ok()
}

/// Returns the first line of a program, which names the interpreter of a script. Empty for other programs.
pub(crate) fn interpreter(program: &OsStr, environment: &Environment) -> String {
    let path = environment.get("PATH").unwrap_or_default();
    let found = program.to_str().and_then(|program| crate::process::in_path(path, program));
    let real = found.unwrap_or_else(|| PathBuf::from(program)).canonicalize().unwrap_or_default();
    let mut line = [0; 200];
    let read = std::fs::File::open(real).and_then(|mut file| file.read(&mut line)).unwrap_or_default();
    let text = String::from_utf8_lossy(&line[..read]);
    text.strip_prefix("#!").and_then(|rest| rest.lines().next()).unwrap_or_default().to_owned()
}

fn text(tree: &Path, file: &str) -> Option<String> {
    untrusted::text(&tree.join(file), LARGEST).ok().flatten()
}

impl Form {
    fn read(self, text: &str) -> Option<String> {
        let mut lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
        let word = match self {
            Self::Line => lines.find(|line| !line.is_empty())?,
            Self::After(word) => lines.find_map(|line| {
                let rest = line.strip_prefix(word)?;
                (word.ends_with('=') || rest.starts_with(char::is_whitespace)).then_some(rest)
            })?,
            Self::Key(key) => lines.find_map(|line| {
                let rest = line.strip_prefix(key)?.trim_start().strip_prefix('=')?;
                Some(rest.trim().trim_matches(['"', '\'']))
            })?,
        };
        let word = word.split_whitespace().next()?.trim_start_matches("go");
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-+/*".contains(c);
        let sound = word.len() < 80 && word.chars().all(plain) && !word.contains("..");
        sound.then(|| word.to_owned())
    }
}

impl Language {
    fn find(&self, tools: &[Toolchain], version: &str) -> Option<PathBuf> {
        for (manager, versions, bin) in self.managers {
            for tool in tools.iter().filter(|tool| tool.layout.name == *manager) {
                let version = aliased(&tool.root, version);
                let folder = tool.root.join(versions);
                let names = std::fs::read_dir(&folder).into_iter().flatten().flatten();
                let names = names.filter_map(|entry| entry.file_name().into_string().ok());
                let best = names.filter(|name| is_version(name, &version)).max_by_key(|name| numbers(name));
                let place = best.map(|name| folder.join(name).join(bin)).filter(|place| place.is_dir());
                if place.is_some() {
                    return place;
                }
            }
        }
        None
    }
}

/// Resolves an alias of nvm: `lts/iron`, `default`.
fn aliased(root: &Path, name: &str) -> String {
    let mut name = name.to_owned();
    for _ in 0..5 {
        let Some(next) = text(&root.join("alias"), &name).and_then(|text| Form::Line.read(&text)) else {
            break;
        };
        name = next;
    }
    name
}

/// Returns whether an installation directory matches a version: `v20.11.1`, `cpython-3.11.7-linux-x86_64-gnu`,
/// `1.75.0-x86_64-unknown-linux-gnu` and `toolchain@v0.0.1-go1.22.1.linux-amd64` match `20`, `3.11`, `1.75.0` and
/// `1.22.1`.
fn is_version(folder: &str, version: &str) -> bool {
    let version = version.trim_start_matches('v');
    if version == "node" || version == "latest" || version == "*" {
        return true;
    }
    let plain = folder.trim_start_matches("cpython-").trim_start_matches('v');
    let plain = plain.rsplit_once("-go").map_or(plain, |(_, version)| version);
    plain.strip_prefix(version).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-', '+']))
}

/// Returns the numbers in a name, for finding the newest.
fn numbers(name: &str) -> Vec<u64> {
    name.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_of_versions_and_of_their_beginnings() {
        for (folder, version, is) in [
            ("v20.11.1", "20", true),
            ("v20.11.1", "v20.11.1", true),
            ("v20.11.1", "2", false),
            ("3.11.7", "3.11", true),
            ("3.11.7", "3.1", false),
            ("cpython-3.12.1-linux-x86_64-gnu", "3.12", true),
            ("stable-x86_64-unknown-linux-gnu", "stable", true),
            ("1.75.0-x86_64-unknown-linux-gnu", "1.75.0", true),
            ("17.0.9-tem", "17", true),
            ("toolchain@v0.0.1-go1.22.1.linux-amd64", "1.22.1", true),
        ] {
            assert_eq!(is_version(folder, version), is, "{folder} {version}");
        }
    }

    #[test]
    fn files_name_versions_in_their_own_forms() {
        for (form, text, expected) in [
            (Form::Line, "# comment\nv20\n", Some("v20")),
            (Form::Line, "lts/iron\n", Some("lts/iron")),
            (Form::After("nodejs"), "python 3.12\nnodejs 18.1.0 system\n", Some("18.1.0")),
            (Form::After("java="), "java=17.0.9-tem\n", Some("17.0.9-tem")),
            (Form::After("toolchain"), "go 1.21\ntoolchain go1.22.1\n", Some("1.22.1")),
            (Form::Key("channel"), "[toolchain]\nchannel = \"1.75\"\n", Some("1.75")),
            (Form::Line, "../../etc\n", None),
            (Form::Line, "$(x)\n", None),
            (Form::Line, "", None),
        ] {
            assert_eq!(form.read(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn the_newest_that_fits_comes_first_in_the_path() {
        let place = tempfile::tempdir().expect("a folder");
        let home = place.path().join("home");
        for folder in ["v18.1.0", "v20.2.0", "v20.11.0"] {
            std::fs::create_dir_all(home.join(".nvm/versions/node").join(folder).join("bin"))
                .expect("a folder");
        }
        std::fs::create_dir_all(home.join(".nvm/alias/lts")).expect("a folder");
        std::fs::write(home.join(".nvm/alias/lts/hydrogen"), "v18.1.0\n").expect("a file");
        let tree = place.path().join("tree");
        std::fs::create_dir_all(&tree).expect("a folder");
        let environment =
            Environment::new([("HOME".into(), home.clone().into()), ("PATH".into(), "/usr/bin".into())]);
        let path = |version: &str, except: Option<&str>| {
            std::fs::write(tree.join(".nvmrc"), version).expect("a file");
            path(&tree, &environment, except).map(|path| path.to_string_lossy().into_owned())
        };
        let bin = |name: &str| Some(format!("{}/.nvm/versions/node/{name}/bin:/usr/bin", home.display()));
        assert_eq!(path("20", None), bin("v20.11.0"));
        assert_eq!(path("lts/hydrogen", None), bin("v18.1.0"));
        assert_eq!(path("16", None), None);
        assert_eq!(path("20", Some("/usr/bin/env node")), None);
        std::fs::write(tree.join(".nvmrc"), "16").expect("a file");
        let missing = wanted(&tree, &environment);
        assert_eq!((missing[0].version.as_str(), missing[0].bin.as_deref()), ("16", None));
    }
}
