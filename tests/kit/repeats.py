"""Conversations whose numbers and names come again, wrap, and lie below what is settled: tags, ids, handles, names.

Each is made by a seed, breaks many rules, and is watched by an observer or had by one endpoint. What comes of it is
returned: events, octets and state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import Any, Final

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, EndpointClosed, LocalProtocolError, Signal, Version
from amqp_sansio import amqp_0_10 as ten
from amqp_sansio import amqp_1_0 as one
from amqp_sansio._classic.model.states import Mode
from amqp_sansio.endpoint import Side
from amqp_sansio.observer import Observer
from tests.kit import talk_0_10, talk_1_0
from tests.kit.facing_0_10 import Facing as FacingTen
from tests.kit.facing_1_0 import Facing as FacingOne
from tests.kit.facing_classic import Facing
from tests.kit.observing import Conversation, Talk, take
from tests.kit.octets_0_10 import command_point
from tests.kit.octets_1_0 import octets_of
from tests.kit.pair import structure, told
from tests.kit.pair_classic import in_runs
from tests.kit.talk_0_10 import Talk010
from tests.kit.talk_1_0 import Talk10

STEPS: Final = 24
OTHER: Final = "cx"
"""The consumer that wants its deliveries acknowledged if the first one doesn't, and the other way round."""
LONG: Final = 3000
"""Octets of a body whose end is waited for."""
TAGS: Final = (0, 1, 1, 2, 2, 3, 4, (1 << 64) - 1)
LAST: Final = (1 << 32) - 1
SERIALS: Final = (LAST - 1, LAST, 0, 1, 2, 3)
"""Serial numbers around the end of their circle, as 0-10 and 1.0 count."""


def _seen(talk: Conversation, random: Random) -> list[object]:
    """What an observer says of it, and of the same octets in other pieces."""
    talk.finish()
    found: list[object] = [*map(repr, talk.events)]
    cut = Observer(client=None if talk.late else "client")
    for at_ns, (sender, what) in enumerate(talk.arrivals):
        if isinstance(what, int):
            cut.receive_gap(sender, what, at_ns)
            continue
        at = random.randrange(len(what) + 1)
        for piece in (what[:at], what[at:]):
            cut.receive_data(piece, sender, at_ns)
            found += map(repr, take(cut))
            cut.check()
    for observer in (talk.observer, cut):
        machine: Any = observer._machine  # pyright: ignore[reportPrivateUsage]
        found.append(structure(getattr(machine, "model", None)))
    return found


def _named(random: Random, weights: dict[str, int]) -> Iterator[str]:
    """The names of what happens in a conversation."""
    for _ in range(STEPS):
        yield random.choices([*weights], [*weights.values()])[0]


def _faced(facing: Any, random: Random, act: Callable[[], None], is_open: Callable[[], bool]) -> list[object]:
    """What comes of the acts of one endpoint's conversation, while it is open: events, octets, errors and state."""
    found: list[object] = []
    for _ in range(STEPS):
        if not is_open():
            break
        try:
            act()
        except (LocalProtocolError, EndpointClosed) as error:
            found.append(str(error))
        facing.settle()
        if random.random() < 0.2:
            found.append(structure(facing.end))
    return [*map(told, facing.events), facing.out, *found, structure(facing.end)]


# 0-8 and 0-9-1, observed.


def talk_classic(random: Random) -> Conversation:
    """Both sides settle, deliver and publish under small tags, in any mode."""
    version: Version = random.choice((AMQP_0_9_1, AMQP_0_9_1, AMQP_0_8))
    late = random.random() < 0.2
    talk = Talk(version, late=late)
    if not late:
        talk.login()
    talk.channel().consumer(no_ack=random.random() < 0.2)
    known = talk.dialect.named
    mode = random.choice(("confirm", "tx", "", ""))
    if f"{mode}.select" in known:
        talk.client(talk.named(f"{mode}.select"), channel=1).server(talk.named(f"{mode}.select-ok"), channel=1)
    weights = dict.fromkeys(_CLASSIC, 1) | {"deliver": 5, "ack": 4, "publish": 3, "confirm": 3}
    for name in _named(random, weights):
        _CLASSIC[name](talk, random)
    return talk


