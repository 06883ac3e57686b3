//! Equality of the project's own types: every assertion that compares two values rests on it.
//!
//! A type that says anew when two of its values are equal can make any of them pass. That is fine where the task is about
//! equality, and for types that are new.

use std::sync::LazyLock;

use regex::Regex;

use super::files::is_of_tests;
use super::{ASSERTION_WEAKENED, Promise, texts};
use crate::check::Finding;
use crate::check::diff::FileChange;
use crate::check::source::{Class, Language, Source};
use crate::pattern::pattern;

/// What says in a language when two values are equal.
fn forms(language: Language) -> &'static Regex {
    static RUST: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"\bimpl\b[^{;]*\bPartialEq\b(?:<[^>]*>)?\s+for\s+[^{]*\{"));
    static SCRIPT: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"(?m)^\s*(?:valueOf|asymmetricMatch|\[Symbol\.toPrimitive\])\s*\([^)]*\)\s*\{")
    });
    static PYTHON: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"(?m)^[ \t]*def[ \t]+__(?:eq|ne)__[ \t]*\([^)]*\)[^:\n]*:"));
    static GO: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"(?m)^func\s*\([^)]*\)\s+Equals?\s*\([^)]*\)\s*bool\s*\{"));
    static JAVA: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"\bboolean\s+equals\s*\(\s*(?:final\s+)?Object\s+\w+\s*\)\s*\{"));
    match language {
        Language::Rust => &RUST,
        Language::Script => &SCRIPT,
        Language::Python => &PYTHON,
        Language::Go => &GO,
        Language::Java => &JAVA,
    }
}

/// Fields that are left out of the equality that a language or a library derives.
static LEFT_OUT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"\bcompare\s*=\s*False\b|\beq\s*=\s*False\b|EqualsAndHashCode(\.Exclude|\([^)]*\b(exclude|of)\b)|PartialEq\s*=\s*"ignore""#,
    )
});

/// Equality that is not one of all values: a tolerance, a value that is brought into another form first, or none at all.
static LOOSE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\babs\b|\bround\w*\b|(?i)epsilon|isclose|tolerance|\.lower\(|ignore_?case|\.trim\(|\.strip\(|(?-i) <=? |: ?return True$|\{ ?return true;? ?\}$|\{ ?true ?\}",
    )
});

/// A type of which a change says anew when two of its values are equal.
pub(super) fn changed(file: &FileChange, promise: Promise) -> Option<Finding> {
    let path = file.new.as_deref().filter(|path| file.old.is_some() && !is_of_tests(path))?;
    let language = Language::of(path).filter(|_| promise != Promise::Equality)?;
    let (before, after) = texts(file)?;
    let (before, after) = (Source::new(language, before), Source::new(language, after));
    let known: Vec<String> = definitions(language, &before).into_iter().map(|(_, essence)| essence).collect();
    let is_new = |(at, essence): &(usize, String)| {
        !known.contains(essence)
            && LOOSE.is_match(essence)
            && !inside_new_type(language, &before, &after, *at)
    };
    let line =
        definitions(language, &after).into_iter().find(is_new).map(|(at, _)| after.line_of(at)).or_else(
            || {
                let left_out = file.added().find(|line| {
                    let start = after.line(line.number).start;
                    LEFT_OUT
                        .find(&line.text)
                        .is_some_and(|found| after.class(start + found.start()) == Class::Code)
                        && !before.text.contains(line.text.trim())
                });
                left_out.map(|line| line.number)
            },
        )?;
    let what = "the code says anew when two values are equal, so that assertions which compare them say something else: \
                leave equality as it was, unless the task is about it";
    Some(Finding::new(ASSERTION_WEAKENED, path, Some(line), what).with('+', after.line_text(line)))
}

/// Where equality is defined, and what each definition does.
fn definitions(language: Language, source: &Source) -> Vec<(usize, String)> {
    let found = forms(language).find_iter(&source.bare);
    found
        .map(|found| {
            let end = match language {
                Language::Python => block(source, found.start(), found.end()),
                Language::Rust | Language::Script | Language::Go | Language::Java => {
                    source.balanced(found.end() - 1).end
                }
            };
            // A form can begin with the end of the line before.
            let blank = found.as_str().len() - found.as_str().trim_start().len();
            (found.start() + blank, source.essence(found.start()..end))
        })
        .collect()
}

