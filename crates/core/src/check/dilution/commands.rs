//! Commands that check something, before and after: fewer tests, fewer files, fewer demands.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::FAILURE_IGNORED;
use super::settings::loose;
use crate::check::Finding;
use crate::check::diff::{FileChange, Line, Side};
use crate::pattern::pattern;

/// Programs that check files, with their names as they are called.
static TOOL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(pytest|jest|vitest|mocha|ava|tox|nox|playwright|cypress|cargo (?:\+\w+ )?(?:nextest run|nextest|test|clippy|fmt)|go test|go vet|mvnw?|gradlew?|node --test|unittest|npm (?:run )?test|yarn test|pnpm test|eslint|ruff check|ruff|mypy|flake8|pylint|golangci-lint run|prettier|tsc|bandit)\b",
    )
});

fn tool(line: &Line) -> Option<&str> {
    TOOL.find(&line.text).map(|found| found.as_str()).filter(|_| !line.text.trim_start().starts_with('#'))
}

/// What commands of a file do not do any more.
pub(super) fn narrowed(file: &FileChange) -> Vec<Finding> {
    let mut findings = selected(file);
    findings.extend(paths(file));
    findings.extend(demands(file));
    findings.extend(limits(file));
    findings.extend(emptied(file));
    findings.extend(swallowed(file));
    findings
}

/// Commands whose exit code does not count any more, because something follows that has another: `pytest; echo done`,
/// `pytest || node -e 0`, `- pytest` of tox.
fn swallowed(file: &FileChange) -> Vec<Finding> {
    let is_tox = file.path().ends_with("tox.ini");
    let ignored = |line: &Line| {
        let text = line.text.trim_start();
        let text = text.strip_prefix("commands").map_or(text, |rest| rest.trim_start_matches([' ', '=']));
        is_tox && text.starts_with("- ")
    };
    pairs(file)
        .into_iter()
        .filter(|(old, new)| loses_exit_code(new) && !loses_exit_code(old) || ignored(new) && !ignored(old))
        .map(|(old, new)| {
            let what = "the exit code of this command does not count any more: a failure is not noticed";
            let finding = Finding::new(FAILURE_IGNORED, file.path(), Some(new.number), what);
            finding.with('-', &old.text).with('+', &new.text)
        })
        .collect()
}

/// Whether another exit code than that of the tool is the one of the line.
fn loses_exit_code(line: &Line) -> bool {
    static NEXT: LazyLock<Regex> = LazyLock::new(|| pattern(r"(\|\||;)\s*([\w./@:$-]+)"));
    // The end of a loop or a condition, a code that is kept, and what fails by itself. `|| true` has a rule of its own.
    static KEPT: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"^(?:done|fi|do|then|else|elif|esac|exit|false|true|echo|:|printf|return|/bin/true)$")
    });
    let Some(found) = TOOL.find(&line.text) else { return false };
    let rest = line.text.get(found.end()..).unwrap_or_default();
    let rest = rest.split(" #").next().unwrap_or_default();
    if ["$?", "exit 1", "PIPESTATUS", "set -e"].iter().any(|kept| line.text.contains(kept)) {
        return false;
    }
    NEXT.captures_iter(rest).any(|next| {
        let word = &next[2];
        // `echo` after a semicolon always succeeds; after `||` it is found by its own rule.
        !KEPT.is_match(word) || (&next[1] == ";" && ["echo", "printf"].contains(&word))
    })
}

/// Commands that check something and now do nothing, whatever they ran: `"test": "true"`, a recipe of `@:`.
fn emptied(file: &FileChange) -> Vec<Finding> {
    static SCRIPT: LazyLock<Regex> = LazyLock::new(|| pattern(r#"^\s*"([\w:.-]+)"\s*:\s*"(.*)",?\s*$"#));
    static CHECKS: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"(?i)test|spec|lint|check|type|cov|verif|valid|audit|e2e|^ci\b"));
    static NOTHING: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"^(?:(?:/bin/)?true|:|exit 0|echo\b[^|;&$`]*)?$"));
    static RECIPE: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\t[@-]*\s*(.*?)\s*$"));
    let what = "this command does nothing any more: restore it";
    let script = |line: &Line| {
        let found = SCRIPT.captures(&line.text)?;
        let (name, command) = (found.get(1)?.as_str(), found.get(2)?.as_str());
        CHECKS.is_match(name).then(|| (name.to_owned(), NOTHING.is_match(command.trim())))
    };
    let mut findings = Vec::new();
    for new in file.added() {
        let Some((name, true)) = script(new) else { continue };
        if let Some(old) = file.removed().find(|old| script(old) == Some((name.clone(), false))) {
            findings.push(loose(file, new, '+', what).with('-', &old.text));
        }
    }
    // Of a recipe it is not seen which target it belongs to, so everything that came must do nothing.
    let does_nothing = |line: &Line| {
        let found = RECIPE.captures(&line.text)?;
        Some(NOTHING.is_match(found.get(1)?.as_str()))
    };
    let added: Vec<&Line> = file.added().filter(|line| does_nothing(line).is_some()).collect();
    if let Some(new) = added.first().filter(|_| added.iter().all(|line| does_nothing(line) == Some(true)))
        && let Some(old) = file.removed().find(|line| does_nothing(line) == Some(false))
    {
        findings.push(loose(file, new, '+', what).with('-', &old.text));
    }
    findings
}

