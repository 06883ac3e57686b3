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
