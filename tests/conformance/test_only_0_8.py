"""What only 0-8 has: access tickets, the classes file, stream, dtx, tunnel and test."""

from typing import Any

import pytest

from amqp_sansio import AMQP_0_8, Scope
from amqp_sansio._classic.codec.dialect import get_dialect
from amqp_sansio.amqp_0_8 import spec
from amqp_sansio.amqp_0_8.spec import FileProperties, StreamProperties, TunnelProperties
from amqp_sansio.amqp_0_9_1 import ContentReceived, Message, MethodReceived, Published, Request
from amqp_sansio.endpoint import Side
from tests.conformance.granting import RIGHTS, agree, grant
from tests.kit.applications import Server
from tests.kit.facing import CLIENT, SERVER
from tests.kit.facing_classic import STRICT, Facing
from tests.kit.octets_classic import header
from tests.kit.pair_classic import Pair

DIALECT = STRICT[AMQP_0_8]

NEEDS = {
    "exchange.declare": ("active", {"exchange": "e", "type": "direct"}),
    "exchange.delete": ("active", {"exchange": "e"}),
    "queue.purge": ("read", {"queue": "q"}),
    "basic.consume": ("read", {"queue": "q"}),
    "basic.get": ("read", {"queue": "q"}),
    "basic.publish": ("write", {"exchange": "e"}),
    "file.consume": ("read", {"queue": "q"}),
    "file.publish": ("write", {"exchange": "e", "identifier": "i"}),
    "stream.consume": ("read", {"queue": "q"}),
    "stream.publish": ("write", {"exchange": "e"}),
}


def use(facing: Facing, name: str, channel: int = 1, /, **fields: Any) -> None:
    """Let this client send a method."""
    method = facing.make(name, **fields)
    target = facing.end.channel(channel)
    if facing.dialect.replies[method.ID]:
        target.call(method)
    else:
        target.send(method)


@pytest.mark.parametrize("name", NEEDS)
@pytest.mark.rule("0-8/exchange.declare/ticket", "0-8/exchange.delete/ticket", "0-8/queue.purge/ticket")
@pytest.mark.rule("0-8/basic.consume/ticket", "0-8/basic.get/ticket", "0-8/basic.publish/ticket")
@pytest.mark.rule("0-8/file.consume/ticket", "0-8/file.publish/ticket", "0-8/stream.consume/ticket")
@pytest.mark.rule("0-8/stream.publish/ticket")
def test_a_method_needs_a_ticket_for_what_it_does(name: str) -> None:
    right, fields = NEEDS[name]
    others = [each for each in RIGHTS if each != right]
    client = Facing.opened(AMQP_0_8, CLIENT, dialect=DIALECT)
    grant(client, 3, *others)
    client.misuse(lambda: use(client, name, ticket=3, **fields), f"{name}/ticket")
    grant(client, 4, right)
    use(client, name, ticket=4, **fields)
    server = Facing.opened(AMQP_0_8, SERVER, dialect=DIALECT)
    grant(server, 3, *others)
    server.refuses(server.method(name, ticket=3, **fields), code=403, rule=f"{name}/ticket", scope=Scope.CHANNEL)


@pytest.mark.rule("0-8/exchange.declare/ticket")
def test_a_passive_declare_needs_a_passive_ticket() -> None:
    fields = {"exchange": "e", "type": "direct", "passive": True}
    client = Facing.opened(AMQP_0_8, CLIENT, dialect=DIALECT)
    grant(client, 1, "active", "write", "read")
    client.misuse(lambda: use(client, "exchange.declare", ticket=1, **fields), "exchange.declare/ticket")
    grant(client, 2, "passive")
    use(client, "exchange.declare", ticket=2, **fields)


