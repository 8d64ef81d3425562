"""The shortcut for messages equals the general step: same events, books and answers, however it comes."""

# What both ways leave behind is private.
# pyright: reportPrivateUsage=false
from typing import Any

import pytest

from amqp_sansio import Failed, Limits, Signal
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.amqp_0_10.codec.frames import BODY, COMMAND, HEADER, encode_assembly
from amqp_sansio.amqp_0_10.endpoint.incoming import Incoming
from amqp_sansio.amqp_0_10.endpoint.outgoing import Outgoing
from amqp_sansio.sasl import Plain
from tests.kit.ends_0_10 import agree


def open_pair(config: dict[str, Any]) -> tuple[amqp.Connection, amqp.Connection]:
    """A client with two subscriptions, "a" and "b", and the server that has granted all of it."""
    client = amqp.Connection.client(amqp.Config(sasl=Plain("guest", "guest"), **config))
    server = amqp.Connection.server()
    settle(client, server)
    client.open_session("s")
    settle(client, server)
    return client, server


def settle(client: amqp.Connection, server: amqp.Connection) -> None:
    """Octets both ways until nobody has any; the server agrees to everything."""
    moved = True
    while moved:
        moved = False
        for here, there in ((client, server), (server, client)):
            while not isinstance(event := here.next_event(), Signal):
                agree(here, event)
            octets = here.data_to_send(0.0)
            if octets:
                there.receive_data(octets, 0.0)
                moved = True


def run(client: amqp.Connection, octets: bytes, chunk: int, late: bool) -> tuple[list[Any], bytes]:
    """What a client tells and answers; its application completes at once, or when all has come."""
    told: list[Any] = []
    waiting: list[int] = []
    for start in range(0, len(octets), chunk):
        client.receive_data(octets[start : start + chunk], 0.0)
        while not isinstance(event := client.next_event(), Signal):
            told.append(event)
            if isinstance(event, amqp.MessageReceived):
                waiting.append(event.command_id)
                if not late:
                    client.session(0).complete(waiting.pop())
    for number in waiting:
        client.session(0).complete(number)
    told += [client.session(0).unsettled, client.session(0).granted("a"), client.session(0).granted("b")]
    return told, client.data_to_send(0.0)


@pytest.mark.parametrize("header", [True, False])
def test_the_shortcut_is_taken(header: bool) -> None:
    """Else the comparison above would compare the general step with itself."""
    taken: list[bool] = []
    fast = Incoming.fast_event

    def counted(incoming: Incoming) -> Any:
        event = fast(incoming)
        taken.append(event is not None)
        return event

    client, server = open_pair({})
    session = client.session(0)
    session.call(spec.MessageSubscribe("q", "a"))
    session.top_up("a", 100)
    settle(client, server)
    for _ in range(10):
        server.session(0).transfer("a", amqp.Message(b"x", routing_key="k" if header else None))
    client.receive_data(server.data_to_send(0.0), 0.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Incoming, "fast_event", counted)
        while not isinstance(client.next_event(), Signal):
            pass
    assert taken.count(True) == 9


@pytest.mark.rule("0-10/wire/frame-size<12 malformed")
@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("size", [0, 11])
def test_a_body_frame_that_is_shorter_than_its_own_header_is_malformed_behind_any_message(
    header: bool, size: int
) -> None:
    client, server = open_pair({})
    client.session(0).call(spec.MessageSubscribe("q", "a"))
    client.session(0).top_up("a", 100)
    settle(client, server)
    for _ in range(2):
        server.session(0).transfer("a", amqp.Message(b"x", routing_key="k" if header else None))
    octets = bytearray(server.data_to_send(0.0))
    octets[-11:-9] = size.to_bytes(2, "big")
    client.receive_data(bytes(octets), 0.0)
    told: list[Any] = []
    while not isinstance(event := client.next_event(), Signal):
        told.append(event)
    assert [each.body for each in told if isinstance(each, amqp.MessageReceived)] == [b"x"]
    (failed,) = [each for each in told if isinstance(each, Failed)]
    assert "its header alone takes 12" in str(failed.error)


@pytest.mark.parametrize("header", [True, False])
def test_the_shortcut_for_what_is_sent_is_taken(header: bool) -> None:
    sent: list[Any] = []
    slow = Outgoing._send

    def counted(session: Any, call: Any, segments: Any) -> int:
        sent.append(segments)
        return slow(session, call, segments)

    client, _ = open_pair({})
    session = client.session(0)
    message = amqp.Message(b"x", routing_key="k" if header else None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Outgoing, "_send", counted)
        for _ in range(10):
            session.transfer("x", message)
    assert session._state.sending.next_id == 10
    assert sent == []


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("size", [0, 1, 4084, 4085, 70_000])
@pytest.mark.parametrize("sync", [True, False])
def test_what_is_sent_is_the_same_whether_it_is_short_or_not(header: bool, size: int, sync: bool) -> None:
    client, server = open_pair({"max_frame_size": 4096})
    session = client.session(0)
    settle(client, server)
    message = amqp.Message(b"y" * size, routing_key="k" if header else None)
    segments = [(COMMAND, spec.MessageTransfer("x", 1, 0).encode_segment(sync=sync))]
    if header:
        segments.append((HEADER, message.headers.raw))
    if size:
        segments.append((BODY, message.body))
    for _ in range(2):
        session.transfer("x", message, accept_mode=1, sync=sync)
        assert client.data_to_send(0.0) == encode_assembly(0, segments, 4096)
    assert list(session._state.sending.replay.values()) == [tuple(segments)] * 2
    session.call(spec.ExecutionSync())
    assert session._state.sending.next_id == 3


@pytest.mark.parametrize("fast", [True, False])
def test_a_message_that_nobody_settles_needs_no_room_among_those_that_wait(
    fast: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def general(incoming: Incoming) -> None:
        """The fast path takes nothing."""

    if not fast:
        monkeypatch.setattr(Incoming, "fast_event", general)
    client, server = open_pair({"limits": Limits(unsettled=4)})
    session, served = client.session(0), server.session(0)
    session.call(spec.MessageSubscribe("q", "a", amqp.spec.EXPLICIT, 0))
    session.call(spec.MessageSubscribe("q", "b", amqp.spec.NONE, 0))
    session.top_up("a", 100)
    session.top_up("b", 100)
    settle(client, server)
    for destination, accept_mode in (("a", 0),) * 4 + (("b", 1),) * 3:
        served.transfer(destination, amqp.Message(b"x"), accept_mode=accept_mode)
    told, _ = run(client, server.data_to_send(0.0), 65_536, False)
    assert [each.transfer.destination for each in told if isinstance(each, amqp.MessageReceived)] == [*"aaaabbb"]
