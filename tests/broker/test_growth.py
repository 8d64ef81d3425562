"""Growth: however many of a command a broker has carried out, the next one costs it the same.

Generated over all commands of the model, and requests of the front ends: each n times, kept or undone, with new
names or the same again; then the next one. Steps are counted (`tests.kit.steps`), not time. A sample runs here, all of
it in tests/system.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import pytest

from amqp_sansio import Signal
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.amqp_1_0 import Described, Source, Symbol
from amqp_sansio.broker import commands
from amqp_sansio.broker.model.commands import Command, Outcome
from amqp_sansio.broker.model.consumer import Window
from amqp_sansio.broker.model.content import Filter, Message
from tests.kit.broker_model import Model, content
from tests.kit.hub_0_10 import World as World_0_10
from tests.kit.hub_1_0 import World as World_1_0
from tests.kit.hub_classic import Talk, World
from tests.kit.steps import count_steps

SELECTOR: Final = Symbol("apache.org:selector-filter:string")
FEW: Final = 60
MANY: Final = 600
MEASURED: Final = 6
"""How many are counted at each of the two numbers."""
ROOM: Final = 60
"""Steps by which the later ones may be dearer for other reasons, each: a heap that is deeper, a list that is moved."""


@dataclass(frozen=True)
class Case:
    """Preparations for the one of a number, which aren't counted, and the command itself."""

    before: Callable[[Model, int], Any]
    command: Callable[[Model, int, Any], Command]


def nothing(model: Model, number: int) -> None:
    """No preparation."""


def queue(model: Model, number: int, **arguments: Any) -> Any:
    return model.queue(f"q{number}", **arguments)


def exchange(model: Model, number: int, type: str = "direct") -> Any:
    return model.apply(commands.DeclareExchange(model.owner, f"x{number}", type))


def once(name: str, **arguments: Any) -> Callable[[Model, int], Any]:
    """A queue that all of them use."""

    def declare(model: Model, number: int) -> Any:
        return model.queue(name, **arguments)

    return declare


class Never(Filter):
    """Accepts nothing."""

    __slots__ = ()

    def accepts(self, message: Message) -> bool:
        return False


def never(number: int) -> Filter:
    """A filter of its own."""
    return Never()


def same_number(number: int) -> int:
    """A priority of its own."""
    return number


def publish(key: str, **fields: Any) -> Callable[[Model, int, Any], Command]:
    return lambda model, number, _: commands.Publish(
        model.owner, fields.get("exchange", ""), key.format(number), content(b"x", **fields.get("properties", {}))
    )


def one_held(model: Model, number: int) -> Any:
    """A message that the owner has."""
    model.queue()
    model.publish("x")
    return model.apply(commands.Get(model.owner, "jobs"))


def consuming(model: Model, number: int, **arguments: Any) -> Any:
    model.queue()
    return model.consume(key=f"c{number}", **arguments)


def on_one_queue(arguments: dict[str, Any] | None = None, **fields: Any) -> Case:
    """Consumers of one queue, as many as there are."""
    return Case(
        once("jobs", **(arguments or {})),
        lambda model, number, _: commands.Subscribe(model.owner, "jobs", f"c{number}", **_made(fields, number)),
    )


def _made(fields: dict[str, Any], number: int) -> dict[str, Any]:
    return {name: value(number) if callable(value) else value for name, value in fields.items()}


def cancelling(arguments: dict[str, Any] | None = None, **fields: Any) -> Case:
    """Consumers of one queue of which one ends, while twice as many stay."""

    def before(model: Model, number: int) -> Any:
        model.queue(**(arguments or {}))
        for each in range(2):
            model.consume(key=f"s{number}.{each}", **_made(fields, 3 * number + each))
        return model.consume(key=f"c{number}", **_made(fields, 3 * number + 2))

    return Case(before, lambda model, number, consumer: commands.Cancel(consumer))


def bound(type: str, key: str, arguments: Callable[[int], dict[str, Any]] = lambda number: {}) -> Case:
    def before(model: Model, number: int) -> None:
        model.queue()
        model.apply(commands.DeclareExchange(model.owner, "x", type))

    return Case(
        before, lambda model, number, _: commands.Bind(model.owner, "jobs", "x", key.format(number), arguments(number))
    )


