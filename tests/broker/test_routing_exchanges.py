"""Exchanges: their types, what is there from the start, what bindings are told apart by, that nothing stays behind."""

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.broker.model import commands
from amqp_sansio.broker.model.commands import OpenOwner
from amqp_sansio.broker.model.content import Content
from amqp_sansio.broker.model.exchange import (
    TYPES,
    Binding,
    Destination,
    DirectExchange,
    Exchange,
    FanoutExchange,
    HeadersExchange,
    TopicExchange,
    binding_key,
    make_exchange,
    predeclared,
)
from amqp_sansio.broker.model.faults import Fault, FaultKind
from amqp_sansio.broker.model.queue import Queue
from tests.kit.broker_topology import Topology, classic
from tests.kit.steps import count_steps

BOUND = ("direct", "fanout", "topic", "headers")


@pytest.mark.rule(
    "0-8/exchange/mandatory-types",
    "0-8/exchange/topic",
    "0-8/exchange.direct/two-instances",
    "0-9-1/exchange/required-types",
    "0-9-1/exchange/recommended-types",
    "0-9-1/exchange/required-instances",
    "0-9-1/exchange.direct/two-instances",
    "0-9-1/exchange.fanout/required",
    "0-9-1/exchange.topic/instance",
    "0-9-1/exchange.headers/instance",
    "0-9-1/exchange.system/optional",
    "0-9-1/rabbitmq/amq-durable",
    "0-10/exchange/required-types",
    "0-10/exchange/recommended-types",
    "0-10/exchange/required-instances",
    "0-10/model/direct",
    "0-10/model/amq.direct",
    "0-10/model/fanout",
    "0-10/model/amq.fanout",
    "0-10/model/headers",
    "0-10/model/amq.match",
    "0-10/model/topic",
    "0-10/model/amq.topic",
    "0-10/model/failover",
    "0-10/model/amq.failover",
    "0-10/model/system",
)
def test_every_virtual_host_has_an_exchange_of_every_type() -> None:
    broker = Topology().broker
    broker.add_vhost("another")
    expected = {
        "": "direct",
        "amq.direct": "direct",
        "amq.fanout": "fanout",
        "amq.topic": "topic",
        "amq.headers": "headers",
        "amq.system": "system",
        "amq.failover": "failover",
        "amq.match": "headers",
    }
    for vhost in broker.vhosts.values():
        assert {name: each.type for name, each in vhost.exchanges.items()} == expected
        assert all(each.durable and not each.auto_delete for each in vhost.exchanges.values())
    assert set(expected.values()) == set(TYPES)
    assert [each.name for each in predeclared()] == list(expected)


@pytest.mark.rule(
    "0-9-1/exchange/extensions",
    "0-9-1/exchange.custom/x-prefix",
    "0-8/exchange.custom/x-prefix",
    "0-10/exchange/extensions",
    "0-10/model/type-naming",
)
def test_types_of_one_s_own_have_names_that_begin_with_x(topology: Topology) -> None:
    class First(FanoutExchange):
        """To the first that was bound."""

        type = "x-first"
        __slots__ = ()

        def match(self, routing_key: str, content: Content) -> list[Destination]:
            return list(self.destinations)[:1]

    class Reserved(First):
        """One whose name is the standard's to give."""

        type = "first"
        __slots__ = ()

    types = {each.type: each for each in (First, Reserved)}
    exchange = make_exchange("e", "x-first", types=types)
    for name in "ab":
        exchange.add(Binding(topology.queue(name)))
    assert [each.name for each in exchange.match("", classic())] == ["a"]
    with pytest.raises(Fault) as caught:
        make_exchange("e", "first", types=types)
    assert caught.value.kind is FaultKind.TYPE_UNKNOWN


@pytest.mark.parametrize("type", ("", "x-unknown", "Direct", "queue"))
def test_an_unknown_type_is_refused(type: str) -> None:
    with pytest.raises(Fault, match="those of this broker are direct, fanout") as caught:
        make_exchange("e", type)
    assert (caught.value.kind, caught.value.field) == (FaultKind.TYPE_UNKNOWN, "type")


def test_the_argument_for_the_alternate_exchange_is_a_text() -> None:
    with pytest.raises(Fault, match="alternate-exchange") as caught:
        make_exchange("e", "direct", arguments={"alternate-exchange": 7})
    assert (caught.value.kind, caught.value.field) == (FaultKind.BAD_ARGUMENT, "alternate-exchange")


def test_an_exchange_has_what_it_was_made_with() -> None:
    exchange = make_exchange(
        "e", "topic", durable=True, auto_delete=True, internal=True, alternate="other", arguments={"a": 1}
    )
    assert (exchange.name, exchange.type, exchange.durable, exchange.auto_delete) == ("e", "topic", True, True)
    assert (exchange.internal, exchange.alternate, exchange.arguments) == (True, "other", {"a": 1})
    assert (exchange.was_bound, exchange.bindings) == (False, {})
    assert repr(exchange) == "<Exchange 'e', topic>"


