//! Marks on single lines: warnings switched off where they are given, suites that do not run, commands that may fail unseen.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use regex::Regex;

use super::{FAILURE_IGNORED, SUPPRESSED, TEST_HIDDEN, TEST_SKIPPED, texts};
use crate::check::Finding;
use crate::check::cases::cases;
use crate::check::diff::{Diff, FileChange, Line, Side};
use crate::check::source::{Class, Language, Source};
use crate::pattern::pattern;

/// How often each line goes and comes in the whole change: one that only moved is not new.
pub(super) struct Moved(HashMap<String, (usize, usize)>);

impl Moved {
    pub(super) fn new(diff: &Diff) -> Self {
        let mut counts: HashMap<String, (usize, usize)> = HashMap::new();
        for line in diff.files.iter().flat_map(|file| &file.lines) {
            let text = line.text.trim();
            match line.side {
                Side::Removed => counts.entry(text.to_owned()).or_default().0 += 1,
                Side::Added => counts.entry(text.to_owned()).or_default().1 += 1,
                Side::Both => {}
            }
        }
        Self(counts)
    }

    pub(super) fn is_new(&self, line: &Line) -> bool {
        self.0.get(line.text.trim()).is_none_or(|(gone, come)| come > gone)
    }
}

/// A mark, the rule that it breaks, and what its bytes must be to mean anything.
struct Mark {
    pattern: Regex,
    class: Class,
    rule: &'static str,
    what: &'static str,
}

const OFF: &str = "a warning is switched off here";
const SKIPS: &str = "tests are skipped here";

fn mark(text: &str, class: Class, rule: &'static str, what: &'static str) -> Mark {
    Mark { pattern: pattern(text), class, rule, what }
}

fn marks(language: Language) -> &'static [Mark] {
    static RUST: LazyLock<Vec<Mark>> = LazyLock::new(|| {
        vec![
            mark(
                r"#!?\[\s*(allow|expect)\s*\(|\bcfg_attr\s*\(.*\b(allow|expect)\s*\(",
                Class::Code,
                SUPPRESSED,
                OFF,
            ),
            mark(r"#\[\s*(mutants::skip|coverage\s*\(\s*off)", Class::Code, SUPPRESSED, OFF),
            mark(r"#!?\[\s*cfg\s*\(\s*(any\s*\(\s*\)|FALSE|false)", Class::Code, TEST_SKIPPED, SKIPS),
        ]
    });
    static SCRIPT: LazyLock<Vec<Mark>> = LazyLock::new(|| {
        vec![
            mark(
                r"eslint-disable|oxlint-disable|tslint:disable|deno-lint-ignore|biome-ignore|@ts-(ignore|nocheck|expect-error)|(istanbul|c8|v8) ignore|Stryker disable|NOSONAR",
                Class::Comment,
                SUPPRESSED,
                OFF,
            ),
            mark(
                r"\b(describe|suite|context|it|test|specify)(\.\w+)*\.only\b|\b(fit|fdescribe)\s*\(|\b(xdescribe|xcontext)\s*\(|\b(describe|suite|context)(\.\w+)*\.(skip|skipIf|todo|fixme)\b",
                Class::Code,
                TEST_SKIPPED,
                SKIPS,
            ),
        ]
    });
    static PYTHON: LazyLock<Vec<Mark>> = LazyLock::new(|| {
        vec![
            mark(
                r"#\s*noqa\b|type:\s*ignore|pylint:\s*disable|(ruff|flake8):\s*noqa|mypy:\s*(ignore-errors|disable)|pyright:\s*(ignore|basic)|pragma:\s*no (cover|mutate)|#\s*nosec\b|NOSONAR",
                Class::Comment,
                SUPPRESSED,
                OFF,
            ),
            mark(
                r"\bpytestmark\s*=.*\b(skip|skipif|xfail)\b|\bcollect_ignore|__test__\s*=\s*False|^\s*@[\w.]*\b(skip\w*|xfail|expectedFailure)\b|^pytest\.(skip|importorskip)\s*\(",
                Class::Code,
                TEST_SKIPPED,
                SKIPS,
            ),
        ]
    });
    static GO: LazyLock<Vec<Mark>> = LazyLock::new(|| {
        vec![
            mark(r"//\s*nolint|#nosec|//\s*lint:(file-)?ignore", Class::Comment, SUPPRESSED, OFF),
            mark(r"^//\s*(go:build|\+build)\s+(ignore|never|skip)\b", Class::Comment, TEST_SKIPPED, SKIPS),
        ]
    });
    static JAVA: LazyLock<Vec<Mark>> = LazyLock::new(|| {
        vec![
            mark(r"@Suppress(Warnings|FBWarnings)\b", Class::Code, SUPPRESSED, OFF),
            mark(r"NOSONAR|CHECKSTYLE.?OFF|noinspection\b", Class::Comment, SUPPRESSED, OFF),
            mark(r"@(Disabled\w*|Ignore)\b", Class::Code, TEST_SKIPPED, SKIPS),
        ]
    });
    match language {
        Language::Rust => &RUST,
        Language::Script => &SCRIPT,
        Language::Python => &PYTHON,
        Language::Go => &GO,
        Language::Java => &JAVA,
    }
}

