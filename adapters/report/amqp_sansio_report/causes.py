"""The words for the ends of connections, and the errors that units report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from amqp_sansio.recorded.ends import end_of_unit

FAULTS: Final = frozenset(
    {
        *("channel.close", "connection.close", "basic.cancel", "channel.flow", "basic.return"),
        *("execution.exception", "session.detached"),
        *("close", "end", "detach", "sasl-outcome"),
    }
)
"""The units that may report an error."""

CLOSES: Final = frozenset({"connection.close", "close", "sasl-outcome"})
"""Those that end the connection, whose row has the same information."""

_TITLES: Final[Mapping[str, str]] = {
    "normal": "closed in order",
    "client-error": "closed by the client with an error",
    "server-error": "closed by the server with an error",
    "heartbeat": "lost to a heartbeat timeout",
    "refused": "refused by the server",
    "unreached": "not made: the server wasn't reached",
    "transport": "lost: TCP ended without a close",
    "open": "open at the end of the capture",
    "other": "not AMQP",
}


class Fault(NamedTuple):
    """An error reported by a unit: its code or condition, the text, and the request.

    `name` is that of a consumer, `hint` the usual cause.
    """

    code: str
    text: str
    name: str = ""
    hint: str = ""


def cause_title(cause: str) -> str:
    """Return the meaning of one of `amqp_sansio.recorded.ends.CAUSES`."""
    return _TITLES[cause]


def fault(event: str, sender: str, fields: Mapping[str, Any]) -> Fault | None:
    """Return the error reported by a unit of `FAULTS`; None: there is none."""
    if event == "channel.flow":
        stopped = sender == "server" and fields.get("active") is False
        return Fault("", "the server stopped the flow") if stopped else None
    if event == "basic.return":
        place = f'exchange "{fields.get("exchange", "")}", routing key "{fields.get("routing_key", "")}"'
        return Fault(str(fields.get("reply_code", "")), f"{fields.get('reply_text', '')}: {place}")
    end = end_of_unit(event, sender, fields)
    if end is None or not end.is_error:
        return None
    if event == "basic.cancel":
        return Fault("", f"the server cancelled the consumer {end.name}", end.name)
    code = end.condition or ("" if end.code is None else str(end.code))
    return Fault(code, f"{end.text} (in answer to {end.asked})" if end.asked else end.text, hint=end.hint)


__all__ = ["CLOSES", "FAULTS", "Fault", "cause_title", "fault"]
