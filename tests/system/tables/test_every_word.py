"""The words of every method, control and command of a peer are shown without harm."""

from typing import Any

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1
from tests.tables import test_printable


@pytest.mark.parametrize("version", [AMQP_0_8, AMQP_0_9_1], ids=lambda version: version.label)
def test_the_words_of_every_method(version: Any) -> None:
    test_printable.test_the_words_of_every_method(version, 1)


def test_the_words_of_controls_and_commands() -> None:
    test_printable.test_the_words_of_controls_and_commands(1)
