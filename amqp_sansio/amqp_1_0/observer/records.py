"""OneZeroRecords: the columns of the messages on a connection of 1.0, and what the connection says of itself.

`Observed.settles` says what becomes of a message (`Outcomes`). Part 2 sections 2.4 (connections) and 2.7.5 (transfers),
part 5 section 5.3 (SASL).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ...endpoint import Side
from ...errors import CodecError
from ..codec.frames import AMQP_HEADER, SASL_HEADER, TLS_HEADER
from ..model import hints
from .outcomes import error_text

if TYPE_CHECKING:
    from ..._core.observation import Observed
    from ..._core.outcomes import Columns, MessageRecord
    from ...versions import Version

_SMALL: Final = 1024
"""A message of so many octets is held whole."""
_BODY_SECTIONS: Final = ("data", "amqp-sequence", "amqp-value")

_HEADERS: Final = 8
"""Protocol headers of a client that wait for an answer: there are three layers at most."""
_STAGES: Final = {SASL_HEADER: "SASL", AMQP_HEADER: "HEADER", TLS_HEADER: "TLS"}
"""Where the opening stands when the server has agreed to a layer, for the hint about a connection that ends there."""
_REFUSALS: Final = {
    1: "auth: the credentials are wrong",
    2: "sys: the server couldn't check them",
    3: "sys-perm: the server can't check them",
    4: "sys-temp: the server can't check them at the moment",
}
"""The codes of a login that didn't succeed (part 5 section 5.3.3.6)."""


def _transfer(record: MessageRecord, event: Observed, frame: Any) -> None:
    (kind, address, anonymous, link), number, _ = event.context
    subject = to = redelivered = None
    message = event.properties
    if message is not None:
        try:
            header = message.header
            redelivered = header is not None and bool(header.delivery_count)
            properties = message.properties
            if properties is not None:
                subject, to = properties.subject, properties.to
        except CodecError:
            # The record leaves out a body that can't be read; the observer reports it.
            pass
    if address is None and anonymous and isinstance(to, str):
        address = to
    record.fill(
        kind, address=address, routing_key=subject, tag=number, redelivered=redelivered, link=link
    )
    record.properties = _without_body(message)


def _without_body(message: Any) -> Any:
    """A message's sections up to the body, to be held in its place; None where they can't be told apart."""
    if message is None:
        return None
    payload = message.encode()
    if len(payload) <= _SMALL:
        return message
    try:
        body = [start for name, start, _ in message.sections if name in _BODY_SECTIONS]
    except CodecError:
        return None
    return message.from_wire(payload[: body[0]]) if body else message


# Facts of the connection.


def _header(records: OneZeroRecords, event: Observed, header: bytes) -> None:
    if event.sender is Side.CLIENT:
        records.headers.append(header)
        return
    asked = records.headers.popleft() if records.headers else header
    if header != asked:
        offered = "-".join([str(octet) for octet in header[4:]])
        records.facts.update(
            closed_by="server",
            close_text=f"the server answered with its own protocol header, {offered}",
            hint=hints.for_server_header(header),
        )
    elif records.stage == "FIRST":
        records.stage = _STAGES.get(header, records.stage)


def _init(records: OneZeroRecords, event: Observed, frame: Any) -> None:
    records.facts["mechanism"] = str(frame.mechanism)
    if frame.mechanism == "PLAIN" and frame.initial_response is not None:
        parts = frame.initial_response.split(b"\0")
        if len(parts) == 3:
            records.facts["user"] = parts[1].decode("utf-8", "surrogateescape")


def _outcome(records: OneZeroRecords, event: Observed, frame: Any) -> None:
    if frame.code == 0:
        records.stage = "HEADER"
    else:
        records.facts.update(
            closed_by="server",
            close_text=f"the server refused the login ({_REFUSALS.get(frame.code, frame.code)})",
            hint=hints.of_stage("SASL", records.facts.get("mechanism") or ""),
        )


def _open(records: OneZeroRecords, event: Observed, frame: Any) -> None:
    side = event.sender.value
    facts = records.facts
    records.opens[side] = frame
    if event.sender is Side.CLIENT:
        facts["vhost"] = frame.hostname
        facts["container"] = frame.container_id
    else:
        records.stage = "OPEN"
        facts["server_container"] = frame.container_id
    for name in ("product", "version"):
        try:
            value = None if frame.properties is None else frame.properties.get(name)
        except CodecError:
            break
        if isinstance(value, str):
            facts[f"{side}_{name}"] = str(value)
    opens = records.opens.values()
    facts["channel_max"] = min([each.channel_max for each in opens])
    facts["frame_max"] = min([each.max_frame_size for each in opens])
    timeouts = [each.idle_time_out for each in opens if each.idle_time_out]
    facts["heartbeat"] = -(-min(timeouts) // 1000) if timeouts else 0


def _close(records: OneZeroRecords, event: Observed, frame: Any) -> None:
    if "closed_by" in records.facts:
        return
    records.facts["closed_by"] = event.sender.value
    if frame.error is not None:
        condition = str(frame.error.condition)
        records.facts.update(
            close_text=error_text(frame.error),
            close_condition=condition,
            hint=hints.for_close(condition),
        )


_FACTS: Final[dict[str, Callable[[OneZeroRecords, Observed, Any], None]]] = {
    "protocol-header": _header,
    "sasl-init": _init,
    "sasl-outcome": _outcome,
    "open": _open,
    "close": _close,
}
"""Units that say something of the connection, by their names."""


class OneZeroRecords:
    """Makes records of the units of one connection. `facts` has what `ConnectionRecord` tells."""

    __slots__ = ("facts", "headers", "opens", "stage", "version")

    messages: ClassVar[dict[str, Columns]] = {"transfer": _transfer}
    notes: ClassVar = frozenset(_FACTS)
    needs_context: ClassVar = True

    def __init__(self, version: Version) -> None:
        self.version = version
        self.facts: dict[str, Any] = {"hint": ""}
        self.stage = "FIRST"
        self.headers: deque[bytes] = deque(maxlen=_HEADERS)
        self.opens: dict[str, Any] = {}

    def note(self, event: Observed) -> None:
        """Take a unit that says something of the connection."""
        if event.content.__class__ is not bytes or event.unit == "header":
            _FACTS[event.event](self, event, event.content)

    def explain(self, event: Observed, unit: int) -> tuple[int | None, str | None] | None:
        """The error of a rejection, which an earlier unit may have stated."""
        context = event.context
        if context is None:
            return None
        return None, context[2] if event.event == "transfer" else context.get(unit)

    def finish(self) -> None:
        """Nothing more comes."""
        if "closed_by" not in self.facts and not self.facts["hint"]:
            self.facts["hint"] = hints.of_stage(self.stage, self.facts.get("mechanism") or "")
