"""Topics, subscriptions and their rules: what each filter selects, what an action changes, rules by requests."""

from __future__ import annotations

from typing import Any

import pytest

from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio.amqp_1_0.codec.conditions import NOT_ALLOWED, NOT_FOUND
from amqp_sansio_azure.conditions import ARGUMENT_ERROR, ENTITY_ALREADY_EXISTS
from amqp_sansio_azure.servicebus import (
    Action,
    CorrelationFilter,
    FalseFilter,
    Options,
    Rule,
    RuleError,
    SqlFilter,
    Subscription,
    TrueFilter,
)
from tests.kit.azure import EPOCH, BusWorld, User, message

ALL = "news/Subscriptions/all"


@pytest.fixture
def world() -> BusWorld:
    made = BusWorld()
    made.bus.add_topic("news")
    made.bus.add_subscription("news", "all")
    return made


def subscribed(world: BusWorld, name: str, *rules: Rule, **options: Any) -> str:
    world.bus.add_subscription("news", name, Options(**options), rules)
    return f"news/Subscriptions/{name}"


def rest(user: User, address: str) -> list[Any]:
    return user.bodies(user.deleting(address))


SELECTED: list[tuple[str, bool]] = [
    ("colour = 'red'", True),
    ("colour = 'blue'", False),
    ("user.colour = 'red'", True),
    ("[colour] = 'red'", True),
    ("\"colour\" = 'red'", True),
    ("[the count] > 2", True),
    ("user.[the count] < 2", False),
    ("sys.Label = 'subject'", True),
    ("SYS.label LIKE 'sub%'", True),
    ("sys.CorrelationId = 'c' AND sys.MessageId = 'm'", True),
    ("sys.To = 'to' OR sys.ReplyTo = 'x'", True),
    ("sys.SessionId IS NULL", True),
    ("EXISTS(colour)", True),
    ("exists ( size )", False),
    ("NOT EXISTS([the count])", False),
    ("EXISTS(sys.Label) AND price * 2 >= 5", True),
    ("colour IN ('red', 'green')", True),
    ("colour != 'red'", False),
    ("price > 2 and price <> 3", True),
    ("size > 1", False),
    ("colour = 'it''s [red] @ sys.Label'", False),
    ("flag = TRUE", True),
    ("1=1", True),
    ("1=0", False),
    ("price-0.5 = 2", True),
]


@pytest.mark.parametrize("expression,selected", SELECTED)
def test_sql_filters(expression: str, selected: bool) -> None:
    application = {"colour": "red", "price": 2.5, "the count": 3, "flag": True}
    found = message(subject="subject", correlation_id="c", message_id="m", to="to", application_properties=application)
    assert SqlFilter(expression).matches(found) == selected


BROKEN = [
    *(
        "",
        " ",
        "colour =",
        "colour = 'red",
        "[colour = 1",
        "sys.Nothing = 1",
        "colour = @value",
        "EXISTS()",
        "EXISTS(a",
    ),
    *("EXISTS(a b)", "(" * 200, "x" * 1025, "a LIKE 5 5", "colour ! 1"),
]


@pytest.mark.parametrize("expression", BROKEN)
def test_a_filter_that_does_not_parse(expression: str) -> None:
    with pytest.raises(RuleError):
        SqlFilter(expression)


CORRELATIONS: list[tuple[dict[str, str], dict[str, Any], bool]] = [
    ({"subject": "subject"}, {}, True),
    ({"subject": "Subject"}, {}, False),
    ({"correlation_id": "c", "message_id": "m"}, {"colour": "red"}, True),
    ({"group_id": "s"}, {}, False),
    ({}, {"price": 2.5, "flag": True}, True),
    ({}, {"flag": 1}, False),
    ({}, {"missing": 1}, False),
    ({"content_type": "text/plain"}, {}, True),
]


@pytest.mark.parametrize("fields,properties,selected", CORRELATIONS)
def test_correlation_filters(fields: dict[str, str], properties: dict[str, Any], selected: bool) -> None:
    found = message(
        subject="subject",
        correlation_id="c",
        message_id="m",
        content_type=amqp.Symbol("text/plain"),
        application_properties={"colour": "red", "price": 2.5, "flag": True},
    )
    assert CorrelationFilter(fields, properties).matches(found) == selected
    assert not CorrelationFilter(fields, properties).matches(message())


