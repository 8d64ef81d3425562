"""Ends: who ended a connection, channel, session, link or consumer, how, when, in answer to what, and the usual cause.

`Lifecycle.end` is that of a connection, `end_of_unit` that of anything that a unit ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final, cast

from .._watching.end import CAUSES, NORMAL, SILENCE, End, Transport, end_of_connection

_UNITS: Final[Mapping[str, str]] = {
    "channel.close": "channel",
    "connection.close": "connection",
    "close": "connection",
    "sasl-outcome": "connection",
    "end": "session",
    "session.detached": "session",
    "execution.exception": "session",
    "detach": "link",
    "basic.cancel": "consumer",
}


def end_of_unit(event: str, sender: str, fields: Mapping[str, Any], ts_ns: int | None = None) -> End | None:
    """Return the end that a unit brings, by its name and its fields as in the table of events; None: it ends nothing.

    >>> end_of_unit("channel.close", "server", {"reply_code": 404, "reply_text": "NOT_FOUND - no queue 'q'"}).said
    "404 NOT_FOUND - no queue 'q'"
    """
    what = _UNITS.get(event)
    if what is None or (event == "sasl-outcome" and not fields.get("code")):
        return None
    code: Any = None
    condition = None
    blamed = 0, 0
    text = asked = name = ""
    if event in ("channel.close", "connection.close"):
        code, text = fields.get("reply_code"), _text(fields.get("reply_text"))
        blamed = _number(fields.get("class_id")), _number(fields.get("method_id"))
        asked = _asked(*blamed)
    elif event == "basic.cancel":
        name = _text(fields.get("consumer_tag"))
    elif event == "execution.exception":
        code, text = fields.get("error_code"), _text(fields.get("description"))
    elif event in ("session.detached", "sasl-outcome"):
        code, text = fields.get("code"), "the login failed" if event == "sasl-outcome" else ""
    elif isinstance(fields.get("error"), Mapping):
        told = cast("Mapping[str, Any]", fields["error"])
        condition, text = _text(told.get("condition")) or None, _text(told.get("description"))
    code = code if isinstance(code, int) else None
    hint = ""
    if event in ("channel.close", "connection.close") and sender == "server" and code is not None:
        from .._classic.model.hints import for_close

        hint = for_close(code, text, *blamed)
    elif condition is not None:
        from ..amqp_1_0.model.hints import for_close as for_condition

        hint = for_condition(condition, {})
    is_wrong = condition is not None or code not in NORMAL or (event == "basic.cancel" and sender == "server")
    cause = f"{sender}-error" if is_wrong else "normal"
    return End(what, sender, event, cause, ts_ns, code, condition, text, hint, asked, name)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _asked(class_id: int, method_id: int) -> str:
    """Return the method that a close of 0-8 and 0-9-1 names."""
    if not class_id:
        return ""
    return _method_names().get((class_id, method_id), f"method {class_id}.{method_id}")


@cache
def _method_names() -> Mapping[tuple[int, int], str]:
    """Return the method names of 0-9-1 and 0-8 by class and method; if they differ, 0-9-1's."""
    from ..amqp_0_8 import spec as spec_0_8
    from ..amqp_0_9_1 import spec as spec_0_9_1

    return {
        (method.CLASS_ID, method.METHOD_ID): method.NAME
        for module in (spec_0_8, spec_0_9_1)
        for method in vars(module).values()
        if isinstance(method, type) and issubclass(method, spec_0_9_1.Method) and hasattr(method, "NAME")
    }


__all__ = ["CAUSES", "SILENCE", "End", "Transport", "end_of_connection", "end_of_unit"]