def observed_classic(random: Random) -> list[object]:
    """What an observer says of `talk_classic`."""
    return _seen(talk_classic(random), random)


def _tag(random: Random) -> int:
    return random.choice(TAGS)


def _ask(talk: Talk, name: str, *arguments: Any, answer: str = "", answers: tuple[Any, ...] = ()) -> None:
    if name in talk.dialect.named:
        talk.client(talk.named(name, *arguments), channel=1)
        if answer in talk.dialect.named:
            talk.server(talk.named(answer, *answers), channel=1)


def _get(talk: Talk, random: Random) -> None:
    if random.random() < 0.8:
        talk.client(talk.named("basic.get", queue="q", no_ack=random.random() < 0.3), channel=1)
    got = talk.named("basic.get-ok", delivery_tag=_tag(random), exchange="ex", routing_key="key")
    talk.server(talk.message(got, b"g"))


def _reopen(talk: Talk, random: Random) -> None:
    close = talk.named("channel.close", 200, "", 0, 0)
    if random.random() < 0.5:
        talk.client(close, channel=1).server(talk.named("channel.close-ok"), channel=1)
    else:
        talk.server(close, channel=1).client(talk.named("channel.close-ok"), channel=1)
    talk.channel().consumer()


def _nack(talk: Talk, random: Random) -> None:
    method = talk.named("basic.reject", _tag(random), random.random() < 0.5)
    if "basic.nack" in talk.dialect.named and random.random() < 0.5:
        method = talk.named("basic.nack", _tag(random), random.random() < 0.5, random.random() < 0.5)
    if random.random() < 0.7:
        talk.client(method, channel=1)
    else:
        talk.server(method, channel=1)


def _returned(talk: Talk, random: Random) -> None:
    talk.server(talk.message(talk.named("basic.return", 312, "", "ex", "key"), b"p"))


_CLASSIC: Final[dict[str, Callable[[Talk, Random], object]]] = {
    "deliver": lambda talk, random: talk.server(talk.deliver(_tag(random), b"x" * random.randrange(3))),
    "ack": lambda talk, random: talk.client(talk.named("basic.ack", _tag(random), random.random() < 0.4), channel=1),
    "publish": lambda talk, random: talk.client(
        talk.publish(b"p", exchange="ex", routing_key="key", mandatory=random.random() < 0.3)
    ),
    "confirm": lambda talk, random: talk.server(
        talk.named("basic.ack", _tag(random), random.random() < 0.4), channel=1
    ),
    "nack": _nack,
    "get": _get,
    "returned": _returned,
    "recover": lambda talk, random: _ask(talk, "basic.recover", True, answer="basic.recover-ok"),
    "commit": lambda talk, random: _ask(talk, "tx.commit", answer="tx.commit-ok"),
    "rollback": lambda talk, random: _ask(talk, "tx.rollback", answer="tx.rollback-ok"),
    "consume": lambda talk, random: talk.consumer(no_ack=random.random() < 0.3),
    "cancel": lambda talk, random: _ask(talk, "basic.cancel", "ct", answer="basic.cancel-ok", answers=("ct",)),
    "reopen": _reopen,
    "gap": lambda talk, random: talk.gap(random.choice(("client", "server")), 5) if random.random() < 0.3 else None,
}


# 0-8 and 0-9-1, an endpoint.


