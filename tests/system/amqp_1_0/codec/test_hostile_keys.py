"""Keys of 1.0's maps that a peer chose to be slow, as many as show more than a sample."""

from tests.amqp_1_0.codec.test_hostile_keys import (
    test_a_key_that_is_there_twice_is_found_in_one_pass,
    test_reading_a_map_costs_in_proportion_to_its_octets,
)

__all__ = [
    "test_a_key_that_is_there_twice_is_found_in_one_pass",
    "test_reading_a_map_costs_in_proportion_to_its_octets",
]
