//! The OpenAPI 3.1 document, generated from the routes and their types.

use serde_json::{Map, Value, json};

use super::VERSION;
use super::idempotency;
use super::problem::{KINDS, Problem};
use super::route::{Route, part};
use super::schema::{Schema, Schemas};

/// Returns the document, and all schemas against which requests are checked.
pub fn document(routes: &[Route]) -> (Value, Schemas) {
    let mut all = Schemas::default();
    let problem = Problem::schema(&mut all);
    let mut paths: Map<String, Value> = Map::new();
    for route in routes {
        let operation = operation(route, &mut all);
        let path = paths.entry(route.path.to_owned()).or_insert_with(|| json!({}));
        path[route.method] = operation;
    }
    let responses: Map<String, Value> = statuses()
        .into_iter()
        .map(|status| {
            let titles: Vec<&str> =
                KINDS.iter().filter(|(_, known, _)| *known == status).map(|(.., title)| *title).collect();
            let content = json!({ "application/problem+json": { "schema": problem } });
            (format!("Problem{status}"), json!({ "description": titles.join("; "), "content": content }))
        })
        .collect();
    let schemas: Map<String, Value> =
        all.0.iter().map(|(name, schema)| (name.clone(), schema.clone())).collect();
    let document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "acquit", "version": VERSION,
            "description": "Tasks, people's answers, workflows, schedules and costs: everything that the command line does. \
                Reading needs the role viewer, changing something operator. Errors are problem documents (RFC 9457).",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/api/v1" }],
        "security": [{ "bearer": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "bearer": { "type": "http", "scheme": "bearer", "description": "`acquit token add NAME --role operator` makes one" } },
            "responses": responses,
            "schemas": schemas,
        },
    });
    (document, all)
}

/// Returns the distinct statuses of problems.
fn statuses() -> Vec<u16> {
    let mut all: Vec<u16> = KINDS.iter().map(|(_, status, _)| *status).collect();
    all.dedup();
    all
}

fn operation(route: &Route, all: &mut Schemas) -> Value {
    let mut parameters: Vec<Value> = route
        .parts()
        .map(|name| json!({ "name": name, "in": "path", "required": true, "schema": part(name) }))
        .collect();
    let input = (route.input)(all);
    let mut operation = json!({
        "operationId": route.id, "summary": route.about, "tags": [route.group()],
        "description": format!("Needs the role {}.", route.role.name()),
    });
    if route.writes() {
        parameters.push(json!({
            "name": "Idempotency-Key", "in": "header", "required": false,
            "description": "Repeating a request with the same key does it once and gives the same answer, for a day.",
            "schema": { "type": "string", "minLength": 1, "maxLength": idempotency::LONGEST, "pattern": "^[!-~]+$" },
        }));
        let required = all
            .resolve(&input)
            .get("required")
            .and_then(Value::as_array)
            .is_some_and(|list| !list.is_empty());
        operation["requestBody"] = json!({
            "required": required, "content": { "application/json": { "schema": input } },
        });
    } else {
        let object = all.resolve(&input).clone();
        let fields = object.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
        parameters.extend(fields.into_iter().map(|(name, mut schema)| {
            let about = schema.as_object_mut().and_then(|fields| fields.remove("description"));
            json!({ "name": name, "in": "query", "required": false, "description": about, "schema": not_null(schema) })
        }));
    }
    operation["parameters"] = json!(parameters);
    let mut content = json!({ "application/json": { "schema": (route.answer)(all) } });
    if route.id == "listEvents" {
        content["text/event-stream"] = json!({ "schema": { "type": "string" } });
    }
    let mut responses = json!({ "200": { "description": "Done.", "content": content } });
    for status in statuses() {
        let of_input = matches!(status, 408 | 413 | 415);
        if route.writes() || !of_input {
            responses[status.to_string()] =
                json!({ "$ref": format!("#/components/responses/Problem{status}") });
        }
    }
    operation["responses"] = responses;
    operation
}

/// Removes null from a schema: a parameter is present or absent, but never null.
fn not_null(mut schema: Value) -> Value {
    if let Some(first) = schema.get("anyOf").and_then(|ways| ways.get(0)) {
        return first.clone();
    }
    if let Some(kind) = schema.get("type").and_then(|kind| kind.get(0)).cloned() {
        schema["type"] = kind;
    }
    schema
}
