"""All cases for clients, by version."""

from __future__ import annotations

from typing import Final

from ..client_case import ClientCase
from . import amqp_0_8, amqp_0_9_1, amqp_0_10, amqp_1_0, handshake_0_9_1, links_1_0

CLIENT_CASES: Final[tuple[ClientCase, ...]] = (
    *amqp_0_9_1.SUITE.cases,
    *handshake_0_9_1.SUITE.cases,
    *amqp_1_0.SUITE.cases,
    *links_1_0.SUITE.cases,
    *amqp_0_10.SUITE.cases,
    *amqp_0_8.SUITE.cases,
)
"""Every case for clients, in the order in which they run."""
