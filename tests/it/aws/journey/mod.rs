//! The journey of an input over the records, the content and the values of an account: the tests of `tests/it/engine`, as they are.

mod ground;

use std::collections::BTreeMap;
use std::path::Path;

use pretty_assertions::assert_eq;

use crate::engine;
use crate::engine::ground::standing_on;

type Tests = &'static [(&'static str, &'static [&'static str])];

/// Each of these tests once more.
macro_rules! over_an_account {
    ($($file:ident { $($test:ident),+ $(,)? })+) => {
        $(mod $file {
            $(#[test]
            fn $test() {
                super::standing_on(super::ground::account, super::engine::$file::$test);
            })+
        })+

        const HERE: Tests = &[$((stringify!($file), &[$(stringify!($test)),+])),+];
    };
}

over_an_account! {
    archive_refusals {
        an_archive_that_is_not_whole_changes_nothing_and_says_why,
    }
    archives {
        a_session_arrives_as_it_was_and_belongs_to_whoever_imported_it,
        an_imported_session_goes_on_like_any_other,
        a_turn_that_was_going_on_is_interrupted_and_goes_on_under_a_new_generation,
        nobody_here_sends_what_was_owed_elsewhere_and_no_run_is_live,
        values_of_variables_stay_in_their_store,
        what_belongs_to_somebody_else_is_not_found_and_what_exists_is_not_replaced,
        a_session_that_changes_while_it_is_read_is_read_again,
        a_session_that_was_deleted_can_come_back,
    }
    background {
        the_agent_goes_on_and_the_turn_waits_only_when_nothing_else_is_left,
        an_answer_that_comes_while_the_agent_works_is_given_to_it_then,
        an_answer_that_was_handed_over_is_not_lost_with_the_worker,
        a_call_that_is_open_when_its_turn_is_cancelled_is_closed,
    }
    census {
        every_end_of_a_turn_is_counted_once_though_rings_are_lost,
        what_ended_before_is_not_counted_and_what_is_deleted_is_in_nobodys_way,
        a_lost_worker_is_one_lease_taken_over,
        work_that_nobody_does_is_due_and_grows_old,
        commits_are_counted_by_how_they_end,
    }
    checkpoints {
        a_checkpoint_is_given_to_the_next_turn_with_what_came_later,
        what_can_not_be_kept_fails_no_turn_and_leaves_what_was_there,
        a_message_that_was_not_taken_is_not_in_it,
        late_checkpoint_from_superseded_run_is_refused,
        a_checkpoint_without_an_answer_that_was_handed_over_is_not_kept,
        what_is_kept_while_a_client_is_awaited_is_there_when_it_answers,
        a_checkpoint_travels_with_its_session,
        a_session_travels_without_a_checkpoint_that_lacks_bytes,
        superseded_bytes_go_a_day_later_unless_something_else_names_them,
        bytes_that_are_kept_again_stay,
        why_a_checkpoint_was_not_used_is_kept_with_the_run,
    }
    crowd {
        many_sessions_steered_queued_and_cancelled_at_once_lose_and_repeat_nothing,
    }
    deleted_artifacts {
        bytes_go_with_the_last_artifact_that_has_them,
        nobody_else_deletes_an_artifact,
    }
    deliveries {
        what_arrives_is_delivered_once,
        p09_every_attempt_has_the_same_id_and_the_same_bytes,
        pauses_between_attempts_grow_and_attempts_end,
        a_refusal_is_not_repeated,
        what_may_have_arrived_is_never_repeated_by_itself,
        an_operator_settles_what_is_uncertain,
        operators_are_refused_what_does_not_exist_or_is_not_theirs,
        the_same_notice_is_owed_once,
        many_deliveries_are_listed_page_by_page_and_each_is_sent_once,
        a_destination_that_is_slow_holds_up_no_other,
        a_destination_that_never_answers_is_uncertain,
        a_failed_notification_never_touches_the_work_of_agents,
        agents_work_while_their_notifications_fail,
        a_deleted_session_sends_nothing_more,
        an_entry_of_the_agenda_that_no_head_knows_is_removed,
    }
    environment_events {
        the_first_command_finds_the_environment_ready_and_later_ones_tell_nothing,
        an_environment_that_dies_under_a_command_is_disconnected_until_it_is_opened_again,
        an_environment_that_can_not_be_opened_has_failed_and_says_why,
        the_environment_of_a_worker_that_died_is_disconnected,
        a_run_that_was_fenced_leaves_the_environment_to_a_newer_one_in_its_process,
        a_worker_that_leaves_suspends_the_environment,
        files_that_are_gone_are_a_reset_and_a_new_beginning,
    }
    erasing {
        a_session_that_was_imported_again_is_not_erased_by_whoever_comes_late,
    }
    expiry {
        an_environment_that_expires_between_turns_leaves_a_session_that_is_read_and_not_written,
        a_turn_under_which_its_environment_expires_fails_and_so_do_those_behind_it,
        a_turn_that_waits_for_its_client_ends_with_its_environment,
        what_has_expired_stays_as_it_is_however_often_it_is_asked_for,
        of_two_who_end_it_at_once_one_is_told_what_the_other_said,
        a_worker_that_can_not_be_accounted_for_keeps_the_workspace_until_it_is_proven_gone,
        a_session_whose_environment_expired_is_exported_imported_and_deleted_like_any_other,
    }
    faults {
        the_story_is_as_it_should_be,
        tokens_are_counted_once_though_an_answer_is_lost_and_somebody_else_commits,
    }
    harnesses {
        a_call_that_is_seen_just_before_the_end_is_closed_with_the_turn,
        waiting_for_nothing_fails_the_turn,
        a_harness_that_panics_fails_its_turn_and_the_session_goes_on,
        a_harness_that_always_leaves_by_itself_fails_its_turn,
        a_message_that_was_never_taken_is_still_part_of_the_turn_that_it_started,
        effects_that_are_claimed_side_by_side_end_each_for_itself,
        a_flood_of_observations_is_stored_whole_and_in_order,
        calls_beyond_the_bound_are_told_as_not_answered_when_the_turn_goes_on,
        many_open_calls_are_closed_when_their_turn_is_cancelled,
        an_answer_that_a_harness_was_handed_and_waits_for_all_the_same_is_in_its_history,
        a_grant_that_reaches_its_worker_twice_is_run_once,
        a_message_that_a_harness_never_takes_does_not_keep_its_turn_from_waiting,
        a_harness_that_waits_for_its_records_has_them_with_one_commit,
        the_end_of_a_call_waits_only_shortly_for_company,
    }
    journey {
        a_turn_runs_commands_and_saves_items_and_artifacts,
        a_function_call_waits_without_a_worker_and_goes_on_in_the_same_turn,
        a_steer_joins_the_running_turn_and_a_queued_message_starts_the_next,
        a_cancel_ends_the_turn_and_what_was_queued_survives_in_order,
        a_deleted_session_is_gone_at_once_and_its_rows_soon,
    }
    keys {
        two_inputs_without_a_common_key_are_two,
        clients_with_one_key_at_one_moment_are_told_the_same,
        another_body_under_a_key_is_refused_with_both_digests,
        the_order_of_fields_and_blanks_make_no_other_body,
        a_refused_request_is_not_remembered_under_its_key,
        a_repeat_is_answered_though_the_same_would_be_refused_by_now,
        a_session_is_created_once_under_its_key,
        a_large_body_is_the_same_under_its_key_and_is_given_whole_to_the_agent,
        the_sessions_of_others_are_not_found,
    }
    late_outputs {
        a_turn_that_runs_nothing_keeps_what_was_made_since_the_last_one,
        no_environment_is_opened_to_look,
    }
    late_turns {
        the_next_turn_reads_only_what_the_one_before_it_added,
        of_a_long_past_a_worker_keeps_what_its_harness_can_use,
        what_a_worker_wrote_and_handed_over_itself_it_does_not_read_back,
        what_a_worker_did_not_write_it_reads,
    }
    live {
        text_is_seen_as_it_comes_under_the_ids_that_the_items_will_have,
        following_costs_a_turn_no_commit,
        what_a_broken_model_call_wrote_is_void,
        nothing_of_a_worker_that_was_replaced_is_shown,
    }
    loss {
        p15_work_goes_on_through_one_rolling_restart_after_another,
        a_policy_can_fail_lost_turns_and_the_session_goes_on,
        a_turn_that_kills_every_worker_fails_and_the_session_goes_on,
        a_turn_that_makes_progress_between_losses_is_never_given_up,
        a_worker_that_is_asked_to_leave_gives_its_lease_back_and_another_goes_on,
        a_command_that_outlives_the_grace_period_is_ended_and_told_to_be_unknown,
        launches_that_fail_are_tried_again_and_then_fail_the_turn,
    }
    meanwhile {
        a_cancel_of_the_turn_that_begins_lets_the_one_behind_it_begin,
        a_call_ends_where_it_was_claimed_though_items_of_others_come_in_between,
    }
    posts {
        messages_of_a_session_go_to_one_machine_until_it_was_idle_for_long,
        a_steer_and_a_cancel_are_heard_on_a_machine_that_nobody_rings,
        a_machine_that_dies_is_replaced_and_its_files_are_told_to_be_gone_once,
        a_machine_that_is_called_back_hands_its_turn_over,
        a_machine_without_its_store_ends_by_itself_and_a_zombie_writes_nothing,
        deleting_a_session_leaves_no_machine,
        a_machine_whose_environment_expires_ends_and_none_is_launched_for_what_is_left,
        a_lack_of_machines_costs_a_turn_time_and_no_attempt,
        what_no_session_needs_is_reaped_and_nothing_else,
        everything_is_fenced_at_once_and_goes_on_when_its_worker_is_proven_gone,
        a_machine_that_was_kept_and_is_silent_is_missed_without_the_time_that_starting_takes,
        machines_that_end_before_a_word_are_launched_less_and_less_often,
    }
    quarantine {
        a_worker_out_of_sight_is_quarantined_and_its_session_stays_usable,
        a_quarantined_worker_that_comes_back_writes_nothing_at_all,
        an_operator_ends_a_quarantine_and_only_a_quarantine,
        a_silent_worker_is_stopped_and_its_turn_goes_on,
        a_cancel_in_quarantine_is_done_when_the_quarantine_ends_and_not_before,
        a_queued_turn_is_cancelled_during_a_quarantine,
        a_session_is_deleted_during_a_quarantine,
        an_operator_releases_the_run_that_is_named_and_no_other,
    }
    secrets {
        no_record_holds_a_value_and_the_environment_is_opened_with_it,
        values_are_erased_with_their_session_and_with_a_creation_that_was_refused,
        without_variables_nothing_is_stored,
        a_command_whose_values_can_not_be_read_is_not_run_and_the_session_goes_on,
        a_session_of_old_keeps_the_values_in_its_configuration,
    }
    start_files {
        they_are_there_before_the_first_command_and_again_when_the_workspace_was_lost,
        files_that_can_not_be_copied_are_refused_and_make_no_session,
        a_template_gives_files_variables_and_the_most_that_can_be_reached,
    }
    store_calls {
        accepting_asks_for_no_more_than_it_has_to,
        who_is_idle_asks_for_next_to_nothing,
    }
    subagents {
        a_subagent_has_its_own_history_and_the_root_agent_has_what_it_did_to_it,
        subagents_that_are_open_when_the_turn_ends_are_closed_with_it_however_many,
        a_lost_worker_leaves_no_open_subagent_and_no_call_that_is_run_again,
        a_turn_that_waits_for_its_client_has_no_open_subagent,
        an_archive_carries_subagents_with_all_that_they_did,
        what_the_harness_cannot_do_is_refused_by_name,
        one_that_was_closed_can_be_opened_again_and_goes_on_in_its_history,
        damage_to_the_records_of_a_subagent_is_found,
    }
    tool_secrets {
        a_harness_is_given_what_servers_are_shown_and_no_record_holds_it,
        a_credential_is_for_its_server_alone_and_without_it_the_turn_fails,
        a_call_of_a_server_and_a_search_are_items_of_their_own_kind,
    }
    wakeups {
        a_run_hears_of_a_cancel_though_another_grant_came_and_went_here,
        p22_everything_is_done_though_every_ring_is_lost,
        a_dispatcher_that_starts_later_finds_what_was_accepted_without_one,
        two_dispatchers_at_once_do_everything_once,
        an_idle_session_is_not_looked_at,
    }
}

