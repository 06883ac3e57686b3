//! What an analyst of the night shift must report.

use std::path::Path;

/// An analysis without a candidate, with six, or with one that has no reason is no analysis.
#[test]
fn an_analyst_names_one_to_five_candidates_with_their_reasons() {
    let good = r#"{ files = ["a"], description = "d", rationale = "r" }"#;
    let six = [good; 6].join(", ");
    for candidates in ["", six.as_str(), r#"{ files = ["a"], description = "d" }"#] {
        let script = format!(
            "[[analyze]]\n[[analyze.step]]\noutcome = \"plan_complete\"\npayload = {{ summary = \"x\", candidates = [{candidates}] }}\n"
        );
        let sandbox = crate::project(&script);
        // One category and one try are enough here.
        let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../app/shipped/workflows/nightshift.toml");
        let others = ", \"refactoring\", \"docs\", \"security\", \"performance\"";
        let short = crate::common::read(&shipped)
            .replace(others, "")
            .replace("retries = 2", "outcome = 0\nretries = 2");
        sandbox.repo.write(".acquit/workflows/nightshift.toml", &short);
        sandbox.acquit(&["run", "-w", "nightshift", "Night shift"]).must(1);
        let [tried] = sandbox.task().tried.try_into().unwrap();
        assert!(tried.reason.contains("candidates"), "{candidates}: {tried:?}");
    }
}

/// What a night writes and what its analyst ranked, for a forge or a branch.
const NIGHT: &str = r#"
[[analyze]]
step = [
    { output = "plan.md", content = "write good.txt\n" },
    { usage = { model = "m", input = 10, output = 2, cost_micros = 10000 } },
    { outcome = "plan_complete", payload = { summary = "x", candidates = [
        { rank = 2, files = ["b.txt"], description = "Rename the helper", rationale = "its name lies" },
        { rank = 1, files = ["good.txt"], description = "Extract auth validation helper", rationale = "it is there three times" },
      ], selected = { files = ["good.txt"], description = "Extract auth validation helper" } } },
]
[[implement]]
step = [ { write = "good.txt", content = "good\n" }, { outcome = "pr_ready", payload = { summary = "done" } } ]
[[describe]]
step = [ { outcome = "described", payload = { title = "Extract auth validation helper", summary = "one helper", reasoning = "less to read", changes = ["one helper"], alternatives = [] } } ]
"#;

/// What the seed wants otherwise than acquit does by default.
const OTHERWISE: &str = r#"
[commit]
trailer = ""
committer = "author"
[workflows.nightshift]
variables = { bar = "Even a single typo fix is worth a request.", off_limits = "No dependency files.", language = "English" }
models = { implement = "the-strongest" }
"#;

