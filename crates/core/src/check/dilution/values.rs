//! Values of settings, before and after: numbers that sank, rules that were turned down, lists that let more through.
//!
//! Read line by line in whatever notation the file has, because all of them write a key, a sign and a value. Where a file
//! has other things in it too, only the sections count that are about checks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use globset::GlobBuilder;
use regex::Regex;

use super::settings::loose;
use crate::check::Finding;
use crate::check::diff::{Diff, FileChange, Line, Side};
use crate::pattern::pattern;

/// A line with what it is about.
struct Setting<'a> {
    line: &'a Line,
    /// The key on the line itself, or that of the list around it.
    key: String,
    /// Whether the key stands on the line itself.
    own: bool,
    value: String,
}

/// Changed lines that are compared, each with each. Settings are written by hand, and are not this long.
pub(super) const MOST: usize = 2_000;

pub(super) fn loosened(file: &FileChange, name: &str, diff: &Diff) -> Vec<Finding> {
    let before = settings(file, name, Side::Removed);
    let after = settings(file, name, Side::Added);
    if let Some(line) = before.get(MOST).or_else(|| after.get(MOST)) {
        return vec![loose(file, line.line, ' ', "more settings were changed than can be looked at")];
    }
    let mut findings = numbers(file, &before, &after);
    findings.extend(retries(file, &before, &after));
    findings.extend(ranks(file, name, &before, &after));
    findings.extend(switches(file, &before, &after));
    // What a crate leaves out is not published; what a check leaves out is not checked.
    if name == "Cargo.toml" {
        findings.extend(members(file, &before, &after));
    } else {
        findings.extend(lists(file, diff, &before, &after));
    }
    let mut seen = BTreeSet::new();
    findings.retain(|finding| seen.insert((finding.line, finding.evidence.clone())));
    findings
}

/// The changed lines of one side that count.
fn settings<'a>(file: &'a FileChange, name: &str, side: Side) -> Vec<Setting<'a>> {
    static PAIR: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r#"^\s*-?\s*["'<]?([\w@/.$-]+(?: [\w-]+)?)(?:["']?\s*[:=]|>)\s*(.*?)[,;]?\s*$"#)
    });
    static INSIDE: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r#"[{,]\s*["']?([\w@/.-]+)["']?\s*:\s*(\[[^\]]*\]|"[^"]*"|'[^']*'|[\w.]+)"#)
    });
    static ELEMENT: LazyLock<Regex> = LazyLock::new(|| pattern(r"[^\s]\s*<([\w.-]+)>([^<>]*)</"));
    static SECTION: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\s*\[+([^\[\]\x22',]+)\]+\s*$"));
    static LINTS: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"lints|pytest|ruff|mypy|coverage|flake8|pylint|pyright|bandit|testenv|mutmut|cosmic|^profile\.(test|dev)$|^(lib|package|workspace|\[?bin|\[?test)$",
        )
    });
    let sectioned = matches!(name, "Cargo.toml" | "pyproject.toml" | "setup.cfg" | "tox.ini");
    let mut counts = !sectioned;
    // Lists that are open, by the column in which their key begins.
    let mut open: Vec<(usize, String)> = Vec::new();
    let mut found = Vec::new();
    for line in file.lines.iter().filter(|line| line.side == Side::Both || line.side == side) {
        let text = line.text.as_str();
        let trimmed = text.trim_start();
        if trimmed.is_empty()
            || trimmed.starts_with('#')
            || trimmed.starts_with("//")
            || trimmed.starts_with(';')
        {
            continue;
        }
        if let Some(section) = SECTION.captures(text).filter(|_| sectioned) {
            counts = LINTS.is_match(section[1].trim());
            open.clear();
            continue;
        }
        // Objects that stand on one line: `module.exports = [{ ignores: ['**/*'] }]`.
        if counts && line.side == side && trimmed.contains('{') {
            let inside = INSIDE.captures_iter(trimmed);
            let inside = inside.map(|pair| (pair[1].to_owned(), pair[2].to_owned()));
            found.extend(inside.map(|(key, value)| Setting { line, key, own: true, value }));
        }
        // Elements behind another one: `<configuration><skipTests>true</skipTests></configuration>`.
        if counts && line.side == side && trimmed.starts_with('<') {
            let elements =
                ELEMENT.captures_iter(trimmed).map(|pair| (pair[1].to_owned(), pair[2].to_owned()));
            found.extend(elements.map(|(key, value)| Setting { line, key, own: true, value }));
        }
        let column = text.len() - trimmed.len();
        open.retain(|(other, _)| *other < column);
        let pair = PAIR.captures(text).map(|pair| (pair[1].to_owned(), pair[2].to_owned()));
        // A word in quotes inside of a list is no key, though it may have a colon in it.
        let item = trimmed.starts_with("- ")
            || (trimmed.starts_with(['"', '\'']) && !trimmed.contains("\":") && !trimmed.contains("':"));
        let (key, own, value) = match pair {
            Some((key, value)) if !item => {
                let opens = value.is_empty() || (value.ends_with(['[', '{', '(']));
                if opens {
                    open.push((column, key.clone()));
                }
                (key, true, value)
            }
            _ => match open.last() {
                Some((_, key)) => (key.clone(), false, trimmed.to_owned()),
                None => continue,
            },
        };
        if counts && line.side == side {
            found.push(Setting { line, key, own, value });
        }
    }
    found
}

