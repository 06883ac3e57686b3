//! What forms of the dashboard do: add tasks, retry, reject, find, pause.

use acquit_core::fleet::{Need, Worker, WorkerState};
use acquit_core::task::State;

use crate::browser::Served;
use crate::common::{self, Sandbox, until};
use crate::office::Office;

/// Asks a person for consent before it is delivered; rejecting leads back to the stage.
const CONSENT: &str = r#"
[budgets]
agent = 0
[stages.code]
mode = "implement"
approval = true
on = { pr_ready = "deliver" }
[stages.deliver]
kind = "action"
action = "squash"
on = { done = "done" }
"#;

/// Writes, and writes something else when it is asked again.
pub(crate) const WRITES: &str = r#"
[[code]]
step = [ { write = "work.txt", content = "first\n" }, { outcome = "pr_ready", payload = { summary = "first" } } ]
[[code]]
step = [ { write = "work.txt", content = "second\n" }, { outcome = "pr_ready", payload = { summary = "second" } } ]
"#;

#[test]
fn one_task_that_cannot_be_read_is_named_and_the_others_are_shown() {
    let sandbox = Sandbox::scripted(common::CODE, crate::ASKS);
    for title in ["Bad before", "Bad while", "Good one"] {
        // Each asks a question, so that nothing is left to run.
        sandbox.acquit(&["run", title]).must(3);
    }
    let store = rusqlite::Connection::open(sandbox.place("acquit/acquit.db")).unwrap();
    let damage = |id: i64| store.execute("update tasks set body = '{' where id = ?1", [id]).unwrap();
    damage(1);
    let served = Served::start(&sandbox, &["--workers", "1"]);
    let browser = served.browser();
    let board = browser.get("/");
    assert_eq!(board.status, 200, "{}", board.body);
    assert!(
        board.body.contains("1 task cannot be read") && board.body.contains("<b>T-1</b>"),
        "{}",
        board.body
    );
    assert!(board.body.contains("Bad while") && board.body.contains("Good one"), "{}", board.body);
    // One that is damaged later, and changes.
    damage(2);
    let event = "insert into events (task, leg, at, category, kind, level, actor, summary, data)
        select 2, leg, at, category, kind, level, actor, summary, data from events where task = 3 limit 1";
    store.execute(event, []).unwrap();
    let board = browser.get("/");
    assert!(
        board.body.contains("2 tasks cannot be read") && board.body.contains("Good one"),
        "{}",
        board.body
    );
    for path in ["/inbox", "/workers", "/costs", "/agents", "/workflows"] {
        assert_eq!(browser.get(path).status, 200, "{path}");
    }
}

#[test]
fn a_task_is_added_on_a_page_and_run() {
    let sandbox = Sandbox::scripted(common::CODE, crate::ASKS);
    let served = Served::start(&sandbox, &["--workers", "1"]);
    let browser = served.browser();
    let page = browser.get("/new");
    assert!(page.body.contains("name=\"workflow\"") && page.body.contains("name=\"base\""), "{}", page.body);
    assert_eq!(browser.submit(&page, "/new", &[("title", " ")]).status, 400);
    let refused = browser.submit(&page, "/new", &[("title", "x"), ("workflow", "nothing")]);
    assert_eq!(refused.status, 400, "{}", refused.body);
    assert_eq!(browser.submit(&page, "/new", &[("title", "x"), ("base", "no-such-branch")]).status, 400);
    let fields = [
        ("title", "Add <b>it</b>"),
        ("description", "all\r\nof it"),
        ("workflow", "flow"),
        ("tags", "a b, c"),
        ("max_cost", "1,50"),
    ];
    let added = browser.submit(&page, "/new", &fields);
    assert_eq!((added.status, added.header("location")), (303, "/tasks/T-1".to_owned()), "{}", added.body);
    let wish = sandbox.task().seed.wish;
    assert_eq!((wish.title.as_str(), wish.description.as_str()), ("Add <b>it</b>", "all\nof it"));
    assert_eq!(wish.tags, ["a b", "c"]);
    // The daemon runs it, and its page shows its status.
    browser.until("/tasks/T-1", |page| page.contains("Which colour?") && page.contains("$1.50"));
    // A repository that no task is of is not one of those.
    let other = browser.submit(&page, "/new", &[("title", "x"), ("project", "/etc")]);
    assert!(other.status == 400 || sandbox.task().seed.project.path != "/etc", "{}", other.body);
}

