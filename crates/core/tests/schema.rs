//! The schemas that editors use: they say what the readers say.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use acquit_core::{config, outcome, workflow};
use serde_json::{Value, json};

fn as_json(toml: &str) -> Value {
    serde_json::to_value(toml.parse::<toml::Table>().unwrap()).unwrap()
}

#[test]
fn the_references_fit_their_schemas() {
    assert_eq!(outcome::mistakes(&config::schema(), &as_json(config::REFERENCE)), [""; 0]);
    assert_eq!(outcome::mistakes(&workflow::schema(), &as_json(workflow::REFERENCE)), [""; 0]);
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
        assert_ne!(outcome::mistakes(&config::schema(), &as_json(text)), [""; 0], "{text}");
        assert!(config::read("acquit.toml", text).is_err(), "{text}");
    }
    let wrong = [
        "[gates.a]\nchek = \"tdd\"",
        "[stages.a]\nmode = \"plan\"\ntimeout = 5",
        "[budgets]\ntest = -1",
        "[variation]\nvalues = \"a\"",
    ];
    for text in wrong {
        assert_ne!(outcome::mistakes(&workflow::schema(), &as_json(text)), [""; 0], "{text}");
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
            "description": "\"reduced\": start also where the machine lacks a wall; \"off\": no walls",
        })
    );
    assert_eq!(
        key("/properties/setup/description"),
        "once for each state of the lock files, shared by all tasks"
    );
    assert_eq!(key("/properties/agents/additionalProperties/properties/turns/type"), "integer");
    let transitions = "/properties/stages/additionalProperties/properties/on/additionalProperties/anyOf";
    let forms = workflow::schema().pointer(transitions).cloned().unwrap();
    let types: Vec<&str> =
        forms.as_array().unwrap().iter().map(|form| form["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["string", "array", "object"]);
}
