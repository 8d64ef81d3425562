"""Numbers that come again, in more conversations than the default suite has."""

from tests.test_repeated_numbers import test_a_number_that_comes_again_is_the_same_both_ways

__all__ = ["test_a_number_that_comes_again_is_the_same_both_ways"]
