"""Exchanges and bindings (classes 7, 11.1), by what clients see of them."""

from collections.abc import Callable
from typing import Any

import pytest

from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import Session, spec
from amqp_sansio.broker import Settings
from tests.kit.hub_0_10 import User, World


def routed(peer: User, session: Session, exchange: str, key: str, *queues: str, **headers: Any) -> list[str]:
    """Which of the queues get a message, which is taken out again."""
    message = amqp.Message(b"m", routing_key=key, application_headers=headers or None)
    peer.publish(session, exchange, message, accept_mode=amqp.spec.NONE)
    return [name for name in queues if peer.drain(session, name)]


# Types and instances.


@pytest.mark.rule(
    "0-10/exchange/required-types",
    "0-10/exchange/recommended-types",
    "0-10/exchange/required-instances",
    "0-10/model/amq.direct",
    "0-10/model/amq.fanout",
    "0-10/model/amq.topic",
    "0-10/model/amq.match",
    "0-10/model/amq.failover",
    "0-10/model/system",
)
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("amq.direct", "direct"),
        ("amq.fanout", "fanout"),
        ("amq.topic", "topic"),
        ("amq.match", "headers"),
        ("amq.headers", "headers"),
        ("amq.failover", "failover"),
        ("amq.system", "system"),
    ],
)
def test_each_virtual_host_has_an_exchange_of_each_type(name: str, kind: str) -> None:
    world = World(Settings(vhosts=("/", "test")))
    for vhost in ("/", "test"):
        peer = world.connect(vhost=vhost)
        result = peer.call(peer.session(), spec.ExchangeQuery(name))
        assert (result.type, result.durable, bool(result.not_found)) == (kind, True, False)


@pytest.mark.rule("0-10/model/direct", "0-10/model/fanout", "0-10/model/headers", "0-10/model/topic")
@pytest.mark.parametrize("kind", ["direct", "fanout", "topic", "headers"])
def test_exchanges_of_the_standard_types_can_be_declared(peer: User, session: Session, kind: str) -> None:
    peer.call(session, spec.ExchangeDeclare("mine", kind))
    assert peer.call(session, spec.ExchangeQuery("mine")).type == kind


@pytest.mark.rule("0-10/exchange/default-exchange", "0-10/model/default_exchange", "0-10/queue.declare/default-binding")
def test_every_queue_is_bound_to_the_nameless_exchange_by_its_name(peer: User, session: Session) -> None:
    peer.queue(session, "one")
    peer.queue(session, "two")
    result = peer.call(session, spec.ExchangeQuery())
    assert (result.type, result.durable) == ("direct", True)
    assert routed(peer, session, "", "one", "one", "two") == ["one"]
    bound = peer.call(session, spec.ExchangeBound(queue="one", binding_key="one"))
    assert not (bound.queue_not_matched or bound.key_not_matched or bound.exchange_not_found)
    assert peer.call(session, spec.ExchangeBound(queue="one", binding_key="two")).key_not_matched


@pytest.mark.rule("0-10/exchange.declare/minimum")
def test_hundred_exchanges(peer: User, session: Session) -> None:
    for number in range(100):
        peer.call(session, spec.ExchangeDeclare(f"e{number}", "direct"))
    assert peer.call(session, spec.ExchangeQuery("e99")).type == "direct"


# Declaring.


@pytest.mark.rule("0-10/exchange.declare/durable-support", "0-10/exchange.declare/durable-sticky")
def test_durable_stays_as_it_was_declared_first(world: World, peer: User, session: Session) -> None:
    peer.call(session, spec.ExchangeDeclare("lasting", "direct", durable=True))
    peer.call(session, spec.ExchangeDeclare("passing", "direct"))
    peer.call(session, spec.ExchangeDeclare("lasting", "direct"))
    peer.call(session, spec.ExchangeDeclare("passing", "direct", durable=True))
    assert peer.call(session, spec.ExchangeQuery("lasting")).durable
    assert not peer.call(session, spec.ExchangeQuery("passing")).durable
    world.hub.model.restart(world.now)
    exchanges = world.hub.model.vhosts["/"].exchanges
    assert "lasting" in exchanges
    assert "passing" not in exchanges


