"""Filters of 1.0 sources on the broker."""

import re
from pathlib import Path
from typing import Any

import pytest

from amqp_sansio.amqp_1_0 import Described, Message, Properties, Source, Symbol
from amqp_sansio.amqp_1_0.spec import Decimal64, ULong
from amqp_sansio.broker import BrokerLimits
from amqp_sansio.broker.frontends.amqp_1_0.filters import KINDS, FilterKind
from tests.kit.hub_1_0 import User, World

SELECTOR = Symbol("apache.org:selector-filter:string")
NO_LOCAL = Symbol("apache.org:no-local-filter:list")
DIRECT = Symbol("apache.org:legacy-amqp-direct-binding:string")
TOPIC = Symbol("apache.org:legacy-amqp-topic-binding:string")
HEADERS = Symbol("apache.org:legacy-amqp-headers-binding:map")


@pytest.fixture
def world() -> World:
    """It has a queue called jobs."""
    world = World()
    world.queue("jobs")
    return world


def filtered(user: User, address: str, descriptor: Any, value: Any, **options: Any) -> Any:
    """A receiver with a filter."""
    source = Source(address, filter={Symbol("mine"): Described(descriptor, value)}, **options)
    return user.receiver(source, credit=100)


def put(world: World, *subjects: str | None) -> None:
    """Messages with subjects."""
    for subject in subjects:
        properties = None if subject is None else Properties(subject=subject)
        world.put("jobs", Message(str(subject), properties=properties))


@pytest.mark.rule("1.0/filters/selector/capability", "1.0/filters/no-local/capability")
@pytest.mark.rule("1.0/filters/legacy/capability-source", "1.0/source.filter/stable")
@pytest.mark.parametrize("descriptor", [SELECTOR, ULong(0x468C_00000004)], ids=["symbol", "code"])
def test_a_selector_leaves_messages_to_others(world: World, user: User, descriptor: Any) -> None:
    link = filtered(user, "jobs", descriptor, "colour = 'blue' AND weight > 10")
    source: Any = link.source
    assert source.filter[Symbol("mine")] == Described(descriptor, "colour = 'blue' AND weight > 10")
    assert {"APACHE.ORG:SELECTOR", "APACHE.ORG:NO_LOCAL", "APACHE.ORG:LEGACY_AMQP_EXCHANGE_FILTERS"} <= set(
        source.capabilities
    )
    for colour, weight in (("blue", 11), ("red", 11), ("blue", 9), ("blue", 12)):
        properties = {"colour": colour, "weight": weight}
        world.put("jobs", Message(f"{colour}{weight}", application_properties=properties))
    one, two = user.take(link)
    assert [one.body, two.body] == ["blue11", "blue12"]
    link.release(one, two)
    assert user.bodies(link) == ["blue11", "blue12"]
    assert world.ready("jobs") == ["red11", "blue9"]
    assert user.bodies(user.receiver("jobs", credit=100)) == ["red11", "blue9"]


@pytest.mark.parametrize(
    ("selector", "chosen"),
    [
        (" OR ".join([f"weight = {number}" for number in range(1, 1500)]) + " OR weight < 1", ["0", "1"]),
        ("weight <> weight", ["nan"]),
        ("name LIKE '%" + "a" * 4000 + "b%'", []),
    ],
    ids=["many terms", "no number", "a long pattern"],
)
def test_no_selector_harms_a_publisher(world: World, selector: str, chosen: list[str]) -> None:
    user, other = world.connect(), world.connect()
    link = filtered(user, "jobs", SELECTOR, selector)
    sender = other.sender("jobs")
    for body, weight in (("0", 0), ("nan", Decimal64.from_decimal("sNaN")), ("1", 1), ("big", 10**6)):
        other.send(sender, Message(body, application_properties={"weight": weight, "name": "a" * 8000}))
    assert user.bodies(link) == chosen
    assert not other.failures() and not other.is_cut


@pytest.mark.parametrize(
    ("descriptor", "value"),
    [
        pytest.param(SELECTOR, "colour =", id="half a selector"),
        pytest.param(SELECTOR, "(" * 101 + "TRUE" + ")" * 101, id="a selector nested too deep"),
        pytest.param(SELECTOR, 7, id="a selector that is no text"),
        pytest.param(HEADERS, "x", id="headers that are no map"),
        pytest.param(HEADERS, {"a": 1}, id="headers without x-match"),
        pytest.param(HEADERS, {"x-match": Symbol("some")}, id="an unknown x-match"),
    ],
)
def test_a_filter_that_is_wrong_refuses_the_link(user: User, descriptor: Symbol, value: Any) -> None:
    source = Source("jobs", filter={Symbol("f"): Described(descriptor, value)})
    assert user.refused(user.session().open_receiver(source)) == "amqp:invalid-field"


