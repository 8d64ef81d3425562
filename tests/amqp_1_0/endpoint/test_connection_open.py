"""Opening an AMQP 1.0 connection: what both opens say, what they bind, who is turned away, and every state by name."""

import pickle
from typing import Any

import pytest

from amqp_sansio import (
    PAUSED,
    By,
    Closed,
    CloseHint,
    CodecError,
    EndpointClosed,
    Failed,
    Limits,
    LocalProtocolError,
    Opened,
    OpenRequested,
    RemoteProtocolError,
    Scope,
    Signal,
)
from amqp_sansio.amqp_1_0 import Error, Symbol
from amqp_sansio.amqp_1_0.endpoint.config import Config
from amqp_sansio.amqp_1_0.endpoint.connection import Connection
from amqp_sansio.amqp_1_0.spec import Begin, Close, Open
from amqp_sansio.sasl import Plain
from tests.kit.applications import Accepting
from tests.kit.facing import BOTH_SIDES, CLIENT, SERVER
from tests.kit.facing_1_0 import Facing
from tests.kit.octets_1_0 import AMQP_HEADER, EMPTY, octets_of, parse, their_open
from tests.kit.pair_1_0 import Pair, client_config, server_config

BEGIN = Begin(next_outgoing_id=0, incoming_window=1, outgoing_window=1)


def own_open(facing: Facing) -> Open:
    """The open that the endpoint sent."""
    (sent,) = [each for each in facing.sent() if each.name == "open"]
    assert sent.channel == 0
    found: Open = sent.body
    return found


def asked(config: Config | None = None, peer: Open | None = None) -> Facing:
    """A server that is asked for its open."""
    facing = Facing(SERVER, config)
    facing.feed(AMQP_HEADER + octets_of(peer or their_open()))
    return facing.forget()


# What is said.


@pytest.mark.rule("1.0/transport/open/container-id", "1.0/transport/connection/open-first")
@pytest.mark.rule("1.0/transport/connection/open-channel-0")
@BOTH_SIDES
def test_both_sides_say_who_they_are(side: Any) -> None:
    config = Config(
        container_id="me",
        hostname="example.org",
        max_frame_size=4096,
        channel_max=9,
        idle_time_out=7.0,
        offered_capabilities=("A",),
        desired_capabilities=("B", "C"),
        outgoing_locales=("de-DE",),
        incoming_locales=("fr-FR", "de-DE"),
        properties={"product": "test", "number": 7},
    )
    facing = Facing(side, config)
    if side is SERVER:
        facing.feed(AMQP_HEADER + octets_of(their_open()))
        facing.end.accept_open()
        facing.settle()
    found = own_open(facing)
    assert found == facing.end.own_open
    assert (found.container_id, found.hostname) == ("me", "example.org")
    assert (found.max_frame_size, found.channel_max, found.idle_time_out) == (4096, 9, 3500)
    assert (found.offered_capabilities, found.desired_capabilities) == (("A",), ("B", "C"))
    assert (found.outgoing_locales, found.incoming_locales) == (("de-DE",), ("fr-FR", "de-DE"))
    assert found.properties is not None
    assert dict(found.properties) == {
        "product": "test",
        "number": 7,
        "version": found.properties["version"],
        "platform": "Python",
    }


@pytest.mark.rule("1.0/transport/connection/idle-half")
@pytest.mark.parametrize(("seconds", "told"), [(0.0, None), (30.0, 15_000), (0.001, 1), (1e-9, 1)])
def test_half_of_the_own_time_out_is_announced(seconds: float, told: int | None) -> None:
    assert own_open(Facing(CLIENT, client_config(idle_time_out=seconds))).idle_time_out == told


def test_no_more_is_announced_than_the_limits_hold() -> None:
    config = client_config(limits=Limits(unparsed=5000, channels=3))
    found = own_open(Facing(CLIENT, config))
    assert (found.max_frame_size, found.channel_max) == (5000, 2)