@pytest.mark.rule("0-10/model/direct-binding", "0-9-1/queue.bind/direct-key")
def test_a_direct_exchange_wants_equal_keys(topology: Topology) -> None:
    topology.bind("a", "amq.direct", "one")
    topology.bind("b", "amq.direct", "one")
    topology.bind("c", "amq.direct", "two")
    topology.bind("d", "amq.direct", "#")
    topology.bind("e", "amq.direct", "")
    assert topology.route("amq.direct", "one") == ["a", "b"]
    assert topology.route("amq.direct", "two") == ["c"]
    assert topology.route("amq.direct", "One") == []
    assert topology.route("amq.direct", "") == ["e"]


@pytest.mark.rule("0-10/model/fanout-binding", "0-9-1/exchange.fanout/required")
def test_a_fanout_exchange_sends_to_all_whatever_the_key(topology: Topology) -> None:
    for name in "cab":
        topology.bind(name, "amq.fanout", name)
    for key in ("", "a", "x"):
        assert topology.route("amq.fanout", key) == ["c", "a", "b"]


def test_a_topic_exchange_matches_patterns(topology: Topology) -> None:
    topology.bind("all", "amq.topic", "#")
    topology.bind("stocks", "amq.topic", "*.stock.#")
    assert topology.route("amq.topic", "eur.stock.db") == ["all", "stocks"]
    assert topology.route("amq.topic", "stock.nasdaq") == ["all"]


@pytest.mark.rule(
    "0-9-1/exchange/default-exchange",
    "0-9-1/exchange.direct/auto-bind",
    "0-9-1/queue.declare/default-binding",
    "0-8/queue.declare/default-binding",
    "0-10/queue.declare/default-binding",
    "0-10/model/default_exchange",
    "0-10/exchange/default-exchange",
)
def test_the_nameless_exchange_knows_every_queue_by_its_name(topology: Topology) -> None:
    topology.queue("jobs")
    assert topology.route("", "jobs") == ["jobs"]
    assert topology.route("", "") == topology.route("", "other") == []
    topology.apply(commands.DeleteQueue(topology.owner, "jobs"))
    assert topology.route("", "jobs") == []


def test_nothing_is_bound_to_the_nameless_exchange(topology: Topology) -> None:
    queue = topology.queue("q")
    exchange = topology.vhost.exchanges[""]
    with pytest.raises(Fault) as caught:
        exchange.check(queue, "q", {})
    assert caught.value.kind is FaultKind.DEFAULT_EXCHANGE
    assert list(exchange.match("q", classic())) == []


@pytest.mark.rule("0-10/model/system-behavior", "0-9-1/exchange.system/optional")
def test_a_system_exchange_sends_to_services(topology: Topology) -> None:
    topology.queue("requests")
    topology.vhost.services["report"] = "requests"
    topology.vhost.services["gone"] = "no such queue"
    assert topology.route("amq.system", "report") == ["requests"]
    assert topology.route("amq.system", "gone") == topology.route("amq.system", "requests") == []


@pytest.mark.parametrize("destination", ("queue", "exchange"))
def test_nothing_is_bound_to_a_system_exchange(topology: Topology, destination: str) -> None:
    topology.queue("q")
    with pytest.raises(Fault, match=f"{destination} '.*' can't be bound to exchange 'amq.system'") as caught:
        if destination == "queue":
            topology.bind("q", "amq.system", "report")
        else:
            topology.bind_exchange("amq.fanout", "amq.system", "report")
    assert caught.value.kind is FaultKind.NOT_ALLOWED
    assert not topology.vhost.exchanges["amq.system"].bindings


@pytest.mark.rule("0-10/model/failover-private")
def test_private_queues_are_bound_to_the_failover_exchange(topology: Topology) -> None:
    queue = topology.queue("mine", exclusive_to=topology.owner)
    assert topology.bind("mine", "amq.failover")
    exchange = topology.vhost.exchanges["amq.failover"]
    assert list(exchange.destinations) == [queue]
    # Clients can't tell others where to go.
    assert topology.route("amq.failover") == []


def test_shared_queues_and_exchanges_are_not(topology: Topology) -> None:
    topology.queue("shared")
    for bind, name in ((topology.bind, "shared"), (topology.bind_exchange, "amq.topic")):
        with pytest.raises(Fault, match="private queues only") as caught:
            bind(name, "amq.failover")
        assert caught.value.kind is FaultKind.NOT_ALLOWED
    assert not topology.vhost.exchanges["amq.failover"].destinations


