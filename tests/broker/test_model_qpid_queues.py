"""Queues by Qpid's arguments: last values, message groups, levels of priority, limits; numbers also as text."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.broker import Fault, FaultKind
from amqp_sansio.broker.model import commands
from amqp_sansio.broker.model.commands import Outcome
from amqp_sansio.broker.model.consumer import Consumer, Window
from amqp_sansio.broker.model.content import Filter, Message
from amqp_sansio.broker.model.entry import Entry
from amqp_sansio.broker.model.options import QueueOptions, queue_options
from amqp_sansio.broker.snapshot import dumps, loads
from tests.kit.broker_model import Model, bodies

ACCEPT, REJECT, RELEASE = Outcome
LAST = {"qpid.last_value_queue_key": "k"}
PINNED = {"qpid.group_header_key": "g"}
SHARED = {**PINNED, "qpid.shared_msg_group": 1}


def made(arguments: dict[str, Any]) -> Model:
    """A model with a queue "jobs"."""
    model = Model()
    model.apply(commands.DeclareQueue(model.owner, "jobs", arguments=arguments))
    return model


def put(model: Model, *messages: str, header: str) -> None:
    """Publish messages, each with what stands before its colon as the header; without one, with none."""
    for each in messages:
        value, colon, _ = each.partition(":")
        model.publish(each, headers={header: value} if colon else None)


def got(model: Model) -> dict[str, list[str]]:
    """What was delivered since the last time, by consumer."""
    found: dict[str, list[str]] = {}
    for entry in model.delivered():
        assert entry.consumer is not None
        found.setdefault(str(entry.consumer.key), []).append(bodies([entry])[0])
    return found


# Arguments.


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ({"qpid.max_count": 3}, QueueOptions(max_length=3, overflow="reject-publish")),
        ({"qpid.max_count": "3"}, QueueOptions(max_length=3, overflow="reject-publish")),
        ({"qpid.max_size": b"30"}, QueueOptions(max_octets=30, overflow="reject-publish")),
        ({"qpid.max_count": 3, "qpid.policy_type": "ring"}, QueueOptions(max_length=3)),
        ({"qpid.max_count": 3, "qpid.policy_type": "ring_strict"}, QueueOptions(max_length=3)),
        ({"qpid.max_count": 3, "qpid.policy_type": "flow_to_disk"}, QueueOptions()),
        ({"x-max-length": 9, "qpid.max_count": 3}, QueueOptions(max_length=3, overflow="reject-publish")),
        ({"qpid.priorities": 10}, QueueOptions(levels=10)),
        ({"x-qpid-priorities": "4"}, QueueOptions(levels=4)),
        (LAST, QueueOptions(last_value_key="k")),
        ({"qpid.last_value_queue": 1}, QueueOptions(last_value_key="qpid.LVQ_key")),
        ({"qpid.last_value_queue": "true", **LAST}, QueueOptions(last_value_key="k")),
        ({"qpid.last_value_queue": 0}, QueueOptions()),
        (PINNED, QueueOptions(group_key="g")),
        (SHARED, QueueOptions(group_key="g", shared_groups=True)),
        ({**PINNED, "qpid.shared_msg_group": "1"}, QueueOptions(group_key="g", shared_groups=True)),
        ({**PINNED, "qpid.shared_msg_group": False}, QueueOptions(group_key="g")),
        ({"qpid.alert_count": 5, "qpid.file_size": "x"}, QueueOptions()),
    ],
)
def test_arguments_of_qpid_are_understood(arguments: dict[str, Any], options: QueueOptions) -> None:
    assert queue_options(arguments, strict=True) == options
    # Qpid's clients for Java write numbers as texts, and texts of 0-10 may be octets.
    assert queue_options(dict(reversed(arguments.items()))) == options


@pytest.mark.parametrize(
    "arguments",
    [
        {"qpid.max_count": "three"},
        {"qpid.max_count": -1},
        {"qpid.max_size": "-1"},
        {"qpid.max_size": "\u0663"},
        {"qpid.max_count": "9" * 5000},
        {"qpid.max_count": True},
        {"qpid.priorities": 0},
        {"qpid.priorities": 257},
        {"qpid.policy_type": "none"},
        {"qpid.last_value_queue_key": 5},
        {"qpid.last_value_queue": "perhaps"},
        {"qpid.group_header_key": None},
        {"qpid.shared_msg_group": 1.5},
        {"x-max-length": "3"},
    ],
)
def test_values_that_mean_nothing_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(Fault) as error:
        queue_options(arguments)
    assert error.value.kind is FaultKind.BAD_ARGUMENT
    assert error.value.field in arguments


def test_the_argument_that_differs_is_named() -> None:
    model = made(LAST)
    for arguments, name in (({}, "qpid.last_value_queue_key"), ({"qpid.priorities": 3, **LAST}, "qpid.priorities")):
        with pytest.raises(Fault) as error:
            model.apply(commands.DeclareQueue(model.owner, "jobs", arguments=arguments, compare=("arguments",)))
        assert (error.value.kind, error.value.field) == (FaultKind.INEQUIVALENT, name)


@pytest.mark.parametrize(
    ("levels", "order"),
    [(1, "0123456789"), (2, "5678901234"), (3, "5678940123"), (4, "6789540123"), (10, "9876543210")],
)
@pytest.mark.rule("0-10/message/min-priority", "0-10/message/priority-bands")
def test_levels_of_priority_are_around_the_middle(levels: int, order: str) -> None:
    model = made({"qpid.priorities": levels})
    for priority in range(10):
        model.publish(str(priority), priority=priority)
    assert "".join(model.bodies()) == order


# Last values.


def test_a_newer_message_takes_the_place_of_what_has_its_key() -> None:
    model = made(LAST)
    put(model, "a:1", "b:1", "plain", "a:2", "plain", "b:2", "a:3", header="k")
    assert model.bodies() == ["plain", "plain", "b:2", "a:3"]
    queue = model.broker.vhosts["/"].queues["jobs"]
    assert (queue.ready, queue.octets) == (4, 16)


@pytest.mark.parametrize("newer", [True, False])
def test_what_somebody_has_is_replaced_when_it_comes_back_and_something_newer_came(newer: bool) -> None:
    model = made(LAST)
    put(model, "a:1", header="k")
    model.consume(windows=(Window(1),))
    (first,) = model.delivered()
    if newer:
        put(model, "a:2", header="k")
        assert model.bodies() == ["a:2"]
    model.settle(RELEASE, first)
    assert model.bodies() == ["a:2" if newer else "a:1"]
    assert model.broker.vhosts["/"].queues["jobs"].unsettled == 0
    put(model, "a:2", header="k")
    assert model.bodies() == ["a:2"]


def test_browsers_see_each_new_value() -> None:
    model = made(LAST)
    put(model, "a:1", "b:1", header="k")
    model.consume(acquires=False)
    put(model, "a:2", header="k")
    assert bodies(model.delivered()) == ["a:1", "b:1", "a:2"]


def test_a_full_queue_takes_a_newer_value_of_a_key_that_it_has() -> None:
    model = made({**LAST, "qpid.max_count": 2})
    put(model, "a:1", "b:1", header="k")
    assert not model.publish("a:2", headers={"k": "a"}).refused
    assert model.publish("c:1", headers={"k": "c"}).refused
    assert model.bodies() == ["b:1", "a:2"]


def test_nothing_is_kept_of_values_that_are_gone() -> None:
    model = made(LAST)
    model.consume(windows=(Window(100),), settles=True)
    for number in range(50):
        put(model, f"{number}:x", header="k")
    queue = model.broker.vhosts["/"].queues["jobs"]
    assert (len(queue.newest), model.broker.ledger.octets) == (0, 0)


@pytest.mark.parametrize("value", [1, "1", True, 1.0, None, [1], {"n": 1}])
def test_keys_are_equal_when_type_and_value_are(value: Any) -> None:
    model = made(LAST)
    for _ in range(2):
        model.publish("x", headers={"k": value})
    model.publish("y", headers={"k": "other"})
    assert len(model.bodies()) == (3 if value is None else 2)


@given(st.lists(st.sampled_from(("publish a", "publish b", "publish", "take", "accept", "release")), max_size=40))
def test_a_queue_of_last_values_against_a_list(actions: list[str]) -> None:
    """Of each key the newest is there, unless it was taken; the others are in the order in which they came."""
    model = made(LAST)
    expected: list[tuple[str, int]] = []
    newest: dict[str, int] = {}
    held: list[tuple[Entry, str, int]] = []
    for number, action in enumerate(actions):
        verb, _, key = action.partition(" ")
        if verb == "publish":
            model.publish(f"{number}", headers={"k": key} if key else None)
            if key:
                expected = [each for each in expected if each[0] != key]
                newest[key] = number
            expected.append((key, number))
        elif verb == "take":
            entry = model.apply(commands.Get(model.owner, "jobs", False))
            assert (entry is None) is (not expected)
            if entry is not None:
                held.append((entry, *expected.pop(0)))
        elif held:
            entry, key, number = held.pop()
            model.settle(ACCEPT if verb == "accept" else RELEASE, entry)
            if verb == "release" and newest.get(key, number) == number:
                expected = sorted([*expected, (key, number)], key=lambda each: each[1])
        assert model.bodies() == [str(number) for _, number in expected]


# Groups.


def _two(model: Model, first: int = 10, second: int = 10, **more: Any) -> tuple[Consumer, Consumer]:
    one = model.consume(key="one", windows=(Window(first, refills=True),), **more)
    two = model.consume(key="two", windows=(Window(second, refills=True),), **more)
    return one, two


def test_a_group_stays_with_its_consumer() -> None:
    model = made(PINNED)
    one, _ = _two(model)
    put(model, "a:1", "b:1", "a:2", "b:2", "a:3", "b:3", header="g")
    assert got(model) == {"one": ["a:1", "a:2", "a:3"], "two": ["b:1", "b:2", "b:3"]}
    model.settle(ACCEPT, *list(model.owner.held))
    put(model, "b:4", "a:4", "b:5", header="g")
    assert got(model) == {"one": ["a:4"], "two": ["b:4", "b:5"]}
    model.apply(commands.Cancel(one))
    put(model, "a:5", header="g")
    assert got(model) == {"two": ["a:5"]}


def test_a_message_without_a_group_is_for_anybody() -> None:
    model = made(PINNED)
    _two(model)
    put(model, "1", "2", "3", "4", header="g")
    assert got(model) == {"one": ["1", "3"], "two": ["2", "4"]}


def test_others_get_what_is_behind_a_group_that_waits_for_its_consumer() -> None:
    model = made(PINNED)
    _two(model, 1, 10)
    put(model, "a:1", "b:1", "a:2", "b:2", header="g")
    assert got(model) == {"one": ["a:1"], "two": ["b:1", "b:2"]}
    assert model.bodies() == ["a:2"]
    (first,) = [each for each in model.owner.held if bodies([each]) == ["a:1"]]
    model.settle(ACCEPT, first)
    assert got(model) == {"one": ["a:2"]}


def test_what_waits_for_a_consumer_that_goes_is_for_the_others() -> None:
    model = made(PINNED)
    one, _ = _two(model, 1, 10)
    put(model, "a:1", "b:1", "a:2", header="g")
    assert got(model) == {"one": ["a:1"], "two": ["b:1"]}
    model.apply(commands.Cancel(one))
    assert got(model) == {"two": ["a:2"]}


class Marked(Filter):
    """Accepts the messages that have a group."""

    __slots__ = ()

    def accepts(self, message: Message) -> bool:
        return ":" in getattr(message.content, "body", b"").decode()


def test_what_a_consumer_left_to_the_holder_of_a_group_is_its_own_once_the_group_is_free() -> None:
    """It had judged what is behind, and looked at the message when that came back: for the group, not for good."""
    model = made(PINNED)
    first, second = Window(0), Window(0)
    one = model.consume(key="one", windows=(first,), filter=Marked())
    model.consume(key="two", windows=(second,), filter=Marked())
    put(model, "a:1", "a:2", "unmarked", header="g")
    other = model.connect()
    held = [model.apply(commands.Get(other, "jobs")) for _ in range(2)]
    model.apply(commands.SetWindow(second, 5))
    model.apply(commands.SetWindow(second, 0))
    model.apply(commands.SetWindow(first, 1))
    model.settle(RELEASE, held[0])
    assert got(model) == {"one": ["a:1"]}
    model.apply(commands.SetWindow(second, 5))
    model.settle(RELEASE, held[1])
    assert got(model) == {}
    model.apply(commands.Cancel(one))
    assert got(model) == {"two": ["a:2"]}


def test_a_shared_group_is_free_when_all_of_it_is_settled() -> None:
    model = made(SHARED)
    _two(model, 2, 10)
    put(model, "a:1", "a:2", "a:3", "b:1", header="g")
    assert got(model) == {"one": ["a:1", "a:2"], "two": ["b:1"]}
    first, second = [each for each in model.owner.held if bodies([each])[0].startswith("a")]
    model.settle(RELEASE, first)
    # It is ahead of the third, and its group is still with the one who has the second.
    assert got(model) == {"one": ["a:1"]}
    model.settle(ACCEPT, first, second)
    assert [body for each in got(model).values() for body in each] == ["a:3"]


def test_a_shared_group_goes_to_another_consumer_once_it_is_free() -> None:
    model = made(SHARED)
    one, _ = _two(model, 1, 10)
    put(model, "a:1", "a:2", header="g")
    assert got(model) == {"one": ["a:1"]}
    (first,) = model.owner.held
    model.apply(commands.SetWindow(one.windows[0], -1))
    model.settle(ACCEPT, first)
    assert got(model) == {"two": ["a:2"]}


def test_messages_without_a_key_are_one_shared_group() -> None:
    model = made(SHARED)
    _two(model)
    put(model, "1", "2", "3", header="g")
    assert list(got(model).values()) == [["1", "2", "3"]]


def test_what_is_settled_at_once_holds_no_shared_group() -> None:
    model = made(SHARED)
    _two(model, settles=True)
    put(model, "a:1", "a:2", "a:3", header="g")
    assert bodies(model.delivered()) == ["a:1", "a:2", "a:3"]
    assert not model.broker.vhosts["/"].queues["jobs"].groups


@pytest.mark.parametrize("arguments", [PINNED, SHARED])
def test_who_fetches_gets_nothing_of_a_group_that_is_anothers(arguments: dict[str, Any]) -> None:
    model = made(arguments)
    model.consume(windows=(Window(1),))
    other = model.connect()
    put(model, "a:1", "a:2", "b:1", header="g")
    assert bodies(model.delivered()) == ["a:1"]
    entry = model.apply(commands.Get(other, "jobs", False))
    assert bodies([entry]) == ["b:1"]
    assert model.apply(commands.Get(other, "jobs", False)) is None


def test_browsers_see_all_groups() -> None:
    model = made(SHARED)
    model.consume(windows=(Window(1),))
    put(model, "a:1", "a:2", header="g")
    model.delivered()
    model.consume(key="b", acquires=False)
    assert bodies(model.delivered()) == ["a:2"]


def test_the_number_of_groups_that_are_remembered_is_bound() -> None:
    model = made(PINNED)
    model.consume(settles=True)
    put(model, *[f"{number}:x" for number in range(2000)], header="g")
    assert len(model.delivered()) == 2000
    assert len(model.broker.vhosts["/"].queues["jobs"].groups) <= 256


@pytest.mark.parametrize("is_pickled", [False, True])
def test_groups_and_values_survive_a_snapshot(is_pickled: bool) -> None:
    model = made({**SHARED, **LAST})
    _two(model, 1, 1)
    model.publish("1", headers={"g": "a", "k": "x"})
    assert bodies(model.delivered()) == ["1"]
    if is_pickled:
        model.broker, model.owner = loads(dumps((model.broker, model.owner)))
    model.publish("2", headers={"g": "a", "k": "x"})
    model.publish("3", headers={"g": "a", "k": "x"})
    assert model.delivered() == []
    assert model.bodies() == ["3"]
    model.settle(ACCEPT, *list(model.owner.held))
    assert bodies(model.delivered()) == ["3"]


@given(
    st.booleans(),
    st.lists(st.tuples(st.sampled_from(("put", "accept", "release", "cancel")), st.integers(0, 3)), max_size=40),
)
def test_no_shared_group_is_with_two_and_nothing_waits_without_need(
    is_shared: bool, actions: list[tuple[str, int]]
) -> None:
    """A message waits only while its group is with a consumer that has no room, or while nobody has."""
    model = made(SHARED if is_shared else PINNED)
    consumers = [model.consume(key=str(each), windows=(Window(2, refills=True),)) for each in range(3)]
    for number, (action, which) in enumerate(actions):
        held = list(model.owner.held)
        if action == "put":
            put(model, f"{which}:{number}", header="g")
        elif action == "cancel" and number % 5 == 0 and len(consumers) > 1:
            model.apply(commands.Cancel(consumers.pop()))
        elif held and action in ("accept", "release"):
            model.settle(ACCEPT if action == "accept" else RELEASE, held[which % len(held)])
        model.effects()
        queue = model.broker.vhosts["/"].queues["jobs"]
        having: dict[Any, set[int]] = {}
        for entry in model.owner.held:
            assert entry.consumer is not None
            having.setdefault(entry.group, set()).add(entry.consumer.number)
        if is_shared:
            assert all(len(each) == 1 for each in having.values())
        for entry in queue.available():
            free = [each for each in consumers if each.has_room() and queue.may_take(entry, each)]
            assert not free, (entry, free)
