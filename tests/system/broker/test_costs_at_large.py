"""A frame costs a hub what it does, however many messages its client holds."""

from collections.abc import Callable
from typing import Any

from amqp_sansio.amqp_0_10 import SequenceSet
from amqp_sansio.amqp_0_10.spec import Command
from tests.broker import test_hub_cost_of_ids
from tests.broker.test_hub_cost_of_ids import FEW, KINDS, LARGE, MODES, RECOVERS, TRANSACTED


@KINDS
@MODES
@TRANSACTED
def test_words_about_what_is_settled(
    kind: Callable[[SequenceSet], Command[Any]], acquire_mode: int, transacted: bool
) -> None:
    test_hub_cost_of_ids.test_words_about_what_is_settled(kind, acquire_mode, transacted, LARGE)


def test_accepting_the_same_again_in_a_transaction() -> None:
    test_hub_cost_of_ids.test_accepting_the_same_again_in_a_transaction(LARGE)


@FEW
def test_rolling_back_a_little_costs_a_little(said: bytes) -> None:
    test_hub_cost_of_ids.test_rolling_back_a_little_costs_a_little(said, LARGE)


@RECOVERS
def test_delivering_again_costs_what_the_client_reads(said: bytes) -> None:
    test_hub_cost_of_ids.test_delivering_again_costs_what_the_client_reads(said, LARGE)
