//! What is well written is read as it is meant, whatever is written does not break the reader, and a checked workflow can be
//! drawn.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use acquit_core::config::{self, Config, check_stages};
use acquit_core::gate::{Command, Severity};
use acquit_core::ids::Name;
use acquit_core::time::Span;
use acquit_core::toml_reader::Mistakes;
use acquit_core::workflow::{self, Around, Consent, Limits, Stage, Target, Work, Workflow, mermaid};
use proptest::prelude::*;

use support::Sample;

const FULL: &str = include_str!("../reference/workflow.toml");
const CONFIG: &str = include_str!("../reference/acquit.toml");

fn read(text: &str) -> Result<Workflow, Mistakes> {
    let budgets = std::collections::BTreeMap::new();
    let around = Around { variables: &[], gates: &[], budgets: &budgets, texts: &Sample };
    workflow::read_in("workflows/full.toml", &Name::literal("full"), text, &around)
}

#[test]
fn a_workflow_with_everything_in_it_is_read_as_written() {
    let workflow = read(FULL).unwrap();
    let names: Vec<&str> = workflow.stages.iter().map(|stage| stage.name.as_str()).collect();
    assert_eq!(
        names,
        ["plan", "code", "mend", "unite", "verify", "review", "sign-off", "deliver", "publish", "tell"]
    );
    assert_eq!(workflow.budgets["test"], 3);
    assert_eq!(workflow.budgets["rework"], 2);
    assert_eq!(workflow.budgets["lost"], 5);
    insta::assert_json_snapshot!(workflow);
}

#[test]
fn a_checked_workflow_survives_being_stored() {
    let workflow = read(FULL).unwrap();
    let stored = serde_json::to_string(&workflow).unwrap();
    assert_eq!(serde_json::from_str::<Workflow>(&stored).unwrap(), workflow);
    // Schedules, channels and what a machine keeps are no part of a task's definition.
    let config = Config {
        retention: acquit_core::retention::Retention::default(),
        schedules: Vec::new(),
        notices: config::notify::Notices::default(),
        trusted_paths: Vec::new(),
        fetch_from: Vec::new(),
        floor: config::Floor::default(),
        ..config::read("acquit.toml", CONFIG).unwrap()
    };
    let stored = serde_json::to_string(&config).unwrap();
    assert_eq!(serde_json::from_str::<Config>(&stored).unwrap(), config);
}

#[test]
fn what_is_left_out_has_its_default() {
    let workflow = read(
        "[gates.lint]\nrun = [\"cargo\", \"clippy\"]\n[gates.smoke]\nrun = \"./smoke\"\n\
         [stages.look]\nmode = \"investigate\"\ngates = [\"lint\", \"smoke\"]\non.found = \"done\"\n\
         on.unclear = []\n",
    )
    .unwrap();
    assert_eq!(workflow.start, Name::literal("look"));
    let [lint, smoke] = workflow.gates.as_slice() else { panic!("{:?}", workflow.gates) };
    assert_eq!((lint.kind.as_str(), smoke.kind.as_str()), ("lint", "gate"));
    assert_eq!((lint.severity, lint.timeout), (Severity::Error, Span::mins(10)));
    let clippy = Command::Program(vec!["cargo".to_owned(), "clippy".to_owned()]);
    assert_eq!(lint.check.command(), Some(&clippy));
    let stage = workflow.stage("look").unwrap();
    assert_eq!((stage.limits, stage.consent), (Limits::default(), Consent::NotNeeded));
    assert_eq!(stage.on["found"].to, [Target::Done]);
    assert_eq!(stage.on["unclear"].to, []);
    let Work::Agent(agent) = &stage.work else { panic!("{:?}", stage.work) };
    assert_eq!(agent.outputs, ["*.md", "*.json", "*.txt", "*.yaml", "*.yml"]);
}

#[test]
fn the_projects_variables_are_known_to_its_workflows() {
    let text = "[stages.code]\nmode = \"implement\"\ninstructions = \"for {{ reviewer }}, {{task}}\"\n\
                on.pr_ready = \"done\"\n";
    let name = Name::literal("x");
    assert!(workflow::read("x.toml", &name, text, &[]).is_err());
    workflow::read("x.toml", &name, text, &["reviewer".to_owned()]).unwrap();
}

#[test]
fn a_configuration_is_read_as_written() {
    insta::assert_json_snapshot!(config::read("acquit.toml", CONFIG).unwrap());
    assert_eq!(config::read("acquit.toml", "").unwrap(), Config::default());
}