@pytest.mark.rule("0-10/exchange.declare/auto-delete-sticky", "0-10/exchange.declare/auto-delete-first-binding")
def test_auto_delete_waits_for_a_first_binding_and_stays_as_it_was(peer: User, session: Session) -> None:
    peer.queue(session, "q")
    peer.call(session, spec.ExchangeDeclare("going", "direct", auto_delete=True))
    peer.call(session, spec.ExchangeDeclare("staying", "direct"))
    peer.call(session, spec.ExchangeDeclare("going", "direct"))
    peer.call(session, spec.ExchangeDeclare("staying", "direct", auto_delete=True))
    for name in ("going", "staying"):
        assert peer.call(session, spec.ExchangeQuery(name)).type == "direct"
        peer.call(session, spec.ExchangeBind("q", name, "k"))
        peer.call(session, spec.ExchangeUnbind("q", name, "k"))
    assert peer.call(session, spec.ExchangeQuery("going")).not_found
    assert not peer.call(session, spec.ExchangeQuery("staying")).not_found


@pytest.mark.rule("0-10/exchange.query/not-found")
def test_of_an_unknown_exchange_nothing_is_said(peer: User, session: Session) -> None:
    result = peer.call(session, spec.ExchangeQuery("nowhere"))
    assert (result.not_found, result.durable, result.type, result.arguments) == (True, False, None, None)


# Alternate exchanges.


@pytest.mark.rule("0-10/exchange.declare/alt-empty")
def test_without_an_alternate_exchange_the_unroutable_is_dropped(peer: User, session: Session) -> None:
    peer.call(session, spec.ExchangeDeclare("e", "direct"))
    peer.queue(session, "spare", ("amq.fanout", ""))
    assert routed(peer, session, "e", "nowhere", "spare") == []
    assert session.is_attached


@pytest.mark.rule("0-10/exchange.declare/alt-conditions", "0-10/message.delivery-properties/discard-unroutable")
@pytest.mark.parametrize(
    ("accept_mode", "discards", "rerouted", "outcome"),
    [
        (amqp.spec.NONE, False, True, None),
        (amqp.spec.NONE, True, False, None),
        (amqp.spec.EXPLICIT, False, False, "rejected"),
        (amqp.spec.EXPLICIT, True, False, "accepted"),
    ],
)
def test_the_alternate_exchange_is_for_who_is_not_told_otherwise(
    peer: User, session: Session, accept_mode: int, discards: bool, rerouted: bool, outcome: str | None
) -> None:
    peer.call(session, spec.ExchangeDeclare("e", "direct", "amq.fanout"))
    peer.queue(session, "spare", ("amq.fanout", ""))
    properties = amqp.DeliveryProperties(discard_unroutable=discards, routing_key="nowhere")
    message = amqp.Message(b"m", delivery_properties=properties)
    found = peer.publish(session, "e", message, accept_mode=accept_mode)
    assert peer.drain(session, "spare") == ([b"m"] if rerouted else [])
    if outcome == "rejected":
        assert isinstance(found, amqp.Rejected)
        assert found.code == 1
    else:
        assert (found is None) == (outcome is None)


@pytest.mark.rule("0-10/exchange.declare/alt-double-failure")
def test_the_alternates_own_alternate_is_not_used(peer: User, session: Session) -> None:
    peer.call(session, spec.ExchangeDeclare("second", "direct", "amq.fanout"))
    peer.call(session, spec.ExchangeDeclare("first", "direct", "second"))
    peer.queue(session, "spare", ("amq.fanout", ""))
    assert routed(peer, session, "first", "nowhere", "spare") == []


# Deleting.


@pytest.mark.rule("0-10/exchange.delete/in-use")
def test_if_unused_means_without_bindings(peer: User, session: Session, second: Session) -> None:
    peer.call(session, spec.ExchangeDeclare("e", "direct"))
    peer.queue(session, "q", ("e", "k"))
    assert peer.refused(second, spec.ExchangeDelete("e", if_unused=True)) == 406
    assert not peer.call(session, spec.ExchangeQuery("e")).not_found
    peer.call(session, spec.ExchangeDelete("e"))
    assert peer.call(session, spec.ExchangeQuery("e")).not_found


# Bindings.


@pytest.mark.rule("0-10/exchange.bind/duplicates")
def test_a_second_bind_changes_nothing(peer: User, session: Session) -> None:
    peer.queue(session, "q")
    peer.call(session, spec.ExchangeBind("q", "amq.match", "k", {"x-match": "all", "a": 1}))
    peer.call(session, spec.ExchangeBind("q", "amq.match", "k", {"x-match": "all", "b": 2}))
    assert routed(peer, session, "amq.match", "", "q", a=1) == ["q"]
    assert routed(peer, session, "amq.match", "", "q", b=2) == []
    peer.call(session, spec.ExchangeUnbind("q", "amq.match", "k"))
    assert routed(peer, session, "amq.match", "", "q", a=1) == []


