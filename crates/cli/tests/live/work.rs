//! What agents do when all goes well: work, reports, questions, conversations that go on.

use acquit_core::agent::Usage;
use acquit_core::human_request::Ask;
use acquit_core::leg::{Ending, Past};
use acquit_core::outcome::{Outcome, Source};
use acquit_core::task::State;
use acquit_testkit::model::{Scripts, Step, usual};
use serde_json::json;

use crate::common::CODE;
use crate::kit::{Agent, KEY, Live, More};

/// A gate that the first attempt does not pass, and a stage that mends it.
const MENDED: &str = r#"
[gates.check]
kind = "test"
run = "test -e good.txt"
[stages.code]
mode = "implement"
gates = ["check"]
fix = "mend"
on = { pr_ready = "done" }
[stages.mend]
mode = "fix"
on = { fixed = "back" }
"#;

/// A stage whose outcome has a schema.
const CHECKED: &str = r#"
[budgets]
outcome = 0
agent = 0
nothing = 0
harness = 0
[stages.code]
mode = "implement"
[stages.code.on.pr_ready]
to = "done"
schema = { type = "object", required = ["summary", "tests"], properties = { tests = { type = "array" } } }
"#;

/// What so many answers of the model come to, by what the agent tells of them and by our own list of prices: each is 1000 tokens
/// in, 200 from a cache, 100 written to one where the protocol counts that, and 50 out.
#[track_caller]
fn used(agent: Agent, answers: u64, usage: &Usage) {
    // By three and fifteen dollars for a million tokens in and out, thirty cents from the cache, 3.75 dollars into it; by 1.25 and
    // ten dollars, and 12.5 cents from the cache, where that is the list's price.
    let (written, cost, list, model) = match agent {
        Agent::Claude => (100, Some(4185), Some(4185), "claude-sonnet-4-5"),
        Agent::Pi => (100, Some(4185), None, "m"),
        Agent::Opencode => (0, Some(3810), None, "scripted/m"),
        Agent::Codex => (0, None, Some(1775), "gpt-5"),
        Agent::Gemini => (0, None, Some(1775), "gemini-2.5-pro"),
        // Its figures are rounded; whoever looks at them does it apart.
        Agent::Aider => unreachable!("it is looked at apart"),
    };
    let found = (usage.input, usage.output, usage.cache_read, usage.cache_write_5m + usage.cache_write_1h);
    assert_eq!(found, (1000 * answers, 50 * answers, 200 * answers, written * answers), "{usage:?}");
    let times = |cost: Option<u64>| cost.map(|cost| cost * answers);
    assert_eq!((usage.cost_micros, usage.list_micros), (times(cost), times(list)), "{usage:?}");
    assert_eq!(usage.unpriced, if list.is_none() { usage.tokens() } else { 0 });
    assert_eq!(usage.model.as_deref(), Some(model));
}

#[track_caller]
fn passed(past: &Past) -> &Outcome {
    match &past.ending {
        Ending::Passed { outcome } => outcome,
        other => panic!("{other:?}"),
    }
}

/// It edits and commits; what it did is delivered, and counted once.
#[track_caller]
pub(crate) fn edits(agent: Agent) {
    let Some(live) = Live::new(agent, CODE, usual(), More::default()) else { return };
    live.run("Say hello. [[edit]]", 0);
    assert_eq!(live.delivered("hello.txt"), "hello");
    let task = live.sandbox.task();
    let leg = &task.past[0];
    assert_eq!(passed(leg).name.as_str(), "pr_ready");
    if agent == Agent::Aider {
        // All in one answer; the figures are rounded, and what came from the cache is in them.
        let Usage { input, output, cost_micros, .. } = leg.usage;
        assert_eq!((input, output, cost_micros), (1200, 50, Some(4300)), "{:?}", leg.usage);
    } else {
        used(agent, 3, &leg.usage);
        let messages = live.sandbox.repo.git(&["log", "--all", "--format=%s"]);
        assert!(messages.contains("Say hello"), "its own commit is nowhere: {messages}");
    }
    let asked = live.model.scripted();
    let credentials = ["authorization", "x-api-key", "x-goog-api-key"];
    assert!(
        asked.iter().all(|one| credentials.iter().any(|name| one.header(name).is_some())),
        "no key was sent"
    );
    assert!(!live.told().contains(KEY), "the key is in what was told");
}

/// What it reports by acquit's tool is checked while it works; a mistake is mended in the same turn.
#[track_caller]
pub(crate) fn reports(agent: Agent) {
    let report = |payload| Step::tool("report_outcome", json!({ "outcome": "pr_ready", "payload": payload }));
    let steps = [
        Step::write("hello.txt", "hello\n"),
        report(json!({ "summary": "without tests" })),
        report(json!({ "summary": "with tests", "tests": ["a"] })),
        Step::say("I have reported."),
    ];
    let scripts = Scripts::default().with("report", steps);
    let Some(live) = Live::new(agent, CHECKED, scripts, More::default()) else { return };
    live.run("Say hello. [[report]]", 0);
    let task = live.sandbox.task();
    let outcome = passed(&task.past[0]);
    assert_eq!((outcome.source, outcome.summary().as_deref()), (Source::Tool, Some("with tests")));
    used(agent, 4, &task.past[0].usage);
    let asked = live.model.scripted();
    let mistake = "is a required property";
    let seen = |step: usize| {
        asked.iter().any(|one| {
            one.step.as_ref().is_some_and(|(_, at)| *at == step) && one.body.to_string().contains(mistake)
        })
    };
    assert!(!seen(1) && seen(2), "it did not see its mistake");
}

