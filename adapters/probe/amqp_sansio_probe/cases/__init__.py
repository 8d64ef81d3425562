"""All cases, by version and subject."""

from __future__ import annotations

from typing import Final

from ..case import Case
from . import (
    basic_0_9_1,
    channels_0_9_1,
    classic_0_8,
    confirms_0_9_1,
    connection_0_9_1,
    connection_1_0,
    deliveries_1_0,
    exchanges_0_9_1,
    links_1_0,
    model_0_10,
    queues_0_9_1,
    recovery_1_0,
    transactions_1_0,
    tx_0_9_1,
    wire_0_9_1,
    wire_0_10,
    wire_1_0,
)

_MODULES: Final = (
    wire_0_9_1,
    connection_0_9_1,
    channels_0_9_1,
    exchanges_0_9_1,
    queues_0_9_1,
    basic_0_9_1,
    confirms_0_9_1,
    tx_0_9_1,
    wire_1_0,
    connection_1_0,
    links_1_0,
    deliveries_1_0,
    transactions_1_0,
    recovery_1_0,
    wire_0_10,
    model_0_10,
    classic_0_8,
)


def _grouped(cases: list[Case]) -> tuple[Case, ...]:
    """Put the cases of one part of a version's rules together, in the order in which the parts first come."""
    groups: dict[str, list[Case]] = {}
    for each in cases:
        groups.setdefault("/".join(each.rule.split("/")[:2]), []).append(each)
    return tuple([each for group in groups.values() for each in group])


CASES: Final = _grouped([each for module in _MODULES for each in module.SUITE.cases])
"""Every case, in the order in which they run."""
