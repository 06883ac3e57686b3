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
