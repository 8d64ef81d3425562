"""`BaseDriver`: what a driver does in a turn, with a transport, a clock and waits that the test gives."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, TypeVar

import pytest

from amqp_sansio import AMQP_0_9_1, Pending, Version
from amqp_sansio.broker import Hub, Settings
from amqp_sansio.client.base_driver import BaseDriver
from amqp_sansio.client.connecting import new_connection
from amqp_sansio.client.recovery import RecoveryPolicy, State
from amqp_sansio.events import By
from amqp_sansio.uri import parse
from tests.kit.versions import EVERY

_T = TypeVar("_T")


class Wait:
    """What a caller awaits: it gives its pending to whoever runs the coroutine."""

    def __init__(self, pending: Pending[Any] | None = None) -> None:
        self.pending = pending

    def __await__(self) -> Generator[Pending[Any] | None, None, None]:
        yield self.pending


class Memory(BaseDriver):
    """A line to a broker in this process. `told` has what it was told to do."""

    def __init__(self, client: Any, hub: Hub) -> None:
        super().__init__(client)
        self.server = hub.connect()
        self.time = 0.0
        self.deadline: float | None = None
        self.told: list[str] = []
        self.lines: list[tuple[str, bool]] = []
        self.woken: list[object] = []
        self.places: list[int] = []
        self.sent = bytearray()
        self.is_narrow = False
        """Whether the transport is full whenever it was given something."""

    def now(self) -> float:
        return self.time

    def wait(self, pending: Pending[Any]) -> Awaitable[None]:
        assert pending.waiters is not None
        wait = Wait(pending)
        pending.waiters.append(wait)
        return wait

    def wake(self, waiter: Any) -> None:
        self.woken.append(waiter)

    def give_way(self) -> Awaitable[None]:
        return Wait()

    def turn_soon(self) -> None:
        self.told.append("turn")

    def turn_at(self, deadline: float | None) -> None:
        self.deadline = deadline

    def ring(self) -> None:
        self.told.append("ring")

    def send(self, octets: bytes) -> None:
        self.sent += octets
        if self.is_narrow:
            self.pause_sending()

    def read(self, reads: bool) -> None:
        self.told.append("read" if reads else "rest")

    def close(self) -> None:
        self.told.append("close")

    def abort(self) -> None:
        self.told.append("abort")

    def log(self, text: str, warns: bool) -> None:
        self.lines.append((text, warns))

    def reconnect(self, place: int) -> None:
        self.places.append(place)

    def exchange(self) -> None:
        """Give the server what was sent, and take its answer."""
        self.server.receive_data(bytes(self.sent), self.time)
        self.sent.clear()
        self.server.next_event()
        self.received(self.server.data_to_send(self.time))

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """The result of a coroutine that uses the client."""
        try:
            pending = work.send(None)
            for _ in range(100):
                self.turn()
                self.exchange()
                if pending is None or pending.done:
                    pending = work.send(None)
        except StopIteration as ended:
            result: _T = ended.value
            return result
        raise AssertionError("it waits for ever")


def made(version: Version = AMQP_0_9_1, kind: Callable[[Any, Hub], Memory] = Memory, **options: Any) -> tuple[Any, Any]:
    """A driver that isn't connected, and the connection of its client."""
    uri = parse("amqp://guest:guest@localhost")
    client, connection = new_connection(version, uri, options, lambda octets: "n" * octets)
    return kind(client, Hub(Settings())), connection


def opened(version: Version = AMQP_0_9_1, **options: Any) -> tuple[Memory, Any]:
    """A driver whose client is open, and the connection."""
    driver, connection = made(version, **options)
    driver.transport_opened()
    driver.run(driver.client.result(driver.client.opened))
    driver.told.clear()
    return driver, connection


@EVERY
def test_it_opens_and_closes_a_connection(version: Version) -> None:
    driver, connection = opened(version)
    assert driver.client.is_open
    assert ("open", False) in driver.lines
    assert len(driver.woken) == 1
    assert driver.deadline is not None, "of heartbeats, or of the broker's idle time"

    closing = connection.close().__await__()
    assert not next(closing).done
    driver.turn()
    driver.exchange()
    assert driver.told.count("close") == 1
    driver.transport_lost("closed")
    assert driver.client.report is not None
    assert driver.client.report.by is By.LOCAL
    with pytest.raises(StopIteration):
        next(closing)
    assert driver.deadline is None


@EVERY
def test_a_loss_ends_what_waits_and_is_taken_once(version: Version) -> None:
    driver, connection = opened(version)
    closing = connection.close().__await__()
    (wait,) = next(closing).waiters
    driver.woken.clear()
    driver.sent.clear()
    driver.transport_lost("the cable")
    driver.transport_lost("a second time")
    assert driver.woken.count(wait) == 1
    report = driver.client.core.report
    assert report is not None
    assert "second" not in str(report)
    driver.told.clear()
    driver.turn()
    assert driver.told == []
    assert not driver.sent


def test_no_client_is_its_own_before_its_transport_is_there() -> None:
    driver, _ = made()
    assert driver.client.driver is not driver
    driver.turn()
    driver.transport_lost("nothing was there")
    assert driver.client.report is None
    driver.transport_opened()
    assert driver.client.driver is driver