def unbound(type: str, key: str) -> Case:
    def before(model: Model, number: int) -> None:
        model.apply(commands.DeclareExchange(model.owner, "x", type))
        for name in (f"q{number}", f"r{number}"):
            model.queue(name)
            model.apply(commands.Bind(model.owner, name, "x", key.format(number)))

    return Case(before, lambda model, number, _: commands.Unbind(model.owner, f"q{number}", "x", key.format(number)))


def transaction(model: Model, number: int) -> Any:
    return model.apply(commands.Begin(model.owner))


def the_transaction(model: Model, number: int) -> Any:
    """The one that is open."""
    model.queue()
    return next(iter(model.broker.transactions.values()), None) or transaction(model, number)


def opened(model: Model, number: int) -> Any:
    return model.connect(model.owner)


def shown(model: Model, number: int) -> Any:
    """A message that a browser was shown."""
    consumer = model.consume(model.queue(f"q{number}").name, acquires=False)
    model.publish("x", f"q{number}")
    (entry,) = model.delivered()
    return consumer, entry


def window(model: Model, number: int) -> Window:
    """A window of a consumer whose queue has a message that it doesn't want."""
    made = Window(0)
    model.consume(model.queue(f"q{number}").name, key=f"c{number}", windows=(made,), filter=Never())
    model.publish("x", f"q{number}")
    return made


def asked_again(model: Model, number: int) -> Window:
    """The window of the one consumer, whose queue has one more message that it doesn't want."""
    model.queue()
    consumers = list(model.broker.vhosts["/"].queues["jobs"].consumers.values())
    if not consumers:
        consumers.append(model.consume(windows=(Window(1),), filter=Never()))
    model.publish("x")
    return consumers[0].windows[0]


def full_browser(model: Model, number: int) -> None:
    """A browser without room."""
    model.queue()
    model.consume(key=f"b{number}", acquires=False, windows=(Window(0),))


def browser(model: Model, number: int) -> None:
    """A browser that has room, and has seen what comes."""
    model.queue()
    model.consume(key=f"b{number}", acquires=False, windows=(Window(1),), cursors=(1 << 40, 1 << 40))


def browser_and_messages(model: Model, number: int) -> None:
    browser(model, number)
    model.publish("x")
    model.publish("x")


def asked_again_by_browsers(model: Model, number: int) -> Window:
    """The window of the one browser that another message is for."""
    browser(model, number)
    first = next(iter(model.broker.vhosts["/"].queues["jobs"].browsers.values()))
    model.publish("x")
    return first.windows[0]


def held_beside_browsers(model: Model, number: int) -> Any:
    """A message that the owner has, of a queue with browsers."""
    browser(model, number)
    return one_held(model, number)


def behind_unwanted(model: Model, number: int) -> None:
    """A message behind as many that nobody wants who fetches."""
    model.queue()
    model.publish("other")
    model.publish("wanted")


def held_beside_judges(model: Model, number: int) -> Any:
    """A message that the owner has, of a queue with consumers that have declined others and have no room now."""
    model.queue()
    window = Window(1)
    model.consume(key=f"c{number}", windows=(window,), filter=Never())
    model.publish("x")
    model.apply(commands.SetWindow(window, 0))
    return model.apply(commands.Get(model.owner, "jobs"))


def asked_after_returns(model: Model, number: int) -> Window:
    """The window of the one consumer, whose queue has one more message that it doesn't want, which came back."""
    window = asked_again(model, number)
    model.settle(Outcome.RELEASE, model.apply(commands.Get(model.owner, "jobs")))
    return window


class Wanted(Filter):
    """Accepts the messages that say so."""

    __slots__ = ()

    def accepts(self, message: Message) -> bool:
        return message.content.size == len("wanted")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Wanted)

    def __hash__(self) -> int:
        return hash(Wanted)


def given_back(model: Model, number: int) -> None:
    """A message behind as many that nobody wants who fetches, which was fetched and came back."""
    behind_unwanted(model, number)
    entry = model.apply(commands.Get(model.owner, "jobs", filter=Wanted()))
    model.settle(Outcome.RELEASE, entry)


