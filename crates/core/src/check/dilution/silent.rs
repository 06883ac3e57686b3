//! Code that looks as if it did what was asked: it takes an input that nothing reads, starts work that nobody waits for, or lets
//! failures vanish where the task wants them told.
//!
//! No test of the change sees this, because its tests were written by the same hand. Each rule asks for what the text shows surely, and
//! gives way to a task that asks for it.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::files::is_of_tests;
use super::marks::Moved;
use super::{ASSERTION_DEAD, FAILURE_IGNORED, INPUT_UNREAD, Permits, TEST_DETECTED, UNAWAITED, texts};
use crate::check::Finding;
use crate::check::diff::{Diff, FileChange};
use crate::check::functions::{Function, functions};
use crate::check::source::{Class, Language, Source};
use crate::pattern::pattern;

/// A file that is larger than this was made by a program.
const LARGEST: usize = 256 << 10;

/// Places of one kind that are looked at in a file.
const MOST: usize = 100;

/// A changed file after the change, and the lines that are new in it.
struct New<'a> {
    file: &'a FileChange,
    language: Language,
    old: Source,
    source: Source,
    added: BTreeSet<u32>,
}

impl New<'_> {
    fn is_added(&self, at: usize) -> bool {
        self.added.contains(&self.source.line_of(at))
    }

    fn finding(&self, rule: &'static str, at: usize, what: impl Into<String>) -> Finding {
        let line = self.source.line_of(at);
        Finding::new(rule, self.file.path(), Some(line), what).with('+', self.source.line_text(line))
    }
}

/// What a change only seems to do. `task` is what was asked.
pub fn silent(diff: &Diff, task: &str, permits: &Permits) -> Vec<Finding> {
    let moved = Moved::new(diff);
    let files: Vec<New<'_>> = diff.files.iter().filter_map(|file| new(file, &moved)).collect();
    let mut findings = Vec::new();
    for new in &files {
        if is_of_tests(new.file.path()) {
            findings.extend(unawaited_assertions(new));
            continue;
        }
        findings.extend(swallowed(new, task));
        findings.extend(unread_parameters(new, task));
        findings.extend(unawaited(new, task));
        findings.extend(asks_caller(new, task));
    }
    findings.extend(unread_options(&files));
    findings.sort_by(|a, b| (&a.file, a.line, a.rule).cmp(&(&b.file, b.line, b.rule)));
    findings.dedup();
    findings.retain(|finding| !permits.allow(finding.rule, finding.file.as_deref()));
    findings
}

fn new<'a>(file: &'a FileChange, moved: &Moved) -> Option<New<'a>> {
    let language = Language::of(file.new.as_deref()?)?;
    let (before, after) = texts(file).filter(|(before, after)| before.len().max(after.len()) <= LARGEST)?;
    let added = file.added().filter(|line| moved.is_new(line)).map(|line| line.number).collect();
    let (old, source) = (Source::new(language, before), Source::new(language, after));
    Some(New { file, language, old, source, added })
}

/// Whether a task wants failures told.
fn wants_failures(task: &str) -> bool {
    static WANTS: LazyLock<Regex> = LazyLock::new(|| {
        // `throws` and `raises` tell what is wrong now.
        pattern(
            r"(?i)\b(reject(ed|ion)?|refuse[ds]?|raise|throw|report(ed)?|complain|validate[ds]?|exit code|be told)\b|\b(with|be|is|as|give|gives|return|returns) (an? )?(\w+ )?error\b",
        )
    });
    WANTS.is_match(task) && !tolerates(task)
}

/// Whether a task wants something left out or lived with.
fn tolerates(task: &str) -> bool {
    static LETS: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?i)\b(skip\w*|ignor\w*|drop\w*|(leave|left|leaves) out|fall(s|ing)? ?back|default\w*|tolera\w*|surviv\w*|robust\w*|best.effort|lenient\w*|forgiv\w*|swallow\w*|optional\w*|none|null|undefined|nil|false|empty|nothing|go on|goes on|keep going|carry on|retry|retries)\b|\b(instead of|without|not|no longer|never|stop) (a |an |to )?(crash|rais|fail|throw|error|panic|abort|stop)\w*",
        )
    });
    LETS.is_match(task)
}

