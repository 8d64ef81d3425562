"""Links whose unsettled maps don't fit a frame: detached and resumed until all is settled, over cut connections too.

1.0 part 2 section 2.7.3: what an incomplete map leaves out isn't known to be settled.
"""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from amqp_sansio import Event, Opened, Scope, Settled
from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio.endpoint import Side
from tests.amqp_1_0.endpoint.test_recovery import CLIENT, MODES, SERVER, Consumer, Producer, body, check, pump_until
from tests.kit.applications import Accepting
from tests.kit.pair_1_0 import Pair

MANY = 1 << 30


def tag_of(number: int) -> bytes:
    """A delivery-tag so long that a map of 512 octets holds a dozen."""
    return bytes([number]) + b"t" * 31


class Resuming(Producer):
    """Detaches and resumes its link after each incomplete map, once what the maps named is settled."""

    incomplete = False
    again = False

    def __call__(self, connection: amqp.Connection, event: Event) -> None:
        match event:
            case Opened(Scope.CONNECTION):
                connection.open_session()
            case Opened(Scope.SESSION, channel):
                self.open(connection.session(channel))
            case amqp.CreditChanged():
                self.go_on()
            case amqp.Resumed():
                self.incomplete = event.incomplete
                self.go_on()
            case Settled(handles):
                self.done += [handle.key[2][0] for handle in handles]  # type: ignore[index]
                self.go_on()
            case amqp.LinkClosed(channel=channel) if self.again and connection.is_open:
                self.save()
                self.open(connection.session(channel))
            case _:
                pass

    def open(self, session: amqp.Session) -> None:
        """Attach the link, with what is known of it."""
        self.again = False
        self.incomplete = False
        snd, rcv = self.modes
        self.link = session.open_sender("Y", name="N", snd_settle_mode=snd, rcv_settle_mode=rcv, state=self.state)

    def go_on(self) -> None:
        """Send what may be sent, or leave the link to resume it."""
        link = self.link
        if self.incomplete:
            if not link.pending and not self.again:
                self.again = True
                link.detach()
            return
        while self.next < self.count and link.credit:
            self.next += 1
            link.send(amqp.Message(body(self.next - 1)), delivery_tag=tag_of(self.next - 1))


class Taking(Consumer):
    """Keeps what its link knows when the peer suspends it."""

    def __call__(self, connection: amqp.Connection, event: Event) -> None:
        match event:
            case amqp.LinkRequested(channel, handle):
                self.link = connection.session(channel).link(handle)
                self.link.accept_attach(state=self.state)
                self.link.flow(40)
            case amqp.Delivery():
                self.processed.append(event.body)
                if not event.settled:
                    self.link.accept(event)
                self.link.top_up(40)
            case Settled() | amqp.DeliveryAborted():
                self.link.top_up(40)
            case amqp.LinkClosed():
                self.save()
            case _:
                Consumer.__call__(self, connection, event)


def run(count: int, modes: tuple[int, int], cuts: list[tuple[int, int]], window: int) -> tuple[Producer, Consumer, int]:
    """As in test_recovery; also how many maps were incomplete."""
    producer, consumer, incomplete = Resuming(count, modes), Taking(), 0
    configs = {side: amqp.Config(container_id=side.value, max_frame_size=512, incoming_window=window) for side in Side}
    for to_server, to_client in [*cuts, (MANY, MANY)]:
        pair = Pair(client=configs[CLIENT], server=configs[SERVER], applications={CLIENT: producer, SERVER: consumer})
        cut = pump_until(pair, {SERVER: to_server, CLIENT: to_client})
        if cut:
            pair.cut()
            producer.save()
            consumer.save()
        for side in Side:
            resumed = [event for event in pair.events[side] if isinstance(event, amqp.Resumed)]
            incomplete += sum([event.incomplete for event in resumed])
        if not cut:
            break
    return producer, consumer, incomplete


@pytest.mark.rule("1.0/transport/attach/incomplete-no-new")
@pytest.mark.parametrize("mode", MODES)
@given(
    cuts=st.lists(st.tuples(st.integers(0, 6000), st.integers(0, 3000)), min_size=1, max_size=6),
    count=st.integers(20, 60),
    window=st.sampled_from([4, 30, 100]),
)
@example(cuts=[(1204, 431), (1501, 615), (5680, 537)], count=29, window=100)
def test_large_maps_are_settled_step_by_step(mode: str, cuts: list[tuple[int, int]], count: int, window: int) -> None:
    producer, consumer, _ = run(count, MODES[mode], cuts, window)
    check(producer, consumer, mode)


def test_maps_were_incomplete() -> None:
    """The test above is about something."""
    producer, consumer, incomplete = run(50, MODES["exactly once"], [(4000, 700)], 100)
    check(producer, consumer, "exactly once")
    assert incomplete >= 2


@pytest.mark.parametrize("decides", [False, True])
@pytest.mark.parametrize("mode", ["at least once", "exactly once"])
def test_a_link_resumed_again_and_again_in_one_session_is_small(mode: str, decides: bool) -> None:
    """What is resumed has a new delivery-id; the old one isn't kept beside it."""
    pair = Pair(applications={SERVER: Accepting(deliveries=False, links=False)}).open()
    session = pair.session()
    snd, rcv = MODES[mode]
    state = known = None
    for _ in range(20):
        sender = session.open_sender("q", name="n", snd_settle_mode=snd, rcv_settle_mode=rcv, state=state)
        pair.pump()
        event = pair.take(SERVER, amqp.LinkRequested)[-1]
        receiver: Any = pair.server.session(event.channel).link(event.link)
        receiver.accept_attach(state=known)
        receiver.flow(10)
        pair.pump()
        while sender.credit and len(sender.pending) < 3:
            sender.send(amqp.Message(b"x"))
        pair.pump()
        deliveries = pair.take(SERVER, amqp.Delivery)
        if decides and deliveries:
            receiver.update(deliveries, spec.Received(0, 1), settled=False)
        assert len(session.own.deliveries) <= 3
        assert len(receiver.session.peer.deliveries) <= 3
        sender.detach()
        pair.pump()
        state, known = sender.saved_state(), receiver.saved_state()
        assert len(state.unsettled) == 3
