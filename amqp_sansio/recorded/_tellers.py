"""Functions that tell usual units: each appends a row of `events` to those of a lane, or its line."""

# Generated; edit the generator (tools/codegen).

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typing import Any, Protocol

    class Writer(Protocol):
        """The part of a lane that its tellers use; `EventLane` says what each is."""

        label: str
        protocol: str | None
        client: str | None
        server: str | None
        begin: str
        at_ns: int
        moment: str
        short: Mapping[str, str]
        make: Callable[[tuple[Any, ...]], tuple[Any, ...]]
        rows: list[tuple[str, tuple[Any, ...]]]

        def turn(self, at_ns: int) -> None: ...


def base64(octets: bytes) -> str:
    return b2a_base64(octets, newline=False).decode()


def tagged(octets: bytes) -> str:
    return f'{{"base64":"{base64(octets)}"}}'


def last_of(last: int | None) -> str:
    return "" if last is None else f',"last":{last}'


def _deliver_line_none(
    w: Writer,
    seq: int,
    at_ns: int,
    channel: int,
    size: int,
    offset: int,
    consumer_tag: str,
    delivery_tag: int,
    redelivered: bool,
    exchange: str,
    routing_key: str,
    message: str,
    body: bytes,
    body_size: int,
    /,
) -> None:
    if at_ns != w.at_ns:
        w.turn(at_ns)
    texts = w.short
    line = (
        f'{w.begin}{seq}{w.moment}{w.server}{channel},"event":"basic.deliver","size":{size},"offset":{offset},'
        f'"fields":{{"consumer_tag":{texts[consumer_tag]},"delivery_tag":{delivery_tag},"redelivered":'
        f'{"true" if redelivered else "false"},"exchange":{texts[exchange]},"routing_key":{texts[routing_key]}{message}'
        '},"answers":null,"unit":"content"}'
    )
    w.rows.append(("events", (line,)))


def _deliver_row_none(
    w: Writer,
    seq: int,
    at_ns: int,
    channel: int,
    size: int,
    offset: int,
    consumer_tag: str,
    delivery_tag: int,
    redelivered: bool,
    exchange: str,
    routing_key: str,
    message: str,
    body: bytes,
    body_size: int,
    /,
) -> None:
    texts = w.short
    fields = (
        f'{{"consumer_tag":{texts[consumer_tag]},"delivery_tag":{delivery_tag},"redelivered":'
        f'{"true" if redelivered else "false"},"exchange":{texts[exchange]},"routing_key":{texts[routing_key]}{message}'
        "}"
    )
    ts = at_ns // 1000
    sender = w.server
    row = w.label, seq, ts, at_ns, sender, w.protocol, channel, "basic.deliver", size, offset, fields, None, "content"
    w.rows.append(("events", w.make(row)))


def _deliver_line_size(
    w: Writer,
    seq: int,
    at_ns: int,
    channel: int,
    size: int,
    offset: int,
    consumer_tag: str,
    delivery_tag: int,
    redelivered: bool,
    exchange: str,
    routing_key: str,
    message: str,
    body: bytes,
    body_size: int,
    /,
) -> None:
    if at_ns != w.at_ns:
        w.turn(at_ns)
    texts = w.short
    line = (
        f'{w.begin}{seq}{w.moment}{w.server}{channel},"event":"basic.deliver","size":{size},"offset":{offset},'
        f'"fields":{{"consumer_tag":{texts[consumer_tag]},"delivery_tag":{delivery_tag},"redelivered":'
        f'{"true" if redelivered else "false"},"exchange":{texts[exchange]},"routing_key":{texts[routing_key]}{message}'
        f',"body_size":{body_size}}},"answers":null,"unit":"content"}}'
    )
    w.rows.append(("events", (line,)))


