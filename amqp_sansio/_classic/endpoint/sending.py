"""Sending one frame or message: what every command of a channel goes through before anything is queued."""

# The modules of this package share one engine; its private state is theirs, not the caller's.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import CodecError, LimitExceeded, LocalProtocolError
from ..codec.frames import OVERHEAD, method_frame
from ..codec.violation import RESOURCE_ERROR, Violation, misuse
from . import closing

if TYPE_CHECKING:
    from ..codec.method import Method
    from ..model.channel_state import Step
    from .connection import Connection


def send_frames(
    connection: Connection,
    number: int,
    method: Method,
    token: object,
    content: bytes | None,
    size: int | None = None,
) -> None:
    """Step the tables with one whole method and queue it and its encoded content of `size` octets; all or nothing."""
    payload = encode(method, connection)
    check_frame(connection, len(payload) + OVERHEAD)
    check_backlog(connection, len(payload))
    step: Step = locally(connection, connection._joint.step, connection.role, number, method, token, True, size)
    frame = method_frame(number, payload)
    connection._queue_octets(frame + content if content is not None else frame)
    closing.settle_deliveries(connection, step)


def encode(method: Method, connection: Connection) -> bytes:
    """The octets of a method; a value that can't be said is the caller's."""
    try:
        return method.encode(connection._tables)
    except CodecError as error:
        raise misuse(connection.dialect.version, str(error), error.rule) from error


def locally(connection: Connection, step: Any, *arguments: Any) -> Any:
    """Step the tables with what this end sends; a violation is the caller's."""
    try:
        return step(*arguments)
    except Violation as violation:
        kind = LimitExceeded if violation.code == RESOURCE_ERROR else LocalProtocolError
        raise misuse(connection.dialect.version, violation.text, violation.rule, kind) from None


def check_frame(connection: Connection, size: int) -> None:
    """Refuse a frame of so many octets if that is more than was agreed."""
    frame_max = connection._frame_max
    if frame_max and size > frame_max:
        raise too_large(connection, size)


def too_large(connection: Connection, size: int) -> LocalProtocolError:
    """What a caller gets whose frame is too large."""
    return misuse(
        connection.dialect.version,
        f"a frame of {size} octets, {connection._frame_max} are agreed; "
        "methods and properties can't be cut, make them smaller",
        "wire/frame-oversize-send",
    )


def check_backlog(connection: Connection, size: int) -> None:
    """Refuse so many octets more if too many wait already."""
    if connection._out.size + size > connection.config.limits.backlog_hard:
        raise backlog(connection._out.size + size, connection)


def backlog(size: int, connection: Connection) -> LimitExceeded:
    """What a caller gets who lets too much wait."""
    return LimitExceeded(
        f"{size} octets would wait to be sent, Limits.backlog_hard allows {connection.config.limits.backlog_hard}; "
        "stop at SendPaused"
    )
