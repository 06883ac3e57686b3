//! What passes between the stages of a task: an agent leaves something for whoever comes next, in every place that it can write to,
//! and a later stage with a secret, a gate or setup does what honest programs do. None of it may be found.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "the matrix is printed, to be read, and another user runs it again"
)]

#[path = "stages/agents.rs"]
mod agents;
#[path = "stages/between.rs"]
mod between;
#[path = "stages/collect.rs"]
mod collect;
mod common;
#[path = "stages/exact.rs"]
mod exact;
#[path = "stages/gates.rs"]
mod gates;
#[path = "stages/layers.rs"]
mod layers;
#[path = "stages/matrix.rs"]
mod matrix;
#[path = "stages/modules.rs"]
mod modules;
#[path = "stages/outside.rs"]
mod outside;
#[path = "stages/settings.rs"]
mod settings;
#[path = "stages/stores.rs"]
mod stores;
#[path = "stages/unchanged.rs"]
mod unchanged;
#[path = "common/user.rs"]
mod user;

use common::Sandbox;

/// One agent for all stages, a secret that only the second stage is granted.
const CONFIG: &str = r#"
agent = "bot"
[agents.bot]
adapter = "command"
run = ["sh", ".acquit/agent.sh"]
[secrets]
LATER_KEY = { env = "LATER_KEY" }
"#;

/// A stage that writes, one that looks at the work with a secret of its own, and the delivery.
const TWO: &str = r#"
[budgets]
outcome = 0
agent = 0
limit = 0
nothing = 0
harness = 0
guardrail = 0
test = 0
[stages.code]
mode = "implement"
on = { pr_ready = "look" }
[stages.look]
mode = "investigate"
secrets = ["LATER_KEY"]
on = { found = "deliver" }
[stages.deliver]
kind = "action"
action = "squash"
on = { done = "done" }
"#;

/// What the secret is.
const SECRET: &str = "later-key-4711-4711";

/// Set where tests run again on a machine without user namespaces.
const REDUCED: (&str, &str) = ("ACQUIT_STAGES_SANDBOX", "reduced");

/// Whether the machine lacks user namespaces, and projects accept that.
fn is_reduced() -> bool {
    std::env::var(REDUCED.0).as_deref() == Ok(REDUCED.1)
}

/// A repository with these files. What programs tell the test goes to `@ROOT@/seen`, the only place that they share.
fn world(config: &str, workflow: &str, agent: &str, files: &[(&str, &str)]) -> Sandbox {
    let reduced = if is_reduced() { "sandbox = \"reduced\"\n" } else { "" };
    let config = format!("{reduced}{config}\n[access]\nwrite = [\"@ROOT@/seen\"]\n");
    let mut all = vec![
        (".acquit/acquit.toml", config.as_str()),
        (".acquit/workflows/flow.toml", workflow),
        (".acquit/agent.sh", agent),
    ];
    all.extend_from_slice(files);
    let sandbox = Sandbox::of_files("stages", &all);
    std::fs::create_dir_all(sandbox.place("seen")).unwrap();
    sandbox
}

/// A task in which the first stage runs `plant` and the second `honest`.
fn two(plant: &str, honest: &str) -> Sandbox {
    let agent = format!(
        "steal='@ROOT@/seen/stolen'; export steal\ncase $ACQUIT_STAGE in\ncode)\n{plant}\necho work > work.txt\n;;\nlook)\n{honest}\n\
         printf '{{\"outcome\": \"found\", \"payload\": {{\"summary\": \"looked\"}}}}' > \"$ACQUIT_HANDOFF\"\n;;\nesac\n"
    );
    world(CONFIG, TWO, &agent, &[(".gitignore", "node_modules\n.venv\nbuild\n*.local\n__pycache__\n")])
        .with("LATER_KEY", SECRET)
}

/// Where the machine has no user namespaces, nothing is made that could not be run.
#[test]
fn a_missing_wall_is_refused_before_a_task_is_made() {
    const INSIDE: (&str, &str) = ("ACQUIT_TEST_WITHOUT_NAMESPACES", "1");
    if std::env::var(INSIDE.0).as_deref() == Ok(INSIDE.1) {
        let sandbox = two("true", "true");
        let refused = sandbox.acquit(&["run", "Do it"]).must(2);
        for words in ["namespaces of its own", "acquit doctor", "sandbox = \"reduced\""] {
            assert!(refused.err.contains(words), "no {words:?} in {refused}");
        }
        sandbox.acquit(&["task", "list"]).must(0).said("no tasks yet");
        return;
    }
    let acquit = common::binary();
    if user::can_become_one() {
        let own = "a_missing_wall_is_refused_before_a_task_is_made";
        let programs = [("ACQUIT_TEST_BINARY", acquit.as_path())];
        user::run(user::Machine::WithoutUserNamespaces, &[own], &programs, &[INSIDE]);
    }
}

