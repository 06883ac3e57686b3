//! Monorepos from `init` to a proven change: a package in a subfolder, and packages beside each other.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may panic, and starts programs")]

use acquit_testkit::need;
use acquit_testkit::repo::write;

use super::first_hour::Reader;

const TEST: &str = "test -f value && grep -q . value\n";

/// Two packages of npm that know nothing of each other. The agent changes one of them.
fn packages() -> Option<Reader> {
    need::program("npm", "packages in subfolders")?;
    let reader = Reader::new(&[("packages/alpha/value", "2\n")], &[]);
    for name in ["alpha", "beta"] {
        let folder = reader.folder.join("packages").join(name);
        let manifest =
            format!("{{\n  \"name\": \"{name}\",\n  \"scripts\": {{ \"test\": \"sh test.sh\" }}\n}}\n");
        for (file, text) in [("package.json", manifest.as_str()), ("test.sh", TEST), ("value", "1\n")] {
            write(&folder.join(file), text);
        }
    }
    Some(reader)
}

fn must(reader: &Reader, line: &str) -> String {
    let (said, code) = reader.sh(line);
    assert_eq!(code, Some(0), "{line}: {said}");
    said
}

/// How a gate of the task ended.
fn ended(reader: &Reader, gate: &str) -> String {
    let shown = must(reader, "acquit show T-1 --json");
    let shown: serde_json::Value = serde_json::from_str(&shown).expect(&shown);
    let found = shown["gates"].as_array().unwrap().iter().find(|one| one["gate"] == gate);
    found.unwrap_or_else(|| panic!("no {gate}: {shown}"))["ended"].as_str().unwrap().to_owned()
}

#[test]
fn a_change_of_one_package_runs_the_gates_of_that_package() {
    let Some(reader) = packages() else { return };
    must(&reader, "git init -q -b main && git add -A && git commit -qm first");
    let said = must(&reader, "acquit init");
    assert!(said.contains("✓ alpha-test") && said.contains("✓ beta-test"), "{said}");
    must(&reader, "git add -A && git commit -qm 'Set up acquit'");
    must(&reader, "acquit run 'Change a value'");
    assert_eq!(ended(&reader, "alpha-test"), "exit 0");
    let beta = ended(&reader, "beta-test");
    assert!(beta.starts_with("not run: the change touches none of its paths"), "{beta}");
}

#[test]
fn init_in_a_subfolder_sets_up_that_package_alone() {
    let Some(reader) = packages() else { return };
    // Nothing of the other package may run: its tests fail.
    write(&reader.folder.join("packages/beta/test.sh"), "exit 1\n");
    must(&reader, "git init -q -b main && git add -A && git commit -qm first");
    let said = must(&reader, "cd packages/alpha && acquit init");
    assert!(said.contains("everything holds") && said.contains("in packages/alpha/"), "{said}");
    let config = std::fs::read_to_string(reader.folder.join(".acquit/acquit.toml")).unwrap();
    assert!(config.contains("cd packages/alpha && npm run test"), "{config}");
    assert!(!config.contains("beta"), "{config}");
    must(&reader, "git add -A && git commit -qm 'Set up acquit'");
    must(&reader, "cd packages/alpha && acquit run 'Change a value'");
    assert_eq!(ended(&reader, "test"), "exit 0");
    must(&reader, "acquit merge T-1");
    assert_eq!(std::fs::read_to_string(reader.folder.join("packages/alpha/value")).unwrap(), "2\n");
}
