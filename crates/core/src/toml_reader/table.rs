//! A table whose keys are requested one by one. Keys that are never requested are mistakes.

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::shape::{Form, ROOT, Shape};
use super::{At, Place, Source, Value, did_you_mean, quoted};
use crate::ids::Name;
use crate::paths::Paths;
use crate::time::Span;

/// A table being read.
pub(crate) struct Table<'s, 't> {
    pub(crate) source: &'s Source<'t>,
    /// Location of its start: its name.
    pub(crate) place: Place,
    entries: &'s DeTable<'t>,
    /// What it is, for messages: `stage `plan``.
    subject: String,
    asked: Vec<&'static str>,
    shape: Shape,
}

impl<'s, 't> Table<'s, 't> {
    /// Creates the table of the whole file.
    pub(crate) fn root(source: &'s Source<'t>, root: &'s Spanned<DeTable<'t>>) -> Self {
        let place = Place { start: 0, end: 0 };
        Self::new(source, root.get_ref(), place, "this file".to_owned(), ROOT)
    }

    pub(super) fn new(
        source: &'s Source<'t>,
        entries: &'s DeTable<'t>,
        place: Place,
        subject: String,
        shape: Shape,
    ) -> Self {
        Self { source, place, entries, subject, asked: Vec::new(), shape }
    }

    /// Renames the table in messages.
    pub(crate) fn named(self, subject: String) -> Self {
        Self { subject, ..self }
    }

    /// Reads the table with the keys of `below`, TOML of another layer, where it has none of its own. Mistakes in these
    /// are reported at this table.
    pub(crate) fn over<R>(self, below: &str, read: impl FnOnce(Table<'_, '_>) -> R) -> R {
        let Ok(below) = DeTable::parse(below) else { return read(self) };
        let mut entries: DeTable<'_> = self.entries.clone();
        for (key, value) in below.into_inner() {
            if !self.has(key.get_ref()) {
                let key = Spanned::new(self.place.start..self.place.end, key.into_inner());
                entries.insert(key, moved(value, self.place));
            }
        }
        read(Table { entries: &entries, ..self })
    }

    /// Returns the text of a key without marking the key as known.
    pub(crate) fn peek(&self, key: &str) -> Option<&str> {
        self.entries.get(key)?.get_ref().as_str()
    }

