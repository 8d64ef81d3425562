"""Findings of a session with Azure's services: refused and expired tokens, requests with their answers, throttling,
lost locks, links that are idle; and no token anywhere on the page.
"""

from __future__ import annotations

from typing import Any, Final

import pytest

from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio_report.findings import Finding, findings
from amqp_sansio_report.report import report_segments
from amqp_sansio_report.services import Services
from tests.kit.talk_1_0 import Talk10, credit, settle, transfer
from tests.tables.test_tables import packets

SECRET: Final = "SharedAccessSignature sig=s3cret"
IDLE: Final = "The link is force detached. Details: AmqpMessagePublisher.IdleTimerExpired: Idle timeout: 00:10:00."


def new_talk() -> Talk10:
    """A client with links to `$cbs`, `orders/$management` and orders; handles 0 to 4, even ones to send on."""
    talk = Talk10().open().session()
    for handle, address in ((0, "$cbs"), (2, "orders/$management"), (4, "orders")):
        talk.sender(f"out-{handle}", address, handle).server(credit(handle))
    for handle, address in ((1, "$cbs"), (3, "orders/$management"), (5, "orders")):
        talk.receiver(f"in-{handle}", handle, amqp.Source(address=address)).client(credit(handle))
    return talk


class Asking:
    """A talk with requests and answers, whose deliveries are numbered."""

    def __init__(self) -> None:
        self.talk = new_talk()
        self.asked = 0
        self.told = 0

    def ask(self, handle: int, body: Any, **fields: Any) -> None:
        """The client's request, accepted."""
        message = amqp.Message(
            amqp.AmqpValue(body), properties=amqp.Properties(message_id=f"m{self.asked}"), application_properties=fields
        )
        self.talk.client(transfer(self.asked, message, handle=handle)).server(settle(self.asked, amqp.Accepted()))
        self.asked += 1

    def answer(self, handle: int, of: int, **fields: Any) -> None:
        """The server's answer, accepted."""
        names = {name.replace("__", "-"): value for name, value in fields.items()}
        message = amqp.Message(None, properties=amqp.Properties(correlation_id=f"m{of}"), application_properties=names)
        self.talk.server(transfer(self.told, message, handle=handle)).client(settle(self.told, amqp.Accepted()))
        self.told += 1

    def put(self, status: int, text: str, expires: int | None = None) -> None:
        """A token for orders, and its answer."""
        more = {} if expires is None else {"expiration": amqp.Timestamp(expires)}
        name = "amqps://ns.example/orders"
        self.ask(0, SECRET, operation="put-token", type="jwt", name=name, security_token=SECRET, **more)
        self.answer(1, self.asked - 1, status__code=spec.Int(status), status__description=text)

    def first(self) -> Finding:
        """The first finding; no token is on its page."""
        report = report_segments(packets(self.talk))
        found = findings(report.gather)
        shown = report.text() + report.html + repr(found)
        assert "s3cret" not in shown
        return found[0]


def test_a_token_that_is_refused() -> None:
    asking = Asking()
    asking.put(401, "the signature is wrong")
    found = asking.first()
    assert (found.level, found.text) == ("error", "answer to put-token of the server, 1 time")
    assert "401 the signature is wrong (orders)" in found.more


def test_a_token_that_is_taken_is_nothing_to_tell() -> None:
    asking = Asking()
    asking.put(202, "Accepted")
    report = report_segments(packets(asking.talk))
    assert not report.gather.faults.rows


@pytest.mark.parametrize(("expires", "says"), [(1, "its token had expired at"), (None, ""), (32_503_680_000_000, "")])
def test_a_link_whose_token_has_expired(expires: int | None, says: str) -> None:
    asking = Asking()
    asking.put(200, "OK", expires)
    error = amqp.Error(amqp.Symbol("amqp:unauthorized-access"), "The token is expired. TrackingId:abc_G3")
    asking.talk.server(spec.Detach(4, True, error)).client(spec.Detach(4, True))
    found = asking.first()
    assert found.text == "detach of the server, 1 time"
    assert "TrackingId:abc_G3" in found.more and "of orders" in found.more
    assert (says in found.more) if says else ("expired at" not in found.more)


def asks(services: Services, number: int, **told: Any) -> None:
    """A request of the client."""
    fields = {"properties": {"message_id": f"m{number}"}, "application_properties": told}
    services.transfer((1, number, 0), "client", fields, ("out", "$cbs"))


