//! Validates a value against a schema.

use std::collections::BTreeSet;

use regex::Regex;
use serde_json::{Map, Value};

use super::DEEPEST;
use super::keywords::{escape, resolve};

/// Number of mistakes to report: enough to fix them at once, few enough to read.
const SHOWN: usize = 8;

/// Maximum length of a mistake.
const LONGEST: usize = 300;

/// Maximum length of a quoted value.
const QUOTED: usize = 80;

/// Maximum total number of schemas tried on values. Ordinary payloads take some hundred.
const STEPS: usize = 1_000_000;

/// Returns the mistakes of `value` by `schema`, each with its location; empty if it is valid. Parts of a schema that
/// [`super::check`] refuses are ignored.
pub fn mistakes(schema: &Value, value: &Value) -> Vec<String> {
    let mut run = Run { root: schema, steps: 0 };
    let mut found = Found::default();
    run.judge(schema, value, "", 0, &mut found);
    let mut shown = found.shown;
    if found.count > SHOWN {
        shown.push(format!("and {} more", found.count - SHOWN));
    }
    if run.steps > STEPS {
        shown.push("the value takes too long to check against the schema".to_owned());
    }
    shown
}

/// A list of mistakes that keeps only the first ones.
#[derive(Default)]
struct Found {
    shown: Vec<String>,
    count: usize,
}

impl Found {
    fn add(&mut self, path: &str, what: &str) {
        self.count += 1;
        if self.shown.len() < SHOWN {
            let text = if path.is_empty() { what.to_owned() } else { format!("at {path}: {what}") };
            self.shown.push(crate::agent::shorten(&text, LONGEST));
        }
    }
}

struct Run<'a> {
    root: &'a Value,
    steps: usize,
}

