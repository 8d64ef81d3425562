"""Batches of Azure: any messages go in and come out, sizes are kept, and what a service looks at is around them; source
filters without a description and link properties, as a service's links have them.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import AMQP_1_0
from amqp_sansio.amqp_1_0 import (
    AmqpValue,
    Config,
    Data,
    Delivery,
    LinkRequested,
    Message,
    Properties,
    Receiver,
    SessionRequested,
    Source,
    Symbol,
)
from amqp_sansio.amqp_1_0.spec import UInt
from amqp_sansio.client.amqp_1_0.batches import BATCH, PARTITION_KEY, batch_of, batches_of, messages_in
from amqp_sansio.errors import CodecError
from amqp_sansio.testing.amqp_1_0 import messages
from amqp_sansio_asyncio import connect, serve
from tests.kit.asyncio_loops import run
from tests.kit.cbs_peer import anybody

SESSION = Symbol("com.microsoft:session-filter")


@given(st.lists(messages(), min_size=1, max_size=5))
def test_what_goes_in_comes_out(inside: list[Message]) -> None:
    batch = Message.from_wire(batch_of(inside).encode())
    assert [each.encode() for each in messages_in(batch)] == [each.encode() for each in inside]


@given(st.lists(messages(), max_size=8), st.integers(300, 4000))
def test_batches_fit_and_keep_the_order(inside: list[Message], octets: int) -> None:
    try:
        batches = list(batches_of(inside, octets))
    except ValueError:
        assert any(len(batch_of([each]).encode()) > octets for each in inside)
        return
    assert all(len(each.encode()) <= octets for each in batches)
    found = [one for each in batches for one in messages_in(each)]
    assert [each.encode() for each in found] == [each.encode() for each in inside]


@given(messages())
def test_a_batch_may_be_full(message: Message) -> None:
    octets = len(batch_of([message]).encode())
    assert [len(each.encode()) for each in batches_of([message, message], octets)] == [octets, octets]
    with pytest.raises(ValueError, match="doesn't fit"):
        list(batches_of([message], octets - 1))


def test_what_a_service_goes_by_is_around_them() -> None:
    first = Message(
        b"1",
        properties=Properties(message_id="m", group_id="g", subject="s"),
        message_annotations={PARTITION_KEY: "k", Symbol("other"): 1},
    )
    batch = batch_of([first, Message(b"2", properties=Properties(message_id="n"))])
    assert batch.properties == Properties(message_id="m", group_id="g")
    assert dict(batch.message_annotations) == {PARTITION_KEY: "k"}
    assert batch_of([Message(b"x")]).properties is None


def test_what_is_no_batch_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        batch_of([])
    for body in (AmqpValue("x"), None):
        with pytest.raises(CodecError, match="data sections"):
            messages_in(Message(body))
    with pytest.raises(CodecError, match="1 to 2"):
        messages_in(Message(Data(b"", b"", b"")), most=2)
    with pytest.raises(ValueError, match="doesn't fit into a batch of 100"):
        list(batches_of([Message(bytes(200))], 100))


def test_a_session_is_asked_for_and_granted_as_azure_does_it() -> None:
    """A bare string in the filter, or null for the next one; the answer's filter and properties; and a batch sent."""
    seen: list[Any] = []

    async def handle(connection: Any) -> None:
        async for event in connection:
            if isinstance(event, SessionRequested):
                connection.session(event.channel).accept()
            elif isinstance(event, LinkRequested):
                link = connection.link(event.channel, event.link)
                if isinstance(link, Receiver):
                    link.accept_attach()
                    link.flow(10)
                else:
                    source: Any = event.attach.source
                    seen.append((dict(source.filter), dict(event.attach.properties or {})))
                    link.accept_attach(
                        source=Source("q", filter={SESSION: "granted"}),
                        properties={Symbol("com.microsoft:locked-until-utc"): 638_000_000_000_000_000},
                    )
            elif isinstance(event, Delivery):
                seen.append((event.message_format, [each.body for each in messages_in(event.message)]))
                connection.link(event.channel, event.link).accept(event)

    async def main() -> None:
        async with (
            serve(handle, version=AMQP_1_0, config=Config(container_id="s"), authenticate=anybody) as server,
            connect(f"amqp://127.0.0.1:{server.port}", version=AMQP_1_0, sasl=None) as connection,
        ):
            session = await connection.open_session()
            for wanted in ("mine", None):
                source = Source("q", filter={SESSION: wanted})
                asked = {Symbol("com.microsoft:timeout"): UInt(5000)}
                async with session.open_receiver(source, properties=asked) as receiver:
                    assert receiver.source is not None and receiver.remote is not None
                    assert dict(receiver.source.filter or {}) == {SESSION: "granted"}
                    assert list((receiver.remote.properties or {}).values()) == [638_000_000_000_000_000]
            sender = await session.open_sender("q")
            await sender.send(batch_of([Message(b"1"), Message(b"2")]), message_format=BATCH)

    run(main())
    asked = {Symbol("com.microsoft:timeout"): 5000}
    assert seen == [({SESSION: "mine"}, asked), ({SESSION: None}, asked), (BATCH, [b"1", b"2"])]
