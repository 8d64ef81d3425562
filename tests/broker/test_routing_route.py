"""Where messages go through several exchanges: bindings between them, circles, alternates."""

import pickle
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.broker.model import commands
from tests.kit.broker_topology import Topology


@pytest.mark.rule("0-9-1/queue.bind/deliver-once", "0-10/exchange.bind/multiple-bindings")
def test_a_queue_gets_one_copy_however_many_patterns_match(topology: Topology) -> None:
    for key in ("a.b", "a.*", "#", "*.b", "#.b", "a.#"):
        topology.bind("q", "amq.topic", key)
    assert topology.route("amq.topic", "a.b") == ["q"]


@pytest.mark.rule("0-9-1/queue.bind/deliver-once", "0-10/exchange.bind/multiple-bindings")
def test_a_queue_gets_one_copy_however_many_headers_match(topology: Topology) -> None:
    for arguments in ({"a": 1}, {"b": 1}, {"x-match": "any", "a": 1}):
        topology.bind("q", "amq.match", "", arguments)
    assert topology.route("amq.match", "", {"a": 1, "b": 1}) == ["q"]


@pytest.mark.rule("0-9-1/rabbitmq/exchange.bind.deliver-once")
def test_an_exchange_passes_a_message_on_once_however_many_ways_lead_there(topology: Topology) -> None:
    for name in ("top", "left", "right", "bottom"):
        topology.exchange(name, "fanout")
    for destination, source in (("left", "top"), ("right", "top"), ("bottom", "left"), ("bottom", "right")):
        assert topology.bind_exchange(destination, source)
    topology.bind("below", "bottom")
    topology.bind("beside", "top")
    topology.bind("below", "left")
    assert sorted(topology.route("top")) == ["below", "beside"]


@pytest.mark.rule("0-9-1/rabbitmq/exchange.bind.cycles")
def test_exchanges_may_be_bound_in_a_circle_and_to_themselves(topology: Topology) -> None:
    for name in "abc":
        topology.exchange(name, "fanout")
        topology.bind(f"q{name}", name)
    for destination, source in ("ba", "cb", "ac", "aa"):
        topology.bind_exchange(destination, source)
    assert topology.route("a") == ["qa", "qb", "qc"]
    assert topology.route("c") == ["qc", "qa", "qb"]


@pytest.mark.rule("0-9-1/rabbitmq/exchange.bind.duplicate-ok")
def test_the_same_binding_between_exchanges_twice_is_one(topology: Topology) -> None:
    topology.exchange("e", "fanout")
    assert topology.bind_exchange("e", "amq.topic", "a.#")
    assert not topology.bind_exchange("e", "amq.topic", "a.#")
    assert topology.vhost.bindings == 1


def test_every_exchange_on_the_way_matches_for_itself(topology: Topology) -> None:
    topology.exchange("second", "direct")
    topology.bind_exchange("second", "amq.topic", "a.#")
    topology.bind("q", "second", "a.b")
    assert topology.route("amq.topic", "a.b") == ["q"]
    assert topology.route("amq.topic", "a.c") == topology.route("amq.topic", "b") == []


def test_long_ways_are_gone_to_their_end(topology: Topology) -> None:
    for number in range(2000):
        topology.exchange(f"e{number}", "fanout")
        if number:
            topology.bind_exchange(f"e{number}", f"e{number - 1}")
    topology.bind("q", "e1999")
    assert topology.route("e0") == ["q"]


@pytest.mark.rule("0-10/exchange.declare/alt-empty")
def test_what_matches_nothing_goes_to_the_alternate(topology: Topology) -> None:
    topology.exchange("plain", "direct")
    topology.exchange("e", "direct", alternate="amq.fanout")
    topology.bind("lost", "amq.fanout")
    topology.bind("q", "e", "k")
    topology.bind("q", "plain", "k")
    assert topology.route("e", "k") == ["q"]
    assert topology.route("e", "other") == ["lost"]
    assert topology.route("plain", "other") == []


@pytest.mark.rule("0-10/exchange.declare/alt-conditions")
def test_alternates_are_left_out_where_the_publisher_is_told(topology: Topology) -> None:
    topology.exchange("e", "direct", alternate="amq.fanout")
    topology.bind("lost", "amq.fanout")
    assert topology.route("e", "k", alternates=False) == []