def faced_classic(random: Random) -> list[object]:
    """A client or a server on channel 1, with two consumers, whose peer settles and delivers under small tags."""
    version = random.choice((AMQP_0_9_1, AMQP_0_9_1, AMQP_0_8))
    side = random.choice((Side.CLIENT, Side.SERVER))
    facing = Facing.opened(version, side)
    no_ack = random.random() < 0.2
    consume = facing.make("basic.consume", queue="q", consumer_tag="ct", no_ack=no_ack)
    other = facing.make("basic.consume", queue="q", consumer_tag=OTHER, no_ack=not no_ack)
    mode = random.choice(("confirm", "confirm", "tx", ""))
    select = f"{mode}.select" if f"{mode}.select" in facing.dialect.named else ""
    requests = [consume, other, *([facing.make(select)] if select else [])]
    for request, reply in zip(requests, (*["basic.consume-ok"] * 2, f"{select}-ok"), strict=False):
        fields = {"consumer_tag": getattr(request, "consumer_tag", "")} if reply == "basic.consume-ok" else {}
        if side is Side.CLIENT:
            facing.channel.call(request)
            facing.feed(facing.method(reply, **fields))
        else:
            facing.feed(facing.method(request.NAME, **{n: getattr(request, n) for n in request.__match_args__}))
            facing.channel.reply(facing.make(reply, **fields))
    act = _client_act if side is Side.CLIENT else _server_act
    return _faced(facing, random, lambda: act(facing, random), lambda: facing.end.is_open and facing.channel.is_open)


def _arrive(facing: Facing, random: Random, octets: bytes) -> None:
    """Octets arrive in one piece or two; a client asks for all deliveries and confirms that follow the first one."""
    at = random.randrange(len(octets)) if random.random() < 0.5 else len(octets)
    for piece in (octets[:at], octets[at:]):
        facing.end.receive_data(piece, facing.now)
        while not isinstance(event := facing.end.next_event(), Signal):
            facing.events += in_runs(facing.end, event)


def _acks(facing: Facing, random: Random, tag: int, multiple: bool, open_: Iterable[int]) -> None:
    """One basic.ack, or several that arrive at once, whose tags may be the same."""
    octets = facing.method("basic.ack", delivery_tag=tag, multiple=multiple)
    others = [each for each in open_ if each != tag or random.random() < 0.02]
    for each in random.sample(others, min(len(others), random.choice((0, 2, 4)))):
        octets += facing.method("basic.ack", delivery_tag=each, multiple=False)
    _arrive(facing, random, octets)


def _open_tag(random: Random, open_: Iterable[int]) -> int:
    """Mostly one that is open; 0 where none is."""
    if random.random() < 0.1:
        return _tag(random)
    known = [*open_]
    return random.choice(known) if known else 0


def _client_act(facing: Facing, random: Random) -> None:
    channel, tag, flag = facing.channel, _open_tag(random, facing.channel.unsettled), random.random() < 0.4
    match random.choice(("deliver",) * 5 + ("accept",) * 3 + ("publish",) * 3 + ("confirm",) * 3 + ("other",)):
        case "deliver":
            # A server that counts anew after 4.
            given = channel.last_tag % 4 + 1 if random.random() < 0.9 else _tag(random)
            if given in channel.unsettled and random.random() < 0.9:
                return
            consumer = random.choice(("ct",) * 12 + (OTHER,) * 3 + ("gone",) * (random.random() < 0.2))
            fields = {"consumer_tag": consumer, "delivery_tag": given, "exchange": "ex", "routing_key": "key"}
            octets = facing.message("basic.deliver", b"x" * random.choice((0, 1, 2, 2, LONG)), 1, **fields)
            if random.random() < 0.3:
                # Several at once, whose tags may be the same.
                fields["delivery_tag"] = (given + random.randrange(2)) % (1 << 64)
                octets += facing.message("basic.deliver", b"y", 1, **fields)
            _arrive(facing, random, octets)
        case "accept":
            channel.accept(tag, flag)
        case "publish":
            mandatory = random.random() < 0.05
            for _ in range(random.choice((1, 1, 4))):
                channel.publish(b"p", exchange="ex", routing_key="key", mandatory=mandatory)
        case "confirm" if "basic.nack" in facing.dialect.named:
            confirmed = _open_tag(random, channel.unconfirmed)
            if confirmed or flag:
                _acks(facing, random, confirmed, flag, channel.unconfirmed)
        case _:
            match random.randrange(5 if channel.mode is Mode.TRANSACTED else 3):
                case 0 if tag:
                    channel.release(tag)
                case 1:
                    # Deliveries for a consumer that is cancelled may still be on the way.
                    if OTHER in channel.consumers:
                        channel.call(facing.make("basic.cancel", consumer_tag=OTHER, no_wait=True))
                    else:
                        channel.call(facing.make("basic.consume", queue="q", consumer_tag=OTHER, no_wait=True))
                case 2:
                    channel.call(facing.make("basic.recover", requeue=True))
                    facing.feed(facing.method("basic.recover-ok"))
                case 3:
                    channel.call(facing.make("tx.rollback"))
                    facing.feed(facing.method("tx.rollback-ok"))
                case _:
                    channel.call(facing.make("tx.commit"))
                    facing.feed(facing.method("tx.commit-ok"))


