"""Growth: whatever was sent before, the next one of a method, command or performative costs an observer the same.

Generated over all that each version has, sent by each side: new names and ids each time, or the same one again; with
an answer, or without. Steps are counted (`tests.kit.steps`), not time. A sample of the cases runs here, all of them in
tests/system.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final, NamedTuple

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, Limits, Version, amqp_0_10, amqp_1_0
from amqp_sansio.amqp_0_9_1.spec import Method
from amqp_sansio.amqp_0_10.codec.record import COMMANDS
from tests.kit.observing import CLIENT, SERVER, Conversation, Talk
from tests.kit.steps import count_steps
from tests.kit.talk_0_10 import Talk010, completed, content
from tests.kit.talk_0_10 import transfer as talk_transfer
from tests.kit.talk_1_0 import AMQP, HELLO, Talk10, begin, credit, frame, transfer

FEW: Final = 30
MANY: Final = 120
MEASURED: Final = 6
"""How many are counted at each of the two numbers."""
ROOM: Final = 60
"""Steps by which the later ones may be dearer for other reasons, each: an id of more digits, a list that is moved."""


class Conversing(NamedTuple):
    """A conversation that is open, and what sends the next one in it."""

    talk: Conversation
    send: Callable[[int], object]


def grows(make: Callable[[Limits], Conversing]) -> str:
    """Say what is wrong with the cost of the next one after many, or nothing.

    The bounds of the observer are never reached at first, then long before the few and the many.
    """
    few, many = measured(make(Limits()), FEW), measured(make(Limits()), MANY)
    if many > 1.15 * few + ROOM:
        return f"after {FEW} one takes {few} steps, after {MANY} {many}"
    few, many = measured(make(bounded(FEW // 2)), FEW), measured(make(bounded(MANY // 2)), MANY)
    if many > 1.15 * few + ROOM:
        return f"with bounds of {FEW // 2} one takes {few} steps, with bounds of {MANY // 2} {many}"
    return ""


def bounded(most: int) -> Limits:
    """All bounds of what an observer keeps of a connection."""
    return Limits(channels=most, requests=most, calls=most, unsettled=most, unconfirmed=most, consumers=most)


def measured(conversing: Conversing, count: int) -> int:
    """Send that many, and return the steps that each of the next ones takes."""
    talk, send = conversing
    for number in range(count):
        send(number)
        forget(talk)
    steps = 0
    for number in range(count, count + MEASURED):
        steps += count_steps(partial(send, number), 1_000_000)
        forget(talk)
    return steps // MEASURED


def forget(talk: Conversation) -> None:
    """What the conversation keeps for tests costs nothing here."""
    talk.arrivals.clear()
    talk.events.clear()
    talk.messages.clear()


CLASSIC: Final = {AMQP_0_8: Talk(AMQP_0_8).dialect, AMQP_0_9_1: Talk(AMQP_0_9_1).dialect}


def numbered(kind: type[Method], number: int, **fixed: Any) -> Method:
    """A method whose names and numbers are new: what it refers to may be there or not."""
    fields: dict[str, Any] = {}
    for name, _ in kind.FIELDS:
        if name in fixed:
            fields[name] = fixed[name]
        elif name in ("consumer_tag", "queue", "exchange", "routing_key", "identifier", "destination", "source"):
            fields[name] = f"{name}{number}"
        elif name == "delivery_tag":
            fields[name] = number + 1
    return kind(**fields)


def classic_cases() -> Iterator[Any]:
    for version, dialect in CLASSIC.items():
        for kind in dialect.methods.values():
            if kind.NAME.startswith("connection."):
                continue
            for side in (CLIENT, SERVER):
                for variety in ("unanswered", "answered", "again", "multiple"):
                    if variety == "answered" and not dialect.replies[kind.ID]:
                        continue
                    if variety == "multiple" and "multiple" not in dict(kind.FIELDS):
                        continue
                    yield pytest.param(version, kind, side, variety, id=f"{version.label}-{kind.NAME}-{side}-{variety}")


METHODS: Final = [*classic_cases()]
PERFORMATIVES: Final = [
    pytest.param(act, side, variety, id=f"{act}-{side}-{variety}")
    for act in ("begin", "attach", "transfer")
    for side in (CLIENT, SERVER)
    for variety in ("unanswered", "answered", "ended", "left", "again", "settled", "flowed")
]
EACH: Final = 25
"""One of so many cases is in the sample."""


@pytest.mark.parametrize(("version", "kind", "side", "variety"), METHODS[::EACH])
def test_methods_cost_the_same_however_many_came_before(
    version: Version, kind: type[Method], side: str, variety: str
) -> None:
    """Open calls, consumers, deliveries and publishes of a channel aren't searched."""
    assert_no_growth_of_methods(version, kind, side, variety)


