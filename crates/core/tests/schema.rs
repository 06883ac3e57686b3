//! The schemas that editors use: they say what the readers say.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeSet;

use acquit_core::{config, json_schema, workflow};
use serde_json::{Value, json};

fn as_json(toml: &str) -> Value {
    serde_json::to_value(toml.parse::<toml::Table>().unwrap()).unwrap()
}

#[test]
fn the_references_fit_their_schemas() {
    assert_eq!(json_schema::mistakes(&config::schema(), &as_json(config::REFERENCE)), [""; 0]);
    assert_eq!(json_schema::mistakes(&workflow::schema(), &as_json(workflow::REFERENCE)), [""; 0]);
}

#[test]
fn what_a_reader_refuses_does_not_fit() {
    let wrong = [
        "colour = \"blue\"",
        "sandbox = \"none\"",
        "[limits]\nmemory = \"16 gigabytes\"",
        "[waiting]\nslack = 5",
        "[agents.a]\nadaptor = \"claude\"",
        "protected = \"main\"",
    ];
    for text in wrong {
        assert_ne!(json_schema::mistakes(&config::schema(), &as_json(text)), [""; 0], "{text}");
        assert!(config::read("acquit.toml", text).is_err(), "{text}");
    }
    let wrong = [
        "[gates.a]\nchek = \"tdd\"",
        "[stages.a]\nmode = \"plan\"\ntimeout = 5",
        "[budgets]\ntest = -1",
        "[variation]\nvalues = \"a\"",
    ];
    for text in wrong {
        assert_ne!(json_schema::mistakes(&workflow::schema(), &as_json(text)), [""; 0], "{text}");
    }
}

#[test]
fn a_schema_explains_keys_in_the_words_of_the_reference() {
    let schema = config::schema();
    let key = |path: &str| schema.pointer(path).unwrap_or_else(|| panic!("no {path} in {schema:#}")).clone();
    assert_eq!(
        key("/properties/sandbox"),
        json!({
            "enum": ["on", "reduced", "off"],
            "description": "\"reduced\": start even if the machine cannot enforce everything; \"off\": no sandbox",
        })
    );
    assert_eq!(
        key("/properties/setup/description"),
        "runs once per content of the lock files; all tasks share the result"
    );
    assert_eq!(key("/properties/agents/additionalProperties/properties/turns/type"), "integer");
    let transitions = "/properties/stages/additionalProperties/properties/on/additionalProperties/anyOf";
    let forms = workflow::schema().pointer(transitions).cloned().unwrap();
    let types: Vec<&str> =
        forms.as_array().unwrap().iter().map(|form| form["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["string", "array", "object"]);
}

/// The TOML of a Markdown file, block by block, with the line that each begins at.
fn blocks(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (number, line) in text.lines().enumerate() {
        match (&mut open, line.trim()) {
            (None, "```toml") => open = Some((number + 2, String::new())),
            (Some(_), "```") => found.extend(open.take()),
            (Some((_, block)), _) => {
                block.push_str(line);
                block.push('\n');
            }
            (None, _) => {}
        }
    }
    found
}

/// Examples of the documentation that are a part of a file, or another tool's: the document, and how they begin.
const PARTS: [(&str, &str); 15] = [
    ("delivery.md", "[stages.publish]"),
    ("delivery.md", "conflict = "),
    ("delivery.md", "[stages.merge]"),
    ("first-hour.md", "[project]"),
    ("first-hour.md", "[package]"),
    ("fleet.md", "[stages.train]"),
    ("gates.md", "[gates.test]"),
    ("gates.md", "[gates.tdd]"),
    ("gates.md", "run = "),
    ("gates.md", "[gates.findings]"),
    ("sandbox.md", "[agents.coder]"),
    ("sandbox.md", "[network]"),
    ("secrets.md", "[agents.coder]"),
    ("workflows.md", "description = "),
    ("workflows.md", "[modes.document]"),
];

/// Every example that is shipped or documented: what acquit accepts, an editor accepts. A reader accepts each whole file.
#[test]
fn every_example_fits_the_schema_of_a_file_that_takes_it() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let files = |folder: &str, ending: &str| -> Vec<std::path::PathBuf> {
        let all = std::fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path());
        let mut wanted: Vec<_> = all.filter(|path| path.to_string_lossy().ends_with(ending)).collect();
        wanted.sort();
        wanted
    };
    let (of_config, of_workflow) = (config::schema(), workflow::schema());
    let (mut seen, mut refused, mut parts) = (0, Vec::new(), BTreeSet::new());
    for path in files("crates/app/shipped/workflows", ".toml") {
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(json_schema::mistakes(&of_workflow, &as_json(&text)), [""; 0], "{}", path.display());
        seen += 1;
    }
    for path in files("docs", ".md").into_iter().chain([root.join("README.md")]) {
        for (line, text) in blocks(&std::fs::read_to_string(&path).unwrap()) {
            let place = format!("{}:{line}", path.display());
            // Lists of alternatives are no files.
            let Ok(table) = text.parse::<toml::Table>() else { continue };
            let json = serde_json::to_value(table).unwrap();
            let name: acquit_core::ids::Name = "flow".parse().unwrap();
            let as_config = config::read("acquit.toml", &text).map(|_| &of_config);
            let as_workflow = workflow::read("flow.toml", &name, &text, &[]).map(|_| &of_workflow);
            if let (Err(one), Err(other)) = (&as_config, &as_workflow) {
                let name = path.file_name().unwrap().to_string_lossy();
                let first = text.lines().next().unwrap_or_default();
                match PARTS.iter().find(|(file, begins)| *file == name && first.starts_with(begins)) {
                    Some(part) => drop(parts.insert(part)),
                    None => refused.push(format!("{place}: as configuration: {one}\nas workflow: {other}")),
                }
            }
            for schema in [as_config.ok(), as_workflow.ok()].into_iter().flatten() {
                assert_eq!(json_schema::mistakes(schema, &json), [""; 0], "{place}: the reader accepts it");
                seen += 1;
            }
        }
    }
    assert!(seen > 15, "only {seen} examples");
    assert!(refused.is_empty(), "no reader accepts {}", refused.join("\n\n"));
    let gone: Vec<_> = PARTS.iter().filter(|part| !parts.contains(part)).collect();
    assert!(gone.is_empty(), "no longer parts: {gone:?}");
}