def _server_act(facing: Facing, random: Random) -> None:
    channel, tag, flag = facing.channel, _open_tag(random, facing.channel.unsettled), random.random() < 0.4
    match random.choice(("deliver",) * 5 + ("ack",) * 5 + ("publish",) * 3 + ("confirm",) * 3 + ("other",)):
        case "deliver":
            consumer = random.choice(("ct",) * 12 + (OTHER,) * 3 + ("gone",) * (random.random() < 0.2))
            channel.forward(b"x", b"\0\0", consumer, "ex", "key", False)
        case "ack" if tag or flag:
            _acks(facing, random, tag, flag, channel.unsettled)
        case "publish":
            facing.feed(facing.message("basic.publish", b"p", exchange="ex", routing_key="key"))
        case "confirm":
            channel.confirm(_open_tag(random, channel.unconfirmed), flag)
        case _:
            ends = ("tx.commit", "tx.rollback") if channel.mode is Mode.TRANSACTED else ("basic.recover",)
            name = random.choice(ends)
            facing.feed(facing.method(name))
            reply = f"{name}-ok"
            if facing.end.is_open and reply in facing.dialect.named:
                channel.reply(facing.make(reply))


# 0-10, observed.


def observed_0_10(random: Random) -> list[object]:
    """Transfers both ways under ids that come again, at the end of their circle, and all that names them."""
    talk = Talk010(late=random.random() < 0.1)
    talk.open().session(number=random.choice(SERIALS)).subscribe()
    weights = dict.fromkeys(_TEN, 1) | {"given": 6, "accept": 4, "sent": 3}
    for name in _named(random, weights):
        _TEN[name](talk, random)
    return _seen(talk, random)


def _ids(random: Random) -> ten.SequenceSet:
    return ten.SequenceSet.of(*random.sample(SERIALS, random.randrange(1, 4)))


def _given_0_10(random: Random) -> bytes:
    mode = int(random.random() < 0.2)
    return talk_0_10.transfer("d", b"x" * random.randrange(1, 3), accept_mode=mode)


def _accepted_0_10(random: Random) -> ten.spec.Command[Any]:
    kinds = (
        ten.spec.MessageAccept,
        ten.spec.MessageAccept,
        ten.spec.MessageReject,
        ten.spec.MessageRelease,
        ten.spec.MessageAcquire,
    )
    return random.choice(kinds)(_ids(random))


def _either(talk: Conversation, random: Random, what: Any) -> None:
    (talk.client if random.random() < 0.5 else talk.server)(what)


def _resubscribe(talk: Talk010, random: Random) -> None:
    talk.client(ten.spec.MessageCancel("d"))
    talk.subscribe(accept_mode=random.randrange(2))


