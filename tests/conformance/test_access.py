"""Access tickets of 0-8 (class access; domain access ticket), which its own dialect enforces."""

from __future__ import annotations

from typing import Any

import pytest

from amqp_sansio import AMQP_0_8, Scope
from amqp_sansio._classic.codec.dialect import get_dialect
from amqp_sansio.amqp_0_9_1 import Published, Request
from tests.kit.facing import CLIENT, SERVER, STRICT, Facing
from tests.kit.pair import Pair

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
RIGHTS = ("passive", "active", "write", "read")


def granted(facing: Facing, ticket: int, *rights: str, channel: int = 1) -> None:
    """Let a channel be granted a ticket."""
    wanted = dict.fromkeys(rights, True)
    if facing.side is CLIENT:
        facing.end.channel(channel).call(facing.make("access.request", realm="/data", **wanted))
        facing.settle()
        facing.feed(facing.method("access.request-ok", channel, ticket=ticket))
    else:
        facing.feed(facing.method("access.request", channel, realm="/data", **wanted))
        facing.end.channel(channel).reply(facing.make("access.request-ok", ticket=ticket))
    facing.forget()


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
    granted(client, 3, *others)
    client.misuse(lambda: use(client, name, ticket=3, **fields), f"{name}/ticket")
    granted(client, 4, right)
    use(client, name, ticket=4, **fields)
    server = Facing.opened(AMQP_0_8, SERVER, dialect=DIALECT)
    granted(server, 3, *others)
    server.refuses(server.method(name, ticket=3, **fields), code=403, rule=f"{name}/ticket", scope=Scope.CHANNEL)


@pytest.mark.rule("0-8/exchange.declare/ticket")
def test_a_passive_declare_needs_a_passive_ticket() -> None:
    fields = {"exchange": "e", "type": "direct", "passive": True}
    client = Facing.opened(AMQP_0_8, CLIENT, dialect=DIALECT)
    granted(client, 1, "active", "write", "read")
    client.misuse(lambda: use(client, "exchange.declare", ticket=1, **fields), "exchange.declare/ticket")
    granted(client, 2, "passive")
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
    granted(client, 5, *RIGHTS)
    client.misuse(lambda: use(client, name, 2, ticket=5, **fields), "access.request-ok/channel-scope")
    use(client, name, 1, ticket=5, **fields)
    server = Facing.opened(AMQP_0_8, SERVER, channels=2, dialect=DIALECT)
    granted(server, 5, *RIGHTS)
    server.refuses(
        server.method(name, 2, ticket=5, **fields), code=530, rule="access.request-ok/channel-scope", channel=2
    )


@pytest.mark.rule("0-8/access.request-ok/channel-scope")
def test_a_ticket_ends_with_its_channel() -> None:
    client = Facing.opened(AMQP_0_8, CLIENT, dialect=DIALECT)
    granted(client, 5, *RIGHTS)
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
        granted(client, ticket, right)
        use(client, name, ticket=ticket, **fields)
        client.settle()
        assert client.sent()[0].method.ticket == ticket


@pytest.mark.parametrize("realm", ["", "data", "/", "/database", "/other/data", "data/x", "//data"])
@pytest.mark.rule("0-8/access.request/realm-prefix")
def test_a_realm_begins_with_data_or_admin(realm: str) -> None:
    client = Facing.opened(AMQP_0_8, CLIENT, dialect=DIALECT)
    client.misuse(
        lambda: client.channel.call(client.make("access.request", realm=realm)),
        "access.request/realm-prefix",
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
