//! A value of a file, and its conversions.

use toml::Spanned;
use toml::de::{DeInteger, DeValue};

use super::shape::{Form, Shape};
use super::{At, Place, Source, Table, quoted};
use crate::command::Command;
use crate::ids::Name;
use crate::paths::Paths;
use crate::time::Span;

/// A value being read.
pub(crate) struct Value<'s, 't> {
    source: &'s Source<'t>,
    /// Location of its key, or of the value if it has none.
    pub(crate) key: Place,
    /// Its key, for messages.
    label: String,
    /// Location of the value.
    pub(crate) place: Place,
    inner: &'s DeValue<'t>,
    shape: Shape,
}

impl<'s, 't> Value<'s, 't> {
    pub(super) fn new(
        source: &'s Source<'t>,
        key: Place,
        label: &str,
        value: &'s Spanned<DeValue<'t>>,
        shape: Shape,
    ) -> Self {
        let place = Place::from(value.span());
        source.shapes.seen(shape, key, place);
        Self { source, key, label: label.to_owned(), place, inner: value.get_ref(), shape }
    }

    /// Records that the value can have this form.
    pub(super) fn is(&self, form: Form) {
        self.source.shapes.is(self.shape, form);
    }

    /// Reports that the value is not what is wanted.
    pub(crate) fn wrong<T>(&self, wanted: &str) -> Option<T> {
        let found = match self.inner {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) => "an integer",
            DeValue::Float(_) => "a float",
            DeValue::Boolean(_) => "a boolean",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        // The location of a table is its header; its key within that is more precise.
        let place = if matches!(self.inner, DeValue::Table(_)) { self.key } else { self.place };
        self.source.report(place, format!("{} must be {wanted}, not {found}", quoted(&self.label)), None);
        None
    }

    pub(crate) fn is_string(&self) -> bool {
        matches!(self.inner, DeValue::String(_))
    }

    pub(crate) fn is_list(&self) -> bool {
        matches!(self.inner, DeValue::Array(_))
    }

    pub(crate) fn is_empty_list(&self) -> bool {
        matches!(self.inner, DeValue::Array(items) if items.is_empty())
    }

    pub(crate) fn is_table(&self) -> bool {
        matches!(self.inner, DeValue::Table(_))
    }

    /// Reads a string without NUL: it may become an argument or part of a file, where a NUL would end it.
    pub(crate) fn string(&self) -> Option<At<String>> {
        self.is(Form::Text);
        let DeValue::String(text) = self.inner else { return self.wrong("a string") };
        if text.contains('\0') {
            self.source.report(self.place, format!("{} contains a NUL character", quoted(&self.label)), None);
            return None;
        }
        Some(At { value: text.clone().into_owned(), place: self.place })
    }

    pub(crate) fn name(&self) -> Option<At<Name>> {
        let text = self.string()?;
        match text.value.parse() {
            Ok(name) => Some(At { value: name, place: text.place }),
            Err(error) => {
                self.source.report(text.place, error.to_string(), None);
                None
            }
        }
    }

    /// Records that the value can be a string or a list of strings.
    pub(crate) fn is_string_or_strings(&self) {
        self.is(Form::Text);
        self.is(Form::List);
        let items = self.source.shapes.items(self.shape);
        self.source.shapes.is(items, Form::Text);
    }

    /// Records that the value can be a string or a table.
    pub(crate) fn is_string_or_table(&self) {
        self.is(Form::Text);
        self.is(Form::Table);
    }

    /// Returns the items of a list.
    pub(crate) fn items(&self, wanted: &str) -> Option<Vec<Value<'s, 't>>> {
        self.is(Form::List);
        let DeValue::Array(items) = self.inner else { return self.wrong(wanted) };
        let shape = self.source.shapes.items(self.shape);
        let item = |value: &'s Spanned<DeValue<'t>>| {
            Value::new(self.source, value.span().into(), &format!("{}[…]", self.label), value, shape)
        };
        Some(items.iter().map(item).collect())
    }

    /// Reads a list of strings. Other items are reported and skipped.
    pub(crate) fn strings(&self) -> Option<Vec<At<String>>> {
        Some(self.items("a list of strings")?.iter().filter_map(Self::string).collect())
    }

    /// Converts to path patterns. Reports invalid ones.
    pub(crate) fn paths(&self, patterns: Vec<At<String>>) -> Option<Paths> {
        let mut paths = Paths::default();
        let mut sound = true;
        for pattern in patterns {
            if let Err(error) = paths.push(&pattern.value) {
                let hint = "patterns are for paths from the repository's root: \"tests/**\", \"*_test.go\""
                    .to_owned();
                self.source.report(pattern.place, error.to_string(), Some(hint));
                sound = false;
            }
        }
        sound.then_some(paths)
    }

    /// Reads an integer up to `most`.
    pub(crate) fn count(&self, most: u32) -> Option<u32> {
        self.is(Form::Count(most));
        let wanted = format!("a whole number from 0 to {most}");
        let DeValue::Integer(number) = self.inner else { return self.wrong(&wanted) };
        let count =
            whole(number).and_then(|number| u32::try_from(number).ok()).filter(|number| *number <= most);
        if count.is_none() {
            let what = format!("{} must be {wanted}, not {}", quoted(&self.label), quoted(number.as_str()));
            self.source.report(self.place, what, None);
        }
        count
    }