/// Tests of the engine that are not called here, by why.
const NOT_HERE: &[(&str, Tests)] = &[
    (
        "Their store or their blobs fail by themselves, as those in memory do when they are told to.",
        &[
            (
                "archives",
                &[
                    "an_import_that_is_broken_off_anywhere_shows_nothing_and_goes_on_or_is_given_up",
                    "giving_up_that_is_broken_off_is_finished_by_whoever_comes_next",
                    "bytes_that_could_not_be_stored_are_stored_when_the_import_goes_on",
                    "bytes_that_are_damaged_are_not_exported",
                    "lost_answers_change_nothing",
                    "of_two_imports_at_once_one_is_whole_and_the_other_writes_nothing_more",
                    "another_archive_of_a_half_imported_session_is_refused",
                ],
            ),
            (
                "delivery_perils",
                &["a_commit_that_fails_once_in_any_way_sends_nothing_twice"],
            ),
            (
                "faults",
                &[
                    "a_commit_that_fails_once_in_any_way_changes_nothing_that_can_be_seen",
                    "p10_every_third_commit_loses_its_answer_and_nothing_that_can_be_seen_changes",
                    "a_store_that_is_away_for_longer_than_a_lease_costs_no_run",
                ],
            ),
            (
                "keys",
                &[
                    "a_lost_answer_is_settled_by_repeating_the_same_call",
                    "a_full_disk_behind_a_lost_answer_is_not_told_as_if_nothing_had_happened",
                ],
            ),
            (
                "kept",
                &[
                    "an_upload_that_ends_at_any_moment_leaves_a_file_or_nothing",
                    "a_deletion_that_ends_at_any_moment_leaves_a_file_or_nothing",
                    "an_upload_that_is_given_up_leaves_nothing",
                    "an_upload_that_took_longer_than_a_day_becomes_no_file_without_bytes",
                    "an_expired_file_is_gone_at_once_and_erased_when_somebody_looks",
                    "pages_of_files_go_on_behind_any_file",
                    "whatever_is_done_with_credentials_leaves_no_secret_that_nobody_names",
                    "a_secret_that_can_not_be_sealed_makes_no_credential",
                    "whatever_is_done_with_templates_leaves_nothing_that_nobody_names",
                ],
            ),
        ],
    ),
    (
        "They make a world for each of hundreds of instants, which over a network takes minutes. `kills` and `storm` are about that.",
        &[
            (
                "background",
                &[
                    "an_answer_at_the_very_end_is_never_lost",
                    "a_message_reaches_an_agent_that_waits_only_for_what_it_need_not_wait_for",
                ],
            ),
            (
                "delivery_perils",
                &[
                    "a_sender_that_dies_at_any_instant_leaves_what_it_was_sending_uncertain_and_nothing_twice",
                    "a_store_call_of_a_sender_that_fails_once_makes_nothing_uncertain",
                ],
            ),
            (
                "faults",
                &[
                    "p16_a_store_call_of_worker_or_daemon_that_fails_once_changes_nothing_that_can_be_seen",
                    "an_answer_that_is_lost_just_before_somebody_else_commits_changes_nothing_that_can_be_seen",
                ],
            ),
            (
                "loss",
                &[
                    "a_dispatcher_that_dies_at_any_instant_is_replaced_by_another",
                    "p13_a_frozen_worker_that_wakes_up_later_writes_nothing_at_all",
                    "p18_a_worker_that_dies_at_any_instant_is_replaced_in_the_same_turn",
                ],
            ),
            (
                "meanwhile",
                &[
                    "an_answer_is_taken_at_any_instant_and_no_output_is_lost",
                    "a_steer_at_any_instant_reaches_the_agent_once",
                    "a_cancel_at_any_instant_ends_its_turn_and_no_other",
                    "a_deletion_at_any_instant_leaves_nothing_behind",
                ],
            ),
        ],
    ),
    (
        "It writes down calls in the order that they have when each is answered at once. `costs` counts requests.",
        &[(
            "store_calls",
            &["a_turn_asks_the_same_whatever_the_session_has_behind_it"],
        )],
    ),
];