@pytest.mark.rule("0-8/basic.publish/ticket")
def test_publish_takes_a_ticket() -> None:
    pair = Pair(
        AMQP_0_8,
        client=Facing(AMQP_0_8, CLIENT, dialect=DIALECT).end.config,
        server=Facing(AMQP_0_8, SERVER, dialect=DIALECT).end.config,
    ).open()
    channel = pair.channel()

    def reply(ticket: int) -> None:
        pair.peer(channel).reply(pair.method("access.request-ok", ticket=ticket))

    pair.applications[SERVER] = lambda connection, event: None
    handle = channel.call(pair.method("access.request", realm="/data/mine", write=True))
    pair.pump()
    reply(7)
    pair.pump()
    for _ in range(2):
        channel.publish(b"x", exchange="e", routing_key="k", ticket=handle.result.ticket)
    pair.pump()
    assert len(pair.take(SERVER, Published)) == 2
    for wrong in (0, 8):
        with pytest.raises(Exception, match="ticket"):
            channel.publish(b"x", exchange="e", routing_key="k", ticket=wrong)


@pytest.mark.parametrize("name", [*NEEDS, "queue.declare", "queue.bind", "queue.delete"])
@pytest.mark.rule("0-8/domain/access-ticket.nonzero")
def test_a_ticket_is_never_0(name: str) -> None:
    _, fields = NEEDS.get(name, ("", {"queue": "q"}))
    client = Facing.opened(AMQP_0_8, CLIENT, dialect=DIALECT)
    client.misuse(lambda: use(client, name, **fields), "domain/access-ticket.nonzero")
    server = Facing.opened(AMQP_0_8, SERVER, dialect=DIALECT)
    server.refuses(server.method(name, **fields), code=502, rule="domain/access-ticket.nonzero")


@pytest.mark.rule("0-8/domain/access-ticket.nonzero", "0-8/access/grammar")
def test_a_server_grants_no_ticket_0() -> None:
    server = Facing.opened(AMQP_0_8, SERVER, dialect=DIALECT)
    server.feed(server.method("access.request", realm="/data"))
    assert [event.method.NAME for event in server.of(Request)] == ["access.request"]
    server.misuse(lambda: server.channel.reply(server.make("access.request-ok")), "domain/access-ticket.nonzero")
    client = Facing.opened(AMQP_0_8, CLIENT, dialect=DIALECT)
    client.channel.call(client.make("access.request", realm="/data"))
    client.settle()
    client.refuses(client.method("access.request-ok"), code=502, rule="domain/access-ticket.nonzero")


@pytest.mark.parametrize("name", [*NEEDS, "queue.declare", "queue.bind", "queue.delete"])
@pytest.mark.rule("0-8/access.request-ok/channel-scope", "0-8/access.request-ok/isolate")
def test_a_ticket_is_good_on_its_own_channel_only(name: str) -> None:
    _, fields = NEEDS.get(name, ("", {"queue": "q"}))
    client = Facing.opened(AMQP_0_8, CLIENT, channels=2, dialect=DIALECT)
    grant(client, 5, *RIGHTS)
    client.misuse(lambda: use(client, name, 2, ticket=5, **fields), "access.request-ok/channel-scope")
    use(client, name, 1, ticket=5, **fields)
    server = Facing.opened(AMQP_0_8, SERVER, channels=2, dialect=DIALECT)
    grant(server, 5, *RIGHTS)
    server.refuses(
        server.method(name, 2, ticket=5, **fields), code=530, rule="access.request-ok/channel-scope", channel=2
    )


@pytest.mark.rule("0-8/access.request-ok/channel-scope")
def test_a_ticket_ends_with_its_channel() -> None:
    client = Facing.opened(AMQP_0_8, CLIENT, dialect=DIALECT)
    grant(client, 5, *RIGHTS)
    client.channel.close()
    client.feed(client.method("channel.close-ok"))
    client.end.open_channel(1)
    client.feed(client.method("channel.open-ok"))
    client.misuse(lambda: use(client, "queue.declare", queue="q", ticket=5), "access.request-ok/channel-scope")


@pytest.mark.rule("0-8/access/opaque")
def test_a_client_takes_any_ticket_as_it_comes() -> None:
    """Values of no order, the same value again, the largest: what counts is what it was granted for."""
    client = Facing.opened(AMQP_0_8, CLIENT, dialect=DIALECT)
    for ticket, right, name, fields in (
        (65535, "read", "queue.purge", {"queue": "q"}),
        (1, "write", "basic.publish", {"exchange": "e"}),
        (300, "active", "exchange.delete", {"exchange": "e"}),
        (300, "read", "basic.get", {"queue": "q"}),
    ):
        grant(client, ticket, right)
        use(client, name, ticket=ticket, **fields)
        client.settle()
        assert client.sent()[0].method.ticket == ticket


