"""Tokens at $cbs, and what they give: signature, audience, expiry, and the rights of a rule."""

from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64encode
from hashlib import sha256
from hmac import new
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio.amqp_1_0.codec.conditions import DETACH_FORCED, NOT_FOUND, UNAUTHORIZED_ACCESS
from amqp_sansio.sasl import Plain
from amqp_sansio_azure import AccessRule, Clocks, sign
from amqp_sansio_azure.servicebus import ServiceBusNamespace
from tests.kit.azure import EPOCH, BusWorld, Pair, User

ALL = AccessRule("all", "a2V5")
SENDER = AccessRule("sender", "c2VuZA==", {"Send"})
LISTENER = AccessRule("listener", "bGlzdGVu", {"Listen"})
LATER = int(EPOCH) + 3600


@pytest.fixture
def world() -> BusWorld:
    made = BusWorld(ServiceBusNamespace(rules=(ALL, SENDER, LISTENER), checks_tokens=True))
    made.queue("orders")
    made.queue("orders/more")
    made.queue("other")
    return made


def put(user: User, audience: str, token: str) -> tuple[int, str]:
    told = user.put_token(audience, token).application_properties
    return int(told["status-code"]), str(told["status-description"])


def refused(user: User, address: str, *, sends: bool) -> str:
    session = user.session()
    return user.refused(session.open_sender(address) if sends else session.open_receiver(address))


def claims(**values: Any) -> str:
    parts = [urlsafe_b64encode(json.dumps(each).encode()).decode().rstrip("=") for each in ({"alg": "none"}, values)]
    return ".".join([*parts, "signature"])


@pytest.mark.parametrize("scheme", ["sb", "amqps", "https"])
def test_a_right_signature_opens_its_entity(world: BusWorld, scheme: str) -> None:
    user = world.connect()
    audience = f"{scheme}://host/Orders"
    assert put(user, audience, sign(audience, ALL, LATER))[0] in (200, 202)
    user.sender("orders")
    user.receiver("sb://host:5672/orders")
    assert refused(user, "other", sends=True) == UNAUTHORIZED_ACCESS
    assert user.end.is_open


def test_a_token_of_the_namespace_opens_every_entity(world: BusWorld) -> None:
    user = world.connect()
    assert put(user, "sb://host/other", sign("sb://host", ALL, LATER))[0] == 202
    assert refused(user, "orders", sends=True) == UNAUTHORIZED_ACCESS
    assert put(user, "sb://host", sign("sb://host", ALL, LATER))[0] == 202
    user.sender("orders")


def escaped(audience: str, kind: str) -> str:
    """The text of an audience in a token."""
    if kind == "not at all":
        return audience
    if kind == "spaces and slashes":
        return quote(audience)
    found = quote_plus(audience)
    return found.lower() if kind == "in lower case" else found


@pytest.mark.parametrize("kind", ["in upper case", "in lower case", "spaces and slashes", "not at all"])
def test_a_signature_is_of_the_audience_as_it_is_escaped(world: BusWorld, kind: str) -> None:
    """The SDK for Go writes %2f, that for Python %2F."""
    user = world.connect()
    text = escaped("sb://host/Orders", kind)
    signature = quote_plus(b64encode(new(ALL.key.encode(), f"{text}\n{LATER}".encode(), sha256).digest()))
    token = f"SharedAccessSignature sr={text}&sig={signature}&se={LATER}&skn=all"
    assert put(user, "sb://host/orders", token)[0] == 202
    user.sender("orders")


WRONG = {
    "another key": sign("sb://host/orders", AccessRule("all", "b3RoZXI="), LATER),
    "an unknown rule": sign("sb://host/orders", AccessRule("nobody", "a2V5"), LATER),
    "another entity": sign("sb://host/other", ALL, LATER),
    "a longer name": sign("sb://host/order", ALL, LATER),
    "another host": sign("sb://elsewhere/orders", ALL, LATER),
    "expired": sign("sb://host/orders", ALL, int(EPOCH)),
    "no expiry": sign("sb://host/orders", ALL, LATER).replace(f"&se={LATER}", ""),
    "no signature": "SharedAccessSignature sr=sb%3A%2F%2Fhost%2Forders",
    "no token": "anything",
    "a web token that has expired": claims(exp=int(EPOCH) - 1),
    "a web token without expiry": claims(sub="me"),
    "a web token that isn't JSON": "a.b.c",
    "a web token that is a list": "e30." + urlsafe_b64encode(b"[1]").decode().rstrip("=") + ".x",
}


