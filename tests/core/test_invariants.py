"""Each invariant that a `check()` names, by harm to what it is about: a check that can't fail is none.

The invariants are read from the source: every text that `ensure` is given. For each module, worlds in which its objects
have something are harmed in every way that `tests.kit.harm` knows; few invariants are reached by a harm of their own
only, since it takes two faults, or a bound that no harm passes.
"""

import ast
import re
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from amqp_sansio import AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Limits, Observer, Side, Version, amqp_1_0
from amqp_sansio._classic.codec.dialect import get_dialect
from amqp_sansio._classic.endpoint.connection import EndpointModel
from amqp_sansio._ground.deadlines import Deadlines
from amqp_sansio._ground.invariants import ensure
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.amqp_0_10.codec.frames import (
    COMMAND,
    COMMAND_TRACK,
    CONTROL,
    CONTROL_TRACK,
    FRAME,
    FRAME_HEADER_SIZE,
    WHOLE,
)
from amqp_sansio.amqp_0_10.codec.sequence_set import SequenceSet
from amqp_sansio.amqp_0_10.endpoint.channel import Transport
from amqp_sansio.amqp_0_10.endpoint.incoming import Arriving
from amqp_sansio.amqp_0_10.endpoint.session import Sessions
from amqp_sansio.amqp_0_10.endpoint.session_state import SessionState
from amqp_sansio.amqp_0_10.model.dtx import Branches
from amqp_sansio.amqp_0_10.model.open_ids import OpenIds
from amqp_sansio.amqp_0_10.observer import content as content_0_10
from amqp_sansio.amqp_0_10.observer.open_messages import SessionMessages
from amqp_sansio.amqp_1_0.model.connection import Half
from amqp_sansio.amqp_1_0.model.states import Connection, Link
from amqp_sansio.amqp_1_0.observer import content as content_1_0
from amqp_sansio.amqp_1_0.observer.outcomes import ObservedDelivery, Outcomes, Transaction
from amqp_sansio.broker import BrokerLimits, Hub
from amqp_sansio.broker.frontends.amqp_0_10.sessions import MOST_KEPT, register_of
from amqp_sansio.broker.frontends.amqp_1_0.links import Termini
from amqp_sansio.broker.model import commands
from amqp_sansio.broker.model.consumer import Window
from amqp_sansio.broker.model.states import State
from amqp_sansio.broker.model.vhost import VirtualHost
from tests.kit import driving_1_0, driving_classic, hub_0_10, hub_1_0, pair_0_10, pair_1_0, play_0_10, play_1_0
from tests.kit.broker_model import Model, content
from tests.kit.conversations import CONVERSATIONS
from tests.kit.driving import operations_of
from tests.kit.harm import MANY, Kept, attributes, harms
from tests.kit.hostiles import HOSTILES
from tests.kit.hub_hostile import Stage
from tests.kit.observing import take
from tests.kit.pair_classic import Pair
from tests.kit.small import small_limits
from tests.kit.talk_0_10 import Talk010
from tests.kit.talk_1_0 import Talk10

ROOT: Final = Path(__file__).resolve().parents[2]
OBSERVED: Final = small_limits(unparsed=200_000, bodies=200_000, channels=8, consumers=8, calls=8, unconfirmed=8)
World = tuple[object, Callable[[], object]]
"""Where objects are reached from, and what checks all of them."""


