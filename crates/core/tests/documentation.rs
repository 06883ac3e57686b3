//! What the documentation lists is what the program has.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use acquit_core::config::notify::Told;
use acquit_core::failure::kind;
use acquit_core::template::BUILTIN;

fn page(name: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    std::fs::read_to_string(path).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_budget_is_documented_with_its_default() {
    let text = page("workflows.md");
    for (name, limit) in kind::DEFAULTS {
        let asked = kind::ASKED.contains(&name);
        let words = if asked { name.to_owned() } else { format!("{name} {limit}") };
        let listed = [format!(" {words},"), format!(" {words}."), format!(" {words} and")];
        assert!(listed.iter().any(|words| text.contains(words)), "docs/workflows.md does not list {words:?}");
    }
}

/// Returns a page as it is.
fn text(path: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn the_workflow_with_every_key_is_the_reference() {
    let page = text("docs/workflows.md");
    let (_, rest) = page.split_once("## A workflow with every key").unwrap();
    let (_, rest) = rest.split_once("```toml\n").unwrap();
    let (block, _) = rest.split_once("```\n").unwrap();
    // Checks of every other kind have a page of their own.
    let (reference, _) = acquit_core::workflow::REFERENCE.split_once("# Checks of every other kind").unwrap();
    assert_eq!(block.trim(), reference.trim());
}

/// What the page says about a key of the configuration is what the reference says, with its value and its default.
#[test]
fn the_configuration_of_the_page_is_the_reference() {
    let page = text("docs/workflows.md");
    let (_, rest) = page.split_once("## Configuration\n").expect("a section");
    let (block, _) = rest.split_once("```toml\n").expect("a block").1.split_once("```\n").expect("its end");
    let parts = |line: &str| {
        let (setting, comment) = line.split_once(" #").unwrap_or((line, ""));
        (setting.trim().to_owned(), comment.trim().to_owned())
    };
    let known: Vec<(String, String)> = acquit_core::config::REFERENCE.lines().map(parts).collect();
    for line in block.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('[')) {
        let (setting, comment) = parts(line);
        let same =
            |(other, words): &&(String, String)| *other == setting && (*words == comment || words.is_empty());
        assert!(known.iter().any(|one| same(&one)), "not as in the reference: {line}");
    }
}

/// Returns the stages that work passes if nothing is sent back, in the order of the file.
fn way(written: &str) -> Vec<String> {
    let workflow: toml::Table = written.parse().unwrap();
    let stages = workflow["stages"].as_table().unwrap();
    let targets = |value: &toml::Value| -> Vec<String> {
        let to = value.as_table().map_or(value, |table| &table["to"]);
        let one = to.as_str().map(str::to_owned).into_iter();
        let several = to.as_array().into_iter().flatten().filter_map(|to| to.as_str().map(str::to_owned));
        one.chain(several).collect()
    };
    let start = workflow.get("start").and_then(|start| start.as_str()).map(str::to_owned);
    let first = || written.split_once("[stages.").unwrap().1.split_once(']').unwrap().0.to_owned();
    let mut reached = vec![start.unwrap_or_else(first)];
    let mut at = 0;
    while let Some(stage) = reached.get(at).and_then(|name| stages.get(name)) {
        let back = ["changes_requested", "rejected"];
        let on =
            stage["on"].as_table().unwrap().iter().filter(|(outcome, _)| !back.contains(&outcome.as_str()));
        for target in on.flat_map(|(_, value)| targets(value)) {
            if stages.contains_key(&target) && !reached.contains(&target) {
                reached.push(target);
            }
        }
        at += 1;
    }
    reached
}

#[test]
fn the_stages_of_built_in_workflows_are_documented_in_their_order() {
    let page = text("docs/workflows.md");
    for name in ["feature", "bugfix", "nightshift", "review", "pipeline"] {
        let row = page.lines().find(|line| line.starts_with(&format!("| `{name}` |"))).unwrap();
        let documented: Vec<&str> = row.split('|').nth(2).unwrap().split('→').map(str::trim).collect();
        let written = text(&format!("crates/app/shipped/workflows/{name}.toml"));
        let way = way(&written);
        let in_file = written.lines().filter_map(|line| line.strip_prefix("[stages.")?.split(']').next());
        let expected: Vec<&str> = in_file.filter(|stage| way.iter().any(|one| one == stage)).collect();
        assert_eq!(documented, expected, "{name}");
    }
}

#[test]
fn every_built_in_variable_is_documented() {
    for file in ["workflows.md", "prompts.md"] {
        let text = page(file);
        let missing: Vec<_> = BUILTIN.iter().filter(|name| !text.contains(&format!("`{name}`"))).collect();
        assert_eq!(missing, [&""; 0], "docs/{file}");
    }
}

#[test]
fn every_event_that_people_are_told_of_is_documented() {
    let text = page("notifications.md");
    for (word, _) in Told::ALL {
        assert!(text.contains(&format!("`{word}`")), "docs/notifications.md does not name {word}");
    }
}

/// The order in which reports count: as `docs/mcp.md`, `docs/workflows.md` and the harness have it.
#[test]
fn the_order_of_reports_is_the_same_on_every_page() {
    for (file, words) in [
        ("mcp.md", ["tool, structured output", "handoff file", "markers", "last what"]),
        (
            "workflows.md",
            [
                "1. The tool `report_outcome`",
                "2. The agent's structured output",
                "3. The handoff file",
                "4. Markers",
            ],
        ),
    ] {
        let text = page(file);
        let mut rest = text.as_str();
        for word in words {
            let at = rest.find(word).unwrap_or_else(|| panic!("docs/{file} does not go on with {word:?}"));
            rest = &rest[at + word.len()..];
        }
    }
}
