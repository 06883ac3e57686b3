//! The night shift as a table: every combination of which category finds something and whose verification fails, through the
//! function that decides, with the workflow as it is shipped; and three of them from end to end.
//!
//! The seeds' own lines that are shown here: NO_IMPROVEMENT only after all categories, with a reason for each; two retries after
//! a failed verification, each from a clean tree, with the verifier's message; the category as `refactoring (fallback from tests)`;
//! MR_CREATED only at the end of the whole sequence; no token for any agent.

use std::path::Path;

use acquit_core::agent::Usage;
use acquit_core::decide::{Input, decide};
use acquit_core::failure::Failure;
use acquit_core::ids::{Name, TaskId};
use acquit_core::leg::{Ending, Report};
use acquit_core::outcome::{Outcome, Source};
use acquit_core::task::{Base, End, Project, Seed, State, Task, Wish};
use acquit_core::template::{Found, Texts};
use acquit_core::time::Timestamp;
use acquit_core::workflow::{self, Around, Workflow};

use crate::{golden, project};

const CATEGORIES: [&str; 5] = ["tests", "refactoring", "docs", "security", "performance"];

/// What a category comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Luck {
    /// Nothing is worth doing.
    Nothing,
    /// Something is, and every try at it is rejected.
    Fails,
    /// Something is, and it stands so many rejected tries later.
    Works(u32),
}

/// The files as they are shipped.
struct Shipped;

impl Texts for Shipped {
    fn text(&self, path: &str) -> Found {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../app/shipped").join(path);
        std::fs::read_to_string(file)
            .map_or(Found::Absent, |text| Found::Text { shown: path.to_owned(), text })
    }

    fn names(&self, _: &str) -> Vec<String> {
        Vec::new()
    }
}

/// The night shift of a project with one gate, beginning with a category as a schedule lets it.
fn nightshift(first: usize) -> Workflow {
    let config =
        acquit_core::config::read("acquit.toml", "[gates.check]\nrun = \"true\"\nkind = \"test\"\n").unwrap();
    let Found::Text { text, .. } = Shipped.text("workflows/nightshift.toml") else { panic!("no workflow") };
    let around = Around { variables: &[], gates: &config.gates, budgets: &config.budgets, texts: &Shipped };
    let mut workflow =
        workflow::read_in("nightshift.toml", &Name::literal("nightshift"), &text, &around).unwrap();
    workflow.variation.as_mut().unwrap().values[..=first].rotate_right(1);
    workflow
}

fn task() -> Task {
    Task::new(Seed {
        id: TaskId(1),
        wish: Wish::titled("Night shift"),
        project: Project { name: "p".to_owned(), path: "/p".to_owned() },
        workflow: Name::literal("nightshift"),
        base: Base { branch: Some("main".to_owned()), commit: "base".to_owned(), work: None },
        branch: "night-shift/x-T-1".to_owned(),
        created: Timestamp(0),
    })
}

/// What every leg costs.
const COST: u64 = 1_000;

/// Plays a night to its end; gives the task and the stages that were gone through.
fn night(workflow: &Workflow, luck: &[Luck; 5]) -> (Task, Vec<String>) {
    let mut task = task();
    let mut stages = Vec::new();
    let apply = |task: &mut Task, input: Input| {
        for change in decide(task, workflow, input).unwrap() {
            task.apply(&change);
        }
    };
    apply(&mut task, Input::Begin);
    let mut rejected = 0;
    while let State::Working { leg, entry, .. } = task.state.clone() {
        assert!(stages.len() < 100, "a night without end: {stages:?}");
        let category = task.variation_value(workflow).unwrap();
        let mine = luck[task.tried.len()];
        stages.push(format!("{category}/{}", entry.stage));
        let passed = |name: &'static str, payload: serde_json::Value| Ending::Passed {
            outcome: Outcome { name: Name::literal(name), payload, source: Source::HandoffFile },
        };
        let said = |text: &str| serde_json::json!({ "summary": format!("{category}: {text}") });
        let mut tip = None;
        let ending = match (entry.stage.as_str(), mine) {
            ("analyze", Luck::Nothing) => passed("no_improvement", said("all is fine")),
            ("analyze", Luck::Fails | Luck::Works(_)) => {
                rejected = 0;
                passed("plan_complete", said("something"))
            }
            ("implement", _) => {
                // The seed's line: a clean tree before each try.
                assert_eq!(task.start_of(&entry, workflow), "base");
                tip = Some(format!("try-{leg}"));
                passed("pr_ready", said("done"))
            }
            ("verify", Luck::Works(after)) if rejected >= after => passed("passed", serde_json::json!({})),
            ("verify", _) => {
                rejected += 1;
                let failure = Failure {
                    gate: Name::literal("check"),
                    kind: Name::literal("test"),
                    message: format!("{category} broke it"),
                    location: None,
                    excerpt: None,
                };
                let Ending::Passed { outcome } = passed("passed", serde_json::json!({})) else {
                    unreachable!()
                };
                Ending::Rejected { outcome, failures: vec![failure] }
            }
            ("describe", _) => passed("described", serde_json::json!({ "title": "Better", "summary": "x" })),
            ("mr", _) => passed("done", serde_json::json!({})),
            (stage, _) => panic!("an unknown stage {stage}"),
        };
        let usage = Usage { cost_micros: Some(COST), ..Usage::default() };
        let report = Report { tip, usage, ..Report::bare(ending) };
        apply(&mut task, Input::LegEnded { leg, report: Box::new(report) });
    }
    (task, stages)
}