impl Run<'_> {
    /// Returns whether the value is valid, without details.
    fn fits(&mut self, schema: &Value, value: &Value, depth: usize) -> bool {
        let mut found = Found::default();
        self.judge(schema, value, "", depth, &mut found);
        found.count == 0
    }

    fn judge(&mut self, schema: &Value, value: &Value, path: &str, depth: usize, found: &mut Found) {
        self.steps += 1;
        if self.steps > STEPS {
            return;
        }
        if depth > DEEPEST {
            return found.add(path, "the schema refers to itself without end");
        }
        let keywords = match schema {
            Value::Object(keywords) => keywords,
            Value::Bool(true) => return,
            _ => return found.add(path, &format!("{} is not allowed here", quote(value))),
        };
        self.any_value(keywords, value, path, depth, found);
        match value {
            Value::Object(entries) => self.object(keywords, entries, value, path, depth, found),
            Value::Array(items) => self.array(keywords, items, value, path, depth, found),
            Value::String(text) => string(keywords, text, value, path, found),
            Value::Number(_) => number(keywords, value, path, found),
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// Applies the keywords for values of any type.
    fn any_value(
        &mut self,
        keywords: &Map<String, Value>,
        value: &Value,
        path: &str,
        depth: usize,
        found: &mut Found,
    ) {
        if let Some(types) = keywords.get("type") {
            one_of_types(types, value, path, found);
        }
        if let Some(wanted) = keywords.get("const")
            && !equal(wanted, value)
        {
            found.add(path, &format!("{} was expected", quote(wanted)));
        }
        if let Some(Value::Array(all)) = keywords.get("enum")
            && !all.iter().any(|one| equal(one, value))
        {
            found.add(path, &format!("{} is not one of {}", quote(value), list(all)));
        }
        if let Some(Value::String(to)) = keywords.get("$ref")
            && let Some(part) = resolve(self.root, to)
        {
            // The part lives as long as the document, not as this call.
            self.judge(&part.clone(), value, path, depth + 1, found);
        }
        for one in schemas(keywords, "allOf") {
            self.judge(one, value, path, depth + 1, found);
        }
        if keywords.contains_key("anyOf")
            && !schemas(keywords, "anyOf").any(|one| self.fits(one, value, depth + 1))
        {
            found.add(path, &format!("{} fits none of the schemas in `anyOf`", quote(value)));
        }
        if keywords.contains_key("oneOf") {
            let fitting = schemas(keywords, "oneOf").filter(|one| self.fits(one, value, depth + 1)).count();
            if fitting != 1 {
                let how = if fitting == 0 { "none" } else { "more than one" };
                found.add(path, &format!("{} fits {how} of the schemas in `oneOf`", quote(value)));
            }
        }
        if let Some(not) = keywords.get("not")
            && self.fits(not, value, depth + 1)
        {
            found.add(path, &format!("{} fits the schema in `not`", quote(value)));
        }
        if let Some(condition) = keywords.get("if") {
            let branch = if self.fits(condition, value, depth + 1) { "then" } else { "else" };
            if let Some(schema) = keywords.get(branch) {
                self.judge(schema, value, path, depth + 1, found);
            }
        }
    }

    fn object(
        &mut self,
        keywords: &Map<String, Value>,
        entries: &Map<String, Value>,
        value: &Value,
        path: &str,
        depth: usize,
        found: &mut Found,
    ) {
        for name in strings(keywords.get("required")).filter(|name| !entries.contains_key(*name)) {
            found.add(path, &format!("{name:?} is a required property"));
        }
        if let Some(Value::Object(dependent)) = keywords.get("dependentRequired") {
            for (name, needed) in dependent.iter().filter(|(name, _)| entries.contains_key(*name)) {
                for needed in strings(Some(needed)).filter(|needed| !entries.contains_key(*needed)) {
                    found.add(path, &format!("{needed:?} is a required property beside {name:?}"));
                }
            }
        }
        if let Some(Value::Object(dependent)) = keywords.get("dependentSchemas") {
            for (_, schema) in dependent.iter().filter(|(name, _)| entries.contains_key(*name)) {
                self.judge(schema, value, path, depth + 1, found);
            }
        }
        let size = entries.len();
        limits(keywords, ["minProperties", "maxProperties"], size, value, path, "properties", found);
        let patterns: Vec<(Option<Regex>, &Value)> = named(keywords, "patternProperties")
            .map(|(pattern, schema)| (Regex::new(pattern).ok(), schema))
            .collect();
        let properties = keywords.get("properties").and_then(Value::as_object);
        for (name, entry) in entries {
            let below = format!("{path}/{}", escape(name));
            if let Some(schema) = keywords.get("propertyNames") {
                self.judge(schema, &Value::String(name.clone()), &below, depth + 1, found);
            }
            let mut known = false;
            if let Some(schema) = properties.and_then(|properties| properties.get(name)) {
                known = true;
                self.judge(schema, entry, &below, depth + 1, found);
            }
            for (pattern, schema) in &patterns {
                if pattern.as_ref().is_some_and(|pattern| pattern.is_match(name)) {
                    known = true;
                    self.judge(schema, entry, &below, depth + 1, found);
                }
            }
            match keywords.get("additionalProperties") {
                Some(Value::Bool(false)) if !known => {
                    found.add(path, &format!("{name:?} is not a known property"));
                }
                Some(schema) if !known => self.judge(schema, entry, &below, depth + 1, found),
                _ => {}
            }
        }
    }

    fn array(
        &mut self,
        keywords: &Map<String, Value>,
        items: &[Value],
        value: &Value,
        path: &str,
        depth: usize,
        found: &mut Found,
    ) {
        limits(keywords, ["minItems", "maxItems"], items.len(), value, path, "items", found);
        let unique = keywords.get("uniqueItems") == Some(&Value::Bool(true));
        if unique && items.iter().map(canonical).collect::<BTreeSet<_>>().len() < items.len() {
            found.add(path, &format!("{} has an item twice", quote(value)));
        }
        let first: Vec<&Value> = schemas(keywords, "prefixItems").collect();
        for (index, item) in items.iter().enumerate() {
            let below = format!("{path}/{index}");
            if let Some(schema) = first.get(index) {
                self.judge(schema, item, &below, depth + 1, found);
            } else if let Some(schema) = keywords.get("items") {
                self.judge(schema, item, &below, depth + 1, found);
            }
        }
        if let Some(schema) = keywords.get("contains") {
            let fitting = items.iter().filter(|item| self.fits(schema, item, depth + 1)).count();
            let fitting = as_number(fitting);
            let least = count(keywords, "minContains").unwrap_or(1.0);
            if fitting < least || count(keywords, "maxContains").is_some_and(|most| fitting > most) {
                found.add(path, &format!("{fitting} items fit the schema in `contains`"));
            }
        }
    }
}

fn string(keywords: &Map<String, Value>, text: &str, value: &Value, path: &str, found: &mut Found) {
    let long = as_number(text.chars().count());
    if let Some(least) = count(keywords, "minLength").filter(|least| long < *least) {
        found.add(path, &format!("{} is shorter than {}", quote(value), characters(least)));
    }
    if let Some(most) = count(keywords, "maxLength").filter(|most| long > *most) {
        found.add(path, &format!("{} is longer than {}", quote(value), characters(most)));
    }
    if let Some(pattern) = keywords.get("pattern").and_then(Value::as_str)
        && !Regex::new(pattern).is_ok_and(|regex| regex.is_match(text))
    {
        found.add(path, &format!("{} does not match {pattern:?}", quote(value)));
    }
}

fn characters(count: f64) -> String {
    if (count - 1.0).abs() < f64::EPSILON { "1 character".to_owned() } else { format!("{count} characters") }
}

fn number(keywords: &Map<String, Value>, value: &Value, path: &str, found: &mut Found) {
    let Some(number) = value.as_f64() else { return };
    let mut hold = |keyword: &str, holds: fn(f64, f64) -> bool, words: &str| {
        if let Some(limit) = count(keywords, keyword).filter(|limit| !holds(number, *limit)) {
            found.add(path, &format!("{value} is {words} {limit}"));
        }
    };
    hold("minimum", |a, b| a >= b, "less than the minimum of");
    hold("maximum", |a, b| a <= b, "greater than the maximum of");
    hold("exclusiveMinimum", |a, b| a > b, "less than or equal to");
    hold("exclusiveMaximum", |a, b| a < b, "greater than or equal to");
    hold("multipleOf", is_multiple, "not a multiple of");
}

/// Limits may be written as `2` or `2.0`, so sizes are compared as numbers.
#[expect(clippy::cast_precision_loss, reason = "no value of 2^52 items fits into memory")]
fn as_number(size: usize) -> f64 {
    size as f64
}

fn is_multiple(number: f64, of: f64) -> bool {
    let times = number / of;
    // Decimal fractions are rarely exact in binary.
    times.is_finite() && (times - times.round()).abs() <= 1e-9 * times.abs().max(1.0)
}

fn limits(
    keywords: &Map<String, Value>,
    [least, most]: [&str; 2],
    size: usize,
    value: &Value,
    path: &str,
    unit: &str,
    found: &mut Found,
) {
    if let Some(least) = count(keywords, least).filter(|least| as_number(size) < *least) {
        found.add(path, &format!("{} has less than {least} {unit}", quote(value)));
    }
    if let Some(most) = count(keywords, most).filter(|most| as_number(size) > *most) {
        found.add(path, &format!("{} has more than {most} {unit}", quote(value)));
    }
}

fn one_of_types(types: &Value, value: &Value, path: &str, found: &mut Found) {
    let one = std::slice::from_ref(types);
    let all = types.as_array().map_or(one, Vec::as_slice);
    if !all.iter().filter_map(Value::as_str).any(|name| is_of_type(value, name)) {
        let types = if all.len() == 1 { "type" } else { "types" };
        found.add(path, &format!("{} is not of {types} {}", quote(value), list(all)));
    }
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
        Value::Number(number) => {
            let whole =
                number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|it| it.fract() == 0.0);
            name == "number" || name == "integer" && whole
        }
    }
}

