//! The routes of the API: one table that generates the server, the OpenAPI document and the readable page, so that none
//! of them can have a route that the others lack.

use std::collections::BTreeMap;
use std::sync::Arc;

use acquit_app::App;
use acquit_core::ids::{LegId, Name, TaskId};
use acquit_core::store::Store;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::problem::Problem;
use super::schema::{Schema, Schemas};
use crate::access::{Caller, Role};
use crate::shared::Shared;

/// Context of a handler.
pub struct Context<'c> {
    /// The use cases, in the caller's name.
    pub app: &'c App,
    /// The store.
    pub store: &'c mut dyn Store,
    /// The caller.
    pub caller: &'c Caller,
    /// The state of the server.
    pub shared: &'c Shared,
    /// The id reserved for a task, if the request has an idempotency key.
    pub reserved: Option<TaskId>,
}

/// The variable parts of a path.
pub struct At(pub BTreeMap<String, String>);

impl At {
    /// Returns the task id.
    pub fn task(&self) -> Result<TaskId, Problem> {
        self.0.get("task").and_then(|text| text.parse().ok()).ok_or_else(nothing)
    }

    /// Returns the leg id.
    pub fn leg(&self) -> Result<LegId, Problem> {
        let number = self.0.get("leg").and_then(|text| text.parse().ok()).ok_or_else(nothing)?;
        Ok(LegId { task: self.task()?, number })
    }

    /// Returns the name of a workflow or a schedule.
    pub fn name(&self) -> Result<Name, Problem> {
        self.0.get("name").and_then(|text| text.parse().ok()).ok_or_else(nothing)
    }

    /// Returns any other part.
    pub fn text(&self, part: &str) -> &str {
        self.0.get(part).map_or("", String::as_str)
    }
}

fn nothing() -> Problem {
    Problem::new("not-found", "there is nothing at this address")
}

/// Returns the schema of a part of a path.
pub fn part(name: &str) -> Value {
    match name {
        "task" => json!({ "type": "string", "pattern": "^T-[1-9][0-9]{0,17}$", "example": "T-1" }),
        "leg" => json!({ "type": "integer", "minimum": 1, "maximum": u32::MAX }),
        "artifact" => json!({ "type": "integer", "minimum": 0, "maximum": 100_000 }),
        "nominal" => json!({ "type": "integer", "minimum": 0, "maximum": i64::MAX }),
        _ => json!({ "type": "string", "pattern": NAME }),
    }
}

/// Pattern of names in the configuration.
pub const NAME: &str = "^[a-z0-9][a-z0-9_-]{0,47}$";

type Run = dyn Fn(&mut Context<'_>, &At, Value) -> Result<Value, Problem> + Send + Sync;
type Make = fn(&mut Schemas) -> Value;

/// One route.
#[derive(Clone)]
pub struct Route {
    /// `get`, `post` or `patch`.
    pub method: &'static str,
    /// Path below `/api/v1`, with `{parts}`.
    pub path: &'static str,
    /// `operationId`.
    pub id: &'static str,
    /// One-line description.
    pub about: &'static str,
    /// Required role.
    pub role: Role,
    /// Input: query of a `get`, else the body.
    pub input: Make,
    /// Response.
    pub answer: Make,
    run: Arc<Run>,
}

impl Route {
    /// Returns the variable parts of its path.
    pub fn parts(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
    }

    /// Returns its group in the documentation: the first part of its path.
    pub fn group(&self) -> &'static str {
        self.path.split('/').nth(1).unwrap_or_default()
    }

    /// Returns whether it changes something.
    pub fn writes(&self) -> bool {
        self.method != "get"
    }

    /// Returns the same route for another role.
    pub fn for_role(self, role: Role) -> Self {
        Self { role, ..self }
    }

    /// Runs the handler. The input was validated against its schema.
    pub fn run(&self, context: &mut Context<'_>, at: &At, input: Value) -> Result<Value, Problem> {
        (self.run)(context, at, input)
    }
}