/// Tests of what passes between stages, for other users and machines. The ordinary run tries what differs.
const EVERY_WALL: [&str; 26] = [
    "agents::nothing_that_one_stage_leaves_is_found_by_the_next",
    "agents::nothing_that_the_kernel_keeps_is_found_by_the_next_stage",
    "agents::nothing_that_git_does_not_show_is_found_by_the_next_stage",
    "agents::a_leg_cannot_keep_the_next_from_starting",
    "agents::what_legs_leave_on_the_disk_has_no_secret_when_the_task_ends",
    "between::a_fix_with_another_network_has_a_home_of_its_own",
    "between::committed_files_do_not_take_the_place_of_what_setup_installed",
    "between::rules_of_the_work_do_not_make_files_of_setup_part_of_it",
    "between::names_of_files_for_the_next_stage_are_data",
    "between::nothing_that_a_reviewer_commits_is_delivered",
    "between::what_is_no_file_is_not_handed_to_the_next_stage",
    "collect::no_program_of_the_agents_is_run_by_acquits_git",
    "collect::nothing_that_is_not_what_it_seems_stops_or_misleads_the_collection",
    "collect::a_report_that_is_not_a_file_is_no_report_and_nobody_waits_for_it",
    "exact::gates_see_the_files_of_the_commit_whatever_the_tree_of_the_agent_has",
    "gates::a_program_that_setup_installed_is_not_the_agents_to_replace",
    "gates::a_gate_beside_another_does_not_write_its_settings",
    "gates::ignored_files_and_the_agents_repository_have_no_say",
    "gates::neither_old_times_nor_false_objects_hide_a_change_from_a_gate",
    "gates::setup_sees_committed_files_only",
    "layers::code_of_an_agent_makes_no_layer_that_others_see",
    "modules::hostile_submodules_end_in_a_question_or_do_no_harm",
    "outside::the_repository_of_an_agent_runs_nothing_outside_of_the_sandbox",
    "settings::settings_from_which_agents_start_programs_are_refused",
    "stores::two_stores_over_one_home_and_one_repository_never_meet",
    "unchanged::nothing_is_handed_on_in_files_that_git_takes_for_unchanged",
];

/// All of it as an ordinary user.
#[test]
fn soak_an_ordinary_user_has_every_wall_between_stages() {
    let acquit = common::binary();
    if user::can_become_one() {
        user::run(user::Machine::Whole, &EVERY_WALL, &[("ACQUIT_TEST_BINARY", &acquit)], &[]);
    }
}

/// Without user namespaces, all walls between stages hold as well. Two tests are about what such a machine
/// does not have: a home that is written, and layers.
#[test]
fn soak_without_user_namespaces_stages_have_every_wall_between_them() {
    let needs_them = |test: &&str| test.starts_with("between::a_fix_with") || test.starts_with("layers::");
    let tests: Vec<&str> = EVERY_WALL.into_iter().filter(|test| !needs_them(test)).collect();
    without_user_namespaces(&tests);
}

/// Of the walls that hold without user namespaces, those that are built in another way there.
#[test]
fn without_user_namespaces_the_kernel_keeps_nothing_for_the_next_stage() {
    without_user_namespaces(&["agents::nothing_that_the_kernel_keeps_is_found_by_the_next_stage"]);
}

/// Runs tests as a user of a machine without user namespaces.
fn without_user_namespaces(tests: &[&str]) {
    let acquit = common::binary();
    if user::can_become_one() {
        let machine = user::Machine::WithoutUserNamespaces;
        user::run(machine, tests, &[("ACQUIT_TEST_BINARY", &acquit)], &[REDUCED]);
    }
}

/// Root owns what its programs leave; a user does not own everything, and gets other namespaces.
#[test]
fn an_ordinary_user_has_the_same_walls_between_stages() {
    let tests = [
        "matrix::the_roles_of_a_task_read_nothing_of_each_other_but_what_is_named",
        "agents::a_set_uid_file_cannot_be_made",
        "agents::a_set_gid_file_is_refused_and_loses_its_bit",
        "agents::nobody_else_enters_the_folder_of_acquit",
    ];
    let acquit = common::binary();
    if user::can_become_one() {
        user::run(user::Machine::Whole, &tests, &[("ACQUIT_TEST_BINARY", &acquit)], &[]);
    }
}