@pytest.mark.parametrize("realm", ["", "data", "/", "/database", "/other/data", "data/x", "//data"])
@pytest.mark.rule("0-8/access.request/realm-prefix")
def test_a_realm_begins_with_data_or_admin(realm: str) -> None:
    client = Facing.opened(AMQP_0_8, CLIENT, dialect=DIALECT)
    client.misuse(
        lambda: client.channel.call(client.make("access.request", realm=realm)), "access.request/realm-prefix"
    )
    server = Facing.opened(AMQP_0_8, SERVER, dialect=DIALECT)
    server.refuses(server.method("access.request", realm=realm), code=403, rule="access.request/realm-prefix")


@pytest.mark.parametrize("realm", ["/data", "/admin", "/data/mine", "/admin/a/b"])
@pytest.mark.rule("0-8/access.request/realm-prefix")
def test_other_realms_are_the_applications_to_judge(realm: str) -> None:
    server = Facing.opened(AMQP_0_8, SERVER, dialect=DIALECT)
    server.feed(server.method("access.request", realm=realm))
    assert [event.method.realm for event in server.of(Request)] == [realm]


def test_brokers_in_use_know_no_tickets() -> None:
    """Their dialects take 0 and whatever else comes."""
    for dialect in ("0-8-rabbit", "0-8-qpid"):
        server = Facing.opened(AMQP_0_8, SERVER, dialect=get_dialect(dialect))
        server.feed(
            server.method("queue.declare", queue="q"),
            server.method("queue.declare", queue="q", ticket=9),
            server.method("access.request", realm="/"),
        )
        assert len(server.of(Request)) == 3


# The classes of 0-8 that no broker speaks any more: file, stream, dtx, tunnel and test.


def silent_pair() -> Pair:
    """An open connection whose applications answer nothing by themselves."""

    def nothing(connection: Any, event: Any) -> None:
        pass

    pair = Pair(AMQP_0_8, applications={SERVER: Server(reply=False), CLIENT: nothing}).open()
    pair.channel()
    return pair


def end_of(pair: Pair, side: Side) -> Any:
    """Channel 1 of one end."""
    return pair.ends[side].channel(1)


# File.


@pytest.mark.rule("0-8/file/grammar", "0-8/file.open-ok/staging", "0-8/file.open/content-size")
@pytest.mark.rule("0-8/file.open-ok/offset")
@pytest.mark.parametrize(("size", "staged"), [(10, 0), (10, 4), (10, 10), (0, 0)])
def test_files_are_staged_in_both_directions(side: Side, size: int, staged: int) -> None:
    pair = silent_pair()
    sender, taker = end_of(pair, side), end_of(pair, side.other)
    octets = bytes(range(size))
    opening = sender.call(pair.method("file.open", identifier="id", content_size=size))
    pair.pump()
    (request,) = pair.take(side.other, Request)
    assert (request.method.identifier, request.method.content_size) == ("id", size)
    # open-ok is itself a request: its answer is the content from the staged octet on.
    staging = taker.call(pair.method("file.open-ok", staged_size=staged))
    pair.pump()
    assert (opening.result.NAME, opening.result.staged_size) == ("file.open-ok", staged)
    sender.reply(pair.method("file.stage"), FileProperties(filename="f"), octets[staged:])
    pair.pump()
    message: Any = staging.result
    assert isinstance(message, Message)
    properties: Any = message.properties  # pyright: ignore[reportUnknownMemberType]
    assert (message.body, properties.filename) == (octets[staged:], "f")
    assert pair.client.unanswered == pair.server.unanswered == ()
    if side is CLIENT:
        sender.send(pair.method("file.publish", exchange="e", identifier="id"))
        pair.pump()
        (received,) = pair.take(SERVER, MethodReceived)
        assert received.method.identifier == "id"


def staged(side: Side, size: int, staged_size: int) -> Facing:
    """An endpoint that has opened a file and got open-ok."""
    facing = Facing.opened(AMQP_0_8, side)
    facing.channel.call(facing.make("file.open", identifier="id", content_size=size))
    facing.feed(facing.method("file.open-ok", staged_size=staged_size))
    return facing.forget()


