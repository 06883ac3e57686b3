//! Reads a template with all its includes. Reports every mistake with its file and line.

use std::collections::BTreeMap;

use super::{Known, Piece, Template, Variation};
use crate::toml_reader::{At, Place, Source, quoted};

/// Maximum include depth: what a person can still follow.
const DEEPEST: usize = 8;

/// Maximum total size of a template with its includes: more than anyone reads, including agents.
const LARGEST: usize = 64 * 1024;

/// Maximum length of a file name.
const LONGEST_PATH: usize = 200;

/// The source of included texts: the project's own files, with the built-in ones as the fallback.
pub trait Texts {
    /// Returns the text of a file, by its path below the folder of acquit's files.
    fn text(&self, path: &str) -> Found;

    /// Returns the names of existing files below a folder, to suggest one for a typo.
    fn names(&self, folder: &str) -> Vec<String>;
}

/// The result of a lookup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// A file.
    Text {
        /// Its name in mistakes.
        shown: String,
        /// Its contents.
        text: String,
    },
    /// No such file.
    Absent,
    /// A file that is refused, and why.
    Refused(String),
}

/// No texts, for standalone workflows.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTexts;

impl Texts for NoTexts {
    fn text(&self, _: &str) -> Found {
        Found::Absent
    }

    fn names(&self, _: &str) -> Vec<String> {
        Vec::new()
    }
}

/// A token of a template.
pub(super) enum Token<'t> {
    Text(&'t str),
    /// The name between braces, and the offset of the opening brace.
    Name {
        name: &'t str,
        at: usize,
    },
    /// Braces that are never closed.
    Unclosed {
        at: usize,
    },
}

/// Splits a template into tokens.
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(open) = rest.find("{{") {
        let at = text.len() - rest.len() + open;
        if open > 0 {
            tokens.push(Token::Text(&rest[..open]));
        }
        let inside = &rest[open + 2..];
        let Some(close) = inside.find("}}") else {
            tokens.push(Token::Unclosed { at });
            return tokens;
        };
        tokens.push(Token::Name { name: inside[..close].trim(), at });
        rest = &inside[close + 2..];
    }
    if !rest.is_empty() {
        tokens.push(Token::Text(rest));
    }
    tokens
}

/// Reads the templates of one workflow.
pub(crate) struct Reader<'a> {
    pub(crate) texts: &'a dyn Texts,
    pub(crate) known: &'a Known,
    pub(crate) variation: Option<&'a Variation>,
}

/// Reports a mistake at an offset of the text being read.
type Note<'n> = &'n dyn Fn(usize, String, Option<String>);