CASES: Final[dict[str, Case]] = {
    "OpenOwner": Case(nothing, lambda model, number, _: commands.OpenOwner("/", "guest", model.owner)),
    "OpenOwner top": Case(nothing, lambda model, number, _: commands.OpenOwner("/", "guest")),
    "CloseOwner": Case(opened, lambda model, number, owner: commands.CloseOwner(owner)),
    "DeclareExchange": Case(
        nothing, lambda model, number, _: commands.DeclareExchange(model.owner, f"x{number}", "topic")
    ),
    "DeclareExchange again": Case(nothing, lambda model, number, _: commands.DeclareExchange(model.owner, "x")),
    "DeleteExchange": Case(
        lambda model, number: (exchange(model, 2 * number), exchange(model, 2 * number + 1)),
        lambda model, number, _: commands.DeleteExchange(model.owner, f"x{2 * number}"),
    ),
    "BindExchange": Case(
        lambda model, number: (exchange(model, number), model.apply(commands.DeclareExchange(model.owner, "x"))),
        lambda model, number, _: commands.BindExchange(model.owner, f"x{number}", "x", "k"),
    ),
    "UnbindExchange": Case(
        lambda model, number: (
            exchange(model, number),
            model.apply(commands.DeclareExchange(model.owner, "x")),
            model.apply(commands.BindExchange(model.owner, f"x{number}", "x", "k")),
            model.apply(commands.BindExchange(model.owner, f"x{number}", "x", "l")),
        ),
        lambda model, number, _: commands.UnbindExchange(model.owner, f"x{number}", "x", "k"),
    ),
    "DeclareQueue": Case(nothing, lambda model, number, _: commands.DeclareQueue(model.owner, f"q{number}")),
    "DeclareQueue named by the broker": Case(nothing, lambda model, number, _: commands.DeclareQueue(model.owner)),
    "DeclareQueue exclusive": Case(
        nothing, lambda model, number, _: commands.DeclareQueue(model.owner, exclusive_to=model.owner)
    ),
    "DeclareQueue that expires": Case(
        nothing, lambda model, number, _: commands.DeclareQueue(model.owner, arguments={"x-expires": 60_000})
    ),
    "DeleteQueue": Case(
        lambda model, number: (queue(model, 2 * number), queue(model, 2 * number + 1)),
        lambda model, number, _: commands.DeleteQueue(model.owner, f"q{2 * number}"),
    ),
    "PurgeQueue": Case(queue, lambda model, number, _: commands.PurgeQueue(model.owner, f"q{number}")),
    "Bind direct": bound("direct", "k{}"),
    "Bind fanout": bound("fanout", "k{}"),
    "Bind topic": bound("topic", "k{}.#.*.a"),
    "Bind headers": bound("headers", "k{}", lambda number: {"a": "b", "c": str(number)}),
    "Bind one key": unbound("direct", "k"),
    "Unbind direct": unbound("direct", "k{}"),
    "Unbind fanout": unbound("fanout", "k{}"),
    "Unbind topic": unbound("topic", "k{}.#.*.a"),
    "LinkQueue": Case(queue, lambda model, number, _: commands.LinkQueue(model.owner, f"q{number}")),
    "LinkQueue again": Case(once("jobs"), lambda model, number, _: commands.LinkQueue(model.owner, "jobs")),
    "UnlinkQueue": Case(
        lambda model, number: (
            queue(model, number),
            model.apply(commands.LinkQueue(model.owner, f"q{number}")),
            model.apply(commands.LinkQueue(model.owner, f"q{number}")),
        ),
        lambda model, number, _: commands.UnlinkQueue(model.owner, f"q{number}"),
    ),
    "Subscribe": Case(queue, lambda model, number, _: commands.Subscribe(model.owner, f"q{number}", f"c{number}")),
    "Subscribe one queue": on_one_queue(),
    "Subscribe one queue with priorities": on_one_queue(priority=same_number),
    "Subscribe single active": on_one_queue({"x_single_active_consumer": True}),
    "Subscribe with filters": on_one_queue(filter=never),
    "Subscribe browsing": on_one_queue(acquires=False),
    "Cancel": cancelling(),
    "Cancel with priorities": cancelling(priority=same_number),
    "Cancel single active": cancelling({"x_single_active_consumer": True}),
    "Cancel with filters": cancelling(filter=never),
    "Cancel browsing": cancelling(acquires=False),
    "Grant": Case(window, lambda model, number, made: commands.Grant(made, messages=1)),
    "Grant to one": Case(asked_again, lambda model, number, made: commands.Grant(made, messages=1)),
    "Grant to one after returns": Case(
        asked_after_returns, lambda model, number, made: commands.Grant(made, messages=1)
    ),
    "Grant to one browser of many": Case(
        asked_again_by_browsers, lambda model, number, made: commands.Grant(made, messages=1)
    ),
    "SetWindow": Case(window, lambda model, number, made: commands.SetWindow(made, 5)),
    "SetWindow of one": Case(asked_again, lambda model, number, made: commands.SetWindow(made, 5)),
    "ChangeWindows": Case(
        consuming, lambda model, number, consumer: commands.ChangeWindows(consumer, (Window(1), Window(2)))
    ),
    "Get": Case(
        lambda model, number: (model.queue(), model.publish("x"), model.publish("x")),
        lambda model, number, _: commands.Get(model.owner, "jobs"),
    ),
    "Get settled": Case(
        lambda model, number: (model.queue(), model.publish("x"), model.publish("x")),
        lambda model, number, _: commands.Get(model.owner, "jobs", settles=True),
    ),
    "Get what a filter accepts": Case(
        behind_unwanted, lambda model, number, _: commands.Get(model.owner, "jobs", filter=Wanted())
    ),
    "Get what a filter accepts, which came back": Case(
        given_back, lambda model, number, _: commands.Get(model.owner, "jobs", filter=Wanted())
    ),
    "Get where a filter accepts nothing": Case(
        lambda model, number: (model.queue(), model.publish("other")),
        lambda model, number, _: commands.Get(model.owner, "jobs", filter=Wanted()),
    ),
    "Get beside browsers": Case(browser_and_messages, lambda model, number, _: commands.Get(model.owner, "jobs")),
    "Acquire": Case(shown, lambda model, number, made: commands.Acquire(model.owner, (made[1],), made[0])),
    "Publish": Case(once("jobs"), publish("jobs")),
    "Publish to new queues": Case(queue, publish("q{}")),
    "Publish nowhere": Case(nothing, publish("nowhere")),
    "Publish with priorities": Case(once("jobs", x_max_priority=10), publish("jobs", properties={"priority": 3})),
    "Publish that expires": Case(once("jobs", x_message_ttl=60_000), publish("jobs")),
    "Publish above a length": Case(once("jobs", x_max_length=5), publish("jobs")),
    "Publish to filters": Case(lambda model, number: asked_again(model, number), publish("jobs")),
    "Publish beside browsers": Case(browser, publish("jobs")),
    "Publish beside browsers without room": Case(full_browser, publish("jobs")),
    "Publish in a transaction": Case(
        lambda model, number: (
            model.queue(),
            next(iter(model.broker.transactions.values()), None) or transaction(model, 0),
        ),
        lambda model, number, made: commands.Publish(model.owner, "", "jobs", content(b"x"), transaction=made[1]),
    ),
    "Settle accept": Case(
        one_held, lambda model, number, entry: commands.Settle(model.owner, (entry,), Outcome.ACCEPT)
    ),
    "Settle release": Case(
        one_held, lambda model, number, entry: commands.Settle(model.owner, (entry,), Outcome.RELEASE)
    ),
    "Settle reject": Case(
        one_held, lambda model, number, entry: commands.Settle(model.owner, (entry,), Outcome.REJECT)
    ),
    "Settle accept beside browsers": Case(
        held_beside_browsers, lambda model, number, entry: commands.Settle(model.owner, (entry,), Outcome.ACCEPT)
    ),
    "Settle release beside browsers": Case(
        held_beside_browsers, lambda model, number, entry: commands.Settle(model.owner, (entry,), Outcome.RELEASE)
    ),
    "Settle release beside consumers that declined": Case(
        held_beside_judges, lambda model, number, entry: commands.Settle(model.owner, (entry,), Outcome.RELEASE)
    ),
    "Begin": Case(nothing, lambda model, number, _: commands.Begin(model.owner)),
    "Commit": Case(transaction, lambda model, number, made: commands.Commit(made)),
    "Rollback": Case(transaction, lambda model, number, made: commands.Rollback(made)),
}
SAMPLE: Final = 5
"""One of so many cases is in the sample."""