@pytest.mark.parametrize(
    ("size", "staged_size", "sent", "rule"),
    [
        (10, 0, 9, "file.open/content-size"),
        (10, 0, 11, "file.open/content-size"),
        (0, 0, 1, "file.open/content-size"),
        (10, 4, 10, "file.open-ok/offset"),
        (10, 4, 5, "file.open-ok/offset"),
    ],
)
@pytest.mark.rule("0-8/file.open/content-size", "0-8/file.open-ok/offset")
def test_what_is_staged_has_the_size_that_was_announced(
    side: Side, size: int, staged_size: int, sent: int, rule: str
) -> None:
    sender = staged(side, size, staged_size)
    octets = b"x" * sent
    sender.misuse(lambda: sender.channel.reply(sender.make("file.stage"), FileProperties(), octets), rule)
    sender.channel.reply(sender.make("file.stage"), FileProperties(), b"x" * (size - staged_size))
    taker = Facing.opened(AMQP_0_8, side)
    taker.feed(taker.method("file.open", identifier="id", content_size=size))
    taker.channel.call(taker.make("file.open-ok", staged_size=staged_size))
    taker.settle()
    taker.refuses(taker.method("file.stage"), header(1, 70, sent), code=501, rule=rule)


@pytest.mark.rule("0-8/file.open/content-size")
def test_the_size_also_binds_content_sent_in_pieces(side: Side) -> None:
    sender = staged(side, 10, 0)
    sender.misuse(
        lambda: sender.channel.begin(sender.make("file.stage"), FileProperties(), 9), "file.open/content-size"
    )


@pytest.mark.rule("0-8/file.open-ok/offset")
def test_no_more_can_be_staged_than_there_is(side: Side) -> None:
    taker = Facing.opened(AMQP_0_8, side)
    taker.feed(taker.method("file.open", identifier="id", content_size=3))
    taker.misuse(lambda: taker.channel.call(taker.make("file.open-ok", staged_size=4)), "file.open-ok/offset")
    sender = Facing.opened(AMQP_0_8, side)
    sender.channel.call(sender.make("file.open", identifier="id", content_size=3))
    sender.settle()
    sender.refuses(sender.method("file.open-ok", staged_size=4), code=502, rule="file.open-ok/offset")


@pytest.mark.rule("0-8/file/grammar")
def test_staging_goes_open_open_ok_stage(side: Side) -> None:
    facing = Facing.opened(AMQP_0_8, side)
    for name in ("file.stage", "file.open-ok"):
        method = facing.make(name)
        facing.misuse(lambda method=method: facing.channel.reply(method), "method/sync-reply")  # type: ignore[misc]
        other = Facing.opened(AMQP_0_8, side)
        other.refuses(other.method(name), code=503, rule="method/sync-reply")


@pytest.mark.rule("0-8/file/grammar", "0-8/file/ack-modes", "0-8/file.ack/unknown-tag")
def test_files_are_delivered_and_acknowledged() -> None:
    pair = silent_pair()
    client, server = end_of(pair, CLIENT), end_of(pair, SERVER)
    for tag, no_ack in (("auto", True), ("explicit", False)):
        handle = client.call(pair.method("file.consume", queue="q", consumer_tag=tag, no_ack=no_ack))
        pair.pump()
        server.reply(pair.method("file.consume-ok", consumer_tag=tag))
        pair.pump()
        assert handle.done
    for number, tag in enumerate(("auto", "explicit", "explicit", "explicit"), 1):
        server.send(pair.method("file.deliver", consumer_tag=tag, delivery_tag=number, identifier="i"))
    pair.pump()
    assert [event.method.delivery_tag for event in pair.take(CLIENT, MethodReceived)] == [1, 2, 3, 4]
    # Deliveries without acknowledgement are settled; the others once each.
    for wrong in (1, 5):
        with pytest.raises(Exception, match="no delivery with tag"):
            client.send(pair.method("file.ack", delivery_tag=wrong))
    client.send(pair.method("file.ack", delivery_tag=3, multiple=True))
    client.send(pair.method("file.reject", delivery_tag=4))
    pair.pump()
    assert [event.method.NAME for event in pair.take(SERVER, MethodReceived)] == ["file.ack", "file.reject"]
    assert dict(server.unsettled) == {}


