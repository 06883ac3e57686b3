//! Prompt templates: text with `{{ variables }}`. A template is read once with all its includes, and rendered from an
//! explicit list of variables. Nothing is evaluated or taken from the environment. A value that looks like a template
//! stays as it is, because rendering only joins parsed pieces and values.
//!
//! `{{> ../prompts/findings.md }}` includes another file, relative to the including one. A name in brackets, as in `{{>
//! guidance/[category].md }}`, is the workflow's variation: there is one file per value, and all of them are read and
//! checked.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

mod known;
mod read;
mod variation;

pub use known::BUILTIN;
pub(crate) use known::{Known, refuse_builtin};
pub(crate) use read::Reader;
pub use read::{Found, NoTexts, Texts};
pub use variation::Variation;

/// A template with all its includes. It is pinned with its task and needs no files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Template {
    pieces: Vec<Piece>,
}

/// A part of a template.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Piece {
    /// Literal text.
    Text(String),
    /// The value of a variable.
    Variable(String),
    /// One of several templates, by the value of a variable.
    Choice { variable: String, cases: BTreeMap<String, Template> },
}

/// Why a template cannot be rendered. Reading finds the same mistakes before anything starts; this covers templates
/// stored by another version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A variable that is not set.
    #[error("unknown variable `{name}`; known are: {known}")]
    Unknown {
        /// Name, bounded.
        name: String,
        /// Known names.
        known: String,
    },
    /// The template has no case for the value of a variable.
    #[error("nothing is written for {variable} = `{value}`")]
    NoCase {
        /// Variable name.
        variable: String,
        /// Its value, bounded.
        value: String,
    },
}

impl Template {
    /// Creates a template without variables.
    pub fn literal(text: &str) -> Self {
        Self { pieces: vec![Piece::Text(text.to_owned())] }
    }

    /// Creates a template in which `{{ names }}` are variables and nothing is included.
    pub fn plain(text: &str) -> Self {
        let mut pieces = Vec::new();
        for token in read::tokens(text) {
            pieces.push(match token {
                read::Token::Text(text) => Piece::Text(text.to_owned()),
                read::Token::Name { name, .. } => Piece::Variable(name.to_owned()),
                read::Token::Unclosed { at } => Piece::Text(text[at..].to_owned()),
            });
        }
        Self { pieces }
    }

    /// Appends another template after an empty line.
    #[must_use]
    pub fn then(mut self, other: Self) -> Self {
        if self.is_empty() {
            return other;
        }
        self.pieces.push(Piece::Text("\n\n".to_owned()));
        self.pieces.extend(other.pieces);
        self
    }

    /// Returns whether the template is empty.
    pub fn is_empty(&self) -> bool {
        self.pieces.iter().all(|piece| matches!(piece, Piece::Text(text) if text.trim().is_empty()))
    }

    /// Renders the text with the values of the variables.
    pub fn render(&self, variables: &BTreeMap<String, String>) -> Result<String, Error> {
        let mut out = String::new();
        self.render_into(&mut out, variables)?;
        Ok(out)
    }

    fn render_into(&self, out: &mut String, variables: &BTreeMap<String, String>) -> Result<(), Error> {
        let value = |name: &str| {
            variables.get(name).ok_or_else(|| Error::Unknown {
                name: crate::agent::shorten(name, 60),
                known: variables.keys().map(String::as_str).collect::<Vec<_>>().join(", "),
            })
        };
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Variable(name) => out.push_str(value(name)?),
                Piece::Choice { variable, cases } => {
                    let value = value(variable)?;
                    let chosen = cases.get(value).ok_or_else(|| Error::NoCase {
                        variable: variable.clone(),
                        value: crate::agent::shorten(value, 60),
                    })?;
                    chosen.render_into(out, variables)?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_value_is_never_rendered_twice() {
        let variables = variables(&[("a", "{{ b }}{{> x.md }}"), ("b", "x")]);
        let rendered = Template::plain("<{{a}}|{{ b }}>").render(&variables).unwrap();
        assert_eq!(rendered, "<{{ b }}{{> x.md }}|x>");
    }

    #[test]
    fn an_unknown_variable_is_named_with_what_is_known() {
        let error = Template::plain("on {{ branhc }}").render(&variables(&[("branch", "")])).unwrap_err();
        assert_eq!(error.to_string(), "unknown variable `branhc`; known are: branch");
    }

    #[test]
    fn a_stored_template_is_read_back_and_chooses_by_value_alone() {
        let cases = BTreeMap::from([("tests".to_owned(), Template::plain("more {{ a }}"))]);
        let pieces =
            vec![Piece::Text("x ".to_owned()), Piece::Choice { variable: "category".to_owned(), cases }];
        let stored = serde_json::to_string(&Template { pieces }).unwrap();
        let read: Template = serde_json::from_str(&stored).unwrap();
        let rendered = read.render(&variables(&[("a", "{{ a }}"), ("category", "tests")])).unwrap();
        assert_eq!(rendered, "x more {{ a }}");
        let error = read.render(&variables(&[("a", ""), ("category", "docs")])).unwrap_err();
        assert_eq!(error.to_string(), "nothing is written for category = `docs`");
    }
}
