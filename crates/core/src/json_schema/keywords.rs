//! The supported schema keywords, and the form of each.

use std::collections::BTreeSet;

use regex::Regex;
use serde_json::Value;

use super::DEEPEST;

/// A mistake in a schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}{}", place(at))]
pub struct SchemaError {
    /// JSON pointer to the part of the schema.
    pub at: String,
    /// Description of the mistake, as a sentence without a period.
    pub what: String,
    /// What to write instead, if known.
    pub hint: Option<String>,
}

fn place(at: &str) -> String {
    if at.is_empty() { String::new() } else { format!(" at {at}") }
}

/// The form of a keyword's value.
#[derive(Clone, Copy)]
enum Form {
    /// One schema.
    Schema,
    /// A non-empty list of schemas.
    Schemas,
    /// Schemas by name.
    Named,
    /// Schemas by regular expression.
    Patterns,
    /// A regular expression.
    Pattern,
    /// A list of unique strings.
    Strings,
    /// Lists of strings by name.
    StringsByName,
    /// One type or a list of types.
    Type,
    /// A non-negative integer.
    Count,
    /// A number.
    Number,
    /// A number greater than zero.
    Positive,
    /// A boolean.
    Flag,
    /// A non-empty list of values.
    Values,
    /// A reference to a part of this document.
    Reference,
    /// Anything: an annotation without effect on validation.
    Annotation,
}

const KEYWORDS: &[(&str, Form)] = &[
    ("$comment", Form::Annotation),
    ("$defs", Form::Named),
    ("$ref", Form::Reference),
    ("$schema", Form::Annotation),
    ("additionalProperties", Form::Schema),
    ("allOf", Form::Schemas),
    ("anyOf", Form::Schemas),
    ("const", Form::Annotation),
    ("contains", Form::Schema),
    ("default", Form::Annotation),
    ("definitions", Form::Named),
    ("dependentRequired", Form::StringsByName),
    ("dependentSchemas", Form::Named),
    ("deprecated", Form::Annotation),
    ("description", Form::Annotation),
    ("else", Form::Schema),
    ("enum", Form::Values),
    ("examples", Form::Annotation),
    ("exclusiveMaximum", Form::Number),
    ("exclusiveMinimum", Form::Number),
    ("format", Form::Annotation),
    ("if", Form::Schema),
    ("items", Form::Schema),
    ("maxContains", Form::Count),
    ("maxItems", Form::Count),
    ("maxLength", Form::Count),
    ("maxProperties", Form::Count),
    ("maximum", Form::Number),
    ("minContains", Form::Count),
    ("minItems", Form::Count),
    ("minLength", Form::Count),
    ("minProperties", Form::Count),
    ("minimum", Form::Number),
    ("multipleOf", Form::Positive),
    ("not", Form::Schema),
    ("oneOf", Form::Schemas),
    ("pattern", Form::Pattern),
    ("patternProperties", Form::Patterns),
    ("prefixItems", Form::Schemas),
    ("properties", Form::Named),
    ("propertyNames", Form::Schema),
    ("readOnly", Form::Annotation),
    ("required", Form::Strings),
    ("then", Form::Schema),
    ("title", Form::Annotation),
    ("type", Form::Type),
    ("uniqueItems", Form::Flag),
    ("writeOnly", Form::Annotation),
];

/// The JSON types, as schemas name them.
pub(super) const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

/// Checks that [`super::mistakes`] supports `schema`.
pub fn check(schema: &Value) -> Result<(), SchemaError> {
    Check { root: schema, referred: BTreeSet::new() }.schema(schema, "", 0)
}

struct Check<'a> {
    root: &'a Value,
    /// References that were already followed.
    referred: BTreeSet<&'a str>,
}

impl<'a> Check<'a> {
    fn schema(&mut self, schema: &'a Value, at: &str, depth: usize) -> Result<(), SchemaError> {
        if depth > DEEPEST {
            return wrong(at, "the schema is nested too deeply", None);
        }
        match schema {
            Value::Bool(_) => Ok(()),
            Value::Object(keywords) => keywords.iter().try_for_each(|(keyword, value)| {
                let at = format!("{at}/{}", escape(keyword));
                match KEYWORDS.iter().find(|(known, _)| known == keyword) {
                    Some((_, form)) => self.form(*form, value, &at, depth),
                    None => unknown(keyword, &at),
                }
            }),
            _ => wrong(at, "a schema is a table, `true` or `false`", None),
        }
    }

