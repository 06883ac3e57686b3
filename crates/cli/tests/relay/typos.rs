//! Names with a typo: the one that was probably meant is suggested, and nothing is silently taken for another.

use crate::common::Sandbox;
use crate::{CODE, GOOD};

#[test]
fn a_name_with_a_typo_is_refused_with_the_one_that_was_meant() {
    let sandbox = Sandbox::scripted(CODE, GOOD);
    let more = "[variables]\ntone = \"short\"\n[[schedule]]\nname = \"night\"\nworkflow = \"nightshift\"\ncron = \"30 2 * * *\"\nrepositories = [\".\"]\n";
    let config = sandbox.repo.path().join(".acquit/acquit.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, format!("{text}\n{more}")).unwrap();
    sandbox.acquit(&["task", "add", "One", "--tag", "urgent"]).must(0);
    sandbox.acquit(&["task", "cancel", "T-1"]).must(0);
    for (args, meant) in [
        (&["run", "x", "--workflow", "featrue"][..], "feature"),
        (&["workflow", "graph", "flwo"], "flow"),
        (&["workflow", "eject", "bugfx"], "bugfix"),
        (&["task", "retry", "T-1", "--stage", "cdoe"], "code"),
        (&["prompt", "show", "T-1", "--stage", "cdoe"], "code"),
        (&["prompt", "show", "T-1", "--section", "taks"], "task"),
        (&["run", "x", "--agent", "bto"], "bot"),
        (&["agents", "cluade"], "claude"),
        (&["config", "show", "--agent", "bto"], "bot"),
        (&["config", "show", "--var", "tune=long"], "tone"),
        (&["run", "x", "--var", "tune=long"], "tone"),
        (&["schedule", "run", "nigth"], "night"),
        (&["task", "list", "--state", "wating"], "waiting"),
        (&["task", "list", "--tag", "urgnet"], "urgent"),
        (&["task", "list", "--project", "ein Ordner, grösser"], "ein Ordner, größer"),
    ] {
        let ran = sandbox.acquit(args).must(2);
        assert!(ran.err.contains(&format!("did you mean `{meant}`?")), "{args:?}: {ran}");
    }
    for written in ["T1", "t1", "#1", "1", "t-1"] {
        sandbox.acquit(&["show", written]).must(0).said("T-1");
    }
}
