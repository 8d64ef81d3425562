"""Work that grows with what arrives and what is open, at sizes that show more than a sample."""

from tests.core.test_memory import test_many_open_and_close_without_a_search, test_work_grows_with_the_octets

__all__ = ["test_many_open_and_close_without_a_search", "test_work_grows_with_the_octets"]