#[test]
fn every_form_that_a_reader_takes_fits() {
    for text in [
        "[setup]\nrun = [\"npm\", \"ci\"]",
        "[setup]\nrun = \"npm ci\"",
        "[agents.a]\nadapter = \"command\"\nrun = \"my-agent --print\"",
        "[gates.a]\nrun = [\"cargo\", \"test\"]\nreport = { junit = [\"a.xml\", \"b.xml\"] }",
        "[gates.a]\nrun = \"x\"\nreport = { junit = \"a.xml\" }",
    ] {
        assert!(config::read("acquit.toml", text).is_ok(), "{text}");
        assert_eq!(json_schema::mistakes(&config::schema(), &as_json(text)), [""; 0], "{text}");
    }
}

#[test]
fn a_project_changes_a_price_of_the_user_key_by_key() {
    let user = "[prices.m]\ninput = 3\noutput = 15\ncache_read = 0.3\n";
    let read =
        |text: &str| config::read_over("acquit.toml", text, config::read("config.toml", user).unwrap());
    let price = read("[prices.m]\noutput = 20\n").unwrap().prices["m"];
    assert_eq!((price.input, price.output, price.cache_read), (3_000_000, 20_000_000, Some(300_000)));
    let other = read("[prices.other]\noutput = 20\n").unwrap_err();
    assert!(other.to_string().contains("say what a million tokens cost"), "{other}");
}

#[test]
fn a_project_changes_an_agent_of_the_user_key_by_key() {
    let user = "[secrets]\nKEY = { env = \"KEY\" }\n[agents.big]\nadapter = \"claude\"\nturns = 40\n\
                model = \"opus\"\nsecrets = [\"KEY\"]\n";
    let under = || config::read("config.toml", user).unwrap();
    let over = |text: &str| {
        let config = config::read_over("acquit.toml", text, under()).unwrap();
        config.agents[&acquit_core::ids::Name::literal("big")].clone()
    };
    for text in ["[agents.big]\nmodel = \"sonnet\"", "[agents.big]\nadapter = \"claude\"\nmodel = \"sonnet\""]
    {
        let agent = over(text);
        assert_eq!((agent.turns, agent.model.as_deref()), (Some(40), Some("sonnet")), "{text}");
        assert_eq!(agent.secrets, ["KEY"], "{text}");
    }
    let other = over("[agents.big]\nprogram = \"./not-claude\"");
    assert_eq!(
        (other.turns, other.secrets.len()),
        (Some(40), 0),
        "another program gets no secret of the user's"
    );
    let other = over("[agents.big]\nadapter = \"command\"\nrun = \"./mine\"");
    assert_eq!((other.turns, other.secrets.len()), (None, 0), "another agent is another agent");
}