def _reattach_0_10(talk: Talk010, random: Random) -> None:
    talk.client(ten.spec.SessionDetach(b"s")).server(ten.spec.SessionDetached(b"s", 0))
    talk.session(number=random.choice(SERIALS))


_TEN: Final[dict[str, Callable[[Talk010, Random], object]]] = {
    "given": lambda talk, random: talk.server(_given_0_10(random)),
    "sent": lambda talk, random: talk.client(talk_0_10.transfer("amq.direct", b"p", accept_mode=1)),
    "accept": lambda talk, random: talk.client(_accepted_0_10(random)),
    "point": lambda talk, random: _either(talk, random, ten.spec.SessionCommandPoint(random.choice(SERIALS), 0)),
    "completed": lambda talk, random: _either(talk, random, ten.spec.SessionCompleted(_ids(random))),
    "confirmed": lambda talk, random: _either(talk, random, ten.spec.SessionConfirmed(_ids(random))),
    "known": lambda talk, random: _either(talk, random, ten.spec.SessionKnownCompleted(_ids(random))),
    "subscribe": _resubscribe,
    "reattach": _reattach_0_10,
    "gap": lambda talk, random: talk.gap(random.choice(("client", "server")), 5) if random.random() < 0.2 else None,
}


# 0-10, an endpoint.


def faced_0_10(random: Random) -> list[object]:
    """A client with a subscription, whose server sends, completes and repeats ids at the end of their circle."""
    facing = FacingTen.subscribed(point=command_point(random.choice(SERIALS)))
    session = facing.session
    session.top_up("d", 1000, 1_000_000)
    facing.settle()

    def act() -> None:
        match random.choice(("given",) * 6 + ("accept",) * 3 + ("complete",) * 3 + ("sent",) * 2 + ("other",)):
            case "given":
                facing.feed(_given_0_10(random) * random.randrange(1, 4))
            case "accept":
                session.accept(random.choice(SERIALS))
            case "complete":
                session.complete(random.choice(SERIALS))
            case "sent":
                session.transfer("amq.direct", ten.Message(b"p"))
            case _:
                kinds = (ten.spec.SessionCompleted, ten.spec.SessionConfirmed, ten.spec.SessionKnownCompleted)
                own = ten.SequenceSet.of(random.randrange(5))
                point = ten.spec.SessionCommandPoint(random.choice(SERIALS), 0)
                controls = (*(kind(random.choice((own, _ids(random)))) for kind in kinds), point)
                facing.feed(talk_0_10.frames(random.choice(controls)))

    return _faced(facing, random, act, lambda: facing.end.is_open and session.is_attached)


# 1.0, observed.

NAMES: Final = ((b"a", b"b", b"c"), (0, 1))
"""Delivery tags, and handles."""


def talk_1_0_at_random(random: Random) -> Conversation:
    """Deliveries both ways under ids and tags that come again, at the end of their circle; links that come again."""
    talk = Talk10(late=random.random() < 0.1)
    talk.open().client(_begin_1_0(random)).server(_begin_1_0(random, 0))
    talk.sender().receiver().server(talk_1_0.credit(0)).client(talk_1_0.credit(1))
    weights = dict.fromkeys(_ONE, 1) | {"sent": 5, "given": 5, "settle": 5}
    for name in _named(random, weights):
        _ONE[name](talk, random)
    return talk


def observed_1_0(random: Random) -> list[object]:
    """What an observer says of `talk_1_0_at_random`."""
    return _seen(talk_1_0_at_random(random), random)


def _begin_1_0(random: Random, remote: int | None = None) -> one.spec.Begin:
    return one.spec.Begin(remote, next_outgoing_id=random.choice(SERIALS), incoming_window=1000, outgoing_window=1000)