/// Numbers that demand less.
fn numbers(file: &FileChange, before: &[Setting<'_>], after: &[Setting<'_>]) -> Vec<Finding> {
    static NUMBER: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b\d+(?:\.\d+)?\b"));
    static VERSION: LazyLock<Regex> = LazyLock::new(|| pattern(r"\d+\.\d+\.\d+|([<>~=]=|[~^])\s*\d|@v?\d"));
    static AT_MOST: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"(?i)\bmax|max[-_]|complexity|retries|\bretry"));
    static AT_LEAST: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?i)fail.?under|threshold|coverage|minimum|\bmin|branches|functions|\blines\b|statements|\btarget\b|\bbreak\b|\bhigh\b|covered",
        )
    });
    let shape = |setting: &Setting<'_>| {
        NUMBER.replace_all(setting.line.text.trim(), "#").trim_end_matches(',').to_owned()
    };
    let values = |line: &Line| -> Vec<f64> {
        NUMBER.find_iter(&line.text).filter_map(|number| number.as_str().parse().ok()).collect()
    };
    let mut come: BTreeMap<String, Vec<&Line>> = BTreeMap::new();
    for setting in after.iter().rev() {
        come.entry(shape(setting)).or_default().push(setting.line);
    }
    let mut findings = Vec::new();
    for setting in before {
        let text = &setting.line.text;
        if VERSION.is_match(text) || !NUMBER.is_match(text) {
            continue;
        }
        let now = come.get_mut(&shape(setting)).and_then(Vec::pop);
        let (most, least) = (AT_MOST.is_match(text), AT_LEAST.is_match(text));
        match now {
            Some(now) => {
                let (old, new) = (values(setting.line), values(now));
                let sank = old.iter().zip(&new).any(|(old, new)| new < old);
                let rose = old.iter().zip(&new).any(|(old, new)| new > old);
                if (most && rose) || (!most && least && sank) {
                    let what = format!("the limit of `{}` demands less", setting.key);
                    findings.push(loose(file, now, '-', &what).with('+', &now.text));
                    if let Some(last) = findings.last_mut() {
                        last.evidence[0] = format!("- {}", text.trim_end());
                    }
                }
            }
            None if least && !most && setting.own && !after.iter().any(|other| other.key == setting.key) => {
                findings.push(loose(
                    file,
                    setting.line,
                    '-',
                    &format!("the limit of `{}` is gone", setting.key),
                ));
            }
            None => {}
        }
    }
    findings
}

/// Runners that try a failed test again, and did not.
fn retries(file: &FileChange, before: &[Setting<'_>], after: &[Setting<'_>]) -> Vec<Finding> {
    static AGAIN: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"(?i)^(rerun\w*|reruns|retry|retries|maxretries|retryTimes|flaky\w*|max_reruns)$")
    });
    let count = |setting: &Setting<'_>| -> u64 {
        let digits: String = setting.value.chars().skip_while(|c| !c.is_ascii_digit()).collect();
        let digits: String = digits.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap_or(0)
    };
    let again = |setting: &&Setting<'_>| setting.own && AGAIN.is_match(&setting.key) && count(setting) > 0;
    let known: Vec<&str> = before.iter().filter(again).map(|setting| setting.key.as_str()).collect();
    let new = after.iter().filter(again).filter(|setting| !known.contains(&setting.key.as_str()));
    new.map(|setting| {
        let what = "a test that fails is tried again: make it pass the first time";
        Finding { rule: super::RETRIES_ADDED, ..loose(file, setting.line, '+', what) }
    })
    .collect()
}

