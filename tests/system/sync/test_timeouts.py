"""Times of blocking calls, by the machine's clock."""

from __future__ import annotations

from tests.sync.test_timeouts import (
    test_a_rollback_without_an_answer_is_noted,
    test_a_timeout_names_what_was_waited_for,
    test_contexts_are_left_in_time,
)

__all__ = [
    "test_a_rollback_without_an_answer_is_noted",
    "test_a_timeout_names_what_was_waited_for",
    "test_contexts_are_left_in_time",
]
