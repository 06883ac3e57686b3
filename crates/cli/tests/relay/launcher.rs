//! The copy of a harness from which its helpers are made: it knows nothing, and nothing of it is left.

use std::collections::BTreeMap;

use rustix::process::Signal;

use crate::common::processes::is_over;
use crate::common::{Sandbox, until, until_file};

/// Three legs in one process; the last of them waits.
const STAGES: &str = r#"
[stages.one]
mode = "design"
on = { next = "two" }
[stages.two]
mode = "design"
on = { next = "three" }
[stages.three]
mode = "design"
on = { next = "done" }
"#;
const AGENT: &str = "\
echo leg >> @ROOT@/legs
if [ $(wc -l < @ROOT@/legs) = 3 ]; then touch @ROOT@/begun; exec sleep 60; fi
echo '<<<OUTCOME:next>>>{}<<<END_PAYLOAD>>>'
";

/// Everything below a process, with its state and the variables that the kernel shows of it.
fn below(root: u32) -> BTreeMap<u32, (String, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut next = vec![root];
    while let Some(parent) = next.pop() {
        let children = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"));
        for child in children.unwrap_or_default().split_whitespace().filter_map(|pid| pid.parse().ok()) {
            let status = std::fs::read_to_string(format!("/proc/{child}/status")).unwrap_or_default();
            let state = status.lines().find_map(|line| line.strip_prefix("State:\t")).unwrap_or("gone");
            let variables = std::fs::read(format!("/proc/{child}/environ")).unwrap_or_default();
            found.insert(child, (state.to_owned(), variables));
            next.push(child);
        }
    }
    found
}

#[test]
fn what_is_below_a_harness_knows_nothing_of_it_and_ends_with_it() {
    let sandbox = Sandbox::shell(STAGES, AGENT).with("CANARY", "sings-in-the-harness");
    sandbox.acquit(&["task", "add", "Do it"]).must(0);
    let harness = sandbox.start(&["leg", "--task", "T-1"]);
    until_file(&sandbox.place("begun"));

    let own = std::fs::read(format!("/proc/{}/environ", harness.pid())).unwrap();
    let sings = |variables: &[u8]| variables.windows(5).any(|some| some == b"sings");
    assert!(sings(&own), "the harness itself was given it");
    let found = below(harness.pid());
    // The launcher, the helper, its proxy, the first process of the namespace, the program: at the third leg still one of each.
    assert!((4..=5).contains(&found.len()), "{found:#?}");
    for (pid, (state, variables)) in &found {
        assert!(!state.starts_with('Z'), "{pid} was never waited for: {found:#?}");
        assert!(!sings(variables), "{pid} shows the harness's variables");
    }

    harness.signal(Signal::KILL);
    until("all of it is gone", || found.keys().all(|pid| is_over(*pid)).then_some(()));
}