def _deliver_row_size(
    w: Writer,
    seq: int,
    at_ns: int,
    channel: int,
    size: int,
    offset: int,
    consumer_tag: str,
    delivery_tag: int,
    redelivered: bool,
    exchange: str,
    routing_key: str,
    message: str,
    body: bytes,
    body_size: int,
    /,
) -> None:
    texts = w.short
    fields = (
        f'{{"consumer_tag":{texts[consumer_tag]},"delivery_tag":{delivery_tag},"redelivered":'
        f'{"true" if redelivered else "false"},"exchange":{texts[exchange]},"routing_key":{texts[routing_key]}{message}'
        f',"body_size":{body_size}}}'
    )
    ts = at_ns // 1000
    sender = w.server
    row = w.label, seq, ts, at_ns, sender, w.protocol, channel, "basic.deliver", size, offset, fields, None, "content"
    w.rows.append(("events", w.make(row)))


def _deliver_line_base64(
    w: Writer,
    seq: int,
    at_ns: int,
    channel: int,
    size: int,
    offset: int,
    consumer_tag: str,
    delivery_tag: int,
    redelivered: bool,
    exchange: str,
    routing_key: str,
    message: str,
    body: bytes,
    body_size: int,
    /,
) -> None:
    if at_ns != w.at_ns:
        w.turn(at_ns)
    texts = w.short
    line = (
        f'{w.begin}{seq}{w.moment}{w.server}{channel},"event":"basic.deliver","size":{size},"offset":{offset},'
        f'"fields":{{"consumer_tag":{texts[consumer_tag]},"delivery_tag":{delivery_tag},"redelivered":'
        f'{"true" if redelivered else "false"},"exchange":{texts[exchange]},"routing_key":{texts[routing_key]}{message}'
        f',"body_size":{body_size},"body":"{base64(body)}"}},"answers":null,"unit":"content"}}'
    )
    w.rows.append(("events", (line,)))


def _deliver_row_base64(
    w: Writer,
    seq: int,
    at_ns: int,
    channel: int,
    size: int,
    offset: int,
    consumer_tag: str,
    delivery_tag: int,
    redelivered: bool,
    exchange: str,
    routing_key: str,
    message: str,
    body: bytes,
    body_size: int,
    /,
) -> None:
    texts = w.short
    fields = (
        f'{{"consumer_tag":{texts[consumer_tag]},"delivery_tag":{delivery_tag},"redelivered":'
        f'{"true" if redelivered else "false"},"exchange":{texts[exchange]},"routing_key":{texts[routing_key]}{message}'
        f',"body_size":{body_size},"body":"{base64(body)}"}}'
    )
    ts = at_ns // 1000
    sender = w.server
    row = w.label, seq, ts, at_ns, sender, w.protocol, channel, "basic.deliver", size, offset, fields, None, "content"
    w.rows.append(("events", w.make(row)))


def _deliver_row_bare(
    w: Writer,
    seq: int,
    at_ns: int,
    channel: int,
    size: int,
    offset: int,
    consumer_tag: str,
    delivery_tag: int,
    redelivered: bool,
    exchange: str,
    routing_key: str,
    message: str,
    body: bytes,
    body_size: int,
    /,
) -> None:
    ts = at_ns // 1000
    sender = w.server
    row = w.label, seq, ts, at_ns, sender, w.protocol, channel, "basic.deliver", size, offset, None, None, "content"
    w.rows.append(("events", w.make(row)))


def _publish_line_none(
    w: Writer,
    seq: int,
    at_ns: int,
    channel: int,
    size: int,
    offset: int,
    exchange: str,
    routing_key: str,
    mandatory: bool,
    immediate: bool,
    message: str,
    body: bytes,
    body_size: int,
    /,
) -> None:
    if at_ns != w.at_ns:
        w.turn(at_ns)
    texts = w.short
    line = (
        f'{w.begin}{seq}{w.moment}{w.client}{channel},"event":"basic.publish","size":{size},"offset":{offset},'
        f'"fields":{{"exchange":{texts[exchange]},"routing_key":{texts[routing_key]},"mandatory":'
        f'{"true" if mandatory else "false"},"immediate":{"true" if immediate else "false"}{message}}},"answers":null,'
        '"unit":"content"}'
    )
    w.rows.append(("events", (line,)))