@pytest.mark.rule("1.0/transport/open/hostname", "1.0/transport/open/hostname-same")
@pytest.mark.parametrize("hostname", [None, "", "example.org"])
def test_the_hostname_is_the_servers_question(hostname: str | None) -> None:
    facing = Facing(SERVER)
    facing.feed(AMQP_HEADER + octets_of(their_open(hostname=hostname)))
    assert facing.of(OpenRequested) == [OpenRequested(hostname or "")]
    assert facing.end.peer_open is not None
    assert facing.end.peer_open.hostname == hostname


def test_the_server_answers_with_its_own_open() -> None:
    facing = asked()
    assert facing.end.next_event() is PAUSED
    facing.end.accept_open(properties={Symbol("a"): 1}, container_id="other", max_frame_size=700)
    facing.settle()
    found = own_open(facing)
    assert (found.container_id, found.max_frame_size) == ("other", 700)
    assert found.properties == {"a": 1}
    assert facing.of(Opened) == [Opened(Scope.CONNECTION)]
    assert facing.end.is_open
    # Its own limit holds from then on.
    facing.feed(octets_of(b"\0" * 693))
    facing.closes("amqp:connection:framing-error", "transport/open/max-frame-size")


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"nonsense": 1}, TypeError),
        ({"container_id": None}, CodecError),
        ({"channel_max": 70_000}, CodecError),
        ({"max_frame_size": 511}, LocalProtocolError),
        ({"max_frame_size": 1 << 31}, LocalProtocolError),
        ({"properties": {Symbol("long"): "x" * 70_000}}, LocalProtocolError),
    ],
)
def test_an_open_that_cant_be_sent_leaves_the_question_open(changes: Any, error: Any) -> None:
    facing = asked(peer=their_open(max_frame_size=4096))
    before = pickle.dumps(facing.end)
    with pytest.raises(error):
        facing.end.accept_open(**changes)
    assert pickle.dumps(facing.end) == before
    facing.end.accept_open()
    assert facing.end.is_open


@pytest.mark.rule("1.0/transport/connection/pre-open-limits")
def test_an_open_that_is_not_sure_to_fit_is_not_sent() -> None:
    config = client_config(properties={"long": "x" * 600})
    with pytest.raises(LocalProtocolError, match="512 are allowed"):
        Connection.client(config)
    longer = client_config(properties={"long": "x" * 600}, initial_frame_size=1000)
    assert own_open(Facing(CLIENT, longer)).container_id == "client"


# What is agreed.


@pytest.mark.rule("1.0/transport/open/max-frame-size-absent", "1.0/transport/open/idle-time-out-default")
@BOTH_SIDES
def test_what_is_absent_is_no_limit(side: Any) -> None:
    facing = Facing.opened(side, None, Open("peer"))
    assert facing.end.max_frame_size == 4294967295
    assert facing.end.channel_max == 2046
    assert facing.end.next_deadline is None


@pytest.mark.rule("1.0/transport/open/max-frame-size", "1.0/transport/open/max-frame-size-min")
@pytest.mark.rule("1.0/transport/connection/within-limits")
@BOTH_SIDES
def test_the_peers_frame_size_binds(side: Any) -> None:
    facing = Facing.opened(side, None, their_open(max_frame_size=512))
    assert facing.end.max_frame_size == 512
    with pytest.raises(LocalProtocolError, match="frame-size-too-small"):
        facing.end.open_session(properties={Symbol("long"): "x" * 500})
    facing.end.close("amqp:internal-error", "text " * 1000)
    facing.settle()
    (close,) = facing.sent()
    assert close.size <= 512
    assert close.body.error.description.startswith("text text")