#[test]
fn rejecting_says_where_it_leads_and_goes_there_and_names_the_commit() {
    let sandbox = Sandbox::scripted(CONSENT, WRITES);
    sandbox.run_to(3);
    let served = Served::start(&sandbox, &["--workers", "1"]);
    let browser = served.browser();
    let inbox = browser.get("/inbox");
    let tip = sandbox.task().tip;
    // What is approved stands there: the commit and its diff.
    assert!(inbox.body.contains(&format!("name=\"commit\" value=\"{tip}\"")), "{}", inbox.body);
    assert!(inbox.body.contains("work.txt") && inbox.body.contains("+first"), "{}", inbox.body);
    assert!(inbox.body.contains("Send back to code"), "{}", inbox.body);
    let path = "/tasks/T-1/reject";
    assert_eq!(browser.submit(&inbox, path, &[]).status, 400);
    // A person who saw another commit is asked again.
    let stale = format!("request=1&commit={}&from=inbox&reason=no", "0".repeat(40));
    let own = format!("http://127.0.0.1:{}", served.port());
    let refused = browser.post(path, &[("Origin", &own)], &stale);
    assert_eq!(refused.status, 409);
    assert!(refused.body.contains("read the request again"), "{}", refused.body);
    assert!(matches!(sandbox.task().state, State::Waiting { .. }));
    // Comments on lines of the diff are reason enough, and the agent is told where they belong.
    let diff = browser.get("/tasks/T-1/diff");
    assert!(
        diff.body.contains("Comment on line 1<") && diff.body.contains("Send back to code"),
        "{}",
        diff.body
    );
    assert_eq!(browser.submit(&diff, path, &[]).status, 400);
    assert_eq!(browser.submit(&diff, path, &[("comment%3Awork.txt%3A1", "Write it twice")]).status, 303);
    let page = browser.until("/tasks/T-1", |page| page.contains("+second"));
    assert!(page.contains("work.txt:1: Write it twice"), "{page}");
    let prompt = common::read(&sandbox.leg_file(2, "prompt.md"));
    assert!(prompt.contains("work.txt:1: Write it twice"), "{prompt}");
    // The first form is about a request that is answered.
    let late = browser.submit(&inbox, "/tasks/T-1/approve", &[]);
    assert_eq!(late.status, 409);
    assert!(late.body.contains("its work was") || late.body.contains("answered it before"), "{}", late.body);
}

#[test]
fn a_queued_task_is_started_from_its_page_before_a_worker_is_free() {
    let office = Office::open();
    let served = Served::start(&office.sandbox, &["--workers", "1"]);
    let browser = served.browser();
    let page = browser.get("/tasks/T-7");
    // Nothing of it has run: there are no figures yet.
    assert!(page.body.contains("Run now") && page.body.contains("added <time"), "{}", page.body);
    assert!(!page.body.contains("0 ms") && !page.body.contains("id=\"cost\"><section"), "{}", page.body);
    assert_eq!(browser.submit(&page, "/tasks/T-7/run", &[]).status, 303);
    // Its agent has the same trouble as that of T-2, so it waits for that one, and nothing of it can be run.
    browser.until("/tasks/T-7", |page| page.contains("which fixes the same failure"));
    let again = browser.submit(&page, "/tasks/T-7/run", &[]);
    assert_eq!(again.status, 409, "{}", again.body);
    assert!(again.body.contains("no leg that waits to be run"), "{}", again.body);
}

