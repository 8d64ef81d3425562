"""The administration of a namespace, without a transport: requests in, status and XML out."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio_azure import AccessRule, sign
from amqp_sansio_azure.servicebus import CorrelationFilter, Options, ServiceBusNamespace, SqlFilter, Subscription
from amqp_sansio_azure.servicebus.administration import LARGEST, Administration

ATOM = "http://www.w3.org/2005/Atom"
SERVICE = "http://schemas.microsoft.com/netservices/2010/10/servicebus/connect"
QUERY = "?api-version=2021-05"


@pytest.fixture
def found() -> Administration:
    return Administration(ServiceBusNamespace())


def described(kind: str, inside: str = "") -> bytes:
    return (
        f'<entry xmlns="{ATOM}"><content type="application/xml"><{kind} xmlns="{SERVICE}" '
        f'xmlns:i="http://www.w3.org/2001/XMLSchema-instance">{inside}</{kind}></content></entry>'
    ).encode()


def fields(body: bytes) -> dict[str, str]:
    """The fields of the description in an entry."""
    (description,) = ElementTree.fromstring(body).iter(f"{{{ATOM}}}content")
    return {each.tag.rpartition("}")[2]: each.text or "" for each in description[0]}


def titles(body: bytes) -> list[str]:
    return [str(each.findtext(f"{{{ATOM}}}title")) for each in ElementTree.fromstring(body).iter(f"{{{ATOM}}}entry")]


def test_a_queue_is_made_read_listed_and_deleted(found: Administration) -> None:
    text = (
        "<LockDuration>PT30S</LockDuration><MaxSizeInMegabytes>2048</MaxSizeInMegabytes>"
        "<RequiresDuplicateDetection>true</RequiresDuplicateDetection><RequiresSession>true</RequiresSession>"
        "<DefaultMessageTimeToLive>P1D</DefaultMessageTimeToLive><MaxDeliveryCount>3</MaxDeliveryCount>"
        "<DuplicateDetectionHistoryTimeWindow>PT20S</DuplicateDetectionHistoryTimeWindow><Status>SendDisabled</Status>"
        "<ForwardDeadLetteredMessagesTo>sb://host/dead</ForwardDeadLetteredMessagesTo>"
    )
    status, body = found.answer("PUT", f"/a%2Fb{QUERY}", described("QueueDescription", text))
    assert status == 201
    assert found.namespace.queues["a/b"].store.options == Options(
        lock_duration=30.0,
        max_delivery_count=3,
        default_ttl=86_400.0,
        requires_session=True,
        duplicate_window=20.0,
        forward_dead_letters_to="dead",
        max_octets=2048 << 20,
        status="SendDisabled",
    )
    assert found.answer("GET", f"/a/b{QUERY}") == (200, body)
    told = fields(body)
    assert (told["LockDuration"], told["DefaultMessageTimeToLive"], told["Status"]) == ("PT30S", "P1D", "SendDisabled")
    assert titles(found.answer("GET", "/$Resources/queues?$skip=0&$top=10")[1]) == ["a/b"]
    assert found.answer("PUT", "/A/B", described("QueueDescription"))[0] == 409
    assert found.answer("DELETE", "/a/b") == (200, b"")
    assert found.answer("GET", "/a/b")[0] == found.answer("DELETE", "/a/b")[0] == 404


def test_topics_subscriptions_and_rules(found: Administration) -> None:
    assert found.answer("PUT", "/news", described("TopicDescription"))[0] == 201
    assert fields(found.answer("GET", "/news")[1])["SubscriptionCount"] == "0"
    assert found.answer("PUT", "/news/subscriptions/all", described("SubscriptionDescription"))[0] == 201
    rule = (
        '<DefaultRuleDescription><Filter i:type="SqlFilter"><SqlExpression>size &gt; 1</SqlExpression></Filter>'
        "<Name>big</Name></DefaultRuleDescription>"
    )
    assert found.answer("PUT", "/news/Subscriptions/big", described("SubscriptionDescription", rule))[0] == 201
    assert titles(found.answer("GET", "/$resources/topics")[1]) == ["news"]
    assert titles(found.answer("GET", "/news/subscriptions")[1]) == ["all", "big"]
    assert titles(found.answer("GET", "/$Resources/queues")[1]) == []
    store = found.namespace.queues["news/subscriptions/big"].store
    assert isinstance(store, Subscription) and isinstance(store.rules["big"].filter, SqlFilter)
    correlation = (
        '<Filter i:type="CorrelationFilter"><Label>a</Label><Properties><KeyValueOfstringanyType><Key>x</Key>'
        '<Value xmlns:l="http://www.w3.org/2001/XMLSchema" i:type="l:int">5</Value></KeyValueOfstringanyType>'
        '</Properties></Filter><Action i:type="SqlRuleAction"><SqlExpression>SET a = 1</SqlExpression></Action>'
    )
    path = "/news/subscriptions/big/rules/r"
    status, body = found.answer("PUT", path, described("RuleDescription", correlation))
    made = store.rules["r"]
    assert status == 201 and isinstance(made.filter, CorrelationFilter) and made.action is not None
    assert (made.filter.fields, made.filter.properties) == ({"subject": "a"}, {"x": 5})
    assert found.answer("GET", path) == (200, body) and b">5</Value>" in body
    assert titles(found.answer("GET", "/news/subscriptions/big/rules")[1]) == ["big", "r"]
    assert found.answer("DELETE", path)[0] == 200 and found.answer("GET", path)[0] == 404
    assert found.answer("DELETE", "/news/subscriptions/big")[0] == 200
    assert found.answer("GET", "/news/subscriptions/big")[0] == 404
    assert found.answer("DELETE", "/news")[0] == 200 and not found.namespace.queues


def test_pages_of_a_list(found: Administration) -> None:
    for number in range(120):
        found.namespace.add_queue(f"q{number:03}")
    assert len(titles(found.answer("GET", "/$Resources/queues")[1])) == 100
    assert titles(found.answer("GET", "/$Resources/queues?$skip=118&$top=100")[1]) == ["q118", "q119"]
    assert found.answer("GET", "/$Resources/queues?$skip=x")[0] == 400


WRONG: list[tuple[str, str, bytes, int]] = [
    ("PUT", "/q", b"", 400),
    ("PUT", "/q", b"<a", 400),
    ("PUT", "/q", b"<a/>", 400),
    ("PUT", "/q", b"\xff\xfe", 400),
    ("PUT", "/q", b'<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>', 400),
    ("PUT", "/q", b"x" * (LARGEST + 1), 413),
    ("PUT", "/q", described("RuleDescription"), 400),
    ("PUT", "/q$", described("QueueDescription"), 400),
    ("PUT", "/q", described("QueueDescription", "<LockDuration>1</LockDuration>"), 400),
    ("PUT", "/q", described("QueueDescription", "<MaxDeliveryCount>x</MaxDeliveryCount>"), 400),
    ("POST", "/q", b"", 405),
    ("PUT", "/no/subscriptions/s", described("SubscriptionDescription"), 404),
    ("GET", "/no/subscriptions", b"", 404),
    ("GET", "/no/subscriptions/s/rules", b"", 404),
    ("POST", "/no/subscriptions/s", b"", 405),
]


@pytest.mark.parametrize("method,target,body,status", WRONG)
def test_what_can_not_be_done(found: Administration, method: str, target: str, body: bytes, status: int) -> None:
    got, text = found.answer(method, target, body)
    assert got == status and ElementTree.fromstring(text).findtext("Code") == str(status)


def test_tokens_are_checked() -> None:
    manager, reader = AccessRule("all", "a2V5"), AccessRule("listener", "bGlzdGVu", {"Listen"})
    found = Administration(ServiceBusNamespace(rules=(manager, reader), checks_tokens=True))
    for rule, status in ((manager, 200), (reader, 401)):
        token = sign("http://host/", rule, 4_000_000_000)
        assert found.answer("GET", "/$Resources/queues", b"", token)[0] == status
    assert found.answer("GET", "/$Resources/queues")[0] == 401


@given(
    st.sampled_from(["GET", "PUT", "DELETE"]),
    st.text(st.sampled_from("ab/$%2F?"), max_size=12),
    st.text(st.sampled_from("<>/aiQ=\"' &;"), max_size=30),
)
def test_any_request_is_answered(method: str, target: str, inside: str) -> None:
    found = Administration(ServiceBusNamespace())
    body: Any = described("QueueDescription", inside)
    status, _ = found.answer(method, f"/{target}", body)
    assert status in (200, 201, 400, 404, 409)


UPDATED = [
    ("/orders", "QueueDescription", "orders"),
    ("/news", "TopicDescription", ""),
    ("/news/subscriptions/all", "SubscriptionDescription", "news/subscriptions/all"),
]


@pytest.fixture
def filled(found: Administration) -> Administration:
    for path, kind, _ in UPDATED:
        assert found.answer("PUT", path, described(kind))[0] == 201
    return found


@pytest.mark.parametrize("path,kind,queue", UPDATED)
def test_an_update_is_told_and_kept(filled: Administration, path: str, kind: str, queue: str) -> None:
    text = (
        "<LockDuration>PT30S</LockDuration><DefaultMessageTimeToLive>P1D</DefaultMessageTimeToLive>"
        "<MaxDeliveryCount>3</MaxDeliveryCount><Status>SendDisabled</Status>"
    )
    assert filled.answer("PUT", path, described(kind, text))[0] == 409
    status, body = filled.answer("PUT", path, described(kind, text), updates=True)
    assert status == 200 and filled.answer("GET", path) == (200, body)
    told = fields(body)
    assert (told["DefaultMessageTimeToLive"], told["Status"]) == ("P1D", "SendDisabled")
    if queue:
        assert (told["LockDuration"], told["MaxDeliveryCount"]) == ("PT30S", "3")
        assert filled.namespace.queues[queue].dead_letters.options.lock_duration == 30.0


@pytest.mark.parametrize("name", ["RequiresSession", "RequiresDuplicateDetection"])
def test_what_an_entity_has_for_good_is_not_updated(filled: Administration, name: str) -> None:
    before = filled.answer("GET", "/orders")
    asked = described("QueueDescription", f"<{name}>true</{name}>")
    status, text = filled.answer("PUT", "/orders", asked, updates=True)
    assert status == 400 and name in text.decode()
    assert filled.answer("GET", "/orders") == before


def test_a_rule_is_updated_in_its_place(filled: Administration) -> None:
    rules = "/news/subscriptions/all/rules"
    text = '<Filter i:type="SqlFilter"><SqlExpression>a = 1</SqlExpression></Filter>'
    assert filled.answer("PUT", f"{rules}/$Default", described("RuleDescription", text), updates=True)[0] == 200
    found = filled.namespace.queues["news/subscriptions/all"].store
    assert isinstance(found, Subscription)
    (rule,) = found.rules.values()
    assert isinstance(rule.filter, SqlFilter) and rule.filter.expression == "a = 1"


@pytest.mark.parametrize(
    "path,kind",
    [
        ("/nothing", "QueueDescription"),
        ("/news", "QueueDescription"),
        ("/orders", "TopicDescription"),
        ("/news/subscriptions/nothing", "SubscriptionDescription"),
        ("/news/subscriptions/all/rules/nothing", "RuleDescription"),
    ],
)
def test_an_update_of_what_is_not_there_is_404(filled: Administration, path: str, kind: str) -> None:
    assert filled.answer("PUT", path, described(kind), updates=True)[0] == 404