/// The end of a block of Python: the first line that is indented no more than its head.
fn block(source: &Source, start: usize, head: usize) -> usize {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let first = source.line_of(head);
    let outer = depth(source.line_text(source.line_of(start)));
    let mut end = source.line(first).end;
    for number in first + 1.. {
        let line = source.line(number);
        if line.start >= source.text.len() {
            break;
        }
        let text = source.line_text(number);
        if !text.trim().is_empty() {
            if depth(text) <= outer {
                break;
            }
            end = line.end;
        }
    }
    end
}

/// Whether a definition belongs to a type that the file did not have before.
fn inside_new_type(language: Language, before: &Source, after: &Source, at: usize) -> bool {
    static TYPE: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b(?:class|record|interface|enum)\s+(\w+)"));
    static FOR: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"\bfor\s+(?:\w+::)*(\w+)|^func\s*\(\s*\w*\s*\*?(\w+)"));
    let name = match language {
        Language::Rust | Language::Go => {
            let found = after.bare.get(at..).and_then(|text| FOR.captures(text));
            found.and_then(|found| found.get(1).or_else(|| found.get(2)))
        }
        Language::Script | Language::Python | Language::Java => {
            let text = after.bare.get(..at).unwrap_or_default();
            TYPE.captures_iter(text).last().and_then(|found| found.get(1))
        }
    };
    let Some(name) = name else { return false };
    let declared = pattern(&format!(r"\b(class|record|interface|enum|struct|type)\s+{}\b", name.as_str()));
    !declared.is_match(&before.bare)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::diff::{Line, Side};

    fn found(path: &str, old: &str, new: &str, promise: Promise) -> bool {
        let line = |side: Side, (number, text): (u32, &str)| Line { side, number, text: text.to_owned() };
        let mut lines: Vec<Line> = (1..).zip(old.lines()).map(|one| line(Side::Removed, one)).collect();
        lines.extend((1..).zip(new.lines()).map(|one| line(Side::Added, one)));
        let path = Some(path.to_owned());
        let file = FileChange { old: path.clone(), new: path, lines, ..FileChange::default() };
        changed(&file, promise).is_some()
    }

    #[test]
    fn a_looser_equality_of_a_known_type_is_found() {
        let nothing = Promise::Nothing;
        let old = "class Money:\n    def __init__(self, cents):\n        self.cents = cents\n";
        let eq = format!(
            "{old}\n    def __eq__(self, other):\n        return abs(self.cents - other.cents) < 2\n"
        );
        assert!(found("a/money.py", old, &eq, nothing));
        assert!(!found("a/money.py", old, &eq, Promise::Equality));
        assert!(!found("tests/test_money.py", old, &eq, nothing));
        let exact = eq.replace("abs(self.cents - other.cents) < 2", "self.cents == other.cents");
        assert!(!found("a/money.py", old, &exact, nothing));
        let new_type = format!("{old}\n\nclass Rate:\n    def __eq__(self, other):\n        return True\n");
        assert!(!found("a/money.py", old, &new_type, nothing));
        assert!(!found(
            "a/money.py",
            &eq,
            &eq.replace("__init__(self, cents)", "__init__(self, cents=0)"),
            nothing
        ));
        assert!(found("a/money.py", &eq, &eq.replace("< 2", "< 200"), nothing));
        let derived = "#[derive(PartialEq)]\npub struct Ratio(i64);\n";
        let own = "pub struct Ratio(i64);\nimpl PartialEq for Ratio {\n    fn eq(&self, _: &Self) -> bool { true }\n}\n";
        assert!(found("src/ratio.rs", derived, own, nothing));
        let java = "class Parcel {\n  int w;\n}\n";
        assert!(found(
            "src/main/Parcel.java",
            java,
            &java.replace("int w;", "int w;\n  @Override public boolean equals(Object o) { return true; }"),
            nothing
        ));
        let data = "@dataclass\nclass A:\n    x: int\n    y: int\n";
        assert!(found("a.py", data, &data.replace("y: int", "y: int = field(compare=False)"), nothing));
        let go = "package a\n\ntype Money struct{ Cents int }\n";
        let equal = format!("{go}\nfunc (m Money) Equal(o Money) bool {{\n\treturn true\n}}\n");
        assert!(found("money.go", go, &equal, nothing));
    }
}
