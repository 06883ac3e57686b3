//! Generates JSON Schema from Rust types, and validates values against it.
//!
//! The macros `answer!` and `input!` declare a type together with its schema, so the served document cannot differ from
//! what the server reads and writes. A derive crate would add a second copy of serde's parser to the build for what
//! these macros do.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// Named schemas of the document, `components/schemas`.
#[derive(Default)]
pub struct Schemas(pub BTreeMap<String, Value>);

/// A field of an object.
pub struct Property {
    pub name: &'static str,
    pub about: &'static str,
    pub schema: Value,
    pub required: bool,
}

/// A type of the API.
pub trait Schema {
    /// Returns the schema. Adds objects to `all` and returns a reference to them.
    fn schema(all: &mut Schemas) -> Value;

    /// Whether a field of this type may be omitted from an input.
    const OPTIONAL: bool = false;
}

impl Schemas {
    /// Adds an object once and returns a reference to it.
    pub fn object(
        &mut self,
        name: &'static str,
        about: &str,
        properties: impl FnOnce(&mut Self) -> Vec<Property>,
    ) -> Value {
        if !self.0.contains_key(name) {
            // Insert it before its fields, so that a type may contain itself.
            self.0.insert(name.to_owned(), Value::Null);
            let properties = properties(self);
            let required: Vec<&str> =
                properties.iter().filter(|one| one.required).map(|one| one.name).collect();
            let mut fields = Map::new();
            for Property { name, about, schema, .. } in &properties {
                fields.insert((*name).to_owned(), described(schema.clone(), about.trim()));
            }
            let object = json!({
                "type": "object", "description": about.trim(), "properties": fields, "required": required,
                "additionalProperties": false,
            });
            self.0.insert(name.to_owned(), object);
        }
        json!({ "$ref": format!("#/components/schemas/{name}") })
    }

    /// Resolves a reference.
    pub fn resolve<'s>(&'s self, schema: &'s Value) -> &'s Value {
        let name = schema.get("$ref").and_then(Value::as_str).and_then(|place| place.rsplit('/').next());
        name.and_then(|name| self.0.get(name)).unwrap_or(schema)
    }
}

fn described(mut schema: Value, about: &str) -> Value {
    if let Some(fields) = schema.as_object_mut() {
        fields.insert("description".to_owned(), json!(about));
    }
    schema
}

/// Adds constraints to the schema of a field.
pub fn constrained(mut schema: Value, more: &Value) -> Value {
    // Constraints of a list or an option apply to the text or number in it.
    if let (Some(fields), Some(more)) = (schema.as_object_mut(), more.as_object()) {
        fields.extend(more.clone());
    }
    schema
}

macro_rules! plain {
    ($($type:ty => $schema:tt),* $(,)?) => {$(
        impl Schema for $type {
            fn schema(_: &mut Schemas) -> Value { json!($schema) }
        }
    )*};
}

plain! {
    String => { "type": "string" },
    bool => { "type": "boolean" },
    u32 => { "type": "integer", "minimum": 0, "maximum": 4_294_967_295_u32 },
    i32 => { "type": "integer", "minimum": -2_147_483_648, "maximum": 2_147_483_647 },
    u64 => { "type": "integer", "minimum": 0 },
    i64 => { "type": "integer" },
    Value => {},
}

impl<T: Schema> Schema for Vec<T> {
    fn schema(all: &mut Schemas) -> Value {
        json!({ "type": "array", "items": T::schema(all) })
    }
    const OPTIONAL: bool = true;
}

impl<T: Schema> Schema for BTreeMap<String, T> {
    fn schema(all: &mut Schemas) -> Value {
        json!({ "type": "object", "additionalProperties": T::schema(all) })
    }
    const OPTIONAL: bool = true;
}

impl<T: Schema> Schema for Option<T> {
    fn schema(all: &mut Schemas) -> Value {
        let mut inner = T::schema(all);
        let Some(kind) = inner.get("type").and_then(Value::as_str).map(str::to_owned) else {
            return json!({ "anyOf": [inner, { "type": "null" }] });
        };
        inner["type"] = json!([kind, "null"]);
        inner
    }
    const OPTIONAL: bool = true;
}

