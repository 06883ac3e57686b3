//! The page at `/api`: every route with its parameters, and the kinds of problems, from the same list as the OpenAPI
//! document.

use maud::{Markup, html};
use serde_json::Value;

use super::problem::KINDS;
use super::route::{Route, part};
use super::schema::Schemas;
use crate::page::Content;

/// Renders the page, for the server at this address.
pub fn content(routes: &[Route], origin: &str) -> Content {
    let mut groups: Vec<&str> = routes.iter().map(Route::group).collect();
    groups.dedup();
    groups.sort_unstable();
    groups.dedup();
    let body = html! {
        h1 { "API" }
        p.lede { "Version 1, below " code { "/api/v1" } ". " a href="/api/v1/openapi.json" { "OpenAPI document" } }
        pre { "acquit token add laptop --role operator\ncurl -H \"Authorization: Bearer $TOKEN\" " (origin) "/api/v1/tasks" }
        @for group in groups {
            section {
                h2 { (group) }
                @for route in routes.iter().filter(|route| route.group() == group) { (one(route)) }
            }
        }
        section {
            h2 { "Problems" }
            p { "Errors are " code { "application/problem+json" } " with type, title, status, detail and hint." }
            dl.facts { @for (kind, status, title) in KINDS {
                dt id=(kind) { (status) " " (kind) } dd { (title) }
            } }
        }
    };
    Content { title: "API".to_owned(), task: None, body }
}

fn one(route: &Route) -> Markup {
    let mut all = Schemas::default();
    let input = (route.input)(&mut all);
    let answer = (route.answer)(&mut all);
    let object = all.resolve(&input).clone();
    let fields = object["properties"].as_object().cloned().unwrap_or_default();
    let required =
        |name: &str| object["required"].as_array().is_some_and(|list| list.iter().any(|one| one == name));
    html! {
        details.fold id=(route.id) {
            summary { b { (route.method.to_uppercase()) } " " code { "/api/v1" (route.path) } " " (route.about) }
            p.dim { "Role " (route.role.name()) ". Answers " (kind(&answer)) "." }
            dl.facts {
                @for name in route.parts() { dt { code { "{" (name) "}" } } dd { (kind(&part(name))) } }
                @for (name, schema) in &fields {
                    dt { code { (name) } }
                    dd { (schema["description"].as_str().unwrap_or_default()) " " span.dim { (kind(schema)) @if required(name) { ", required" } } }
                }
            }
        }
    }
}

/// Describes a schema in a few words.
fn kind(schema: &Value) -> String {
    if let Some(place) = schema["$ref"].as_str() {
        return place.rsplit('/').next().unwrap_or_default().to_owned();
    }
    if let Some(first) = schema["anyOf"].get(0) {
        return kind(first);
    }
    let name = schema["type"].as_str().or_else(|| schema["type"][0].as_str()).unwrap_or("any");
    match (name, &schema["items"], &schema["properties"]["items"]) {
        ("array", items, _) => format!("list of {}", kind(items)),
        ("object", _, Value::Object(_)) => {
            format!("page of {}", kind(&schema["properties"]["items"]["items"]))
        }
        _ => name.to_owned(),
    }
}
