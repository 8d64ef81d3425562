"""What the broker finds by an index or a cursor is what a look at everything finds."""

from __future__ import annotations

from typing import Any, Final

from hypothesis import example, given
from hypothesis import strategies as st

from amqp_sansio.broker import commands
from amqp_sansio.broker.model.commands import Outcome
from amqp_sansio.broker.model.content import Filter, Message
from amqp_sansio.broker.model.exchange import binding_key
from amqp_sansio.broker.model.faults import Fault, FaultKind
from tests.kit.broker_model import Model, content

SMALL: Final = st.integers(0, 3)
KINDS: Final = ["publish", "get", "get all", "release", "change", "accept", "purge"]
"""Steps of one who fetches; "change" releases a message with another content."""


class Even(Filter):
    """Accepts bodies with an even number of octets."""

    __slots__ = ()

    def accepts(self, message: Message) -> bool:
        return message.content.size % 2 == 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Even)

    def __hash__(self) -> int:
        return hash(Even)


@given(
    st.lists(st.tuples(st.sampled_from(KINDS), SMALL)),
    st.sampled_from([{}, {"x_max_priority": 3}, {"x_max_length": 4}]),
)
@example([(each, 0) for each in ("publish", "publish", "get", "get all", "get all", "release", "change")], {})
def test_a_get_with_a_filter_finds_the_first_that_it_accepts(steps: list[tuple[str, int]], arguments: Any) -> None:
    model = Model()
    queue = model.queue(**arguments)
    held: list[Any] = []
    for step, number in steps:
        if step == "publish":
            model.publish("x" * (number + 1), priority=number)
        elif step == "purge":
            model.apply(commands.PurgeQueue(model.owner, "jobs"))
        elif step.startswith("get"):
            even = Even() if step == "get" else None
            wanted = next((each for each in queue.available() if even is None or even.accepts(each.message)), None)
            found = model.apply(commands.Get(model.owner, "jobs", filter=even))
            assert found is wanted
            held += [] if found is None else [found]
        elif held:
            entry = held.pop(number % len(held))
            changed = content("x" * (entry.message.content.size + 1)) if step == "change" else None
            model.settle(Outcome.ACCEPT if step == "accept" else Outcome.RELEASE, entry, content=changed)
    wanted = next((each for each in queue.available() if Even().accepts(each.message)), None)
    assert model.apply(commands.Get(model.owner, "jobs", filter=Even())) is wanted


@given(st.lists(st.tuples(st.booleans(), SMALL, SMALL, SMALL)))
def test_what_is_bound_is_what_a_look_at_all_bindings_finds(steps: list[tuple[bool, int, int, int]]) -> None:
    model = Model()
    queues = [model.queue(f"q{number}") for number in range(4)]
    tables: list[dict[str, Any]] = [{}, {"a": 1}, {"a": "1"}, {"x-match": "any", "a": 1}]
    exchange = model.apply(commands.DeclareExchange(model.owner, "x", "headers"))
    for binds, queue, key, table in steps:
        kind = commands.Bind if binds else commands.Unbind
        try:
            model.apply(kind(model.owner, f"q{queue}", "x", f"k{key}", tables[table]))
        except Fault as fault:
            assert (binds, fault.kind) == (False, FaultKind.BINDING_NOT_FOUND)
    found = [(each.destination, each.routing_key, each.key[3]) for each in exchange.bindings.values()]
    for destination in (None, *queues):
        for routing_key in (None, "k0", "k1", "none"):
            for asked in tables:
                arguments = binding_key(queues[0], "", asked, True)[3]
                wanted = any(
                    destination in (None, each[0])
                    and routing_key in (None, each[1])
                    and (not asked or each[2] == arguments)
                    for each in found
                )
                assert exchange.is_bound(destination, routing_key, asked) is wanted
