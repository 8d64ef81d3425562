"""Random but reproducible use of a Pair: operations drawn by hypothesis, applied to both ends."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, Final

from hypothesis import strategies as st

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, EndpointClosed, LocalProtocolError, Version
from amqp_sansio.amqp_0_9_1 import BasicProperties, Channel, Config, Connection
from amqp_sansio.endpoint import Side
from tests.support.pair import (
    SIDES,
    Client,
    Pair,
    Server,
    client_config,
    plausible_reply,
    server_config,
    told,
)

Operation = tuple[int, int, int]
"""Which operation, and two numbers that say what it does."""

VERSIONS: Final = st.sampled_from((AMQP_0_9_1, AMQP_0_8))
OPERATIONS: Final = st.lists(
    st.tuples(st.integers(0, 255), st.integers(0, 7), st.integers(0, 255)), max_size=60
)

_SIZES: Final = (0, 1, 7, 100, 4095, 4096, 5000, 20_000)


class Driver:
    """A Pair whose applications are the operations; `refused` counts the commands that raised.

    With `check_misuse`, a command that raises must leave both pickles as they were.
    """

    def __init__(
        self,
        version: Version = AMQP_0_9_1,
        *,
        client: Config | None = None,
        server: Config | None = None,
        opened: bool = True,
        check_misuse: bool = False,
    ) -> None:
        self.pair = Pair(
            version,
            client=client or client_config(frame_max=4096, channel_max=4),
            server=server or server_config(frame_max=4096, channel_max=4),
            applications={Side.SERVER: Server(reply=False, confirm=False), Side.CLIENT: _nothing},
        )
        if opened:
            self.pair.open()
        self.check_misuse = check_misuse
        self.done = 0
        self.refused = 0

    def apply(self, operation: Operation) -> None:
        """Do one operation."""
        code, first, second = operation
        act = _ACTS[code % len(_ACTS)]
        before = b""
        side = Side.CLIENT if act.__name__.startswith("_client") else Side.SERVER
        if self.check_misuse:
            before = pickle.dumps(self.pair.ends[side])
        try:
            act(self.pair, first, second)
            self.done += 1
        except (LocalProtocolError, EndpointClosed):
            self.refused += 1
            if self.check_misuse:
                assert pickle.dumps(self.pair.ends[side]) == before, (act.__name__, operation)

    def finish(self) -> None:
        """Answer what waits, close, and let both sides come to an end."""
        pair = self.pair
        for side in SIDES:
            pair.stalled[side] = False
        pair.applications[Side.SERVER] = Server()
        pair.applications[Side.CLIENT] = Client()
        pair.pump()
        for side in SIDES:
            _answer_all(pair.ends[side])
        pair.pump()
        pair.client.close()
        pair.drive()

    def trace(self) -> list[str]:
        """Everything that can be seen from outside, as text."""
        pair = self.pair
        lines = [f"{side.value} {told(event)}" for side in SIDES for event in pair.events[side]]
        for side in SIDES:
            end = pair.ends[side]
            lines.append(f"{side.value} sent {bytes(pair.sent[side])!r}")
            lines.append(
                f"{side.value} {end.next_deadline} {end.receive_budget} {end.close_hint} "
                f"{end.send_backlog} {end.state} {end.channels} {end.unanswered}"
            )
        return lines


def _nothing(connection: Connection, event: object) -> None:
    """A client's application that only listens."""


def _answer_all(connection: Connection) -> None:
    for number in (0, *connection.channels):
        target = connection.channel(number)
        if target.own_content is not None:
            target.continue_body(bytes(target.own_content.size - target.own_content.received))
        calls = target.calls(connection.role is Side.SERVER)
        for call in tuple(calls or ()):
            _reply(target, call.request)


def _reply(target: Channel, request: Any) -> None:
    reply = plausible_reply(target.connection, request)
    if reply.HAS_CONTENT:
        target.reply(reply, None, b"reply")
    else:
        target.reply(reply)


def _channel(end: Connection, which: int) -> Channel:
    numbers = end.channels
    return end.channel(numbers[which % len(numbers)] if numbers else 1)


def _named(pair: Pair, names: tuple[str, ...], which: int) -> Any:
    known = [name for name in names if pair.has(name)]
    return pair.client.dialect.named[known[which % len(known)]]


def _client_open(pair: Pair, first: int, second: int) -> None:
    pair.client.open_channel(None if second % 3 else first)


def _client_call(pair: Pair, first: int, second: int) -> None:
    kind = _named(pair, _CALLS, second)
    fields: dict[str, Any] = {}
    if "consumer_tag" in kind.__match_args__:
        fields["consumer_tag"] = ("a", "b", "")[second % 3]
    for name in ("no_wait", "no_ack"):
        if name in kind.__match_args__:
            fields[name] = second % 5 == 0
    _channel(pair.client, first).call(kind(**fields))


def _client_publish(pair: Pair, first: int, second: int) -> None:
    _channel(pair.client, first).publish(
        bytes(_SIZES[second % len(_SIZES)]),
        routing_key="q" * (second % 3),
        mandatory=second % 2 == 0,
        properties=BasicProperties(message_id=str(second)) if second % 4 else None,
    )


def _client_begin(pair: Pair, first: int, second: int) -> None:
    size = _SIZES[second % len(_SIZES)]
    method = pair.method("basic.publish", routing_key="s", mandatory=second % 2 == 0)
    _channel(pair.client, first).begin(method, BasicProperties(), size)


