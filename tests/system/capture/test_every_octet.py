"""Each octet of a capture may be any other: rows or damage, never an exception."""

import pytest

from tests.capture import test_fuzz


@pytest.mark.parametrize("name", ["variety", "big-endian"])
def test_each_octet_may_be_any_other(name: str) -> None:
    test_fuzz.test_each_octet_may_be_any_other(name, 1)