/// Declares a type of responses, with its schema. `= { … }` after a field adds constraints.
macro_rules! answer {
    ($($(#[doc = $about:literal])+ $name:ident { $( $(#[doc = $doc:literal])+ $field:ident : $type:ty $(= $more:tt)? ),* $(,)? })+) => {$(
        $(#[doc = $about])+
        #[derive(Clone, Debug, serde::Serialize)]
        #[allow(clippy::struct_field_names, reason = "clients read these names")]
        pub struct $name { $( $(#[doc = $doc])+ pub $field: $type, )* }
        impl $crate::api::schema::Schema for $name {
            fn schema(all: &mut $crate::api::schema::Schemas) -> serde_json::Value {
                all.object(stringify!($name), concat!($($about),+), |all| {
                    let _ = &all;
                    vec![$($crate::api::schema::Property {
                        name: stringify!($field),
                        about: concat!($($doc),+),
                        schema: $crate::api::schema::answer!(@schema all, $type $(, $more)?),
                        required: true,
                    }),*]
                })
            }
        }
    )+};
    (@schema $all:ident, $type:ty) => { <$type as $crate::api::schema::Schema>::schema($all) };
    (@schema $all:ident, $type:ty, $more:tt) => {
        $crate::api::schema::constrained(<$type as $crate::api::schema::Schema>::schema($all), &serde_json::json!($more))
    };
}

/// Declares a type of inputs, for bodies and queries.
macro_rules! input {
    ($($(#[doc = $about:literal])+ $name:ident { $( $(#[doc = $doc:literal])+ $field:ident : $type:ty $(= $more:tt)? ),* $(,)? })+) => {$(
        $(#[doc = $about])+
        #[derive(Clone, Debug, Default, serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name { $( $(#[doc = $doc])+ pub $field: $type, )* }
        impl $crate::api::schema::Schema for $name {
            fn schema(all: &mut $crate::api::schema::Schemas) -> serde_json::Value {
                all.object(stringify!($name), concat!($($about),+), |all| {
                    let _ = &all;
                    vec![$($crate::api::schema::Property {
                        name: stringify!($field),
                        about: concat!($($doc),+),
                        schema: $crate::api::schema::answer!(@schema all, $type $(, $more)?),
                        required: !<$type as $crate::api::schema::Schema>::OPTIONAL,
                    }),*]
                })
            }
        }
    )+};
}

pub(crate) use {answer, input};

/// Validates a value against its schema. Returns the error with the path to it.
pub fn check(all: &Schemas, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    let schema = all.resolve(schema);
    if let Some(ways) = schema.get("anyOf").and_then(Value::as_array) {
        let mut last = Ok(());
        for way in ways {
            last = check(all, way, value, at);
            if last.is_ok() {
                break;
            }
        }
        return last;
    }
    let kinds: Vec<&str> = match schema.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => return Ok(()),
    };
    let is = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
        Value::Number(number) if number.is_i64() || number.is_u64() => "integer",
        Value::Number(_) => "number",
    };
    if !kinds.contains(&is) {
        return Err(format!("{at} must be of type {}", kinds.join(" or ")));
    }
    if let Some(words) = schema.get("enum").and_then(Value::as_array)
        && !words.contains(value)
    {
        let known: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
        return Err(format!("{at} must be one of: {}", known.join(", ")));
    }
    match value {
        Value::String(text) => check_text(schema, text, at),
        Value::Number(number) => check_number(schema, number, at),
        Value::Array(items) => check_list(all, schema, items, at),
        Value::Object(fields) => check_object(all, schema, fields, at),
        Value::Null | Value::Bool(_) => Ok(()),
    }
}

fn limit(schema: &Value, name: &str) -> Option<usize> {
    schema.get(name).and_then(Value::as_u64).and_then(|limit| usize::try_from(limit).ok())
}

fn check_text(schema: &Value, text: &str, at: &str) -> Result<(), String> {
    let length = text.chars().count();
    if limit(schema, "minLength").is_some_and(|least| length < least) {
        return Err(format!("{at} is too short"));
    }
    if limit(schema, "maxLength").is_some_and(|most| length > most) {
        return Err(format!("{at} is too long"));
    }
    let fits = |pattern: &str| regex::Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(text));
    match schema.get("pattern").and_then(Value::as_str) {
        Some(pattern) if !fits(pattern) => Err(format!("{at} does not match {pattern}")),
        _ => Ok(()),
    }
}

fn check_number(schema: &Value, number: &serde_json::Number, at: &str) -> Result<(), String> {
    let bound = |name: &str| schema.get(name).and_then(Value::as_i64).map(i128::from);
    let given = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    let Some(given) = given else { return Ok(()) };
    if bound("minimum").is_some_and(|least| given < least)
        || bound("maximum").is_some_and(|most| given > most)
    {
        return Err(format!("{at} is out of range"));
    }
    Ok(())
}

fn check_list(all: &Schemas, schema: &Value, items: &[Value], at: &str) -> Result<(), String> {
    if limit(schema, "maxItems").is_some_and(|most| items.len() > most) {
        return Err(format!("{at} has too many items"));
    }
    if limit(schema, "minItems").is_some_and(|least| items.len() < least) {
        return Err(format!("{at} has too few items"));
    }
    let Some(inner) = schema.get("items") else { return Ok(()) };
    items.iter().enumerate().try_for_each(|(index, item)| check(all, inner, item, &format!("{at}[{index}]")))
}

fn check_object(all: &Schemas, schema: &Value, fields: &Map<String, Value>, at: &str) -> Result<(), String> {
    let known = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    for name in required.filter_map(Value::as_str) {
        if !fields.contains_key(name) {
            return Err(format!("{at}.{name} is missing"));
        }
    }
    if limit(schema, "maxProperties").is_some_and(|most| fields.len() > most) {
        return Err(format!("{at} has too many fields"));
    }
    for (name, value) in fields {
        let place = format!("{at}.{name}");
        match (known.and_then(|known| known.get(name)), schema.get("additionalProperties")) {
            (Some(inner), _) => check(all, inner, value, &place)?,
            (None, Some(Value::Bool(false))) => return Err(format!("{place} is not known")),
            (None, Some(inner)) => {
                if let Some(pattern) = schema.get("propertyNames") {
                    check(all, pattern, &json!(name), &format!("the name of {place}"))?;
                }
                check(all, inner, value, &place)?;
            }
            (None, None) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    input! {
        /// A car.
        Car {
            /// What it is called.
            name: String = { "minLength": 1, "maxLength": 5, "pattern": "^[a-z]*$" },
            /// Its colour.
            colour: Option<String> = { "enum": ["red", "blue", null] },
            /// Its wheels.
            wheels: Vec<u32> = { "maxItems": 2 },
        }
    }

    #[test]
    fn what_is_read_is_what_the_schema_says() {
        let mut all = Schemas::default();
        let car = Car::schema(&mut all);
        let fits = |value: Value| check(&all, &car, &value, "body");
        assert_eq!(fits(json!({ "name": "a" })), Ok(()));
        assert_eq!(fits(json!({ "name": "a", "colour": null, "wheels": [1, 2] })), Ok(()));
        assert_eq!(fits(json!({ "name": "a", "colour": "blue" })), Ok(()));
        for (bad, why) in [
            (json!({}), "body.name is missing"),
            (json!([]), "body must be of type object"),
            (json!({ "name": "" }), "body.name is too short"),
            (json!({ "name": "aaaaaa" }), "body.name is too long"),
            (json!({ "name": "A" }), "body.name does not match ^[a-z]*$"),
            (json!({ "name": 1 }), "body.name must be of type string"),
            (json!({ "name": "a", "colour": "green" }), "body.colour must be one of: red, blue"),
            (json!({ "name": "a", "wheels": [1, 2, 3] }), "body.wheels has too many items"),
            (json!({ "name": "a", "wheels": [-1] }), "body.wheels[0] is out of range"),
            (json!({ "name": "a", "wheels": [1.5] }), "body.wheels[0] must be of type integer"),
            (json!({ "name": "a", "more": 1 }), "body.more is not known"),
        ] {
            assert_eq!(fits(bad), Err(why.to_owned()));
        }
        let read: Car = serde_json::from_value(json!({ "name": "a", "colour": "red" })).unwrap();
        assert_eq!((read.name.as_str(), read.colour.as_deref(), read.wheels.len()), ("a", Some("red"), 0));
    }
}
