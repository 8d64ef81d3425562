"""Inside: a client of 0-9-1 within the broker, without a transport: what the management API does, it does as one.

So a declaration, a publish or a get by HTTP has the effects, the refusals and the texts that it has by AMQP, for the
release of RabbitMQ that the broker is, and is carried out in the turns that it needs.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Final

from ...amqp_0_9_1 import Config, Connection, get_dialect
from ...errors import CodecError, EndpointClosed, LimitExceeded, LocalProtocolError
from ...events import Signal
from ...sasl import External
from ...versions import AMQP_0_9_1
from ..client import Client
from ..frontends.registry import front_for
from .requests import Refused, bad_request, no_access, refused

if TYPE_CHECKING:
    from ...amqp_0_9_1 import Channel
    from ...amqp_0_9_1.spec import Method
    from ...events import Pending
    from ..hub import Hub

_DIALECT: Final = "0-9-1-rabbit"
_ACCESS_REFUSED: Final = 403
_NOT_FOUND: Final = 404


class _Seat(Client):
    """The broker's end: the user has logged in by HTTP. It isn't among `Hub.clients`."""

    def __init__(self, hub: Hub, number: int, user: str) -> None:
        # EXTERNAL believes the name that a certificate would have.
        super().__init__(hub, number, is_secure=True, peer_name=user)
        limits = hub.settings.connection_limits
        config = Config(mechanisms=("EXTERNAL",), heartbeat=0, limits=limits, dialect=get_dialect(_DIALECT))
        self.version = AMQP_0_9_1
        self.front = front_for(hub, number, AMQP_0_9_1, Connection.server(config), self)
        hub.fronts[number] = self.front


class Inside:
    """A connection with one channel. Its generators yield where the rest has to wait for the hub's next turn.

    `number` is unlike those of `Hub.clients`: below 0.
    """

    def __init__(self, hub: Hub, number: int, user: str, vhost: str) -> None:
        self._hub = hub
        """The broker's hub, in whose turns it takes part."""
        self._seat = _Seat(hub, number, user)
        """The broker's end."""
        limits = hub.settings.connection_limits
        self._end = Connection.client(
            Config(sasl=External(), vhost=vhost, heartbeat=0, limits=limits, dialect=get_dialect(_DIALECT))
        )
        """The client's end."""
        self._channel: Channel | None = None
        """None before `open`."""

    def open(self) -> Generator[None, None, None]:
        """Open the connection and its channel. Raises Refused."""
        end = self._end
        while not end.is_open:
            self._turn()
            if end.report is not None:
                raise no_access()
            if not end.is_open:
                yield
        channel = self._channel = end.open_channel()
        while not channel.is_open:
            self._turn()
            if end.report is not None:
                raise no_access()
            if not channel.is_open:
                yield

    def call(self, method: Method) -> Generator[None, None, Any]:
        """Return the reply to a method. Raises EndpointClosed if the broker refuses it, Refused for invalid values."""
        try:
            pending: Pending[Any] = self._open_channel.call(method)
        except (LocalProtocolError, LimitExceeded, CodecError) as error:
            raise bad_request(str(error)) from None
        return (yield from self._wait(pending))

    def publish(self, body: bytes, exchange: str, routing_key: str, properties: Any) -> Generator[None, None, Any]:
        """Publish a message as mandatory, on a channel in confirm mode; return what became of it.

        Raises as `call`.
        """
        try:
            pending = self._open_channel.publish(
                body, exchange=exchange, routing_key=routing_key, properties=properties, mandatory=True
            )
        except (LocalProtocolError, LimitExceeded, CodecError) as error:
            raise bad_request(str(error)) from None
        return None if pending is None else (yield from self._wait(pending))

    def send(self, method: Method) -> None:
        """Send a method that has no reply."""
        self._open_channel.send(method)
        self._turn()

    def leave(self) -> None:
        """End the connection: what it holds returns to its queues."""
        seat, hub = self._seat, self._hub
        seat.connection_lost("the request is answered", hub.now)
        seat.next_event()
        hub.settle()

    @property
    def _open_channel(self) -> Channel:
        if self._channel is None:
            raise RuntimeError("the channel isn't open yet")
        return self._channel

    def _wait(self, pending: Pending[Any]) -> Generator[None, None, Any]:
        while not pending.done:
            self._turn()
            if not pending.done:
                yield
        return pending.result

    def _turn(self) -> None:
        """Exchange octets once."""
        hub, seat, end = self._hub, self._seat, self._end
        budget = seat.receive_budget
        octets = end.data_to_send(hub.now, budget) if budget else b""
        if octets:
            seat.receive_data(octets, hub.now)
        seat.next_event()
        budget = end.receive_budget
        back = seat.data_to_send(hub.now, budget) if budget else b""
        if back:
            end.receive_data(back, hub.now)
        while not isinstance(end.next_event(), Signal):
            pass


def refusal_of(error: EndpointClosed, *, by_code: bool = False) -> Refused:
    """Return the answer for what the broker refused. `by_code`: as RabbitMQ tells it of a publish or get."""
    report = error.report
    code, text = (0, str(error)) if report is None else (report.code, report.text)
    plain = text.partition(" - ")[2] or text
    if code == _ACCESS_REFUSED:
        return no_access()
    if by_code:
        return bad_request(f"{code} {text}")
    if code == _NOT_FOUND:
        return refused(404, "not_found", plain)
    return bad_request(plain)


__all__ = ["Inside", "refusal_of"]
