//! What a task quotes as the result that it wants, and no test of the change looks for.
//!
//! `its job should be rendered as "invalid"`: a test that says nothing of `invalid` cannot show that. Only texts behind words that
//! announce a result count, and only tasks whose change writes tests.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

use super::files::is_of_tests;
use super::wanted::{keeps, unshown};
use super::{Permits, TASK_UNASSERTED, texts};
use crate::check::Finding;
use crate::check::diff::Diff;
use crate::check::functions::functions;
use crate::check::outline::literals;
use crate::check::source::{Class, Language, Source};
use crate::pattern::pattern;

/// What a task wants and the tests of its change do not look for.
pub fn unasserted(diff: &Diff, task: &str, permits: &Permits) -> Vec<Finding> {
    if permits.allow(TASK_UNASSERTED, None) {
        return Vec::new();
    }
    let mut findings: Vec<Finding> = listed_in_part(diff, task).into_iter().collect();
    findings.extend(unasserted_result(diff, task));
    findings.extend(untouched(diff, task));
    if findings.is_empty() {
        findings.extend(unshown(diff, task));
    }
    findings
}

/// Functions that a sentence of the task wants something of, and that the change neither touches nor calls: "renew() must …, and
/// give_back() should raise LoanError". Only functions of files that the change touches are known.
fn untouched(diff: &Diff, task: &str) -> Option<Finding> {
    static CLAUSE: LazyLock<Regex> = LazyLock::new(|| pattern(r"[.;:]\s+|\n\n|,\s+"));
    static WANTS: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"(?i)\b(must|should|shall|has to|have to|needs? to)\b"));
    static NAME: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"\b([A-Za-z_]\w*)\(|`([A-Za-z_]\w*)`|\b([a-z]+_\w+|[a-z]+[A-Z]\w*)\b"));
    let (mut known, mut touched) = (BTreeMap::new(), String::new());
    for file in &diff.files {
        let Some((before, after)) = texts(file) else { continue };
        for line in file.added().chain(file.removed()) {
            touched.push_str(&line.text);
            touched.push('\n');
        }
        let Some(language) = Language::of(file.path()).filter(|_| !is_of_tests(file.path())) else {
            continue;
        };
        let (old, new) = (Source::new(language, before), Source::new(language, after));
        for (source, lines) in [
            (&old, file.removed().map(|line| line.number).collect::<BTreeSet<u32>>()),
            (&new, file.added().map(|line| line.number).collect()),
        ] {
            for function in functions(language, source) {
                let (first, last) = (source.line_of(function.at), source.line_of(function.body.end));
                if lines.range(first..=last).next().is_some() {
                    touched.push_str(&function.name);
                    touched.push('\n');
                }
                known.insert(function.name, file.path().to_owned());
            }
        }
    }
    for clause in CLAUSE.split(task).filter(|clause| WANTS.is_match(clause) && !keeps(clause)) {
        let named = NAME.captures_iter(clause).filter_map(|it| it.iter().skip(1).flatten().next());
        let named: Vec<&str> =
            named.map(|name| name.as_str()).filter(|name| known.contains_key(*name)).collect();
        let is_touched = |name: &&str| has_name(&touched, name);
        if let Some(name) = named.first().filter(|_| !named.iter().any(is_touched)) {
            let what = format!(
                "the task wants something of `{name}`, and the change neither touches nor tests it: do that, too (\"{}\")",
                clause.trim()
            );
            return Some(Finding::new(TASK_UNASSERTED, &known[*name], None, what));
        }
    }
    None
}

fn has_name(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name)
        .any(|(at, _)| !text[..at].ends_with(is_part) && !text[at + name.len()..].starts_with(is_part))
}

/// Values that a task lists, of which the change writes some and leaves the others out: "know aqua, black, blue and fuchsia".
fn listed_in_part(diff: &Diff, task: &str) -> Option<Finding> {
    static LIST: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r#"["'`]?[\w-]{2,24}["'`]?(?:,\s+["'`]?[\w-]{2,24}["'`]?){3,}(?:,?\s+(?:and|or)\s+["'`]?[\w-]{2,24}["'`]?)?"#,
        )
    });
    /// Fewer may be words of a sentence.
    const FEWEST: usize = 5;
    let (mut added, mut there, mut place) = (BTreeSet::new(), String::new(), None);
    for file in &diff.files {
        let Some((_, after)) = texts(file).filter(|_| file.new.is_some()) else { continue };
        let is_code = Language::of(file.path()).is_some() && !is_of_tests(file.path());
        for line in file.added().filter(|_| is_code) {
            let words = literals(&line.text).into_iter().map(|word| word.to_lowercase());
            let before = added.len();
            added.extend(words);
            if added.len() > before && place.is_none() {
                place = Some((file.path().to_owned(), line.number));
            }
        }
        there.push_str(&after.to_lowercase());
        there.push('\n');
    }
    let (path, line) = place?;
    for list in LIST.find_iter(task) {
        let words = list.as_str().split(|c: char| !c.is_alphanumeric() && c != '-' && c != '_');
        let words = words.filter(|word| word.len() > 1 && !matches!(*word, "and" | "or"));
        let words: BTreeSet<String> = words.map(str::to_lowercase).collect();
        let new = words.iter().filter(|word| added.contains(*word)).count();
        let missing: Vec<&String> = words.iter().filter(|word| !has_word(&there, word)).collect();
        if words.len() >= FEWEST && new >= 2 && missing.len() >= 2 && missing.len() * 4 >= words.len() {
            let shown: Vec<String> = missing.iter().take(4).map(|word| format!("`{word}`")).collect();
            let what = format!(
                "the task lists {} values, and the change has only some of them: {} and {} more are missing",
                words.len(),
                shown.join(", "),
                missing.len().saturating_sub(shown.len())
            );
            return Some(Finding::new(TASK_UNASSERTED, &path, Some(line), what));
        }
    }
    None
}

