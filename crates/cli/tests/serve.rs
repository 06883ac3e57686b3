//! The night shift from end to end: the real daemon, real git, scripted agents, and servers on loopback that it tells about it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(
    clippy::disallowed_methods,
    reason = "what a test needs is set by hand, and the time by the machine's clock"
)]

#[path = "serve/admin.rs"]
mod admin;
#[path = "serve/channels.rs"]
mod channels;
mod common;
#[path = "serve/forge.rs"]
mod forge;
#[path = "serve/memory.rs"]
mod memory;
#[path = "serve/mirror.rs"]
mod mirror;
#[path = "serve/nights.rs"]
mod nights;
#[path = "serve/notices.rs"]
mod notices;
#[path = "serve/projects.rs"]
mod projects;
#[path = "serve/remote.rs"]
mod remote;
#[path = "serve/retention.rs"]
mod retention;
#[path = "serve/rework.rs"]
mod rework;
#[path = "serve/schedules.rs"]
mod schedules;
#[path = "serve/service.rs"]
mod service;
#[path = "serve/several.rs"]
mod several;
#[path = "serve/shipped.rs"]
mod shipped;
#[path = "serve/stopping.rs"]
mod stopping;
#[path = "serve/traces.rs"]
mod traces;

use common::Sandbox;

/// A workflow with categories: an analyst that finds something or not, and work on it.
pub(crate) const SHIFT: &str = r#"
[budgets]
outcome = 1
agent = 0
nothing = 0
harness = 0
[variation]
variable = "category"
values = ["tests", "refactoring", "docs"]
[stages.analyze]
mode = "plan"
instructions = "Look for {{ category }}."
on = { plan_complete = "code", no_improvement = "next-variation" }
[stages.code]
mode = "implement"
on = { pr_ready = "deliver", failed = "next-variation" }
[stages.deliver]
kind = "action"
action = "squash"
on = { done = "done" }
"#;

/// An analyst that finds something at once, and work that is done.
pub(crate) const FINDS: &str = r#"
[[analyze]]
step = [
    { output = "plan.md", content = "Test the parser.\n" },
    { usage = { model = "m", input = 10, output = 2, cost_micros = 10000 } },
    { outcome = "plan_complete", payload = { summary = "found", candidates = [ { files = ["src/parse.rs"], description = "Test the parser", rationale = "it has none" } ] } },
]
[[code]]
step = [
    { write = "work.txt", content = "work\n" },
    { usage = { model = "m", input = 1000, output = 20, cost_micros = 1500000 } },
    { outcome = "pr_ready", payload = { summary = "written" } },
]
"#;

/// An analyst that finds nothing in any category.
pub(crate) const NOTHING: &str = r#"
[[analyze]]
step = [ { outcome = "no_improvement", payload = { summary = "all is covered" } } ]
[[analyze]]
step = [ { outcome = "no_improvement", payload = { summary = "all is simple" } } ]
[[analyze]]
step = [ { outcome = "no_improvement", payload = { summary = "all is told" } } ]
"#;

/// A time that nobody is near.
pub(crate) const SOME_DAY: &str = "0 0 29 2 *";

/// The minute in which this process first asked: once a day, and due for some minutes from then on.
pub(crate) fn minute() -> &'static str {
    static MINUTE: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| {
        jiff::Zoned::now().with_time_zone(jiff::tz::TimeZone::UTC).strftime("%M %H * * *").to_string()
    });
    &MINUTE
}

/// A schedule that is due today, with more of its settings.
pub(crate) fn today(more: &str) -> String {
    let cron = minute();
    format!(
        "[[schedule]]\nname = \"night\"\ncron = \"{cron}\"\nzone = \"UTC\"\nworkflow = \"flow\"\n{more}\n"
    )
}

/// A repository with that schedule, which is known for some minutes: so one run is due.
pub(crate) fn due(config: &str, script: &str) -> Sandbox {
    let sandbox = Sandbox::new(&format!("{}\n{config}", common::SCRIPTED), SHIFT, script);
    make_due(&sandbox);
    sandbox
}

/// Lets the schedule have been known for a quarter of an hour.
pub(crate) fn make_due(sandbox: &Sandbox) {
    sandbox.acquit(&["schedule", "list"]).must(0);
    let store = rusqlite::Connection::open(sandbox.place("acquit/acquit.db")).unwrap();
    store.execute("update schedules set since = since - 900000", []).unwrap();
}

/// The nights in the store, oldest first: state and body.
pub(crate) fn nights(sandbox: &Sandbox) -> Vec<serde_json::Value> {
    let store = rusqlite::Connection::open(sandbox.place("acquit/acquit.db")).unwrap();
    let mut query = store.prepare("select body from nights order by nominal").unwrap();
    let rows = query.query_map([], |row| row.get::<_, String>(0)).unwrap();
    rows.map(|body| serde_json::from_str(&body.unwrap()).unwrap()).collect()
}

/// Those that were not skipped.
pub(crate) fn held(sandbox: &Sandbox) -> Vec<serde_json::Value> {
    nights(sandbox).into_iter().filter(|night| night["state"]["type"] != "skipped").collect()
}

/// How many tasks there are.
pub(crate) fn tasks(sandbox: &Sandbox) -> i64 {
    let store = rusqlite::Connection::open(sandbox.place("acquit/acquit.db")).unwrap();
    store.query_row("select count(*) from tasks", [], |row| row.get(0)).unwrap()
}
