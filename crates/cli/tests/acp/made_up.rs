//! Agents that are a shell script each.

use acquit_core::event::Body;
use acquit_core::leg::Ending;
use acquit_core::outcome::Source;

use crate::CODE;
use crate::common::{Sandbox, read, until_file};

/// What such an agent is made of: an answer to request 1 is `answer 1 '{…}'`, and so on.
const WORDS: &str = r#"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
update() { printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":%s}}\n' "$1"; }
says() { update "{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"$1\"}}"; }
greet() {
    read -r hello; answer 1 '{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}'
    read -r open; answer 2 '{"sessionId":"s-1"}'
    read -r prompt
}
"#;

fn agent(workflow: &str, shell: &str) -> Sandbox {
    let config = "agent = \"bot\"\n[agents.bot]\nadapter = \"acp\"\nrun = [\"sh\", \".acquit/agent.sh\"]\n";
    Sandbox::shell_by(config, workflow, &format!("{WORDS}{shell}"))
}

#[test]
fn an_agent_works_asks_and_ends_and_all_of_it_is_seen() {
    let shell = r#"
greet
printf '%s' "$prompt" > '@ROOT@/prompt'
printf '%s' "$open" > '@ROOT@/open'
cat /proc/$PPID/cmdline > '@ROOT@/arguments'
update '{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}}'
printf '%s\n' '{"jsonrpc":"2.0","id":"p","method":"session/request_permission","params":{"toolCall":{"toolCallId":"t","title":"Write","kind":"edit","locations":[{"path":"/x"}]},"options":[{"optionId":"always","kind":"allow_always"},{"optionId":"once","kind":"allow_once"}]}}'
read -r may
printf '%s' "$may" > '@ROOT@/may'
echo work > work.txt
update '{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed"}'
says 'It is done. <<<OUTCOME:pr_'
says 'ready>>> {\"summary\": \"in two pieces\"} <<<END_PAYLOAD>>>'
update '{"sessionUpdate":"usage_update","used":1,"size":2,"cost":{"amount":0.25,"currency":"USD"}}'
answer 3 '{"stopReason":"end_turn","usage":{"inputTokens":7,"outputTokens":2}}'
"#;
    let sandbox = agent(CODE, shell);
    let ran = sandbox.run_to(0);
    ran.said("→ edit Write");
    let Ending::Passed { outcome } = &sandbox.endings()[0] else { panic!("{:?}", sandbox.endings()) };
    assert_eq!((outcome.source, outcome.summary().as_deref()), (Source::Marker, Some("in two pieces")));
    let usage = &sandbox.legs()[0].usage;
    assert_eq!((usage.input, usage.output, usage.cost_micros), (7, 2, Some(250_000)));
    assert_eq!(sandbox.task().past[0].session.as_ref().unwrap().id, "s-1");
    assert!(read(&sandbox.place("may")).contains(r#""optionId":"once""#), "once, not for ever");
    let prompt = read(&sandbox.place("prompt"));
    assert!(prompt.contains("# The task T-1") && prompt.contains("`report_outcome`"), "{prompt}");
    assert!(read(&sandbox.place("open")).contains("tools.json"), "it is offered acquit's tools");
    assert!(!read(&sandbox.place("arguments")).contains("The task"), "a prompt is never an argument");
}

#[test]
fn an_answer_goes_on_with_the_same_conversation() {
    let shell = r#"
read -r hello; answer 1 '{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}'
read -r open
case "$open" in
*session/load*)
    printf '%s' "$open" > '@ROOT@/open'
    says 'this was said before: <<<OUTCOME:failed>>> {} <<<END_PAYLOAD>>>'
    answer 2 null
    read -r prompt
    printf '%s' "$prompt" > '@ROOT@/prompt'
    echo work > work.txt
    says '<<<OUTCOME:pr_ready>>> {} <<<END_PAYLOAD>>>';;
*)
    answer 2 '{"sessionId":"s-1"}'
    read -r prompt
    says '<<<OUTCOME:needs_input>>> {\"question\": \"Which?\"} <<<END_PAYLOAD>>>';;
esac
answer 3 '{"stopReason":"end_turn"}'
"#;
    let sandbox = agent(CODE, shell);
    sandbox.run_to(3).said("Which?");
    sandbox.acquit(&["answer", "T-1", "the blue one"]).must(0);
    sandbox.acquit(&["run", "T-1"]).must(0);
    assert!(read(&sandbox.place("open")).contains(r#""sessionId":"s-1""#));
    let prompt = read(&sandbox.place("prompt"));
    assert!(prompt.contains("the blue one") && !prompt.contains("# The task"), "{prompt}");
}

#[test]
fn an_agent_that_is_cancelled_is_asked_to_stop_and_is_gone() {
    let shell = r#"
greet
touch '@ROOT@/begun'
read -r cancel
printf '%s' "$cancel" > '@ROOT@/cancel'
answer 3 '{"stopReason":"cancelled"}'
read -r never
sleep 60
"#;
    let sandbox = agent(CODE, shell);
    let running = sandbox.start(&["run", "Do it"]);
    until_file(&sandbox.place("begun"));
    sandbox.acquit(&["task", "cancel", "T-1"]).must(0);
    running.wait().must(4);
    assert!(read(&sandbox.place("cancel")).contains("session/cancel"));
    assert!(matches!(sandbox.endings()[0], Ending::Cancelled));
}

#[test]
fn what_goes_wrong_is_told_apart() {
    for (shell, kind, words) in [
        ("echo no such model >&2; exit 3", "agent", "gone before its turn was over"),
        ("greet; answer 3 '{\"stopReason\":\"refusal\"}'; read -r end", "agent", "the model refused"),
        ("greet; says oops; answer 3 '{\"stopReason\":\"end_turn\",\"usage\":null}'", "overload", "oops"),
        (
            "greet; echo '{\"id\":3,\"error\":{\"code\":-32000,\"message\":\"Authentication required\"}}'; read -r end",
            "login",
            "is not logged in (Authentication required)",
        ),
        ("read -r hello; answer 1 '{\"protocolVersion\":7}'; read -r end", "agent", "another version"),
    ] {
        let sandbox = agent(CODE, shell);
        let ran = sandbox.run_to(3);
        match &sandbox.endings()[0] {
            Ending::Failed { kind: found, reason } | Ending::Held { kind: found, reason, .. } => {
                assert!(*found == *kind && reason.contains(words), "{shell}: {found}: {reason}");
            }
            other => panic!("{shell}: {other:?}\n{}", ran.err),
        }
    }
    let missing =
        "agent = \"bot\"\n[agents.bot]\nadapter = \"acp\"\nrun = [\"./no-such-agent\", \"--acp\"]\n";
    let sandbox = Sandbox::new(missing, CODE, "");
    sandbox.run_to(3);
    let (_, reason) = sandbox.failed(0);
    assert!(reason.contains("no-such-agent did not start"), "{reason}");
}

#[test]
fn an_agent_that_floods_talks_nonsense_and_stays_does_no_harm() {
    let shell = r#"
greet
head -c 20000000 /dev/zero | tr '\0' 'x'
echo
echo 'nonsense'
echo '[1, 2'
i=0; while [ $i -lt 500 ]; do echo '{"id":"x","method":"fs/read_text_file"}'; i=$((i+1)); done
update '{"sessionUpdate":"hologram"}'
echo work > work.txt
says '<<<OUTCOME:pr_ready>>> {} <<<END_PAYLOAD>>>'
answer 3 '{"stopReason":"end_turn"}'
trap '' TERM
sleep 300 &
wait
sleep 300
"#;
    let sandbox = agent(CODE, shell);
    sandbox.run_to(0);
    let unknown = |body: &Body| match body {
        Body::AgentEnded { unknown, .. } => unknown.get("hologram").copied(),
        _ => None,
    };
    assert!(sandbox.events().iter().any(|event| unknown(&event.body) == Some(1)));
    let size = std::fs::metadata(sandbox.leg_file(1, "output.log")).unwrap().len();
    assert!(size < 100_000, "what is no message is not passed on: {size}");
}