@pytest.mark.parametrize("name", ["file.ack", "file.reject"])
@pytest.mark.rule("0-8/file.ack/unknown-tag")
def test_an_unknown_tag_of_a_file_ends_the_channel(name: str) -> None:
    server = Facing.opened(AMQP_0_8, SERVER)
    server.refuses(server.method(name, delivery_tag=3), code=404, rule="basic.ack/unknown-tag", scope=Scope.CHANNEL)


@pytest.mark.rule("0-8/file/grammar")
def test_files_come_back_with_their_content() -> None:
    pair = silent_pair()
    end_of(pair, SERVER).send(
        pair.method("file.return", reply_code=310, reply_text="gone", exchange="e"),
        FileProperties(filename="f"),
        b"content",
    )
    pair.pump()
    (returned,) = pair.take(CLIENT, ContentReceived)
    assert (returned.method.reply_code, returned.body) == (310, b"content")


# Stream.


@pytest.mark.rule("0-8/stream/grammar", "0-8/stream/auto-ack")
def test_streams_are_delivered_without_acknowledgement() -> None:
    pair = silent_pair()
    client, server = end_of(pair, CLIENT), end_of(pair, SERVER)
    video = StreamProperties(content_type="video")
    client.send(pair.method("stream.publish", exchange="e", routing_key="k"), video, b"published")
    handle = client.call(pair.method("stream.consume", queue="q", consumer_tag="t"))
    pair.pump()
    server.reply(pair.method("stream.consume-ok", consumer_tag="t"))
    for tag in (1, 2):
        server.send(
            pair.method("stream.deliver", consumer_tag="t", delivery_tag=tag, queue="q"),
            StreamProperties(priority=3),
            b"delivered",
        )
        assert dict(server.unsettled) == {}
    server.send(pair.method("stream.return", reply_code=310, reply_text="gone"), None, b"returned")
    pair.pump()
    assert handle.done
    (published,) = pair.take(SERVER, ContentReceived)
    assert (published.method.exchange, published.properties, published.body) == ("e", video, b"published")
    assert [event.body for event in pair.take(CLIENT, ContentReceived)] == [b"delivered", b"delivered", b"returned"]
    assert dict(client.unsettled) == {}
    assert not [name for name in client.connection.dialect.named if name == "stream.ack"]


@pytest.mark.rule("0-8/stream.deliver/queue-notnull")
def test_a_stream_delivery_names_its_queue() -> None:
    server = Facing.opened(AMQP_0_8, SERVER)
    agree(server, "stream.consume", ok={"consumer_tag": "t"}, queue="q", consumer_tag="t")
    fields = {"consumer_tag": "t", "delivery_tag": 1}
    server.misuse(
        lambda: server.channel.send(server.make("stream.deliver", **fields), None, b"x"), "stream.deliver/queue-notnull"
    )
    client = Facing.opened(AMQP_0_8, CLIENT)
    agree(client, "stream.consume", ok={"consumer_tag": "t"}, queue="q", consumer_tag="t")
    client.refuses(client.method("stream.deliver", **fields), code=502, rule="stream.deliver/queue-notnull")


# Distributed transactions.


@pytest.mark.rule("0-8/dtx/grammar", "0-8/dtx.select/required")
def test_a_distributed_transaction_is_selected_then_started() -> None:
    pair = Pair(AMQP_0_8).open()
    channel = pair.channel()
    with pytest.raises(Exception, match="normal mode"):
        channel.call(pair.method("dtx.start", dtx_identifier="xid"))
    for name, fields in (
        ("dtx.select", {}),
        ("dtx.start", {"dtx_identifier": "xid"}),
        ("dtx.start", {"dtx_identifier": "another"}),
    ):
        handle = channel.call(pair.method(name, **fields))
        pair.pump()
        assert f"{name}-ok" == handle.result.NAME