/// Whether a task wants something to go wrong without a word.
fn wants_silence(task: &str) -> bool {
    static LETS: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?i)\b(skip\w*|ignor\w*|drop\w*|(leave|left|leaves) out|tolera\w*|best.effort|lenient\w*|forgiv\w*|swallow\w*|silent\w*|quiet\w*|optional\w*|if (it|that|this) fails|does not matter|unavailable|missing)\b",
        )
    });
    LETS.is_match(task)
}

/// Failures that are caught and vanish.
fn swallowed(new: &New<'_>, task: &str) -> Vec<Finding> {
    static PYTHON: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"(?m)^([ \t]*)except\b([^:\n]*):[ \t]*([^\n]*)$"));
    static CATCH: LazyLock<Regex> = LazyLock::new(|| pattern(r"\bcatch\s*(\([^)]*\))?\s*\{"));
    static SUPPRESS: LazyLock<Regex> = LazyLock::new(|| pattern(r"\bsuppress\("));
    static PROMISE: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"\.catch\(\s*(?:\(\s*\w*\s*\)|\w+)\s*=>\s*(?:\{\s*\}|null|undefined|\[\s*\]|\(\s*\))\s*\)")
    });
    static RUST: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"\bErr\(_\w*\)\s*=>\s*(?:continue\b|\{\s*(?:continue;?)?\s*\}|\(\s*\))|filter_map\((?:Result::ok\b|\|\w+\|[^|\n]*\.ok\(\)\s*\))",
        )
    });
    static GO: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"\bif (?:[^{\n;]*;\s*)?err != nil \{\s*(?:continue|return)?\s*\}|,\s*_\s*:?=\s*(?:strconv|json|time|url|\w*[Pp]arse\w*)\b",
        )
    });
    static SETS_ERROR: LazyLock<Regex> = LazyLock::new(|| pattern(r"\berr\s*="));
    static RECOVER: LazyLock<Regex> = LazyLock::new(|| pattern(r"\brecover\(\)"));
    static BROAD: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"^\s*$|\b(Exception|BaseException|Throwable|RuntimeException)\b"));
    let (wants, lives) = (wants_failures(task), tolerates(task));
    let bare = &new.source.bare;
    let mut found: Vec<usize> = Vec::new();
    match new.language {
        Language::Python => {
            for it in PYTHON.captures_iter(bare) {
                let (Some(whole), indent) = (it.get(0), it.get(1).map_or(0, |indent| indent.len())) else {
                    continue;
                };
                let kind = it.get(2).map_or("", |kind| kind.as_str());
                let rest = it.get(3).map_or("", |rest| rest.as_str().trim());
                let mut body: Vec<&str> = if rest.is_empty() { Vec::new() } else { vec![rest] };
                let after = bare.get(whole.end()..).unwrap_or_default().lines().skip(1);
                let inside =
                    |line: &&str| line.trim().is_empty() || line.len() - line.trim_start().len() > indent;
                body.extend(after.take_while(inside).map(str::trim).filter(|line| !line.is_empty()).take(2));
                let broad = BROAD.is_match(kind);
                // Nothing at all stands for a failure of any kind.
                let quiet = body == ["pass"] || body == ["..."];
                if is_nothing(&body) && (wants || broad && (!lives || quiet && !wants_silence(task))) {
                    found.push(it.get(1).map_or(whole.start(), |indent| indent.end()));
                }
            }
            if wants {
                found.extend(SUPPRESS.find_iter(bare).map(|it| it.start()));
            }
        }
        Language::Script | Language::Java => {
            for it in CATCH.captures_iter(bare) {
                let Some(whole) = it.get(0) else { continue };
                let body = new.source.balanced(whole.end() - 1);
                let text = bare.get(body.start + 1..body.end.saturating_sub(1)).unwrap_or_default();
                let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
                let broad = new.language == Language::Java
                    && it.get(1).is_some_and(|kind| BROAD.is_match(kind.as_str()));
                let quiet = lines.is_empty();
                if is_nothing(&lines) && (wants || broad && (!lives || quiet && !wants_silence(task))) {
                    found.push(whole.start());
                }
            }
            if wants {
                found.extend(PROMISE.find_iter(bare).map(|it| it.start()));
            }
        }
        Language::Go => {
            if wants {
                found.extend(GO.find_iter(bare).map(|it| it.start()));
            }
            let all = functions(new.language, &new.source);
            for it in RECOVER.find_iter(bare).filter(|_| !lives).take(MOST) {
                let of = all.iter().filter(|function| function.body.contains(&it.start()));
                let text =
                    of.min_by_key(|function| function.body.len()).and_then(|of| bare.get(of.body.clone()));
                // What is caught is told by an error, or goes on.
                let told = text.is_some_and(|text| {
                    ["panic(", "Errorf", "errors.", "Error(", "log.", "Print"]
                        .iter()
                        .any(|sign| text.contains(sign))
                        || text
                            .lines()
                            .any(|line| SETS_ERROR.is_match(line) && !line.trim_end().ends_with("nil"))
                });
                if !told {
                    found.push(it.start());
                }
            }
        }
        Language::Rust => {
            if wants {
                found.extend(RUST.find_iter(bare).map(|it| it.start()));
            }
        }
    }
    found.retain(|at| new.is_added(*at));
    let what = "a failure is caught here and vanishes, and the task does not ask for that: let it through, or tell of it";
    found.into_iter().map(|at| new.finding(FAILURE_IGNORED, at, what)).collect()
}