def test_a_link_of_an_entity_without_a_token() -> None:
    services = Services()
    assert services.hint("amqp:unauthorized-access", "", "bills", 5) == ""
    asks(services, 1, operation="put-token", name="sb://h/orders")
    fields = {"properties": {"correlation_id": "m1"}, "application_properties": {"status-code": 200}}
    answer = services.transfer((3, 2, 0), "server", fields, ("in", "$cbs"))
    assert answer is not None and (answer.entity, answer.status, answer.took_ns) == ("orders", "200", 2)
    assert services.hint("amqp:unauthorized-access", "", "amqps://h/bills", 5) == "no token was put for bills"


@pytest.mark.parametrize(
    ("operation", "status", "condition", "says"),
    [
        ("com.microsoft:renew-lock", 410, "com.microsoft:message-lock-lost", "the lock had ended before"),
        ("com.microsoft:peek-message", 503, "com.microsoft:server-busy", "the service throttles"),
        ("com.microsoft:renew-session-lock", 410, "com.microsoft:session-lock-lost", "accept the session again"),
        ("READ", 404, "", "404 no such hub (orders/$management)"),
    ],
)
def test_a_request_to_management_with_its_answer(operation: str, status: int, condition: str, says: str) -> None:
    asking = Asking()
    asking.ask(2, None, operation=operation)
    more = {"errorCondition": amqp.Symbol(condition)} if condition else {}
    asking.answer(3, 0, statusCode=spec.Int(status), statusDescription="no such hub", **more)
    found = asking.first()
    assert found.text == f"answer to {operation} of the server, 1 time"
    assert says in found.more and (condition or str(status)) in found.more


@pytest.mark.parametrize(
    ("condition", "text", "says"),
    [
        ("amqp:link:detach-forced", IDLE, "heartbeats don't count"),
        ("com.microsoft:server-busy", "50009", "the service throttles"),
        ("com.microsoft:session-cannot-be-locked", "", "another receiver has the session"),
        ("amqp:link:stolen", "epoch 1", "taken the partition"),
    ],
)
def test_a_link_that_a_service_detaches(condition: str, text: str, says: str) -> None:
    asking = Asking()
    error = amqp.Error(amqp.Symbol(condition), text)
    asking.talk.server(spec.Detach(5, True, error)).client(spec.Detach(5, True))
    found = asking.first()
    assert found.text == "detach of the server, 1 time"
    assert condition in found.more and says in found.more


def test_a_settlement_whose_lock_is_lost() -> None:
    asking = Asking()
    talk = asking.talk.server(transfer(0, amqp.Message(b"job"), handle=5))
    talk.client(settle(0, amqp.Accepted(), settled=False))
    error = amqp.Error(amqp.Symbol("com.microsoft:message-lock-lost"), "The lock supplied is invalid.")
    talk.server(settle(0, amqp.Rejected(error), role=False))
    found = asking.first()
    assert found.text == "a settlement of the server, 1 time"
    assert "The lock supplied is invalid." in found.more and "the lock had ended before" in found.more


def test_what_is_asked_and_never_answered_is_bounded() -> None:
    services = Services()
    for number in range(1000):
        asks(services, number, operation="READ")
        tag = {"delivery_id": number, "delivery_tag": {"base64": "AAAAAAAAAAAAAAAAAAAAAA=="}}
        services.transfer((1, number, 0), "server", tag, ("in", "orders"))
    assert services.waiting == len(services.unanswered()) == 256
    assert [services.delivery(0, each) != "" for each in (743, 744, 999)] == [False, True, True]


def test_requests_are_listed_with_their_answers() -> None:
    asking = Asking()
    asking.put(202, "Accepted")
    for status in (200, 200, 410):
        asking.ask(2, None, operation="com.microsoft:renew-lock")
        more = {} if status == 200 else {"errorCondition": amqp.Symbol("com.microsoft:message-lock-lost")}
        asking.answer(3, asking.asked - 1, statusCode=spec.Int(status), **more)
    asking.ask(2, None, operation="com.microsoft:peek-message")
    report = report_segments(packets(asking.talk))
    entity = "orders/$management"
    found = {key: (times, many) for key, times, (_, many) in report.gather.requests.ranks(9)}
    assert found == {
        ("put-token", "orders", "202"): (1, 1),
        ("com.microsoft:renew-lock", entity, "200"): (2, 2),
        ("com.microsoft:renew-lock", entity, "410 com.microsoft:message-lock-lost"): (1, 1),
        ("com.microsoft:peek-message", entity, ""): (1, 0),
    }
    assert "com.microsoft:renew-lock of orders/$management" in [each.text for each in report.gather.slowest["call"]]
    assert "none was seen" in report.text() and "s3cret" not in report.text()