    /// Returns whether the key exists, with any value.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.entries.contains_key(key)
    }

    /// Returns whether a key exists; `outer.inner` is a key in a nested table.
    pub(crate) fn says(&self, key: &str) -> bool {
        let mut entries = self.entries;
        let (above, last) = key.rsplit_once('.').map_or(("", key), |(above, last)| (above, last));
        for part in above.split('.').filter(|part| !part.is_empty()) {
            match entries.get(part).map(Spanned::get_ref) {
                Some(DeValue::Table(inner)) => entries = inner,
                Some(_) | None => return false,
            }
        }
        entries.contains_key(last)
    }

    /// Returns the value of a key and marks the key as known.
    pub(crate) fn value(&mut self, key: &'static str) -> Option<Value<'s, 't>> {
        self.asked.push(key);
        let shape = self.source.shapes.key(self.shape, key);
        let (found, value) = self.entries.get_key_value(key)?;
        Some(self.wrap(found.span().into(), key, value, shape))
    }

    pub(crate) fn string(&mut self, key: &'static str) -> Option<At<String>> {
        self.value(key)?.string()
    }

    pub(crate) fn name(&mut self, key: &'static str) -> Option<At<Name>> {
        self.value(key)?.name()
    }

    pub(crate) fn strings(&mut self, key: &'static str) -> Option<Vec<At<String>>> {
        self.value(key)?.strings()
    }

    /// Reads path patterns.
    pub(crate) fn paths(&mut self, key: &'static str) -> Option<Paths> {
        let value = self.value(key)?;
        value.paths(value.strings()?)
    }

    /// Reads environment variables with their values.
    pub(crate) fn environment(&mut self, key: &'static str) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        for (name, value) in self.table(key).map(Table::entries).unwrap_or_default() {
            let _ = check_variable(self.source, &name);
            all.extend(value.string().map(|text| (name.value.to_owned(), text.value)));
        }
        all
    }

    /// Reads a number from 1 to `most`.
    pub(crate) fn positive(&mut self, key: &'static str, most: u32) -> Option<u32> {
        let value = self.value(key)?;
        let count = value.count(most)?;
        if count == 0 {
            self.source.report(value.place, format!("{} must be at least 1", quoted(key)), None);
        }
        (count > 0).then_some(count)
    }

    pub(crate) fn span(&mut self, key: &'static str) -> Option<Span> {
        self.value(key)?.span()
    }

    pub(crate) fn bytes(&mut self, key: &'static str) -> Option<u64> {
        self.value(key)?.bytes()
    }

    pub(crate) fn flag(&mut self, key: &'static str) -> Option<At<bool>> {
        self.value(key)?.flag()
    }

    pub(crate) fn table(&mut self, key: &'static str) -> Option<Table<'s, 't>> {
        self.value(key)?.table()
    }

    /// Reads one of several words, each with its meaning.
    pub(crate) fn word<T: Clone>(&mut self, key: &'static str, words: &[(&str, T)]) -> Option<At<T>> {
        self.word_or_former(key, words, &[])
    }

    /// Like [`Table::word`], but also knows former words, each with a hint on what to write now.
    pub(crate) fn word_or_former<T: Clone>(
        &mut self,
        key: &'static str,
        words: &[(&str, T)],
        former: &[(&str, &str)],
    ) -> Option<At<T>> {
        let value = self.value(key)?;
        let text = value.string()?;
        value.is(Form::Words(words.iter().map(|(word, _)| (*word).to_owned()).collect()));
        if let Some((_, meaning)) = words.iter().find(|(word, _)| *word == text.value) {
            return Some(At { value: meaning.clone(), place: text.place });
        }
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let hint = match former.iter().find(|(word, _)| *word == text.value) {
            Some((_, instead)) => Some((*instead).to_owned()),
            None => did_you_mean(&text.value, "it can be", known),
        };
        self.source.report(text.place, format!("unknown {key} {}", quoted(&text.value)), hint);
        None
    }

    /// Returns every entry of a table with user-defined keys, in file order.
    pub(crate) fn entries(self) -> Vec<(At<&'s str>, Value<'s, 't>)> {
        let shape = self.source.shapes.any(self.shape);
        let mut entries: Vec<_> = self
            .entries
            .iter()
            .map(|(key, value)| {
                let place = Place::from(key.span());
                let name: &'s str = key.get_ref();
                (At { value: name, place }, self.wrap(place, name, value, shape))
            })
            .collect();
        entries.sort_by_key(|(key, _)| key.place);
        entries
    }

    /// Returns every entry whose key is a valid name; other keys are mistakes.
    pub(crate) fn named_entries(self) -> Vec<(At<Name>, Value<'s, 't>)> {
        let source = self.source;
        let mut named = Vec::new();
        for (key, value) in self.entries() {
            match key.value.parse::<Name>() {
                Ok(name) => named.push((At { value: name, place: key.place }, value)),
                Err(error) => source.report(key.place, error.to_string(), None),
            }
        }
        named
    }

    /// Reports a missing key. A key that exists but is wrong is already reported.
    pub(crate) fn require(&self, key: &str, hint: &str) {
        if !self.has(key) {
            self.source.report(
                self.place,
                format!("{} has no {}", self.subject, quoted(key)),
                Some(hint.to_owned()),
            );
        }
    }

    /// Reports keys that have no meaning in this kind of table.
    pub(crate) fn refuse(&mut self, keys: &[&'static str], why: &str) {
        for key in keys {
            self.asked.push(key);
            if let Some((found, _)) = self.entries.get_key_value(*key) {
                let what = format!("{} has no meaning in {}", quoted(key), self.subject);
                self.source.report(found.span().into(), what, Some(why.to_owned()));
            }
        }
    }

    /// Reports the keys that were not requested.
    pub(crate) fn finish(self) {
        self.source.shapes.close(self.shape);
        for key in self.entries.keys().filter(|key| !self.asked.contains(&key.get_ref().as_ref())) {
            let word: &str = key.get_ref();
            let what = format!("unknown key {} in {}", quoted(word), self.subject);
            let hint = did_you_mean(word, "known are", self.asked.iter().copied());
            self.source.report(key.span().into(), what, hint);
        }
    }

    fn wrap(&self, key: Place, label: &str, value: &'s Spanned<DeValue<'t>>, shape: Shape) -> Value<'s, 't> {
        Value::new(self.source, key, label, value, shape)
    }
}

/// Gives a value, and everything in it, another location.
fn moved(value: Spanned<DeValue<'_>>, place: Place) -> Spanned<DeValue<'_>> {
    let span = place.start..place.end;
    let value = match value.into_inner() {
        DeValue::Array(items) => DeValue::Array(items.into_iter().map(|item| moved(item, place)).collect()),
        DeValue::Table(entries) => {
            let mut table = DeTable::new();
            for (key, value) in entries {
                table.insert(Spanned::new(span.clone(), key.into_inner()), moved(value, place));
            }
            DeValue::Table(table)
        }
        plain => plain,
    };
    Spanned::new(span, value)
}

/// A mistake was reported; the same location needs no other report.
pub(crate) struct Noted;

/// Reports an invalid name of an environment variable.
pub(crate) fn check_variable(source: &Source<'_>, name: &At<&str>) -> Result<(), Noted> {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if !name.value.bytes().all(letter)
        || !name.value.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
    {
        let what = format!("{} cannot be the name of an environment variable", quoted(name.value));
        source.report(name.place, what, Some("use letters, digits and `_`".to_owned()));
        return Err(Noted);
    }
    Ok(())
}