/// How much a word demands of a rule.
fn rank(name: &str, value: &str) -> Option<u8> {
    // eslint has numbers for the same.
    if name.contains("eslint") {
        match value.trim_start_matches(['[', ' ']).split([',', ' ', ']']).next() {
            Some("0") => return Some(0),
            Some("1") => return Some(2),
            Some("2") => return Some(3),
            _ => {}
        }
    }
    static WORD: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r#"^[\[{(\s]*(?:level\s*=\s*)?["']?(off|allow|ignore|none|info|warn|warning|error|deny|forbid)["']?(?:\s*[,\]})]|\s*$)"#,
        )
    });
    match &WORD.captures(value)?[1] {
        "off" | "allow" | "ignore" | "none" => Some(0),
        "info" => Some(1),
        "warn" | "warning" => Some(2),
        "error" | "deny" => Some(3),
        "forbid" => Some(4),
        _ => None,
    }
}

/// Rules that were turned down or off.
fn ranks(file: &FileChange, name: &str, before: &[Setting<'_>], after: &[Setting<'_>]) -> Vec<Finding> {
    let own = |settings: &[Setting<'_>], key: &str| -> Option<u8> {
        settings
            .iter()
            .filter(|setting| setting.own && setting.key == key)
            .find_map(|setting| rank(name, &setting.value))
    };
    let mut findings = Vec::new();
    for setting in after.iter().filter(|setting| setting.own) {
        let Some(now) = rank(name, &setting.value) else { continue };
        let was = own(before, &setting.key);
        if was.map_or(now == 0, |was| now < was) {
            let what = format!("the rule `{}` is turned down", setting.key);
            findings.push(loose(file, setting.line, '+', &what));
        }
    }
    for setting in before.iter().filter(|setting| setting.own) {
        let was = rank(name, &setting.value).unwrap_or(0);
        if was >= 2 && !after.iter().any(|other| other.key == setting.key) {
            findings.push(loose(file, setting.line, '-', &format!("the rule `{}` is gone", setting.key)));
        }
    }
    findings
}

/// Switches that make a check stricter, or let something through.
fn switches(file: &FileChange, before: &[Setting<'_>], after: &[Setting<'_>]) -> Vec<Finding> {
    static STRICT: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"^(strict\w*|no[A-Z]\w+|disallow_\w+|check_untyped_defs|warn_\w+|fail_?[oO]n\w*|no_implicit\w*|exactOptionalPropertyTypes|useUnknownInCatchVariables|xfail_strict|forbidOnly|fail_ci_if_error|failsOnError|failOnError|failOnViolation|haltOnFailure|enable-all|test|doctest|autotests|branch|overflow-checks|debug-assertions|failIfNoTests|failOnWarning)$",
        )
    });
    static LAX: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"^(skipLibCheck|skipTests|ignore_errors|ignore_missing_imports|allowUnreachableCode|allowUnusedLabels|allow_(untyped|any|redefinition)\w*|passWithNoTests|ignoreFailures|testFailureIgnore|only-new-issues|disable-all|soft_fail|soft-fail|skipITs|bail_out|allowOnly|noEmitOnError_off|exit-zero|exit_zero|maven\.test\.skip|maven\.test\.failure\.ignore)$",
        )
    });
    let is = |setting: &Setting<'_>, word: &str| {
        // `true</skipTests>`: XML closes what it opened.
        let value = setting.value.split("</").next().unwrap_or_default();
        value.trim_matches(['"', '\'', ' ', ',']).eq_ignore_ascii_case(word)
    };
    let mut findings = Vec::new();
    for setting in after.iter().filter(|setting| setting.own) {
        let off = STRICT.is_match(&setting.key) && is(setting, "false");
        let lax = LAX.is_match(&setting.key) && is(setting, "true");
        if off || lax {
            findings.push(loose(file, setting.line, '+', &format!("`{}` demands less", setting.key)));
        }
    }
    for setting in before.iter().filter(|setting| setting.own) {
        let gone = !after.iter().any(|other| other.key == setting.key);
        if gone && STRICT.is_match(&setting.key) && is(setting, "true") {
            findings.push(loose(
                file,
                setting.line,
                '-',
                &format!("`{}` is not demanded any more", setting.key),
            ));
        }
    }
    findings
}

