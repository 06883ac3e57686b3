//! A file of settings that takes the place of another: `ruff.toml` beside a `pyproject.toml`, an `.eslintrc` nearer to the code.
//!
//! Tools read one file of a family and forget the others. So a new one is compared with what it takes the place of, as if that
//! had been edited into it: what was demanded must still be demanded. A family that moved to another file passes.

use std::sync::LazyLock;

use regex::Regex;

use super::values;
use crate::check::Finding;
use crate::check::diff::{Diff, FileChange, Line, Side};
use crate::pattern::pattern;

/// Files that a tool reads only one of.
struct Family {
    /// Names of files that are about nothing else.
    own: Regex,
    /// The names of files with a part about it, and what begins that part.
    parts: &'static [(&'static str, &'static str)],
}

static FAMILIES: LazyLock<[Family; 10]> = LazyLock::new(|| {
    let family =
        |own: &str, parts: &'static [(&'static str, &'static str)]| Family { own: pattern(own), parts };
    [
        family(r"^\.?ruff\.toml$", &[("pyproject.toml", "tool.ruff")]),
        family(
            r"^\.?pytest\.(ini|toml)$",
            &[("pyproject.toml", "tool.pytest"), ("tox.ini", "pytest"), ("setup.cfg", "tool:pytest")],
        ),
        family(r"^\.?mypy\.ini$", &[("pyproject.toml", "tool.mypy"), ("setup.cfg", "mypy")]),
        family(
            r"^\.coveragerc(\.toml)?$",
            &[("pyproject.toml", "tool.coverage"), ("setup.cfg", "coverage:"), ("tox.ini", "coverage:")],
        ),
        family(r"^(\.flake8|\.?pylintrc)$", &[("setup.cfg", "flake8"), ("tox.ini", "flake8")]),
        family(r"^(\.eslintrc(\.\w+)?|eslint\.config\.\w+)$", &[("package.json", "eslintConfig")]),
        family(r"^jest\.config\.\w+$", &[("package.json", "jest")]),
        family(r"^(vitest|vite)\.config\.\w+$", &[]),
        family(r"^\.mocharc(\.\w+)?$", &[("package.json", "mocha")]),
        family(r"^(\.golangci\.\w+|\.?clippy\.toml|\.nycrc(\.\w+)?|\.c8rc(\.\w+)?|nextest\.toml)$", &[]),
    ]
});

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The family that a file belongs to as a whole. Members of the last ones are known by the beginning of their names.
fn family(path: &str) -> Option<&'static Family> {
    FAMILIES.iter().find(|family| family.own.is_match(name_of(path)))
}

fn stem(name: &str) -> &str {
    name.trim_start_matches('.').split('.').next().unwrap_or(name)
}

fn is_kin(family: &Family, a: &str, b: &str) -> bool {
    family.own.is_match(b) && (!family.parts.is_empty() || stem(a) == stem(b))
}

/// The new files of a change that can take the place of others.
fn newcomers(diff: &Diff) -> impl Iterator<Item = (&FileChange, &str, &'static Family)> {
    diff.files
        .iter()
        .filter(|file| file.old.is_none())
        .filter_map(|file| Some((file, file.new.as_deref()?)))
        .filter_map(|(file, path)| Some((file, path, family(path)?)))
}

/// Whether the base's version of a file is needed to judge the new settings of a change.
pub fn is_wanted(diff: &Diff, path: &str) -> bool {
    newcomers(diff).any(|(_, new, family)| is_shadowed(family, new, path))
}

/// Whether a new file takes the place of another: the same folder, or one above it.
fn is_shadowed(family: &Family, new: &str, other: &str) -> bool {
    let folder = |path: &str| path.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
    new != other
        && folder(new).starts_with(&folder(other))
        && (is_kin(family, name_of(new), name_of(other))
            || family.parts.iter().any(|(name, _)| *name == name_of(other)))
}

/// Whether a file of settings gives place to a new one of its family, which is compared with it as a whole.
pub(super) fn is_moved(diff: &Diff, path: &str) -> bool {
    newcomers(diff).any(|(_, new, family)| is_shadowed(family, new, path))
}

/// Whether a new file of settings takes the place of one that had something to say, and is compared with that.
pub(super) fn is_heir(diff: &Diff, path: &str, settled: &[(String, String)]) -> bool {
    newcomers(diff).any(|(_, new, family)| {
        new == path
            && settled.iter().any(|(other, text)| !part_of(family, path, other, text).trim().is_empty())
    })
}

/// What a file of the base says that a new one takes the place of; nothing if it does not.
fn part_of(family: &Family, new: &str, other: &str, text: &str) -> String {
    if !is_shadowed(family, new, other) {
        return String::new();
    }
    match family.parts.iter().find(|(name, _)| *name == name_of(other)) {
        Some((_, part)) => section(name_of(other), text, part),
        None => text.to_owned(),
    }
}

/// What new files of settings no longer demand. `settled` are files of the base, with their texts.
pub(super) fn loosened(diff: &Diff, settled: &[(String, String)]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, path, family) in newcomers(diff) {
        for (other, text) in settled.iter().filter(|(other, _)| is_shadowed(family, path, other)) {
            let before = part_of(family, path, other, text);
            if before.trim().is_empty() {
                continue;
            }
            let lines = |text: &str, side: Side| -> Vec<Line> {
                let line = |(number, text): (u32, &str)| Line { side, number, text: text.to_owned() };
                (1..).zip(text.lines()).map(line).collect()
            };
            let mut both = lines(&before, Side::Removed);
            both.extend(lines(&file.after(), Side::Added));
            let change = FileChange { old: Some(path.to_owned()), lines: both, ..file.clone() };
            let mut lost = values::loosened(&change, name_of(path), diff);
            // Two notations of one tool have different ways to begin with somebody else's rules.
            lost.retain(|finding| {
                !finding.what.starts_with("`extends`") && !finding.what.starts_with("`plugins`")
            });
            findings.extend(lost.into_iter().map(|finding| Finding {
                file: Some(path.to_owned()),
                line: None,
                what: format!("this file takes the place of {other}: {}", finding.what),
                ..finding
            }));
        }
    }
    findings
}

/// The part of a file that is about a tool.
fn section(name: &str, text: &str, part: &str) -> String {
    if name == "package.json" {
        let Some(at) = text.find(&format!("\"{part}\"")) else { return String::new() };
        let rest = text.get(at..).unwrap_or_default();
        let (mut depth, mut end) = (0_i32, rest.len());
        for (index, char) in rest.char_indices() {
            match char {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => continue,
            }
            if depth <= 0 {
                end = index + 1;
                break;
            }
        }
        return rest.get(..end).unwrap_or_default().to_owned();
    }
    let (mut out, mut inside) = (String::new(), false);
    for line in text.lines() {
        if line.starts_with('[') {
            inside = line.trim_start_matches('[').starts_with(part);
            continue;
        }
        if inside {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}