def test_a_client_that_never_settles_answers_of_services_is_no_finding() -> None:
    """azure-servicebus for Python doesn't; so a token is known while its answer is unsettled."""
    talk = new_talk()
    told = {"operation": "put-token", "name": "sb://h/orders", "expiration": amqp.Timestamp(1)}
    asked = amqp.Message(
        amqp.AmqpValue(SECRET), properties=amqp.Properties(message_id="m"), application_properties=told
    )
    talk.client(transfer(0, asked, handle=0))
    said = {"status-code": spec.Int(202)}
    answer = amqp.Message(None, properties=amqp.Properties(correlation_id="m"), application_properties=said)
    talk.server(transfer(0, answer, handle=1))
    talk.server(spec.Detach(5, True, amqp.Error(amqp.Symbol("amqp:unauthorized-access"), "")))
    report = report_segments(packets(talk))
    found = [each.text for each in findings(report.gather)]
    assert not any("nobody settled" in each for each in found)
    assert "its token had expired at" in findings(report.gather)[0].more


def test_errors_that_differ_in_their_tracking_id_are_one() -> None:
    asking = Asking()
    for number in range(3):
        talk = asking.talk.server(transfer(number, amqp.Message(b"job"), handle=5, tag=bytes([number]) * 16))
        talk.client(settle(number, amqp.Accepted(), settled=False))
        text = f"It is lost. TrackingId:id{number}_G0, SystemTracker:ns:Queue:orders, Timestamp:2026-11-29T01:23:02"
        error = amqp.Error(amqp.Symbol("com.microsoft:message-lock-lost"), text)
        talk.server(settle(number, amqp.Rejected(error), role=False))
    found = asking.first()
    assert found.text == "a settlement of the server, 3 times"
    lock, link = "00000000-0000-0000-0000-000000000000", "in-5 of orders"
    assert f"It is lost. (lock {lock}, link {link}) TrackingId:id0_G0" in found.more


@pytest.mark.parametrize("text", ["50009", "another one"])
def test_a_client_that_answers_with_the_same_error_tells_nothing_new(text: str) -> None:
    """The SDK for Java does."""
    asking = Asking()
    busy = amqp.Symbol("com.microsoft:server-busy")
    asking.talk.server(spec.Detach(5, True, amqp.Error(busy, "50009")))
    asking.talk.client(spec.Detach(5, True, amqp.Error(busy, text)))
    told = [each.text for each in findings(report_segments(packets(asking.talk)).gather)]
    assert "detach of the server, 1 time" in told
    assert ("detach of the client, 1 time" in told) == (text != "50009")


def test_an_error_that_explains_itself_is_not_laid_to_a_broken_rule() -> None:
    asking = Asking()
    # A receiver of the client that isn't there: this breaks a rule just before.
    asking.talk.client(spec.Detach(99, True))
    error = amqp.Error(amqp.Symbol("com.microsoft:session-lock-lost"), "")
    asking.talk.server(spec.Detach(5, True, error)).client(spec.Detach(5, True))
    report = report_segments(packets(asking.talk))
    (found,) = [each for each in findings(report.gather) if each.text == "detach of the server, 1 time"]
    assert found.more.endswith("accept the session again")


def test_each_condition_is_a_finding_of_its_own() -> None:
    asking = Asking()
    for handle, condition in ((4, "com.microsoft:server-busy"), (5, "com.microsoft:session-lock-lost")):
        error = amqp.Error(amqp.Symbol(condition), "")
        asking.talk.server(spec.Detach(handle, True, error)).client(spec.Detach(handle, True))
    report = report_segments(packets(asking.talk))
    told = [each.more for each in findings(report.gather) if each.text == "detach of the server, 1 time"]
    assert len(told) == 2 and "throttles" in told[0] and "accept the session again" in told[1]
    assert "link out-4 of orders" in told[0] and "link in-5 of orders" in told[1]


def test_a_publish_that_is_throttled() -> None:
    asking = Asking()
    error = amqp.Error(amqp.Symbol("com.microsoft:server-busy"), "50009 TrackingId:x_G1")
    asking.talk.client(transfer(0, amqp.Message(b"job"), handle=4)).server(settle(0, amqp.Rejected(error)))
    found = asking.first()
    assert found.text == "1 publish rejected by the server"
    assert "orders" in found.more and "the service throttles" in found.more


def test_a_connection_without_links_that_the_service_closes() -> None:
    text = "The connection was inactive for more than the allowed 300000 milliseconds and is closed by container 'L'."
    asking = Asking()
    asking.talk.server(spec.Close(amqp.Error(amqp.Symbol("amqp:connection:forced"), text))).client(spec.Close())
    found = asking.first()
    assert found.text == "1 connection closed by the server with an error"
    assert "the connection had no link for that time" in found.more
