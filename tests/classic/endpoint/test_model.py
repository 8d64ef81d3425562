"""Random use of two ends beside a few dictionaries: they agree, each handle ends once, closing leaves nothing open."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from amqp_sansio import (
    Accepted,
    By,
    Closed,
    CloseHint,
    EndpointClosed,
    Failed,
    LocalProtocolError,
    Pending,
    Rejected,
    Released,
    Version,
)
from amqp_sansio.amqp_0_9_1 import BasicProperties, Delivery, Published
from amqp_sansio.endpoint import Side
from tests.kit.applications import Server
from tests.kit.driving import OPERATIONS, Operation
from tests.kit.driving_classic import VERSIONS, Driver
from tests.kit.pair import SIDES
from tests.kit.pair_classic import Pair
from tests.kit.telling import ended_by

PICK = st.integers(0, 7)


class Book:
    """One channel, as the model knows it."""

    def __init__(self, channel: Any) -> None:
        self.channel = channel
        self.confirming = False
        self.transacted = False
        self.unconfirmed: dict[int, Pending[Any]] = {}
        self.published = 0
        self.consumers: dict[str, bool] = {}
        self.tag = 0
        self.unsettled: dict[int, Pending[Any]] = {}
        self.in_transaction: dict[int, tuple[Pending[Any], object]] = {}


class Model(RuleBasedStateMachine):
    """Every rule does one thing to both and lets everything arrive."""

    def __init__(self) -> None:
        super().__init__()
        self.pair = Pair(applications={Side.SERVER: Server(confirm=False)})
        self.books: dict[int, Book] = {}

    @initialize(version=VERSIONS)
    def connect(self, version: Version) -> None:
        """Begin with three channels: with a consumer, with confirms, and with a consumer in transactions."""
        self.pair = Pair(version, applications={Side.SERVER: Server(confirm=False)}).open()
        for _ in range(3):
            self.open_channel()
        self.consume(0, no_ack=False)
        self.select(1, transacted=False)
        self.consume(2, no_ack=False)
        self.select(2, transacted=True)

    def book(self, pick: int, has: Callable[[Book], object] = lambda book: True) -> Book:
        """One of the open channels, if possible one that has something."""
        fitting = [book for book in self.books.values() if has(book)] or list(self.books.values())
        return fitting[pick % len(fitting)]

    def open_channel(self) -> None:
        """The lowest number that is free is used."""
        channel = self.pair.channel()
        assert channel.number == min(set(range(1, 6)) - set(self.books))
        self.books[channel.number] = Book(channel)

    @rule(pick=PICK, by_server=st.booleans(), error=st.booleans())
    def close_channel(self, pick: int, by_server: bool, error: bool) -> None:
        """Both ends report what was open, and the number is free for the next one."""
        book = self.book(pick)
        number = book.channel.number
        closer = self.pair.peer(book.channel) if by_server else book.channel
        self.pair.take(Side.CLIENT)
        closer.close(*((404, "NOT_FOUND") if error else (200, "bye")))
        self.pair.pump()
        (closed,) = self.pair.take(Side.CLIENT, Closed)
        open_tags = {**book.unsettled, **{tag: it[0] for tag, it in book.in_transaction.items()}}
        assert closed.report.unsettled == tuple(sorted(open_tags))
        assert closed.report.unconfirmed == tuple(book.unconfirmed)
        for handle in (*open_tags.values(), *book.unconfirmed.values()):
            assert handle.done
            assert handle.error is not None
        del self.books[number]
        self.open_channel()

    @rule(pick=PICK, transacted=st.booleans())
    def select(self, pick: int, transacted: bool) -> None:
        """A channel becomes transacted or confirming, if it is neither."""
        book = self.book(pick)
        if book.confirming or book.transacted:
            return
        if transacted:
            book.channel.call(self.pair.method("tx.select"))
            book.transacted = True
        elif self.pair.has("confirm.select"):
            book.channel.call(self.pair.method("confirm.select"))
            book.confirming = True
        self.pair.pump()

    @rule(pick=PICK, size=st.sampled_from((0, 1, 5000, 140_000)))
    def publish(self, pick: int, size: int) -> None:
        """What is published arrives whole, numbered when confirms are on."""
        book = self.book(pick)
        body = bytes([size % 251]) * size
        self.pair.take(Side.SERVER)
        handle = book.channel.publish(body, exchange="e", routing_key="k")
        self.pair.pump()
        (published,) = self.pair.take(Side.SERVER, Published)
        assert (published.body, published.exchange, published.routing_key) == (body, "e", "k")
        assert (handle is not None) == book.confirming
        if handle is not None:
            book.published += 1
            assert published.number == book.published
            book.unconfirmed[book.published] = handle

    @rule(pick=PICK, which=PICK, multiple=st.booleans(), accepted=st.booleans())
    def confirm(self, pick: int, which: int, multiple: bool, accepted: bool) -> None:
        """Confirms settle one publish, or all up to it."""
        book = self.book(pick, lambda book: book.unconfirmed)
        if not book.unconfirmed:
            return
        number = list(book.unconfirmed)[which % len(book.unconfirmed)]
        self.pair.peer(book.channel).confirm(number, multiple, accepted)
        self.pair.pump()
        for each in [n for n in book.unconfirmed if n == number or (multiple and n < number)]:
            self.settled(book.unconfirmed.pop(each), Accepted() if accepted else Rejected())

    @rule(pick=PICK, no_ack=st.booleans())
    def consume(self, pick: int, no_ack: bool) -> None:
        """A consumer more, under a tag of the client's."""
        book = self.book(pick)
        tag = f"tag-{len(book.consumers)}"
        method = self.pair.method("basic.consume", queue="q", consumer_tag=tag, no_ack=no_ack)
        book.channel.call(method)
        book.consumers[tag] = no_ack
        self.pair.pump()

    @rule(pick=PICK, which=PICK)
    def deliver(self, pick: int, which: int) -> None:
        """Deliveries come with the next tag."""
        book = self.book(pick, lambda book: book.consumers)
        if not book.consumers:
            return
        tag = list(book.consumers)[which % len(book.consumers)]
        self.pair.take(Side.CLIENT)
        handle = self.pair.peer(book.channel).deliver(b"x" * which, consumer_tag=tag)
        self.pair.pump()
        (delivery,) = self.pair.take(Side.CLIENT, Delivery)
        book.tag += 1
        assert (delivery.delivery_tag, delivery.consumer_tag) == (book.tag, tag)
        assert delivery.body == b"x" * which
        if book.consumers[tag]:
            assert handle.done
        else:
            book.unsettled[book.tag] = handle

    @rule(pick=PICK, which=PICK, how=st.sampled_from(("accept", "multiple", "all", "reject", "release")))
    def settle(self, pick: int, which: int, how: str) -> None:
        """Deliveries are settled at once, or when the transaction commits."""
        book = self.book(pick, lambda book: book.unsettled)
        if not book.unsettled:
            return
        tag = list(book.unsettled)[which % len(book.unsettled)]
        outcome: object = Accepted()
        tags = [tag]
        match how:
            case "accept":
                book.channel.accept(tag)
            case "multiple":
                book.channel.accept(tag, multiple=True)
                tags = [each for each in book.unsettled if each <= tag]
            case "all":
                book.channel.accept(0, multiple=True)
                tags = list(book.unsettled)
            case "reject":
                book.channel.reject(tag)
                outcome = Rejected()
            case _:
                book.channel.release(tag)
                outcome = Released()
        self.pair.pump()
        for each in tags:
            handle = book.unsettled.pop(each)
            if book.transacted:
                assert not handle.done
                book.in_transaction[each] = (handle, outcome)
            else:
                self.settled(handle, outcome)

    @rule(pick=PICK, commit=st.booleans())
    def end_transaction(self, pick: int, commit: bool) -> None:
        """A commit settles; a rollback makes everything as if it hadn't been settled."""
        book = self.book(pick, lambda book: book.in_transaction)
        if not book.transacted:
            return
        book.channel.call(self.pair.method("tx.commit" if commit else "tx.rollback"))
        self.pair.pump()
        for tag, (handle, outcome) in book.in_transaction.items():
            if commit:
                self.settled(handle, outcome)
            else:
                assert not handle.done
                book.unsettled[tag] = handle
        book.unsettled = dict(sorted(book.unsettled.items()))
        book.in_transaction.clear()

    @rule(pick=PICK)
    def call(self, pick: int) -> None:
        handle = self.book(pick).channel.call(self.pair.method("queue.declare", queue="q"))
        self.pair.pump()
        assert handle.result.queue == "q"

    def settled(self, handle: Pending[Any], outcome: object) -> None:
        """A handle ended as it should."""
        assert handle.result == outcome

    @invariant()
    def books_agree(self) -> None:
        """Both engines know the channels, deliveries and publishes that the model knows."""
        pair = self.pair
        pair.client.check()
        pair.server.check()
        assert sorted(pair.client.channels) == sorted(pair.server.channels) == sorted(self.books)
        for book in self.books.values():
            for channel in (book.channel, pair.peer(book.channel)):
                assert sorted(channel.unsettled) == list(book.unsettled)
                assert list(channel.unconfirmed) == list(book.unconfirmed)
                assert channel.consumers == book.consumers
                assert channel.publish_count == book.published
                assert channel.last_tag == book.tag
                assert not channel.calls(True)

    def teardown(self) -> None:
        """The end leaves nothing open."""
        self.pair.client.close()
        self.pair.drive()
        assert self.pair.client.report is not None
        assert self.pair.server.report is not None


