"""Records: the columns of the messages on a 0-8 or 0-9-1 connection, and what the connection says of itself.

`Observed.settles` says what becomes of a message. 0-9-1 sections 1.4 (connection) and 1.8 (basic).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from ..._watching.outcomes import ConnectionClassRecords
from ...errors import CodecError
from ..codec.table import Table
from ..codec.table_rules import RABBIT
from ..model import hints

if TYPE_CHECKING:
    from ..._watching.observation import Observed
    from ..._watching.outcomes import Columns, MessageRecord
    from ..codec import methods, methods_0_8, methods_0_9_1


def _publish(message: MessageRecord, event: Observed, method: methods.BasicPublish) -> None:
    message.fill(
        "publish",
        exchange=method.exchange,
        routing_key=method.routing_key,
        tag=event.context,
        mandatory=method.mandatory or method.immediate,
    )


def _stream_publish(
    message: MessageRecord, event: Observed, method: methods_0_8.StreamPublish | methods_0_8.FilePublish
) -> None:
    message.fill("publish", exchange=method.exchange, routing_key=method.routing_key)


def _file_publish(message: MessageRecord, event: Observed, method: methods_0_8.FilePublish) -> None:
    _stream_publish(message, event, method)
    message.bring(event.context)


def _return(
    message: MessageRecord,
    event: Observed,
    method: methods.BasicReturn | methods_0_8.StreamReturn | methods_0_8.FileReturn,
) -> None:
    message.fill(
        "return",
        exchange=method.exchange,
        routing_key=method.routing_key,
        code=method.reply_code,
        text=method.reply_text,
    )


def _deliver(message: MessageRecord, event: Observed, method: methods.BasicDeliver | methods_0_8.FileDeliver) -> None:
    message.fill(
        "deliver",
        exchange=method.exchange,
        routing_key=method.routing_key,
        tag=method.delivery_tag,
        redelivered=method.redelivered,
        queue=event.context or None,
        consumer_tag=method.consumer_tag,
    )


def _stream_deliver(message: MessageRecord, event: Observed, method: methods_0_8.StreamDeliver) -> None:
    message.fill(
        "deliver",
        exchange=method.exchange,
        tag=method.delivery_tag,
        queue=event.context or method.queue,
        consumer_tag=method.consumer_tag,
    )


def _file_deliver(message: MessageRecord, event: Observed, method: methods_0_8.FileDeliver) -> None:
    _deliver(message, event, method)
    message.queue, staged = event.context
    message.bring(staged)


def _get_ok(message: MessageRecord, event: Observed, method: methods.BasicGetOk) -> None:
    message.fill(
        "get",
        exchange=method.exchange,
        routing_key=method.routing_key,
        tag=method.delivery_tag,
        redelivered=method.redelivered,
        queue=event.context,
    )


_MESSAGES: Final[dict[str, Columns]] = {
    "basic.publish": _publish,
    "basic.return": _return,
    "basic.deliver": _deliver,
    "basic.get-ok": _get_ok,
    "stream.publish": _stream_publish,
    "stream.deliver": _stream_deliver,
    "stream.return": _return,
    "file.publish": _file_publish,
    "file.deliver": _file_deliver,
    "file.return": _return,
}
"""The columns of units that are a message, by their names."""


class Records(ConnectionClassRecords):
    """Makes records of the units of one connection."""

    __slots__ = ()

    messages: ClassVar = _MESSAGES

    def name_user(self, mechanism: str | None, response: bytes | None) -> None:
        """Take the name of AMQPLAIN's table too."""
        super().name_user(mechanism, response)
        if mechanism == "AMQPLAIN":
            try:
                name = Table.from_wire(response or b"", RABBIT).get("LOGIN")
            except CodecError:
                return
            if isinstance(name, str):
                self.facts["user"] = name

    def hint_of_close(self, event: Observed, close: methods_0_8.ConnectionClose | methods_0_9_1.ConnectionClose) -> str:
        """The usual cause behind a peer's close."""
        return hints.for_close(close.reply_code, close.reply_text, close.class_id, close.method_id)

    def _tune_ok(self, event: Observed, method: methods.ConnectionTuneOk) -> None:
        super()._tune_ok(event, method)
        self.facts["frame_max"] = method.frame_max

    notes: ClassVar = {**ConnectionClassRecords.notes, "connection.tune-ok": _tune_ok}