@pytest.mark.parametrize("fields,properties", [({}, {}), ({"nothing": "a"}, {}), ({}, {str(n): n for n in range(33)})])
def test_correlation_filters_that_can_not_be(fields: dict[str, str], properties: dict[str, Any]) -> None:
    with pytest.raises(RuleError):
        CorrelationFilter(fields, properties)


def test_actions_change_properties() -> None:
    text = "SET sys.Label = 'n;ew'; SET [the count] = price + 1 ; REMOVE colour; set user.size = 'big';"
    found = Action(text).apply(message(subject="old", application_properties={"colour": "red", "price": 2}))
    assert found.subject == "n;ew"
    assert found.application_properties == {"price": 2, "the count": 3, "size": "big"}


@pytest.mark.parametrize(
    "text",
    ["", ";", "SET", "SET a", "SET a 1", "SET = 1", "REMOVE", "REMOVE a b", "DROP a", "SET sys.No = 1", "SET a ="],
)
def test_actions_that_do_not_parse(text: str) -> None:
    with pytest.raises(RuleError):
        Action(text)


@pytest.mark.parametrize("name", ["", "x" * 51])
def test_names_of_rules(name: str) -> None:
    with pytest.raises(RuleError):
        Rule(name, TrueFilter())


def test_each_subscription_gets_what_its_rules_select(world: BusWorld) -> None:
    red = subscribed(world, "red", Rule("r", SqlFilter("colour = 'red'")))
    none = subscribed(world, "none", Rule("r", FalseFilter()))
    both = subscribed(world, "both", Rule("a", SqlFilter("colour = 'red'")), Rule("b", SqlFilter("size > 1")))
    user = world.client()
    sender = user.sender("news")
    user.send(sender, message(b"1", application_properties={"colour": "red", "size": 2}))
    user.send(sender, message(b"2", application_properties={"size": 2}), b"3")
    assert [rest(user, each) for each in (ALL, red, none, both)] == [[b"1", b"2", b"3"], [b"1"], [], [b"1", b"2"]]


def test_each_rule_with_an_action_makes_a_copy(world: BusWorld) -> None:
    path = subscribed(
        world,
        "copies",
        Rule("plain", TrueFilter()),
        Rule("also", TrueFilter()),
        Rule("a", TrueFilter(), Action("SET kind = 'a'")),
        Rule("b", TrueFilter(), Action("SET kind = 'b'")),
    )
    user = world.client()
    user.send(user.sender("news"), message(b"1", application_properties={"x": 1}))
    found = user.take(user.deleting(path))
    assert [each.message.application_properties.get("kind") for each in found] == [None, "a", "b"]


def test_a_message_has_its_number_in_the_topic_too(world: BusWorld) -> None:
    late = subscribed(world, "late", Rule("r", SqlFilter("late = TRUE")))
    user = world.client()
    user.send(user.sender("news"), b"1", message(b"2", application_properties={"late": True}))
    (found,) = user.take(user.deleting(late))
    told = found.message.message_annotations
    assert told[amqp.Symbol("x-opt-sequence-number")] == 1
    assert told[amqp.Symbol("x-opt-enqueue-sequence-number")] == 2


def test_subscriptions_have_dead_letters_and_topics_are_not_received_from(world: BusWorld) -> None:
    user = world.client()
    user.send(user.sender("news"), b"1")
    link = user.locking(ALL)
    (found,) = user.take(link)
    user.settle(link, found, amqp.Rejected())
    assert rest(user, f"{ALL}/$DeadLetterQueue") == [b"1"]
    assert user.refused(user.session().open_receiver("news")) == NOT_ALLOWED
    assert user.refused(user.session().open_sender(ALL)) == NOT_ALLOWED


