//! The real agents at work: each of them, as its makers ship it, through whole legs of the real binary, in the sandbox, against a
//! model on the loopback that says what a script tells it. Nothing of the machine's own settings is seen, and nothing leaves it.
//!
//! | | claude | codex | opencode | gemini | aider | pi |
//! |---|---|---|---|---|---|---|
//! | edits and a commit | yes | yes | yes | yes | edits | yes |
//! | a tool refused | hook | approval | permission | exclusion | no rules | no rules |
//! | report, mended | MCP | MCP | MCP | MCP | marker | handoff file |
//! | report in form | yes | yes | refused | refused | refused | refused |
//! | question | MCP | MCP | MCP | MCP | no tools | no tools |
//! | conversation goes on | yes | yes | yes | yes | no | yes |
//! | ended in a tool | yes | yes | yes | yes | no tools | yes |
//!
//! Faults of the model have a table of their own, in `faults`. What begins with `soak_` takes minutes, because the agent tries
//! again by itself for so long or is slow to begin: `cargo xtask soak` runs it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests look again until a condition holds or a deadline passes, and show all that was said when they fail"
)]

mod common;
#[path = "live/ends.rs"]
mod ends;
#[path = "live/faults.rs"]
mod faults;
#[path = "live/kit.rs"]
mod kit;
#[path = "live/refused.rs"]
mod refused;
#[path = "live/work.rs"]
mod work;

/// The tests of an agent: each names a scenario and what it takes.
macro_rules! agent {
    ($name:ident, $agent:ident: $($test:ident = $scenario:path $(, $argument:expr)?;)*) => {
        mod $name {
            use crate::kit::Agent;
            $(
                #[test]
                fn $test() {
                    $scenario(Agent::$agent $(, $argument)?);
                }
            )*
        }
    };
}

agent! {
    claude, Claude:
    edits_and_commits = crate::work::edits;
    a_refused_tool_is_told = crate::refused::refused;
    a_report_is_mended_in_its_turn = crate::work::reports;
    a_report_in_form_counts = crate::work::reports_in_form;
    a_question_waits_for_its_answer = crate::work::asks;
    a_fix_goes_on_with_the_conversation = crate::work::goes_on;
    a_person_ends_it_in_a_tool = crate::ends::ended, crate::ends::By::Person;
    a_limit_ends_it_in_a_tool = crate::ends::ended, crate::ends::By::Limit;
    every_fault_of_the_model_has_its_end = crate::faults::met, crate::faults::ALL;
}

agent! {
    codex, Codex:
    edits_and_commits = crate::work::edits;
    a_refused_tool_is_told = crate::refused::refused;
    a_report_is_mended_in_its_turn = crate::work::reports;
    a_report_in_form_counts = crate::work::reports_in_form;
    a_question_waits_for_its_answer = crate::work::asks;
    a_fix_goes_on_with_the_conversation = crate::work::goes_on;
    a_person_ends_it_in_a_tool = crate::ends::ended, crate::ends::By::Person;
    a_limit_ends_it_in_a_tool = crate::ends::ended, crate::ends::By::Limit;
    every_fault_of_the_model_has_its_end = crate::faults::met, crate::faults::ALL;
}

agent! {
    opencode, Opencode:
    edits_and_commits = crate::work::edits;
    a_refused_tool_is_told = crate::refused::refused;
    a_report_is_mended_in_its_turn = crate::work::reports;
    a_question_waits_for_its_answer = crate::work::asks;
    a_fix_goes_on_with_the_conversation = crate::work::goes_on;
    a_person_ends_it_in_a_tool = crate::ends::ended, crate::ends::By::Person;
    soak_a_limit_ends_it_in_a_tool = crate::ends::ended, crate::ends::By::Limit;
    it_is_asked_for_no_form = crate::work::has_no_form;
    faults_of_the_model_have_their_end = crate::faults::met, crate::faults::QUICK;
    soak_slow_faults_of_the_model_have_their_end = crate::faults::met, crate::faults::SLOW;
}

agent! {
    gemini, Gemini:
    edits_and_commits = crate::work::edits;
    a_refused_tool_is_told = crate::refused::refused;
    a_report_is_mended_in_its_turn = crate::work::reports;
    a_question_waits_for_its_answer = crate::work::asks;
    a_fix_goes_on_with_the_conversation = crate::work::goes_on;
    a_person_ends_it_in_a_tool = crate::ends::ended, crate::ends::By::Person;
    a_limit_ends_it_in_a_tool = crate::ends::ended, crate::ends::By::Limit;
    it_is_asked_for_no_form = crate::work::has_no_form;
    every_fault_of_the_model_has_its_end = crate::faults::met, crate::faults::ALL;
}

agent! {
    aider, Aider:
    edits = crate::work::edits;
    a_marker_in_its_last_words_is_its_report = crate::work::reports_without_tools;
    it_is_asked_for_no_form = crate::work::has_no_form;
    every_fault_of_the_model_has_its_end = crate::faults::met, crate::faults::ALL;
}

agent! {
    pi, Pi:
    edits_and_commits = crate::work::edits;
    the_handoff_file_is_its_report = crate::work::reports_without_tools;
    a_fix_goes_on_with_the_conversation = crate::work::goes_on;
    a_person_ends_it_in_a_tool = crate::ends::ended, crate::ends::By::Person;
    a_limit_ends_it_in_a_tool = crate::ends::ended, crate::ends::By::Limit;
    it_is_asked_for_no_form = crate::work::has_no_form;
    every_fault_of_the_model_has_its_end = crate::faults::met, crate::faults::ALL;
}
