//! Reads a template with everything that it includes. Every mistake is noted with the file and line in which it stands.

use std::collections::BTreeMap;

use super::{Known, Piece, Template, Variation};
use crate::toml_reader::{At, Place, Source, quoted};

/// How deep files may include each other: what a person can still follow.
const DEEPEST: usize = 8;

/// The most that a template may come to with all that it includes: more than anybody reads, agents included.
const LARGEST: usize = 64 * 1024;

/// The longest name of a file.
const LONGEST_PATH: usize = 200;

/// Where the texts are that templates include: a project's own files, and those that come with the program under them.
pub trait Texts {
    /// The text of a file, by its path below the folder of acquit's files.
    fn text(&self, path: &str) -> Found;

    /// Files that are there, below a folder, for a hint to whoever mistyped one.
    fn names(&self, folder: &str) -> Vec<String>;
}

/// What was found at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// A file.
    Text {
        /// How mistakes call it.
        shown: String,
        /// All of it.
        text: String,
    },
    /// Nothing.
    Absent,
    /// Something that is not taken as text, and why.
    Refused(String),
}

/// No texts at all: for workflows that stand alone.
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

/// What a template consists of.
pub(super) enum Token<'t> {
    Text(&'t str),
    /// What stands between braces, and where they open.
    Name {
        name: &'t str,
        at: usize,
    },
    /// Braces that never close.
    Unclosed {
        at: usize,
    },
}

/// Takes a template apart.
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

/// Reads templates of one workflow.
pub(crate) struct Reader<'a> {
    pub(crate) texts: &'a dyn Texts,
    pub(crate) known: &'a Known,
    pub(crate) variation: Option<&'a Variation>,
}

/// Notes a mistake at a place of the text that is being read.
type Note<'n> = &'n dyn Fn(usize, String, Option<String>);

impl Reader<'_> {
    /// A template that stands in a TOML file itself. `path` is the file's own.
    pub(crate) fn inline(&self, source: &Source<'_>, path: &str, template: &At<String>) -> Template {
        let note = |at: usize, what: String, hint| source.report(opening(source, template, at), what, hint);
        self.read(source, &[path.to_owned()], &template.value, &note)
    }

    /// A template in a file of its own. `None` if there is no such file, which is noted at `named`.
    pub(crate) fn file(&self, source: &Source<'_>, from: &str, named: &At<String>) -> Option<Template> {
        let note = |what: String, hint| source.report(named.place, what, hint);
        self.include(source, &[from.to_owned()], &named.value, &note)
    }

    /// The rest of a file whose beginning was read otherwise: what stands in `own` from a byte on.
    pub(crate) fn rest(&self, own: &Source<'_>, path: &str, text: &str, from: usize) -> Template {
        let note = |at: usize, what: String, hint| {
            let start = from + at;
            own.report(Place { start, end: start }, what, hint);
        };
        self.read(own, &[path.to_owned()], &text[from..], &note)
    }

    /// `stack` are the files that are being read, the innermost last. Mistakes of included files are noted in `source` as well.
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

    /// An included file, or one for each value of the variation.
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

/// A name with a variable in brackets: what is before it, the variable, what is after it.
fn bracketed(named: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = named.split_once('[')?;
    let (variable, after) = rest.split_once(']')?;
    Some((before, variable, after))
}

/// The path of a file that is named in another one: relative to it, and never outside of the folder of acquit's files.
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

/// Where the braces at a byte of a template stand in the TOML file. Braces are written as themselves in every kind of string,
/// so they can be counted; where someone wrote them as escapes, the string's beginning has to do.
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
