"""Holding publishers up while the broker is full: credit for "", which counts for every exchange (rule throttling).

A session that isn't held has no limit: nothing is said of credit before there's a need to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ....amqp_0_10.codec.records import MessageFlow, MessageSetFlowMode, MessageStop
from ....amqp_0_10.model.credit import BYTE, CREDIT, INFINITE, MESSAGE
from ....errors import EndpointClosed, LimitExceeded

if TYPE_CHECKING:
    from .frontend import ZeroTenFrontend
    from .sessions import ServedSession

_EVERY_EXCHANGE: Final = ""
_MANY: Final = 0x7FFFFFFF
"""Messages: as many as can be granted where an endless credit isn't understood, as Qpid's Java client doesn't."""


def hold(front: ZeroTenFrontend, session: ServedSession) -> None:
    """Take all credit for publishing from a session."""
    core = session.core
    if session.is_held or core is None or not core.is_attached:
        return
    try:
        if not session.was_held:
            # Clients that know publishers' credit take it for one in credit mode.
            core.call(MessageSetFlowMode(_EVERY_EXCHANGE, CREDIT), sync=False)
            session.was_held = True
        core.call(MessageStop(_EVERY_EXCHANGE))
    except (EndpointClosed, LimitExceeded):
        # Its octets are left unread instead (`Client.receive_budget`).
        return
    session.is_held = True
    front.held[session.owner.number] = session


def let_publish(front: ZeroTenFrontend, session: ServedSession) -> None:
    """Give credit again, once the broker has room and the client has stopped."""
    core = session.core
    if front.hub.is_blocked or not session.is_held or core is None or not core.is_attached:
        return
    if core.is_stopping(_EVERY_EXCHANGE):
        return
    try:
        core.call(MessageFlow(_EVERY_EXCHANGE, BYTE, INFINITE), sync=False)
        core.call(MessageFlow(_EVERY_EXCHANGE, MESSAGE, _MANY), sync=False)
    except (EndpointClosed, LimitExceeded):
        return
    session.is_held = False
    front.held.pop(session.owner.number, None)


def resume(front: ZeroTenFrontend, session: ServedSession) -> None:
    """A session goes on: it stays held, or is let go, as the broker is now."""
    if session.is_held:
        front.held[session.owner.number] = session
        let_publish(front, session)
    elif front.hub.is_blocked:
        hold(front, session)