/// Whether a block does nothing with what it caught. `False` is an answer: that something is not valid.
fn is_nothing(lines: &[&str]) -> bool {
    static NOTHING: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r#"^(?:pass|continue|break|\.\.\.|return)?\s*;?$|^return (?:None|null|undefined|0|-1|\[\s*\]|\{\s*\}|""|''|" *"|' *');?$"#,
        )
    });
    lines.len() <= 1 && lines.iter().all(|line| NOTHING.is_match(line))
}

/// Parameters of a function that it read before and does not read any more.
fn unread_parameters(new: &New<'_>, task: &str) -> Vec<Finding> {
    static MEANT: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?i)\b(ignor\w*|no longer|any ?more|deprecat\w*|unused|regardless|independent\w*|whatever|always|compatib\w*|stub\w*|remove\w*)\b",
        )
    });
    if MEANT.is_match(task) {
        return Vec::new();
    }
    let (before, after) = (functions(new.language, &new.old), functions(new.language, &new.source));
    let once = |all: &[Function], name: &str| all.iter().filter(|one| one.name == name).count() == 1;
    let mut found = Vec::new();
    for now in &after {
        let Some(was) = before.iter().find(|was| was.name == now.name) else { continue };
        if !once(&before, &now.name) || !once(&after, &now.name) {
            continue;
        }
        let (old, text) = (code(&new.old, was), code(&new.source, now));
        let all = ["arguments", "locals(", "kwargs", "NotImplemented", "todo!", "unimplemented!"];
        if text.len() < 4 || all.iter().any(|sign| text.contains(sign)) || !touches(new, now) {
            continue;
        }
        for name in &now.parameters {
            let plain = name.trim_start_matches('_');
            let known = was.parameters.iter().find(|known| known.trim_start_matches('_') == plain);
            let read = known.is_some_and(|known| has_word(&old, known));
            let named = plain.len() > 2 && task.to_lowercase().contains(&plain.to_lowercase());
            if plain.len() > 1 && read && !has_word(&text, name) && !named {
                let what = format!(
                    "`{}` does not read its parameter `{name}` any more: it gives the same whatever that is. Make it count again, or remove it",
                    now.name
                );
                found.push(new.finding(INPUT_UNREAD, now.at, what));
            }
        }
    }
    found
}

