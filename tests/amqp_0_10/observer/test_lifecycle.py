"""What becomes of messages on a connection of 0-10, and what is known of the connection, by the lifecycle."""

import base64
import json
from typing import Any
from uuid import UUID

import pytest

from amqp_sansio import AMQP_0_10, Limits, LocalProtocolError
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.observer import Observed
from amqp_sansio.recorded._json import FieldWriter, encode
from amqp_sansio.recorded.lifecycle import MessageRecord
from tests.kit.talk_0_10 import Talk010, completed, transfer


def _talk(limits: Limits | None = None) -> Talk010:
    return Talk010(limits=limits).open().session()


def _ids(*ids: int) -> amqp.SequenceSet:
    return amqp.SequenceSet.of(*ids)


def _record(talk: Talk010, kind: str) -> MessageRecord:
    (found,) = [message for message in talk.messages if message.kind == kind]
    return found


# The client's messages.


@pytest.mark.rule("0-10/session.completed/merged", "0-10/session.completed/delayed")
def test_messages_are_accepted_when_they_are_completed() -> None:
    talk = _talk().client(transfer("ex", b"1"), transfer("ex", b"22"), transfer("ex", b"3"))
    assert not talk.messages
    talk.server(completed(0, 1))
    assert talk.outcomes() == [("publish", 0, "accepted"), ("publish", 1, "accepted")]
    first = talk.messages[0]
    assert (first.exchange, first.routing_key, first.body_size, first.link) == ("ex", "key", 1, "s")
    assert (first.settled_seq, first.latency_ns) == (talk.observed[-1].seq, 1_000_000_000)
    talk.server(completed(0, 1)).finish()
    assert talk.outcomes()[2:] == [("publish", 2, None)]


@pytest.mark.rule("0-10/message.transfer/nonexistent-exchange")
def test_an_exception_ends_the_message_that_caused_it() -> None:
    talk = _talk().client(transfer("no", b"1"), transfer("no", b"2"))
    talk.server(spec.ExecutionException(404, 1, description="no exchange"), spec.SessionDetached(b"s", 0))
    assert talk.outcomes() == [("publish", 0, None), ("publish", 1, "rejected")]
    rejected = talk.messages[0]
    assert (rejected.code, rejected.text) == (404, "no exchange")
    assert talk.observed[-2].answers == rejected.seq


def test_a_message_that_is_rejected_or_given_back() -> None:
    talk = _talk().client(*[transfer("ex")] * 3)
    talk.server(spec.MessageReject(_ids(0), 1, "unroutable"), spec.MessageRelease(_ids(1)))
    talk.server(spec.MessageAccept(_ids(2)), completed(0, 1, 2)).finish()
    outcomes = [outcome for _, _, outcome in talk.outcomes()]
    assert outcomes == ["rejected", "released", "accepted"]
    assert (talk.messages[0].code, talk.messages[0].text) == (1, "unroutable")


def test_ids_that_wrap() -> None:
    talk = Talk010().open().session(number=4_294_967_295).client(*[transfer("ex")] * 3)
    talk.server(completed(4_294_967_295, 0)).finish()
    assert talk.outcomes() == [("publish", 4_294_967_295, "accepted"), ("publish", 0, "accepted"), ("publish", 1, None)]


# The server's messages.


@pytest.mark.rule("0-10/message.cancel/post-cancel")
def test_deliveries_are_settled_by_the_client() -> None:
    talk = _talk().subscribe().server(*[transfer("d", accept_mode=0)] * 5)
    talk.client(completed(0, 1, 2, 3, 4), spec.MessageAccept(_ids(0, 1)), spec.MessageRelease(_ids(2)))
    talk.client(spec.MessageCancel("d"), spec.MessageReject(_ids(3), 2, "why")).finish()
    assert [outcome for _, _, outcome in talk.outcomes()] == ["accepted", "accepted", "released", "rejected", None]
    first = talk.messages[0]
    assert (first.queue, first.address, first.consumer_tag) == ("q", "q", "d")
    assert (first.exchange, first.routing_key, first.redelivered) == (None, "key", False)
    assert [message.code for message in talk.messages if message.outcome == "rejected"] == [2]


