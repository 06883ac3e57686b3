//! `cargo xtask gauge --real`: builds a corpus for the gauge from bug fixes of published packages.
//!
//! A recipe in `corpus/real` names two releases of a package and the hashes of their archives. The package manager's
//! client downloads both, once. The older release is the base of the fixture; a case takes its files from the newer
//! one. This repository contains no package source.
#![allow(clippy::disallowed_macros, reason = "xtask reports to the terminal it was started from")]
#![allow(clippy::disallowed_methods, reason = "where cargo keeps its downloads stands in the environment")]

use std::fs;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use crate::{Stop, runners, shell};

/// Builds the corpus of all recipes with a matching name or case name. Returns its path.
pub(crate) fn corpus(words: &[&str]) -> Result<PathBuf, Stop> {
    let recipes = shell::root().join("corpus/real");
    let place = runners::target().join("real");
    let built = place.join("corpus");
    if built.exists() {
        fs::remove_dir_all(&built).map_err(Stop::doing("remove the corpus of an earlier run"))?;
    }
    for language in folders(&recipes)? {
        for folder in folders(&language)? {
            let name = format!("{}/{}", name(&language), name(&folder));
            let wanted = |word: &&str| name.contains(*word) || word.starts_with(&name);
            if words.is_empty() || words.iter().any(wanted) {
                build(&folder, &language, &place, &built.join(&name))?;
            }
        }
    }
    Ok(built)
}

/// Builds the fixture of a recipe.
fn build(folder: &Path, language: &Path, place: &Path, to: &Path) -> Result<(), Stop> {
    let recipe = table(&folder.join("recipe.toml"))?;
    let old = release(&recipe, "old", place)?;
    let new = release(&recipe, "new", place)?;
    copy(&old, &to.join("base"))?;
    let remove = recipe.get("remove").and_then(Value::as_array).into_iter().flatten();
    for path in remove.filter_map(Value::as_str).map(|path| to.join("base").join(path)) {
        let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.map_err(|error| Stop(format!("failed to remove {}: {error}", path.display())))?;
    }
    if let Some(Value::Table(files)) = recipe.get("files") {
        for (path, text) in files {
            write(&to.join("base").join(path), text.as_str().unwrap_or_default())?;
        }
    }
    let own = folder.join("gates.toml");
    let gates = if own.exists() { own } else { language.join("gates.toml") };
    write(&to.join("gates.toml"), &read(&gates)?)?;
    for file in entries(&folder.join("cases"))? {
        let mut case = table(&file)?;
        resolve(&mut case, &to.join("base"), &new)
            .map_err(|why| Stop(format!("{}: {}", file.display(), why.0)))?;
        let text =
            toml::to_string(&case).map_err(|error| Stop(format!("failed to write a case: {error}")))?;
        write(&to.join("cases").join(name(&file)), &text)?;
    }
    Ok(())
}

/// Turns the files that a case takes from the newer release, and its edits, into complete files.
fn resolve(case: &mut Table, base: &Path, new: &Path) -> Result<(), Stop> {
    let mut files = match case.remove("files") {
        Some(Value::Table(files)) => files,
        _ => Table::new(),
    };
    let take = case.remove("take").and_then(|list| list.as_array().cloned()).unwrap_or_default();
    for path in take.iter().filter_map(Value::as_str) {
        files.insert(path.to_owned(), Value::String(read(&new.join(path))?));
    }
    let edits = case.remove("edit").and_then(|list| list.as_array().cloned()).unwrap_or_default();
    for edit in &edits {
        let key = |key: &str| edit.get(key).and_then(Value::as_str).unwrap_or_default();
        let (path, old, new) = (key("path"), key("old"), key("new"));
        let text = match files.get(path).and_then(Value::as_str) {
            Some(text) => text.to_owned(),
            None => read(&base.join(path))?,
        };
        let found = text.matches(old).count();
        if found != 1 {
            return Err(Stop(format!("`old` is {found} times in {path}: {old}")));
        }
        files.insert(path.to_owned(), Value::String(text.replace(old, new)));
    }
    if !files.is_empty() {
        case.insert("files".to_owned(), Value::Table(files));
    }
    Ok(())
}