def test_every_command_of_the_model_has_a_case() -> None:
    kinds = {name for name, kind in vars(commands).items() if isinstance(kind, type) and issubclass(kind, Command)}
    assert {name.partition(" ")[0] for name in CASES} == kinds - {"Command"}


@pytest.mark.parametrize("name", list(CASES)[::SAMPLE])
def test_commands_cost_the_same_however_many_came_before(name: str) -> None:
    assert_no_growth_of_commands(name)


def assert_no_growth_of_commands(name: str) -> None:
    few, many = measured(CASES[name], FEW), measured(CASES[name], MANY)
    assert many <= 1.15 * few + ROOM, f"after {FEW} one takes {few} steps, after {MANY} {many}"


def measured(case: Case, count: int) -> int:
    """Carry out that many, and return the steps that each of the next ones takes."""
    model = Model()
    for number in range(count):
        model.apply(case.command(model, number, case.before(model, number)))
        model.broker.effects.clear()
    steps = 0
    for number in range(count, count + MEASURED):
        command = case.command(model, number, case.before(model, number))
        steps += count_steps(partial(model.apply, command), 1_000_000)
        model.broker.effects.clear()
    return steps // MEASURED


# Requests of a front end.


@dataclass(frozen=True)
class Asked:
    """A method, with fields that know the number; those before it aren't counted."""

    name: str
    fields: Callable[[int], dict[str, Any]]
    before: tuple[tuple[str, Callable[[int], dict[str, Any]]], ...] = ()