def _client_continue(pair: Pair, first: int, second: int) -> None:
    _channel(pair.client, first).continue_body(bytes(second * 40))


def _client_settle(pair: Pair, first: int, second: int) -> None:
    channel = _channel(pair.client, first)
    tag = second % 6
    match second % 4:
        case 0:
            channel.accept(tag, multiple=True)
        case 1:
            channel.accept(tag)
        case 2:
            channel.reject(tag)
        case _:
            channel.release(tag)


def _client_close_channel(pair: Pair, first: int, second: int) -> None:
    _channel(pair.client, first).close(*((200, "bye") if second % 2 else (541, "broken")))


def _client_close(pair: Pair, first: int, second: int) -> None:
    if not second % 4:
        pair.client.close(200 if first % 2 else 320, "bye")


def _client_flow(pair: Pair, first: int, second: int) -> None:
    _channel(pair.client, first).call(pair.method("channel.flow", active=second % 2 == 0))


def _client_misuse(pair: Pair, first: int, second: int) -> None:
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


def _server_reply(pair: Pair, first: int, second: int) -> None:
    channel = _channel(pair.server, first)
    calls = channel.calls(True)
    if not calls:
        return
    request = calls[0].request
    if second % 8 == 0:
        channel.close(404, "NOT_FOUND", request)
    elif second % 3 == 0 and request.NAME == "basic.get":
        method = pair.method("basic.get-ok", delivery_tag=channel.last_tag + 1)
        channel.reply(method, BasicProperties(), bytes(_SIZES[second % len(_SIZES)]))
    else:
        _reply(channel, request)


def _server_deliver(pair: Pair, first: int, second: int) -> None:
    channel = _channel(pair.server, first)
    tags = list(channel.consumers)
    tag = tags[second % len(tags)] if tags else "a"
    channel.deliver(bytes(_SIZES[second % len(_SIZES)]), consumer_tag=tag, routing_key="r")


def _server_begin(pair: Pair, first: int, second: int) -> None:
    channel = _channel(pair.server, first)
    size = _SIZES[second % len(_SIZES)]
    tag = next(iter(channel.consumers), "a")
    method = pair.method("basic.deliver", consumer_tag=tag, delivery_tag=channel.last_tag + 1)
    channel.begin(method, BasicProperties(), size)


def _server_continue(pair: Pair, first: int, second: int) -> None:
    _channel(pair.server, first).continue_body(bytes(second * 40))


def _server_confirm(pair: Pair, first: int, second: int) -> None:
    channel = _channel(pair.server, first)
    number = next(iter(channel.unconfirmed), 1) + second % 2
    channel.confirm(number, multiple=second % 3 == 0, accepted=second % 5 != 0)


def _server_return(pair: Pair, first: int, second: int) -> None:
    method = pair.method("basic.return", reply_code=312, routing_key="q" * (second % 3))
    body = bytes(_SIZES[second % len(_SIZES)])
    _channel(pair.server, first).send(method, BasicProperties(), body)


def _server_flow(pair: Pair, first: int, second: int) -> None:
    _channel(pair.server, first).call(pair.method("channel.flow", active=second % 2 == 0))


def _server_cancel(pair: Pair, first: int, second: int) -> None:
    channel = _channel(pair.server, first)
    tag = next(iter(channel.consumers), "a")
    channel.call(pair.method("basic.cancel", consumer_tag=tag, no_wait=second % 2 == 0))


def _server_close_channel(pair: Pair, first: int, second: int) -> None:
    _channel(pair.server, first).close(*((200, "bye") if second % 2 else (406, "refused")))


def _server_close(pair: Pair, first: int, second: int) -> None:
    if not second % 4:
        pair.server.close(200 if first % 2 else 320, "bye")


def _server_connection(pair: Pair, first: int, second: int) -> None:
    if pair.has("connection.blocked"):
        pair.server.send(pair.method("connection.blocked", reason=str(first)))


def _world_turn(pair: Pair, first: int, second: int) -> None:
    pair.turn(SIDES[first % 2])


def _world_pump(pair: Pair, first: int, second: int) -> None:
    pair.pump()


def _world_some(pair: Pair, first: int, second: int) -> None:
    side = SIDES[first % 2]
    pair.write(side, second)
    pair.arrive(side.other, second)


def _world_time(pair: Pair, first: int, second: int) -> None:
    pair.now += second / 100
    for side in SIDES:
        pair.ends[side].handle_timeout(pair.now)


_CALLS: Final = (
    *("queue.declare", "basic.consume", "basic.get", "basic.cancel", "basic.qos", "tx.select"),
    *("tx.commit", "tx.rollback", "confirm.select", "exchange.declare", "basic.consume"),
    *("basic.recover", "queue.purge", "confirm.select", "basic.get", "test.integer"),
)
_ACTS: Final[tuple[Callable[[Pair, int, int], None], ...]] = (
    *(_world_pump, _client_open, _client_call, _client_call, _server_reply, _server_reply),
    *(_client_publish, _client_publish, _server_deliver, _server_deliver, _client_settle),
    *(_world_turn, _world_turn, _world_some, _world_some, _world_time, _server_confirm),
    *(_server_confirm, _server_return, _client_begin, _client_continue, _server_begin),
    *(_server_continue, _server_flow, _client_flow, _server_cancel, _client_close_channel),
    *(_server_close_channel, _client_misuse, _server_connection, _world_pump, _client_open),
    *(_client_close, _server_close),
)
ACTS: Final = len(_ACTS)
"""How many operations there are; the last two close the connection."""