def test_properties_of_a_delivery() -> None:
    number = UUID(int=7)
    structs = (
        amqp.DeliveryProperties(exchange="ex", routing_key="k", redelivered=True),
        amqp.MessageProperties(
            message_id=number, correlation_id=b"corr", content_type="text/plain", application_headers={"a": [1, None]}
        ),
    )
    talk = _talk().subscribe().server(transfer("d", b"x", *structs)).client(spec.MessageAccept(_ids(0)))
    record = _record(talk, "deliver")
    assert (record.message_id, record.correlation_id) == (str(number), "corr")
    assert (record.content_type, record.headers) == ("text/plain", {"a": [1, None]})
    assert (record.exchange, record.routing_key, record.redelivered) == ("ex", "k", True)


def test_without_accepting_a_delivery_is_settled_when_it_is_completed() -> None:
    talk = _talk().subscribe(accept_mode=1).server(transfer("d"), transfer("d"), transfer("d"))
    talk.client(completed(0))
    assert talk.outcomes() == [("deliver", 0, "settled")]
    talk.client(spec.MessageAccept(_ids(1))).finish()
    assert [outcome for _, _, outcome in talk.outcomes()] == ["settled"] * 3
    assert [message.settled_seq is None for message in talk.messages] == [False, True, True]


# Transactions.


@pytest.mark.rule("0-10/message.transfer/tx-publish", "0-10/tx.commit/order")
def test_a_transaction_settles_what_it_holds() -> None:
    talk = _talk().client(spec.TxSelect(), transfer("ex"), transfer("ex")).server(completed(0, 1, 2))
    assert not talk.messages
    talk.client(spec.TxCommit(), transfer("ex")).server(completed(0, 1, 2, 3, 4))
    assert talk.outcomes() == [("publish", 1, "accepted"), ("publish", 2, "accepted")]
    assert {message.settled_seq for message in talk.messages} == {talk.observed[-1].seq}
    talk.client(spec.TxRollback()).server(completed(0, 1, 2, 3, 4, 5))
    assert talk.outcomes()[2:] == [("publish", 4, "released")]
    talk.client(transfer("ex")).finish()
    assert talk.outcomes()[3:] == [("publish", 6, None)]


@pytest.mark.rule("0-10/tx.rollback/keeps-acquired", "0-10/tx/not-transactional")
def test_after_a_rollback_deliveries_are_open_again() -> None:
    talk = _talk().client(spec.TxSelect()).subscribe().server(*[transfer("d")] * 3)
    talk.client(spec.MessageAccept(_ids(0, 2)), spec.MessageRelease(_ids(1)), spec.TxRollback())
    assert talk.outcomes() == [("deliver", 1, "released")]
    talk.server(completed(0, 1, 2, 3, 4)).client(spec.MessageAccept(_ids(0)), spec.TxCommit())
    talk.server(completed(0, 1, 2, 3, 4, 5, 6)).finish()
    outcomes = [outcome for _, _, outcome in talk.outcomes()]
    assert outcomes == ["accepted", "released", None]


@pytest.mark.parametrize(("end", "outcome"), [(spec.TxCommit(), "accepted"), (spec.TxRollback(), "released")])
def test_a_release_of_what_the_transaction_has_accepted_counts_after_a_rollback(end: Any, outcome: str) -> None:
    talk = _talk().client(spec.TxSelect()).subscribe().server(transfer("d"))
    talk.client(spec.MessageAccept(_ids(0)), spec.MessageRelease(_ids(0)))
    assert talk.outcomes() == []
    talk.client(end).server(completed(0, 1, 2, 3, 4))
    assert talk.outcomes() == [("deliver", 0, outcome)]
    assert talk.rules == ["message.subscribe/zero-credit"]
    talk.client(spec.MessageRelease(_ids(0)))
    assert talk.rules[1:] == ["message.accept/acquisition"]