fn unasserted_result(diff: &Diff, task: &str) -> Vec<Finding> {
    let wanted = wanted(task);
    if wanted.is_empty() {
        return Vec::new();
    }
    let mut said = String::new();
    let (mut writes, mut first) = (false, None);
    for file in &diff.files {
        let Some((_, after)) = texts(file).filter(|_| file.new.is_some()) else { continue };
        let language = Language::of(file.path());
        let inline = language == Some(Language::Rust) && after.contains("#[cfg(test)]");
        if !is_of_tests(file.path()) && !inline && language.is_some() {
            continue;
        }
        match language {
            Some(language) => {
                writes |= file.added().next().is_some();
                first = first.or_else(|| file.new.clone());
                said.push_str(&values(language, after));
            }
            // Data of tests, and whatever else is no code.
            None => said.push_str(&after),
        }
        said.push('\n');
    }
    let said = plain(&said);
    // Parts of a text may stand in the lines of a table, or in a helper that puts them together.
    let is_said = |text: &String| {
        let mut parts = text.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()).peekable();
        parts.peek().is_none() || said.contains(&plain(text)) || parts.all(|part| has_word(&said, part))
    };
    let missing = wanted.into_iter().filter(|_| writes).find(|text| !is_said(text));
    let finding = missing.zip(first).map(|(text, path)| {
        let what = format!(
            "the task asks for `{text}`, and no test of the change looks for it: assert it, so that the change is shown to do what was \
             asked"
        );
        Finding::new(TASK_UNASSERTED, &path, None, what)
    });
    finding.into_iter().collect()
}

/// The texts that a task quotes as results: `must be "0.05 CHF"`, `should be rendered as "invalid"`.
fn wanted(task: &str) -> Vec<String> {
    static QUOTED: LazyLock<Regex> =
        LazyLock::new(|| pattern(r#"`([^`\n]{2,60})`|(?:^|\W)"([^"\n]{2,60})""#));
    static MODAL: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)\b(should|must|shall)\b"));
    static RESULT: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?i)(\b(be|as|prints?|returns?|gives?|reads?|says?|becomes?|shows?|answers?|writes?|message|error|text|line|is)|:)\s*(\b(an?|the|error|message|text|line|status)\s+)*\w*(Error|Exception)?\s*:?\s*$",
        )
    });
    static DENIED: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"(?i)\b(not|never|no longer|instead of|than|without)\s+(\w+\s+){0,2}$"));
    // Names of things, and what is called or typed.
    static NAME: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"^(?:[A-Z]\w*|[a-z]+[A-Z]\w*|\w+_\w+|[\w.]+\(.*|-.*|None|null|true|false|nil|undefined|.*[{}<>$|*].*|[\w./]+/[\w./]*|\w+\.\w+)$",
        )
    });
    let mut found = Vec::new();
    for it in QUOTED.captures_iter(task) {
        let Some(text) = it.get(1).or_else(|| it.get(2)) else { continue };
        let before = task.get(..text.start().saturating_sub(1)).unwrap_or_default();
        let begin = before.rfind(". ").max(before.rfind('\n')).map_or(0, |at| at + 1);
        let sentence = before.get(begin..).unwrap_or_default();
        let Some(modal) = MODAL.find(sentence) else { continue };
        let between = sentence.get(modal.end()..).unwrap_or_default();
        let number = text.as_str().parse::<f64>().is_ok();
        if RESULT.is_match(between) && !DENIED.is_match(between) && (number || !NAME.is_match(text.as_str()))
        {
            found.push(text.as_str().to_owned());
        }
    }
    found
}

/// The texts and numbers of a source file, without its names and comments.
fn values(language: Language, text: String) -> String {
    let source = Source::new(language, text);
    let kept = |at: usize, c: char| match source.class(at) {
        Class::Text => true,
        Class::Comment => false,
        Class::Code => !c.is_alphabetic() && c != '_',
    };
    source.text.char_indices().map(|(at, c)| if kept(at, c) || c == '\n' { c } else { ' ' }).collect()
}

/// A text without what differs between notations.
fn plain(text: &str) -> String {
    text.replace('\\', "").replace('\'', "\"").to_lowercase()
}

fn has_word(text: &str, word: &str) -> bool {
    let (word, is_part) = (word.to_lowercase(), |c: char| c.is_alphanumeric());
    text.match_indices(&word)
        .any(|(at, _)| !text[..at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part))
}

#[cfg(test)]
mod tests {
    use super::wanted;

    #[test]
    fn only_results_that_a_task_quotes_are_wanted() {
        for (task, texts) in [
            ("A bad schedule must not stop it: its job should be rendered as `invalid`.", vec!["invalid"]),
            ("Cents(-5).String() must be \"-0.05\".", vec!["-0.05"]),
            ("It should be a TemplateError `if is not closed`.", vec!["if is not closed"]),
            ("percent(0, 0) must be `0 %` and not `NaN %`.", vec!["0 %"]),
            ("The option `--long` must be read.", vec![]),
            ("Concurrent requests crash with \"concurrent map writes\". Make it safe.", vec![]),
            ("Rows should be kept in `rows_by_day`.", vec![]),
            ("It should raise `ValueError`.", vec![]),
        ] {
            assert_eq!(wanted(task), texts, "{task}");
        }
    }
}
