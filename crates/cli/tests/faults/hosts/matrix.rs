//! SIGKILL at random moments of anything that runs: harness, daemon, worker, agent, gate, PostgreSQL.
#![allow(clippy::disallowed_macros, reason = "a test that counts says what it counted")]
#![allow(clippy::disallowed_methods, reason = "a kill comes at a moment that nobody chose")]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::{Fleet, audit, is_acquit, is_daemon, is_worker, with_fleet};
use crate::common::processes;
use crate::kills::Dice;

/// What can be killed.
const VICTIMS: [&str; 7] = ["harness", "daemon", "worker", "agent", "gate", "server process", "PostgreSQL"];

/// Returns a process of this kind, if one runs.
fn find(fleet: &Fleet<'_>, kind: &str, dice: &mut Dice) -> Option<u32> {
    let root = fleet.sandbox.place("").to_string_lossy().into_owned();
    let is = |line: &str| match kind {
        "harness" => is_acquit(line, "leg"),
        "daemon" => is_daemon(line),
        "worker" => is_worker(line),
        "agent" => line.contains("agent.sh"),
        "gate" => line.contains("work/*.txt"),
        _ => false,
    };
    let ours: Vec<u32> =
        processes::family(&root).into_iter().filter(|(_, line)| is(line)).map(|(pid, _)| pid).collect();
    ours.get(usize::try_from(dice.below(ours.len().max(1) as u64)).unwrap()).copied()
}

/// Kills one; returns whether there was one.
fn kill(fleet: &mut Fleet<'_>, kind: &str, dice: &mut Dice) -> bool {
    match kind {
        "server process" => fleet.pair.kill_backend(),
        "PostgreSQL" => {
            fleet.pair.kill_primary();
            std::thread::sleep(Duration::from_millis(dice.below(1_500)));
            fleet.pair.restart_primary();
        }
        _ => {
            let Some(pid) = find(fleet, kind, dice) else { return false };
            processes::try_signal(pid, Signal::KILL);
        }
    }
    true
}

fn after_kills(kills: u32, tasks: u32, seed: u64, patience: Duration) {
    with_fleet(2, 2, |fleet| {
        fleet.kills = true;
        fleet.add(tasks);
        (0..3).for_each(|which| fleet.boot(which));
        fleet.serve();
        let (mut dice, mut done) = (Dice(seed), BTreeMap::<&str, u32>::new());
        let mut killed = 0;
        let mut next = 0;
        while killed < kills && fleet.done() < i64::from(tasks) {
            std::thread::sleep(Duration::from_millis(dice.below(1_200)));
            let kind = VICTIMS[next % VICTIMS.len()];
            // Gates are over in a moment: look for one for a while.
            let deadline = Instant::now() + Duration::from_secs(2);
            let found = loop {
                if kill(fleet, kind, &mut dice) {
                    break true;
                }
                if Instant::now() > deadline {
                    break false;
                }
            };
            next += 1;
            if found {
                killed += 1;
                *done.entry(kind).or_default() += 1;
            }
        }
        fleet.wait_for(tasks, patience, &format!("after {done:?}"));
        println!("killed: {done:?}");
        audit::everything(fleet, tasks);
    });
}

#[test]
fn soak_heavy_tasks_end_well_on_workers_after_a_dozen_random_kills_of_anything() {
    after_kills(14, 9, 1, Duration::from_mins(5));
}

/// The same at three hundred moments.
#[test]
fn soak_heavy_tasks_end_well_on_workers_after_three_hundred_random_kills_of_anything() {
    after_kills(300, 150, 2, Duration::from_mins(15));
}