def _publish_row_none(
    w: Writer,
    seq: int,
    at_ns: int,
    channel: int,
    size: int,
    offset: int,
    exchange: str,
    routing_key: str,
    mandatory: bool,
    immediate: bool,
    message: str,
    body: bytes,
    body_size: int,
    /,
) -> None:
    texts = w.short
    fields = (
        f'{{"exchange":{texts[exchange]},"routing_key":{texts[routing_key]},"mandatory":'
        f'{"true" if mandatory else "false"},"immediate":{"true" if immediate else "false"}{message}}}'
    )
    ts = at_ns // 1000
    sender = w.client
    row = w.label, seq, ts, at_ns, sender, w.protocol, channel, "basic.publish", size, offset, fields, None, "content"
    w.rows.append(("events", w.make(row)))


def _publish_line_size(
    w: Writer,
    seq: int,
    at_ns: int,
    channel: int,
    size: int,
    offset: int,
    exchange: str,
    routing_key: str,
    mandatory: bool,
    immediate: bool,
    message: str,
    body: bytes,
    body_size: int,
    /,
) -> None:
    if at_ns != w.at_ns:
        w.turn(at_ns)
    texts = w.short
    line = (
        f'{w.begin}{seq}{w.moment}{w.client}{channel},"event":"basic.publish","size":{size},"offset":{offset},'
        f'"fields":{{"exchange":{texts[exchange]},"routing_key":{texts[routing_key]},"mandatory":'
        f'{"true" if mandatory else "false"},"immediate":{"true" if immediate else "false"}{message},"body_size":'
        f'{body_size}}},"answers":null,"unit":"content"}}'
    )
    w.rows.append(("events", (line,)))


def _publish_row_size(
    w: Writer,
    seq: int,
    at_ns: int,
    channel: int,
    size: int,
    offset: int,
    exchange: str,
    routing_key: str,
    mandatory: bool,
    immediate: bool,
    message: str,
    body: bytes,
    body_size: int,
    /,
) -> None:
    texts = w.short
    fields = (
        f'{{"exchange":{texts[exchange]},"routing_key":{texts[routing_key]},"mandatory":'
        f'{"true" if mandatory else "false"},"immediate":{"true" if immediate else "false"}{message},"body_size":'
        f"{body_size}}}"
    )
    ts = at_ns // 1000
    sender = w.client
    row = w.label, seq, ts, at_ns, sender, w.protocol, channel, "basic.publish", size, offset, fields, None, "content"
    w.rows.append(("events", w.make(row)))


def _publish_line_base64(
    w: Writer,
    seq: int,
    at_ns: int,
    channel: int,
    size: int,
    offset: int,
    exchange: str,
    routing_key: str,
    mandatory: bool,
    immediate: bool,
    message: str,
    body: bytes,
    body_size: int,
    /,
) -> None:
    if at_ns != w.at_ns:
        w.turn(at_ns)
    texts = w.short
    line = (
        f'{w.begin}{seq}{w.moment}{w.client}{channel},"event":"basic.publish","size":{size},"offset":{offset},'
        f'"fields":{{"exchange":{texts[exchange]},"routing_key":{texts[routing_key]},"mandatory":'
        f'{"true" if mandatory else "false"},"immediate":{"true" if immediate else "false"}{message},"body_size":'
        f'{body_size},"body":"{base64(body)}"}},"answers":null,"unit":"content"}}'
    )
    w.rows.append(("events", (line,)))