@pytest.mark.parametrize("why", WRONG)
def test_a_wrong_token_is_401_and_opens_nothing(world: BusWorld, why: str) -> None:
    user = world.connect()
    status, text = put(user, "sb://host/orders", WRONG[why])
    assert status == 401 and "TrackingId:" in text
    assert refused(user, "orders", sends=True) == UNAUTHORIZED_ACCESS
    assert user.end.is_open


def test_a_web_token_is_asked_for_its_expiry_alone(world: BusWorld) -> None:
    user = world.connect()
    assert put(user, "sb://host/orders", claims(exp=LATER))[0] == 202
    user.sender("orders")


@pytest.mark.parametrize("rule,sends", [(SENDER, True), (LISTENER, False)])
def test_a_rule_gives_its_own_rights(world: BusWorld, rule: AccessRule, sends: bool) -> None:
    user = world.connect()
    put(user, "sb://host/orders", sign("sb://host/orders", rule, LATER))
    if sends:
        user.sender("orders")
    else:
        user.receiver("orders")
    assert refused(user, "orders", sends=not sends) == UNAUTHORIZED_ACCESS
    status, _, condition = user.manage("orders", "peek-message", {"message-count": spec.Int(1)})
    assert (status, condition) == ((401, UNAUTHORIZED_ACCESS) if sends else (204, "com.microsoft:message-not-found"))


def test_manage_is_all_rights_and_others_are_refused() -> None:
    assert AccessRule("m", "k", {"Manage"}).rights == {"Send", "Listen", "Manage"}
    with pytest.raises(ValueError, match="'Write' is none of"):
        AccessRule("m", "k", {"Write"})


@pytest.mark.parametrize("audience", ["sb://host", "sb://host/orders", "sb://host/orders/$management"])
@pytest.mark.parametrize("operation", ["peek-message", "cancel-scheduled-message", "renew-lock", "enumerate-rules"])
def test_a_token_for_the_management_node_is_enough_for_its_operations(audience: str, operation: str) -> None:
    """The SDKs for JavaScript and Go put one for that node alone."""
    world = BusWorld(ServiceBusNamespace(rules=(ALL, SENDER, LISTENER), checks_tokens=True))
    world.queue("orders")
    user = world.connect()
    assert put(user, audience, sign(audience, ALL, LATER))[0] == 202
    assert user.manage("orders", operation, {})[0] != 401
    if audience.endswith("$management"):
        assert refused(user, "orders", sends=True) == UNAUTHORIZED_ACCESS


def test_links_are_dropped_when_their_token_expires(world: BusWorld) -> None:
    user = world.connect()
    for name in ("orders", "other"):
        put(user, f"sb://host/{name}", sign(f"sb://host/{name}", ALL, int(EPOCH) + (300 if name == "orders" else 900)))
    links: list[Any] = [user.sender("orders"), user.receiver("orders"), user.sender("other")]
    pair = Pair(user, "orders/$management")
    world.advance(299)
    assert all(each.is_open for each in links)
    world.advance(2)
    assert [each.is_open for each in links] == [False, False, True]
    assert user.refused(links[0]) == UNAUTHORIZED_ACCESS and not pair.sender.is_open
    assert user.end.is_open


def test_a_renewed_token_keeps_links(world: BusWorld) -> None:
    user = world.connect()
    put(user, "sb://host/orders", sign("sb://host/orders", ALL, int(EPOCH) + 300))
    link = user.sender("orders")
    world.advance(200)
    put(user, "sb://host/orders", sign("sb://host/orders", ALL, int(EPOCH) + 500))
    world.advance(200)
    assert link.is_open
    world.advance(101)
    assert not link.is_open


def test_a_client_of_plain_has_the_rights_of_its_rule(world: BusWorld) -> None:
    user = world.connect(sasl=Plain("sender", SENDER.key))
    user.sender("orders")
    assert refused(user, "orders", sends=False) == UNAUTHORIZED_ACCESS


def test_a_wrong_key_of_plain_is_refused(world: BusWorld) -> None:
    user = world.user(sasl=Plain("sender", "wrong"))
    world.pump()
    assert not user.end.is_open


@pytest.mark.parametrize("message_id", ["1", 7, b"ab"])
def test_the_reply_has_the_id_of_the_request(world: BusWorld, message_id: Any) -> None:
    pair = Pair(world.connect(), "$cbs")
    wanted = spec.ULong(message_id) if isinstance(message_id, int) else message_id
    pair.ask("put-token", "x", wanted, name="sb://host/orders")