/// Agents without tools of others report by the handoff file or by a marker in their last words.
#[track_caller]
pub(crate) fn reports_without_tools(agent: Agent) {
    let last = "<<<OUTCOME:pr_ready>>>{\"summary\": \"by marker\", \"tests\": []}<<<END_PAYLOAD>>>";
    let file = "echo '{\"outcome\": \"pr_ready\", \"payload\": {\"summary\": \"by file\", \"tests\": []}}' > \"$ACQUIT_HANDOFF\"";
    let (steps, source) = if agent == Agent::Aider {
        (vec![Step::write("hello.txt", "hello\n"), Step::say(last)], Source::Marker)
    } else {
        (vec![Step::write("hello.txt", "hello\n"), Step::bash(file), Step::say("Done.")], Source::HandoffFile)
    };
    let Some(live) = Live::new(agent, CHECKED, Scripts::default().with("report", steps), More::default())
    else {
        return;
    };
    live.run("Say hello. [[report]]", 0);
    assert_eq!(passed(&live.sandbox.task().past[0]).source, source);
}

/// What it reports in a given form counts as its report.
#[track_caller]
pub(crate) fn reports_in_form(agent: Agent) {
    let report = json!({ "outcome": "pr_ready", "payload": { "summary": "in form" } });
    let steps =
        [Step::write("hello.txt", "hello\n"), Step::structured(report), Step::say("I have reported.")];
    let more = More { lines: "report = \"structured\"", ..More::default() };
    let Some(live) = Live::new(agent, CODE, Scripts::default().with("form", steps), more) else { return };
    live.run("Say hello. [[form]]", 0);
    let task = live.sandbox.task();
    let outcome = passed(&task.past[0]);
    assert_eq!((outcome.source, outcome.summary().as_deref()), (Source::Structured, Some("in form")));
}

/// An agent that cannot be held to a form is not asked to keep to one: it is said before it starts.
#[track_caller]
pub(crate) fn has_no_form(agent: Agent) {
    let more = More { lines: "report = \"structured\"", ..More::default() };
    let Some(live) = Live::new(agent, CODE, usual(), more) else { return };
    live.run("Say hello. [[edit]]", 3).said("structured");
    assert!(matches!(&live.sandbox.endings()[0], Ending::Failed { kind, .. } if kind.as_str() == "config"));
    assert!(live.model.requests().is_empty(), "it was started all the same");
}

/// It asks by acquit's tool and stops; the answer reaches it in the same conversation, and it goes on.
#[track_caller]
pub(crate) fn asks(agent: Agent) {
    let report = json!({ "outcome": "pr_ready", "payload": { "summary": "painted" } });
    let steps = [
        Step::tool("ask", json!({ "question": "Which colour?" })),
        Step::say("I stop here."),
        Step::write("hello.txt", "hello\n"),
        Step::tool("report_outcome", report),
        Step::say("I have painted it."),
    ];
    let Some(live) = Live::new(agent, CODE, Scripts::default().with("ask", steps), More::default()) else {
        return;
    };
    live.run("Paint the door. [[ask]]", 3).said("Which colour?");
    let State::Waiting { request } = live.sandbox.task().state else { panic!("it waits") };
    assert!(matches!(request.ask, Ask::Question { .. }), "{request:?}");
    live.sandbox.acquit(&["answer", "T-1", "petrol, please"]).must(0);
    live.go_on(0);
    assert_eq!(live.delivered("hello.txt"), "hello");
    let task = live.sandbox.task();
    let [asked, painted, _] = &task.past[..] else { panic!("{:?}", task.past) };
    assert_eq!(passed(painted).source, Source::Tool);
    same_conversation(&live, asked, painted, &["[[ask]]", "I stop here.", "petrol, please"]);
    used(agent, 2, &asked.usage);
    used(agent, 3, &painted.usage);
}

/// A gate rejects its work; the fix goes on with the conversation of the work, and is counted for itself.
#[track_caller]
pub(crate) fn goes_on(agent: Agent) {
    let steps = [
        Step::write("hello.txt", "hello\n"),
        Step::say("That should do."),
        Step::write("good.txt", "good\n"),
        Step::say("Now it does."),
    ];
    let Some(live) = Live::new(agent, MENDED, Scripts::default().with("mend", steps), More::default()) else {
        return;
    };
    live.run("Say hello. [[mend]]", 0);
    let task = live.sandbox.task();
    let [work, fix, ..] = &task.past[..] else { panic!("{:?}", task.past) };
    assert!(matches!(work.ending, Ending::Rejected { .. }), "{:?}", work.ending);
    assert_eq!(passed(fix).name.as_str(), "fixed");
    same_conversation(&live, work, fix, &["[[mend]]", "That should do.", "# Go on"]);
    used(agent, 2, &work.usage);
    used(agent, 2, &fix.usage);
}

/// The later leg went on with the conversation of the earlier: by its id, and by what the model was sent.
#[track_caller]
fn same_conversation(live: &Live, earlier: &Past, later: &Past, words: &[&str]) {
    let (one, other) = (earlier.session.as_ref().unwrap(), later.session.as_ref().unwrap());
    assert_eq!(one.id, other.id);
    let mut total = earlier.usage.clone();
    total.add(&later.usage);
    assert_eq!(other.total, total, "what was used in both is counted once each");
    let last = live.model.scripted().pop().unwrap().body.to_string();
    for word in words {
        assert!(last.contains(word), "the model was not told {word:?}: {last}");
    }
}