#[test]
fn the_only_agent_is_the_default_and_several_need_a_word() {
    let one = "[agents.a]\nadapter = \"command\"\nrun = \"a\"\n";
    let two = format!("{one}[agents.b]\nadapter = \"scripted\"\nscript = \"b.json\"\n");
    assert_eq!(config::read("x", one).unwrap().agent, Some(Name::literal("a")));
    assert_eq!(config::read("x", &two).unwrap().agent, None);
}

#[test]
fn a_stage_whose_agent_is_not_declared_is_found() {
    let workflow = read(FULL).unwrap();
    let shown = |config: &str| -> Vec<String> {
        let missing = check_stages(&workflow, &config::read("x", config).unwrap());
        // The stage that sends a message has a test of its own.
        missing
            .iter()
            .filter(|it| it.stage != *"tell")
            .map(|it| format!("{it} ({})", it.hint.as_deref().unwrap_or("")))
            .collect()
    };
    assert_eq!(shown(CONFIG), [""; 0]);
    assert_eq!(
        shown("[agents.codr]\nadapter = \"command\"\nrun = \"x\"\n"),
        [
            "workflow `full`, stage `plan`: unknown agent `coder` (did you mean `codr`?)",
            "workflow `full`, stage `plan`: unknown secret `REGISTRY_TOKEN` (declare it in acquit.toml: [secrets] with REGISTRY_TOKEN = { env = \"REGISTRY_TOKEN\" })"
        ]
    );
    assert_eq!(
        shown("")[2],
        "workflow `full`, stage `code`: no agent, and there is no default (declare one in acquit.toml: [agents.NAME] with adapter and run)"
    );
}

#[test]
fn a_stage_whose_secret_is_not_declared_or_comes_from_elsewhere_too_is_found() {
    let workflow = read(FULL).unwrap();
    let shown = |config: &str| -> Vec<String> {
        let missing = check_stages(&workflow, &config::read("x", config).unwrap());
        // The stage that sends a message has a test of its own.
        missing
            .iter()
            .filter(|it| it.stage != *"tell")
            .map(|it| format!("{it} ({})", it.hint.as_deref().unwrap_or("")))
            .collect()
    };
    let agent = "[agents.coder]\nadapter = \"command\"\nrun = \"x\"\n";
    assert_eq!(
        shown(&format!("[secrets]\nREGISTRY_TOKN = {{ env = \"X\" }}\n{agent}")),
        ["workflow `full`, stage `plan`: unknown secret `REGISTRY_TOKEN` (did you mean `REGISTRY_TOKN`?)"]
    );
    let secret = "[secrets]\nREGISTRY_TOKEN = { env = \"X\" }\n";
    assert_eq!(shown(&format!("{secret}{agent}")), [""; 0]);
    for (list, value) in [("env", "{ REGISTRY_TOKEN = \"1\" }"), ("pass_env", "[\"REGISTRY_TOKEN\"]")] {
        assert_eq!(
            shown(&format!("{secret}{agent}{list} = {value}\n")),
            [format!(
                "workflow `full`, stage `plan`: the secret `REGISTRY_TOKEN` is also in `{list}` of the agent `coder` (it can have only one value; remove it from `{list}`)"
            )]
        );
    }
}

#[test]
fn a_stage_that_sends_a_message_needs_its_channel() {
    let workflow = read(FULL).unwrap();
    let lacks = |config: &str| -> Vec<String> {
        let missing = check_stages(&workflow, &config::read("x", config).unwrap());
        let of_message = missing.iter().filter(|it| it.stage == *"tell");
        of_message.map(|it| format!("{} ({})", it.what, it.hint.as_deref().unwrap_or(""))).collect()
    };
    assert_eq!(lacks(CONFIG), [""; 0]);
    let hint = "declare one in acquit.toml: [notify.phone] with kind = \"ntfy\" and a topic";
    assert_eq!(lacks(""), [format!("it sends a message, and there is no channel ({hint})")]);
    let other = "[notify.phon]\nkind = \"ntfy\"\ntopic = \"nights\"\n";
    assert_eq!(lacks(other), ["unknown channel `phone` (did you mean `phon`?)"]);
}

#[test]
fn paths_are_kept_in_their_plain_form_and_folders_of_ones_own_can_be_written() {
    let config = config::read(
        "x",
        "protected = [\"*\", \"rel*\"]\n[access]\nread = [\"/opt//sdk/./bin/\"]\n\
         write = [\"~/.cache/x/\", \"/opt/cache\", \"~/.cargo/registry\", \"~/.sshx\"]\n",
    )
    .unwrap();
    assert_eq!(config.access.read, ["/opt/sdk/bin"]);
    assert_eq!(config.access.write, ["~/.cache/x", "/opt/cache", "~/.cargo/registry", "~/.sshx"]);
}

#[test]
fn a_workflow_is_drawn_with_its_shapes_outcomes_and_fixes() {
    insta::assert_snapshot!(mermaid(&read(FULL).unwrap()));
}

