"""Records: the columns of the messages on a connection of 0-10, and what the connection says of itself.

`Observed.settles` says what becomes of a message. Part 1 sections 3.2 and 9 (connection), classes 4, 9 and 10.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from ..._core.hints import LOGIN_FAILED
from ..._watching.outcomes import ConnectionClassRecords
from ...endpoint import Side
from ...errors import CodecError
from ..codec.frames import PROTOCOL_HEADER
from ..model import hints

if TYPE_CHECKING:
    from ..._watching.observation import Observed
    from ..._watching.outcomes import Columns, MessageRecord
    from ..codec import records
    from ..codec.message_fields import ObservedCommand


# Messages. `event` is an ObservedCommand, its `context` the one of `OpenMessages`.


def _transfer(message: MessageRecord, event: ObservedCommand, command: records.MessageTransfer) -> None:
    link, queue, _ = event.context
    try:
        delivery = getattr(event.properties, "delivery_properties", None)
    except CodecError:
        delivery = None
    key = getattr(delivery, "routing_key", None)
    if event.sender is Side.CLIENT:
        message.fill("publish", exchange=command.destination, routing_key=key, tag=event.command_id, link=link)
    else:
        message.fill(
            "deliver",
            exchange=getattr(delivery, "exchange", None),
            routing_key=key,
            address=queue,
            tag=event.command_id,
            redelivered=bool(getattr(delivery, "redelivered", False)),
            queue=queue,
            consumer_tag=command.destination,
            link=link,
        )


def _publish(
    message: MessageRecord, event: ObservedCommand, command: records.FilePublish | records.StreamPublish
) -> None:
    link, _, staged = event.context
    message.fill(
        "publish",
        exchange=command.exchange,
        routing_key=command.routing_key,
        tag=event.command_id,
        mandatory=command.mandatory or command.immediate,
        link=link,
    )
    message.bring(staged)


def _deliver(
    message: MessageRecord, event: ObservedCommand, command: records.FileDeliver | records.StreamDeliver
) -> None:
    link, queue, staged = event.context
    message.fill(
        "deliver",
        exchange=command.exchange,
        routing_key=getattr(command, "routing_key", None),
        address=queue,
        tag=command.delivery_tag,
        redelivered=getattr(command, "redelivered", None),
        queue=queue,
        consumer_tag=command.consumer_tag,
        link=link,
    )
    message.bring(staged)


def _return(message: MessageRecord, event: ObservedCommand, command: records.FileReturn | records.StreamReturn) -> None:
    message.fill(
        "return",
        exchange=command.exchange,
        routing_key=command.routing_key,
        code=command.reply_code,
        text=command.reply_text,
        link=event.context[0],
    )


_MESSAGES: Final[dict[str, Columns]] = {
    "message.transfer": _transfer,
    "file.publish": _publish,
    "file.deliver": _deliver,
    "file.return": _return,
    "stream.publish": _publish,
    "stream.deliver": _deliver,
    "stream.return": _return,
}
"""The columns of units that are a message, by their names."""


class Records(ConnectionClassRecords):
    """Makes records of the units of one connection."""

    __slots__ = ()

    messages: ClassVar = _MESSAGES
    own_header: ClassVar = PROTOCOL_HEADER
    peer_names: ClassVar = {"product": "product", "qpid.client_version": "version", "version": "version"}
    """Qpid's clients have their version under a name of their own."""
    own_names: ClassVar = ("connection_name", "qpid.client_process")

    def explain(self, event: Observed, unit: int) -> tuple[int | None, str | None] | None:
        """Code and text of an exception, a reject or a return; file.reject has none."""
        command = event.content
        if event.event == "execution.exception":
            return command.error_code, command.description
        if event.event == "message.reject":
            return command.code, command.text
        return super().explain(event, unit)

    def hint_of_close(self, event: Observed, close: records.ConnectionClose) -> str:
        """The usual cause behind a close, which a refused login has too."""
        refused = event.sender is Side.SERVER and self.phase == "login"
        return LOGIN_FAILED if refused else hints.for_close(close.reply_code or 0)

    def _tune(self, event: Observed, control: records.ConnectionTune) -> None:
        """Note the server's wishes; a client that says nothing of the frames' size takes them."""
        self.facts["frame_max"] = control.max_frame_size

    def _tune_ok(self, event: Observed, method: records.ConnectionTuneOk) -> None:
        super()._tune_ok(event, method)
        if method.max_frame_size is not None:
            self.facts["frame_max"] = method.max_frame_size

    notes: ClassVar = {**ConnectionClassRecords.notes, "connection.tune": _tune, "connection.tune-ok": _tune_ok}
