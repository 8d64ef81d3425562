"""Opening and closing connections over sockets, with TLS and without."""

from __future__ import annotations

from tests.sync.test_connect import (
    test_a_client_certificate_is_shown,
    test_a_recording_goes_on_when_a_lost_connection_is_opened_again,
    test_a_recording_has_everything_but_secrets,
    test_a_recording_is_closed_when_there_is_no_connection,
    test_a_refused_connection_names_the_address,
    test_a_server_that_says_nothing_is_given_up,
    test_an_unwritable_recording_ends_alone,
    test_names_are_unique,
    test_one_recorder_takes_many_connections_into_a_file_of_the_caller,
    test_the_timeout_of_the_url_is_in_milliseconds,
    test_tls_to_a_port_without_is_told,
    test_tls_to_a_server_that_says_nothing_is_given_up,
    test_tls_verifies_by_default,
)

__all__ = [
    "test_a_client_certificate_is_shown",
    "test_a_recording_goes_on_when_a_lost_connection_is_opened_again",
    "test_a_recording_has_everything_but_secrets",
    "test_a_recording_is_closed_when_there_is_no_connection",
    "test_a_refused_connection_names_the_address",
    "test_a_server_that_says_nothing_is_given_up",
    "test_an_unwritable_recording_ends_alone",
    "test_names_are_unique",
    "test_one_recorder_takes_many_connections_into_a_file_of_the_caller",
    "test_the_timeout_of_the_url_is_in_milliseconds",
    "test_tls_to_a_port_without_is_told",
    "test_tls_to_a_server_that_says_nothing_is_given_up",
    "test_tls_verifies_by_default",
]