# What a binding is told apart by.


@pytest.mark.rule("0-9-1/queue.bind/duplicate-ok", "0-8/queue.bind/duplicate-ok")
@pytest.mark.parametrize("type", BOUND)
def test_the_same_binding_twice_is_one(topology: Topology, type: str) -> None:
    topology.exchange("e", type)
    assert topology.bind("q", "e", "k", {"a": 1})
    assert not topology.bind("q", "e", "k", {"a": 1})
    assert len(topology.vhost.exchanges["e"].bindings) == topology.vhost.bindings == 1
    topology.unbind("q", "e", "k", {"a": 1})
    assert topology.vhost.bindings == 0


@pytest.mark.parametrize("type", BOUND)
@pytest.mark.parametrize("other", ({"a": True}, {"a": "1"}, {"a": 1, "b": None}, {}))
def test_bindings_that_differ_in_their_arguments_are_two(topology: Topology, type: str, other: dict[str, Any]) -> None:
    exchange = topology.exchange("e", type)
    assert topology.bind("q", "e", "k", {"a": 1})
    assert topology.bind("q", "e", "k", other)
    assert len(exchange.bindings) == 2
    assert [each.arguments for each in exchange.bindings_to(topology.vhost.queues["q"])] == [{"a": 1}, other]
    topology.unbind("q", "e", "k", {"a": 1})
    assert [each.arguments for each in exchange.bindings.values()] == [other]
    assert topology.route("e", "k", {"a": True, "b": 5} if other.get("a") is True else {**other, "b": 5}) == ["q"]
    topology.unbind("q", "e", "k", other)
    assert not exchange.bindings


@pytest.mark.rule("0-10/exchange.bind/duplicates")
@pytest.mark.parametrize("type", BOUND)
def test_in_0_10_the_second_binding_changes_nothing(topology: Topology, type: str) -> None:
    exchange = topology.exchange("e", type)
    first, second = {"x-match": "all", "a": 1}, {"x-match": "all", "a": 2}
    assert topology.bind("q", "e", "k", first, by_arguments=False)
    assert not topology.bind("q", "e", "k", second, by_arguments=False)
    assert [each.arguments for each in exchange.bindings.values()] == [first]
    assert topology.bind("q", "e", "other", second, by_arguments=False)
    topology.unbind("q", "e", "k", by_arguments=False)
    assert [each.arguments for each in exchange.bindings.values()] == [second]


def test_bindings_of_0_9_1_and_0_10_are_the_same_bindings(topology: Topology) -> None:
    exchange = topology.exchange("e", "headers")
    arguments = {"x-match": "all", "a": 1}
    assert topology.bind("q", "e", "k", arguments, by_arguments=False)
    assert not topology.bind("q", "e", "k", arguments)
    topology.unbind("q", "e", "k", arguments)
    assert topology.bind("q", "e", "k", arguments)
    assert not topology.bind("q", "e", "k", {"x-match": "any"}, by_arguments=False)
    assert topology.bind("q", "e", "k")
    # The one without arguments goes first, then the oldest.
    for left in (1, 0):
        topology.unbind("q", "e", "k", by_arguments=False)
        assert len(exchange.bindings) == left
    with pytest.raises(Fault) as caught:
        topology.unbind("q", "e", "k", by_arguments=False)
    assert caught.value.kind is FaultKind.BINDING_NOT_FOUND


def test_a_queue_and_an_exchange_of_one_name_are_two_destinations(topology: Topology) -> None:
    topology.exchange("same", "fanout")
    topology.bind("same", "amq.topic", "k")
    assert topology.bind_exchange("same", "amq.topic", "k")
    exchange = topology.vhost.exchanges["amq.topic"]
    assert [repr(each) for each in exchange.bindings.values()] == [
        "<Binding to queue 'same' by 'k'>",
        "<Binding to exchange 'same' by 'k'>",
    ]
    assert exchange.forwards == 1


def test_what_is_not_bound_can_not_be_removed(topology: Topology) -> None:
    queue = topology.queue("q")
    for exchange in (make_exchange("e", type) for type in BOUND):
        assert exchange.remove(binding_key(queue, "k", {}, True)) is None
        assert exchange.remove(binding_key(queue, "k", {}, False)) is None
        assert exchange.remove_destination(queue) == 0
        assert not exchange.was_bound


# What is left behind.

KEYS = st.sampled_from(("", "a", "a.b", "#", "*.b", "#.a.#"))
ARGUMENTS = st.sampled_from(({}, {"a": 1}, {"x-match": "any", "a": 1, "b": "x"}, {"x-match": "all", "b": None}))