/// Marks in source files.
pub(super) fn suppressions(file: &FileChange, moved: &Moved, by_tree: bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    let Some(language) = file.new.as_deref().and_then(Language::of) else { return findings };
    let Some((_, after)) = texts(file) else { return findings };
    let source = Source::new(language, after);
    let skips: HashSet<u32> = cases(language, &source).iter().filter_map(|case| case.skipped).collect();
    let shown = file.lines.iter().filter(|line| line.side != Side::Removed);
    for (index, line) in (1..).zip(shown) {
        if line.side != Side::Added || !moved.is_new(line) {
            continue;
        }
        let start = source.line(index).start;
        for mark in marks(language) {
            let meant = mark.pattern.find_iter(&line.text).any(|found| {
                let at = start + found.start();
                // What a test itself carries was compared with the test before.
                let own = mark.rule == TEST_SKIPPED && (by_tree || skips.contains(&index));
                source.class(at) == mark.class && !own
            });
            if meant {
                let finding = Finding::new(mark.rule, file.path(), Some(line.number), mark.what);
                findings.push(finding.with('+', &line.text));
                break;
            }
        }
    }
    findings.extend(lost_modules(file, language));
    findings
}

/// Whether what is switched off in a line is checked only since this change: the base did not ask for it.
pub(super) fn is_new_lint(diff: &Diff, finding: &Finding) -> bool {
    static LINT: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"(?:allow|expect)\(([^)]*)\)|(?:noqa:|disable(?:-next-line|-line)?|nolint:)\s*([\w@/:, -]+)")
    });
    static WORDS: LazyLock<Regex> = LazyLock::new(|| pattern(r"[\w-]{4,}"));
    static OFF: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"(?i)\ballow\b|\boff\b|\bignore|\bexclude|\bdisable"));
    let of_file = diff.files.iter().find(|file| Some(file.path()) == finding.file.as_deref());
    let line = of_file.and_then(|file| file.added().find(|line| Some(line.number) == finding.line));
    let Some(found) = line.and_then(|line| LINT.captures(&line.text)) else { return false };
    let list = found.get(1).or_else(|| found.get(2)).map_or("", |list| list.as_str());
    let list = list.split("reason").next().unwrap_or_default();
    let names: Vec<&str> = list.split(',').filter_map(|name| name.rsplit("::").next()).collect();
    let names: Vec<&str> = names.iter().filter_map(|name| Some(WORDS.find(name)?.as_str())).collect();
    let settings =
        || diff.files.iter().filter(|file| file.old.is_some() && super::settings::holds_demands(file.path()));
    let says = |text: &str, name: &str| WORDS.find_iter(text).any(|word| word.as_str() == name);
    let is_new = |name: &&str| {
        settings().all(|file| !says(&file.before(), name))
            && settings().flat_map(FileChange::added).any(|line| {
                let text = without_comment(&line.text);
                says(text, name) && !OFF.is_match(text)
            })
    };
    !names.is_empty() && names.iter().all(is_new)
}

/// Modules of Rust tests that nobody names any more: their files are there, and their tests are not.
fn lost_modules(file: &FileChange, language: Language) -> Vec<Finding> {
    static MODULE: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"^\s*(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*;"));
    if language != Language::Rust || !file.path().split('/').any(|part| part == "tests") {
        return Vec::new();
    }
    let name = |line: &Line| MODULE.captures(&line.text).map(|found| found[1].to_owned());
    let named: Vec<String> =
        file.lines.iter().filter(|line| line.side != Side::Removed).filter_map(name).collect();
    let lost = file.removed().filter_map(|line| Some((line, name(line)?)));
    lost.filter(|(_, name)| !named.contains(name))
        .map(|(line, name)| {
            let what = format!("the tests of module `{name}` are not compiled any more");
            Finding::new(TEST_HIDDEN, file.path(), Some(line.number), what).with('-', &line.text)
        })
        .collect()
}

