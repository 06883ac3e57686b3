//! A repository whose remote is a forge on the loopback.

use acquit_testkit::forge::{Dialect, Forge, Rights};

use crate::common::{SCRIPTED, Sandbox};

/// The token that must be nowhere.
pub(crate) const TOKEN: &str = "ghp_0nlyTheForgeMayKnow1234567890";
/// The branch of the first task.
pub(crate) const BRANCH: &str = "acquit/do-it-T-1";

pub(crate) const WORKFLOW: &str = r#"
[gates.check]
run = "grep -q work log.txt"
kind = "test"

[stages.code]
mode = "implement"
gates = ["check"]
on = { pr_ready = "publish" }

[stages.publish]
kind = "action"
action = "publish"
title = "[acquit] {{ title }}"
labels = ["acquit", "night"]
reviewers = @REVIEWERS@
assignees = ["ada"]
draft = true
on = { done = "done" }
"#;

/// Every agent appends, so that whatever is done twice is seen twice.
const SCRIPT: &str = r#"
[[code]]
step = [
    { run = "echo work >> log.txt && git add -A && git commit -qm work" },
    { usage = { model = "m", input = 20, cost_micros = 20000 } },
    { outcome = "pr_ready", payload = { summary = "written, thanks to @ada, fixes #7", alternatives = [{ name = "a database", why = "too heavy" }] } },
]
[[more]]
step = [
    { run = "echo more >> log.txt && git commit -qam more" },
    { outcome = "pr_ready", payload = { summary = "more of it" } },
]
[[look]]
step = [ { run = "touch @ROOT@/looking; while [ ! -e @ROOT@/go ]; do sleep 0.02; done" }, { outcome = "approved" } ]
[[resolve]]
step = [ { write = "log.txt", content = "theirs\nwork\n" }, { outcome = "resolved" } ]
[[many]]
step = [
    { run = "n=$(git branch --show-current | sed s/.*T-//); echo $n > file$n.txt; mkdir -p keys; case $n in 5|6) echo five > keys/$n;; 7|8) echo $n > same.txt;; esac; git add -A; git commit -qm many" },
    { outcome = "pr_ready" },
]
[[mend]]
step = [ { run = "echo better >> log.txt" }, { outcome = "fixed" } ]
"#;

pub(crate) struct World {
    pub(crate) forge: Forge,
    pub(crate) sandbox: Sandbox,
}

impl World {
    pub(crate) fn new(dialect: Dialect, workflow: &str) -> Self {
        Self::with_forge_settings(dialect, workflow, "")
    }

    /// The same with more in `[forge]`.
    pub(crate) fn with_forge_settings(dialect: Dialect, workflow: &str, settings: &str) -> Self {
        Self::with_config(dialect, workflow, settings, "")
    }

    /// The same with more at the top of the configuration.
    pub(crate) fn with_config(dialect: Dialect, workflow: &str, settings: &str, top: &str) -> Self {
        Self::made(Forge::start(dialect), dialect, workflow, settings, top)
    }

    /// The same with a forge that is there already.
    pub(crate) fn at(forge: Forge, dialect: Dialect, workflow: &str, settings: &str) -> Self {
        Self::made(forge, dialect, workflow, settings, "")
    }

    fn made(forge: Forge, dialect: Dialect, workflow: &str, settings: &str, top: &str) -> Self {
        let (kind, reviewers) = match dialect {
            Dialect::GitHub => ("github", r#"["nobody", "bob", "acme/core"]"#),
            Dialect::GitLab => ("gitlab", r#"["nobody", "bob"]"#),
        };
        let host = if settings.contains("host = ") {
            String::new()
        } else {
            format!("host = \"{}\"\n", forge.host())
        };
        let config = format!(
            "{top}{SCRIPTED}\n[secrets]\nTHE_TOKEN = {{ env = \"THE_TOKEN\" }}\n\
             [forge]\nkind = \"{kind}\"\ntoken = \"THE_TOKEN\"\n{host}{settings}\n"
        );
        let workflow = workflow.replace("@REVIEWERS@", reviewers);
        let sandbox = Sandbox::new(&config, &workflow, SCRIPT).with("THE_TOKEN", TOKEN);
        forge.project("acme/widget", sandbox.repo.path());
        forge.allow(TOKEN, "ada", Rights::Write);
        forge.user("bob");
        sandbox.repo.git(&["remote", "add", "origin", &forge.url("acme/widget")]);
        Self { forge, sandbox }
    }
}