@pytest.mark.rule("0-10/exchange.bind/durable-exchange")
def test_bindings_between_the_durable_are_durable(world: World, peer: User, session: Session) -> None:
    peer.call(session, spec.QueueDeclare("q", durable=True))
    peer.call(session, spec.ExchangeDeclare("lasting", "direct", durable=True))
    peer.call(session, spec.ExchangeDeclare("passing", "direct"))
    for name in ("lasting", "passing"):
        peer.call(session, spec.ExchangeBind("q", name, "k"))
    peer.cut()
    world.hub.model.restart(world.now)
    exchanges = world.hub.model.vhosts["/"].exchanges
    assert [each.destination.name for each in exchanges["lasting"].bindings.values()] == ["q"]


@pytest.mark.rule("0-10/exchange.bind/binding-count", "0-10/exchange.bind/multiple-bindings")
def test_many_bindings_and_one_copy(peer: User, session: Session) -> None:
    keys = [("amq.topic", key) for key in ("#", "a.#", "*.b", "a.b", "a.*")]
    peer.queue(session, "q", *keys)
    peer.publish(session, "amq.topic", amqp.Message(b"m", routing_key="a.b"))
    assert peer.drain(session, "q") == [b"m"]


@pytest.mark.rule("0-10/exchange.bound/unset-ignored")
@pytest.mark.parametrize(
    ("command", "flags"),
    [
        (spec.ExchangeBound("amq.direct", "q"), ()),
        (spec.ExchangeBound("amq.direct", "q", "k"), ()),
        (spec.ExchangeBound("amq.direct", "", "k"), ()),
        (spec.ExchangeBound("amq.match", "q", None, {"x-match": "all", "a": 1}), ()),
        (spec.ExchangeBound("nowhere", "q"), ("exchange_not_found",)),
        (spec.ExchangeBound("amq.direct", "nowhere"), ("queue_not_found",)),
        (spec.ExchangeBound("nowhere", "nowhere"), ("exchange_not_found", "queue_not_found")),
        (spec.ExchangeBound("amq.direct", "r"), ("queue_not_matched",)),
        (spec.ExchangeBound("amq.direct", "q", "other"), ("key_not_matched",)),
        (spec.ExchangeBound("amq.direct", "r", "other"), ("queue_not_matched", "key_not_matched")),
        (spec.ExchangeBound("amq.match", "q", None, {"x-match": "any"}), ("args_not_matched",)),
        (spec.ExchangeBound("amq.fanout", "q"), ("queue_not_matched",)),
    ],
)
def test_what_is_bound(peer: User, session: Session, command: Any, flags: tuple[str, ...]) -> None:
    peer.queue(session, "q", ("amq.direct", "k"))
    peer.queue(session, "r")
    peer.call(session, spec.ExchangeBind("q", "amq.match", "m", {"x-match": "all", "a": 1}))
    result: Any = peer.call(session, command)
    names = ("exchange_not_found", "queue_not_found", "queue_not_matched", "key_not_matched", "args_not_matched")
    assert tuple([name for name in names if getattr(result, name)]) == flags


def test_the_bindings_of_qpids_jms_client(peer: User, session: Session) -> None:
    arguments = {"x-filter-jms-selector": ""}
    peer.queue(session, "q")
    peer.call(session, spec.ExchangeBind("q", "amq.topic", "news.*", arguments))
    assert not peer.call(session, spec.ExchangeBound("amq.topic", "q", "news.*", arguments)).args_not_matched
    assert routed(peer, session, "amq.topic", "news.today", "q") == ["q"]


# Routing.


@pytest.mark.parametrize(
    ("key", "queues"),
    [
        pytest.param("k", ["one", "two"], id="of two bindings"),
        pytest.param("l", ["two"], id="of one binding"),
        pytest.param("kk", [], id="that only begins like one"),
        pytest.param("", [], id="empty"),
    ],
)
@pytest.mark.rule("0-10/model/direct-binding")
def test_direct_exchanges_compare_keys(peer: User, session: Session, key: str, queues: list[str]) -> None:
    peer.queue(session, "one", ("amq.direct", "k"))
    peer.queue(session, "two", ("amq.direct", "k"), ("amq.direct", "l"))
    assert routed(peer, session, "amq.direct", key, "one", "two") == queues


