//! From an agent to the user who looks at its tree outside of the sandbox, as the prompt of a shell or an editor does.

use std::sync::Mutex;

use crate::common::side_by_side;
use crate::world;

/// What an agent leaves, each with a name. `$ran` is a file that no sandbox can write.
const PLANTS: [(&str, &str); 12] = [
    ("fsmonitor", r#"git config core.fsmonitor "touch $ran;""#),
    (
        "hooks",
        r#"for hook in post-index-change fsmonitor-watchman; do printf '#!/bin/sh\ntouch "%s"\n' "$ran" > .git/hooks/$hook; done
           chmod +x .git/hooks/*; touch README.md"#,
    ),
    (
        "a folder with hooks",
        r#"mkdir h; printf '#!/bin/sh\ntouch "%s"\n' "$ran" > h/post-index-change; chmod +x h/*; git config core.hooksPath h; touch README.md"#,
    ),
    (
        "a filter",
        r#"git config filter.x.clean "touch $ran; cat"; mkdir -p .git/info; echo '* filter=x' > .git/info/attributes; touch README.md"#,
    ),
    (
        "included settings",
        r#"printf '[core]\n\tfsmonitor = "touch %s;"\n' "$ran" > extra; git config include.path ../extra"#,
    ),
    (
        "settings of a worktree",
        r#"git config extensions.worktreeConfig true; git config --worktree core.fsmonitor "touch $ran;""#,
    ),
    (
        "a repository elsewhere",
        r#"git init -q other; git -C other config core.fsmonitor "touch $ran;"; mv other/.git common; echo ../common > .git/commondir"#,
    ),
    (
        "a file in the place of the repository",
        r#"git config core.fsmonitor "touch $ran;"; mv .git own; echo 'gitdir: own' > .git"#,
    ),
    (
        "a link in the place of the repository",
        r#"git config core.fsmonitor "touch $ran;"; mv .git own; ln -s own .git"#,
    ),
    (
        "a submodule",
        r#"git init -q sub; git -C sub -c user.name=x -c user.email=x@y.z commit -q --allow-empty -m x; git add sub; git commit -qm x; git -C sub config core.fsmonitor "touch $ran;""#,
    ),
    (
        "a submodule in an index of another kind",
        r#"git init -q sub; git -C sub -c user.name=x -c user.email=x@y.z commit -q --allow-empty -m x; git add sub; git update-index --index-version 4
           git -C sub config core.fsmonitor "touch $ran;""#,
    ),
    (
        "folders that cannot be moved, in a repository that cannot be listed",
        r#"git config core.fsmonitor "touch $ran;"; chmod 555 .git/hooks
           (cd .git; i=0; while [ $i -lt 300 ]; do mkdir a; cd a; i=$((i+1)); done); chmod 555 .git"#,
    ),
];

/// How legs of these plants end: with work, and without.
const ENDS: [&str; 2] = ["echo work > work.txt", "exit 1"];

#[test]
fn the_repository_of_an_agent_runs_nothing_outside_of_the_sandbox() {
    const FLOW: &str = "[budgets]\nagent = 0\nguardrail = 0\nharness = 0\n[stages.code]\nmode = \"implement\"\non = { pr_ready = \"done\" }\n";
    let cases: Vec<_> = PLANTS.iter().flat_map(|plant| ENDS.map(|end| (plant, end))).collect();
    let fired = Mutex::new(Vec::new());
    side_by_side(&cases, |((name, plant), end)| {
        let agent = format!("ran='@ROOT@/ran'\n{plant}\n{end}\n");
        let sandbox = world(
            "agent = \"bot\"\n[agents.bot]\nadapter = \"command\"\nrun = [\"sh\", \".acquit/agent.sh\"]\n",
            FLOW,
            &agent,
            &[],
        );
        let ran = sandbox.acquit(&["run", "Do it"]);
        let tree = sandbox.place("acquit/tasks/T-1/workspace/work");
        assert!(tree.join("README.md").exists(), "{name}, {end}: {ran}");
        for args in [&["status"][..], &["diff", "--stat"], &["log", "-1"]] {
            sandbox.program("git").arg("-C").arg(&tree).args(args).output().unwrap();
        }
        if sandbox.place("ran").exists() {
            fired.lock().unwrap().push(format!("{name}, {end}"));
        }
    });
    assert_eq!(fired.into_inner().unwrap(), Vec::<String>::new());
}
