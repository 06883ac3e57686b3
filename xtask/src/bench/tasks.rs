//! Cost of a task in a store and repository with thousands of finished ones, compared with the cost after the first
//! few. Takes a quarter of an hour, as it runs every one of them.

use std::sync::atomic::{AtomicU32, Ordering};

use super::Setting;
use super::measure::{Cost, Quantity, Round, Row, cost, in_turns};
use super::project::Project;
use crate::{Stop, shell};

/// Maximum growth of any cost from few tasks to many.
const TARGET: f64 = 1.2;
const FEW: u32 = 10;
const MANY: u32 = 5_000;
/// Tasks to run at the same time while the store is filled.
const AT_ONCE: usize = 4;
/// Calls of the user's git per round: one is too short to measure.
const CALLS: u32 = 10;

const CONFIG: &str = r#"
agent = "bench"
[agents.bench]
adapter = "command"
run = ["sh", "-c", "date +%s%N > work.txt"]
"#;
const WORKFLOW: &str = r#"
[stages.code]
mode = "implement"
on = { pr_ready = "deliver" }
[stages.deliver]
kind = "action"
action = "squash"
on = { done = "done" }
"#;

pub(super) fn run(setting: Setting<'_>) -> Result<Vec<Row>, Stop> {
    let Setting { acquit, dir, size, .. } = setting;
    let (few_tasks, many_tasks) = (size.pick(FEW, 1), size.pick(MANY, 3));
    let template = dir.join("template");
    super::leg::repository(&template)?;
    let project = |name: &str| Project::new(acquit, &template, &dir.join(name), CONFIG, WORKFLOW);
    let (few, many) = (project("few")?, project("many")?);
    finish(&few, few_tasks)?;
    finish(&many, many_tasks)?;
    let mut rows = Vec::new();
    let mut row = |thing: &str, few: Round<'_>, many: Round<'_>| {
        let [limit, ours] = in_turns(setting.rounds(), [few, many])?;
        // On a busy machine, wall time says little; CPU time shows what grows.
        for (what, ours, limit) in [("time", ours.wall, limit.wall), ("CPU", ours.cpu, limit.cpu)] {
            let thing = format!("{thing}, {what}, after {many_tasks} tasks beside {few_tasks}");
            let (ours, limit) = (Quantity::Time(ours), Quantity::Time(limit));
            rows.push(Row { thing, ours, limit, target: Some(TARGET) });
        }
        Ok::<(), Stop>(())
    };
    let done = |project: &Project| cost(|| done(project)).map(|((), cost)| cost);
    row("acquit run", &mut || done(&few), &mut || done(&many))?;
    let added = |project: &Project| cost(|| project.add("one more")).map(|(_, cost)| cost);
    row("acquit task add", &mut || added(&few), &mut || added(&many))?;
    let listed =
        |project: &Project| cost(|| project.json(&["task", "list", "--limit", "10"])).map(|(_, cost)| cost);
    row("acquit task list", &mut || listed(&few), &mut || listed(&many))?;
    for arguments in [&["status", "--porcelain"][..], &["log", "-5", "--oneline"]] {
        let thing = format!("git {}", arguments.join(" "));
        row(&thing, &mut || git(&few, arguments), &mut || git(&many, arguments))?;
    }
    Ok(rows)
}

/// Runs `count` tasks to their end.
fn finish(project: &Project, count: u32) -> Result<(), Stop> {
    let next = AtomicU32::new(0);
    let work = || {
        while next.fetch_add(1, Ordering::Relaxed) < count {
            done(project)?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| {
            thread.join().unwrap_or_else(|_| Err(Stop("a thread that ran tasks panicked".to_owned())))
        })
    })
}

fn done(project: &Project) -> Result<(), Stop> {
    let mut command = project.acquit(&["run", "change a file"]);
    let output = command.output().map_err(Stop::doing("start acquit"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(Stop(format!("a task did not end well: {}", String::from_utf8_lossy(&output.stderr).trim())))
}

fn git(project: &Project, arguments: &[&str]) -> Result<Cost, Stop> {
    let calls = || {
        for _ in 0..CALLS {
            let mut command = shell::program("git");
            command.args(arguments).current_dir(project.repository());
            command.output().map_err(Stop::doing("start git"))?;
        }
        Ok(())
    };
    Ok(cost(calls)?.1.per(CALLS))
}