/// Options that leave tests out, or run them until they pass.
fn selected(file: &FileChange) -> Vec<Finding> {
    static FEWER: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"--(?:grep|testNamePattern|testPathPatterns?|testPathIgnorePatterns|exclude|ignore|ignore-glob|deselect|skip|lib|bins|changed|onlyChanged|only-changed|test-name-pattern|invert|last-failed|lf|exclude-task|reruns|retries)\b|\s-k[\s=]|\s-g[\s=]|\s-run[\s=]|\s-skip[\s=]|\s-short\b|\s-t\s+['\x22\w]|\s-m\s+['\x22]?not\b|-Dtest=|-DexcludedGroups|--tests\s|\s-x\s+\w*[tT]est|-not:|--fgrep\b|-vet=off\b|\s-failfast\b|\bcargo\b[^|;&]*\s(?:-p|--package)[\s=]|\bmvnw?\b[^|;&]*\s(?:-pl|--projects)[\s=]|--selectProjects\b|\b(?:vitest|playwright)\b[^|;&]*--project\b|\b(?:npm|pnpm|yarn)\b[^|;&]*\s(?:--workspace|--filter|-w)[\s=]",
        )
    });
    let fewer = |line: &Line| -> BTreeSet<String> {
        FEWER.find_iter(&line.text).map(|found| found.as_str().trim().to_owned()).collect()
    };
    let known: BTreeSet<String> =
        file.lines.iter().filter(|line| line.side != Side::Added).flat_map(fewer).collect();
    // A new command beside the old ones takes nothing away.
    let replaced = file.removed().any(|line| tool(line).is_some());
    let added = file.added().filter(|line| replaced && tool(line).is_some());
    added
        .filter(|line| fewer(line).iter().any(|flag| !known.contains(flag)))
        .map(|line| {
            let what = "this command runs fewer tests than before, or runs them again until they pass";
            loose(file, line, '+', what)
        })
        .collect()
}

/// Commands of one tool that stood in one file, before and after, in their order.
fn pairs(file: &FileChange) -> Vec<(&Line, &Line)> {
    let mut left: Vec<&Line> = file.added().filter(|line| tool(line).is_some()).collect();
    let mut pairs = Vec::new();
    for old in file.removed() {
        let Some(word) = tool(old) else { continue };
        if let Some(at) = left.iter().position(|new| tool(new) == Some(word)) {
            pairs.push((old, left.remove(at)));
        }
    }
    pairs
}

/// The files and folders that a command names. None: it looks everywhere.
fn named(line: &Line) -> Vec<String> {
    let Some(found) = TOOL.find(&line.text) else { return Vec::new() };
    let rest = line.text.get(found.end()..).unwrap_or_default();
    // What follows is another command, or a program's own arguments.
    let rest = rest.split(['|', ';', '>', '#']).next().unwrap_or_default();
    let rest = rest.split("&&").next().unwrap_or_default().split(" -- ").next().unwrap_or_default();
    let mut words = Vec::new();
    let mut after_option = false;
    for word in rest.split_whitespace() {
        let word = word.trim_matches(['"', '\'', ',', '`', ']', ')']);
        let option = word.starts_with('-');
        // The value of an option, unless it is a path that the tool is likely to look at.
        let value = after_option && !word.contains('/') && !word.contains("test");
        after_option = option && !word.contains('=');
        if !option && !value && is_place(word) {
            words.push(word.trim_start_matches("./").trim_end_matches('/').to_owned());
        }
    }
    words
}

