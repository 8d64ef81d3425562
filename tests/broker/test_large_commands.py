"""Large commands: one command that concerns very much is carried out in pieces that fit into turns, and what comes of
it is what would come of it at once.

Generated over the commands of the model: each that can concern many messages, consumers, bindings or queues, with
that many. Steps are counted (`tests.kit.steps`), not time.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, cast

import pytest

from amqp_sansio.broker import BrokerLimits, commands
from amqp_sansio.broker.model.commands import Command, Outcome
from amqp_sansio.broker.model.consumer import Window
from amqp_sansio.broker.model.content import Filter, Message
from amqp_sansio.broker.model.faults import Postponed
from tests.kit.broker_model import Model, content
from tests.kit.steps import count_steps

TURN: Final = 100
MANY: Final = 1_000
LINES: Final = 120
"""Lines of Python, and functions in C, that a step of the budget may take."""
OWN: Final = ("amq.direct", "amq.fanout", "amq.topic", "amq.headers", "amq.match")
GROUPS: Final = {"qpid.group_header_key": "g", "qpid.shared_msg_group": 1}
EACH: Final = 10
"""Lines for each of the many that a command may take at once: it lists and checks them."""
ACTOR: Final = 7
Prepare = Callable[[Model, int], Command]


def messages(model: Model, count: int, name: str = "jobs", **arguments: Any) -> None:
    model.queue(name, **arguments)
    for number in range(count):
        model.publish(str(number), name)


def held(model: Model, count: int, name: str = "jobs", **arguments: Any) -> tuple[Any, ...]:
    """Messages that an owner of their own has."""
    model.queue(name, **arguments)
    owner = model.connect()
    entries: list[Any] = []
    for number in range(count):
        model.publish(str(number), name)
        entries.append(model.apply(commands.Get(owner, name)))
    return tuple(entries)


def settling(outcome: Outcome, **arguments: Any) -> Prepare:
    def prepare(model: Model, count: int) -> Command:
        entries = held(model, count, **arguments)
        # Somebody who waits for what comes back.
        model.consume(windows=(Window(3),))
        return commands.Settle(entries[0].owner, entries[::-1], outcome)

    return prepare


def closing(make: Callable[[Model, int, Any], object]) -> Prepare:
    def prepare(model: Model, count: int) -> Command:
        model.queue()
        owner = model.connect()
        for number in range(count):
            make(model, number, owner)
        return commands.CloseOwner(owner)

    return prepare


def close_with_messages(model: Model, count: int) -> Command:
    entries = held(model, count)
    model.consume(windows=(Window(3),))
    return commands.CloseOwner(entries[0].owner)


def close_with_more_than_a_length(model: Model, count: int) -> Command:
    entries = held(model, count, x_max_length=count, x_dead_letter_exchange="")
    for number in range(count):
        model.publish(f"new{number}")
    return commands.CloseOwner(entries[0].owner)


def close_with_a_transaction(model: Model, count: int) -> Command:
    entries = held(model, count)
    owner = entries[0].owner
    transaction = model.apply(commands.Begin(owner))
    model.apply(commands.Settle(owner, entries, Outcome.ACCEPT, transaction=transaction))
    return commands.CloseOwner(owner)


def delete_bound(model: Model, count: int) -> Command:
    model.queue()
    for number in range(count):
        model.apply(commands.Bind(model.owner, "jobs", ("amq.topic", "amq.direct")[number % 2], f"k{number}"))
    return commands.DeleteQueue(model.owner, "jobs")


def delete_with_messages(model: Model, count: int) -> Command:
    model.queue("others")
    model.apply(commands.DeclareExchange(model.owner, "x", "fanout"))
    model.apply(commands.Bind(model.owner, "others", "x"))
    messages(model, count, alternate="x")
    return commands.DeleteQueue(model.owner, "jobs")


def delete_with_consumers(model: Model, count: int) -> Command:
    model.queue()
    for number in range(count):
        model.consume(key=f"c{number}")
    return commands.DeleteQueue(model.owner, "jobs")


def delete_linked(model: Model, count: int) -> Command:
    """Of a queue that many links use, beside many owners that don't."""
    model.queue()
    for number in range(count):
        owner = model.connect()
        if number % 2:
            model.apply(commands.LinkQueue(owner, "jobs"))
    return commands.DeleteQueue(model.owner, "jobs")


