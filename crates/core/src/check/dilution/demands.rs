//! What source files demand of themselves: lints that an attribute or a comment turns on.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::marks::without_comment;
use super::settings::holds_demands;
use super::{SETTINGS_LOOSENED, texts};
use crate::check::Finding;
use crate::check::diff::{Diff, FileChange, Line, Origin, Side};
use crate::check::source::{Class, Language, Source};
use crate::pattern::pattern;

/// How much is demanded: `deny` and `forbid` weigh the same, because what a `forbid` lets through then is marked where it stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Warn,
    Error,
}

/// Attributes and comments that are looked at in a file, and how long one may be: more were not written by hand.
const MOST: usize = 500;
const LONGEST: usize = 4_000;

/// Between a lint and the condition under which it is demanded.
const IF: &str = " if ";

/// What a file demands, and in which line.
type Demands = BTreeMap<String, (Level, u32)>;

/// Demands that a change takes back, in files that are still there. What the settings or a crate root demand instead has only
/// moved.
pub(super) fn loosened(diff: &Diff) -> Vec<Finding> {
    let sides: Vec<(&FileChange, Demands, Demands)> = diff.files.iter().filter_map(both).collect();
    let set = settings(diff);
    let mut findings = Vec::new();
    for (file, old, new) in &sides {
        for (name, (level, number)) in old {
            let keeps = |demands: &Demands| {
                let always = name.split_once(IF).and_then(|(always, _)| demands.get(always));
                demands.get(name).into_iter().chain(always).any(|(other, _)| other >= level)
            };
            let moved = sides.iter().any(|(other, before, after)| {
                let holds = other.old.is_some() && is_root_of(other.path(), file.path());
                holds && !keeps(before) && keeps(after)
            });
            if keeps(new)
                || moved
                || is_set(&set, name)
                || file.new.is_none()
                || file.origin == Origin::Copied
            {
                continue;
            }
            let what = format!("`{name}` is not demanded any more");
            let gone = file.lines.iter().find(|line| line.side == Side::Removed && line.number == *number);
            let text = gone.map_or("", |line| line.text.as_str());
            findings.push(Finding::new(SETTINGS_LOOSENED, file.path(), Some(*number), what).with('-', text));
        }
    }
    findings
}

/// Whether what a Rust file demands holds for another one too: it is the root of its crate, or the module above it.
fn is_root_of(root: &str, path: &str) -> bool {
    let (folder, name) = root.rsplit_once('/').unwrap_or(("", root));
    let below = path.strip_prefix(folder).is_some_and(|rest| folder.is_empty() || rest.starts_with('/'));
    below && Language::of(path) == Some(Language::Rust) && ["lib.rs", "main.rs", "mod.rs"].contains(&name)
}

/// A changed file with what it demanded before and demands now.
fn both(file: &FileChange) -> Option<(&FileChange, Demands, Demands)> {
    let language = Language::of(file.path()).or_else(|| Language::of(file.old.as_deref()?))?;
    let (before, after) = texts(file)?;
    Some((file, demands(language, before), demands(language, after)))
}

/// The lines of settings files that demand something from now on.
fn settings(diff: &Diff) -> Vec<&Line> {
    static DEMANDS: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r#"\b(?:deny|forbid|warn|error|strict|true|check)\b|[=:]\s*\[?\s*["']?[12]\b"#)
    });
    let files = diff.files.iter().filter(|file| holds_demands(file.path()));
    let lines = files.flat_map(FileChange::added);
    lines.filter(|line| DEMANDS.is_match(without_comment(&line.text))).take(MOST).collect()
}

/// Whether settings demand a lint.
fn is_set(settings: &[&Line], name: &str) -> bool {
    let name = name.split_once(IF).map_or(name, |(name, _)| name);
    let last = name.rsplit("::").next().unwrap_or(name);
    let dashed = last.replace('_', "-");
    settings.iter().any(|line| line.text.contains(last) || line.text.contains(&dashed))
}

/// Under which condition an attribute holds: a demand that does not always hold is another one.
fn condition(attribute: &str) -> String {
    let Some((_, rest)) = attribute.split_once("cfg_attr") else { return String::new() };
    let mut depth = 0_usize;
    let end = rest.find(|c| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 1
    });
    let condition: String = rest[..end.unwrap_or(rest.len())].split_whitespace().collect();
    format!("{IF}{}", condition.trim_start_matches('('))
}

fn demands(language: Language, text: String) -> Demands {
    static ATTRIBUTE: LazyLock<Regex> = LazyLock::new(|| pattern(r"#!\s*\["));
    static LINTS: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b(deny|forbid|warn)\s*\(([^()]*)\)"));
    static ESLINT: LazyLock<Regex> =
        LazyLock::new(|| pattern(r#"([\w@/-]+)"?\s*:\s*\[?\s*["']?(error|warn|2|1)\b"#));
    static MYPY: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"\b(strict|disallow[\w-]*|check[\w-]*|warn[\w-]*|no[-_]implicit[\w-]*)\b"));
    let source = Source::new(language, text);
    let mut demands = Demands::new();
    let mut demand = |name: &str, level: Level, line: u32| {
        if demands.len() >= MOST {
            return;
        }
        let known = demands.entry(name.to_owned()).or_insert((level, line));
        known.0 = known.0.max(level);
    };
    match language {
        Language::Rust => {
            for found in ATTRIBUTE.find_iter(&source.bare).take(MOST) {
                let range = source.balanced(found.end() - 1);
                if range.len() > LONGEST {
                    continue;
                }
                let line = source.line_of(found.start());
                let condition = condition(source.text.get(range.clone()).unwrap_or_default());
                for lints in LINTS.captures_iter(source.bare.get(range).unwrap_or_default()) {
                    let level = if &lints[1] == "warn" { Level::Warn } else { Level::Error };
                    let names = lints[2].split(',').map(str::trim);
                    for name in names.filter(|name| !name.is_empty() && !name.contains('=')) {
                        demand(&format!("{name}{condition}"), level, line);
                    }
                }
            }
        }
        Language::Script | Language::Python => {
            for (number, line) in (1..).zip(source.text.lines()) {
                let start = source.line(number).start;
                let is_comment = |at: usize| source.class(start + at) == Class::Comment;
                for (sign, name) in [("@ts-check", "@ts-check"), ("pyright: strict", "pyright: strict")] {
                    if line.find(sign).is_some_and(is_comment) {
                        demand(name, Level::Error, number);
                    }
                }
                if let Some(at) = line.find("eslint ").filter(|at| is_comment(*at)) {
                    for rule in ESLINT.captures_iter(&line[at..]) {
                        let level = if matches!(&rule[2], "warn" | "1") { Level::Warn } else { Level::Error };
                        demand(&rule[1], level, number);
                    }
                }
                if let Some(at) = line.find("mypy: ").filter(|at| is_comment(*at)) {
                    for option in MYPY.find_iter(&line[at..]) {
                        demand(option.as_str(), Level::Error, number);
                    }
                }
            }
        }
        Language::Go | Language::Java => {}
    }
    demands
}
