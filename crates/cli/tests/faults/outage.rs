//! A store that is away for a moment.

use acquit_core::leg::State;

use crate::common::{Sandbox, read};
use crate::crashes::ONE_STAGE;

#[test]
fn a_store_that_is_away_for_a_moment_ends_no_agent_and_loses_no_line() {
    // It speaks while the store is away, and ends while it is away.
    for (which, lines) in [("2-4", 6), ("2-8", 2)] {
        let agent = format!(
            "for n in $(seq {lines}); do echo line $n of its work; sleep 0.5; done\necho work >> log.txt\n"
        );
        let sandbox = Sandbox::shell(ONE_STAGE, &agent);
        let marker = sandbox.place("marker");
        let sandbox = sandbox.with("ACQUIT_OUTAGE", format!("flush:{which}:{}", marker.display()));
        sandbox.run_to(0);
        let last: usize = which.split('-').nth(1).unwrap().parse().unwrap();
        assert!(read(&marker).len() > last, "the store was not away");
        let states: Vec<State> = sandbox.legs().iter().map(|leg| leg.state).collect();
        assert_eq!(states, [State::Passed, State::Passed]);
        let log = sandbox.acquit(&["logs", "T-1"]).must(0);
        for line in 1..=lines {
            log.said(&format!("line {line} of its work"));
        }
    }
}