#[test]
fn what_pages_say_at_a_glance_is_true_and_has_its_unit() {
    let office = Office::open();
    let served = Served::start(&office.sandbox, &["--workers", "1"]);
    let browser = served.browser();
    let get = |path: &str| browser.get(path).body;
    let (board, done) = (get("/"), get("/tasks/T-1"));
    for (path, page, shown) in [
        ("/", &board, "Since midnight: 1 acquitted, 1 without a change, $"),
        ("/", &board, "<b>1st</b> · <b><time"),
        ("/", &board, "branch acquit/refuse-postings-in-a-currency-without-a-rate-T-1 · +2 −0 in 2 files"),
        ("/", &board, "a rejected try"),
        ("/tasks/T-1", &done, "~/src/ledger"),
        ("/tasks/T-1", &done, "96 bytes"),
        ("/tasks/T-1", &done, "reached leg 6"),
        ("/tasks/T-6", &get("/tasks/T-6"), "class=\"now-words\">The range leaves out the day itself"),
        ("/tasks/T-6", &get("/tasks/T-6"), "Next: the gate test."),
        // The stage that needs a person is not drawn as one that runs.
        ("/tasks/T-4", &get("/tasks/T-4"), "class=\"box now needs\""),
        ("/tasks/T-4", &get("/tasks/T-4"), "expected: 1.0834"),
        ("/tasks/T-4/diff", &get("/tasks/T-4/diff"), "Comment on line 1<"),
        ("/settings", &get("/settings"), ">$5.00<"),
        ("/settings", &get("/settings"), "project · .acquit/acquit.toml:3"),
        ("/workflows/feature", &get("/workflows/feature"), "2 of them need you"),
        ("/workflows/feature", &get("/workflows/feature"), "by gate"),
        ("/workflows/review", &get("/workflows/review"), "No task is in it now. Last 30 days."),
        ("/tasks/T-99", &get("/tasks/T-99"), "<code>acquit task list --all-projects</code>"),
    ] {
        assert!(page.contains(shown), "{path} does not show {shown:?}: {page}");
    }
    // A search says nothing about what it leaves out.
    let (found, none) = (get("/?q=cart"), get("/?q=nothing-like-that"));
    assert!(found.contains("<h1>1 task found</h1>") && none.contains("<h1>No task fits</h1>"), "{found}");
    // A person has passed this stage.
    let legs = done.split_once("aria-label=\"Legs\"").unwrap().1.split_once("</ol>").unwrap().0;
    assert!(!legs.contains("to come"), "{legs}");
    // What the machine lacks stands before what it has.
    let doctor = get("/doctor");
    let kinds: Vec<bool> =
        doctor.split("<li><h2>").skip(1).map(|it| it.contains("aria-label=\"passed\"")).collect();
    assert!(kinds.is_sorted(), "{doctor}");
    // A mistake of a workflow is told where workflows are looked for.
    office.sandbox.repo.write(".acquit/workflows/feature.toml", "description = 3\n");
    let flow = get("/workflows/feature");
    assert!(flow.contains("have mistakes") && flow.contains(".acquit/workflows/feature.toml"), "{flow}");
}

#[test]
fn queued_tasks_are_shown_in_the_order_in_which_they_are_claimed() {
    let office = Office::open();
    let served = Served::start(&office.sandbox, &["--workers", "1"]);
    office.sandbox.acquit(&["task", "add", "Mend the login", "--priority", "5"]).must(0);
    let page = served.browser().get("/?lane=queued").body;
    let at = |id: u32| page.find(&format!("id=\"task-T-{id}\"")).unwrap_or_else(|| panic!("T-{id}: {page}"));
    assert!(at(8) < at(7), "{page}");
}

