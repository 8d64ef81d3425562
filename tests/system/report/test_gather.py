"""Reports at large: a million rows take no more room, and the flows of all captures may be spread in any way."""

import pickle

import pytest
from hypothesis import given, settings

from amqp_sansio_report import Bounds, Gather
from amqp_sansio_report.page import page
from tests.report.test_gather import ORDERS, SPLITS, check_spread, hostile_flood


@pytest.mark.large
def test_a_million_rows_take_no_more_room_than_a_hundred_thousand() -> None:
    gather = Gather(Bounds(keys=500))
    sizes: dict[int, int] = {}
    for number, (table, values) in enumerate(hostile_flood(1_000_000), 1):
        gather.add(table, values)
        if number in (100_000, 1_000_000):
            sizes[number] = len(pickle.dumps(gather))
    assert sizes[1_000_000] < 1.1 * sizes[100_000] < 3_000_000
    assert gather.connections == 10_000
    text = page(gather)
    assert len(text) < 3_000_000
    for words in ("200 of 10,000 connections", "12 of 10,000 consumers", "estimates from 500 rows"):
        assert words in text, words


@settings(max_examples=8)
@given(split=SPLITS, order=ORDERS)
def test_flows_spread_in_any_way_make_the_same_page(split: list[int], order: list[int]) -> None:
    check_spread(1, split, order)
