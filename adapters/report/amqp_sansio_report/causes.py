"""Why connections ended, and errors on them, from the texts of their rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, cast

from amqp_sansio import amqp_0_8, amqp_0_9_1
from amqp_sansio.tables import SILENCE

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
    "transport": "lost: TCP ended without a close",
    "open": "open at the end of the capture",
    "other": "not AMQP",
}


_USUAL: Final[Mapping[str, str]] = {
    "heartbeat": "a call that blocks the thread or loop which sends the heartbeats; or a network that is gone",
    "transport": "a program that ended, crashed or was killed without closing; or something between the two, a proxy "
    "or a firewall, that cut the connection",
}


def _method_names() -> dict[tuple[int, int], str]:
    """Return the method names of 0-9-1 and 0-8 by class and method; if they differ, 0-9-1's."""
    return {
        (method.CLASS_ID, method.METHOD_ID): method.NAME
        for module in (amqp_0_8, amqp_0_9_1)
        for method in vars(module).values()
        if isinstance(method, type) and issubclass(method, amqp_0_9_1.Method) and hasattr(method, "NAME")
    }


_METHODS: Final[Mapping[tuple[int, int], str]] = _method_names()


class Fault(NamedTuple):
    """An error reported by a unit: its code or condition, the text, and the request."""

    code: str
    text: str


def cause_of(
    protocol: str | None,
    closed_by: str | None,
    code: int | None,
    condition: str | None,
    text: str | None,
    hint: str | None,
) -> str:
    """Return the one of `records.CAUSES` for a row of connections."""
    if hint is not None and hint.startswith(SILENCE):
        return "heartbeat"
    if closed_by is None:
        return "open" if protocol is not None else "other"
    if closed_by == "transport":
        return "transport" if protocol is not None else "other"
    if code in (None, 0, 200) and condition is None:
        if closed_by == "server" and code is None and text:
            return "refused"  # a protocol header or an outcome of SASL instead of a close
        return "normal"
    if closed_by == "server" and code in (403, 530) and hint:
        return "refused"
    return f"{closed_by}-error"


def usual(cause: str) -> str:
    """Return the usual reason for one of `records.CAUSES`, if the traffic shows no other; empty if reasons differ."""
    return _USUAL.get(cause, "")


def cause_title(cause: str) -> str:
    """Return the meaning of one of `records.CAUSES`."""
    return _TITLES[cause]


def fault(event: str, sender: str, fields: Mapping[str, Any]) -> Fault | None:
    """Return the error reported by a unit of `FAULTS`; None: there is none."""
    if event in ("channel.close", "connection.close"):
        code = fields.get("reply_code")
        if code in (0, 200, None):
            return None
        asked = _asked(fields.get("class_id"), fields.get("method_id"))
        text = str(fields.get("reply_text", ""))
        return Fault(str(code), f"{text} (in answer to {asked})" if asked else text)
    if event == "basic.cancel":
        tag = fields.get("consumer_tag", "")
        return Fault("", f"the server cancelled the consumer {tag}") if sender == "server" else None
    if event == "channel.flow":
        stopped = sender == "server" and fields.get("active") is False
        return Fault("", "the server stopped the flow") if stopped else None
    if event == "basic.return":
        place = f'exchange "{fields.get("exchange", "")}", routing key "{fields.get("routing_key", "")}"'
        return Fault(str(fields.get("reply_code", "")), f"{fields.get('reply_text', '')}: {place}")
    if event == "execution.exception":
        return Fault(str(fields.get("error_code", "")), str(fields.get("description", "")))
    if event == "session.detached":
        return None if fields.get("code") in (0, None) else Fault(str(fields["code"]), "")
    if event == "sasl-outcome":
        return None if fields.get("code") in (0, None) else Fault(str(fields["code"]), "the login failed")
    error = fields.get("error")
    if not isinstance(error, Mapping):
        return None
    told = cast("Mapping[str, Any]", error)
    return Fault(_text(told.get("condition")), _text(told.get("description")))


def _asked(class_id: object, method_id: object) -> str:
    """Return the method that a close of 0-8 and 0-9-1 names."""
    if not isinstance(class_id, int) or not isinstance(method_id, int) or not class_id:
        return ""
    return _METHODS.get((class_id, method_id), f"method {class_id}.{method_id}")


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


__all__ = ["CLOSES", "FAULTS", "Fault", "cause_of", "cause_title", "fault", "usual"]