Model.TestCase.settings = settings(stateful_step_count=60)
TestModel = Model.TestCase


# Handles: each is ended exactly once, by an event or at once, and nothing is left open, whatever happens.


@given(VERSIONS, OPERATIONS, st.booleans(), st.booleans())
def test_every_handle_ends_once(version: Version, operations: list[Operation], damage: bool, cut: bool) -> None:
    driver = Driver(version, damage=damage)
    for operation in operations:
        driver.apply(operation)
    if cut:
        driver.pair.cut()
    driver.finish()
    check_ends(driver)
    for side in SIDES:
        end = driver.pair.ends[side]
        assert end.report is not None
        # Last octets that nobody reads have a deadline.
        assert end.next_deadline is None or end.close_hint is CloseHint.CLOSE_WHEN_SENT
        assert (end.channels, end.unanswered, end.state.name) == ((), (), "END")
        assert end.close_hint is not CloseHint.KEEP
        failures = [event for event in driver.pair.events[side] if isinstance(event, Failed)]
        assert damage or not [event for event in failures if event.by is By.LOCAL], failures


def check_ends(driver: Driver) -> None:
    """Every handle is done and was ended by one event, or by none when it needed no answer."""
    for side in SIDES:
        endings = Counter([handle.key for event in driver.pair.events[side] for handle in ended_by(event)])
        for handle in driver.handles[side]:
            assert handle.done, handle
            at_once = handle.error is None and handle.result is None
            assert endings[handle.key] == (0 if at_once else 1), handle
        assert max(endings.values(), default=1) == 1
        events = driver.pair.events[side]
        assert isinstance(events[-1], Closed)
        assert events[-1].channel == 0
        assert [event.channel for event in events if isinstance(event, Closed)].count(0) == 1


