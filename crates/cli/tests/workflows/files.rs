//! Where workflows come from: the program, the project over it one file at a time, and copies that are the project's own.

use crate::common::Sandbox;
use crate::{PROJECT, UNUSED, project};

#[test]
fn the_list_says_where_each_workflow_comes_from() {
    let sandbox = project("");
    let list = sandbox.acquit(&["workflow", "list", "--json"]).must(0).json();
    let origins: Vec<String> = list
        .as_array()
        .unwrap()
        .iter()
        .map(|known| format!("{} {}", known["name"].as_str().unwrap(), known["origin"].as_str().unwrap()))
        .collect();
    let expected = [
        "bugfix shipped",
        "feature shipped",
        "flow project",
        "nightshift shipped",
        "pipeline shipped",
        "review shipped",
    ];
    assert_eq!(origins, expected);
    for name in ["bugfix", "feature", "nightshift", "pipeline", "review"] {
        sandbox.acquit(&["workflow", "check", name]).must(0);
        sandbox.acquit(&["workflow", "graph", name]).must(0).said("flowchart");
    }
    sandbox.acquit(&["workflow", "eject", "feature", "--only", "workflow"]).must(0);
    sandbox.acquit(&["workflow", "list"]).must(0).said("project, overrides shipped");
}

#[test]
fn a_copy_counts_before_the_programs_own_and_is_never_written_over() {
    let sandbox = project("");
    sandbox.acquit(&["workflow", "eject", "feature"]).must(0).said(".acquit/agents/reviewer.md");
    let file = sandbox.repo.path().join(".acquit/agents/coder.md");
    assert!(sandbox.repo.path().join(".acquit/prompts/findings.md").is_file());
    assert!(!sandbox.repo.path().join(".acquit/agents/qa.md").exists(), "feature has no such role");
    std::fs::write(&file, "+++\nmode = \"implement\"\n+++\nMine for {{ task }}.\n").unwrap();
    let role = sandbox.acquit(&["prompt", "show", "--stage", "code", "--section", "role", "x"]).must(0);
    role.said("Mine for T-0.");

    let workflow = sandbox.repo.path().join(".acquit/workflows/feature.toml");
    let changed = std::fs::read_to_string(&workflow).unwrap() + "# mine\n";
    std::fs::write(&workflow, &changed).unwrap();
    sandbox.acquit(&["workflow", "eject", "feature"]).must(2).said("--force");
    assert_eq!(std::fs::read_to_string(&workflow).unwrap(), changed);
    sandbox.acquit(&["workflow", "eject", "bugfix"]).must(0).said("kept .acquit/agents/coder.md");
    assert!(std::fs::read_to_string(&file).unwrap().contains("Mine"));
    sandbox.acquit(&["workflow", "eject", "feature", "--force"]).must(0);
    assert!(!std::fs::read_to_string(&file).unwrap().contains("Mine"));
    sandbox.acquit(&["workflow", "eject", "nothing"]).must(2).said("bugfix, feature");
}

#[test]
fn a_project_without_gates_can_run_nothing_that_needs_them() {
    let config = PROJECT.split("[gates.check]").next().unwrap();
    let sandbox = Sandbox::new(config, UNUSED, "");
    sandbox.acquit(&["run", "x"]).must(2).said("the project has no gates");
    sandbox.acquit(&["workflow", "check", "feature"]).must(2).said("the project has no gates");
    sandbox.acquit(&["workflow", "list"]).must(0).said("cannot be used here: the project has no gates");
    sandbox.acquit(&["workflow", "check", "review"]).must(0);
}

#[test]
fn every_mistake_of_a_definition_or_a_text_has_its_file_line_and_hint() {
    let sandbox = project("");
    let table = [
        ("agents/coder.md", "no head\n", ".acquit/agents/coder.md:1:1: the definition has no head"),
        (
            "agents/coder.md",
            "+++\nmode = \"implement\"\ntier = \"huge\"\n+++\nx\n",
            "coder.md:3:8: unknown tier `huge`",
        ),
        (
            "agents/coder.md",
            "+++\ntools = [\"read\", \"hammer\"]\n+++\nx\n",
            "coder.md:2:18: unknown tool `hammer`",
        ),
        ("agents/coder.md", "+++\nmdoe = \"implement\"\n+++\nx\n", "coder.md:2:1: unknown key `mdoe`"),
        ("agents/coder.md", "+++\nmode = \"implement\"\n+++\n\n", "the definition says nothing"),
        (
            "agents/coder.md",
            "+++\ntier = \"fast\"\nmodel = \"x\"\n+++\nx\n",
            "coder.md:3:1: both `tier` and `model`",
        ),
        (
            "agents/coder.md",
            "+++\nmode = \"implement\"\n+++\nx\n\ny {{ tilte }}\n",
            "coder.md:6:3: unknown variable `tilte`",
        ),
        (
            "agents/coder.md",
            "+++\ndescription = \"x\"\n+++\nx\n",
            "neither this stage nor the role `coder` has a mode",
        ),
        ("prompts/data.md", "a {{ b\n", "prompts/data.md:1:3: `{{` is never closed"),
        ("prompts/data.md", "x\n{{> data.md }}\n", "prompts/data.md:2:1: `prompts/data.md` includes itself"),
        ("prompts/data.md", "{{> ../../etc/passwd.md }}", "`../../etc/passwd.md` cannot be included"),
        ("prompts/data.md", "{{> finding.md }}", "there is no file `prompts/finding.md`"),
        ("prompts/data.md", "{{> [category].md }}", "`[category]` does not choose a file"),
        ("prompts/nightshift/guidance/docs.md", "{{ HOME }}", "docs.md:1:1: unknown variable `HOME`"),
    ];
    for (path, text, expected) in table {
        let file = sandbox.repo.path().join(".acquit").join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, text).unwrap();
        let ran = sandbox.acquit(&["workflow", "check"]);
        assert_eq!(ran.code, Some(2), "{path} {text:?}\n{}{}", ran.out, ran.err);
        assert!(ran.err.contains(expected), "{expected}\n{}", ran.err);
        std::fs::remove_file(&file).unwrap();
    }
    sandbox.acquit(&["workflow", "check"]).must(0);
}

#[test]
fn a_link_out_of_the_folder_is_not_read_into_a_prompt() {
    let sandbox = project("");
    let secret = sandbox.place("outside.md");
    std::fs::write(&secret, "private").unwrap();
    let folder = sandbox.repo.path().join(".acquit/prompts");
    std::fs::create_dir_all(&folder).unwrap();
    std::os::unix::fs::symlink(&secret, folder.join("data.md")).unwrap();
    let ran = sandbox.acquit(&["prompt", "show", "--stage", "code", "x"]).must(2);
    ran.said("a link that leads out of .acquit/");
    assert!(!format!("{}{}", ran.out, ran.err).contains("private"));
}
