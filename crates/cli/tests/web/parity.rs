//! The API and the pages can do what the commands can, or docs/api.md says why not.

use std::collections::BTreeSet;

use crate::api::client;
use crate::browser::Served;
use crate::common::{self, Sandbox};

/// The commands below one, as its help lists them.
fn commands(sandbox: &Sandbox, above: &[&str]) -> Vec<String> {
    let help = sandbox.acquit(&[above, &["--help"]].concat()).must(0).out;
    let list = help.split_once("\nCommands:\n").map_or("", |(_, rest)| rest);
    let list = list.split_once("\n\n").map_or(list, |(list, _)| list);
    let name = |line: &str| {
        let name =
            line.strip_prefix("  ").filter(|rest| !rest.starts_with(' '))?.split_whitespace().next()?;
        (name != "help").then(|| name.to_owned())
    };
    list.lines().filter_map(name).collect()
}

/// What stands between backticks in a text.
fn quoted(text: &str) -> BTreeSet<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn every_command_is_a_route_or_has_a_reason_and_every_route_a_command() {
    let sandbox = Sandbox::scripted(common::CODE, crate::ASKS);
    let served = Served::start(&sandbox, &[]);
    let ci = client(&sandbox, &served, "ci", "viewer");
    let text = common::read(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/api.md"));
    let section = text.split_once("## Commands and routes\n").expect("the section").1;
    let section = section.split_once("\n## ").map_or(section, |(section, _)| section);
    let named = quoted(section);
    let mut all = BTreeSet::new();
    for command in commands(&sandbox, &[]) {
        let below = commands(&sandbox, &[&command]);
        all.extend(below.iter().map(|below| format!("{command} {below}")));
        if below.is_empty() {
            all.insert(command);
        }
    }
    assert!(all.len() > 50 && all.contains("task retry"), "{all:?}");
    let missing: Vec<&String> = all.iter().filter(|command| !named.contains(*command)).collect();
    assert!(missing.is_empty(), "docs/api.md says nothing about {missing:?}");

    let (_, document) = ci.api("GET", "/openapi.json", None);
    let mut routes = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for method in
            ["get", "post", "put", "patch", "delete"].iter().filter(|it| operations.get(it).is_some())
        {
            routes.insert(format!("{} {path}", method.to_uppercase()));
        }
    }
    let is_route =
        |name: &&String| ["GET /", "POST /", "PATCH /"].iter().any(|method| name.starts_with(method));
    let written: BTreeSet<String> = named.iter().filter(is_route).cloned().collect();
    assert_eq!(written, routes);
}