/// Generates the functions that create routes.
macro_rules! builders {
    ($($(#[$about:meta])* $name:ident for $role:expr;)*) => { $(
        $(#[$about])*
        pub fn $name<I, A>(
            path: &'static str,
            id: &'static str,
            about: &'static str,
            handler: fn(&mut Context<'_>, &At, I) -> Result<A, Problem>,
        ) -> Route
        where
            I: Schema + DeserializeOwned + 'static,
            A: Schema + Serialize + 'static,
        {
            let run = move |context: &mut Context<'_>, at: &At, input: Value| {
                let input: I = serde_json::from_value(input)
                    .map_err(|error| Problem::new("invalid", format!("the request cannot be read: {error}")))?;
                let answer = handler(context, at, input)?;
                serde_json::to_value(answer).map_err(|error| Problem::new("internal", error.to_string()))
            };
            let (method, role) = (stringify!($name), $role);
            Route { method, path, id, about, role, input: I::schema, answer: A::schema, run: Arc::new(run) }
        }
    )* };
}

builders! {
    /// Creates a read-only route.
    get for Role::Viewer;
    /// Creates a route that changes something.
    post for Role::Operator;
    /// Creates a route that changes the fields that a request names.
    patch for Role::Operator;
}

/// Parses a query by its schema, which determines numbers and booleans. A repeated parameter is a list.
pub fn query(all: &Schemas, schema: &Value, text: &str) -> Result<Value, String> {
    let known = all.resolve(schema).get("properties").cloned().unwrap_or_default();
    let mut fields = serde_json::Map::new();
    for (name, value) in pairs(text)? {
        if name.eq_ignore_ascii_case("token") || name.eq_ignore_ascii_case("access_token") {
            return Err(
                "a token in an address ends up in logs: send it in the header Authorization".to_owned()
            );
        }
        let Some(property) = known.get(&name) else { return Err(format!("{name} is not a known parameter")) };
        let property = match property.get("anyOf").and_then(|ways| ways.get(0)) {
            Some(first) => all.resolve(first),
            None => all.resolve(property),
        };
        let kind = property.get("type").map(|kind| kind.as_str().or_else(|| kind.get(0)?.as_str()));
        let read = |kind: Option<&str>, value: String| match kind {
            Some("integer") => value.parse::<i64>().map_or(Value::String(value), |number| json!(number)),
            Some("boolean") => match value.as_str() {
                "true" => json!(true),
                "false" => json!(false),
                _ => Value::String(value),
            },
            _ => Value::String(value),
        };
        if kind.flatten() == Some("array") {
            let list = fields.entry(name).or_insert_with(|| json!([]));
            list.as_array_mut().into_iter().for_each(|list| list.push(Value::String(value.clone())));
        } else if fields.insert(name.clone(), read(kind.flatten(), value)).is_some() {
            return Err(format!("{name} is there twice"));
        }
    }
    Ok(Value::Object(fields))
}

fn pairs(text: &str) -> Result<Vec<(String, String)>, String> {
    let whole = |part: &str| {
        let bytes = part.replace('+', " ");
        percent_decoded(&bytes).ok_or_else(|| "the query is not valid UTF-8 or not encoded".to_owned())
    };
    let parts = text.split('&').filter(|pair| !pair.is_empty());
    parts
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((whole(name)?, whole(value)?))
        })
        .collect()
}

/// Decodes `%41`. `None` if the result is not UTF-8, or the encoding is invalid.
pub fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        if first == b'%' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(first);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::super::schema::input;
    use super::*;

    input! {
        /// A search.
        Search {
            /// How many.
            limit: Option<u32>,
            /// Which.
            tag: Vec<String>,
            /// Whether.
            all: Option<bool>,
            /// Words.
            words: Option<String>,
        }
    }

    #[test]
    fn a_query_is_read_by_its_schema() {
        let mut all = Schemas::default();
        let schema = Search::schema(&mut all);
        let read = |text: &str| query(&all, &schema, text);
        assert_eq!(
            read("limit=5&tag=a&tag=b%20c&all=true&words=1+2"),
            Ok(json!({ "limit": 5, "tag": ["a", "b c"], "all": true, "words": "1 2" }))
        );
        assert_eq!(read("limit=x"), Ok(json!({ "limit": "x" })));
        for bad in ["limit=1&limit=2", "no=1", "token=acquit_1", "words=%ff", "words=%4", "access_token=1"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
