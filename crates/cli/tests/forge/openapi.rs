//! What is asked of GitHub, held against GitHub's own description of its API: path, method, query and body.
#![allow(clippy::disallowed_methods, reason = "where the tests run tells where the description is")]

use acquit_core::outcome;
use acquit_testkit::forge::{Called, Dialect};
use acquit_testkit::need;
use serde_json::Value;

use crate::world::{WORKFLOW, World};

/// The description, which `cargo xtask test` installs below the target folder.
fn description() -> Option<Value> {
    let test = std::env::current_exe().ok()?;
    let found =
        test.ancestors().map(|folder| folder.join("openapi/api.github.com.json")).find(|file| file.is_file());
    let found = need::or_skip(
        found,
        "GitHub's description of its API (`cargo xtask test` installs it)",
        "what is asked of it",
    );
    found.map(|file| serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap())
}

/// The template of a path, and what is described of a method there.
fn operation<'d>(description: &'d Value, called: &Called) -> Result<&'d Value, String> {
    let path = called.path.split('?').next().unwrap_or_default();
    let asked: Vec<&str> = path.split('/').collect();
    let fits = |template: &&String| {
        let parts: Vec<&str> = template.split('/').collect();
        parts.len() == asked.len()
            && parts.iter().zip(&asked).all(|(part, given)| part.starts_with('{') || part == given)
    };
    let paths = description["paths"].as_object().expect("paths");
    // A path without a variable in a place counts before one with it.
    let template = paths.keys().filter(fits).min_by_key(|template| template.matches('{').count());
    let template = template.ok_or_else(|| format!("nothing is described at {path}"))?;
    let method = called.method.to_lowercase();
    paths[template].get(&method).ok_or_else(|| format!("{method} is not described at {template}"))
}

/// Everything about a call that is not as described.
fn mistakes(description: &Value, called: &Called) -> Vec<String> {
    let operation = match operation(description, called) {
        Ok(operation) => operation,
        Err(mistake) => return vec![mistake],
    };
    let mut found = Vec::new();
    let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
    let names: Vec<&str> = parameters
        .iter()
        .map(|one| match one["$ref"].as_str() {
            Some(place) => &description.pointer(place.trim_start_matches('#')).expect("a parameter")["name"],
            None => &one["name"],
        })
        .filter_map(Value::as_str)
        .collect();
    let query = called.path.split_once('?').map(|(_, query)| query).unwrap_or_default();
    for key in query.split('&').filter_map(|pair| pair.split('=').next()).filter(|key| !key.is_empty()) {
        if !names.contains(&key) {
            found.push(format!("the query has `{key}`, and known are {names:?}"));
        }
    }
    if let Some(body) = called.body.as_object() {
        let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
        found.extend(outcome::mistakes(schema, &called.body));
        let forms = schema["oneOf"].as_array().cloned().unwrap_or_else(|| vec![schema.clone()]);
        let known = |key: &String| forms.iter().any(|form| form["properties"].get(key).is_some());
        found.extend(
            body.keys().filter(|key| !known(key)).map(|key| format!("the body has an unknown `{key}`")),
        );
    }
    found
}

#[test]
fn what_is_asked_of_github_is_what_github_describes() {
    let Some(description) = description() else { return };
    let world = World::new(Dialect::GitHub, WORKFLOW);
    world.sandbox.run_to(0);
    let calls = world.forge.calls();
    for called in calls.iter().filter(|called| !called.path.contains("graphql")) {
        assert_eq!(mistakes(&description, called), Vec::<String>::new(), "{} {}", called.method, called.path);
    }
    let kinds: std::collections::BTreeSet<&str> =
        calls.iter().filter_map(|called| called.path.rsplit('/').next()).collect();
    assert!(kinds.len() >= 5, "find, create, labels, assignees, reviewers: {kinds:?}");

    // The check sees what is wrong.
    let pulls = |method: &str, query: &str, body: Value| Called {
        method: method.to_owned(),
        path: format!("/repos/acme/widget/pulls{query}"),
        body,
        status: 200,
    };
    for wrong in [
        pulls("PUT", "", Value::Null),
        pulls("GET", "?stat=open", Value::Null),
        pulls("POST", "", serde_json::json!({ "title": "t", "head": "h", "base": 1 })),
        pulls("POST", "", serde_json::json!({ "title": "t", "head": "h", "base": "b", "labels": [] })),
        pulls("POST", "", serde_json::json!({ "title": "t" })),
        pulls("GET", "/1/nothing", Value::Null),
    ] {
        assert_ne!(mistakes(&description, &wrong), Vec::<String>::new(), "{wrong:?}");
    }
}