def test_an_unknown_filter_is_left_out(user: User) -> None:
    unknown = {
        Symbol("a"): Described(Symbol("made:up"), 1),
        Symbol("b"): Described(ULong(99), 1),
        Symbol("c"): Described(NO_LOCAL, []),
    }
    link: Any = user.receiver(Source("jobs", filter=unknown))
    assert list(link.source.filter) == ["c"]


@pytest.mark.rule("1.0/filters/no-local")
@pytest.mark.parametrize("address", ["jobs", "/exchanges/amq.fanout"])
def test_no_local_passes_what_other_connections_send(world: World, address: str) -> None:
    user, other = world.connect(), world.connect()
    link = filtered(user, address, NO_LOCAL, [])
    user.send(user.sender(address), b"mine")
    other.send(other.sender(address), b"theirs")
    assert user.bodies(link) == [b"theirs"]


@pytest.mark.rule("1.0/filters/direct")
def test_the_direct_filter_wants_one_subject(world: World, user: User) -> None:
    link = filtered(user, "jobs", DIRECT, "a")
    put(world, "a", "b", None, "a.b")
    assert user.bodies(link) == ["a"]


@pytest.mark.rule("1.0/filters/topic", "1.0/filters/topic-no-subject")
@pytest.mark.parametrize(
    ("pattern", "subjects"),
    [
        ("*.stock.#", ["usd.stock", "eur.stock.db"]),
        ("#", ["usd.stock", "eur.stock.db", "stock.nasdaq", "None"]),
        ("stock.*", ["stock.nasdaq"]),
        ("*", []),
        ("#.#", ["usd.stock", "eur.stock.db", "stock.nasdaq"]),
    ],
)
def test_the_topic_filter_wants_a_pattern(world: World, user: User, pattern: str, subjects: list[str]) -> None:
    link = filtered(user, "jobs", TOPIC, pattern)
    put(world, "usd.stock", "eur.stock.db", "stock.nasdaq", None)
    assert user.bodies(link) == subjects


@pytest.mark.rule("1.0/filters/headers/types", "1.0/filters/headers/x-match", "1.0/filters/headers/x-ignored")
@pytest.mark.rule("1.0/filters/headers/pair")
@pytest.mark.parametrize(
    ("wanted", "bodies"),
    [
        ({"x-match": Symbol("all"), "a": 1, "b": "x"}, ["both"]),
        ({"x-match": Symbol("any"), "a": 1, "b": "x"}, ["both", "a"]),
        ({"x-match": Symbol("all"), "a": None}, ["both", "a", "other"]),
        ({"x-match": Symbol("all"), "a": 1, "x-more": 7}, ["both", "a"]),
        ({"x-match": Symbol("all")}, ["both", "a", "other", "none"]),
    ],
    ids=["all", "any", "present", "x-ignored", "nothing"],
)
@pytest.mark.parametrize("address", ["jobs", "/exchanges/amq.headers"])
def test_the_headers_filter_wants_application_properties(
    world: World, user: User, address: str, wanted: Any, bodies: list[str]
) -> None:
    link = filtered(user, address, HEADERS, wanted)
    sender = user.sender(address)
    for body, properties in (("both", {"a": 1, "b": "x"}), ("a", {"a": 1}), ("other", {"a": 2}), ("none", {})):
        user.send(sender, Message(body, application_properties=properties))
    assert user.bodies(link) == bodies


@pytest.mark.parametrize(
    ("address", "descriptor", "value"),
    [("amq.direct", DIRECT, "k"), ("/exchanges/amq.topic", TOPIC, "k.#"), ("amq.topic", DIRECT, "k")],
)
def test_a_legacy_filter_of_an_exchange_is_its_binding(user: User, address: str, descriptor: Any, value: str) -> None:
    link = filtered(user, address, descriptor, value)
    sender = user.sender("/exchange/" + address.rpartition("/")[2])
    for subject in ("k", "x"):
        user.send(sender, Message(subject, properties=Properties(subject=subject)))
    assert user.bodies(link) == ["k"]


@pytest.mark.rule("1.0/source/copy")
def test_a_browser_with_a_filter(world: World, user: User) -> None:
    put(world, "a", "b", "a")
    link = filtered(user, "jobs", SELECTOR, "amqp.subject = 'a'", distribution_mode=Symbol("copy"))
    assert user.bodies(link) == ["a", "a"]
    put(world, "b", "a")
    assert user.bodies(link) == ["a"]
    assert world.state("jobs") == (5, 0)


