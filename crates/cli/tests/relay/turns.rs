//! How an agent's turn ends: each way that an agent can be at fault, or not at fault, has its own reason.

use acquit_core::event::Body;
use acquit_core::leg::Ending;

use crate::CODE;
use crate::common::{SCRIPTED, Sandbox, read};

/// An agent that is this shell script; each line that it prints is something said, as JSON.
fn agent(waiting: &str, shell: &str) -> Sandbox {
    let script = "[[code]]\nstep = [{ become = \"sh .acquit/agent.sh\" }]\n";
    let sandbox = Sandbox::new(&format!("{SCRIPTED}{waiting}"), CODE, script);
    let shell = shell.replace("@ROOT@", &sandbox.place("").to_string_lossy().replace(' ', "\\ "));
    sandbox.repo.write(".acquit/agent.sh", &format!("say() {{ echo \"$1\"; }}\n{shell}"));
    sandbox.repo.commit("the agent");
    sandbox
}

const NO_SLACK: &str = "[waiting]\nslack = \"1ms\"\n";

const LIMIT: &str = r#"say '{"type":"limit","until":0,"text":"resets at nine"}'; exit 1"#;

/// The event of an agent's end.
fn ended(sandbox: &Sandbox) -> (String, u32) {
    let find = |event: acquit_core::event::Event| match event.body {
        Body::AgentEnded { exit, left, .. } => Some((exit.to_string(), left)),
        _ => None,
    };
    sandbox.events().into_iter().find_map(find).expect("an agent ended")
}

#[test]
fn a_usage_limit_is_waited_for_and_the_same_session_goes_on() {
    let shell = format!(
        r#"
say '{{"type":"session","id":"talk-7"}}'
say '{{"type":"usage","input":10}}'
if [ -z "$ACQUIT_SESSION" ]; then {LIMIT}; fi
echo "$ACQUIT_SESSION" > session.txt
cat > prompt.txt
say '{{"type":"end","ok":true,"text":"done"}}'
"#
    );
    let sandbox = agent(NO_SLACK, &shell);
    sandbox.run_to(0).said("resets at nine");
    let task = sandbox.task();
    let [held, passed, delivered] = &task.past[..] else { panic!("{:?}", task.past) };
    assert!(matches!(&held.ending, Ending::Held { kind, .. } if *kind == *"usage"), "{:?}", held.ending);
    assert!(matches!(passed.ending, Ending::Passed { .. }) && delivered.session.is_none());
    let session = passed.session.as_ref().unwrap();
    assert_eq!((session.id.as_str(), session.total.input), ("talk-7", 20));
    assert_eq!(
        task.spent.keys().map(ToString::to_string).collect::<Vec<_>>(),
        ["usage"],
        "no retry is spent"
    );
    let branch = &task.seed.branch;
    assert_eq!(sandbox.repo.git(&["show", &format!("{branch}:session.txt")]), "talk-7");
    let prompt = sandbox.repo.git(&["show", &format!("{branch}:prompt.txt")]);
    assert!(prompt.contains("# You were interrupted") && !prompt.contains("# The task"), "{prompt}");
}

#[test]
fn one_task_finds_a_usage_limit_and_the_others_do_not_try() {
    let limit = r#"echo x >> @ROOT@tries; say '{"type":"limit","until":'$(( ($(date +%s) + 600) * 1000 ))',"text":"resets later"}'; exit 1"#;
    let sandbox = agent("", limit);
    for title in ["one", "two", "three"] {
        sandbox.acquit(&["task", "add", title]).must(0);
    }
    for _ in 0..3 {
        sandbox.acquit(&["leg"]).must(0);
    }
    assert_eq!(read(&sandbox.place("tries")), "x\n");
    let workers = sandbox.acquit(&["workers", "--json"]).must(0).json();
    let waiting = workers["waiting"].as_array().expect("legs that wait");
    assert_eq!(waiting.len(), 2, "{waiting:?}");
    assert!(
        waiting.iter().all(|leg| leg["why"].to_string().contains("is at its usage limit")),
        "{waiting:?}"
    );
    // A person who asks for a task does not wait.
    sandbox.acquit(&["leg", "--task", "T-2"]).must(0);
    assert_eq!(read(&sandbox.place("tries")), "x\nx\n");
}

#[test]
fn whoever_does_not_want_to_wait_is_asked() {
    let sandbox = agent("[waiting]\nusage = \"ask\"\n", LIMIT);
    sandbox.run_to(3).said("usage = \"ask\"");
}

