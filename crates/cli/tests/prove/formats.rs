//! The forms for programs: each is valid, says the same, and nothing of the repository breaks out of it.

use serde_json::Value;

use crate::common::Sandbox;
use crate::kit::{BROKEN, package, ran};
use crate::schemas;

/// A test whose name tries to be a command, markup and a mention.
const NASTY: &str = "import test from 'node:test';\nimport assert from 'node:assert';\nimport { sum } from '../sum.js';\n\
test('x\\n::error::owned</failure><b>@everyone fixes #1 %0A]]>', () => assert.strictEqual(sum([1, 2]), 3));\n";

fn guilty() -> Sandbox {
    let sandbox = package();
    sandbox.repo.write("test/nasty.test.js", NASTY);
    sandbox.repo.commit("a test with a name");
    sandbox.repo.write("sum.js", BROKEN);
    sandbox
}

#[test]
fn every_format_is_valid_and_nothing_breaks_out_of_it() {
    let sandbox = guilty();
    // All from one judgement.
    let place = |format: &str| sandbox.place(&format!("acquit.{format}"));
    let mut args = vec!["--format".to_owned(), "github".to_owned()];
    for format in ["sarif", "junit", "gitlab", "text", "markdown"] {
        args.extend(["--format".to_owned(), format!("{format}={}", place(format).display())]);
    }
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let github = ran(&sandbox, &args, 1).out;
    let written = |format: &str| std::fs::read_to_string(place(format)).unwrap();
    assert!(written("text").contains("guilty: 1 claim does not hold"), "{}", written("text"));
    ran(&sandbox, &["--format", "yaml"], 2).said("sarif");

    let file = place("sarif");
    let sarif: Value = serde_json::from_str(&written("sarif")).unwrap();
    valid_sarif(&sarif);
    if let Some(check) = schemas::check("SARIF 2.1.0") {
        // The published schema has a pattern that is none by the strictest rules.
        let args = ["--regex-variant", "nonunicode", "--schemafile", &check.sarif()];
        check.must_fit(&args, &file);
        // The check sees what is wrong.
        std::fs::write(&file, sarif.to_string().replace("\"startLine\"", "\"line\"")).unwrap();
        check.must_not_fit(&args, &file);
    }
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    assert!(
        results.iter().any(|it| it["ruleId"] == "tests/new-failure" && it["level"] == "error"),
        "{sarif:#}"
    );

    let junit = written("junit");
    assert!(junit.starts_with("<?xml"), "{junit}");
    assert!(junit.contains("failures=\"1\""), "{junit}");
    assert!(!junit.contains("<b>") && !junit.contains("]]>"), "{junit}");

    for line in github.lines() {
        assert!(
            line.starts_with("::error ") || line.starts_with("::notice ") || line.starts_with("::warning "),
            "{github}"
        );
    }
    assert!(github.contains("\n::error ") && !github.contains("\n::error::owned"), "{github}");

    let gitlab: Value = serde_json::from_str(&written("gitlab")).unwrap();
    for one in gitlab.as_array().unwrap() {
        let keys: Vec<&String> = one.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["check_name", "description", "fingerprint", "location", "severity"], "{gitlab:#}");
        assert!(one["location"]["lines"]["begin"].as_u64().unwrap() >= 1, "{gitlab:#}");
    }
    assert!(gitlab.to_string().contains("tests/new-failure"), "{gitlab:#}");

    let markdown = written("markdown");
    assert!(markdown.starts_with("<!-- acquit prove -->\n### ❌ acquit: guilty"), "{markdown}");
    assert!(!markdown.contains("@everyone") && !markdown.contains("fixes #1"), "{markdown}");
}

/// The parts of the schema of SARIF 2.1.0 that a document must have, and those that this one uses.
fn valid_sarif(document: &Value) {
    assert_eq!(document["version"], "2.1.0");
    let run = &document["runs"][0];
    assert!(run["tool"]["driver"]["name"].is_string());
    let rules: Vec<&str> = run["tool"]["driver"]["rules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| rule["id"].as_str().unwrap())
        .collect();
    for result in run["results"].as_array().unwrap() {
        assert!(result["message"]["text"].is_string(), "{result:#}");
        assert!(
            ["none", "note", "warning", "error"].contains(&result["level"].as_str().unwrap()),
            "{result:#}"
        );
        assert!(rules.contains(&result["ruleId"].as_str().unwrap()), "{result:#}");
        for location in result["locations"].as_array().into_iter().flatten() {
            let place = &location["physicalLocation"];
            assert!(place["region"]["startLine"].as_u64().unwrap() >= 1, "{result:#}");
            assert!(!place["artifactLocation"]["uri"].as_str().unwrap().contains([' ', '\\']), "{result:#}");
        }
    }
}
