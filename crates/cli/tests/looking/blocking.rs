//! Two tasks that meet the same failure: the second waits for the first, and goes on when that one is over.

use crate::kit::Sample;

const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

#[test]
fn a_task_waits_for_the_one_that_mends_the_same_failure_and_goes_on_after_it() {
    // What differs from run to run makes no difference: the process, the time, the line.
    let gate = "run = \"grep -q fixed a.txt || { echo error at $(date) in process $$: a.txt:$(wc -l < a.txt): not fixed; exit 1; }\"";
    let mut sample = Sample::new(gate, &[("a.txt", "one\n")], PATH);
    assert!(!sample.judge("echo two >> a.txt", &[]).passed);
    let state = |sample: &Sample, task: &str| {
        let shown = sample.sandbox.acquit(&["task", "show", task]).must(0);
        shown.out
    };
    assert!(state(&sample, "T-1").contains("waits for a person"), "{}", state(&sample, "T-1"));
    assert!(!sample.judge("printf 'two\\nthree\\n' >> a.txt", &[]).passed);
    let blocked = state(&sample, "T-2");
    assert!(blocked.contains("waits at code for T-1, which mends the same failure"), "{blocked}");

    // Nothing happens before the first one is over.
    let still = sample.sandbox.acquit(&["run", "T-2"]).must(3);
    assert!(still.out.contains("for T-1"), "{}", still.out);
    // Another failure does not wait for it.
    assert!(sample.judge("echo fixed >> a.txt", &[]).passed);

    sample.sandbox.acquit(&["task", "cancel", "T-1"]);
    let after = sample.sandbox.acquit(&["run", "T-2"]);
    let shown = state(&sample, "T-2");
    assert!(
        shown.contains("waits for a person"),
        "now it is its own to mend: {}\n{}\n{shown}",
        after.out,
        after.err
    );
}
