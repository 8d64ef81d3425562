"""What observers keep of large values, after many steps."""

from tests.observer.test_memory_octets import (
    test_0_8_and_0_9_1_keep_no_large_values,
    test_0_10_keeps_no_large_values,
    test_1_0_keeps_no_large_values,
    test_1_0_keeps_no_large_values_of_a_login,
    test_files_that_are_staged_keep_no_large_properties,
)

__all__ = [
    "test_0_8_and_0_9_1_keep_no_large_values",
    "test_0_10_keeps_no_large_values",
    "test_1_0_keeps_no_large_values",
    "test_1_0_keeps_no_large_values_of_a_login",
    "test_files_that_are_staged_keep_no_large_properties",
]