@pytest.mark.rule("1.0/transport/open/max-frame-size-min")
@pytest.mark.parametrize("told", [0, 1, 511])
@BOTH_SIDES
def test_a_peer_has_to_take_512_octets_whatever_it_says(side: Any, told: int) -> None:
    """Broker-J says 0 before the close in which it says that it doesn't know the host."""
    facing = Facing.opened(side, None, their_open(max_frame_size=told))
    assert facing.end.max_frame_size == 512
    facing.feed(octets_of(Close(Error("amqp:not-found", "unknown hostname"))))
    assert facing.end.report is not None
    assert facing.end.report.condition == "amqp:not-found"


@pytest.mark.rule("1.0/transport/open/channel-max", "1.0/transport/connection/within-limits")
@BOTH_SIDES
def test_the_peers_channel_max_binds(side: Any) -> None:
    facing = Facing.opened(side, None, their_open(channel_max=1))
    for channel in (0, 1):
        assert facing.end.open_session().channel == channel
    with pytest.raises(LocalProtocolError, match="channel-max"):
        facing.end.open_session()
    assert facing.end.sessions == (0, 1)


@pytest.mark.rule("1.0/transport/open/locales", "1.0/transport/open/incoming-locales")
@pytest.mark.parametrize(
    ("wanted", "there", "chosen"),
    [((), (), "en-US"), (("fr-FR", "de-DE"), ("de-DE", "fr-FR"), "fr-FR"), (("fr-FR",), ("de-DE",), "en-US")],
)
def test_locales(wanted: tuple[str, ...], there: tuple[str, ...], chosen: str) -> None:
    pair = Pair(client=client_config(incoming_locales=wanted), server=server_config(outgoing_locales=there)).open()
    assert pair.client.incoming_locale == pair.server.outgoing_locale == chosen
    assert pair.client.outgoing_locale == pair.server.incoming_locale == "en-US"


@pytest.mark.rule("1.0/transport/open/desired", "1.0/transport/open/offered-missing")
@BOTH_SIDES
def test_a_capability_that_is_needed(side: Any) -> None:
    config = Config(required_capabilities=("A", "B"))
    facing = Facing(side, config)
    facing.feed(AMQP_HEADER + octets_of(their_open(offered_capabilities=("C", "A"))))
    error = facing.closes("amqp:not-implemented", "transport/open/offered-missing")
    assert "B" in str(error)
    Facing.opened(side, config, their_open(offered_capabilities=("B", "A")))
    Facing.opened(side, Config(desired_capabilities=("A",)))


# What is turned away.


@pytest.mark.rule("1.0/transport/connection/open-first")
@pytest.mark.parametrize("wrong", [octets_of(BEGIN), octets_of(Close()), EMPTY], ids=["begin", "close", "empty"])
@BOTH_SIDES
def test_the_first_frame_is_open(side: Any, wrong: bytes) -> None:
    facing = Facing(side)
    facing.feed(AMQP_HEADER + wrong)
    (failed,) = facing.of(Failed)
    assert isinstance(failed.error, RemoteProtocolError)
    assert failed.error.offset == 8
    assert failed.error.rule in ("1.0/transport/connection/open-first", "1.0/transport/connection/idle-empty-when")
    # An open goes before the close that says why (part 2 section 2.4.1).
    assert facing.names()[-3:] == ["header 0", "open", "close"]


@pytest.mark.rule("1.0/transport/connection/pre-open-limits", "1.0/transport/connection/close-written")
def test_an_open_that_does_not_fit_is_shortened_before_a_close() -> None:
    config = server_config(container_id="s" * 400, properties={"long": "x" * 600})
    facing = Facing(SERVER, config)
    facing.feed(AMQP_HEADER + octets_of(BEGIN))
    assert facing.names() == ["header 0", "open", "close"]
    assert max(each.size for each in facing.sent()) <= 512
    assert own_open(facing).container_id.startswith("sss")