/// Returns the directory of a release. Downloads and unpacks it if missing.
fn release(recipe: &Table, which: &str, place: &Path) -> Result<PathBuf, Stop> {
    let text = |table: &Table, key: &str| -> Result<String, Stop> {
        let value = table.get(key).and_then(Value::as_str);
        value.map(str::to_owned).ok_or_else(|| Stop(format!("a recipe has no `{key}`")))
    };
    let (registry, package) = (text(recipe, "registry")?, text(recipe, "package")?);
    let release = recipe.get(which).and_then(Value::as_table);
    let release = release.ok_or_else(|| Stop(format!("the recipe of {package} has no `{which}`")))?;
    let (version, hash) = (text(release, "version")?, text(release, "sha256")?);
    let folder = place.join(format!("{registry}/{package}-{version}"));
    if folder.join(".complete").exists() {
        return Ok(folder.join("tree"));
    }
    println!("    {registry}: {package} {version}");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(Stop::doing("remove half a download"))?;
    }
    let (tree, raw) = (folder.join("tree"), folder.join("archive"));
    for made in [&tree, &raw] {
        fs::create_dir_all(made).map_err(Stop::doing("create a folder for a download"))?;
    }
    let archive = download(&registry, &package, &version, &raw)?;
    let sum = shell::first_line(shell::program("sha256sum").arg(&archive)).unwrap_or_default();
    if sum.split_whitespace().next() != Some(hash.as_str()) {
        return Err(Stop(format!("{package} {version} is not what the recipe says: its hash is {sum}")));
    }
    let mut unpack = shell::program("tar");
    unpack.arg("-xzf").arg(&archive).arg("-C").arg(&tree).args(["--strip-components=1", "--no-same-owner"]);
    if !shell::succeeds(&mut unpack)? {
        return Err(Stop(format!("{package} {version} could not be unpacked")));
    }
    write(&folder.join(".complete"), "")?;
    Ok(tree)
}

/// Downloads an archive with the package manager's client.
fn download(registry: &str, package: &str, version: &str, to: &Path) -> Result<PathBuf, Stop> {
    let mut command = match registry {
        "pypi" => {
            let mut command = shell::program("python3");
            command.args(["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]);
            command.args(["--no-binary", ":all:", "--dest"]).arg(to).arg(format!("{package}=={version}"));
            command
        }
        "npm" => {
            let mut command = shell::program("npm");
            command.args(["pack", "--silent", "--pack-destination"]).arg(to);
            command.arg(format!("{package}@{version}"));
            command
        }
        "crates.io" => {
            let manifest = format!(
                "[package]\nname = \"fetch\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[lib]\npath = \"lib.rs\"\n\
                 [dependencies]\n{package} = \"={version}\"\n[workspace]\n"
            );
            write(&to.join("fetch/Cargo.toml"), &manifest)?;
            write(&to.join("fetch/lib.rs"), "")?;
            let mut command = shell::cargo(&["fetch", "--quiet"]);
            command.current_dir(to.join("fetch")).env("CARGO_HOME", to.join("home"));
            command
        }
        other => return Err(Stop(format!("a recipe names the registry `{other}`, which is not known"))),
    };
    if !shell::succeeds(&mut command)? {
        return Err(Stop(format!("{package} {version} could not be downloaded")));
    }
    let mut places = vec![to.to_owned()];
    if registry == "crates.io" {
        places = folders(&to.join("home/registry/cache"))?;
    }
    let mut archives = Vec::new();
    for place in places {
        archives.extend(entries(&place)?);
    }
    let begins = |path: &PathBuf| {
        let file = name(path);
        let archive = [".tar.gz", ".tgz", ".crate"].iter().any(|end| file.ends_with(end));
        archive && file.contains(version)
    };
    archives.into_iter().find(begins).ok_or_else(|| Stop(format!("{package} {version} left no archive")))
}

fn table(path: &Path) -> Result<Table, Stop> {
    toml::from_str(&read(path)?)
        .map_err(|error| Stop(format!("failed to understand {}: {error}", path.display())))
}

fn read(path: &Path) -> Result<String, Stop> {
    fs::read_to_string(path).map_err(|error| Stop(format!("failed to read {}: {error}", path.display())))
}

fn write(path: &Path, text: &str) -> Result<(), Stop> {
    let made = fs::create_dir_all(path.parent().unwrap_or(path)).and_then(|()| fs::write(path, text));
    made.map_err(|error| Stop(format!("failed to write {}: {error}", path.display())))
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, Stop> {
    let doing = |error: std::io::Error| Stop(format!("failed to read {}: {error}", folder.display()));
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).map_err(doing)? {
        all.push(entry.map_err(doing)?.path());
    }
    all.sort();
    Ok(all)
}

fn folders(folder: &Path) -> Result<Vec<PathBuf>, Stop> {
    Ok(entries(folder)?.into_iter().filter(|path| path.is_dir()).collect())
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn copy(from: &Path, to: &Path) -> Result<(), Stop> {
    for path in entries(from)? {
        let target = to.join(name(&path));
        if path.is_dir() {
            copy(&path, &target)?;
        } else if path.is_file() {
            fs::create_dir_all(to).map_err(Stop::doing("copy a package"))?;
            fs::copy(&path, &target).map_err(Stop::doing("copy a package"))?;
        }
    }
    Ok(())
}
