"""The embedded broker, in memory, keeps the rules: as its dialect documents, and by the letter of the specification."""

from functools import cache
from typing import Any

import pytest

from amqp_sansio.broker import Settings
from amqp_sansio.broker.settings import DialectName
from amqp_sansio_probe import CASES, PROFILES, Capabilities, Case, Login, Patience, Runner, Verdict, find_capabilities
from amqp_sansio_probe.talk_1_0 import Link, Talk10
from tests.kit.probing import HubServer

FINE = {Verdict.CONFORMS, Verdict.OTHER_CODE, Verdict.DOCUMENTED, Verdict.INFORMATIONAL, Verdict.NOT_RUN}
LENIENT = {
    "0-9-1/connection.tune/channel-max-highest": ("rabbitmq",),
    "1.0/types/map-even": ("rabbitmq", "specification"),
    "1.0/types/map-unique": ("rabbitmq", "specification"),
    "1.0/types/array-layout": ("rabbitmq", "specification"),
    "0-10/wire/struct-spare-flags": ("rabbitmq", "specification"),
    "0-8/access.request/unknown-realm": ("rabbitmq",),
    "0-8/access.request/realm-prefix": ("rabbitmq",),
}
"""Cases that the broker isn't strict in, by dialects.

RabbitMQ counts the open channels and takes any number, and so does its dialect. An odd field of 1.0 that says nothing
the broker needs is passed over (docs/decisions.md). Flags of 0-10 for fields that a struct hasn't are passed over.
RabbitMQ gives access to every realm, and so does its dialect.
"""


@cache
def capabilities(dialect: DialectName) -> Capabilities:
    return find_capabilities(HubServer(Settings(dialect=dialect)), Login(), Patience())


def test_the_capabilities_are_the_dialects() -> None:
    rabbit = capabilities("rabbitmq")
    assert set(rabbit.versions) == {"0-8", "0-9-1", "0-10", "1.0"}
    assert rabbit.product == "amqp_sansio" and "PLAIN" in rabbit.mechanisms
    others = {"1.0/node", "1.0/transactions", "1.0/recovery"}
    others |= {"0-10/declare", "0-10/tx", "0-10/dtx", "0-8/declare", "0-8/tx"}
    names = {"declare", "ttl", "confirms", "tx", "nack", "consumer-cancel-notify", "exchange-bindings"}
    assert rabbit.can == names | others
    assert capabilities("specification").can == {"declare", "tx"} | others


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("dialect", ["rabbitmq", "specification"])
def test_the_embedded_broker(case: Case, dialect: DialectName) -> None:
    profile = PROFILES["rabbitmq"] if dialect == "rabbitmq" else None
    server = HubServer(Settings(dialect=dialect))
    runner = Runner(server, Login(), capabilities(dialect), profile=profile)
    [result] = runner.run([case])
    lenient = dialect in LENIENT.get(case.name, ())
    assert result.verdict in ({Verdict.NON_STRICT} if lenient else FINE), (result.seen, result.note)
    assert not runner.died
    # A case that needs what the newest RabbitMQ refuses would say nothing about its rule there.
    assert not [each for each in server.hub.take_warnings() if each.startswith("RabbitMQ ")]


ON_NODES = [each for each in CASES if "1.0/node" in each.needs and not each.may_harm]


@pytest.mark.parametrize("case", ON_NODES, ids=lambda case: case.name)
def test_a_server_without_dynamic_nodes_is_judged_alike(case: Case) -> None:
    """A queue that a link names has no link of its own, as a dynamic node has: no case may rely on that."""
    named = capabilities("rabbitmq")._replace(address="/queue/{}")
    [result] = Runner(HubServer(Settings(dialect="rabbitmq")), Login(), named).run([case])
    assert result.verdict in (FINE | ({Verdict.NON_STRICT} if case.name in LENIENT else set())), result.seen


@pytest.mark.parametrize("case", ON_NODES, ids=lambda case: case.name)
def test_a_server_that_answers_each_grant_by_a_flow_is_judged_alike(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may: a case that waits for the flow which it asked for passes over those from before."""
    grant = Talk10.grant

    def echoed(talk: Talk10, link: Link, credit: int, **fields: Any) -> None:
        grant(talk, link, credit, **{"echo": True, **fields})

    monkeypatch.setattr(Talk10, "grant", echoed)
    [result] = Runner(HubServer(Settings(dialect="rabbitmq")), Login(), capabilities("rabbitmq")).run([case])
    assert result.verdict in (FINE | ({Verdict.NON_STRICT} if case.name in LENIENT else set())), result.seen


def test_what_a_case_makes_is_swept() -> None:
    server = HubServer(Settings(dialect="rabbitmq"))
    runner = Runner(server, Login(), capabilities("rabbitmq"))
    for _ in runner.run([each for each in CASES if "declare" in each.name]):
        pass
    virtual = server.hub.model.vhosts["/"]
    assert [name for name in virtual.queues if name.startswith("probe-")] == []
    assert [name for name in virtual.exchanges if name.startswith("probe-")] == []


def test_reports_have_no_password() -> None:
    login = Login(password="s3cret")
    server = HubServer(Settings(users={"guest": "s3cret"}))
    runner = Runner(server, login, capabilities(""))
    [result] = runner.run([each for each in CASES if each.name == "0-9-1/queue.declare/reserved"])
    assert result.verdict is Verdict.CONFORMS
    sent = b"".join([piece.octets for piece in result.connections[0].pieces])
    assert b"s3cret" not in sent and b"*" * len(login.plain) in sent


def test_a_seed_draws_the_same_names() -> None:
    def sent(seed: int) -> list[bytes]:
        runner = Runner(HubServer(Settings()), Login(), capabilities(""), seed=seed)
        [result] = runner.run([each for each in CASES if each.name == "0-9-1/queue.declare/passive-not-found"])
        return [piece.octets for piece in result.connections[0].pieces if piece.sender == "client"]

    assert sent(1) == sent(1) != sent(2)
