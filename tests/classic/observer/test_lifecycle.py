"""What becomes of messages, in every way that something settles them, and what a connection says of itself."""

import pickle

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, Limits, LocalProtocolError, Version
from amqp_sansio.amqp_0_9_1 import BasicProperties
from amqp_sansio.recorded.lifecycle import Lifecycle
from tests.kit.observing import CLIENT, SERVER, Talk, header

VERSIONS = (AMQP_0_9_1, AMQP_0_8)
each_version = pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.label)


def _open(version: Version = AMQP_0_9_1, limits: Limits | None = None) -> Talk:
    return Talk(version, limits=limits).login().channel()


def _delivered(count: int, version: Version = AMQP_0_9_1) -> Talk:
    talk = _open(version).consumer()
    return talk.server(*[talk.deliver(tag, b"%d" % tag) for tag in range(1, count + 1)])


@pytest.mark.parametrize(
    ("version", "closer", "close"),
    [
        (AMQP_0_9_1, "client", "channel.close"),
        (AMQP_0_9_1, "client", "connection.close"),
        (AMQP_0_9_1, "server", "connection.close"),
        (AMQP_0_8, "server", "connection.close"),
    ],
    ids=str,
)
def test_what_the_other_side_ignores_behind_its_close_still_counts_for_who_sent_it(
    version: Version, closer: str, close: str
) -> None:
    """An end discards it; an observer doesn't, or the books of what follows would be wrong.

    0-8 has no confirms, and a server that closes a channel has its deliveries back.
    """
    talk = _open(version).consumer()
    number = 1 if close == "channel.close" else 0
    closing = talk.named(close, 200, "done")
    acknowledged = talk.named("basic.ack", 1)
    if closer == "server":
        talk.server(talk.deliver(1), talk.deliver(2)).server(closing, channel=number).client(acknowledged, channel=1)
    else:
        talk.client(talk.named("confirm.select"), channel=1).server(talk.named("confirm.select-ok"), channel=1)
        talk.client(talk.publish(), talk.publish()).client(closing, channel=number).server(acknowledged, channel=1)
    talk.finish()
    assert talk.rules == []
    assert talk.outcomes()[0][2] == "accepted"


# Deliveries.


@each_version
def test_an_acknowledged_delivery(version: Version) -> None:
    talk = _delivered(2, version)
    talk.client(talk.named("basic.ack", 1), channel=1).finish()
    assert talk.outcomes() == [("deliver", 1, "accepted"), ("deliver", 2, None)]
    first = talk.messages[0]
    ack = talk.last
    assert (first.settled_seq, first.settled_ns) == (ack.seq, ack.at_ns)
    assert first.latency_ns == 1_000_000_000
    assert (first.exchange, first.routing_key, first.queue, first.consumer_tag) == ("ex", "key", "q", "ct")
    assert (first.redelivered, first.channel, first.address) == (False, 1, None)


def test_many_at_once() -> None:
    talk = _delivered(5)
    talk.client(talk.named("basic.ack", 3, True), channel=1).client(talk.named("basic.ack", 0, True), channel=1)
    assert [message.tag for message in talk.messages] == [1, 2, 3, 4, 5]
    assert {message.outcome for message in talk.messages} == {"accepted"}
    assert [message.latency_ns for message in talk.messages] == [10**9] * 3 + [2 * 10**9] * 2


def test_rejected_and_given_back() -> None:
    talk = _delivered(6)
    named = talk.named
    talk.client(named("basic.reject", 1, False), named("basic.reject", 2, True), channel=1)
    talk.client(named("basic.nack", 3, False, True), channel=1)
    talk.client(named("basic.nack", 5, True, False), channel=1).finish()
    assert talk.outcomes() == [
        ("deliver", 1, "rejected"),
        ("deliver", 2, "released"),
        ("deliver", 3, "released"),
        ("deliver", 4, "rejected"),
        ("deliver", 5, "rejected"),
        ("deliver", 6, None),
    ]


@each_version
def test_without_acknowledgement_a_delivery_is_settled_when_sent(version: Version) -> None:
    talk = _open(version).consumer(no_ack=True).server(Talk(version).deliver(1, b"x"))
    (message,) = talk.messages
    assert (message.outcome, message.settled_ns, message.latency_ns) == ("settled", None, None)