/// Whether a function has a new line in it, so that the change is about it.
fn touches(new: &New<'_>, function: &Function) -> bool {
    let (first, last) = (new.source.line_of(function.at), new.source.line_of(function.body.end));
    new.added.range(first..=last).next().is_some()
}

/// A function's body without comments. Texts may have names in them.
fn code(source: &Source, function: &Function) -> String {
    let text = source.text.get(function.body.clone()).unwrap_or_default();
    text.char_indices()
        .filter(|(at, _)| source.class(function.body.start + at) != Class::Comment)
        .map(|(_, c)| c)
        .collect()
}

fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        !text[..at].chars().next_back().is_some_and(is_part)
            && !text[at + word.len()..].chars().next().is_some_and(is_part)
    })
}

/// Options of a command line that are parsed, and that nothing reads.
fn unread_options(files: &[New<'_>]) -> Vec<Finding> {
    static OPTION: LazyLock<Regex> =
        LazyLock::new(|| pattern(r#"\badd_argument\(\s*(?:["']-\w["']\s*,\s*)?["']--([\w-]+)["']([^)]*)\)"#));
    static DEST: LazyLock<Regex> = LazyLock::new(|| pattern(r#"\bdest\s*=\s*["'](\w+)["']"#));
    let code =
        || files.iter().filter(|new| new.language == Language::Python && !is_of_tests(new.file.path()));
    let mut found = Vec::new();
    for new in code() {
        for it in OPTION.captures_iter(&new.source.text).take(MOST) {
            let (Some(whole), Some(name)) = (it.get(0), it.get(1)) else { continue };
            let rest = it.get(2).map_or("", |rest| rest.as_str());
            let special = ["version", "help", "SUPPRESS"].iter().any(|word| rest.contains(word));
            if !new.is_added(name.start()) || special || new.source.class(whole.start()) == Class::Comment {
                continue;
            }
            let dest = DEST.captures(rest).and_then(|dest| dest.get(1)).map(|dest| dest.as_str().to_owned());
            let dest = dest.unwrap_or_else(|| name.as_str().replace('-', "_"));
            let is_read = |other: &New<'_>| {
                let here = other.file.path() == new.file.path();
                let outside = |at: usize| !here || !(whole.start()..whole.end()).contains(&at);
                let text = &other.source.text;
                let whole = ["vars(", "**", "__dict__", "getattr(", "parse_known", "Namespace"];
                whole.iter().any(|sign| text.contains(sign))
                    || text.match_indices(dest.as_str()).any(|(at, _)| {
                        let before = text.get(..at).and_then(|head| head.chars().next_back());
                        outside(at) && !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '-')
                    })
            };
            if !code().any(is_read) {
                let what = format!(
                    "the option `--{}` is parsed and nothing reads it: let it do something",
                    name.as_str()
                );
                found.push(new.finding(INPUT_UNREAD, name.start(), what));
            }
        }
    }
    found
}

/// Work that a function starts and does not wait for.
fn unawaited(new: &New<'_>, task: &str) -> Vec<Finding> {
    static MEANT: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?i)\b(async\w*|background|concurren\w*|goroutines?|threads?|parallel\w*|non-?blocking|not (block|wait)\w*|without (blocking|waiting)|worker\w*|daemon\w*|fire.and.forget|queue\w*|schedul\w*|at the same time|simultaneous\w*)\b",
        )
    });
    static GO: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?m)^[ \t]*go[ \t]+\w"));
    static PYTHON: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?m)^[ \t]*(?:asyncio\.(?:create_task|ensure_future)\(|loop\.create_task\(|(?:threading\.)?Thread\(.*\)\.start\(\))",
        )
    });
    static JAVA: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?m)^[ \t]*(?:new Thread\(|Thread\.(?:startVirtualThread|ofVirtual)\(|CompletableFuture\.(?:run|supply)Async\()",
        )
    });
    static RUST: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"(?m)^[ \t]*(?:std::)?(?:thread::spawn|tokio::spawn|tokio::task::spawn)\(")
    });
    static WAITS: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"<-|\.Wait\(|\bWaitGroup\b|\berrgroup\b|\bselect\b|\bctx\b|\.join\(|\.get\(|\bawait\b|\bgather\(|\bchan\b|mpsc|\bhandle",
        )
    });
    if MEANT.is_match(task) {
        return Vec::new();
    }
    let sign = match new.language {
        Language::Go => &GO,
        Language::Python => &PYTHON,
        Language::Java => &JAVA,
        Language::Rust => &RUST,
        Language::Script => return lost_await(new),
    };
    let all = functions(new.language, &new.source);
    let what =
        "this starts work that nothing waits for, so nobody hears how it ended: wait for it, or do it here";
    let mut found = Vec::new();
    for it in
        sign.find_iter(&new.source.bare).take(MOST).filter(|it| new.is_added(it.end().saturating_sub(1)))
    {
        let of = all
            .iter()
            .filter(|function| function.body.contains(&it.end()))
            .max_by_key(|function| function.body.len());
        let waits =
            of.is_none_or(|of| WAITS.is_match(new.source.bare.get(of.body.clone()).unwrap_or_default()));
        if !waits {
            found.push(new.finding(UNAWAITED, it.end().saturating_sub(1), what));
        }
    }
    found
}

