"""What the lifecycle says of messages is what the endpoints themselves know of them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import Event, Side
from amqp_sansio.amqp_1_0 import Accepted, Message, Modified, Rejected, Released, Source
from amqp_sansio.amqp_1_0.endpoint.connection import Connection
from amqp_sansio.amqp_1_0.endpoint.events import Delivery
from amqp_sansio.observer import Observer
from amqp_sansio.recorded.lifecycle import Lifecycle, MessageRecord
from tests.kit.applications import Accepting
from tests.kit.observing import CLIENT, take
from tests.kit.pair import SIDES
from tests.kit.pair_1_0 import Pair, client_config, server_config

STATES = (Accepted(), Rejected(), Released(), Modified(delivery_failed=True), None)


class Settling(Accepting):
    """An application that settles each delivery as its body says, or leaves it."""

    def __init__(self) -> None:
        super().__init__(deliveries=False, credit=1000)

    def __call__(self, connection: Connection, event: Event) -> None:
        super().__call__(connection, event)
        if isinstance(event, Delivery) and not event.settled:
            body: bytes = event.body
            state = STATES[body[0]]
            receiver: Any = connection.session(event.channel).link(event.link)
            if state is not None:
                receiver.update((event,), state)


class Told:
    """What the observer's lifecycle says, taken as it comes."""

    def __init__(self) -> None:
        self.observer = Observer(client=CLIENT)
        self.lifecycle = Lifecycle()
        self.records: list[MessageRecord] = []

    def receive_data(self, data: bytes, sender: str, at_ns: int) -> None:
        self.observer.receive_data(data, sender, at_ns)
        for event in take(self.observer):
            self.records += self.lifecycle.observe(event)

    def finish(self) -> None:
        self.observer.finish(0)
        for event in take(self.observer):
            self.records += self.lifecycle.observe(event)
        self.records += self.lifecycle.finish()


@pytest.mark.parametrize("modes", [(2, 0), (0, 0), (1, 0), (2, 1), (0, 1)])
@given(
    sends=st.lists(st.tuples(st.sampled_from(SIDES), st.integers(0, 4), st.sampled_from([1, 50, 2000])), max_size=12)
)
def test_outcomes_are_what_the_senders_were_told(modes: tuple[int, int], sends: list[tuple[Side, int, int]]) -> None:
    told = Told()
    pair = Pair(
        client=client_config(max_frame_size=600),
        server=server_config(max_frame_size=700),
        applications={side: Settling() for side in SIDES},
        observer=told,
    ).open()
    links: dict[Side, Any] = {}
    for side in SIDES:
        session = pair.session(side)
        node = f"q-{side.value}"
        options = {"snd_settle_mode": modes[0], "rcv_settle_mode": modes[1]}
        links[side] = session.open_sender(node, source=Source(address=node), **options)
        pair.pump()
    handles: list[tuple[Side, Any]] = []
    for side, number, size in sends:
        body = bytes([number]) + b"x" * (size - 1)
        handles.append((side, links[side].send(Message(body))))
        pair.pump()
    told.finish()
    for side in SIDES:
        kind = "publish" if side is Side.CLIENT else "deliver"
        records = [each for each in told.records if each.kind == kind]
        records.sort(key=lambda record: record.seq)
        mine = [handle for sender, handle in handles if sender is side]
        assert len(records) == len(mine)
        for record, handle in zip(records, mine, strict=True):
            if modes[0] == 1:
                assert (record.outcome, record.settled_seq) == ("settled", None)
            elif not handle.done:
                assert record.outcome is None
            else:
                assert record.outcome == handle.result.NAME
            assert (record.address, record.link) == (f"q-{side.value}", links[side].name)