def _publish_row_base64(
    w: Writer,
    seq: int,
    at_ns: int,
    channel: int,
    size: int,
    offset: int,
    exchange: str,
    routing_key: str,
    mandatory: bool,
    immediate: bool,
    message: str,
    body: bytes,
    body_size: int,
    /,
) -> None:
    texts = w.short
    fields = (
        f'{{"exchange":{texts[exchange]},"routing_key":{texts[routing_key]},"mandatory":'
        f'{"true" if mandatory else "false"},"immediate":{"true" if immediate else "false"}{message},"body_size":'
        f'{body_size},"body":"{base64(body)}"}}'
    )
    ts = at_ns // 1000
    sender = w.client
    row = w.label, seq, ts, at_ns, sender, w.protocol, channel, "basic.publish", size, offset, fields, None, "content"
    w.rows.append(("events", w.make(row)))


def _publish_row_bare(
    w: Writer,
    seq: int,
    at_ns: int,
    channel: int,
    size: int,
    offset: int,
    exchange: str,
    routing_key: str,
    mandatory: bool,
    immediate: bool,
    message: str,
    body: bytes,
    body_size: int,
    /,
) -> None:
    ts = at_ns // 1000
    sender = w.client
    row = w.label, seq, ts, at_ns, sender, w.protocol, channel, "basic.publish", size, offset, None, None, "content"
    w.rows.append(("events", w.make(row)))


def _ack_line(
    w: Writer,
    seq: int,
    at_ns: int,
    channel: int,
    size: int,
    offset: int,
    client: bool,
    delivery_tag: int,
    multiple: bool,
    /,
) -> None:
    if at_ns != w.at_ns:
        w.turn(at_ns)
    line = (
        f'{w.begin}{seq}{w.moment}{w.client if client else w.server}{channel},"event":"basic.ack","size":{size},'
        f'"offset":{offset},"fields":{{"delivery_tag":{delivery_tag},"multiple":{"true" if multiple else "false"}}},'
        '"answers":null,"unit":"method"}'
    )
    w.rows.append(("events", (line,)))


def _ack_row(
    w: Writer,
    seq: int,
    at_ns: int,
    channel: int,
    size: int,
    offset: int,
    client: bool,
    delivery_tag: int,
    multiple: bool,
    /,
) -> None:
    fields = f'{{"delivery_tag":{delivery_tag},"multiple":{"true" if multiple else "false"}}}'
    ts = at_ns // 1000
    sender = w.client if client else w.server
    row = w.label, seq, ts, at_ns, sender, w.protocol, channel, "basic.ack", size, offset, fields, None, "method"
    w.rows.append(("events", w.make(row)))


def _ack_row_bare(
    w: Writer,
    seq: int,
    at_ns: int,
    channel: int,
    size: int,
    offset: int,
    client: bool,
    delivery_tag: int,
    multiple: bool,
    /,
) -> None:
    ts = at_ns // 1000
    sender = w.client if client else w.server
    row = w.label, seq, ts, at_ns, sender, w.protocol, channel, "basic.ack", size, offset, None, None, "method"
    w.rows.append(("events", w.make(row)))


def _transfer_line_none(
    w: Writer,
    seq: int,
    at_ns: int,
    channel: int,
    size: int,
    offset: int,
    client: bool,
    before: str,
    delivery_id: int,
    delivery_tag: bytes,
    after: str,
    message: str,
    body: bytes,
    body_size: int,
    /,
) -> None:
    if at_ns != w.at_ns:
        w.turn(at_ns)
    line = (
        f'{w.begin}{seq}{w.moment}{w.client if client else w.server}{channel},"event":"transfer","size":{size},'
        f'"offset":{offset},"fields":{{{before},"delivery_id":{delivery_id},"delivery_tag":{tagged(delivery_tag)}'
        f'{after}{message}}},"answers":null,"unit":"content"}}'
    )
    w.rows.append(("events", (line,)))


def _transfer_row_none(
    w: Writer,
    seq: int,
    at_ns: int,
    channel: int,
    size: int,
    offset: int,
    client: bool,
    before: str,
    delivery_id: int,
    delivery_tag: bytes,
    after: str,
    message: str,
    body: bytes,
    body_size: int,
    /,
) -> None:
    fields = f'{{{before},"delivery_id":{delivery_id},"delivery_tag":{tagged(delivery_tag)}{after}{message}}}'
    ts = at_ns // 1000
    sender = w.client if client else w.server
    row = w.label, seq, ts, at_ns, sender, w.protocol, channel, "transfer", size, offset, fields, None, "content"
    w.rows.append(("events", w.make(row)))