@pytest.mark.rule("0-10/model/fanout-binding")
def test_fanout_exchanges_send_to_all(peer: User, session: Session) -> None:
    for name in ("one", "two"):
        peer.queue(session, name, ("amq.fanout", name))
    peer.queue(session, "three")
    assert routed(peer, session, "amq.fanout", "whatever", "one", "two", "three") == ["one", "two"]


@pytest.mark.rule("0-10/model/topic-binding")
@pytest.mark.parametrize(
    ("pattern", "key", "matches"),
    [
        ("*.stock.#", "usd.stock", True),
        ("*.stock.#", "eur.stock.db", True),
        ("*.stock.#", "stock.nasdaq", False),
        ("a.#", "a", True),
        ("#", "a.b.c", True),
        ("a.*", "a", False),
        ("a.*", "a.b.c", False),
        ("*.*", "a.", True),
    ],
)
def test_topic_exchanges_match_words(peer: User, session: Session, pattern: str, key: str, matches: bool) -> None:
    peer.queue(session, "q", ("amq.topic", pattern))
    assert bool(routed(peer, session, "amq.topic", key, "q")) == matches


@pytest.mark.rule("0-10/model/headers-all", "0-10/model/headers-any")
@pytest.mark.parametrize(
    ("mode", "headers", "matches"),
    [
        ("all", {"a": 1, "b": "x", "c": 3}, True),
        ("all", {"a": 1, "b": "x"}, False),
        ("all", {"a": 2, "b": "x", "c": 3}, False),
        ("any", {"a": 1}, True),
        ("any", {"c": "whatever"}, True),
        ("any", {"a": 2}, False),
        ("any", {"x-match": "any"}, False),
    ],
)
def test_headers_exchanges_match_headers(
    peer: User, session: Session, mode: str, headers: dict[str, Any], matches: bool
) -> None:
    peer.queue(session, "q")
    arguments = {"x-match": amqp.spec.Typed("str8", mode), "a": 1, "b": "x", "c": None}
    peer.call(session, spec.ExchangeBind("q", "amq.match", "k", arguments))
    assert bool(routed(peer, session, "amq.match", "", "q", **headers)) == matches


# Failover.


@pytest.mark.rule(
    "0-10/model/failover-private",
    "0-10/model/failover-emit",
    "0-10/model/failover-message",
    "0-10/model/failover-order",
)
def test_private_queues_are_told_of_other_addresses() -> None:
    urls = ("amqp:tcp:first:5672", "amqp:tcp:second:5672")
    world = World(Settings(urls=urls))
    peer = world.connect()
    session = peer.session()
    peer.queue(session, "mine", ("amq.failover", ""), exclusive=True, auto_delete=True)
    peer.subscribe(session, "mine", credit=10)
    (update,) = peer.got(session)
    assert update.body == b""
    headers = update.headers.headers
    assert isinstance(headers, amqp.Map)
    assert headers == {"amq.failover": list(urls)}
    assert [code for _, code, _ in headers.entries()] == [0xAA]
    world.hub.change_urls(("amqp:tcp:third:5672",))
    (update,) = peer.got(session)
    assert update.headers.headers == {"amq.failover": ["amqp:tcp:third:5672"]}
    # Bound already: nothing new.
    peer.call(session, spec.ExchangeBind("mine", "amq.failover", ""))
    assert peer.got(session) == []


_WITH_DELETED: list[tuple[str, Callable[[str], Any]]] = [("queue", spec.QueueDelete), ("exchange", spec.ExchangeDelete)]


@pytest.mark.parametrize(("what", "delete"), _WITH_DELETED, ids=["queue", "exchange"])
def test_bindings_go_with_either_end(peer: User, session: Session, what: str, delete: Callable[[str], Any]) -> None:
    peer.call(session, spec.ExchangeDeclare("e", "direct"))
    peer.queue(session, "q", ("e", "k"))
    peer.call(session, delete("q" if what == "queue" else "e"))
    peer.call(session, spec.ExchangeDeclare("e", "direct"))
    peer.queue(session, "q")
    assert peer.call(session, spec.ExchangeBound("e", "q")).queue_not_matched