@each_version
@pytest.mark.parametrize("no_ack", [True, False])
def test_a_message_that_was_asked_for(version: Version, no_ack: bool) -> None:
    talk = _open(version).client(Talk(version).named("basic.get", queue="g", no_ack=no_ack), channel=1)
    talk.server(talk.message(talk.named("basic.get-ok", 1, True, "ex", "key", 3), b"x"))
    if not no_ack:
        talk.client(talk.named("basic.ack", 1), channel=1)
    (message,) = talk.messages
    assert (message.kind, message.queue, message.redelivered) == ("get", "g", True)
    assert message.outcome == ("settled" if no_ack else "accepted")


def test_the_last_declared_queue_is_meant_by_an_empty_name() -> None:
    talk = _open()
    talk.client(talk.named("queue.declare"), channel=1).server(talk.named("queue.declare-ok", "amq.gen-1"), channel=1)
    talk.client(talk.named("basic.get", no_ack=True), channel=1)
    talk.server(talk.message(talk.named("basic.get-ok", 1), b"x"))
    assert talk.messages[0].queue == "amq.gen-1"


def test_an_empty_answer_is_no_message() -> None:
    talk = _open().client(Talk().named("basic.get", queue="g"), channel=1)
    talk.server(talk.named("basic.get-empty"), channel=1).finish()
    assert not talk.messages


def test_recover_gives_back_when_it_is_answered() -> None:
    talk = _delivered(2)
    talk.client(talk.named("basic.recover", True), channel=1)
    assert not talk.messages
    talk.server(talk.named("basic.recover-ok"), channel=1)
    assert [message.outcome for message in talk.messages] == ["released"] * 2
    assert not talk.violations


def test_what_an_unseen_answer_to_recover_may_have_given_back_is_settled_by_no_multiple_ack() -> None:
    talk = _delivered(2).client(Talk().named("basic.recover", True), channel=1)
    talk.gap(SERVER, 12).server(talk.deliver(3, b"x")).client(talk.named("basic.ack", 3, True), channel=1).finish()
    assert talk.outcomes() == [("deliver", 1, None), ("deliver", 2, None), ("deliver", 3, "accepted")]


def test_recover_without_answer_gives_back_at_once() -> None:
    talk = _delivered(2).client(Talk().named("basic.recover-async", True), channel=1)
    assert [message.outcome for message in talk.messages] == ["released"] * 2
    early = _delivered(1, AMQP_0_8).client(Talk(AMQP_0_8).named("basic.recover", True), channel=1)
    assert [message.outcome for message in early.messages] == ["released"]


@each_version
def test_a_closed_channel_leaves_its_deliveries_open(version: Version) -> None:
    talk = _delivered(1, version).client(Talk(version).named("channel.close"), channel=1)
    talk.server(talk.named("channel.close-ok"), channel=1)
    assert talk.outcomes() == [("deliver", 1, None)]
    talk.finish()
    assert len(talk.messages) == 1


def test_what_the_server_closed_is_not_settled_by_a_late_ack() -> None:
    talk = _delivered(1).server(Talk().named("channel.close", 404, "gone"), channel=1)
    talk.client(talk.named("basic.ack", 1), talk.publish(b"late"), channel=1)
    talk.client(talk.named("channel.close-ok"), channel=1).finish()
    assert talk.outcomes() == [("deliver", 1, None), ("publish", None, None)]


def test_the_same_tag_on_a_reopened_channel_is_another_delivery() -> None:
    talk = _delivered(1)
    talk.client(talk.named("channel.close"), channel=1).server(talk.named("channel.close-ok"), channel=1)
    talk.channel().consumer().server(talk.deliver(1, b"again"))
    talk.client(talk.named("basic.ack", 1), channel=1).finish()
    assert talk.outcomes() == [("deliver", 1, None), ("deliver", 1, "accepted")]


# Publishes.


@each_version
def test_nothing_settles_a_plain_publish(version: Version) -> None:
    talk = _open(version).client(Talk(version).publish(b"x", exchange="e", routing_key="k"))
    (message,) = talk.messages
    assert (message.kind, message.outcome, message.tag, message.latency_ns) == ("publish", "settled", None, None)
    assert (message.exchange, message.routing_key, message.redelivered) == ("e", "k", None)


def _confirming() -> Talk:
    talk = _open().client(Talk().named("confirm.select"), channel=1)
    return talk.server(talk.named("confirm.select-ok"), channel=1)