    /// Reads a duration; never zero.
    pub(crate) fn span(&self) -> Option<Span> {
        self.is(Form::Span);
        const WANTED: &str = "a length of time such as \"90s\", \"10m\" or \"1h30m\"";
        self.measured(WANTED, |text| Span::parse(text).map(|span| (span, u64::from(span) == 0)))
    }

    /// Reads a number of bytes; never zero.
    pub(crate) fn bytes(&self) -> Option<u64> {
        self.is(Form::Bytes);
        const WANTED: &str = "a size such as \"512KiB\", \"256MiB\" or \"1GiB\"";
        self.measured(WANTED, |text| parse_bytes(text).map(|bytes| (bytes, bytes == 0)))
    }

    fn measured<T>(&self, wanted: &str, parse: impl Fn(&str) -> Option<(T, bool)>) -> Option<T> {
        let DeValue::String(text) = self.inner else { return self.wrong(wanted) };
        let what = match parse(text) {
            Some((value, false)) => return Some(value),
            Some((_, true)) => format!("{} must not be zero", quoted(&self.label)),
            None => format!("{} must be {wanted}, not {}", quoted(&self.label), quoted(text)),
        };
        self.source.report(self.place, what, None);
        None
    }

    /// Reads an amount of dollars in millionths; never negative.
    pub(crate) fn dollars(&self) -> Option<u64> {
        self.is(Form::Dollars);
        /// More than anything billed by tokens costs.
        const MOST: f64 = 1_000_000.0;
        const WANTED: &str = "an amount of dollars such as 3 or 0.25";
        let text = match self.inner {
            DeValue::Integer(number) => number.as_str(),
            DeValue::Float(number) => number.as_str(),
            _ => return self.wrong(WANTED),
        };
        let Some(dollars) = text.parse::<f64>().ok().filter(|dollars| (0.0..=MOST).contains(dollars)) else {
            let what = format!("{} must be {WANTED}, not {}", quoted(&self.label), quoted(text));
            self.source.report(self.place, what, None);
            return None;
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 10^12")]
        let micros = (dollars * 1e6).round() as u64;
        Some(micros)
    }

    pub(crate) fn flag(&self) -> Option<At<bool>> {
        self.is(Form::Flag);
        match self.inner {
            DeValue::Boolean(flag) => Some(At { value: *flag, place: self.key }),
            DeValue::String(_)
            | DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_)
            | DeValue::Table(_) => self.wrong("true or false"),
        }
    }

    /// Reads a command: a shell command, or a program and its arguments.
    pub(crate) fn command(&self) -> Option<Command> {
        const WANTED: &str = "a line for the shell, or a list of a program and its arguments";
        self.is_string_or_strings();
        let (command, empty) = if self.is_string() {
            let line = self.string()?.value;
            let empty = line.trim().is_empty();
            (Command::Shell(line), empty)
        } else {
            let all = self.items(WANTED)?;
            let words: Vec<String> = all.iter().filter_map(|item| Some(item.string()?.value)).collect();
            if words.len() < all.len() {
                return None;
            }
            let empty = words.first().is_none_or(|program| program.trim().is_empty());
            (Command::Program(words), empty)
        };
        if empty {
            self.source.report(self.place, format!("{} names nothing to run", quoted(&self.label)), None);
            return None;
        }
        Some(command)
    }

    /// Reads a table, named by its key in messages.
    pub(crate) fn table(&self) -> Option<Table<'s, 't>> {
        self.is(Form::Table);
        let DeValue::Table(entries) = self.inner else { return self.wrong("a table") };
        Some(Table::new(self.source, entries, self.key, format!("[{}]", self.label), self.shape))
    }

    /// Converts to JSON, if JSON has such a value.
    pub(crate) fn json(&self) -> Option<serde_json::Value> {
        self.is(Form::Anything);
        use serde_json::Value as Json;
        match self.inner {
            DeValue::String(text) => Some(Json::from(text.as_ref())),
            DeValue::Boolean(flag) => Some(Json::from(*flag)),
            DeValue::Integer(number) => match whole(number) {
                Some(number) => Some(Json::from(number)),
                None => self.wrong("a number that fits 64 bits"),
            },
            DeValue::Float(number) => {
                match number.as_str().parse().ok().and_then(serde_json::Number::from_f64) {
                    Some(number) => Some(Json::Number(number)),
                    None => self.wrong("a number that JSON has"),
                }
            }
            DeValue::Datetime(_) => self.wrong("something that JSON has"),
            DeValue::Array(_) => self.items("a list")?.iter().map(Self::json).collect(),
            DeValue::Table(_) => {
                let entries = self.table()?.entries().into_iter();
                entries.map(|(key, value)| Some((key.value.to_owned(), value.json()?))).collect()
            }
        }
    }
}

fn whole(number: &DeInteger<'_>) -> Option<i64> {
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}

/// Parses `256MiB`: an integer and a unit of B, KiB, MiB or GiB.
fn parse_bytes(text: &str) -> Option<u64> {
    const UNITS: [(&str, u32); 4] = [("B", 0), ("KiB", 10), ("MiB", 20), ("GiB", 30)];
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let (_, shift) = UNITS.iter().find(|(name, _)| *name == unit.trim_start())?;
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_need_a_unit_and_fit() {
        assert_eq!(parse_bytes("256MiB"), Some(256 << 20));
        assert_eq!(parse_bytes("1 GiB"), Some(1 << 30));
        for bad in ["", "12", "MiB", "1MB", "-1B", "99999999999999999999B", "99999999999999999GiB", "1ßB"] {
            assert_eq!(parse_bytes(bad), None, "{bad:?}");
        }
    }
}