/// Every night that there can be: what comes after the category that works is never looked at.
fn nights() -> Vec<[Luck; 5]> {
    let mut all = Vec::new();
    for works in 0..=5_usize {
        for pattern in 0..(1_u32 << works.min(5)) {
            for after in 0..=2 {
                let mut luck = [Luck::Nothing; 5];
                for (index, one) in luck.iter_mut().enumerate().take(works) {
                    *one = if pattern >> index & 1 == 1 { Luck::Fails } else { Luck::Nothing };
                }
                if works < 5 {
                    luck[works] = Luck::Works(after);
                } else if after > 0 {
                    continue;
                }
                all.push(luck);
            }
        }
    }
    all
}

#[test]
fn every_night_ends_as_the_seeds_say_with_names_reasons_and_costs() {
    let nights = nights();
    assert_eq!(nights.len(), 3 * 31 + 32);
    for first in 0..CATEGORIES.len() {
        let workflow = nightshift(first);
        let mut order = CATEGORIES.to_vec();
        order[..=first].rotate_right(1);
        for luck in &nights {
            let (task, stages) = night(&workflow, luck);
            let mut expected = Vec::new();
            let mut reasons = Vec::new();
            let mut end = End::NoImprovement;
            for (category, luck) in order.iter().zip(luck) {
                let mut go = |stage: &str| expected.push(format!("{category}/{stage}"));
                go("analyze");
                match luck {
                    Luck::Nothing => reasons.push((*category, "all is fine")),
                    Luck::Fails => {
                        for _ in 0..3 {
                            go("implement");
                            go("verify");
                        }
                        reasons.push((*category, "the budget for retries (2) is spent"));
                    }
                    Luck::Works(after) => {
                        for _ in 0..=*after {
                            go("implement");
                            go("verify");
                        }
                        go("describe");
                        go("mr");
                        end = End::Done;
                        break;
                    }
                }
            }
            assert_eq!(stages, expected, "{luck:?}");
            assert_eq!(task.state, State::Ended { end: end.clone() }, "{luck:?}");
            let tried: Vec<&str> = task.tried.iter().map(|tried| tried.value.as_str()).collect();
            let vain: Vec<&str> = reasons.iter().map(|(category, _)| *category).collect();
            assert_eq!(tried, vain, "{luck:?}");
            for (tried, (_, reason)) in task.tried.iter().zip(&reasons) {
                assert!(tried.reason.contains(reason), "{}: {}", tried.value, tried.reason);
            }
            assert_eq!(task.usage().cost_micros, Some(COST * stages.len() as u64));
            assert_eq!(
                stages.iter().filter(|stage| stage.ends_with("/mr")).count(),
                usize::from(end == End::Done)
            );
        }
    }
}

