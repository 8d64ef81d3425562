"""Units that a lane takes: what each says, and how it stands in a row of `events` and in its line.

The functions that tell a unit (`_tellers`) are generated from this, and the forms for the module in C are made of it
(`_plans`), so both write the same octets.
"""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias


class Value(NamedTuple):
    """Something that is different in each unit of a kind.

    `expression` says where a teller has it, and `shown` what a line has of it, where that is something else: a part of
    a format string. `number` is what `scan_rows` knows it by; None where it knows it not, or where it is the same in
    all units of one plan.
    """

    expression: str
    number: int | None = None
    shown: str = ""


SEQ: Final = Value("seq", 0)
CHANNEL: Final = Value("channel", 1)
SIZE: Final = Value("size", 2)
OFFSET: Final = Value("offset", 3)
DELIVERY_TAG: Final = Value("delivery_tag", 4)
BODY_SIZE: Final = Value("body_size", 5)
AT_NS: Final = Value("at_ns", 8)
TS: Final = Value("at_ns // 1000", 9)
MOMENT: Final = Value("w.moment", 10)
MESSAGE: Final = Value("message", 14)
BODY: Final = Value("body", None, "base64(body)")
BEGIN: Final = Value("w.begin")
LABEL: Final = Value("w.label")
PROTOCOL: Final = Value("w.protocol")
CLIENT: Final = Value("w.client")
SERVER: Final = Value("w.server")
EITHER: Final = Value("w.client if client else w.server")
"""The sender of what both sides send."""


def _bit(name: str, number: int) -> Value:
    return Value(name, number, f'"true" if {name} else "false"')


def _name(name: str, number: int) -> Value:
    return Value(name, number, f"texts[{name}]")


BEFORE: Final = Value("before", 15)
AFTER: Final = Value("after", 16)
"""In 1.0 the members that stand before the numbers, and those behind them; commas are theirs."""
LAST: Final = Value("last", 18, "last_of(last)")
"""A member too, which isn't always there."""
Part: TypeAlias = str | Value
"""Text that is the same in all units, or what stands between it."""


class Unit(NamedTuple):
    """A unit: its event, who sends it, what its method says, and whether it has a message."""

    event: str
    sender: Value
    members: tuple[tuple[str, Value], ...]
    """Names of fields and their values, in the order of the line and of the arguments; members themselves have none."""
    has_message: bool


UNITS: Final = {
    "deliver": Unit(
        "basic.deliver",
        SERVER,
        (
            ("consumer_tag", _name("consumer_tag", 11)),
            ("delivery_tag", DELIVERY_TAG),
            ("redelivered", _bit("redelivered", 6)),
            ("exchange", _name("exchange", 12)),
            ("routing_key", _name("routing_key", 13)),
        ),
        True,
    ),
    "publish": Unit(
        "basic.publish",
        CLIENT,
        (
            ("exchange", _name("exchange", 12)),
            ("routing_key", _name("routing_key", 13)),
            ("mandatory", _bit("mandatory", 6)),
            ("immediate", _bit("immediate", 7)),
        ),
        True,
    ),
    "ack": Unit("basic.ack", EITHER, (("delivery_tag", DELIVERY_TAG), ("multiple", _bit("multiple", 6))), False),
    "transfer": Unit(
        "transfer",
        EITHER,
        (
            ("", BEFORE),
            ("delivery_id", Value("delivery_id", 4)),
            ("delivery_tag", Value("delivery_tag", 17, "tagged(delivery_tag)")),
            ("", AFTER),
        ),
        True,
    ),
    "disposition": Unit(
        "disposition", EITHER, (("", BEFORE), ("first", Value("first", 4)), ("", LAST), ("", AFTER)), False
    ),
}
"""By the name of the method of `Lane` that takes it."""
CLASSIC: Final = ("deliver", "publish", "ack")
"""Those of 0-8 and 0-9-1, in the order of the plan for `scan_rows`."""
AMQP_1_0: Final = ("transfer", "disposition")


def members_of(unit: Unit, body: str) -> list[Part]:
    """Return the members of `fields`, with the message as `body` says."""
    parts: list[Part] = []
    for name, value in unit.members:
        comma = "," if parts else ""
        parts += [f'{comma}"{name}":', value] if name else [value]
    if unit.has_message:
        parts.append(MESSAGE)
        if body != "none":
            parts += [',"body_size":', BODY_SIZE]
        if body == "base64":
            parts += [',"body":"', BODY, '"']
    return parts


def line_of(unit: Unit, body: str) -> list[Part]:
    """Return the line of a unit; the sender brings the text up to the channel."""
    kind = "content" if unit.has_message else "method"
    return [
        BEGIN,
        SEQ,
        MOMENT,
        unit.sender,
        CHANNEL,
        f',"event":"{unit.event}","size":',
        SIZE,
        ',"offset":',
        OFFSET,
        ',"fields":{',
        *members_of(unit, body),
        f'}},"answers":null,"unit":"{kind}"}}',
    ]


def row_of(unit: Unit, body: str | None) -> dict[str, Part | list[Part] | None]:
    """Return the values of a unit's row by their columns; `fields` is joined of its parts, and without `body` None."""
    return {
        "connection": LABEL,
        "seq": SEQ,
        "ts": TS,
        "ts_ns": AT_NS,
        "sender": unit.sender,
        "protocol": PROTOCOL,
        "channel": CHANNEL,
        "event": unit.event,
        "size": SIZE,
        "offset": OFFSET,
        "fields": None if body is None else ["{", *members_of(unit, body), "}"],
        "answers": None,
        "unit": "content" if unit.has_message else "method",
    }


__all__ = ["AMQP_1_0", "CLASSIC", "UNITS", "Part", "Unit", "Value", "line_of", "members_of", "row_of"]