#[test]
fn no_text_of_a_workflow_becomes_markup_of_its_picture() {
    let text = "[stages.end]\nkind = \"human\"\nquestion = '''\n\"]; click x \"javascript:alert(1)\" <b>#quot;|`\\{{'''\n\
                on = { approved = \"done\", rejected = [\"failed\", \"person\"], later = [] }\n";
    let drawn = mermaid(&read(text).unwrap());
    insta::assert_snapshot!(drawn);
}

proptest! {
    #[test]
    fn arbitrary_text_never_breaks_the_reader(text in any::<String>()) {
        let _ = read(&text);
        let _ = config::read("x", &text);
    }

    #[test]
    fn arbitrary_bits_of_toml_never_break_the_reader(
        bits in prop::collection::vec(prop::sample::select(BITS.to_vec()), 0..40)
    ) {
        let text = bits.concat();
        let _ = config::read("x", &text);
        if let Ok(workflow) = read(&text) {
            prop_assert!(sound(&workflow), "{text}");
        }
    }

    #[test]
    fn a_mutated_workflow_is_refused_with_places_or_is_sound(
        cut in 0..FULL.len(), length in 0..30_usize, put in "[ -~\n]{0,8}", move_to in 0..FULL.len()
    ) {
        for text in [splice(FULL, cut, length, &put), splice(FULL, move_to, 0, &slice(FULL, cut, length))] {
            match read(&text) {
                Ok(workflow) => {
                    prop_assert!(sound(&workflow));
                    prop_assert!(mermaid(&workflow).starts_with("flowchart TD\n"));
                }
                Err(Mistakes(mistakes)) => {
                    prop_assert!(!mistakes.is_empty());
                    let lines = text.lines().count() + 1;
                    prop_assert!(mistakes.iter().all(|it| (1..=lines).contains(&it.line) && it.column > 0));
                }
            }
        }
        let _ = config::read("x", &splice(CONFIG, cut % CONFIG.len(), length, &put));
    }
}

/// What every checked workflow promises to those who run it.
fn sound(workflow: &Workflow) -> bool {
    let resolves = |target: &Target| match target {
        Target::Stage(name) => workflow.stage(name.as_str()).is_some(),
        Target::NextVariation => workflow.variation.as_ref().is_some_and(|it| it.first < it.values.len()),
        Target::Done | Target::Failed | Target::Person | Target::Back => true,
    };
    let transitions = || workflow.stages.iter().flat_map(|stage| stage.on.values());
    workflow.stage(workflow.start.as_str()).is_some()
        && transitions().flat_map(|it| &it.to).all(resolves)
        && transitions().filter_map(|it| it.budget.as_ref()).all(|it| workflow.budgets.contains_key(it))
        && workflow.gates.iter().all(|gate| workflow.budgets.contains_key(&gate.kind))
        && workflow
            .stages
            .iter()
            .flat_map(|stage| &stage.gates)
            .all(|it| workflow.gate(it.as_str()).is_some())
        && transitions().any(|it| it.to.contains(&Target::Done))
        && ends(workflow)
}

/// Whether a task that asks nobody and spends nothing comes to an end: taking away, again and again, the stages that lead
/// to no other by themselves leaves none.
fn ends(workflow: &Workflow) -> bool {
    let person = |stage: &Stage| matches!(stage.work, Work::Human { .. });
    let by_itself = |stage: &Stage, left: &[&Stage]| {
        let leaves = !person(stage) && stage.consent != Consent::AfterIt;
        leaves
            && stage.on.values().any(|transition| match transition.to.as_slice() {
                [Target::Stage(to)] if transition.budget.is_none() => left
                    .iter()
                    .any(|next| next.name == *to && !person(next) && next.consent != Consent::BeforeIt),
                _ => false,
            })
    };
    let mut left: Vec<&Stage> = workflow.stages.iter().collect();
    loop {
        let on: Vec<&Stage> = left.iter().filter(|stage| by_itself(stage, &left)).copied().collect();
        if on.len() == left.len() {
            return left.is_empty();
        }
        left = on;
    }
}

const BITS: [&str; 32] = [
    "[stages.a]\n",
    "[stages.b]\n",
    "[stages.a.on]\n",
    "[stages.b.on.x]\n",
    "[budgets]\n",
    "[variation]\n",
    "[gates.g]\n",
    "[setup]\n",
    "[agents.a]\n",
    "mode = \"fix\"\n",
    "mode = \"design\"\n",
    "kind = \"human\"\n",
    "kind = \"check\"\n",
    "question = \"?\"\n",
    "gates = [\"g\"]\n",
    "fix = \"b\"\n",
    "run = \"x\"\n",
    "run = []\n",
    "check = \"tdd\"\n",
    "check = \"scope\"\n",
    "report = \"libtest\"\n",
    "report = { junit = \"x\" }\n",
    "on = { x = \"b\" }\n",
    "x = \"a\"\n",
    "fixed = \"back\"\n",
    "to = [\"a\", \"done\"]\n",
    "y = \"done\"\n",
    "budget = \"test\"\n",
    "values = [\"a\"]\n",
    "variable = \"v\"\n",
    "schema = { type = [1] }\n",
    "timeout = 1e400\n",
];

