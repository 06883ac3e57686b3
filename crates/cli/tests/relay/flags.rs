//! No flag is ignored: what has no effect in a situation is refused there.

use crate::common::Sandbox;
use crate::{CODE, GOOD};

#[test]
fn a_flag_without_effect_is_refused() {
    let sandbox = Sandbox::scripted(CODE, GOOD);
    sandbox.acquit(&["task", "add", "One"]).must(0);
    for (args, said) in [
        (&["run", "Another", "--pinned"][..], "--pinned for a new task"),
        (&["run", "Another", "--model", "large"], "--model with the agent bot"),
        (&["task", "add", "Another", "--model", "large"], "--model with the agent bot"),
        (&["run", "T-1", "--model", "large"], "--model with the agent bot"),
        (&["run", "T-1", "--tag", "x"], "--tag for T-1, which exists already"),
        (&["prompt", "show", "T-1", "--workflow", "feature"], "--workflow for T-1, which exists already"),
        (&["review", "12", "--base", "main"], "--base with pull request 12"),
        (&["prove", "main..HEAD", "--base", "main"], "--base with the range main..HEAD"),
        (&["prove", "--hook", "pre-push", "--staged"], "--staged with --hook pre-push"),
        (&["prove", "--staged", "--base", "main"], "cannot be used with"),
        (&["sandbox", "--host", "example.org", "--", "true"], "--host without --network model"),
        (&["sandbox", "--print", "--", "true"], "cannot be used with"),
        (&["init", "--hooks", "--force"], "cannot be used with"),
        (&["serve", "--link", "--workers", "2"], "cannot be used with"),
        (&["serve", "--no-web", "--behind-proxy", "https://example.org"], "cannot be used with"),
    ] {
        sandbox.acquit(args).must(2).said(said);
    }
    let list = sandbox.acquit(&["task", "list", "--json"]).must(0);
    assert_eq!(list.json().as_array().unwrap().len(), 1, "no task was made: {}", list.out);
}
