"""Random use of every version: however its octets are cut, whenever it is copied, whatever raises.

Cuts: the same events, octets and deadlines come of the same octets. Copies: an endpoint that is pickled and restored at
any step goes on exactly like the one that wasn't. Misuse: a command that raises has changed nothing and queued nothing.
"""

import pickle
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, Side
from amqp_sansio.amqp_0_10 import SessionState
from amqp_sansio.amqp_1_0 import Message
from amqp_sansio.broker import Hub, Settings
from amqp_sansio.broker.snapshot import dumps, loads
from tests.amqp_0_10.endpoint.test_exactly_once import play
from tests.core.test_purity import ROOT
from tests.kit import driver, driving, driving_1_0, pair, pair_0_10, pair_1_0
from tests.kit.facing_0_10 import Play
from tests.kit.pair import SIDES, pieces, told

DRIVERS: Final[dict[str, Callable[..., Any]]] = {
    "0-8": partial(driving.Driver, AMQP_0_8),
    "0-9-1": partial(driving.Driver, AMQP_0_9_1),
    "1.0": driving_1_0.Driver,
}
DRIVEN: Final = pytest.mark.parametrize("version", DRIVERS)
"""The versions that a Driver uses; 0-10 has `Play` and `play`."""
SIZES: Final = st.just([1]) | st.lists(st.integers(1, 40) | st.integers(1, 5000), min_size=1, max_size=8)
OF_SIDES: Final = st.sampled_from((Side.CLIENT, Side.SERVER))
ABOVE: Final = st.sampled_from([None, 0, 200])


def operations(version: str, data: st.DataObject, *, opened: bool = True) -> list[driver.Operation]:
    """What a Driver does; one of classic that isn't open yet begins with its opening."""
    if version == "1.0":
        return data.draw(driver.OPERATIONS)
    return [*(() if opened else ((0, 0, 0),)), *data.draw(driving.OPERATIONS)]


# Cuts.


@DRIVEN
@given(data=st.data(), sizes=SIZES, damage=st.booleans(), opened=st.booleans())
def test_cuts_make_no_difference(
    version: str, data: st.DataObject, sizes: list[int], damage: bool, opened: bool
) -> None:
    whole = DRIVERS[version](opened=opened, damage=damage)
    cut = DRIVERS[version](opened=opened, damage=damage, chunks=pieces(*sizes))
    for operation in operations(version, data, opened=opened):
        whole.apply(operation)
        cut.apply(operation)
        assert cut.trace() == whole.trace()
    whole.finish()
    cut.finish()
    assert cut.trace() == whole.trace()


@given(st.binary(min_size=300, max_size=900), SIZES, OF_SIDES, ABOVE)
def test_cuts_make_no_difference_to_0_10(octets: bytes, sizes: list[int], side: Side, above: int | None) -> None:
    whole = Play(octets, side, above=above)
    cut = Play(octets, side, above=above, chunks=pieces(*sizes))
    whole.run()
    cut.run()
    assert cut.trace == whole.trace


@given(st.binary(min_size=200, max_size=500), SIZES)
def test_cuts_make_no_difference_between_two_ends_of_0_10(octets: bytes, sizes: list[int]) -> None:
    whole, cut = play(octets), play(octets, pieces(*sizes))
    assert len(whole.pairs) == len(cut.pairs)
    for one, other in zip(whole.pairs, cut.pairs, strict=True):
        for side in SIDES:
            assert one.sent[side] == other.sent[side]
            assert [told(event) for event in one.events[side]] == [told(event) for event in other.events[side]]


# Copies.


@DRIVEN
@given(data=st.data(), opened=st.booleans())
def test_a_copy_goes_on_like_the_original(version: str, data: st.DataObject, opened: bool) -> None:
    original, copied = DRIVERS[version](opened=opened), DRIVERS[version](opened=opened)
    for operation in operations(version, data, opened=opened):
        original.apply(operation)
        copied.apply(operation)
        copied.pair.refork()
        assert copied.trace() == original.trace()
    original.finish()
    copied.finish()
    assert copied.trace() == original.trace()


@given(st.binary(min_size=300, max_size=900), OF_SIDES, st.booleans(), ABOVE)
def test_a_copy_of_0_10_goes_on_like_the_original(octets: bytes, side: Side, reads: bool, above: int | None) -> None:
    original = Play(octets, side, reads=reads, cuts=True, above=above)
    copied = Play(octets, side, reads=reads, cuts=True, above=above, forks=True)
    original.run()
    copied.run()
    assert copied.trace == original.trace