/// The night-shift seed, "MR content and tone", "Commit message style" and "Skip criteria", line by line.
#[test]
fn a_night_is_as_the_seed_decides_where_the_project_says_so() {
    let forge = acquit_testkit::forge::Forge::start(acquit_testkit::forge::Dialect::GitLab);
    let (token, project) = ("glpat-0nlyTheForgeMayKnow12345", "acme/widget");
    let config = format!(
        "{}{OTHERWISE}[secrets]\nTHE_TOKEN = {{ env = \"THE_TOKEN\" }}\n[forge]\nkind = \"gitlab\"\nhost = \"{}\"\n\
         token = \"THE_TOKEN\"\nreviewers = [\"bob\"]\ncost = false\n",
        crate::PROJECT,
        forge.host()
    );
    let sandbox = crate::common::Sandbox::new(&config, crate::UNUSED, NIGHT).with("THE_TOKEN", token);
    forge.project(project, sandbox.repo.path());
    forge.allow(token, "ada", acquit_testkit::forge::Rights::Write);
    forge.user("bob");
    sandbox.repo.git(&["remote", "add", "origin", &forge.url(project)]);
    let run = ["run", "-w", "nightshift", "--var", "category=refactoring", "Night shift"];
    sandbox.acquit(&run).must(0);

    let [pull] = forge.pulls().try_into().unwrap();
    // "Title prefix: `[night-shift/{category}]` (e.g. "[night-shift/refactoring] Extract auth validation helper")"
    assert_eq!(pull.title, "[night-shift/refactoring] Extract auth validation helper");
    // "Add labels: "night-shift" + the category name", "Assign MR to a configured reviewer"
    assert_eq!(pull.labels, ["night-shift", "refactoring"]);
    assert_eq!(pull.reviewers, ["bob"]);
    // "MR body sections: Summary + Reasoning + Changes", "List rejected alternatives (candidates considered section)",
    // "MR body includes ranking reasoning: which candidates were considered, why this one was selected"
    for words in [
        "one helper",
        "## Reasoning\n\n> less to read",
        "## Changes\n\n> - one helper",
        "## Candidates considered\n\n> - Rank 1, chosen: Extract auth validation helper (good.txt): it is there three times\n\
         > - Rank 2: Rename the helper (b.txt): its name lies\n",
    ] {
        assert!(pull.body.contains(words), "no {words:?} in {}", pull.body);
    }
    // "Cost not included in MR body — only in ntfy notification"
    assert!(!pull.body.contains("## Cost") && !pull.body.contains("$0.01"), "{}", pull.body);
    // "Branch naming: `night-shift/{short-description}` (e.g. night-shift/extract-auth-helper)"
    let task = sandbox.task();
    assert_eq!(task.seed.branch, "night-shift/extract-auth-validation-helper-T-1");
    sandbox.acquit(&["show", "T-1"]).must(0).said("night-shift/extract-auth-validation-helper-T-1");
    // "No identifier marking commits as agent-generated", "Commit author uses the host's git config identity",
    // "Single commit per MR"
    let branch = task.seed.branch.as_str();
    let commit = sandbox.repo.git(&["log", "--format=%an|%ae|%cn|%ce|%B", &format!("main..{branch}")]);
    let [author, email, committer, committer_email, message] =
        commit.splitn(5, '|').collect::<Vec<_>>().try_into().unwrap();
    assert_eq!((author, email), (committer, committer_email));
    assert!(!message.contains("T-1") && !message.to_lowercase().contains("acquit"), "{message}");
    // "Always create MR — no minimum complexity bar, even a single typo fix is worth a merge request"
    let analyst = crate::common::read(&sandbox.leg_file(1, "prompt.md"));
    assert!(
        analyst.contains("Even a single typo fix") && !analyst.contains("If no candidate is worth"),
        "{analyst}"
    );
    // "All files allowed including CI/CD config", "No dependency changes"
    let coder = crate::common::read(&sandbox.leg_file(2, "prompt.md"));
    assert!(coder.contains("- No dependency files.") && !coder.contains("CI or build file"), "{coder}");
    // "English language for all MR content"
    let describer = (1..=9).map(|leg| crate::common::read(&sandbox.leg_file(leg, "prompt.md")));
    assert!(describer.filter(|prompt| prompt.contains("Write in English.")).count() == 1);
    // "Model allocation: Opus for Analyze + Implement beads"
    let store = rusqlite::Connection::open(sandbox.place("acquit/acquit.db")).unwrap();
    let definition: String = store.query_row("select definition from tasks", [], |row| row.get(0)).unwrap();
    let definition: serde_json::Value = serde_json::from_str(&definition).unwrap();
    let stages = definition["workflow"]["stages"].as_array().unwrap();
    let implement = stages.iter().find(|stage| stage["name"] == "implement").unwrap();
    assert_eq!(implement["work"]["model"], "the-strongest");
}

