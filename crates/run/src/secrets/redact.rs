//! Finds the forms of all known secrets in one pass and replaces them by `[secret NAME]`.
//!
//! Every byte that belongs to any form of any secret is removed, even where forms overlap: the base64 characters of one
//! value may be the beginning of another value. Without secrets, this costs nothing.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use acquit_core::json::Json;
use aho_corasick::{AhoCorasick, MatchKind};
use serde_json::Value;

use super::{Secret, forms};

/// How a value is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// The configuration declares it as a secret: no commit may contain it.
    Declared,
    /// An agent gets it from the environment: it is not shown, but it may be a word that the repository contains.
    Passed,
}

/// Redacts secrets. Cheap to clone. Has no `Debug`, because it contains them.
#[derive(Clone, Default)]
pub struct Redactor(Option<Arc<Inner>>);

/// Name and kind of the secret that a form belongs to.
type Owner = (Arc<str>, Known);

struct Inner {
    automaton: AhoCorasick,
    /// Sorted, so that prefixes of forms are found by binary search.
    forms: Vec<Vec<u8>>,
    /// Owner of each form, in the same order.
    owners: Vec<Owner>,
    longest: usize,
}

/// A range of a text that belongs to a secret.
pub(super) struct Found<'r> {
    pub(super) range: Range<usize>,
    pub(super) name: &'r str,
    pub(super) known: Known,
}

impl Redactor {
    /// Creates a redactor for these secrets.
    pub fn new(secrets: &[(Secret, Known)]) -> Self {
        let mut forms: Vec<(Vec<u8>, Owner)> = Vec::new();
        for (secret, known) in secrets {
            let all = forms::all(secret.bytes()).into_iter();
            forms.extend(all.map(|form| (form, (Arc::clone(&secret.name), *known))));
        }
        Self::of(forms)
    }

    /// Returns a redactor that also knows these secrets.
    #[must_use]
    pub fn with(&self, secrets: &[Secret]) -> Self {
        let mut forms: Vec<_> = match &self.0 {
            Some(inner) => inner.forms.iter().cloned().zip(inner.owners.iter().cloned()).collect(),
            None => Vec::new(),
        };
        for secret in secrets {
            let all = forms::all(secret.bytes()).into_iter();
            forms.extend(all.map(|form| (form, (Arc::clone(&secret.name), Known::Declared))));
        }
        Self::of(forms)
    }

    fn of(mut forms: Vec<(Vec<u8>, Owner)>) -> Self {
        // A value that is both declared and passed counts as declared.
        forms.sort_by(|(a, (_, x)), (b, (_, y))| a.cmp(b).then((*x as u8).cmp(&(*y as u8))));
        forms.dedup_by(|(a, _), (b, _)| a == b);
        let (forms, owners): (Vec<_>, Vec<_>) = forms.into_iter().unzip();
        let longest = forms.iter().map(Vec::len).max().unwrap_or(0);
        let automaton = AhoCorasick::builder().match_kind(MatchKind::Standard).build(&forms);
        // Building fails only for more patterns than fit into memory, and values are limited. Without it nothing would
        // be redacted, so this must not go unnoticed.
        let automaton = automaton.expect("a bounded number of bounded forms");
        Self((longest > 0).then(|| Arc::new(Inner { automaton, forms, owners, longest })))
    }