@pytest.mark.rule("0-8/dtx.start/id-notnull")
def test_a_distributed_transaction_has_an_identifier() -> None:
    client = Facing.opened(AMQP_0_8, CLIENT)
    agree(client, "dtx.select")
    client.misuse(lambda: client.channel.call(client.make("dtx.start")), "dtx.start/id-notnull")
    server = Facing.opened(AMQP_0_8, SERVER)
    agree(server, "dtx.select")
    server.refuses(server.method("dtx.start"), code=502, rule="dtx.start/id-notnull")


# Tunnel.


@pytest.mark.rule("0-8/tunnel/grammar", "0-8/tunnel.request/opaque")
def test_a_tunnel_passes_foreign_content_in_both_directions(side: Side) -> None:
    pair = silent_pair()
    properties = TunnelProperties(proxy_name="p", durable=1)
    octets = b"\xce\x00anything"
    end_of(pair, side).send(pair.method("tunnel.request", meta_data={"a": "b"}), properties, octets)
    before = len(pair.sent[side.other])
    pair.pump()
    (received,) = pair.take(side.other, ContentReceived)
    assert (received.body, dict(received.method.meta_data)) == (octets, {"a": "b"})
    assert received.properties == properties
    assert len(pair.sent[side.other]) == before


# Test.


@pytest.mark.parametrize(
    ("request_", "reply"),
    [
        pytest.param(spec.TestInteger(integer_1=1, integer_4=2), spec.TestIntegerOk(result=3), id="integer"),
        pytest.param(spec.TestString(string_1="a", string_2=b"b"), spec.TestStringOk(result=b"ab"), id="string"),
        pytest.param(spec.TestTable(table={"i": 1, "s": "x"}), spec.TestTableOk(integer_result=1), id="table"),
    ],
)
@pytest.mark.rule("0-8/test/grammar")
def test_the_test_class_asks_in_both_directions(side: Side, request_: Any, reply: Any) -> None:
    pair = silent_pair()
    handle = end_of(pair, side).call(request_)
    pair.pump()
    assert [event.method for event in pair.take(side.other, Request)] == [request_]
    end_of(pair, side.other).reply(reply)
    pair.pump()
    assert handle.result == reply


@pytest.mark.rule("0-8/test/grammar", "0-8/test.content/echo")
def test_the_test_class_sends_content_and_has_it_back(side: Side) -> None:
    pair = silent_pair()
    octets = bytes(range(256)) * 9
    handle = end_of(pair, side).call(pair.method("test.content"), spec.TestProperties(), octets)
    pair.pump()
    (received,) = pair.take(side.other, ContentReceived)
    answer = pair.method("test.content-ok", content_checksum=sum(received.body))
    end_of(pair, side.other).reply(answer, None, received.body)
    pair.pump()
    assert handle.result.body == octets
    assert handle.result.method.content_checksum == sum(octets)


@pytest.mark.parametrize(
    ("name", "field", "rule"),
    [
        ("test.integer", "operation", "test.integer/op-enum"),
        ("test.string", "operation", "test.string/op-enum"),
        ("test.table", "integer_op", "test.table/integer-op-enum"),
        ("test.table", "string_op", "test.table/string-op-enum"),
    ],
)
@pytest.mark.rule("0-8/test.integer/op-enum", "0-8/test.string/op-enum", "0-8/test.table/integer-op-enum")
@pytest.mark.rule("0-8/test.table/string-op-enum")
def test_operations_are_add_min_and_max(side: Side, name: str, field: str, rule: str) -> None:
    """0, 1 and 2 in this library, since the specification gives no numbers."""
    facing = Facing.opened(AMQP_0_8, side)
    for operation in (0, 1, 2):
        facing.channel.call(facing.make(name, **{field: operation}))
        facing.feed(facing.method(name, **{field: operation}))
    assert len(facing.of(Request)) == 3
    facing.forget()
    facing.misuse(lambda: facing.channel.call(facing.make(name, **{field: 3})), rule)
    facing.refuses(facing.method(name, **{field: 255}), code=502, rule=rule)


# All of them are 0-8's alone.


def test_no_dialect_of_0_9_1_has_these_classes() -> None:
    for dialect in ("0-9-1", "0-9-1-rabbit", "0-9-1-qpid"):
        numbers = {kind.CLASS_ID for kind in get_dialect(dialect).methods.values()}
        assert not numbers & {70, 80, 100, 110, 120}