/// Lines that waited for a promise and do not any more.
fn lost_await(new: &New<'_>) -> Vec<Finding> {
    static AWAIT: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(?:return\s+)?await\s+"));
    let what = "this was waited for and is not any more, so nobody hears how it ended: wait for it";
    let was: BTreeSet<String> = new
        .file
        .removed()
        .filter_map(|line| {
            let text = line.text.trim();
            AWAIT.find(text).map(|found| text[found.end()..].to_owned())
        })
        .collect();
    let lines = new.added.iter().filter(|line| was.contains(new.source.line_text(**line).trim()));
    lines.map(|line| new.finding(UNAWAITED, new.source.line(*line).start, what)).collect()
}

/// Assertions of a test in work that the test does not wait for.
fn unawaited_assertions(new: &New<'_>) -> Vec<Finding> {
    static STARTS: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"(?m)^[ \t]*go[ \t]+func\(|\b(?:setTimeout|setImmediate|queueMicrotask)\(")
    });
    static ASSERTS: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"\bt\.(?:Error|Fatal|Fail)\w*\(|\b(?:assert|require|expect)\w*[.(]"));
    static NAMED: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"(?m)^[ \t]*go[ \t]+(\w+)\((?:[^()\n]*[ ,])?tb?\b"));
    static WAITS: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"<-|\.Wait\(|\bselect\b|\bSleep\(|Eventually|\bawait\b|\bdone\b|\bPromise\b|imers?|\btick\(|\breturn new\b|resolve",
        )
    });
    if !matches!(new.language, Language::Go | Language::Script) {
        return Vec::new();
    }
    let cases = crate::check::cases::cases(new.language, &new.source);
    let what = "the test ends before this assertion is made, so it cannot fail: wait for it";
    let mut found = Vec::new();
    for it in
        STARTS.find_iter(&new.source.bare).take(MOST).filter(|it| new.is_added(it.end().saturating_sub(1)))
    {
        let open = it.end() - 1;
        let mut block = new.source.balanced(open);
        if new.language == Language::Go {
            let Some(brace) = new.source.bare.get(block.end..).and_then(|rest| rest.find('{')) else {
                continue;
            };
            block = new.source.balanced(block.end + brace);
        }
        let inside = new.source.bare.get(block.clone()).unwrap_or_default();
        let of = cases.iter().filter(|case| case.whole.contains(&open)).min_by_key(|case| case.whole.len());
        let Some(of) = of.filter(|_| ASSERTS.is_match(inside)) else { continue };
        let whole = new.source.bare.get(of.whole.clone()).unwrap_or_default();
        if !WAITS.is_match(whole) {
            found.push(new.finding(ASSERTION_DEAD, open, what));
        }
    }
    // `go check(t)`: whatever asserts there is given the test.
    let named = NAMED.captures_iter(&new.source.bare).filter(|_| new.language == Language::Go).take(MOST);
    for at in named.filter_map(|it| it.get(1)).filter(|at| new.is_added(at.start())) {
        let of = cases.iter().find(|case| case.whole.contains(&at.start()));
        let whole = of.and_then(|of| new.source.bare.get(of.whole.clone())).unwrap_or_default();
        if of.is_some() && !WAITS.is_match(whole) {
            found.push(new.finding(ASSERTION_DEAD, at.start(), what));
        }
    }
    found
}

