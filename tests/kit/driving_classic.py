"""Random but reproducible use of a Pair: operations drawn by hypothesis, applied to both ends."""

from collections.abc import Callable
from typing import Any, Final

from hypothesis import strategies as st

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AuthenticationRequested, OpenRequested, Pending, Version
from amqp_sansio._classic.endpoint.connection import Connection
from amqp_sansio.amqp_0_9_1 import BasicProperties, Channel, Config, ContentReceived, Request
from amqp_sansio.endpoint import Side
from tests.kit import driving
from tests.kit.applications import Server, plausible_reply
from tests.kit.driving import WORLD, damage, pass_time, pump, some, turn
from tests.kit.pair import SIDES, Chunks, Observing
from tests.kit.pair_classic import Pair, client_config, server_config

Given = Pending[Any] | None
"""What a command gave."""

VERSIONS: Final = st.sampled_from((AMQP_0_9_1, AMQP_0_8))
_SIZES: Final = (0, 1, 7, 100, 4095, 4096, 5000, 20_000)


class Driver(driving.Driver[Pair]):
    """A Pair of 0-8 or 0-9-1, which begins with two channels, one with a consumer and one in confirm mode."""

    places = 8

    def __init__(
        self,
        version: Version = AMQP_0_9_1,
        *,
        client: Config | None = None,
        server: Config | None = None,
        chunks: Chunks | None = None,
        observer: Observing | None = None,
        **options: Any,
    ) -> None:
        pair = Pair(
            version,
            client=client or client_config(frame_max=4096, channel_max=4),
            server=server or server_config(frame_max=4096, channel_max=4),
            applications={Side.SERVER: Server(reply=False, confirm=False), Side.CLIENT: _nothing},
            chunks=chunks,
            observer=observer,
        )
        super().__init__(pair, **options)

    def prepare(self) -> None:
        pair = self.pair.open()
        pair.applications[Side.SERVER] = Server(confirm=False)
        consuming, confirming = pair.channel(), pair.channel()
        consuming.call(pair.method("basic.consume", queue="q", consumer_tag="a"))
        if pair.has("confirm.select"):
            confirming.call(pair.method("confirm.select"))
        pair.pump()
        pair.applications[Side.SERVER] = Server(reply=False, confirm=False)

    def side_of(self, act: Callable[..., Any], first: int) -> Side:
        """By the act's name; the world's are nobody's."""
        return Side.CLIENT if act.__name__.startswith("_client") else Side.SERVER

    def act(self, act: Callable[..., Any], side: Side, first: int, second: int) -> None:
        """Keep the one handle that it may give."""
        handle: Given = None
        if act in WORLD:
            act(self.pair, SIDES[first % 2], first, second)
        else:
            handle = act(self.pair, first, second)
        if handle is not None:
            self.handles[side].append(handle)

    def finish(self) -> None:
        """Answer what waits, close, and let both sides come to an end."""
        pair = self.pair
        for side in SIDES:
            pair.stalled[side] = False
        for side in SIDES:
            pair.applications[side] = _answer_in_order
            _complete_contents(pair.ends[side])
            _answer_all(pair.ends[side])
        pair.pump()
        pair.client.close()
        pair.drive()

    def children(self, end: Connection) -> list[str]:
        """The numbers of its channels, and what waits for an answer."""
        return [f"{end.channels} {end.unanswered}"]


def _nothing(connection: Connection, event: object) -> None:
    """A client's application that only listens."""


def _answer_in_order(connection: Connection, event: object) -> None:
    """An application that answers whatever waits, the oldest first."""
    match event:
        case AuthenticationRequested():
            connection.accept_authentication()
        case OpenRequested():
            connection.accept_open()
        case Request() | ContentReceived():
            _answer_all(connection)
        case _:
            pass


def _complete_contents(connection: Connection) -> None:
    for number in connection.channels:
        channel = connection.channel(number)
        if channel.is_open and channel.own_content is not None:
            left = channel.own_content.size - channel.own_content.received
            channel.continue_body(bytes(left))


def _answer_all(connection: Connection) -> None:
    for number in (0, *connection.channels):
        target = connection.channel(number)
        for call in tuple(target.calls(connection.role is Side.SERVER) or ()):
            if connection.is_open and (target.is_open or not number):
                _reply(connection, target, call.request)


