"""A server that bears an accept of what isn't acquired, as clients send it for what they browse."""

from __future__ import annotations

from amqp_sansio import Accepted, Failed, Settled
from amqp_sansio.amqp_0_10 import NOT_ACQUIRED, Acquired, Released, SequenceSet
from tests.kit.octets_0_10 import accept, acquire, flow
from tests.kit.wire_0_10 import CLIENT, SERVER, Facing, client_config, server_config


def browsed(count: int) -> Facing:
    """A lenient server that has let a client look at messages; their ids are 0 and on."""
    facing = Facing.subscribed(SERVER, server_config(lenient_accepts=True))
    facing.feed(flow("d", 0, None) + flow("d", 1, None))
    for _ in range(count):
        facing.session.transfer("d", b"x", acquire_mode=NOT_ACQUIRED)
    return facing.forget()


def test_what_was_looked_at_and_accepted_is_released() -> None:
    facing = browsed(3)
    first, second, third = [each for each in facing.session.pending if each.key[-1] == "outcome"]
    facing.feed(accept(0, 1))
    (settled,) = facing.of(Settled)
    assert settled == Settled((first, second), Released(False))
    asked = facing.asked()
    # The application hears of no message that it would drop.
    assert asked.handles == ()
    facing.session.complete(asked.command_id)
    assert (first.done, second.done, third.done) == (True, True, False)
    # Nothing is kept of them: a second word about them is as of what is settled.
    facing.feed(accept(0, 1))
    facing.session.complete(facing.asked().command_id)
    assert facing.of(Failed) == []


def test_what_was_acquired_is_accepted_all_the_same() -> None:
    facing = browsed(2)
    looked, taken = [each for each in facing.session.pending if each.key[-1] == "outcome"]
    facing.feed(acquire(1))
    facing.session.complete(facing.asked().command_id, Acquired(SequenceSet.of(1)))
    facing.feed(accept(0, 1))
    asked = facing.asked()
    assert asked.handles == (taken,)
    assert looked.result == Released(False)
    assert not taken.done
    facing.session.complete(asked.command_id)
    assert taken.result == Accepted()


def test_a_client_stays_strict_about_its_own_messages() -> None:
    facing = Facing.attached(CLIENT, client_config(lenient_accepts=True))
    facing.session.transfer("", b"x", acquire_mode=NOT_ACQUIRED)
    facing.forget().feed(accept(0))
    facing.excepts(542, "message.accept/acquisition", 0, 0x0402)
