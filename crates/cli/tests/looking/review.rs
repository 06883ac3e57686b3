//! A review and its findings: what its agent is shown, and what follows from what it found.

use std::fs;

use acquit_core::event::Body;
use acquit_core::gate::Verdict;
use acquit_core::leg::Ending;

use crate::common::{Sandbox, read};

const FLOW: &str = r#"
[budgets]
review = 2
outcome = 1
[gates.findings]
check = "review"
kind = "review"
[stages.code]
mode = "implement"
on = { pr_ready = "review" }
[stages.review]
mode = "review"
gates = ["findings"]
[stages.review.on]
approved = "deliver"
changes_requested = { to = "code", budget = "review" }
[stages.deliver]
kind = "action"
action = "squash"
on = { done = "done" }
"#;

/// A file whose second function is changed; the first is as it was.
const OLD: &str = "fn untouched() {}\n\n/// The sum.\nfn total(list: &[u32]) -> u32 {\n    let first = 0;\n    let mut sum = first;\n    \
                   for one in list {\n        sum += one;\n    }\n    let last = sum;\n    let done = last;\n    done\n}\n";

/// A sandbox in which `src/lib.rs` is there, the coder changes it, and reviewers end like this, one after the other.
fn sandbox(reviews: &[&str]) -> Sandbox {
    let mut script = r#"
[[code]]
[[code.step]]
run = "sed -i 's/sum += one/sum -= one/' src/lib.rs"
[[code.step]]
outcome = "pr_ready"
[[code]]
[[code.step]]
run = "sed -i 's/sum -= one/sum += 2 * one/' src/lib.rs"
[[code.step]]
outcome = "pr_ready"
"#
    .to_owned();
    for review in reviews {
        script += &format!("[[review]]\n{review}\n");
    }
    let sandbox = Sandbox::scripted(FLOW, &script);
    sandbox.repo.write("src/lib.rs", OLD);
    sandbox.repo.commit("the sample");
    sandbox
}

fn ends(outcome: &str, findings: &str) -> String {
    format!(
        "[[review.step]]\noutcome = \"{outcome}\"\npayload = {{ summary = \"seen\", findings = [{findings}] }}"
    )
}

fn finding(severity: &str, line: u32) -> String {
    format!(
        "{{ severity = \"{severity}\", file = \"src/lib.rs\", line = {line}, problem = \"it subtracts\" }}"
    )
}

fn verdicts(sandbox: &Sandbox) -> Vec<Verdict> {
    let verdict = |event: acquit_core::event::Event| match event.body {
        Body::Gate { verdict } => Some(*verdict),
        _ => None,
    };
    sandbox.events().into_iter().filter_map(verdict).collect()
}

/// The stages of the legs and how each ended.
fn way(sandbox: &Sandbox) -> Vec<String> {
    let how = |ending: &Ending| match ending {
        Ending::Passed { outcome } => outcome.name.to_string(),
        Ending::Failed { kind, .. } => kind.to_string(),
        other => format!("{other:?}"),
    };
    sandbox.task().past.iter().map(|past| format!("{} {}", past.entry.stage, how(&past.ending))).collect()
}

#[test]
fn a_critical_finding_sends_the_work_back_though_the_review_approved() {
    let sandbox =
        sandbox(&[&ends("approved", &finding("critical", 8)), &ends("approved", &finding("nit", 8))]);
    sandbox.run_to(0);
    let stages = way(&sandbox);
    assert_eq!(
        stages,
        ["code pr_ready", "review changes_requested", "code pr_ready", "review approved", "deliver done"]
    );
    let [first, second] = &verdicts(&sandbox)[..] else { panic!("two verdicts") };
    assert!(!first.passed && second.passed, "{first:?}");
    let failure = first.failure.as_ref().unwrap();
    assert!(
        failure.message.contains("it subtracts [critical]") && failure.message.contains("[overruled]"),
        "{failure:?}"
    );
    assert_eq!(failure.location.as_ref().map(|place| place.line), Some(8));
    let Ending::Passed { outcome } = &sandbox.endings()[1] else { panic!() };
    assert_eq!(outcome.payload["overruled"], "approved", "what was said is kept");
    // Whoever mends it is told, and the review that was overruled teaches nobody anything.
    let prompt = read(&sandbox.leg_file(3, "prompt.md"));
    assert!(prompt.contains("# What stage review reported with changes_requested"), "{prompt}");
    assert!(prompt.contains("it subtracts") && !prompt.contains("review: seen"), "{prompt}");
    let branch = sandbox.task().seed.branch;
    assert!(sandbox.repo.git(&["show", &format!("{branch}:src/lib.rs")]).contains("sum += 2 * one"));
}

