//! A store as a team has it in the morning: tasks that are done, rejected, waiting, asking, running and queued, with figures.

use crate::common::{Sandbox, Started, until};

const CONFIG: &str = r#"
agent = "claude"
workflow = "feature"
max_cost = 5
[agents.claude]
adapter = "scripted"
script = "claude.toml"
[agents.codex]
adapter = "scripted"
script = "codex.toml"
[models]
fast = "claude-haiku-5-5"
[access]
write = ["@ROOT@"]
[[schedule]]
name = "night"
cron = "30 2 * * *"
zone = "Europe/Berlin"
workflow = "chores"
[[schedule]]
name = "weekly"
cron = "0 4 * * 1"
workflow = "feature"
paused = true
"#;

const FEATURE: &str = r#"
description = "plan, write, review, deliver"
[budgets]
agent = 0
test = 2
review = 2
[gates.test]
run = "sh tests/run.sh"
kind = "test"
[gates.format]
run = "! grep -rn 'TODO' src"
kind = "format"
[stages.plan]
mode = "plan"
on = { plan_complete = "code" }
[stages.code]
mode = "implement"
gates = ["format", "test"]
fix = "fix"
on = { pr_ready = "review" }
[stages.fix]
mode = "fix"
on = { fixed = "back" }
[stages.review]
mode = "review"
[stages.review.on]
approved = "accept"
changes_requested = { to = "code", budget = "review" }
[stages.accept]
kind = "human"
question = "Deliver this change?"
on = { approved = "deliver", rejected = { to = "code", budget = "review" } }
[stages.deliver]
kind = "action"
action = "squash"
on = { done = "done" }
"#;

const CHORES: &str = r#"
description = "write and deliver"
[budgets]
agent = 0
test = 1
[gates.test]
run = "sh tests/run.sh"
kind = "test"
[stages.code]
mode = "implement"
gates = ["test"]
on = { pr_ready = "deliver" }
[stages.deliver]
kind = "action"
action = "squash"
on = { done = "done" }
"#;

/// Tests are shown to fail without the change, and a linter has something to say about a line.
const PROVEN: &str = r#"
description = "tests first, shown to fail without the change"
[budgets]
agent = 0
proof = 1
rework = 2
[gates.tdd]
check = "tdd"
run = "sh checks.sh"
report = { junit = "results.xml" }
tests = ["checks/**"]
kind = "proof"
runs = 2
[gates.sources]
run = "grep -L source src/jpy.rate | sed 's/$/:1: the rate names no source/' | tee /dev/stderr | grep -q . && exit 1 || exit 0"
severity = "warning"
[stages.code]
mode = "implement"
gates = ["tdd", "sources"]
fix = "fix"
on = { pr_ready = "accept" }
[stages.fix]
mode = "fix"
on = { fixed = "back" }
[stages.accept]
kind = "human"
question = "Deliver this change?"
on = { approved = "deliver", rejected = { to = "code", budget = "rework" } }
[stages.deliver]
kind = "action"
action = "squash"
on = { done = "done" }
"#;

/// A person accepts it, and it is merged.
const MERGED: &str = r#"
description = "write, accept, merge"
[budgets]
agent = 0
[stages.code]
mode = "implement"
on = { pr_ready = "accept" }
[stages.accept]
kind = "human"
question = "Merge this change?"
on = { approved = "deliver", rejected = "code" }
[stages.deliver]
kind = "action"
action = "merge"
on = { done = "done" }
"#;

/// A reviewer who asks for changes, and no tries for them.
const REVIEWED: &str = r#"
description = "write and review"
[budgets]
agent = 0
review = 0
[stages.code]
mode = "implement"
on = { pr_ready = "review" }
[stages.review]
mode = "review"
on = { approved = "done", changes_requested = { to = "code", budget = "review" } }
"#;