/// Returns whether two values are equal in JSON, where `1` and `1.0` are the same number.
fn equal(a: &Value, b: &Value) -> bool {
    a == b || canonical(a) == canonical(b)
}

/// Returns a canonical text of a value: numbers in one form, properties in one order.
fn canonical(value: &Value) -> String {
    match value {
        Value::Number(number) if number.is_f64() => match number.as_f64() {
            Some(float) if float.fract() == 0.0 && float.abs() < 9e15 => format!("{float:.0}"),
            _ => number.to_string(),
        },
        Value::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        Value::Object(entries) => {
            let mut parts: Vec<String> =
                entries.iter().map(|(name, value)| format!("{name:?}:{}", canonical(value))).collect();
            parts.sort_unstable();
            format!("{{{}}}", parts.join(","))
        }
        other => other.to_string(),
    }
}

fn count(keywords: &Map<String, Value>, keyword: &str) -> Option<f64> {
    keywords.get(keyword)?.as_f64()
}

fn schemas<'a>(keywords: &'a Map<String, Value>, keyword: &str) -> impl Iterator<Item = &'a Value> {
    keywords.get(keyword).and_then(Value::as_array).into_iter().flatten()
}

fn named<'a>(
    keywords: &'a Map<String, Value>,
    keyword: &str,
) -> impl Iterator<Item = (&'a String, &'a Value)> {
    keywords.get(keyword).and_then(Value::as_object).into_iter().flatten()
}

fn strings(list: Option<&Value>) -> impl Iterator<Item = &str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn quote(value: &Value) -> String {
    crate::agent::shorten(&value.to_string(), QUOTED)
}

/// Formats a list as `"a", "b" or "c"`.
fn list(values: &[Value]) -> String {
    let all: Vec<String> = values.iter().map(quote).collect();
    match all.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => all.join(""),
    }
}
