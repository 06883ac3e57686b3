//! What is said of honest changes, of broken ones, and of what cannot be judged.

use rustix::process::Signal;

use crate::common::{Sandbox, processes, until};
use crate::kit::{BROKEN, HONEST, MENDED, OLD_TEST, claim, package, prove, ran, rules};

#[test]
fn an_honest_change_is_acquitted_without_any_configuration() {
    let sandbox = package();
    sandbox.repo.write("sum.js", MENDED);
    sandbox.repo.write("test/new.test.js", HONEST);
    let report = prove(&sandbox, &[], 0);
    assert_eq!(report["decision"], "acquitted", "{report:#}");
    assert_eq!(report["rules"], "detected", "{report:#}");
    assert_eq!(report["change"]["uncommitted"], true, "{report:#}");
    for gate in ["dilution", "secrets", "test", "tdd"] {
        assert_eq!(claim(&report, gate)["status"], "holds", "{report:#}");
    }
    let red = &claim(&report, "tdd")["evidence"]["red"];
    assert!(red.to_string().contains("three numbers"), "{report:#}");
    assert!(!sandbox.repo.path().join(".acquit").exists(), "nothing is saved unless asked for");

    let words = ran(&sandbox, &[], 0).out;
    assert!(words.contains("✓ its tests fail without it and pass with it"), "{words}");
    assert!(words.contains("red on the base, green on the change:"), "{words}");
    assert!(words.trim_end().lines().last().unwrap().starts_with("acquitted: 4 of 4 claims hold"), "{words}");
}

