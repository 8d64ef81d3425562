"""The tests of tests/asyncio/test_servers.py over sockets, but those that wait long for a time."""

from tests.asyncio.test_servers import (
    test_a_dead_connection_loses_its_session_to_force,
    test_a_handler_that_fails,
    test_a_sender_waits_for_a_server_that_does_not_read,
    test_a_session_that_the_application_refuses,
    test_several_versions_on_one_port,
    test_the_server_closes,
    test_what_a_server_knows_of_its_client,
    test_what_the_handler_had_not_taken_is_shown_once,
    test_who_may_enter,
)

__all__ = [
    "test_a_dead_connection_loses_its_session_to_force",
    "test_a_handler_that_fails",
    "test_a_sender_waits_for_a_server_that_does_not_read",
    "test_a_session_that_the_application_refuses",
    "test_several_versions_on_one_port",
    "test_the_server_closes",
    "test_what_a_server_knows_of_its_client",
    "test_what_the_handler_had_not_taken_is_shown_once",
    "test_who_may_enter",
]
