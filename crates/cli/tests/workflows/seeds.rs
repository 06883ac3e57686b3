//! What the night shift was promised to do where acquit began, line by line, each with the test that shows it. `grep 'N[0-9]'` in this
//! file is the list; a line whose test is renamed or gone is a failed test here.

use std::path::Path;

/// A promise, the file of its test, and the test.
const LINES: [(&str, &str, &str); 34] = [
    // Zero or one request.
    (
        "N01 no improvement only after every category, with a reason for each",
        NIGHT,
        "every_night_ends_as_the_seeds_say_with_names_reasons_and_costs",
    ),
    (
        "N02 the order is the scheduled category, then tests, refactoring, docs, security, performance",
        NIGHT,
        "every_night_ends_as_the_seeds_say_with_names_reasons_and_costs",
    ),
    (
        "N03 a request, with its address, at the end of the whole sequence and never before",
        REQUEST,
        "a_night_is_offered_with_its_category_labels_and_reviewer",
    ),
    (
        "N04 at most one request for a run",
        NIGHT,
        "a_night_falls_back_retries_from_a_clean_tree_and_offers_one_request",
    ),
    (
        "N05 two retries after a failed verification, each from a clean tree, with the verifier's message",
        NIGHT,
        "a_night_falls_back_retries_from_a_clean_tree_and_offers_one_request",
    ),
    (
        "N06 a fallback is named with what it falls back from, also in what is told",
        NIGHTS,
        "a_fallback_is_named_with_what_it_falls_back_from",
    ),
    (
        "N07 without an improvement the report has the reason of each category",
        NIGHTS,
        "a_night_without_an_improvement_gives_a_reason_for_each_category",
    ),
    (
        "N08 cost and duration of all stages together",
        MORNING,
        "a_report_has_category_result_link_cost_duration_and_the_reasons_of_no_improvement",
    ),
    (
        "N09 on a day without a category nothing is run",
        DUE,
        "on_a_day_without_a_category_nothing_is_run_and_the_day_before_is_made_up_for",
    ),
    // The improvement.
    (
        "N10 up to five candidates, ranked with reasons",
        "crates/cli/tests/workflows/seeds.rs",
        "an_analyst_names_one_to_five_candidates_with_their_reasons",
    ),
    (
        "N11 about a hundred changed lines, no dependency files, nothing that ten commits touched",
        NIGHT,
        "a_night_that_changes_too_much_or_a_dependency_or_what_is_new_is_no_night",
    ),
    (
        "N12 each category has its guidance",
        PROMPTS,
        "a_prompt_is_shown_without_a_task_with_role_step_and_outcomes_in_their_order",
    ),
    (
        "N13 nothing is offered that does not stand the project's checks",
        NIGHT,
        "a_night_falls_back_retries_from_a_clean_tree_and_offers_one_request",
    ),
    (
        "N14 what was rejected before is not proposed again",
        "crates/cli/tests/serve/memory.rs",
        "what_was_proposed_before_is_told_and_refused",
    ),
    // Prompts.
    (
        "N15 a template for each step, of the user's own if there is one, relative to the file that names it",
        "crates/cli/tests/workflows/files.rs",
        "a_copy_counts_before_the_programs_own_and_is_never_written_over",
    ),
    (
        "N16 what is read is data: said first, and nobody can take it out",
        "crates/core/tests/context.rs",
        "an_injection_stays_in_its_fence",
    ),
    (
        "N17 an unknown variable is an error that names it",
        "crates/core/tests/context.rs",
        "an_unknown_variable_is_an_error_that_names_it",
    ),
    (
        "N18 variables are an explicit list; the environment is none of it",
        "crates/core/tests/context.rs",
        "variables_come_from_project_workflow_and_task_but_builtin_ones_are_nobodys",
    ),
    (
        "N19 a value is never rendered twice",
        "crates/core/src/template/mod.rs",
        "a_value_is_never_rendered_twice",
    ),
    (
        "N20 a handoff file that is there before the agent is, and counts only once it was written",
        "crates/cli/tests/relay/outcomes.rs",
        "the_handoff_file_counts_before_markers_and_markers_before_inference",
    ),
    // Safety.
    (
        "N21 no agent has the forge's token, and no file, log or argument",
        "crates/cli/tests/forge/secret.rs",
        "the_token_is_nowhere_also_when_the_forge_repeats_it",
    ),
    (
        "N22 an agent's environment is a short list and what was named for it",
        "crates/cli/tests/relay/work.rs",
        "an_agent_sees_only_what_it_was_given",
    ),
    (
        "N23 secrets reach the stages that name them, and nothing that is kept or shown",
        "crates/cli/tests/leak.rs",
        "secrets_are_in_the_environment_of_their_stages_agent_and_nowhere_else",
    ),
    (
        "N24 tools are restricted to what a role needs",
        "crates/cli/tests/workflows/tools.rs",
        "claude_is_kept_from_what_its_role_leaves_out",
    ),
    (
        "N25 a repository that gives orders changes nothing of consequence",
        "crates/cli/tests/workflows/injection.rs",
        "an_analyst_that_obeys_does_no_harm",
    ),
    (
        "N26 nor does its text live in the request",
        "crates/cli/tests/workflows/injection.rs",
        "a_merge_writer_that_obeys_writes_dead_letters",
    ),
    // Delivery.
    (
        "N27 title and labels with the category, the configured reviewer",
        REQUEST,
        "a_night_is_offered_with_its_category_labels_and_reviewer",
    ),
    (
        "N28 summary, reasoning, changes and rejected alternatives in the text",
        "crates/core/tests/delivery.rs",
        "a_request_tells_the_whole_story",
    ),
    (
        "N29 one commit in the repository's own style, by its user",
        "crates/cli/tests/merge/squash.rs",
        "the_message_is_in_the_style_of_the_log",
    ),
    // Nights.
    (
        "N30 cron with a zone, a category for each weekday",
        DUE,
        "a_year_of_nights_has_the_right_category_each_and_none_is_missed_or_doubled",
    ),
    (
        "N31 a repository by its address is cloned when it is absent",
        "crates/cli/tests/serve/mirror.rs",
        "a_repository_by_address_is_cloned_when_absent_and_refreshed",
    ),
    (
        "N32 the report reaches ntfy",
        "crates/cli/tests/serve/notices.rs",
        "the_morning_report_reaches_ntfy_and_a_signed_webhook",
    ),
    (
        "N33 and a page of Confluence",
        "crates/cli/tests/serve/notices.rs",
        "a_page_of_confluence_gets_each_report_once_also_when_others_write_it_meanwhile",
    ),
    (
        "N34 a service of the system, so that it really runs at night",
        "crates/cli/tests/serve/service.rs",
        "an_installed_service_is_written_known_and_removed_again",
    ),
];

const NIGHT: &str = "crates/cli/tests/workflows/night.rs";
const NIGHTS: &str = "crates/cli/tests/serve/nights.rs";
const MORNING: &str = "crates/core/src/night/morning.rs";
const DUE: &str = "crates/core/src/schedule/due_tests.rs";
const PROMPTS: &str = "crates/cli/tests/workflows/prompts.rs";
const REQUEST: &str = "crates/cli/tests/workflows/request.rs";

#[test]
fn every_line_of_the_seeds_has_its_test() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (number, (line, file, test)) in LINES.iter().enumerate() {
        assert!(line.starts_with(&format!("N{:02} ", number + 1)), "out of order: {line}");
        let text = crate::common::read(&top.join(file));
        assert!(text.contains(&format!("fn {test}(")), "{line}: no test {test} in {file}");
    }
}

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
        let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("shipped/workflows/nightshift.toml");
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