def test_confirms_of_one_and_of_many() -> None:
    talk = _confirming()
    talk.client(*[talk.publish(b"%d" % number) for number in range(7)])
    named = talk.named
    talk.server(named("basic.ack", 2), named("basic.nack", 1), named("basic.ack", 5, True), channel=1).finish()
    assert talk.outcomes() == [
        ("publish", 1, "rejected"),
        ("publish", 2, "accepted"),
        ("publish", 3, "accepted"),
        ("publish", 4, "accepted"),
        ("publish", 5, "accepted"),
        ("publish", 6, None),
        ("publish", 7, None),
    ]


def test_confirms_count_from_the_request_on() -> None:
    talk = _open().client(Talk().publish(b"before"), Talk().octets(Talk().named("confirm.select"), 1))
    talk.client(talk.publish(b"first"))
    talk.server(talk.named("confirm.select-ok"), talk.named("basic.ack", 1), channel=1).finish()
    assert talk.outcomes() == [("publish", None, "settled"), ("publish", 1, "accepted")]


def _returned(talk: Talk, body: bytes, **fields: str) -> bytes:
    return talk.message(talk.named("basic.return", 312, "NO_ROUTE", **fields), body)


@pytest.mark.rule("0-9-1/rabbitmq/confirm.return-first")
def test_a_returned_publish_stays_returned_when_it_is_confirmed() -> None:
    talk = _confirming()
    talk.client(talk.publish(b"a", routing_key="k", mandatory=True), talk.publish(b"b", routing_key="k"))
    talk.server(_returned(talk, b"a", routing_key="k")).server(talk.named("basic.ack", 2, True), channel=1)
    talk.finish()
    assert talk.outcomes() == [("publish", 1, "returned"), ("publish", 2, "accepted"), ("return", None, "settled")]
    publish = next(message for message in talk.messages if message.outcome == "returned")
    assert (publish.code, publish.text, publish.latency_ns) == (312, "NO_ROUTE", 10**9)


@each_version
def test_returns_without_confirms(version: Version) -> None:
    """Of equal publishes the oldest comes back first; without confirms the others are settled by nothing."""
    talk = _open(version)
    publish = talk.publish(b"a", routing_key="k", mandatory=True)
    talk.client(publish, publish, talk.publish(b"other", routing_key="k", immediate=True))
    talk.server(_returned(talk, b"a", routing_key="k"), _returned(talk, b"??", routing_key="k")).finish()
    assert talk.outcomes() == [
        ("publish", None, "returned"),
        ("publish", None, "settled"),
        ("publish", None, "settled"),
        ("return", None, "settled"),
        ("return", None, "settled"),
    ]


# Transactions.


def _transacted(version: Version = AMQP_0_9_1) -> Talk:
    talk = _open(version).client(Talk(version).named("tx.select"), channel=1)
    return talk.server(talk.named("tx.select-ok"), channel=1)


@each_version
def test_a_commit_settles_publishes_and_acks(version: Version) -> None:
    talk = _transacted(version).consumer().server(Talk(version).deliver(1, b"x"))
    talk.client(talk.publish(b"y")).client(talk.named("basic.ack", 1), channel=1)
    talk.client(talk.named("tx.commit"), channel=1)
    assert not talk.messages
    talk.server(talk.named("tx.commit-ok"), channel=1)
    assert talk.outcomes() == [("deliver", 1, "accepted"), ("publish", None, "accepted")]
    assert {message.settled_seq for message in talk.messages} == {talk.last.seq}


@each_version
def test_a_rollback_gives_publishes_back_and_undoes_acks(version: Version) -> None:
    talk = _transacted(version).consumer().server(Talk(version).deliver(1, b"x"))
    talk.client(talk.publish(b"y")).client(talk.named("basic.ack", 1), channel=1)
    talk.client(talk.named("tx.rollback"), channel=1).server(talk.named("tx.rollback-ok"), channel=1)
    assert talk.outcomes() == [("publish", None, "released")]
    talk.client(talk.named("basic.reject", 1, False), channel=1)
    talk.client(talk.named("tx.commit"), channel=1).server(talk.named("tx.commit-ok"), channel=1)
    assert talk.outcomes() == [("deliver", 1, "rejected"), ("publish", None, "released")]
    assert not talk.violations


