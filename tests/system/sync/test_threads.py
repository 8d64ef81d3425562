"""Many threads of the machine on one connection."""

from __future__ import annotations

from tests.sync.test_threads import (
    test_a_hammer_of_threads,
    test_a_number_may_be_given_again_while_its_owner_leaves,
    test_a_thread_that_waits_takes_over_reading,
    test_publishing_is_not_held_up_by_a_thread_that_waits,
    test_threads_share_a_sender_with_one_credit,
)

__all__ = [
    "test_a_hammer_of_threads",
    "test_a_number_may_be_given_again_while_its_owner_leaves",
    "test_a_thread_that_waits_takes_over_reading",
    "test_publishing_is_not_held_up_by_a_thread_that_waits",
    "test_threads_share_a_sender_with_one_credit",
]
