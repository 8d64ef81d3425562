"""What observers keep within their limits, after many steps."""

from tests.observer.test_memory import (
    test_0_8_and_0_9_1_keep_no_more_than_their_limits,
    test_0_10_keeps_no_more_than_its_limits,
    test_1_0_keeps_no_more_than_its_limits,
    test_links_that_only_one_side_was_seen_to_leave_wait_as_requests_do,
    test_what_isnt_recognised_takes_little_more_than_is_held,
)

__all__ = [
    "test_0_8_and_0_9_1_keep_no_more_than_their_limits",
    "test_0_10_keeps_no_more_than_its_limits",
    "test_1_0_keeps_no_more_than_its_limits",
    "test_links_that_only_one_side_was_seen_to_leave_wait_as_requests_do",
    "test_what_isnt_recognised_takes_little_more_than_is_held",
]