/// Runs each file of `checks` as a test.
const CHECKS: &str = r#"
code=0
echo '<testsuite name="checks">' > results.xml
for file in checks/*; do
  if sh $file; then echo "<testcase name='$file'/>"; else echo "<testcase name='$file'><failure message='assert $file: expected the rate of the day'/></testcase>"; code=1; fi >> results.xml
done
echo '</testsuite>' >> results.xml
exit $code
"#;

/// Its first test passes without the change, too. Its reviewer finds something.
const PROVER: &str = r#"
[[code]]
step = [ { say = "I add the rate of the yen and a test." }, { write = "src/jpy.rate", content = "157.3\n" }, { write = "checks/jpy", content = "true\n" },
    { usage = { model = "claude-sonnet-5-5", input = 9000, output = 900, cost_micros = 70000 } },
    { outcome = "pr_ready", payload = { summary = "the rate of the yen, with a test" } } ]
[[fix]]
step = [ { say = "The test did not look at the rate." }, { write = "checks/jpy", content = "grep -q 157.3 src/jpy.rate\n" },
    { usage = { model = "claude-sonnet-5-5", input = 4000, output = 300, cost_micros = 20000 } },
    { outcome = "fixed", payload = { summary = "the test looks at the rate" } } ]
[[review]]
step = [ { say = "One thing." }, { outcome = "changes_requested", payload = { summary = "one finding", findings = [
    { severity = "critical", file = "src/jpy.rate", line = 1, problem = "the rate is of yesterday", suggestion = "take the rate of the value date" } ] } } ]
"#;

const TESTS: &str = "#!/bin/sh\nset -e\nfor rate in src/*.rate; do\n  case \"$(cat \"$rate\")\" in\n    *wrong*) echo \"tests/run.sh: $rate\"; echo '  expected: 1.0834'; echo '  actual:   1'; exit 1;;\n  esac\ndone\necho 'ok: 14 tests passed'\n";

/// The first attempt has a fault that the tests find; the fixer mends it; the reviewer agrees.
const CLAUDE: &str = r#"
[[plan]]
step = [ { think = "The rate of the value date is missing for weekends. Friday's counts then." },
    { output = "plan.md", content = "1. Look up the rate of the value date.\n2. Refuse the posting where there is none.\n3. Test both.\n" },
    { usage = { model = "claude-sonnet-5-5", input = 11200, output = 900, cache_read = 18000, cost_micros = 110000 } },
    { outcome = "plan_complete", payload = { summary = "check at the door of post, tests first" } } ]
[[code]]
step = [ { say = "I add the lookup and refuse what has no rate." }, { write = "src/usd.rate", content = "wrong\n" },
    { run = "sh tests/run.sh || true" },
    { usage = { model = "claude-sonnet-5-5", input = 42000, output = 8900, cache_read = 98000, cost_micros = 320000 } },
    { outcome = "pr_ready", payload = { summary = "Postings without a rate are refused, all tests pass" } } ]
[[fix]]
step = [ { say = "The table had a placeholder. I take the rate of the day." }, { write = "src/usd.rate", content = "1.0834\n" },
    { write = "src/a-name-of-a-file-that-is-much-longer-than-a-phone-is-wide-and-has-no-blank.md", content = "The rate of the value date counts. The rate of the value date counts. The rate of the value date counts. The rate of the value date counts. The rate of the value date counts. The rate of the value date counts. The rate of the value date counts. The rate of the value date counts.\n" },
    { run = "sh tests/run.sh" },
    { usage = { model = "claude-sonnet-5-5", input = 18000, output = 1900, cache_read = 29000, cost_micros = 90000 } },
    { outcome = "fixed", payload = { summary = "the rate is looked up now" } } ]
[[review]]
step = [ { say = "Both callers go through the same check now." },
    { usage = { model = "claude-opus-5-5", input = 21000, output = 1100, cost_micros = 170000 } },
    { outcome = "approved", payload = { summary = "the check stands in one place, and both callers go through it" } } ]
"#;

/// Another agent: asks before it plans where it is told to, waits where it is told to, and never gets its tests green otherwise.
const CODEX: &str = r#"
[[plan]]
step = [ { usage = { model = "gpt-5.6-terra", input = 9000, output = 700, cost_micros = 60000 } },
    { outcome = "needs_input", payload = { questions = [
    { question = "Which variants must be read?", context = "The samples come from two banks. One of them uses version 2.", recommended = "Versions 2 and 8", options = [
        { name = "Versions 2 and 8", trade_offs = "reads every sample; about 120 lines more" },
        { name = "Version 8 alone", trade_offs = "the smallest change; older statements are refused" } ] },
    { question = "May the same statement be imported twice?", kind = "yes_no", context = "Today a second import is booked again." },
    { question = "Whom does a posting name if the bank gives no counterparty?" },
] } } ]
[[code]]
step = [ { say = "I try the streaming writer." }, { write = "src/eur.rate", content = "wrong\n" },
    { usage = { model = "gpt-5.6-terra", input = 30000, output = 5200, cost_micros = 260000 } },
    { outcome = "pr_ready", payload = { summary = "exports are streamed" } } ]
[[code]]
step = [ { say = "The index grew with the rows. I write it at the end." }, { write = "src/eur.rate", content = "wrong again\n" },
    { usage = { model = "gpt-5.6-terra", input = 31000, output = 4100, cost_micros = 210000 } },
    { outcome = "pr_ready", payload = { summary = "the index is written at the end" } } ]
[[fix]]
step = [ { say = "I change the buffer." }, { append = "src/eur.rate", content = "still\n" },
    { usage = { model = "gpt-5.6-terra", input = 12000, output = 1200, cost_micros = 80000 } },
    { outcome = "fixed", payload = { summary = "smaller buffer" } } ]
"#;

/// Works until it is told to stop: the task is running in pictures.
const SLOW: &str = r#"
[[code]]
step = [ { say = "The range leaves out the day itself. I make the bound inclusive and look for other callers." },
    { think = "A rate of a later day must still not count." },
    { run = "grep -rn rate src || true" }, { write = "src/gbp.rate", content = "0.8612\n" },
    { run = "sh tests/run.sh" },
    { usage = { model = "claude-sonnet-5-5", input = 44900, output = 1600, cache_read = 35200, cost_micros = 110000 } },
    { pause = "10m" }, { outcome = "pr_ready", payload = { summary = "done" } } ]
"#;

/// The store, and what runs in it.
pub(crate) struct Office {
    pub(crate) sandbox: Sandbox,
    _runs: Started,
}

impl Office {
    /// T-1 is done, T-2 waits for a decision, T-3 asks, T-4 has spent its budget, T-5 was cancelled, T-6 runs, T-7 is queued.
    pub(crate) fn open() -> Self {
        let config = format!(
            "{CONFIG}[agents.slow]\nadapter = \"scripted\"\nscript = \"slow.toml\"\n[agents.prover]\nadapter = \"scripted\"\nscript = \"prover.toml\"\n"
        );
        let files = [
            (".acquit/acquit.toml", config.as_str()),
            (".acquit/workflows/feature.toml", FEATURE),
            (".acquit/workflows/chores.toml", CHORES),
            (".acquit/workflows/proven.toml", PROVEN),
            (".acquit/workflows/merged.toml", MERGED),
            (".acquit/workflows/reviewed.toml", REVIEWED),
            (".acquit/claude.toml", CLAUDE),
            (".acquit/prover.toml", PROVER),
            ("checks.sh", CHECKS),
            ("checks/chf", "grep -q 0.9371 src/chf.rate\n"),
            (".gitignore", "results.xml\n"),
            (".acquit/codex.toml", CODEX),
            (".acquit/slow.toml", SLOW),
            ("tests/run.sh", TESTS),
            ("src/chf.rate", "0.9371\n"),
        ];
        let sandbox = Sandbox::of_files("home/src/ledger", &files);
        let add = |words: &[&str], code: i32| {
            sandbox.acquit(&[&["run"], words].concat()).must(code);
        };
        let about = "A posting in a currency that has no rate on its value date must be refused, with an error that names both.";
        add(&["Refuse postings in a currency without a rate", "--description", about, "--tag", "rates"], 3);
        sandbox.acquit(&["answer", "T-1", "approved"]).must(0);
        sandbox.acquit(&["run", "T-1"]).must(0);
        add(&["Round half to even in interest postings", "--tag", "rates"], 3);
        add(&["Import bank statements in CAMT.053", "--agent", "codex", "--tag", "import"], 3);
        let spent = ["Stream large exports instead of buffering", "--agent", "codex", "--workflow", "chores"];
        add(&spent, 3);
        sandbox.acquit(&["task", "add", "Drop the first format of tokens"]).must(0);
        sandbox.acquit(&["task", "cancel", "T-5"]).must(0);
        let slow = [
            "run",
            "Cart total is wrong after a coupon is removed",
            "--agent",
            "slow",
            "--workflow",
            "chores",
        ];
        let runs = sandbox.start(&slow);
        let office = Self { sandbox, _runs: runs };
        until("the agent of T-6 works", || {
            let shown = office.sandbox.acquit(&["show", "T-6", "--json"]).out;
            shown.contains("110000").then_some(())
        });
        office
            .sandbox
            .acquit(&["task", "add", "Warn about accounts that nobody uses", "--priority", "-1"])
            .must(0);
        office
    }

    /// More tasks: T-8 is proven and waits for a decision, T-9 conflicts with its base, T-10 was reviewed and has no tries
    /// left, and a night is over.
    pub(crate) fn busier() -> Self {
        let office = Self::open();
        let run = |title: &str, workflow: &str| {
            let words = ["run", title, "--agent", "prover", "--workflow", workflow];
            office.sandbox.acquit(&words).must(3);
        };
        run("Add the rate of the yen", "proven");
        run("Keep rates of the yen", "merged");
        office.sandbox.repo.write("src/jpy.rate", "160\n");
        office.sandbox.repo.commit("a rate of somebody else");
        office.sandbox.acquit(&["answer", "T-9", "approved"]).must(0);
        office.sandbox.acquit(&["run", "T-9"]).must(3);
        run("Check rates of the yen", "reviewed");
        office.sandbox.acquit(&["schedule", "run", "night"]);
        office
    }

    /// So many finished tasks that agents can be compared, a queued one that is due later, and a worker.
    pub(crate) fn crowd(&self) {
        let store = rusqlite::Connection::open(self.sandbox.place("acquit/acquit.db")).unwrap();
        for id in 100..112_i64 {
            let columns = "version, state, ended, stage, project_path, project_name, title, workflow, sandbox, priority, legs, cost, created, updated";
            let task = format!(
                "insert into tasks (id, {columns}, body, definition) select ?1, {columns}, replace(body, '\"T-1\"', '\"T-' || ?1 || '\"'), definition from tasks where id = 1"
            );
            store.execute(&task, [id]).unwrap();
            let columns = "number, stage, state, entry, not_before, cancel, owner, lease_until, started, ended, usage, priority";
            let legs =
                format!("insert into legs (task, {columns}) select ?1, {columns} from legs where task = 1");
            store.execute(&legs, [id]).unwrap();
            let columns = "leg, category, kind, level, actor, summary, at";
            let events = format!(
                "insert into events (task, {columns}, data) select ?1, {columns}, replace(data, '\"T-1\"', '\"T-' || ?1 || '\"') from events where task = 1"
            );
            store.execute(&events, [id]).unwrap();
        }
        let later = "update legs set not_before = (select max(at) from events) + 3600000 where task = 7 and state = 'ready'";
        assert_eq!(store.execute(later, []).unwrap(), 1);
        let worker = r#"{"name":"big","process":"1","host":"stone","version":"1","slots":3,"state":"working","offers":[],"lacks":{}}"#;
        let sql = "insert into workers (name, process, seen, offers, body) values ('big', '1', 0, '[]', ?1)";
        store.execute(sql, [worker]).unwrap();
    }
}

impl Drop for Office {
    fn drop(&mut self) {
        // Its harness is a process of its own.
        let _ = self.sandbox.acquit(&["task", "cancel", "T-6"]);
    }
}
