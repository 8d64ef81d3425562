"""Limits so small that tests reach them."""

from typing import Final

from amqp_sansio import Limits

EIGHT: Final = dict.fromkeys(("channels", "requests", "calls", "unsettled", "unconfirmed", "consumers"), 8)


def small_limits(**changes: int) -> Limits:
    """A few thousand octets, a few of everything, and what the test changes."""
    octets = {"unparsed": 20_000, "message": 12_000, "bodies": 16_000}
    backlog = {"backlog_high": 20_000, "backlog_low": 5000, "backlog_hard": 60_000}
    return Limits(**{**octets, **backlog, "channels": 3, "requests": 4, "unsettled": 8, "consumers": 4, **changes})
