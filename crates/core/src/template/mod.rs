//! Templates of prompts: text with `{{ variables }}`, read once together with all that they include, rendered once from an
//! explicit list. Nothing is evaluated, nothing is taken from the environment, and a value that itself looks like a template
//! stays as it is: after reading there are only pieces, and values are put beside them.
//!
//! `{{> ../prompts/findings.md }}` puts another file in its place, named relative to the file that names it. A name in brackets,
//! `{{> guidance/[category].md }}`, is the workflow's variation: one file for each of its values, all of them read and checked.

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

/// A template with everything that it includes. It is pinned with its task, so it needs no files any more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Template {
    pieces: Vec<Piece>,
}

/// A part of a template.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Piece {
    /// As it is.
    Text(String),
    /// The value of a variable.
    Variable(String),
    /// One of several, by the value of a variable.
    Choice { variable: String, cases: BTreeMap<String, Template> },
}

/// Why a template cannot be rendered. Reading finds the same before anything is spawned; this holds for what was stored by
/// another version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A variable that nobody set.
    #[error("unknown variable `{name}`; known are: {known}")]
    Unknown {
        /// The name, bounded.
        name: String,
        /// What could have been meant.
        known: String,
    },
    /// A variable whose value has no part of the template.
    #[error("nothing is written for {variable} = `{value}`")]
    NoCase {
        /// The variable.
        variable: String,
        /// Its value, bounded.
        value: String,
    },
}

impl Template {
    /// A text in which nothing is replaced.
    pub fn literal(text: &str) -> Self {
        Self { pieces: vec![Piece::Text(text.to_owned())] }
    }

    /// A text whose `{{ names }}` are variables and which includes nothing.
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

    /// This one, and then another, with an empty line between them.
    #[must_use]
    pub fn then(mut self, other: Self) -> Self {
        if self.is_empty() {
            return other;
        }
        self.pieces.push(Piece::Text("\n\n".to_owned()));
        self.pieces.extend(other.pieces);
        self
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.pieces.iter().all(|piece| matches!(piece, Piece::Text(text) if text.trim().is_empty()))
    }

    /// The text, with each variable replaced by its value.
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