impl Reader<'_> {
    /// Reads a template inside a TOML file. `path` is the path of that file.
    pub(crate) fn inline(&self, source: &Source<'_>, path: &str, template: &At<String>) -> Template {
        let note = |at: usize, what: String, hint| source.report(opening(source, template, at), what, hint);
        self.read(source, &[path.to_owned()], &template.value, &note)
    }

    /// Reads a template in its own file. Returns `None` if there is no such file, which is reported at `named`.
    pub(crate) fn file(&self, source: &Source<'_>, from: &str, named: &At<String>) -> Option<Template> {
        let note = |what: String, hint| source.report(named.place, what, hint);
        self.include(source, &[from.to_owned()], &named.value, &note)
    }

    /// Reads the rest of a file, from an offset in `own`, after its beginning was read in another way.
    pub(crate) fn rest(&self, own: &Source<'_>, path: &str, text: &str, from: usize) -> Template {
        let note = |at: usize, what: String, hint| {
            let start = from + at;
            own.report(Place { start, end: start }, what, hint);
        };
        self.read(own, &[path.to_owned()], &text[from..], &note)
    }

    /// `stack` has the files being read, innermost last. Mistakes in included files are also added to `source`.
    fn read(&self, source: &Source<'_>, stack: &[String], text: &str, note: Note<'_>) -> Template {
        let mut pieces = Vec::new();
        let mut size = 0;
        for token in tokens(text) {
            match token {
                Token::Text(text) => pieces.push(Piece::Text(text.to_owned())),
                Token::Unclosed { at } => {
                    note(at, "`{{` is never closed".to_owned(), Some("close it with `}}`".to_owned()));
                }
                Token::Name { name, at } => {
                    if let Some(named) = name.strip_prefix('>') {
                        let note = |what, hint| note(at, what, hint);
                        pieces.extend(self.partial(source, stack, named.trim(), &note));
                    } else {
                        if let Some((what, hint)) = self.known.check(name) {
                            note(at, what, hint);
                        }
                        pieces.push(Piece::Variable(name.to_owned()));
                    }
                }
            }
            size = pieces.iter().map(Piece::size).sum();
            if size > LARGEST {
                break;
            }
        }
        if size > LARGEST {
            let what = format!("with all that it includes this has more than {LARGEST} bytes");
            note(0, what, Some("shorten it; nobody follows that many instructions".to_owned()));
        }
        Template { pieces }
    }

    /// Reads an included file, or one file for each value of the variation.
    fn partial(
        &self,
        source: &Source<'_>,
        stack: &[String],
        named: &str,
        note: &dyn Fn(String, Option<String>),
    ) -> Vec<Piece> {
        let Some((before, variable, after)) = bracketed(named) else {
            return self
                .include(source, stack, named, note)
                .map(|template| template.pieces)
                .unwrap_or_default();
        };
        let Some(variation) = self.variation.filter(|variation| variation.variable == variable) else {
            let hint = match self.variation {
                Some(variation) => format!("it can be [{}]", variation.variable),
                None => "only the variable of [variation] can choose a file, and this workflow has none"
                    .to_owned(),
            };
            note(format!("{} does not choose a file", quoted(&format!("[{variable}]"))), Some(hint));
            return Vec::new();
        };
        let mut cases = BTreeMap::new();
        for value in &variation.values {
            let named = format!("{before}{value}{after}");
            cases.extend(self.include(source, stack, &named, note).map(|template| (value.clone(), template)));
        }
        vec![Piece::Choice { variable: variable.to_owned(), cases }]
    }

    fn include(
        &self,
        source: &Source<'_>,
        stack: &[String],
        named: &str,
        note: &dyn Fn(String, Option<String>),
    ) -> Option<Template> {
        let from = stack.last().map_or("", String::as_str);
        let path = match join(from, named) {
            Ok(path) => path,
            Err(hint) => {
                note(format!("{} cannot be included", quoted(named)), Some(hint.to_owned()));
                return None;
            }
        };
        if stack.contains(&path) || stack.len() > DEEPEST {
            let chain: Vec<&str> = stack.iter().map(String::as_str).chain([path.as_str()]).collect();
            let hint = format!("the way there: {}", chain.join(" → "));
            let what = if stack.contains(&path) { "includes itself" } else { "is included too deep" };
            note(format!("{} {what}", quoted(&path)), Some(hint));
            return None;
        }
        match self.texts.text(&path) {
            Found::Text { shown, text } => {
                let own = Source::plain(&shown, &text);
                let stack: Vec<String> = stack.iter().cloned().chain([path]).collect();
                let body = text.strip_suffix('\n').unwrap_or(&text);
                let note =
                    |at: usize, what: String, hint| own.report(Place { start: at, end: at }, what, hint);
                let template = self.read(&own, &stack, body, &note);
                source.adopt(own);
                Some(template)
            }
            Found::Absent => {
                let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
                let names = self.texts.names(folder);
                let hint =
                    crate::toml_reader::did_you_mean(&path, "there are", names.iter().map(String::as_str));
                note(format!("there is no file {}", quoted(&path)), hint);
                None
            }
            Found::Refused(why) => {
                note(format!("{} cannot be read: {why}", quoted(&path)), None);
                None
            }
        }
    }
}

impl Piece {
    fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Variable(name) => name.len(),
            Self::Choice { cases, .. } => {
                cases.values().map(|case| case.pieces.iter().map(Self::size).sum()).max().unwrap_or(0)
            }
        }
    }
}

/// Splits a name with a variable in brackets: text before, variable, text after.
fn bracketed(named: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = named.split_once('[')?;
    let (variable, after) = rest.split_once(']')?;
    Some((before, variable, after))
}

/// Resolves a file name relative to the file that includes it. It must not leave the folder of acquit's files.
pub(crate) fn join(from: &str, named: &str) -> Result<String, &'static str> {
    if named.is_empty() || named.len() > LONGEST_PATH || named.contains(|c: char| c.is_control() || c == '\\')
    {
        return Err("write the path of a Markdown file, relative to this one");
    }
    if named.starts_with('/') {
        return Err("write it relative to this file; nothing outside of acquit's own folder is included");
    }
    if !named.to_ascii_lowercase().ends_with(".md") {
        return Err("only Markdown files are included: their names end in .md");
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in named.split('/') {
        match part {
            "." => {}
            ".." => {
                parts.pop().ok_or("it leads out of acquit's own folder")?;
            }
            "" => return Err("it has an empty part"),
            part => parts.push(part),
        }
    }
    Ok(parts.join("/"))
}

/// Returns the location in the TOML file of the braces at an offset of a template. Braces look the same in every kind
/// of TOML string, so they can be counted. If they are written as escapes, the start of the string is used.
fn opening(source: &Source<'_>, template: &At<String>, at: usize) -> Place {
    let written = source.slice(template.place);
    if written.matches("{{").count() != template.value.matches("{{").count() {
        return template.place;
    }
    let number = template.value.get(..at).unwrap_or_default().matches("{{").count();
    let start = template.place.start + written.match_indices("{{").nth(number).map_or(0, |(at, _)| at);
    Place { start, end: template.place.end }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_never_leaves_the_folder() {
        let from = "workflows/feature.toml";
        assert_eq!(join(from, "../prompts/a.md").as_deref(), Ok("prompts/a.md"));
        assert_eq!(join(from, "./a/../b.md").as_deref(), Ok("workflows/b.md"));
        let bad = [
            "../../a.md",
            "/etc/a.md",
            "..\\a.md",
            "a//b.md",
            "",
            "a.toml",
            "../..",
            "\u{1b}.md",
            "../a.md/..",
        ];
        for named in bad {
            assert!(join(from, named).is_err(), "{named}");
        }
    }
}