def new_queue(number: int) -> dict[str, Any]:
    return {"queue": f"q{number}"}


def declared(number: int) -> dict[str, Any]:
    return {**new_queue(number), "durable": True}


def new_exchange(number: int) -> dict[str, Any]:
    return {"exchange": f"x{number}", "type": "direct"}


def one_queue(number: int) -> dict[str, Any]:
    return {"queue": "q"}


def declared_again(number: int) -> dict[str, Any]:
    return {**one_queue(number), "durable": True}


def pattern(number: int) -> dict[str, Any]:
    return {"queue": "q", "exchange": "amq.topic", "routing_key": f"a.#.{number}"}


DECLARED: Final = (("queue.declare", declared_again),)
REQUESTS: Final = [
    Asked("queue.declare", declared),
    Asked("queue.declare", declared_again),
    Asked("queue.delete", new_queue, (("queue.declare", declared),)),
    Asked("queue.purge", new_queue, (("queue.declare", declared),)),
    Asked(
        "queue.bind", lambda number: {"queue": "q", "exchange": "amq.topic", "routing_key": f"a.#.{number}"}, DECLARED
    ),
    Asked("queue.unbind", pattern, (*DECLARED, ("queue.bind", pattern))),
    Asked("exchange.declare", new_exchange),
    Asked("exchange.delete", lambda number: {"exchange": f"x{number}"}, (("exchange.declare", new_exchange),)),
    Asked(
        "exchange.bind",
        lambda number: {"source": "amq.direct", "destination": f"x{number}"},
        (("exchange.declare", new_exchange),),
    ),
    Asked("basic.consume", lambda number: {"queue": "q", "consumer_tag": f"c{number}"}, DECLARED),
    Asked(
        "basic.cancel",
        lambda number: {"consumer_tag": f"c{number}"},
        (
            *DECLARED,
            ("basic.consume", lambda number: {"queue": "q", "consumer_tag": f"c{number}"}),
            ("basic.consume", lambda number: {"queue": "q", "consumer_tag": f"d{number}"}),
        ),
    ),
    Asked("basic.get", one_queue, DECLARED),
    Asked("basic.qos", lambda number: {"prefetch_count": 10}),
    Asked("channel.flow", lambda number: {"active": True}),
]


@pytest.mark.parametrize("asked", REQUESTS[::3], ids=lambda asked: asked.name)
def test_requests_cost_the_same_however_many_came_before(asked: Asked) -> None:
    assert_no_growth_of_requests(asked)


def assert_no_growth_of_requests(asked: Asked) -> None:
    few, many = asking(asked, FEW), asking(asked, MANY)
    assert many <= 1.15 * few + ROOM, f"after {FEW} one takes {few} steps, after {MANY} {many}"


def asking(asked: Asked, count: int) -> int:
    """Ask that often, and return the steps of the hub for each of the next ones."""
    world = World()
    talk = world.channel()
    steps = 0
    for number in range(count + MEASURED):
        for name, fields in asked.before:
            ask(talk, name, fields(number))
        cost = ask(talk, asked.name, asked.fields(number), counts=number >= count)
        steps += cost
    assert talk.user.client.is_open
    return steps // MEASURED


def ask(talk: Talk, name: str, fields: dict[str, Any], *, counts: bool = False) -> int:
    """Send a request and take the answer; return the steps of the hub."""
    user = talk.user
    handle = talk.core.call(talk.make(name, **fields))
    end, octets = user.client, user.end.data_to_send(0.0)
    back: list[bytes] = []

    def serve() -> None:
        end.receive_data(octets, 0.0)
        end.next_event()
        back.append(end.data_to_send(0.0))

    steps = count_steps(serve, 1_000_000) if counts else 0
    if not counts:
        serve()
    user.end.receive_data(back[0], 0.0)
    while not isinstance(user.end.next_event(), Signal):
        pass
    assert handle.done and handle.error is None, (name, fields)
    return steps


