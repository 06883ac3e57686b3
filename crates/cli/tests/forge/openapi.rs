//! What is asked of GitHub, held against GitHub's own descriptions of its APIs: path, method, query and body of REST, and the types of
//! GraphQL that the forge of the tests keeps to.
#![allow(clippy::disallowed_methods, reason = "where the tests run tells where the description is")]

use acquit_core::json_schema;
use acquit_testkit::forge::{Called, Dialect, Rule, graphql};
use acquit_testkit::need;
use serde_json::Value;

use crate::feedback;

/// A description, which `cargo xtask test` installs below the target folder.
fn description(name: &str) -> Option<Value> {
    let test = std::env::current_exe().ok()?;
    let found = test.ancestors().map(|folder| folder.join("openapi").join(name)).find(|file| file.is_file());
    let found = need::or_skip(
        found,
        "GitHub's description of its API (`cargo xtask test` installs it)",
        "what is asked of it",
    );
    found.map(|file| serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap())
}

/// The template of a path, and what is described of a method there.
fn operation<'d>(description: &'d Value, called: &Called) -> Result<(&'d str, &'d Value), String> {
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
    let operation = paths[template].get(&method);
    let operation = operation.ok_or_else(|| format!("{method} is not described at {template}"))?;
    Ok((template, operation))
}

/// Everything about a call that is not as described.
fn mistakes(description: &Value, called: &Called) -> Vec<String> {
    let operation = match operation(description, called) {
        Ok((_, operation)) => operation,
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
        found.extend(json_schema::mistakes(schema, &called.body));
        let forms = schema["oneOf"].as_array().cloned().unwrap_or_else(|| vec![schema.clone()]);
        let known = |key: &String| forms.iter().any(|form| form["properties"].get(key).is_some());
        found.extend(
            body.keys().filter(|key| !known(key)).map(|key| format!("the body has an unknown `{key}`")),
        );
    }
    found
}

/// Every call of REST that the client knows, but for that of merging.
const CALLS: [&str; 16] = [
    "GET /repos/{owner}/{repo}/collaborators/{username}/permission",
    "GET /repos/{owner}/{repo}/check-runs/{check_run_id}/annotations",
    "GET /repos/{owner}/{repo}/commits/{ref}/check-runs",
    "GET /repos/{owner}/{repo}/commits/{ref}/status",
    "GET /repos/{owner}/{repo}/issues/{issue_number}/comments",
    "GET /repos/{owner}/{repo}/pulls",
    "GET /repos/{owner}/{repo}/pulls/{pull_number}",
    "GET /repos/{owner}/{repo}/pulls/{pull_number}/comments",
    "GET /repos/{owner}/{repo}/pulls/{pull_number}/reviews",
    "PATCH /repos/{owner}/{repo}/pulls/{pull_number}",
    "POST /repos/{owner}/{repo}/issues/{issue_number}/assignees",
    "POST /repos/{owner}/{repo}/issues/{issue_number}/labels",
    "POST /repos/{owner}/{repo}/pulls",
    "POST /repos/{owner}/{repo}/pulls/{pull_number}/comments/{comment_id}/replies",
    "POST /repos/{owner}/{repo}/pulls/{pull_number}/requested_reviewers",
    // The one below is the second page of a list.
    "GET /repos/{owner}/{repo}/pulls/{pull_number}/comments?page",
];