/// Commands that may fail without anybody noticing, in what runs the checks.
pub(super) fn ignored_failures(file: &FileChange, moved: &Moved) -> Vec<Finding> {
    static ANYWHERE: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"--no-verify\b|\bcontinue-on-error\s*:\s*(true|\$)|\ballow_failure\s*:\s*true|-Dmaven\.test\.(skip|failure\.ignore)|-DskipTests|\b(testFailureIgnore|skipTests)>\s*true|\bignoreFailures\s*=\s*true|--passWithNoTests\b|passWithNoTests\x22?\s*:\s*true|\bset \+e\b|\bset \+o (?:errexit|pipefail)|--exit-zero\b|--no-fail(?:\s|$)|\b(?:fail_ci_if_error|failsOnError|failOnError|failOnViolation|haltOnFailure)\s*[:=>]+\s*\x22?false|\bsoft_fail\s*[:=]\s*true|\bwhen\s*:\s*(?:manual|never)\b|--skip-tests\b|--exit-code[= ]0\b|-DskipITs|--continue-on-error\b|\bpython[\d.]*\s+-OO?\b|\bPYTHONOPTIMIZE\b|\btrap\b.*\bexit 0\b",
        )
    });
    static SWALLOWED: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"\|\|\s*(true|:|exit 0|echo\b|/bin/true)|;\s*(true|exit 0)\s*([\x22']|$)|\|\s*true\b|&&\s*exit 0|\|\s*(?:tee|cat|grep|head|tail|less)\b|^\t-[@\w]|;\s*exit\s+0\b|\|\|\s*(?:printf|return 0|warn\w*\b|log\w*\b|continue\b|break\b)|\bif ! ?\$?\(?[^;]*;\s*then\s+true",
        )
    });
    static TOOL: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"\b(test|tests|lint|check|clippy|fmt|pytest|tox|nox|cargo|npm|npx|pnpm|yarn|bun|jest|vitest|mocha|eslint|tsc|mypy|ruff|flake8|pylint|mvn|gradlew?|go (test|vet|build)|golangci-lint|coverage|build|make|audit)\b",
        )
    });
    // A group that cleans up and then fails as well hides nothing.
    static GROUP: LazyLock<Regex> = LazyLock::new(|| pattern(r"\|\|\s*\("));
    static FAILS: LazyLock<Regex> = LazyLock::new(|| pattern(r"\bexit\s+(?:[1-9]|\$)|\bfalse\s*\)"));
    let Some(kind) = file.new.as_deref().and_then(Runs::of) else { return Vec::new() };
    let hides = |line: &&Line| {
        let code = without_comment(&line.text);
        let swallowed = SWALLOWED.is_match(code) || (GROUP.is_match(code) && !FAILS.is_match(code));
        ANYWHERE.is_match(code) || (swallowed && (kind == Runs::Checks || TOOL.is_match(code)))
    };
    let new = file.added().filter(|line| moved.is_new(line)).filter(hides);
    new.map(|line| {
        let what = "a failure is not noticed any more";
        Finding::new(FAILURE_IGNORED, file.path(), Some(line.number), what).with('+', &line.text)
    })
    .collect()
}

/// What a file is run for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Runs {
    /// To check the project: pipelines, hooks, scripts of package managers.
    Checks,
    /// For anything.
    Anything,
}

impl Runs {
    fn of(path: &str) -> Option<Self> {
        if super::settings::is_pipeline(path) {
            return Some(Self::Checks);
        }
        let name = path.rsplit('/').next().unwrap_or(path);
        let script = [
            ".sh", ".bash", ".zsh", ".ps1", ".mk", ".bat", ".xml", ".gradle", ".kts", ".ini", ".cfg", ".toml",
        ];
        let named =
            matches!(name, "Makefile" | "GNUmakefile" | "makefile" | "Justfile" | "justfile" | "Dockerfile");
        (named || script.iter().any(|end| name.ends_with(end))).then_some(Self::Anything)
    }
}

pub(super) fn without_comment(line: &str) -> &str {
    if line.trim_start().starts_with('#') || line.trim_start().starts_with("//") { "" } else { line }
}