def test_a_full_transport_gets_nothing_and_time_begins_all_the_same() -> None:
    driver, connection = opened(answer_timeout=5.0)
    driver.turn()
    driver.sent.clear()
    driver.pause_sending()
    driver.time = 1.0
    opening = connection.open_channel().__await__()
    next(opening)
    driver.turn()
    assert not driver.sent
    assert driver.deadline == 6.0
    driver.resume_sending()
    assert driver.sent
    assert driver.deadline == 6.0


def test_a_transport_that_becomes_full_gets_one_piece_at_a_time() -> None:
    class Small(Memory):
        send_size = 7

    driver, _ = made(kind=Small)
    driver.is_narrow = True
    driver.transport_opened()
    pieces: list[bytes] = []
    while driver.sent:
        pieces.append(bytes(driver.sent))
        driver.sent.clear()
        driver.resume_sending()
    assert b"".join(pieces) == b"AMQP\x00\x00\x09\x01"
    assert [*map(len, pieces)] == [7, 1]


def test_what_closes_is_taken_from_the_client_though_the_transport_is_full() -> None:
    driver, connection = opened()
    driver.turn()
    driver.sent.clear()
    driver.pause_sending()
    next(connection.close().__await__())
    assert driver.sent
    assert not driver.client.send_backlog


def test_a_turn_that_is_asked_for_twice_is_asked_for_once() -> None:
    driver, _ = opened()
    driver.flush_soon()
    driver.flush_later()
    driver.reading_changed()
    assert driver.told == ["turn"]
    driver.turn()
    driver.flush_soon()
    assert driver.told == ["turn", "turn"]


def test_octets_above_the_budget_wait_and_nothing_is_read() -> None:
    """A consumer without a prefetch that nobody reads: what it takes is bounded, and all of it arrives."""
    driver, connection = opened()
    count, body = 40, bytes(1_000_000)

    async def fill() -> Any:
        channel = await connection.open_channel()
        await channel.declare_queue("jobs", durable=True)
        for _ in range(count):
            await channel.publish(body, routing_key="jobs")
        consumer = channel.consume("jobs", no_ack=True, prefetch=0)
        await consumer.start()
        return consumer

    consumer = driver.run(fill())
    for _ in range(count):
        driver.exchange()
        if "rest" in driver.told:
            break
    assert driver.told[-1] == "rest"
    driver.exchange()
    held = len(driver._held)  # pyright: ignore[reportPrivateUsage]
    assert held

    async def read() -> list[int]:
        return [len((await anext(consumer)).body) for _ in range(count)]

    assert driver.run(read()) == [len(body)] * count
    assert driver.told.count("rest") == driver.told.count("read")
    assert not driver._held  # pyright: ignore[reportPrivateUsage]


def test_octets_that_break_the_protocol_end_the_transport() -> None:
    driver, _ = opened()
    driver.received(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    assert {"abort", "close"} & set(driver.told)


def test_the_peers_end_and_what_it_means() -> None:
    driver, _ = opened()
    driver.received_end()
    assert {"abort", "close"} & set(driver.told)
    driver.transport_lost("it is gone")
    assert driver.client.report is not None
    assert driver.client.report.by is By.TRANSPORT


def test_what_nobody_takes_is_logged_as_a_warning() -> None:
    driver, connection = opened()

    async def publish() -> None:
        channel = await connection.open_channel()
        await channel.publish(b"", routing_key="nowhere", mandatory=True)
        await channel.declare_queue("jobs", durable=True)

    driver.run(publish())
    (line,) = [text for text, warns in driver.lines if warns]
    assert "nowhere" in line


def test_what_was_dropped_is_done_in_a_turn() -> None:
    driver, _ = opened()
    done: list[str] = []
    driver.client.drop_later(lambda: done.append("it"))
    assert driver.told == ["ring"]
    assert not done
    driver.turn()
    assert done == ["it"]


def recovering(driver: Any, **policy: Any) -> None:
    driver.client.recover(RecoveryPolicy(first_delay=2.0, jitter=0.0, **policy), ("first", "second"), 1)


@EVERY
def test_a_lost_connection_goes_on_with_the_next_driver(version: Version) -> None:
    driver, _ = opened(version)
    recovering(driver)
    driver.time = 10.0
    driver.transport_lost("the cable")
    assert driver.client.is_recovering
    assert driver.places == []
    assert driver.deadline == 12.0
    driver.time = 12.0
    driver.turn()
    assert driver.places == [0]

    other, _ = made(version)
    client = driver.client
    new = Memory(client, Hub(Settings()))
    new.time = 12.5
    client.reconnect(other.client.core, 30.0)
    new.transport_opened()
    assert client.driver is new
    for _ in range(10):
        new.exchange()
    assert client.is_open
    driver.time = 1000.0
    driver.turn()
    assert client.is_open, "the old driver has no say any more"


def test_a_driver_that_opens_nothing_again_gives_up_as_the_policy_says() -> None:
    class Once(Memory):
        reconnect = BaseDriver.reconnect

    driver, _ = made(kind=Once)
    driver.transport_opened()
    driver.run(driver.client.result(driver.client.opened))
    recovering(driver, attempts=3)
    driver.transport_lost("the cable")
    for _ in range(10):
        if driver.deadline is None:
            break
        driver.time = driver.deadline
        driver.turn()
    assert driver.client.recovery.state is State.ENDED
    assert driver.client.report is not None
    assert "opens no transport again" in str(driver.client.report)
