//! The real agents at work: each of them, as its makers ship it, through whole legs of the real binary, in the sandbox, against a
//! model on the loopback that says what a script tells it. Nothing of the machine's own settings is seen, and nothing leaves it.
//!
//! Which test shows what of which agent. A word in place of a test says why there is none: the agent has no such thing.
//!
//! | what happens | claude | codex | opencode | gemini | aider | pi |
//! |---|---|---|---|---|---|---|
//! | success with edits and a commit | `edits_and_commits` | same | same | same | `edits`; it is told not to commit, acquit does | `edits_and_commits` |
//! | a tool is refused | `a_refused_tool_is_told` (a hook) | same (an approval) | same (a permission) | same (a policy) | has no tools | has no rules |
//! | a mistake of the configuration | `every_mistake_asks_at_once` | same | `a_wrong_key_asks_at_once`, `soak_every_…` | same | same | `every_mistake_asks_at_once` |
//! | `acquit agents --ask` | `it_answers_when_it_is_asked` | same | `soak_it_answers_when_it_is_asked` | same | same | `it_answers_when_it_is_asked` |
//! | 429 with a reset | F: until then | F: until then | F: until then | F: tells no time, 30 min | F: tries again itself, as an overload | F: tells no time, 30 min |
//! | 529, 500, a stream that is cut | F | F | F | F | F | F |
//! | login refused, the model hangs | F | F | F | F | F | F |
//! | a person cancels | `a_person_ends_it_in_a_tool` | same | same | same | `a_person_ends_it` | `a_person_ends_it_in_a_tool` |
//! | the stage's limit ends it | `a_limit_ends_it_in_a_tool` | same | same | same | `a_limit_ends_it` | `a_limit_ends_it_in_a_tool` |
//! | a conversation goes on | `a_fix_goes_on_with_the_conversation` | same | same | same | has no conversations by id | `a_fix_goes_on_with_the_conversation` |
//! | a question by MCP | `a_question_waits_for_its_answer` | same | same | same | has no MCP | has no MCP |
//! | an outcome by MCP, mended in its turn | `a_report_is_mended_in_its_turn` | same | same | same | no MCP: `a_marker_in_its_last_words_is_its_report` | no MCP: `the_handoff_file_is_its_report` |
//! | structured output | `a_report_in_form_counts` | same | none: `it_is_asked_for_no_form` | none: same | none: same | none: same |
//!
//! F is `every_fault_of_the_model_has_its_end`; what is expected of each is the table in `faults`. opencode, gemini and aider need up to ten
//! seconds of a core to begin: in the ordinary run each meets one mistake and one fault, and all of them in `cargo xtask soak`.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests look again until a condition holds or a deadline passes, and show all that was said when they fail"
)]

#[path = "live/asked.rs"]
mod asked;
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
    every_mistake_asks_at_once = crate::asked::at_once, crate::asked::ALL;
    it_answers_when_it_is_asked = crate::asked::by_agents;
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
    every_mistake_asks_at_once = crate::asked::at_once, crate::asked::ALL;
    it_answers_when_it_is_asked = crate::asked::by_agents;
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
    a_wrong_key_asks_at_once = crate::asked::at_once, crate::asked::WRONG_KEY;
    soak_every_mistake_asks_at_once = crate::asked::at_once, crate::asked::ALL;
    soak_it_answers_when_it_is_asked = crate::asked::by_agents;
    edits_and_commits = crate::work::edits;
    a_refused_tool_is_told = crate::refused::refused;
    a_report_is_mended_in_its_turn = crate::work::reports;
    a_question_waits_for_its_answer = crate::work::asks;
    a_fix_goes_on_with_the_conversation = crate::work::goes_on;
    a_person_ends_it_in_a_tool = crate::ends::ended, crate::ends::By::Person;
    a_limit_ends_it_in_a_tool = crate::ends::ended, crate::ends::By::Limit;
    it_is_asked_for_no_form = crate::work::has_no_form;
    a_used_up_limit_has_its_end = crate::faults::met, crate::faults::LIMIT;
    soak_every_fault_of_the_model_has_its_end = crate::faults::met, crate::faults::ALL;
}

agent! {
    gemini, Gemini:
    a_wrong_key_asks_at_once = crate::asked::at_once, crate::asked::WRONG_KEY;
    soak_every_mistake_asks_at_once = crate::asked::at_once, crate::asked::ALL;
    soak_it_answers_when_it_is_asked = crate::asked::by_agents;
    edits_and_commits = crate::work::edits;
    a_refused_tool_is_told = crate::refused::refused;
    a_report_is_mended_in_its_turn = crate::work::reports;
    a_question_waits_for_its_answer = crate::work::asks;
    a_fix_goes_on_with_the_conversation = crate::work::goes_on;
    a_person_ends_it_in_a_tool = crate::ends::ended, crate::ends::By::Person;
    a_limit_ends_it_in_a_tool = crate::ends::ended, crate::ends::By::Limit;
    it_is_asked_for_no_form = crate::work::has_no_form;
    a_used_up_limit_has_its_end = crate::faults::met, crate::faults::LIMIT;
    soak_every_fault_of_the_model_has_its_end = crate::faults::met, crate::faults::ALL;
}

agent! {
    aider, Aider:
    a_wrong_key_asks_at_once = crate::asked::at_once, crate::asked::WRONG_KEY;
    soak_every_mistake_asks_at_once = crate::asked::at_once, crate::asked::ALL;
    soak_it_answers_when_it_is_asked = crate::asked::by_agents;
    edits = crate::work::edits;
    a_person_ends_it = crate::ends::ended, crate::ends::By::Person;
    a_limit_ends_it = crate::ends::ended, crate::ends::By::Limit;
    a_marker_in_its_last_words_is_its_report = crate::work::reports_without_tools;
    it_is_asked_for_no_form = crate::work::has_no_form;
    a_used_up_limit_has_its_end = crate::faults::met, crate::faults::LIMIT;
    soak_every_fault_of_the_model_has_its_end = crate::faults::met, crate::faults::ALL;
}

agent! {
    pi, Pi:
    every_mistake_asks_at_once = crate::asked::at_once, crate::asked::ALL;
    it_answers_when_it_is_asked = crate::asked::by_agents;
    edits_and_commits = crate::work::edits;
    the_handoff_file_is_its_report = crate::work::reports_without_tools;
    a_fix_goes_on_with_the_conversation = crate::work::goes_on;
    a_person_ends_it_in_a_tool = crate::ends::ended, crate::ends::By::Person;
    a_limit_ends_it_in_a_tool = crate::ends::ended, crate::ends::By::Limit;
    it_is_asked_for_no_form = crate::work::has_no_form;
    every_fault_of_the_model_has_its_end = crate::faults::met, crate::faults::ALL;
}