def reattached(user: User, address: str, *proposed: tuple[Any, Any], name: str = "mine") -> Any:
    """A lasting receiver with filters, attached for the first time or again."""
    wanted = {Symbol(f"f{number}"): Described(*each) for number, each in enumerate(proposed)}
    source = Source(address, expiry_policy=Symbol("never"), filter=wanted or None)
    return user.receiver(source, name=name, credit=100)


@pytest.mark.rule("1.0/source.filter/stable")
def test_the_answer_to_a_second_attach_lists_the_filters_that_apply(world: World, user: User) -> None:
    link = reattached(user, "jobs", (DIRECT, "a"))
    link.detach()
    world.pump()
    link = reattached(user, "jobs", (DIRECT, "b"), (Symbol("made:up"), 1))
    assert link.source.filter == {Symbol("f0"): Described(DIRECT, "b")}
    put(world, "a", "b")
    assert user.bodies(link) == ["b"]
    link.detach()
    world.pump()
    assert reattached(user, "jobs").source.filter is None


@pytest.mark.parametrize(
    ("address", "first", "second"),
    [
        ("amq.direct", (DIRECT, "one"), (DIRECT, "two")),
        ("amq.topic", (TOPIC, "one.#"), (TOPIC, "two.#")),
        ("amq.headers", (HEADERS, {"x-match": "all", "k": "one"}), (HEADERS, {"x-match": "any", "k": "two"})),
    ],
)
def test_a_binding_filter_that_changed_moves_the_binding(
    world: World, user: User, address: str, first: Any, second: Any
) -> None:
    sender = user.sender("/exchange/" + address)

    def send(mark: str) -> None:
        for kind in ("one", "two"):
            properties = Properties(subject=kind)
            user.send(sender, Message(f"{kind}{mark}", properties=properties, application_properties={"k": kind}))

    link = reattached(user, address, first)
    send("a")
    assert user.bodies(link) == ["onea"]
    link.detach()
    world.pump()
    send("b")
    link = reattached(user, address, second)
    send("c")
    # What came before by the old binding stays in the link's queue.
    assert user.bodies(link) == ["onea", "oneb", "twoc"]
    link.detach()
    world.pump()
    link = reattached(user, address, second)
    send("d")
    assert user.bodies(link)[-1] == "twod"
    exchange = world.hub.model.vhosts["/"].exchanges[address]
    assert len(list(exchange.bindings)) == 1


@pytest.mark.rule("1.0/filter-set/keys-values")
@pytest.mark.parametrize("value", ["A", None], ids=["a session", "the next session"])
def test_a_filter_without_a_descriptor_is_one_that_the_broker_does_not_know(
    world: World, user: User, value: str | None
) -> None:
    """Service Bus's session filter: a plain string among described filters."""
    wanted = {Symbol("com.microsoft:session-filter"): value, Symbol("mine"): Described(TOPIC, "a.*")}
    link = user.receiver(Source("jobs", filter=wanted), credit=100)
    source: Any = link.source
    assert source.filter == {Symbol("mine"): Described(TOPIC, "a.*")}
    put(world, "a.b", "c")
    assert user.bodies(link) == ["a.b"]


def test_a_selector_is_bounded_by_the_limits_of_the_broker() -> None:
    world = World(limits=BrokerLimits(selector=20))
    world.queue("jobs")
    user = world.connect()
    assert filtered(user, "jobs", SELECTOR, "a = 1").is_attached
    source = Source("jobs", filter={Symbol("mine"): Described(SELECTOR, "a = 1 OR a = 2 OR a = 3")})
    assert user.refused(user.session().open_receiver(source)) == "amqp:invalid-field"


VALUES: dict[str, Any] = {"string": "TRUE", "map": {"x-match": "all"}, "list": []}
"""A value that each type of filter takes, by the end of its descriptor."""
BROKER_PAGE = Path(__file__).parents[3] / "docs" / "broker.md"


@pytest.mark.parametrize("numbered", [False, True], ids=["symbol", "number"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda each: each.descriptor)
def test_each_kind_is_known_by_both_of_its_descriptors(user: User, kind: FilterKind, numbered: bool) -> None:
    descriptor = ULong(kind.number) if numbered else kind.descriptor
    value = VALUES[str(kind.descriptor).rpartition(":")[2]]
    receiver = filtered(user, "jobs", descriptor, value)
    assert receiver.source.filter == {Symbol("mine"): Described(descriptor, value)}
    assert kind.capability in receiver.source.capabilities


def test_the_page_lists_the_kinds() -> None:
    section = BROKER_PAGE.read_text(encoding="utf-8").partition("### Filters\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\S+)` \| (0x\w+) \| `(\S+)` \| (\w*) ?\|$", section, re.MULTILINE)
    wanted = [
        (str(each.descriptor), f"{each.number:#x}", str(each.capability), each.exchange.type if each.exchange else "")
        for each in KINDS
    ]
    assert rows == wanted