fn is_place(word: &str) -> bool {
    let plain = word.chars().all(|char| char.is_alphanumeric() || "/._*:-{},".contains(char));
    // A version of a tool is none of the places that it looks at.
    let version = word.starts_with(|c: char| c.is_ascii_digit())
        && word.chars().all(|c| c.is_ascii_digit() || c == '.');
    let subcommand = matches!(word, "run" | "check" | "test" | "tests" | "verify" | "build");
    plain && !version && !word.is_empty() && !subcommand && !word.contains("${") && !word.contains(':')
        || word.contains("::")
}

/// Commands that look at fewer files or folders.
fn paths(file: &FileChange) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (old, new) in pairs(file) {
        let (before, after) = (named(old), named(new));
        // To Go a folder is one package, and three dots are all below it.
        let by_package = tool(new).is_some_and(|word| word.starts_with("go "));
        let everywhere = |word: &String| match word.as_str() {
            "..." => true,
            "." | "test" | "tests" | "spec" | "**" | "" => !by_package,
            word => word.ends_with("/...") && !(by_package && before.iter().any(|path| path == "...")),
        };
        if after.is_empty() || after.iter().any(everywhere) {
            continue;
        }
        let covers = |path: &String| {
            after.iter().any(|now| now == path || !by_package && path.starts_with(&format!("{now}/")))
        };
        let lost = before.is_empty() || before.iter().any(|path| !covers(path));
        if lost {
            let what = format!("this command looks at {} only: restore what it looked at", after.join(", "));
            findings.push(loose(file, new, '+', &what).with('-', &old.text));
        }
    }
    findings
}

/// Options by which a command, or the settings of a compiler, demand more.
pub(super) fn demands(file: &FileChange) -> Vec<Finding> {
    static DEMAND: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"--strict\b[\w-]*|-W\s*error\b|--cov-fail-under\b|--fail-under\b|--max-warnings\b|-D\s*warnings\b|--deny[ =]warnings\b|--all-targets\b|--all-features\b|--workspace\b|\s-race\b|--coverage\b|--cov\b|--check\b|--locked\b|--frozen-lockfile\b|--error-on-warnings\b|--forbid-only\b|\B-Werror\b|\B-W(all|extra)\b|\B-Xlint:\w[\w,-]*|\B-Xdoclint:\w[\w,-]*|--fail-on-\w+|\bset -[a-z]*e[a-z]*\b|\bpipefail\b",
        )
    });
    let count = |side: Side, word: &str| -> usize {
        let shown = file.lines.iter().filter(|line| line.side == Side::Both || line.side == side);
        shown
            .flat_map(|line| DEMAND.find_iter(&line.text))
            .filter(|found| found.as_str().trim() == word)
            .count()
    };
    let (mut findings, mut seen) = (Vec::new(), BTreeSet::new());
    for line in file.removed().filter(|line| !line.text.trim_start().starts_with('#')) {
        for found in DEMAND.find_iter(&line.text) {
            let word = found.as_str().trim();
            if count(Side::Added, word) < count(Side::Removed, word) && seen.insert(word.to_owned()) {
                findings.push(loose(
                    file,
                    line,
                    '-',
                    &format!("`{word}` is not demanded any more: restore it"),
                ));
            }
        }
    }
    findings
}

/// Numbers in commands about coverage and the like.
fn limits(file: &FileChange) -> Vec<Finding> {
    static NUMBER: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b\d+(?:\.\d+)?\b"));
    static AT_LEAST: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"(?i)\bcov(er(age)?)?\b|fail.?under|threshold|\bmin(imum)?\b|score"));
    static AT_MOST: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"(?i)max-warnings|\bmax\b|--retries|--reruns|complexity"));
    let shape = |line: &Line| NUMBER.replace_all(line.text.trim(), "#").into_owned();
    let values = |line: &Line| -> Vec<f64> {
        NUMBER.find_iter(&line.text).filter_map(|number| number.as_str().parse().ok()).collect()
    };
    let mut findings = Vec::new();
    for old in file.removed().filter(|line| NUMBER.is_match(&line.text)).take(super::values::MOST) {
        let Some(new) = file.added().find(|new| shape(new) == shape(old)) else { continue };
        let pairs: Vec<(f64, f64)> = values(old).into_iter().zip(values(new)).collect();
        let sank = AT_LEAST.is_match(&old.text) && pairs.iter().any(|(old, new)| new < old);
        let rose = AT_MOST.is_match(&old.text) && pairs.iter().any(|(old, new)| new > old);
        if sank || rose {
            let what = "the limit of this command demands less: restore it";
            findings.push(loose(file, new, '+', what).with('-', &old.text));
        }
    }
    findings
}
