"""What tests/tables tries with a sample of the recorded captures, with every one of them."""

from pathlib import Path

import pytest

from tests.kit.captures import everywhere
from tests.tables import test_tables, test_truths_1_0

NAMES = ("o_mixed_4_protocols", "o091_concurrent_4_clients", "o091d_channels_reorder", "o091d_channels_snap200")
MIXED = [param for param in everywhere("*.pcap") if str(param.id).removesuffix(".pcap") in NAMES]


@pytest.mark.parametrize("path", everywhere("*.pcap"))
def test_every_value_has_the_type_of_its_column(path: Path) -> None:
    test_tables.test_every_value_has_the_type_of_its_column(path)


@pytest.mark.parametrize("path", everywhere("*.pcap"))
def test_each_table_alone_has_the_rows_that_it_has_beside_the_others(path: Path) -> None:
    test_tables.test_each_table_alone_has_the_rows_that_it_has_beside_the_others(path)


@pytest.mark.parametrize("path", MIXED)
def test_the_order_of_segments_makes_no_difference(path: Path) -> None:
    test_tables.test_the_order_of_segments_makes_no_difference(path)


@pytest.mark.parametrize("path", [*MIXED, *everywhere("o010_*.pcap")])
def test_flows_apart_and_pickled_at_every_step_give_the_same_rows(path: Path) -> None:
    test_tables.test_flows_apart_and_pickled_at_every_step_give_the_same_rows(path)


@pytest.mark.parametrize("path", everywhere("*.pcap"))
def test_segments_taken_together_give_the_rows_of_each(path: Path) -> None:
    test_tables.test_segments_taken_together_give_the_rows_of_each(path)


@pytest.mark.parametrize("path", everywhere("o10_*.pcap"))
def test_the_rows_are_the_same_whatever_is_kept_of_bodies(path: Path) -> None:
    test_truths_1_0.test_the_rows_are_the_same_whatever_is_kept_of_bodies(path)
