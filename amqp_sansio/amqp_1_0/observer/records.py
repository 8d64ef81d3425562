"""Records: the columns of the messages on a connection of 1.0, and what the connection says of itself.

`Observed.settles` says what becomes of a message (`Outcomes`). Part 2 sections 2.4 (connections) and 2.7.5 (transfers),
part 5 section 5.3 (SASL).
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, ClassVar, Final

from ..._core.hints import LEFT, LOGIN_FAILED
from ..._watching.outcomes import Records as SharedRecords
from ..._watching.outcomes import refused_version
from ...endpoint import Side
from ...errors import CodecError
from ..codec.frames import AMQP_HEADER, SASL_HEADER, TLS_HEADER
from ..model import hints
from .outcomes import error_text

if TYPE_CHECKING:
    from ..._watching.observation import Observed
    from ..._watching.outcomes import MessageRecord
    from ...versions import Version
    from ..codec.message import Message
    from ..codec.performatives import Close, Open, SaslInit, SaslOutcome

_SMALL: Final = 1024
"""A message of so many octets is held whole."""
_BODY_SECTIONS: Final = ("data", "amqp-sequence", "amqp-value")

_HEADERS: Final = 8
"""Protocol headers of a client that wait for an answer: there are three layers at most."""
_STAGES: Final = {SASL_HEADER: "SASL", AMQP_HEADER: "HEADER", TLS_HEADER: "TLS"}
"""Where the opening stands when the server has agreed to a layer, for the hint about a connection that ends there."""
_PHASES: Final = {"FIRST": "header", "SASL": "login", "HEADER": "tuned"}
"""The phases of a client that leaves, by the same stages."""


def _transfer(record: MessageRecord, event: Observed, frame: object) -> None:
    (kind, address, anonymous, link), number, _ = event.context
    subject = to = redelivered = None
    message = event.properties
    if message is not None:
        try:
            header = message.header
            # Where the capture cut the sections before the body, the header may be missing.
            if header is not None or event.body_size is not None:
                redelivered = header is not None and bool(header.delivery_count)
            properties = message.properties
            if properties is not None:
                subject, to = properties.subject, properties.to
        except CodecError:
            # The record leaves out a body that can't be read; the observer reports it.
            pass
    if address is None and anonymous and isinstance(to, str):
        address = to
    record.fill(kind, address=address, routing_key=subject, tag=number, redelivered=redelivered, link=link)
    record.properties = _without_body(message)


def _without_body(message: Message | None) -> Message | None:
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


class Records(SharedRecords):
    """Makes records of the units of one connection."""

    __slots__ = ("headers", "opens", "stage")

    messages: ClassVar = {"transfer": _transfer}
    needs_context: ClassVar = True

    def __init__(self, version: Version) -> None:
        super().__init__(version)
        self.stage = "FIRST"
        self.headers: deque[bytes] = deque(maxlen=_HEADERS)
        self.opens: dict[str, Open] = {}

    def explain(self, event: Observed, unit: int) -> tuple[int | None, str | None] | None:
        """The error of a rejection, which an earlier unit may have stated."""
        context = event.context
        if context is None:
            return None
        return None, context[2] if event.event == "transfer" else context.get(unit)

    def hint_of_loss(self, by: str) -> str:
        """The usual cause of a connection that this side ends in this stage of its opening."""
        if by == "client":
            return LEFT.get(_PHASES.get(self.stage, ""), "")
        return hints.of_stage(self.stage, self.facts.get("mechanism") or "")

    def _header(self, event: Observed, header: bytes) -> None:
        if event.sender is Side.CLIENT:
            self.headers.append(header)
            return
        asked = self.headers.popleft() if self.headers else header
        if header != asked:
            self.facts.update(refused_version(header, event.at_ns, hints.observed_layer(header)))
        elif self.stage == "FIRST":
            self.stage = _STAGES.get(header, self.stage)

    def _init(self, event: Observed, frame: SaslInit) -> None:
        self.name_user(frame.mechanism, frame.initial_response)

    def _outcome(self, event: Observed, frame: SaslOutcome) -> None:
        if frame.code == 0:
            self.stage = "HEADER"
        else:
            self.facts.update(
                closed_by="server",
                close_text=f"the server refused the login ({hints.OUTCOMES.get(frame.code, frame.code)})",
                hint=LOGIN_FAILED if frame.code == 1 else "the server could not check the login; its log says why",
                close_how=event.event,
                close_ns=event.at_ns,
            )

    def _open(self, event: Observed, frame: Open) -> None:
        facts = self.facts
        self.opens[event.sender.value] = frame
        if event.sender is Side.CLIENT:
            facts["vhost"] = frame.hostname
            facts["container"] = facts["connection_name"] = frame.container_id
        else:
            self.stage = "OPEN"
            facts["server_container"] = frame.container_id
        if frame.idle_time_out:
            # It limits the other side (part 2 section 2.4.5).
            facts[f"{event.sender.other.value}_timeout"] = frame.idle_time_out / 1000
        self.name_peer(event, frame.properties)
        opens = self.opens.values()
        facts["channel_max"] = min([each.channel_max for each in opens])
        facts["frame_max"] = min([each.max_frame_size for each in opens])
        timeouts = [each.idle_time_out for each in opens if each.idle_time_out]
        facts["heartbeat"] = -(-min(timeouts) // 1000) if timeouts else 0

    def _close(self, event: Observed, frame: Close) -> None:
        if "closed_by" in self.facts:
            return
        self.facts.update(closed_by=event.sender.value, close_how=event.event, close_ns=event.at_ns)
        if frame.error is not None:
            condition = str(frame.error.condition)
            hint = hints.for_close(condition, hints.info_of(frame.error))
            self.facts.update(close_text=error_text(frame.error), close_condition=condition, hint=hint)

    notes: ClassVar = {
        "protocol-header": _header,
        "sasl-init": _init,
        "sasl-outcome": _outcome,
        "open": _open,
        "close": _close,
    }