#[test]
fn a_test_that_fails_now_is_named_and_one_that_failed_before_is_not_blamed() {
    let sandbox = package();
    sandbox.repo.write(
        "test/before.test.js",
        "import test from 'node:test';\ntest('broken for long', () => { throw new Error('old'); });\n",
    );
    sandbox.repo.commit("broken before");
    sandbox.repo.write("sum.js", BROKEN);
    let report = prove(&sandbox, &[], 1);
    assert_eq!(report["decision"], "guilty", "{report:#}");
    let test = claim(&report, "test");
    assert_eq!(test["status"], "broken", "{report:#}");
    let findings = test["evidence"]["findings"].to_string();
    assert!(findings.contains("two"), "{report:#}");
    let against: Vec<_> = test["evidence"]["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["weight"] != "noted" && it["message"].as_str().unwrap().contains("broken for long"))
        .collect();
    assert!(against.is_empty(), "{report:#}");
    let words = ran(&sandbox, &[], 1).out;
    assert!(words.contains("✗ no test fails that passed before"), "{words}");
    assert!(words.contains("→ mend the code; the test passed before this change"), "{words}");
}

#[test]
fn what_could_not_be_shown_is_named_and_what_is_meant_can_be_said() {
    // A test that passes without the change too shows nothing, and nobody asked this project for tests of every change.
    let sandbox = package();
    sandbox.repo.write("sum.js", MENDED);
    sandbox.repo.write("test/new.test.js", &HONEST.replace("sum([1, 2, 3]), 6", "sum([1, 2]), 3"));
    let report = prove(&sandbox, &[], 0);
    assert_eq!(claim(&report, "tdd")["status"], "unshown", "{report:#}");
    let unchecked = report["unchecked"].to_string();
    assert!(unchecked.contains("the tests of the change pass without it too"), "{report:#}");

    // Another value is expected: a lie, unless somebody says that it is meant.
    sandbox.repo.write("sum.js", BROKEN);
    let other = OLD_TEST
        .replace("2]), 3", "2]), 2")
        .replace("2]), 7", "2]), 2")
        .replace("sum([4]), 4", "sum([4]), 1");
    sandbox.repo.write("test/old.test.js", &other);
    std::fs::remove_file(sandbox.repo.path().join("test/new.test.js")).unwrap();
    let report = prove(&sandbox, &[], 1);
    assert!(rules(&report).contains(&"expectation-changed".to_owned()), "{report:#}");
    prove(&sandbox, &["--allow", "expectation-changed"], 0);
    let wrong = ran(&sandbox, &["--allow", "everything"], 2);
    assert!(wrong.err.contains("expectation-changed"), "{wrong}");
}

#[test]
fn what_nobody_changed_holds_and_says_so() {
    let report = prove(&package(), &[], 0);
    assert_eq!(report["decision"], "acquitted", "{report:#}");
    assert_eq!(report["change"]["base"], report["change"]["head"], "{report:#}");
}

#[test]
fn a_command_that_fails_on_the_base_too_is_not_held_against_the_change() {
    let lint = "{ \"name\": \"sample\", \"type\": \"module\", \"scripts\": { \"test\": \"node --test\", \"lint\": \"test ! -e sum.js\" } }\n";
    let sandbox = package();
    sandbox.repo.write("package.json", lint);
    sandbox.repo.commit("a linter that never passes");
    sandbox.repo.write("sum.js", MENDED);
    let report = prove(&sandbox, &[], 0);
    assert_eq!(claim(&report, "lint")["status"], "broken_before", "{report:#}");
    assert!(report["unchecked"].to_string().contains("it fails on the base as well"), "{report:#}");
    // The same command that passes on the base is held against it.
    sandbox.repo.write("package.json", &lint.replace("test ! -e sum.js", "test ! -e bad.js"));
    sandbox.repo.commit("a linter that passes");
    sandbox.repo.write("bad.js", "export default 1;\n");
    let report = prove(&sandbox, &[], 1);
    assert_eq!(claim(&report, "lint")["status"], "broken", "{report:#}");
}

#[test]
fn what_a_linter_newly_complains_about_counts_though_it_fails_on_the_base_too() {
    let sandbox = package();
    // It prints `file:line:text`, as linters do.
    let lint = "{ \"name\": \"sample\", \"type\": \"module\", \"scripts\": { \"test\": \"node --test\", \"lint\": \"! grep -Hn 'var ' *.js\" } }\n";
    sandbox.repo.write("package.json", lint);
    sandbox.repo.write("old.js", "var first = 1;\nexport default first;\n");
    sandbox.repo.commit("a linter that never passes");
    // The same complaint, in another line and in a file with another name.
    sandbox.repo.write("sum.js", MENDED);
    std::fs::remove_file(sandbox.repo.path().join("old.js")).unwrap();
    sandbox.repo.write("other.js", "// Moved.\nvar first = 1;\nexport default first;\n");
    let report = prove(&sandbox, &[], 0);
    assert_eq!(claim(&report, "lint")["status"], "broken_before", "{report:#}");
    assert!(report["unchecked"].to_string().contains("with the same complaints"), "{report:#}");
    // One more. The second judgement of the same content has it from its cache.
    sandbox.repo.write("other.js", "var first = 1;\nvar second = 2;\nexport default first + second;\n");
    for _ in 0..2 {
        let report = prove(&sandbox, &[], 1);
        let lint = claim(&report, "lint");
        assert_eq!(lint["status"], "broken", "{report:#}");
        let findings = lint["evidence"]["findings"].as_array().unwrap();
        assert_eq!(findings.len(), 1, "{report:#}");
        assert_eq!(findings[0]["rule"], "new-complaint", "{report:#}");
        assert_eq!(findings[0]["location"]["path"], "other.js", "{report:#}");
        assert!(findings[0]["message"].as_str().unwrap().contains("second"), "{report:#}");
    }
    let words = ran(&sandbox, &[], 1).out;
    assert!(words.contains("new complaints 1") && words.contains("other.js:2"), "{words}");
}

#[test]
fn what_cannot_be_tested_is_not_acquitted() {
    let sandbox = Sandbox::of_files("project", &[("notes.txt", "nothing that anybody tests\n")]);
    sandbox.repo.write("notes.txt", "changed\n");
    let report = prove(&sandbox, &[], 5);
    assert_eq!(report["decision"], "unjudged", "{report:#}");
    assert_eq!(claim(&report, "secrets")["status"], "holds", "{report:#}");
    let words = ran(&sandbox, &[], 5).out;
    assert!(words.contains("could not judge") && words.contains("acquit init"), "{words}");

    // A command that has no report per test leaves single tests open, and that is named.
    let sandbox = package();
    let plain = crate::kit::MANIFEST.replace("node --test", "node test/old.test.js && echo ok");
    sandbox.repo.write("package.json", &plain);
    sandbox.repo.commit("a command of its own");
    sandbox.repo.write("sum.js", MENDED);
    let report = prove(&sandbox, &[], 0);
    assert!(report["unchecked"].to_string().contains("tells only whether all tests pass"), "{report:#}");

    let setup = "[setup]\nrun = \"exit 7\"\nlock_files = [\"README.md\"]\n[gates.test]\nrun = \"true\"\nkind = \"test\"\n";
    let sandbox = Sandbox::of_files("project", &[(".acquit/acquit.toml", setup)]);
    sandbox.repo.write("README.md", "changed\n");
    let report = prove(&sandbox, &[], 5);
    assert!(!report["stopped"].is_null(), "{report:#}");
}

#[test]
fn a_second_judgement_of_the_same_content_runs_nothing_again() {
    let sandbox = package();
    sandbox.repo.write("sum.js", MENDED);
    sandbox.repo.write("test/new.test.js", HONEST);
    let first = prove(&sandbox, &[], 0);
    let second = prove(&sandbox, &[], 0);
    for gate in ["test", "tdd"] {
        assert_eq!(claim(&first, gate)["reused"], false, "{first:#}");
        assert_eq!(claim(&second, gate)["reused"], true, "{second:#}");
    }
    let again = prove(&sandbox, &["--fresh"], 0);
    assert_eq!(claim(&again, "tdd")["reused"], false, "{again:#}");
    // Another change is judged anew.
    sandbox.repo.write("sum.js", BROKEN);
    let third = prove(&sandbox, &[], 1);
    assert_eq!(claim(&third, "test")["reused"], false, "{third:#}");
    assert!(rules(&third).contains(&"new-failure".to_owned()), "{third:#}");
}

/// The runs that were kept since the last call.
fn new_runs(sandbox: &Sandbox, known: &mut std::collections::BTreeSet<std::path::PathBuf>) -> usize {
    let folders = std::fs::read_dir(sandbox.place("acquit/verdicts")).unwrap().flatten();
    let files = folders.flat_map(|it| std::fs::read_dir(it.path().join("runs")).into_iter().flatten());
    let all: Vec<_> = files.flatten().map(|file| file.path()).collect();
    let before = known.len();
    known.extend(all);
    known.len() - before
}

#[test]
fn tests_run_again_only_on_content_on_which_they_did_not_run() {
    let sandbox = package();
    let mut known = std::collections::BTreeSet::new();
    sandbox.repo.write("sum.js", MENDED);
    sandbox.repo.write("test/new.test.js", HONEST);
    prove(&sandbox, &[], 0);
    // The change three times, and the base with its tests twice; `test` and `tdd` share the first.
    assert_eq!(new_runs(&sandbox, &mut known), 5);
    sandbox.repo.write("sum.js", &format!("{MENDED}// Another edit.\n"));
    let report = prove(&sandbox, &[], 0);
    assert_eq!(new_runs(&sandbox, &mut known), 3, "the base with its tests is as it was");
    assert!(claim(&report, "tdd")["evidence"]["red"].to_string().contains("three numbers"), "{report:#}");
    sandbox.repo.write("test/new.test.js", &format!("{HONEST}// Another edit.\n"));
    prove(&sandbox, &[], 0);
    assert_eq!(new_runs(&sandbox, &mut known), 5);
    // Content that is tested is not told from other content by anything else: a lie after an honest change is found.
    sandbox.repo.write("sum.js", BROKEN);
    let report = prove(&sandbox, &[], 1);
    assert!(rules(&report).contains(&"new-failure".to_owned()), "{report:#}");
}

#[test]
fn what_nobody_trusts_is_not_run_and_a_change_does_not_choose_its_own_rules() {
    let config = "[gates.test]\nrun = \"test -f README.md\"\nkind = \"test\"\n";
    let sandbox = Sandbox::of_files("project", &[(".acquit/acquit.toml", config)]);
    sandbox.repo.write("README.md", "changed\n");
    prove(&sandbox, &[], 0);
    // A change that loosens its own gate is judged by the base's.
    sandbox.repo.write(".acquit/acquit.toml", &config.replace("test -f README.md", "true"));
    std::fs::remove_file(sandbox.repo.path().join("README.md")).unwrap();
    let report = prove(&sandbox, &[], 1);
    assert_eq!(report["rules"], "base", "{report:#}");
    assert_eq!(claim(&report, "test")["status"], "broken", "{report:#}");

    let sandbox = Sandbox::of_files("project", &[(".acquit/acquit.toml", config)]).untrusted();
    sandbox.repo.write("README.md", "changed\n");
    let refused = ran(&sandbox, &[], 2);
    assert!(refused.err.contains("acquit trust"), "{refused}");
    let report = prove(&sandbox, &["--trust-base"], 0);
    assert_eq!(report["rules"], "base", "{report:#}");
}

#[test]
fn files_that_setup_copies_come_from_the_checkout_of_the_user() {
    let config = "[setup]\nrun = \"true\"\nlock_files = [\"README.md\"]\ncopy = [\"env.test\"]\n\
                  [gates.test]\nrun = \"grep -q 4711 env.test\"\nkind = \"test\"\n";
    for ignored in ["env.test\n", "other\n"] {
        let files = [(".acquit/acquit.toml", config), (".gitignore", ignored), ("README.md", "Words.\n")];
        let sandbox = Sandbox::of_files("project", &files);
        sandbox.repo.write("env.test", "PORT=4711\n");
        sandbox.repo.write("notes.txt", "changed\n");
        let report = prove(&sandbox, &[], 0);
        assert_eq!(claim(&report, "test")["status"], "holds", "{report:#}");
        // The base is judged with the same files, so it is no fault of the change.
        sandbox.repo.write("env.test", "PORT=1\n");
        let report = prove(&sandbox, &[], 5);
        assert_eq!(claim(&report, "test")["status"], "broken_before", "{report:#}");
    }
}

#[test]
fn a_change_of_scripts_needs_no_setup_of_its_own() {
    let sandbox = package();
    let manifest = crate::kit::MANIFEST.replace("node --test\"", "node --test\", \"start\": \"node .\"");
    sandbox.repo.write("package.json", &manifest);
    sandbox.repo.write("sum.js", MENDED);
    let report = prove(&sandbox, &[], 0);
    assert!(report.get("setups").is_none(), "{report:#}");
    sandbox.repo.write("package.json", &manifest.replace("\"type\"", "\"dependencies\": {}, \"type\""));
    let report = prove(&sandbox, &[], 0);
    assert_eq!(report["setups"][0]["changed"][0], "package.json", "{report:#}");
}

#[test]
fn an_interrupt_ends_it_and_leaves_nothing() {
    let mark = processes::mark();
    let config = format!("[gates.test]\nrun = \"echo {mark}; sleep 50\"\nkind = \"test\"\n");
    let sandbox = Sandbox::of_files("project", &[(".acquit/acquit.toml", &config)]);
    sandbox.repo.write("README.md", "changed\n");
    let running = sandbox.start(&["prove"]);
    let runs = || processes::marked(&mark).iter().any(|(_, line)| line.contains("sleep 50"));
    until("the gate runs", || runs().then_some(()));
    running.signal(Signal::INT);
    running.wait().must(4);
    assert_eq!(processes::marked(&mark), []);
    let left = |name: &str| std::fs::read_dir(sandbox.place(name)).into_iter().flatten().flatten().count();
    assert_eq!((left("acquit/proofs"), left("acquit/tasks")), (0, 0));
}

#[test]
fn detected_gates_are_saved_only_when_asked_for() {
    let sandbox = package();
    sandbox.repo.write("sum.js", MENDED);
    ran(&sandbox, &["--save"], 0);
    let text = std::fs::read_to_string(sandbox.repo.path().join(".acquit/acquit.toml")).unwrap();
    assert!(text.contains("[gates.tdd]"), "{text}");
}