@pytest.mark.rule("1.0/transport/connection/open-channel-0", "1.0/transport/connection/pre-open-limits")
@BOTH_SIDES
def test_an_open_on_another_channel(side: Any) -> None:
    facing = Facing(side)
    facing.feed(AMQP_HEADER + octets_of(their_open(), 1))
    facing.closes("amqp:connection:framing-error", "transport/connection/open-channel-0")


@pytest.mark.rule("1.0/transport/open/container-id")
@BOTH_SIDES
def test_an_open_without_a_container_id(side: Any) -> None:
    facing = Facing(side)
    facing.feed(AMQP_HEADER + octets_of(b"\x00\x53\x10\x45"))
    facing.closes("amqp:invalid-field", "types/field-mandatory")


@pytest.mark.rule("1.0/transport/connection/pre-open-limits")
def test_a_server_takes_512_octets_before_it_has_said_more() -> None:
    open_ = their_open(properties={Symbol("long"): "x" * 450})
    assert 480 < len(octets_of(open_)) <= 512
    asked(peer=open_).end.accept_open()
    facing = Facing(SERVER)
    facing.feed(AMQP_HEADER + octets_of(their_open(properties={Symbol("long"): "x" * 500})))
    facing.closes("amqp:connection:framing-error", "transport/open/max-frame-size")


def test_a_client_takes_what_it_announced() -> None:
    facing = Facing.opened(CLIENT, None, their_open(properties={Symbol("long"): "x" * 5000}))
    assert facing.end.is_open


@pytest.mark.rule("1.0/transport/connection/idle-unsupported", "1.0/transport/open/idle-time-out-zero")
@BOTH_SIDES
def test_a_time_out_that_is_too_short(side: Any) -> None:
    config = Config(least_idle_time_out=2.0)
    facing = Facing(side, config)
    facing.feed(AMQP_HEADER + octets_of(their_open(idle_time_out=1999)))
    facing.closes("amqp:not-allowed", "transport/connection/idle-unsupported")
    for told in (None, 0, 2000):
        Facing.opened(side, config, their_open(idle_time_out=told))


@pytest.mark.rule("1.0/transport/connection/close-written", "1.0/transport/connection/close-channel-pipelined")
def test_an_open_is_refused_with_open_and_close() -> None:
    facing = asked()
    facing.end.refuse_open("amqp:not-found", "no such host", {Symbol("a"): 1})
    facing.settle()
    open_, close = facing.sent()
    assert (open_.name, close.name, open_.channel, close.channel) == ("open", "close", 0, 0)
    assert close.body.error == Error("amqp:not-found", "no such host", {Symbol("a"): 1})
    assert facing.events == []
    facing.feed(octets_of(Close()))
    (closed,) = facing.of(Closed)
    assert (closed.report.by, closed.report.condition) == (By.LOCAL, "amqp:not-found")


def test_a_refused_client_hears_why() -> None:
    pair = Pair(client=client_config(hostname="nowhere"), applications={SERVER: Accepting(opening=False)})
    pair.pump()
    with pytest.raises(LocalProtocolError, match="condition"):
        pair.server.refuse_open("")
    pair.server.refuse_open("amqp:connection:redirect", "elsewhere", {Symbol("network-host"): "example.org"})
    pair.drive()
    opened, failed, closed = pair.events[CLIENT]
    assert isinstance(opened, Opened)
    assert isinstance(failed, Failed)
    assert isinstance(failed.error, RemoteProtocolError)
    assert (failed.by, failed.error.condition) == (By.REMOTE, "amqp:connection:redirect")
    assert isinstance(closed, Closed)
    assert "example.org" in closed.report.hint
    close = pair.client.peer_close
    assert close is not None
    assert close.error is not None
    assert close.error.info == {"network-host": "example.org"}
    assert isinstance(pair.events[SERVER][-1], Closed)