@pytest.mark.parametrize("variety", ["unanswered", "answered", "again"])
def test_consumers_are_not_searched_for_a_tag(variety: str) -> None:
    """Each consume listed all open calls of its channel."""
    assert_no_growth_of_methods(AMQP_0_9_1, CLASSIC[AMQP_0_9_1].named["basic.consume"], CLIENT, variety)


def assert_no_growth_of_methods(version: Version, kind: type[Method], side: str, variety: str) -> None:
    """Try one method, sent by one side."""
    answers = CLASSIC[version].replies[kind.ID] if variety == "answered" else ()
    fixed = {"multiple": True} if variety == "multiple" else {}

    def make(limits: Limits) -> Conversing:
        talk = Talk(version, twice=False, limits=limits).login().channel().consumer()
        if version is AMQP_0_9_1 and not kind.NAME.startswith("tx."):
            talk.client(talk.named("confirm.select"), channel=1).server(talk.named("confirm.select-ok"), channel=1)

        def octets(kind: type[Method], number: int) -> bytes:
            method = numbered(kind, 0 if variety == "again" else number, **fixed)
            return talk.message(method, b"x") if kind.HAS_CONTENT else talk.octets(method, 1)

        def send(number: int) -> None:
            if kind.NAME in ("basic.ack", "basic.nack", "basic.reject"):
                # Something to settle, of which every third stays open.
                talk.client(talk.publish(b"x", routing_key="q")).server(talk.deliver(number + 1))
                if number % 3 == 0 and variety != "multiple":
                    return
            talk.send(side, octets(kind, number))
            if answers:
                talk.send(other(side), octets(answers[0], number))

        return Conversing(talk, send)

    assert not grows(make)


REQUESTS: Final = [
    kind
    for kind in CLASSIC[AMQP_0_9_1].methods.values()
    if CLASSIC[AMQP_0_9_1].replies[kind.ID] and kind.CLASS_ID not in (10, 20)
]


@pytest.mark.parametrize("kind", REQUESTS[::8], ids=lambda kind: kind.NAME)
def test_a_reply_finds_its_request_among_many_others(kind: type[Method]) -> None:
    assert_reply_is_matched(kind)


def assert_reply_is_matched(kind: type[Method]) -> None:
    """Try one request whose reply comes while many others are open."""
    reply = CLASSIC[AMQP_0_9_1].replies[kind.ID][0]

    def make(limits: Limits) -> Conversing:
        talk = Talk(twice=False, limits=limits).login().channel().consumer()

        def send(number: int) -> None:
            talk.client(numbered(REQUESTS[number % len(REQUESTS)], number), channel=1)
            talk.client(numbered(kind, number), channel=1)
            octets = talk.message(numbered(reply, number), b"x") if reply.HAS_CONTENT else numbered(reply, number)
            talk.server(octets, channel=1)

        return Conversing(talk, send)

    assert not grows(make)


@pytest.mark.parametrize("kind", ["acked", "acked backwards", "acked together", "nacked", "unconfirmed", "nothing"])
def test_returns_of_mandatory_publishes(kind: str) -> None:
    """Publishes that are all alike, or none like another, before and after they are returned."""

    def make(limits: Limits) -> Conversing:
        talk = Talk(twice=False, limits=limits).login().channel()
        if kind != "unconfirmed":
            talk.client(talk.named("confirm.select"), channel=1).server(talk.named("confirm.select-ok"), channel=1)
        alike: dict[str, Any] = {"exchange": "", "routing_key": "q"}
        many = MANY + MEASURED
        for _ in range(many):
            talk.client(talk.publish(b"x", mandatory=True, **alike))

        def send(number: int) -> None:
            talk.client(talk.publish(b"x", mandatory=True, **alike))
            if kind != "nothing":
                talk.server(talk.message(talk.named("basic.return", 312, "NO_ROUTE", **alike), b"x"))
            tag = many - number if kind == "acked backwards" else number + 1
            if kind.startswith("acked"):
                talk.server(talk.named("basic.ack", tag, kind == "acked together"), channel=1)
            elif kind == "nacked":
                talk.server(talk.named("basic.nack", tag, False, False), channel=1)

        return Conversing(talk, send)

    assert not grows(make)


# 1.0.


def began(talk: Talk10, side: str, number: int, variety: str) -> None:
    channel = number if variety != "again" else 7
    talk.send(side, talk.octets(begin(), channel))
    if variety in ("answered", "ended"):
        talk.send(other(side), talk.octets(begin(channel), channel))
    if variety in ("ended", "left"):
        talk.send(side, talk.octets(amqp_1_0.spec.End(), channel))
    if variety == "ended":
        talk.send(other(side), talk.octets(amqp_1_0.spec.End(), channel))