@pytest.mark.rule("0-9-1/tx.commit/new-tx", "0-8/tx.commit/new-tx")
def test_what_follows_a_commit_belongs_to_the_next_transaction() -> None:
    talk = _transacted().client(Talk().publish(b"1"), Talk().octets(Talk().named("tx.commit"), 1))
    talk.client(talk.publish(b"2"), talk.octets(talk.named("tx.rollback"), 1), talk.publish(b"3"))
    talk.server(talk.named("tx.commit-ok"), talk.named("tx.rollback-ok"), channel=1).finish()
    assert [outcome for _, _, outcome in talk.outcomes()] == ["accepted", "released", None]


def test_a_return_within_a_transaction() -> None:
    talk = _transacted().client(Talk().publish(b"1", mandatory=True), Talk().publish(b"2"))
    talk.client(talk.named("tx.commit"), channel=1).server(_returned(talk, b"1"))
    talk.server(talk.named("tx.commit-ok"), channel=1).finish()
    assert [outcome for _, _, outcome in talk.outcomes()] == ["returned", "accepted", "settled"]


# What wasn't seen.


def test_publishes_on_a_channel_that_is_seen_from_the_middle() -> None:
    talk = Talk(late=True).client(Talk().publish(b"1")).server(Talk().octets(Talk().named("connection.unblocked")))
    talk.client(Talk().publish(b"2")).finish()
    assert talk.outcomes() == [("publish", None, None)] * 2

    talk = Talk(late=True).client(Talk().publish(b"1")).server(Talk().named("basic.ack", 77), channel=1)
    talk.client(talk.publish(b"2")).server(talk.named("basic.ack", 78), channel=1).finish()
    assert talk.outcomes() == [("publish", None, None)] * 2

    talk = Talk(late=True).client(Talk().publish(b"1")).client(Talk().named("tx.commit"), channel=1)
    talk.server(talk.named("tx.commit-ok"), channel=1).finish()
    assert talk.outcomes() == [("publish", None, "accepted")]


@pytest.mark.parametrize("mandatory", range(1 << 3))
def test_what_may_have_come_back_in_a_gap_of_the_server_is_not_accepted_by_its_confirm(mandatory: int) -> None:
    """The octets that are lost may be its return; each bit of `mandatory` says so of one publish. Those before the one
    that is named may have been rejected in the gap."""
    talk = _confirming()
    asked = [bool(mandatory >> number & 1) for number in range(3)]
    talk.client(*[talk.publish(b"%d" % number, mandatory=each) for number, each in enumerate(asked)])
    talk.gap(SERVER, 12).server(talk.named("basic.ack", 3, True), channel=1).finish()
    last = None if asked[-1] else "accepted"
    assert talk.outcomes() == [("publish", 1, None), ("publish", 2, None), ("publish", 3, last)]
    told = [unit for event in talk.events for unit, *_ in getattr(event, "settles", ())]
    assert len(told) == len(set(told)) == 3


def test_after_a_gap_confirms_are_not_counted_wrong() -> None:
    talk = _confirming().client(Talk().publish(b"1")).gap(CLIENT, 500).client(Talk().publish(b"n"))
    talk.server(talk.named("basic.ack", 9, True), channel=1).finish()
    assert talk.outcomes() == [("publish", 1, "accepted"), ("publish", None, None)]


def test_a_gap_leaves_a_transaction_open() -> None:
    talk = _transacted().consumer().server(Talk().deliver(1, b"x")).client(Talk().publish(b"1", mandatory=True))
    talk.client(talk.named("basic.ack", 1), channel=1).gap(SERVER, 12)
    talk.client(talk.named("tx.commit"), channel=1).server(talk.named("tx.commit-ok"), channel=1)
    talk.server(_returned(talk, b"1")).finish()
    assert talk.outcomes() == [("deliver", 1, None), ("publish", None, None), ("return", None, "settled")]


def test_a_message_that_never_became_whole_is_no_message() -> None:
    talk = _open()
    talk.client(talk.octets(talk.named("basic.publish"), 1) + header(1, 5)).finish()
    assert talk.last.unit == "partial"
    assert not talk.messages