    fn form(&mut self, form: Form, value: &'a Value, at: &str, depth: usize) -> Result<(), SchemaError> {
        match form {
            Form::Annotation => Ok(()),
            Form::Schema => self.schema(value, at, depth + 1),
            Form::Schemas => {
                let all = value.as_array().filter(|all| !all.is_empty());
                let Some(all) = all else { return wrong(at, "expected a list of schemas", None) };
                let mut all = all.iter().enumerate();
                all.try_for_each(|(index, one)| self.schema(one, &format!("{at}/{index}"), depth + 1))
            }
            Form::Named | Form::Patterns => {
                let Some(all) = value.as_object() else { return wrong(at, "expected schemas by name", None) };
                all.iter().try_for_each(|(name, one)| {
                    let at = format!("{at}/{}", escape(name));
                    if matches!(form, Form::Patterns) {
                        pattern(name, &at)?;
                    }
                    self.schema(one, &at, depth + 1)
                })
            }
            Form::Pattern => match value.as_str() {
                Some(text) => pattern(text, at),
                None => wrong(at, "expected a regular expression as a string", None),
            },
            Form::Strings => strings(value, at),
            Form::StringsByName => {
                let Some(all) = value.as_object() else {
                    return wrong(at, "expected lists of strings by name", None);
                };
                all.iter().try_for_each(|(name, list)| strings(list, &format!("{at}/{}", escape(name))))
            }
            Form::Type => types(value, at),
            Form::Count => match value.as_f64() {
                Some(number) if number >= 0.0 && number.fract() == 0.0 => Ok(()),
                _ => wrong(at, "expected a whole number that is not negative", None),
            },
            Form::Number if value.is_number() => Ok(()),
            Form::Number => wrong(at, "expected a number", None),
            Form::Positive if value.as_f64().is_some_and(|number| number > 0.0) => Ok(()),
            Form::Positive => wrong(at, "expected a number greater than 0", None),
            Form::Flag if value.is_boolean() => Ok(()),
            Form::Flag => wrong(at, "expected `true` or `false`", None),
            Form::Values if value.as_array().is_some_and(|all| !all.is_empty()) => Ok(()),
            Form::Values => wrong(at, "expected a list of values", None),
            Form::Reference => self.reference(value, at, depth),
        }
    }

    fn reference(&mut self, value: &'a Value, at: &str, depth: usize) -> Result<(), SchemaError> {
        let Some(to) = value.as_str() else { return wrong(at, "expected a reference as a string", None) };
        if !to.starts_with('#') {
            let hint = "nothing is fetched; put it under \"$defs\" and refer to \"#/$defs/…\"";
            return wrong(at, "the schema refers to another document", Some(hint));
        }
        let Some(part) = resolve(self.root, to) else {
            return wrong(at, &format!("nothing is at {to}"), Some("refer to \"#/$defs/…\""));
        };
        if self.referred.insert(to) {
            self.schema(part, to.trim_start_matches('#'), depth + 1)
        } else {
            Ok(())
        }
    }
}

/// Resolves `#` or `#/…` to a part of `root`.
pub(super) fn resolve<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    root.pointer(reference.strip_prefix('#')?)
}

fn wrong(at: &str, what: &str, hint: Option<&str>) -> Result<(), SchemaError> {
    Err(SchemaError { at: at.to_owned(), what: what.to_owned(), hint: hint.map(str::to_owned) })
}

fn unknown(keyword: &str, at: &str) -> Result<(), SchemaError> {
    let names = KEYWORDS.iter().map(|(name, _)| *name);
    let hint = crate::toml_reader::did_you_mean(keyword, "keywords", names);
    let what = format!("`{}` is not a keyword that acquit knows", crate::agent::shorten(keyword, 60));
    Err(SchemaError { at: at.to_owned(), what, hint })
}

fn pattern(text: &str, at: &str) -> Result<(), SchemaError> {
    match Regex::new(text) {
        Ok(_) => Ok(()),
        Err(_) => wrong(
            at,
            &format!("`{}` is not a regular expression that acquit can use", crate::agent::shorten(text, 60)),
            Some("look-around and back-references are not supported"),
        ),
    }
}

fn strings(value: &Value, at: &str) -> Result<(), SchemaError> {
    let all = value.as_array().and_then(|all| all.iter().map(Value::as_str).collect::<Option<Vec<_>>>());
    let Some(all) = all else { return wrong(at, "expected a list of strings", None) };
    let different: BTreeSet<_> = all.iter().collect();
    if different.len() == all.len() { Ok(()) } else { wrong(at, "a string is in the list twice", None) }
}

fn types(value: &Value, at: &str) -> Result<(), SchemaError> {
    let one = |value: &Value| value.as_str().is_some_and(|name| TYPES.contains(&name));
    let known = match value {
        Value::Array(all) => !all.is_empty() && all.iter().all(one),
        value => one(value),
    };
    if known { Ok(()) } else { wrong(at, &format!("expected one or more of {}", TYPES.join(", ")), None) }
}

/// Escapes a name as a part of a JSON pointer.
pub(super) fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