def attached(talk: Talk10, side: str, number: int, variety: str) -> None:
    name, handle = ("again", 7) if variety == "again" else (f"link{number}", number + 10)
    source, target = amqp_1_0.Source(address="a"), amqp_1_0.Target(address="b")
    fields: dict[str, Any] = {"source": source, "target": target}
    talk.send(side, talk.octets(amqp_1_0.spec.Attach(name, handle, False, initial_delivery_count=0, **fields)))
    if variety in ("answered", "ended", "flowed"):
        talk.send(other(side), talk.octets(amqp_1_0.spec.Attach(name, handle, True, **fields)))
    if variety == "flowed":
        talk.send(other(side), talk.octets(credit(handle)))
    if variety in ("ended", "left"):
        talk.send(side, talk.octets(amqp_1_0.spec.Detach(handle, True)))
    if variety == "ended":
        talk.send(other(side), talk.octets(amqp_1_0.spec.Detach(handle, True)))


def transferred(talk: Talk10, side: str, number: int, variety: str) -> None:
    handle = 0 if side == CLIENT else 1
    delivery_id = 7 if variety == "again" else number
    for one in range(2):
        last = one == 1
        fields: dict[str, Any] = {"settled": True} if variety == "settled" else {}
        talk.send(side, transfer(2 * delivery_id + one, HELLO, handle=handle, **fields))
        if not last:
            continue
        receiver = side == SERVER
        numbers = {"ended": number, "answered": 2 * number, "left": 2 * number, "flowed": 2 * number}
        if variety in numbers:
            settled = variety != "left"
            state = amqp_1_0.Accepted()
            disposition = amqp_1_0.spec.Disposition(receiver, numbers[variety], settled=settled, state=state)
            talk.send(other(side), talk.octets(disposition))


ACTS_1_0: Final = {"begin": began, "attach": attached, "transfer": transferred}


@pytest.mark.parametrize(("act", "side", "variety"), PERFORMATIVES[::6])
def test_performatives_cost_the_same_however_many_came_before(act: str, side: str, variety: str) -> None:
    """Sessions, links and deliveries of a connection aren't searched."""
    assert_no_growth_of_performatives(act, side, variety)


def assert_no_growth_of_performatives(act: str, side: str, variety: str) -> None:
    """Try one performative with what follows it."""

    def make(limits: Limits) -> Conversing:
        talk = Talk10(twice=False, limits=limits)
        wide: dict[str, Any] = {"channel_max": 65_535, "max_frame_size": 65_535}
        talk.client(AMQP, amqp_1_0.spec.Open("c", **wide)).server(AMQP, amqp_1_0.spec.Open("s", **wide))
        talk.session(65_000).client(begin()).server(begin(0)).sender().receiver()
        talk.server(credit(0, 100_000)).client(credit(1, 100_000))

        def send(number: int) -> None:
            ACTS_1_0[act](talk, side, number + 1, variety)

        return Conversing(talk, send)

    assert not grows(make)


def half(talk: Conversation, side: str, number: int, where: str) -> None:
    """A delivery that goes on, on a link or a session of its own."""
    channel, handle = (number, 0) if where == "sessions" else (0, number + 1)
    if where == "sessions":
        talk.send(side, frame(begin(), channel=channel))
    source, target = amqp_1_0.Source(address="q"), amqp_1_0.Target(address="q")
    link = amqp_1_0.spec.Attach(f"n{number}", handle, False, source=source, target=target, initial_delivery_count=0)
    talk.send(side, frame(link, channel=channel))
    talk.send(side, transfer(number, HELLO.encode()[:3], handle=handle, channel=channel, more=True))


@pytest.mark.parametrize("side", [CLIENT, SERVER])
@pytest.mark.parametrize("where", ["links", "sessions"])
def test_deliveries_under_way_are_not_searched(where: str, side: str) -> None:
    """Each attach and begin looked through all deliveries that go on for those that it ends."""

    def make(limits: Limits) -> Conversing:
        talk = Talk10(twice=False, limits=limits)
        wide: dict[str, Any] = {"channel_max": 65_535, "max_frame_size": 65_535}
        talk.client(AMQP, amqp_1_0.spec.Open("c", **wide)).server(AMQP, amqp_1_0.spec.Open("s", **wide)).session()

        def send(number: int) -> None:
            half(talk, side, number + 1, where)

        return Conversing(talk, send)

    assert not grows(make)


# Gaps.