def test_other_operations_of_cbs_are_501_by_name(world: BusWorld) -> None:
    reply = Pair(world.connect(), "$cbs").ask("take-token", "x", name="sb://host/orders")
    assert reply.application_properties["status-code"] == 501
    assert "take-token" in reply.application_properties["status-description"]


@pytest.mark.parametrize("body,properties", [(7, {"name": "a"}), ("x", {}), ("x" * 70_000, {"name": "a"})])
def test_a_request_without_a_name_or_token_is_400(world: BusWorld, body: Any, properties: dict[str, str]) -> None:
    reply = Pair(world.connect(), "$cbs").ask("put-token", body, **properties)
    assert reply.application_properties["status-code"] == 400


def test_a_token_may_be_octets(world: BusWorld) -> None:
    token = sign("sb://host/orders", ALL, LATER).encode()
    reply = Pair(world.connect(), "$cbs").ask("put-token", token, name="sb://host/orders")
    assert reply.application_properties["status-code"] == 202


def test_without_checks_any_token_does_and_does_not_expire() -> None:
    world = BusWorld()
    world.queue()
    user = world.connect("sb://host/orders")
    link = user.sender("orders")
    for _ in range(20):
        world.advance(500)
        user.send(link, b"x")
    assert link.is_open


def test_nothing_but_cbs_opens_without_a_token() -> None:
    world = BusWorld()
    world.queue()
    user = world.connect()
    assert refused(user, "orders", sends=True) == UNAUTHORIZED_ACCESS
    assert refused(user, "orders/$management", sends=True) == UNAUTHORIZED_ACCESS
    assert user.refused(user.session().open_sender(spec.Coordinator())) == UNAUTHORIZED_ACCESS
    assert user.end.is_open


def test_an_entity_that_is_not_there_is_not_found_by_name_and_the_connection_stays() -> None:
    world = BusWorld()
    user = world.client()
    link = user.session().open_sender("nowhere")
    assert user.refused(link) == NOT_FOUND
    failed = [each for each in user.of(amqp.LinkFailed)][-1]
    assert "nowhere" in str(failed.error) and "TrackingId:" in str(failed.error)
    assert link.remote is not None and link.remote.target is None
    assert user.end.is_open


def clocked(**clocks: float) -> BusWorld:
    world = BusWorld(ServiceBusNamespace(clocks=Clocks(**clocks)))
    world.queue()
    return world


def test_a_connection_without_a_token_is_closed() -> None:
    world = clocked()
    user, other = world.connect(), world.connect("sb://host")
    world.advance(21)
    assert not user.end.is_open and other.end.is_open


@pytest.mark.parametrize("seconds,first", [(61, True), (301, False)])
def test_a_connection_without_links_is_closed(seconds: float, first: bool) -> None:
    world = clocked()
    user = world.connect("sb://host")
    if not first:
        user.sender("orders").close()
    world.advance(seconds - 2)
    assert user.end.is_open
    world.advance(3)
    assert not user.end.is_open
    assert user.end.report is not None
    assert f"{(seconds - 1) * 1000} milliseconds" in str(user.end.report)


def test_a_link_without_messages_is_detached_and_others_stay() -> None:
    world = clocked()
    user = world.client()
    idle, busy = user.sender("orders"), user.sender("orders")
    reader = user.receiver("orders")
    for _ in range(3):
        world.advance(250)
        user.send(busy, b"x")
    assert user.refused(idle) == user.refused(reader) == DETACH_FORCED
    texts = [str(each.error) for each in user.of(amqp.LinkFailed)]
    assert any("AmqpMessagePublisher.IdleTimerExpired: Idle timeout: 00:10:00" in each for each in texts)
    assert any("AmqpMessageConsumer.IdleTimerExpired" in each for each in texts)
    assert busy.is_open and user.end.is_open
    world.advance(601)
    assert not busy.is_open


def test_a_clock_of_zero_never_rings() -> None:
    world = clocked(first_token=0, first_link=0, no_link=0, idle=0)
    user, other = world.connect(), world.client()
    link = other.sender("orders")
    for _ in range(30):
        world.advance(200)
        assert user.end.is_open
    assert link.is_open


def test_audiences_of_a_connection_are_bounded() -> None:
    world = BusWorld()
    user = world.connect()
    pair = Pair(user, "$cbs")
    codes = [int(pair.ask("put-token", "x", name=f"e{n}").application_properties["status-code"]) for n in range(1001)]
    assert set(codes[:1000]) == {202} and codes[1000] == 403
