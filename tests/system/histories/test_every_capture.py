"""What tests/histories tries with a sample of the recorded captures, with every one of them."""

from pathlib import Path

import pytest

from tests.histories import test_truths
from tests.kit.captures import everywhere


@pytest.mark.parametrize("path", everywhere("*.pcap"))
def test_every_delivery_of_every_capture_is_in_one_history(path: Path) -> None:
    test_truths.test_every_delivery_of_every_capture_is_in_one_history(path)