/// The text with `length` bytes at `at` replaced, moved outwards to whole characters.
fn splice(text: &str, at: usize, length: usize, put: &str) -> String {
    let (start, end) = bounds(text, at, length);
    format!("{}{put}{}", &text[..start], &text[end..])
}

fn slice(text: &str, at: usize, length: usize) -> String {
    let (start, end) = bounds(text, at, length);
    text[start..end].to_owned()
}

fn bounds(text: &str, at: usize, length: usize) -> (usize, usize) {
    let whole = |mut at: usize| {
        while !text.is_char_boundary(at) {
            at += 1;
        }
        at
    };
    (whole(at), whole((at + length).min(text.len())))
}

#[test]
fn what_is_not_enabled_is_left_out() {
    let text = r#"
[gates.lint]
run = "true"
enabled = false
[gates.test]
run = "true"
[stages.plan]
enabled = false
mode = "plan"
on = { plan_complete = "code", stuck = "person" }
[stages.code]
mode = "implement"
gates = ["lint", "test"]
fix = "mend"
on = { pr_ready = "look" }
[stages.mend]
enabled = false
mode = "fix"
on = { fixed = "back" }
[stages.look]
enabled = false
mode = "review"
on = { approved = "deliver", changes_requested = { to = "code", budget = "review" } }
[stages.deliver]
kind = "action"
action = "squash"
on = { done = "done" }
"#;
    let workflow = read(text).unwrap();
    let names: Vec<&str> = workflow.stages.iter().map(|stage| stage.name.as_str()).collect();
    assert_eq!(names, ["code", "deliver"]);
    assert_eq!(workflow.start.as_str(), "code");
    let code = workflow.stage("code").unwrap();
    assert_eq!(code.gates, [Name::literal("test")]);
    assert_eq!(code.fix, None);
    assert_eq!(code.on["pr_ready"].to, [Target::Stage(Name::literal("deliver"))]);

    // Nobody can say how a task goes on without it.
    let lost = text.replace("approved = \"deliver\"", "approved = [\"deliver\", \"code\"]");
    let mistakes = read(&lost).unwrap_err().to_string();
    assert!(mistakes.contains("the stage `look` cannot be left out"), "{mistakes}");
}

#[test]
fn a_mode_of_the_workflow_has_the_rules_of_another_with_its_own_words_and_gates() {
    let text = r#"
[gates.links]
run = "true"
[gates.test]
run = "true"
[modes.document]
like = "design"
instructions = "Write for newcomers."
gates = ["links"]
[modes.implement]
gates = ["test"]
[stages.guide]
mode = "document"
instructions = "Describe the API."
on = { written = "code" }
[stages.code]
mode = "implement"
on = { pr_ready = "more" }
[stages.more]
mode = "implement"
gates = []
tools = ["read", "edit"]
turns = 7
inputs = ["guide.md"]
fail_on_warning = true
on = { pr_ready = "done" }
"#;
    let workflow = read(text).unwrap();
    let work = |name: &str| match &workflow.stage(name).unwrap().work {
        Work::Agent(work) => work.clone(),
        other => panic!("{other:?}"),
    };
    let guide = work("guide");
    assert_eq!(guide.mode, workflow::Mode::Design);
    let told = guide.instructions.render(&std::collections::BTreeMap::new()).unwrap();
    assert_eq!(told, "Write for newcomers.\n\nDescribe the API.");
    let gates = |name: &str| workflow.stage(name).unwrap().gates.clone();
    assert_eq!(gates("guide"), [Name::literal("links")]);
    assert_eq!(gates("code"), [Name::literal("test")]);
    assert!(gates("more").is_empty(), "what a stage says counts before its mode");
    let more = workflow.stage("more").unwrap();
    assert_eq!(more.limits.turns, Some(7));
    assert_eq!(more.warnings, workflow::Warnings::Reject);
    assert_eq!(work("more").tools().unwrap().len(), 2);
    assert_eq!(work("more").inputs, ["guide.md"]);

    let mistakes =
        read(&text.replace("mode = \"document\"", "mode = \"documment\"")).unwrap_err().to_string();
    assert!(mistakes.contains("unknown mode `documment`") && mistakes.contains("`document`"), "{mistakes}");
}