@pytest.mark.parametrize("opened", ["sessions", "links"])
def test_a_gap_costs_the_same_however_much_is_open(opened: str) -> None:
    """What is open is doubted when it is used, not at each gap."""

    def make(limits: Limits) -> Conversing:
        talk = Talk10(twice=False, limits=limits)
        wide: dict[str, Any] = {"channel_max": 65_535, "max_frame_size": 65_535}
        talk.client(AMQP, amqp_1_0.spec.Open("c", **wide)).server(AMQP, amqp_1_0.spec.Open("s", **wide))
        talk.session(65_000).client(begin()).server(begin(0)).sender().receiver()

        def send(number: int) -> None:
            (began if opened == "sessions" else attached)(talk, CLIENT, number + 1, "answered")
            talk.gap(CLIENT, 10)

        return Conversing(talk, send)

    assert not grows(make)


# 0-10.


COMMANDS_0_10: Final = [kind for kind in COMMANDS.values() if kind.NAME != "execution.sync"]
CASES_0_10: Final = [
    pytest.param(kind, side, variety, id=f"{kind.NAME}-{side}-{variety}")
    for kind in COMMANDS_0_10
    for side in (CLIENT, SERVER)
    for variety in ("unanswered", "completed", "again", "backwards")
]


def numbered_0_10(kind: type[Any], number: int) -> Any:
    """A command whose names and ids are new: what it refers to may be there or not."""
    fields: dict[str, Any] = {}
    for name in kind.__match_args__:
        if name in ("queue", "exchange", "destination", "binding_key", "consumer_tag", "identifier", "resume_id"):
            fields[name] = f"{name}{number}"
        elif name == "transfers":
            fields[name] = amqp_0_10.SequenceSet.of(number)
        elif name == "xid":
            fields[name] = amqp_0_10.spec.Xid(1, str(number).encode(), b"b")
        elif name == "command_id":
            fields[name] = number
        elif name == "delivery_tag":
            fields[name] = number + 1
    return kind(**fields)


@pytest.mark.parametrize(("kind", "side", "variety"), CASES_0_10[::EACH])
def test_commands_of_0_10_cost_the_same_however_many_came_before(kind: type[Any], side: str, variety: str) -> None:
    """Commands, transfers, subscriptions and branches of a session aren't searched."""
    assert_no_growth_of_commands_of_0_10(kind, side, variety)


def assert_no_growth_of_commands_of_0_10(kind: type[Any], side: str, variety: str) -> None:
    """Try one command, sent by one side; every third transfer stays unsettled."""
    has_message = kind.HAS_BODY

    def make(limits: Limits) -> Conversing:
        talk = Talk010(twice=False, limits=limits)
        talk.open(channel_max=100).session().subscribe().client(amqp_0_10.spec.MessageFlow("d", 0, 0xFFFFFFFF))
        talk.client(amqp_0_10.spec.MessageFlow("d", 1, 0xFFFFFFFF))

        def octets(number: int) -> bytes:
            command = numbered_0_10(kind, 0 if variety == "again" else number)
            if has_message:
                return content(command, b"x", amqp_0_10.DeliveryProperties(routing_key="q"))
            return talk.octets(command)

        def send(number: int) -> None:
            settles = kind.NAME.startswith("message.") and "transfers" in kind.__match_args__
            if settles:
                # Something to settle, of which every third stays open.
                talk.send(other(side), talk_transfer("d", b"x"))
                if number % 3 == 0:
                    return
            talk.send(side, octets(number))
            if variety in ("completed", "backwards"):
                last = number if variety == "completed" else max(0, FEW - number)
                talk.send(other(side), talk.octets(completed(last)))

        return Conversing(talk, send)

    assert not grows(make)


@pytest.mark.parametrize("variety", ["attached", "unanswered", "detached", "again"])
def test_sessions_of_0_10_cost_the_same_however_many_came_before(variety: str) -> None:
    def make(limits: Limits) -> Conversing:
        talk = Talk010(twice=False, limits=limits)
        talk.open(channel_max=65_535)

        def send(number: int) -> None:
            channel, name = number + 1, b"s" if variety == "again" else str(number).encode()
            talk.client(amqp_0_10.spec.SessionAttach(name), channel=channel)
            if variety != "unanswered":
                talk.server(amqp_0_10.spec.SessionAttached(name), channel=channel)
            if variety == "detached":
                talk.client(amqp_0_10.spec.SessionDetach(name), channel=channel)
                talk.server(amqp_0_10.spec.SessionDetached(name, 0), channel=channel)

        return Conversing(talk, send)

    assert not grows(make)


def other(side: str) -> str:
    return SERVER if side == CLIENT else CLIENT
