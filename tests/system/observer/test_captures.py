"""Recorded traffic with many different gaps."""

from tests.observer.test_captures import test_gaps_invent_no_unit_lose_no_octet_and_break_no_rule

__all__ = ["test_gaps_invent_no_unit_lose_no_octet_and_break_no_rule"]