def _reply(connection: Connection, target: Channel, request: Any) -> None:
    reply = plausible_reply(connection, request)
    if reply.HAS_CONTENT:
        target.reply(reply, None, b"reply")
    else:
        target.reply(reply)


def _channel(end: Connection, which: int, fits: Callable[[Channel], object] = lambda channel: True) -> Channel:
    """A channel that fits, if there is one; else any, to be refused."""
    numbers = [number for number in end.channels if fits(end.channel(number))] or end.channels
    return end.channel(numbers[which % len(numbers)] if numbers else 1)


def _has_consumer(channel: Channel) -> bool:
    return bool(channel.consumers) and channel.own_content is None


def _has_unsettled(channel: Channel) -> bool:
    return bool(channel.unsettled)


def _has_unconfirmed(channel: Channel) -> bool:
    return bool(channel.unconfirmed)


def _has_content(channel: Channel) -> bool:
    return channel.own_content is not None


def _is_asked(channel: Channel) -> bool:
    return bool(channel.calls(True))


def _named(pair: Pair, names: tuple[str, ...], which: int) -> Any:
    known = [name for name in names if pair.has(name)]
    return pair.client.dialect.named[known[which % len(known)]]


def _client_open(pair: Pair, first: int, second: int) -> Given:
    return pair.client.open_channel(None if second % 3 else first).opening


def _client_call(pair: Pair, first: int, second: int) -> Given:
    kind = _named(pair, _CALLS, second)
    fields: dict[str, Any] = {}
    if "consumer_tag" in kind.__match_args__:
        fields["consumer_tag"] = ("a", "b", "")[second % 3]
    for name in ("no_wait", "no_ack"):
        if name in kind.__match_args__:
            fields[name] = second % 5 == 0
    return _channel(pair.client, first).call(kind(**fields))


def _client_publish(pair: Pair, first: int, second: int) -> Given:
    return _channel(pair.client, first).publish(
        bytes(_SIZES[second % len(_SIZES)]),
        routing_key="q" * (second % 3),
        mandatory=second % 2 == 0,
        properties=BasicProperties(message_id=str(second)) if second % 4 else None,
    )


def _client_begin(pair: Pair, first: int, second: int) -> Given:
    size = _SIZES[second % len(_SIZES)]
    method = pair.method("basic.publish", routing_key="s", mandatory=second % 2 == 0)
    return _channel(pair.client, first).begin(method, BasicProperties(), size)


def _client_continue(pair: Pair, first: int, second: int) -> Given:
    _channel(pair.client, first, _has_content).continue_body(bytes(second * 40))
    return None


def _client_settle(pair: Pair, first: int, second: int) -> Given:
    channel = _channel(pair.client, first, _has_unsettled)
    tag = next(iter(channel.unsettled), 0) + second % 7 // 4
    match second % 4:
        case 0:
            channel.accept(tag, multiple=True)
        case 1:
            channel.accept(tag)
        case 2:
            channel.reject(tag)
        case _:
            channel.release(tag)
    return None


def _client_close_channel(pair: Pair, first: int, second: int) -> Given:
    if second % 3 == 0:
        _channel(pair.client, first).close(*((200, "bye") if second % 2 else (541, "broken")))
    return None


def _client_close(pair: Pair, first: int, second: int) -> Given:
    if second % 8 == 0:
        pair.client.close(200 if first % 2 else 320, "bye")
    return None


def _client_flow(pair: Pair, first: int, second: int) -> Given:
    return _channel(pair.client, first).call(pair.method("channel.flow", active=second % 4 != 0))


def _client_misuse(pair: Pair, first: int, second: int) -> Given:
    channel = _channel(pair.client, first)
    method = pair.method
    match second % 10:
        case 0:
            channel.send(method("basic.deliver", consumer_tag="a", delivery_tag=1))
        case 1:
            channel.reply(method("queue.declare-ok"))
        case 2:
            channel.send(method("channel.close"))
        case 3:
            channel.call(method("queue.declare", queue="x" * 300))
        case 4:
            channel.publish(b"", routing_key="x" * 300)
        case 5:
            channel.publish(b"", properties=BasicProperties(headers={"h": "x" * 9000}))
        case 6:
            channel.close(code=70_000)
        case 7:
            pair.client.call(method("queue.declare"))
        case 8:
            channel.call(method("connection.close"))
        case _:
            pair.client.accept_open()
    return None