#[test]
fn every_test_of_the_engine_is_called_here_or_is_named_with_a_reason() {
    let not_here = NOT_HERE.iter().map(|(_, tests)| *tests);
    let mut named: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (file, tests) in not_here.chain([HERE]).flatten() {
        let tests = tests.iter().map(|test| (*test).to_owned());
        named.entry((*file).to_owned()).or_default().extend(tests);
    }
    let engine = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/engine");
    let mut there: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in std::fs::read_dir(engine).expect("a directory") {
        let path = file.expect("a file").path();
        if path.is_dir() {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a text");
        let file = path.file_stem().expect("a name").to_string_lossy();
        let tests = tests_of(&text).map(str::to_owned);
        there.insert(file.into_owned(), tests.collect());
    }
    there.retain(|_, tests| !tests.is_empty());
    for tests in named.values_mut().chain(there.values_mut()) {
        tests.sort_unstable();
    }
    assert_eq!(named, there);
}

/// Names of tests that run in a runtime: only those have a world.
fn tests_of(text: &str) -> impl Iterator<Item = &str> {
    let behind = text.split("#[tokio::test").skip(1);
    behind.filter_map(|part| {
        let (_, name) = part.split_once("async fn ")?;
        name.split_once('(').map(|(name, _)| name)
    })
}