def delete_exchange(model: Model, count: int) -> Command:
    model.queue()
    model.apply(commands.DeclareExchange(model.owner, "x", "topic"))
    for number in range(count // 2):
        model.apply(commands.Bind(model.owner, "jobs", "x", f"k{number}"))
        model.apply(commands.BindExchange(model.owner, "x", "amq.direct", f"k{number}"))
    return commands.DeleteExchange(model.owner, "x")


def delete_last_binding(model: Model, count: int) -> Command:
    """Of an exchange that goes with it, to which there are many."""
    model.queue()
    model.apply(commands.DeclareExchange(model.owner, "x", "topic", auto_delete=True))
    for number in range(count):
        model.apply(commands.BindExchange(model.owner, "x", "amq.direct", f"k{number}"))
    model.apply(commands.Bind(model.owner, "jobs", "x", "k"))
    return commands.Unbind(model.owner, "jobs", "x", "k")


def cancel_last(model: Model, count: int) -> Command:
    """Of a queue that goes with it."""
    messages(model, count, auto_delete=True)
    return commands.Cancel(model.consume(windows=(Window(0),)))


def unlink_last(model: Model, count: int) -> Command:
    """Of a node that goes with it."""
    link = model.connect()
    model.queue("node", owner=link, lifetime=commands.Lifetime.ON_NO_LINKS)
    for number in range(count):
        model.publish(str(number), "node")
    user = model.connect()
    model.apply(commands.LinkQueue(user, "node"))
    model.apply(commands.CloseOwner(link))
    return commands.UnlinkQueue(user, "node")


def get_behind_groups(model: Model, count: int) -> Command:
    """The first message that isn't of a group that another owner holds is the last one."""
    model.apply(commands.DeclareQueue(model.owner, "jobs", arguments=GROUPS))
    other = model.connect()
    model.publish("held", headers={"g": "theirs"})
    model.apply(commands.Get(other, "jobs"))
    for number in range(count):
        model.publish(str(number), headers={"g": "theirs"})
    model.publish("last", headers={"g": "ours"})
    return commands.Get(model.owner, "jobs")


def purge(model: Model, count: int) -> Command:
    messages(model, count)
    model.consume(windows=(Window(0),))
    return commands.PurgeQueue(model.owner, "jobs")


def commit(model: Model, count: int) -> Command:
    model.queue()
    transaction = model.apply(commands.Begin(model.owner))
    for number in range(count):
        key = "nowhere" if number % 10 == 0 else "jobs"
        body = content(str(number))
        model.apply(commands.Publish(model.owner, "", key, body, mandatory=True, transaction=transaction))
    return commands.Commit(transaction)


def commit_settlements(model: Model, count: int) -> Command:
    entries = held(model, count)
    owner = entries[0].owner
    transaction = model.apply(commands.Begin(owner))
    model.apply(commands.Settle(owner, entries[::-1], Outcome.RELEASE, transaction=transaction))
    model.apply(commands.Publish(owner, "", "jobs", content("last"), transaction=transaction))
    return commands.Commit(transaction)


def roll_back(model: Model, count: int) -> Command:
    """Of what an owner settled that is gone."""
    entries = held(model, count)
    transaction = model.apply(commands.Begin())
    model.apply(commands.Settle(entries[0].owner, entries, Outcome.ACCEPT, transaction=transaction))
    model.apply(commands.CloseOwner(entries[0].owner))
    return commands.Rollback(transaction)


class Unwilling(Filter):
    """Wants one of them."""

    __slots__ = ()

    def accepts(self, message: Message) -> bool:
        content: Any = message.content
        body: bytes = content.body
        return body == b"17"


def subscribe(model: Model, count: int) -> Command:
    messages(model, count)
    return commands.Subscribe(model.owner, "jobs", "c", filter=Unwilling())


def browse(model: Model, count: int) -> Command:
    messages(model, count)
    return commands.Subscribe(model.owner, "jobs", "c", acquires=False)


def change_windows(model: Model, count: int) -> Command:
    messages(model, count)
    return commands.ChangeWindows(model.consume(windows=(Window(0),)), (Window(count),))


def shared(model: Model, count: int) -> Window:
    """The window of very many consumers."""
    window = Window(0)
    messages(model, 3)
    for number in range(count):
        model.consume(key=f"c{number}", windows=(window,))
    return window


def publish_to_browsers(model: Model, count: int) -> Command:
    """Every other one has no room."""
    model.queue()
    for number in range(count):
        model.consume(key=f"c{number}", acquires=False, windows=(Window(number % 2),))
    return commands.Publish(model.owner, "", "jobs", content("x"))


def fanout(model: Model, count: int) -> Command:
    model.apply(commands.DeclareExchange(model.owner, "x", "fanout"))
    for number in range(count // 10):
        model.queue(f"q{number}")
        model.apply(commands.Bind(model.owner, f"q{number}", "x"))
    return commands.Publish(model.owner, "x", "", content("x"))


def push_out(model: Model, count: int) -> Command:
    """Many small messages for a large one."""
    messages(model, count, x_max_length_bytes=10 * count, x_dead_letter_exchange="")
    return commands.Publish(model.owner, "", "jobs", content(b"x" * (10 * count)))


def late(make: Callable[[Model], Command]) -> Prepare:
    """A command that asks a queue of which very much has expired."""

    def prepare(model: Model, count: int) -> Command:
        model.queue("dead")
        arguments: dict[str, Any] = {
            "x_message_ttl": 1000,
            "x_dead_letter_exchange": "",
            "x_dead_letter_routing_key": "dead",
        }
        messages(model, count, x_max_length=2 * count, **arguments)
        model.now = 0.5
        model.publish("fresh")
        model.now = 1.2
        ledger = model.broker.ledger
        ledger.begin_turn(0)
        model.broker.handle_timeout(model.now)
        ledger.end_turn()
        return make(model)

    return prepare


CASES: Final[dict[str, Prepare]] = {
    "CloseOwner with messages": close_with_messages,
    "CloseOwner with more than a length": close_with_more_than_a_length,
    "CloseOwner with a transaction": close_with_a_transaction,
    "CloseOwner with consumers": closing(lambda model, number, owner: model.consume(key=f"c{number}", owner=owner)),
    "CloseOwner with children": closing(lambda model, number, owner: model.connect(owner)),
    "CloseOwner with queues": closing(
        lambda model, number, owner: model.queue(f"q{number}", owner=owner, exclusive_to=owner)
    ),
    "CloseOwner with transactions": closing(lambda model, number, owner: model.apply(commands.Begin(owner))),
    "DeleteExchange": delete_exchange,
    "Unbind": delete_last_binding,
    "DeleteQueue bound": delete_bound,
    "DeleteQueue with messages": delete_with_messages,
    "DeleteQueue with consumers": delete_with_consumers,
    "DeleteQueue linked": delete_linked,
    "DeleteQueue late": late(lambda model: commands.DeleteQueue(model.owner, "jobs")),
    "PurgeQueue": purge,
    "PurgeQueue late": late(lambda model: commands.PurgeQueue(model.owner, "jobs")),
    "DeclareQueue late": late(lambda model: commands.DeclareQueue(model.owner, "jobs", passive=True)),
    "Get behind groups": get_behind_groups,
    "Get late": late(lambda model: commands.Get(model.owner, "jobs")),
    "Publish late": late(lambda model: commands.Publish(model.owner, "", "jobs", content("x"))),
    "Cancel": cancel_last,
    "UnlinkQueue": unlink_last,
    "Subscribe": subscribe,
    "Subscribe browsing": browse,
    "ChangeWindows": change_windows,
    "Grant": lambda model, count: commands.Grant(shared(model, count), messages=2),
    "SetWindow": lambda model, count: commands.SetWindow(shared(model, count), 2),
    "Publish to many": fanout,
    "Publish to browsers": publish_to_browsers,
    "Publish that pushes out": push_out,
    "Settle accept": settling(Outcome.ACCEPT),
    "Settle release": settling(Outcome.RELEASE),
    "Settle release above a length": settling(Outcome.RELEASE, x_max_length=5),
    "Settle reject": settling(Outcome.REJECT, x_dead_letter_exchange="", x_dead_letter_routing_key="nowhere"),
    "Commit": commit,
    "Commit settlements": commit_settlements,
    "Rollback": roll_back,
}
SMALL: Final = {"OpenOwner", "DeclareExchange", "BindExchange", "UnbindExchange", "Bind", "LinkQueue", "Begin"}
"""Commands that concern one of everything, or (UnbindExchange) do what Unbind does."""
BY_PIECES: Final = {"Acquire"}
"""Its caller asks in pieces."""


def test_every_command_of_the_model_has_a_case() -> None:
    kinds = {name for name, kind in vars(commands).items() if isinstance(kind, type) and issubclass(kind, Command)}
    assert {name.partition(" ")[0] for name in CASES} | SMALL | BY_PIECES == kinds - {"Command"}


def in_turns(model: Model, command: Command) -> tuple[Any, int, int]:
    """Carry out a command of one client in turns; return its result, the steps of the dearest turn, and how many."""
    ledger = model.broker.ledger
    result: list[Any] = []
    dearest = turns = 0

    def ask() -> None:
        with suppress(Postponed):
            result.append(model.apply(command))

    while True:
        turns += 1
        assert turns < 2_000
        if not result:
            ledger.begin_turn(ACTOR)
            dearest = max(dearest, count_steps(ask))
            ledger.end_turn()
        if not model.broker.has_work:
            if result:
                return result[0], dearest, turns
            continue
        ledger.begin_turn(0)
        dearest = max(dearest, count_steps(model.broker.work))
        ledger.end_turn()


def state(model: Model) -> object:
    """What everybody can see."""
    broker = model.broker
    vhost = broker.vhosts["/"]
    assert not vhost.leaving and not broker.ledger.busy
    return (
        {
            name: (
                [[each.message.content.body, each.redelivered] for each in queue.available()],  # type: ignore[attr-defined]
                queue.ready,
                queue.unsettled,
                queue.octets,
                [each.key for each in queue.consumers.values()],
                queue.held,
            )
            for name, queue in vhost.queues.items()
        },
        {name: (len(exchange.bindings), exchange.octets) for name, exchange in vhost.exchanges.items()},
        vhost.bindings,
        sorted(broker.owners),
        broker.ledger.octets,
        broker.ledger.topology,
        sorted(broker.transactions),
        [
            (
                type(effect).__name__,
                getattr(getattr(effect, "consumer", None), "key", None),
                str(getattr(effect, "entry", "")),
            )
            for effect in broker.effects
        ],
    )


def plain(result: Any) -> object:
    if isinstance(result, list):
        return [each.number for each in cast("list[Message]", result)]
    return result if isinstance(result, int | str | None) else str(result)


@pytest.mark.parametrize("name", CASES)
def test_a_large_command_is_carried_out_in_turns(name: str) -> None:
    limits = BrokerLimits(turn=TURN)
    once, cut = Model(limits), Model(limits)
    expected = once.apply(CASES[name](once, MANY))
    once.broker.work()
    result, dearest, turns = in_turns(cut, CASES[name](cut, MANY))
    assert plain(result) == plain(expected)
    assert state(cut) == state(once)
    assert dearest <= LINES * TURN + EACH * MANY, (dearest, turns)


def test_a_search_for_a_group_that_is_free_goes_on_where_it_was() -> None:
    model = Model(BrokerLimits(turn=TURN))
    command = get_behind_groups(model, MANY)
    found, _, turns = in_turns(model, command)
    assert found.message.content.body == b"last"
    assert turns >= MANY // TURN
    # The next one looks at nothing again, until a group is free.
    assert in_turns(model, command)[::2] == (None, 1)
    other = next(each for each in model.broker.owners.values() if each.held and each is not model.owner)
    model.apply(commands.CloseOwner(other))
    assert in_turns(model, command)[0].message.content.body == b"held"


# What one of many costs.


def cramped(model: Model, count: int) -> None:
    """Many consumers whose windows have too little room for the first message."""
    model.queue(x_max_priority=5)
    for number in range(count):
        model.consume(key=f"c{number}", windows=(Window(None, 5),))
    model.publish("too long for all of them")
    queue = model.broker.vhosts["/"].queues["jobs"]
    assert len(queue.cramped) == count


def publish_behind(model: Model, count: int) -> Command:
    """A message that comes after one for which nobody has room."""
    cramped(model, count)
    return commands.Publish(model.owner, "", "jobs", content("another"))


def expire_behind(model: Model, count: int) -> Command:
    """A message goes that isn't the one for which nobody has room."""
    cramped(model, count)
    model.publish("another")
    queue = model.broker.vhosts["/"].queues["jobs"]
    _, behind = queue.available()
    return commands.Acquire(model.owner, (behind,))


def delete_beside(model: Model, count: int) -> Command:
    """A linked queue goes, beside many owners."""
    model.queue()
    model.apply(commands.LinkQueue(model.owner, "jobs"))
    for _ in range(count):
        model.connect()
    return commands.DeleteQueue(model.owner, "jobs")


def unbind_from(exchange: str) -> Prepare:
    def prepare(model: Model, count: int) -> Command:
        model.queue()
        model.queue("other")
        arguments = {"x-match": "all"} if exchange in ("amq.match", "amq.headers") else {}
        for number in range(count):
            given = {**arguments, "n": number} if arguments else {}
            model.apply(commands.Bind(model.owner, ("jobs", "other")[number % 2], exchange, f"k{number}", given))
        last = {**arguments, "n": count - 1} if arguments else {}
        return commands.Unbind(model.owner, ("jobs", "other")[(count - 1) % 2], exchange, f"k{count - 1}", last)

    return prepare


ONE: Final[dict[str, Prepare]] = {
    "Publish behind what nobody has room for": publish_behind,
    "Acquire behind what nobody has room for": expire_behind,
    "DeleteQueue beside many owners": delete_beside,
    **{f"Unbind from {name}": unbind_from(name) for name in OWN},
}


@pytest.mark.parametrize("name", ONE)
def test_what_concerns_one_does_not_look_at_all(name: str) -> None:
    costs: list[int] = []
    for count in (200, 800):
        model = Model()
        command = ONE[name](model, count)
        costs.append(count_steps(lambda model=model, command=command: model.apply(command)))  # type: ignore[misc]
    assert costs[1] <= costs[0] + 50, costs