def test_a_topic_keeps_scheduled_messages_and_can_cancel_them(world: BusWorld) -> None:
    user = world.client()
    later = {amqp.Symbol("x-opt-scheduled-enqueue-time"): amqp.Timestamp(int((EPOCH + 100) * 1000))}
    user.send(user.sender("news"), *[message(each, annotations=later) for each in (b"1", b"2")])
    body = {"sequence-numbers": spec.Array([1], int)}
    assert user.manage("news", "cancel-scheduled-message", body)[0] == 200
    world.advance(101)
    assert rest(user, ALL) == [b"2"]


def test_duplicates_are_dropped_by_the_topic(world: BusWorld) -> None:
    world.bus.add_topic("once", Options(duplicate_window=60.0))
    world.bus.add_subscription("once", "s")
    user = world.client()
    user.send(user.sender("once"), *[message(message_id="a")] * 3)
    assert len(rest(user, "once/subscriptions/s")) == 1


def test_a_subscription_forwards(world: BusWorld) -> None:
    world.queue("end")
    subscribed(world, "on", Rule("r", TrueFilter()), forward_to="end")
    user = world.client()
    user.send(user.sender("news"), b"1")
    assert rest(user, "end") == [b"1"]


def test_a_subscription_with_sessions_buries_messages_without_one(world: BusWorld) -> None:
    path = subscribed(world, "sessions", Rule("r", TrueFilter()), requires_session=True)
    user = world.client()
    assert user.send(user.sender("news"), b"1") == [amqp.Accepted()]
    assert rest(user, f"{path}/$DeadLetterQueue") == [b"1"]


def test_the_time_to_live_of_a_topic(world: BusWorld) -> None:
    world.bus.add_topic("short", Options(default_ttl=10.0))
    queue = world.bus.add_subscription("short", "s")
    user = world.client()
    user.send(user.sender("short"), b"1")
    world.advance(11)
    assert not queue.store.messages


@pytest.mark.parametrize("buries", [False, True])
def test_an_action_that_fails_makes_a_dead_letter_or_none(world: BusWorld, buries: bool) -> None:
    # An integer beyond 64 bits is no value that a message can carry.
    rule = Rule("r", TrueFilter(), Action("SET kind = 9223372036854775807 * 3"))
    path = subscribed(world, "bad", rule, dead_letters_filter_errors=buries)
    user = world.client()
    assert user.send(user.sender("news"), b"1") == [amqp.Accepted()]
    assert len(rest(user, path)) + len(rest(user, f"{path}/$DeadLetterQueue")) <= 1


# Rules by requests.


def enumerated(user: User, **body: Any) -> list[amqp.Described]:
    status, answer, _ = user.manage(ALL, "enumerate-rules", {"top": spec.Int(100), "skip": spec.Int(0), **body})
    return [each["rule-description"] for each in answer["rules"]] if status == 200 else []


def test_the_default_rule_is_enumerated_and_removed(world: BusWorld) -> None:
    user = world.client()
    (rule,) = enumerated(user)
    assert rule.descriptor == 0x13700000004
    found, action, name, created = rule.value
    assert (found.descriptor, action.descriptor, name) == (0x1370000007, 0x13700000005, "$Default")
    assert isinstance(created, amqp.Timestamp)
    assert user.manage(ALL, "remove-rule", {"rule-name": "$Default"})[0] == 200
    assert user.manage(ALL, "remove-rule", {"rule-name": "$Default"})[::2] == (404, NOT_FOUND)
    user.send(user.sender("news"), b"1")
    assert enumerated(user) == [] and rest(user, ALL) == []


def test_a_sql_rule_is_added(world: BusWorld) -> None:
    user = world.client()
    user.manage(ALL, "remove-rule", {"rule-name": "$Default"})
    description = {"sql-filter": {"expression": "size > 1"}, "sql-rule-action": {"expression": "SET seen = TRUE"}}
    body = {"rule-name": "big", "rule-description": description}
    assert user.manage(ALL, "add-rule", body)[0] == 200
    assert user.manage(ALL, "add-rule", body)[::2] == (409, ENTITY_ALREADY_EXISTS)
    (rule,) = enumerated(user)
    found, action, name, _ = rule.value
    assert (found.descriptor, found.value[0], name) == (0x1370000006, "size > 1", "big")
    assert (action.descriptor, action.value[0]) == (0x13700000006, "SET seen = TRUE")
    user.send(user.sender("news"), b"1", message(b"2", application_properties={"size": 2}))
    (got,) = user.take(user.deleting(ALL))
    assert got.body == b"2" and got.message.application_properties["seen"] is True


