//! Limits of a stage on turns and money: who is stopped, and who is told that nothing stops an agent.

use acquit_core::leg::Ending;
use acquit_testkit::model::{Scripts, Step};

use crate::common::{Sandbox, read};
use crate::kit::{Agent, Live, More};

const TWO_TURNS: &str = r#"
budgets = { limit = 0 }
[stages.code]
mode = "implement"
instructions = "[[code]]"
turns = 2
on = { pr_ready = "done" }
"#;

/// SPEC: "Turn limit".
#[track_caller]
fn stops_after_two_turns(agent: Agent) {
    let steps =
        ["one", "two", "three", "four", "five", "six"].map(|name| Step::bash(&format!("touch {name}")));
    let scripts = Scripts::default().with("code", steps);
    let Some(live) = Live::new(agent, TWO_TURNS, scripts, More::default()) else { return };
    live.run("Try it", 3).said("it took all the turns that it has");
}

#[test]
fn claude_stops_at_the_turn_limit_of_its_stage() {
    stops_after_two_turns(Agent::Claude);
}

/// `claude_stops_…` and `any_agent_stops_…` show the rule in the ordinary run.
#[test]
fn soak_codex_stops_at_the_turn_limit_of_its_stage() {
    stops_after_two_turns(Agent::Codex);
}

/// `claude_stops_…` and `any_agent_stops_…` show the rule in the ordinary run.
#[test]
fn soak_opencode_stops_at_the_turn_limit_of_its_stage() {
    stops_after_two_turns(Agent::Opencode);
}

/// `claude_stops_…` and `any_agent_stops_…` show the rule in the ordinary run.
#[test]
fn soak_gemini_stops_at_the_turn_limit_of_its_stage() {
    stops_after_two_turns(Agent::Gemini);
}

#[test]
fn any_agent_stops_at_the_turn_limit_of_its_stage() {
    let step = |n: u32| {
        format!("{{ run = \"echo {n} >> turns.txt\" }}, {{ say = \"next\" }}, {{ pause = \"700ms\" }},")
    };
    let steps: String = (1..=5).map(step).collect();
    let script =
        format!("[[code]]\nstep = [{steps} {{ outcome = \"pr_ready\", payload = {{ summary = \"x\" }} }}]\n");
    let sandbox = Sandbox::scripted(TWO_TURNS, &script);
    sandbox.run_to(3).said("it took all the turns that it has (2)");
    let endings = sandbox.endings();
    let [Ending::TimedOut { reason }] = endings.as_slice() else { panic!("{endings:?}") };
    assert!(reason.contains("the limit is `turns` of stage code"), "{reason}");
    // With a limit that it does not reach, nothing stops it.
    let free = Sandbox::scripted(&TWO_TURNS.replace("turns = 2", "turns = 6"), &script);
    free.run_to(0);
}

/// What `acquit workflow check` says of an agent at a stage with a limit on turns and on money.
fn warnings(agent: &str) -> Vec<String> {
    let workflow = TWO_TURNS.replace("turns = 2", "turns = 2\nmax_cost = 1.00");
    let sandbox = Sandbox::new(&format!("agent = \"bot\"\n[agents.bot]\n{agent}\n"), &workflow, "");
    let json = sandbox.acquit(&["workflow", "check", "flow", "--json"]).must(0).json();
    serde_json::from_value(json["warnings"].clone()).unwrap()
}

#[test]
fn the_check_of_a_workflow_warns_where_turns_or_money_are_not_held() {
    let stage = "workflow `flow`, stage `code`:";
    let cases = [
        ("adapter = \"claude\"", vec![]),
        ("adapter = \"scripted\"\nscript = \"script.toml\"", vec![]),
        (
            "adapter = \"command\"\nrun = \"cat\"",
            vec![
                "the output of the agent `bot` does not show its turns: `turns` has no effect",
                "the agent `bot` does not report its usage: a limit on money has no effect",
            ],
        ),
        (
            "adapter = \"codex\"\nmodel = \"gpt-5\"",
            vec![
                "the agent `bot` reports its usage at the end of a turn: a limit on money cannot stop it before",
            ],
        ),
        (
            "adapter = \"codex\"\nmodel = \"unheard-of\"",
            vec![
                "the model `unheard-of` of the agent `bot` has no price: without [prices.\"unheard-of\"] in acquit.toml, a limit on \
                 money has no effect",
            ],
        ),
    ];
    for (agent, expected) in cases {
        let expected: Vec<String> = expected.iter().map(|words| format!("{stage} {words}")).collect();
        assert_eq!(warnings(agent), expected, "{agent}");
    }
}

#[test]
fn a_limit_on_money_that_cannot_stop_an_agent_is_told_in_the_log() {
    let told = "the agent `bot` does not report its usage: a limit on money has no effect";
    let workflow = TWO_TURNS.replace("turns = 2", "");
    let agent = "git commit -q --allow-empty -m x\nmkdir -p d && echo x > d/x\n\
                 echo '{\"outcome\": \"pr_ready\", \"payload\": {\"summary\": \"x\"}}' > $ACQUIT_HANDOFF\n";
    for (limit, expected) in [("--max-cost=1", true), ("--max-time=1h", false)] {
        let sandbox = Sandbox::shell(&workflow, agent);
        sandbox.acquit(&["run", limit, "Do it"]).must(0);
        let log = read(&sandbox.place("said/0.err"));
        let all = sandbox.acquit(&["logs", "T-1", "--all"]).must(0).out;
        assert_eq!(all.contains(told), expected, "{limit}: {all}\n{log}");
    }
}