/// Crates of a workspace that a plain command does not build and test any more.
fn members(file: &FileChange, before: &[Setting<'_>], after: &[Setting<'_>]) -> Vec<Finding> {
    let all = |settings: &[Setting<'_>], key: &str| -> BTreeSet<String> {
        let of_key = settings.iter().filter(|setting| setting.key == key);
        of_key.flat_map(|setting| items(&setting.value)).collect()
    };
    let mut findings = Vec::new();
    for setting in
        before.iter().filter(|setting| matches!(setting.key.as_str(), "members" | "default-members"))
    {
        let now = all(after, &setting.key);
        let lost: Vec<String> =
            items(&setting.value).into_iter().filter(|item| !now.contains(item)).collect();
        // A list of defaults that is gone leaves all of them.
        let none_left = setting.key == "default-members" && now.is_empty();
        if !lost.is_empty() && !none_left {
            let what = format!(
                "`{}` has no `{}` any more, so its tests are not run",
                setting.key,
                lost.join("`, `")
            );
            findings.push(loose(file, setting.line, '-', &what));
        }
    }
    let narrowed = after.iter().find(|setting| setting.own && setting.key == "default-members");
    if let Some(setting) = narrowed.filter(|_| all(before, "default-members").is_empty()) {
        let what = "`default-members` leaves the other crates out of `cargo test`";
        findings.push(loose(file, setting.line, '+', what));
    }
    findings
}

/// Lists that leave more out, or choose less.
fn lists(file: &FileChange, diff: &Diff, before: &[Setting<'_>], after: &[Setting<'_>]) -> Vec<Finding> {
    static LEAVE_OUT: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?i)^((extend-)?ignores?|per-file-ignores|(extend-)?exclude[\w-]*|exclude_also|omit|disable[\w-]*|\w*IgnorePatterns|ignorePatterns|norecursedirs|globalIgnores|skip|deselect|paths-ignore|branches-ignore|tags-ignore|modulePathIgnorePatterns|exclude-rules|exclude-files|exclude-dirs|ignored-modules|ignore-paths|exclude_dirs|skips|disable_error_code|default-filter|excludedGroups|excludes?)$",
        )
    });
    static CHOOSE: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"^((extend-)?select|enable|testMatch|testRegex|testpaths|python_(files|functions|classes)|collectCoverageFrom|include|linters|plugins|extends)$",
        )
    });
    static DESELECT: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"--(ignore|deselect|exclude|skip)\b|-k\s*['\x22]?not\b|-m\s*['\x22]?not\b|--cov-fail-under[= ]0",
        )
    });
    let words = |settings: &[Setting<'_>], key: &str| -> BTreeSet<String> {
        settings
            .iter()
            .filter(|setting| setting.key == key)
            .flat_map(|setting| items(&setting.value))
            .collect()
    };
    let mut findings = Vec::new();
    for setting in after {
        let old = words(before, &setting.key);
        let more = items(&setting.value).into_iter().any(|item| !old.contains(&item));
        if LEAVE_OUT.is_match(&setting.key) && more {
            let what = format!("`{}` leaves more out", setting.key);
            findings.push(loose(file, setting.line, '+', &what));
        } else if DESELECT.is_match(&setting.line.text)
            && !before.iter().any(|other| DESELECT.is_match(&other.line.text))
        {
            findings.push(loose(file, setting.line, '+', "tests or files are left out"));
        }
    }
    for setting in before.iter().filter(|setting| CHOOSE.is_match(&setting.key)) {
        let new = words(after, &setting.key);
        if items(&setting.value).iter().any(|item| !new.contains(item) && !follows(diff, item, &new)) {
            let what = format!("`{}` chooses less", setting.key);
            findings.push(loose(file, setting.line, '-', &what));
        }
    }
    findings
}

/// Whether a list names the place to which files moved that it named where they were.
fn follows(diff: &Diff, old: &str, new: &BTreeSet<String>) -> bool {
    let chooses = |item: &str, path: &str| {
        let glob = GlobBuilder::new(item).literal_separator(true).build();
        let folder = format!("{}/", item.trim_end_matches('/'));
        path.starts_with(&folder) || glob.is_ok_and(|glob| glob.compile_matcher().is_match(path))
    };
    let mut moved = diff.files.iter().filter_map(|file| Some((file.old.as_deref()?, file.new.as_deref()?)));
    moved.any(|(from, to)| from != to && chooses(old, from) && new.iter().any(|item| chooses(item, to)))
}

/// The entries of a list, or the words of a value that is none.
fn items(value: &str) -> Vec<String> {
    let quoted: Vec<String> = value
        .split(['"', '\''])
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .filter(|item| !item.is_empty())
        .collect();
    if !quoted.is_empty() {
        return quoted;
    }
    let bare = value.trim_start_matches("- ");
    bare.split(|char: char| char.is_whitespace() || "[]{}(),".contains(char))
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}