def test_the_server_asks_before_it_reads_on() -> None:
    facing = Facing(SERVER)
    facing.feed(AMQP_HEADER + octets_of(their_open()) + octets_of(BEGIN))
    assert [type(event) for event in facing.events] == [OpenRequested]
    assert not facing.end.is_open
    with pytest.raises(LocalProtocolError, match="not open yet"):
        facing.end.open_session()
    facing.end.accept_open()
    facing.settle()
    assert [type(event).__name__ for event in facing.events] == ["OpenRequested", "Opened", "SessionRequested"]


@pytest.mark.rule("1.0/transport/connection/ordered")
def test_frames_are_taken_in_their_order() -> None:
    facing = Facing.opened(SERVER)
    facing.feed(b"".join([octets_of(BEGIN, channel) for channel in (4, 2, 9, 0)]))
    found = [facing.end.session(event.channel).peer.channel for event in facing.events]  # type: ignore[attr-defined]
    assert found == [4, 2, 9, 0]


@pytest.mark.rule("1.0/transport/connection/channels-unidirectional")
def test_channels_of_the_two_directions_are_unrelated() -> None:
    facing = Facing.opened(SERVER)
    own = facing.end.open_session()
    facing.settle()
    facing.feed(octets_of(BEGIN, 0))
    asked_for = facing.end.session(facing.events[-1].channel)  # type: ignore[attr-defined]
    assert (own.channel, asked_for.channel, asked_for.peer.channel) == (0, 1, 0)
    answer = Begin(remote_channel=0, next_outgoing_id=0, incoming_window=1, outgoing_window=1)
    facing.feed(octets_of(answer, 7))
    assert (own.channel, own.peer.channel, own.is_open) == (0, 7, True)


# States by name.


STATE_STEPS = "1.0/transport/connection.state"


@pytest.mark.rule(f"{STATE_STEPS}/start", f"{STATE_STEPS}/hdr-exch", f"{STATE_STEPS}/open-rcvd")
@pytest.mark.rule(f"{STATE_STEPS}/opened", f"{STATE_STEPS}/close-sent", f"{STATE_STEPS}/end")
def test_states_of_a_server() -> None:
    facing = Facing(SERVER)
    states = [facing.end.state]
    for octets in (AMQP_HEADER, octets_of(their_open())):
        facing.feed(octets)
        states.append(facing.end.state)
    facing.end.accept_open()
    states.append(facing.end.state)
    facing.end.close()
    states.append(facing.end.state)
    facing.feed(octets_of(Close()))
    states.append(facing.end.state)
    assert states == ["START", "HDR_EXCH", "OPEN_RCVD", "OPENED", "CLOSE_SENT", "END"]


@pytest.mark.rule(f"{STATE_STEPS}/hdr-sent", f"{STATE_STEPS}/open-pipe", f"{STATE_STEPS}/open-sent")
@pytest.mark.rule(f"{STATE_STEPS}/hdr-rcvd", f"{STATE_STEPS}/close-rcvd")
def test_states_of_a_client() -> None:
    facing = Facing(CLIENT)
    states = [facing.end.state]
    for octets in (AMQP_HEADER, octets_of(their_open()), octets_of(Close())):
        facing.feed(octets)
        states.append(facing.end.state)
    assert states == ["OPEN_PIPE", "OPEN_SENT", "OPENED", "END"]


@pytest.mark.rule(f"{STATE_STEPS}/oc-pipe", f"{STATE_STEPS}/close-pipe")
def test_states_of_a_client_that_closes_early() -> None:
    facing = Facing(CLIENT).forget()
    facing.end.close()
    facing.settle()
    states = [facing.end.state]
    assert facing.names() == ["close"]
    for octets in (AMQP_HEADER, octets_of(their_open()), octets_of(Close())):
        facing.feed(octets)
        states.append(facing.end.state)
    assert states == ["OC_PIPE", "CLOSE_PIPE", "CLOSE_SENT", "END"]
    assert [type(event) for event in facing.events] == [Closed]
    assert facing.names() == ["close"]