class Cutting(Pair):
    """A pair of which only so many octets arrive in all, before the transport vanishes."""

    def __init__(self, version: Version, left: int) -> None:
        super().__init__(version, applications={Side.SERVER: Server(confirm=False)})
        self.left = left

    def arrive(self, receiver: Side, count: int | None = None) -> bool:
        """As the base's, while octets are left."""
        before = len(self.flying[receiver.other])
        arrived = super().arrive(receiver, min(self.left, 1 << 20 if count is None else count))
        self.left -= before - len(self.flying[receiver.other])
        return arrived


def scenario(pair: Pair) -> list[Pending[Any]]:
    """Every kind of handle, on two channels; the server closes one of them with an error."""
    handles: list[Pending[Any]] = []
    try:
        for handle in _steps(pair):
            if handle is not None:
                handles.append(handle)
    except (EndpointClosed, LocalProtocolError):
        # What the cut kept away can't be answered.
        pass
    return handles


def _steps(pair: Pair) -> Iterator[Pending[Any] | None]:
    pair.pump()
    first, second = pair.client.open_channel(), pair.client.open_channel()
    yield first.opening
    yield second.opening
    yield first.call(pair.method("basic.consume", queue="q", consumer_tag="c"))
    if pair.has("confirm.select"):
        yield first.call(pair.method("confirm.select"))
    for size in (1, 0):
        yield first.publish(b"x" * size, mandatory=True)
    yield second.call(pair.method("basic.get", queue="q"))
    pair.pump()
    peer = pair.server.channel(1)
    for _ in range(3):
        yield peer.deliver(b"body", consumer_tag="c")
    peer.send(pair.method("basic.return", reply_code=312), BasicProperties(), b"x")
    pair.pump()
    if pair.has("confirm.select"):
        peer.confirm(1)
    first.accept(1)
    first.reject(2)
    yield second.call(pair.method("queue.declare", queue="w"))
    pair.server.channel(2).close(404, "NOT_FOUND", pair.method("queue.declare"))
    pair.pump()
    first.close()
    pair.pump()
    pair.client.close()
    pair.pump()


@pytest.mark.parametrize("part", range(8))
def test_a_cut_at_any_octet_ends_every_handle_once(version: Version, part: int, at_large: bool) -> None:
    """The default suite takes every fifth octet."""
    whole = Cutting(version, 1 << 20)
    scenario(whole)
    total = sum([len(octets) for octets in whole.sent.values()])
    for left in range(part, total, 8 if at_large else 40):
        pair = Cutting(version, left)
        handles = scenario(pair)
        pair.cut()
        for handle in handles:
            assert handle.done, (left, handle)
        ended = 0
        for side in SIDES:
            keys = [handle.key for event in pair.events[side] for handle in ended_by(event)]
            assert len(set(keys)) == len(keys), left
            ended += len(keys)
            closed = [event.channel for event in pair.events[side] if isinstance(event, Closed)]
            assert closed.count(0) == 1
            assert pair.ends[side].channels == ()
        assert ended == len(handles), left