def _transfer_1_0(random: Random, handle: int) -> bytes:
    return talk_1_0.transfer(
        random.choice(SERIALS),
        one.Message(b"x"),
        handle=handle if random.random() < 0.95 else 1 - handle,
        tag=random.choice(NAMES[0]),
        settled=random.random() < 0.2 or None,
    )


def _settle_1_0(random: Random) -> one.spec.Disposition:
    first = random.choice(SERIALS)
    last = (first + random.randrange(4)) & LAST if random.random() < 0.3 else None
    state = random.choice((one.Accepted(), one.Accepted(), one.Accepted(), None, one.Released()))
    return talk_1_0.settle(first, state, last, role=random.random() < 0.8, settled=random.random() < 0.8)


def _reattach_1_0(talk: Talk10, random: Random) -> None:
    handle = random.randrange(2)
    closed = random.random() < 0.5
    talk.client(one.spec.Detach(handle, closed)).server(one.spec.Detach(handle, closed))
    if handle:
        talk.receiver().client(talk_1_0.credit(1))
    else:
        talk.sender().server(talk_1_0.credit(0))


def _rebegin_1_0(talk: Talk10, random: Random) -> None:
    talk.client(one.spec.End()).server(one.spec.End()).client(_begin_1_0(random)).server(_begin_1_0(random, 0))
    talk.sender().receiver().server(talk_1_0.credit(0)).client(talk_1_0.credit(1))


_ONE: Final[dict[str, Callable[[Talk10, Random], object]]] = {
    "sent": lambda talk, random: talk.client(_transfer_1_0(random, 0)),
    "given": lambda talk, random: talk.server(_transfer_1_0(random, 1)),
    "settle": lambda talk, random: _either(talk, random, _settle_1_0(random)),
    "credit": lambda talk, random: _either(talk, random, talk_1_0.credit(random.randrange(2))),
    "reattach": _reattach_1_0,
    "rebegin": _rebegin_1_0,
    "gap": lambda talk, random: talk.gap(random.choice(("client", "server")), 5) if random.random() < 0.2 else None,
}


# 1.0, an endpoint.


def faced_1_0(random: Random) -> list[object]:
    """A client with a link each way, whose server sends and settles under ids and tags that come again."""
    facing = FacingOne.opened(Side.CLIENT)
    session = facing.end.open_session()
    sender = session.open_sender("q", name="out")
    receiver = session.open_receiver("q", name="in", credit=1000)
    facing.settle()
    source, target = one.Source(address="q"), one.Target(address="q")
    facing.feed(
        octets_of(_begin_1_0(random, 0)),
        octets_of(one.spec.Attach("out", 0, True, source=source, target=target)),
        octets_of(one.spec.Attach("in", 1, False, source=source, target=target, initial_delivery_count=0)),
        octets_of(talk_1_0.credit(0)),
    )

    def act() -> None:
        match random.choice(("given",) * 6 + ("accept",) * 4 + ("send",) * 4 + ("settle",) * 4 + ("other",)):
            case "given":
                facing.feed(_transfer_1_0(random, 1))
            case "accept":
                receiver.accept(random.choice(SERIALS))
            case "send":
                tag = random.choice((None, None, *NAMES[0], (0).to_bytes(4, "big"), b"\0"))
                sender.send(one.Message(b"p"), delivery_tag=tag)
            case "settle":
                facing.feed(octets_of(_settle_1_0(random)))
            case _:
                facing.feed(octets_of(talk_1_0.credit(0)))

    return _faced(facing, random, act, lambda: facing.end.is_open)


PLAYS: Final[dict[str, Callable[[Random], list[object]]]] = {
    "_classic.endpoint": faced_classic,
    "_classic.observer": observed_classic,
    "amqp_0_10.endpoint": faced_0_10,
    "amqp_0_10.observer": observed_0_10,
    "amqp_1_0.endpoint": faced_1_0,
    "amqp_1_0.observer": observed_1_0,
}
"""By engine and room."""