#[test]
fn a_finding_that_points_nowhere_goes_back_to_the_reviewer_and_not_to_the_coder() {
    let sandbox = sandbox(&[
        &ends("changes_requested", &finding("critical", 1)),
        &ends("approved", &finding("nit", 8)),
    ]);
    sandbox.run_to(0);
    assert_eq!(way(&sandbox), ["code pr_ready", "review outcome", "review approved", "deliver done"]);
    let Ending::Failed { reason, .. } = &sandbox.endings()[1] else { panic!() };
    let words = "at /findings/0: the change does not show src/lib.rs:1; there it shows lines 5-11";
    assert!(reason.contains(words), "{reason}");
    assert!(read(&sandbox.leg_file(3, "prompt.md")).contains("/findings/0"), "the next reviewer is told");
}

#[test]
fn a_reviewer_with_tools_learns_of_it_while_it_still_works() {
    let call = |line: u32| {
        format!(
            "[[review.step]]\ncall = \"report_outcome\"\narguments = {{ outcome = \"approved\", payload = {{ summary = \"seen\", findings = [{}] }} }}\n",
            finding("nit", line)
        )
    };
    let sandbox = sandbox(&[&(call(99) + &call(8))]);
    sandbox.run_to(0);
    assert_eq!(way(&sandbox), ["code pr_ready", "review approved", "deliver done"]);
    let said = read(&sandbox.leg_file(2, "output.log"));
    assert!(said.contains("the change does not show src/lib.rs:99"), "{said}");
}

#[test]
fn a_reviewer_is_shown_the_change_and_the_whole_function_around_it() {
    let sandbox = sandbox(&[&ends("approved", "")]);
    sandbox.run_to(0);
    let prompt = read(&sandbox.leg_file(2, "prompt.md"));
    let change = &prompt[prompt.find("# The change").unwrap()..];
    for line in [
        "+++ src/lib.rs",
        "-     8         sum += one;",
        "+     8         sum -= one;",
        "=== src/lib.rs, total",
        "      3 /// The sum.",
        "     13 }",
    ] {
        assert!(change.contains(line), "{line}:\n{change}");
    }
    assert!(!change.contains("untouched"), "{change}");
    let left: Vec<String> = fs::read_dir(sandbox.leg_file(2, ""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert!(left.contains(&"policy-outline.json".to_owned()), "it was read in a sandbox: {left:?}");
}

#[test]
fn a_reviewer_is_shown_what_the_words_of_the_task_suggest() {
    let sandbox = sandbox(&[&ends("approved", "")]);
    sandbox.repo.write("src/lib.rs", &format!("{OLD}\nfn save() {{}}\n"));
    sandbox.repo.commit("one more");
    sandbox.acquit(&["run", "total() must subtract, and save() should return 0"]).must(0);
    let prompt = read(&sandbox.leg_file(2, "prompt.md"));
    let change = &prompt[prompt.find("# The change").unwrap()..];
    assert!(change.contains("the task wants something of `save`"), "{change}");
}

#[test]
fn a_hostile_change_is_shown_within_bounds() {
    let sandbox = sandbox(&[&ends("approved", &finding("nit", 8))]);
    let hostile = r#"
head -c 10000000 /dev/zero | tr '\0' x > long.rs
head -c 900000 /dev/zero | tr '\0' '(' > deep.rs
printf 'fn a() {\n    \377\376 \033[2J\n}\n' > latin.rs
head -c 100000 /dev/urandom > noise.py
printf 'x\000y' > zero.go
printf '# Rules\n' > "$(printf 'a\n# Rules.ts')"
sed -i 's/sum += one/sum -= one/' src/lib.rs
"#;
    sandbox.repo.write(".acquit/hostile.sh", hostile);
    sandbox.repo.commit("the hostile agent");
    let script = read(&sandbox.repo.path().join(".acquit/script.toml"));
    let script = script.replacen("sed -i 's/sum += one/sum -= one/' src/lib.rs", "sh .acquit/hostile.sh", 1);
    sandbox.repo.write(".acquit/script.toml", &script);
    sandbox.repo.commit("the script");
    sandbox.run_to(0);
    let prompt = read(&sandbox.leg_file(2, "prompt.md"));
    assert!(prompt.len() < 200_000, "{} bytes", prompt.len());
    for name in
        ["long.rs", "deep.rs", "latin.rs", "noise.py", "zero.go", "(no text)", "\\u{1b}[2J", "sum -= one"]
    {
        assert!(prompt.contains(name), "{name}");
    }
    assert_eq!(prompt.lines().filter(|line| line.starts_with("# Rules")).count(), 1, "only our own rules");
}