def test_a_gap_makes_a_transaction_unsure() -> None:
    talk = _talk().client(spec.TxSelect(), transfer("ex")).gap("client", 30).server(completed(0, 1, 2))
    assert talk.outcomes() == [("publish", 1, None)]
    talk.client(spec.TxCommit()).server(completed(0, 1, 2, 3)).finish()
    assert len(talk.messages) == 1


def test_an_exception_within_a_transaction() -> None:
    talk = _talk().client(spec.TxSelect(), transfer("ex"), transfer("no"))
    talk.server(spec.ExecutionException(404, 2, description="no")).finish()
    assert talk.outcomes() == [("publish", 1, None), ("publish", 2, "rejected")]


# What isn't known.


def test_seen_from_the_middle_no_id_is_known() -> None:
    talk = Talk010(late=True).subscribe(accept_mode=1).client(transfer("ex")).server(transfer("d"))
    talk.server(completed(0, 1, 2)).client(spec.MessageAccept(_ids(0)), completed(0)).finish()
    assert talk.outcomes() == [("publish", None, None), ("deliver", None, "settled")]


def test_a_session_that_ends_leaves_its_messages_open() -> None:
    talk = _talk().client(transfer("ex")).subscribe().server(transfer("d"))
    talk.client(spec.SessionDetach(b"s"))
    assert not talk.messages
    talk.server(spec.SessionDetached(b"s", 0))
    assert talk.outcomes() == [("publish", 0, None), ("deliver", 0, None)]
    talk.client(spec.SessionAttach(b"s")).server(completed(0)).finish()
    assert len(talk.messages) == 2


def test_a_new_session_on_the_channel_ends_the_old_one() -> None:
    talk = _talk().client(transfer("ex"), spec.SessionAttach(b"s")).client(spec.SessionAttach(b"t"))
    assert talk.outcomes() == [("publish", 0, None)]


def test_no_more_messages_are_held_than_the_limits_allow() -> None:
    talk = _talk(Limits(unconfirmed=2, unsettled=3))
    talk.client(*[transfer("ex")] * 5).server(*[transfer("d")] * 5)
    assert talk.outcomes() == [("publish", n, None) for n in range(3)] + [("deliver", n, None) for n in range(2)]
    talk.client(spec.TxSelect(), *[transfer("ex")] * 5, spec.MessageAccept(_ids(2, 3, 4)))
    talk.server(*[transfer("d")] * 2).client(spec.MessageAccept(_ids(5, 6)))
    talk.client(spec.TxCommit()).server(completed(*range(14))).finish()
    assert len(talk.messages) == 5 + 5 + 5 + 2
    assert len({message.seq for message in talk.messages}) == len(talk.messages)
    assert len(_talk(Limits(unsettled=128)).server(*[transfer("d")] * 129).messages) == 2


def test_no_more_sessions_are_held_than_channels() -> None:
    talk = Talk010(limits=Limits(channels=3)).open()
    for channel in range(5):
        talk.session(channel).client(transfer("ex", channel=channel))
    assert [message.channel for message in talk.messages] == [0, 1]
    assert len(talk.finish().messages) == 5


def test_a_pickled_lifecycle_goes_on_alike() -> None:
    talk = _talk().subscribe().client(spec.TxSelect(), transfer("ex")).server(transfer("d"))
    talk.client(spec.MessageAccept(_ids(0)), spec.TxCommit()).server(completed(0, 1, 2, 3, 4)).finish()
    lifecycle, messages = talk.relived()
    assert messages == talk.messages
    assert lifecycle.connection == talk.lifecycle.connection
    state = list(lifecycle.__getstate__())
    with pytest.raises(LocalProtocolError, match="layout"):
        lifecycle.__setstate__((99, *state[1:]))


# The connection.


def test_facts_of_a_connection() -> None:
    talk = _talk().client(spec.ConnectionClose(200, "bye")).finish()
    known = talk.lifecycle.connection
    assert (known.version, known.client_product, known.server_product) == (AMQP_0_10, "Y", "X")
    assert (known.mechanism, known.user, known.vhost) == ("PLAIN", "ann", "/")
    assert (known.channel_max, known.frame_max, known.heartbeat) == (16, 65_535, 0)
    assert (known.closed_by, known.close_code, known.close_text) == ("client", 200, "bye")


