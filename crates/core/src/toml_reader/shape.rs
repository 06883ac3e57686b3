//! Records what readers request of a file, as a JSON Schema.
//!
//! A separate description of the format would get out of date. Instead, readers run once over a reference file with
//! every key: what they request is the schema, and the comments of the reference are its descriptions.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::Place;

/// A position in the schema: a key, an item of a list, or any key of a table with user-defined keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape(usize);

/// The whole file.
pub(super) const ROOT: Shape = Shape(0);

/// A type of value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Form {
    Text,
    /// One of these words.
    Words(Vec<String>),
    /// An integer from 0 to this.
    Count(u32),
    Flag,
    Span,
    Bytes,
    Dollars,
    List,
    Table,
    /// Any JSON value.
    Anything,
}

/// What was requested so far.
#[derive(Debug)]
pub(super) struct Shapes(RefCell<Vec<Node>>);

#[derive(Debug, Default)]
struct Node {
    forms: BTreeSet<Form>,
    keys: BTreeMap<String, Shape>,
    any: Option<Shape>,
    items: Option<Shape>,
    /// Whether a key that was not requested is a mistake.
    closed: bool,
    /// Offset of the end of its first value.
    ends: Option<usize>,
}

impl Shapes {
    pub(super) fn new() -> Self {
        Self(RefCell::new(vec![Node::default()]))
    }

    fn child(&self, of: Shape, slot: impl FnOnce(&mut Node, Shape) -> Shape) -> Shape {
        let mut nodes = self.0.borrow_mut();
        let new = Shape(nodes.len());
        let child = slot(&mut nodes[of.0], new);
        if child == new {
            nodes.push(Node::default());
        }
        child
    }

    /// Returns a key of a table.
    pub(super) fn key(&self, of: Shape, key: &str) -> Shape {
        self.child(of, |node, new| *node.keys.entry(key.to_owned()).or_insert(new))
    }

    /// Returns the shape of every key of a table with user-defined keys.
    pub(super) fn any(&self, of: Shape) -> Shape {
        self.child(of, |node, new| *node.any.get_or_insert(new))
    }

    /// Returns the shape of every item of a list.
    pub(super) fn items(&self, of: Shape) -> Shape {
        self.child(of, |node, new| *node.items.get_or_insert(new))
    }

    /// Records that a value can have this form.
    pub(super) fn is(&self, shape: Shape, form: Form) {
        let forms = &mut self.0.borrow_mut()[shape.0].forms;
        match form {
            Form::Words(_) => drop(forms.remove(&Form::Text)),
            Form::Text if forms.iter().any(|form| matches!(form, Form::Words(_))) => return,
            _ => {}
        }
        forms.insert(form);
    }

    /// Records that a table has no other keys than those requested.
    pub(super) fn close(&self, shape: Shape) {
        self.0.borrow_mut()[shape.0].closed = true;
    }

    /// Records the location of a value and its key.
    pub(super) fn seen(&self, shape: Shape, key: Place, value: Place) {
        self.0.borrow_mut()[shape.0].ends.get_or_insert(key.end.max(value.end));
    }

    /// Returns the schema of the whole file, with the comments of `text` as descriptions.
    pub(super) fn schema(&self, text: &str) -> Value {
        let nodes = self.0.borrow();
        let mut schema = schema(&nodes, ROOT, text);
        schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
        schema
    }

    /// Returns the paths of keys that were requested but are not in the reference.
    #[cfg(test)]
    pub(super) fn unseen(&self) -> Vec<String> {
        fn walk(nodes: &[Node], shape: Shape, path: &str, found: &mut Vec<String>) {
            let node = &nodes[shape.0];
            if node.forms.is_empty() && shape != ROOT {
                found.push(path.to_owned());
            }
            let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
            for (key, child) in &node.keys {
                walk(nodes, *child, &below(key), found);
            }
            for (name, child) in [("*", node.any), ("[]", node.items)] {
                if let Some(child) = child {
                    walk(nodes, child, &below(name), found);
                }
            }
        }
        let mut found = Vec::new();
        walk(&self.0.borrow(), ROOT, "", &mut found);
        found
    }
}

fn schema(nodes: &[Node], shape: Shape, text: &str) -> Value {
    let node = &nodes[shape.0];
    let mut all: Vec<Value> = node.forms.iter().map(|form| one(nodes, node, form, text)).collect();
    if shape == ROOT {
        all = vec![one(nodes, node, &Form::Table, text)];
    } else if node.forms.contains(&Form::Anything) {
        all.clear();
    }
    let mut schema = match all.len() {
        0 => json!({}),
        1 => all.remove(0),
        _ => json!({ "anyOf": all }),
    };
    if let Some(words) = node.ends.and_then(|end| comment(text, end)) {
        schema["description"] = Value::from(words);
    }
    schema
}

fn one(nodes: &[Node], node: &Node, form: &Form, text: &str) -> Value {
    match form {
        Form::Text => json!({ "type": "string" }),
        Form::Words(words) => json!({ "enum": words }),
        Form::Count(most) => json!({ "type": "integer", "minimum": 0, "maximum": most }),
        Form::Flag => json!({ "type": "boolean" }),
        Form::Span => json!({ "type": "string", "pattern": "^([0-9]+(ms|s|m|h|d))+$" }),
        Form::Bytes => json!({ "type": "string", "pattern": "^[0-9]+ *(B|KiB|MiB|GiB)$" }),
        Form::Dollars => json!({ "type": "number", "minimum": 0 }),
        Form::Anything => json!({}),
        Form::List => {
            let items = node.items.map_or_else(|| json!({}), |items| schema(nodes, items, text));
            json!({ "type": "array", "items": items })
        }
        Form::Table => {
            let keys: Map<String, Value> =
                node.keys.iter().map(|(key, child)| (key.clone(), schema(nodes, *child, text))).collect();
            let others = match node.any {
                Some(any) => schema(nodes, any, text),
                None => Value::from(!node.closed),
            };
            json!({ "type": "object", "properties": keys, "additionalProperties": others })
        }
    }
}

/// Returns the comment after a value on the same line.
fn comment(text: &str, end: usize) -> Option<String> {
    let rest = text.get(end..)?.lines().next()?;
    let words = rest.trim_start_matches([' ', ']', '}', ',', '\t']).strip_prefix('#')?.trim();
    (!words.is_empty()).then(|| words.to_owned())
}