# Links of 1.0 and commands of 0-10. The client's end counts too.


def selector(number: int) -> dict[Any, Any]:
    return {SELECTOR: Described(SELECTOR, f"a = {number}")}


def acts_of_1_0(name: str) -> Callable[[int], object]:
    world = World_1_0()
    user = world.connect(channel_max=65_535)
    session = user.session()
    world.queue("q")
    sender = user.sender("/queues/q", session)

    def attach(source: Source | str) -> None:
        user.receiver(source, session).close()
        world.pump()

    acts: dict[str, Callable[[int], object]] = {
        "attach and detach": lambda number: attach("/queues/q"),
        "attach a selector and detach": lambda number: attach(Source("/queues/q", filter=selector(number))),
        "transfer": lambda number: user.send(sender, b"x"),
    }
    return acts[name]


def acts_of_0_10(name: str) -> Callable[[int], object]:
    world = World_0_10()
    peer = world.connect()
    session = peer.session()
    peer.queue(session, "q")

    def subscribe_and_cancel(number: int) -> None:
        peer.subscribe(session, "q", f"d{number}", credit=1)
        peer.call(session, spec.MessageCancel(f"d{number}"))

    def bind_and_ask(number: int) -> None:
        """With arguments of its own: whether that is bound, to what and by what, and what isn't."""
        given = {"x-match": "all", "a": str(number)}
        peer.call(session, spec.ExchangeBind("q", "amq.match", f"k{number}", given))
        for arguments in (given, {"x-match": "any"}):
            for queue in ("q", None):
                for key in (f"k{number}", None):
                    peer.call(session, spec.ExchangeBound("amq.match", queue, key, arguments))

    acts: dict[str, Callable[[int], object]] = {
        "queue.declare": lambda number: peer.queue(session, f"q{number}"),
        "exchange.bind": lambda number: peer.call(session, spec.ExchangeBind("q", "amq.topic", f"a.#.{number}")),
        "exchange.bound": bind_and_ask,
        "message.subscribe and cancel": subscribe_and_cancel,
        "message.transfer": lambda number: peer.put(session, "q", b"x"),
    }
    return acts[name]


def acts_of_0_8(name: str) -> Callable[[int], object]:
    talk = World("0-8").channel()
    talk.declare("q")

    def get_past_streams(number: int) -> None:
        """Fetch a message of the basic class behind those of another one, give it back, and fetch it again."""
        talk.send("stream.publish", None, b"s", routing_key="q")
        talk.publish(b"x", "q")
        found = talk.get("q")
        talk.send("basic.reject", delivery_tag=talk.core.last_tag, requeue=True)
        assert found is not None
        assert talk.get("q", no_ack=True) is not None
        assert talk.get("q") is None

    acts: dict[str, Callable[[int], object]] = {"basic.get": get_past_streams}
    return acts[name]


LINKS: Final = [
    (acts_of_0_8, "basic.get"),
    *[(acts_of_1_0, name) for name in ("attach and detach", "attach a selector and detach", "transfer")],
    *[
        (acts_of_0_10, name)
        for name in (
            "queue.declare",
            "exchange.bind",
            "exchange.bound",
            "message.subscribe and cancel",
            "message.transfer",
        )
    ],
]


@pytest.mark.parametrize(("acts", "name"), LINKS[1::4])
def test_acts_of_1_0_and_0_10_cost_the_same(acts: Callable[[str], Callable[[int], object]], name: str) -> None:
    assert_no_growth_of_acts(acts, name)


def assert_no_growth_of_acts(acts: Callable[[str], Callable[[int], object]], name: str) -> None:
    few, many = [steps_of(acts(name), count) for count in (FEW, MANY)]
    assert many <= 1.15 * few + 2 * ROOM, f"after {FEW} one takes {few} steps, after {MANY} {many}"


def steps_of(act: Callable[[int], object], count: int) -> int:
    """Act that often, and return the steps of each of the next ones."""
    for number in range(count):
        act(number)
    return sum([count_steps(partial(act, number), 1_000_000) for number in range(count, count + MEASURED)]) // MEASURED
