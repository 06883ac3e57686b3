//! The night shift as it comes with acquit, begun by its schedule, on two nights.

use acquit_testkit::forge::{Dialect, Forge, Rights};

use crate::common::{Sandbox, read};
use crate::{make_due, minute};

const TOKEN: &str = "glpat-0nlyTheForgeMayKnow12345";

/// A project with one gate, and a schedule that names a category for every day.
fn project(script: &str) -> Sandbox {
    let config = format!(
        "agent = \"bot\"\n[agents.bot]\nadapter = \"scripted\"\nscript = \"script.toml\"\n\
         [gates.check]\nrun = \"test -e good.txt\"\nkind = \"test\"\n\
         [[schedule]]\nname = \"night\"\ncron = \"{}\"\nzone = \"UTC\"\nworkflow = \"nightshift\"\ntitle = \"Night shift\"\n\
         category = {{ mon = \"docs\", tue = \"docs\", wed = \"docs\", thu = \"docs\", fri = \"docs\", sat = \"docs\", sun = \"docs\" }}\n\
         [report]\nfile = \"../night.md\"\n",
        minute()
    );
    let unused = "[stages.only]\nmode = \"implement\"\non = { pr_ready = \"done\" }\n";
    let sandbox = Sandbox::new(&config, unused, script);
    make_due(&sandbox);
    sandbox
}

pub(crate) const FINDS: &str = r#"
[[analyze]]
[[analyze.step]]
output = "plan.md"
content = "write good.txt"
[[analyze.step]]
outcome = "plan_complete"
payload = { summary = "x", candidates = [{ files = ["good.txt"], description = "Say what is good", rationale = "r" }] }
[[implement]]
[[implement.step]]
write = "good.txt"
content = "good\n"
[[implement.step]]
usage = { model = "m", input = 1000, output = 20, cost_micros = 250000 }
[[implement.step]]
outcome = "pr_ready"
payload = { summary = "done" }
[[describe]]
[[describe.step]]
outcome = "described"
payload = { title = "Say what is good", summary = "x", alternatives = ["nothing else"] }
"#;

#[test]
fn the_shipped_night_shift_runs_by_its_schedule_and_proposes_nothing_twice() {
    let sandbox = project(FINDS);
    sandbox.acquit(&["serve", "--once"]).must(0);
    let report = read(&sandbox.place("night.md"));
    for line in ["- Category: docs\n", "- Result: BRANCH_CREATED, branch `night-shift/", "- Cost: $0.25\n"] {
        assert!(report.contains(line), "no {line:?} in {report}");
    }
    // The next night's analyst has the same idea, is refused, and has no other.
    let end = FINDS.find("[[implement]]").unwrap();
    let nothing = "[[analyze]]\n[[analyze.step]]\noutcome = \"no_improvement\"\npayload = { summary = \"nothing else\" }\n";
    sandbox.repo.write(".acquit/script.toml", &format!("{}{nothing}", &FINDS[..end]));
    sandbox.acquit(&["schedule", "run", "night"]).must(0);
    let report = read(&sandbox.place("night.md"));
    let newest = report.split("\n<!-- acquit").next().unwrap();
    assert!(newest.contains("- Result: NO_IMPROVEMENT\n  - docs: nothing else\n"), "{newest}");
    for category in ["docs", "tests", "refactoring", "security", "performance"] {
        assert!(newest.contains(&format!("  - {category}: nothing else\n")), "no {category} in {newest}");
    }
    let shown = sandbox.acquit(&["task", "show", "T-2", "--json"]).must(0).json();
    let first = shown["task"]["past"][0]["ending"]["reason"].as_str().unwrap().to_owned();
    assert!(first.contains("was proposed before (T-1"), "{first}");
    assert_eq!(sandbox.refs("refs/heads/night-shift").len(), 1, "one request for one change");
}

/// The same with a forge that nights make their requests at.
pub(crate) fn with_forge(script: &str) -> (Forge, Sandbox) {
    let forge = Forge::start(Dialect::GitLab);
    let sandbox = project(script).with("GITLAB_TOKEN", TOKEN).with("GITLAB_HOST", forge.host());
    forge.project("acme/widget", sandbox.repo.path());
    forge.allow(TOKEN, "ada", Rights::Write);
    forge.user("bob");
    forge.user("mallory");
    sandbox.repo.git(&["remote", "add", "origin", &forge.url("acme/widget")]);
    let config = read(&sandbox.repo.path().join(".acquit/acquit.toml"));
    let more = format!("[forge]\nkind = \"gitlab\"\nhost = \"{}\"\nreviewers = [\"bob\"]\n", forge.host());
    sandbox.repo.write(".acquit/acquit.toml", &format!("{config}\n{more}"));
    (forge, sandbox)
}

/// SPEC §8 [N]: "mr: title `[night-shift/<category>] …`, labels `night-shift` and the category, reviewer from the config", and "zero or
/// one merge request per run".
#[test]
fn the_request_of_a_night_has_its_title_labels_and_reviewer() {
    let (forge, sandbox) = with_forge(FINDS);
    sandbox.acquit(&["serve", "--once"]).must(0);
    let pulls = forge.pulls();
    let [pull] = pulls.as_slice() else { panic!("{pulls:?}") };
    assert_eq!(pull.title, "[night-shift/docs] Say what is good");
    assert_eq!(pull.labels, ["night-shift", "docs"]);
    assert_eq!(pull.reviewers, ["bob"]);
    let report = read(&sandbox.place("night.md"));
    assert!(
        report.contains("- Result: MR_CREATED, <http://") && report.contains("- Change: Say what is good\n"),
        "{report}"
    );
    let document = sandbox.acquit(&["report", "--json"]).must(0).json();
    let result = &document["results"][0];
    assert_eq!((&result["outcome"], &result["category"]), (&"MR_CREATED".into(), &"docs".into()));
    let url = result["url"].as_str().unwrap();
    assert!(url.starts_with("http://") && url.ends_with("/merge_requests/1"), "{url}");
    assert!(report.contains(&format!("<{url}>")), "{report}");
}

/// A broken agent in every category is no night without an improvement.
#[test]
fn a_night_whose_agent_is_broken_has_failed() {
    let sandbox = project("");
    let config = read(&sandbox.repo.path().join(".acquit/acquit.toml"));
    let broken = config.replace(
        "adapter = \"scripted\"\nscript = \"script.toml\"",
        "adapter = \"command\"\nrun = \"exit 7\"",
    );
    sandbox.repo.write(".acquit/acquit.toml", &format!("{broken}\n[budgets]\nagent = 0\n"));
    sandbox.acquit(&["serve", "--once"]).must(0);
    let report = read(&sandbox.place("night.md"));
    assert!(report.contains("- Result: FAILED") && !report.contains("NO_IMPROVEMENT"), "{report}");
    let document = sandbox.acquit(&["report", "--json"]).must(0).json();
    let result = &document["results"][0];
    assert_eq!(result["outcome"], "FAILED", "{document}");
    assert!(result["reason"].as_str().unwrap().contains("exit 7"), "{result}");
    // A script is told as well.
    sandbox.acquit(&["schedule", "run", "night"]).must(1).said("FAILED");
}