@pytest.mark.rule("0-10/exchange.declare/alt-double-failure")
def test_the_alternate_s_alternate_is_used_only_when_chained(topology: Topology) -> None:
    topology.exchange("second", "direct", alternate="amq.fanout")
    topology.exchange("first", "direct", alternate="second")
    topology.bind("lost", "amq.fanout")
    assert topology.route("first", "k") == []
    assert topology.route("first", "k", chained=True) == ["lost"]
    topology.bind("found", "second", "k")
    assert topology.route("first", "k") == topology.route("first", "k", chained=True) == ["found"]


def test_alternates_in_a_circle_end(topology: Topology) -> None:
    topology.exchange("one", "direct", alternate=None, arguments={"alternate-exchange": "two"})
    topology.exchange("two", "direct", arguments={"alternate-exchange": "one"})
    topology.exchange("own", "direct", arguments={"alternate-exchange": "own"})
    for name in ("one", "two", "own"):
        for chained in (False, True):
            assert topology.route(name, "k", chained=chained) == []


def test_an_alternate_that_is_not_there_drops(topology: Topology) -> None:
    topology.exchange("e", "direct", arguments={"alternate-exchange": "nowhere"})
    assert topology.route("e", "k") == []


def test_exchanges_on_the_way_have_alternates_too(topology: Topology) -> None:
    topology.exchange("second", "direct", alternate="amq.fanout")
    topology.bind_exchange("second", "amq.topic", "#")
    topology.bind("lost", "amq.fanout")
    topology.bind("q", "amq.topic", "k")
    # What is bound to the topic exchange got it, the second one passes on what it has nobody for.
    assert topology.route("amq.topic", "k") == ["q", "lost"]
    topology.bind("found", "second", "k")
    assert topology.route("amq.topic", "k") == ["q", "found"]


def test_an_alternate_passes_on_by_bindings_as_any_exchange(topology: Topology) -> None:
    topology.exchange("e", "direct", alternate="amq.fanout")
    topology.bind_exchange("amq.topic", "amq.fanout")
    topology.bind("q", "amq.topic", "#")
    assert topology.route("e", "k") == ["q"]


def test_the_nameless_exchange_may_be_an_alternate(topology: Topology) -> None:
    topology.exchange("e", "direct", arguments={"alternate-exchange": ""})
    topology.queue("k")
    assert topology.route("e", "k") == ["k"]


def test_a_deleted_exchange_is_not_gone_through_any_more(topology: Topology) -> None:
    topology.exchange("e", "fanout")
    topology.bind_exchange("e", "amq.direct", "k")
    topology.bind("q", "e")
    assert topology.route("amq.direct", "k") == ["q"]
    topology.apply(commands.DeleteExchange(topology.owner, "e"))
    assert topology.route("amq.direct", "k") == []
    assert topology.vhost.exchanges["amq.direct"].forwards == 0


# Against a walk by the definition.

NAMES = "abcd"
EDGES = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES), st.sampled_from("kl")), max_size=8)


@given(
    EDGES,
    st.lists(st.tuples(st.sampled_from("pqr"), st.sampled_from(NAMES), st.sampled_from("kl")), max_size=5),
    st.dictionaries(st.sampled_from(NAMES), st.sampled_from(NAMES)),
    st.booleans(),
    st.booleans(),
)
def test_it_goes_where_the_definition_says(
    edges: list[tuple[str, str, str]],
    queues: list[tuple[str, str, str]],
    alternates: dict[str, str],
    chained: bool,
    pickled: bool,
) -> None:
    topology = Topology()
    for name in NAMES:
        arguments = {"alternate-exchange": alternates[name]} if name in alternates else {}
        topology.exchange(name, "direct", arguments=arguments)
    for destination, source, key in edges:
        topology.bind_exchange(destination, source, key)
    for queue, exchange, key in queues:
        topology.bind(queue, exchange, key)
    if pickled:
        topology = pickle.loads(pickle.dumps(topology))

    def reached(start: set[str]) -> Iterator[str]:
        seen: set[str] = set()
        while start - seen:
            for name in sorted(start - seen):
                yield name
                seen.add(name)
                start = start | {to for to, source, key in edges if source == name and key == "k"}

    all_reached: set[str] = set()
    fresh: set[str] = {"a"}
    use_alternates = True
    while fresh:
        new = set(reached(fresh)) - all_reached
        all_reached |= new
        empty = [name for name in new if not any(source == name and key == "k" for _, source, key in (*edges, *queues))]
        fresh = {alternates[name] for name in empty if use_alternates and name in alternates} - all_reached
        use_alternates = chained
    expected = {queue for queue, exchange, key in queues if exchange in all_reached and key == "k"}
    found = topology.route("a", "k", chained=chained)
    assert len(found) == len(set(found))
    assert set(found) == expected
    assert topology.route("a", "k", chained=chained) == found