#[test]
fn tasks_are_found_retried_and_compared_and_schedules_paused() {
    let office = Office::open();
    let served = Served::start(&office.sandbox, &["--workers", "1"]);
    let browser = served.browser();
    let ids = |path: &str| {
        let page = browser.get(path).body;
        (1..=7).filter(|id| page.contains(&format!("id=\"task-T-{id}\""))).collect::<Vec<u32>>()
    };
    assert_eq!(ids("/"), [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(ids("/?tag=rates"), [1, 2]);
    assert_eq!(ids("/?agent=codex"), [3, 4]);
    assert_eq!(ids("/?workflow=chores&q=cart"), [6]);
    assert_eq!(ids("/?q=t-3"), [3]);
    assert_eq!(ids("/?lane=needs"), [2, 3, 4]);
    assert_eq!(ids("/?lane=queued&page=2"), [0; 0]);

    let board = browser.get("/").body;
    assert!(board.find("Needs you") < board.find("Running") && board.contains("3 tasks need you"), "{board}");
    let done = browser.get("/tasks/T-1").body;
    for shown in
        ["rejected</b> by test", "the agent said", "acquitted", "leg 3", "of $5.00", "claude-sonnet-5-5"]
    {
        assert!(done.contains(shown), "T-1 lacks {shown}: {done}");
    }
    // Legs stand in their order, though the newest that an agent worked in is open and others follow it.
    let transcript = done.split_once("id=\"transcript\"").unwrap().1.split_once("</section>").unwrap().0;
    let links = transcript.split("/tasks/T-1/legs/").skip(1).filter_map(|rest| rest.split_once("\"><b>"));
    let order: Vec<&str> = links.map(|(number, _)| number).collect();
    assert_eq!(order, ["1", "2", "3", "4", "5", "6"], "{transcript}");
    let flow = browser.get("/workflows/feature").body;
    assert!(flow.contains("2 rejected") && flow.contains("2 back") && flow.contains("T-3"), "{flow}");
    let agents = browser.get("/agents").body;
    assert!(agents.contains("claude") && agents.contains("too few to say"), "{agents}");
    assert!(agents.contains("By week") && agents.contains("1 of 1"), "{agents}");
    let workers = browser.get("/workers").body;
    assert!(
        workers.contains("1 leg running on 1 machine") && workers.contains("Warn about accounts"),
        "{workers}"
    );
    let worker = Worker {
        name: "big".to_owned(),
        process: "1".to_owned(),
        host: "stone".to_owned(),
        version: "1".to_owned(),
        slots: 3,
        state: WorkerState::Working,
        offers: vec![Need::Label("gpu".to_owned()), Need::Agent("claude".to_owned())],
        lacks: std::collections::BTreeMap::new(),
        idle: None,
    };
    let store = rusqlite::Connection::open(office.sandbox.place("acquit/acquit.db")).unwrap();
    let body = serde_json::to_string(&worker).unwrap();
    let sql = "insert into workers (name, process, seen, offers, body) values ('big', '1', 0, '[]', ?1)";
    store.execute(sql, [body]).unwrap();
    let workers = browser.get("/workers").body;
    for shown in ["0 of 3", "gpu", "stone", " silent"] {
        assert!(workers.contains(shown), "{shown}: {workers}");
    }
    let settings = browser.get("/settings").body;
    assert!(settings.contains("agents.codex.script") && settings.contains("acquit.toml:"), "{settings}");

    let nights = browser.get("/nights");
    assert!(
        nights.body.contains("The next night begins in")
            && nights.body.contains("paused by its configuration"),
        "{}",
        nights.body
    );
    assert_eq!(browser.submit(&nights, "/nights/night/pause", &[]).status, 303);
    let paused = browser.get("/nights");
    assert!(paused.body.contains("No night will begin"), "{}", paused.body);
    assert_eq!(browser.submit(&paused, "/nights/night/resume", &[]).status, 303);
    assert!(browser.get("/nights").body.contains("The next night begins in"));

    // Retried from a stage of its workflow, with a note; a stage that it does not have is refused.
    let page = browser.get("/tasks/T-5");
    let path = "/tasks/T-5/retry";
    assert_eq!(browser.submit(&page, path, &[("stage", "nowhere")]).status, 400);
    assert_eq!(
        browser.submit(&page, path, &[("stage", "code"), ("note", "Keep the old format")]).status,
        303
    );
    until("it is queued again", || {
        let page = browser.get("/tasks/T-5").body;
        (page.contains("Keep the old format") && page.contains("queued</span>")).then_some(())
    });
    // The same task for two agents, to compare them.
    let page = browser.get("/new");
    let fields = [("title", "Twice"), ("workflow", "feature"), ("agent", "claude"), ("also", "codex")];
    let added = browser.submit(&page, "/new", &fields);
    assert_eq!((added.status, added.header("location")), (303, "/?q=Twice".to_owned()), "{}", added.body);
    let found = browser.get("/?q=Twice").body;
    assert!(found.contains("id=\"task-T-8\"") && found.contains("id=\"task-T-9\""), "{found}");
}

/// SPEC §3: ten steps "visible in the event log and the dashboard, each with its own time".
#[test]
fn the_page_of_a_task_shows_how_long_each_step_of_a_leg_took() {
    let sandbox = Sandbox::scripted(common::CODE, WRITES);
    sandbox.run_to(0);
    let served = Served::start(&sandbox, &["--workers", "1"]);
    let page = served.browser().get("/tasks/T-1").body;
    let table = page.split_once("id=\"steps-fold\"").expect("the table of steps").1;
    let table = table.split_once("</table>").expect("its end").0;
    for (name, _) in acquit_core::event::Step::ALL {
        assert!(table.contains(&format!(">{}</th>", name.replace('_', " "))), "{name}: {table}");
    }
    // The first of two legs passed on, so each of its ten steps has a time.
    let first = table.split("<tr>").find(|row| row.contains(">1</th>")).expect("the first leg");
    assert_eq!(first.matches("<td>").count(), 10, "{first}");
    assert!(!first.contains('–') && first.contains(" ms</td>"), "{first}");
}

#[test]
fn a_late_viewer_reads_a_long_transcript_from_its_first_line_to_its_last() {
    let script = r#"
[[code]]
step = [
    { say = "the very first line" },
    { run = "true" },
@BURSTS@
    { write = "work.txt", content = "x\n" },
    { say = "the very last line" },
    { outcome = "pr_ready", payload = { summary = "done" } },
]
"#;
    // More than a page shows, and no more at once than the store takes of a burst.
    let burst = |burst: u32| {
        let lines: Vec<String> = (burst * 300..(burst + 1) * 300).map(|n| format!("line {n}.")).collect();
        format!("    {{ print = \"{}\" }}, {{ pause = \"900ms\" }},", lines.join("\\n"))
    };
    let bursts: Vec<String> = (0..5).map(burst).collect();
    let sandbox = Sandbox::scripted(common::CODE, &script.replace("@BURSTS@", &bursts.join("\n")));
    sandbox.run_to(0);
    // Nobody was there while it ran.
    let served = Served::start(&sandbox, &["--workers", "1"]);
    let browser = served.browser();
    let (mut text, mut next) = (String::new(), Some("/tasks/T-1/legs/1".to_owned()));
    while let Some(path) = next {
        let page = browser.get(&path);
        assert_eq!(page.status, 200, "{path}: {}", page.body);
        next = page.body.split_once(">Later lines<").map(|(before, _)| {
            let address = before.rsplit_once("href=\"").expect("a link").1;
            address.trim_end_matches('"').replace("&amp;", "&")
        });
        text.push_str(&page.body);
    }
    for line in ["the very first line", "line 0.", "line 700.", "line 1499.", "the very last line"] {
        assert!(text.contains(line), "{line}");
    }
}

/// SPEC §6: "Everything the dashboard can do, the CLI and a documented HTTP API can do."
#[test]
fn what_the_pages_of_costs_and_agents_show_the_command_and_the_api_show_too() {
    let script = WRITES.replace("step = [ {", "step = [ { usage = { model = \"claude-sonnet-4-5\", input = 100000, output = 1000, cost_micros = 1250000 } }, {");
    let sandbox = Sandbox::scripted(common::CODE, &script);
    sandbox.acquit(&["run", "Paint it"]).must(0);
    let served = Served::start(&sandbox, &["--workers", "1"]);
    let browser = served.browser();
    let api = crate::api::client(&sandbox, &served, "ci", "viewer").api("GET", "/stats", None).1;
    let command = sandbox.acquit(&["stats", "--json"]).must(0).json();
    let day = command["days"].as_object().unwrap().keys().next().unwrap().clone();
    let page = browser.get("/costs").body;
    // By project, workflow, agent, model and day, each with its amount, and the task that cost it.
    for (group, name) in
        [("workflows", "flow"), ("agents", "bot"), ("models", "claude-sonnet-4-5"), ("days", day.as_str())]
    {
        for stats in [&api, &command] {
            assert_eq!(stats[group][name]["cost_micros"], 1_250_000, "{group}: {stats}");
            assert_eq!(stats[group][name]["proven_micros"], 1_250_000, "{group}: {stats}");
        }
        if group != "days" {
            let row = page.split_once(&format!(">{name}<")).unwrap_or_else(|| panic!("{name}: {page}")).1;
            assert!(row.split("</tr>").next().unwrap().contains("$1.25"), "{group}: {row}");
        }
    }
    let days = page.split_once("id=\"days\"").expect("the days").1;
    assert!(days.split("</svg>").next().unwrap().contains(": $1.25</title>"), "{days}");
    assert_eq!(
        (&api["dearest"][0]["id"], &api["dearest"][0]["cost_micros"]),
        (&"T-1".into(), &1_250_000.into()),
        "{api}"
    );
    assert_eq!(command["dearest"][0]["id"], "T-1", "{command}");
    assert!(page.contains("Most expensive tasks") && page.contains("Paint it"), "{page}");
    // Agents compared, with their weeks.
    let agents = browser.get("/agents").body;
    assert!(agents.contains("1 of 1") && agents.contains("claude-sonnet-4-5"), "{agents}");
    for stats in [&api, &command] {
        let weeks = stats["compared"][0]["weeks"].as_object().unwrap();
        let shown: Vec<_> =
            weeks.values().map(|week| (week["done"].clone(), week["tasks"].clone())).collect();
        assert_eq!(shown, [(1.into(), 1.into())], "{stats}");
    }
}