#[test]
fn what_is_asked_of_github_is_what_github_describes() {
    let Some(description) = description("api.github.com.json") else { return };
    let world = feedback::world(Dialect::GitHub);
    world.forge.edit(1, |pull| {
        pull.pipeline = Some("failure".to_owned());
        pull.labels.clear();
        pull.remarks.extend((41..45).map(|id| feedback::remark(id, "bob", true, "More of it, please.")));
    });
    world.sandbox.acquit(&["feedback", "T-1"]).must(0);
    world.sandbox.acquit(&["run", "T-1"]).must(0);
    let mut seen = std::collections::BTreeSet::new();
    for called in world.forge.calls() {
        // GraphQL has a description of its own, which the forge of the tests holds it against.
        if called.path.contains("graphql") {
            continue;
        }
        assert_eq!(
            mistakes(&description, &called),
            Vec::<String>::new(),
            "{} {}",
            called.method,
            called.path
        );
        let (template, _) = operation(&description, &called).unwrap();
        seen.insert(format!("{} {template}", called.method));
        if called.path.contains("&page=") {
            seen.insert(format!("{} {template}?page", called.method));
        }
    }
    let missed: Vec<&&str> = CALLS.iter().filter(|call| !seen.contains(**call)).collect();
    assert!(missed.is_empty(), "never asked: {missed:?}; asked: {seen:#?}");

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

/// A type of GraphQL as it is written: `Int!`, and a list as what it is a list of.
fn written(kind: &Value) -> String {
    match kind["kind"].as_str() {
        Some("NON_NULL") => format!("{}!", written(&kind["ofType"]).trim_end_matches('!')),
        Some("LIST") => written(&kind["ofType"]),
        _ => kind["name"].as_str().unwrap_or_default().to_owned(),
    }
}

#[test]
fn the_types_of_graphql_in_the_tests_are_those_of_github() {
    let Some(schema) = description("graphql.github.com.json") else { return };
    let all = schema.pointer("/__schema/types").and_then(Value::as_array).unwrap();
    let of =
        |kind: &str| all.iter().find(|one| one["name"] == kind).unwrap_or_else(|| panic!("no type {kind}"));
    let named = |list: &Value, name: &str, of: &str| {
        let found = list.as_array().unwrap().iter().find(|one| one["name"] == name);
        found.cloned().unwrap_or_else(|| panic!("{of} has no {name}"))
    };
    let (fields, inputs) = graphql::types();
    for (kind, name, takes, gives) in fields {
        let field = named(&of(kind)["fields"], name, kind);
        assert_eq!(field["isDeprecated"], false, "{kind}.{name}");
        let is = written(&field["type"]);
        let is_scalar = ["SCALAR", "ENUM"].iter().any(|one| of(is.trim_end_matches('!'))["kind"] == *one);
        let is = if is_scalar { "" } else { is.trim_end_matches('!') };
        assert_eq!(is, *gives, "{kind}.{name}");
        for (argument, wanted) in *takes {
            assert_eq!(
                written(&named(&field["args"], argument, name)["type"]),
                *wanted,
                "{kind}.{name}({argument})"
            );
        }
        for argument in field["args"].as_array().unwrap() {
            let needed = argument["type"]["kind"] == "NON_NULL" && argument["defaultValue"].is_null();
            let known = takes.iter().any(|(known, _)| argument["name"] == *known);
            assert!(known || !needed, "{kind}.{name} also needs {}", argument["name"]);
        }
    }
    for (kind, parts) in inputs {
        for (name, wanted) in *parts {
            assert_eq!(
                written(&named(&of(kind)["inputFields"], name, kind)["type"]),
                *wanted,
                "{kind}.{name}"
            );
        }
        let count = of(kind)["inputFields"].as_array().unwrap().len();
        assert_eq!(count, parts.len(), "{kind} has more parts");
    }
}

#[test]
fn what_is_asked_of_github_for_a_merge_is_what_github_describes() {
    let Some(description) = description("api.github.com.json") else { return };
    let world = crate::world::World::new(Dialect::GitHub, &crate::merging::merging());
    world.forge.require("acme/widget", Rule::Review);
    world.sandbox.run_to(3);
    world.forge.edit(1, |pull| pull.approved = true);
    world.sandbox.acquit(&["task", "answer", "T-1", "--approve"]).must(0);
    world.sandbox.acquit(&["run", "T-1"]).must(0);
    let calls = world.forge.calls();
    assert!(calls.iter().any(|called| called.method == "PUT" && called.path.ends_with("/merge")));
    for called in calls.iter().filter(|called| !called.path.contains("graphql")) {
        assert_eq!(mistakes(&description, called), Vec::<String>::new(), "{} {}", called.method, called.path);
    }
}