#[test]
fn an_overloaded_provider_is_no_failure_of_the_agent() {
    let shell = r#"
if [ -e @ROOT@again ]; then echo work > work.txt; say '{"type":"end","ok":true}'; exit 0; fi
touch @ROOT@again
say '{"type":"fault","fault":"overloaded","text":"529 busy"}'
exit 1
"#;
    let sandbox = agent("", shell);
    let run = sandbox.start(&["run", "Do it"]);
    // The wait is half a minute: long enough to see that it is shown, and that a person can end it.
    crate::common::until("the leg is held", || {
        let legs = sandbox.shown_legs()?;
        (legs.len() == 2 && legs[0].state == acquit_core::leg::State::Held).then_some(())
    });
    let wait = sandbox.legs()[1].not_before.since(sandbox.legs()[0].ended.unwrap());
    assert_eq!(wait, std::time::Duration::from_secs(30));
    assert_eq!(sandbox.task().spent.keys().map(ToString::to_string).collect::<Vec<_>>(), ["overload"]);
    sandbox.acquit(&["task", "cancel", "T-1"]).must(0);
    run.wait().must(4);
}

#[test]
fn an_expired_login_is_a_question_to_a_person_and_spends_nothing() {
    let sandbox = agent("", r#"say '{"type":"fault","fault":"login","text":"401 expired"}'; exit 1"#);
    sandbox.run_to(3).said("log in or correct its key, then approve");
    assert_eq!((sandbox.endings().len(), sandbox.task().spent.len()), (1, 0));
}

#[test]
fn an_agent_that_stays_after_its_result_is_ended_and_its_work_counts() {
    let shell = "echo work > work.txt\nsay '{\"type\":\"end\",\"ok\":true}'\nexec sleep 600\n";
    let sandbox = agent("", shell);
    sandbox.run_to(0);
    let (exit, _) = ended(&sandbox);
    assert!(exit.contains("stayed for 10s after it had said how its turn ended"), "{exit}");
}

#[test]
fn a_line_of_a_hundred_megabytes_is_kept_whole_and_costs_the_store_nothing() {
    const LONG: u64 = 100_000_000;
    let shell = format!(
        "head -c {LONG} /dev/zero | tr '\\0' x\necho\necho work > work.txt\nsay '{{\"type\":\"end\",\"ok\":true}}'\n"
    );
    let sandbox = agent("", &shell);
    sandbox.run_to(0);
    let size = |path: std::path::PathBuf| std::fs::metadata(path).map_or(0, |file| file.len());
    assert!(size(sandbox.leg_file(1, "output.log")) > LONG, "the output is not whole");
    let stored = size(sandbox.place("acquit/acquit.db")) + size(sandbox.place("acquit/acquit.db-wal"));
    assert!(stored < 20_000_000, "{stored} bytes are in the store");
}

#[test]
fn processes_that_an_agent_leaves_behind_are_counted_and_ended() {
    let shell =
        "echo work > work.txt\nsleep 600 & setsid sleep 601 &\nsay '{\"type\":\"end\",\"ok\":true}'\n";
    let sandbox = agent("", shell);
    sandbox.run_to(0);
    assert_eq!(ended(&sandbox), ("exit 0".to_owned(), 2));
    sandbox.acquit(&["logs", "T-1"]).must(0).said("it left 2 processes running, which were ended");
}

#[test]
fn an_agent_that_exits_well_after_an_error_has_failed() {
    let shell = "echo work > work.txt\nsay '{\"type\":\"end\",\"ok\":false,\"text\":\"it broke\"}'\n";
    let sandbox = agent("", shell);
    sandbox.run_to(3);
    let (kind, reason) = sandbox.failed(0);
    assert_eq!(
        (kind.as_str(), reason.as_str()),
        ("agent", "the agent bot: exit 0, and it says that it failed: it broke")
    );
}

#[test]
fn a_fix_goes_on_with_the_conversation_of_the_work_unless_fresh_eyes_are_wanted() {
    for (word, expected) in [("", "talk-1"), ("session = \"fresh\"", "")] {
        let workflow = format!(
            r#"
[gates.check]
run = "test -e good.txt"
[stages.code]
mode = "implement"
gates = ["check"]
fix = "mend"
on = {{ pr_ready = "done" }}
[stages.mend]
mode = "fix"
{word}
on = {{ fixed = "back" }}
"#
        );
        let script = "[[code]]\nstep = [{ become = \"sh .acquit/agent.sh\" }]\n[[mend]]\nstep = [{ become = \"sh .acquit/agent.sh\" }]\n";
        let sandbox = Sandbox::new(SCRIPTED, &workflow, script);
        sandbox.repo.write(
            ".acquit/agent.sh",
            r#"echo "{\"type\":\"session\",\"id\":\"talk-$(($(echo "$ACQUIT_LEG" | sed 's/.*[^0-9]//')))\"}"
if [ "$ACQUIT_STAGE" = code ]; then echo work > work.txt; exit 0; fi
printf '%s' "$ACQUIT_SESSION" > good.txt
"#,
        );
        sandbox.repo.commit("the agent");
        sandbox.run_to(0);
        let tip = sandbox.task().tip;
        let workspace = sandbox.leg_file(2, "prompt.md");
        assert_eq!(read(&workspace).contains("# Go on"), !expected.is_empty());
        assert!(!tip.is_empty());
    }
}

/// How a leg of an agent ends that never runs, because somebody else would pay.
fn unpaid(billing: &str) -> String {
    let config = format!(
        "agent = \"bot\"\n[agents.bot]\nadapter = \"claude\"\nprogram = \"/bin/false\"\n{billing}\n\
         [secrets]\nANTHROPIC_API_KEY = {{ env = \"ANTHROPIC_API_KEY\" }}\n"
    );
    let sandbox = Sandbox::new(&config, CODE, "").with("ANTHROPIC_API_KEY", "sk-ant-of-the-company");
    sandbox.run_to(3);
    assert!(!sandbox.leg_file(1, "output.log").exists(), "nothing was started");
    let (kind, reason) = sandbox.failed(0);
    assert_eq!(kind, "login");
    reason
}

#[test]
fn an_agent_is_not_started_where_another_account_would_pay() {
    let reason = unpaid("billing = \"login\"\nsecrets = [\"ANTHROPIC_API_KEY\"]");
    assert!(reason.contains("it would take the key in ANTHROPIC_API_KEY instead"), "{reason}");
    let reason = unpaid("billing = \"login\"\npass_env = [\"ANTHROPIC_API_KEY\"]");
    assert!(reason.contains("or write billing = \"key\""), "{reason}");
    let reason = unpaid("billing = \"key\"");
    assert!(reason.contains("it gets none"), "{reason}");
}

#[test]
fn after_a_usage_limit_the_files_are_as_the_agent_left_them() {
    let shell = format!(
        r#"
say '{{"type":"session","id":"talk-7"}}'
if [ -z "$ACQUIT_SESSION" ]; then
  echo first > committed.txt; git add -A; git commit -qm 'Half of it'
  echo half > half.txt; rm README.md
  {LIMIT}
fi
cat > @ROOT@prompt.txt
git status --porcelain > @ROOT@status.txt
say '{{"type":"end","ok":true,"text":"done"}}'
"#
    );
    let sandbox = agent(NO_SLACK, &shell);
    sandbox.run_to(0);
    let branch = &sandbox.task().seed.branch;
    assert_eq!(sandbox.repo.git(&["show", &format!("{branch}:committed.txt")]), "first");
    assert_eq!(sandbox.repo.git(&["show", &format!("{branch}:half.txt")]), "half");
    let files = sandbox.repo.git(&["ls-tree", "--name-only", branch]);
    assert!(!files.contains("README.md"), "{files}");
    let (prompt, status) = (read(&sandbox.place("prompt.txt")), read(&sandbox.place("status.txt")));
    assert!(prompt.contains("as you left them") && prompt.contains("are changes now"), "{prompt}");
    assert_eq!(status, " D README.md\n?? committed.txt\n?? half.txt\n");
}

#[test]
fn an_agent_whose_turn_did_not_count_is_told_where_its_files_are() {
    let shell = r#"
say '{"type":"session","id":"talk-7"}'
if [ -z "$ACQUIT_SESSION" ]; then echo half > half.txt; say '{"type":"end","ok":false,"text":"no"}'; exit 1; fi
cat > @ROOT@prompt.txt
test ! -e half.txt || exit 1
sh -c "$(sed -n 's/.*`\(git restore [^`]*\)`.*/\1/p' @ROOT@prompt.txt)"
say '{"type":"end","ok":true}'
"#;
    let sandbox = agent(NO_SLACK, shell);
    let path = ".acquit/workflows/flow.toml";
    let text = read(&sandbox.repo.path().join(path)).replace("\nagent = 0", "\nagent = 1");
    sandbox.repo.write(path, &text);
    sandbox.repo.commit("another try");
    sandbox.run_to(0);
    let branch = &sandbox.task().seed.branch;
    assert_eq!(sandbox.repo.git(&["show", &format!("{branch}:half.txt")]), "half");
}