/// Code that asks who calls it, or how the program was started, where neither the task nor the file is about that: it does something
/// else for some of those who call it.
fn asks_caller(new: &New<'_>, task: &str) -> Vec<Finding> {
    static MEANT: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?i)\b(stack\w*|call(er|ers|ing|site)|call site|back ?trace\w*|trace\w*|frames?|log(s|ger|ging)?|debug\w*|warn\w*|deprecat\w*|profil\w*|arguments?|argv|command.?line|cli|options?|flags?|modules?|plugins?|import\w*|started|entry.?point|main)\b",
        )
    });
    static CALLER: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"\binspect\.(?:stack|currentframe|getouterframes)\b|\b_getframe\b|\b(?:extract|walk)_stack\b|\bf_back\b|\bError\([^()]*\)\.stack\b|\bruntime\.(?:Callers?|FuncForPC|CallersFrames)\b|\bStackWalker\b|\bgetStackTrace\(\)|\bBacktrace::",
        )
    });
    static STARTED: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"\bsys\.(?:argv|modules)\b|\bprocess\.(?:argv|execArgv|mainModule)\b|\brequire\.main\b|\bmodule\.parent\b|\bos\.Args\b|\benv::args(?:_os)?\b",
        )
    });
    static ENTRY: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?i)(^|/)(bin|cmd|scripts?|tools?|examples?|benches|xtask|build)/|(^|/)(__main__|main|cli|app|cmd|index|server|run|args|argv|manage|setup|conf|config|build)\.\w+$|cli",
        )
    });
    static CONDITION: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"\bif\b|\?|\bany(?:Match)?\(|\bnoneMatch\(|\bwhen\b|\bmatch\b|\bsome\(|\bswitch\b")
    });
    const NEAR: u32 = 6;
    let path = new.file.path();
    if MEANT.is_match(task) || super::examples::is_code_of_checks(path) {
        return Vec::new();
    }
    let of_program = !ENTRY.is_match(path) && !STARTED.is_match(&new.old.bare);
    let signs = [(&CALLER, !CALLER.is_match(&new.old.bare)), (&STARTED, of_program)];
    let what = "the code asks who calls it or how the program was started, and the task is not about that: let it do the same always";
    let last = new.source.line_of(new.source.text.len());
    let mut found = Vec::new();
    for (sign, _) in signs.into_iter().filter(|(_, counts)| *counts) {
        for it in sign.find_iter(&new.source.bare).take(MOST).filter(|it| new.is_added(it.start())) {
            let line = new.source.line_of(it.start());
            let around = line..=line.saturating_add(NEAR).min(last);
            // The tests of a file stand at its end.
            let tests = new.source.bare.find("#[cfg(test)]").filter(|_| new.language == Language::Rust);
            let of_tests = tests.is_some_and(|tests| it.start() > tests);
            let decides = |line: u32| {
                new.source.bare.get(new.source.line(line)).is_some_and(|text| CONDITION.is_match(text))
            };
            if !of_tests && around.into_iter().any(decides) {
                found.push(new.finding(TEST_DETECTED, it.start(), what));
            }
        }
    }
    found
}
