//! What a store promises, shown on every database. Each test is written once, as a function of the [`fixture::Place`]
//! where the store is; the list below makes one test per database of it.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "a test says in its name what it shows, and fails where it is wrong"
)]

mod batches;
mod blocking;
mod cancelling;
mod claims;
mod copies;
mod events;
mod fences;
mod fixture;
mod fleet;
mod migrations;
mod model;
mod nights;
mod pools;
mod queues;
mod tasks;
mod transcripts;
mod waiting;

macro_rules! suite {
    ($($module:ident: $($test:ident),+;)+) => {
        mod sqlite {
            $($(
                #[test]
                fn $test() {
                    crate::$module::$test(&crate::fixture::Place::sqlite());
                }
            )+)+
        }
        mod postgres {
            $($(
                #[test]
                fn $test() {
                    let reason = "what stores promise, on PostgreSQL";
                    let Some(place) = crate::fixture::Place::postgres_or_skip(reason) else { return };
                    crate::$module::$test(&place);
                }
            )+)+
        }
    };
}

suite! {
    tasks:
        a_created_task_is_read_back_whole,
        an_unknown_task_is_an_error_of_its_own,
        reserved_ids_are_unique_among_racing_writers,
        lists_show_what_the_filter_asks_for_newest_first,
        a_list_has_the_tasks_with_all_tags_that_are_asked_for_and_no_others,
        tasks_whose_leg_runs_are_told_from_those_that_wait_for_one,
        a_search_finds_titles_in_any_case_and_ids,
        summaries_follow_the_task,
        any_text_can_be_stored,
        a_step_decided_on_an_older_version_is_refused,
        a_handoff_happens_whole_or_not_at_all,
        one_of_two_racing_steps_wins;
    copies:
        a_backup_is_restored_on_either_database_and_goes_on,
        a_moved_store_refuses_to_be_used,
        a_move_that_died_before_the_mark_is_finished_by_the_next;
    claims:
        legs_are_claimed_by_priority_then_age,
        an_edited_priority_decides_which_leg_is_claimed_next,
        racing_claimers_get_each_leg_once,
        a_named_tasks_leg_can_be_claimed,
        a_delayed_leg_is_not_claimed_before_its_time,
        a_leg_that_the_provider_held_is_followed_by_one_that_waits,
        a_lease_is_renewed_by_heartbeats_and_runs_out_without,
        a_task_has_one_active_leg_whoever_writes;
    fences:
        stale_writer_is_refused,
        a_hold_is_good_for_its_own_leg_only,
        a_running_leg_ends_only_by_its_holder,
        an_unclaimed_leg_can_be_ended_without_a_hold;
    batches:
        many_steps_are_done_as_each_would_be_alone,
        a_step_that_is_refused_writes_nothing_and_hinders_no_other,
        two_that_declare_the_same_legs_lost_share_them,
        legs_that_become_ready_together_take_turns_by_project,
        tasks_are_read_together_and_one_that_is_damaged_keeps_no_other;
    cancelling:
        a_running_leg_hears_of_its_cancellation,
        a_delayed_leg_that_is_cancelled_can_be_claimed_at_once_to_end_it,
        a_cancellation_outlives_the_harness;
    blocking:
        a_task_waits_for_the_one_that_mends_its_failure,
        a_task_that_waits_can_be_ended_and_tried_again,
        two_hundred_tasks_on_twenty_roots_are_all_released;
    queues:
        one_leg_leads_and_the_others_wait_until_it_ends,
        a_head_that_was_lost_can_write_no_more_and_what_it_planned_is_known,
        what_is_settled_is_found_by_its_task_until_it_leaves,
        a_leg_that_was_handed_back_keeps_its_place_and_comes_again_when_the_queue_moves,
        whoever_is_settled_while_away_comes_again_and_who_waits_for_something_else_does_not;
    fleet:
        a_worker_takes_only_legs_that_it_offers_everything_for,
        the_next_leg_needs_what_its_stage_does,
        a_name_belongs_to_one_living_worker,
        a_parcel_arrives_whole_and_only_from_the_holder,
        what_an_ended_task_left_is_removed_and_nothing_of_one_that_goes_on,
        a_repository_is_removed_when_no_task_needs_it_any_more,
        a_task_is_not_made_on_a_repository_that_was_removed_meanwhile,
        racing_cleanups_take_no_repository_from_a_new_task;
    pools:
        a_long_queue_of_one_project_keeps_no_other_waiting,
        a_project_that_was_idle_has_saved_up_nothing,
        a_leg_of_low_priority_that_waits_for_ever_gives_nobody_an_advantage,
        no_more_legs_run_at_once_than_their_pools_allow,
        no_more_legs_of_an_agent_run_at_once_than_it_allows,
        no_project_that_waits_starves,
        the_newest_leg_says_the_limit_of_its_pool,
        racing_claimers_keep_to_a_limit,
        one_leg_finds_a_usage_limit_and_all_of_its_account_wait;
    model:
        the_store_answers_as_the_model_does;
    events:
        replaying_a_tasks_events_gives_the_task,
        events_are_read_in_order_from_any_place,
        notes_come_before_the_changes_of_their_step,
        a_tail_sees_every_event_once_and_in_order;
    transcripts:
        the_history_of_an_ended_task_is_folded_and_the_task_stays,
        a_transcript_is_read_back_from_any_byte_without_gaps,
        repeating_a_chunk_changes_nothing,
        usage_and_notes_arrive_with_their_chunk;
    waiting:
        a_waiter_wakes_when_others_write,
        a_waiter_gives_up_after_its_time,
        the_clock_is_close_to_the_machines;
    nights:
        a_night_is_recorded_once_however_many_try,
        a_night_is_written_by_one_at_a_time_with_its_messages,
        a_schedule_is_paused_and_resumed_for_everybody,
        a_message_is_taken_once_and_sent_once,
        a_message_for_later_is_not_taken_before_its_time,
        a_message_whose_sender_died_is_sent_by_another_and_the_dead_one_changes_nothing,
        racing_senders_take_each_message_once,
        projects_that_share_a_store_share_no_schedule_night_mark_or_message,
        legs_that_wait_are_told_in_the_order_of_their_claims,
        what_is_no_night_and_no_message_is_refused_by_the_schema;
    migrations:
        opening_at_once_makes_one_store,
        a_newer_store_is_left_alone,
        a_store_has_an_id_of_its_own_and_keeps_it,
        a_store_of_schema_1_goes_on,
        a_store_of_schema_2_goes_on,
        a_store_of_schema_3_goes_on,
        a_store_of_schema_4_goes_on,
        a_store_of_schema_5_goes_on,
        a_store_that_a_newer_acquit_migrated_lets_legs_end_and_none_begin,
        a_definition_of_form_1_is_still_read,
        a_definition_of_a_newer_form_says_so,
        a_damaged_task_is_named;
}