/// What agents do in a night: the first category has nothing, the next has something, which is good at the third try.
const NIGHT: &str = r#"
[[analyze]]
[[analyze.step]]
outcome = "no_improvement"
payload = { summary = "everything is tested" }
[[analyze]]
[[analyze.step]]
output = "plan.md"
content = "write good.txt"
[[analyze.step]]
outcome = "plan_complete"
payload = { summary = "x", candidates = [{ files = ["good.txt"], description = "d", rationale = "r" }] }
[[implement]]
[[implement.step]]
run = "test ! -e bad.txt && echo clean >> @ROOT@/trees; echo x > $(test $ACQUIT_ATTEMPT -ge 3 && echo good.txt || echo bad.txt)"
[[implement.step]]
outcome = "pr_ready"
payload = { summary = "done" }
[[describe]]
[[describe.step]]
outcome = "described"
payload = { title = "Test what was not", summary = "x", alternatives = ["nothing else"] }
"#;

#[test]
fn a_night_falls_back_retries_from_a_clean_tree_and_offers_one_request() {
    let sandbox = project(NIGHT);
    sandbox.acquit(&["run", "-w", "nightshift", "Night shift"]).must(0);
    insta::assert_snapshot!("nightshift", golden(&sandbox));
    let task = sandbox.task();
    assert!(task.seed.branch.starts_with("night-shift/"), "{}", task.seed.branch);
    let trees = crate::common::read(&sandbox.place("trees"));
    assert_eq!(trees.lines().count(), 3, "each of three tries has a clean tree");
    let tree = sandbox.repo.git(&["ls-tree", "--name-only", &task.seed.branch]);
    assert!(tree.contains("good.txt") && !tree.contains("bad.txt"), "{tree}");
    assert_eq!(sandbox.refs("refs/heads/night-shift").len(), 1);

    // `refactoring (fallback from tests)` is how a fallback is named everywhere.
    let fallback = "refactoring (fallback from tests)";
    sandbox.acquit(&["task", "list"]).must(0).said(&format!("Night shift [{fallback}]"));
    sandbox.acquit(&["show", "T-1"]).must(0).said(&format!("category  {fallback}"));

    // The verifier's message reaches the next try; the category is named with what it falls back from.
    let legs = sandbox.legs();
    let prompts: Vec<String> = legs
        .iter()
        .filter(|leg| leg.entry.stage == *"implement")
        .map(|leg| crate::common::read(&sandbox.leg_file(leg.id.number, "prompt.md")))
        .collect();
    assert_eq!(prompts.len(), 3);
    assert!(
        prompts.iter().all(|prompt| prompt.contains("This turn is about: refactoring (fallback from tests)"))
    );
    assert!(!prompts[0].contains("# What the checks found"));
    assert!(prompts[1].contains("the tree is as it was before it") && prompts[1].contains("## Gate check"));
}

#[test]
fn a_night_that_changes_too_much_or_a_dependency_or_what_is_new_is_no_night() {
    // Something is found at once.
    let second = NIGHT.find("[[analyze]]\n[[analyze.step]]\noutput").unwrap();
    let find = &NIGHT[second..];
    let deeds = [
        ("seq 200 > good.txt", "small"),
        ("echo x > good.txt; echo '{}' > package.json", "small"),
        ("echo x > good.txt; echo more >> README.md", "small"),
    ];
    for (deed, gate) in deeds {
        let start = find.find("run = \"").unwrap();
        let end = start + find[start..].find('\n').unwrap();
        let script = format!("{}run = \"{deed}\"{}", &find[..start], &find[end..]);
        let sandbox = project(&script);
        // One category and one try are enough here.
        let Found::Text { text, .. } = Shipped.text("workflows/nightshift.toml") else {
            panic!("no workflow")
        };
        let values = "\"refactoring\", \"docs\", \"security\", \"performance\"";
        let short =
            text.replace(&format!("\"tests\", {values}"), "\"tests\"").replace("retries = 2", "retries = 0");
        sandbox.repo.write(".acquit/workflows/nightshift.toml", &short);
        sandbox.acquit(&["run", "-w", "nightshift", "Night shift"]).must(1);
        let task = sandbox.task();
        assert_eq!(task.state, State::Ended { end: End::NoImprovement }, "{deed}");
        let [tried] = task.tried.as_slice() else { panic!("{deed}: {:?}", task.tried) };
        assert!(tried.reason.contains(gate), "{deed}: {tried:?}");
        assert_eq!(sandbox.refs("refs/heads/night-shift").len(), 0);
    }
}