def test_hints() -> None:
    start = spec.ConnectionStart({}, ["PLAIN"], ["en_US"])
    start_ok = spec.ConnectionStartOk({}, "PLAIN", b"\0ann\0pw", "en_US")
    refused = Talk010().headers().server(start).client(start_ok)
    hung_up = Talk010().headers().server(start).client(start_ok).finish()
    assert "during the login" in hung_up.lifecycle.end.hint
    known = refused.server(spec.ConnectionClose(320, "no")).finish().lifecycle.connection
    assert (known.closed_by, known.close_code) == ("server", 320)
    assert "password is wrong" in known.hint
    assert "protocol header" in Talk010().headers().finish().lifecycle.end.hint
    assert not Talk010().open().finish(None).lifecycle.end.hint
    assert "client left" in Talk010().headers().finish("client").lifecycle.end.hint
    moved = Talk010().open().server(spec.ConnectionRedirect("h")).lifecycle.connection
    assert (moved.closed_by, moved.close_text) == ("server", "redirected to h")


@pytest.mark.rule("0-10/wire/header-unsupported", "0-10/connection.start/protocol-name")
def test_a_server_that_refuses_the_version() -> None:
    talk = Talk010().client(AMQP_0_10.header).server(b"AMQP\0\0\x09\x01").finish()
    assert not talk.rules
    known = talk.lifecycle.connection
    assert (known.closed_by, known.close_text) == (
        "server",
        "the server answered with its own protocol header, 0-0-9-1",
    )


# Fields.


def _fields(event: Observed, *, secrets: bool = False, body: str = "none") -> dict[str, object]:
    found: dict[str, object] = json.loads(FieldWriter(body, secrets).write(event))
    return found


def test_secrets_are_counted_unless_they_are_asked_for() -> None:
    talk = Talk010().headers().client(spec.ConnectionStartOk(None, "PLAIN", b"\0a\0pw", None))
    talk.client(spec.ConnectionSecureOk(b"secret"))
    first, second = talk.observed[-2:]
    assert _fields(first) == {"mechanism": "PLAIN", "response": {"redacted": 5}}
    assert _fields(second) == {"response": {"redacted": 6}}
    assert _fields(second, secrets=True) == {"response": {"base64": "c2VjcmV0"}}
    assert "secret" not in repr(second.content)


def test_fields_of_a_message() -> None:
    structs = (amqp.DeliveryProperties(ttl=5), spec.FragmentProperties(), amqp.spec.Struct32(0x0F01, b"\1"))
    command = transfer("d", b"xy", *structs)  # type: ignore[arg-type]
    unit = _talk().client(command).observed[-1]
    assert _fields(unit, body="base64") == {
        "destination": "d",
        "id": 0,
        "properties": {
            "delivery_properties": {
                "type": "message.delivery-properties",
                "discard_unroutable": False,
                "immediate": False,
                "redelivered": False,
                "ttl": 5,
            },
            "others": [json.loads(encode(spec.FragmentProperties())), {"code": 0x0F01, "unknown": {"base64": "AQ=="}}],
        },
        "body_size": 2,
        "body": "eHk=",
    }


def test_a_header_segment_that_cannot_be_read_is_shown() -> None:
    unit = _talk().client(transfer("d", b"", *[amqp.DeliveryProperties()] * 2)).observed[-1]
    raw = base64.b64encode(unit.properties.raw).decode()
    assert _fields(unit)["properties"] == {"invalid": {"base64": raw}}


def test_values_as_json() -> None:
    assert encode(amqp.SequenceSet([(0, 3), (7, 7)])) == "[[0,3],[7,7]]"
    assert encode([amqp.spec.Datetime(5), UUID(int=1), amqp.Map({"a": amqp.Map({})}), amqp.spec.Struct32(1, b"")]) == (
        '[5,"00000000-0000-0000-0000-000000000001",{"a":{}},{"code":1,"unknown":{"base64":""}}]'
    )
    assert encode(amqp.Map.from_wire(b"\0")) == '{"invalid":{"base64":"AA=="}}'
