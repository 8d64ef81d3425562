"""The embedded broker with Apache Qpid's JMS client, unmodified (0-10)."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from amqp_sansio import AMQP_0_10, Accepted
from amqp_sansio.amqp_0_10 import Map, Message, MessageProperties
from amqp_sansio.amqp_0_10.codec.types import encode_value
from amqp_sansio.amqp_0_10.spec import QueueDeclare, Typed
from amqp_sansio_sync import connect
from amqp_sansio_sync.amqp_0_10 import Connection, Session
from tests.interop.brokers.embedded import Embedded
from tests.interop.brokers.jms_client import BACK, TOLD, JmsClient, install_jms_client


@pytest.fixture(scope="module")
def client() -> JmsClient:
    """The JMS client, compiled once."""
    return install_jms_client()


@pytest.fixture
def session(embedded: Embedded) -> Iterator[Session]:
    """A session of our own client, which looks on."""
    connection = connect(embedded.url, version=AMQP_0_10)
    assert isinstance(connection, Connection)
    with connection:
        yield connection.open_session()


def fill(session: Session, queue: str, *messages: Message) -> None:
    session.call(QueueDeclare(queue))
    for message in messages:
        assert session.publish(message, "", queue) == Accepted()


def text(body: str) -> Message:
    """A message that is a TextMessage there."""
    return Message(body.encode(), content_type="text/plain")


FILLED = {"auto": [text(f"m{n}") for n in range(3)], "prefetch": [text(str(n)) for n in range(20)]}
"""What is in the queue before a scenario begins."""


@pytest.mark.parametrize("scenario", TOLD)
def test_what_every_server_does(client: JmsClient, embedded: Embedded, session: Session, scenario: str) -> None:
    queue = "prefetch" if scenario == "single" else scenario
    if queue in FILLED:
        fill(session, queue, *FILLED[queue])
    client.check(embedded.port, scenario)


@pytest.mark.parametrize("scenario", ["password", "vhost"])
def test_who_is_not_let_in(client: JmsClient, embedded: Embedded, scenario: str) -> None:
    assert client.run(embedded.port, scenario)["text"].startswith("Error creating connection")


def test_a_temporary_queue_for_replies(client: JmsClient, embedded: Embedded) -> None:
    told = client.run(embedded.port, "temporary")
    assert (told["answer"], told["same"]) == ("re: question", True)


def test_kinds_of_messages_and_properties(client: JmsClient, embedded: Embedded) -> None:
    told = client.run(embedded.port, "types")
    expected: dict[str, Any] = {"yes": True, "byte": -5, "short": -500, "int": -70_000, "long": 1 << 40}
    expected |= {"float": 1.5, "double": -2.25, "string": "ä", "x-jms-type": "kind"}
    assert {name: value for name, (_, value) in told[0]["properties"].items()} == expected
    assert (told[0]["body"], told[0]["priority"], told[0]["lives"]) == ("äöü€", 7, 60_000)
    assert told[1]["body"] == "00ff01"
    assert told[2]["body"] == {"bytes": "07", "double": 7.5, "int": 7, "long": -7, "string": "seven", "yes": True}
    assert told[3]["body"] == ["first", 2]


def test_messages_of_our_own_client(client: JmsClient, embedded: Embedded, session: Session) -> None:
    properties = MessageProperties(
        content_type="text/plain",
        message_id=UUID(int=5),
        correlation_id=b"c",
        application_headers={"small": Typed("int8", -1), "name": "né"},
    )
    entries = encode_value(Map({"number": Typed("int32", 3), "text": "three"}))[1:]
    fill(
        session,
        "foreign",
        Message("gruß".encode(), message_properties=properties),
        Message(entries, content_type="amqp/map"),
        Message(b"\x00\x01", content_type="application/octet-stream"),
    )
    told = client.run(embedded.port, "foreign")
    assert (told[0]["body"], told[0]["correlation"]) == ("gruß", "c")
    assert told[0]["properties"] == {"small": ["Byte", -1], "name": ["String", "né"]}
    assert [each["body"] for each in told[1:]] == [{"number": 3, "text": "three"}, "0001"]


def test_a_command_that_fails(client: JmsClient, embedded: Embedded) -> None:
    told = client.run(embedded.port, "absent")
    assert "doesn't resolve to an exchange or a queue" in told["subscribed"]["text"]
    assert (told["deleted"]["kind"], told["deleted"]["code"]) == ("JMSException", "404")
    assert told["after"]["kind"] == "IllegalStateException"
    assert told["goesOn"] == BACK


def test_a_client_id_is_the_name_of_a_session(client: JmsClient, embedded: Embedded) -> None:
    told = client.run(embedded.port, "clientId")
    assert told["id"] == "id"
    assert told["refused"]["text"] == "Error creating connection: ClientID must be unique"
    assert told["found"] == BACK