def test_a_correlation_rule_is_added(world: BusWorld) -> None:
    user = world.client()
    user.manage(ALL, "remove-rule", {"rule-name": "$Default"})
    given = {"label": "a", "to": None, "properties": {"x": 1}}
    body = {"rule-name": "r", "rule-description": {"correlation-filter": given, "sql-rule-action": None}}
    assert user.manage(ALL, "add-rule", body)[0] == 200
    (rule,) = enumerated(user)
    found = rule.value[0]
    assert found.descriptor == 0x1370000009
    assert list(found.value) == [None, None, None, None, "a", None, None, None, {"x": 1}]
    user.send(user.sender("news"), b"1", message(b"2", subject="a", application_properties={"x": 1}))
    assert rest(user, ALL) == [b"2"]


@pytest.mark.parametrize("kind", ["true-filter", "false-filter"])
def test_true_and_false_rules_are_added(world: BusWorld, kind: str) -> None:
    user = world.client()
    user.manage(ALL, "remove-rule", {"rule-name": "$Default"})
    body: Any = {"rule-name": "r", "rule-description": {kind: {}}}
    assert user.manage(ALL, "add-rule", body)[0] == 200
    assert enumerated(user)[0].value[0].descriptor == (0x1370000007 if kind == "true-filter" else 0x1370000008)


WRONG: list[Any] = [
    None,
    {},
    7,
    {"sql-filter": {"expression": "size >"}},
    {"sql-filter": None},
    {"correlation-filter": {}},
    {"sql-filter": {"expression": "1=1"}, "sql-rule-action": {"expression": "DROP x"}},
]


@pytest.mark.parametrize("description", WRONG)
def test_a_rule_that_does_not_parse_is_400(world: BusWorld, description: Any) -> None:
    user = world.client()
    body = {"rule-name": "r", "rule-description": description}
    assert user.manage(ALL, "add-rule", body)[::2] == (400, ARGUMENT_ERROR)
    assert len(enumerated(user)) == 1


def test_rules_are_those_of_subscriptions(world: BusWorld) -> None:
    user = world.client()
    assert user.manage("news", "enumerate-rules", {})[::2] == (400, NOT_ALLOWED)


# Entities.


def test_topics_and_subscriptions_are_deleted(world: BusWorld) -> None:
    user = world.client()
    link = user.locking(ALL)
    world.bus.delete("news/subscriptions/ALL")
    assert user.refused(link) == NOT_FOUND
    world.bus.add_subscription("news", "all")
    world.bus.delete("News")
    assert world.bus.queues == {} and world.bus.topics == {}
    assert user.refused(user.session().open_sender("news")) == NOT_FOUND


def test_entities_have_one_name_each_and_a_bound(world: BusWorld) -> None:
    from amqp_sansio.broker.nodes import Refusal

    with pytest.raises(Refusal, match="already exists"):
        world.queue("News")
    with pytest.raises(Refusal, match="already exists"):
        world.bus.add_subscription("news", "All")
    with pytest.raises(Refusal, match="could not be found"):
        world.bus.add_subscription("nowhere", "s")
    with pytest.raises(ValueError, match="slash"):
        world.bus.add_subscription("news", "a/b")
    world.bus.most_entities = 2
    with pytest.raises(Refusal, match="2 entities"):
        world.queue("more")
    with pytest.raises(Refusal, match="could not be found"):
        world.bus.delete("nothing")


def test_rules_of_a_subscription_are_bounded(world: BusWorld) -> None:
    user = world.client()
    store = world.bus.queues[ALL.lower()].store
    assert isinstance(store, Subscription)
    for number in range(1999):
        store.add_rule(Rule(f"r{number}", FalseFilter()))
    body: Any = {"rule-name": "one more", "rule-description": {"true-filter": {}}}
    assert user.manage(ALL, "add-rule", body)[0] == 403