# Configurations.


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"max_frame_size": 511}, "below 512"),
        ({"initial_frame_size": 100}, "below 512"),
        ({"max_frame_size": 1 << 32}, "outside"),
        ({"channel_max": 65_536}, "outside"),
        ({"channel_max": -1}, "outside"),
        ({"idle_time_out": -1.0}, "outside"),
        ({"idle_time_out": 1e7}, "outside"),
        ({"incoming_window": -1}, "outside"),
        ({"limits": Limits(unparsed=400)}, "can't hold"),
        ({"limits": Limits(channels=0)}, "no channel"),
        ({"sasl": ()}, "empty"),
    ],
)
@BOTH_SIDES
def test_a_configuration_that_cant_work_is_refused(side: Any, changes: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        Connection(side, Config(**changes))


@pytest.mark.parametrize("mechanisms", [("NONSENSE",), ("SCRAM-SHA-256",), ("PLAIN", "SCRAM-SHA-1")])
def test_a_servers_mechanisms_are_checked(mechanisms: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="Config"):
        Connection.server(Config(mechanisms=mechanisms))


def test_a_configuration_hides_secrets_and_compares() -> None:
    assert client_config() == client_config()
    assert "secret" not in repr(client_config(sasl=Plain("user", "secret")))


# Ends on the way.


@pytest.mark.parametrize(
    ("sasl", "steps", "hint"),
    [
        (False, 0, "TLS"),
        (False, 1, "before its open"),
        (False, 2, ""),
        (True, 0, "TLS"),
        (True, 1, "login"),
        (True, 2, "login"),
        (True, 3, "after the login"),
        (True, 4, "after the login"),
        (True, 5, ""),
    ],
)
def test_a_stream_that_ends_in_the_opening(sasl: bool, steps: int, hint: str) -> None:
    pair = Pair(
        client=client_config(sasl=Plain("u", "p") if sasl else None),
        server=server_config(mechanisms=("PLAIN",) if sasl else ()),
    )
    pair.write(CLIENT)
    pair.arrive(SERVER)
    octets = b""
    for _ in range(9):
        pair.drain(SERVER)
        octets += pair.server.data_to_send(0.0)
        for each in parse(octets)[:1]:
            if not steps:
                break
            steps -= 1
            pair.client.receive_data(octets[: each.size], 0.0)
            octets = octets[each.size :]
            pair.drain(CLIENT)
            pair.write(CLIENT)
            pair.arrive(SERVER)
    pair.client.receive_eof(0.0)
    pair.drain(CLIENT)
    report = pair.client.report
    assert report is not None
    assert report.by is By.TRANSPORT
    assert hint in report.hint
    assert bool(report.hint) == bool(hint)


@BOTH_SIDES
def test_close_before_the_headers_closes_the_transport(side: Any) -> None:
    config = client_config(sasl=Plain("u", "p")) if side is CLIENT else None
    facing = Facing(side, config).forget()
    facing.end.close()
    facing.settle()
    assert facing.out == b""
    assert facing.end.close_hint is CloseHint.CLOSE_NOW
    assert [type(event) for event in facing.events] == [Closed]


def test_a_server_closes_behind_its_open_even_when_it_is_asked() -> None:
    facing = asked()
    facing.end.close("amqp:connection:forced", "maintenance")
    facing.settle()
    assert facing.names() == ["open", "close"]
    with pytest.raises(EndpointClosed):
        facing.end.accept_open()


@pytest.mark.parametrize("peer", [None, their_open()])
def test_decisions_that_nobody_asked_for(peer: Open | None) -> None:
    facing = Facing(SERVER) if peer is None else Facing.opened(SERVER)
    with pytest.raises(LocalProtocolError, match="no open is waiting"):
        facing.end.accept_open()
    with pytest.raises(LocalProtocolError, match="no open is waiting"):
        facing.end.refuse_open()
    assert isinstance(facing.end.next_event(), Signal)