/// The night-shift seed's decisions that an agent is told, each with the words that tell it.
#[test]
fn what_the_seed_decides_is_in_the_prompts_of_a_night() {
    let sandbox = crate::project(NIGHT);
    let categories = ["tests", "refactoring", "docs", "security", "performance"];
    for category in categories {
        let category = format!("category={category}");
        sandbox.acquit(&["task", "add", "-w", "nightshift", "Night", "--var", &category]).must(0);
    }
    let told = |stage: &str, category: &str| {
        let task = categories.iter().position(|one| *one == category).unwrap() + 1;
        let show = ["prompt", "show", &format!("T-{task}"), "--stage", stage];
        // Lines are broken where they fit.
        sandbox.acquit(&show).must(0).out.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    #[rustfmt::skip]
    let decisions = [
        // "When skipping (NO_IMPROVEMENT), provide a brief explanation"
        ("analyze", "tests", "say in the summary what you looked at and why it is fine"),
        // "Best opportunity: scan broadly, rank up to 5 candidates, pick the highest-impact one"
        ("analyze", "tests", "Rank up to 5 by use to the owner"),
        ("analyze", "tests", "Choose the first."),
        // "Avoid files touched in the last 10 commits on the default branch"
        ("analyze", "tests", "List the files that the last 10 commits touched"),
        ("implement", "tests", "No file that one of the last 10 commits touched."),
        // "Diff size capped at ~100 lines to keep MRs quick to review"
        ("analyze", "tests", "Each must fit into 100 changed lines, touch no dependency or lock file"),
        ("implement", "tests", "At most 100 changed lines"),
        // "Multiple files per concern allowed"
        ("analyze", "tests", "the chosen candidate (files, what changes, why it is worth it"),
        // "Agent reads project coding conventions (linter config, .editorconfig, CONTRIBUTING.md, etc.)"
        ("analyze", "tests", "CONTRIBUTING, .editorconfig, linter and formatter settings"),
        // "**Tests:** Missing unit test coverage first, then improve existing test quality (better assertions, edge cases, flakiness reduction)"
        ("analyze", "tests", "behaviour that is not tested comes first"),
        ("analyze", "tests", "assertions that hold whatever happens, cases that were forgotten, sleeping, order, time of day or other causes of flakiness"),
        // "**Refactoring:** Broad scope — code duplication, complexity reduction, naming improvements, dead code removal, pattern consistency"
        ("analyze", "refactoring", "code that is there twice and changes together, a function that does three things, a name that says something else than what it does, dead code"),
        // "**Docs:** Code-level documentation (comments, Scaladoc) first, then project-level docs (README, markdown files)"
        ("analyze", "docs", "what is wrong comes first: comments, examples and README lines that the code contradicts"),
        ("analyze", "docs", "Then project documents."),
        // "**Security:** Active vulnerabilities first (OWASP-style: injection, auth bypass, insecure defaults, data exposure), then defensive hardening"
        ("analyze", "security", "what can be used comes first: injection into shell, query, path or template; a missing check of rights; unsafe defaults; secrets or personal data in logs"),
        ("analyze", "security", "Then hardening where input enters"),
        // "Identify and address performance bottlenecks — inefficient algorithms, unnecessary allocations, suboptimal data structures, missing caching opportunities"
        ("analyze", "performance", "work repeated in a loop, the wrong data structure, a query or a read per element, needless copies, no cache"),
        // "Professional and concise tone"
        ("describe", "tests", "No praise, no names of people"),
        // "Match the target repo's existing commit message style"
        ("implement", "tests", "The repository's own style, also in tests and commit messages."),
    ];
    for (stage, category, words) in decisions {
        let prompt = told(stage, category);
        assert!(prompt.contains(words), "{stage}, {category}: no {words:?} in {prompt}");
    }
    // Each category has its own guidance and no other.
    for category in categories {
        let prompt = told("analyze", category);
        let guided: Vec<&str> =
            categories.into_iter().filter(|other| prompt.contains(&format!("**{other}**:"))).collect();
        assert_eq!(guided, [category], "{prompt}");
    }
}

/// The seed's built-in variables: "category", "category_guidance", "repo_url", "handoff_file", "allowed_commands".
#[test]
fn templates_of_the_seed_find_their_variables() {
    let sandbox = crate::project(NIGHT);
    let template = "Date: {{ date }}\nCategory: {{ category }}\nRepository: {{ repo_url }}\n\
        ### Category Guidance\n{{ category_guidance }}\n- You may only run: {{ allowed_commands }}\nWrite to: {{ handoff_file }}\n";
    sandbox.repo.write(".acquit/prompts/nightshift/analyze.md", template);
    let shipped = crate::common::read(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../app/shipped/workflows/nightshift.toml"),
    );
    let stage = "[stages.analyze]\n";
    let own = shipped.replace(stage, &format!("{stage}commands = [\"git\", \"sbt test\"]\n"));
    sandbox.repo.write(".acquit/workflows/nightshift.toml", &own);
    let show = ["prompt", "show", "--workflow", "nightshift", "--stage", "analyze"];
    let prompt = sandbox.acquit(&show).must(0).out;
    let line = |start: &str| {
        prompt.lines().find_map(|line| line.strip_prefix(start)).unwrap_or("nothing").to_owned()
    };
    let date = line("Date: ");
    assert!(date.len() == 10 && date.starts_with("20") && date.split('-').count() == 3, "{date}");
    assert!(line("Write to: ").ends_with("/handoff.json"), "{prompt}");
    assert_eq!(line("Repository: "), sandbox.repo.path().to_string_lossy());
    for words in [
        "Category: tests\n",
        "### Category Guidance\nUntested behaviour first",
        "- You may only run: git, sbt test\n",
        "You may only run these commands, with any arguments: `git`, `sbt test`.",
    ] {
        assert!(prompt.contains(words), "no {words:?} in {prompt}");
    }
    // Step 5 of the seed: "Category Guidance" has a text for each category.
    for (id, (category, guidance)) in [
        ("tests", "Untested behaviour first, then weak tests: missing edge cases, vague assertions, flakiness."),
        ("refactoring", "Duplication, complexity, unclear names, dead code, inconsistent patterns."),
        ("docs", "Documentation in the code first, then README and other documents."),
        (
            "security",
            "Vulnerabilities first: injection, missing checks, unsafe defaults, exposed data. Then hardening.",
        ),
        (
            "performance",
            "Measurable bottlenecks: slow algorithms, needless allocations, unsuitable data structures, missing caches.",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let category = format!("category={category}");
        sandbox.acquit(&["task", "add", "-w", "nightshift", "Night", "--var", &category]).must(0);
        let prompt = sandbox.acquit(&["prompt", "show", &format!("T-{}", id + 1)]).must(0).out;
        let wanted = format!("### Category Guidance\n{guidance}\n");
        assert!(prompt.contains(&wanted), "no {wanted:?} in {prompt}");
    }
}

/// What the project wants otherwise in a workflow is checked like everything else.
#[test]
fn a_stage_that_a_workflow_does_not_have_cannot_be_changed() {
    let config = format!("{}[workflows.nightshift]\nmodels = {{ implemet = \"opus\" }}\n", crate::PROJECT);
    let sandbox = crate::common::Sandbox::new(&config, crate::UNUSED, NIGHT);
    let ran = sandbox.acquit(&["workflow", "check"]).must(2);
    ran.said("the workflow `nightshift` has no agent stage `implemet`");
    ran.said("its agent stages are analyze, implement");
    ran.said(".acquit/acquit.toml:");
}
