"""The few keys whose effect needs what does not run in this process, with the test that shows it."""

from typing import Final

from tests.monitor.config.effects.effect import ShownElsewhere

_GX: Final = "needs the worker of Great Expectations, which takes seconds to start"
_STATE: Final = "needs several exports, decisions or people, which that test sets up"
_KEPT: Final = "counts are kept from run to run, over changes of the table"
_SERVER: Final = "needs an address that answers"
_REQUESTS: Final = "needs requests to the web application"
_WAITS: Final = "needs a server or a statement that does not answer"

_CALENDAR: Final = "needs a calendar beside the configuration"

_KINDS: Final = "tests/monitor/channels/"
_ALERTS: Final = "tests/monitor/alerts/"
_WEB: Final = "tests/monitor/web/"
_EVENTS: Final = "tests/monitor/integrations/test_openlineage.py::"
_DAEMON: Final = "tests/monitor/daemon/"
_RELEASES: Final = "tests/monitor/releases/"
_SCAN: Final = "tests/monitor/scan/"

_RESOLVES: Final = "test_a_closed_ticket_resolves_where_that_is_configured"

ELSEWHERE: Final = tuple(
    ShownElsewhere(key, test, reason)
    for key, test, reason in (
        (
            "IncidentRules.causes",
            "tests/monitor/commands/test_downtime.py::test_a_cause_outside_of_the_list_is_refused_with_the_list",
            _STATE,
        ),
        (
            "Web.changes",
            f"{_WEB}test_config_changes.py::test_an_applied_change_lies_over_hand_written_files",
            _REQUESTS,
        ),
        (
            "Expectation.expectation",
            "tests/checks/test_expectation.py::test_a_table_beyond_the_cap_is_misconfigured",
            _GX,
        ),
        (
            "Alerts.error_budgets",
            "tests/monitor/alerts/test_burn_rates.py::test_a_daemon_tells_it_where_that_is_configured",
            _STATE,
        ),
        (
            "External.columns",
            "tests/monitor/summaries/test_reach.py::test_a_check_of_columns_reaches_what_they_feed",
            _STATE,
        ),
        ("Expectation.kwargs", "tests/checks/test_expectation.py::test_only_named_columns_are_handed_over", _GX),
        ("Expectation.columns", "tests/checks/test_expectation.py::test_only_named_columns_are_handed_over", _GX),
        (
            "Freshness.time",
            "tests/checks/test_freshness_of_catalogues.py::test_logs_and_manifests_say_the_newest_row_and_the_last_write",
            "needs a source whose catalogue is asked",
        ),
        (
            "Schema.on_change",
            "tests/checks/test_schema.py::test_a_change_may_only_warn",
            "needs a past",
        ),
        (
            "Volume.count",
            "tests/checks/test_volume_of_catalogues.py::test_engines_that_keep_no_number_say_so",
            "needs a source whose catalogue is asked",
        ),
        (
            "ByAppend.watermark",
            f"{_SCAN}test_incremental.py::test_appended_rows_are_counted_once_whenever_they_come",
            _KEPT,
        ),
        ("ByChanges.table", f"{_SCAN}test_incremental.py::test_columns_that_do_not_fit_are_named", _KEPT),
        ("ByChanges.sequence", f"{_SCAN}test_incremental.py::test_columns_that_do_not_fit_are_named", _KEPT),
        (
            "Expectation.on_empty",
            "tests/checks/test_expectation.py::test_a_condition_that_leaves_no_row_is_no_data",
            _GX,
        ),
        (
            "Release.purpose",
            "tests/monitor/reporting/test_release_pages.py::test_the_record_tells_everything_that_was_kept",
            _STATE,
        ),
        (
            "Release.legal_basis",
            "tests/monitor/reporting/test_release_pages.py::test_the_record_tells_everything_that_was_kept",
            _STATE,
        ),
        ("Webhook.url", f"{_KINDS}test_standard_webhooks.py::test_a_message_arrives_signed", _SERVER),
        ("Webhook.secret", f"{_KINDS}test_standard_webhooks.py::test_without_a_secret_nothing_is_signed", _SERVER),
        (
            "Channel.apprise",
            f"{_KINDS}test_apprise_services.py::test_a_mail_that_is_not_taken_is_a_failure",
            _SERVER,
        ),
        ("OnCall.calendar", f"{_ALERTS}test_on_call.py::test_what_cannot_be_told_goes_to_the_fallback", _CALENDAR),
        ("OnCall.people", f"{_ALERTS}test_on_call.py::test_who_is_on_call_follows_the_calendar", _CALENDAR),
        ("OnCall.fallback", f"{_ALERTS}test_on_call.py::test_what_cannot_be_told_goes_to_the_fallback", _CALENDAR),
        (
            "Budget.people",
            "tests/monitor/commands/test_budget.py::test_tables_of_the_same_people_have_one_total",
            _STATE,
        ),
        ("Budget.analysts", "tests/monitor/commands/test_budget.py::test_analysts_may_only_ask", _STATE),
        ("Release.approvers", f"{_RELEASES}test_export.py::test_only_approvers_approve", _STATE),
        ("Release.expires_after", f"{_RELEASES}test_export.py::test_nothing_leaves_without_an_approval", _STATE),
        (
            "Release.pseudonyms",
            f"{_RELEASES}test_linkage.py::test_a_pseudonym_links_rows_without_a_person_key_too",
            _STATE,
        ),
        (
            "Release.person_key",
            f"{_RELEASES}test_person_registry.py::test_other_groups_of_the_same_people_are_refused",
            _STATE,
        ),
        (
            "Release.missing_is_a_value",
            f"{_RELEASES}test_people.py::test_missing_values_and_spellings_do_not_leave_as_values",
            _STATE,
        ),
        (
            "Release.spelling_is_a_value",
            f"{_RELEASES}test_people.py::test_missing_values_and_spellings_do_not_leave_as_values",
            _STATE,
        ),
        ("Release.weight", f"{_RELEASES}test_weights.py::test_weights_that_do_not_leave", _STATE),
        ("Release.group_key", f"{_RELEASES}test_weights.py::test_households_hold_a_release", _STATE),
        ("Limits.max_group_risk", f"{_RELEASES}test_weights.py::test_households_hold_a_release", _STATE),
        (
            "Release.re_release",
            f"{_RELEASES}test_person_registry.py::test_other_groups_of_the_same_people_are_refused",
            _STATE,
        ),
        (
            "Release.analyses",
            f"{_RELEASES}test_compare.py::test_no_record_that_is_left_out_can_be_computed_from_what_is_compared",
            _STATE,
        ),
        (
            "Limits.unclassified_uniqueness",
            f"{_RELEASES}test_export.py::test_a_column_that_identifies_records_does_not_leave_without_a_word",
            _STATE,
        ),
        (
            "Limits.epsilon",
            f"{_RELEASES}test_charge.py::test_without_a_budget_the_exports_of_a_table_add_up",
            _STATE,
        ),
        ("Daemon.workers", f"{_DAEMON}test_daemon.py::test_it_watches_until_it_is_told_to_stop", "needs processes"),
        ("Daemon.heartbeat_url", f"{_DAEMON}test_daemon.py::test_it_pings_while_all_is_well", _SERVER),
        ("Daemon.metrics", f"{_DAEMON}test_daemon.py::test_prometheus_can_ask_it", _SERVER),
        ("Source.concurrency", "tests/monitor/workers/test_admission_limits.py::test_admission", "needs processes"),
        (
            "Source.run_timeout",
            f"{_DAEMON}test_answering.py::test_a_look_that_takes_too_long_is_ended_and_stays_charged",
            _WAITS,
        ),
        (
            "Source.connect_timeout",
            "tests/sources/test_spark.py::test_a_server_that_is_not_there_is_unreachable_at_once",
            _WAITS,
        ),
        ("Source.lock_timeout", "tests/sources/test_sqlite.py::test_a_lock_is_waited_for_and_reported", _WAITS),
        (
            "Source.query_timeout",
            f"{_SCAN}test_run.py::test_a_statement_that_cannot_be_stopped_is_a_timeout_and_delays_no_other_table",
            _WAITS,
        ),
        (
            "Source.spark",
            "tests/sources/test_spark.py::test_a_server_that_is_not_there_is_unreachable_at_once",
            "needs Spark",
        ),
        ("Web.passwords", f"{_WEB}test_sign_in.py::test_passwords_sign_in_only_where_configured", _REQUESTS),
        (
            "Web.client_header",
            f"{_WEB}test_sign_in.py::test_behind_a_proxy_failures_count_for_the_address_that_it_names",
            _REQUESTS,
        ),
        ("ProxySignIn.header", f"{_WEB}test_sign_in.py::test_a_trusted_proxy_signs_people_in", _REQUESTS),
        ("ProxySignIn.trusted", f"{_WEB}test_sign_in.py::test_only_the_proxy_may_send_its_header", _REQUESTS),
        ("ProxySignIn.secret_header", f"{_WEB}test_sign_in.py::test_a_trusted_proxy_signs_people_in", _REQUESTS),
        ("ProxySignIn.secret", f"{_WEB}test_sign_in.py::test_only_the_proxy_may_send_its_header", _REQUESTS),
        (
            "Webhook.allow_private",
            f"{_KINDS}test_standard_webhooks.py::test_a_name_that_changes_its_meaning_reaches_nothing",
            _SERVER,
        ),
        ("Config.openlineage", f"{_EVENTS}test_each_run_is_sent_once_and_in_order", _SERVER),
        ("OpenLineage.url", f"{_EVENTS}test_each_run_is_sent_once_and_in_order", _SERVER),
        ("OpenLineage.token", f"{_EVENTS}test_each_run_is_sent_once_and_in_order", _SERVER),
        (
            "OpenLineage.allow_private",
            f"{_EVENTS}test_a_private_address_is_reached_only_where_that_is_allowed",
            _SERVER,
        ),
        ("Jira.close_resolves", f"{_KINDS}test_tickets.py::{_RESOLVES}", _SERVER),
        ("ServiceNow.close_resolves", f"{_KINDS}test_tickets.py::{_RESOLVES}", _SERVER),
    )
)

LABELS: Final = {"Role.role": "says who they are, for the readers of the configuration: its schema says so"}
"""Keys that by their own description have no effect."""