def _channel(ends: pair.Pair) -> Callable[[Any], object]:
    number = ends.channel().number
    return lambda end: end.channel(number).publish(b"only here")


def _session(ends: pair_0_10.Pair) -> Callable[[Any], object]:
    number = ends.sessions()[0].channel
    return lambda end: end.session(number).transfer("", b"only here")


def _link(ends: pair_1_0.Pair) -> Callable[[Any], object]:
    sender: Any = ends.session().open_sender("q")
    ends.pump()

    def use(end: Any) -> None:
        session = end.session(sender.session.channel)
        session.link(sender.handle).send(Message(b"only here"))
        assert session.connection is end

    return use


PAIRS: Final = pytest.mark.parametrize(
    ("make", "begin"),
    [
        pytest.param(pair.Pair, _channel, id="classic"),
        pytest.param(pair_0_10.Pair, _session, id="0-10"),
        pytest.param(pair_1_0.Pair, _link, id="1.0"),
    ],
)


@PAIRS
def test_channels_sessions_and_links_of_a_copy_belong_to_the_copy(make: Any, begin: Any) -> None:
    ends = make().open()
    use = begin(ends)
    assert ends.client.send_backlog == 0
    before = pickle.dumps(ends.client)
    copy = pickle.loads(before)
    use(copy)
    assert copy.send_backlog > 0
    assert pickle.dumps(ends.client) == before


@PAIRS
def test_a_snapshot_of_another_layout_is_refused(make: Any, begin: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    connection: object = make().open().client
    with monkeypatch.context() as patch:
        patch.setattr(type(connection), "SCHEMA", 0)
        snapshot = pickle.dumps(connection)
    with pytest.raises(ValueError, match="layout 0"):
        pickle.loads(snapshot)


def test_the_state_of_a_session_of_another_layout_is_refused() -> None:
    ends = pair_0_10.Pair().open()
    session, _ = ends.sessions()
    ends.cut()
    schema, values = session.detached_state().__getstate__()
    with pytest.raises(ValueError, match="layout 0"):
        SessionState.__new__(SessionState).__setstate__((0, values))
    assert schema == SessionState.SCHEMA


@pytest.mark.parametrize(("head", "said"), [(b"layout 0\n", "layout 0"), (b"", "of an earlier release")])
def test_the_snapshot_of_a_broker_of_another_layout_is_refused(head: bytes, said: str) -> None:
    octets = dumps(Hub(Settings()))
    assert isinstance(loads(octets), Hub)
    with pytest.raises(ValueError, match=said):
        loads(head + octets.partition(b"\n")[2])


GO_ON = """
import pickle, sys
connection, octets = pickle.load(sys.stdin.buffer)
connection.receive_data(octets, 1.0)
events = []
while type(event := connection.next_event()).__name__ != "Signal":
    events.append(type(event).__name__)
print(events, connection.data_to_send(1.0).hex(), connection.next_deadline)
"""


def test_a_copy_goes_on_in_another_process() -> None:
    """Nothing that it needs is in this one's memory."""
    ends = pair_0_10.Pair().open()
    session, other = ends.sessions()
    session.transfer("", b"x")
    ends.pump()
    other.reject(0, code=1)
    ends.write(Side.SERVER)
    octets = bytes(ends.flying[Side.SERVER])
    result = subprocess.run(
        [sys.executable, "-c", GO_ON], input=pickle.dumps((ends.client, octets)), capture_output=True, check=False,
        cwd=ROOT,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    ends.client.receive_data(octets, 1.0)
    ends.events[Side.CLIENT].clear()
    ends.drain(Side.CLIENT)
    names = [type(event).__name__ for event in ends.events[Side.CLIENT]]
    sent, deadline = ends.client.data_to_send(1.0).hex(), ends.client.next_deadline
    assert "Settled" in names
    assert result.stdout.decode().strip() == f"{names} {sent} {deadline}"


# Misuse.


@DRIVEN
@given(data=st.data())
def test_whatever_raises_leaves_the_snapshot_as_it_was(version: str, data: st.DataObject) -> None:
    driver = DRIVERS[version](check_misuse=True)
    for operation in operations(version, data):
        driver.apply(operation)


@given(st.binary(min_size=300, max_size=1200), OF_SIDES, st.booleans(), ABOVE)
def test_whatever_raises_leaves_the_snapshot_of_0_10_as_it_was(
    octets: bytes, side: Side, reads: bool, above: int | None
) -> None:
    Play(octets, side, reads=reads, check=True, above=above).run()