def places(exchange: Exchange) -> dict[str, int]:
    """How much is in each place where an exchange keeps something of its bindings."""
    found = {"bindings": len(exchange.bindings), "destinations": len(exchange.destinations)}
    found["with arguments"] = len(exchange._with_arguments)  # pyright: ignore[reportPrivateUsage]
    found["forwards"] = exchange.forwards
    if isinstance(exchange, DirectExchange):
        found["keys"] = len(exchange._by_key)  # pyright: ignore[reportPrivateUsage]
    elif isinstance(exchange, TopicExchange):
        found["nodes"] = exchange._trie.count_nodes() - 1  # pyright: ignore[reportPrivateUsage]
    elif isinstance(exchange, HeadersExchange):
        found["index"] = not exchange._index.is_empty  # pyright: ignore[reportPrivateUsage]
    return found


@given(
    st.sampled_from(BOUND),
    st.lists(st.tuples(st.sampled_from("pqrXY"), KEYS, ARGUMENTS, st.booleans()), max_size=14),
    st.data(),
)
def test_unbinding_in_any_order_leaves_nothing_behind(
    type: str, bindings: list[tuple[str, str, dict[str, Any], bool]], data: st.DataObject
) -> None:
    topology = Topology()
    made: dict[str, Destination] = {name: topology.queue(name) for name in "pqr"}
    made.update({name: topology.exchange(name, "fanout") for name in "XY"})
    exchange = make_exchange("e", type)
    for name, key, arguments, by_arguments in bindings:
        before = len(exchange.bindings)
        new = exchange.add(Binding(made[name], key, arguments, by_arguments))
        assert len(exchange.bindings) == before + new
    middle = data.draw(st.integers(0, 10))
    step = 0
    while exchange.bindings:
        if step == middle:
            exchange, made = pickle.loads(pickle.dumps((exchange, made)))
        step += 1
        if data.draw(st.integers(0, 5)) == 0:
            bound = [name for name in sorted(made) if made[name] in exchange.destinations]
            destination = made[data.draw(st.sampled_from(bound))]
            expected = len(exchange.bindings_to(destination))
            assert expected
            assert exchange.remove_destination(destination) == expected
            assert destination not in exchange.destinations
        else:
            chosen = data.draw(st.sampled_from(list(exchange.bindings)))
            binding = exchange.remove(chosen)
            assert binding is not None
            assert binding.key == chosen
            assert chosen not in exchange.bindings
    assert set(places(exchange).values()) == {0}
    assert exchange.was_bound == bool(bindings)


@given(
    st.sampled_from(BOUND),
    st.lists(st.tuples(st.sampled_from("pqrst"), KEYS, ARGUMENTS), max_size=12),
    st.sampled_from(("", "a", "a.b", "b.a.b")),
    st.sampled_from(({}, {"a": 1}, {"b": "x", "a": 2})),
)
def test_a_pickled_exchange_routes_the_same_in_the_same_order(
    type: str, bindings: list[tuple[str, str, dict[str, Any]]], key: str, headers: dict[str, Any]
) -> None:
    topology = Topology()
    topology.exchange("e", type)
    for name, pattern, arguments in bindings:
        topology.bind(name, "e", pattern, arguments)
    again: Topology = pickle.loads(pickle.dumps(topology))
    assert again.route("e", key, headers) == topology.route("e", key, headers)
    # And goes on as the other does.
    for each in (topology, again):
        each.bind("new", "e", key)
        each.apply(commands.DeleteQueue(each.owner, bindings[0][0] if bindings else "new"))
    assert again.route("e", key, headers) == topology.route("e", key, headers)


@pytest.mark.parametrize("type", BOUND)
def test_a_deleted_queue_goes_at_once_however_many_others_are_bound(topology: Topology, type: str) -> None:
    def binding(queue: Queue, number: int) -> Binding:
        if type == "headers":
            return Binding(queue, "", {"x-match": "all", "shared": 1, "n": number})
        return Binding(queue, f"a.*.k{number}.#" if type == "topic" else f"k{number}")

    others = [topology.queue(f"q{number}") for number in range(100)]
    gone = topology.queue("gone")

    def steps(count: int) -> int:
        exchange = make_exchange("e", type)
        for number in range(count):
            exchange.add(binding(others[number % 100], number))
        for number in range(20):
            exchange.add(binding(gone, number))
        removed: list[int] = []
        found = count_steps(lambda: removed.append(exchange.remove_destination(gone)))
        assert removed == [20]
        return found

    assert steps(2000) <= steps(200)


def test_owners_of_other_virtual_hosts_have_exchanges_of_their_own(topology: Topology) -> None:
    topology.broker.add_vhost("other")
    other = topology.apply(OpenOwner("other")).vhost
    topology.bind("q", "amq.fanout")
    assert topology.vhost.exchanges["amq.fanout"].destinations
    assert not other.exchanges["amq.fanout"].destinations
