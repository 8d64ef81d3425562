"""Batches of Azure Service Bus and Event Hubs: one transfer with several messages, in a message format of its own.

Its body has a data section for each message, with all of that message's octets. A service takes or refuses a batch as
a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from ...amqp_1_0 import Data, Message, Properties, Symbol
from ...errors import CodecError

BATCH: Final = 0x80013700
"""The message format, for `Sender.send(..., message_format=BATCH)`; `Delivery.message_format` has it too."""
PARTITION_KEY: Final = Symbol("x-opt-partition-key")
VIA_PARTITION_KEY: Final = Symbol("x-opt-via-partition-key")

_MOST: Final = 65_536


def batch_of(messages: Iterable[Message]) -> Message:
    """Return the message that carries others, to be sent with `message_format=BATCH`.

    Around them are the message-id, the group-id and the partition keys of the first, which the service goes by. Raises
    ValueError without a message.

    >>> batch = batch_of([Message(b"1"), Message(b"2")])
    >>> [each.body for each in messages_in(batch)]
    [b'1', b'2']
    """
    inside = list(messages)
    if not inside:
        raise ValueError("a batch has at least one message")
    return _carrier(inside[0], [each.encode() for each in inside])


def batches_of(messages: Iterable[Message], octets: int) -> Iterator[Message]:
    """Return batches of at most so many octets, such as `Sender.max_message_size`, with the messages in their order.

    Raises ValueError for a message that doesn't fit into a batch alone.
    """
    first: Message | None = None
    parts: list[bytes] = []
    size = 0
    for message in messages:
        part = message.encode()
        # The descriptor and the length of a data section take 8 octets at most.
        more = len(part) + 8
        if first is not None and size + more > octets:
            yield _carrier(first, parts)
            first = None
        if first is None:
            first, parts, size = message, [], 0
            # What stands around the batch is the first one's, too.
            more = len(_carrier(message, [part]).encode())
        if size + more > octets:
            raise ValueError(f"a message of {len(part)} octets doesn't fit into a batch of {octets}")
        parts.append(part)
        size += more
    if first is not None:
        yield _carrier(first, parts)


def messages_in(batch: Message, most: int = _MOST) -> Sequence[Message]:
    """Return the messages in a batch: those of a delivery whose `message_format` is BATCH.

    Raises CodecError for a body that isn't of data sections, without any, or with more than `most`.
    """
    sections = batch.typed_body
    if not isinstance(sections, Data) or not 0 < len(sections.parts) <= most:
        raise CodecError(f"a batch has 1 to {most} data sections with a message in each")
    return [Message.from_wire(part) for part in sections.parts]


def _carrier(first: Message, parts: Sequence[bytes]) -> Message:
    """Return the message that carries others, of which these are the first and the octets of each."""
    properties, notes = first.properties, first.message_annotations
    around: Properties | None = None
    if properties is not None and (properties.message_id is not None or properties.group_id is not None):
        around = Properties(message_id=properties.message_id, group_id=properties.group_id)
    keys: dict[Any, Any] = {key: notes[key] for key in (PARTITION_KEY, VIA_PARTITION_KEY) if key in notes}
    return Message(Data(*parts), properties=around, message_annotations=keys or None)


__all__ = ["BATCH", "PARTITION_KEY", "VIA_PARTITION_KEY", "batch_of", "batches_of", "messages_in"]