@cache
def invariants(path: str) -> tuple[str, ...]:
    """The invariants that a module names."""
    found = [
        node.args[2]
        for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "ensure"
    ]
    texts = [each.value for each in found if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    assert len(texts) == len(found), "an invariant is a literal"
    return tuple(dict.fromkeys(texts))


Said = Any
"""A check that has something to say: a bound method."""

# Worlds.


def _classic(version: Version, seed: int) -> Iterator[World]:
    driver = driving_classic.Driver(version)
    for operation in operations_of(Random(seed).randbytes(240)):
        driver.apply(operation)
    yield from [(end, end.check) for end in driver.pair.ends.values()]


def _with_cancelled() -> Iterator[World]:
    pair = Pair().open()
    channel = pair.channel()
    channel.call(pair.method("basic.consume", queue="q", consumer_tag="t", no_wait=True))
    channel.call(pair.method("basic.cancel", consumer_tag="t", no_wait=True))
    yield pair.client, pair.client.check


def _unopened() -> Iterator[World]:
    pair = Pair()
    pair.server.receive_data(b"AM", 0.0)
    pair.server.next_event()
    yield from [(end, end.check) for end in pair.ends.values()]


def _arriving() -> Iterator[World]:
    pair = pair_0_10.Pair().open()
    session, _ = pair.sessions()
    session.transfer("q", bytes(100_000))
    pair.write(Side.CLIENT)
    pair.arrive(Side.SERVER, 70_000)
    pair.drain(Side.SERVER)
    piece = FRAME.pack(WHOLE & ~1, CONTROL, FRAME_HEADER_SIZE + 4, 0, CONTROL_TRACK, 9, 0) + bytes(4)
    pair.client.receive_data(piece, pair.now)
    pair.drain(Side.CLIENT)
    yield from [(end, end.check) for end in pair.ends.values()]


def _links(seed: int) -> Iterator[World]:
    random = Random(seed)
    driver = driving_1_0.Driver()
    for operation in operations_of(random.randbytes(240)):
        driver.apply(operation)
    yield from [(end, end.check) for end in driver.pair.ends.values()]


def _played(play: Any) -> Iterator[World]:
    for _ in range(60):
        play.choose()
        play.take()
        play.hear()
    yield play.facing.end, play.facing.end.check


def _played_1_0(seed: int, side: Side) -> Iterator[World]:
    return _played(play_1_0.Play(Random(seed).randbytes(3000), play_1_0.facing_of(side)))


def _played_0_10(seed: int, side: Side) -> Iterator[World]:
    return _played(play_0_10.Play(Random(seed).randbytes(3000), side))


def _branches(timeout: int) -> Iterator[World]:
    branches = Branches(default_timeout=timeout)
    ids = [spec.Xid(7, b"global", bytes([number])) for number in range(5)]
    for owner in "abc":
        branches.execute(owner, spec.DtxSelect(), 0.0)
    branches.execute("a", spec.DtxStart(ids[0]), 0.0)
    branches.execute("b", spec.DtxStart(ids[1]), 0.0)
    branches.execute("b", spec.DtxEnd(ids[1], False, True), 0.0)
    branches.execute("b", spec.DtxStart(ids[2]), 0.0)
    branches.execute("b", spec.DtxEnd(ids[2]), 0.0)
    branches.mark_work("a")
    branches.execute("c", spec.DtxStart(ids[3]), 0.0)
    branches.execute("c", spec.DtxEnd(ids[3], True), 0.0)
    yield branches, branches.check


def _deadlines() -> Iterator[World]:
    deadlines: Deadlines[str] = Deadlines()
    for number, key in enumerate(("a", "b", "a")):
        deadlines.set(key, float(number))
    yield deadlines, lambda: deadlines.check(4)


def _broker() -> Iterator[World]:
    model = Model(BrokerLimits(memory_high=1 << 30))
    broker = model.broker
    channel, other = model.connect(model.owner), model.connect()
    jobs = model.queue("jobs", x_max_priority=4)
    model.queue("mine", exclusive_to=model.owner)
    model.queue("timed", x_message_ttl=60_000)
    model.queue("single", x_single_active_consumer=True)
    model.queue("later", x_expires=60_000)
    model.apply(commands.DeclareExchange(model.owner, "e", "direct"))
    model.apply(commands.Bind(model.owner, "jobs", "e", "k"))
    for number in range(6):
        model.publish(f"m{number}", priority=number % 3)
        model.publish(f"t{number}", "timed")
    for key, credit in (("a", 1), ("b", 1), ("c", 0)):
        model.consume("jobs", key, channel, (Window(credit),))
    model.consume("jobs", "cramped", other, (Window(5, 1),))
    for key in ("browser", "another"):
        model.consume("timed", key, other, (Window(20),), acquires=False)
    model.consume("timed", "full", other, (Window(0),), acquires=False)
    model.consume("single", "s1", channel, (Window(3),))
    model.consume("single", "s2", channel, (Window(3),))
    model.consume("mine", "x", model.owner, (Window(3),), exclusive=True)
    model.apply(commands.LinkQueue(other, "jobs"))
    transaction = model.apply(commands.Begin(channel))
    model.apply(commands.Publish(channel, "", "jobs", content("later"), transaction=transaction))
    held = next(iter(channel.held))
    model.apply(commands.Settle(channel, (held,), commands.Outcome.ACCEPT, transaction=transaction))
    model.effects()
    assert jobs.ready
    yield broker, broker.check


def _hub(labels: tuple[str, ...], seed: int, size: int) -> Iterator[World]:
    stage = Stage(Random(seed).randbytes(size), [HOSTILES[each] for each in labels], checks=False, labels=labels)
    stage.run()
    yield stage.hub, stage.hub.check


def _observed(version: Version, seed: int, shares: tuple[float, ...] = (1.0,), **options: Any) -> Iterator[World]:
    """An observer of the beginning of a conversation; the last arrival of it may have come in part."""
    arrivals = CONVERSATIONS[version](seed)
    for share in shares:
        observer = Observer(client=arrivals[0][0], accounts=True, limits=OBSERVED, **options)
        whole = int(len(arrivals) * share)
        for at, (sender, octets) in enumerate(arrivals[:whole]):
            observer.receive_data(octets, sender, at)
            take(observer)
        if whole < len(arrivals):
            sender, octets = arrivals[whole]
            for half in (octets[: len(octets) // 2], octets[len(octets) // 2 : -1]):
                whole += 1
                observer.receive_data(half, sender, whole)
            take(observer)
        yield observer, observer.check


def _undetected() -> Iterator[World]:
    observer = Observer()
    for at, octets in enumerate((b"AM", b"\1\0\0", b"\1")):
        observer.receive_data(octets, "cs"[at % 2], at)
        take(observer)
    yield observer, observer.check


def _opaque() -> Iterator[World]:
    observer = Observer(client="c")
    observer.receive_data(b"GET / HTTP/1.1", "c", 1)
    take(observer)
    yield observer, observer.check


# What takes two faults, or a bound that no single harm passes: a world's root, and what is done to it. What is private
# of an endpoint is looked up by name, since no other object may know it.


def _pair_0_10() -> pair_0_10.Pair:
    pair = pair_0_10.Pair().open()
    pair.sessions()
    return pair


def _state(pair: pair_0_10.Pair) -> Any:
    return Kept(pair.client).of[SessionState][0]


def _early() -> Said:
    pair = pair_1_0.Pair().open()
    pair.session()
    half = Kept(pair.client).of[Half][0]
    half.open, half.state = None, Connection.HEADER
    return pair.client.check


def _completed() -> Said:
    pair = _pair_0_10()
    sending = _state(pair).sending
    number = sending.send("a command")
    sending.completed = SequenceSet(((number, number),))
    return pair.client.check


def _ranges() -> Said:
    pair = _pair_0_10()
    receiving = _state(pair).receiving
    receiving.next_id = receiving.point = 200_000
    receiving.known.ranges = [[number, number] for number in range(0, 140_004, 2)]
    return pair.client.check


def _large_parts() -> Said:
    pair = _pair_0_10()
    Kept(pair.client).of[Transport][0].limits = Limits(bodies=-(1 << 40))
    return Kept(pair.client).of[Sessions][0].check


def _ended_segment() -> Said:
    pair = _pair_0_10()
    piece = FRAME.pack(WHOLE & ~1, COMMAND, FRAME_HEADER_SIZE + 4, 0, COMMAND_TRACK, 0, 0) + bytes(4)
    pair.client.receive_data(piece, pair.now)
    pair.drain(Side.CLIENT)
    Kept(pair.client).of[Arriving][0].assembly.ended = True
    return pair.client.check


def _seen(version: Version, share: float = 1.0) -> tuple[Kept, Said]:
    """The objects that an observer keeps after the first part of a conversation, and its check."""
    (world,) = _observed(version, 1, (share,))
    observer, check = world
    return Kept(observer), check


def _third_sender() -> Said:
    kept, check = _seen(AMQP_0_10)
    kept.of[Observer][0]._labels += ("another",)
    return check


def _long_head() -> Said:
    (world,) = _opaque()
    next(each for each in Kept(world[0]).objects if hasattr(each, "head")).head = bytes(9)
    return world[1]


def _whole_assembly() -> Said:
    talk = (
        Talk010().open().session().client(FRAME.pack(WHOLE & ~1, COMMAND, FRAME_HEADER_SIZE + 4, 0, 1, 0, 0) + bytes(4))
    )
    Kept(talk.observer).of[content_0_10.Content][0].assembly.whole = True
    return talk.observer.check


def _branch_without_part() -> Said:
    xid = spec.Xid(1, b"global", b"branch")
    talk = Talk010().open().session().client(spec.DtxSelect(), spec.DtxStart(xid))
    Kept(talk.observer).of[SessionMessages][0].parts.clear()
    return talk.observer.check


def _delivery_under_way() -> tuple[Kept, Said]:
    talk = Talk10().open().session().sender()
    talk.client(amqp_1_0.spec.Transfer(0, delivery_id=0, delivery_tag=b"0", more=True))
    return Kept(talk.observer), talk.observer.check


def _lost_payload() -> Said:
    kept, check = _delivery_under_way()
    content = kept.of[content_1_0.Content][0]
    content.parts = None
    return check


def _channel_without_handle() -> Said:
    kept, check = _delivery_under_way()
    kept.of[content_1_0.Direction][0].on[5] = {}
    return check


def _transaction() -> tuple[Transaction, Said]:
    kept, check = _delivery_under_way()
    found = Transaction(b"1", 1, None)
    kept.of[Outcomes][0].transactions[1, b"1"] = found
    check()
    return found, check


def _misplaced_transaction() -> Said:
    found, check = _transaction()
    found.key = b"2"
    return check


def _silent_member() -> Said:
    found, check = _transaction()
    link: Any = None
    found.members[7] = ObservedDelivery(link, 0, b"0")
    return check


def _many_channels() -> Said:
    pair = Pair(AMQP_0_9_1).open()
    pair.channel()
    model = Kept(pair.client).of[EndpointModel][0]
    model.dialect = get_dialect("0-9-1")
    model.limits = Limits(channels=0)
    return pair.client.check


def _unconfirmed() -> Said:
    pair = Pair(AMQP_0_9_1).open()
    pair.channel().publish_count = 1
    pair.client.channel(1).unconfirmed[1] = None
    return pair.client.check


def _model() -> tuple[Model, Any]:
    model = Model()
    queue = model.queue("q")
    for number in range(3):
        model.publish(f"m{number}", "q")
    return model, queue


def _cancelled_browsers() -> Said:
    model, queue = _model()
    browser = model.consume("q", windows=(Window(0),), acquires=False)
    model.apply(commands.Cancel(browser))
    model.effects()
    queue.showing.extend([browser] * 200)
    return model.broker.check


def _shown_twice() -> Said:
    model, queue = _model()
    queue.showing.extend([model.consume("q", windows=(Window(9),), acquires=False)] * 2)
    model.effects()
    return model.broker.check


def _unseen() -> Said:
    model, queue = _model()
    browser = model.consume("q", windows=(Window(9),), acquires=False)
    model.effects()
    browser.cursors[:] = [-1] * len(browser.cursors)
    alike = queue.watching.popitem()[1]
    queue.watching[tuple(browser.cursors)] = alike
    return model.broker.check


def _unused_link() -> Said:
    model, queue = _model()
    model.owner.links["q"] = (queue, 0)
    return model.broker.check


def _strange_vhost() -> Said:
    model = Model()
    model.owner.vhost = VirtualHost("/")
    return model.broker.check


def _declines() -> Said:
    model, _ = _model()
    consumer = model.consume("q", windows=(Window(0),))
    consumer.passed[2] = consumer.passed[0] = 1 << 20
    return model.broker.check


def _in_transaction() -> tuple[Model, Any]:
    model, _ = _model()
    model.consume("q", windows=(Window(1),))
    (entry,) = model.delivered()
    transaction = model.apply(commands.Begin(model.owner))
    model.apply(commands.Settle(model.owner, (entry,), commands.Outcome.ACCEPT, transaction=transaction))
    return model, entry


def _archived() -> Said:
    model, entry = _in_transaction()
    del model.owner.held[entry]
    entry.state = State.ARCHIVED
    return model.broker.check


def _not_in_transaction() -> Said:
    model, entry = _in_transaction()
    entry.transaction = None
    return model.broker.check


def _above() -> Said:
    model, _ = _model()
    object.__setattr__(model.broker.limits, "memory_high", 1)
    return model.broker.check


def _turned() -> Said:
    model = Model()
    queue = model.queue("q")
    for key in "ab":
        model.consume("q", key, windows=(Window(1),))
    (turns,) = queue.turns.values()
    turns.reverse()
    return model.broker.check


def _served_0_10() -> tuple[hub_0_10.World, hub_0_10.User, Any]:
    world = hub_0_10.World()
    user = world.connect()
    session = user.session("s", timeout=60)
    user.queue(session, "q")
    user.subscribe(session, "q", credit=5)
    user.put(session, "q", b"one", b"two")
    return world, user, register_of(world.hub)


def _detached() -> Iterator[World]:
    world, user, _ = _served_0_10()
    user.cut()
    yield world.hub, world.hub.check


def _unsubscribed() -> Said:
    world, _, register = _served_0_10()
    (session,) = register.known.values()
    session.subscriptions.clear()
    session.users.clear()
    return world.hub.check


def _undelivered() -> Said:
    world, _, register = _served_0_10()
    (session,) = register.known.values()
    session.delivered = OpenIds()
    return world.hub.check


def _many_detached() -> Said:
    _, _, register = _served_0_10()
    deadlines = next(each for _, each in attributes(register) if each == {})
    (session,) = register.known.values()
    known = {("/", "guest", b"%d" % number): session for number in range(MOST_KEPT + 1)}
    deadlines.update(dict.fromkeys(known))
    return register.check


def _closed(hub: Hub) -> Any:
    owner = hub.apply(commands.OpenOwner("/", "guest"))
    hub.apply(commands.CloseOwner(owner))
    return owner


def _ownerless() -> Said:
    world, user, register = _served_0_10()
    user.cut()
    (session,) = register.known.values()
    world.hub.apply(commands.CloseOwner(session.owner))
    return world.hub.check


def _served_1_0() -> tuple[hub_1_0.World, Any, Any, Termini]:
    """A hub with a link in each direction: the termini of what it sends on, and of what it receives on."""
    world = hub_1_0.World()
    world.queue("q")
    user = world.connect()
    session = user.session()
    user.receiver("q", session, credit=5, name="out")
    user.sender("q", session, name="in")
    world.put("q", "one")
    user.declare(user.controller(session))
    termini = Termini.of(world.hub)
    found = {each.link.name: each for each in termini.attached.values()}
    return world, found["out"], found["in"], termini


def _both() -> Said:
    _, _, _, termini = _served_1_0()
    termini.kept.update(termini.attached)
    return termini.check


def _kept_without_state() -> Said:
    _, _, incoming, termini = _served_1_0()
    termini.kept[incoming.link_key] = termini.attached.pop(incoming.link_key)
    return termini.check


def _unknown_link() -> Said:
    _, _, incoming, termini = _served_1_0()
    incoming.front.links.clear()
    return termini.check


def _terminus_closed() -> Said:
    world, _, incoming, termini = _served_1_0()
    incoming.owner = _closed(world.hub)
    return termini.check


def _terminus_strange() -> Said:
    world, _, incoming, termini = _served_1_0()
    incoming.owner = _closed(world.hub)
    incoming.owner.is_closed = False
    return termini.check


def _detached_link() -> Said:
    _, outgoing, _, _ = _served_1_0()
    outgoing.link.halves[0].state = Link.DETACHED
    return outgoing.check


def _strange_outbox() -> Said:
    world, outgoing, _, _ = _served_1_0()
    world.put("q", "more")
    entry = next(iter(outgoing.owner.held))
    entry.owner = None
    outgoing.outbox.append(entry)
    return outgoing.check


def _unknown_consumer() -> Said:
    _, outgoing, _, _ = _served_1_0()
    outgoing.front.consumers.clear()
    return outgoing.check


def _strange_gate() -> Said:
    _, outgoing, _, _ = _served_1_0()
    outgoing.front.gate.consumers[1 << 20] = outgoing.consumer
    return outgoing.front.check


def _forgotten_client() -> Said:
    world, outgoing, _, _ = _served_1_0()
    del world.hub.clients[outgoing.front.number]
    del world.hub.fronts[outgoing.front.number]
    return world.hub.check


def _lost_transaction() -> Said:
    world, outgoing, _, _ = _served_1_0()
    world.hub.model.transactions.clear()
    return outgoing.front.coordination.check


SHARES: Final = (1.0, 0.2, 0.4, 0.6, 0.8, 0.9)
WORLDS: Final[dict[str, tuple[Callable[[], Iterator[World]], ...]]] = {
    "_classic/observer": tuple([partial(_observed, AMQP_0_9_1, seed, SHARES) for seed in range(1, 5)]),
    "amqp_0_10/observer": tuple([partial(_observed, AMQP_0_10, seed, SHARES) for seed in range(1, 5)]),
    "amqp_1_0/observer": tuple([partial(_observed, AMQP_1_0, seed, SHARES) for seed in range(1, 5)]),
    "_classic": (partial(_classic, AMQP_0_9_1, 1), partial(_classic, AMQP_0_9_1, 4), _with_cancelled),
    "_core": (_unopened, partial(_classic, AMQP_0_9_1, 1)),
    "_ground": (_deadlines, _unopened),
    "_watching/opaque": (_opaque,),
    "_watching/holders": (partial(_observed, AMQP_0_9_1, 1, SHARES), partial(_observed, AMQP_1_0, 1, SHARES)),
    "_watching": (partial(_observed, AMQP_0_9_1, 1, SHARES),),
    "observer": (_undetected, partial(_observed, AMQP_0_10, 1)),
    "amqp_0_10/endpoint": (_arriving, partial(_played_0_10, 3, Side.SERVER), partial(_played_0_10, 4, Side.SERVER)),
    "amqp_0_10/model/command_ids": (partial(_played_0_10, 3, Side.SERVER),),
    "amqp_0_10/model/dtx": (partial(_branches, 60), partial(_branches, 0)),
    "amqp_1_0": (partial(_links, 1), partial(_links, 2), partial(_played_1_0, 3, Side.CLIENT)),
    "broker/model": (_broker,),
    "broker/frontends/classic": (partial(_hub, ("0-9-1",), 1, 300),),
    "broker/frontends/amqp_0_10": (_detached, partial(_hub, ("0-10",), 1, 300)),
    "broker/frontends/amqp_1_0": (partial(_hub, ("1.0",), 1, 300),),
    "broker/frontends/frontend": (partial(_hub, ("0-9-1",), 1, 300),),
    "broker/hub": (partial(_hub, ("0-9-1", "1.0"), 1, 300),),
}
"""By the beginning of a module's path."""


WIDER: Final = {
    "broker/model/checks.py": "amqp_sansio.broker.model",
    "broker/model/broker.py": "amqp_sansio.broker.model",
    "_classic/model/connection.py": "amqp_sansio._classic",
    "frontends/amqp_1_0/frontend.py": "amqp_sansio.broker.frontends.amqp_1_0",
    "amqp_0_10/endpoint/session.py": "amqp_sansio.amqp_0_10.endpoint",
    "amqp_0_10/endpoint/session_state.py": "amqp_sansio.amqp_0_10",
    "amqp_1_0/endpoint/session.py": "amqp_sansio.amqp_1_0.endpoint",
    "amqp_1_0/model/connection.py": "amqp_sansio.amqp_1_0.model",
}
"""Where the objects are that a module's invariants are about, if not in the module itself."""


def _modules() -> Iterator[str]:
    for path in sorted((ROOT / "amqp_sansio").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if "ensure(" in path.read_text(encoding="utf-8") and not name.endswith("_ground/invariants.py"):
            yield name


def named(path: str) -> dict[str, str]:
    """The invariants of a module that are named, each with a harm that names it."""
    room = next(each for each in WORLDS if path.startswith(f"amqp_sansio/{each}"))
    module = path.removesuffix(".py").replace("/", ".")
    module = next((wider for each, wider in WIDER.items() if path.endswith(each)), module)
    found: dict[str, str] = {}
    wanted = set(invariants(path)) - set(TWO_FAULTS)
    for make in WORLDS[room]:
        for root, check in make():
            for harm, said in harms(root, check, module, 200 if "broker" in path else MANY):
                for text in invariants(path):
                    if f": {text}" in said:
                        found.setdefault(text, harm)
                if wanted <= found.keys():
                    return found
    return found


@pytest.mark.large  # Some modules take seconds: every attribute of every world is harmed.
@pytest.mark.parametrize("path", tuple(_modules()))
def test_each_invariant_is_named(path: str) -> None:
    missing = set(invariants(path)) - set(named(path)) - set(TWO_FAULTS)
    assert not missing, "\n".join(sorted(missing))


TWO_FAULTS: Final[dict[str, Callable[[], Said]]] = {
    "sessions begin behind the open": _early,
    "none in `replay` is completed": _completed,
    "ids are in few ranges": _ranges,
    "`Limits.bodies` bounds what arrives": _large_parts,
    "pieces are those of a segment under way": _ended_segment,
    "there are two senders at most": _third_sender,
    "no more than a header is kept": _long_head,
    "what is whole is no longer under way": _whole_assembly,
    "each session of a branch has a part of it": _branch_without_part,
    "either the payload is kept or its sections are": _lost_payload,
    "no channel is in `on` without a handle": _channel_without_handle,
    "each transaction is kept under its id": _misplaced_transaction,
    "what is in a transaction says so": _silent_member,
    "`Limits.channels` bounds channels": _many_channels,
    "publishes wait only in confirm mode": _unconfirmed,
    "`showing` has few that are gone": _cancelled_browsers,
    "a browser is shown to once": _shown_twice,
    "browsers that watch have seen all": _unseen,
    "each link of it is used": _unused_link,
    "its virtual host is the broker's": _strange_vhost,
    "nobody has declined what it wants": _declines,
    "nothing that is done with is kept": _archived,
    "what a transaction settles is in that transaction": _not_in_transaction,
    "its consumer is known by its connection": _unknown_consumer,
    "`gate` counts for consumers that there are": _strange_gate,
    "effects go to front ends of clients": _forgotten_client,
    "publishers wait above `memory_high`": _above,
    "who was served first is served first": _turned,
    "each consumer of the model is a subscription": _unsubscribed,
    "what the owner holds was sent, or is about to be": _undelivered,
    "few detached ones are kept": _many_detached,
    "each connection, channel, session and link has an owner": _ownerless,
    "none is both attached and kept": _both,
    "a terminus is attached, or it has a saved state": _kept_without_state,
    "an attached one is known by its connection": _unknown_link,
    "its owner isn't closed": _terminus_closed,
    "its owner is one of the model": _terminus_strange,
    "its link is attached, or about to end": _detached_link,
    "what waits to be sent is the owner's": _strange_outbox,
    "each transaction is open in the model": _lost_transaction,
}


@pytest.mark.parametrize("text", TWO_FAULTS)
def test_what_takes_two_faults_is_named(text: str) -> None:
    check = TWO_FAULTS[text]()
    with pytest.raises(AssertionError, match=re.escape(f": {text}")):
        check()


def test_what_holds_is_silent_and_what_does_not_says_what_is_there() -> None:
    ensure(True, "here", "this holds")
    with pytest.raises(AssertionError, match=r"^here: this holds$"):
        ensure(False, "here", "this holds")
    with pytest.raises(AssertionError, match=r"^here: this holds; found 1, 'two'$"):
        ensure(False, "here", "this holds", 1, "two")