    /// Returns whether there are no secrets to search for.
    pub fn knows_none(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the name of a declared secret in these bytes, if there is one.
    pub fn declared(&self, bytes: &[u8]) -> Option<&str> {
        let found = self.0.as_ref()?.find(bytes).into_iter();
        found.filter(|found| found.known == Known::Declared).map(|found| found.name).next()
    }

    /// Returns whether these bytes contain any secret.
    pub fn finds(&self, bytes: &[u8]) -> bool {
        self.0.as_ref().is_some_and(|inner| inner.automaton.find_overlapping_iter(bytes).next().is_some())
    }

    /// Redacts a text.
    pub fn text(&self, text: &str) -> String {
        match self.bytes(text.as_bytes()) {
            Cow::Borrowed(_) => text.to_owned(),
            // A form ends inside a character only if the value does, so this replaces nothing in practice.
            Cow::Owned(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        }
    }

    /// Redacts bytes.
    pub fn bytes<'b>(&self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        let Some(inner) = &self.0 else { return Cow::Borrowed(bytes) };
        let found = inner.find(bytes);
        if found.is_empty() {
            return Cow::Borrowed(bytes);
        }
        let (mut out, mut end) = (Vec::with_capacity(bytes.len()), 0);
        for found in found {
            out.extend_from_slice(&bytes[end..found.range.start]);
            label(found.name, &mut out);
            end = found.range.end;
        }
        out.extend_from_slice(&bytes[end..]);
        Cow::Owned(out)
    }

    /// Redacts all strings and keys of a JSON value.
    pub fn value(&self, value: &mut Value) {
        if self.knows_none() {
            return;
        }
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(entries) => {
                let old = std::mem::take(entries);
                for (key, mut value) in old {
                    self.value(&mut value);
                    entries.insert(self.text(&key), value);
                }
            }
            // A number can contain the digits of a secret.
            Value::Number(number) => {
                let text = number.to_string();
                if self.finds(text.as_bytes()) {
                    *value = Value::String(self.text(&text));
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// Redacts a serializable value. `None` if the result no longer deserializes, because a secret is one of the words
    /// of its format.
    pub fn stored<T: Json>(&self, thing: T) -> Option<T> {
        if self.knows_none() {
            return Some(thing);
        }
        // The forms of a value inside JSON are among the forms that are searched.
        let text = thing.to_json().ok()?;
        if !self.finds(text.as_bytes()) {
            return Some(thing);
        }
        let mut value = Value::from_json(&text).ok()?;
        self.value(&mut value);
        T::from_json(&value.to_string()).ok()
    }

    pub(super) fn inner(&self) -> Option<Matcher<'_>> {
        self.0.as_deref().map(Matcher)
    }
}

/// The part of a redactor that a stream needs, if there are secrets.
#[derive(Clone, Copy)]
pub(super) struct Matcher<'r>(&'r Inner);

impl<'r> Matcher<'r> {
    pub(super) fn find(self, bytes: &[u8]) -> Vec<Found<'r>> {
        self.0.find(bytes)
    }

    /// Returns the number of last bytes that may be the beginning of a form.
    pub(super) fn unfinished(self, bytes: &[u8]) -> usize {
        let most = bytes.len().min(self.0.longest - 1);
        (1..=most).rev().find(|count| self.begins(&bytes[bytes.len() - count..])).unwrap_or(0)
    }

    fn begins(self, end: &[u8]) -> bool {
        let forms = &self.0.forms;
        let at = forms.partition_point(|form| form.as_slice() <= end);
        forms.get(at).is_some_and(|form| form.starts_with(end))
    }
}

impl Inner {
    /// Returns the ranges that belong to secrets, in order, with overlapping ones merged.
    fn find(&self, bytes: &[u8]) -> Vec<Found<'_>> {
        let mut all: Vec<Found<'_>> = self
            .automaton
            .find_overlapping_iter(bytes)
            .map(|found| {
                let (name, known) = &self.owners[found.pattern().as_usize()];
                Found { range: found.range(), name, known: *known }
            })
            .collect();
        // Of ranges with the same start, the longest one determines the name.
        all.sort_by_key(|found| (found.range.start, std::cmp::Reverse(found.range.end)));
        let mut merged: Vec<Found<'_>> = Vec::new();
        for found in all {
            match merged.last_mut() {
                Some(last) if found.range.start < last.range.end => {
                    last.range.end = last.range.end.max(found.range.end);
                    if last.known == Known::Passed && found.known == Known::Declared {
                        (last.name, last.known) = (found.name, found.known);
                    }
                }
                _ => merged.push(found),
            }
        }
        merged
    }
}

/// Writes the replacement for a secret.
pub(super) fn label(name: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"[secret ");
    out.extend_from_slice(name.as_bytes());
    out.push(b']');
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
