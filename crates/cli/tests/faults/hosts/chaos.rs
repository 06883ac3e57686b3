//! The troubles of hosts, one after the other and together.
#![allow(clippy::disallowed_macros, reason = "a test that counts says what it counted")]
#![allow(clippy::disallowed_methods, reason = "trouble lasts for a while that a test chooses")]

use std::time::Duration;

use rustix::process::Signal;

use super::{Fleet, LEASE, audit, with_fleet};
use crate::common::until;

/// Longer than a lease, and than the patrol that finds it.
const BEYOND: Duration = Duration::from_secs(LEASE + 6);

/// The most rounds of trouble before the failover, and after it: time must be left for the tasks.
const ROUNDS: u32 = 3;

/// How the primary dies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Death {
    /// Its processes are killed, and clients hear of it.
    Loud,
    /// Its link is cut first: clients wait for answers that never come.
    Silent,
}

/// One host dies and boots again, one is slow and then cut off, one sleeps with everything on it, beyond the lease.
fn hosts_in_trouble(fleet: &mut Fleet<'_>) {
    fleet.workers[1].host.slow();
    fleet.until_busy(0);
    fleet.workers[0].kill();
    fleet.boot(0);
    fleet.until_busy(1);
    fleet.workers[1].host.heal();
    fleet.workers[1].host.cut();
    fleet.until_busy(2);
    fleet.workers[2].signal(Signal::STOP);
    fleet.slept.extend(fleet.running_on(&fleet.workers[2]));
    std::thread::sleep(BEYOND);
    fleet.workers[1].host.heal();
    fleet.workers[2].signal(Signal::CONT);
}

/// The database moves to the standby while legs run.
fn fail_over(fleet: &mut Fleet<'_>, death: Death) {
    until("legs run", || {
        (fleet.count("select count(*) from legs where state = 'running'") > 0).then_some(())
    });
    if death == Death::Silent {
        fleet.pair.cut_primary();
    }
    fleet.pair.kill_primary();
    fleet.pair.promote();
}

fn every_task_ends(tasks: u32, sleep: u32, slots: u32, death: Death, patience: Duration) {
    with_fleet(sleep, slots, |fleet| {
        fleet.add(tasks);
        (0..3).for_each(|which| fleet.boot(which));
        fleet.serve();
        let all = i64::from(tasks);
        hosts_in_trouble(fleet);
        // With many tasks there is time for more of it, before and after the failover.
        let mut rounds = 1;
        while rounds < ROUNDS && fleet.done() < all / 2 - 20 {
            hosts_in_trouble(fleet);
            rounds += 1;
        }
        fail_over(fleet, death);
        while rounds < 2 * ROUNDS && fleet.done() < all - 20 {
            hosts_in_trouble(fleet);
            rounds += 1;
        }
        fleet.wait_for(tasks, patience, "after all trouble");
        println!("{rounds} times a host killed, one cut off, one asleep; 1 failover");
        audit::everything(fleet, tasks);
    });
}

#[test]
fn heavy_tasks_end_well_though_hosts_die_sleep_and_are_cut_off_and_the_database_fails_over() {
    every_task_ends(9, 3, 2, Death::Loud, Duration::from_mins(5));
}

/// The same with many tasks, and a primary that falls silent.
#[test]
fn soak_heavy_five_hundred_tasks_end_well_on_hosts_in_trouble() {
    every_task_ends(500, 2, 3, Death::Silent, Duration::from_mins(15));
}