def test_messages_without_end_are_not_held_without_end() -> None:
    limits = Limits(unsettled=2, unconfirmed=2, calls=2, consumers=2)
    talk = _open(limits=limits).consumer().server(*[Talk().deliver(tag) for tag in range(1, 5)])
    assert talk.outcomes() == [("deliver", 1, None), ("deliver", 2, None)]
    talk = _open(limits=limits).client(*[Talk().publish(b"", mandatory=True) for _ in range(3)])
    assert talk.outcomes() == [("publish", None, "settled")]
    talk = _open(limits=limits).client(Talk().named("confirm.select"), channel=1)
    talk.client(*[talk.publish(b"", mandatory=True) for _ in range(3)])
    assert talk.outcomes() == [("publish", 1, None)]
    talk = _open(limits=limits).client(Talk().named("tx.select"), channel=1)
    talk.client(*[talk.publish(b"") for _ in range(3)])
    assert talk.outcomes() == [("publish", None, None)]
    talk.client(*[Talk().octets(Talk().named("basic.get", queue="q"), 1) for _ in range(5)])
    talk.client(*[Talk().octets(Talk().named("basic.consume", "q", f"c{n}", no_wait=True), 1) for n in range(5)])
    assert not talk.violations


def test_properties_that_can_not_be_read() -> None:
    talk = _open()
    raw = BasicProperties(message_id="m", correlation_id="c", content_type="t").encode(talk.dialect.tables)
    method = talk.octets(talk.named("basic.publish"), 1)
    talk.client(method + header(1, 0, raw)).client(method + header(1, 0, raw[:-1]))
    good, bad = talk.messages
    assert (good.message_id, good.correlation_id, good.content_type, good.headers) == ("m", "c", "t", None)
    assert (bad.message_id, bad.content_type, bad.headers) == (None, None, None)


# 0-8's other classes with messages.


def test_stream_messages_need_no_settlement() -> None:
    talk = _open(AMQP_0_8)
    named = talk.named
    talk.client(named("stream.consume", queue="s", consumer_tag="st"), channel=1)
    talk.server(named("stream.consume-ok", "st"), channel=1)
    stream = header(1, 0, b"\0\0", class_id=80)
    talk.client(talk.octets(named("stream.publish", "e", "k"), 1) + stream)
    talk.server(talk.octets(named("stream.deliver", "st", 1, "e", "s"), 1) + stream).finish()
    assert talk.outcomes() == [("publish", None, "settled"), ("deliver", 1, "settled")]
    assert talk.messages[1].queue == "s"
    assert not talk.violations


def test_file_messages_are_what_was_staged() -> None:
    talk = _open(AMQP_0_8)
    named = talk.named
    talk.client(named("file.open", "f-1", 3), channel=1).server(named("file.open-ok", 0), channel=1)
    talk.client(talk.octets(named("file.stage"), 1) + header(1, 0, class_id=70))
    talk.client(named("file.publish", "e", "k", identifier="f-1"), channel=1)
    talk.client(named("file.consume", queue="f", consumer_tag="ft"), channel=1)
    talk.server(named("file.consume-ok", "ft"), channel=1)
    talk.server(named("file.open", "f-2", 0), channel=1).client(named("file.open-ok", 0), channel=1)
    talk.server(talk.octets(named("file.stage"), 1) + header(1, 0, class_id=70))
    talk.server(named("file.deliver", "ft", 1, False, "e", "k", "f-2"), channel=1)
    talk.client(named("file.ack", 1), channel=1).finish()
    assert talk.outcomes() == [("publish", None, "settled"), ("deliver", 1, "accepted")]
    assert talk.messages[0].properties is not None


# The connection.


@each_version
def test_what_a_connection_says_of_itself(version: Version) -> None:
    talk = Talk(version).login(frame_max=8192, channel_max=7)
    talk.client(talk.named("connection.close", 200, "done")).server(talk.named("connection.close-ok")).finish()
    record = talk.lifecycle.connection
    assert (record.version, record.client, record.identified_by) == (version, CLIENT, "told")
    assert (record.client_product, record.server_product) == ("Y", "X")
    assert (record.mechanism, record.user, record.vhost) == ("PLAIN", "ann", "/")
    assert (record.channel_max, record.frame_max, record.heartbeat) == (7, 8192, 60)
    assert (record.closed_by, record.close_code, record.close_text) == ("client", 200, "done")


def test_the_user_of_amqplain_and_no_secret() -> None:
    talk = Talk().header().server(Talk().named("connection.start", 0, 9, {}, b"AMQPLAIN", b"en_US"))
    table = Talk().dialect.tables
    from amqp_sansio.amqp_0_9_1 import Table

    response = Table({"LOGIN": "bob", "PASSWORD": "secret"}, rules=table).raw
    talk.client(talk.named("connection.start-ok", {}, "AMQPLAIN", response, "en_US"))
    assert talk.lifecycle.connection.user == "bob"
    assert "secret" not in repr(talk.lifecycle.connection)
    assert "secret" not in repr(talk.last)