def _server_reply(pair: Pair, first: int, second: int) -> Given:
    channel = _channel(pair.server, first, _is_asked)
    calls = channel.calls(True)
    if not calls:
        return None
    request = calls.oldest.request
    if second % 16 == 0:
        channel.close(404, "NOT_FOUND", request)
    elif second % 3 == 0 and request.NAME == "basic.get":
        method = pair.method("basic.get-ok", delivery_tag=channel.last_tag + 1)
        channel.reply(method, BasicProperties(), bytes(_SIZES[second % len(_SIZES)]))
    else:
        _reply(pair.server, channel, request)
    return None


def _server_deliver(pair: Pair, first: int, second: int) -> Given:
    channel = _channel(pair.server, first, _has_consumer)
    tag = next(iter(channel.consumers), "a")
    return channel.deliver(bytes(_SIZES[second % len(_SIZES)]), consumer_tag=tag, routing_key="r")


def _server_begin(pair: Pair, first: int, second: int) -> Given:
    channel = _channel(pair.server, first, _has_consumer)
    size = _SIZES[second % len(_SIZES)]
    tag = next(iter(channel.consumers), "a")
    method = pair.method("basic.deliver", consumer_tag=tag, delivery_tag=channel.last_tag + 1)
    return channel.begin(method, BasicProperties(), size)


def _server_continue(pair: Pair, first: int, second: int) -> Given:
    _channel(pair.server, first, _has_content).continue_body(bytes(second * 40))
    return None


def _server_confirm(pair: Pair, first: int, second: int) -> Given:
    channel = _channel(pair.server, first, _has_unconfirmed)
    number = next(iter(channel.unconfirmed), 1) + second % 7 // 4
    channel.confirm(number, multiple=second % 3 == 0, accepted=second % 5 != 0)
    return None


def _server_return(pair: Pair, first: int, second: int) -> Given:
    method = pair.method("basic.return", reply_code=312, routing_key="q" * (second % 3))
    body = bytes(_SIZES[second % len(_SIZES)])
    _channel(pair.server, first).send(method, BasicProperties(), body)
    return None


def _server_flow(pair: Pair, first: int, second: int) -> Given:
    return _channel(pair.server, first).call(pair.method("channel.flow", active=second % 4 != 0))


def _server_cancel(pair: Pair, first: int, second: int) -> Given:
    channel = _channel(pair.server, first)
    tag = next(iter(channel.consumers), "a")
    return channel.call(pair.method("basic.cancel", consumer_tag=tag, no_wait=second % 2 == 0))


def _server_close_channel(pair: Pair, first: int, second: int) -> Given:
    if second % 3 == 0:
        _channel(pair.server, first).close(*((200, "bye") if second % 2 else (406, "refused")))
    return None


def _server_close(pair: Pair, first: int, second: int) -> Given:
    if second % 8 == 0:
        pair.server.close(200 if first % 2 else 320, "bye")
    return None


def _server_connection(pair: Pair, first: int, second: int) -> Given:
    if pair.has("connection.blocked"):
        pair.server.send(pair.method("connection.blocked", reason=str(first)))
    return None


def _garbage(pair: Pair, first: int, second: int) -> Given:
    pair.flying[SIDES[first % 2]] += bytes([second, first, 0, first, 0, 0, 0, second % 5])
    return None


_CALLS: Final = (
    *("queue.declare", "basic.consume", "basic.get", "basic.cancel", "basic.qos", "tx.select"),
    *("tx.commit", "tx.rollback", "confirm.select", "exchange.declare", "basic.consume"),
    *("basic.recover", "queue.purge", "confirm.select", "basic.get", "test.integer"),
)
Driver.acts = (
    *(pump, _client_open, _client_call, _client_call, _server_reply, _server_reply),
    *(_client_publish, _client_publish, _server_deliver, _server_deliver, _client_settle),
    *(turn, turn, some, some, pass_time, _server_confirm),
    *(_server_confirm, _server_return, _client_begin, _client_continue, _server_begin),
    *(_server_continue, _server_flow, _client_flow, _server_cancel, _client_close_channel),
    *(_server_close_channel, _client_misuse, _server_connection, pump, _client_open),
    *(_client_close, _server_close),
)
Driver.damages = (damage, _garbage)