def _transfer_line_size(
    w: Writer,
    seq: int,
    at_ns: int,
    channel: int,
    size: int,
    offset: int,
    client: bool,
    before: str,
    delivery_id: int,
    delivery_tag: bytes,
    after: str,
    message: str,
    body: bytes,
    body_size: int,
    /,
) -> None:
    if at_ns != w.at_ns:
        w.turn(at_ns)
    line = (
        f'{w.begin}{seq}{w.moment}{w.client if client else w.server}{channel},"event":"transfer","size":{size},'
        f'"offset":{offset},"fields":{{{before},"delivery_id":{delivery_id},"delivery_tag":{tagged(delivery_tag)}'
        f'{after}{message},"body_size":{body_size}}},"answers":null,"unit":"content"}}'
    )
    w.rows.append(("events", (line,)))


def _transfer_row_size(
    w: Writer,
    seq: int,
    at_ns: int,
    channel: int,
    size: int,
    offset: int,
    client: bool,
    before: str,
    delivery_id: int,
    delivery_tag: bytes,
    after: str,
    message: str,
    body: bytes,
    body_size: int,
    /,
) -> None:
    fields = (
        f'{{{before},"delivery_id":{delivery_id},"delivery_tag":{tagged(delivery_tag)}{after}{message},"body_size":'
        f"{body_size}}}"
    )
    ts = at_ns // 1000
    sender = w.client if client else w.server
    row = w.label, seq, ts, at_ns, sender, w.protocol, channel, "transfer", size, offset, fields, None, "content"
    w.rows.append(("events", w.make(row)))


def _transfer_line_base64(
    w: Writer,
    seq: int,
    at_ns: int,
    channel: int,
    size: int,
    offset: int,
    client: bool,
    before: str,
    delivery_id: int,
    delivery_tag: bytes,
    after: str,
    message: str,
    body: bytes,
    body_size: int,
    /,
) -> None:
    if at_ns != w.at_ns:
        w.turn(at_ns)
    line = (
        f'{w.begin}{seq}{w.moment}{w.client if client else w.server}{channel},"event":"transfer","size":{size},'
        f'"offset":{offset},"fields":{{{before},"delivery_id":{delivery_id},"delivery_tag":{tagged(delivery_tag)}'
        f'{after}{message},"body_size":{body_size},"body":"{base64(body)}"}},"answers":null,"unit":"content"}}'
    )
    w.rows.append(("events", (line,)))


def _transfer_row_base64(
    w: Writer,
    seq: int,
    at_ns: int,
    channel: int,
    size: int,
    offset: int,
    client: bool,
    before: str,
    delivery_id: int,
    delivery_tag: bytes,
    after: str,
    message: str,
    body: bytes,
    body_size: int,
    /,
) -> None:
    fields = (
        f'{{{before},"delivery_id":{delivery_id},"delivery_tag":{tagged(delivery_tag)}{after}{message},"body_size":'
        f'{body_size},"body":"{base64(body)}"}}'
    )
    ts = at_ns // 1000
    sender = w.client if client else w.server
    row = w.label, seq, ts, at_ns, sender, w.protocol, channel, "transfer", size, offset, fields, None, "content"
    w.rows.append(("events", w.make(row)))


def _transfer_row_bare(
    w: Writer,
    seq: int,
    at_ns: int,
    channel: int,
    size: int,
    offset: int,
    client: bool,
    before: str,
    delivery_id: int,
    delivery_tag: bytes,
    after: str,
    message: str,
    body: bytes,
    body_size: int,
    /,
) -> None:
    ts = at_ns // 1000
    sender = w.client if client else w.server
    row = w.label, seq, ts, at_ns, sender, w.protocol, channel, "transfer", size, offset, None, None, "content"
    w.rows.append(("events", w.make(row)))


