"""Any calls of a store in any order: no message is lost or doubled, figures agree, and nothing is left at the end."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.broker.nodes import Refusal
from amqp_sansio_azure.servicebus import Options, ServiceBusNamespace
from amqp_sansio_azure.servicebus.messages import ACTIVE, DEFERRED, SCHEDULED, Arrival, Stored
from amqp_sansio_azure.servicebus.stores import Session, Store
from tests.kit.azure import EPOCH, message


class Hub:
    """The time, and who is asked for nothing else."""

    def __init__(self) -> None:
        from amqp_sansio.broker import Settings

        self.settings = Settings(epoch=EPOCH)
        self.now = 0.0

    def apply(self, command: Any) -> Any:
        raise AssertionError("a store has no commands of the model")

    def touch(self, number: int) -> None:
        raise AssertionError("a store has no clients")


class Taker:
    """Takes messages as long as it has credit, and notes their locks."""

    def __init__(self, *, settles: bool) -> None:
        self.settles = settles
        self.session: Session | None = None
        self.credit = 0
        self.got: list[tuple[int, bytes]] = []
        self.done: list[int] = []

    def take(self, message: Stored) -> bool:
        self.credit -= 1
        if message.lock is None:
            self.done.append(message.arrival.message_id)
        else:
            self.got.append((message.arrival.message_id, message.lock.token))
        return True

    def granted(self, session: Session) -> None:
        self.session = session

    def session_lost(self, session: Session) -> None:
        assert self.session is None

    def gone(self) -> None:
        raise AssertionError("nobody deletes the entity")


def arrival(number: int, session: str | None) -> Arrival:
    found = Arrival(message(b"%d" % number, message_id=str(number), group_id=session).encode())
    found.message_id = number
    return found


STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                *("put", "put", "schedule", "credit", "credit", "delete", "complete", "complete", "abandon", "defer"),
                *("dead", "deferred", "renew", "release", "advance", "cancel", "leave", "join"),
            ]
        ),
        st.integers(0, 9),
    ),
    max_size=60,
)


@given(STEPS, st.booleans(), st.booleans())
def test_no_message_is_lost_or_doubled(steps: list[tuple[str, int]], sessions: bool, expires: bool) -> None:
    world = World(sessions, expires)
    for name, number in steps:
        world.step(name, number)
        world.check()
    world.finish()


class World:
    """A queue, two takers, and what became of each message."""

    def __init__(self, sessions: bool, expires: bool) -> None:
        self.hub = Hub()
        self.space = ServiceBusNamespace()
        self.space.begin(self.hub)
        ttl = 50.0 if expires else None
        options = Options(10.0, 3, ttl, dead_letters_expired=True, requires_session=sessions)
        self.queue = self.space.add_queue("q", options)
        self.store: Store = self.queue.store
        self.sessions = sessions
        self.sent = 0
        self.ended: set[int] = set()
        self.takers = [Taker(settles=False), Taker(settles=True)]
        for number in range(2):
            self.join(number)

    def step(self, name: str, number: int) -> None:
        # A lock was lost, a session is held, a number isn't deferred: nothing has changed.
        with suppress(Refusal):
            self._step(name, number)

    def _step(self, name: str, number: int) -> None:
        store = self.store
        taker = self.takers[number % 2]
        if name in ("put", "schedule"):
            session = f"s{number % 3}" if self.sessions else None
            made = arrival(self.sent, session)
            self.sent += 1
            if name == "schedule":
                made.scheduled = self.space.unix_time + 5 * number
            store.put(made)
        elif name == "credit":
            taker.credit += number
            store.pump(taker)
        elif name == "advance":
            self.hub.now += 3 * number
            self.space.handle_timeout(self.hub.now)
        elif name == "delete":
            before = {each.arrival.message_id for each in store.messages.values()}
            store.delete(number, self.space.unix_time)
            self.ended |= before - {each.arrival.message_id for each in store.messages.values()}
        elif name == "leave":
            store.remove(taker)
        elif name == "join":
            store.remove(taker)
            self.join(number)
        elif name == "deferred":
            waiting = [each.number for each in store.messages.values() if each.state == DEFERRED and each.lock is None]
            found = store.receive_deferred(waiting[:2], locks=number % 2 == 0)
            for each in found:
                if each.lock is None:
                    self.ended.add(each.arrival.message_id)
                else:
                    self.takers[0].got.append((each.arrival.message_id, each.lock.token))
        elif name == "cancel":
            due = [each for each in store.messages.values() if each.state == SCHEDULED][:1]
            store.cancel([each.number for each in due])
            self.ended |= {each.arrival.message_id for each in due}
        elif self.takers[0].got:
            self._settle(name, number % len(self.takers[0].got))

    def _settle(self, name: str, place: int) -> None:
        id, token = self.takers[0].got.pop(place)
        if name == "complete":
            self.store.complete(token)
            self.ended.add(id)
        elif name == "abandon":
            self.store.abandon(token)
        elif name == "release":
            self.store.abandon(token, counts=False)
        elif name == "defer":
            self.store.defer(token)
        elif name == "dead":
            self.store.dead_letter(token, "bad", "why")
        else:
            self.store.renew(token)
            self.takers[0].got.append((id, token))

    def join(self, number: int) -> None:
        taker = self.takers[number % 2]
        if not self.sessions:
            self.store.add(taker)
        elif number % 3:
            self.store.accept_session(taker, f"s{number % 3}")
        else:
            found = self.store.seek_session(taker)
            if found is not None:
                taker.granted(found)

    def check(self) -> None:
        """Each message is in one place, and figures agree."""
        store = self.store
        stored = [each.arrival.message_id for each in store.messages.values()]
        dead = [each.arrival.message_id for each in self.queue.dead_letters.messages.values()]
        ended = self.ended | set(self.takers[1].done)
        everywhere = sorted([*stored, *dead, *ended])
        assert everywhere == list(range(self.sent)), everywhere
        locked = [each for each in store.messages.values() if each.lock is not None]
        assert store.locked == len(locked)
        assert store.octets == sum([each.arrival.octets for each in store.messages.values()])
        assert sum([store.count(state) for state in (ACTIVE, DEFERRED, SCHEDULED)]) == len(stored)
        if self.sessions:
            counts = [each.count for each in store.sessions.values()]
            assert sum(counts) == len(stored)
            assert sum([len(each.locked) for each in store.sessions.values()]) == len(locked)

    def finish(self) -> None:
        """Take everything out; nothing is left, no timer either."""
        store = self.store
        for taker in self.takers:
            store.remove(taker)
        self.hub.now += 1000
        self.space.handle_timeout(self.hub.now)
        self.check()
        assert store.locked == 0
        store.purge()
        self.queue.dead_letters.purge()
        assert store.octets == 0 and self.queue.dead_letters.octets == 0
        assert not [each for each in store.sessions.values() if each.state is None]
        assert len(self.space.timers) == 0