@pytest.mark.parametrize("response", [b"******", b"", b"\xff\xff"])
@pytest.mark.parametrize("mechanism", ["PLAIN", "AMQPLAIN", "EXTERNAL"])
def test_a_response_that_names_nobody(mechanism: str, response: bytes) -> None:
    talk = Talk().header().server(Talk().named("connection.start", 0, 9, {}, mechanism.encode(), b"en_US"))
    talk.client(talk.named("connection.start-ok", {}, mechanism, response, "en_US"))
    assert talk.lifecycle.connection.user is None


def test_the_first_close_counts_and_has_a_hint() -> None:
    talk = Talk().login().server(Talk().named("connection.close", 320, "CONNECTION_FORCED"))
    talk.client(talk.named("connection.close", 200)).finish()
    record = talk.lifecycle.connection
    assert (record.closed_by, record.close_code) == ("server", 320)
    assert "shutting down" in record.hint


@pytest.mark.parametrize(("arrivals", "part"), [(1, "TLS"), (3, "login"), (6, "virtual host"), (7, "")])
def test_a_connection_that_ends_in_the_opening_has_a_hint(arrivals: int, part: str) -> None:
    talk = Talk()
    for sender, what in Talk().login().arrivals[:arrivals]:
        assert isinstance(what, bytes)
        talk.send(sender, what)
    end = talk.finish().lifecycle.end
    assert (end.by, end.how, end.cause) == ("server", "fin", "transport")
    assert (part in end.hint and "a proxy" not in end.hint) or not part


def test_a_client_that_leaves_in_the_opening_is_not_the_servers_doing() -> None:
    talk = Talk()
    for sender, what in Talk().login().arrivals[:2]:
        assert isinstance(what, bytes)
        talk.send(sender, what)
    assert "the client left during the login" in talk.finish("client").lifecycle.end.hint


def test_who_breaks_a_rule_in_the_opening_is_hung_up_on_for_that() -> None:
    talk = Talk()
    for sender, what in Talk().login().arrivals[:2]:
        assert isinstance(what, bytes)
        talk.send(sender, what)
    talk.send("client", b"\x01\x00\x00\x7f\xff\xff\xff" + b"x" * 100)
    end = talk.finish().lifecycle.end
    assert end.hint.startswith("the server hung up on the client, which broke a rule: ")
    assert "password" not in end.hint


def test_nobody_ended_what_is_open_at_the_end_of_a_capture() -> None:
    end = Talk().login().finish(None).lifecycle.end
    assert (end.by, end.cause, end.hint, end.at_ns) == (None, "open", "", None)


def test_a_redirected_client() -> None:
    talk = Talk(AMQP_0_8)
    for sender, what in Talk(AMQP_0_8).login().arrivals[:-1]:
        assert isinstance(what, bytes)
        talk.send(sender, what)
    talk.server(talk.named("connection.redirect", "other:5672")).finish()
    assert talk.lifecycle.connection.close_text == "redirected to other:5672"
    assert talk.last.answers == talk.last.seq - 1


def test_a_pickled_lifecycle_goes_on_alike() -> None:
    talk = _transacted().consumer().server(Talk().deliver(1, b"x")).client(Talk().publish(b"y"))
    copied = pickle.loads(pickle.dumps(talk.lifecycle))
    assert isinstance(copied, Lifecycle)
    assert list(copied.finish()) == list(talk.lifecycle.finish())
    _, *values = copied.__getstate__()
    with pytest.raises(LocalProtocolError, match="layout 9"):
        copied.__setstate__((9, *values))


def test_a_delivery_that_needs_no_settlement_leaves_an_open_one_of_its_tag_alone() -> None:
    """A server that counts anew: the tag still means the delivery that waits."""
    talk = Talk().login().channel().consumer()
    talk.server(talk.deliver(1, b"first"))
    talk.client(talk.named("basic.cancel", "ct"), channel=1).server(talk.named("basic.cancel-ok", "ct"), channel=1)
    talk.consumer(no_ack=True).server(talk.deliver(1, b"again")).client(talk.named("basic.ack", 1), channel=1).finish()
    assert talk.outcomes() == [("deliver", 1, "accepted"), ("deliver", 1, "settled")]