def _disposition_line(
    w: Writer,
    seq: int,
    at_ns: int,
    channel: int,
    size: int,
    offset: int,
    client: bool,
    before: str,
    first: int,
    last: int | None,
    after: str,
    /,
) -> None:
    if at_ns != w.at_ns:
        w.turn(at_ns)
    line = (
        f'{w.begin}{seq}{w.moment}{w.client if client else w.server}{channel},"event":"disposition","size":{size},'
        f'"offset":{offset},"fields":{{{before},"first":{first}{last_of(last)}{after}}},"answers":null,'
        '"unit":"method"}'
    )
    w.rows.append(("events", (line,)))


def _disposition_row(
    w: Writer,
    seq: int,
    at_ns: int,
    channel: int,
    size: int,
    offset: int,
    client: bool,
    before: str,
    first: int,
    last: int | None,
    after: str,
    /,
) -> None:
    fields = f'{{{before},"first":{first}{last_of(last)}{after}}}'
    ts = at_ns // 1000
    sender = w.client if client else w.server
    row = w.label, seq, ts, at_ns, sender, w.protocol, channel, "disposition", size, offset, fields, None, "method"
    w.rows.append(("events", w.make(row)))


def _disposition_row_bare(
    w: Writer,
    seq: int,
    at_ns: int,
    channel: int,
    size: int,
    offset: int,
    client: bool,
    before: str,
    first: int,
    last: int | None,
    after: str,
    /,
) -> None:
    ts = at_ns // 1000
    sender = w.client if client else w.server
    row = w.label, seq, ts, at_ns, sender, w.protocol, channel, "disposition", size, offset, None, None, "method"
    w.rows.append(("events", w.make(row)))


LINES: Final[Mapping[tuple[str, str], Callable[..., None]]] = {
    ("deliver", "none"): _deliver_line_none,
    ("deliver", "size"): _deliver_line_size,
    ("deliver", "base64"): _deliver_line_base64,
    ("publish", "none"): _publish_line_none,
    ("publish", "size"): _publish_line_size,
    ("publish", "base64"): _publish_line_base64,
    ("ack", "none"): _ack_line,
    ("ack", "size"): _ack_line,
    ("ack", "base64"): _ack_line,
    ("transfer", "none"): _transfer_line_none,
    ("transfer", "size"): _transfer_line_size,
    ("transfer", "base64"): _transfer_line_base64,
    ("disposition", "none"): _disposition_line,
    ("disposition", "size"): _disposition_line,
    ("disposition", "base64"): _disposition_line,
}
"""By the name of the unit and what becomes of a body."""


ROWS: Final[Mapping[tuple[str, str | None], Callable[..., None]]] = {
    ("deliver", "none"): _deliver_row_none,
    ("deliver", "size"): _deliver_row_size,
    ("deliver", "base64"): _deliver_row_base64,
    ("deliver", None): _deliver_row_bare,
    ("publish", "none"): _publish_row_none,
    ("publish", "size"): _publish_row_size,
    ("publish", "base64"): _publish_row_base64,
    ("publish", None): _publish_row_bare,
    ("ack", "none"): _ack_row,
    ("ack", "size"): _ack_row,
    ("ack", "base64"): _ack_row,
    ("ack", None): _ack_row_bare,
    ("transfer", "none"): _transfer_row_none,
    ("transfer", "size"): _transfer_row_size,
    ("transfer", "base64"): _transfer_row_base64,
    ("transfer", None): _transfer_row_bare,
    ("disposition", "none"): _disposition_row,
    ("disposition", "size"): _disposition_row,
    ("disposition", "base64"): _disposition_row,
    ("disposition", None): _disposition_row_bare,
}
"""By the name of the unit and what becomes of a body; None for no `fields`."""

__all__ = ["LINES", "ROWS"]
